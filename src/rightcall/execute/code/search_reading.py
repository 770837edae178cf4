"""Reading a search pattern: what its author wrote becomes one spelling that every engine reads alike. What one engine
reads otherwise than another, or not at all, is refused with a hint that says what to write instead."""

import re
from collections.abc import Callable
from typing import NoReturn

from rightcall.errors import ToolFailure
from rightcall.execute.code.search_classes import (
    NAMED,
    PERL,
    PROPERTIES,
    Ranges,
    character,
    outside,
    range_kind,
    spelled,
    without_line_ends,
)
from rightcall.text.escape import escaped

MOST_CHARACTERS = 1_000
MOST_GROUPS = 100
MOST_REPEATS = 1_000

_NEWLINE = 0x0A
_COUNT = re.compile(r"\{([0-9]{1,9})(?:(,)([0-9]{1,9})?)?\}")
_HALF_COUNT = re.compile(r"\{,[0-9]+\}")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]*)?([:)])")
_NAMED_GROUP = re.compile(r"\(\?P?<[A-Za-z_][A-Za-z0-9_]*>")
_POSIX = re.compile(r"\[:(\^?)([a-zA-Z]+):\]")
_CODES = (
    re.compile(r"\\x([0-9A-Fa-f]{2})"), re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}"), re.compile(r"\\u([0-9A-Fa-f]{4})"),
    re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}"), re.compile(r"\\U([0-9A-Fa-f]{8})"),
)  # fmt: skip
_PROPERTY = re.compile(r"\\([pP])(?:\{([^{}]*)\}|([A-Za-z]))")
_CONTROL = {"t": 0x09, "v": 0x0B, "f": 0x0C, "r": 0x0D, "a": 0x07, "e": 0x1B, "n": _NEWLINE}

_LOOK = "looking ahead or behind is not possible; match the words around it too, or search twice"
_BACK = "what was matched cannot be referred to again; write it out"
_ONE_LINE = "a match never spans lines; search for what stands in one line"
_ANY = "write . for any character"
_GROUPS = {
    "(?=": _LOOK, "(?!": _LOOK, "(?<=": _LOOK, "(?<!": _LOOK,
    "(?>": "atomic groups are not needed, nothing here ever goes back; write (?:…)",
    "(?(": "a group cannot depend on another; write both cases with |",
    "(?|": "groups are not numbered; write (?:…)",
    "(?P=": _BACK, "(?P>": "a pattern cannot contain itself", "(?R": "a pattern cannot contain itself",
    "(?&": "a pattern cannot contain itself", "(?+": "a pattern cannot contain itself",
    "(?C": "callouts are not possible",
}  # fmt: skip
_LETTERS = {
    "R": _ONE_LINE, "X": _ANY, "C": _ANY, "N": _ANY,
    "h": "write [ \\t] for blanks, [0-9a-fA-F] for hexadecimal digits", "H": "write [^ \\t]",
    "K": "leave it out: whole lines are shown", "G": "leave it out", "k": _BACK, "g": _BACK, "E": "it ends no \\Q",
    "c": "write the character's code, such as \\x1b", "o": "write the character's code, such as \\x1b",
}  # fmt: skip


class Reader:
    """Goes through a pattern once. `read` gives it back with `(?:…)` for every group, sets spelled out, and `\\b` and
    `\\B` as `edge` has them, which engines call by different names."""

    def __init__(self, pattern: str, edge: Callable[[str], str]) -> None:
        self._text = pattern
        self._edge = edge
        self._at = 0
        self._out: list[str] = []
        self._open: list[int] = []
        self._groups = 0
        self._repeatable = False

    def read(self) -> str:
        steps = {
            "\\": self._escape, "[": self._set, "(": self._group, ")": self._end, "|": self._or, "^": self._start,
            "$": self._stop, ".": self._any, "*": self._repeat, "+": self._repeat, "?": self._repeat,
            "{": self._braces,
        }  # fmt: skip
        while self._at < len(self._text):
            steps.get(self._text[self._at], self._plain)()
        if self._open:
            at = self._open[-1]
            self._refuse(at, "is never closed", f"for the character itself write {self._escaped_at(at)}")
        return "".join(self._out)

    def _plain(self) -> None:
        code = ord(self._text[self._at])
        if code == _NEWLINE:
            self._refuse(self._at, "is the end of a line", _ONE_LINE)
        self._put(character(code), 1)

    def _put(self, text: str, taken: int, *, repeatable: bool = True) -> None:
        self._out.append(text)
        self._at += taken
        self._repeatable = repeatable

    def _any(self) -> None:
        self._put("[^\\n\\r]", 1)

    def _start(self) -> None:
        self._put("^", 1, repeatable=False)

    def _stop(self) -> None:
        self._put("(?:\\r?$)", 1, repeatable=False)  # a line may end in CRLF

    def _or(self) -> None:
        self._put("|", 1, repeatable=False)

    def _end(self) -> None:
        if not self._open:
            self._refuse(self._at, "closes nothing", f"for the character itself write {self._escaped_at(self._at)}")
        self._open.pop()
        self._put(")", 1)

    def _repeat(self) -> None:
        self._repeated(self._text[self._at], 1)

    def _braces(self) -> None:
        found = _COUNT.match(self._text, self._at)
        if found is None:
            if _HALF_COUNT.match(self._text, self._at):
                self._refuse(self._at, "is read in two ways", "write {0,n} for at most n times, \\{ for the character")
            self._put("\\{", 1)
            return
        low, comma, high = int(found[1]), found[2], found[3]
        if max(low, int(high or 0)) > MOST_REPEATS:
            self._refuse(self._at, "repeats too often", f"{MOST_REPEATS} times at most")
        if high is not None and int(high) < low:
            self._refuse(self._at, "counts backwards", "write the smaller number first")
        self._repeated(f"{{{low}{comma or ''}{'' if high is None else int(high)}}}", len(found[0]))

    def _repeated(self, mark: str, taken: int) -> None:
        if not self._repeatable:
            self._refuse(
                self._at, "has nothing to repeat",
                f"for the character write \\{self._text[self._at]}, for any text .*; a glob belongs in filePattern",
            )  # fmt: skip
        after = self._text[self._at + taken : self._at + taken + 1]
        if after == "+":
            self._refuse(self._at + taken, "makes a possessive repeat", "leave it out, nothing here ever goes back")
        lazy = "?" if after == "?" else ""
        self._put(mark + lazy, taken + len(lazy), repeatable=False)

    def _group(self) -> None:
        self._groups += 1
        if self._groups > MOST_GROUPS:
            raise ToolFailure(f"pattern: at most {MOST_GROUPS} groups in round brackets")
        begins = self._at
        if not self._text.startswith("(?", begins):
            taken = 1
        elif found := _NAMED_GROUP.match(self._text, begins):
            taken = len(found[0])
        elif self._text.startswith("(?#", begins):
            self._comment()
            return
        elif found := _FLAGS.match(self._text, begins):
            self._flags(found)
            return
        else:
            self._unknown_group()
        self._open.append(begins)
        self._put("(?:", taken, repeatable=False)

    def _comment(self) -> None:
        end = self._text.find(")", self._at)
        if end < 0:
            self._refuse(self._at, "is never closed", "end the comment with )")
        self._at = end + 1

    def _unknown_group(self) -> NoReturn:
        for begins, why in _GROUPS.items():
            if self._text.startswith(begins, self._at):
                self._refuse(self._at, f"begins {begins}", why)
        if self._text[self._at + 2 : self._at + 3].isdigit():
            self._refuse(self._at, "refers to a group", "a pattern cannot contain itself")
        self._refuse(self._at, "begins no known group", "write (…), (?:…) or (?i), \\( for the character itself")

    def _flags(self, found: "re.Match[str]") -> None:
        on, off, end = found[1], found[2] or "", found[3]
        for letter in (on + off).replace("-", ""):
            if letter in "RC":
                self._unknown_group()
            if letter not in "imsua":
                self._refuse(self._at, f"sets the flag {letter}", "only i (upper and lower case alike) can be set here")
        kept = ("i" if "i" in on else "") + ("-i" if "i" in off else "")
        if end == ":":
            self._open.append(self._at)
            self._put(f"(?{kept}:", len(found[0]), repeatable=False)
        else:
            self._put(f"(?{kept})" if kept else "", len(found[0]), repeatable=False)

    def _escape(self) -> None:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in ("b", "B"):
            self._put(self._edge(letter), 2, repeatable=False)
        elif letter in ("A", "Z", "z"):
            self._put("^" if letter == "A" else "(?:\\r?$)", 2, repeatable=False)
        elif letter == "Q":
            self._quoted()
        elif letter in PERL:
            ranges, negated = PERL[letter]
            self._put(f"(?-i:{spelled(ranges, negated=negated)})", 2)
        elif found := _PROPERTY.match(self._text, self._at):
            name = self._property(found)
            self._put(spelled((), (name,), negated=found[1] == "P") or "", len(found[0]))
        else:
            code, taken = self._escaped()
            if code == _NEWLINE:
                self._refuse(self._at, "is the end of a line", _ONE_LINE)
            self._put(character(code), taken)

    def _quoted(self) -> None:
        end = self._text.find("\\E", self._at)
        words = self._text[self._at + 2 :] if end < 0 else self._text[self._at + 2 : end]
        if "\n" in words:
            self._refuse(self._at, "holds the end of a line", _ONE_LINE)
        quoted = "".join(character(ord(one)) for one in words)
        self._put(quoted, len(words) + (2 if end < 0 else 4), repeatable=bool(words))

    def _property(self, found: "re.Match[str]") -> str:
        name = found[2] or found[3] or ""
        if name not in PROPERTIES:
            self._refuse(
                self._at, "names no kind of character known here", "write \\p{L}, \\p{Lu}, \\p{N} or \\p{Greek}"
            )
        return name

    def _escaped(self) -> tuple[int, int]:
        """The character that an escape stands for, and how much of the text that took."""
        for form in _CODES:
            if found := form.match(self._text, self._at):
                code = int(found[1], 16)
                if code > 0x10FFFF or range_kind(code, code) == "surrogate":
                    self._refuse(self._at, "is no character", "its code must be one of Unicode's")
                return code, len(found[0])
        letter = self._text[self._at + 1 : self._at + 2]
        if not letter:
            self._refuse(self._at, "ends the pattern", "for a backslash write \\\\")
        if letter in _CONTROL:
            return _CONTROL[letter], 2
        if letter in "<>":
            self._refuse(self._at, "is read in two ways", f"write {letter} for the character, \\b for a word's edge")
        if letter.isdigit():
            self._refuse(self._at, "refers to a group", _BACK)
        if letter.isalpha():
            hint = _LETTERS.get(letter, f"for the letter write {letter}, for a backslash \\\\")
            self._refuse(self._at, f"before {letter} has no meaning here", hint)
        return ord(letter), 2

    def _set(self) -> None:
        begins = self._at
        if found := _POSIX.match(self._text, begins):
            self._refuse(begins, "begins a set that stands by itself", f"write [{escaped(found[0], 40)}]")
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges, properties = self._members(begins)
        kept = without_line_ends(ranges)
        if (0x0D, 0x0D) in ranges:  # asked for by name
            kept = (*kept, (0x0D, 0x0D))
        made = spelled(kept, properties, negated=negated)
        if made is None:
            self._refuse(begins, "begins a set of line ends only", _ONE_LINE)
        self._put(made, 0)

    def _members(self, begins: int) -> tuple[Ranges, tuple[str, ...]]:
        ranges: list[tuple[int, int]] = []
        properties: list[str] = []
        first = True
        while True:
            if self._at >= len(self._text):
                self._refuse(begins, "is never closed", f"for the character itself write {self._escaped_at(begins)}")
            if self._text[self._at] == "]" and not first:
                self._at += 1
                return tuple(ranges), tuple(properties)
            first = False
            member = self._member()
            if isinstance(member, str):
                properties.append(member)
            elif isinstance(member, tuple):
                ranges += member
            else:
                ranges.append(self._range(member))

    def _member(self) -> int | str | Ranges:
        """One character, the name of a property, or a whole set; the text up to its end is taken."""
        text, at = self._text, self._at
        if found := _POSIX.match(text, at):
            if found[1] or found[2] not in NAMED:
                self._refuse(at, "names no set known here", "write [:alpha:], [:digit:], [:space:] and the like")
            self._at += len(found[0])
            return NAMED[found[2]]
        if text[at] != "\\":
            self._at += 1
            return ord(text[at])
        letter = text[at + 1 : at + 2]
        if letter in PERL:
            ranges, negated = PERL[letter]
            self._at += 2
            return outside(ranges) if negated else ranges
        if found := _PROPERTY.match(text, at):
            if found[1] == "P":
                self._refuse(at, "cannot stand in a set", "write it outside of [ ]")
            name = self._property(found)
            self._at += len(found[0])
            return name
        if letter == "b":
            self._at += 2
            return 0x08
        code, taken = self._escaped()
        self._at += taken
        return code

    def _range(self, low: int) -> tuple[int, int]:
        text = self._text
        if not text.startswith("-", self._at) or text.startswith("-]", self._at):
            return low, low
        dash = self._at
        self._at += 1
        if self._at >= len(text):
            return low, low
        high = self._member()
        if not isinstance(high, int):
            self._refuse(dash, "has a set on one side", "put the - at the end of the brackets")
        kind = range_kind(low, high)
        if kind != "plain":
            self._refuse(
                dash, "makes a range that runs backwards" if kind == "backwards" else "makes no range", "swap its ends"
            )
        return low, high

    def _escaped_at(self, at: int) -> str:
        """The surroundings of a character with a backslash before it."""
        return escaped(f"{self._text[max(at - 12, 0) : at]}\\{self._text[at : at + 1]}", 40)

    def _refuse(self, at: int, what: str, hint: str) -> NoReturn:
        shown = escaped(self._text[at : at + 1], 10)
        raise ToolFailure(f"pattern: {shown} at character {at + 1} {what}; {hint}")

"""Search patterns. What may be written is what all engines have in common, and means the same in each:

- characters, `.`, `|`, `( )`, `(?: )`, named groups, `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}` (at most 1,000) and their
  lazy forms, `^`, `$`, `\\A`, `\\z`, `\\Z` (line by line, also where lines end in CRLF), `\\b`, `\\B`;
- `\\d`, `\\w`, `\\s`, `\\b` and their opposites, which mean ASCII; `[…]`, `[^…]`, `[[:alpha:]]`, `\\p{L}`;
- `\\t`, `\\r`, `\\x41`, `\\x{1F600}`, `\\u0041`, `\\Q…\\E`, an escaped sign; `(?i)`, `(?-i)`, `(?i:…)`.

A match never spans lines: `.` and negated sets stop at their end, `(?s)` and `(?m)` change nothing. Looking around,
back references, possessive and atomic groups, recursion, `(?x)` and `\\n` are refused. Time is linear in the text,
whatever the pattern; one that would need too much memory is refused.
"""

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Literal, NoReturn

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import ToolFailure

# ── character classes ──
# Sets of characters in a search pattern, as ranges of code points, so that every engine is given the same set in the
# same spelling. No set ever holds the end of a line: what is searched is one line at a time.

Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_LINE_ENDS = ((0x0A, 0x0A), (0x0D, 0x0D))

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
BLANK: Ranges = ((0x09, 0x09), (0x0B, 0x0C), (0x20, 0x20))
"""What `\\s` finds inside a line."""

NAMED: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x09), (0x0B, 0x0C), (0x0E, 0x7F)),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x09), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": BLANK,
    "upper": ((0x41, 0x5A),),
    "word": WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
"""The sets that are written `[[:name:]]`, as POSIX has them."""

PERL: dict[str, tuple[Ranges, bool]] = {
    "d": (DIGIT, False), "D": (DIGIT, True), "w": (WORD, False), "W": (WORD, True), "s": (BLANK, False),
    "S": (BLANK, True),
}  # fmt: skip
"""`\\d` and the like, and whether it is what lies outside the set."""

_CATEGORIES = frozenset((
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs",
))  # fmt: skip
_SCRIPTS = frozenset((
    "Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han", "Hangul", "Hebrew",
    "Hiragana", "Katakana", "Latin", "Tamil", "Thai",
))  # fmt: skip
PROPERTIES = _CATEGORIES | _SCRIPTS
"""What may stand in `\\p{…}`: known to all engines by the same names."""


def without_line_ends(ranges: Ranges) -> Ranges:
    """The same set less the characters that end lines.

    >>> without_line_ends(((0x09, 0x0D),))
    ((9, 9), (11, 12))
    """
    for first, last in _LINE_ENDS:
        ranges = _less(ranges, first, last)
    return ranges


def outside(ranges: Ranges) -> Ranges:
    """Every other character that can stand in a line."""
    found: Ranges = ((0, _LAST),)
    for first, last in ranges:
        found = _less(found, first, last)
    return without_line_ends(found)


def _less(ranges: Ranges, first: int, last: int) -> Ranges:
    kept: list[tuple[int, int]] = []
    for low, high in ranges:
        if last < low or first > high:
            kept.append((low, high))
            continue
        if low < first:
            kept.append((low, first - 1))
        if last < high:
            kept.append((last + 1, high))
    return tuple(kept)


def spell_set(ranges: Ranges, properties: tuple[str, ...] = (), *, negated: bool = False) -> str | None:
    """The set as both engines read it; None when nothing is in it. A negated one leaves out line ends too."""
    shown = [_range(low, high) for low, high in _less(ranges, *_SURROGATES)]
    shown += [f"\\p{{{name}}}" for name in properties]
    if negated:
        return f"[^\\n\\r{''.join(shown)}]"
    return f"[{''.join(shown)}]" if shown else None


def _range(low: int, high: int) -> str:
    return character(low) if low == high else f"{character(low)}-{character(high)}"


def character(code: int) -> str:
    """One character that stands for itself, in a set or outside of one."""
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{code:x}}}"


def range_kind(low: int, high: int) -> Literal["plain", "backwards", "surrogate"]:
    """Whether a range can be had."""
    if low > high:
        return "backwards"
    if any(_SURROGATES[0] <= end <= _SURROGATES[1] for end in (low, high)):
        return "surrogate"
    return "plain"


# ── reading a pattern ──
# Reading a search pattern: what its author wrote becomes one spelling that every engine reads alike. What one engine
# reads otherwise than another, or not at all, is refused with a hint that says what to write instead.

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
_SIGNS = {".": "[^\\n\\r]", "^": "^", "$": "(?:\\r?$)", "|": "|"}
"""What always means the same, as every engine reads it; a line may end in CRLF."""
_CONTROL = {"t": 0x09, "v": 0x0B, "f": 0x0C, "r": 0x0D, "a": 0x07, "e": 0x1B, "n": _NEWLINE}

_LOOK = "looking ahead or behind is not possible; match the words around it too, or search twice"
_BACK = "what was matched cannot be referred to again; write it out"
_ONE_LINE = "a match never spans lines; search for text within one line"
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
            "\\": self._escape, "[": self._set, "(": self._group, ")": self._end, "{": self._braces,
            **{sign: partial(self._repeated, sign, 1) for sign in "*+?"},
            **{sign: partial(self._put, made, 1, repeatable=sign == ".") for sign, made in _SIGNS.items()},
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

    def _end(self) -> None:
        if not self._open:
            self._refuse(self._at, "closes nothing", f"for the character itself write {self._escaped_at(self._at)}")
        self._open.pop()
        self._put(")", 1)

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
            self._put(f"(?-i:{spell_set(ranges, negated=negated)})", 2)
        elif found := _PROPERTY.match(self._text, self._at):
            name = self._property(found)
            self._put(spell_set((), (name,), negated=found[1] == "P") or "", len(found[0]))
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
                    self._refuse(self._at, "is not a character", "its code must be one of Unicode's")
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
            self._refuse(begins, "begins a separate set", f"write [{escaped(found[0], 40)}]")
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges, properties = self._members(begins)
        kept = without_line_ends(ranges)
        if (0x0D, 0x0D) in ranges:  # asked for by name
            kept = (*kept, (0x0D, 0x0D))
        made = spell_set(kept, properties, negated=negated)
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


MEMORY = 8 << 20
"""Bytes for a compiled pattern and what it learns on the way."""
_MOST_STEPS = 10_000
"""Instructions of the compiled pattern: each character of a text costs so many at worst."""
_WORK = 10_000_000
"""Such steps at one go, about a tenth of a second at worst, after which the clock is looked at."""
_SHORTEST, _LONGEST = 1 << 12, 1 << 22
_COSTLY = 150
"""Steps from which on a text can be made to cost so much that it is left to our own engine, which we can bound."""

_TOO_LARGE = "pattern: is too large to be searched for; repeat less, or search for a part of it"

Finder = Callable[[bytes, int, int], int]
"""Where the first match in `text[start:end]` begins, or -1. What stands around is seen by `^`, `$` and `\\b`."""

Spanner = Callable[[bytes, int, int], tuple[int, int]]
"""The same, and where it ends."""


class Pattern(Struct, frozen=True):
    """One pattern for both engines: `find` and `span` are ours, `ripgrep` is what the other is given."""

    find: Finder
    span: Spanner
    ripgrep: str
    reach: int
    """Bytes of text that `find` may be given at one go."""
    costly: bool = False
    """Whether a character of a text can cost so much that no other engine is asked."""


def read_pattern(written: str, *, case_sensitive: bool) -> Pattern:
    """Raises ToolFailure that says where the pattern is wrong and what would be right."""
    if not written:
        raise ToolFailure(
            "`pattern` is empty. Pass text or a regex, e.g. `TODO`; `.` finds every line that is not empty"
        )
    if len(written) > MOST_CHARACTERS:
        raise ToolFailure(f"pattern: has {len(written)} characters, {MOST_CHARACTERS} are possible")
    flags = "(?m)" if case_sensitive else "(?mi)"
    ours = flags + Reader(written, lambda letter: f"\\{letter}").read()
    find, span, steps = _compiled(ours)
    theirs = flags + Reader(written, lambda letter: f"(?-u:\\{letter})").read()
    return Pattern(find, span, theirs, min(max(_WORK // steps, _SHORTEST), _LONGEST), steps > _COSTLY)


def _compiled(pattern: str) -> tuple[Finder, Spanner, int]:
    """The engine for a pattern, and how many steps a character costs it at worst."""
    re2: Any = import_module("re2")  # late, for those who search; and it tells no types
    options: Any = re2.Options()
    options.max_mem = MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        compiled: Any = re2.compile(pattern.encode(), options)
    except re2.error as fault:
        raise ToolFailure(_TOO_LARGE) from fault
    finally:
        re2.purge()  # it would keep every pattern, and what each has learned, for ever
    if compiled.programsize > _MOST_STEPS:
        raise ToolFailure(_TOO_LARGE)
    return *_finders(re2, compiled), max(compiled.programsize, 1)


def _finders(re2: Any, compiled: Any) -> tuple[Finder, Spanner]:
    try:  # the bare engine: what is wrapped around it costs more than a match
        match: Any = compiled._regexp.Match
        anywhere: Any = re2._Anchor.UNANCHORED
        match(anywhere, b"", 0, 0)[0][0]
    except (AttributeError, TypeError, LookupError):
        search: Any = compiled.search

        def found(text: bytes, start: int, end: int) -> int:
            hit = search(text, start, end)
            return -1 if hit is None else hit.start()

        def spanned(text: bytes, start: int, end: int) -> tuple[int, int]:
            hit = search(text, start, end)
            return (-1, -1) if hit is None else hit.span()

        return found, spanned

    def find(text: bytes, start: int, end: int) -> int:
        return match(anywhere, text, start, end)[0][0]

    def span(text: bytes, start: int, end: int) -> tuple[int, int]:
        return match(anywhere, text, start, end)[0]

    return find, span

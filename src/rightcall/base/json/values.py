"""Values without structure: strings, numbers, constants, and text that nobody put into quotes."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, Literal, NamedTuple

from rightcall.base.json.shape import CONSTANTS, JSON_NUMBER, NUMBER, Shape, read_number
from rightcall.base.json.strict import NO_JSON, attempt
from rightcall.base.text import regex
from rightcall.errors import Unreadable

# ── strings ──
# Strings as models write them: where one really ends, and what its escapes mean.
#
# The hard question is a quote inside a string that nobody escaped. Whether a quote closes the string is decided by what
# follows it: a comma and a key, a bracket that fits the open ones, or the end of the text are strong signs; a letter is
# none. The first strong place wins; without one the best weak place, and the reading says that it was weak.

Context = Literal["key", "member", "element", "argument", "top"]

CLOSERS = {
    '"': '"', "'": "'", "“": '”“"„', "”": '”"', "„": '“”"', "‟": '”"', "‘": "’‘'", "’": "’'", "‚": "‘’'",
    "`": "`´'", "´": "´`'", "«": "»", "「": "」",
}  # fmt: skip
QUOTES = "".join(CLOSERS)
WORD_KEY = regex(r"(?:[A-Za-z_$][\w$.\-]{0,100}\s*:(?!//)|\d{1,10}\s*:(?=\s+\S|[\"'{\[]))")
STRAY_WORD = regex(r"[A-Za-z_]\w{0,40}\s+(?=\"[^\"\n:{}]{0,100}\"\s*:)")
_QUOTED_KEY = regex(
    r"(?:\"[^\"“”\n:{}]{0,100}\"|'[^'\"“”\n:{}]{0,100}'|[“‘`][^\"“”‘’`´\n:{}]{0,100}[\"'”’`´])\s*(?::|=>)"
)
_WORD_ARGUMENT = regex(r"[A-Za-z_]\w{0,100}\s*=(?!=)")
_SPACE = re.compile(r"[\s\ufeff]*")
_NUMBER_ENDS = regex(r"-?\d[\d.eE+\-]{0,40}(?:\s*(?:[,\]}]|$)|\s+[\"'\[{\-\dtfnTFN])")
_LAST_WORD = regex(r"\w{1,40}\s*\]")
_CONSTANT_ENDS = regex(r"(?:true|false|null|True|False|None)(?:\s*(?:[,\]]|$)|\s+[\"'\[{\-\dtfnTFN])")
_CUT_KEY = regex(r"[\"'“‘`][^\"“”\n:{}]{0,100}[\"'”’`]?\s*\Z")
_WORD_ENDS = regex(r"\w{1,100}\s*[,\]]")
_SIDE_BY_SIDE = regex(r"([\"'])\s+\1[^\"'\\]*\1\s*(?:[,\]\"'\d\-]|$)")
_KEY_TOUCHES = regex(r"\"\"[^\"\n:{}]{1,100}\"\s*:")
_LONE_KEY = regex(r"\"\s*,\s*\"[^\"\n:{}]{1,100}\"\s*\}")
_CLOSING_RUN = regex(r"[\s\]})]*")
_OPENER = {"}": "{", "]": "[", ")": "("}
_FINDER = {closers: regex(rf"\\.|[{re.escape(closers)}]", re.S) for closers in CLOSERS.values()}
_STRONG, _LIKELY, _WEAK, _INSIDE, _NONE = 4, 3, 2, 1, 0
"""How likely a quote closes the string. `_INSIDE`: what follows closes a bracket that was opened inside the string."""


class Closing(NamedTuple):
    """Where the content of a string ends, where reading goes on, and the rule that was needed, if any."""

    end: int
    resume: int
    rule: str | None = None
    cut: bool = False


def quoted(quote: str) -> str:
    """An expression for a string in these quotes that has no quote of its kind inside; its group is the content."""
    return rf"{quote}([^{quote}\\]*(?:\\.[^{quote}\\]*)*){quote}"


def space(text: str, at: int) -> int:
    """The first position from `at` that is no white space."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def key_ahead(text: str, at: int) -> bool:
    """Whether a key with its colon stands at `at`, quoted or not."""
    return (_QUOTED_KEY if text[at : at + 1] in QUOTES else WORD_KEY).match(text, at) is not None


class StringEnd:
    """The search for the end of one string; `open` holds the brackets that are still to close, innermost last."""

    __slots__ = ("_balance", "_counted", "context", "keys", "open", "seen", "start", "text")

    def __init__(self, text: str, start: int, context: Context, open_brackets: str, keys: Container[str]) -> None:
        self.text = text
        self.start = start
        self.context: Context = context
        self.open = open_brackets
        self.keys = keys
        self.seen = 0
        self._counted = start
        self._balance = {"{": 0, "[": 0, "(": 0}

    def find(self, quote: str, patience: int) -> Closing:
        """The end of the string, after a look at no more than `patience` quotes."""
        closers = CLOSERS[quote]
        if self.context == "top":
            return self._at_top(closers)
        best, best_rank, previous = -1, _NONE, -1
        for match in _FINDER[closers].finditer(self.text, self.start):
            at = match.start()
            if self.text[at] == "\\":
                continue
            if self.context == "key":
                return Closing(at, at + 1)
            self.seen += 1
            if previous < 0 and (plain := self._plainly_over(at)) is not None:
                return plain
            rank = self._rank(at, first=previous < 0)
            if rank == _STRONG and previous >= 0 and self._doubtful(at):
                rank = _WEAK
            if previous >= 0 and (rank == _NONE or self.context == "element"):
                missed = self._missed_end(previous, at)
                if missed is not None:
                    return missed
            if rank == _STRONG:
                # in a list a quote without its counterpart may as well belong to the next string
                odd = self.context == "element" and self.seen % 2 == 0
                sure = best_rank < _WEAK and not odd
                rule = None if previous < 0 else "inner_quotes" if sure else "weak_quote"
                return Closing(at, at + 1, rule)
            if rank > best_rank:
                best, best_rank = at, rank
            if self.seen > patience:
                break
            previous = at
        if best >= 0:
            return Closing(best, best + 1, "inner_quotes" if best_rank == _LIKELY else "weak_quote")
        return self._run_to_end()

    def _plainly_over(self, at: int) -> Closing | None:
        """The first quote, where what follows has only one shape: another string, a key, a key without a value."""
        if self.context == "element" and _SIDE_BY_SIDE.match(self.text, at):
            return Closing(at, at + 1, "side_by_side")
        if (
            self.context == "member"
            and at > self.start
            and (_KEY_TOUCHES.match(self.text, at) or _LONE_KEY.match(self.text, at))
        ):
            return Closing(at, at + 1)
        return None

    def _at_top(self, closers: str) -> Closing:
        """A string that is the whole text ends at its last quote; before prose it ends at its first."""
        end = len(self.text.rstrip(" \t\r\n,;)"))
        matches = _FINDER[closers].finditer(self.text, self.start)
        first = next((m.start() for m in matches if self.text[m.start()] != "\\"), -1)
        if first < 0:
            return Closing(len(self.text), len(self.text), "cut_value", cut=True)
        joined = self.text.startswith("+", space(self.text, first + 1))
        if end - 1 > first and self.text[end - 1] in closers and self.text[end - 2] != "\\" and not joined:
            return Closing(end - 1, end, "inner_quotes")
        return Closing(first, first + 1)

    def _rank(self, at: int, *, first: bool) -> int:
        """How strongly what follows the quote at `at` says that it closes the string."""
        text, context = self.text, self.context
        after = space(text, at + 1)
        if after >= len(text):
            return _STRONG
        following = text[after]
        if following == ",":
            return _after_comma(text, after + 1, context)
        if following in "}])":
            return self._before_bracket(at, after)
        if following in QUOTES:
            return _before_quote(text, at, after, context, first)
        if following == "+":
            begin = space(text, after + 1)
            return _STRONG if begin < len(text) and text[begin] in QUOTES else _NONE
        if following == "/" and text[after + 1 : after + 2] in ("/", "*"):
            return _STRONG
        if following == "<" and text[after + 1 : after + 2] == "/":
            return _LIKELY
        new_line = "\n" in text[at:after]
        if context == "member":
            return _STRONG if new_line and WORD_KEY.match(text, after) else _NONE
        spaced = context == "element" and after > at + 1
        if spaced and any(one.match(text, after) for one in (_NUMBER_ENDS, _CONSTANT_ENDS, _LAST_WORD)):
            return _STRONG
        return _WEAK if context == "element" and new_line else _NONE

    def _before_bracket(self, at: int, after: int) -> int:
        text, bracket = self.text, self.text[after]
        if self._inside(_OPENER[bracket], at):
            return _INSIDE
        run_end = _CLOSING_RUN.match(text, after).end()  # type: ignore[union-attr]
        if run_end >= len(text):
            return _STRONG
        if bracket not in self.open:
            return _WEAK
        closing = sum(char in "}])" for char in text[after : min(run_end, after + 64)])
        following = text[run_end]
        if closing >= len(self.open):  # the whole value would end here, and text follows
            new_line = "\n" in text[after:run_end]
            return _STRONG if new_line or following in "`<{[;" or text.find('"', run_end) < 0 else _LIKELY
        if following == ",":
            return max(_after_comma(text, run_end + 1, "member"), _after_comma(text, run_end + 1, "element"))
        return _STRONG if following in QUOTES or following in "{[`<" else _LIKELY

    def _inside(self, opener: str, at: int) -> bool:
        """Whether the string up to `at` has more opening than closing brackets of this kind; counted once, in order."""
        for left, right in (("{", "}"), ("[", "]"), ("(", ")")):
            counted = self.text.count(left, self._counted, at) - self.text.count(right, self._counted, at)
            self._balance[left] += counted
        self._counted = at
        return self._balance[opener] > 0

    def _doubtful(self, at: int) -> bool:
        """In a string with quotes inside, a comma says little while a bracket of its own is open, or a comment sign."""
        after = space(self.text, at + 1)
        if self.text.startswith(("//", "/*"), after):
            return True
        return self.text.startswith(",", after) and (self._inside("{", at) or self._inside("[", at))

    def _missed_end(self, opening: int, closing: int) -> Closing | None:
        """`"a": "b, "c": 1`: the string was never closed, and `"c"` is the next key already."""
        text = self.text
        if self.context not in ("member", "element") or not 0 < closing - opening <= 100:
            return None
        if self.context == "member" and not text.startswith((":", "=>"), space(text, closing + 1)):
            return None
        before = text[max(self.start, opening - 200) : opening].rstrip(" \t")
        line_start = before.endswith("\n") and "\n" not in text[opening:closing]
        if not (line_start or (before.endswith(",") and self.context == "member")) or self._inside("{", opening):
            return None
        end = opening
        while end > self.start and text[end - 1] in " \t\r\n,":
            end -= 1
        known = self.context == "member" and text[opening + 1 : closing] in self.keys
        return Closing(end, opening, "missing_end_quote" if known else "missing_quote_unsure")

    def _run_to_end(self) -> Closing:
        """No closing quote at all: the brackets at the very end are structure where they fit the open ones."""
        text = self.text
        last = end = len(text.rstrip())
        for bracket in self.open:
            if end > self.start and text[end - 1] == bracket:
                end -= 1
                while end > self.start and text[end - 1].isspace():
                    end -= 1
            else:
                break
        if end < last:
            return Closing(end, end, "end_quote_at_end")
        return Closing(len(text), len(text), "cut_value", cut=True)


def _after_comma(text: str, at: int, context: Context) -> int:
    begin = space(text, at)
    if begin >= len(text):
        return _STRONG
    first = text[begin]
    if first in "}])/#," or text.startswith("...", begin):
        return _STRONG
    if context == "element":
        if first in QUOTES or first in "{[(-" or first.isdigit():
            return _STRONG
        if _CONSTANT_ENDS.match(text, begin):
            return _STRONG
        return _LIKELY if _WORD_ENDS.match(text, begin) else _WEAK
    if context == "argument":
        return _STRONG if first in QUOTES or _WORD_ARGUMENT.match(text, begin) else _WEAK
    sure = key_ahead(text, begin) or STRAY_WORD.match(text, begin) or _CUT_KEY.match(text, begin)
    return _STRONG if sure else _WEAK


def _before_quote(text: str, at: int, after: int, context: Context, first: bool) -> int:
    apart = after > at + 1
    if context == "element":
        return _STRONG if "\n" in text[at:after] else _WEAK if apart else _NONE
    if context == "member" and apart and key_ahead(text, after):
        return _STRONG
    return _WEAK if apart and first else _NONE  # 'a' 'b': one string to Python, or one with quotes inside


# ── escapes ──
# What the escapes in a string stand for, also where they are illegal: `"\s"` keeps its backslash.

_ESCAPE = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.|$)",
    re.S,
)
_SIMPLE = {
    '"': '"', "'": "'", "\\": "\\", "/": "/", "`": "`", "“": "“", "”": "”", "\n": "\n",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_REGEX_ESCAPES = frozenset("sSdDwWBAZzpP.()[]{}|^$?*+-")
_WINDOWS_PATH = regex(r"[A-Za-z]:\\{1,2}[^\\/]")
_SHARED_FOLDER = regex(r"\\\\\w[^\\]*\\[^\\]")
_BARE_PATH = regex(r"(?<![A-Za-z])[A-Za-z]:\\[^\\/\"]")
_FOREIGN = frozenset("'`“”\nxU")
_LEGAL = frozenset("\"\\/bfnrtux'")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unescaped(NamedTuple):
    """`illegal`: an escape that JSON does not have was kept. `broken`: a \\u without its digits, no text can be told.
    `lone`: half of a surrogate pair was replaced by U+FFFD. `foreign`: an escape of Python or JavaScript was read."""

    text: str
    illegal: bool = False
    broken: bool = False
    lone: bool = False
    foreign: bool = False


def unescape(raw: str) -> Unescaped:
    """Decode a string's content.

    >>> unescape(r"^\\s*\\bword\\b$").text
    '^\\\\s*\\\\bword\\\\b$'
    """
    kinds = {match[1][:1] for match in _ESCAPE.finditer(raw)}
    if _WINDOWS_PATH.search(raw) and kinds - _LEGAL:
        return Unescaped(raw.replace("\\\\", "\\"), illegal=True)  # C:\Users\new: no escape is meant here
    if _SHARED_FOLDER.match(raw) and kinds - _LEGAL:
        return Unescaped(raw, illegal=True)  # \\\\server\share
    among_regex = bool(kinds & _REGEX_ESCAPES)
    illegal = broken = False

    def one(match: re.Match[str]) -> str:
        nonlocal illegal, broken
        code = match[1]
        if len(code) == 11:
            return chr(0x10000 + ((int(code[1:5], 16) - 0xD800) << 10) + int(code[7:], 16) - 0xDC00)
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code == "b" and among_regex:
            return "\\b"  # beside \s or \d this is a word boundary, not a backspace
        if code in _SIMPLE:
            return _SIMPLE[code]
        illegal = True
        broken = broken or code == "u"
        return "\\" + code

    text = _ESCAPE.sub(one, raw)
    if not text.isascii() and _SURROGATE.search(text):
        return Unescaped(_SURROGATE.sub("\ufffd", text), illegal, broken, lone=True)
    return Unescaped(text, illegal, broken, foreign=bool(kinds & _FOREIGN))


def may_be_path(raw: str) -> bool:
    """Whether single backslashes may be meant as they stand, although every escape is legal: `C:\\temp\\new`."""
    return _BARE_PATH.search(raw) is not None


# ── balance ──
# Where a bracket closes, in a text that is still growing: strings are stepped over, nothing is looked at twice.

_STOP = re.compile(r"[\"'{}\[\]()]")
_INSIDE_BALANCE = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.S) for quote in "\"'"}
_BEFORE_STRING = frozenset("{[(,:=")
"""A single quote opens a string only after one of these; anywhere else it is an apostrophe."""


class Balance:
    """Counts the brackets from the one at `start`. `quote` is the string it stands in, if any."""

    __slots__ = ("at", "depth", "quote", "start")

    def __init__(self, start: int) -> None:
        self.start = self.at = start
        self.depth = 0
        self.quote = ""

    def advance(self, text: str, limit: int) -> int:
        """Go on up to `limit`. The position after the closing bracket, or -1 when it has not come yet."""
        at: int = self.at
        while at < limit:
            if self.quote:
                at = _INSIDE_BALANCE[self.quote].match(text, at, limit).end()  # type: ignore[union-attr]
                if at >= limit or text[at] != self.quote:
                    break  # the string goes on, or the text ends with half an escape
                self.quote = ""
                at += 1
                continue
            found = _STOP.search(text, at, limit)
            if found is None:
                at = limit
                break
            at = found.end()
            char = found[0]
            if char in "{[(":
                self.depth += 1
            elif char in "}])":
                self.depth -= 1
                if self.depth <= 0:
                    self.at = at
                    return at
            elif char == '"' or self._opens(text, at - 1):
                self.quote = char
        self.at = at
        return -1

    def _opens(self, text: str, at: int) -> bool:
        before = at - 1
        while before > self.start and text[before].isspace() and at - before < 200:
            before -= 1
        return text[before] in _BEFORE_STRING


# ── cursor ──
# A place in a text, what was noticed so far, and the way over white space, comments and fences.

Cut = Literal["", "closers", "value"]
FENCE = regex(r"```[ \t]*[\w+\-]*[ \t]*\r?\n?|~~~[ \t]*\w*[ \t]*\r?\n")
_STOPS = frozenset(" \t\n\r\f\v/#`\ufeff\u00a0\u2028\u2029")
"""Where skipping has something to do; of other characters beyond ASCII, `space` decides."""


class Cursor:
    """Holds the text and the position; remembers the rules that were needed, each with its first place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)
        self.at = 0
        self.open = ""
        self.marks: dict[str, int] = {}
        self.cut: Cut = ""
        self.solid = False

    def mark(self, rule: str, at: int) -> None:
        if rule not in self.marks:
            self.marks[rule] = at

    def skip(self, at: int, value: bool = False) -> int:
        """Over white space and comments. Where a value is due, `#fff` and `/path` are no comments."""
        text = self.text
        if at < self.size:
            char = text[at]
            if char not in _STOPS and char < "\x7f":
                return at
        at = space(text, at)
        while at < self.size and text[at] in "/#`":
            end = self._fence(at) if text[at] == "`" else self._comment(at, value)
            if end < 0:
                break
            at = space(text, end)
        return at

    def _comment(self, at: int, value: bool) -> int:
        text = self.text
        if text.startswith("/*", at):
            end = text.find("*/", at + 2) + 2
        elif text.startswith("//", at) or (text[at] == "#" and (not value or text.startswith("# ", at))):
            end = text.find("\n", at)
        else:
            return -1
        self.mark("comment", at)
        return end if end > 1 else self.size

    def _fence(self, at: int) -> int:
        fence = FENCE.match(self.text, at) if self.open else None
        if fence is None:
            return -1
        self.mark("fence", at)
        return fence.end()


_PATIENCE = 20_000
_WORDS = "true|false|null|True|False|None"
_ENDS = rf"\s*(?:[,}}\])]|;\s*[\"'}}\]]|$|//|/\*|\n)|\s+(?:[\"“'{{\[#]|(?:{_WORDS})\b)"
_NEXT_NUMBER = re.compile(r"\s+(?:-\d|(?!\d{3}(?!\d))\d)")
"""A number beside a number; three digits after a blank are more likely part of it: `1 000`."""

_SCALAR = regex(rf"({NUMBER}(?={_ENDS}|{_NEXT_NUMBER.pattern}|\{{\s*[\"'])|-?[A-Za-z]+(?={_ENDS}|\s+-?\d))")
_IN_GROUPS = regex(r"(?:^|[^\d.])[1-9]\d{0,2}(?:,\d{3})*,$")
_SCALARS_APART = regex(rf"(?:{NUMBER}|{_WORDS})(?:\s+(?:{NUMBER}|{_WORDS}))+")
_CONTROL = re.compile(r"[\x00-\x1f]")
_GROUPED = regex(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s*(?:[,}\n]|$))")
_BARE_STEP = regex(r"[^,{}\[\]()\n\r\"/#]*")
_BROKEN_NUMBER = regex(r"[-+]?\d+(?:\.\d+)?[eE][-+]?")
_PARTIAL_ESCAPE = regex(r"\\(?:u[0-9a-fA-F]{0,3})?$")
_MEMBER_ENDS = r"(?=\s*,\s*(?:[\"'“][^\"'“”\\\n]{0,100}[\"'”]\s*:|[A-Za-z_$][\w$\-]{0,100}\s*:(?!//)|\})|\s*\})"
_ELEMENT_ENDS = r"(?=\s*,\s*[\"'\-\d\[{\]]|\s*\])"
_TUPLE_ENDS = r"(?=\s*,\s*[\"'\-\d\[{(]|\s*,?\s*\))"
ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_SURE = {
    (quote, context): regex(rf"{quote}([^{quote}\\]*(?:\\.[^{quote}\\]*)*){quote}{ends}", re.S)
    for quote in "\"'"
    for context, ends in (("member", _MEMBER_ENDS), ("element", _ELEMENT_ENDS), ("tuple", _TUPLE_ENDS))
}
"""A string that is followed by just what should follow it there needs no further thought."""

_ESCAPED_STRING = regex(r"\\([\"'])([^\\]*)\\\1(?=\s*(?:[,:}\])]|$))")
_PLAIN_WORD = regex(r"\w+")
_OPERATOR = regex(
    r"(?:\s|\\\r?\n|#[^\n]*\n)*(?:[-+*/%@&|^<>.\[(]|[=!]=|(?:if|for|or|and|in|is|not)\b)|\s+[rR]?[fF][rR]?[\"']|\s*\\\r?\n"
)
"""What goes on with an expression after a string, and not with a text that has quotes inside: behind a comment and in
the next line too."""
_CODE = regex(r"[A-Za-z_]\w*\s*[(\[]|\$[({]")
"""In backticks: a call, an element, or what a shell would put in."""

_QUOTED = {quote: regex(rf"(?:\\.|[^{quote}\\])*{quote}", re.S) for quote in "\"'"}


class Atoms(Cursor):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.patience = _PATIENCE
        self.callee = ""
        """The name before the brackets, where the text is written as a call: its values are Python's."""

    def string(self, at: int, context: Context, keys: Container[str] = (), *, raw_text: bool = False) -> str:
        """The string whose opening quote stands at `at`; `raw_text` leaves its backslashes alone."""
        text, quote = self.text, self.text[at]
        in_tuple = context == "element" and self.open.endswith(")")
        sure = _SURE.get((quote, "tuple" if in_tuple else context))
        match = sure.match(text, at) if sure is not None else None
        if match is not None:
            self.at, self.solid = match.end(), True
            raw, cut = match[1], False
        elif quote in "\"'" and text.startswith(quote * 3, at) and text.find(quote * 3, at + 3) > 0:
            return self._triple(at, quote * 3)
        else:
            raw, cut = self._searched(at, quote, context, keys)
        if quote != '"':
            self.mark("single_quotes" if quote == "'" else "other_quotes", at)
        if self.callee and quote in "`´" and _CODE.search(raw):
            self.mark("expression", at)
        if raw_text:
            return raw
        return self.content(_PARTIAL_ESCAPE.sub("", raw) if cut else raw, at)

    def content(self, raw: str, at: int) -> str:
        """What the text between two quotes stands for."""
        if _CONTROL.search(raw):
            self.mark("raw_newline", at)
        return self.decoded(raw, at) if "\\" in raw else raw

    def escaped_string(self, at: int) -> str:
        """The string whose quotes are escaped, as if it stood inside another one: `\\'a.py\\'`. One with a backslash of
        its own has more than one reading, and none is taken."""
        match = _ESCAPED_STRING.match(self.text, at)
        if match is None:
            raise Unreadable("expected a value, got a backslash", at)
        self.mark("escaped_quotes", at)
        self.at, self.solid = match.end(), True
        return match[2]

    def _triple(self, at: int, quotes: str) -> str:
        end = self.text.find(quotes, at + 3)
        self.mark("triple_quotes", at)
        self.at, self.solid = end + 3, True
        raw = self.text[at + 3 : end]  # line breaks belong in such a string
        return self.decoded(raw, at) if "\\" in raw else raw

    def _searched(self, at: int, quote: str, context: Context, keys: Container[str]) -> tuple[str, bool]:
        search = StringEnd(self.text, at + 1, context, self.open, keys)
        closing = search.find(quote, self.patience)
        if closing.rule is not None:
            self.mark(closing.rule, at)
            self.patience = max(self.patience - search.seen, 0)
            if self.callee and self._goes_on(at, quote, closing.end):
                self.mark("expression", at)
        # a quote at the very end may be one of those inside: then the string is not visibly complete
        self.at, self.solid = closing.resume, not closing.cut and closing.rule is None
        if closing.cut:
            self.cut = "value"
        return self.text[at + 1 : closing.end], closing.cut

    def _goes_on(self, at: int, quote: str, end: int) -> bool:
        """`"a" if x else "b"`: whether Python ends the string that begins at `at` before `end`, and goes on with an
        operator. In a text with quotes of its own they do not pair up, or a word stands there."""
        first = _QUOTED[quote].match(self.text, at + 1, end) if quote in _QUOTED else None
        if first is None or _OPERATOR.match(self.text, first.end()) is None:
            return False
        return self.text.count(quote, at + 1, end) % 2 == 0

    def decoded(self, raw: str, at: int) -> str:
        """What a string with escapes stands for; by the strict reader, where it has no objection."""
        legal = attempt(f'"{raw}"')
        if legal is not NO_JSON:
            if may_be_path(raw):
                self.mark("doubtful_escape", at)
            return legal
        decoded = unescape(raw)
        if decoded.broken:
            raise Unreadable("a \\u escape without its four digits", at)
        if decoded.illegal:
            self.mark("escape", at)
        if decoded.foreign:
            self.mark("foreign_escape", at)
        if decoded.lone:
            self.mark("lone_surrogate", at)
        return decoded.text

    def scalar(self, at: int, shape: Shape, context: Context) -> tuple[bool, Any]:
        """A number or a constant at `at`: whether there is one, and its value."""
        text = self.text
        grouped = _GROUPED.match(text, at) if context == "member" and not shape.verbatim else None
        if grouped is not None:  # 2,000 before a key: 000 is no key
            self.mark("number_form", at)
            self.at, self.solid = grouped.end(), grouped.end() < self.size
            return True, read_number(grouped[0].replace(",", ""))
        match = _SCALAR.match(text, at)
        if match is None:
            return False, None
        word = match[1]
        if word in CONSTANTS:
            value, rule = CONSTANTS[word]
            if rule is not None:
                self.mark(rule, at)
            self.at, self.solid = match.end(), True
            return True, value
        if word.lstrip("-")[0].isalpha():
            return False, None
        if (
            self.open.endswith("]")
            and word[0] == "0"
            and len(word) == 3
            and _IN_GROUPS.search(text[max(0, at - 32) : at])
        ):
            raise Unreadable("1,000 in a list may be one number or two", at)
        self.at, self.solid = match.end(), match.end() < self.size
        if _NEXT_NUMBER.match(text, match.end()):
            self.mark("side_by_side", at)
        value = self.number(word, shape, at)
        if not isinstance(value, str) and not JSON_NUMBER.fullmatch(word):
            self.mark("number_form", at)
        return True, value

    def number(self, token: str, shape: Shape, at: int) -> Any:
        if shape.verbatim:
            self.mark("number_as_text", at)
            return token
        value = read_number(token)
        if value is None:
            if len(token) < 400:
                self.mark("unquoted_text", at)
                return token  # 007 and the like: no number in any notation
            raise Unreadable("a number with too many digits to be one", at)
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            self.mark("constant_form", at)
        return value

    def bare_text(self, at: int, shape: Shape, context: Context) -> Any:
        """Text without quotes, up to the comma, bracket or line end that closes it."""
        text, here, depth, quotes = self.text, at, 0, 0
        while True:
            here = _BARE_STEP.match(text, here).end()  # type: ignore[union-attr]
            if here >= self.size:
                break
            char = text[here]
            if char in "{[(":
                depth += 1
            elif char in "}])":
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and (char in "\n\r" or (char == "," and self._comma_ends(here, context))):
                break
            elif here > at and text[here - 1].isspace() and text[here : here + 2] in ("//", "/*", "# "):
                self.mark("doubtful_rest", here)  # a comment, or a part of the text
                break
            elif char == '"':
                if quotes % 2 == 0 and self._stray_quote(here):  # else it closes one that was opened inside the text
                    self.mark("missing_open_quote", here)
                    return self._finished(at, here, here + 1, shape)
                if depth == 0 and quotes % 2 == 0 and key_ahead(text, here):
                    self.mark("weak_quote", here)  # a key: the text ends before it, or goes on with it inside
                    break
                if context == "element":
                    self.mark("weak_quote", here)  # a string beside the text, or inside it
                quotes += 1
            here += 1
        if here >= self.size and depth > 0:
            here = self._before_closers(at)
        return self._finished(at, here, here, shape)

    def _finished(self, at: int, end: int, resume: int, shape: Shape) -> Any:
        content = self.text[at:end].strip()
        self.at, self.solid = resume, resume < self.size
        if self.open.endswith("]") and not shape.verbatim and _SCALARS_APART.fullmatch(content):
            raise Unreadable("1 000 in a list may be one number or two", at)
        if not content:
            raise Unreadable(f"{self.text[at]!r} is not a value", at)
        number = None if shape.verbatim else read_number(content)
        if number is not None:
            self.mark("number_form", at)
            return number
        if _BROKEN_NUMBER.fullmatch(content):
            raise Unreadable("a number without its exponent", at)
        self.mark("unquoted_text", at)
        if self.callee and not _PLAIN_WORD.fullmatch(content):
            self.mark("expression", at)  # what it would be is not in the text
        if resume >= self.size:
            self.cut = "value"
        return content

    def _comma_ends(self, at: int, context: Context) -> bool:
        """Inside an object a comma ends bare text only where a key or a bracket follows."""
        if context == "element":
            return True
        begin = self.skip(at + 1)
        if begin >= self.size or self.text[begin] in "}])":
            return True
        if context == "argument":
            return ARGUMENT.match(self.text, begin) is not None
        return key_ahead(self.text, begin)

    def _stray_quote(self, at: int) -> bool:
        after = space(self.text, at + 1)
        return after >= self.size or self.text[after] in ",}]"

    def _before_closers(self, at: int) -> int:
        """Where the brackets at the end of the text begin that close what is open."""
        end = len(self.text.rstrip())
        for closer in self.open:
            if end > at and self.text[end - 1] == closer:
                end -= 1
            else:
                break
        return end

"""Values without structure: strings, numbers, constants, and text that nobody put into quotes."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, Literal

from rightcall.base.json.shape import CONSTANTS, JSON_NUMBER, NUMBER, Shape, read_number
from rightcall.base.json.strict import NO_JSON, attempt
from rightcall.base.json.strings import Context, StringEnd, key_ahead, may_be_path, space, unescape
from rightcall.base.text import regex
from rightcall.errors import Unreadable

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

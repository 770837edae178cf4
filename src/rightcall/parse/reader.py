"""The lenient reader: one pass over a text that was meant to be JSON, led by the shape the schema wants.

It is a push-down machine with its own stack, so nesting costs no recursion, and it never looks further ahead than a
fixed budget, so time stays linear. It says where the value ends, which rules it needed, and how the text was cut off.
What is a sure repair and what is not is decided by whoever asked; see `marks`.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple, cast

from rightcall.errors import Unreadable
from rightcall.parse.escapes import unescape
from rightcall.parse.scalars import CONSTANTS, NUMBER, read_number
from rightcall.parse.shape import ANY, Shape
from rightcall.parse.strict import decode, duplicate_keys
from rightcall.parse.strings import CLOSERS, QUOTES, STRAY_WORD, WORD_KEY, Context, StringEnd, key_ahead, space

Cut = Literal["", "closers", "value"]
MAX_DEPTH = 256
_PATIENCE = 20_000

_PLAIN = r'"([^"\\\x00-\x1f]*)"'
_JSON_NUMBER = r"(-?(?:0|[1-9]\d{0,15})(?:\.\d{1,17})?)"
_CONSTANT = r"(true|false|null|True|False|None)"
_NEXT_KEY = r'\s*(,)\s*(?="[^"\\\n]{0,100}"\s*:)|\s*(?=\})'
_MEMBER = rf"\s*{_PLAIN}\s*:\s*(?:{_PLAIN}|{_JSON_NUMBER}|{_CONSTANT})(?:{_NEXT_KEY})"
_ELEMENT = rf"\s*(?:{_PLAIN}|{_JSON_NUMBER}|{_CONSTANT})(?:\s*(,)\s*(?=[\"\-\d\[{{]|[tfnTFN][rauo])|\s*(?=\]))"
_FAST = {quote: (re.compile(_MEMBER.replace('"', quote)), re.compile(_ELEMENT.replace('"', quote))) for quote in "\"'"}
_PIECE = 2000
"""A bracket that closes within so many characters is tried as strict JSON first."""

_KEY = re.compile(rf"{_PLAIN}\s*:\s*")
_STRING_MEMBER = re.compile(rf'"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"(?={_NEXT_KEY.replace("(,)", ",")})')
_WORD = re.compile(r"([\w$][\w$.\-]*)")
_PHRASE_KEY = re.compile(r"([^\"'`“”{}\[\],:\n]{1,80}?)\s*:")
_SCALAR = re.compile(rf"({NUMBER}|[A-Za-z]+)(?=\s*(?:[,}}\])]|$|//|/\*|\n)|\s+[\"“'{{\[#])")
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s*(?:[,}\n]|$))")
_PREFIX = re.compile(r"[rRbBuUfF]{1,2}(?=[\"'])")
_CALL = re.compile(r"[A-Za-z_$][\w$.]*\s*\(")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_BARE_STEP = re.compile(r"[^,{}\[\]()\n\r\"/#]*")
_GOES_ON = re.compile(r'\s*,\s*"[^"\\\n]{1,100}"\s*:')
FENCE = re.compile(r"```[ \t]*[\w+\-]*[ \t]*\r?\n?|~~~[ \t]*\w*[ \t]*\r?\n")
_BROKEN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?[eE][-+]?")
_PARTIAL_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")
_CLOSER = {"{": "}", "[": "]", "(": ")"}


def _loses_text(value: Any, shape: Shape) -> bool:
    """Whether a number stands where text is declared: then the digits as written count."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return any(isinstance(item, (int, float)) and shape.props.get(key, ANY).verbatim for key, item in items)
    return shape.items is not None and shape.items.verbatim


class Read(NamedTuple):
    """What was read: the value, where it ends, the rules that were needed (with the first place of each), how the
    text was cut off, the paths of keys that stood twice, and the key or word the text was cut off in."""

    value: Any
    end: int
    marks: dict[str, int]
    cut: Cut
    duplicates: tuple[str, ...]


class _Frame:
    """One open bracket. `after` is true between a value and the comma that should follow it."""

    __slots__ = ("after", "closer", "commas", "key", "keyed", "shape", "value")

    def __init__(self, closer: str, keyed: bool, shape: Shape) -> None:
        self.closer = closer
        self.keyed = keyed
        self.shape = shape
        self.value: Any = {} if keyed else []
        self.key = ""
        self.after = False
        self.commas = 0


class Reader:
    """Reads one value from `text`. Make a new one for each value."""

    def __init__(self, text: str, shape: Shape | None = None, *, max_depth: int = MAX_DEPTH) -> None:
        self.text = text
        self.size = len(text)
        self.shape = shape or ANY
        self.max_depth = max_depth
        self.at = 0
        self.stack: list[_Frame] = []
        self.open = ""
        self.root: Any = None
        self.marks: dict[str, int] = {}
        self.cut: Cut = ""
        self.duplicates: list[str] = []
        self.solid = False
        self.patience = _PATIENCE
        double, single = text.find('"'), text.find("'")
        self.quote = "'" if 0 <= single and (double < 0 or single < double) else '"'
        self.member, self.element = _FAST[self.quote]

    def read(self, start: int = 0) -> Read:
        """Read the value that begins at `start`. Raises `Unreadable` where no value can be told."""
        self.at = start
        self._value(self.shape, "top")
        while self.stack:
            frame = self.stack[-1]
            if frame.keyed:
                self._member(frame)
            else:
                self._element(frame)
        return Read(self.root, self.at, self.marks, self.cut, tuple(self.duplicates))

    # ── one step inside an open bracket ──────────────────────────────────────────────────────────────────────────

    def _member(self, frame: _Frame) -> None:
        if not frame.after and frame.closer == "}":
            match = self.member.match(self.text, self.at)
            if match is not None:
                frame.key, string, number, constant, comma = match.groups()
                shape = frame.shape.props.get(frame.key, ANY) if number else ANY
                self._put_plain(match, string, number, constant, shape)
                frame.after = comma is None
                return
        at = self._before_item(frame)
        if at >= 0:
            self._key(frame, at)

    def _element(self, frame: _Frame) -> None:
        if not frame.after:
            match = self.element.match(self.text, self.at)
            if match is not None:
                string, number, constant, comma = match.groups()
                self._put_plain(match, string, number, constant, frame.shape.items or ANY)
                frame.after = comma is None
                frame.commas += comma is not None
                return
        at = self._before_item(frame)
        if at >= 0:
            if self.text.startswith("...", at):
                self._mark("ellipsis", at)
                self.at = at + 3
                return
            self.at = at
            if not frame.value and frame.closer == "]" and self.text[at] == '"' and _KEY.match(self.text, at):
                self._mark("wrong_bracket", at)
                frame.keyed, frame.value = True, {}
                return
            self._value(self._item_shape(frame), "element")

    def _put_plain(
        self, match: re.Match[str], string: str | None, number: str | None, constant: str | None, shape: Shape
    ) -> None:
        """An item that one expression could read whole."""
        self.at, self.solid = match.end(), True
        if string is not None:
            self._put(string)
        elif number is not None:
            self._put(self._number(number, shape, match.start()))
        else:
            value, rule = CONSTANTS[constant or "null"]
            if rule is not None:
                self._mark(rule, match.start())
            self._put(value)
        if self.quote == "'":
            self._mark("single_quotes", match.start())

    def _before_item(self, frame: _Frame) -> int:
        """Deal with what stands between items. The position of the next item, or -1 when this step is done."""
        at = self._skip(self.at)
        if at >= self.size:
            self._cut_off(frame)
            return -1
        char = self.text[at]
        if char == "," or (char == ";" and frame.after):
            if not frame.after:
                self._mark("trailing_comma", at)
            frame.after, self.at = False, at + 1
            frame.commas += 1
            self.solid = False
            return -1
        if char in "}])":
            self._close(at, char)
            return -1
        if frame.after:
            if char == "+" and self._join(frame, at):
                return -1
            self._mark("missing_comma", at)
        frame.after = False
        return at

    def _key(self, frame: _Frame, at: int) -> None:
        text = self.text
        match = (_ARGUMENT if frame.closer == ")" else _KEY).match(text, at)
        if match is not None:
            frame.key, self.at = match[1], match.end()
        elif frame.closer == ")":
            raise Unreadable("an argument without a name among named ones", at)
        elif not self._odd_key(frame, at):
            return
        shape = frame.shape
        self._value(shape.props.get(frame.key) or shape.additional or ANY, "member" if frame.closer == "}" else "argument")

    def _odd_key(self, frame: _Frame, at: int) -> bool:
        """A key that is not plainly quoted. False when there is none, or no value to it."""
        text = self.text
        if text.startswith("...", at):
            self._mark("ellipsis", at)
            self.at = at + 3
            return False
        stray = STRAY_WORD.match(text, at)
        if stray is not None:
            self._mark("stray_word", at)
            self.at = stray.end()
            return False
        if text[at] in QUOTES:
            key = self._string(at, "key", ANY)
        else:
            word = (WORD_KEY.match(text, at) and _WORD.match(text, at)) or _PHRASE_KEY.match(text, at) or _WORD.match(text, at)
            if word is None:
                raise Unreadable(f"a key was expected, not {text[at]!r}", at)
            key = word[1].strip()
            self.at = word.end(1)
            self._mark("unquoted_key", at)
        frame.key = key
        return self._colon(frame, key)

    def _colon(self, frame: _Frame, key: str) -> bool:
        at = self._skip(self.at)
        if at >= self.size or self.cut:
            self._cut_value()
            return False
        char = self.text[at]
        if char == ":":
            self.at = at + 1
        elif char == "=":
            self.at = at + (2 if self.text.startswith("=>", at) else 1)
            self._mark("missing_colon", at)
        elif char in ",}])":
            return self._no_value(frame, key, at)
        else:
            self._mark("missing_colon", at)
            self.at = at
        return True

    def _no_value(self, frame: _Frame, key: str, at: int) -> bool:
        """`{"a", "b"}` is a Python set; a lone key among others is a key whose value got lost."""
        if not frame.value:
            self._mark("python_literal", at)
            frame.keyed, frame.value = False, [key]
        else:
            self._mark("missing_value", at)
        frame.after, self.at = True, at
        return False

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, shape: Shape, context: Context) -> None:
        text = self.text
        at = self._skip(self.at, value=True)
        if at >= self.size:
            if not self.stack:
                raise Unreadable("there is no value", at)
            self._cut_value()
            return
        char = text[at]
        if char in "{[":
            if self.stack and self._piece(at, _CLOSER[char], shape):
                return
            self._push(_CLOSER[char], char == "{", shape, at + 1)
        elif char == "(":
            self._push(")", False, shape, at + 1)
        elif char in CLOSERS:
            self._put(self._string(at, context, shape))
        elif char in ",}])":
            self._missing_value(at)
        else:
            self._bare(at, shape, context)

    def _missing_value(self, at: int) -> None:
        if not self.stack:
            raise Unreadable("there is no value", at)
        self._mark("missing_value", at)
        self.stack[-1].after, self.at = True, at

    def _piece(self, at: int, closer: str, shape: Shape) -> bool:
        """A short bracket that is strict JSON by itself needs no lenient reading."""
        end = self.text.find(closer, at, at + _PIECE)
        if end < 0:
            return False
        piece = self.text[at : end + 1]
        if self.quote == "'":
            if '"' in piece or "\\" in piece:
                return False
            piece = piece.replace("'", '"')
        try:
            value = decode(piece)
        except Unreadable:
            return False
        if duplicate_keys(piece, value) or _loses_text(value, shape):
            return False
        if self.quote == "'" and '"' in piece:
            self._mark("single_quotes", at)
        self.at, self.solid = end + 1, True
        self._put(value)
        return True

    def _push(self, closer: str, keyed: bool, shape: Shape, at: int) -> None:
        if len(self.stack) >= self.max_depth:
            raise Unreadable(f"nested deeper than {self.max_depth} levels", at)
        wanted = "object" if keyed else "array"
        for option in shape.options:
            if option.allows(wanted) and (option.props if keyed else option.items):
                shape = option
                break
        self.stack.append(_Frame(closer, keyed, shape))
        self.open += closer
        self.at = at
        self.solid = False

    def _put(self, value: Any) -> None:
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if frame.keyed:
            if frame.key in frame.value:
                self.duplicates.append(self.path())
            frame.value[frame.key] = value
        else:
            frame.value.append(value)
        frame.after = True

    def _string(self, at: int, context: Context, shape: Shape) -> str:
        text, quote = self.text, self.text[at]
        if quote in "\"'" and text.startswith(quote * 3, at):
            end = text.find(quote * 3, at + 3)
            if end > 0:
                self._mark("triple_quotes", at)
                self.at, self.solid = end + 3, True
                return text[at + 3 : end]
        if quote == '"' and context == "member":
            match = _STRING_MEMBER.match(text, at)
            if match is not None:
                self.at, self.solid = match.end(), True
                return self._decode(match[1], at)
        keys = self.stack[-1].shape.props if self.stack else {}
        closing = StringEnd(text, at + 1, context, self.open, keys).find(quote, self.patience)
        if closing.rule is not None:
            self._mark(closing.rule, at)
            self.patience -= min(self.patience, text.count(quote, at + 1, at + 4096))
        if quote != '"':
            self._mark("single_quotes" if quote == "'" else "other_quotes", at)
        self.at, self.solid = closing.resume, not closing.cut
        raw = text[at + 1 : closing.end]
        if closing.cut:
            self.cut = "value"
            raw = _PARTIAL_ESCAPE.sub("", raw)
        return self._decode(raw, at)

    def _decode(self, raw: str, at: int) -> str:
        if "\n" in raw or "\t" in raw or "\r" in raw:
            self._mark("raw_newline", at)
        if "\\" not in raw:
            return raw
        decoded = unescape(raw)
        if decoded.broken:
            raise Unreadable("a \\u escape without its four digits", at)
        if decoded.illegal:
            self._mark("escape", at)
        if decoded.lone:
            self._mark("lone_surrogate", at)
        return decoded.text

    def _bare(self, at: int, shape: Shape, context: Context) -> None:
        """A value without quotes: a number, a constant, a call, or text."""
        text = self.text
        grouped = _GROUPED.match(text, at) if context == "member" and not shape.verbatim else None
        if grouped is not None:
            self._mark("number_form", at)
            self.at, self.solid = grouped.end(), grouped.end() < self.size
            return self._put(read_number(grouped[0].replace(",", "")))
        match = _SCALAR.match(text, at)
        if match is not None and match.end() > at:
            word = match[1]
            if word in CONSTANTS:
                value, rule = CONSTANTS[word]
                if rule is not None:
                    self._mark(rule, at)
                self.at, self.solid = match.end(), True
                return self._put(value)
            if not word[0].isalpha():
                self.at, self.solid = match.end(), match.end() < self.size
                return self._put(self._number(word, shape, at))
        prefix = _PREFIX.match(text, at)
        if prefix is not None:
            self._mark("python_literal", at)
            return self._put(self._string(prefix.end(), context, shape))
        call = _CALL.match(text, at)
        if call is not None and self._call(call.end(), shape, context):
            return None
        if context == "top":
            raise Unreadable("there is no value", at)
        return self._text(at, shape, context)

    def _call(self, at: int, shape: Shape, context: Context) -> bool:
        """`name(...)`: named arguments are an object, one plain argument is the value itself."""
        inside = self._skip(at)
        named = _ARGUMENT.match(self.text, inside) is not None
        empty = self.text.startswith(")", inside)
        if context != "top":
            if shape.verbatim or not (named or self.text[inside : inside + 1] in tuple('"\'{[0123456789')):
                return False
            self._mark("call_value", at)
        elif named or empty:
            self._mark("python_call", at)
        self._push(")", named or (empty and context == "top"), shape, at)
        return True

    def _text(self, at: int, shape: Shape, context: Context) -> None:
        """Text without quotes, up to the comma, bracket or line end that closes it."""
        text, here, depth = self.text, at, 0
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
            elif (char in "\n\r" and depth == 0) or (char == "," and depth == 0 and self._comma_ends(here, context)):
                break
            elif char in "/#" and here > at and text[here - 1].isspace() and text[here : here + 2] in ("//", "/*", "# "):
                break
            elif char == '"' and self._stray_quote(here):
                self._mark("missing_open_quote", here)
                return self._finish_text(at, here, here + 1)
            here += 1
        if here >= self.size and depth > 0:
            here = self._drop_closers(at)
        return self._finish_text(at, here, here)

    def _finish_text(self, at: int, end: int, resume: int) -> None:
        content = self.text[at:end].strip()
        self.at = resume
        self.solid = resume < self.size
        if not content:
            raise Unreadable(f"{self.text[at]!r} is no value", at)
        shape = self.stack[-1].shape.props.get(self.stack[-1].key, ANY) if self.stack and self.stack[-1].keyed else ANY
        number = None if shape.verbatim else read_number(content)
        if number is not None:
            self._mark("number_form", at)
            return self._put(number)
        if _BROKEN_NUMBER.fullmatch(content):
            raise Unreadable("a number without its exponent", at)
        self._mark("unquoted_text", at)
        if resume >= self.size:
            self.cut = "value"
        return self._put(content)

    def _comma_ends(self, at: int, context: Context) -> bool:
        """Inside an object a comma ends bare text only where a key or a bracket follows."""
        if context == "element":
            return True
        begin = self._skip(at + 1)
        if begin >= self.size or self.text[begin] in "}])":
            return True
        if context == "argument":
            return _ARGUMENT.match(self.text, begin) is not None
        return key_ahead(self.text, begin)

    def _stray_quote(self, at: int) -> bool:
        after = space(self.text, at + 1)
        return after >= self.size or self.text[after] in ",}]"

    def _drop_closers(self, at: int) -> int:
        end = len(self.text.rstrip())
        for closer in self.open:
            if end > at and self.text[end - 1] == closer:
                end -= 1
            else:
                break
        return end

    def _number(self, token: str, shape: Shape, at: int) -> Any:
        if shape.verbatim:
            self._mark("number_as_text", at)
            return token
        value = read_number(token)
        if value is None:
            raise Unreadable(f"the number at {at} is too long to be one", at)
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            self._mark("constant_form", at)
        return value

    # ── brackets, the end, and what lies between ────────────────────────────────────────────────────────────────

    def _close(self, at: int, char: str) -> None:
        self.at = at + 1
        if self.stack[-1].value and not self.stack[-1].after and char == self.stack[-1].closer:
            self._mark("trailing_comma", at)
        if self.stack[-1].closer != char:
            found = self.open.rfind(char)
            if found < 0:
                if len(self.stack) == 1 and space(self.text, at + 1) < self.size:
                    self._mark("surplus_closer", at)
                    return
                self._mark("wrong_closer", at)
            else:
                self._mark("missing_closer", at)
                while len(self.stack) > found + 1:
                    self._pop()
        if self._closed_early(char):
            self._mark("early_closer", at)
            self.stack[-1].after = True
            return
        self._pop()

    def _closed_early(self, char: str) -> bool:
        """`{"a": 1}, "b": 2}`: a bracket too early, where the text goes on with another key."""
        rest = len(self.stack) == 1 and char == "}" and self.text.startswith(",", space(self.text, self.at))
        return rest and _GOES_ON.match(self.text, self.at) is not None

    def _pop(self) -> None:
        frame = self.stack.pop()
        self.open = self.open[:-1]
        value = frame.value
        if frame.closer == ")" and not frame.keyed:
            if len(value) == 1 and not frame.commas:
                value = value[0]
            else:
                self._mark("python_literal", self.at)
        self.solid = True
        self._put(value)

    def _cut_off(self, frame: _Frame) -> None:
        """The text ends here. Only where the last value is visibly complete are brackets all that is missing."""
        if not self.cut:
            self.cut = "closers" if self.solid and frame.after else "value"
        self.at = self.size
        self._mark("cut_closers" if self.cut == "closers" else "cut_value", self.size)
        cut = self.cut
        while self.stack:
            self._pop()
        self.cut = cut

    def _cut_value(self) -> None:
        self.cut = "value"
        self._cut_off(self.stack[-1])

    def _join(self, frame: _Frame, at: int) -> bool:
        begin = self._skip(at + 1)
        last = frame.value[frame.key] if frame.keyed else frame.value[-1]
        if begin >= self.size or self.text[begin] not in QUOTES or not isinstance(last, str):
            return False
        self._mark("joined_strings", at)
        joined = last + self._string(begin, "member" if frame.keyed else "element", ANY)
        if frame.keyed:
            frame.value[frame.key] = joined
        else:
            frame.value[-1] = joined
        return True

    def _skip(self, at: int, value: bool = False) -> int:
        """Over white space and comments. Where a value is due, `#fff` and `/path` are no comments."""
        text = self.text
        at = space(text, at)
        while at < self.size and text[at] in "/#`":
            if text[at] == "`":
                fence = FENCE.match(text, at)
                if fence is None or not self.stack:
                    break
                self._mark("fence", at)
                at = space(text, fence.end())
                continue
            if text.startswith("/*", at):
                end = text.find("*/", at + 2)
                end = self.size if end < 0 else end + 2
            elif text.startswith("//", at) or (text[at] == "#" and (not value or text.startswith("# ", at))):
                end = text.find("\n", at)
                end = self.size if end < 0 else end
            else:
                break
            self._mark("comment", at)
            at = space(text, end)
        return at

    def _item_shape(self, frame: _Frame) -> Shape:
        prefix = frame.shape.prefix
        if len(frame.value) < len(prefix):
            return prefix[len(frame.value)]
        return frame.shape.items or ANY

    def _mark(self, rule: str, at: int) -> None:
        if rule not in self.marks:
            self.marks[rule] = at

    def path(self) -> str:
        """Where the reader stands, as `items[2].name`."""
        parts: list[str] = []
        for frame in self.stack:
            parts.append(f".{frame.key}" if frame.keyed else f"[{len(frame.value)}]")
        return "".join(parts).removeprefix(".")

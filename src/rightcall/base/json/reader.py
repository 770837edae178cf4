"""The lenient reader: one pass over a text that was meant to be JSON, led by the shape the schema wants.

It is a push-down machine with its own stack, so nesting costs no recursion, and it never looks further ahead than a
fixed budget, so time stays linear. It says where the value ends, which rules it needed, and how the text was cut off.
What is a sure repair and what is not is decided by whoever asked; see `marks`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from rightcall.base.json.marks import is_object
from rightcall.base.json.shape import ANY, CONSTANTS, Shape, loses_digits
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys
from rightcall.base.json.values import (
    ARGUMENT,
    CLOSERS,
    QUOTES,
    STRAY_WORD,
    WORD_KEY,
    Atoms,
    Context,
    Cut,
    quoted,
    space,
)
from rightcall.base.text import regex
from rightcall.errors import Unreadable

# ── brackets ──
# The open brackets of a text: what is put into them, and how they close, also with the wrong bracket or with none.

_GOES_ON = regex(r'\s*,\s*"[^"\\\n]{1,100}"\s*:')


class Frame:
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


class Brackets(Atoms):
    """A stack of open brackets; what closes last is the value."""

    def __init__(self, text: str, max_depth: int) -> None:
        super().__init__(text)
        self.max_depth = max_depth
        self.stack: list[Frame] = []
        self.root: Any = None
        self.duplicates: list[str] = []

    def put(self, value: Any) -> None:
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

    def push(self, closer: str, keyed: bool, shape: Shape, at: int) -> None:
        if len(self.stack) >= self.max_depth:
            raise Unreadable(f"nested deeper than {self.max_depth} levels", at)
        wanted = "object" if keyed else "array"
        for option in shape.options:
            if option.allows(wanted) and (option.props if keyed else option.items):
                shape = option
                break
        self.stack.append(Frame(closer, keyed, shape))
        self.open += closer
        self.at = at
        self.solid = False

    def close(self, at: int, char: str) -> None:
        self.at = at + 1
        frame = self.stack[-1]
        if frame.closer != char:
            found = self.open.rfind(char)
            if found < 0 and len(self.stack) == 1 and space(self.text, at + 1) < self.size:
                self.mark("surplus_closer", at)
                return
            self.mark("wrong_closer" if found < 0 else "missing_closer", at)
            while len(self.stack) > found + 1 > 0:
                self.pop()
        elif frame.value and not frame.after:
            self.mark("trailing_comma", at)
        if len(self.stack) == 1 and char == "}" and _GOES_ON.match(self.text, self.at):
            self.mark("early_closer", at)  # {"a": 1}, "b": 2}: a bracket too early, the text goes on with another key
            self.stack[-1].after = True
            return
        self.pop()

    def pop(self) -> None:
        frame = self.stack.pop()
        self.open = self.open[:-1]
        value = frame.value
        if frame.closer == ")" and not frame.keyed:
            if len(value) == 1 and not frame.commas:
                value = value[0]
            else:
                self.mark("python_literal", self.at)
        self.solid = True
        self.put(value)

    def cut_off(self, frame: Frame) -> None:
        """The text ends here. Only where the last value is visibly complete are brackets all that is missing."""
        if not self.cut:
            self.cut = "closers" if self.solid and frame.after else "value"
        self.at = self.size
        self.mark("cut_closers" if self.cut == "closers" else "cut_value", self.size)
        while self.stack:
            self.pop()

    def cut_value(self) -> None:
        self.cut = "value"
        self.cut_off(self.stack[-1])

    def member_shape(self, frame: Frame) -> Shape:
        return frame.shape.props.get(frame.key) or frame.shape.additional or ANY

    def item_shape(self, frame: Frame) -> Shape:
        prefix = frame.shape.prefix
        if len(frame.value) < len(prefix):
            return prefix[len(frame.value)]
        return frame.shape.items or ANY

    def path(self) -> str:
        """Where the reader stands, as `items[2].name`."""
        parts = (f".{frame.key}" if frame.keyed else f"[{len(frame.value)}]" for frame in self.stack)
        return "".join(parts).removeprefix(".")


MAX_DEPTH = 256
_PIECE = 2000
"""A bracket that closes within so many characters is tried as strict JSON first."""

_EFFORT = 50_000
"""So many items that are not plainly JSON, and no more: that is what a second of reading has room for."""

_WORD_KEY = r"[A-Za-z_$][\w$\-]{0,100}"
_NEXT_KEY = rf"(?:[\"'“][^\"'“”\\\n]{{0,100}}[\"'”]\s*:|{_WORD_KEY}\s*:(?!//)|\}})"
_KEY = rf"(?:\"([^\"\\\x00-\x1f]*)\"|'([^'\\\x00-\x1f]*)'|“([^\"“”\\\x00-\x1f]*)”|({_WORD_KEY}))\s*:\s*"
_STRING = quoted('"') + "|" + quoted("'")
_ATOM = rf"(?:{_STRING}|(-?(?:0|[1-9]\d{{0,15}})(?:\.\d{{1,17}})?)|(true|false|null|True|False|None))"
_MEMBER = re.compile(
    rf"\s*{_KEY}{_ATOM}(?:\s*(,)\s*(?={_NEXT_KEY})|\s*(?=\}}|\Z)|\s+(?=\"[^\"\\\n]{{0,100}}\"\s*:))", re.S
)
_ELEMENT = re.compile(rf"\s*{_ATOM}(?:\s*(,)\s*(?=[\"'\-\d\[{{\]]|[tfnTFN][rauo])|\s*(?=\]))", re.S)
_PLAIN_KEY = re.compile(_KEY.replace(rf"|({_WORD_KEY})", ""))
_WORD = regex(r"([\w$][\w$.\-]*)")
_PHRASE_KEY = regex(r"([^\"'`“”{}\[\],:\n]{1,80}?)\s*:")
_PREFIX = regex(r"[rRbBuUfF]{1,2}(?=[\"'](?!\s*[,}\]]))")
_CALL = regex(r"[A-Za-z_$][\w$.]*\s*\(")
_CLOSER = {"{": "}", "[": "]", "(": ")"}


class Read(NamedTuple):
    """What was read: the value, where it ends, the rules that were needed (with the first place of each), how the
    text was cut off, and the paths of keys that stood twice."""

    value: Any
    end: int
    marks: dict[str, int]
    cut: Cut
    duplicates: tuple[str, ...]
    callee: str = ""
    """The name before the brackets, where the text was written as a call."""


class Reader(Brackets):
    """Reads one value from `text`. Make a new one for each value."""

    def __init__(self, text: str, shape: Shape | None = None, *, max_depth: int = MAX_DEPTH) -> None:
        super().__init__(text, max_depth)
        self.shape = shape or ANY
        self.effort = _EFFORT

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
        return Read(self.root, self.at, self.marks, self.cut, tuple(self.duplicates), self.callee)

    # ── one step inside an open bracket ──────────────────────────────────────────────────────────────────────────

    def _member(self, frame: Frame) -> None:
        match = None if frame.after or frame.closer != "}" else _MEMBER.match(self.text, self.at)
        if match is None:
            at = self._before_item(frame)
            if at < 0:
                return
            match = _MEMBER.match(self.text, at) if frame.closer == "}" else None
            if match is None:
                self._key(frame, at)
                return
        double, single, smart, word, string, quoted, number, constant, comma = match.groups()
        frame.key = double if double is not None else self._other_key(single, smart, word, match.start())
        self.put(self._plain(match.start(), string, quoted, number, constant, frame))
        self.at = match.end()
        self.solid = number is None or self.at < self.size
        frame.after = comma is None

    def _other_key(self, single: str | None, smart: str | None, word: str | None, at: int) -> str:
        rule = "single_quotes" if single is not None else "other_quotes" if smart is not None else "unquoted_key"
        self.mark(rule, at)
        return single or smart or word or ""

    def _element(self, frame: Frame) -> None:
        match = None if frame.after else _ELEMENT.match(self.text, self.at)
        if match is None:
            at = self._before_item(frame)
            if at < 0:
                return
            match = _ELEMENT.match(self.text, at)
            if match is None:
                self._odd_element(frame, at)
                return
        string, quoted, number, constant, comma = match.groups()
        self.put(self._plain(match.start(), string, quoted, number, constant, frame))
        self.at, self.solid = match.end(), True
        frame.after = comma is None
        frame.commas += comma is not None

    def _plain(
        self, at: int, string: str | None, quoted: str | None, number: str | None, constant: str | None, frame: Frame
    ) -> Any:
        """The value that the expression for a whole item has found."""
        if string is not None:
            return string if string.isprintable() and "\\" not in string else self.content(string, at)
        if quoted is not None:
            self.mark("single_quotes", at)
            return self.content(quoted, at)
        if number is not None:
            shape = frame.shape
            if shape is not ANY:
                shape = self.member_shape(frame) if frame.keyed else self.item_shape(frame)
            return self.number(number, shape, at)
        value, rule = CONSTANTS[constant or "null"]
        if rule is not None:
            self.mark(rule, at)
        return value

    def _odd_element(self, frame: Frame, at: int) -> None:
        if self.text.startswith("...", at):
            self.mark("ellipsis", at)
            self.at = at + 3
        elif not frame.value and frame.closer == "]" and _PLAIN_KEY.match(self.text, at):
            self.mark("wrong_bracket", at)
            frame.keyed, frame.value = True, {}
        else:
            self.at = at
            self._value(self.item_shape(frame), "element")

    def _before_item(self, frame: Frame) -> int:
        """Deal with what stands between items. The position of the next item, or -1 when this step is done."""
        self.effort -= 1
        if self.effort < 0:
            raise Unreadable("more damage than can be repaired", self.at)
        text, at = self.text, self.at
        while True:
            at = self.skip(at)
            if at >= self.size:
                self.cut_off(frame)
                return -1
            char = text[at]
            if char == "," or (char == ";" and frame.after):
                if not frame.after or char == ";":
                    self.mark("missing_comma" if frame.after else "trailing_comma", at)
                frame.after = self.solid = False
                frame.commas += 1
                at += 1
                continue
            if char in "}])":
                self.close(at, char)
                return -1
            if frame.after:
                if char == "+" and self._join(frame, at):
                    return -1
                if self.callee and char in "[(" and text[at - 1] in "])}":
                    self.mark("expression", at)  # `[1, 2][0]`
                self.mark("missing_comma", at)
                frame.after = False
            return at

    def _key(self, frame: Frame, at: int) -> None:
        in_call = frame.closer == ")"
        match = (ARGUMENT if in_call else _PLAIN_KEY).match(self.text, at)
        if match is not None:
            frame.key, self.at = match[1], match.end()
            if frame.key is None:
                frame.key = self._other_key(match[2], match[3], None, at)
        elif in_call:
            raise Unreadable("an argument without a name among named ones", at)
        elif not self._odd_key(frame, at):
            return
        self._value(self.member_shape(frame), "argument" if in_call else "member")

    def _odd_key(self, frame: Frame, at: int) -> bool:
        """A key that is not plainly quoted. False when there is none, or no value to it."""
        text = self.text
        self.effort -= 1  # it takes about twice the time of other items
        stray = STRAY_WORD.match(text, at)
        if stray is not None or text.startswith("...", at):
            self.mark("ellipsis" if stray is None else "stray_word", at)
            self.at = at + 3 if stray is None else stray.end()
            return False
        if text[at] == "{":
            return self._brace(frame, at)
        if text[at] in QUOTES:
            key = self.string(at, "key")
        elif text[at] == "\\":
            key = self.escaped_string(at)
        else:
            word = (WORD_KEY.match(text, at) and _WORD.match(text, at)) or _PHRASE_KEY.match(text, at)
            word = word or _WORD.match(text, at)
            if word is None:
                raise Unreadable(f"a key was expected, not {text[at]!r}", at)
            key = word[1].strip()
            self.at = word.end(1)
            self.mark("unquoted_key", at)
        frame.key = key
        return self._colon(frame, key, at)

    def _brace(self, frame: Frame, at: int) -> bool:
        """`{{"a": 1}}` has a bracket too many; `[{"a": 1, {"a": 2}]` one too few."""
        if not frame.value and len(self.stack) == 1:
            self.mark("surplus_opener", at)
            self.stack.pop()
            self.open = ""
            self.at = at
            self._value(self.shape, "top")
        elif len(self.stack) > 1 and not self.stack[-2].keyed:
            self.mark("missing_closer", at)
            self.at = at
            self.pop()
        else:
            raise Unreadable("a key was expected, not a bracket", at)
        return False

    def _colon(self, frame: Frame, key: str, start: int) -> bool:
        at = self.skip(self.at)
        if at >= self.size or self.cut:
            self.cut_value()
            return False
        char = self.text[at]
        if char == ":":
            self.at = at + 1
        elif char == "=":
            self.at = at + (2 if self.text.startswith("=>", at) else 1)
            self.mark("missing_colon", at)
        elif char in ",}])":
            return self._no_value(frame, start, at)
        else:
            self.mark("missing_colon", at)
            frame.key = key.removesuffix(":")  # "key:"value": the quote came too late
            self.at = at
        return True

    def _no_value(self, frame: Frame, start: int, at: int) -> bool:
        """`{"a", "b"}` is a Python set; a lone key among others is a key whose value got lost."""
        if frame.value:
            self.mark("missing_value", at)
            frame.after, self.at = True, at
        else:
            self.mark("python_literal", at)
            frame.keyed, frame.value, self.at = False, [], start
        return False

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, shape: Shape, context: Context) -> None:
        at = self.skip(self.at, value=True)
        if at >= self.size:
            if not self.stack:
                raise Unreadable("the value is missing", at)
            self.cut_value()
            return
        char = self.text[at]
        if char in CLOSERS:
            keys = self.stack[-1].shape.props if self.stack else ()
            self.put(self.string(at, context, keys))
        elif char in "{[(":
            nested = self.text[at + 1 : at + 2] in ("{", "[")  # what is inside is tried by itself
            if nested or char == "(" or not self.stack or not self._piece(at, _CLOSER[char], shape):
                self.push(_CLOSER[char], char == "{", shape, at + 1)
        elif char in ",}])" or (context == "member" and self.text.startswith("...", at)):
            if not self.stack:
                raise Unreadable("the value is missing", at)
            self.mark("missing_value", at)
            self.stack[-1].after, self.at = True, at + (3 if char == "." else 0)
        else:
            self._bare(at, shape, context)

    def _bare(self, at: int, shape: Shape, context: Context) -> None:
        """A value without quotes: a number, a constant, a call, or text."""
        found, value = self.scalar(at, shape, context)
        if found:
            return self.put(value)
        prefix = _PREFIX.match(self.text, at)
        if prefix is not None:
            self.mark("python_literal", at)
            text = self.string(prefix.end(), context, raw_text="r" in prefix[0].lower())
            if "f" in prefix[0].lower() and "{" in text:
                self.mark("expression", at)
                raise Unreadable("an f-string has no value before it is run", at)
            return self.put(text)
        call = _CALL.match(self.text, at)
        if call is not None and self._call(call.end(), shape, context):
            if context == "top":
                self.callee = call[0].rstrip("( \t\r\n")
            return None
        if context == "top":
            raise Unreadable("the value is missing", at)
        escaped = self.text.startswith(('\\"', "\\'"), at)
        return self.put(self.escaped_string(at) if escaped else self.bare_text(at, shape, context))

    def _call(self, at: int, shape: Shape, context: Context) -> bool:
        """`name(...)`: named arguments are an object, one plain argument is the value itself."""
        inside = self.skip(at)
        named = ARGUMENT.match(self.text, inside) is not None
        empty = self.text.startswith(")", inside)
        if context != "top":
            if shape.verbatim or not (named or self.text[inside : inside + 1] in tuple("\"'{[0123456789")):
                return False
            self.mark("call_value", at)
        else:
            self.mark("python_call", at)
        self.push(")", named or (empty and context == "top"), shape, at)
        return True

    def _piece(self, at: int, closer: str, shape: Shape) -> bool:
        """A short bracket that is strict JSON by itself needs no lenient reading."""
        end = self.text.find(closer, at, at + _PIECE)
        if end < 0:
            return False
        piece = self.text[at : end + 1]
        single = "'" in piece and '"' not in piece and "\\" not in piece
        if single:
            piece = piece.replace("'", '"')
        value = attempt(piece)
        if value is NO_JSON or _loses_text(value, shape) or ("{" in piece and duplicate_keys(piece, value)):
            return False
        if single:
            self.mark("single_quotes", at)
        self.at, self.solid = end + 1, True
        self.put(value)
        return True

    def _join(self, frame: Frame, at: int) -> bool:
        """`"a" + "b"` in one value."""
        begin = self.skip(at + 1)
        last = frame.value.get(frame.key) if frame.keyed else frame.value[-1] if frame.value else None
        if begin >= self.size or self.text[begin] not in QUOTES or not isinstance(last, str):
            return False
        self.mark("joined_strings", at)
        joined = last + self.string(begin, "member" if frame.keyed else "element")
        if frame.keyed:
            frame.value[frame.key] = joined
        else:
            frame.value[-1] = joined
        return True


def _loses_text(value: Any, shape: Shape) -> bool:
    """Whether a number stands where text is declared: then the digits as written count."""
    if shape is ANY:
        return False
    if is_object(value):
        items = value.items()
        if any(isinstance(item, (int, float)) and shape.props.get(key, ANY).verbatim for key, item in items):
            return True
    elif shape.items is not None and shape.items.verbatim:
        return True
    return loses_digits(value, shape)

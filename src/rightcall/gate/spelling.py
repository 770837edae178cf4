"""Whether one text spells another: the names and values of a JSON object, in their order, and nothing besides.

    written   {"city": "Bern, "days": 3}          what a model wrote, which could not be read
    answer    {"city": "Bern", "days": 3}         another model's reading of it
    spells    city Bern days 3  =  city Bern days 3

Reading the written text from left to right, past brackets, quotes and commas, one meets exactly the names and values of
the answer. So nothing can be invented, changed, cut, dropped, swapped or moved to another name: structure may be added,
content may not. Where more than one reading is left, none is taken. Pure, and linear in the length of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from json import dumps, loads
from typing import Any, Final, Literal, NamedTuple, cast

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.json.shape import Shape
from rightcall.base.json.values import may_be_path

Kind = Literal["key", "text", "number", "word"]
Rename = Callable[[str, str], bool]
"""Whether a name that was written can only have meant this argument."""

_PLAIN_QUOTES: Final = "\"'`"
_QUOTES: Final = "\"'`“”‘’"
_PUNCTUATION: Final = "{}[](),:;="
_STRUCTURE: Final = frozenset(_QUOTES + _PUNCTUATION + " \t\r\n")
_OPENERS: Final = "{[("
_CLOSERS: Final = "}])"
_LIKE: Final = str.maketrans("()", "{}")
_LITERAL = re.compile(r"(?:-?\d[\d.eE+-]*|true|false|null|none)\Z", re.ASCII | re.IGNORECASE)
_BARE = re.compile(r"[^\s\"'`“”‘’{}\[\](),:;=\\]+(?: [^\s\"'`“”‘’{}\[\](),:;=\\]+)*\Z")
_WORDS: Final = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE"), "null": ("null", "None")}
_AFTER_NAME = re.compile(r"[\"'`“”‘’]?\s*[:=]")
_NEXT_ARGUMENT = re.compile(r",\s*([\"'])([\w.-]{1,200})\1\s*[:=]")
_QUOTED_NAME = re.compile(r"([\"'])([\w./-]{1,200})\1")
_EDGE = re.compile(r"[\s\"'`“”‘’{}\[\](),:;=]*")
_TAG = re.compile(r"</?[\w|:.-]{1,60}>")
_NAME = re.compile(r"[\w./-]+")
_WRAPPERS: Final = frozenset(
    ("name", "tool", "tool_name", "function", "function_call", "tool_call", "tool_calls", "arguments", "parameters",
     "params", "args", "input", "json")
)  # fmt: skip
"""Words that formats put around the arguments, never between them."""

_MOST_SHAPES: Final = 2000


class Token(NamedTuple):
    """One name or value of the answer, and the brackets that stand before it."""

    kind: Kind
    text: str
    brackets: str
    leads: bool = False
    """Whether it is the name of an object or a list that is not empty."""


class NotSpelled(Exception):
    """Why an answer is not what was written, in words that hold nothing of either."""


class AnswerParts(NamedTuple):
    """An answer taken apart."""

    tokens: list[Token]
    tail: str
    """The brackets behind the last name or value."""
    has_empty: bool
    names: list[str]
    many: bool
    """Whether a list holds several objects or lists."""


class WrittenText(NamedTuple):
    """What was written."""

    text: str
    raw: bool = True
    """A model's own text; else JSON that says what was read of it."""
    rename: Rename | None = None


def check_spelling(written: WrittenText, answer: str, shape: Shape, tool: str) -> dict[str, Any]:
    """The object of the answer, which spells what was written. Raises NotSpelled."""
    value, taken = take_apart(answer)
    names = _count_names(shape)
    written = written._replace(text=unfenced(written.text))
    scan = _Scan(written, tool, frozenset(names))
    if not scan.run(taken):
        _settle_structure(taken, names, scan)
        if not _is_declared(value, shape):
            raise NotSpelled("the schema does not say where a name of the output belongs")
    return value


def unfenced(text: str) -> str:
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and len(text) >= 6:
        return text[3:-3].removeprefix("json").strip()
    return text


# ── the answer ──


def take_apart(answer: str) -> tuple[dict[str, Any], AnswerParts]:
    """An answer as its value and as its names and values in order. Raises NotSpelled for what is no JSON object."""
    text = unfenced(answer)
    try:
        pairs = loads(
            text, object_pairs_hook=_Pairs, parse_int=_Literal, parse_float=_Literal, parse_constant=_no_constant
        )
        value = loads(text)
    except (ValueError, RecursionError):
        raise NotSpelled("the answer is not JSON") from None
    if not isinstance(pairs, _Pairs):
        raise NotSpelled("the answer is not an object")
    builder = _Builder()
    builder.add(pairs)
    return value, AnswerParts(builder.tokens, builder.brackets, builder.has_empty, builder.names, builder.many)


class _Literal(str):
    """A number as it was written."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object with its names in order."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name twice")


def _no_constant(_: str) -> None:
    raise ValueError("NaN or an infinity")


class _Builder:
    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.brackets = ""
        self.names: list[str] = []
        self.has_empty = self.many = False

    def add(self, value: Any) -> None:
        if isinstance(value, _Pairs):
            self.brackets += "{"
            for name, item in value:
                self.names.append(name)
                self._token("key", name, leads=isinstance(item, list) and bool(cast("list[Any]", item)))
                self.add(item)
            self.brackets += "}"
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            self.many = self.many or sum(isinstance(item, list) for item in items) > 1
            self.brackets += "["
            for item in items:
                self.add(item)
            self.brackets += "]"
        else:
            self._leaf(value)
            return
        self.has_empty = self.has_empty or not value

    def _leaf(self, value: Any) -> None:
        if isinstance(value, _Literal):
            if dumps(loads(value)) != value:
                raise NotSpelled("a number of the answer would lose digits")
            self._token("number", str(value))
        elif isinstance(value, str):
            self._token("text", value)
        else:
            self._token("word", "null" if value is None else "true" if value else "false")

    def _token(self, kind: Kind, text: str, *, leads: bool = False) -> None:
        self.tokens.append(Token(kind, text, self.brackets, leads))
        self.brackets = ""


# ── the written text ──


class _Found(NamedTuple):
    """Where a token stands in the written text, without its quotes; which it has is `opened` and `closed`."""

    start: int
    end: int
    opened: bool
    closed: bool


class _Scan:
    """One walk over the written text. Each step finds the next token of the answer, or raises."""

    def __init__(self, written: WrittenText, tool: str, names: frozenset[str]) -> None:
        self.text, self.raw, self.rename = written.text, written.raw, written.rename
        self.names = names
        self.around = frozenset((*_WRAPPERS, tool)) - names if written.raw else frozenset[str]()
        self.head = self.at = self._head()
        self.last = _Found(0, 0, opened=False, closed=False)
        self.listed = True
        """Whether each list of the answer has a bracket where it begins."""
        self.depth = 0
        """Of the token that is looked for, in the answer."""
        self.brackets = ""

    def run(self, answer: AnswerParts) -> bool:
        """Whether the brackets are those of the answer. Raises NotSpelled."""
        written, pending, same = _brackets(self.text[: self.head]), "", True
        for nth, token in enumerate(answer.tokens):
            self.depth += sum(1 if one in _OPENERS else -1 for one in token.brackets)
            found = self._find(token)
            if found is None and token.kind == "key" and token.leads:
                pending, same = pending + token.brackets, False  # an object around what was written flat
                continue
            if found is None:
                raise NotSpelled(f"a {_SAID[token.kind]} of the answer is not in the output at its place")
            gap = self.text[self.at : found.start]
            self._check_gap(gap, token, found, first=nth == 0)
            here, wanted = _brackets(gap), pending + token.brackets
            self.listed = self.listed and ("[" not in wanted or here != "")
            same = same and here == wanted
            written, pending, self.at, self.last = written + here, "", found.end, found
        return self._tail(pending + answer.tail, written) and same

    def _head(self) -> int:
        """Past what formats write before the first argument: the tool's name, `arguments`, a tag."""
        at = 0
        while self.around:
            here = _past_structure(self.text, at)
            found = _TAG.match(self.text, here) or _NAME.match(self.text, here)
            if found is None or not (found[0].startswith("<") or found[0] in self.around):
                break
            at = found.end()
        return at

    def _tail(self, wanted: str, written: str) -> bool:
        """Whether the last brackets are those of the answer. Nothing else may follow."""
        if self.last.opened and not self.last.closed:
            raise NotSpelled("the last value of the output has no end")
        rest = self._without_words_around(self.text[self.at :], len(wanted))
        if not set(rest) <= _STRUCTURE:
            raise NotSpelled("the output has more than the answer")
        if sum(character in _QUOTES for character in rest) != self.last.closed:
            raise NotSpelled("a quote of the output is not accounted for")
        brackets = _brackets(rest)
        self.brackets = everything = written + brackets
        if sum(everything.count(one) for one in "{[") > sum(everything.count(one) for one in "}]"):
            raise NotSpelled("the output may be truncated: a bracket is not closed")
        return brackets.startswith(wanted) if self.head else brackets == wanted

    def _without_words_around(self, rest: str, closing: int) -> str:
        """What follows the last value, without the words and tags of formats. They come after the brackets that end the
        answer: inside them, `name` or `json` is the next item of a list."""
        if not self.around:
            return rest
        places = [at for at, one in enumerate(rest) if one in _OPENERS + _CLOSERS]
        end = places[:closing][-1] + 1 if closing and places else 0
        inside, after = rest[:end], _TAG.sub("", rest[end:])
        if len(places) >= closing:
            after = _QUOTED_NAME.sub(lambda found: "" if found[2] in self.around else found[0], after)
            after = _NAME.sub(lambda found: "" if found[0] in self.around else found[0], after)
        return inside + after

    def _find(self, token: Token) -> _Found | None:
        """The token, where the next thing that is no structure is this one."""
        stop = _past_structure(self.text, self.at)
        if token.kind in ("number", "word"):
            return self._find_literal(token, stop)
        for form in _forms(token.text, raw=self.raw):
            for start in range(self.at, stop + 1):
                found = self._bounded(start, start + len(form)) if self.text.startswith(form, start) else None
                if found is not None and self._is_only_reading(token, found, form):
                    return found
        return self._find_renamed(token, stop) if token.kind == "key" and self.depth == 1 else None

    def _find_literal(self, token: Token, at: int) -> _Found | None:
        """Numbers, true, false and null stand without quotes: what is in quotes is text, and the gate's affair."""
        if at and self.text[at - 1] in _QUOTES:
            return None
        for form in (token.text,) if token.kind == "number" else _WORDS[token.text]:
            end = at + len(form)
            after = self.text[end : end + 1]
            is_apart = not after or (after in _STRUCTURE and after not in _QUOTES)
            if self.text.startswith(form, at) and is_apart and _AFTER_NAME.match(self.text, end) is None:
                return _Found(at, end, opened=False, closed=False)
        return None

    def _bounded(self, start: int, end: int) -> _Found | None:
        after = self.text[end : end + 1]
        if after and after not in _STRUCTURE:
            return None
        opened = start > self.at + self.last.closed and self.text[start - 1] in _QUOTES
        return _Found(start, end, opened=opened, closed=bool(after) and after in _QUOTES)

    def _is_only_reading(self, token: Token, found: _Found, form: str) -> bool:
        if (_AFTER_NAME.match(self.text, found.end) is not None) != (token.kind == "key"):
            return False
        if found.opened and found.closed:
            return self._is_whole(found)
        if _BARE.match(form) is None or _LITERAL.match(form) is not None:
            return False
        if found.closed:
            return False
        if not found.opened:
            return token.kind == "key" or _is_bare(self.text, found)
        if token.kind == "key":
            return False
        following = _NEXT_ARGUMENT.match(self.text, found.end)  # its end was forgotten
        return following is not None and following[2] in self.names

    def _is_whole(self, found: _Found) -> bool:
        """Quotes inside a text are a part of it only where none of them could end it."""
        quote = self.text[found.end]
        if quote in _PLAIN_QUOTES and self.text[found.start - 1] != quote:
            return False
        at = self.text.find(quote, found.start, found.end)
        while at >= 0:
            left = self.text[found.start - 1 : at].rstrip()[-1:]
            right = self.text[at + 1 : found.end + 1].lstrip()[:1]
            if left != "\\" and (left in _STRUCTURE or right in _STRUCTURE):
                return False
            at = self.text.find(quote, at + 1, found.end)
        return True

    def _find_renamed(self, token: Token, stop: int) -> _Found | None:
        """A name that nobody knows, where it can only mean the argument that the answer says."""
        end = self.text.find('"', stop) if self.text[stop - 1 : stop] == '"' else -1
        if end < 0 or self.rename is None or _AFTER_NAME.match(self.text, end) is None:
            return None
        is_meant = self.rename(self.text[stop:end], token.text)
        return _Found(stop, end, opened=True, closed=True) if is_meant else None

    def _check_gap(self, gap: str, token: Token, found: _Found, *, first: bool) -> None:
        """Between two tokens each quote belongs to one of them, and a comma or the like keeps them apart."""
        quotes = sum(character in _QUOTES for character in gap)
        surplus = quotes - found.opened - self.last.closed
        if surplus and not (first and self.head and surplus == 1):  # that of the word before it
            raise NotSpelled("a quote of the output is not accounted for")
        if not first and not any(one in gap for one in (",;{[(\n" if token.kind == "key" else ",;:=[({\n")):
            raise NotSpelled("two values of the output are not apart")


_SAID: Final[dict[Kind, str]] = {"key": "name", "text": "text", "number": "number", "word": "true, false or null"}


def _brackets(text: str) -> str:
    return "".join(one for one in text if one in _OPENERS + _CLOSERS).translate(_LIKE)


def _past_structure(text: str, at: int) -> int:
    found = _EDGE.match(text, at)
    return at if found is None else found.end()


def _is_bare(text: str, found: _Found) -> bool:
    """Whether a text without quotes is all that its name has: no blanks around it, and no comma that may be its own."""
    name = text[: found.start].removesuffix(" ")
    return name[-1:] in (":", "=") and text[found.end : found.end + 1] not in (" ", "\t")


def _forms(text: str, *, raw: bool) -> Iterator[str]:
    """How a text may have been written: with the escapes of JSON; in a model's own text also as it is. There a
    backslash that may be a part of a path is neither."""
    escaped = dumps(text, ensure_ascii=False)[1:-1]
    if not raw:
        yield escaped
        return
    if "\\" not in text:
        yield text
    yield from (form for form in (escaped, dumps(text)[1:-1]) if form != text and not may_be_path(form))


# ── brackets that differ ──


def _settle_structure(answer: AnswerParts, names: dict[str, int], scan: _Scan) -> None:
    """Where the brackets are not those that were written, some were forgotten, and the schema alone must say where each
    name belongs."""
    written = scan.brackets
    added = "".join(token.brackets for token in answer.tokens) + answer.tail
    if not scan.head and any(written.count(one) > added.count(one) for one in "{}[]"):
        raise NotSpelled("brackets of the output are not in the answer")
    if answer.has_empty or answer.many or any(names.get(name) != 1 for name in answer.names):
        raise NotSpelled("the brackets of the output leave more than one reading")
    if not scan.listed:
        raise NotSpelled("a list of the answer is none in the output")


def _is_declared(value: Any, shape: Shape | None) -> bool:
    """Whether every name stands where the schema declares it."""
    if is_object(value):
        return shape is not None and all(_is_declared(item, shape.props.get(name)) for name, item in value.items())
    if is_list(value):
        return shape is not None and all(_is_declared(item, shape.items) for item in value)
    return shape is not None


def _count_names(shape: Shape) -> dict[str, int]:
    """How often each name is declared, at every depth. A schema may hold itself, so it is not followed for ever."""
    counts: dict[str, int] = {}
    todo = [shape]
    for _ in range(_MOST_SHAPES):
        if not todo:
            return counts
        here = todo.pop()
        for name, inner in here.props.items():
            counts[name] = counts.get(name, 0) + 1
            todo.append(inner)
        todo += [inner for inner in (here.items, *here.prefix, *here.options) if inner is not None]
    return dict.fromkeys(counts, 2)  # too many to say where one belongs

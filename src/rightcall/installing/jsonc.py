"""JSON as settings files have it, with comments and trailing commas, read so that every part knows where it stands.

>>> tree = read('{"a": [1, 2,], // two\\n}')
>>> tree.get("a").children[1].start
10
"""

import json
import re
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

Kind = Literal["object", "array", "string", "number", "word"]

_DEEPEST = 100
_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_WORD = re.compile("true|false|null")


class NotReadable(Exception):
    """The text is no JSON, not even with comments. `at` is where."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class Node(Struct, frozen=True):
    """A value in the text, from `start` up to `end`. In an object `keys` are the names of `children`, and `heads` where
    those names begin."""

    kind: Kind
    start: int
    end: int
    value: Any = None
    children: tuple["Node", ...] = ()
    keys: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    commas: tuple[int, ...] = ()

    def get(self, key: str) -> "Node | None":
        """The value of a key; of several the last, as everybody reads it."""
        for at in reversed(range(len(self.keys))):
            if self.keys[at] == key:
                return self.children[at]
        return None

    def begins(self, at: int) -> int:
        """Where a child begins, its name included."""
        return self.heads[at] if self.heads else self.children[at].start

    def comma_after(self, at: int) -> int | None:
        """Where the comma behind a child is. Only the last child can be without one."""
        return self.commas[at] if at < len(self.commas) else None

    def plain(self) -> Any:
        """The value without its places. A number stays as it is written: nothing here reckons with it."""
        if self.kind == "object":
            return {key: child.plain() for key, child in zip(self.keys, self.children, strict=True)}
        if self.kind == "array":
            return [child.plain() for child in self.children]
        return ("number", self.value) if self.kind == "number" else self.value


@lru_cache(maxsize=16)
def read(text: str) -> Node:
    """The one value of a text, after a byte order mark if there is one. Raises NotReadable."""
    at = after_trivia(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, at, 0)
    rest = after_trivia(text, node.end)
    if rest != len(text):
        raise NotReadable("something stands behind the end of the value", rest)
    return node


def after_trivia(text: str, at: int) -> int:
    """The first place from `at` on that is neither blank nor comment."""
    found = _TRIVIA.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise NotReadable(f"it is nested more than {_DEEPEST} deep", at)
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _array(text, at, depth)
    if first == '"':
        return _string(text, at)
    if found := _NUMBER.match(text, at):
        return Node("number", at, found.end(), found.group())
    if found := _WORD.match(text, at):
        return Node("word", at, found.end(), _WORDS[found.group()])
    raise NotReadable("a value is missing" if first else "it ends too early", at)


def _string(text: str, at: int) -> Node:
    found = _STRING.match(text, at)
    if found is None:
        raise NotReadable("a text in double quotes is missing or broken", at)
    # `json`, since a lone surrogate is right for every host and wrong for msgspec
    return Node("string", at, found.end(), json.loads(found.group()))


def _array(text: str, start: int, depth: int) -> Node:
    children: list[Node] = []
    commas: list[int] = []
    at = after_trivia(text, start + 1)
    while text[at : at + 1] != "]":
        children.append(_value(text, at, depth + 1))
        at = _separator(text, children[-1].end, "]", commas)
    return Node("array", start, at + 1, children=tuple(children), commas=tuple(commas))


def _object(text: str, start: int, depth: int) -> Node:
    children: list[Node] = []
    keys: list[str] = []
    heads: list[int] = []
    commas: list[int] = []
    at = after_trivia(text, start + 1)
    while text[at : at + 1] != "}":
        key = _string(text, at)
        colon = after_trivia(text, key.end)
        if text[colon : colon + 1] != ":":
            raise NotReadable("a colon is missing after a name", colon)
        children.append(_value(text, after_trivia(text, colon + 1), depth + 1))
        keys.append(key.value)
        heads.append(at)
        at = _separator(text, children[-1].end, "}", commas)
    return Node("object", start, at + 1, None, tuple(children), tuple(keys), tuple(heads), tuple(commas))


def _separator(text: str, at: int, closing: str, commas: list[int]) -> int:
    """Where the next child, or the closing bracket, is."""
    at = after_trivia(text, at)
    if text[at : at + 1] == ",":
        commas.append(at)
        return after_trivia(text, at + 1)
    if text[at : at + 1] != closing:
        raise NotReadable(f"a comma or {closing} is missing" if text[at:] else "it ends too early", at)
    return at

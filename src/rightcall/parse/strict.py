"""JSON as the standard has it: the fast way in, which also notices keys that stand twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Any, cast

import msgspec

from rightcall.errors import Unreadable

_decode = msgspec.json.decode
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?', re.S)
"""Every string of a JSON text; the group tells that it is a key."""

_LONG = 1_000_000
"""In a longer text it is not worth the time to tell which key stands twice."""

_scan_once: Callable[[str, int], tuple[Any, int]] = JSONDecoder().scan_once  # type: ignore[attr-defined]
_NEAR = 65536
_NESTED = frozenset({dict, list})
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]]', re.S)


NO_JSON: Any = object()
"""What `attempt` returns for a text that is not JSON."""


def attempt(text: str) -> Any:
    """The value of a JSON text, or `NO_JSON`; numbers keep all their digits.

    >>> attempt('{"id": 12345678901234567890}')
    {'id': 12345678901234567890}
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return NO_JSON


def decode(text: str) -> Any:
    """As `attempt`, but raises `Unreadable` where the text is not JSON."""
    value = attempt(text)
    if value is NO_JSON:
        raise Unreadable("the text is not JSON")
    return value


def whole_end(text: str, at: int) -> int:
    """Where the JSON value that begins at `at` ends; -1 when there is none, or not all of it within `_NEAR`."""
    try:  # of a piece: the error of a failure counts the lines of all the text before it
        return at + _scan_once(text[at : at + _NEAR], 0)[1]
    except (StopIteration, ValueError, RecursionError):
        return -1


def duplicate_keys(text: str, value: Any) -> tuple[str, ...]:
    """The paths of keys that stand twice in a JSON text whose value is known; usually nothing has to be read again.

    Each key has a colon of its own, so no more colons than keys means that no key was lost.
    """
    if ":" not in text:
        return ()
    keys = _count_keys(value)
    if text.count(":") == keys or sum(map(bool, _STRINGS.findall(text))) == keys:
        return ()
    return _scan(text) if len(text) <= _LONG else ("",)


def opened(value: Any) -> Any:
    """A value, or what a JSON text holds; a text that is no JSON, or has a key twice, stays a text."""
    if not isinstance(value, str):
        return value
    inside = attempt(value)
    return value if inside is NO_JSON or duplicate_keys(value, inside) else inside


def _count_keys(value: Any) -> int:
    count = 0
    todo: list[Any] = [value]
    while todo:
        here = todo.pop()
        if type(here) is dict:
            below = cast("dict[str, Any]", here).values()
            count += len(below)
        else:
            below = cast("list[Any]", here) if type(here) is list else ()
        todo += [child for child in below if type(child) in _NESTED]
    return count


def _scan(text: str) -> tuple[str, ...]:
    """Walk the tokens of a valid text with a stack of key sets."""
    found: list[str] = []
    stack: list[tuple[set[str], str]] = []
    key = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            stack.append((set(), key))
        elif token in "}]":
            stack.pop()
        elif match[1] is not None:
            keys = stack[-1][0]
            key = cast("str", _decode(token[: -len(match[1])]))
            if key in keys:
                found.append(".".join([*(frame[1] for frame in stack[1:] if frame[1]), key]))
            keys.add(key)
    return tuple(found)

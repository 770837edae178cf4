"""Values that are no JSON, whatever the schema says: NaN, lone surrogates, foreign objects; and reserved keys."""

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any, cast

from rightcall.catalog import RESERVED_KEYS
from rightcall.text.escape import render_json
from rightcall.types import Problem
from rightcall.validate.wording import Path, named, path_text

_RESERVED = frozenset(RESERVED_KEYS)
_INFINITY = float("inf")
_LARGEST = 2**1024
"""Beyond this no number of the common kind can carry it, and the compiled check compares it wrongly."""


def value_problems(arguments: Any, allowed_keys: frozenset[str]) -> Iterator[Problem]:
    """Walk without recursion; `allowed_keys` are the names that the schema itself uses."""
    stack: list[tuple[Path, Any]] = [((), arguments)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            table = cast("dict[Any, Any]", value)
            for key in table:
                yield from _key_problem(path, key, allowed_keys)
            entries: Iterable[tuple[Any, Any]] = table.items()
        else:
            entries = enumerate(cast("list[Any]", value))
        for key, item in entries:
            if _is_plain(item):
                continue
            inner = (*path, key if isinstance(key, (str, int)) else render_json(key, 40))
            if isinstance(item, (dict, list, tuple)):
                stack.append((inner, cast("Any", item)))
            else:
                yield from _scalar_problem(inner, item)


def _is_plain(value: Any) -> bool:
    """The common values that cannot be wrong, decided as fast as Python can: there may be millions."""
    kind = cast("type[object]", type(value))
    if kind is str:
        return value.isascii()
    if kind is int:
        return -_LARGEST < value < _LARGEST
    if kind is float:
        return -_INFINITY < value < _INFINITY
    return kind is bool or value is None


def _scalar_problem(path: Path, value: Any) -> Iterator[Problem]:
    if isinstance(value, str):
        if _has_surrogate(value):
            message = f"{named(path)} holds half a character (a lone surrogate): {render_json(value)}"
            yield Problem("text", path_text(path), message)
    elif isinstance(value, float):
        if not isfinite(value):
            yield Problem("number", path_text(path), f"{named(path)} must be a finite number, got {render_json(value)}")
    elif isinstance(value, int):
        if not isinstance(value, bool) and not -_LARGEST < value < _LARGEST:
            yield Problem("number", path_text(path), f"{named(path)} is too large a number: {render_json(value)}")
    elif value is not None:
        yield Problem("type", path_text(path), f"{named(path)} is no JSON value but {render_json(value)}")


def _key_problem(path: Path, key: Any, allowed_keys: frozenset[str]) -> Iterator[Problem]:
    if not isinstance(key, str):
        where = f"in {named(path)}" if path else "of the arguments"
        yield Problem("type", path_text(path), f"a key {where} must be text, got {render_json(key)}")
    elif key in _RESERVED and key not in allowed_keys:
        yield Problem("reserved_key", path_text((*path, key)), f"{named((*path, key))} is a reserved key; leave it out")
    elif not key.isascii() and _has_surrogate(key):
        yield Problem("text", path_text((*path, key)), f"a key holds half a character: {render_json(key)}")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False

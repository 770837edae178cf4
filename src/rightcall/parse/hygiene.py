"""What no argument may hold, whatever the schema says: NaN, lone surrogates, reserved keys, bottomless nesting."""

from __future__ import annotations

import math
import re
from collections.abc import Container
from typing import Any, cast

from rightcall.types import Problem

_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST = 20
MAX_BITS = 3400
"""About a thousand digits: more is no number that a tool could use."""


def unsound(value: Any, max_depth: int, reserved: Container[str] = ()) -> tuple[Problem, ...]:
    """Every such fault in a value, at most twenty; never recursive, so also fit for cyclic values."""
    problems: list[Problem] = []
    level: list[tuple[Any, str]] = [(value, "")]
    for _ in range(max_depth + 1):
        deeper: list[tuple[Any, str]] = []
        for item, path in level:
            for child, here, key in _children(item, path):
                if key is not None:
                    _key_fault(key, here, reserved, problems)
                if isinstance(child, (dict, list, tuple)):
                    deeper.append((child, here))
                else:
                    _leaf_fault(child, here, problems)
            if len(problems) >= _MOST:
                return tuple(problems[:_MOST])
        if not deeper:
            return tuple(problems)
        level = deeper
    problems.append(Problem("too_large", level[0][1][:200], f"nested deeper than {max_depth} levels"))
    return tuple(problems)


def _children(item: Any, path: str) -> list[tuple[Any, str, Any]]:
    if isinstance(item, dict):
        pairs = cast("dict[Any, Any]", item).items()
        return [(child, f"{path}.{key}" if path else str(key)[:200], key) for key, child in list(pairs)]
    if isinstance(item, (list, tuple)):
        return [(child, f"{path}[{at}]", None) for at, child in enumerate(cast("list[Any]", item))]
    return [(item, path, None)]


def _key_fault(key: Any, path: str, reserved: Container[str], problems: list[Problem]) -> None:
    if not isinstance(key, str):
        problems.append(Problem("type", path, f"the name of an argument must be text, not {type(key).__name__}"))
    elif key in reserved:
        problems.append(Problem("reserved_key", path, f"`{key}` is a reserved name and cannot be an argument"))
    elif not key.isascii() and _SURROGATE.search(key):
        problems.append(Problem("text", "", "the name of an argument holds half of a surrogate pair"))


def _leaf_fault(value: Any, path: str, problems: list[Problem]) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            problems.append(Problem("number", path, f"`{path}` must be a finite number, not {value}"))
    elif isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            problems.append(Problem("text", path, f"`{path}` holds half of a surrogate pair, which is no text"))
    elif isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            problems.append(Problem("number", path, f"`{path}` has too many digits to be a number"))
    elif value is not None:
        problems.append(Problem("type", path, f"`{path}` is a Python {type(value).__name__}, which is no JSON value"))

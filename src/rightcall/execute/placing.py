"""Relative paths count from the executor's root. Where the process works in another folder, a function that opens what
it was given would open another file than the one that was judged: so it is given the whole path."""

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import json


def placed(arguments: Mapping[str, Any], places: tuple[str, ...], root: str) -> dict[str, Any]:
    """The arguments as a function gets them. Where the process works in the root they stay as they are.

    >>> placed({"path": "notes.md"}, ("path",), "/somewhere/else")
    {'path': '/somewhere/else/notes.md'}
    """
    if not places or _same_folder(root):
        return dict(arguments)
    value: Any = dict(arguments)
    for place in places:
        value = _rewritten(value, place.split("."), root)
    return value


def _same_folder(root: str) -> bool:
    try:
        return os.path.samefile(os.getcwd(), root)
    except OSError:
        return False


def _rewritten(value: Any, steps: list[str], root: str) -> Any:
    """A copy of the value with the paths at the place joined to the root."""
    if not steps:
        return _joined(value, root)
    if isinstance(value, str):
        return _text(value, lambda inner: _rewritten(inner, steps, root))
    name = steps[0].rstrip("[]")
    if not isinstance(value, Mapping):
        return value
    table = dict(cast("Mapping[str, Any]", value))
    if name in table:
        table[name] = _inside(table[name], steps[0].count("[]"), steps[1:], root)
    return table


def _text(text: str, rewrite: Callable[[Any], Any]) -> str:
    """JSON as text, where the place goes on inside it; what cannot be read was refused before."""
    try:
        return json.encode(rewrite(json.decode(text))).decode()
    except (ValueError, TypeError, RecursionError):
        return text


def _inside(value: Any, lists: int, steps: list[str], root: str) -> Any:
    if lists and isinstance(value, str):
        return _text(value, lambda inner: _inside(inner, lists, steps, root))
    if lists and isinstance(value, list):
        return [_inside(item, lists - 1, steps, root) for item in cast("list[Any]", value)]
    return _rewritten(value, steps, root)


def _joined(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_joined(item, root) for item in cast("list[Any]", value)]
    return os.path.join(root, value) if isinstance(value, str) else value

"""In which state what a call touches is: a digest that changes when the files, or what the tool itself names, change.

Approvals are bound to it, repeated calls are counted by it, results are kept under it. One look at each path, no
content is read.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePath
from stat import S_ISDIR
from time import time_ns
from typing import Any, cast

from msgspec.json import encode

from rightcall.execute.functions import LocalTool, own_copy

_SETTLED = 20_000_000
"""Nanoseconds. File times are coarse (up to 10 ms on Linux): a file that was changed a moment ago could change again
without looking any different."""

_Look = tuple[str | int, ...]


def state_of(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> str:
    """The state of the files in the tool's path arguments, and of what its own `state` function says; "" when it
    declares neither. A state that cannot be told is like no other."""
    looks = [_look(path, root) for path in _paths(tool, arguments)]
    if tool.state is None:
        return _digest([looks]) if looks else ""
    try:
        return _digest([looks, tool.state(own_copy(arguments))])
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the author's own code; unknown is never unchanged
        return f"unknown-{os.urandom(16).hex()}"


def keepable(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> bool:
    """Whether the state says enough for a result to be kept under it: a folder's own look says nothing of what is
    deeper inside, unless the tool's `state` does, and a file must have rested for a moment."""
    paths = _paths(tool, arguments)
    if not tool.cacheable or (tool.state is None and not paths):
        return False
    now = time_ns()
    for path in paths:
        look = _look(path, root)
        if look[0] == "absent":
            continue
        if look[0] != "there" or (S_ISDIR(cast("int", look[6])) and tool.state is None):
            return False
        if now - cast("int", look[5]) < _SETTLED:
            return False
    return True


def values_at(arguments: Mapping[str, Any], place: str) -> list[str]:
    """The texts at a place of the arguments: `path`, `ws.url`, `operations[].path`; a list there gives its items.

    >>> values_at({"operations": [{"path": "a"}, {"path": "b"}, {}]}, "operations[].path")
    ['a', 'b']
    """
    return [text for value in found_at(arguments, place) for text in _texts(value)]


def found_at(arguments: Mapping[str, Any], place: str) -> list[Any]:
    """The values at a place, whatever they are."""
    if place in arguments:
        return [arguments[place]]
    found: list[Any] = [arguments]
    for step in place.split("."):
        name = step.split("[]")[0]
        found = [cast("Mapping[str, Any]", one)[name] for one in found if isinstance(one, Mapping) and name in one]
        for _ in range(step.count("[]")):
            found = [item for one in found if isinstance(one, list) for item in cast("list[Any]", one)]
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for item in cast("list[Any]", value) for text in _texts(item)] if isinstance(value, list) else []


def _paths(tool: LocalTool, arguments: Mapping[str, Any]) -> list[str]:
    return [path for place in tool.paths for path in values_at(arguments, place)]


def _look(path: str, root: str) -> _Look:
    """A file as the system shows it. Where there is none its folder counts: a link in its place would be a change."""
    whole = os.path.join(root, path)
    try:
        seen = os.stat(whole)
    except FileNotFoundError:
        return ("absent", *_folder(whole))
    except OSError as error:
        return "unreadable", error.errno or 0
    except ValueError:  # a NUL in the name, a lone surrogate
        return "unreadable", 0
    return "there", seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode


def _folder(whole: str) -> _Look:
    try:
        link = os.readlink(whole)
    except OSError:
        link = ""
    try:
        folder = os.stat(os.path.dirname(whole))
    except OSError:
        return (link,)
    return link, folder.st_dev, folder.st_ino


def _digest(parts: list[Any]) -> str:
    return sha256(encode(parts, enc_hook=_as_text, order="deterministic")).hexdigest()[:32]


def _as_text(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError  # the text of an unknown object may hold its address: the same state would look new each time

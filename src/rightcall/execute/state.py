"""In which state what a call touches is: a digest that changes when the files, or what the tool itself names, change.

Approvals are bound to it, repeated calls are counted by it, results are kept under it. One look at each path, no
content is read.
"""

import logging
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePath
from stat import S_ISDIR
from time import time_ns
from typing import Any, NoReturn, cast

from msgspec.json import encode

from rightcall.errors import ToolFailure
from rightcall.execute.functions import LocalTool, own_copy
from rightcall.execute.places import found_at, values_at
from rightcall.text.faults import fault_text
from rightcall.types_running import UNKNOWN

__all__ = ["UNKNOWN", "Untold", "found_at", "keepable", "state_of", "telling", "untold", "values_at"]

_SETTLED = 20_000_000
"""Nanoseconds. File times are coarse (up to 10 ms on Linux): a file that was changed a moment ago could change again
without looking any different."""

log = logging.getLogger("rightcall")

_Look = tuple[str | int, ...]


class Untold(Exception):
    """The state of what a call touches cannot be told: no two calls are known to be the same."""


def untold(*_: object) -> NoReturn:
    """The `state` of a tool that reads more than can be looked at twice."""
    raise Untold


def state_of(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> str:
    """The state of the files in the tool's path arguments, and of what its own `state` function says; "" when it
    declares neither. A state that cannot be told is like no other."""
    # a tool that is told what it may write onto says itself what that is: it may lie elsewhere than below the root
    looks = [] if tool.expected is not None else [_look(path, root) for path in _paths(tool, arguments)]
    if tool.state is None:
        return _digest([looks]) if looks else ""
    try:
        told = tool.state(own_copy(arguments))
        return told if tool.expected is not None and isinstance(told, str) else _digest([looks, told])
    except KeyboardInterrupt:
        raise
    except (Untold, ToolFailure, OSError):  # so it is meant, or what it would look at is not there
        pass
    except BaseException as error:  # noqa: BLE001 - the author's own code
        log.warning("the state of what %s touches could not be told: %s", tool.name, fault_text(error))
    return f"{UNKNOWN}-{os.urandom(16).hex()}"  # unknown is never unchanged


def telling(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> bool:
    """Whether the same state means that nothing has changed. A folder's own look says nothing of what is deeper inside;
    a tool that reads folders can say it itself."""
    return tool.state is not None or not any(
        os.path.isdir(os.path.join(root, path)) for path in _paths(tool, arguments)
    )


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
        if look[0] != "there" or (S_ISDIR(cast("int", look[7])) and tool.state is None):
            return False
        if now - cast("int", look[6]) < _SETTLED:
            return False
    return True


def _paths(tool: LocalTool, arguments: Mapping[str, Any]) -> list[str]:
    return [path for place in tool.paths for path in values_at(arguments, place)]


def _look(path: str, root: str) -> _Look:
    """A file as the system shows it, and where: below another root it is another state, even where nothing is there.
    Where there is none its folder counts: a link in its place would be a change."""
    whole = os.path.join(root, path)
    place = ascii(os.path.abspath(whole))  # names may hold what no JSON text can
    try:
        seen = os.stat(whole)
    except FileNotFoundError:
        return "absent", place, *_folder(whole)
    except OSError as error:
        return "unreadable", place, error.errno or 0
    except ValueError:  # a NUL in the name, a lone surrogate
        return "unreadable", place, 0
    return "there", place, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode


def _folder(whole: str) -> _Look:
    try:
        link = ascii(os.readlink(whole))
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

"""What this user trusts, in the user's own state folder: one small file for each policy file and each store.

    <state>/rightcall/trust/policies/<digest of the path>.json     {"path": …, "sha256": …, "at": …}
    <state>/rightcall/trust/stores/<digest of the path>.json       {"path": …, "token": …, "approvals": …, "grants": …}

Nothing of it lies beside what it speaks of. A folder that somebody else can write is not believed.
"""

import os
import stat
import sys
from contextlib import suppress
from typing import Any, Literal, cast

from rightcall.errors import ConfigError
from rightcall.fs.guarded import state_folder
from rightcall.text.escape import escaped
from rightcall.trust.modes import others_may_write
from rightcall.trust.telling import warn

Kind = Literal["policies", "stores"]

_MOST_BYTES = 100_000


def recall(kind: Kind, path: str) -> dict[str, Any] | None:
    """What is noted of a path; None for nothing, or nothing that can be believed."""
    folder = _folder(kind)
    if not os.path.isdir(folder):
        return None
    if problem := _disbelief(folder):
        warn(f"{problem}; nothing counts as trusted")
        return None
    found = _read(os.path.join(folder, _name(path)))
    return found if found is not None and found.get("path") == path else None


def note(kind: Kind, path: str, about: dict[str, Any]) -> None:
    """Keeps what is to be known of a path, in place of what was. ConfigError where it cannot be kept."""
    from json import dumps

    from rightcall.fs.whole import whole_file

    folder = _folder(kind)
    text = dumps({"version": 1, "path": path, **about}, ensure_ascii=True).encode()
    if len(text) > _MOST_BYTES:
        raise ConfigError(f"trust in {escaped(path)} cannot be kept: its note would exceed {_MOST_BYTES:,} bytes")
    try:
        for one in (state_folder(), os.path.dirname(folder), folder):
            os.makedirs(one, mode=0o700, exist_ok=True)
        if problem := _disbelief(folder):
            raise ConfigError(problem)
        file = os.path.join(folder, _name(path))
        with whole_file(file, f"{file}.{os.urandom(6).hex()}") as opened:
            opened.write(text)
    except OSError as fault:
        raise ConfigError(f"trust cannot be kept in {folder}: {fault.strerror or fault}") from None


def stamp(kind: Kind, path: str) -> object:
    """Differs when something else is noted of a path."""
    try:
        found = os.stat(os.path.join(_folder(kind), _name(path)))
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def forget(kind: Kind, path: str) -> bool:
    """Whether there was something to forget."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(_folder(kind), _name(path)))
        return True
    return False


def listed(kind: Kind) -> list[dict[str, Any]]:
    """All that is noted, in the order of the paths."""
    folder = _folder(kind)
    if not os.path.isdir(folder):
        return []
    if problem := _disbelief(folder):
        raise ConfigError(problem)
    with os.scandir(folder) as files:
        found = [_read(file.path) for file in files if file.name.endswith(".json")]
    return sorted((one for one in found if one is not None), key=lambda one: str(one.get("path", "")))


def _folder(kind: Kind) -> str:
    return os.path.join(state_folder(), "trust", kind)


def _name(path: str) -> str:
    from hashlib import sha256

    return f"{sha256(os.fsencode(path)).hexdigest()[:32]}.json"


def _disbelief(folder: str) -> str:
    """Why what lies in a folder may be somebody else's; empty: it is this user's alone."""
    if sys.platform == "win32":
        return ""  # the profile's folder has its own protection, which no mode tells
    for one in (state_folder(), os.path.dirname(folder), folder):
        found = os.lstat(one)
        if not stat.S_ISDIR(found.st_mode):
            return f"{one} is not a folder"
        if found.st_uid != os.geteuid():
            return f"{one} belongs to another user"
        if others_may_write(found):
            return f"{one} can be written by others: run `chmod go-w {one}`"
    return ""


def _disbelief_in_note(file: str, found: os.stat_result) -> str:
    """Why one note may be somebody else's: it may have been moved here, or written before its folder was closed."""
    if sys.platform == "win32":
        return ""
    if not stat.S_ISREG(found.st_mode):
        return f"{file} is not a file"
    if found.st_uid not in (os.geteuid(), 0):
        return f"{file} belongs to another user"
    if others_may_write(found):
        return f"{file} can be written by others: run `chmod go-w {file}`"
    return ""


def _read(file: str) -> dict[str, Any] | None:
    from json import loads

    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as opened:
            if problem := _disbelief_in_note(file, os.fstat(handle)):
                warn(f"{problem}; it does not count")
                return None
            found: Any = loads(opened.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None

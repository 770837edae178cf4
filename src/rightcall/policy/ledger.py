"""What this user trusts, and what this user has stopped, in the user's own state folder: one small file for each policy
file, store and stop.

    <state>/rightcall/trust/policies/<digest of the path>.json     {"path": …, "sha256": …, "at": …}
    <state>/rightcall/trust/stores/<digest of the path>.json       {"path": …, "token": …, "approvals": …, "grants": …}

Nothing of it lies beside what it speaks of. A folder that somebody else can write is not believed.
"""

import logging
import os
import stat
import sys
from contextlib import suppress
from typing import Any, Final, Literal, cast

from rightcall.base.files.guarded import state_folder, state_folders
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.policy.types import Pause

# ── modes ──
# Who besides its owner may write a file: everybody, or a group in which others are. Root may anyway.

_WITHOUT_MODES: Final = frozenset(
    ("vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "9p", "drvfs", "cifs", "smb3", "smbfs", "vboxsf", "prl_fs")
)
"""File systems on which every file shows the same mode, whoever may write it."""


def others_may_write(found: os.stat_result) -> bool:
    """Whether the modes let somebody else write: the world, or a group that has another member."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and _has_others(found.st_gid)


def modes_mean_nothing(found: os.stat_result) -> bool:
    """Whether the modes of a file say nothing of who may write it, as on Windows and on many shared folders."""
    return sys.platform == "win32" or _file_system(found.st_dev) in _WITHOUT_MODES


def _has_others(gid: int) -> bool:
    """Whether a group has a member who is neither this user nor root. One of which the system knows nothing has none;
    one that is named like its user is that user's own."""
    try:
        import grp
        import pwd
    except ImportError:  # Windows
        return False
    try:
        group = grp.getgrgid(gid)
        own = {"root", pwd.getpwuid(os.geteuid()).pw_name}
    except KeyError:
        return False
    if any(name not in own for name in group.gr_mem):
        return True
    if group.gr_name in own:
        return False
    return any(one.pw_gid == gid and one.pw_name not in own for one in pwd.getpwall())


def _file_system(device: int) -> str:
    """The kind of the file system with this number; empty where the system does not tell."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                before, _, after = line.partition(" - ")
                if before.split(" ")[2:3] == [number]:
                    return after.split(" ")[0]
    except OSError:
        return ""
    return ""


# ── stops ──
# Emergency stops in the user's own state folder, where no `git clean` and no other project reaches them.
#
#     <state>/rightcall/stops/everywhere.json      `rightcall pause --everywhere`: every process of this user refuses
#     <state>/rightcall/stops/<digest>.json        the store of a path is paused: one that is made anew there begins so
#
# The stop everywhere also lies in the folder that would be the state folder if `XDG_STATE_HOME` named no other, and
# every process looks there too. A stop that is there and cannot be read still stops, also one that is a link to
# nowhere.

EVERYWHERE = ""
"""In the place of a store's path."""
_UNREADABLE = Pause("unknown", "", "the stop in the state folder cannot be read")


def stopped(store: str = EVERYWHERE) -> Pause | None:
    """The stop that holds for all processes of this user; or that of the store of a path."""
    return stop_at(*places_of(store))


def places_of(store: str = EVERYWHERE) -> tuple[str, ...]:
    """The files that stop; none where this user has no home."""
    try:
        folders = state_folders() if store == EVERYWHERE else (state_folder(),)
    except OSError:
        return ()
    return tuple([os.path.join(folder, "stops", _stop_name(store)) for folder in folders])


def stop_at(*files: str) -> Pause | None:
    """Asked before every call, so it is quick where there is none."""
    for file in files:
        try:
            os.lstat(file)
        except (OSError, ValueError):
            continue
        if (found := _read_stop(file)) is not None:
            return found
    return None


def put_stop(pause: Pause | None, store: str = EVERYWHERE) -> None:
    """Keep it, or let calls go on. OSError where that cannot be done in one of its places; the others have it."""
    from msgspec import json

    from rightcall.base.files.guarded import whole_file

    faults: list[OSError] = []
    state_folder()  # which raises where there is no place at all, and says why
    for file in places_of(store):
        try:
            if pause is None:
                with suppress(FileNotFoundError, NotADirectoryError):
                    os.unlink(file)
                continue
            folder = os.path.dirname(file)
            for one in (os.path.dirname(folder), folder):
                os.makedirs(one, mode=0o700, exist_ok=True)
            with whole_file(file, f"{file}.{os.urandom(6).hex()}") as opened:
                opened.write(json.encode(pause))
        except OSError as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def _read_stop(file: str) -> Pause | None:
    from msgspec import MsgspecError, json

    from rightcall.base.files.guarded import plain_file

    try:
        with open(file, "rb", opener=plain_file) as opened:
            return json.decode(opened.read(10_000), type=Pause)
    except FileNotFoundError:  # it has just ended, or it is a link to nowhere
        return _UNREADABLE if os.path.lexists(file) else None
    except (OSError, MsgspecError):
        return _UNREADABLE


def _stop_name(store: str) -> str:
    return "everywhere.json" if store == EVERYWHERE else _name(store)


# ── telling ──
# What a person should know of something that was found, said once: in the log, and at a command line on stderr.

_log = logging.getLogger("rightcall.policy.ledger")
_said: set[str] = set()


def warn(text: str) -> None:
    """Once in a process, however often it is found. The text is one line, escaped."""
    if text not in _said:
        _said.add(text)
        _log.warning("rightcall: %s", text)


class _Stderr(logging.Handler):
    """Wherever standard error leads at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # nobody is left to be told
            sys.stderr.write(record.getMessage() + "\n")
            sys.stderr.flush()


_STDERR = _Stderr(logging.WARNING)


def speak_on_stderr() -> None:
    """For a command line: its user has configured no log."""
    if _STDERR not in _log.handlers:
        _log.addHandler(_STDERR)
        _log.propagate = False


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

    from rightcall.base.files.guarded import whole_file

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

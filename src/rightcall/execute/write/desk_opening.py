"""The desk's folder and its lock: made when they are first needed, and taken by one process at a time.

A desk lies in the folder that is worked in, so it may have come with it, from somebody who wants its records to be
believed. It is believed only where it was made: its folder is still the one that was sealed then.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any

from msgspec import MsgspecError, Struct, json

from rightcall.errors import ToolFailure
from rightcall.execute.write.journal import BEGUN, DONE
from rightcall.fs.beneath import open_true, path_of
from rightcall.fs.spots import closing, failure, make_tree, shown_path
from rightcall.fs.whole import plain_file, whole_file
from rightcall.fs.writing import step

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

_LOCK, _SEAL = "lock", "seal.json"
_PAUSE = 0.02
_HELD = (errno.EAGAIN, errno.EACCES)


class _Seal(Struct, frozen=True):
    folder: int


@contextmanager
def opened(folder: str) -> Generator[str]:
    """The desk's folder, made if there is none: a path that leads to it for as long as this lasts, whatever its name
    leads to by then. ToolFailure when it cannot be made, is a link, or was made elsewhere."""
    try:
        make_tree(folder)
        step("desk")
        fd = open_true(folder)
    except OSError as error:
        raise failure(error, folder) from error
    with closing(fd):
        here = path_of(fd, folder)
        _believed(here, folder)
        yield here


def _believed(here: str, folder: str) -> None:
    try:
        foreign = not (is_own(here) or _is_bare(here))
    except OSError as error:
        raise failure(error, folder) from error
    if foreign:
        raise ToolFailure(
            f"The folder {shown_path(folder)}, where changes are kept, was made elsewhere and copied here, or its "
            f"{_SEAL} is lost, so nothing in it is believed and nothing is written. A person can move it away, or, "
            "knowing where it comes from, take it over: rightcall undo --adopt"
        )


def furnished(folder: str, name: str) -> None:
    """Under the lock: a new desk is sealed, and gets the folders that it needs. `name` is what it is known by."""
    try:
        if not is_own(folder):
            for left in os.listdir(folder):
                if left.startswith(f"{_SEAL}."):  # of somebody who was killed while sealing it
                    os.unlink(os.path.join(folder, left))
            adopt(folder)
        step("sealed")
        for inner in (BEGUN, DONE):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(folder, inner), 0o700)
    except OSError as error:
        raise failure(error, name) from error


def _is_bare(folder: str) -> bool:
    """Whether there is nothing in it that could be believed."""
    return all(name == _LOCK or name.startswith(f"{_SEAL}.") for name in os.listdir(folder))


def is_own(folder: str) -> bool:
    """Whether a desk was made where it is. Nobody who ships one can know which number its folder will get."""
    try:
        if os.path.islink(folder):
            return False
        with open(os.path.join(folder, _SEAL), "rb", opener=plain_file) as file:
            return json.decode(file.read(1000), type=_Seal).folder == os.stat(folder).st_ino
    except (OSError, MsgspecError):
        return False


def distrust(folder: str) -> str:
    """Why nothing can be told of the desk that is there; empty: it can, or there is none yet."""
    try:
        if not os.path.islink(folder) and (is_own(folder) or _is_bare(folder) or is_own(folder)):  # sealed meanwhile
            return ""
        with open(os.path.join(folder, _SEAL), "rb", opener=plain_file):
            pass  # it can be read, and is that of another folder
    except FileNotFoundError:
        if not os.path.lexists(folder):
            return ""
    except OSError as error:
        return f"{shown_path(folder)} cannot be read: {(error.strerror or str(error)).lower()}"
    return (
        f"{shown_path(folder)} was made elsewhere and copied here, or its {_SEAL} is lost: nothing in it is believed. "
        "If you know where it comes from, `rightcall undo --adopt` takes it over"
    )


def adopt(folder: str) -> None:
    """Seal a desk anew where it is: a person says that it may be believed. Raises OSError."""
    path = os.path.join(folder, _SEAL)
    with whole_file(path, f"{path}.{os.urandom(8).hex()}") as file:
        file.write(json.encode(_Seal(os.stat(folder).st_ino)))


@contextmanager
def locked(folder: str, patience: float, name: str = "") -> Generator[int]:
    """The lock of all who write; yields its descriptor. ToolFailure when somebody else holds it for too long. `name` is
    what the folder is known by."""
    until = monotonic() + patience
    try:
        file = open(os.path.join(folder, _LOCK), "ab", opener=_own_file)  # noqa: SIM115
    except OSError as error:
        raise failure(error, os.path.join(name or folder, _LOCK)) from error
    with file:
        while not _taken(file.fileno()):
            if monotonic() >= until:
                raise ToolFailure(
                    f"Another process has been writing for more than {patience:g} seconds. Nothing was changed; "
                    "try again later"
                )
            sleep(_PAUSE)
        yield file.fileno()


def _own_file(path: str, flags: int) -> int:
    return plain_file(path, flags | getattr(os, "O_NOFOLLOW", 0))


def seal_of(lock: int) -> tuple[int, int]:
    """What tells this desk from a copy of it, for what was begun on it: the lock's number, and when it was made."""
    found = os.fstat(lock)
    return found.st_ino, found.st_ctime_ns


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD:
            raise failure(error, "the lock of all who write") from error
        return False
    return True

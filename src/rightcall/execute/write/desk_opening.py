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
from rightcall.fs.spots import failure, shown_path
from rightcall.fs.whole import settle, whole_file
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


def opened(folder: str) -> None:
    """Make the desk's folder, if there is none; ToolFailure when it cannot be made or was made elsewhere."""
    try:
        os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            settle(os.path.dirname(folder))
        step("desk")
        foreign = os.path.islink(folder) or not (is_own(folder) or _is_bare(folder))
    except OSError as error:
        raise failure(error, folder) from error
    if foreign:
        raise ToolFailure(
            f"The folder {shown_path(folder)}, where changes are kept, was made elsewhere and copied here, or its "
            f"{_SEAL} is lost, so nothing in it is believed and nothing is written. A person can move it away, or, "
            "knowing where it comes from, take it over: rightcall undo --adopt"
        )


def furnished(folder: str) -> None:
    """Under the lock: a new desk is sealed, and gets the folders that it needs."""
    try:
        if not is_own(folder):
            for name in os.listdir(folder):
                if name.startswith(f"{_SEAL}."):  # of somebody who was killed while sealing it
                    os.unlink(os.path.join(folder, name))
            adopt(folder)
        step("sealed")
        for name in (BEGUN, DONE):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(folder, name), 0o700)
    except OSError as error:
        raise failure(error, folder) from error


def _is_bare(folder: str) -> bool:
    """Whether there is nothing in it that could be believed."""
    return all(name == _LOCK or name.startswith(f"{_SEAL}.") for name in os.listdir(folder))


def is_own(folder: str) -> bool:
    """Whether a desk was made where it is. Nobody who ships one can know which number its folder will get."""
    try:
        if os.path.islink(folder):
            return False
        with open(os.path.join(folder, _SEAL), "rb") as file:
            return json.decode(file.read(1000), type=_Seal).folder == os.stat(folder).st_ino
    except (OSError, MsgspecError):
        return False


def distrust(folder: str) -> str:
    """Why nothing can be told of the desk that is there; empty: it can, or there is none yet."""
    try:
        if not os.path.islink(folder) and (is_own(folder) or _is_bare(folder) or is_own(folder)):  # sealed meanwhile
            return ""
        with open(os.path.join(folder, _SEAL), "rb"):
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
def locked(folder: str, patience: float) -> Generator[int]:
    """The lock of all who write; yields its descriptor. ToolFailure when somebody else holds it for too long."""
    until = monotonic() + patience
    try:
        file = open(os.path.join(folder, _LOCK), "ab", opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
    except OSError as error:
        raise failure(error, folder) from error
    with file:
        while not _taken(file.fileno()):
            if monotonic() >= until:
                raise ToolFailure(
                    f"Another process has been writing for more than {patience:g} seconds. Nothing was changed; "
                    "try again later"
                )
            sleep(_PAUSE)
        yield file.fileno()


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

"""Where the server of an audit log and its console listen, for other commands of the same user: `rightcall token new`
prints base URLs that work, and `rightcall console link` a link that does.

    server:   with announced(database) as tell: tell("http://127.0.0.1:40211")
    command:  running_at(database) ─▶ "http://127.0.0.1:40211", or None

Kept in the user's own state folder and never beside the audit log: a folder from elsewhere could name a stranger's
address there, and the token would go to that. The file is locked for as long as the server runs, so that one which was
killed is not taken for one that listens.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Final, Literal

from rightcall.base.files.guarded import state_folder, take_lock
from rightcall.base.http.answers import read_address
from rightcall.errors import ConfigError

Door = Literal["serving", "console"]
_LONGEST: Final = 300


@contextmanager
def announced(database: str, door: Door = "serving") -> Generator[Callable[[str], None]]:
    """Tell an address once the server listens. Of two servers on one audit log the first is told of. Never raises: no
    request depends on it."""
    held: list[int] = []

    def tell(address: str) -> None:
        place = _place(database, door)
        with suppress(OSError):
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            file = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
            if not take_lock(file):
                os.close(file)
                return
            held.append(file)
            os.ftruncate(file, 0)
            os.write(file, address.encode())

    try:
        yield tell
    finally:
        for file in held:
            with suppress(OSError):
                os.ftruncate(file, 0)
            os.close(file)


def running_at(database: str, door: Door = "serving") -> str | None:
    """The address of the server or console that runs on this audit log; None where none does, or nobody knows."""
    try:
        file = os.open(_place(database, door), os.O_RDWR)
    except OSError:
        return None
    try:
        if take_lock(file):  # nobody holds it
            return None
        address = os.read(file, _LONGEST).decode()
        read_address(address, "not an address", "it holds no user and no password")
    except (OSError, UnicodeDecodeError, ConfigError):
        return None
    finally:
        os.close(file)
    return address


def _place(database: str, door: Door) -> str:
    known_by = sha256(os.fsencode(os.path.realpath(database))).hexdigest()[:32]
    return os.path.join(state_folder(), door, known_by)

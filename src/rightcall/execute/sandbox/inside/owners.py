"""Whom a program runs as when we are root: a user that nobody else is, as long as it runs."""

from __future__ import annotations

import os
import secrets
import socket
from functools import lru_cache

_FIRST, _COUNT = 0x60000000, 1 << 20
_TRIES = 200


class Owner:
    """A user id (and a group id of the same number) that no other run has. Held by the name of a socket, which goes
    with the process that holds it; nothing is written anywhere."""

    def __init__(self) -> None:
        first, count = id_range()
        for _ in range(_TRIES):
            self.id = first + secrets.randbelow(count)
            self._held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                self._held.bind(f"\0rightcall-sandbox-{self.id}")
            except OSError:
                self._held.close()
                continue
            return
        raise OSError("there is no free user id")

    def close(self) -> None:
        self._held.close()


@lru_cache(1)
def id_range() -> tuple[int, int]:
    """Ids that mean something here: in a container there may be no more than 65,536 of them."""
    with open("/proc/self/uid_map") as text:
        ranges = [tuple(int(number) for number in line.split()) for line in text]
    first, count = max(((start, length) for start, _, length in ranges), key=lambda item: item[1])
    if first <= _FIRST and first + count >= _FIRST + _COUNT:
        return _FIRST, _COUNT
    return first + count // 2, max(count // 4, 1)


_BECOMES_ANOTHER = 1 << 0 | 1 << 6 | 1 << 7
"""The rights to give files away and to change one's group and user: CAP_CHOWN, CAP_SETGID, CAP_SETUID."""
_ENOUGH = 1000


@lru_cache(1)
def is_root() -> bool:
    """Whether a program can be made to run as somebody else. Root without these rights, or in a namespace that knows
    hardly anybody else, can do no more than an ordinary user."""
    if os.geteuid() != 0 or id_range()[1] < _ENOUGH:
        return False
    with open("/proc/self/status") as text:
        rights = next((int(line.split()[1], 16) for line in text if line.startswith("CapEff:")), 0)
    return rights & _BECOMES_ANOTHER == _BECOMES_ANOTHER

"""Landlock: what may be read, and what written, whatever the file permissions say."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable

from rightcall.execute.sandbox.inside import kernel

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST = (1 << 13) - 1
"""The rights of the first version."""
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

SIGNALS_SINCE = 6
TRUNCATE_SINCE = 3


def _all_rights(version: int) -> int:
    rights = _FIRST
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if version >= since:
            rights |= right
    return rights


def restrict(read: Iterable[str], write: Iterable[str], devices: Iterable[str]) -> None:
    """From now on nothing but this can be opened: `read` for reading and executing, `write` for everything but making
    devices and sockets, `devices` for reading and writing. No network; no signals, no abstract sockets to the outside
    where Landlock can do that."""
    version = kernel.landlock_version()
    handled = _all_rights(version)
    words = [handled]
    if version >= 4:
        words.append(0b11)  # bind and connect of TCP
    if version >= SIGNALS_SINCE:
        words.append(0b11)  # abstract sockets and signals
    rules = kernel.landlock_rules(struct.pack(f"{len(words)}Q", *words))
    whole = handled & ~(_MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK | _IOCTL_DEV)
    try:
        for paths, rights in ((read, _READ), (write, whole), (devices, _READ_FILE | _WRITE_FILE)):
            for path in paths:
                _allow(rules, path, rights & handled)
        kernel.landlock_enter(rules)
    finally:
        os.close(rules)


def _closed(path: str) -> str:
    """Which folder above it does not let us through, and what would help."""
    above = os.path.dirname(path)
    while above != "/" and not os.access(os.path.dirname(above), os.X_OK):
        above = os.path.dirname(above)
    if os.access(above, os.X_OK):
        return ""
    return f" ({above} is closed to others: `chmod o+x` it, or use a folder elsewhere)"


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise kernel.Step(
            f"reach {path} as the user that the program runs as{_closed(path)}", error.errno or 0
        ) from None
    try:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            rights &= _ON_A_FILE
        kernel.landlock_allow(rules, rights, file, path)
    finally:
        os.close(file)

"""Whether anybody has a file open for writing: what is read while nobody has is all there is.

Linux answers by a lease for reading, which it grants only then. Elsewhere, and on file systems without leases, nobody
can tell, and the content has to speak for itself.
"""

import errno
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None


class Busy(Exception):
    """Somebody has the file open for writing."""


@contextmanager
def settled(fd: int) -> Generator[None]:
    """Within the block nobody writes to the file that is open here for reading; Busy when somebody does, or wants to by
    the end of it."""
    setlease = getattr(fcntl, "F_SETLEASE", None)
    if setlease is None or not _granted(fd, setlease):
        yield
        return
    try:
        yield
        if fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK:
            raise Busy
    finally:
        with suppress(OSError):
            fcntl.fcntl(fd, setlease, fcntl.F_UNLCK)


def _granted(fd: int, setlease: int) -> bool:
    try:
        fcntl.fcntl(
            fd, fcntl.F_SETSIG, signal.SIGURG
        )  # whoever waits for the file is announced; the usual signal kills
        fcntl.fcntl(fd, setlease, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EBUSY):
            raise Busy from None
        return False
    return True

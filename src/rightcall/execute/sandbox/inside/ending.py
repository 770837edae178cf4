"""Ending everything that a run has started, where there is no pid 1 whose end is the end of all."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from rightcall.execute.sandbox.inside.watching import descendants


def reap(first: int) -> int | None:
    """Take note of whatever has ended; the status of `first`, if it was among them."""
    found: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == first:
            found = os.waitstatus_to_exitcode(status)


def end_all(other: int | None) -> None:
    """End our children and theirs, also those that have left home: orphans come to us. `other` is the user they run as,
    where it is not ours: the kernel then ends all of that user's processes at once. Else they are stopped first, all of
    them, so that none can start another while we end them."""
    while True:
        reap(0)
        if other is not None:
            _end_user(other)
        else:
            _end_stopped()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _end_user(uid: int) -> None:
    helper = os.fork()
    if helper == 0:
        with suppress(OSError):
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(helper, 0)


def _end_stopped() -> None:
    stopped: set[int] = set()
    while new := set(descendants(os.getpid())) - stopped:
        _signal(new, signal.SIGSTOP)
        stopped |= new
    _signal(stopped, signal.SIGKILL)


def _signal(processes: set[int], number: int) -> None:
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)

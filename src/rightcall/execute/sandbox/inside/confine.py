"""The last steps before a program runs: whatever it could reach beyond its own is taken from it."""

from __future__ import annotations

import os
import resource
import stat
from math import ceil

from rightcall.execute.sandbox.inside import kernel
from rightcall.execute.sandbox.inside.request import Request

_FILES = 256
_STACK = 8 << 20
_SPARE = 64 << 20
"""What a program may map beyond what it may use. A script may map less: so it hears of it by a MemoryError before it is
ended for it."""


def drop_privileges(uid: int, gid: int, *, other: bool) -> None:
    """No capabilities, none to be had; with `other`, no longer root."""
    kernel.no_new_privileges()
    kernel.no_capabilities_to_gain()
    if other:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    kernel.no_capabilities()


def set_limits(request: Request, tasks: int) -> None:
    """`tasks` is how many of its user there may be in all, threads included."""
    seconds = ceil(request.seconds * (os.cpu_count() or 1)) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_DATA, request.memory + (-min(_SPARE, request.memory) // 4 if request.warm else _SPARE)),
        (resource.RLIMIT_FSIZE, request.scratch),
        (resource.RLIMIT_NPROC, tasks),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_STACK, _STACK),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_NICE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def give_pipes(pipes: tuple[int, int, int], uid: int, gid: int) -> None:
    """Whoever opens /dev/stdout or the like opens the pipe once more, by its permissions. What is no pipe is
    everybody's already, such as /dev/null."""
    for pipe in pipes:
        if stat.S_ISFIFO(os.fstat(pipe).st_mode):
            os.fchown(pipe, uid, gid)


def take_pipes(pipes: tuple[int, int, int]) -> None:
    """Standard input, output and error. They come as higher numbers, so none is overwritten before it is taken."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number, inheritable=True)


def close_all_but(kept: int) -> None:
    """Every descriptor but the first three and one of ours."""
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, kept)
    os.closerange(kept + 1, max(highest, 1 << 16))

"""The side of a run that becomes the program. In namespaces its first process is pid 1, which outlives the program and
takes everything with it when it ends."""

from __future__ import annotations

import os
import signal
import socket
from typing import NamedTuple, NoReturn

from rightcall.execute.sandbox.inside import confine, kernel, landlock, program, standins, wire
from rightcall.execute.sandbox.inside.filter import program as filter_program
from rightcall.execute.sandbox.inside.newroot import Shown, enter_new_root
from rightcall.execute.sandbox.inside.places import DEVICES, RANDOM, checked_paths, system_places
from rightcall.execute.sandbox.inside.request import Request

NAMESPACES = kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
_SHARED_TIER = "landlock"
_SPARE_TASKS = 16


class Run(NamedTuple):
    """What the side that becomes the program has been given."""

    request: Request
    channel: socket.socket
    """To the supervisor."""
    pipes: tuple[int, int, int]
    code: int
    """The program's own file, open; less than 0: there is none."""
    uid: int
    gid: int
    other: bool
    """Whether it is to be another user than we are."""
    tasks: int
    interpreter: list[str]
    temporary: str
    """The folder for temporary files."""


class NoGo(Exception):
    """The supervisor has gone, or does not want it any more."""


def become_first(run: Run) -> int:
    """Pid 1 of its own namespaces. Returns in the process that is to be the program, with the number of tasks that its
    user may have. Whatever is taken from the program is taken from pid 1 before, which has no need of it either."""
    kernel.unshare(NAMESPACES, "new mount, network, ipc, uts and cgroup namespaces")
    shown = Shown(run.interpreter, run.code, run.uid, run.gid)
    enter_new_root(run.request, shown, lambda volume: _offer(run, volume))
    _give_up(run)
    _restrict(["/"], [run.request.place, run.temporary, "/dev/shm"], needed=False)
    tasks = _wait_for_go(run)
    kernel.set_dumpable(False)  # before there is anybody who could look into it
    _filter_calls(run)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # from inside, pid 1 gets no signal that it does not handle
    pid = os.fork()
    if pid:
        _reap(run, pid)
    return tasks


def _offer(run: Run, volume: int) -> None:
    """Let the sandbox fill the scratch folder."""
    scratch = os.open("scratch", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=volume)
    wire.send(run.channel, {"ready": True}, (scratch,))
    os.close(scratch)


def _give_up(run: Run) -> None:
    """Descriptors and privileges."""
    os.umask(0o022)
    if run.other:
        confine.give_pipes(run.pipes, run.uid, run.gid)
    confine.take_pipes(run.pipes)
    confine.close_all_but(run.channel.fileno())
    confine.drop_privileges(run.uid, run.gid, other=run.other)
    kernel.die_with_parent()


def _wait_for_go(run: Run) -> int:
    """How many tasks its user may have. A group that counts them knows when one is refused, so it must be the first to
    refuse."""
    try:
        message, _ = wire.receive(run.channel)
    except (EOFError, OSError):
        raise NoGo from None
    return run.tasks + (_SPARE_TASKS if message["grouped"] else 0)


def _reap(run: Run, program_pid: int) -> NoReturn:
    """What is left to pid 1: to wait for the program, and for the orphans it leaves."""
    os.closerange(0, 3)
    while True:
        pid, status = os.wait()
        if pid == program_pid:
            wire.send(run.channel, {"ended": os.waitstatus_to_exitcode(status)})
            os._exit(0)


def become_ready(run: Run) -> int:
    """As `become_first`, where nothing can be mounted: what is outside stays where it is, and Landlock has to keep it
    apart."""
    _give_up(run)
    request = run.request
    code = [os.path.dirname(request.code)] if request.code else []
    visible = [*system_places(), *checked_paths(run.interpreter, request.visible), *code, *RANDOM]
    _restrict(visible, [request.place, run.temporary], needed=True)
    wire.send(run.channel, {"ready": True})  # not before: what is filled would be removed under one's hands
    return _wait_for_go(run)


def confine_self(run: Run, tasks: int) -> None:
    """In the process that is to be the program: from here on it can do no more than the program may."""
    request = run.request
    os.setsid()
    os.chdir(request.place)
    confine.set_limits(request, tasks)
    kernel.die_with_parent()
    kernel.set_dumpable(True)
    if request.tier == _SHARED_TIER:
        _filter_calls(run)


def _filter_calls(run: Run) -> None:
    """In namespaces it holds for pid 1 too, which the program is forked from."""
    shared = run.request.tier == _SHARED_TIER
    owner = shared and not run.other
    version = kernel.landlock_version() if shared else 0
    kernel.install_filter(
        filter_program(
            "aarch64" if kernel.machine() == "aarch64" else "x86_64",
            disk=shared or run.request.bind,
            shared=shared,
            owner=owner,
            alone=os.getpid() if owner and version < landlock.SIGNALS_SINCE else None,
            truncate=not shared or version >= landlock.TRUNCATE_SINCE,
        )
    )


def _restrict(read: list[str], write: list[str], *, needed: bool) -> None:
    """In namespaces there is nothing to be seen but what may be read, so that Landlock only comes on top."""
    if needed or kernel.landlock_version():
        landlock.restrict(read, write, DEVICES)


def environment(run: Run) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": run.request.place,
        "USER": "sandbox",
        "LOGNAME": "sandbox",  # where users have no names, programs ask here
        "TMPDIR": run.temporary,
        "LANG": "C.UTF-8",
        "XDG_CACHE_HOME": f"{run.temporary}/cache",  # what libraries keep for themselves is none of the result
        "XDG_CONFIG_HOME": f"{run.temporary}/config",
        "OPENSSL_CONF": "/dev/null",  # the system's own cannot be read, which OpenSSL takes for a fault
        **run.request.env,
    }


def replace_self(run: Run) -> None:
    """Become the program, by its name; if that is not possible, say so and end."""
    argv = run.request.argv
    program.reset_signals(warm=False)
    try:
        os.execve(argv[0], argv, environment(run))
    except OSError as error:
        wire.send(run.channel, {"unstarted": f"{argv[0]}: {error.strerror}"})
        os._exit(125)


def adapt_library(run: Run) -> None:
    """For a script where nothing can be mounted."""
    if run.request.tier == _SHARED_TIER:
        standins.do_without_shared_memory_files()

"""The sandbox: one fork server per Sandbox, started when it is first needed."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from weakref import finalize

from rightcall.execute.sandbox.advice import advice, is_linux
from rightcall.execute.sandbox.conversation import Conversation, Out, ServerGone
from rightcall.execute.sandbox.holding import Server
from rightcall.execute.sandbox.inside.owners import is_root
from rightcall.execute.sandbox.inside.places import is_open_to_all
from rightcall.execute.sandbox.probe import Finding, try_tier
from rightcall.execute.sandbox.types import Ended, Job, NoSandbox, Scratch, Tier

_SYSTEM_PYTHON = "/usr/bin/python3"
_TIERS: tuple[Tier, ...] = ("namespaces", "landlock")
_TRIES = 3
_ARCHITECTURES = ("x86_64", "aarch64", "arm64")


class Sandbox:
    """Runs programs in isolation. `python` is the interpreter for scripts ("" is the one we run on); `least` is the
    tier that must be had; `only` is the tier to use, for probing and tests.

    In the tier `landlock` nothing can be mounted: the scratch folder is then seen at a path of its own
    (`Scratch.place`), unless it is bound, and `Job.place` in arguments, script and environment is changed to it."""

    def __init__(self, python: str = "", least: Tier = "landlock", *, only: Tier | None = None) -> None:
        self._wanted = python
        self._tiers: tuple[Tier, ...] = tuple(
            tier for tier in _TIERS if only in (None, tier) and (least == "landlock" or tier == least)
        )
        self._lock = Lock()
        self._server: Server | None = None
        self._finalizer: Callable[[], object] = _nothing
        self._holder = 0
        self._closed = False
        self._chosen: Finding | None = None
        self.findings: list[Finding] = []
        """What was tried, in this order."""

    def tier(self) -> Tier:
        """The tier that is used here, found by trying, once. Raises NoSandbox."""
        with self._lock:
            return self._choice().tier

    @property
    def python(self) -> str:
        """The interpreter that runs scripts, as seen inside and outside."""
        with self._lock:
            return self._choice().python

    def can_bind(self, folder: str) -> bool:
        """Whether a folder can be the scratch itself (Job.bind). Where nothing can be mounted it stays where it is, and
        the user that root's programs run as must get there."""
        if self.tier() == "namespaces" or not is_root():
            return True
        return is_open_to_all(os.path.abspath(folder)) and is_open_to_all(os.path.realpath(folder))

    @property
    def groups(self) -> Mapping[str, int]:
        """What control groups limit here, `memory` or `pids`, found by making one; the version of their interface."""
        with self._lock:
            self._choice()
            return self._running().groups

    def run(
        self,
        job: Job,
        *,
        stdin: bytes | None = None,
        fill: Callable[[Scratch], None] | None = None,
        collect: Callable[[Scratch, Ended], object] | None = None,
        out: Out,
    ) -> Ended:
        """Run a program to its end or a limit. Blocking, from any thread, many at once; whatever ends it, no process
        stays. `fill` is called before it starts, `collect` after all of its processes have ended."""
        _check(job)
        for _ in range(_TRIES):
            with suppress(ServerGone):  # it was ended from outside before the program began: there is a new one
                return self._run(job, stdin, fill, collect, out)
        raise NoSandbox("The fork server was ended from outside, again and again")

    def _run(
        self,
        job: Job,
        stdin: bytes | None,
        fill: Callable[[Scratch], None] | None,
        collect: Callable[[Scratch, Ended], object] | None,
        out: Out,
    ) -> Ended:
        with self._lock:
            tier = self._choice().tier
            server = self._running()
        try:
            with Conversation(server, job, tier, stdin, out) as conversation:
                scratch = conversation.prepare()
                if fill is not None:
                    fill(scratch)
                ended = conversation.listen()
                if collect is not None:
                    collect(scratch, ended)
                return ended
        except ServerGone:
            with self._lock:
                if self._server is server:
                    self._drop()
            raise

    def close(self) -> None:
        """End the fork server and whatever still runs. Nothing can be run after that."""
        with self._lock:
            self._closed = True
            self._drop()

    def _choice(self) -> Finding:
        if self._chosen is None:
            _need_linux()
            if self._wanted and not os.access(self._wanted, os.X_OK):
                raise NoSandbox(f"There is no program {self._wanted} to run Python code with ([sandbox] python)")
            self.findings = []
            for tier in self._tiers:
                for python in self._interpreters(tier):
                    finding = self._tried(tier, python)
                    self.findings.append(finding)
                    if finding.works:
                        self._chosen = finding
                        return finding
                    if finding.passing:  # a lesser tier is not taken for that, least of all for good
                        self._drop()
                        raise NoSandbox(
                            f"The sandbox could not be tried, and will be with the next program: {finding.why}"
                        )
            tried = "; ".join(f"{each.tier}: {each.why}" for each in self.findings)
            self._drop()
            raise NoSandbox(f"Programs cannot be isolated here, so nothing runs ({tried})", advice())
        return self._chosen

    def _tried(self, tier: Tier, python: str) -> Finding:
        try:
            return try_tier(self._running(python), tier)
        except NoSandbox as error:
            return Finding(tier, python, works=False, why=error.why)
        except OSError as error:  # of our own: no descriptor or no room for a file
            return Finding(tier, python, works=False, why=error.strerror or str(error))

    def _interpreters(self, tier: Tier) -> list[str]:
        """Ours may be one that the program's user cannot get at: it lies below somebody's home, and where nothing can
        be mounted it stays there."""
        if self._wanted:
            return [self._wanted]
        own: str = getattr(sys, "_base_executable", "") or sys.executable
        stays = tier == "landlock" and os.geteuid() == 0
        if (stays or not os.access(own, os.X_OK)) and os.path.exists(_SYSTEM_PYTHON):
            return list(dict.fromkeys((own, _SYSTEM_PYTHON)))
        return [own]

    def _running(self, python: str = "") -> Server:
        """The server for an interpreter, or for the one that was chosen."""
        wanted = python or (self._chosen.python if self._chosen else "")
        server = self._server
        if server is None or self._holder != os.getpid() or server.python != wanted or not server.alive:
            self._drop()
            if self._closed:
                raise NoSandbox("The sandbox is closed")
            server = self._server = Server(wanted)
            self._finalizer = finalize(self, server.close)
            self._holder = os.getpid()
        return server

    def _drop(self) -> None:
        """It ends when we are forgotten, or the interpreter ends, at the latest."""
        self._finalizer()
        self._server = None


def _nothing() -> None:
    """There is no server yet."""


def _need_linux() -> None:
    if not is_linux():
        raise NoSandbox("The sandbox needs Linux")
    if os.uname().machine not in _ARCHITECTURES:
        raise NoSandbox(f"The sandbox needs x86-64 or arm64, not {os.uname().machine}")


def _check(job: Job) -> None:
    place = os.path.normpath(job.place)
    if not os.path.isabs(place) or place == "/":
        raise ValueError(f"Job.place must be an absolute path other than /: {job.place!r}")
    if job.script is None and not (job.argv and os.path.isabs(job.argv[0])):
        raise ValueError("Job.argv must begin with the whole path of a program")
    if job.code is not None and os.path.dirname(os.path.normpath(job.code.path)) in ("", "/"):
        raise ValueError(f"Job.code.path must be the whole path of a file in a folder: {job.code.path!r}")

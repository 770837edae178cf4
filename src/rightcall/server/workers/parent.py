"""The parent of several workers: binds, starts them, starts anew what dies, adds up, watches the policy, and ends them.

    parent ─┬─ worker w1     all of them accept at the one socket that the parent has bound
            ├─ worker w2
            └─ MCP servers that are processes: one of each, for all workers (`relays`)

It answers no request itself. Workers are programs of their own, started like this one, so that a reload takes what was
installed meanwhile. A worker whose parent is gone finishes what runs, and ends.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import count
from math import inf
from time import monotonic
from typing import Any, Final, Literal

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.errors import ConfigError
from rightcall.policy.settings import Policy
from rightcall.policy.watch import INTERVAL, PolicyInForce, PolicyWatch
from rightcall.server.app import PATIENCE, has_terminal, is_reload
from rightcall.server.workers.accepting import Board, reserve
from rightcall.server.workers.figures import Figures
from rightcall.server.workers.frames import Frames
from rightcall.server.workers.relays import Relays
from rightcall.server.workers.seat import (
    ASK,
    CHANNEL,
    FIGURES,
    HELLO,
    LEAD,
    NOW,
    POLICY,
    READY,
    RETIRE,
    SAID,
    STOP,
    WHOLE,
    Hello,
)

STARTING: Final = 120.0
"""Seconds in which a worker must have started."""
STEADY: Final = 10.0
"""After so many seconds of life a worker counts as one that works: where it dies, another starts at once."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
ADDING: Final = 0.5
"""Seconds in which a worker must have said its figures; of one that does not the last ones count."""
ENDING: Final = 40.0
"""Seconds in which workers must have ended; they themselves give requests 30."""
KILLED: Final = 5.0
"""The same after SIGKILL."""
HANGING: Final = 5.0
"""Seconds without a beat of its heart after which people are told of a worker."""
FILES: Final = 64
"""Files that must be allowed to be open, besides some for each worker."""
FOLDER: Final = "rightcall-serve-"
_LONG: Final = 60
"""Characters of a folder: the name of a socket in it has about a hundred at most."""
SPARE: Final = 3
"""How many times as many workers there may be while they are replaced."""

Say = Callable[[str, str], None]


class Plan(Struct, frozen=True):
    """What is to run. `hello` is what all workers are told alike; `command` starts one."""

    command: Sequence[str]
    hello: Hello
    policy: PolicyInForce
    listeners: Sequence[socket.socket]
    """Bound already: the server's, then the console's where there is one."""
    ready: Callable[[Mapping[str, Any]], None]
    """Called once all are there, with what the first of them said."""
    say: Say
    """Takes a line for people, and the word it begins with."""


def _nothing(kind: bytes, content: bytes) -> None:
    del kind, content


class _NotStarted(Exception):
    """Why there is no further worker, and the exit code of one that has said so itself."""

    def __init__(self, why: str, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


class _Worker:
    """One whose process has been started, until that has ended."""

    def __init__(self, name: str, place: int, process: subprocess.Popen[bytes], frames: Frames) -> None:
        self.name = name
        self.place = place
        self.process = process
        self.frames = frames
        self.began = monotonic()
        self.told: dict[str, Any] = {}
        self.state: Literal["starting", "ready", "leaving"] = "starting"
        self.hangs = False
        self.settled = asyncio.Event()
        """It is ready, or will not be."""
        self.ended = asyncio.Event()
        self.code: int | None = None


class Parent:
    """Runs in the main thread, until a signal ends it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        _refuse_few_files(plan.hello.workers)
        place = tempfile.gettempdir()
        place = place if len(place) < _LONG else "/tmp"
        self._places = plan.hello.workers * SPARE + 2
        try:
            self._shared = tempfile.TemporaryFile(dir=place)  # noqa: SIM115  for as long as the server runs
            reserve(self._shared.fileno(), Board.size_for(self._places))
            self._folder = tempfile.mkdtemp(prefix=FOLDER, dir=place)  # ours alone
        except OSError as fault:
            why = f"`--workers` needs room for small files in {place}: {fault.strerror}. TMPDIR can name another folder"
            raise ConfigError(why) from None
        self._board = Board(self._shared.fileno(), self._places)
        self._bell = os.pipe()
        for end in self._bell:
            os.set_blocking(end, False)
        os.write(self._bell[1], b".")  # the database is free
        self._names = count(1)
        self._workers: list[_Worker] = []
        self._figures = Figures()
        self._rounds: dict[bytes, tuple[set[str], asyncio.Event]] = {}
        self._numbers = count(1)
        self._stopping = asyncio.Event()
        self._heard: int | None = None
        self._heard_at = 0.0
        self._sooner = asyncio.Event()
        """Set where it is worth to try before a pause is over."""
        self._renewing = False
        self._again = False
        """Whether another SIGHUP came meanwhile: workers that were started before it may be of the old version."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watching = PolicyWatch(plan.policy, lambda _: None, self._noted)
        self._relays = Relays(os.path.join(self._folder, "servers.sock"))

    def run(self) -> int:
        """Returns the exit code."""
        try:
            with closing(_new_loop()) as loop:  # no runner: that would use the loop once more, which may need a file
                return loop.run_until_complete(self._run())
        finally:
            self._board.close()
            self._shared.close()
            for end in self._bell:
                os.close(end)
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _run(self) -> int:
        had_terminal = has_terminal()
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number: int | None = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, self._signalled, number, had_terminal)
        await self._relays.start()
        try:
            failed = await self._begin()
            if failed is not None:
                return failed
            self._spawn(self._watch())
            await self._stopping.wait()
        finally:
            await self._end()
        return 128 + self._heard if self._heard is not None else 1

    async def _begin(self) -> int | None:
        """All workers, the first one alone: what is wrong with the settings or the store is said once. The exit code
        where one does not start."""
        try:
            first = await self._another()
            others = await asyncio.gather(*(self._another() for _ in range(self._plan.hello.workers - 1)))
        except _NotStarted as fault:
            if self._stopping.is_set():
                return None
            if fault.code <= 0:
                self._plan.say(str(fault), "error")
            return max(fault.code, 1)
        self._lead()
        self._plan.ready(first.told)
        for one in (first, *others):
            self._spawn(self._keep(one))
        return None

    # ── one worker ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _another(self) -> _Worker:
        """One that is ready. Raises _NotStarted, and then nothing is left of it."""
        try:
            worker = await self._start()
        except Exception as fault:  # noqa: BLE001  what the system refuses now it may grant later
            told = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
            raise _NotStarted(f"a worker cannot be started: {told}") from None
        await _all_within(STARTING, (worker.settled,))
        if worker.state == "ready":
            return worker
        if self._stopping.is_set():
            raise _NotStarted("the server ends")
        code = worker.code
        worker.process.kill()
        await worker.ended.wait()
        raise _NotStarted(f"worker {worker.process.pid} {_ending(code)}", code or 0)

    async def _start(self) -> _Worker:
        """One whose process runs; where anything fails, nothing of it is left."""
        loop, frames = asyncio.get_running_loop(), Frames(_nothing)
        ours, theirs = socket.socketpair()
        with theirs, ExitStack() as undo:
            undo.callback(ours.close)
            await loop.create_unix_connection(lambda: frames, sock=ours)
            undo.callback(frames.close)
            taken = {one.place for one in self._workers}
            free = [at for at in range(self._places) if at not in taken]
            if not free or self._stopping.is_set():
                raise _NotStarted("too many still finish their requests")
            inherited = [one.fileno() for one in self._plan.listeners]
            hello = replace(
                self._plan.hello, name=f"w{next(self._names)}", place=free[0], folder=self._folder,
                listener=inherited[0], board=self._shared.fileno(), places=self._places, bell=self._bell,
                console=inherited[1] if len(inherited) > 1 else None,
            )  # fmt: skip
            process = subprocess.Popen(
                self._plan.command, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, CHANNEL: str(theirs.fileno())},
                pass_fds=[theirs.fileno(), hello.board, *hello.bell, *inherited],
            )  # fmt: skip
            undo.callback(process.wait)
            undo.callback(process.kill)
            worker = _Worker(hello.name, hello.place, process, frames)
            threading.Thread(target=self._wait, args=(worker, loop), name="rightcall-worker-exit", daemon=True).start()
            undo.pop_all()
        self._workers.append(worker)
        frames.heard = partial(self._told, worker)
        frames.send(HELLO, json.encode(hello))
        return worker

    def _wait(self, worker: _Worker, loop: asyncio.AbstractEventLoop) -> None:
        code = worker.process.wait()
        with suppress(RuntimeError):  # the parent has ended
            loop.call_soon_threadsafe(self._ended, worker, code)

    def _told(self, worker: _Worker, kind: bytes, content: bytes) -> None:
        if kind == READY:
            worker.told, worker.state = json.decode(content), "ready"
            worker.settled.set()
        elif kind == SAID:
            number, _, text = content.partition(b"\n")
            self._figures.take(worker, text.decode())
            waiting = self._rounds.get(number)
            if waiting is not None:
                waiting[0].discard(worker.name)
                if not waiting[0]:
                    waiting[1].set()
        elif kind == ASK:
            self._spawn(self._add_up(worker, content))

    async def _add_up(self, worker: _Worker, asked: bytes) -> None:
        """The figures of this moment, for a worker that was asked for them."""
        number = b"%d" % next(self._numbers)
        others = [one for one in self._workers if one.state != "starting" and one.frames.is_open]
        complete = asyncio.Event()
        self._rounds[number] = {one.name for one in others}, complete
        for one in others:
            one.frames.send(FIGURES, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(ADDING):
                await complete.wait()
        del self._rounds[number]
        worker.frames.send(WHOLE, asked + b"\n" + self._figures.text().encode())

    def _ended(self, worker: _Worker, code: int) -> None:
        self._workers.remove(worker)
        self._board.leave(worker.place)
        self._figures.bury(worker)
        for waiting, complete in self._rounds.values():
            waiting.discard(worker.name)
            if not waiting:
                complete.set()
        with suppress(OSError):
            os.unlink(os.path.join(self._folder, f"{worker.name}.sock"))
        worker.frames.close()
        worker.code = code
        worker.settled.set()
        worker.ended.set()

    async def _keep(self, worker: _Worker) -> None:
        """Another in place of this one whenever it dies, as soon as that is worth it."""
        pause = 0.0
        while True:
            await worker.ended.wait()
            self._lead()
            dead, why = worker, f"worker {worker.process.pid} {_ending(worker.code)}"
            pause = 0.0 if monotonic() - dead.began > STEADY else _longer(pause)
            while worker is dead:
                if self._is_missing(dead):
                    await self._rest(why, pause)
                if not self._is_missing(dead):  # at a reload another may have taken its place meanwhile
                    return
                try:
                    worker = await self._another()
                except _NotStarted as fault:
                    why, pause = str(fault), _longer(pause)
            if dead.state == "leaving":
                self._retire(worker)
            self._lead()

    def _retire(self, worker: _Worker) -> None:
        worker.state = "leaving"
        worker.frames.send(RETIRE)

    def _is_missing(self, dead: _Worker) -> bool:
        return dead.state != "leaving" and not self._stopping.is_set()

    async def _rest(self, why: str, pause: float) -> None:
        """With a policy file that is wrong no worker can start: then until it is right."""
        self._watching.look_now()
        is_wrong = self._plan.policy.problem is not None
        soon = f"in {pause:g} second{'s' * (pause != 1)}" if pause else "now"
        when = "once the policy file is valid" if is_wrong else soon
        self._plan.say(f"{why}; another one starts {when}", "warning")
        await _all_within(None if is_wrong else pause, (self._sooner,))

    def _hurry(self) -> None:
        self._sooner.set()
        self._sooner = asyncio.Event()

    def _lead(self) -> None:
        """One of them does what is done once: it answers hooks, and tells of MCP servers."""
        able = [one for one in self._workers if one.state == "ready" and not self._stopping.is_set()]
        for one in self._workers:
            if one.state != "starting":
                one.frames.send(LEAD, b"1" if one in able[:1] else b"0")

    # ── the policy ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _watch(self) -> None:
        """One look for all workers, which then take what the file says."""
        while True:
            await asyncio.sleep(INTERVAL)
            self._watching.look_now()
            self._feel_pulses()

    def _feel_pulses(self) -> None:
        for one in self._workers:
            beat = self._board.load(one.place).beat  # 0 where it takes no connections
            hangs = one.state == "ready" and beat > 0 and monotonic() - beat > HANGING
            if hangs and not one.hangs:
                pid = one.process.pid
                told = f"worker {pid} has done nothing for {HANGING:g} seconds; `kill -9 {pid}` has it replaced"
                self._plan.say(told, "warning")
            one.hangs = hangs

    def _noted(self, what: str, policy: Policy, problem: str | None) -> None:
        del what
        self._broadcast(POLICY, policy.digest.encode())
        if problem is None:
            self._hurry()

    # ── signals ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _signalled(self, number: int, had_terminal: bool) -> None:
        if is_reload(number, had_terminal):
            self._spawn(self._renew())
        elif self._heard is None:
            self._heard, self._heard_at = number, monotonic()
            self._stop()
        elif monotonic() - self._heard_at > PATIENCE.get(number, inf):
            self._broadcast(NOW)

    async def _renew(self) -> None:
        """Take the policy of now, and put new workers in the place of the old ones, one after another: each is ready
        before the other takes no more."""
        self._again = True
        if self._renewing:
            self._plan.say("SIGHUP: workers are being replaced already; all are replaced once more afterwards", "note")
            return
        self._renewing = True
        try:
            while self._again and not self._stopping.is_set():
                self._again = False
                await self._replace_all()
        finally:
            self._renewing = False

    async def _replace_all(self) -> None:
        self._watching.look_now()
        say = self._plan.say
        if self._plan.policy.problem is not None:
            say("SIGHUP: nothing was restarted, since new workers could not start with this policy file", "warning")
            return
        self._hurry()
        old = [one for one in self._workers if one.state == "ready"]
        for one in old:
            try:
                new = await self._another()
            except _NotStarted as fault:
                if not self._stopping.is_set():
                    say(f"SIGHUP: {fault}; the old workers go on", "error")
                return
            self._spawn(self._keep(new))
            self._retire(one)
            self._lead()
        were = "1 worker was" if len(old) == 1 else f"{len(old)} workers were"
        say(f"SIGHUP: {were} replaced; the old ones finish their requests", "note")

    def _broadcast(self, kind: bytes, content: bytes = b"") -> None:
        for one in self._workers:
            one.frames.send(kind, content)

    def _stop(self) -> None:
        """Nobody waits for anything but the end any more."""
        self._stopping.set()
        self._hurry()
        for one in self._workers:
            one.settled.set()

    async def _end(self) -> None:
        self._stop()
        for one in self._plan.listeners:
            one.close()
        self._broadcast(STOP, b"1")  # somebody is there who may send a second signal
        for one in self._workers:
            if one.state == "starting":
                one.process.terminate()
        await _all_within(ENDING, [one.ended for one in self._workers])
        for one in self._workers:
            self._plan.say(f"worker {one.process.pid} did not end within {ENDING:g} seconds and was killed", "warning")
            one.process.kill()  # also one that was stopped
        await _all_within(KILLED, [one.ended for one in self._workers])
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._relays.aclose()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._plan.say(f"an error of ours in the parent of the workers: {type(fault).__name__}: {fault}", "error")


async def _all_within(seconds: float | None, events: Iterable[asyncio.Event]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for one in events:
                await one.wait()


def _longer(pause: float) -> float:
    return min(max(pause * 2, FIRST_PAUSE), LONGEST_PAUSE)


def _refuse_few_files(workers: int) -> None:
    least, allowed = FILES + SPARE * workers, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= allowed < least:
        raise ConfigError(
            f"`--workers {workers}` needs {least} open files or more, and the limit is {allowed}. "
            "Raise it, for example with `ulimit -n 1024`"
        )


def _new_loop() -> asyncio.AbstractEventLoop:
    """As the workers' own: lines of MCP servers pass through here."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _ending(code: int | None) -> str:
    """
    >>> _ending(-9), _ending(2), _ending(None)
    ('was ended by SIGKILL', 'ended with exit code 2', 'did not start in time')
    """
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return "did not start in time" if code is None else f"ended with exit code {code}"

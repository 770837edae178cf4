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
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from itertools import count
from math import inf
from time import monotonic
from typing import Any, Final

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.policy.settings import Policy
from rightcall.policy.watch import INTERVAL, PolicyInForce, PolicyWatch
from rightcall.server.app import PATIENCE, has_terminal, is_reload
from rightcall.server.workers.accepting import Board
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


class _Worker:
    """One of them, from its start to its end."""

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place
        self.began = monotonic()
        self.process: subprocess.Popen[bytes] | None = None
        self.frames = Frames(_nothing)
        self.told: dict[str, Any] = {}
        self.is_ready = False
        self.is_leaving = False
        self.settled = asyncio.Event()
        """It is ready, or has ended."""
        self.ended = asyncio.Event()
        self.code: int | None = None


class Parent:
    """Runs in the main thread, until a signal ends it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        place = tempfile.gettempdir()
        self._folder = tempfile.mkdtemp(prefix=FOLDER, dir=place if len(place) < _LONG else "/tmp")  # ours alone
        self._shared = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  for as long as the server runs
        self._places = plan.hello.workers * SPARE + 2
        self._shared.truncate(self._places * 4096)
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
        self._pause = 0.0
        self._renewing = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watching = PolicyWatch(plan.policy, lambda _: None, self._noted)
        self._relays = Relays(os.path.join(self._folder, "servers.sock"))

    def run(self) -> int:
        """Returns the exit code."""
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                return runner.run(self._run())
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
        of one that does not start."""
        first = self._start()
        await self._until_settled([first])
        others = [self._start() for _ in range(self._plan.hello.workers - 1)] if first.is_ready else []
        await self._until_settled(others)
        failed = next((one for one in (first, *others) if not one.is_ready), None)
        if self._stopping.is_set():
            return None
        if failed is not None:
            return failed.code if failed.code and failed.code > 0 else 1
        self._lead()
        self._plan.ready(first.told)
        return None

    async def _until_settled(self, workers: Sequence[_Worker]) -> None:
        waits = [asyncio.ensure_future(one.settled.wait()) for one in workers]
        stopping = asyncio.ensure_future(self._stopping.wait())
        together = asyncio.gather(*waits)
        with suppress(TimeoutError):
            async with asyncio.timeout(STARTING):
                await asyncio.wait([together, stopping], return_when=asyncio.FIRST_COMPLETED)
        together.cancel()
        stopping.cancel()
        await asyncio.gather(together, stopping, return_exceptions=True)

    # ── one worker ───────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self) -> _Worker:
        taken = {one.place for one in self._workers}
        worker = _Worker(f"w{next(self._names)}", next(at for at in range(self._places) if at not in taken))
        self._workers.append(worker)
        ours, theirs = socket.socketpair()
        inherited = [one.fileno() for one in self._plan.listeners]
        console = inherited[1] if len(inherited) > 1 else None
        hello = replace(
            self._plan.hello, name=worker.name, place=worker.place, folder=self._folder, listener=inherited[0],
            board=self._shared.fileno(), places=self._places, bell=self._bell, console=console,
        )  # fmt: skip
        with theirs:
            worker.process = subprocess.Popen(
                self._plan.command, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, CHANNEL: str(theirs.fileno())},
                pass_fds=[theirs.fileno(), hello.board, *hello.bell, *inherited],
            )  # fmt: skip
        threading.Thread(
            target=self._wait, args=(worker, asyncio.get_running_loop()), name="rightcall-worker-exit", daemon=True
        ).start()
        self._spawn(self._connect(worker, ours, hello))
        return worker

    async def _connect(self, worker: _Worker, channel: socket.socket, hello: Hello) -> None:
        worker.frames = Frames(lambda kind, content: self._told(worker, kind, content))
        await asyncio.get_running_loop().create_unix_connection(lambda: worker.frames, sock=channel)
        worker.frames.send(HELLO, json.encode(hello))

    def _wait(self, worker: _Worker, loop: asyncio.AbstractEventLoop) -> None:
        assert worker.process is not None
        worker.code = worker.process.wait()
        with suppress(RuntimeError):  # the parent has ended
            loop.call_soon_threadsafe(self._ended, worker)

    def _told(self, worker: _Worker, kind: bytes, content: bytes) -> None:
        if kind == READY:
            worker.told, worker.is_ready = json.decode(content), True
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
        others = [one for one in self._workers if one.is_ready and one.frames.is_open]
        complete = asyncio.Event()
        self._rounds[number] = {one.name for one in others}, complete
        for one in others:
            one.frames.send(FIGURES, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(ADDING):
                await complete.wait()
        del self._rounds[number]
        worker.frames.send(WHOLE, asked + b"\n" + self._figures.text().encode())

    def _ended(self, worker: _Worker) -> None:
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
        was_ready = worker.is_ready
        worker.is_ready = False
        worker.settled.set()
        worker.ended.set()
        if self._stopping.is_set() or worker.is_leaving:
            return
        self._lead()
        if was_ready:
            self._spawn(self._again(worker))

    async def _again(self, worker: _Worker) -> None:
        """Another in place of one that has died, as soon as that is worth it."""
        lived = monotonic() - worker.began
        self._pause = 0.0 if lived > STEADY else min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        while not self._stopping.is_set():
            when = f"in {self._pause:g} seconds" if self._pause else "now"
            self._plan.say(f"worker {_pid(worker)} {_ending(worker.code)}; another one starts {when}", "warning")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._pause)
            if self._stopping.is_set():
                return
            worker = self._start()
            await self._until_settled([worker])
            if worker.is_ready or self._stopping.is_set():
                self._lead()
                return
            await self._discard(worker)
            self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)

    async def _discard(self, worker: _Worker) -> None:
        """One that does not start."""
        worker.is_leaving = True
        if worker.process is not None and not worker.ended.is_set():
            worker.process.kill()
            await worker.ended.wait()

    def _lead(self) -> None:
        """One of them does what is done once: it answers hooks, and tells of MCP servers."""
        able = [one for one in self._workers if one.is_ready and not one.is_leaving]
        for nth, one in enumerate(able):
            one.frames.send(LEAD, b"1" if nth == 0 else b"0")

    # ── the policy ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _watch(self) -> None:
        """One look for all workers, which then take what the file says."""
        while True:
            await asyncio.sleep(INTERVAL)
            self._watching.look_now()

    def _noted(self, what: str, policy: Policy, problem: str | None) -> None:
        del what, problem
        self._broadcast(POLICY, policy.digest.encode())

    # ── signals ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _signalled(self, number: int, had_terminal: bool) -> None:
        if is_reload(number, had_terminal):
            self._spawn(self._renew())
        elif self._heard is None:
            self._heard, self._heard_at = number, monotonic()
            self._stopping.set()
        elif monotonic() - self._heard_at > PATIENCE.get(number, inf):
            self._broadcast(NOW)

    async def _renew(self) -> None:
        """Take the policy of now, and put new workers in the place of the old ones, one after another: each is ready
        before the other takes no more."""
        self._watching.look_now()
        say, policy = self._plan.say, self._plan.policy
        if self._renewing.locked():
            say("SIGHUP: workers are being replaced already", "warning")
            return
        if policy.problem is not None:
            say("SIGHUP: nothing was restarted, since new workers could not start with this policy file", "warning")
            return
        async with self._renewing:
            old = [one for one in self._workers if one.is_ready and not one.is_leaving]
            for one in old:
                if len(self._workers) >= self._places:
                    say("SIGHUP: too many workers still finish their requests; send it again later", "warning")
                    return
                new = self._start()
                await self._until_settled([new])
                if self._stopping.is_set():
                    return
                if not new.is_ready:
                    await self._discard(new)
                    say(f"SIGHUP: the new worker {_ending(new.code)}; the old ones go on", "error")
                    return
                one.is_leaving = True
                self._lead()
                one.frames.send(RETIRE)
            say(f"SIGHUP: {len(old)} workers were replaced; the old ones finish their requests", "note")

    def _broadcast(self, kind: bytes, content: bytes = b"") -> None:
        for one in self._workers:
            one.frames.send(kind, content)

    async def _end(self) -> None:
        self._stopping.set()
        for one in self._plan.listeners:
            one.close()
        self._broadcast(STOP)
        for one in self._workers:
            if not one.is_ready and one.process is not None:
                one.process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING):
                await asyncio.gather(*(one.ended.wait() for one in self._workers))
        for one in list(self._workers):
            if one.process is not None:
                one.process.kill()  # also one that was stopped
            await one.ended.wait()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._relays.aclose()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """As the workers' own: lines of MCP servers pass through here."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _pid(worker: _Worker) -> str:
    return "?" if worker.process is None else str(worker.process.pid)


def _ending(code: int | None) -> str:
    """
    >>> _ending(-9), _ending(2), _ending(None)
    ('was ended by SIGKILL', 'ended with exit code 2', 'did not start in time')
    """
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return "did not start in time" if code is None else f"ended with exit code {code}"

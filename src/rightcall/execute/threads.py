"""Threads for functions that block, and a way to stop what runs in them.

A few daemon threads, kept for the next job when they are idle, never waited for at exit. A job is stopped by raising
`ToolStopped` inside its thread, which ends Python code wherever it is; code in C notices when it returns. The
exception must never reach the thread's next job, so a thread that was told to stop takes no other.

Who ends a job is settled by a token: whoever takes it, the thread when the work is done or the one who stops it, has
decided. Only after taking it may the exception be raised, and a thread that finds it gone waits until that has
happened. So the exception always arrives inside `Job.perform`.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Literal

MOST = 64
IDLE_SECONDS = 30.0

Tell = Callable[[Any, bool], None]


class ToolStopped(BaseException):
    """Raised inside a tool whose time is up. Not an `Exception`: a tool's own `except Exception` must not keep it."""


class NoThread(Exception):
    """There is no thread for a job, and none to wait for; the message says why."""


class Job:
    """One piece of work. `tell(outcome, kept)` is called in its thread at the end. The outcome is what the work
    returned, or the exception it raised; `kept` is false when it was stopped, whatever there was by then."""

    __slots__ = ("_gate", "_ident", "_tell", "_token", "_work", "over")

    def __init__(self, work: Callable[[], Any], tell: Tell) -> None:
        self._work = work
        self._tell = tell
        self._token = [None]
        self._ident: int | None = None
        self._gate = threading.Lock()  # opened when the exception is on its way
        self._gate.acquire()
        self.over = False

    def _take(self) -> bool:
        """Whoever gets the token decides how the job ends; popping a list is atomic."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True

    @property
    def decided(self) -> bool:
        """Whether it has ended or is being stopped."""
        return not self._token

    def interrupt(self) -> bool:
        """Stop the work, if it has not ended already: false means that its outcome is on its way."""
        if not self._take():
            return False
        try:
            if self._ident is not None:
                _raise_in(self._ident)
        finally:
            self._gate.release()
        return True

    def perform(self) -> tuple[Any, bool]:
        """In its thread: the outcome, and whether it counts."""
        outcome: Any = None
        kept = False
        try:
            self._ident = threading.get_ident()
            if not self.decided:  # stopped before it began
                outcome = self._outcome()
            kept = self._take()
            if not kept:
                self._gate.acquire()
                for _ in range(100):  # an exception that is due is raised at the latest on the way round
                    pass
        except ToolStopped:
            pass
        return outcome, kept

    def _outcome(self) -> Any:
        try:
            return self._work()
        except BaseException as error:  # noqa: BLE001 - also SystemExit: a job never ends its thread
            return error

    def end(self, outcome: Any, kept: bool) -> None:
        with suppress(Exception):  # who asked may be gone by now
            self._tell(outcome, kept)


def _raise_in(ident: int) -> None:
    import ctypes  # late: most programs never stop anything

    api = getattr(ctypes, "pythonapi", None)
    if api is not None:  # other Pythons than CPython have no such door; the job is then given up
        api.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(ToolStopped))


class Threads:
    """At most `most` jobs at once; more wait their turn. All methods may be called from any thread."""

    def __init__(self, most: int = MOST, idle_seconds: float = IDLE_SECONDS) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._forget_everything()

    def _forget_everything(self) -> None:
        self._pid = os.getpid()
        self._count = 0
        self._idle: list[SimpleQueue[Job]] = []
        self._waiting: deque[Job] = deque()
        self._given_up: set[Job] = set()

    def start(self, work: Callable[[], Any], tell: Tell) -> Job:
        """Have the work done, now or when a thread is free. NoThread when every thread is stuck in a job that was
        given up."""
        job = Job(work, tell)
        if self._pid != os.getpid():  # after a fork the threads are the parent's
            self._lock = threading.Lock()
            self._forget_everything()
        with self._lock:
            if self._idle:
                self._idle.pop().put(job)
            elif self._count < self._most:
                self._spawn(job)
            elif len(self._given_up) >= self._most:
                raise NoThread(f"all {self._most} threads are held by earlier calls that were given up and still run")
            else:
                self._waiting.append(job)
        return job

    def stop(self, job: Job) -> Literal["ended", "stopping", "never began"]:
        """Stop a job. `ended`: too late, its outcome is told in a moment. `stopping`: its end is told when it obeys."""
        with self._lock:
            waits = job in self._waiting
            if waits:
                self._waiting.remove(job)
        if not job.interrupt():
            return "ended"
        return "never began" if waits else "stopping"

    def give_up(self, job: Job) -> None:
        """A job that was stopped and goes on nevertheless: its thread is lost until it ends."""
        with self._lock:
            if not job.over:
                self._given_up.add(job)

    def _spawn(self, job: Job) -> None:
        inbox: SimpleQueue[Job] = SimpleQueue()
        inbox.put(job)
        self._count += 1
        try:
            threading.Thread(target=self._work, args=(inbox,), name="rightcall-tool", daemon=True).start()
        except RuntimeError as error:  # the system has no more, or the interpreter is going down
            self._count -= 1
            raise NoThread(f"no thread could be started: {error}") from error

    def _work(self, inbox: "SimpleQueue[Job]") -> None:
        """A thread's life."""
        job = inbox.get()
        while True:
            outcome, kept = job.perform()
            following = self._next(inbox) if kept else None
            job.end(outcome, kept)
            if not kept:
                self._retire(job)
                return
            del job, outcome  # what a job held must not live on while its thread is idle
            job = following or self._wait(inbox)
            del following
            if job is None:
                return

    def _next(self, inbox: "SimpleQueue[Job]") -> Job | None:
        """A job that waits; else the thread counts as idle, already before the end of the last one is told."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._idle.append(inbox)
            return None

    def _wait(self, inbox: "SimpleQueue[Job]") -> Job | None:
        """The next job of an idle thread; None when there was none for long."""
        while True:
            try:
                return inbox.get(timeout=self._idle_seconds)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        self._count -= 1
                        return None
                # somebody has just chosen this thread: the job is on its way

    def _retire(self, job: Job) -> None:
        with self._lock:
            job.over = True
            self._count -= 1
            self._given_up.discard(job)
            if not self._waiting:
                return
            following = self._waiting.popleft()
            try:
                self._spawn(following)
            except NoThread:
                self._waiting.appendleft(following)  # another thread takes it, or its time runs out

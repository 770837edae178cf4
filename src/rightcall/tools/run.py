"""One call of a local function, run: a result or an error value, never an exception, never longer than it may take.

    asynchronous function ─▶ a task of its own ──┐
    any other function ────▶ a thread of ours ───┴─▶ plain data within the cap ─▶ Result

A time limit and a cancellation by the caller do the same: the task is cancelled, or an exception is raised inside the
thread. What does not obey within a moment is given up, and whatever it returns later is dropped. An asynchronous
function that blocks without awaiting blocks the event loop, as anywhere; declare it with a plain `def`.
"""

import asyncio
import inspect
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from time import perf_counter
from types import FunctionType
from typing import Any, Literal, cast

from msgspec import Struct

from rightcall.base.text import fault_text, message_of
from rightcall.catalog.tool import MARK
from rightcall.errors import ToolFailure
from rightcall.policy.types import Result
from rightcall.tools.functions import (
    COMMON,
    Function,
    Gatherer,
    LocalTool,
    Shaped,
    fixed_arguments,
    is_iterator,
    shape_result,
)
from rightcall.tools.state import own_copy

# ── call ──
# A function with the arguments of one call, as a thread or the event loop calls it. A crash is a value already.

_AT_ONCE = 20_000
"""Bytes of output that are made plain on the event loop; more is done in a thread."""


_OURS = frozenset((MARK,))


class Failed(Struct, frozen=True):
    """No result, and why, as the model may read it. `plain`: in words of ours."""

    error: str
    plain: bool = False


class Awaited(Struct, frozen=True):
    """What a plain function returned is to be awaited on the event loop."""

    value: Any


class Large(Struct, frozen=True):
    """What an asynchronous function returned is to be made plain in a thread."""

    value: Any


class _UnfitError(Exception):
    """An argument cannot be given to the function."""


def is_asynchronous(function: Function) -> bool:
    """Whether calling it gives something to await: also an object whose `__call__` is asynchronous."""
    if type(function) is FunctionType and function.__dict__.keys() <= _OURS:  # most: nothing marks it otherwise
        return bool(function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR))
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return True
    if inspect.isroutine(function):
        return False
    called = getattr(type(function), "__call__", None)  # noqa: B004 - not whether there is one, but which
    return inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


def called_in_thread(tool: LocalTool, arguments: Mapping[str, Any], output: int) -> Shaped | Failed | Awaited:
    """Call it and make the result plain."""
    try:
        value = _called(tool, arguments)
        if type(value) not in COMMON and (inspect.isawaitable(value) or isinstance(value, AsyncIterator)):
            return Awaited(value)
        return shape_result(value, output)
    except BaseException as error:  # noqa: BLE001 - a crash of a tool is a value, SystemExit too
        return _failed(error)


async def called_on_loop(tool: LocalTool, arguments: Mapping[str, Any], output: int) -> Shaped | Failed | Large:
    """Call it and await what it gives."""
    try:
        return await _awaited(_called(tool, arguments), output)
    except BaseException as error:  # noqa: BLE001 - as above; who cancels knows it without being told
        return _failed(error)


async def awaited_on_loop(found: Awaited, output: int) -> Shaped | Failed | Large:
    """Await what a call in a thread gave."""
    try:
        return await _awaited(found.value, output)
    except BaseException as error:  # noqa: BLE001 - as above
        return _failed(error)


def shaped_in_thread(found: Large, output: int) -> Shaped | Failed:
    try:
        return shape_result(found.value, output)
    except BaseException as error:  # noqa: BLE001 - an iterator may raise anything
        return _failed(error)


def discard(outcome: object) -> None:
    """An outcome that nobody wants any more: a coroutine that never began would complain."""
    value = outcome.value if isinstance(outcome, Awaited) else None
    if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()


def _called(tool: LocalTool, arguments: Mapping[str, Any]) -> Any:
    given, function = own_copy(arguments), tool.function
    if type(function) is not FunctionType:  # a partial has set some
        for name in fixed_arguments(function).intersection(given):
            raise _UnfitError(f"`{name}` is set by the program and cannot be given")
    if tool.convert is not None:
        given, misfits = tool.convert(given)
        if misfits:
            raise _UnfitError("; ".join(f"`{misfit.name}`: {misfit.reason}" for misfit in misfits))
    return function(**given)


def _failed(error: BaseException) -> Failed:
    if isinstance(error, ToolFailure):
        return Failed(message_of(error), plain=error.plain)
    return Failed(str(error) if isinstance(error, _UnfitError) else fault_text(error))


async def _awaited(value: Any, output: int) -> Shaped | Large:
    if inspect.isawaitable(value):
        value = await value
    if type(value) not in COMMON:
        if isinstance(value, AsyncIterator):
            return await _drained(cast("AsyncIterator[Any]", value), output)
        if is_iterator(value):
            return Large(value)  # it may block, or never end
    at_once = shape_result(value, min(output, _AT_ONCE))
    return at_once if at_once.cut is None or output <= _AT_ONCE else Large(value)


async def _drained(items: AsyncIterator[Any], output: int) -> Shaped:
    """The items of an asynchronous iterator, no more of them than the cap allows."""
    gatherer = Gatherer(output)
    found: list[Any] = []
    try:
        async for item in items:
            found.append(gatherer.plain(item, 1))
            if gatherer.full:
                break
            if len(found) % 100 == 0:
                await asyncio.sleep(0)  # one that never waits must not hold up everybody else
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
    return gatherer.shaped(found)


# ── threads ──
# Threads for functions that block, and a way to stop what runs in them.
#
# A few daemon threads, kept for the next job when they are idle, never waited for at exit. A job is stopped by raising
# `ToolStopped` inside its thread, which ends Python code wherever it is; code in C notices when it returns. The
# exception must never reach the thread's next job, so a thread that was told to stop takes no other.
#
# Who ends a job is settled by a token: whoever takes it, the thread when the work is done or the one who stops it, has
# decided. Only after taking it may the exception be raised, and a thread that finds it gone waits until that has
# happened. So the exception always arrives inside `Job.perform`.

MOST = 64
IDLE_SECONDS = 30.0
QUICK = 0.0002
"""Seconds within which the end of a short job is simply waited for: to be woken by it takes the event loop as long."""

Tell = Callable[[Any, bool], None]


class ToolStopped(BaseException):
    """Raised inside a tool whose time is up. Not an `Exception`: a tool's own `except Exception` must not keep it."""


class NoThread(Exception):
    """There is no thread for a job, and none to wait for; the message says why."""


def _take(token: list[None]) -> bool:
    """Whether it was still there: of several threads one gets it, since popping a list is atomic."""
    try:
        token.pop()
    except IndexError:
        return False
    return True


class Job:
    """One piece of work. `tell(outcome, kept)` is called in its thread at the end. The outcome is what the work
    returned, or the exception it raised; `kept` is false when it was stopped, whatever there was by then."""

    __slots__ = ("_gate", "_ident", "_tell", "_token", "_work", "over")

    def __init__(self, work: Callable[[], Any], tell: Tell) -> None:
        self._work = work
        self._tell = tell
        self._token = [None]
        """Whoever takes it decides how the job ends."""
        self._ident: int | None = None
        self._gate = threading.Lock()  # opened when the exception is on its way
        self._gate.acquire()
        self.over = False

    @property
    def decided(self) -> bool:
        """Whether it has ended or is being stopped."""
        return not self._token

    def interrupt(self) -> bool:
        """Stop the work, if it has not ended already: false means that its outcome is on its way."""
        if not _take(self._token):
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
            kept = _take(self._token)
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
        self.are_quick = False
        """Whether the last job was over sooner than it takes an event loop to wait for it."""
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
            began = perf_counter()
            outcome, kept = job.perform()
            self.are_quick = perf_counter() - began < QUICK
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


# ── waiting ──
# Waiting on the event loop for work in a thread or a task, until it ends, its time is up or the caller cancels.

GRACE = 0.5
"""Seconds that work has to end once it was told to."""

_given_up: set[asyncio.Task[None]] = set()
"""The event loop itself holds its tasks only weakly."""


class Stopped(Struct, frozen=True):
    """The time was up. `obeyed`: nothing of it runs any more; `began`: it ever ran."""

    obeyed: bool
    began: bool = True


class _End:
    """The end of some work, as the event loop sees it. Waiting for it changes nothing about the work."""

    __slots__ = ("_future", "_loop", "_met", "_token", "outcome", "reached")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] | None = None
        self._met = threading.Lock()
        self._met.acquire()
        self._token = [None]
        """Whoever takes it says which way the end is told: at once, or by the event loop."""
        self.reached = False
        self.outcome: Any = None

    def told(self, outcome: Any, kept: bool) -> None:
        """From the thread that did the work."""
        if not kept:
            discard(outcome)
        outcome = outcome if kept else None
        if _take(self._token):
            self.reached, self.outcome = True, outcome
            self._met.release()
        else:
            self._loop.call_soon_threadsafe(self.reach, outcome)

    def is_met(self, seconds: float) -> bool:
        """Whether it is reached by then, for which the whole event loop waits; to be asked once."""
        if not self._met.acquire(timeout=seconds):
            if _take(self._token):
                return False
            self._met.acquire()  # it is being told right now
        return True

    def reach(self, outcome: Any) -> None:
        self.reached, self.outcome = True, outcome
        if self._future is not None:
            _wake(self._future)

    async def until(self, deadline: float) -> bool:
        """Whether it is reached by then."""
        if not self.reached:
            future = self._future = self._loop.create_future()
            timer = self._loop.call_at(deadline, _wake, future)
            try:
                await future
            finally:
                timer.cancel()
        return self.reached

    async def within(self, seconds: float) -> bool:
        return await self.until(self._loop.time() + seconds)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def in_thread(threads: Threads, work: Callable[[], Any], deadline: float, context: Context) -> Any:
    """What the work returns, or `Stopped`."""
    end = _End()
    try:
        job = threads.start(partial(context.run, work), end.told)
    except NoThread as error:
        return Failed(f"The tool was not started: {error}.")
    if end.is_met(QUICK if threads.are_quick else 0.0):
        return end.outcome
    try:
        if await end.until(deadline):
            return end.outcome
    except asyncio.CancelledError:
        discard(await _stop_job(threads, job, end))
        raise
    return await _stop_job(threads, job, end)


async def _stop_job(threads: Threads, job: Job, end: _End) -> Any:
    answer = threads.stop(job)
    if answer == "never began":
        return Stopped(obeyed=True, began=False)
    if answer == "ended":
        await end.within(3_600.0)  # the thread is about to tell
        return end.outcome
    if await end.within(GRACE):
        return Stopped(obeyed=True)
    threads.give_up(job)
    return Stopped(obeyed=False)


async def in_task(work: Callable[[], Awaitable[Any]], deadline: float, context: Context) -> Any:
    """What the work, which raises nothing, comes to; or `Stopped`."""
    end = _End()

    async def worked() -> None:
        end.reach(await work())  # not in a callback of the task, which would cost a turn of the loop

    task = asyncio.get_running_loop().create_task(worked(), context=context)
    try:
        if await end.until(deadline):
            return end.outcome
    except asyncio.CancelledError:
        await _stop_task(task, end)
        raise
    return await _stop_task(task, end)


async def _stop_task(task: "asyncio.Task[None]", end: _End) -> Stopped:
    task.add_done_callback(end.reach)  # cancelled before its first step, it does not get there by itself
    task.cancel()
    if await end.within(GRACE):
        return Stopped(obeyed=True)
    _given_up.add(task)
    task.add_done_callback(_given_up.discard)
    return Stopped(obeyed=False)


_shared = Threads()
"""Threads belong to the process, as memory does: all executors of a program use the same few."""


QUEUED = 0.05
"""Seconds between admission and start beyond which a call has waited for a thread."""

WhyNot = Callable[[], str | None]
"""Asked in the thread of a call that had to wait for one: why it must not start any more."""


async def run(
    tool: LocalTool, arguments: Mapping[str, Any], *, seconds: float, output: int, threads: Threads | None = None,
    why_not: WhyNot | None = None,
) -> Result:  # fmt: skip
    """Run a tool with arguments that were checked, for at most `seconds` (or the tool's own time-out, where that is
    shorter) and at most `output` bytes of result. Raises nothing but the caller's own CancelledError."""
    began = perf_counter()
    limit = seconds if tool.timeout is None else min(seconds, tool.timeout)
    outcome = await _outcome(tool, arguments, limit, output, threads or _shared, why_not)
    return _result(outcome, limit, perf_counter() - began)


async def _outcome(
    tool: LocalTool, arguments: Mapping[str, Any], limit: float, output: int, threads: Threads, why_not: WhyNot | None
) -> Any:
    deadline = asyncio.get_running_loop().time() + limit
    context = copy_context()
    if is_asynchronous(tool.function):
        outcome = await in_task(partial(called_on_loop, tool, arguments, output), deadline, context)
    else:
        work = partial(called_in_thread, tool, arguments, output)
        if why_not is not None:
            work = partial(_unless_stopped, work, why_not, perf_counter())
        outcome = await in_thread(threads, work, deadline, context)
    if isinstance(outcome, Awaited):
        outcome = await in_task(partial(awaited_on_loop, outcome, output), deadline, context)
    if isinstance(outcome, Large):
        outcome = await in_thread(threads, partial(shaped_in_thread, outcome, output), deadline, context)
    return outcome


def _unless_stopped(work: Callable[[], Any], why_not: WhyNot, admitted: float) -> Any:
    if perf_counter() - admitted >= QUEUED and (why := why_not()) is not None:
        return Failed(why, plain=True)
    return work()


def _result(outcome: Any, limit: float, seconds: float) -> Result:
    if isinstance(outcome, Shaped):
        return Result(ok=True, value=outcome.value, seconds=seconds, cut=outcome.cut)
    plain = isinstance(outcome, Failed) and outcome.plain
    return Result(ok=False, error=_error(outcome, limit), seconds=seconds, plain=plain)


def _error(outcome: Any, limit: float) -> str:
    if isinstance(outcome, Failed):
        return outcome.error
    if not isinstance(outcome, Stopped):
        return "The tool ended without a result."
    if not outcome.began:
        return f"The tool did not start within {limit:g} s: too many other calls are running."
    end = "was stopped." if outcome.obeyed else "was given up; it may still be running."
    return f"The tool took longer than {limit:g} s and {end}"

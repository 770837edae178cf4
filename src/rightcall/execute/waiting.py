"""Waiting on the event loop for work in a thread or a task, until it ends, its time is up or the caller cancels."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from functools import partial
from typing import Any

from msgspec import Struct

from rightcall.execute.call import Failed, discard
from rightcall.execute.threads import Job, NoThread, Threads

GRACE = 0.5
"""Seconds that work has to end once it was told to."""
_LONG = 3_600.0

_given_up: set[asyncio.Task[None]] = set()
"""The event loop itself holds its tasks only weakly."""


class Stopped(Struct, frozen=True):
    """The time was up. `obeyed`: nothing of it runs any more; `began`: it ever ran."""

    obeyed: bool
    began: bool = True


class _End:
    """The end of some work, as the event loop sees it. Waiting for it changes nothing about the work."""

    __slots__ = ("_future", "_loop", "outcome", "reached")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] | None = None
        self.reached = False
        self.outcome: Any = None

    def told(self, outcome: Any, kept: bool) -> None:
        """From the thread that did the work."""
        if not kept:
            discard(outcome)
        self._loop.call_soon_threadsafe(self.reach, outcome if kept else None)

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
        await end.within(_LONG)  # the thread is about to tell
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

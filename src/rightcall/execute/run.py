"""One call of a local function, run: a result or an error value, never an exception, never longer than it may take.

    asynchronous function ─▶ a task of its own ──┐
    any other function ────▶ a thread of ours ───┴─▶ plain data within the cap ─▶ Result

A time limit and a cancellation by the caller do the same: the task is cancelled, or an exception is raised inside the
thread. What does not obey within a moment is given up, and whatever it returns later is dropped. An asynchronous
function that blocks without awaiting blocks the event loop, as anywhere; declare it with a plain `def`.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import Any

from rightcall.execute.call import (
    Awaited,
    Failed,
    Large,
    awaited_on_loop,
    called_in_thread,
    called_on_loop,
    is_asynchronous,
    shaped_in_thread,
)
from rightcall.execute.functions import LocalTool
from rightcall.execute.plain import Shaped
from rightcall.execute.threads import Threads
from rightcall.execute.waiting import Stopped, in_task, in_thread
from rightcall.types_running import Result

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

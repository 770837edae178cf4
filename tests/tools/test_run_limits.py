"""Time limits and cancellation: what runs too long really ends, or is given up."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import pytest

from rightcall.tools import run as waiting
from rightcall.tools.functions import local_tool, tool
from rightcall.tools.run import Job, Threads, run
from support.tool_runs import arun, result_of

SHORT = 0.03
STOPPED = "The tool took longer than 0.03 s and was stopped."
GIVEN_UP = "The tool took longer than 0.03 s and was given up; it may still be running."


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a thread may take its time to obey; nobody waits longer than that takes."""
    monkeypatch.setattr(waiting, "GRACE", 20.0)


@pytest.fixture
def impatient(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what never obeys."""
    monkeypatch.setattr(waiting, "GRACE", 0.01)


class Spinner:
    """A tool that is busy in Python, and knows whether it still is."""

    def __init__(self) -> None:
        self.turns = 0
        self.began = threading.Event()
        self.ended = threading.Event()

    def spin(self) -> None:
        self.began.set()
        try:
            while True:
                self.turns += 1
        finally:
            self.ended.set()

    async def wait(self) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


@pytest.mark.promise("X-03")
def test_a_busy_python_loop_really_ends_when_its_time_is_up() -> None:
    spinner = Spinner()
    result = result_of(spinner.spin, seconds=SHORT)
    assert (result.ok, result.error) == (False, STOPPED)
    assert spinner.ended.is_set()
    assert result.seconds >= SHORT


@pytest.mark.promise("X-03")
def test_an_asynchronous_tool_is_cancelled_and_cleans_up() -> None:
    spinner = Spinner()
    result = result_of(spinner.wait, seconds=SHORT)
    assert (result.ok, result.error) == (False, STOPPED)
    assert spinner.ended.is_set()


@pytest.mark.promise("X-03")
@pytest.mark.usefixtures("impatient")
def test_what_does_not_obey_is_given_up_and_its_late_result_dropped() -> None:
    release, answers = threading.Event(), threading.Event()

    def stuck() -> str:
        release.wait()  # inside C, where no exception arrives
        answers.set()
        return "late"

    async def calls() -> None:
        threads = Threads()
        result = await arun(stuck, seconds=SHORT, threads=threads)
        assert (result.ok, result.error) == (False, GIVEN_UP)
        assert (await arun(fine, threads=threads)).value == "fine"
        release.set()
        assert (await arun(fine, threads=threads)).value == "fine"

    asyncio.run(calls())
    assert not answers.is_set(), "the exception was waiting for it"


def fine() -> str:
    return "fine"


@pytest.mark.promise("X-03")
@pytest.mark.usefixtures("impatient")
def test_a_task_that_will_not_be_cancelled_is_given_up() -> None:
    async def stubborn() -> str:
        while not done.is_set():
            try:
                await done.wait()
            except asyncio.CancelledError:
                refused.append(1)
        return "late"

    refused: list[int] = []
    done: Any = None

    async def calls() -> None:
        nonlocal done
        done = asyncio.Event()
        result = await arun(stubborn, seconds=SHORT)
        assert (result.ok, result.error) == (False, GIVEN_UP)
        assert refused == [1]
        done.set()
        assert (await arun(fine)).ok

    asyncio.run(calls())


@pytest.mark.promise("X-03")
def test_a_tool_that_catches_exceptions_is_stopped_nevertheless() -> None:
    def careful() -> None:
        while True:
            try:
                sum(range(100))
            except Exception:  # noqa: BLE001 - as many tools are written
                continue

    assert result_of(careful, seconds=SHORT).error == STOPPED


def test_what_a_stopped_tool_returns_nevertheless_is_dropped() -> None:
    async def inner() -> None:
        raise AssertionError

    def stubborn() -> Any:
        try:
            while True:
                pass
        except BaseException:  # noqa: BLE001 - what no tool should do
            return inner()  # nobody awaits it, and nobody is warned of it

    assert result_of(stubborn, seconds=SHORT).error == STOPPED


@pytest.mark.promise("X-03")
def test_iterators_without_an_end_stop_at_the_time_limit() -> None:
    def slow() -> Iterator[str]:
        for _ in count():
            if False:
                yield ""

    async def slow_async() -> AsyncIterator[str]:
        while True:
            await asyncio.sleep(0)
            if False:
                yield ""

    async def gives_slow() -> Any:
        return slow()

    async def never_waits() -> AsyncIterator[int]:
        for number in count():
            yield number

    for function in (slow, slow_async, gives_slow, never_waits):
        assert result_of(function, seconds=SHORT, output=10**12).error == STOPPED


def test_the_time_a_coroutine_takes_counts_on_from_the_function_that_gave_it() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    def promised() -> Any:
        return wait()

    assert result_of(promised, seconds=SHORT).error == STOPPED


@pytest.mark.promise("X-03")
def test_the_shorter_of_both_limits_holds() -> None:
    spinner = Spinner()
    slow = local_tool(tool(timeout=SHORT)(spinner.wait))
    assert asyncio.run(run(slow, {}, seconds=20, output=100)).error == STOPPED
    longer = local_tool(tool(timeout=20)(spinner.wait))
    assert asyncio.run(run(longer, {}, seconds=SHORT, output=100)).error == STOPPED


def test_an_error_says_the_limit_as_people_write_it() -> None:
    from rightcall.tools.run import Stopped, _error

    assert _error(Stopped(obeyed=True), 30.0) == "The tool took longer than 30 s and was stopped."
    assert _error(Stopped(obeyed=True), 1.5) == "The tool took longer than 1.5 s and was stopped."


async def begun(spinner: Spinner) -> None:
    while not spinner.began.is_set():
        await asyncio.sleep(0)


@pytest.mark.promise("X-03")
@pytest.mark.parametrize("kind", ["spin", "wait"])
def test_cancelling_the_caller_ends_the_tool_and_is_passed_on(kind: str) -> None:
    spinner = Spinner()

    async def calls() -> None:
        task = asyncio.create_task(arun(getattr(spinner, kind)))
        await begun(spinner)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert spinner.ended.is_set()
        assert (await arun(fine)).value == "fine"

    asyncio.run(calls())


@pytest.mark.parametrize("kind", ["spin", "wait", "promised"])
def test_cancelling_before_the_tool_began_leaves_nothing_behind(kind: str) -> None:
    spinner = Spinner()
    async_ran: list[int] = []

    async def inner() -> None:
        async_ran.append(1)
        await asyncio.Event().wait()

    def promised() -> Any:
        return inner()

    async def calls() -> None:
        for turns in range(6):
            function = promised if kind == "promised" else getattr(spinner, kind)
            task = asyncio.create_task(arun(function))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(calls())


def test_a_timeout_around_the_call_works_as_anywhere() -> None:
    spinner = Spinner()

    async def calls() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT):
                await arun(spinner.spin)

    asyncio.run(calls())
    assert spinner.ended.is_set()


def test_a_call_waits_for_a_free_thread_no_longer_than_it_may() -> None:
    release = threading.Event()

    def hold() -> str:
        release.wait()
        return "held"

    async def calls() -> None:
        threads = Threads(most=1)
        first = asyncio.create_task(arun(hold, threads=threads))
        await asyncio.sleep(0)
        waiting = await arun(fine, seconds=SHORT, threads=threads)
        assert waiting.error == "The tool did not start within 0.03 s: too many other calls are running."
        queued = asyncio.create_task(arun(fine, threads=threads))
        await asyncio.sleep(0)
        release.set()
        assert (await first).value == "held"
        assert (await queued).value == "fine"

    asyncio.run(calls())


@pytest.mark.promise("X-03")
@pytest.mark.usefixtures("impatient")
def test_when_every_thread_is_lost_an_error_says_so_and_it_works_again_when_they_are_back() -> None:
    release = threading.Event()

    def stuck() -> None:
        release.wait()

    async def calls() -> None:
        threads = Threads(most=2)
        for _ in range(2):
            assert (await arun(stuck, seconds=SHORT, threads=threads)).error == GIVEN_UP
        lost = await arun(fine, threads=threads)
        assert lost.error == (
            "The tool was not started: all 2 threads are held by earlier calls that were given up and still run."
        )
        release.set()
        while not (again := await arun(fine, threads=threads)).ok:
            await asyncio.sleep(0)
        assert again.value == "fine"

    asyncio.run(calls())


@pytest.mark.usefixtures("impatient")
def test_a_loop_that_is_closed_before_a_tool_ends_harms_nobody() -> None:
    release, went_on = threading.Event(), threading.Event()

    def stuck() -> None:
        try:
            release.wait()
        finally:
            went_on.set()

    assert result_of(stuck, seconds=SHORT).error == GIVEN_UP
    release.set()
    assert went_on.wait(60)
    assert result_of(fine).value == "fine"


def test_the_clock_of_a_result_is_monotonic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert result_of(fine).seconds > 0


class Slow(Threads):
    """Comes to stop a job only when it has just ended by itself."""

    def __init__(self, release: threading.Event) -> None:
        super().__init__()
        self._release = release

    def stop(self, job: Job) -> Any:
        self._release.set()
        while not job.decided:
            pass
        return super().stop(job)


@pytest.mark.parametrize("how", ["late", "cancelled"])
def test_a_tool_that_ends_at_the_last_moment_has_ended(how: str) -> None:
    release = threading.Event()

    async def inner() -> str:
        return "done"

    def work(asynchronous: bool) -> Any:
        release.wait()
        return inner() if asynchronous else "done"

    async def calls() -> None:
        threads = Slow(release)
        if how == "late":
            assert (await arun(work, {"asynchronous": False}, SHORT, threads=threads)).value == "done"
            return
        task = asyncio.create_task(arun(work, {"asynchronous": True}, threads=threads))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(calls())


def test_a_system_without_threads_is_an_error_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = Threads()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuses)
        error = result_of(fine, threads=threads).error
    assert error == "The tool was not started: no thread could be started: can't start new thread."
    assert result_of(fine, threads=threads).value == "fine"


def test_declaring_tools_needs_no_event_loop() -> None:
    code = "import sys, rightcall.tools.functions, rightcall.tools.diff; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"

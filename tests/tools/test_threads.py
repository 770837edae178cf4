"""The threads behind plain functions: reused, bounded, and never hit by another job's end."""

import os
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from rightcall.tools import run as threads_module
from rightcall.tools.run import NoThread, Threads, ToolStopped


class Ends:
    """Where jobs tell their end."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Any, bool]] = SimpleQueue()

    def tell(self, outcome: Any, kept: bool) -> None:
        self._queue.put((outcome, kept))

    def next(self) -> tuple[Any, bool]:
        return self._queue.get(timeout=60)


def test_an_idle_thread_is_used_again() -> None:
    threads, ends = Threads(), Ends()
    idents: set[int] = set()
    for _ in range(20):
        threads.start(threading.get_ident, ends.tell)
        ident, kept = ends.next()
        assert kept
        idents.add(ident)
    assert len(idents) == 1


def test_threads_are_daemons_and_end_when_nobody_needs_them() -> None:
    threads, ends = Threads(idle_seconds=0.01), Ends()
    threads.start(threading.current_thread, ends.tell)
    thread, _ = ends.next()
    assert thread.daemon
    thread.join(60)
    assert not thread.is_alive()
    threads.start(lambda: "again", ends.tell)
    assert ends.next() == ("again", True)


def test_more_jobs_than_threads_wait_their_turn() -> None:
    threads, ends = Threads(most=2), Ends()
    busy = 0
    most = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        with lock:
            busy -= 1

    for _ in range(100):
        threads.start(work, ends.tell)
    assert [ends.next() for _ in range(100)] == [(None, True)] * 100
    assert most <= 2


def test_what_a_job_raises_is_its_outcome_and_never_ends_the_thread() -> None:
    threads, ends = Threads(), Ends()
    for error in (ValueError("x"), SystemExit(), ToolStopped()):

        def work(error: BaseException = error) -> None:
            raise error

        threads.start(work, ends.tell)
        assert ends.next() == (error, True)


def test_a_listener_that_fails_does_not_end_the_thread() -> None:
    threads, ends = Threads(most=1), Ends()

    def fails(outcome: Any, kept: bool) -> None:
        raise RuntimeError("the loop is closed")

    threads.start(lambda: None, fails)
    threads.start(lambda: 1, ends.tell)
    assert ends.next() == (1, True)


def test_what_a_job_held_is_released_when_it_has_ended() -> None:
    class Big:
        pass

    threads, ends = Threads(), Ends()
    big = Big()
    held = weakref.ref(big)
    threads.start(lambda big=big: None, ends.tell)
    ends.next()
    del big
    never = threading.Event()
    for _ in range(5_000):  # the thread is on its way to being idle
        if held() is None:
            return
        never.wait(0.001)
    pytest.fail("an idle thread still holds its last job")


def spin() -> None:
    while True:
        pass


@pytest.mark.promise("X-03")
def test_a_stopped_job_ends_and_its_thread_takes_no_other() -> None:
    threads, ends, began = Threads(), Ends(), threading.Event()
    stopped: list[threading.Thread] = []

    def work() -> None:
        stopped.append(threading.current_thread())
        began.set()
        spin()

    job = threads.start(work, ends.tell)
    assert began.wait(60)
    assert threads.stop(job) == "stopping"
    _, kept = ends.next()
    assert not kept
    threads.start(threading.current_thread, ends.tell)
    thread, kept = ends.next()
    assert kept
    assert thread is not stopped[0]
    stopped[0].join(60)
    assert not stopped[0].is_alive()


@pytest.mark.promise("X-03")
def test_a_thread_does_not_go_on_before_the_exception_meant_for_it_was_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it could hit whatever the thread, or another of the same number, does next."""
    threads, told, release = Threads(), threading.Event(), threading.Event()
    told_before: list[bool] = []
    raise_in = threads_module._raise_in

    def late(ident: int) -> None:
        release.set()  # the work ends by itself, just now
        told_before.append(told.wait(0.05))
        raise_in(ident)

    monkeypatch.setattr(threads_module, "_raise_in", late)
    began = threading.Event()

    def work() -> None:
        began.set()
        release.wait()

    job = threads.start(work, lambda outcome, kept: told.set())
    assert began.wait(60)
    assert threads.stop(job) == "stopping"
    assert told.wait(60)
    assert told_before == [False]


def test_a_job_that_has_ended_cannot_be_stopped_any_more() -> None:
    threads, ends = Threads(), Ends()
    job = threads.start(lambda: 1, ends.tell)
    assert ends.next() == (1, True)
    assert threads.stop(job) == "ended"
    assert threads.stop(job) == "ended"


def test_a_job_that_never_began_never_begins() -> None:
    threads, ends, release = Threads(most=1), Ends(), threading.Event()
    ran: list[int] = []
    threads.start(release.wait, ends.tell)
    job = threads.start(lambda: ran.append(1), ends.tell)
    assert threads.stop(job) == "never began"
    release.set()
    assert ends.next() == (True, True)
    threads.start(lambda: 2, ends.tell)
    assert ends.next() == (2, True)
    assert ran == []


@pytest.fixture
def hasty() -> Iterator[None]:
    """Python changes threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.promise("X-03")
@pytest.mark.usefixtures("hasty")
def test_the_end_of_one_job_never_hits_another_however_close_they_are() -> None:
    """Jobs of a few microseconds, stopped at any moment of their life: before, within, after."""
    threads, ends, chance = Threads(most=3), Ends(), random.Random(1)
    kinds: set[str] = set()
    for number in range(1_000):
        turns = chance.randrange(3_000)
        job = threads.start(lambda turns=turns: sum(range(turns)), ends.tell)
        for _ in range(chance.randrange(3_000)):
            pass
        answer = threads.stop(job)
        kinds.add(answer)
        outcome, kept = ends.next()
        assert kept is (answer == "ended")
        if kept:
            assert outcome == sum(range(turns))
        bystander = threads.start(lambda number=number: number, ends.tell)
        assert ends.next() == (number, True), bystander
    assert kinds == {"ended", "stopping"}


def test_given_up_threads_count_until_they_end() -> None:
    threads, ends, release = Threads(most=1), Ends(), threading.Event()
    job = threads.start(release.wait, ends.tell)
    assert threads.stop(job) == "stopping"
    threads.give_up(job)
    with pytest.raises(NoThread, match="all 1 threads"):
        threads.start(lambda: 1, ends.tell)
    release.set()
    ends.next()
    while True:  # the thread has told its end and is about to go
        try:
            threads.start(lambda: 1, ends.tell)
            break
        except NoThread:
            continue
    assert ends.next() == (1, True)
    threads.give_up(job)  # too late: nothing is lost for good
    release.clear()
    threads.start(release.wait, ends.tell)
    threads.start(lambda: 2, ends.tell)
    release.set()
    assert [ends.next(), ends.next()] == [(True, True), (2, True)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_the_child_has_threads_of_its_own() -> None:
    code = """
import os, queue, sys, warnings
warnings.simplefilter("ignore")
from rightcall.tools.run import Threads
threads, ends = Threads(), queue.SimpleQueue()
def call():
    threads.start(lambda: 1, lambda outcome, kept: ends.put(outcome))
    return ends.get(timeout=60)
assert call() == 1
child = os.fork()
if child == 0:
    os._exit(0 if call() == 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@pytest.mark.promise("X-03")
def test_a_program_ends_although_a_tool_is_stuck() -> None:
    code = """
import asyncio, threading
from rightcall.tools.functions import local_tool
from rightcall.tools.run import run
def stuck(): threading.Event().wait()
print(asyncio.run(run(local_tool(stuck), {}, seconds=0.01, output=100)).error)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("The tool took longer than 0.01 s and was ")  # stopped, where it had not begun yet
    assert done.stderr == ""

"""The synchronous twin: from many threads, closed in the middle, in a forked child; it never hangs."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, StoreError

pytestmark = pytest.mark.promise("X-01", "A-04")


def test_a_closed_one_refuses_and_closing_twice_is_nothing() -> None:
    executor = Executor.open_sync(store="memory")
    executor.close()
    executor.close()
    with pytest.raises(StoreError, match="was closed"):
        executor.run({"name": "add"})


def test_closing_ends_what_runs_and_nobody_waits_for_ever() -> None:
    began, ends = threading.Barrier(5), list[Any]()
    executor = Executor.open_sync(store="memory")

    @executor.tool(effects=["read"])
    async def forever(n: int) -> None:
        import asyncio

        await asyncio.to_thread(began.wait)
        await asyncio.Event().wait()

    def call(n: int) -> None:
        try:
            ends.append(executor.run({"name": "forever", "arguments": {"n": n}}))
        except StoreError as error:
            ends.append(error.fault)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    began.wait()
    executor.close()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert ends == ["closed"] * 4


def test_where_no_thread_can_be_started_the_call_fails_and_the_next_one_does_not_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Full(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    executor = Executor.open_sync(store="memory")

    @executor.tool(effects=["read"])
    def add(a: int) -> int:
        return a

    with monkeypatch.context() as full:
        full.setattr(threading, "Thread", Full)
        with pytest.raises(RuntimeError, match="can't start"):
            executor.run({"name": "add", "arguments": {"a": 1}})
    assert executor._loop is None  # else the next call, and closing, would wait for one that never runs
    assert executor.run({"name": "add", "arguments": {"a": 1}}).ok
    executor.close()


FORKED = """
import os, sys, signal
from rightcall import Executor, StoreError

executor = Executor.open_sync(sys.argv[1])

@executor.tool(effects=["read"])
def one() -> int:
    return 1

assert executor.run({"name": "one"}).result == 1
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        executor.run({"name": "one"})
        os._exit(1)
    except StoreError as error:
        executor.close()
        os._exit(0 if error.fault == "closed" else 2)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert executor.run({"name": "one"}).ok
executor.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_approved_calls_run_as_they_were_approved(tmp_path: Path) -> None:
    ran: list[str] = []
    with Executor.open_sync(tmp_path, {"policy": {"allow": ["*"], "write": "ask"}}, store="memory") as executor:

        @executor.tool(effects=["write"])
        def send(to: str) -> str:
            ran.append(to)
            return "sent"

        asked = executor.run({"name": "send", "arguments": {"to": "Ann"}}, context="talk")
        (waiting,) = executor.waiting()
        assert not asked.ok
        assert executor.run_approved([waiting.id], context="talk") == ran == []
        executor.answer(waiting.id, "approved", by="somebody", digest=waiting.digest)
        assert executor.run_approved([waiting.id], context="another") == []
        done = executor.run_approved([waiting.id], context="talk")
        assert ([one.ok for one in done], ran) == ([True], ["Ann"])
        assert executor.run_approved([waiting.id], context="talk") == []

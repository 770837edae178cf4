"""A server that is stopped while calls of MCP tools run: they are answered, and what is cut off is told as it was."""

import http.client
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from rightcall.mcp.serving import STOPPED
from support.cli import Runner
from support.proxies import Got
from support.workers import Server, serving_with, with_server

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="workers are found through /proc"),
    pytest.mark.xdist_group("workers"),
    pytest.mark.long,
    pytest.mark.promise("H-03", "H-52"),
]


@contextmanager
def serving(folder: Path, workers: int) -> Iterator[Server]:
    """With a tool that says into a pipe that it was called, and answers with what it reads from another."""
    for name in ("waiting", "going"):
        os.mkfifo(folder / name)
    policy = folder / with_server(folder)
    policy.write_text(policy.read_text() + 'wait = ["read"]\n')
    try:
        with serving_with(folder, workers, "--policy", str(policy), "--quiet") as server:
            yield server
    finally:
        with suppress(OSError):  # a tool that still reads there ends, too
            os.close(os.open(folder / "going", os.O_WRONLY | os.O_NONBLOCK))


def called(work: ThreadPoolExecutor, folder: Path, server: Server, workers: int, era: str) -> "Future[Got]":
    """A call that runs; of the old era, where there are two workers, through the one that does not have its session."""
    connections = list(server.at_each(workers).values())
    if era == "new":
        call = work.submit(connections[0].call_alone, "tools_wait", {})
    else:
        call = work.submit(connections[-1].call, "tools_wait", {}, connections[0].initialize())
    assert (folder / "waiting").read_text() == "wait"
    return call


def refuses(server: Server) -> bool:
    try:
        server.connect()
    except (OSError, http.client.HTTPException):
        return True
    return False


def recorded(folder: Path, run: Runner) -> list[Any]:
    calls = run("audit", "tail", "--json", "--policy", str(folder / "rightcall.toml")).lines
    return [(one["status"], one.get("error")) for one in calls]


@pytest.mark.parametrize(
    ("workers", "era", "number"),
    [(1, "old", signal.SIGTERM), (1, "new", signal.SIGINT), (2, "old", signal.SIGTERM), (2, "new", signal.SIGTERM)],
)
def test_a_stop_lets_a_call_have_its_answer_and_ends_the_streams_that_only_listen(
    tmp_path: Path, run: Runner, workers: int, era: str, number: int
) -> None:
    with serving(tmp_path, workers) as server, ThreadPoolExecutor(1) as work:
        listener = server.connect()
        standing = listener.listen(listener.initialize())
        call = called(work, tmp_path, server, workers, era)
        server.process.send_signal(number)
        standing.read()  # which ends although the call still runs
        server.until(lambda: refuses(server))
        assert not call.done()
        (tmp_path / "going").write_text("here it is")
        got = call.result(30)
        assert (got.status, "here it is" in got.body.decode()) == (200, True)
        assert server.process.wait(30) == 128 + number
    assert recorded(tmp_path, run) == [("success", None)]


@pytest.mark.parametrize(("workers", "era"), [(1, "new"), (2, "old")])
def test_what_a_stop_cuts_off_is_not_recorded_as_cancelled_by_its_client(
    tmp_path: Path, run: Runner, workers: int, era: str
) -> None:
    with serving(tmp_path, workers) as server, ThreadPoolExecutor(1) as work:
        call = called(work, tmp_path, server, workers, era)
        server.process.send_signal(signal.SIGINT)
        server.until(lambda: refuses(server))
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 130
        assert call.exception(30) is not None or call.result().status >= 500
    assert recorded(tmp_path, run) == [("failed", STOPPED)]

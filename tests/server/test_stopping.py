"""A server that is told twice to end, while an answer is under way: its client gets an error of its own API, and one of
the gateway the error of JSON-RPC that belongs to its request."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from msgspec import json

from support.every import sampled
from support.proxies import CHAT, MESSAGES, OLLAMA, RESPONSES, Got, post, request_for
from support.scripted.server import Answer, NativeCall, ScriptedUpstream, Stalls, Text
from support.workers import HELLO, Server, serving_with, with_server

pytestmark = [
    pytest.mark.promise("H-03", "H-04"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]


@contextmanager
def proxy(folder: Path, upstream: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "rightcall", "proxy", "--upstream", upstream, "--no-auth", "--port", "0", "--json"]
    with subprocess.Popen(
        [*command, "--root", str(folder), "--no-console"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.decode(process.stdout.readline())["address"]
        finally:
            process.kill()


MOMENTS = (CHAT, 0), (CHAT, 3), (RESPONSES, 4), (MESSAGES, 0), (OLLAMA, 1)


@pytest.mark.parametrize("moment", sampled(product((signal.SIGINT, signal.SIGTERM), MOMENTS), 6))
def test_a_second_signal_ends_at_once_and_the_client_is_told(
    tmp_path: Path, moment: tuple[signal.Signals, tuple[str, int]]
) -> None:
    again, (path, after) = moment
    answer = Answer([Text("Let me see what there is. "), NativeCall("weather", {"city": "Bern"})])
    with ScriptedUpstream([Stalls(answer, after=after)]) as upstream, proxy(tmp_path, upstream.address) as (one, where):
        got: list[Got] = []
        asking = threading.Thread(target=lambda: got.append(post(where, path, request_for(path, True))))
        asking.start()
        upstream.wait_for_stall()
        one.send_signal(again)
        assert one.stderr is not None
        while "finishing 1 request" not in one.stderr.readline():
            pass
        if again is signal.SIGTERM:
            sleep(1.1)  # sooner it may be the same end, told twice
        one.send_signal(again)
        asking.join(10)
        assert one.wait(10) == 128 + again
        assert b"RightCall was stopped" in got[0].body
        assert (got[0].status, got[0].headers["content-type"]) in {
            (503, "application/json"),
            (200, got[0].headers["content-type"]),
        }
        assert "Traceback" not in one.stderr.read()


@contextmanager
def gateway(folder: Path, workers: int) -> Iterator[Server]:
    """One whose tool says that it was called, and never answers."""
    os.mkfifo(folder / "waiting")
    policy = with_server(folder)
    with (folder / policy).open("a") as file:
        file.write('wait = ["read"]\n')
    with serving_with(folder, workers, "--policy", policy, "--no-console") as server:
        yield server


def stop_at_once(server: Server, folder: Path, after: float = 0.0) -> None:
    """Ctrl-C, and once more when it waits for what runs, so many seconds later."""
    server.process.send_signal(signal.SIGINT)
    server.until(lambda: "finishing 1 request" in (folder / "stderr").read_text())
    sleep(after)
    server.process.send_signal(signal.SIGINT)


def told(error: Any) -> tuple[int, int, str, str]:
    return error["id"], error["error"]["code"], error["error"]["data"]["code"], error["error"]["message"][:21]


IS_STOPPED = 1, -32603, "stopped", "RightCall was stopped"


@pytest.mark.parametrize("way", sampled(product((1, 2), ("old", "new")), 3))
def test_a_call_of_the_gateway_that_is_cut_off_is_answered(tmp_path: Path, way: tuple[int, str]) -> None:
    workers, era = way
    with gateway(tmp_path, workers) as server:
        one = server.connect()
        call = partial(one.call, session=one.initialize()) if era == "old" else one.call_alone
        got: list[Got] = []
        asking = threading.Thread(target=lambda: got.append(call("tools_wait", {})))
        asking.start()
        (tmp_path / "waiting").read_text()
        stop_at_once(server, tmp_path, after=2.2)  # so that the parent has looked at its workers
        asking.join(10)
        assert server.process.wait(10) == 128 + signal.SIGINT
        assert (got[0].status, got[0].headers["content-type"]) == (503, "application/json")
        assert told(got[0].json) == IS_STOPPED
        log = (tmp_path / "stderr").read_text()
        assert "Traceback" not in log
        assert "has done nothing" not in log


def test_a_stream_of_the_gateway_that_is_cut_off_ends_with_the_error(tmp_path: Path) -> None:
    with gateway(tmp_path, 1) as server:
        one = server.connect()
        hello = HELLO | {"protocolVersion": "2025-11-25"}  # since when a stream is open from the first moment
        session = one.mcp("initialize", hello).headers["mcp-session-id"]
        one.mcp("notifications/initialized", mcp_session_id=session)
        got: list[Got] = []
        call = partial(one.call, "tools_wait", {}, session)
        asking = threading.Thread(target=lambda: got.append(call()))
        asking.start()
        (tmp_path / "waiting").read_text()
        stop_at_once(server, tmp_path)
        asking.join(10)
        assert server.process.wait(10) == 128 + signal.SIGINT
        assert (got[0].status, got[0].headers["content-type"]) == (200, "text/event-stream")
        last = got[0].body.decode().rstrip().rpartition("data: ")[2]
        assert told(json.decode(last)) == IS_STOPPED

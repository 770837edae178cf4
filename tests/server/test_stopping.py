"""A server that is told twice to end, while an answer is under way: its client gets an error of its own API."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest
from msgspec import json

from support.proxies import CHAT, MESSAGES, OLLAMA, RESPONSES, Got, post, request_for
from support.scripted.server import Answer, NativeCall, ScriptedUpstream, Stalls, Text

pytestmark = [
    pytest.mark.promise("H-03"),
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


@pytest.mark.parametrize(("path", "after"), [(CHAT, 0), (CHAT, 3), (RESPONSES, 4), (MESSAGES, 0), (OLLAMA, 1)])
@pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_and_the_client_is_told(
    tmp_path: Path, path: str, after: int, again: signal.Signals
) -> None:
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

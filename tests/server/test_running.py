"""Starting and stopping: nothing that runs is lost, and the reason for not starting helps."""

import errno
import gc
import http.client
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

import pytest
from starlette.types import Receive, Scope, Send

from rightcall.base.http.answers import ServeLimits
from rightcall.errors import ConfigError
from rightcall.server.access import Access
from rightcall.server.app import Entrance, Span, bind, build_app, running, serve, unbound
from rightcall.server.health import Health
from rightcall.server.recording import Metrics
from support import stopping_app

POST = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


@contextmanager
def started(grace: float = 20.0) -> Generator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, stopping_app.__file__, str(grace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process, int(output(process).readline())
        finally:
            process.kill()


def output(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


@contextmanager
def stream(port: int) -> Generator[socket.socket]:
    """A request whose body, and answer, are half there."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(POST + b"5\r\nfirst\r\n")
        read_until(client, b"first")
        yield client


def read_until(client: socket.socket, end: bytes) -> bytes:
    got = b""
    while end not in got:
        piece = client.recv(65_536)
        assert piece, got
        got += piece
    return got


def wait_until_closed(port: int) -> None:
    """Until nothing new is accepted."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
        except ConnectionError:
            return
    pytest.fail("the server went on accepting")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_lets_a_running_stream_finish_and_closes_everything(number: int, code: int) -> None:
    with started() as (process, port), stream(port) as client:
        process.send_signal(number)
        wait_until_closed(port)
        client.sendall(b"6\r\nsecond\r\n0\r\n\r\n")
        assert b"second" in read_until(client, b"0\r\n\r\n")
        assert output(process).read() == "finishing 1\nclosed\n"
        assert process.wait(60) == code
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_second_ctrl_c_ends_at_once() -> None:
    with started(grace=1_000) as (process, port), stream(port):
        process.send_signal(signal.SIGINT)
        wait_until_closed(port)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_what_does_not_finish_in_the_grace_time_is_ended() -> None:
    with started(grace=0.1) as (process, port), stream(port):
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert output(process).read() == "finishing 1\nclosed\n"


def test_a_port_in_use_is_told_with_what_to_do() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(ConfigError, match=r"--port.*in use.*--port 0"):
        serve(nothing, address=("127.0.0.1", taken.getsockname()[1]))


def test_a_client_that_does_not_read_its_answer_is_left_when_the_grace_time_is_over() -> None:
    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        while True:
            await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})

    app = build_app(Entrance(Access(None, bound_to="127.0.0.1")), Metrics(), Health({}), proxy=endless)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with running(app, limits=ServeLimits(grace_seconds=0.1)) as address:
            client = socket.create_connection(address, timeout=60)
            client.sendall(f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{address[1]}\r\n\r\n".encode())
            read_until(client, b"\r\n\r\n")
        gc.collect()
    client.close()
    assert [str(one.message) for one in told] == []


@pytest.mark.parametrize("port", [-1, 65_536, 70_000])
def test_a_number_that_is_no_port_is_told(port: int) -> None:
    with pytest.raises(ConfigError, match=f"--port: {port} is not a port"):
        serve(nothing, address=("127.0.0.1", port))


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (
            OSError(errno.EADDRNOTAVAIL, "Cannot assign"),
            "--host: 1.2.3.4 is not an address of this machine (Cannot assign)",
        ),
        (socket.gaierror(socket.EAI_NONAME, "Name unknown"), "--host: 1.2.3.4 is not an address"),
        (PermissionError(errno.EACCES, "denied"), "--port: 80 needs special rights; choose one above 1023"),
    ],
)
def test_an_address_that_cannot_be_used_is_told_with_its_option(why: OSError, words: str) -> None:
    assert words in unbound("1.2.3.4", 80, why)


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    pytest.fail("nothing is to be asked here")


def test_what_the_application_has_open_is_closed_in_the_end_the_last_first() -> None:
    closed: list[str] = []

    async def first() -> None:
        closed.append("first")

    async def second() -> None:
        closed.append("second")

    access = Access(None, bound_to="127.0.0.1")
    app = build_app(Entrance(access), Metrics(), Health({"upstream": "h"}), span=Span(closing=[first, second]))
    with running(app) as address:
        connection = http.client.HTTPConnection(*address, timeout=60)
        connection.request("GET", "/health")
        assert b'"upstream":"h"' in connection.getresponse().read()
        connection.close()
        assert closed == []
    assert closed == ["second", "first"]
    with pytest.raises(ConnectionError):
        socket.create_connection(address, timeout=60)


def test_an_application_that_cannot_start_is_told() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    with pytest.raises(ConfigError, match="did not start"), running(broken):
        pytest.fail("it has not started")

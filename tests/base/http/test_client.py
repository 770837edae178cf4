"""Our client for the model's server, against one that is scripted byte by byte."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop

from rightcall.base.http.answers import HttpError
from rightcall.base.http.client import HttpLimits
from rightcall.server.addresses import Upstream
from support.every import every
from support.raw_server import CLOSE, RESET, Script, Scripted, answer, chunked, scripted

KEY = b"sk-secret-0123456789"
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]  # the one on Windows, the other elsewhere
HEADERS = [(b"authorization", b"Bearer " + KEY)]


@asynccontextmanager
async def asking(*scripts: Script, **limits: float) -> AsyncGenerator[tuple[Upstream, Scripted]]:
    async with scripted(*scripts) as server:
        upstream = Upstream(server.url, HttpLimits(**limits))  # type: ignore[arg-type]
        try:
            yield upstream, server
        finally:
            await upstream.aclose()


async def whole(upstream: Upstream, method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
    incoming = await upstream.send(method, "/v1/models", HEADERS, body)
    try:
        return incoming.status, await incoming.read_all()
    finally:
        incoming.release()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await test()

    for loop in LOOPS:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(limited())


def failure(script: bytes, **limits: float) -> HttpError:
    """How asking an upstream with this answer fails."""

    async def ask() -> HttpError:
        async with asyncio.timeout(60), asking([script], **limits) as (upstream, _):
            with pytest.raises(HttpError) as raised:
                await whole(upstream)
            return raised.value

    with asyncio.Runner(loop_factory=LOOPS[-1]) as runner:
        return runner.run(ask())


@pytest.mark.promise("H-03")
@every(
    ("bytes_sent", "status", "body"),
    [
        (answer(b"hello"), 200, b"hello"),
        (answer(b""), 200, b""),
        (chunked(b"hel", b"lo"), 200, b"hello"),
        (chunked(b"hello", end=b"0\r\nx-checksum: 1\r\n\r\n"), 200, b"hello"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello" + CLOSE, 200, b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello" + CLOSE, 200, b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + answer(b"hello"), 200, b"hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", 304, b""),
        (answer(b"<html>Bad Gateway</html>", b"content-type: text/html", status=b"502 Bad Gateway"), 502, None),
    ],
)
def test_every_way_of_ending_an_answer_is_understood(bytes_sent: bytes, status: int, body: bytes | None) -> None:
    async def test() -> None:
        async with asking([bytes_sent]) as (upstream, _):
            assert await whole(upstream) == (status, body if body is not None else b"<html>Bad Gateway</html>")

    run(test)


def test_the_request_arrives_as_it_was_given() -> None:
    async def test() -> None:
        async with asking([answer(b"{}")]) as (upstream, server):
            incoming = await upstream.send("POST", "/v1/a%2Fb?x=%20y", [*HEADERS, (b"x-a", b"\xe9")], b'{"a":1}')
            assert await incoming.read_all() == b"{}"
            incoming.release()
            host = server.url.removeprefix("http://").encode()
            assert server.requests == [
                b"POST /v1/a%2Fb?x=%20y HTTP/1.1\r\nhost: " + host + b"\r\nauthorization: Bearer " + KEY
                + b'\r\nx-a: \xe9\r\ncontent-length: 7\r\n\r\n{"a":1}'
            ]  # fmt: skip

    run(test)


def test_status_reason_and_headers_are_those_of_the_answer() -> None:
    async def test() -> None:
        async with asking([answer(b"no", b"X-One: 1", b"set-cookie: a", b"set-cookie: b", status=b"418 Teapot")]) as (
            upstream,
            _,
        ):
            incoming = await upstream.send("GET", "/", [])
            assert (incoming.status, incoming.reason) == (418, b"Teapot")
            assert incoming.headers == [
                (b"content-length", b"2"),
                (b"x-one", b"1"),
                (b"set-cookie", b"a"),
                (b"set-cookie", b"b"),
            ]
            incoming.release()

    run(test)


def test_a_head_request_has_no_body_and_leaves_its_connection_usable() -> None:
    async def test() -> None:
        async with asking([b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n", answer(b"x")]) as (upstream, server):
            assert await whole(upstream, "HEAD") == (200, b"")
            assert await whole(upstream) == (200, b"x")
            assert server.connections == 1

    run(test)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_what_has_no_body_announces_none(status: bytes) -> None:
    async def test() -> None:
        head = b"HTTP/1.1 " + status + b"\r\ncontent-length: 120\r\netag: x\r\n\r\n"
        async with asking([head, answer(b"next")]) as (upstream, server):
            incoming = await upstream.send("GET", "/v1/models", HEADERS)
            assert (incoming.headers, incoming.announced, await incoming.read()) == ([(b"etag", b"x")], None, b"")
            incoming.release()
            assert await whole(upstream) == (200, b"next")
            assert server.connections == 1

    run(test)


def test_one_connection_serves_many_requests() -> None:
    async def test() -> None:
        async with asking([answer(b"1"), chunked(b"2"), answer(b"3")]) as (upstream, server):
            assert [await whole(upstream) for _ in range(3)] == [(200, b"1"), (200, b"2"), (200, b"3")]
            assert server.connections == 1

    run(test)


@pytest.mark.parametrize("bytes_sent", [answer(b"1", b"connection: close"), answer(b"1") + b"and more"])
def test_a_connection_that_ends_or_says_too_much_is_not_used_again(bytes_sent: bytes) -> None:
    async def test() -> None:
        async with asking([bytes_sent], [answer(b"2")]) as (upstream, server):
            assert await whole(upstream) == (200, b"1")
            assert await whole(upstream) == (200, b"2")
            assert server.connections == 2

    run(test)


@every("end", [CLOSE, RESET])
@every("method", ["GET", "POST"])
def test_an_idle_connection_that_turns_out_closed_is_replaced_unnoticed(end: bytes, method: str) -> None:
    async def test() -> None:
        async with asking([answer(b"1"), end], [answer(b"2")]) as (upstream, server):
            assert await whole(upstream) == (200, b"1")
            assert await whole(upstream, method, b"{}" if method == "POST" else b"") == (200, b"2")
            assert (server.connections, len(server.requests)) == (2, 3)

    run(test)


def test_a_request_on_a_new_connection_is_never_sent_twice() -> None:
    async def test() -> None:
        async with asking([CLOSE], [answer(b"2")]) as (upstream, server):
            with pytest.raises(HttpError) as raised:
                await whole(upstream, "POST", b"{}")
            assert raised.value.kind == "broken"
            assert len(server.requests) == 1

    run(test)


def test_a_request_is_sent_a_second_time_but_not_a_third() -> None:
    async def test() -> None:
        async with asking([answer(b"1"), CLOSE], [CLOSE]) as (upstream, server):
            await whole(upstream)
            with pytest.raises(HttpError):
                await whole(upstream, "POST", b"{}")
            assert len(server.requests) == 3

    run(test)


def test_a_request_is_not_sent_again_once_a_byte_of_the_answer_has_come() -> None:
    async def test() -> None:
        async with asking([answer(b"1"), b"HTTP/1.1 2" + CLOSE], [answer(b"2")]) as (upstream, server):
            await whole(upstream)
            with pytest.raises(HttpError):
                await whole(upstream, "POST", b"{}")
            assert len(server.requests) == 2

    run(test)


@pytest.mark.promise("H-03")
@every(
    ("bytes_sent", "kind", "words"),
    [
        (CLOSE, "broken", "gave no answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-le" + CLOSE, "broken", "in the middle of an answer's head"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf" + CLOSE, "broken", "in the middle of its answer"),
        (chunked(b"one", end=b"ff\r\nhalf" + CLOSE), "broken", "in the middle of its answer"),
        (chunked(b"one", end=b"" + CLOSE), "broken", "in the middle of its answer"),
        (chunked(b"one", end=b"zz\r\n"), "broken", "not as its head says"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "broken", "did not answer in HTTP"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "broken", "did not answer in HTTP"),
        (b"<html>not HTTP</html>", "broken", "did not answer in HTTP"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "broken", "another protocol"),
        (answer(b"{}", status=b"600 Odd"), "broken", "with the status 600"),
        (answer(b"{}", status=b"999 Denied"), "broken", "with the status 999"),
        (answer(b"{}", status=b"099 Early"), "broken", "with the status 99"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"{}", status=b"700 Odd"), "broken", "with the status 700"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "broken", "transfer encoding"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, "too_large", "headers of more than 64,000 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 12_000, "too_large", "headers of more than 64,000 bytes"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 5_000, "too_large", "headers of more than 64,000 bytes"),
        (chunked(b"one", end=b"0\r\n" + b"x: y\r\n" * 12_000), "too_large", "headers of more than 64,000 bytes"),
    ],
)
def test_a_broken_answer_is_told_as_what_it_is(bytes_sent: bytes, kind: str, words: str) -> None:
    error = failure(bytes_sent)
    assert error.kind == kind
    assert words in str(error)
    assert "127.0.0.1 " in str(error)
    assert KEY.decode() not in str(error)


@every(
    ("bytes_sent", "phase"),
    [
        (b"", "first byte"),
        (b"HTTP/1.1 200 OK\r\nx: y", "first byte"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", "between pieces"),
        (chunked(b"one", end=b""), "between pieces"),
        (b"HTTP/1.1 200 OK\r\n\r\nhalf of what ends with the connection", "between pieces"),
    ],
)
def test_an_upstream_that_stalls_is_given_up(bytes_sent: bytes, phase: str) -> None:
    error = failure(bytes_sent, **{"first_byte_seconds" if phase == "first byte" else "between_seconds": 0.05})
    assert (error.kind, error.phase) == ("timeout", phase)
    assert "0.05 s" in str(error)


def test_a_request_that_was_not_answered_in_time_is_not_sent_again() -> None:
    async def test() -> None:
        async with asking([answer(b"1"), b""], [answer(b"2")], first_byte_seconds=1.0) as (upstream, server):
            await whole(upstream)
            with pytest.raises(HttpError) as raised:
                await whole(upstream)
            assert (raised.value.kind, len(server.requests)) == ("timeout", 2)

    run(test)


@pytest.mark.parametrize(("end", "given"), [(b"ff\r\nha" + CLOSE, b"oneha"), (b"no chunk\r\n", b"one")])
def test_what_came_before_a_failure_is_given_first(end: bytes, given: bytes) -> None:
    async def test() -> None:
        async with asking([chunked(b"one", end=end)]) as (upstream, _):
            incoming = await upstream.send("GET", "/", [])
            assert await incoming.read() == given
            with pytest.raises(HttpError):
                await incoming.read()
            incoming.release()

    run(test)


def test_an_answer_announced_too_long_is_refused_before_it_comes() -> None:
    async def test() -> None:
        async with asking([b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\nx"]) as (upstream, server):
            incoming = await upstream.send("GET", "/", [])
            with pytest.raises(HttpError) as raised:
                await incoming.read_all()
            assert raised.value.kind == "too_large"
            incoming.release()
            await server.hung_up.wait()

    run(test)


def test_an_answer_without_end_is_refused_at_the_limit() -> None:
    assert failure(chunked(*[b"x" * 1000] * 20), body_bytes=10_000).kind == "too_large"


def test_a_caller_who_reads_slowly_makes_the_upstream_wait() -> None:
    async def test() -> None:
        size = 30_000_000
        async with asking([answer(b"x" * size)], waiting_bytes=100_000) as (upstream, _):
            incoming = await upstream.send("GET", "/", [])
            for _ in range(200):
                await asyncio.sleep(0)
            first = await incoming.read()
            assert len(first) < size / 2
            total = len(first)
            while piece := await incoming.read():
                assert len(piece) < size / 2
                total += len(piece)
            assert total == size
            incoming.release()

    run(test)


def test_an_answer_given_back_half_read_hangs_up() -> None:
    async def test() -> None:
        async with asking([chunked(b"one", end=b"")]) as (upstream, server):
            incoming = await upstream.send("GET", "/", [])
            assert await incoming.read() == b"one"
            incoming.release()
            incoming.release()
            await server.hung_up.wait()

    run(test)


def test_a_cancelled_request_hangs_up() -> None:
    async def test() -> None:
        async with asking([b""]) as (upstream, server):
            asked = asyncio.ensure_future(upstream.send("GET", "/", []))
            while not server.requests:
                await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await server.hung_up.wait()

    run(test)


def test_an_idle_connection_is_closed_after_a_while() -> None:
    async def test() -> None:
        async with asking([answer(b"1")], idle_seconds=0.02) as (upstream, server):
            await whole(upstream)
            assert await asyncio.wait_for(server.hung_up.wait(), 5)
            assert len(server.requests) == 1

    run(test)


def test_nobody_at_the_address_is_unreachable() -> None:
    async def test() -> None:
        async with scripted([b""]) as server:
            url = server.url
        upstream = Upstream(url)
        with pytest.raises(HttpError, match=r"cannot be reached.*check that the upstream is running") as raised:
            await whole(upstream)
        assert raised.value.kind == "unreachable"
        await upstream.aclose()

    run(test)

"""Clients that are slow, endless or rude, byte by byte over real sockets: refused, and nobody else notices."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest
import uvicorn
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from rightcall.base.http.answers import ServeLimits
from rightcall.server.app import running
from rightcall.server.protocol import protocol_for
from rightcall.server.recording import Metrics
from support.every import every
from support.pace import process_time

SMALL = ServeLimits(
    head_seconds=100.0,
    head_bytes=4_000,
    headers=20,
    body_bytes=50_000,
    body_stall_seconds=100.0,
    drain_seconds=100.0,
    drain_bytes=500_000,
    reader_stall_seconds=100.0,
)
HASTY = replace(SMALL, head_seconds=0.3, body_stall_seconds=0.3, reader_stall_seconds=0.3)
"""Where the time is what counts: nothing that must succeed is asked of this one, a busy machine may be slow."""
Address = tuple[str, int]
heard: Counter[str] = Counter()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the length of the body; `/endless` with a stream that never ends, `/early` before the body."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    path, size = scope["path"], 0
    if path == "/endless":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await nothing_or(receive))["type"] != "http.disconnect":
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        heard["disconnect"] += 1
        return
    while path != "/early":
        message = await receive()
        if message["type"] == "http.disconnect":
            heard["disconnect"] += 1
            return
        size += len(message["body"])
        if not message["more_body"]:
            break
    body = f"{path} {size} {len(scope['headers'])}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def nothing_or(receive: Receive) -> dict[str, str]:
    """What has come, without waiting for it."""
    task = asyncio.ensure_future(receive())
    await asyncio.sleep(0)
    if task.done():
        return dict(task.result())
    task.cancel()
    return {"type": "nothing"}


async def lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return


@pytest.fixture(scope="module")
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture(scope="module")
def address(metrics: Metrics) -> Iterator[Address]:
    with running(application, limits=SMALL, metrics=metrics) as bound:
        yield bound


@pytest.fixture(scope="module")
def hasty(metrics: Metrics) -> Iterator[Address]:
    with running(application, limits=HASTY, metrics=metrics) as bound:
        yield bound


@contextmanager
def connected(address: Address) -> Generator[socket.socket]:
    with socket.create_connection(address, timeout=60) as client:
        yield client


def read_to_end(client: socket.socket) -> bytes:
    pieces: list[bytes] = []
    try:
        while piece := client.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pieces.append(b"<reset>")
    return b"".join(pieces)


def answer_to(address: Address, sent: bytes) -> bytes:
    """Everything that comes back until the server ends the connection."""
    with connected(address) as client:
        client.sendall(sent)
        return read_to_end(client)


def refusals(metrics: Metrics) -> dict[str, int]:
    lines = [line for line in metrics.text().splitlines() if line.startswith("rightcall_refusals")]
    return {line.split('"')[1]: int(line.split()[-1]) for line in lines}


GET = b"GET /ok HTTP/1.1\r\nhost: x\r\n"


def ask(address: Address) -> None:
    assert answer_to(address, GET + b"connection: close\r\n\r\n").endswith(b"/ok 0 2")


@pytest.mark.promise("H-03")
@every(
    ("sent", "status", "code"),
    [
        (b"", b"408 Request Timeout", "slow_head"),
        (b"GET / HT", b"408 Request Timeout", "slow_head"),
        (GET + b"x: y", b"408 Request Timeout", "slow_head"),
        (b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nhal", b"408 Request Timeout", "slow_body"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", b"408 Request Timeout", "slow_body"),
        (GET + b"x: " + b"y" * 5_000, b"431 Request Header Fields Too Large", "large_head"),
        (GET + b"x: " + b"y" * 5_000 + b"\r\n\r\n", b"431 Request Header Fields Too Large", "large_head"),
        (b"GET /" + b"y" * 5_000, b"431 Request Header Fields Too Large", "large_head"),
        (GET + b"x: y\r\n" * 20 + b"\r\n", b"431 Request Header Fields Too Large", "large_head"),
        (b"POST / HTTP/1.1\r\ncontent-length: 1000000000\r\n\r\n", b"413 ", "large_body"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n" + b"x" * 65_535, b"413 ", "large_body"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;" + b"x" * 1_000_000, b"400 ", "bad_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400 Bad Request", "bad_request"),
        (b"NONSENSE\r\n\r\n", b"400 Bad Request", "bad_request"),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"400 Bad Request", "bad_request"),
        (
            b"POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            b"400 Bad Request",
            "bad_request",
        ),
    ],
)
def test_what_is_too_slow_too_large_or_no_http_is_answered_and_ended(
    address: Address, hasty: Address, metrics: Metrics, sent: bytes, status: bytes, code: str
) -> None:
    before = refusals(metrics).get(code, 0)
    answer = answer_to(hasty if code.startswith("slow") else address, sent)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1") == 1
    assert f'"code":"{code}"'.encode() in answer
    assert refusals(metrics)[code] == before + 1
    ask(address)


def test_a_refused_client_that_goes_on_sending_still_reads_why(address: Address) -> None:
    with connected(address) as client:
        client.sendall(b"POST / HTTP/1.1\r\ncontent-length: 400000\r\n\r\n")
        for _ in range(8):
            client.sendall(b"x" * 50_000)
        assert b'"code":"large_body"' in client.recv(65_536)


def test_who_sends_a_body_that_is_too_large_to_its_end_reads_why_it_was_refused() -> None:
    """As asyncio's clients do: where the connection breaks before, they throw away what had come."""
    size = ServeLimits().body_bytes * 5 // 4
    with running(application) as bound, connected(bound) as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 1_000_000):
            client.sendall(b"x" * 1_000_000)
        assert read_to_end(client).startswith(b"HTTP/1.1 413")


def test_a_body_in_chunks_of_a_byte_arrives_whole(address: Address) -> None:
    head = b"POST / HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    assert answer_to(address, head + b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n").endswith(b"/ 40000 2")


def test_whoever_goes_on_sending_for_ever_is_cut_off(address: Address) -> None:
    with connected(address) as client:
        client.sendall(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012  the first or a later piece
            for _ in range(10_000):
                client.sendall(b"1000\r\n" + b"x" * 4_096 + b"\r\n")


def test_a_body_that_stops_coming_tells_the_application(hasty: Address) -> None:
    before = heard["disconnect"]
    answer_to(hasty, b"POST /wait HTTP/1.1\r\ncontent-length: 9\r\n\r\nhal")
    answer_to(hasty, b"")  # by then the application has been told
    assert heard["disconnect"] == before + 1


def test_a_client_that_does_not_read_is_cut_off(address: Address, hasty: Address, metrics: Metrics) -> None:
    with connected(hasty) as client:
        client.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
        deadline = time.monotonic() + 60
        while not refusals(metrics).get("slow_reader"):
            assert time.monotonic() < deadline
            ask(address)


@pytest.mark.parametrize(
    "sent",
    [
        (GET + b"\r\n") * 3,
        b"POST /ok HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n" + (GET + b"\r\n") * 2,
    ],
)
def test_requests_sent_ahead_are_answered_in_turn(address: Address, sent: bytes) -> None:
    with connected(address) as client:
        client.sendall(sent + b"GET /last HTTP/1.1\r\nconnection: close\r\n\r\n")
        got = read_to_end(client)
    assert got.count(b"HTTP/1.1 200 OK") == 4
    assert got.endswith(b"/last 0 1")


def test_a_connection_is_used_again(address: Address) -> None:
    with connected(address) as client:
        for _ in range(3):
            client.sendall(b"POST /ok HTTP/1.1\r\nhost: x\r\ncontent-length: 40000\r\n\r\n" + b"x" * 40_000)
            assert client.recv(65_536).endswith(b"/ok 40000 2")


def test_each_request_of_a_connection_has_its_own_time(hasty: Address) -> None:
    with connected(hasty) as client:
        client.sendall(GET + b"\r\n" + GET)
        assert b'"code":"slow_head"' in read_to_end(client)


def test_an_answer_before_the_body_leaves_the_rest_bounded(hasty: Address) -> None:
    with connected(hasty) as client:
        client.sendall(b"POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhal")
        assert client.recv(65_536).endswith(b"/early 0 2")
        assert read_to_end(client) in (b"", b"<reset>")  # ended for want of the rest, and not answered twice


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n"


def test_an_offer_of_another_protocol_is_an_ordinary_request(address: Address) -> None:
    with connected(address) as client:
        client.sendall(b"POST /ok HTTP/1.1\r\nhost: x\r\n" + OFFER + b"content-length: 5\r\n\r\nhello")
        assert client.recv(65_536).endswith(b"/ok 5 4")


class Pieces(asyncio.Transport):
    """The other end of a connection, where what arrives together is in the test's hand."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = b""
        self.writes = 0
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self.writes += 1

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


def answers_to(pieces: Sequence[bytes]) -> list[bytes]:
    """The bodies of the answers to what arrives in exactly these pieces."""

    told = said_to(pieces).written.split(b"HTTP/1.1 ")[1:]
    return [answer.rpartition(b"\r\n\r\n")[2] for answer in told]


def said_to(pieces: Sequence[bytes], app: ASGIApp = application) -> Pieces:
    async def talk() -> Pieces:
        kind, _ = protocol_for(SMALL)
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
        state, transport = ServerState(), Pieces()
        protocol = kind(config, state, {})
        protocol.connection_made(transport)
        for piece in pieces:
            protocol.data_received(piece)
        while state.tasks:
            await asyncio.gather(*state.tasks)
        protocol.connection_lost(None)
        return transport

    return asyncio.run(talk())


def test_an_answer_of_known_length_leaves_in_one_piece_and_a_stream_begins_at_once() -> None:
    async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await send({"type": "http.response.body"})

    whole, stream = said_to([GET + b"\r\n"]), said_to([GET + b"\r\n"], streaming)
    assert whole.writes == 1
    assert whole.written.startswith(b"HTTP/1.1 200 OK\r\n")
    assert stream.writes == 3
    assert stream.written.endswith(b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")


@pytest.mark.parametrize("header", [(b"x-a", b"1\r\nx-b: 2"), (b"x-a: 1\r\nx-b", b"2"), (b"X A", b"1")])
def test_no_header_of_an_answer_becomes_two(header: tuple[bytes, bytes]) -> None:
    async def splitting(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0"), header]})
        await send({"type": "http.response.body"})

    assert b"x-b" not in said_to([GET + b"\r\n"], splitting).written.lower()


SMUGGLED = b"GET /smuggled/now HTTP/1.1\r\nhost: x\r\nUpgrade: y\r\n\r\n"
OFFERS = {
    "with a length": b"POST /a HTTP/1.1\r\nhost: x\r\n" + OFFER + b"content-length: 51\r\n\r\n" + SMUGGLED,
    "in chunks": b"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
    + OFFER + b"\r\n33\r\n" + SMUGGLED + b"\r\n0\r\n\r\n",
    "after empty lines": b"\r\n\r\nPOST /a HTTP/1.1\r\n"
    + OFFER + b"content-length:51\r\nhost: x\r\n\r\n" + SMUGGLED,
}  # fmt: skip


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_no_body_behind_an_offer_becomes_a_request_however_it_arrives(offer: bytes) -> None:
    assert len(SMUGGLED) == 0x33 == 51
    sent = offer + GET + OFFER + b"\r\n" + offer.lstrip() + GET + b"\r\n"
    expected = [b"/a 51 4", b"/ok 0 3", b"/a 51 4", b"/ok 0 1"]
    assert answers_to([sent]) == expected
    assert answers_to([sent[at : at + 1] for at in range(len(sent))]) == expected
    for cut in range(1, len(sent), 3):
        assert answers_to([sent[:cut], sent[cut:]]) == expected


@pytest.mark.promise("H-03")
@every(
    ("line", "status", "words"),
    [
        (b"CONNECT h:443 HTTP/1.1", b"501 Not Implemented", b"no such method"),
        (b"CONNECT /v1 HTTP/1.1", b"501 Not Implemented", b"no such method"),
        (b"M-SEARCH /v1 HTTP/1.1", b"501 Not Implemented", b"no such method"),
        (b"OPTIONS * HTTP/1.1", b"400 Bad Request", b"begins with /"),
    ],
)
def test_a_request_for_no_path_or_by_an_odd_method_is_told_so(
    address: Address, line: bytes, status: bytes, words: bytes
) -> None:
    answer = answer_to(address, line + b"\r\nhost: x\r\n\r\n" + GET + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert words in answer
    assert answer.count(b"HTTP/1.1") == 1


def test_trailers_change_no_header(address: Address) -> None:
    with connected(address) as client:
        client.sendall(b"POST /ok HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        client.sendall(b"2\r\nhi\r\n0\r\nx-a: b\r\nhost: y\r\n\r\n")
        assert client.recv(65_536).endswith(b"/ok 2 2")


@pytest.mark.promise("H-03")
def test_five_hundred_slow_connections_do_not_slow_a_normal_client() -> None:
    metrics = Metrics()
    with (
        running(application, limits=ServeLimits(connections=100), metrics=metrics) as address,
        ExitStack() as open_ones,
    ):
        for number in range(500):
            client = open_ones.enter_context(connected(address))
            client.sendall(
                b"GET / HTTP/1.1\r\nx-slow: " if number % 2 else b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n"
            )
        before = process_time()
        for _ in range(20):
            ask(address)
        assert process_time() - before < 2
        assert metrics.connections() <= 101
        assert refusals(metrics)["too_many_connections"] >= 400


def test_when_all_work_the_next_one_is_told_to_come_back() -> None:
    with running(application, limits=ServeLimits(connections=2)) as address, ExitStack() as open_ones:
        for _ in range(2):
            client = open_ones.enter_context(connected(address))
            client.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
            assert client.recv(10).startswith(b"HTTP/1.1 2")
        answer = answer_to(address, GET + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'"code":"too_many_connections"' in answer

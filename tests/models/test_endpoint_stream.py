"""Answers in pieces: however the server cuts, ends or breaks its stream."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from msgspec import json

from rightcall.errors import ModelError, ModelFault
from rightcall.models.endpoint import Endpoint
from support.raw_server import CLOSE, HELLO, answer, bodies, chunked, in_a_loop, pass_time, refusal, said, scripted

pytestmark = pytest.mark.promise("T-04")


def event(content: Any = None, finish: str | None = None, end: bytes = b"\n\n") -> bytes:
    delta = {} if content is None else {"content": content}
    return b"data: " + json.encode({"choices": [{"delta": delta, "finish_reason": finish}]}) + end


DONE = b"data: [DONE]\n\n"
ROLE = b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
USAGE = b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n'


async def streamed(url: str) -> list[str]:
    return [piece async for piece in Endpoint(url, "small").stream(HELLO, temperature=0.8)]


@pytest.mark.parametrize(
    "pieces",
    [
        [ROLE, event("Hé"), event("llo"), event(finish="stop"), USAGE, DONE],
        [event("Hé") + event("llo") + DONE],
        [b": keep alive\r\n\r\n", event("Hé", end=b"\r\n\r\n"), event("llo", "stop", b"\r\r")],
        [event("Hé"), event("llo", "stop"), b": no [DONE] comes\n\n"],
        [event("Hé"), event("llo", "stop", end=b"")],
        [event("Hé"), b'data: {"choices": [{"delta":\ndata: {"content": "llo"}}]}\n\n', DONE],
        [event("Hé"), event("llo"), DONE, event("never read")],
        [bytes([byte]) for byte in b"id: 1\n" + event("Hé") + event("llo") + DONE],
    ],
)
@in_a_loop
async def test_the_pieces_of_a_stream_make_its_text_however_it_is_cut(pieces: list[bytes]) -> None:
    async with scripted([chunked(*pieces)]) as server:
        assert await streamed(server.url) == ["Hé", "llo"]
    assert bodies(server) == [{"model": "small", "messages": HELLO, "temperature": 0.8, "stream": True}]


@pytest.mark.parametrize(
    ("pieces", "read"),
    [
        ([rb"so \ud83d", rb"\ude00!"], ["so ", "😀!"]),
        ([rb"\ud83d", b"", rb"\ude00"], ["😀"]),
        ([rb"\ud83d", b"no"], ["\ufffdno"]),
        ([rb"\ude00", rb"yes\ud83d"], ["\ufffd", "yes", "\ufffd"]),
    ],
)
@in_a_loop
async def test_halves_of_a_character_are_joined_and_a_lone_one_is_replaced(
    pieces: list[bytes], read: list[str]
) -> None:
    events = [event("HERE").replace(b"HERE", piece) for piece in pieces]
    async with scripted([chunked(*events, DONE)]) as server:
        assert await streamed(server.url) == read


@pytest.mark.parametrize("wire", [answer(said("Hello.")), b"HTTP/1.0 200 OK\r\n\r\n\n" + said("Hello.") + CLOSE])
@in_a_loop
async def test_a_server_that_does_not_stream_gives_all_in_one_piece(wire: bytes) -> None:
    async with scripted([wire]) as server:
        assert await streamed(server.url) == ["Hello."]


@in_a_loop
async def test_text_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]
    async with scripted([answer(said(parts))]) as server:
        assert await streamed(server.url) == ["Hello."]


FAILURES: list[tuple[str, bytes, ModelFault, str]] = [
    ("broke off between events", chunked(event("Hi"), end=b"") + CLOSE, "unreadable", "broke off in the middle"),
    ("ended without an end", chunked(event("Hi")), "unreadable", "broke off in the middle of its answer"),
    ("ended in an event", chunked(event("Hi"), event("there")[:20]), "unreadable", "broke off in the middle"),
    ("garbage", chunked(event("Hi"), b"data: <html>\n\n"), "unreadable", "sent an event that is not JSON"),
    ("no choices", chunked(b"data: {}\n\n"), "unreadable", "holds no choices"),
    ("an error in between", chunked(b'data: {"error": {"message": "out of memory"}}\n\n'), "status", "“out of memory”"),
    ("an error at the end", chunked(b'data: {"error": "out"}'), "status", "“out”"),
    ("nothing said", chunked(ROLE, event(finish="stop"), DONE), "empty", "the answer is empty"),
    ("all thought", chunked(event(finish="length"), DONE), "empty", "used up all its tokens without an answer"),
    ("no bytes", answer(b""), "unreadable", "broke off in the middle of its answer"),
    ("JSON that is cut", answer(b'{"choices": ['), "unreadable", "the answer is not JSON"),
    ("a page", answer(b"<html>"), "unreadable", "the answer is not JSON; is the url that of"),
    ("a page with blank lines", answer(b"<html>\n\n</html>\n"), "unreadable", "the answer is not JSON"),
    ("bytes of no text", answer(b"\x89PNG\r\n\x1a\n\x00"), "unreadable", "the answer is not JSON"),
    ("refused", refusal("500 Oops", "no"), "status", "the status 500 and said “no”"),
    ("an endless event", chunked(*[b"data: " + b"x" * 1_000_000] * 17), "unreadable", "an event that does not end"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "fault", "words"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
@in_a_loop
async def test_a_stream_that_fails_says_so(wire: bytes, fault: ModelFault, words: str) -> None:
    async with scripted([wire]) as server:
        with pytest.raises(ModelError) as raised:
            await streamed(server.url)
    assert words in str(raised.value)
    assert raised.value.fault == fault


@in_a_loop
async def test_a_stream_that_stops_is_left_in_time_and_nobody_is_stopped_while_reading() -> None:
    async with scripted([chunked(event("Hi"), end=b"")]) as server:
        pieces = Endpoint(server.url, "small", seconds=10).stream(HELLO)
        assert await anext(pieces) == "Hi"
        pass_time(10)
        for _ in range(3):  # the reader's own business: no timer of ours may end it
            await asyncio.sleep(0)
        with pytest.raises(ModelError, match="no whole answer within 10 s") as raised:
            await anext(pieces)
        await server.hung_up.wait()
    assert raised.value.fault == "timeout"


@in_a_loop
async def test_who_has_heard_enough_hangs_up() -> None:
    async with scripted([chunked(event("Hi"), end=b"")]) as server:
        async with aclosing(Endpoint(server.url, "small").stream(HELLO)) as pieces:
            assert await anext(pieces) == "Hi"
        await server.hung_up.wait()

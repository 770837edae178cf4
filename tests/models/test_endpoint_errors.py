"""Servers that are down, slow, or talk nonsense: each is one clear sentence, in time, and no key stands in it."""

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from msgspec import json

from rightcall.errors import ModelError, ModelFault
from rightcall.models.answers import MOST_BODY
from rightcall.models.endpoint import Endpoint
from support.raw_server import (
    CLOSE,
    HELLO,
    RESET,
    answer,
    bodies,
    chunked,
    in_a_loop,
    pass_time,
    refusal,
    said,
    scripted,
    text,
    until,
)

KEY = "sk-secret-0123456789"
DEEP = b'{"error":' * 900 + b'"x"' + b"}" * 900

pytestmark = pytest.mark.promise("T-04")


async def failure(url: str, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await Endpoint(url, "small", key=KEY, seconds=10)(HELLO, **options)
    told = str(raised.value)
    assert told.startswith("asking small at 127.0.0.1:")
    assert KEY[:10] not in told.lower()
    assert told.isprintable()
    return raised.value


def choices(message: Any, finish: str = "stop") -> bytes:
    return answer(json.encode({"choices": [{"message": message, "finish_reason": finish}]}))


ANSWERS: list[tuple[str, bytes, ModelFault, str]] = [
    ("not HTTP", b"hello there\r\n\r\n", "unreadable", "what came back is not HTTP; is this the port of a"),
    ("closed at once", CLOSE, "unreadable", "the server gave no answer; what does its own log say?"),
    ("reset at once", RESET, "unreadable", "the server "),
    ("half a head", b"HTTP/1.1 200 OK\r\ncontent-" + CLOSE, "unreadable", "closed the connection without a whole"),
    ("half a body", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{" + CLOSE, "unreadable", "broke off in the middle"),
    ("half a chunk", chunked(b"{}", end=b"9\r\n{" + CLOSE), "unreadable", "broke off in the middle of its answer"),
    ("no last chunk", chunked(b"{}", end=CLOSE), "unreadable", "broke off in the middle of its answer"),
    ("chunks that are none", chunked(end=b"zz\r\n"), "unreadable", "sent chunks that are none"),
    ("a length that is none", b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "unreadable", "an invalid length"),
    ("two lengths", answer(b"{}", b"content-length: 3"), "unreadable", "gave two lengths for one answer"),
    ("no headers", b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "unreadable", "sent headers that are none"),
    ("another encoding", answer(b"{}", b"transfer-encoding: gzip"), "unreadable", "encoding other than chunked"),
    ("compressed", answer(b"{}", b"content-encoding: gzip"), "unreadable", "compressed its answer although"),
    ("another protocol", b"HTTP/1.1 101 Switching\r\n\r\n", "unreadable", "wanted to change to another protocol"),
    ("one long header", b"HTTP/1.1 200 OK\r\nx: " + b"x" * 70_000, "too large", "headers of more than 64,000 bytes"),
    ("endless headers", b"HTTP/1.1 200 OK\r\n" + b"x: 1\r\n" * 20_000, "too large", "headers of more than 64,000"),
    ("endless promises", b"HTTP/1.1 100 Wait\r\n\r\n" * 9_000, "too large", "headers of more than 64,000 bytes"),
    ("a long answer", b"HTTP/1.1 200 OK\r\ncontent-length: 20000001\r\n\r\n", "too large", "more than 20,000,000"),
    ("a page", answer(b"<html>Hello</html>"), "unreadable", "the answer is not JSON; is the url that of"),
    ("deep JSON", answer(b"[" * 100_000), "unreadable", "the answer is not JSON"),
    ("no bytes", answer(b""), "unreadable", "the answer is not JSON"),
    ("no content", b"HTTP/1.1 204 No Content\r\n\r\n", "status", "answered with the status 204"),
    ("a list", answer(b"[]"), "unreadable", "the JSON that came holds no choices"),
    ("no choices", answer(b"{}"), "unreadable", "the JSON that came holds no choices"),
    ("empty choices", answer(b'{"choices": []}'), "unreadable", "the JSON that came holds no choices"),
    ("a choice of text", answer(b'{"choices": ["Hi"]}'), "unreadable", "the JSON that came holds no choices"),
    ("no message", answer(b'{"choices": [{}]}'), "unreadable", "the JSON that came holds no choices"),
    ("no text", choices({"content": None}), "empty", "the answer is empty; does this model follow instructions"),
    ("blank text", choices({"content": " \n"}), "empty", "the answer is empty"),
    ("all thought", choices({"content": ""}, "length"), "empty", "used up all its tokens without an answer; allow"),
    ("a refusal", choices({"content": None, "refusal": "No\x1b!"}), "empty", "it refuses to answer: “No\\u001b!”"),
    ("error at 200", answer(b'{"error": "out\\nof \\u202ememory"}'), "status", "“out of \\u202ememory”"),
    ("bare error", answer(b'{"error": true}'), "status", "“without a word why”"),
    ("a moved server", answer(b"", b"location: https://u:p@there/x", status=b"307 T"), "status", "points to (there)"),
    ("a moved key", answer(b"", f"location: http://{KEY}.there/".encode(), status=b"302 T"), "status", "([key].there)"),
    ("half a key", answer(b"no" + b" " * 1987 + KEY.encode(), status=b"400 No"), "status", "400 and said “no”; is"),
    ("a deep error", answer(DEEP, status=b"400 No"), "status", "the status 400; is the prompt too long"),
    ("a deep error at 200", answer(DEEP), "status", "“without a word why”"),
    ("wrong key", refusal("401 No", {"message": f"bad key {KEY}"}), "status", "“bad key [key]”; give the right key"),
    ("no model", refusal("404 No", "no model 'small'"), "status", "the status 404 and said “no model 'small'”; does"),
    ("FastAPI", answer(b'{"detail": [{"msg": "Field required"}]}', status=b"422 No"), "status", "“Field required”"),
    ("plain words", answer(b"upstream down", status=b"502 Bad"), "status", "502 and said “upstream down”; what"),
    ("an error page", answer(b"<html>", status=b"500 Oops"), "status", "the status 500; what does its own log say?"),
    ("many words", refusal("500 Oops", "x" * 5_000), "status", "x" * 299 + "…”"),
    ("busy", answer(b"", status=b"429 Slow"), "status", "the status 429; ask less often, or wait"),
    ("busy for long", answer(b"", b"retry-after: 3600", status=b"429 Slow"), "status", "asks for 3600 s of patience"),
    ("busy for words", answer(b"", b"retry-after: a while", status=b"503 Busy"), "status", "still loading?"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "fault", "words"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
@in_a_loop
async def test_an_answer_that_is_none_is_told_in_a_sentence(wire: bytes, fault: ModelFault, words: str) -> None:
    async with scripted([wire]) as server:
        error = await failure(server.url)
        assert server.connections == 1  # nothing is asked twice
    assert words in str(error)
    assert error.fault == fault
    assert len(str(error)) < 500


@in_a_loop
async def test_an_answer_that_never_ends_is_cut_off() -> None:
    piece = b"x" * 1_000_000
    async with scripted([chunked(*[piece] * (MOST_BODY // len(piece) + 1), end=b"")]) as server:
        error = await failure(server.url)
    assert error.fault == "too large"
    assert "an answer of more than 20,000,000 bytes, which is not read" in str(error)


@in_a_loop
async def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = await failure(f"http://127.0.0.1:{free.getsockname()[1]}")
    assert error.fault == "unreachable"
    assert "the server cannot be reached (" in str(error)
    assert "does it run, and is the url right?" in str(error)


@in_a_loop
async def test_a_name_that_no_server_can_have_is_unreachable() -> None:
    with pytest.raises(ModelError, match=r"asking small at a\.\.b: its name cannot be looked up") as raised:
        await Endpoint("http://a..b", "small")(HELLO)
    assert raised.value.fault == "unreachable"


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"])
@in_a_loop
async def test_a_server_that_is_silent_is_left_in_time_and_hung_up_on(begun: bytes) -> None:
    async with scripted([begun]) as server:
        question = asyncio.create_task(failure(server.url))
        await until(lambda: server.requests)
        pass_time(10)
        error = await question
        await server.hung_up.wait()
    assert error.fault == "timeout"
    assert str(error).endswith("no whole answer within 10 s; give it more seconds, or ask for fewer tokens")


@in_a_loop
async def test_a_question_that_is_cancelled_hangs_up() -> None:
    async with scripted([b"HTTP/1.1 200 OK\r\n"]) as server:
        question = asyncio.create_task(Endpoint(server.url, "small")(HELLO))
        await until(lambda: server.requests)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        await server.hung_up.wait()


@in_a_loop
async def test_a_timeout_of_the_callers_own_is_not_ours() -> None:
    async with scripted([b"HTTP/1.1 200 OK\r\n"]) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Endpoint(server.url, "small")(HELLO)


@pytest.mark.parametrize("status", [b"429 Slow", b"503 Busy"])
@in_a_loop
async def test_a_busy_server_is_asked_once_more_when_it_says_when(status: bytes) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(minutes=1), usegmt=True)
    for said_when in ("0", "0.01", past):
        busy = answer(b"", b"retry-after: " + said_when.encode(), status=status)
        async with scripted([busy], [answer(said())]) as server:
            assert text(await Endpoint(server.url, "small")(HELLO)) == "Hi."
        async with scripted([busy]) as server:
            error = await failure(server.url)
            assert server.connections == 2
        assert error.status == int(status[:3])
        assert str(error).endswith(
            "; it was left alone for as long as it asked for, and is still busy; ask less often, or later"
        )


@in_a_loop
async def test_all_forms_of_a_question_share_its_time() -> None:
    no = refusal("400 No", "response_format?")
    async with scripted([no], [b""]) as server:
        question = asyncio.create_task(failure(server.url, schema={"type": "object"}))
        await until(lambda: len(server.requests) == 2)
        pass_time(10)
        error = await question
        assert [body["response_format"]["type"] for body in bodies(server)] == ["json_schema", "json_object"]
    assert error.fault == "timeout"


@in_a_loop
async def test_a_list_of_models_that_wants_a_key_says_so() -> None:
    async with scripted([refusal("401 No", "no key")]) as server:
        with pytest.raises(ModelError, match=r"asking the model at .* “no key”; give the right key"):
            await Endpoint(server.url)(HELLO)


@in_a_loop
async def test_a_key_in_a_header_is_not_shown_either() -> None:
    async with scripted([refusal("403 No", {"message": f"{KEY} may not"})]) as server:
        with pytest.raises(ModelError, match=r"“\[key\] may not”"):
            await Endpoint(server.url, "small", headers={"authorization": f"Basic {KEY}"})(HELLO)

"""A model behind an endpoint: what goes out, what comes back, and how a server's manner is learnt."""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from msgspec import json

from rightcall.doctor.practice import practice_app
from rightcall.errors import ConfigError, ModelError
from rightcall.models.endpoint import Endpoint, address_of
from rightcall.policy.settings import RouterModel
from support.every import every
from support.hostile.objects import deep
from support.proxies import serving
from support.raw_server import (
    HELLO,
    answer,
    bodies,
    chunked,
    in_a_loop,
    pass_time,
    read_request,
    refusal,
    said,
    scripted,
    text,
    until,
)

SCHEMA = {"type": "object", "properties": {"tool": {"type": "string"}}, "required": ["tool"]}
PEM = Path(__file__).parents[1] / "support" / "localhost.pem"

pytestmark = pytest.mark.promise("T-04")


@in_a_loop
async def test_a_question_goes_out_as_openai_wants_it_and_the_whole_answer_comes_back() -> None:
    async with scripted([answer(said(usage={"total_tokens": 3}))]) as server:
        model = Endpoint(server.url, "small", key="sk-1234", headers={"X-Title": "test"})
        reply = await model(HELLO, temperature=0.15, max_tokens=500, top_p=0.9)
    assert (text(reply), reply["usage"]) == ("Hi.", {"total_tokens": 3})
    head = server.requests[0].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert head[0] == "POST /v1/chat/completions HTTP/1.1"
    assert {"authorization: Bearer sk-1234", "x-title: test", "accept-encoding: identity"} < set(head)
    options = {"temperature": 0.15, "max_tokens": 500, "top_p": 0.9}
    assert bodies(server) == [{"model": "small", "messages": HELLO, **options}]


@in_a_loop
async def test_options_that_are_not_given_are_the_servers_own() -> None:
    async with scripted([answer(said())]) as server:
        await Endpoint(server.url, "small")(HELLO)
    assert bodies(server) == [{"model": "small", "messages": HELLO}]


@pytest.mark.parametrize(
    "wire",
    [
        chunked(said()[:9], said()[9:]),
        chunked(said(), end=b"0;last=1\r\nx-trailer: 1\r\n\r\n"),
        b"HTTP/1.0 200 OK\r\n\r\n" + said() + b"<close>",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\ncontent-length: %d\n\n" % len(said()) + said(),
    ],
)
@in_a_loop
async def test_an_answer_is_read_however_it_is_framed(wire: bytes) -> None:
    async with scripted([wire]) as server:
        assert text(await Endpoint(server.url, "small")(HELLO)) == "Hi."


@every(
    ("url", "path"),
    [
        ("http://h", "/v1"),
        ("http://h/", "/v1"),
        ("http://h/v1/", "/v1"),
        ("http://h/v1/chat/completions", "/v1"),
        ("http://h/chat/completions", ""),
        ("http://h/v1beta/openai", "/v1beta/openai"),
    ],
)
def test_an_address_is_taken_as_people_write_it(url: str, path: str) -> None:
    assert address_of(url).path == path


@every(
    ("url", "rule"),
    [
        ("localhost:11434", "begin with http:// or https://"),
        ("http://user:sk-secret@h/v1", "the key goes into `key`"),
        ("http://h/a b", "without blanks"),
        ("http://h/v1\r\nx: sk-secret", "without blanks and control characters"),
        ("http://h/v1?key=sk-secret", "without ? and #"),
        ("http://h:0/v1", "a port is a number from 1 to 65535"),
    ],
)
def test_a_wrong_address_is_told_what_would_be_right(url: str, rule: str) -> None:
    with pytest.raises(ConfigError, match="`url` must be an address such as http://localhost:11434 or") as raised:
        Endpoint(url)
    assert rule in str(raised.value)
    assert "sk-secret" not in str(raised.value)


@every(
    ("options", "words"),
    [
        ({"key": "sk-secret\n"}, "`key` must be ASCII without blanks"),
        ({"key": ""}, "None for no key"),
        ({"headers": {"X-Key": "sk-secret\r\nx: y"}}, "the value of X-Key must be one line"),
        ({"headers": {"x y": "sk-secret"}}, "cannot be set"),
        ({"headers": {"Host": "elsewhere"}}, "Host cannot be set"),
        ({"headers": {"Authorization": "Basic sk-secret"}, "key": "k"}, "give one of the two"),
        ({"seconds": 0}, "`seconds` must be more than 0, not 0"),
    ],
)
def test_wrong_settings_are_refused_and_not_repeated(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Endpoint("http://h", **options)
    assert words in str(raised.value)
    assert "sk-secret" not in str(raised.value)


def test_a_repr_holds_neither_key_nor_header_nor_path() -> None:
    model = Endpoint("http://localhost:1/tenant-sk-secret", "small", key="sk-secret", headers={"x-key": "sk-secret"})
    assert repr(model) == "Endpoint('localhost:1', 'small')"


@in_a_loop
async def test_settings_of_the_policy_file_make_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "sk-1234")
    async with scripted([answer(said())]) as server:
        settings = RouterModel(server.url, "small", key_env="MODEL_KEY", headers={"x-team": "a"}, schema=False)
        model = Endpoint.of(settings, seconds=5)
        await model(HELLO, schema=SCHEMA)
        await model.aclose()
    assert b"authorization: Bearer sk-1234" in server.requests[0]
    assert b"x-team: a" in server.requests[0]
    assert "response_format" not in bodies(server)[0]
    assert model.seconds == 5


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    with pytest.raises(ConfigError, match="environment variable MODEL_KEY is not set; put the key for h there"):
        Endpoint.of(RouterModel("http://h", key_env="MODEL_KEY"))


# ── a server's manner ────────────────────────────────────────────────────────────────────────────────────────────────


@in_a_loop
async def test_a_schema_is_asked_for_in_strict_form() -> None:
    async with scripted([answer(said("{}"))]) as server:
        await Endpoint(server.url, "small")(HELLO, schema={"title": "tool choice", **SCHEMA})
    (body,) = bodies(server)
    schema = {"title": "tool choice", **SCHEMA}
    wanted = {"name": "tool_choice", "schema": schema, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": wanted}


@pytest.mark.parametrize("status", [400, 404, 415, 422, 501])
@in_a_loop
async def test_a_server_without_schemas_is_asked_more_simply_and_that_is_remembered(status: int) -> None:
    no = refusal(f"{status} No", "response_format?")
    async with scripted([no], [no], [answer(said("{}"))]) as server:
        model = Endpoint(server.url, "small")
        await model(HELLO, schema=SCHEMA)
        await model(HELLO, schema=SCHEMA)
    kinds = [body.get("response_format", {}).get("type") for body in bodies(server)]
    assert kinds == ["json_schema", "json_object", None, None]


@in_a_loop
async def test_a_question_that_is_refused_in_every_form_gives_the_last_reason_and_nothing_is_remembered() -> None:
    no = refusal("400 No", {"message": "the prompt is too long"})
    async with scripted([no], [no], [no], [answer(said("{}"))]) as server:
        model = Endpoint(server.url, "small")
        with pytest.raises(ModelError, match="the prompt is too long"):
            await model(HELLO, schema=SCHEMA)
        await model(HELLO, schema=SCHEMA)
    assert bodies(server)[3]["response_format"]["type"] == "json_schema"


@in_a_loop
async def test_options_that_a_model_does_not_take_are_left_out_or_called_by_their_other_name() -> None:
    def no(option: str) -> list[bytes]:
        return [refusal("400 No", {"message": "?", "param": option, "code": "unsupported_parameter"})]

    async with scripted(no("max_tokens"), no("temperature"), [answer(said())]) as server:
        model = Endpoint(server.url, "thinker")
        await model(HELLO, temperature=0.3, max_tokens=9, top_p=0.9)
        await model(HELLO, max_tokens=9)
    plain = {"model": "thinker", "messages": HELLO, "max_completion_tokens": 9}
    assert bodies(server)[2:] == [plain | {"top_p": 0.9}, plain]


# ── a model's name ───────────────────────────────────────────────────────────────────────────────────────────────────


def listing(*names: str) -> bytes:
    return answer(json.encode({"object": "list", "data": [{"id": name} for name in names]}))


@in_a_loop
async def test_without_a_name_the_only_model_is_asked_and_looked_up_once() -> None:
    async with scripted([listing("only", "text-embedding-nomic")], [answer(said())]) as server:
        model = Endpoint(server.url)
        await model(HELLO)
        await model(HELLO)
    assert server.requests[0].startswith(b"GET /v1/models HTTP/1.1\r\n")
    assert [body["model"] for body in bodies(server)[1:]] == ["only"] * 2


@in_a_loop
async def test_without_a_name_several_models_are_a_question_back() -> None:
    async with scripted([listing("a", "b\x1b[31m", "c", "d", "e", "f")]) as server:
        with pytest.raises(ModelError) as raised:
            await Endpoint(server.url)(HELLO)
        assert await Endpoint(server.url).models() == ("a", "b\x1b[31m", "c", "d", "e", "f")
    assert "say which with `model`: a, b\\u001b[31m, c, d, e and 1 more" in str(raised.value)


@pytest.mark.parametrize("listed", [answer(b"no", status=b"404 Not Found"), answer(b"<html>"), listing()])
@in_a_loop
async def test_without_a_name_or_a_list_the_server_takes_its_own_default(listed: bytes) -> None:
    async with scripted([listed], [answer(said())]) as server:
        assert text(await Endpoint(server.url)(HELLO)) == "Hi."
    assert bodies(server)[1]["model"] == ""


@in_a_loop
async def test_a_model_that_was_found_and_is_gone_is_looked_up_again() -> None:
    gone = [refusal("404 Not Found", "no such model")]
    async with scripted([listing("old")], gone, [listing("new")], [answer(said())]) as server:
        model = Endpoint(server.url)
        with pytest.raises(ModelError, match="asking old at"):
            await model(HELLO)
        await model(HELLO)
    assert bodies(server)[3]["model"] == "new"


# ── where it runs ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_one_endpoint_serves_one_event_loop_after_the_other(loop: Any) -> None:
    model: list[Endpoint] = []

    async def ask() -> str:
        async with scripted([answer(said())]) as server:
            model.append(Endpoint(server.url, "small"))
            return text(await model[-1](HELLO))

    for _ in range(2):
        with asyncio.Runner(loop_factory=loop) as runner:
            assert runner.run(ask()) == "Hi."


@in_a_loop
async def test_half_a_character_does_not_stop_a_question() -> None:
    async with scripted([answer(said())]) as server:
        await Endpoint(server.url, "small")([{"role": "user", "content": "a\ud83d", "parts": ("\udc00",)}])
    assert bodies(server)[0]["messages"] == [{"role": "user", "content": "a\ufffd", "parts": ["\ufffd"]}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"a\ud800", "a\ufffd"),
        (rb"\uDE00b", "\ufffdb"),
        (rb"\ud83d\ude00\ud83d", "😀\ufffd"),
        (rb"\ud83dn", "\ufffdn"),
    ],
)
@in_a_loop
async def test_half_a_character_does_not_cost_the_answer(written: bytes, read: str) -> None:
    async with scripted([answer(said("HERE").replace(b"HERE", written))]) as server:
        assert text(await Endpoint(server.url, "small")(HELLO)) == read


@pytest.mark.parametrize("content", [object(), ["\ud83d", deep(lambda inner: [inner])]])
@in_a_loop
async def test_messages_that_json_cannot_hold_are_named(content: object) -> None:
    with pytest.raises(ConfigError, match="`messages` must be what JSON can hold"):
        await Endpoint("http://127.0.0.1:9", "small")([{"role": "user", "content": content}])


def test_a_name_that_cannot_be_looked_up_in_time_does_not_hold_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    ends, asked = threading.Event(), threading.Event()

    def hang(*_: Any, **more: Any) -> list[Any]:
        asked.set()
        ends.wait()
        return []

    async def ask() -> None:
        question = asyncio.create_task(Endpoint("http://models.example", "small", seconds=5)(HELLO))
        await until(asked.is_set)
        pass_time(5)
        with pytest.raises(ModelError, match="no whole answer within 5 s"):
            await question

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    killer = threading.Timer(4, ends.set)  # without which a program that is held would never fail
    killer.start()
    try:
        asyncio.run(ask())
        assert not ends.is_set()
    finally:
        ends.set()
        killer.cancel()
        killer.join()


@in_a_loop
async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with scripted([answer(said())]) as server:
        assert text(await Endpoint(server.url, "small")(HELLO)) == "Hi."


@asynccontextmanager
async def secured() -> AsyncGenerator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer(said("over TLS")))
        await writer.drain()
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


@in_a_loop
async def test_a_server_is_trusted_by_the_default_store_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with secured() as url:
        with pytest.raises(ModelError, match="cannot be trusted or speaks no TLS") as raised:
            await Endpoint(url, "small")(HELLO)
        assert raised.value.fault == "tls"
        monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
        assert text(await Endpoint(url, "small")(HELLO)) == "over TLS"


@in_a_loop
async def test_the_practice_model_answers_whole_and_in_pieces() -> None:
    with serving(practice_app()) as address:
        model = Endpoint(address)
        assert await model.models() == ("rightcall-practice",)
        whole = text(await model(HELLO))
        pieces = [piece async for piece in model.stream(HELLO)]
    assert whole == "".join(pieces)
    assert whole.startswith("This is rightcall-practice")
    assert len(pieces) > 1

"""A router whose model is a server that the policy names: asked over a real socket, and never believed."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from support.raw_server import answer, bodies, in_a_loop, said, scripted
from support.routers import APPROVED, NONE, REQUEST, WORDS, Shop, choice, looks

pytestmark = pytest.mark.promise("T-04")


def told(*pieces: str) -> bytes:
    events = [json.encode({"choices": [{"delta": {"content": piece}}]}) for piece in pieces]
    lines = b"".join(b"data: " + event + b"\n\n" for event in (*events, b"[DONE]"))
    return answer(lines, b"content-type: text/event-stream")


def policy(url: str, **settings: Any) -> dict[str, Any]:
    return {"router": {"prime": {"url": url, "model": "small"}, **settings}}


@in_a_loop
async def test_the_whole_loop_runs_against_the_server_that_the_policy_names(tmp_path: Path) -> None:
    replies = [answer(said(choice())), answer(said(APPROVED)), answer(said(NONE)), told("It rains ", "in Oslo.")]
    async with scripted(*([reply] for reply in replies)) as server:
        shop = Shop(tmp_path, policy(server.url))
        async with shop.executor, shop.router(None) as router:
            stream = router.stream(REQUEST)
            pieces = [piece async for piece in stream]
    assert pieces == ["It rains ", "in Oslo."]
    assert (stream.packet.content.answer, shop.trace) == (WORDS, [("weather", "Oslo", 1)])
    selection, review, _, response = bodies(server)
    assert (selection["temperature"], review["temperature"], response["stream"]) == (0.15, 0.3, True)
    assert selection["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (b"HTTP/1.1 500 Oh no\r\ncontent-length: 0\r\n\r\n", "500"),
        (answer(b"<html>It works!</html>"), "the answer is not JSON"),
        (b"<close>", "gave no answer"),
    ],
    ids=["refuses", "talks nonsense", "hangs up"],
)
@in_a_loop
async def test_a_server_that_fails_gives_a_clear_sentence_and_runs_nothing(
    tmp_path: Path, wire: bytes, words: str
) -> None:
    async with scripted([wire]) as server:
        shop = Shop(tmp_path, policy(server.url))
        async with shop.executor, shop.router(None) as router:
            done = await router.answer(REQUEST)
    assert (done.packet.status.state, done.packet.tool_routing.execution_status, shop.trace) == ("failed", "failed", [])
    assert done.text.startswith("I cannot answer this now: ")
    assert words in done.text


@in_a_loop
async def test_nobody_at_the_address_is_said_too(tmp_path: Path) -> None:
    async with scripted([b""]) as server:
        url = server.url
    shop = Shop(tmp_path, policy(url))
    async with shop.executor, shop.router(None, needs_tool=looks("none")) as router:
        done = await router.answer(REQUEST)
    assert done.packet.status.state == "failed"
    assert done.text.startswith("I cannot answer this now: ")

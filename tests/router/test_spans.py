"""A request through the router as one trace: its steps, the models it asks, the call it makes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from rightcall.models.endpoint import Endpoint
from support.routers import APPROVED, NONE, REQUEST, WORDS, Shop, answered, choice, says, within
from support.scripted.server import ScriptedUpstream
from support.traces import ON, Kept, followed, id_of, parent_of, told, traceparent

pytestmark = pytest.mark.promise("H-11")

SCRIPT = [choice(), APPROVED, NONE, WORDS]


@pytest.fixture
def kept() -> Iterator[Kept]:
    with followed() as found:
        yield found


def test_a_request_is_one_trace_with_its_steps_and_its_call(kept: Kept, tmp_path: Path) -> None:
    answered(Shop(tmp_path, ON), list(SCRIPT))
    route, call = kept.one("rightcall.route"), kept.one("execute_tool weather")
    steps = [one for one in kept.spans if one.name.startswith("rightcall.route.")]
    assert {parent_of(step) for step in steps} == {id_of(route)}
    assert parent_of(call) == id_of(kept.one("rightcall.route.execute"))
    assert told(route)["rightcall.route.intent"] == "tool_routing"
    assert REQUEST not in str([told(one) for one in kept.spans])


def test_models_over_http_are_asked_within_it_and_told_of_it(kept: Kept, tmp_path: Path) -> None:
    with ScriptedUpstream(says(*SCRIPT)) as upstream:
        answered(Shop(tmp_path, ON), Endpoint(upstream.address, "small"))
        sent = [dict(one.headers).get("traceparent") for one in upstream.requests]
    asked = [one for one in kept.spans if one.name == "chat small"]
    assert len(asked) >= 3
    for one in asked[:2]:  # of a stream, tokens are told where the server counts them
        assert told(one)["gen_ai.usage.input_tokens"] > 0
        assert told(one)["gen_ai.usage.output_tokens"] > 0
    assert all({"gen_ai.response.id", "gen_ai.response.model"} <= told(one).keys() for one in asked)
    assert [traceparent(one) for one in asked] == [one for one in sent if one]
    assert {one.context.trace_id for one in kept.spans if one.context} == {
        one.context.trace_id for one in asked if one.context
    }


def test_whoever_listens_between_two_pieces_is_not_within_it(kept: Kept, tmp_path: Path) -> None:
    shop = Shop(tmp_path, ON)
    router = shop.router(list(SCRIPT))

    async def listen() -> list[Any]:
        return [trace.get_current_span().get_span_context().is_valid async for _ in router.stream(REQUEST)]

    assert True not in within(shop, listen)
    assert kept.one("rightcall.route").status.status_code.name == "UNSET"


def test_a_request_that_is_given_up_ends_its_span(kept: Kept, tmp_path: Path) -> None:
    shop = Shop(tmp_path, ON)

    async def never(packet: Any) -> Any:
        raise asyncio.CancelledError

    router = shop.router([], select=never)
    with pytest.raises(asyncio.CancelledError):
        within(shop, lambda: router.answer(REQUEST))
    assert told(kept.one("rightcall.route"))["error.type"] == "CancelledError"


def test_nothing_is_followed_where_it_is_off(kept: Kept, tmp_path: Path) -> None:
    answered(Shop(tmp_path), list(SCRIPT))
    assert kept.names == []

"""Time and tokens: whatever a model does, the outcome is clear, in time, and nothing runs afterwards."""

import asyncio
import threading
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from rightcall.models.loop import AsyncScriptedModel, ScriptedModel
from rightcall.policy.settings import RouterSettings
from rightcall.router.packet import Taken, budget_of, log_step, start_step
from rightcall.router.packets import PacketStore, new_packet
from support.pace import process_time
from support.routers import APPROVED, NONE, REQUEST, WORDS, Shop, answered, choice, looks, ranks, within

pytestmark = pytest.mark.promise("T-08")

QUICK = {"router": {"model_seconds": 0.1, "seconds": 0.3}}


async def hangs(_: Any) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize("way", ["async", "sync"])
def test_models_that_hang_end_in_a_clear_outcome_within_the_budget(tmp_path: Path, way: str) -> None:
    shop, over = Shop(tmp_path, QUICK), threading.Event()
    model = AsyncScriptedModel([hangs] * 9) if way == "async" else ScriptedModel([lambda _: over.wait(60)] * 9)
    began = monotonic()
    done = answered(shop, model)
    assert monotonic() - began < 30, "it waited for the model"
    over.set()
    assert (done.packet.status.state, done.packet.tool_routing.execution_status) == ("failed", "failed")
    assert done.text.startswith("I cannot answer this now: the model gave no answer within 0.1 s")
    assert shop.trace == []


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_model_that_goes_down_at_any_point_lets_nothing_run_that_was_not_cleared(tmp_path: Path, at: int) -> None:
    shop = Shop(tmp_path)
    replies: list[Any] = [choice(), APPROVED, NONE, WORDS]
    replies[at:] = [ConnectionError("gone")] * 5
    done = answered(shop, replies)
    assert bool(shop.trace) is (at > 1)
    said = {0: "I cannot answer this now", 1: "I would run weather"}.get(at, "weather gave:\nrain in Oslo")
    assert done.text.startswith(said)


def test_when_the_time_is_over_nothing_runs_any_more(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"router": {"seconds": 5}})
    router = shop.router([choice(), APPROVED])

    async def work() -> Any:
        packet = router.find(router.detect(router.open(REQUEST)))
        packet = router.decide(await router.review(await router.select(packet)))
        late = log_step(packet, "tool_routing", "a long pause", start_step(), seconds=5.0)
        return await router.execute(late)

    packet = within(shop, work)
    assert (packet.tool_routing.execution_status, shop.trace) == ("failed", [])
    assert packet.status.why == "the 5 s for this request are over"


@pytest.mark.parametrize(
    ("tokens", "ran", "said"),
    [
        (30, False, "I cannot answer this now: the 30 tokens for this request are used up."),
        (200, False, WORDS),
        (500, False, 'I would run weather with {"city": "Oslo"}'),
        (640, True, "weather gave:\nrain in Oslo"),
        (20_000, True, WORDS),
    ],
)
def test_what_would_cost_more_tokens_than_there_are_is_not_asked(
    tmp_path: Path, tokens: int, ran: bool, said: str
) -> None:
    script = {"RESULTS SO FAR": NONE, "AVAILABLE TOOLS": choice(), "Review this": APPROVED}
    shop = Shop(tmp_path, {"router": {"tokens": tokens}})
    done = answered(shop, ScriptedModel(script, then=WORDS))
    assert done.text.startswith(said)
    assert bool(shop.trace) is ran
    assert sum(line.tokens for line in done.packet.reasoning.reflection_log) <= tokens


def test_the_room_for_an_answer_shrinks_with_what_is_left(tmp_path: Path) -> None:
    model = ScriptedModel([WORDS])
    answered(Shop(tmp_path, {"router": {"tokens": 200}}), model, needs_tool=looks("none"))
    prompt = sum(-(-len(message["content"]) // 4) for message in model.asked[0].messages)
    assert model.asked[0].options["max_tokens"] == 200 - prompt


@pytest.mark.parametrize(("seconds", "tokens"), [(float("nan"), 1), (-1e9, -(10**9)), (1e9, 10**9)])
def test_no_log_that_a_file_holds_gains_time_or_tokens(seconds: float, tokens: int) -> None:
    packet = log_step(new_packet("x"), "response", "", Taken(0.0, tokens), seconds=seconds)
    budget = budget_of(packet, RouterSettings(seconds=10, tokens=100), start_step())
    assert not budget.seconds > 10
    assert budget.tokens <= 100


def test_a_cancelled_request_is_saved_where_it_stands_and_its_call_is_over(tmp_path: Path) -> None:
    shop, packets = Shop(tmp_path), PacketStore(tmp_path / "packets")
    reviewing = asyncio.Event()

    async def review(_: Any) -> Any:
        reviewing.set()
        await asyncio.Event().wait()

    router = shop.router(AsyncScriptedModel([choice(), review]), packets=packets)

    async def work() -> None:
        task = asyncio.create_task(router.answer(REQUEST))
        await reviewing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    within(shop, work)
    saved = packets.load(packets.find("last"))
    assert (saved.status.state, saved.tool_routing.execution_status) == ("processing", "pending")
    assert saved.tool_routing.selected_tool is not None
    again = shop.router([choice(), APPROVED, NONE, WORDS], packets=packets)
    assert within(shop, lambda: again.resume(saved)).text == WORDS
    assert shop.trace == [("weather", "Oslo", 1)]


def test_a_stream_that_nobody_reads_to_its_end_is_saved_too(tmp_path: Path) -> None:
    shop, packets = Shop(tmp_path), PacketStore(tmp_path / "packets")
    router = shop.router([WORDS], packets=packets, needs_tool=looks("none"))

    async def work() -> None:
        stream = router.stream(REQUEST)
        async for _ in stream:
            break
        await stream.aclose()

    within(shop, work)
    assert len(packets.ids()) == 1


@pytest.mark.promise("T-09")
@pytest.mark.parametrize(
    ("first", "script", "most"),
    [("none", [WORDS], 0.005), ("call", [choice(), APPROVED, NONE, WORDS], 0.5)],
    ids=["no tool", "a tool"],
)
def test_routing_adds_little_to_the_models_own_time(tmp_path: Path, first: str, script: Any, most: float) -> None:
    shop = Shop(tmp_path)
    replies = iter(script * 9)

    async def at_once(_: Any) -> str:
        return next(replies)

    router = shop.router(at_once, needs_tool=looks(first))

    async def work() -> float:
        times: list[float] = []
        for _ in range(9):
            began = process_time()
            await router.answer(REQUEST)
            times.append(process_time() - began)
        return sorted(times)[4]

    assert within(shop, work) < most
    assert len(shop.trace) == (9 if first == "call" else 0)


def test_a_tool_has_no_longer_than_the_request(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"router": {"seconds": 0.2}})

    @shop.executor.tool(effects=["read"])
    async def slow(city: str) -> None:
        """Never ends."""
        await asyncio.Event().wait()

    done = answered(shop, [choice("slow", city="Oslo"), APPROVED], candidates=ranks("slow"))
    result = done.packet.tool_routing.execution_result
    assert (done.packet.tool_routing.execution_status, result.success) == ("failed", False)
    assert "longer than 0.1" in result.error
    assert result.call, "it stands in the audit"

"""The call that runs is the call that was reviewed, whoever holds its arguments, and whoever has replaced a step."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rightcall.models.loop import ScriptedModel
from rightcall.router.packet import Packet, SelectedTool, with_routing
from support.routers import APPROVED, NONE, REQUEST, WORDS, Shop, answered, choice, within

pytestmark = pytest.mark.promise("T-05")

RAN = [("weather", "Oslo", 1)]


def openai(arguments: Any) -> dict[str, Any]:
    function = {"name": "weather", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


def anthropic(arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "weather", "input": arguments}]}


@pytest.mark.parametrize("message", [openai, anthropic])
def test_a_model_that_keeps_the_arguments_it_gave_cannot_change_them(tmp_path: Path, message: Any) -> None:
    given = {"city": "Oslo"}

    def reviewed(_: Any) -> str:
        given["city"] = "Rome"
        return APPROVED

    shop = Shop(tmp_path)
    answered(shop, [lambda _: message(given), reviewed, NONE, WORDS])
    assert shop.trace == RAN


@pytest.mark.parametrize("odd", [{"city": "Oslo", "days": float("nan")}, {"city": "Oslo", 1: 2}, {"city": {"Oslo"}}])
def test_arguments_that_are_no_plain_json_are_no_choice(tmp_path: Path, odd: Any) -> None:
    shop = Shop(tmp_path)
    done = answered(shop, [lambda _: anthropic(odd), lambda _: anthropic(odd), WORDS])
    assert (done.packet.tool_routing.execution_status, shop.trace) == ("failed", [])


@pytest.mark.parametrize("step", ["review", "save"])
def test_a_step_that_changes_the_arguments_runs_nothing(tmp_path: Path, step: str) -> None:
    def change(packet: Packet) -> Packet:
        assert packet.tool_routing.selected_tool is not None
        packet.tool_routing.selected_tool.params["city"] = "Rome"
        return with_routing(packet, review_approved=True, review_confidence=1.0)

    class Saving:
        def save(self, packet: Packet) -> None:
            if packet.tool_routing.execution_status == "approved":
                change(packet)

    shop = Shop(tmp_path)
    replies = [choice(), WORDS] if step == "review" else [choice(), APPROVED, WORDS]
    changing: dict[str, Any] = {"review": change} if step == "review" else {"packets": Saving()}
    answered(shop, replies, **changing)
    assert shop.trace == []


@pytest.mark.parametrize("swaps", [False, True])
def test_a_review_of_the_programs_own_counts_for_the_call_it_was_shown(tmp_path: Path, swaps: bool) -> None:
    def own(packet: Packet) -> Packet:
        if swaps:
            packet = with_routing(packet, selected_tool=SelectedTool("weather", {"city": "Rome"}, "", 0.9))
        return with_routing(packet, review_approved=True, review_confidence=1.0)

    async def waits(packet: Packet) -> Packet:
        return own(packet)

    for review in (own, waits):
        shop = Shop(tmp_path)
        router = shop.router([choice(), choice(), NONE, WORDS], review=review)

        async def alone(router: Any = router) -> Packet:
            packet = await router.select(router.find(router.detect(router.open(REQUEST))))
            made = router.review(packet)
            return await router.execute(router.decide(made if isinstance(made, Packet) else await made))

        within(shop, alone)
        assert shop.trace == ([] if swaps else RAN)
        within(shop, lambda router=router: router.answer(REQUEST))
        assert shop.trace == ([] if swaps else RAN * 2)


@pytest.mark.promise("T-07")
@pytest.mark.parametrize("step", ["select", "inject", "execute"])
def test_a_step_that_does_nothing_does_not_go_round_for_ever(tmp_path: Path, step: str) -> None:
    asked, cities = count(), count()

    def idle(packet: Packet) -> Packet:
        assert next(asked) < 10, "it goes round and round"
        return packet

    def model(messages: Any) -> str:
        if "Review this" in messages[-1]["content"]:
            return APPROVED
        return choice(city=f"City {next(cities)}") if "tool selector" in messages[-1]["content"] else WORDS

    shop = Shop(tmp_path)
    idling: dict[str, Any] = {step: idle}
    done = answered(shop, model, **idling)
    assert next(asked) == 3
    assert len(shop.trace) == (3 if step == "inject" else 0)
    assert (done.text.split("\n")[0], done.packet.tool_routing.routing_requested) == (WORDS, False)


def test_what_was_never_reviewed_is_not_called_reviewed(tmp_path: Path) -> None:
    shop, model = Shop(tmp_path), ScriptedModel([choice()])
    done = answered(shop, model, review=lambda packet: packet)
    assert (done.packet.status.why, shop.trace) == ("nobody has reviewed it", [])

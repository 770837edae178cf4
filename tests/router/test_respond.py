"""The answer: in words, built on the results, as early as it can be shown, and never with the markup of a call."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.models.loop import ScriptedModel
from support.routers import APPROVED, NONE, REQUEST, WORDS, Shop, answered, choice, looks, none, within

pytestmark = pytest.mark.promise("T-07")

CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'


NOT_RUN = "\n\n[The tool call in this answer was not run]"


@pytest.mark.parametrize(
    ("last", "text", "state"),
    [
        ([f"{CALL} It rains in Oslo."], WORDS, "answered"),
        ([CALL, WORDS], WORDS, "answered"),
        ([CALL, CALL], "weather gave:\nrain in Oslo", "failed"),
        (["", WORDS], WORDS, "answered"),
        ([RuntimeError("down")], "weather gave:\nrain in Oslo", "failed"),
        ([lambda _: 42], "weather gave:\nrain in Oslo", "failed"),
        ([{"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]}, WORDS],
         WORDS, "answered"),
    ],
)  # fmt: skip
def test_a_reply_that_is_no_answer_is_asked_for_once_more_then_the_result_speaks(
    tmp_path: Path, last: list[Any], text: str, state: str
) -> None:
    shop, model = Shop(tmp_path), ScriptedModel([choice(), APPROVED, NONE, *last])
    done = answered(shop, model)
    assert (done.text, done.packet.status.state, model.left) == (text, state, 0)
    if len(last) > 1:
        assert "Answer in words." in model.asked[-1].said
    assert shop.trace == [("weather", "Oslo", 1)], "nothing that stands in an answer runs"


class Streaming:
    """A model that says its answers in pieces; everything else is scripted."""

    def __init__(self, replies: list[Any], *answers: list[Any]) -> None:
        self._script = ScriptedModel(replies)
        self._answers = list(answers)
        self.closed = 0

    def __call__(self, messages: list[dict[str, Any]], **options: Any) -> Any:
        return self._script(messages, **options)

    async def stream(self, messages: list[dict[str, Any]], *, max_tokens: int = 0) -> AsyncIterator[Any]:
        assert max_tokens == 1000
        try:
            for piece in self._answers.pop(0):
                if isinstance(piece, Exception):
                    raise piece
                if piece is None:
                    await asyncio.Event().wait()
                yield piece
        finally:
            self.closed += 1


def spoken(shop: Shop, model: Any, **options: Any) -> tuple[list[str], Any]:
    router = shop.router(model, **options)

    async def work() -> tuple[list[str], Any]:
        stream = router.stream(REQUEST)
        return [piece async for piece in stream], stream.packet

    return within(shop, work)


def test_an_answer_is_told_as_it_comes_and_the_packet_after_it(tmp_path: Path) -> None:
    model = Streaming([choice(), APPROVED, NONE], ["It ", "rains ", "in ", "Oslo."])
    pieces, packet = spoken(Shop(tmp_path), model)
    assert pieces == ["It ", "rains ", "in ", "Oslo."], "no word is held back that no tool's name begins with"
    assert (packet.content.answer, packet.status.state, model.closed) == (WORDS, "answered", 1)


def test_who_stops_listening_stops_the_model(tmp_path: Path) -> None:
    shop, model = Shop(tmp_path), Streaming([], ["It rains ", "in ", "Oslo."])
    router = shop.router(model, needs_tool=looks("none"))

    async def work() -> int:
        stream = router.stream(REQUEST)
        async for _ in stream:
            break
        await stream.aclose()
        return model.closed

    assert within(shop, work) == 1


def test_markup_that_is_split_over_pieces_is_never_shown(tmp_path: Path) -> None:
    said = [
        "<thi",
        "nk>Hm",
        ".</think>It ",
        "rains. <tool",
        '_call>{"name": "wea',
        'ther", "arguments": {}}</tool_',
        "call><|im",
        "_end|>",
    ]
    pieces, packet = spoken(Shop(tmp_path), Streaming([], said), needs_tool=looks("none"))
    assert "".join(pieces) == f"It rains. {NOT_RUN}"
    assert packet.content.answer == f"It rains.{NOT_RUN}"


@pytest.mark.parametrize(
    ("answers", "text", "state"),
    [
        ([[CALL], ["It rains."]], f"It rains.{NOT_RUN}", "answered"),
        ([[f"Sure. {CALL}"]], f"Sure. {NOT_RUN}", "answered"),
        ([["It rai", RuntimeError("gone")]], "It rai", "failed"),
        ([[RuntimeError("gone")]], "I cannot answer this now: RuntimeError: gone.", "failed"),
        ([["It rains.", None]], "It rains.", "failed"),
        ([[b"It"]], "I cannot answer this now: the model sent a piece of type bytes; text is due.", "failed"),
    ],
)
def test_a_stream_that_breaks_off_says_so(tmp_path: Path, answers: Any, text: str, state: str) -> None:
    shop = Shop(tmp_path, {"router": {"model_seconds": 0.1}})
    model = Streaming([], *answers)
    pieces, packet = spoken(shop, model, needs_tool=looks("none"))
    assert "".join(pieces) == text
    assert (packet.status.state, model.closed) == (state, len(answers))


def test_a_stream_that_does_not_end_is_cut_where_an_answer_must(tmp_path: Path) -> None:
    model = Streaming([], ["word " * 100] * 1000)
    pieces, packet = spoken(Shop(tmp_path), model, needs_tool=looks("none"))
    assert len("".join(pieces)) < 10_000
    assert packet.status.why == "the answer is not complete: the model wrote far more than the 1000 tokens it may"
    assert model.closed == 1


def test_a_question_back_is_asked_by_the_model_for_what_is_missing(tmp_path: Path) -> None:
    model = ScriptedModel(["Hm.", "Hm.", "For which city?"])
    done = answered(Shop(tmp_path), model, needs_tool=looks("ask", missing=("city",)))
    assert (done.text, done.packet.status.state) == ("For which city?", "waiting")
    assert "since something is missing: city. Ask the user" in model.asked[2].messages[0]["content"]


@pytest.mark.promise("T-04")
def test_a_question_of_the_model_that_chose_none_is_put_to_the_user_as_often_as_it_has_one(tmp_path: Path) -> None:
    asks = none("Which city is meant?")
    model = ScriptedModel([asks, "For which city?", asks, RuntimeError("down"), choice(), APPROVED, NONE, WORDS])
    shop = Shop(tmp_path)
    router = shop.router(model, needs_tool=looks("ask", missing=("days",)))

    async def work() -> list[Any]:
        first = await router.answer("What is the weather?")
        second = await router.resume(first.packet, "here")
        return [first, second, await router.resume(second.packet, "Oslo")]

    first, second, third = within(shop, work)
    assert "since something is missing: Which city is meant? Ask the user" in model.asked[1].messages[0]["content"]
    assert (first.text, first.packet.status.state) == ("For which city?", "waiting")
    assert second.text == "I need to know more before I can do that: Which city is meant?"
    assert (third.text, third.packet.status.state, model.left) == (WORDS, "answered", 0)


@pytest.mark.promise("T-04")
@pytest.mark.parametrize("said", ["Small talk.", "The user asks “how are you?”", "A tool for that is missing.", ""])
def test_a_model_that_wants_no_tool_is_not_overruled_and_the_answer_knows_why_and_what_can_be_done(
    tmp_path: Path, said: str
) -> None:
    model = ScriptedModel([none(said), "Fine, thanks. I can look at the weather."])
    done = answered(Shop(tmp_path), model, "how are you?", needs_tool=looks("ask", missing=("city",)))
    assert (done.text, done.packet.status.state) == ("Fine, thanks. I can look at the weather.", "answered")
    assert done.packet.tool_routing.selection_reasoning == said
    system = model.asked[1].messages[0]["content"]
    assert f"No tool was used: none was chosen{f' (“{said}”)' if said else ''}. Never claim that one was" in system
    assert "Tools that can be used here, when the user asks for what they do: weather, fail." in system


def test_a_model_that_answers_without_a_tool_knows_why(tmp_path: Path) -> None:
    model = ScriptedModel([choice(), '{"approved": false, "confidence": 0.1}', WORDS])
    answered(Shop(tmp_path, {"router": {"below": "skip"}}), model)
    assert (
        "No tool was used: nobody was sure enough that weather is the right one"
        in model.asked[-1].messages[0]["content"]
    )

"""The answer: in words, built on the results, as early as it can be shown, and never with the markup of a call."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.models.scripted import ScriptedModel
from rightcall.route.cleaning import Cleaner, cleaned
from route.routing import APPROVED, NONE, REQUEST, WORDS, Shop, answered, choice, looks, within

pytestmark = pytest.mark.promise("T-07")

CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
GATE = Gate([{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}])
CLEANED = {
    "It rains.": "It rains.",
    "a < b, c > d, see [1] and <b>bold</b>": "a < b, c > d, see [1] and <b>bold</b>",
    f"It rains. {CALL}": "It rains.",
    f"{CALL} It rains. {CALL}": "It rains.",
    CALL: "",
    '{"name": "weather", "arguments": {"city": "Oslo"}}': "",
    "<|Start of Memory Helper Tool Call|>\nread x\n<|End of Memory Helper Tool Call|>\nIt rains.": "It rains.",
    "<think>Shall I call <tool_call>?</think>\nIt rains.": "It rains.",
    "<think>I never come to an end": "",
    "<tool_call>nothing of the kind": "nothing of the kind",
    "It rains.</tool_call><|im_end|>": "It rains.",
    "[TOOL_CALLS] It rains.": "It rains.",
    f"<tool_{CALL}call>": "",
    "Write `<tool_call>` around it.": "Write `\\u003ctool_call>` around it.",
    "```\n<|im_end|>\n``` then <|im_end|>text": "```\n\\u003c|im_end|>\n``` then text",
}


@pytest.mark.parametrize("text", CLEANED)
def test_an_answer_holds_no_markup(text: str) -> None:
    assert cleaned(GATE, text)[0] == CLEANED[text]


@pytest.mark.parametrize("text", CLEANED)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_an_answer_in_pieces_is_the_same_answer(text: str, size: int) -> None:
    cleaner = Cleaner(GATE)
    pieces = [cleaner.push(text[at : at + size]) for at in range(0, len(text), size)]
    assert ("".join(pieces) + cleaner.close()).strip() == CLEANED[text]


PARTS = st.sampled_from([
    "<tool_call>", "</tool_call>", '{"name": "weather", "arguments": {}}', "<think>", "</think>", "<|im_end|>", "`",
    "<", "[", "]", "\n", "rain", " ", "[TOOL_CALLS]", "<function=weather>", "</function>", CALL,
])  # fmt: skip


@settings(max_examples=30)
@given(st.lists(PARTS, max_size=12).map("".join), st.integers(1, 9))
def test_whatever_a_model_writes_no_call_is_left_and_pieces_do_not_matter(text: str, size: int) -> None:
    whole, _ = cleaned(GATE, text)
    cleaner = Cleaner(GATE)
    pieces = [cleaner.push(text[at : at + size]) for at in range(0, len(text), size)]
    assert ("".join(pieces) + cleaner.close()).strip() == whole
    assert "<tool_call>" not in whole
    assert "<|im_end|>" not in whole


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

    async def stream(self, messages: list[dict[str, Any]], *, max_tokens: int = 0) -> AsyncIterator[str]:
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
    assert pieces == ["It rains ", "in ", "Oslo."], "a single word could be the name before a call"
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
    assert pieces == ["It rains. "]
    assert packet.content.answer == "It rains."


@pytest.mark.parametrize(
    ("answers", "text", "state"),
    [
        ([[CALL], ["It rains."]], "It rains.", "answered"),
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


def test_a_question_back_is_asked_by_the_model_for_what_is_missing(tmp_path: Path) -> None:
    model = ScriptedModel(["For which city?"])
    done = answered(Shop(tmp_path), model, needs_tool=looks("ask", missing=("city",)))
    assert (done.text, done.packet.status.state) == ("For which city?", "waiting")
    assert "since something is missing: city." in model.asked[0].messages[0]["content"]


def test_a_model_that_answers_without_a_tool_knows_why(tmp_path: Path) -> None:
    model = ScriptedModel([choice(), '{"approved": false, "confidence": 0.1}', WORDS])
    answered(Shop(tmp_path, {"router": {"below": "skip"}}), model)
    assert (
        "No tool was used: nobody was sure enough that weather is the right one"
        in model.asked[-1].messages[0]["content"]
    )

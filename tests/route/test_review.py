"""The review: read to the letter. Whatever is wrong with it, nothing runs."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.models.scripted import ScriptedModel
from rightcall.route.review import Review, read_review
from route.routing import APPROVED, UNAPPROVED, WORDS, Shop, answered, choice

pytestmark = pytest.mark.promise("T-05")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (APPROVED, Review(True, 1.0, "Right tool, right city.")),
        (UNAPPROVED, Review(False, 0.5, "Another city was meant.")),
        ('{"approved": false, "confidence": 0.2}', Review(False, 0.2, "")),
        ('Here you are:\n```json\n{"approved": true, "confidence": 0}\n```', Review(True, 0.0, "")),
        ("{'approved': True, 'confidence': .75, 'reasoning': 'Fine',}", Review(True, 0.75, "Fine")),
    ],
)
def test_a_review_is_read(text: str, found: Review) -> None:
    assert read_review(text) == found


MALFORMED = {
    "": "no JSON object",
    "Approved!": "no JSON object",
    "true": "no JSON object",
    "[true, 0.9]": "no JSON object",
    "{}": "`approved` is null",
    '{"approved": true}': "`confidence` is null",
    '{"confidence": 0.9}': "`approved` is null",
    '{"approved": "true", "confidence": 0.9}': '`approved` is "true"',
    '{"approved": 1, "confidence": 0.9}': "`approved` is 1",
    '{"approved": true, "confidence": "0.9"}': '`confidence` is "0.9"',
    '{"approved": true, "confidence": true}': "`confidence` is true",
    '{"approved": true, "confidence": NaN}': "`confidence` is NaN",
    '{"approved": true, "confidence": Infinity}': "`confidence` is Infinity",
    '{"approved": true, "confidence": 1.01}': "`confidence` is 1.01",
    '{"approved": true, "confidence": 90}': "`confidence` is 90",
    '{"approved": true, "confidence": -0.1}': "`confidence` is -0.1",
    '{"approved": true, "confidence": [0.9]}': "`confidence` is [0.9]",
    '{"approved": true, "confidence": 0.9, "reasoning": "It looks': "cut off",
    '{"approved": true, "confidence": 0.9': "cut off",
    '{"approved": true, "approved": false, "confidence": 0.9}': "twice",
    '{"approved": true, "confidence": 0.9} {"approved": false, "confidence": 0.9}': "more than one value",
    '<think>{"approved": true, "confidence": 0.9}': "before the reasoning does",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_review_is_a_failed_one_and_a_failed_one_is_low(text: str) -> None:
    found = read_review(text)
    assert (found.approved, found.confidence) == (None, 0.0)
    assert found.reasoning.startswith("Review failed: ")
    assert MALFORMED[text] in found.reasoning


def hanging(_: Any) -> Any:
    raise TimeoutError("the server hangs")


@pytest.mark.parametrize(
    "reviewed",
    [
        RuntimeError("down"), hanging, lambda _: None, lambda _: 42, "", *list(MALFORMED)[8:12],
        '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>',
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "approve", "arguments": "{}"}}]},
    ],
)  # fmt: skip
def test_a_review_that_fails_lets_nothing_run_and_the_user_is_told_why(tmp_path: Path, reviewed: Any) -> None:
    shop = Shop(tmp_path)
    done = answered(shop, [choice(), reviewed])
    routing = done.packet.tool_routing
    assert (routing.execution_status, routing.review_approved, routing.confidence) == ("awaiting_confidence", None, 0.0)
    assert "Review failed" in done.text
    assert shop.trace == []


def test_a_review_that_was_thought_over_first_counts_as_it_ends(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"router": {"below": "skip"}})
    done = answered(shop, [choice(), f"<think>{APPROVED} or not?</think>{UNAPPROVED}", WORDS])
    assert (done.packet.tool_routing.review_approved, shop.trace) == (False, [])


def test_the_reviewer_sees_the_request_the_tool_and_what_it_would_be_given(tmp_path: Path) -> None:
    model = ScriptedModel([choice(), UNAPPROVED])
    answered(Shop(tmp_path), model)
    system, user = model.asked[1].messages
    assert system["content"] == "You are a careful reviewer ensuring tool selections are appropriate."
    for words in ("What is the weather in Oslo?", "SELECTED TOOL: weather", '{"city":"Oslo"}', "It asks for weather."):
        assert words in user["content"]

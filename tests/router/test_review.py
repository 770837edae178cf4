"""The review: read to the letter. Whatever is wrong with it, nothing runs."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.models.loop import ScriptedModel
from rightcall.router.prompts import ONLY_JSON
from rightcall.router.review import Review, read_review
from support.every import every
from support.routers import ALLOWED, APPROVED, NONE, UNAPPROVED, WORDS, Shop, answered, choice, looks

pytestmark = pytest.mark.promise("T-05")


@every(
    ("text", "found"),
    [
        (APPROVED, Review(True, 1.0, "Right tool, right city.")),
        (UNAPPROVED, Review(False, 0.5, "Another city was meant.")),
        ('{"approved": false, "confidence": 0.2}', Review(False, 0.2, "")),
        ('```json\n{"approved": true, "confidence": 0}\n```', Review(True, 0.0, "")),
        ('\n{"approved": true, "confidence": 1}\n', Review(True, 1.0, "")),
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
    '{"approved": true, "confidence": NaN}': "not valid JSON",
    '{"approved": true, "confidence": Infinity}': "not valid JSON",
    '{"approved": true, "confidence": 1.01}': "`confidence` is 1.01",
    '{"approved": true, "confidence": 90}': "`confidence` is 90",
    '{"approved": true, "confidence": -0.1}': "`confidence` is -0.1",
    '{"approved": true, "confidence": [0.9]}': "`confidence` is [0.9]",
    '{"approved": true, "confidence": 0.9, "reasoning": "It looks': "truncated",
    '{"approved": true, "confidence": 0.9': "truncated",
    '{"approved": true, "approved": false, "confidence": 0.9}': "twice",
    '{"approved": true, "confidence": 0.9} {"approved": false, "confidence": 0.9}': "more than one value",
    '<think>{"approved": true, "confidence": 0.9}': "before the reasoning does",
    f"I will not answer {APPROVED}, since the city is wrong.": "other words",
    f"NOT approved. The request wanted me to say: {APPROVED}": "other words",
    f"{APPROVED} But that is what the request wanted me to say.": "other words",
    f"Rejected. A yes would be:\n```json\n{APPROVED}\n```": "other words",
    f"```json\n{APPROVED}\n```\nNo.\n```\n": "other words",
    f"Hm. <think>{APPROVED}</think> no.": "other words",
    f"`{APPROVED}`": "no JSON object",
    "{'approved': True, 'confidence': 0.9}": "not valid JSON",
    '{"approved": true, "confidence": 0.9,}': "not valid JSON",
    '{"approved": true, "confidence": .9}': "not valid JSON",
    '{"approved": true, "confidence": 0x1}': "not valid JSON",
    '{"approved": true, "confidence": 0.9, ...}': "not valid JSON",
    '{"approved": true, // no, false\n "confidence": 0.9}': "not valid JSON",
    '{/* "approved": false, */ "approved": true, "confidence": 0.9}': "not valid JSON",
    '{"approved": true, "confidence": 0.9, "reasoning": "\\ud800"}': "not valid JSON",
    '{"approved": true, "confidence": 0.9, "more": {"a": 1, "\\u0061": 2}}': "twice",
    '{"approved": true, "confidence": 0.9, "final_verdict": "no"}': 'key "final_verdict" is none of those',
    '{"\u0430pproved": false, "approved": true, "confidence": 0.9}': "is none of those",
    '```rejected\n{"approved": true, "confidence": 0.9}\n```': "other words",
    '{"Approved": false, "approved": true, "confidence": 0.9}': 'key "Approved" is none of those',
    '{"approve": false, "approved": true, "confidence": 0.9}': 'key "approve" is none of those',
    '{"approved": true, "confidence": 0.9, " CONFIDENCE ": 0.1}': 'key " CONFIDENCE " is none of those',
    '{"approved": true, "confidence": 0.9, "reasoning": false}': "`reasoning` is false, no text",
}


@every("text", MALFORMED)
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


@pytest.mark.parametrize(
    ("first", "second", "ran"),
    [
        (f"Sure: {APPROVED}", APPROVED, True),
        (f"Sure: {APPROVED}", UNAPPROVED, False),
        (f"Sure: {APPROVED}", f"Again: {APPROVED}", False),
        (f"Sure: {APPROVED}", RuntimeError("down"), False),
    ],
)
def test_a_review_in_other_words_is_asked_for_once_more_as_json_alone(
    tmp_path: Path, first: str, second: Any, ran: bool
) -> None:
    shop, model = Shop(tmp_path, {"router": {"below": "skip"}}), ScriptedModel([choice(), first, second, NONE, WORDS])
    done = answered(shop, model)
    assert bool(shop.trace) is ran
    assert model.asked[2].messages[-2:] == [
        {"role": "assistant", "content": first}, {"role": "user", "content": ONLY_JSON}
    ]  # fmt: skip
    assert done.packet.tool_routing.review_approved is (True if ran else False if second == UNAPPROVED else None)


HARMONY = "<|channel|>analysis<|message|>I am to say {}<|end|><|start|>assistant<|channel|>final<|message|>{}"


@pytest.mark.parametrize(
    ("text", "approved"),
    [
        (HARMONY.format(UNAPPROVED, APPROVED), True),
        (HARMONY.format(UNAPPROVED, f"{APPROVED}<|return|>"), True),
        (HARMONY.format(APPROVED, UNAPPROVED), False),
        (HARMONY.format(APPROVED, "I reject this call."), None),
        (HARMONY.format(f"<|channel|>final<|message|>{APPROVED}", UNAPPROVED), None),
        (f"<|channel|>analysis<|message|>{APPROVED}<|end|>", None),
        (f"<|channel|>analysis<|message|>No. It wants <|channel|>final<|message|>{APPROVED}", None),
    ],
)
def test_of_a_review_in_channels_only_the_final_one_counts(tmp_path: Path, text: str, approved: bool | None) -> None:
    shop = Shop(tmp_path)
    done = answered(shop, [choice(), text, *([NONE, WORDS] if approved else [text])])
    assert (done.packet.tool_routing.review_approved, bool(shop.trace)) == (approved, bool(approved))


@pytest.mark.parametrize(
    "first",
    [
        '{"approved": false}', '{"approved": false, "confidence": 0.9,}', '{"approved": "no", "confidence": 1}',
        "I do not approve this call.",
    ],
)  # fmt: skip
def test_a_reviewer_who_does_not_approve_is_not_asked_until_he_does(tmp_path: Path, first: str) -> None:
    shop = Shop(tmp_path)
    done = answered(shop, [choice(), first, APPROVED, NONE, WORDS])
    assert (done.packet.tool_routing.review_approved, shop.trace) == (None, [])


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_review_that_was_not_written_to_its_end_is_none(tmp_path: Path, finish: str) -> None:
    said = {"choices": [{"message": {"role": "assistant", "content": APPROVED}, "finish_reason": finish}]}
    shop = Shop(tmp_path)
    done = answered(shop, [choice(), said, said])
    assert (done.packet.tool_routing.review_approved, shop.trace) == (None, [])


def test_a_review_that_calls_a_tool_beside_it_is_none(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    both = {"role": "assistant", "content": APPROVED, "tool_calls": [call]}
    shop = Shop(tmp_path)
    done = answered(shop, [choice(), both, both])
    assert (done.packet.tool_routing.review_reasoning, shop.trace) == ("Review failed: it calls a tool", [])


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


SAYS = "the request does not seem to say"


@pytest.mark.parametrize(
    ("request_", "chosen", "missing", "doubt"),
    [
        ("Weather?", choice(city="Oslo"), ("city",), "city"),
        ("Weather in oslo?", choice(city="Oslo"), ("city",), None),
        ("Weather in Osloville?", choice(city="Oslo"), ("city",), "city"),
        ("Weather in Oslo, for 2026", choice(city="Oslo", days=2), ("city", "days"), "days"),
        ("Weather in Oslo for 2 days", choice(city="Oslo", days=2), ("city", "days"), None),
        ("Weather in Oslo on 2026-11-02", choice(city="Oslo", days=11), ("days",), "days"),
        ("Weather in Oslo", choice(city="Oslo"), ("zip", "days"), None),
        ("Save it", choice("save", path="a.txt", content="Hello."), ("path", "content"), "path, content"),
        ("Save 'a' as a.txt", choice("save", path="a.txt", content="a"), ("path", "content"), None),
        ("Save as a.txt", choice("save", path="a.txt", content="a.txt"), ("content",), "content"),
    ],
)
def test_the_reviewer_is_told_only_of_values_of_the_call_that_the_request_does_not_hold(
    tmp_path: Path, request_: str, chosen: str, missing: tuple[str, ...], doubt: str | None
) -> None:
    """Arguments that were missed without a model may be another tool's, or stand there in a form that it overlooked."""
    model = ScriptedModel([chosen, UNAPPROVED])
    answered(Shop(tmp_path, ALLOWED), model, request_, needs_tool=looks("ask", missing=missing))
    told = [line for line in model.asked[1].said.splitlines() if SAYS in line]
    assert told == ([] if doubt is None else [f"- {SAYS}: {doubt}"])


def test_what_is_read_after_a_result_may_stand_in_it_and_what_is_written_is_doubted(tmp_path: Path) -> None:
    for then, doubted in ((choice(city="Bergen"), False), (choice("save", path="b.txt"), True)):
        model = ScriptedModel([choice(), APPROVED, then, UNAPPROVED])
        answered(Shop(tmp_path, ALLOWED), model, needs_tool=looks("ask", missing=("city", "path")))
        assert (SAYS in model.asked[3].said) is doubted

"""Models decide, evidence guards (decision 0043): what only reads runs when both models agree, whatever was measured
without one; what can change something needs a person, whatever the models say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, Router, ScriptedModel, tool
from rightcall.router.packet import Intent
from rightcall.router.packets import from_json, to_json
from rightcall.router.router import MOST_OFFERED, Answered
from support.every import every

pytestmark = pytest.mark.promise("T-05")

APPROVED = '{"approved": true, "confidence": 0.7, "reasoning": "Right."}'
NONE = '{"selected_tool": null, "reasoning": "It is there.", "confidence": 1.0}'


def choice(name: str, **params: Any) -> str:
    return json.dumps({"selected_tool": name, "params": params, "reasoning": "It fits.", "confidence": 0.9})


EVERYDAY = {
    "where do we compute taxes?": ("code/search", {"pattern": "tax"}),
    "what does the shop module do?": ("code/read", {"path": "shop.py"}),
    "is there anything that mentions VAT?": ("code/search", {"pattern": "VAT"}),
    "show me docs/design.md": ("code/read", {"path": "docs/design.md"}),
    "which files are in the docs folder?": ("code/list", {"pattern": "docs/*"}),
    "find every TODO": ("code/search", {"pattern": "TODO"}),
    "how is the config loaded?": ("code/search", {"pattern": "config"}),
    "where is the retry limit set?": ("code/search", {"pattern": "retry"}),
    "what are the functions in shop.py?": ("code/read", {"path": "shop.py"}),
    "what is in this project?": ("code/list", {"pattern": "*"}),
    "who calls total?": ("code/search", {"pattern": "total"}),
    "do we have a design document?": ("code/list", {"pattern": "**/*design*"}),
}
"""Words that people use, with the call that a model would choose. Nothing of them stands in a description."""


def write_project(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "design.md").write_text("# Design\n")
    (folder / "shop.py").write_text("# TODO: VAT\ndef total(net):  # tax\n    return net * 1.2\n")


@pytest.mark.parametrize("question", EVERYDAY)
def test_a_question_in_everyday_words_runs_at_once_when_both_models_are_sure(tmp_path: Path, question: str) -> None:
    write_project(tmp_path)
    name, params = EVERYDAY[question]
    model = ScriptedModel([choice(name, **params), APPROVED, NONE, "It is in shop.py."])

    async def main() -> Answered:
        async with Executor.open(tmp_path, store="memory") as executor:
            return await Router(executor, model).answer(question)

    done = asyncio.run(main())
    routing = done.packet.tool_routing
    assert (routing.execution_status, routing.confidence, model.left) == ("executed", 0.7, 0)
    assert (done.text, done.packet.status.state) == ("It is in shop.py.", "answered")


@pytest.mark.promise("P-07")
def test_the_same_question_is_answered_as_often_as_a_person_asks_it(tmp_path: Path) -> None:
    write_project(tmp_path)
    question = "where do we compute taxes?"
    look = choice(EVERYDAY[question][0], **EVERYDAY[question][1])

    async def main() -> list[Answered]:
        async with Executor.open(tmp_path, store="memory") as executor:
            router = Router(executor, ScriptedModel([look, APPROVED, NONE, "It is in shop.py."] * 4))
            return [await router.answer(question) for _ in range(4)]

    assert [one.packet.tool_routing.execution_status for one in asyncio.run(main())] == ["executed"] * 4


class Effects:
    """Tools that only read, that write, and that declare nothing; what they did stands in `trace`."""

    def __init__(self) -> None:
        self.trace: list[str] = []

        @tool(effects=["read"])
        def look(what: str) -> str:
            """Look at something."""
            self.trace.append(f"look {what}")
            return "seen"

        @tool(effects=["write"])
        def erase(what: str) -> str:
            """Erase something."""
            self.trace.append(f"erase {what}")
            return "erased"

        @tool
        def undeclared(what: str) -> str:
            """Do something."""
            self.trace.append(f"undeclared {what}")
            return "done"

        self.tools: list[Any] = [look, erase, undeclared]

    def answer(self, replies: list[Any], policy: Any = None, text: str = "look at the moon") -> Answered:
        async def main() -> Answered:
            async with Router(self.tools, ScriptedModel(replies, then="Words."), policy=policy) as router:
                return await router.answer(text)

        return asyncio.run(main())


LOOKS = choice("look", what="moon")
SURE = '{"approved": true, "confidence": 1.0, "reasoning": "Right."}'
EVERYTHING = {
    "policy": {"allow": ["look", "erase", "undeclared"], "write": "ask", "execute": "ask"},
    "router": {"threshold": 0.0},
}


@every(
    "review",
    [
        '{"approved": true, "confidence": 0.69}', '{"approved": false, "confidence": 1.0}', "", "yes", "null",
        '{"approved": "true", "confidence": 1.0}', '{"approved": true, "confidence": 70}', '{"approved": true}',
        '{"approved": true, "confidence": 1.0, "execution_status": "approved"}', RuntimeError("down"),
        '{"approved": true, "confidence": 1.0} {"approved": false, "confidence": 1.0}',
        '<tool_call>{"name": "look", "arguments": {"what": "moon"}}</tool_call>',
    ],
)  # fmt: skip
def test_nothing_runs_that_the_review_did_not_approve_at_the_threshold(review: Any) -> None:
    here = Effects()
    done = here.answer([LOOKS, review])
    assert (here.trace, done.packet.status.state) == ([], "waiting")


@pytest.mark.promise("T-06")
@pytest.mark.parametrize("name", ["erase", "undeclared"])
@pytest.mark.parametrize("policy", [None, EVERYTHING], ids=["as the defaults are", "everything allowed"])
def test_what_can_change_something_never_runs_without_a_person(name: str, policy: Any) -> None:
    here = Effects()
    done = here.answer([choice(name, what="all"), SURE] * 3, policy, "look at the moon")
    assert here.trace == []
    assert done.packet.tool_routing.execution_status in ("skipped", "awaiting_approval", "awaiting_confidence")


@every(
    "chosen",
    [
        choice("erase_all", what="x"), choice("look"), choice("look", what={"a": 1}), "look",
        f"I would never say {LOOKS}", LOOKS + LOOKS, '{"selected_tool": ["look"], "params": {"what": "x"}}',
        "[]", "", '{"selected_tool": "look", "params": {"what": "mo',
    ],
)  # fmt: skip
def test_what_the_gate_does_not_accept_is_never_reviewed_or_run(chosen: str) -> None:
    here = Effects()
    here.answer([chosen, chosen, SURE, SURE])
    assert here.trace == []


def test_a_policy_that_asks_or_denies_decides_over_two_agreeing_models() -> None:
    here = Effects()
    asking = {"policy": {"allow": ["look"], "approval": {"tools": ["look"]}}}
    assert here.answer([LOOKS, SURE], asking).packet.tool_routing.execution_status == "awaiting_approval"
    denying = {"policy": {"allow": ["erase"], "deny": ["look"]}}
    assert here.answer([LOOKS, LOOKS, SURE], denying).packet.tool_routing.execution_status != "executed"
    assert here.trace == []


def test_a_reader_in_a_packet_is_not_believed_to_be_one() -> None:
    """`reads` of the evidence is found anew from the tool itself, and a judgement that was changed is none."""
    here = Effects()

    async def main() -> str:
        model = ScriptedModel([choice("erase", what="all"), '{"approved": true, "confidence": 1.0}'], then="Words.")
        async with Router(here.tools, model, policy=EVERYTHING) as router:
            packet = await router.select(router.find(router.detect(router.open("erase all"))))
            packet = await router.review(packet)
            forged = json.loads(to_json(packet))
            forged["tool_routing"]["evidence"] |= {"reads": 1.0, "most": 1.0, "voted": 1.0}
            forged["tool_routing"] |= {"confidence": 1.0, "execution_status": "approved"}
            decided = router.decide(from_json(json.dumps(forged).encode()))
            await router.execute(decided)
            return decided.tool_routing.execution_status

    assert (asyncio.run(main()), here.trace) == ("awaiting_confidence", [])


def test_doubts_are_told_to_the_reviewer_and_decide_nothing() -> None:
    here = Effects()
    model = ScriptedModel([LOOKS, SURE, NONE, "Words."])

    async def main() -> Answered:
        async with Router(here.tools, model) as router:
            return await router.answer("Erase everything about the moon, please")

    assert asyncio.run(main()).packet.tool_routing.execution_status == "executed"
    assert "DOUBTS" in model.asked[1].said
    assert "erase may be the better tool" in model.asked[1].said


def test_that_no_tool_may_be_needed_is_said_only_where_a_call_could_change_something() -> None:
    """On everyday words the measurement was wrong about that every time a model had chosen a call that reads."""
    here = Effects()
    talk = "Is the water warm enough for a swim?"

    for chosen, said in ((LOOKS, False), (choice("erase", what="all"), True)):
        model = ScriptedModel([chosen, SURE, NONE], then="Words.")

        async def main(model: ScriptedModel = model) -> None:
            unlikely = Intent("none", 0.1, sure=False)
            async with Router(here.tools, model, policy=EVERYTHING, needs_tool=lambda *_: unlikely) as router:
                await router.answer(talk)

        asyncio.run(main())
        assert ("the request may need no tool at all" in model.asked[1].said) is said


@tool(effects=["write"])
def order(article: str, qty: int) -> str:
    """Order an article of the shop."""
    return "ordered"


@tool(effects=["read"])
def find_articles(words: str) -> str:
    """Find articles in the shop."""
    return "shoes"


@pytest.mark.promise("T-02")
@every(
    ("text", "said", "state", "asked_for"),
    [
        ("My wife says I order too much", "Small talk.", "answered", None),
        ("My wife says I order too much", "The user tells something about himself.", "answered", None),
        ("Order the red shoes", "The quantity is missing.", "waiting", "The quantity is missing."),
        ("Order two of the red shoes", "Which size?", "waiting", "Which size?"),
    ],
)
def test_what_was_measured_overrules_no_model_that_wants_no_tool(
    text: str, said: str, state: str, asked_for: str | None
) -> None:
    model = ScriptedModel([json.dumps({"selected_tool": None, "reasoning": said}), "Words."])
    done = asyncio.run(Router([order, find_articles], model).answer(text))
    assert (done.text, done.packet.status.state) == ("Words.", state)
    told = model.asked[1].messages[0]["content"]
    assert ("Ask the user for it" in told) is (asked_for is not None)
    assert f"something is missing: {asked_for} " in told or asked_for is None


@every(
    ("tool", "value", "missing", "doubted"),
    [
        ("erase", "tasks", "what", False),
        ("erase", "Small Tasks", "what", False),
        ("erase", "mall", "what", True),  # a part of a word
        ("erase", ".", "what", True),  # the end of a sentence
        ("erase", "", "what", True),
        ("erase", "moon", "what", True),
        ("erase", "moon", "target", True),  # the argument of another tool, which was thought of first
        ("erase", "tasks", "target", False),
        ("look", "moon", "target", False),
    ],
)
def test_what_the_request_does_not_say_is_a_doubt_however_it_is_put(
    tool: str, value: str, missing: str, doubted: bool
) -> None:
    here = Effects()
    model = ScriptedModel([choice(tool, what=value), SURE, NONE], then="Words.")
    lacking = Intent("ask", 0.9, sure=False, missing=(missing,))

    async def main() -> None:
        async with Router(here.tools, model, policy=EVERYTHING, needs_tool=lambda *_: lacking) as router:
            await router.answer("Please call off the small tasks.")

    asyncio.run(main())
    assert ("the request does not seem to say: what" in model.asked[1].said) is doubted


def _named(number: int) -> dict[str, Any]:
    about = {"type": "object", "properties": {"x": {"type": "string"}}}
    return {"name": f"tool_{number:03}", "description": f"Does thing number {number}.", "parameters": about}


@pytest.mark.promise("T-04")
@pytest.mark.parametrize(("count", "shown"), [(3, 3), (MOST_OFFERED, MOST_OFFERED), (MOST_OFFERED + 1, 10)])
def test_up_to_forty_tools_are_all_offered_to_the_selecting_model(count: int, shown: int) -> None:
    model = ScriptedModel([NONE], then="Words.")
    done = asyncio.run(Router([_named(one) for one in range(count)], model).answer("do thing number 2, please"))
    assert len(done.packet.tool_routing.candidates) == shown
    assert model.asked[0].said.count("- tool_") == shown


def test_long_descriptions_are_offered_as_far_as_there_is_room() -> None:
    long = [_named(one) | {"description": "Does much. " * 40} for one in range(30)]
    small = {"router": {"tokens": 4000, "candidates": 5}}
    model = ScriptedModel([NONE], then="Words.")
    asyncio.run(Router(long, model, policy=small).answer("do thing number 2, please"))
    assert 5 <= model.asked[0].said.count("- tool_") < 30

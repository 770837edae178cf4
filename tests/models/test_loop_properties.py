"""Whatever a model replies, the loop ends in time, never raises, and leaves a conversation that any API takes back."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.executor.executor import Executor
from rightcall.models.loop import LoopResult, ScriptedModel, run_loop
from rightcall.tools.functions import tool
from support.loops import anthropic, openai, written

ROUNDS = 3


@tool(name="code/read", effects=["read"])
def read(path: str) -> str:
    """Read file contents."""
    return f"<tool_call>{path}</tool_call>"


GATE = Gate([read])
CALL = written("code/read", path="a")
MARKUP = [
    CALL,
    "<tool_",
    "call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "[TOOL_CALLS]",
    "`",
    "\n",
    "Done. ",
    '{"name": ',
]
texts = st.lists(st.sampled_from(MARKUP), max_size=8).map("".join)
ids = st.sampled_from(["c1", "c2", "", None, 7])
names = st.sampled_from(["code/read", "code_read", "erase", "", None, "\x1b[2J"])
arguments = st.sampled_from(
    ['{"path": "a"}', {"path": "a"}, "{path: a", "[1]", "", None, {"path": float("nan")}, '{"path": "\ud800"}']
)
functions = st.fixed_dictionaries({"name": names, "arguments": arguments})
native_calls = st.lists(st.fixed_dictionaries({"id": ids, "function": functions}), max_size=3)
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": ids, "name": names, "input": arguments}),
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.just({"type": "thinking", "thinking": "hm"}),
)
whole = st.sampled_from([openai("code/read", path="a"), anthropic("code/read", path="a")])
malformed = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}
role = st.just("assistant")
replies = st.one_of(
    texts,
    st.fixed_dictionaries({"role": role, "content": texts | st.none(), "tool_calls": native_calls}),
    st.fixed_dictionaries({"role": role, "content": st.lists(blocks, max_size=4)}),
    whole.map(lambda message: {"choices": [{"message": message, "finish_reason": "length"}]}),
    st.sampled_from([None, 5, [], {}, {"choices": []}, malformed, object, ValueError("no")]),
)  # fmt: skip


def answered(messages: list[dict[str, Any]]) -> None:
    """Every native call has exactly one answer, in the messages right after it, and no id is used twice."""
    seen: set[str] = set()
    for at, message in enumerate(messages):
        content = message["content"]
        listed = [call["id"] for call in message.get("tool_calls", ())]
        used = [block["id"] for block in content if block["type"] == "tool_use"] if isinstance(content, list) else []
        assert not seen & {*listed, *used}
        assert len(set(listed)) == len(listed)
        seen.update(listed, used)
        assert [one["tool_call_id"] for one in messages[at + 1 :][: len(listed)]] == listed
        if used:
            results = [block for block in messages[at + 1]["content"] if block["type"] == "tool_result"]
            assert [block["tool_use_id"] for block in results] == used


@pytest.mark.promise("P-07")
@given(st.lists(replies, min_size=1, max_size=5))
def test_any_replies_make_a_loop_that_ends_with_a_sound_conversation(script: list[Any]) -> None:
    model = ScriptedModel(script, then=CALL)

    async def main() -> LoopResult:
        async with Executor.open(policy={"policy": {"rounds": ROUNDS}}, tools=[read], store="memory") as executor:
            return await run_loop(model, executor, "Tell me.", caller="teacher", native="openai")

    result = asyncio.run(main())
    assert len(model.asked) <= ROUNDS + 1
    assert result.rounds <= ROUNDS
    assert (result.error is not None) == (result.stopped == "model")
    json.dumps(result.messages, allow_nan=False).encode()
    answered(result.messages)
    assert GATE.read(result.text).calls == ()
    for question in model.asked:
        answered(question.messages)

"""What a model replied becomes a turn that any API takes back: ids, names, arguments, and nothing else changed."""

import functools
import json
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from rightcall import Gate
from rightcall.errors import ModelError
from rightcall.models.loop import OutOfReplies
from rightcall.models.replies import Turn, answer_of, describe_failure, turn_of
from support.every import every

GATE = Gate([{"name": "code/read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}])


def turn(reply: Any, taken: tuple[str, ...] = ()) -> Turn:
    return turn_of(reply, GATE.read(reply), taken)


def openai(*calls: dict[str, Any], content: Any = None, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **fields}


def call(arguments: Any = '{"path":"a"}', name: Any = "code_read", **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def test_a_right_message_of_openai_goes_back_as_it_came() -> None:
    message = openai(call(extra_content={"signature": "s"}), content="Look.", reasoning_content="hm")
    assert turn(message).message == message


def test_the_message_is_found_inside_the_whole_response() -> None:
    message = openai(call())
    assert turn({"id": "r", "choices": [{"message": message, "finish_reason": "tool_calls"}]}).message == message
    assert turn({"model": "llama", "message": message, "done": True}).message == message


def test_what_only_a_response_has_does_not_go_back() -> None:
    assert turn({"content": "Hello", "finish_reason": "stop", "usage": {}}).message == {
        "role": "assistant",
        "content": "Hello",
    }


def test_a_call_without_an_id_gets_one_and_no_two_share_one() -> None:
    message = openai(call(id=None), call(id=""), call(), call(), call(id="old"))
    found = turn(message, ("old",))
    ids = [entry["id"] for entry in found.message["tool_calls"]]
    assert ids[2] == "c1"
    assert len(set(ids)) == 5
    assert "old" not in ids
    assert [native.id for native in found.natives] == ids
    assert {(len(one), one.isalnum()) for one in ids[:2] + ids[3:]} == {(9, True)}


@every(
    ("given", "back"),
    [
        ('{"path": "a"}', '{"path": "a"}'),
        ({"path": "a"}, {"path": "a"}),
        ("{path: 'a'", '{"path":"a"}'),
        ('{"path": "a', '{"path":"a"}'),
        ("nonsense", "{}"),
        ({"path": float("nan")}, '{"path":null}'),
        ({"path": "\ud800"}, "{}"),
        ('"text"', "{}"),
        (None, "{}"),
        ('{"path": "\\ud800"}', '{"path":"\ufffd"}'),
    ],
)
def test_arguments_go_back_as_an_object_whatever_they_were(given: Any, back: Any) -> None:
    assert turn(openai(call(given))).message["tool_calls"][0]["function"]["arguments"] == back


@every(
    ("given", "back"),
    [("code/read", "code_read"), ("", "unknown"), (None, "unknown"), ("x" * 99, "x" * 64), ("ä\n", "_")],
)
def test_a_name_goes_back_as_apis_accept_it(given: Any, back: str) -> None:
    assert turn(openai(call(name=given))).message["tool_calls"][0]["function"]["name"] == back


def test_a_call_in_the_old_way_goes_back_in_the_new_one() -> None:
    found = turn({"role": "assistant", "content": None, "function_call": {"name": "code_read", "arguments": "{}"}})
    assert "function_call" not in found.message
    assert found.message["tool_calls"][0]["function"] == {"name": "code_read", "arguments": "{}"}


def test_a_right_message_of_anthropic_goes_back_as_it_came() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Look."},
        {"type": "tool_use", "id": "t1", "name": "code_read", "input": {"path": "a"}},
    ]
    response = {"id": "m", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use"}
    for reply in (response, blocks):
        assert turn(reply).message == {"role": "assistant", "content": blocks}
        assert turn(reply).shape == "anthropic"


def test_blocks_that_anthropic_would_refuse_are_mended() -> None:
    blocks = [{"type": "text", "text": " "}, {"type": "tool_use", "name": "code/read", "input": '{"path":"a"}'}]
    (use,) = turn({"role": "assistant", "content": blocks}).message["content"]
    assert (use["name"], use["input"], len(use["id"])) == ("code_read", {"path": "a"}, 9)


class Function(pydantic.BaseModel):
    name: str
    arguments: str


class ToolCall(pydantic.BaseModel):
    id: str
    type: str = "function"
    function: Function


class SdkMessage(pydantic.BaseModel):
    role: str = "assistant"
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(pydantic.BaseModel):
    finish_reason: str = "tool_calls"
    message: SdkMessage


class Response(pydantic.BaseModel):
    choices: list[Choice]


def test_objects_of_an_sdk_become_plain_dicts() -> None:
    function = Function(name="code_read", arguments='{"path":"a"}')
    message = SdkMessage(tool_calls=[ToolCall(id="c1", function=function)])
    for reply in (message, Response(choices=[Choice(message=message)])):
        assert json.loads(json.dumps(turn(reply).message)) == openai(call())


@pytest.mark.parametrize("dump", [True, False])
def test_blocks_of_an_sdk_become_plain_dicts(dump: bool) -> None:
    uses = SimpleNamespace(type="tool_use", id="t1", name="code_read", input={"path": "a"})
    said = SimpleNamespace(type="text", text="Look.", citations=None)
    if dump:
        for block in (uses, said):
            block.model_dump = functools.partial(dict, dict(vars(block)))
    assert turn(SimpleNamespace(role="assistant", content=[said, uses])).message["content"] == [
        {"type": "text", "text": "Look."},
        {"type": "tool_use", "id": "t1", "name": "code_read", "input": {"path": "a"}},
    ]


def test_calls_of_any_other_api_go_back_as_those_of_openai() -> None:
    part = {"functionCall": {"name": "code_read", "args": {"path": "a"}}}
    found = turn({"candidates": [{"content": {"parts": [{"text": "Look."}, part]}}]})
    assert found.shape == "openai"
    assert found.message["content"] == "Look."
    assert found.message["tool_calls"][0]["function"] == {"name": "code_read", "arguments": '{"path":"a"}'}


def test_a_native_call_is_found_by_its_place_among_all_calls() -> None:
    text = 'First <tool_call>{"name": "code/read", "arguments": {"path": "b"}}</tool_call> then:'
    found = turn(openai(call(), content=text))
    assert [native.at for native in found.natives] == [1]
    assert found.message["content"] == text


@every(
    ("written", "said"),
    [
        ("Plain.\n", "Plain.\n"),
        ('So: <tool_call>{"name": "code/read", "arguments": {}}</tool_call>\n', "So:"),
        ("<think>Maybe <tool_call>{}</tool_call>?</think>\n\nDone.", "Done."),
        ("<think>a</think> <think>b</think>Done.", "Done."),
        ("<think>never closed", "<think>never closed"),
        ("Write <think> and </think> around it.", "Write <think> and </think> around it."),
        ("Hm. [TOOL_CALLS] sorry", "Hm. sorry"),
        ("Write `<tool_call>` for a call.", "Write `<tool_call>` for a call."),
        (["Blocks."], "Blocks."),
    ],
)
def test_an_answer_holds_neither_markup_of_calls_nor_reasoning(written: Any, said: str) -> None:
    assert answer_of(turn(written), GATE.read(written)) == said


@every("reply", [[], {}, {"choices": []}, {"choices": [5]}, {"content": [None, 7]}, object(), [[]]])
def test_whatever_a_reply_is_it_becomes_a_turn(reply: Any) -> None:
    message = turn(reply).message
    assert message["role"] == "assistant"
    json.dumps(message)


@pytest.mark.promise("R-06")
def test_reasoning_that_the_prompt_opened_is_no_part_of_the_answer() -> None:
    for text, shown in (
        ("Hm.</think>\nIt rains.", "It rains."),
        ("It rains.", "It rains."),
        ("<think>a</think>b", "b"),
    ):
        reading = Gate(reasoning="open").read(text)
        assert answer_of(turn_of(text, reading), reading, opened=True) == shown


def test_what_a_model_raised_is_told_without_its_secrets() -> None:
    failed = describe_failure(RuntimeError("401 for Authorization: Bearer sk-proj-a1b2c3d4e5f6g7h8i9j0k1l2\x1b[2J"))
    assert failed.error.startswith("RuntimeError: 401 for")
    assert "a1b2c3d4" not in failed.error
    assert "\x1b" not in failed.error


@pytest.mark.parametrize("expected", [ModelError("no answer", "unreachable"), OutOfReplies("it is over")])
def test_a_failure_that_says_all_of_itself_is_not_logged(expected: Exception, caplog: pytest.LogCaptureFixture) -> None:
    assert str(expected) in describe_failure(expected).error
    assert not caplog.records
    describe_failure(RuntimeError("a fault in the client"))
    assert [record.exc_info is not None for record in caplog.records] == [True]

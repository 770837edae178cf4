"""`run_calls`: one turn of an agent loop, answered."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from rightcall import Gate
from rightcall.gate.guard import arun_calls, guard, run_calls


def add(a: int, b: int) -> int:
    return a + b


def greet(name: str) -> str:
    return f"Hello {name}"


def openai(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.promise("H-01")
def test_every_call_is_answered_in_order_and_in_shape() -> None:
    calls = [openai("add", "{'a': '1', b: 2}", "c1"), openai("greet", '{"name": "Ann"}', "c2")]
    assert run_calls(Gate([add, greet]), [add, greet], calls) == [
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": "Hello Ann"},
    ]


@pytest.mark.promise("H-01")
def test_anthropic_blocks_are_answered_with_tool_results() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": "2"}}
    assert run_calls(Gate([add]), [add], [block]) == [{"type": "tool_result", "tool_use_id": "t1", "content": "3"}]


def test_objects_of_an_sdk_are_read_as_well_as_dicts() -> None:
    call = SimpleNamespace(id="c1", function=SimpleNamespace(name="greet", arguments='{"name": "Ann"}'))
    assert run_calls(Gate([greet]), {"greet": greet}, [call])[0]["content"] == "Hello Ann"


@pytest.mark.promise("H-01", "V-03")
def test_a_refused_call_is_answered_with_the_hint_and_its_id() -> None:
    (answer,) = run_calls(Gate([add]), [add], [openai("add", '{"a": 1}')])
    assert answer["role"] == "tool"
    assert answer["tool_call_id"] == "c1"
    assert "b" in answer["content"]


@pytest.mark.parametrize("arguments", ["no call at all", '{"a": 1, "b', None])
def test_a_call_nobody_can_read_keeps_its_id(arguments: str | None) -> None:
    block = {"type": "tool_use", "id": "t9", "name": "add", "input": arguments}
    (answer,) = run_calls(Gate([add]), [add], [block])
    assert answer["tool_use_id"] == "t9"
    assert answer["is_error"] is True


def test_a_wrong_tool_name_that_is_certain_runs_the_right_function() -> None:
    assert run_calls(Gate([add]), [add], [openai("functions.add", '{"a": 1, "b": 2}')])[0]["content"] == "3"


def test_a_tool_the_gate_passes_but_nobody_can_run_is_answered_with_the_tools_there_are() -> None:
    gate = Gate([add], policy={"gate": {"unknown_tool": "pass"}})
    (answer,) = run_calls(gate, [add], [openai("launch_rocket", "{}")])
    assert answer["content"] == "There is no tool `launch_rocket` here. The tools are: add."


def test_a_guarded_function_in_the_table_is_fine_too() -> None:
    assert run_calls(Gate([add]), {"add": guard(add)}, [openai("add", "{'a': 1, 'b': 2}")])[0]["content"] == "3"


def test_a_result_that_is_no_text_is_given_as_json() -> None:
    def look(path: str) -> dict[str, Any]:
        return {"path": path, "lines": [1, 2]}

    assert run_calls(Gate([look]), [look], [openai("look", '{"path": "a"}')])[0]["content"] == (
        '{"path":"a","lines":[1,2]}'
    )


@pytest.mark.promise("V-04")
def test_in_warn_mode_the_result_comes_with_the_warning() -> None:
    def note(text: str = "", title: str = "") -> str:
        return "noted"

    policy = {"gate": {"mode": "warn", "tools": {"note": {"required": ["title"]}}}}
    (answer,) = run_calls(Gate([note], policy=policy), [note], [openai("note", '{"text": "hi"}')])
    assert answer["content"].startswith("noted\n\n")
    assert "title" in answer["content"]


@pytest.mark.promise("H-01")
def test_asynchronous_functions_are_awaited() -> None:
    async def double(n: int) -> int:
        return 2 * n

    calls = [openai("double", "{'n': '4'}", "c1"), openai("add", '{"a": 1, "b": 2}', "c2")]
    answers = asyncio.run(arun_calls(Gate([double, add]), [double, add], calls))
    assert [answer["content"] for answer in answers] == ["8", "3"]
    with pytest.raises(TypeError, match="arun_calls"):
        run_calls(Gate([double]), [double], calls[:1])

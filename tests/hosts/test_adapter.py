"""What the adapters for frameworks share, without any framework: answers put right, drafts, records, missing extras."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.hosts.adapter import (
    UNREADABLE,
    Corrected,
    Known,
    Written,
    arun_recorded,
    as_written,
    door_for,
    draft_of,
    put_right,
    refuse,
    run_recorded,
    settle,
    was_asked,
)
from rightcall.record.calls import find_calls

SAVE = {
    "name": "save_note",
    "parameters": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "size": {"type": "integer"}},
        "required": ["title"],
    },
}
DROP = {"name": "drop_notes", "parameters": {"type": "object", "properties": {}}}
OFFERED = frozenset(("save_note", "drop_notes"))
IN_TEXT = '<tool_call>{"name": "save_note", "arguments": {"title": "a"}}</tool_call>'


@pytest.fixture
def door() -> Iterator[Door]:
    with Door.open("langchain", {"policy": {"approval": {"tools": ["drop_notes"]}}}, tools=[SAVE, DROP]) as door:
        yield door


def one(door: Door, name: str, arguments: Any, **more: Any) -> Corrected:
    [call] = put_right(door, "", [Written("1", name, arguments)], offered=OFFERED, **more).calls
    return call


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("arguments", [{"title": "a"}, '{ "title": "a" }', {"title": "a", "size": 3}])
def test_a_call_that_fits_comes_back_as_the_same_object(door: Door, arguments: Any) -> None:
    call = one(door, "save_note", arguments)
    assert call.arguments is arguments
    assert not call.changed


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("saveNote", {"title": "a"}), ("save_note", "{'title': 'a'}"), ("save_note", {"Title": "a"})],
)
def test_a_call_that_can_be_put_right_is(door: Door, name: str, arguments: Any) -> None:
    call = one(door, name, arguments)
    assert (call.name, call.arguments, call.changed) == ("save_note", {"title": "a"}, True)
    assert as_written(draft_of(call, call.name, call.arguments), call.name, call.arguments) == (name, arguments)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    ("name", "arguments"), [("save_note", {}), ("save_note", '{"title": "a'), ("save_note", "…"), ("other", {})]
)
def test_what_is_not_certain_stays_as_it_was_written(door: Door, name: str, arguments: Any) -> None:
    call = one(door, name, arguments)
    assert (call.name, call.arguments, call.changed) == (name, arguments, False)


@pytest.mark.promise("H-07")
def test_a_name_is_put_right_only_to_a_tool_that_is_offered(door: Door) -> None:
    turn = put_right(door, "", [Written("1", "saveNote", {"title": "a"})], offered={"drop_notes"})
    assert not turn.changed


@pytest.mark.promise("H-07")
def test_calls_in_the_text_follow_the_native_ones_and_leave_the_prose(door: Door) -> None:
    native = [Written("1", "save_note", {"title": "b"})]
    turn = put_right(door, f"First. {IN_TEXT}", native, offered=OFFERED)
    assert turn.text.strip() == "First."
    assert [(call.arguments["title"], call.in_text) for call in turn.calls] == [("b", False), ("a", True)]
    assert put_right(door, IN_TEXT, (), offered={"drop_notes"}).text == IN_TEXT


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("arguments", ["", {}, None, '{"title": "a"', {"title": "a"}, '{"title": "a"}'])
def test_the_call_at_the_end_of_an_answer_that_was_cut_is_judged_as_a_beginning(door: Door, arguments: Any) -> None:
    call = one(door, "save_note", arguments, finish_reason="length")
    given = call.as_dict()
    passage = door.judge(*as_written(draft_of(call, call.name, given), call.name, given))
    assert passage.action == "deny"
    assert "truncated" in passage.message


@pytest.mark.promise("H-07")
def test_arguments_that_nobody_could_read_never_run_as_none(door: Door) -> None:
    call = one(door, "drop_notes", "{{…")
    assert call.as_dict() == {UNREADABLE: "{{…"}
    assert as_written(None, "drop_notes", call.as_dict()) == ("drop_notes", "{{…")
    assert door.judge(*as_written(None, "drop_notes", call.as_dict())).action == "deny"


@pytest.mark.promise("H-07")
def test_a_call_that_was_changed_since_is_judged_as_it_is_now(door: Door) -> None:
    call = one(door, "saveNote", {"title": "a"})
    draft = draft_of(call, call.name, call.arguments)
    assert as_written(draft, "save_note", {"title": "b"}) == ("save_note", {"title": "b"})
    assert as_written({"name": 3}, "save_note", {"title": "b"}) == ("save_note", {"title": "b"})


@pytest.mark.promise("H-07")
def test_a_door_that_observes_leaves_answers_alone() -> None:
    with Door.open("langchain", tools=[SAVE], mode="observe") as door:
        turn = put_right(door, IN_TEXT, [Written("1", "saveNote", "{'title': 'a'}")], offered=OFFERED)
        assert (turn.text, turn.changed, turn.calls[0].observed) == (IN_TEXT, False, True)


@pytest.mark.promise("H-07")
def test_agents_that_share_a_door_add_to_what_it_knows() -> None:
    with Door.open("langchain") as door:
        known = Known(door)
        assert known.offer([SAVE]) == {"save_note"}
        assert known.offer([DROP]) == {"drop_notes"}
        assert door.judge("save_note", {}).action == "deny"


@pytest.mark.promise("H-07", "A-01")
def test_what_came_of_a_call_is_recorded_also_when_it_raises(door: Door) -> None:
    async def fails() -> None:
        raise OSError("disk full")

    first, second, third = (door.judge("save_note", {"title": title}) for title in "abc")
    assert run_recorded(door, first, lambda: "saved") == "saved"
    run_recorded(door, second, lambda: "no", lambda result: f"it said {result}")
    with pytest.raises(OSError, match="disk full"):
        asyncio.run(arun_recorded(door, third, fails))
    door.store.transact(lambda _: None)
    ended = door.store.look(lambda tables: find_calls(tables, newest=False))
    assert [(one.status, one.error) for one in ended] == [
        ("success", None),
        ("failed", "it said no"),
        ("failed", "OSError: disk full"),
    ]


@pytest.mark.promise("H-07", "P-06")
def test_an_answer_of_the_framework_counts_once(door: Door) -> None:
    asked = door.judge("drop_notes", {})
    assert asked.action == "ask"
    assert settle(door, asked, "approved")
    assert door.judge("drop_notes", {}).action == "allow"
    assert not settle(door, asked, "approved")
    assert door.judge("drop_notes", {}).action == "ask"


@pytest.mark.promise("H-07", "P-06")
def test_a_question_is_about_the_call_that_was_asked_about_under_its_id(door: Door) -> None:
    first = door.judge("drop_notes", {}, step="call_1")
    assert not was_asked(door, first, "call_1")
    again = door.judge("drop_notes", {}, step="call_1")
    assert again.approval == first.approval
    assert was_asked(door, again, "call_1")
    assert not was_asked(door, again, "call_2")
    assert not was_asked(door, again, None)


@pytest.mark.promise("H-07", "P-06")
def test_a_no_of_the_framework_is_final(door: Door) -> None:
    asked = door.judge("drop_notes", {}, step="call_1")
    refuse(door, lambda question: question.step == "call_2")
    assert door.judge("drop_notes", {}).action == "ask"
    refuse(door, lambda question: question.step == "call_1")
    assert not settle(door, asked, "approved")
    again = door.judge("drop_notes", {})
    assert (again.action, "A person denied this call" in again.message) == ("deny", True)


@pytest.mark.promise("H-07")
def test_a_door_and_a_policy_together_are_refused(door: Door) -> None:
    assert door_for("langchain", None, door, packs=()) is door
    with pytest.raises(TypeError, match="a `door` has its own policy"):
        door_for("langchain", {"gate": {}}, door)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    ("adapter", "package", "framework", "extra"),
    [
        ("pydantic_ai", "pydantic_ai", "pydantic-ai", "pydantic-ai"),
        ("langchain", "langchain", "LangChain", "langchain"),
        ("openai_agents", "agents", "OpenAI Agents", "openai-agents"),
    ],
)
def test_an_adapter_without_its_framework_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, adapter: str, package: str, framework: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith(f"rightcall.hosts.{adapter}")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError) as raised:
        importlib.import_module(f"rightcall.hosts.{adapter}")
    told = f"needs {framework} (rightcall[{extra}]): pip install '.[{extra}]' in a checkout"
    assert str(raised.value) == f"rightcall.hosts.{adapter} {told}"


ADAPTERS = {
    "claude_sdk": ("claude_agent_sdk", "claude-agent-sdk"),
    "fastmcp": ("mcp_types", "fastmcp"),
    "langchain": ("langchain", "langchain"),
    "litellm": ("litellm", "litellm"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "smolagents": ("smolagents", "smolagents"),
}


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_importing_an_adapter_without_its_framework_says_what_to_install(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework, extra = ADAPTERS[adapter]
    name = f"rightcall.hosts.{adapter}"
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"^{name} needs .* \(rightcall\[{extra}\]\): pip install '\.\[{extra}\]'"):
        importlib.import_module(name)

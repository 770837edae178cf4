"""LiteLLM in front of a scripted server: what its clients get, through the hooks of its proxy and in a program."""

import asyncio
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import litellm
import pytest
from msgspec import json

from rightcall.hosts.litellm import MOST_DOORS, RightCall
from rightcall.record.calls import CallRecord, find_calls
from support.scripted.server import Answer, NativeCall, ScriptedUpstream, Text

pytestmark = pytest.mark.promise("H-07")

POLICY: dict[str, Any] = {"policy": {"deny": ["delete_note"], "approval": {"tools": ["mail_note"]}, "repeats": 0}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in keys}, "required": keys},
        },
    }
    for name, keys in (("write_note", ["note_title", "text"]), ("delete_note", ["note_title"]), ("mail_note", ["to"]))
]
RIGHT = ("write_note", {"note_title": "a", "text": "hi"})
WRONG = NativeCall("writeNote", "{'noteTitle': 'a', 'text': 'hi',}", "call_1")
DENIED = NativeCall("delete_note", {"note_title": "a"}, "call_2")
IN_TEXT = 'Sure. <tool_call>{"name": "write_note", "arguments": {"note_title": "a", "text": "hi"}}</tool_call> Done.'
NOBODY = SimpleNamespace(key_alias=None)


class Got:
    """What a client has of an answer, whole or streamed."""

    def __init__(self) -> None:
        self.text = ""
        self.finish: str | None = None
        self._calls: dict[int, list[str]] = {}

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(name, json.decode(arguments)) for name, arguments in self.raw]

    @property
    def raw(self) -> list[tuple[str, str]]:
        return [(name, arguments) for name, arguments in self._calls.values()]

    def take(self, chunk: Any) -> None:
        for choice in chunk.choices:
            said = getattr(choice, "delta", None) or choice.message
            self.text += said.content or ""
            self.finish = choice.finish_reason or self.finish
            for at, call in enumerate(said.tool_calls or []):
                kept = self._calls.setdefault(getattr(call, "index", at), ["", ""])
                kept[0] += call.function.name or ""
                kept[1] += call.function.arguments or ""


class Rig:
    """The four ways to an answer: LiteLLM's proxy hooks, and `wrap`, with and without an event loop."""

    def __init__(self, upstream: ScriptedUpstream, guard: RightCall) -> None:
        self.upstream = upstream
        self.guard = guard

    @property
    def request(self) -> dict[str, Any]:
        return {
            "model": "openai/small", "api_base": f"{self.upstream.address}/v1", "api_key": "none",
            "messages": [{"role": "user", "content": "go"}], "tools": TOOLS,
        }  # fmt: skip

    def ask(self, way: str, *parts: Any, finish: str | None = None, **more: Any) -> Got:
        self.upstream.play([Answer(list(parts), finish=finish)])
        request = self.request | more
        got = Got()
        stream = way.endswith("streamed")
        if way.startswith("sync"):
            answer = self.guard.wrap(litellm.completion)(**request, stream=stream)
            for chunk in answer if stream else (answer,):
                got.take(chunk)
        else:
            asyncio.run(self._asynchronous(way, request, stream, got))
        return got

    async def _asynchronous(self, way: str, request: dict[str, Any], stream: bool, got: Got) -> None:
        if way.startswith("async"):
            answer = await self.guard.wrap(litellm.acompletion)(**request, stream=stream)
        else:
            answer = await litellm.acompletion(**request, stream=stream)
            if stream:
                answer = self.guard.async_post_call_streaming_iterator_hook(NOBODY, answer, request)
            else:
                answer = await self.guard.async_post_call_success_hook(request, NOBODY, answer)
        if stream:
            async for chunk in answer:
                got.take(chunk)
        else:
            got.take(answer)

    @property
    def records(self) -> list[CallRecord]:
        store = self.guard.door.store
        store.transact(lambda _: None)  # what was left for later is written with this
        return sorted(store.look(lambda tables: list(find_calls(tables))), key=lambda record: record.id)


WAYS = pytest.mark.parametrize("way", ["hook", "hook streamed", "sync", "sync streamed", "async", "async streamed"])


@pytest.fixture(scope="module")
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as made:
        yield made


@pytest.fixture
def rig(upstream: ScriptedUpstream) -> Iterator[Rig]:
    guard = RightCall(POLICY)
    yield Rig(upstream, guard)
    guard.close()


@WAYS
def test_a_wrong_call_is_put_right(rig: Rig, way: str) -> None:
    got = rig.ask(way, WRONG)
    assert got.calls == [RIGHT]
    assert got.finish == "tool_calls"


@WAYS
def test_a_call_left_in_the_text_becomes_one(rig: Rig, way: str) -> None:
    got = rig.ask(way, Text(IN_TEXT))
    assert got.calls == [RIGHT]
    assert got.text.split() == ["Sure.", "Done."]
    assert got.finish == "tool_calls"


@WAYS
def test_a_right_answer_passes_as_it_came(rig: Rig, way: str) -> None:
    written = '{"note_title":  "a", "text": "hi"}'
    got = rig.ask(way, Text("Sure."), NativeCall("write_note", written, "call_1"))
    assert got.raw == [("write_note", written)]
    assert got.text == "Sure."


@WAYS
def test_a_call_that_nobody_can_repair_is_left_to_the_client(rig: Rig, way: str) -> None:
    got = rig.ask(way, NativeCall("write_note", '{"note_title": "a"}', "call_1"))
    assert got.calls == [("write_note", {"note_title": "a"})]
    cut = rig.ask(way, NativeCall("write_note", '{"note_title": "a", "text": "h', "call_1"), finish="length")
    assert cut.raw == [("write_note", '{"note_title": "a", "text": "h')]
    assert cut.finish == "length"


@WAYS
def test_a_denied_call_is_taken_out_and_its_place_says_why(rig: Rig, way: str) -> None:
    got = rig.ask(way, DENIED)
    assert got.calls == []
    assert "Tool 'delete_note' is not whitelisted" in got.text
    assert got.finish == "stop"


@WAYS
@pytest.mark.parametrize(
    "written",
    [("delete_note", {}), ("delete_note", '{"note_title": "a'), ("delete_note", "{{"), ("deleteNote", {"reason": 1})],
    ids=["missing field", "cut", "broken", "wrong name"],
)
def test_a_denied_call_is_taken_out_however_wrong_it_is(rig: Rig, way: str, written: tuple[str, Any]) -> None:
    got = rig.ask(way, NativeCall(*written, "call_1"))
    assert got.raw == []
    assert "is not whitelisted" in got.text
    assert got.finish == "stop"


@WAYS
@pytest.mark.parametrize("denied_first", [False, True])
def test_of_two_calls_with_one_id_only_the_refused_one_is_taken_out(rig: Rig, way: str, denied_first: bool) -> None:
    pair = [NativeCall(*RIGHT, "same"), NativeCall("delete_note", {"note_title": "a"}, "same")]
    got = rig.ask(way, *(reversed(pair) if denied_first else pair))
    assert got.calls == [RIGHT]
    assert "not whitelisted" in got.text
    assert got.finish == "tool_calls"


@WAYS
@pytest.mark.parametrize("arguments", [{"note_title": "a", "text": "hi"}, {}], ids=["whole", "lost"])
def test_a_call_at_which_the_answer_was_cut_off_is_taken_out_where_a_client_could_run_it(
    rig: Rig, way: str, arguments: dict[str, Any]
) -> None:
    first = NativeCall("write_note", {"note_title": "b", "text": "ho"}, "call_1")
    got = rig.ask(way, first, NativeCall("write_note", arguments, "call_2"), finish="length")
    assert got.calls == [("write_note", {"note_title": "b", "text": "ho"})]
    assert "truncated" in got.text
    assert got.finish == "length"


def whole(*choices: dict[str, Any]) -> litellm.ModelResponse:
    given = [{"index": at, "message": {"role": "assistant", **said}} for at, said in enumerate(choices)]
    return litellm.ModelResponse(choices=[{**one, "finish_reason": "tool_calls"} for one in given])


def native(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_each_of_several_answers_ends_for_its_own_reason(rig: Rig) -> None:
    right, denied = native("write_note", '{"note_title": "a", "text": "hi"}'), native("delete_note", "{}")
    both = whole({"tool_calls": [right]}, {"tool_calls": [denied]})
    got = asyncio.run(rig.guard.async_post_call_success_hook(rig.request, NOBODY, both))
    assert [choice.finish_reason for choice in got.choices] == ["tool_calls", "stop"]
    assert [len(choice.message.tool_calls or ()) for choice in got.choices] == [1, 0]


def test_a_denied_call_in_the_older_dialect_is_taken_out(rig: Rig) -> None:
    given = whole({"content": None, "function_call": {"name": "delete_note", "arguments": '{"note_title": "a"}'}})
    got = asyncio.run(rig.guard.async_post_call_success_hook(rig.request, NOBODY, given))
    message = got.choices[0].message
    assert getattr(message, "function_call", None) is None
    assert "not whitelisted" in message.content
    assert got.choices[0].finish_reason == "stop"


@WAYS
def test_the_calls_beside_a_denied_one_go_on(rig: Rig, way: str) -> None:
    got = rig.ask(way, WRONG, DENIED)
    assert got.calls == [RIGHT]
    assert "not whitelisted" in got.text
    assert got.finish == "tool_calls"


@WAYS
def test_a_call_that_needs_a_person_is_taken_out_until_one_has_agreed(rig: Rig, way: str) -> None:
    call = NativeCall("mail_note", {"to": "ann"}, "call_1")
    waiting = rig.ask(way, call)
    assert waiting.calls == []
    (asked,) = [record for record in rig.records if record.status == "waiting"]
    assert f"rightcall approvals approve {asked.approval}" in waiting.text
    door = rig.guard._door(TOOLS)
    door.answer(door.judge("mail_note", {"to": "ann"}), "approved", by="ann")
    assert rig.ask(way, call).calls == [("mail_note", {"to": "ann"})]
    assert rig.ask(way, call).calls == []


@WAYS
def test_calls_are_recorded_as_handed_on(rig: Rig, way: str) -> None:
    rig.ask(way, WRONG, DENIED)
    right, denied = rig.records
    assert (right.tool, right.status, right.summary) == ("write_note", "success", "Handed to the client, which runs it")
    assert right.repairs
    assert (denied.tool, denied.status) == ("delete_note", "refused")


@WAYS
def test_observing_changes_nothing(upstream: ScriptedUpstream, way: str) -> None:
    guard = RightCall(POLICY, mode="observe")
    rig = Rig(upstream, guard)
    assert rig.ask(way, WRONG).raw == [("writeNote", WRONG.text)]
    assert rig.ask(way, DENIED).calls == [("delete_note", {"note_title": "a"})]
    assert rig.ask(way, Text(IN_TEXT)).text == IN_TEXT
    guard.close()


@WAYS
def test_a_request_without_tools_is_not_touched(rig: Rig, way: str) -> None:
    assert rig.ask(way, Text(IN_TEXT), tools=None).text == IN_TEXT
    assert rig.records == []


@WAYS
def test_a_request_that_forbids_calls_gets_none_out_of_the_text(rig: Rig, way: str) -> None:
    assert rig.ask(way, Text(IN_TEXT), tool_choice="none").text == IN_TEXT


def test_tools_of_one_name_are_those_of_their_request(rig: Rig) -> None:
    other = [{"type": "function", "function": {**TOOLS[0]["function"], "parameters": {  # type: ignore[dict-item]
        "type": "object", "properties": {"body_text": {"type": "string"}}, "required": ["body_text"]}}}]  # fmt: skip
    assert rig.ask("sync", WRONG).calls == [RIGHT]
    assert rig.ask("sync", NativeCall("write_note", {"bodyText": "x"}), tools=other).calls == [
        ("write_note", {"body_text": "x"})
    ]
    assert rig.ask("sync", WRONG).calls == [RIGHT]


def test_only_so_many_sets_of_tools_are_kept(rig: Rig) -> None:
    for number in range(MOST_DOORS + 5):
        tool = {"name": f"tool_{number}", "parameters": {"type": "object"}}
        assert rig.guard._settler({"tools": [{"type": "function", "function": tool}]}, None) is not None
    assert len(rig.guard._doors) == MOST_DOORS


def test_a_set_of_tools_does_not_go_while_it_is_looked_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.hosts.litellm.MOST_DOORS", 1)
    first, other = ([{"name": name, "parameters": {"type": "object"}}] for name in ("first", "other"))
    door = rig.guard._door(first)
    rivals = [threading.Thread(target=rig.guard._door, args=(other,))]

    class Slow(OrderedDict[bytes, Any]):
        def get(self, *key: Any) -> Any:
            found = super().get(*key)
            if rivals and not rivals[0].is_alive():
                rivals[0].start()  # another request comes just now, and its tools take this one's place
                rivals.pop().join(0.2)
            return found

    rival = rivals[0]
    rig.guard._doors = Slow(rig.guard._doors)
    assert rig.guard._door(first) is door
    rival.join()
    assert len(rig.guard._doors) == 1


def test_a_keys_alias_is_the_caller(upstream: ScriptedUpstream) -> None:
    guard = RightCall({"callers": {"ann": {"deny": ["write_note"]}}})
    request = Rig(upstream, guard).request
    upstream.play([Answer([NativeCall(*RIGHT)])] * 2)

    async def answered(alias: str) -> Any:
        answer = await litellm.acompletion(**request)
        return await guard.async_post_call_success_hook(request, SimpleNamespace(key_alias=alias), answer)

    assert asyncio.run(answered("ann")).choices[0].message.tool_calls is None
    assert asyncio.run(answered("ben")).choices[0].message.tool_calls is not None
    guard.close()


def test_the_text_of_a_provider_with_calls_of_its_own_is_talk(rig: Rig) -> None:
    hosted = SimpleNamespace(_hidden_params={"custom_llm_provider": "anthropic"})
    local = SimpleNamespace(_hidden_params={"custom_llm_provider": "ollama"})
    assert not rig.guard._lifts(hosted, {})
    assert rig.guard._lifts(local, {})
    assert rig.guard._lifts(hosted, {"api_base": "http://127.0.0.1:8080"})
    assert not rig.guard._lifts(local, {"api_base": "https://api.openai.com/v1"})


def test_the_example_runs_and_says_what_happened() -> None:
    file = Path(__file__).parents[2] / "examples" / "litellm_callback.py"
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout.splitlines() == [
        'call: write_note {"note_title":"shopping","text":"milk"}',
        "text: Error: Tool 'delete_note' is not whitelisted for AI use",
    ]

"""What is read from JSON lines and from the audit log: calls as they were written, by whom, and what became of them."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall import Gate
from rightcall.executor.door import Door
from rightcall.gate.records import reading_record
from rightcall.learn import Bench, Definitions, Emitted, Safety, Span, learn, recorded
from rightcall.learn.emissions import BadLine, of_line
from rightcall.learn.retries import is_right
from rightcall.policy.settings import DEFAULT_POLICY
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, encode
from support.every import every
from support.lessons import TOOLS, headlines, rules, working

ARGUMENTS = {"subject": "a", "folder": "b", "urgency": "low"}
CALL = {"id": "c1", "type": "function", "function": {"name": "send_note", "arguments": json.encode(ARGUMENTS).decode()}}
TAGGED = '<tool_call>{"name": "send_note", "arguments": {"subject": "a", "folder": "b", "urgency": "low"}}</tool_call>'


def read(line: Any) -> list[Emitted]:
    raw = line if isinstance(line, bytes) else json.encode(line)
    return list(of_line(7, raw, Bench(TOOLS, DEFAULT_POLICY)))


LINES = {
    "call": {"name": "send_note", "arguments": ARGUMENTS},
    "tool and args": {"tool": "send_note", "args": json.encode(ARGUMENTS).decode()},
    "text": {"text": TAGGED},
    "bare text": TAGGED,
    "message": {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}},
    "response": {
        "request": {"model": "m", "tools": TOOLS}, "response": {"choices": [{"message": {"tool_calls": [CALL]}}]},
    },
    "conversation": {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [CALL]}]},
    "anthropic": {"message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "send_note", "input": ARGUMENTS}]}},
    "own tools": {"tools": TOOLS, "text": TAGGED},
    "what `read --jsonl` prints": reading_record(Gate(TOOLS).read(TAGGED), TAGGED),
}  # fmt: skip


@every("name", LINES)
def test_a_call_is_read_from_every_shape_of_line(name: str) -> None:
    [one] = read(LINES[name])
    arguments = json.decode(one.arguments) if isinstance(one.arguments, str) else one.arguments
    assert (one.number, one.name, arguments) == (7, "send_note", ARGUMENTS)


@every(
    ("line", "who"),
    [
        ({"caller": "ann", "context": "c", "model": "m"}, ("ann", "c", "m")),
        ({"user_id": 5, "session_id": "s", "model_name": "m"}, ("5", "s", "m")),
        ({"metadata": {"user": "ann", "conversation_id": 9}}, ("ann", "9", "")),
        ({"request": {"model": "m", "user": "bob"}}, ("bob", "", "m")),
        ({}, ("", "", "")),
    ],
)
def test_who_wrote_it_is_found_under_common_names(line: dict[str, Any], who: tuple[str, str, str]) -> None:
    [one] = read({**line, "name": "ping", "arguments": {}})
    assert (one.caller, one.context, one.model) == who


@every(
    ("line", "ok", "denied"),
    [
        ({"ok": True}, True, False), ({"success": False}, False, False), ({"error": "boom"}, False, False),
        ({"status": "completed"}, True, False), ({"status": "refused"}, False, False),
        ({"status": "denied"}, None, True), ({}, None, False),
    ],
)  # fmt: skip
def test_what_became_of_it_is_found_too(line: dict[str, Any], ok: bool | None, denied: bool) -> None:
    [one] = read({**line, "name": "ping", "arguments": {}})
    assert (one.ok, one.denied) == (ok, denied)


def test_a_conversation_tells_by_its_answers_how_each_call_went() -> None:
    second = {**CALL, "id": "c2"}
    messages = [
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Error: missing field"},
        {"role": "assistant", "tool_calls": [second]},
        {"role": "tool", "tool_call_id": "c2", "content": "sent"},
        {"role": "assistant", "content": "Done."},
    ]
    assert [(one.name, one.ok, one.context) for one in read({"messages": messages})] == [
        ("send_note", False, "line 7"), ("send_note", True, "line 7"), ("", None, "line 7"),
    ]  # fmt: skip


@every("raw", [b"{", b"[1]", b"\xff", b"7", b'{"a": 1}', b'{"text": 5}'])
def test_a_line_that_holds_no_output_says_so(raw: bytes) -> None:
    with pytest.raises(BadLine):
        read(raw)


def test_a_text_without_a_call_is_kept_as_text() -> None:
    [one] = read({"text": "send_note :: subject = a"})
    assert (one.name, one.text) == ("", "send_note :: subject = a")


def test_the_audit_log_of_a_host_teaches(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "audit.db"))
    lines = working("ann", "bob") + headlines([("ann", "1"), ("bob", "2"), ("ann", "3")])
    with Door.open("my-agent", tools=TOOLS, store=store) as door:
        for line in lines:
            passage = door.judge(line["name"], line["arguments"], caller=line["caller"], context=line["context"])
            door.ended(passage, ok=True)
        bench = Bench(TOOLS, DEFAULT_POLICY)
        written = list(recorded(store, Span(), bench))
        assert [(one.name, one.arguments, one.ok) for one in written] == [
            (line["name"], line["arguments"], line["ok"]) for line in lines
        ]
        learned = learn(lambda: recorded(store, Span(), bench), bench, Safety(bench))
        assert rules(learned) == [("alias", "subject", "cargo", "subject")]
        assert set(Definitions.of(store).tools()) <= {"send_note", "ping"}
    store.close()


@every(
    ("body", "written"),
    [
        ({"emission": {"cargo": "x"}, "rule": "proxy:left"}, ("send_note", {"cargo": "x"}, "")),
        (
            {"emission": {"name": "x", "arguments": 1}, "rule": "proxy:left"},
            ("send_note", {"name": "x", "arguments": 1}, ""),
        ),
        ({"emission": ARGUMENTS, "written": "SendNote"}, ("SendNote", ARGUMENTS, "")),
        ({"params": ARGUMENTS}, ("send_note", ARGUMENTS, "")),
        ({"emission": TAGGED, "origin": "text"}, ("send_note", ARGUMENTS, "")),
        ({"emission": "[[send_note]]", "origin": "text"}, ("", None, "[[send_note]]")),
    ],
)
def test_calls_through_the_proxy_are_read_as_the_model_wrote_them(body: dict[str, Any], written: Any) -> None:
    given = {
        "caller": "ann",
        "tool": "send_note",
        "params": None,
        "digest": "",
        "decision": "passed",
        "rule": "",
        **body,
    }
    store = MemoryStore()
    store.transact(lambda tables: tables.append("proxied", 0, encode(CallBody(**given))))
    [one] = recorded(store, Span(), Bench(TOOLS, DEFAULT_POLICY))
    assert (one.name, one.arguments, one.text) == written
    assert (one.ok, one.denied) == (None, False)


@pytest.mark.parametrize("kept", [{"rule": "deny"}, {"rule": "validation", "strategy": "llm"}])
def test_what_a_policy_refused_or_another_model_wrote_is_not_learned_from(kept: dict[str, Any]) -> None:
    given = {"caller": "ann", "tool": "send_note", "params": ARGUMENTS, "digest": "", "decision": "deny", **kept}
    store = MemoryStore()
    store.transact(lambda tables: tables.append("refused", 0, encode(CallBody(**given))))
    [one] = recorded(store, Span(), Bench(TOOLS, DEFAULT_POLICY))
    assert one.denied


TRANSFER = {
    "name": "transfer", "effects": ["write"],
    "parameters": {"type": "object", "required": ["payee", "amount"], "properties": {
        "payee": {"type": "string"}, "amount": {"type": "number"}}},
}  # fmt: skip


def open_history(policy: dict[str, object]) -> tuple[MemoryStore, Door]:
    store = MemoryStore()
    return store, Door.open("my-agent", {"policy": {"write": "allow", **policy}}, tools=[TRANSFER], store=store)


def test_a_call_that_a_limit_refused_did_not_work() -> None:
    store, door = open_history({"limits": {"tools": {"transfer": {"minute": 1}}}})
    for amount in (1, 2):
        passage = door.judge("transfer", {"payee": "ann", "amount": amount}, caller="c", context="x")
        door.ended(passage)
    bench = Bench([TRANSFER], DEFAULT_POLICY)
    first, second = recorded(store, Span(), bench)
    assert is_right(first, bench.judge(first.name, first.arguments))
    assert second.denied
    assert not is_right(second, bench.judge(second.name, second.arguments))


def test_a_repair_that_had_to_wait_for_a_person_is_a_mistake_to_learn_from() -> None:
    store, door = open_history({})
    assert door.judge("transfer", {"kumo": "ann", "amount": 1}, caller="c", context="x").action == "ask"
    passage = door.judge("transfer", {"payee": "ann", "amount": 1}, caller="c", context="x")
    door.ended(passage)
    waited, right = recorded(store, Span(), Bench([TRANSFER], DEFAULT_POLICY))
    assert (waited.arguments, waited.ok, waited.denied) == ({"kumo": "ann", "amount": 1}, False, False)
    assert right.ok is True

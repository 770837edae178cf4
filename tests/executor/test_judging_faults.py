"""A policy that raises refuses the call and leaves a record of it, at the executor and at a door alike."""

import asyncio
from typing import Any

import pytest

from rightcall import MemoryStore
from rightcall.executor.door import Door
from rightcall.record.tables import read_call
from rightcall.record.verify import verify_audit

pytestmark = pytest.mark.promise("A-02")


def raising(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("password=Zq8hunter2")


PLACES = (
    "rightcall.executor.pipeline.decided",  # inside the transaction, where everything is undone
    "rightcall.executor.pipeline.build_request",
    "rightcall.executor.pipeline.question",
    "rightcall.executor.pipeline.admit",
)
DOOR_PLACES = (
    "rightcall.executor.door.decided",
    "rightcall.executor.passage.build_request",
    "rightcall.executor.passage.question",
    "rightcall.executor.passage.unsure",
    "rightcall.executor.passage.call_body",
    "rightcall.executor.calls.make_storable",  # then nobody knows what of the call may be written down
    "rightcall.executor.door.admit",
)


def check(entries: list[Any], outcome_rule: str, tool: str) -> None:
    refusals = [entry for entry in entries if entry.kind not in ("policy", "definition")]
    assert [entry.kind for entry in refusals] == ["refused"]
    body = read_call(refusals[0].body)
    assert (outcome_rule, body.rule, body.decision) == ("fault", "fault", "deny")
    assert (body.caller, body.tool) == ("teacher", tool)
    assert "ZeroDivisionError" in body.reason
    assert b"Zq8hunter2" not in refusals[0].body


@pytest.mark.parametrize("place", PLACES)
def test_an_executor_refuses_and_records(place: str, workshop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = workshop({"policy": {"write": "ask", "execute": "ask"}})
    monkeypatch.setattr(place, raising)
    outcome = shop.run("add", {"a": 1, "b": 2})
    assert (outcome.ok, outcome.metadata.recorded, shop.trace) == (False, True, [])
    check(shop.entries(), outcome.decision.rule, "add")
    monkeypatch.undo()
    assert shop.run("add", {"a": 1, "b": 2}).ok
    assert shop.store.look(verify_audit).ok


@pytest.mark.parametrize("place", DOOR_PLACES)
@pytest.mark.parametrize("later", [False, True])
def test_a_door_refuses_and_records(place: str, later: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with Door.open("wrap", {"policy": {"repeats": 0}}, store=MemoryStore(), caller="teacher") as door:
        door.know([{"name": "look", "inputSchema": {"type": "object"}}])
        if place.endswith("unsure"):  # only asked where nobody has written a policy
            door._rights[("teacher", "")] = door_rights_unset(door)
        monkeypatch.setattr(place, raising)
        passage = asyncio.run(door.ajudge("look", {})) if later else door.judge("look", {})
        assert passage.action == "deny"
        monkeypatch.undo()
        tool = "(unknown)" if place.endswith("make_storable") else "look"
        check(door.store.look(lambda tables: list(tables.entries())), passage.decision.rule, tool)
        assert door.judge("look", {}).action == "allow"


def door_rights_unset(door: Door) -> Any:
    from msgspec.structs import replace

    return replace(door._rights_of("teacher", ""), unset=True)


def test_a_door_that_only_observes_lets_pass_and_records_what_was_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with Door.open("wrap", store=MemoryStore(), mode="observe") as door:
        monkeypatch.setattr("rightcall.executor.door.decided", raising)
        assert door.judge("look", {}).action == "allow"
        (entry,) = door.store.look(lambda tables: tables.newest(1))
        body = read_call(entry.body)
        assert (entry.kind, body.rule) == ("begin", "observe")
        assert body.reason.startswith("deny by fault: ")

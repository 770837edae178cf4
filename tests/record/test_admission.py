"""Admitting a call: the decision, its record and what it counts for are one step."""

import json
from typing import Any

import pytest

from rightcall.executor.calls import faulty
from rightcall.policy.decide import scopes_of
from rightcall.policy.settings import Limits, Settings, Window
from rightcall.policy.types import Request, refused_scope, rights_of
from rightcall.record.admission import finish, refuse
from rightcall.record.tables import CallBody, EndBody
from support.approvals import SETTINGS, Desk, try_call

QUIET = Settings(stage="full", allow=("*",), write="allow", execute="allow")


def kinds(desk: Desk) -> list[str]:
    return [entry.kind for entry in desk.store.look(lambda t: list(t.entries()))]


def last(desk: Desk) -> dict[str, Any]:
    return json.loads(desk.store.look(lambda t: t.newest(1))[0].body)


@pytest.mark.promise("A-01")
def test_a_call_that_may_run_stands_in_the_record_before_it_does() -> None:
    desk = Desk()
    admission = desk.try_(settings=QUIET)
    assert (admission.decision.kind, admission.call) == ("allow", 1)
    entry = desk.store.look(lambda t: t.entry(1))
    assert entry is not None
    body = json.loads(entry.body)
    assert (entry.kind, body["caller"], body["tool"], body["decision"]) == ("begin", "teacher", "file/save", "allow")
    assert body["rule"] == admission.decision.rule
    assert desk.store.look(lambda t: t.running()) == [1]


@pytest.mark.promise("A-01")
def test_finishing_completes_the_record() -> None:
    desk = Desk()
    call = desk.try_(settings=QUIET).call
    desk.store.transact(lambda t: finish(t, call, EndBody("success", 1.5, summary="saved"), changed="x"))
    assert desk.store.look(lambda t: t.running()) == []
    assert [entry.kind for entry in desk.store.look(lambda t: t.belonging(call))] == ["definition", "end"]
    assert last(desk) == {"status": "success", "execution_time": 1.5, "summary": "saved"}


@pytest.mark.promise("P-08")
def test_a_tool_is_pinned_when_it_first_runs() -> None:
    desk = Desk()
    desk.try_(settings=QUIET, described='{"description":"Saves."}')
    desk.try_({"path": "other"}, settings=QUIET)
    assert desk.store.look(lambda t: t.definition("file/save")) == "d" * 64
    assert kinds(desk) == ["begin", "definition", "begin"]
    note = json.loads(desk.store.look(lambda t: t.newest(1, ("definition",)))[0].body)
    assert note["what"] == "first seen"
    assert note["data"] == {"tool": "file/save", "definition": "d" * 64, "described": '{"description":"Saves."}'}


@pytest.mark.promise("P-08")
def test_a_call_that_only_asks_or_is_refused_pins_nothing() -> None:
    desk = Desk()
    desk.try_()
    desk.try_(settings=Settings(deny=("file/save",)))
    assert desk.store.look(lambda t: t.definition("file/save")) is None


@pytest.mark.promise("P-06")
def test_a_call_that_waits_is_recorded_with_its_question() -> None:
    desk = Desk()
    admission = desk.try_()
    assert (admission.decision.kind, kinds(desk)) == ("ask", ["waiting"])
    assert last(desk)["approval"] == admission.decision.approval
    assert desk.store.look(lambda t: t.running()) == []


def limited(desk: Desk, arguments: dict[str, Any], settings: Settings) -> Request:
    rights = rights_of(settings, "teacher")
    return desk.request(arguments, settings=settings, scopes=scopes_of(rights, "file/save"))


@pytest.mark.promise("P-02", "P-06")
def test_questions_count_like_calls_so_that_nobody_is_flooded_with_them() -> None:
    desk = Desk()
    settings = Settings(stage="full", write="ask", execute="ask", limits=Limits(caller=Window(3), tools={}))
    decided = [try_call(desk.store, limited(desk, {"n": n}, settings)).decision for n in range(5)]
    assert [one.kind for one in decided] == ["ask", "ask", "ask", "deny", "deny"]
    assert decided[3].rule == "limit:caller:minute"
    assert len(desk.store.look(lambda t: t.approvals("waiting"))) == 3


@pytest.mark.promise("P-11")
def test_refusals_of_the_call_itself_add_up_and_others_do_not() -> None:
    desk = Desk()
    forbidden = Settings(stage="full", deny=("file/save",), quarantine=0)
    assert [desk.try_(settings=forbidden).refusals for _ in range(3)] == [1, 2, 3]
    full = Settings(stage="full", write="ask", execute="ask", limits=Limits(caller=Window(1), tools={}))
    assert try_call(desk.store, limited(desk, {"n": 1}, full)).decision.kind == "ask"
    over = [try_call(desk.store, limited(desk, {"n": 2}, full)) for _ in range(3)]
    assert [(one.decision.rule, one.refusals) for one in over] == [("limit:caller:minute", 0)] * 3
    scope = refused_scope("teacher", desk.request({"n": 2}).digest)
    assert desk.store.look(lambda t: t.nth_last(scope, 1)) is None


@pytest.mark.promise("P-07")
def test_a_repeated_call_is_told_what_came_of_the_earlier_one() -> None:
    desk = Desk()
    rounds = [desk.try_(settings=QUIET, effects=("read",)) for _ in range(2)]
    desk.store.transact(lambda t: finish(t, rounds[0].call, EndBody("failed", error="no such file")))
    third = desk.try_(settings=QUIET, effects=("read",))
    assert third.decision.kind == "deny"
    assert third.decision.earlier == rounds[0].call
    assert third.earlier == "failed: no such file"


@pytest.mark.promise("P-07")
def test_an_earlier_call_that_still_runs_is_called_pending() -> None:
    desk = Desk()
    for _ in range(2):
        desk.try_(settings=QUIET, effects=("read",))
    assert desk.try_(settings=QUIET, effects=("read",)).earlier == "pending"


@pytest.mark.promise("P-05", "P-06")
def test_a_dry_run_asks_nobody_and_uses_no_approval() -> None:
    desk = Desk()
    asked = desk.approved()
    admission = desk.try_(dry_run=True)
    assert admission.decision.kind == "dry_run"
    approval = desk.store.look(lambda t: t.approval(asked))
    assert approval is not None
    assert approval.status == "approved"
    assert desk.store.look(lambda t: t.changes()) == 0


@pytest.mark.promise("P-07")
def test_a_call_with_side_effects_is_a_change() -> None:
    desk = Desk()
    desk.try_(settings=QUIET)
    assert desk.store.look(lambda t: t.changes()) == 1
    desk.try_({"n": 2}, settings=QUIET, effects=("read",))
    assert desk.store.look(lambda t: t.changes()) == 1


def test_the_settings_of_these_tests_do_ask() -> None:
    assert Desk().try_(settings=SETTINGS).decision.rule == "approval:write"


@pytest.mark.promise("P-11")
def test_faults_of_our_own_are_not_held_against_the_call() -> None:
    desk = Desk()
    fault = faulty(ValueError("ours"))
    assert fault.hint == "Do not repeat it; tell the user."
    request = desk.request()
    body = CallBody(request.caller, request.tool, {}, request.digest, "deny", "")
    for _ in range(6):
        admission = desk.store.transact(
            lambda tables: refuse(tables, request.caller, request.digest, fault, body, request.at)
        )
        assert (admission.decision.rule, admission.refusals) == ("fault", 0)

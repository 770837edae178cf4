"""The emergency stop (P-17): one command, and no process on the store admits another call until `resume`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.errors import AnswerError
from rightcall.policy.settings import Settings
from rightcall.record.admission import pause, resume
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Store, read_call
from support.approvals import Desk, say
from support.store_process import Start, heard
from support.stores import KINDS, Diary, opened

pytestmark = pytest.mark.promise("P-17")

QUIET = Settings(stage="full", allow=("*",), write="allow", execute="allow")


@pytest.fixture(params=KINDS)
def diary(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Diary]:
    with opened(request.param, tmp_path) as diary:
        yield diary


def stop(store: Store, by: str = "anna", reason: str = "") -> bool:
    return store.transact(lambda tables: pause(tables, by, reason))[1]


def go_on(store: Store, by: str = "anna") -> bool:
    return store.transact(lambda tables: resume(tables, by)) is not None


def test_every_call_is_refused_while_everything_is_paused(diary: Diary) -> None:
    desk = Desk(diary.store)
    assert desk.try_(settings=QUIET).decision.kind == "allow"
    stop(desk.store, reason="it deletes files")
    decision = desk.try_({"path": "b"}, settings=QUIET).decision
    assert (decision.kind, decision.rule) == ("deny", "paused")
    assert decision.reason == "All tool calls are paused by the operator"
    assert "deletes" not in f"{decision.reason}{decision.hint}"
    (entry,) = desk.store.look(lambda tables: tables.newest(1))
    assert (entry.kind, read_call(entry.body).rule) == ("refused", "paused")
    go_on(desk.store)
    assert desk.try_({"path": "b"}, settings=QUIET).decision.kind == "allow"


def test_what_was_approved_or_granted_waits_and_is_not_used_up(diary: Diary) -> None:
    desk = Desk(diary.store)
    given = desk.approved()
    stop(desk.store)
    for dry_run in (False, True):
        assert desk.try_(dry_run=dry_run).decision.rule == "paused"
    assert desk.try_(approval=given).decision.rule == "paused"
    other = desk.store.look(lambda tables: tables.approvals("waiting"))
    assert other == []  # nobody is asked about a call that cannot run
    go_on(desk.store)
    assert desk.try_().decision.approval == given


def test_a_person_can_still_answer_while_everything_is_paused(diary: Diary) -> None:
    desk = Desk(diary.store)
    given = desk.ask()
    stop(desk.store)
    say(desk.store, given)
    assert desk.try_().decision.rule == "paused"
    go_on(desk.store)
    assert desk.try_().decision.rule == "approval:given"


def test_refusals_of_a_pause_put_no_call_in_quarantine(diary: Diary) -> None:
    desk = Desk(diary.store)
    stop(desk.store)
    for _ in range(10):
        assert desk.try_(settings=QUIET).refusals == 0
    go_on(desk.store)
    assert desk.try_(settings=QUIET).decision.kind == "allow"


def test_both_are_recorded_with_who_when_and_why_and_done_once(diary: Diary) -> None:
    store = diary.store
    assert stop(store, reason="smoke")
    assert not stop(store, "berta", "me too")
    held = store.look(lambda tables: tables.paused())
    assert held is not None
    assert (held.by, held.reason, held.since) == ("anna", "smoke", store.clock.wall())
    assert go_on(store, "carla")
    assert not go_on(store, "carla")
    entries = store.look(lambda tables: list(tables.entries()))
    assert [entry.kind for entry in entries] == ["pause", "pause"]
    assert [json.loads(entry.body) for entry in entries] == [
        {"what": "paused", "by": "anna", "data": {"reason": "smoke"}},
        {"what": "resumed", "by": "carla", "data": {"since": held.since, "paused_by": "anna"}},
    ]


@pytest.mark.parametrize("by", ["", "teacher", "Teacher", "x\ny"])
def test_only_a_person_stops_and_lets_go(diary: Diary, by: str) -> None:
    with pytest.raises(AnswerError):
        diary.store.transact(lambda tables: pause(tables, by, "", ("teacher",)))
    with pytest.raises(AnswerError):
        diary.store.transact(lambda tables: resume(tables, by, "", ("teacher",)))


def test_a_work_that_fails_leaves_nothing_paused(diary: Diary) -> None:
    def half(tables: object) -> None:
        pause(tables, "anna")  # pyright: ignore[reportArgumentType]
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - its own
        diary.store.transact(half)
    assert diary.store.look(lambda tables: tables.paused()) is None


@pytest.mark.parametrize("processes", [2, pytest.param(8, marks=pytest.mark.long)])
def test_once_pause_returns_no_process_admits_another_call(start: Start, database: Path, processes: int) -> None:
    store = SqliteStore(database, busy_seconds=20)
    children = [start("admissions", f"caller{number}") for number in range(processes)]
    assert {heard(child) for child in children} == {"allow:write"}
    stop(store)
    last = store.look(lambda tables: tables.newest(1, ("pause",)))[0].seq
    assert {heard(child) for child in children} == {"paused"}
    after = store.look(lambda tables: list(tables.entries(last)))
    assert {entry.kind for entry in after} == {"refused"}
    go_on(store)
    assert {heard(child) for child in children} == {"allow:write"}
    store.close()

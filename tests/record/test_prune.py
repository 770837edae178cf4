"""Pruning removes what is old and over, as one cut; what is left still verifies, and says what went."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.errors import ConfigError
from rightcall.record.admission import finish
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import EndBody, ManualClock, read_note
from rightcall.record.verify import Cut, Pruned, plan, prune, prune_in_steps, verify_audit
from support.approvals import request_of, say, try_call
from support.stores import KINDS, NOON, Diary, opened

MANY = 2 * settings().max_examples

pytestmark = pytest.mark.promise("A-03")
every_store = pytest.mark.parametrize("kind", KINDS)


def pruned(diary: Diary, **which: Any) -> Pruned:
    done = diary.store.transact(lambda tables: prune(tables, by="anna", **which))
    found = diary.store.look(lambda tables: verify_audit(tables))
    assert found.ok, found.problem
    return done


def left(diary: Diary) -> list[int]:
    return diary.store.look(lambda tables: [entry.seq for entry in tables.entries()])


@every_store
def test_the_oldest_records_go_and_a_checkpoint_says_so(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(5):
            diary.ran()
            diary.clock.advance(60)
        last = diary.store.look(lambda tables: tables.entry(6))
        assert last
        assert pruned(diary, keep=4) == Pruned(removed=6, through=6, checkpoint=11)
        assert left(diary) == [7, 8, 9, 10, 11]
        checkpoint = diary.store.look(lambda tables: tables.entry(11))
        assert checkpoint
        assert checkpoint.kind == "prune"
        note = read_note(checkpoint.body)
        data = {"seq": 6, "hash": last.hash.hex(), "count": 6, "first": 1, "at": last.at}
        told = {key: value for key, value in note.data.items() if key != "chains"}  # where several nodes write
        assert (note.what, note.by, told) == ("through", "anna", data)


@every_store
def test_records_before_a_date_go(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(5):
            diary.ran()
            diary.clock.advance(86_400)
        assert pruned(diary, before="2026-01-03").through == 4
        assert pruned(diary, before="2026-01-03") == Pruned(0, 0)
        assert left(diary)[0] == 5
        assert pruned(diary, before="2026-01-04 12:00:00.000").through == 6
        assert pruned(diary, before="2026-01-04 12:00:00.001").through == 8


@every_store
def test_with_a_date_and_a_number_only_what_both_allow_goes(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(5):
            diary.ran()
            diary.clock.advance(86_400)
        assert pruned(diary, before="2026-01-03", keep=8).through == 2
        assert pruned(diary, before="2026-01-03", keep=1).through == 4


@every_store
def test_a_record_of_a_date_that_was_set_forward_ends_the_cut(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        diary.clock.set_wall(NOON + 400 * 86_400)
        diary.ran()
        diary.clock.set_wall(NOON + 60)
        diary.ran()
        assert pruned(diary, before="2026-06-01").through == 2


@every_store
def test_pruning_again_and_again_works_down_to_the_checkpoint_alone(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        assert pruned(diary, keep=0) == Pruned(2, 2, 3)
        assert left(diary) == [3]
        assert pruned(diary, keep=0) == Pruned(1, 3, 4)
        assert left(diary) == [4]
        diary.ran()
        assert left(diary) == [4, 5, 6]
        assert pruned(diary, keep=1) == Pruned(1, 4, 7), "5 and 6 are one call"
        assert pruned(diary, keep=1) == Pruned(2, 6, 8)


@every_store
def test_a_call_that_runs_and_all_after_it_stay(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        call = diary.begin()
        diary.store.transact(lambda tables: tables.begun(call))
        diary.ran()
        cut = diary.store.look(lambda tables: plan(tables, keep=0))
        assert cut == Cut(first=1, through=2, count=2, spared=3, because="running")
        assert pruned(diary, keep=0).through == 2
        diary.store.transact(lambda tables: finish(tables, call, EndBody("success")))
        assert pruned(diary, keep=0).through == 7


@every_store
def test_a_call_whose_end_would_stay_stays_too(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()  # 1, 2
        outer = diary.begin()  # 3
        diary.ran()  # 4, 5
        diary.end(outer)  # 6
        diary.ran()  # 7, 8
        assert diary.store.look(lambda tables: plan(tables, keep=3)) == Cut(1, 2, 2, 3, "overlapping")
        assert pruned(diary, keep=3).through == 2
        assert left(diary)[0] == 3


@every_store
def test_a_call_that_never_ended_and_does_not_run_holds_up_nothing(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.begin()
        diary.ran()
        assert pruned(diary, keep=1).through == 1
        assert pruned(diary, keep=0).removed == 3


@every_store
def test_a_question_that_still_waits_stays(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        asked = try_call(diary.store, request_of(at=diary.clock.now()))
        diary.ran()
        assert asked.decision.kind == "ask"
        assert asked.decision.approval
        assert diary.store.look(lambda tables: plan(tables, keep=0)).because == "waiting"
        assert pruned(diary, keep=0).through == 2
        say(diary.store, asked.decision.approval)
        assert pruned(diary, keep=0, now=diary.clock.now()).removed == 0, "a yes that was not used yet"
        diary.clock.advance(601)
        assert pruned(diary, keep=0, now=diary.clock.now()).removed


@every_store
def test_much_is_removed_in_steps_exactly_what_was_planned(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(4):
            diary.ran()  # 1 to 8
        long = diary.begin()  # 9
        for _ in range(4):
            diary.ran()  # 10 to 17
        diary.end(long)  # 18
        diary.ran()
        cut = diary.store.look(lambda tables: plan(tables, keep=2))
        done = prune_in_steps(diary.store.transact, cut, "anna", diary.clock.now, step=3)
        assert (done.removed, done.through) == (18, 18)
        assert left(diary)[:3] == [19, 20, 21]
        prunes = diary.store.look(lambda tables: tables.newest(99, ("prune",)))
        assert [read_note(entry.body).data["seq"] for entry in reversed(prunes)] == [2, 4, 6, 8, 18]
        assert diary.store.look(lambda tables: verify_audit(tables)).ok


@every_store
def test_steps_end_where_something_has_to_stay_by_now(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        call = diary.begin()
        cut = diary.store.look(lambda tables: plan(tables, keep=0))
        assert cut.through == 3
        diary.store.transact(lambda tables: tables.begun(call))
        done = prune_in_steps(diary.store.transact, cut, "anna", diary.clock.now, step=1)
        assert (done.removed, done.through) == (2, 2)


@every_store
def test_what_is_not_said_well_removes_nothing(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        for which, said in (
            ({}, "before, keep: neither is given"),
            ({"keep": -1}, "keep: -1 is less than no record"),
            ({"before": "yesterday"}, "before: 'yesterday' is not a time"),
            ({"before": "2026-01-01T00:00"}, "before: '2026-01-01T00:00' is not a time"),
        ):
            with pytest.raises(ConfigError, match=said):
                pruned(diary, **which)
        assert left(diary) == [1, 2]


def test_nothing_is_removed_from_an_empty_audit() -> None:
    with opened("memory", Path()) as diary:
        assert pruned(diary, keep=0) == Pruned(0, 0)
        assert diary.store.look(lambda tables: plan(tables, keep=0)) == Cut()


@settings(max_examples=MANY)
@given(st.lists(st.sampled_from(["begin", "run", "end", "refused", "prune"]), max_size=40), st.integers(0, 12))
def test_no_cut_ever_parts_a_call_from_its_end_or_takes_one_that_runs(steps: list[str], keep: int) -> None:
    clock = ManualClock(wall=NOON)
    diary = Diary(MemoryStore(clock), clock)
    running: list[int] = []
    for step in steps:
        if step in ("begin", "run"):
            call = diary.begin()
            diary.store.transact(lambda tables, call=call: tables.begun(call))
            running.append(call)
        elif step == "end" and running:
            call = running.pop(len(running) // 2)
            diary.store.transact(lambda tables, call=call: finish(tables, call, EndBody("success")))
        elif step == "refused":
            diary.refused()
        elif step == "prune":
            pruned(diary, keep=keep)
        assert set(running) <= set(left(diary))
    pruned(diary, keep=keep)
    kept = {entry.seq: entry for entry in diary.store.look(lambda tables: list(tables.entries()))}
    assert all(entry.call in kept for entry in kept.values() if entry.kind == "end")
    assert set(running) <= kept.keys()

"""A call is shown with what came of it, and a plan's steps carry their calls."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.record.calls import CallFilter, CallRecord, call, find_calls, neighbours, page_of_calls, snapshot, steps
from rightcall.record.tables import NoteBody, encode
from support.stores import KINDS, Diary, opened, tamper

every_store = pytest.mark.parametrize("kind", KINDS)


def found(diary: Diary, **which: Any) -> list[int]:
    how = {word: which.pop(word) for word in ("limit", "newest") if word in which}
    return [record.id for record in diary.store.look(lambda tables: find_calls(tables, CallFilter(**which), **how))]


def one(diary: Diary, seq: int) -> CallRecord:
    record = diary.store.look(lambda tables: call(tables, seq))
    assert record
    return record


@every_store
@pytest.mark.promise("A-02")
def test_a_call_is_joined_with_its_end(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        seq = diary.begin(
            "ada", "code/read", context="c1", step="2", emission="<tool>", effects=("read",), confidence=0.9
        )
        diary.refused("bob")
        diary.clock.advance(2)
        end = diary.end(seq, 12.5, summary="Read 3 lines from a.py", tokens=40, cached=True)
        record = one(diary, seq)
        assert one(diary, end) == record
        assert (record.id, record.timestamp, record.ended) == (1, "2026-01-01 12:00:00.000", "2026-01-01 12:00:02.000")
        assert (record.caller, record.tool, record.status, record.decision) == ("ada", "code/read", "success", "allow")
        assert (record.execution_time, record.summary, record.tokens, record.cached) == (
            12.5, "Read 3 lines from a.py", 40, True,
        )  # fmt: skip
        assert (record.context, record.step, record.emission, record.confidence) == ("c1", "2", "<tool>", 0.9)


@every_store
@pytest.mark.promise("A-01")
def test_the_status_says_how_far_a_call_came(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran()
        diary.failed(error="no such file")
        diary.refused(reason="Not allowed.")
        diary.waiting()
        runs = diary.begin()
        diary.store.transact(lambda tables: tables.begun(runs))
        diary.begin()
        records = diary.store.look(lambda tables: find_calls(tables, newest=False))
        assert [record.status for record in records] == [
            "success", "failed", "refused", "waiting", "pending", "interrupted",
        ]  # fmt: skip
        assert [record.error for record in records] == [
            None, "no such file", "Not allowed.", "", None,
            "Its process ended, or could not record the end of the call.",
        ]  # fmt: skip
        assert [record.execution_time for record in records] == [1.0, 1.0, None, None, None, None]


@every_store
def test_calls_are_found_by_who_what_how_and_when(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran("ada", "code/read", context="c1", step="1")  # 1
        diary.failed("bob", "code/read")  # 3
        diary.clock.advance(3600)
        diary.refused("ada", "file/save")  # 5
        diary.ran("ada", "code/search", context="c1", step="2")  # 6
        diary.store.transact(lambda tables: tables.append("policy", 0, encode(NoteBody("loaded"))))
        assert found(diary) == [6, 5, 3, 1]
        assert found(diary, newest=False) == [1, 3, 5, 6]
        assert found(diary, limit=2) == [6, 5]
        assert found(diary, limit=2, newest=False) == [1, 3]
        assert found(diary, caller="ada") == [6, 5, 1]
        assert found(diary, caller="ad") == []
        assert found(diary, tool="code/read") == [3, 1]
        assert found(diary, status="failed") == [3]
        assert found(diary, context="c1", step="2") == [6]
        assert found(diary, since="2026-01-01 12:30:00.000") == [6, 5]
        assert found(diary, since="2026-01-01 12:30:00.000", newest=False) == [5, 6]


@every_store
def test_a_rare_call_is_found_however_far_back(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.refused("eve")

        def many(tables: Any) -> None:
            body = encode({"caller": "ada", "tool": "t", "params": {}, "digest": "", "decision": "deny", "rule": "r"})
            for _ in range(1000):
                tables.append("refused", 0, body)

        diary.store.transact(many)
        assert found(diary, caller="eve") == [1]
        assert len(found(diary, limit=5000)) == 1001


@every_store
def test_a_number_that_is_no_calls_gives_nothing(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.store.transact(lambda tables: tables.append("policy", 0, encode(NoteBody("loaded"))))
        assert diary.store.look(lambda tables: (call(tables, 1), call(tables, 0), call(tables, 99))) == (
            None,
            None,
            None,
        )


@every_store
@pytest.mark.promise("A-06")
def test_the_steps_of_a_plan_carry_their_calls_as_the_design_keeps_them(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran("ada", "code/read", 8.0, context="plan", step="1")
        diary.ran("ada", "code/read", context="another", step="1")
        outer = diary.begin("ada", "code/search", context="plan", step="2")
        diary.refused("ada", "file/save", context="plan", step="1", reason="Not allowed.")
        diary.end(outer, 3.0, "failed", error="too slow", tokens=7)
        diary.ran("ada", "ping", context="plan")
        by_step = diary.store.look(lambda tables: steps(tables, "plan"))
        assert {step: [one["tool"] for one in found] for step, found in by_step.items()} == {
            "1": ["code/read", "file/save"],
            "2": ["code/search"],
            "": ["ping"],
        }
        assert by_step["1"][0] == {
            "tool": "code/read", "params": {}, "timestamp": 1_767_268_800_000, "executionTime": 8.0, "success": True,
            "error": None, "resultSummary": None, "tokensConsumed": 0,
        }  # fmt: skip
        assert (by_step["1"][1]["success"], by_step["1"][1]["error"]) == (False, "Not allowed.")
        assert (by_step["2"][0]["error"], by_step["2"][0]["tokensConsumed"]) == ("too slow", 7)
        assert snapshot(one(diary, 1)) == by_step["1"][0]
        assert diary.store.look(lambda tables: steps(tables, "nobody's")) == {}


@every_store
@pytest.mark.promise("A-06")
def test_the_neighbours_of_a_call_are_those_of_its_context(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for number in range(10):
            diary.refused("ada", context="even" if number % 2 == 0 else "odd")
        near = diary.store.look(lambda tables: neighbours(tables, one(diary, 5), 2))
        assert [record.id for record in near] == [1, 3, 7, 9]
        assert diary.store.look(lambda tables: neighbours(tables, one(diary, diary.refused()))) == []


def test_a_record_that_somebody_broke_is_shown_as_damaged_and_the_others_as_they_are(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.ran()
        diary.ran()
    tamper(tmp_path / "audit.db", "UPDATE audit SET body = 'no JSON' WHERE seq = 1")
    with opened("sqlite", tmp_path) as diary:
        newest, damaged = diary.store.look(lambda tables: find_calls(tables))
        assert (newest.status, damaged.status) == ("success", "damaged")
        assert "cannot be read" in (damaged.error or "")
        assert snapshot(damaged)["success"] is False


@every_store
def test_words_are_found_in_any_case_and_writing_wherever_they_stand(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        tool = diary.refused(tool="file/Save")
        quoted = diary.refused(reason='It is "there".', emission="C:\\new")
        foreign = diary.refused(reason="Straße nach Ödön")
        failed = diary.failed(error="No such FILE: x.py")
        left = diary.begin()

        def told(text: str) -> list[int]:
            page = diary.store.look(lambda tables: page_of_calls(tables, CallFilter(text=text)))
            return [record.id for record in page.calls]

        assert told("FILE/save") == [tool]
        assert told('is "THERE"') == told("c:\\\\NEW") == [quoted]
        assert told("strasse") == told("ÖDÖN") == [foreign]
        assert told("no such file") == [failed]
        assert told("process ENDED, or") == [left]
        assert told("nowhere at all") == []

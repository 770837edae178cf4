"""The audit's own tables can be looked at: bounded, alike in both stores, and never what nobody should see."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import ToolFailure
from rightcall.policy.types import refused_scope
from rightcall.record import browse
from rightcall.record.browse import COLLECTIONS, MOST, ListedRecords, list_records, read_record
from rightcall.record.notes import note_diagnosis, note_message
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import NoteBody, encode
from support.stores import KINDS, Diary, approval, grant, opened, tamper

pytestmark = pytest.mark.promise("C-11")

every_store = pytest.mark.parametrize("kind", KINDS)


def note(diary: Diary, kind: Any, **data: Any) -> int:
    return diary.store.transact(lambda tables: tables.append(kind, 0, encode(NoteBody("loaded", "eve", data))))


def full(diary: Diary) -> None:
    """Something in every collection."""
    diary.ran("ada", "code/read", 12.5, context="c1", step="2")  # 1, 2
    diary.clock.advance(1)
    diary.failed("bob", "code/search", error="no such folder")  # 3, 4
    refused = diary.refused("bob", "code/edit", reason="Not allowed.")  # 5
    diary.store.transact(lambda tables: tables.mark(refused_scope("bob", "f" * 64), refused))
    diary.waiting("ada")  # 6
    diary.store.transact(lambda tables: note_message(tables, "ada", "c1", "debug"))  # 7
    diary.store.transact(lambda tables: note_diagnosis(tables, "ada", "c1", True))  # 8
    note(diary, "policy", digest="d", source="/home/ann/rightcall.toml")  # 9
    diary.store.transact(lambda tables: tables.put_approval(approval("a1")))
    diary.store.transact(lambda tables: tables.put_approval(approval("a2", status="used", by="eve", used_by=3)))
    diary.store.transact(lambda tables: tables.put_grant(grant("g1")))


def ids(diary: Diary, collection: str, **asked: Any) -> list[Any]:
    return [record["id"] for record in list_records(diary.store, collection, **asked).records]


def refusal(diary: Diary, collection: Any, **asked: Any) -> str:
    with pytest.raises(ToolFailure) as caught:
        list_records(diary.store, collection, **asked)
    return str(caught.value)


@every_store
def test_every_collection_lists_its_records_newest_first(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        full(diary)
        assert {name: ids(diary, name) for name in COLLECTIONS} == {
            "tool_usage_logs": [6, 5, 3, 1],
            "calls": [6, 5, 3, 1],
            "audit": [9, 8, 7, 6, 5, 4, 3, 2, 1],
            "messages": [8, 7],
            "approvals": ["a2", "a1"],
            "grants": ["g1"],
            "quarantine": [5],
        }


def test_both_stores_show_exactly_the_same(tmp_path: Path) -> None:
    shown: list[Any] = []
    for kind in ("memory", "sqlite"):
        with opened(kind, tmp_path) as diary:
            full(diary)
            lists = {name: list_records(diary.store, name) for name in COLLECTIONS}
            rows = [read_record(diary.store, name, row["id"]) for name in lists for row in lists[name].records]
            shown.append((lists, rows))
    assert shown[0] == shown[1]


@every_store
def test_a_record_has_the_columns_of_its_collection_in_a_list_and_read_alone(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        full(diary)
        for name, collection in COLLECTIONS.items():
            for record in list_records(diary.store, name).records:
                assert tuple(record) == collection.columns
                assert read_record(diary.store, name, record["id"]).record == record
                assert read_record(diary.store, name, str(record["id"])).record == record


@every_store
def test_a_call_shows_what_came_of_it(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        full(diary)
        assert list_records(diary.store, "tool_usage_logs", {"id": 1}).records == [
            {
                "id": 1, "timestamp": "2026-01-01T12:00:00.000Z", "persona_id": "ada", "persona_name": "ada",
                "context_id": "c1", "step_id": "2", "tool": "code/read", "params": {}, "status": "success",
                "execution_time": 12.5, "error": None, "result_summary": None, "tokens_consumed": 0, "success": True,
                "cached": False, "rule": "stage:read-only", "decision": "allow",
            }
        ]  # fmt: skip
        assert read_record(diary.store, "quarantine", 5).record == {
            "id": 5, "timestamp": "2026-01-01T12:00:01.000Z", "caller": "bob", "tool": "code/edit", "refusals": 1,
            "rule": "allowlist",
        }  # fmt: skip
        assert read_record(diary.store, "messages", 8).record == {
            "id": 8, "timestamp": "2026-01-01T12:00:01.000Z", "what": "diagnosis", "caller": "ada", "context": "c1",
            "task": "debug", "used_tools": None, "correct": True,
        }  # fmt: skip


def test_tool_usage_logs_agrees_with_the_view_of_that_name(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        full(diary)
        with closing(sqlite3.connect(tmp_path / "audit.db")) as database:
            cursor = database.execute("SELECT * FROM tool_usage_logs ORDER BY id DESC")
            columns = [column[0] for column in cursor.description]
            rows = [dict(zip(columns, row, strict=True)) for row in cursor]
        for row in rows:
            row["timestamp"] = row["timestamp"].replace(" ", "T") + "Z"
            row["params"] = json.loads(row["params"])
        assert list_records(diary.store, "tool_usage_logs").records == rows


@every_store
def test_a_filter_is_equality_on_columns(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        full(diary)
        assert ids(diary, "calls", only={"caller": "bob"}) == [5, 3]
        assert ids(diary, "calls", only={"caller": "bob", "status": "failed"}) == [3]
        assert ids(diary, "calls", only={"caller": "BOB"}) == []
        assert ids(diary, "calls", only={"context": None}) == [6, 5, 3]
        assert ids(diary, "calls", only={"execution_time": 12.5}) == [1]
        assert ids(diary, "calls", only={"execution_time": "12.5"}) == [1]
        assert ids(diary, "tool_usage_logs", only={"success": True}) == [1]
        assert ids(diary, "tool_usage_logs", only={"success": "true"}) == [1]
        assert ids(diary, "audit", only={"kind": "end"}) == [4, 2]
        assert ids(diary, "approvals", only={"status": "waiting"}) == ["a1"]
        assert ids(diary, "calls", only={"params": "{}"}) == [], "a column that holds more than one value equals none"


@every_store
def test_more_than_was_asked_for_is_counted_and_said(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for n in range(MOST + 30):
            diary.refused("ada" if n % 2 else "bob")
        found = list_records(diary.store, "calls")
        assert (len(found.records), found.total, found.truncated) == (20, 130, True)
        found = list_records(diary.store, "calls", {"caller": "ada"}, 3)
        assert ([one["id"] for one in found.records], found.total, found.truncated) == ([130, 128, 126], 65, True)
        found = list_records(diary.store, "calls", {"caller": "ada"}, 65)
        assert (len(found.records), found.truncated) == (65, False)
        assert len(list_records(diary.store, "calls", limit=10**30).records) == MOST
        assert len(list_records(diary.store, "calls", limit=-1).records) == 1


@every_store
def test_what_does_not_exist_is_answered_with_what_does(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        full(diary)
        known = "tool_usage_logs, calls, audit, messages, approvals, grants, quarantine"
        for name in ("meta", "windows", "calls; DROP TABLE audit", "CALLS", "\x1b[31m"):
            said = refusal(diary, name)
            assert said.startswith(f"data/list: `collection` must be one of {known}; ")
            assert said.isprintable()
        assert refusal(diary, "grants", only={'id" OR 1=1 --': 1}) == (
            'data/list: `filter` names "id\\" OR 1=1 --", which grants does not have. '
            "Its columns are id, caller, tool, uses, made."
        )
        for value in ({"$ne": ""}, [1]):
            assert "`filter.caller` must be one value" in refusal(diary, "calls", only={"caller": value})
        for collection, unknown in (
            ("calls", 2), ("calls", 9), ("calls", 0), ("calls", -1), ("calls", 10**30), ("calls", "9" * 5000),
            ("calls", "1 OR 1=1"), ("calls", "١"), ("messages", 1), ("audit", "x"), ("approvals", "a9"),
            ("quarantine", 3),
        ):  # fmt: skip
            with pytest.raises(ToolFailure, match="names no record of") as caught:
                read_record(diary.store, collection, unknown)
            assert len(str(caught.value)) < 300
        with pytest.raises(ToolFailure, match="must be one of"):
            read_record(diary.store, "meta", 1)


HIDDEN = "hunter2"


@every_store
def test_what_nobody_should_see_is_in_no_collection(kind: str, tmp_path: Path) -> None:
    """What a person is asked before anything is redacted, its digest, conditions and notes of grants, who answered,
    where the policy lies, the key."""
    with opened(kind, tmp_path) as diary:
        full(diary)
        secret: dict[str, Any] = dict.fromkeys(("canonical", "details", "state", "by", "digest", "binding"), HIDDEN)
        diary.store.transact(lambda tables: tables.put_approval(approval("a3", **secret)))
        diary.store.transact(lambda tables: tables.put_grant(grant("g2", where={"p": HIDDEN}, note=HIDDEN, by=HIDDEN)))
        diary.store.transact(lambda tables: tables.mark(refused_scope("ada", HIDDEN), 5))
        note(diary, "policy", source=HIDDEN, digest=HIDDEN)
        note(diary, "definition", tool="t", described=HIDDEN)
        shown = [list_records(diary.store, name, limit=MOST) for name in COLLECTIONS]
        rows = [read_record(diary.store, one.collection, row["id"]) for one in shown for row in one.records]
        text = encode([shown, rows]).decode()
        assert HIDDEN not in text
        assert diary.store.key().hex() not in text
        assert "/home/ann" not in text
        assert {"a3", "g2"} <= {row.record["id"] for row in rows}


@every_store
def test_a_filter_cannot_ask_for_what_is_not_shown(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        full(diary)
        for collection, column in (("approvals", "canonical"), ("approvals", "digest"), ("grants", "where")):
            assert "does not have" in refusal(diary, collection, only={column: "x"})


@every_store
def test_long_values_are_cut_in_a_list_and_whole_when_one_record_is_read(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.begin(reason="r" * 5000, emission={"text": "e" * 5000})
        (listed,) = list_records(diary.store, "calls").records
        assert listed["reason"] == "r" * 299 + "…"
        assert listed["emission"].startswith('{"text": "eee')
        assert len(listed["emission"]) == 300
        read = read_record(diary.store, "calls", 1).record
        assert (read["reason"], read["emission"]) == ("r" * 5000, {"text": "e" * 5000})
        assert ids(diary, "calls", only={"reason": "r" * 5000}) == [1], "compared before it is cut"
        diary.begin(reason="r" * 500_000, emission=["e" * 1000] * 1000)
        assert len(encode(read_record(diary.store, "calls", 2))) < 50_000


@every_store
def test_only_the_newest_records_are_looked_through(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "SEARCHED", 4)
    monkeypatch.setattr(browse, "_PAGE", 3)
    with opened(kind, tmp_path) as diary:
        diary.refused("old")
        for _ in range(3):
            diary.refused()
        assert (ids(diary, "calls"), list_records(diary.store, "calls").truncated) == ([4, 3, 2, 1], False)
        diary.refused()
        found = list_records(diary.store, "calls", {"caller": "old"})
        assert (found.records, found.total, found.truncated) == ([], 0, True)


@every_store
def test_pages_meet_and_a_pruned_audit_ends_where_it_begins(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "_PAGE", 7)
    with opened(kind, tmp_path) as diary:
        for n in range(40):
            diary.ran(time=float(n))
        assert ids(diary, "audit", limit=100) == list(range(80, 0, -1))
        assert [one["execution_time"] for one in list_records(diary.store, "calls", limit=100).records] == [
            float(n) for n in range(39, -1, -1)
        ]
        diary.store.transact(lambda tables: tables.remove_through(33))
        assert ids(diary, "audit", limit=100) == list(range(80, 33, -1))
        diary.store.transact(lambda tables: tables.remove_through(80))
        assert ids(diary, "audit") == []


def test_a_record_that_somebody_changed_is_shown_as_damaged(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        full(diary)
        tamper(tmp_path / "audit.db", "UPDATE audit SET body = '{\"caller\": 7' WHERE seq IN (5, 8)")
        tamper(tmp_path / "audit.db", "UPDATE audit SET body = x'00ff', at = x'00' WHERE seq = 1")
        records = {one["id"]: one for one in list_records(diary.store, "calls").records}
        assert [records[seq]["status"] for seq in (6, 5, 3, 1)] == ["waiting", "damaged", "failed", "damaged"]
        assert list_records(diary.store, "audit", {"what": "damaged"}).total == 3
        assert read_record(diary.store, "messages", 8).record["what"] == "damaged"
        assert read_record(diary.store, "quarantine", 5).record["rule"] == ""


def test_a_store_that_cannot_be_read_is_a_clear_failure_that_does_not_say_where_it_lies(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "audit.db")
    store.close()
    for attempt in (lambda: list_records(store, "calls"), lambda: read_record(store, "calls", 1)):
        with pytest.raises(ToolFailure, match=r"^The audit cannot be read now \(closed\)\. A person") as caught:
            attempt()
        assert str(tmp_path) not in str(caught.value)


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)
columns = st.sampled_from(sorted({column for one in COLLECTIONS.values() for column in one.columns}))


@pytest.fixture(scope="module")
def diaries(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened("memory", Path()) as memory, opened("sqlite", tmp_path_factory.mktemp("audit")) as sqlite:
        full(memory)
        full(sqlite)
        yield memory, sqlite


@given(
    collection=st.sampled_from([*COLLECTIONS, "meta"]),
    only=st.dictionaries(columns | st.text(max_size=9), values | anything, max_size=3),
    limit=st.integers(),
)
def test_no_filter_raises_shows_too_much_or_tells_the_stores_apart(
    diaries: tuple[Diary, Diary], collection: str, only: dict[str, Any], limit: int
) -> None:
    shown: list[ListedRecords | str] = []
    for diary in diaries:
        try:
            found = list_records(diary.store, collection, only, limit)
        except ToolFailure as failure:
            shown.append(str(failure))
        else:
            assert len(found.records) <= min(max(limit, 1), MOST)
            assert found.total >= len(found.records)
            shown.append(found)
    assert shown[0] == shown[1]
    assert isinstance(shown[0], ListedRecords) or shown[0].isprintable()

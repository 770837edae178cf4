"""Erasing what a caller wrote: it is gone, the records of it are not, and the chain is whole."""

import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.record import erasure
from rightcall.record.calls import CallFilter, find_calls
from rightcall.record.erasure import Erasable, Erased, erase, find_erasable
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import AnswerBody, CallBody, NoteBody, Store, Tables, encode
from rightcall.record.verify import heads_of, newest_fit, prune, verify_audit
from support.stores import KINDS, Diary, add, approval, opened, records, tamper

SECRET = "the diary of Ada"


def written(diary: Diary, caller: str = "ada") -> int:
    call = diary.begin(caller, emission=SECRET, reason=SECRET, repairs=({"before": SECRET},))
    diary.end(call, summary=SECRET, error=SECRET)
    return call


def erased(store: Store, caller: str = "ada", before: str | None = None) -> Erased:
    found = store.look(lambda tables: find_erasable(tables, caller, before))
    return erase(store, found, caller, "ann", before)


def texts(store: Store) -> str:
    return "".join(entry.body.decode() for entry in records(store))


@pytest.mark.promise("S-01")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_caller_wrote_is_gone_and_the_chain_is_whole(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        before = [written(diary), written(diary, "bob")]
        body = CallBody("ada", "code/read", {"path": SECRET}, "d" * 64, "deny", "allowlist", SECRET)
        diary.store.transact(add("refused", 0, encode(body)))
        diary.store.transact(
            add("answer", 0, encode(AnswerBody("a1", "denied", "ann", "d", caller="ada", reason=SECRET)))
        )
        note = NoteBody(
            "made", "ann", {"id": "g1", "caller": "ada", "tool": "x", "where": {"p": SECRET}, "note": SECRET}
        )
        diary.store.transact(add("grant", 0, encode(note)))
        heads = diary.store.look(heads_of)
        old = [(entry.seq, entry.hash) for entry in records(diary.store)]
        assert erased(diary.store) == Erased(5, 2)
        assert texts(diary.store).count(SECRET) == 5  # Bob's are his own
        found = diary.store.look(lambda tables: verify_audit(tables, heads=heads))
        assert (found.ok, found.erased) == (True, 5), found.problem
        assert [(entry.seq, entry.hash) for entry in records(diary.store)][:-1] == old
        last = records(diary.store)[-1]
        assert (last.kind, b'"by":"ann"' in last.body) == ("erase", True)
        (record,) = diary.store.look(lambda tables: find_calls(tables, CallFilter("ada", status="success")))
        assert (record.id, record.tool, record.params, record.digest) == (before[0], "code/read", None, "")
        assert erased(diary.store) == Erased(0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_older_is_erased_and_what_goes_on_is_spared(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        written(diary)
        diary.clock.advance(86_400)
        now = diary.now
        written(diary)
        assert erased(diary.store, before=now) == Erased(2, 1)
        diary.begin("ada", reason=SECRET)
        diary.waiting("ada")
        diary.store.transact(lambda tables: tables.put_approval(approval("a1", caller="ada")))
        found = diary.store.look(lambda tables: find_erasable(tables, "ada"))
        assert (found.calls, found.spared) == (1, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_erased_records_can_be_pruned_and_the_rest_verifies(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(4):
            written(diary)
        erased(diary.store)
        diary.store.transact(lambda tables: prune(tables, keep=5, by="ann"))
        found = diary.store.look(verify_audit)
        assert (found.ok, found.erased) == (True, 4), found.problem


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE audit SET body = json_set(body, '$.erased', json('true')) WHERE seq = 3", "record 3 was emptied"),
        ("UPDATE audit SET body = replace(body, 'code/read', 'code/list') WHERE seq = 1", "record 1 was emptied"),
        ("DELETE FROM audit WHERE seq = 5", "record 5 is missing"),
    ],
)
def test_a_record_that_somebody_else_emptied_or_changed_is_found(statement: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    with closing(SqliteStore(file)) as store:
        diary = Diary(store)
        written(diary)
        written(diary, "bob")
        erased(store)
        store.transact(add())
    tamper(file, statement)
    with closing(SqliteStore(file)) as store:
        found = store.look(verify_audit)
    assert (found.ok, problem in found.problem) == (False, True), found.problem


def test_the_quick_look_of_the_console_knows_erased_records(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        written(diary)
        erased(diary.store)
        assert diary.store.look(lambda tables: newest_fit(tables, 10))[1] is None


def test_nothing_of_it_is_left_in_the_file_or_its_log(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    with closing(SqliteStore(file)) as store:
        diary = Diary(store)
        for _ in range(300):
            written(diary)
        erased(store)
        store.compact()
        for one in tmp_path.glob("audit.db*"):
            assert not one.is_file() or SECRET.encode() not in one.read_bytes()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("kind", KINDS)
def test_heads_that_were_kept_show_a_cut_after_the_last_anchor(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        written(diary)
        heads = diary.store.look(heads_of)
        written(diary)
        assert diary.store.look(lambda tables: verify_audit(tables, heads=heads)).ok
        (seq, own) = heads[0]
        later = {0: (seq + 1000, own), 7: (seq + 2000, own)}
        found = diary.store.look(lambda tables: verify_audit(tables, heads=later))
        assert (found.ok, "the tail is truncated" in found.problem) == (False, True)
        assert all(f"the chain of node {node} ends" in found.problem for node in later)
        other = {0: (seq, bytes(32))}
        assert "not the one of the heads file" in diary.store.look(lambda t: verify_audit(t, heads=other)).problem
        diary.store.transact(lambda tables: prune(tables, keep=0, by="ann"))
        assert "can no longer be compared" in diary.store.look(lambda t: verify_audit(t, heads=heads)).problem


class Broken(Exception):
    """Of a store that fails once."""


@pytest.mark.parametrize("kind", KINDS)
def test_an_erasure_that_stops_halfway_goes_on_with_the_next(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "STEP", 3)
    with opened(kind, tmp_path) as diary:
        calls = [diary.begin("ada", reason=SECRET) for _ in range(4)]
        for call in calls:  # each end is far from its beginning
            diary.end(call, summary=SECRET)
        found = diary.store.look(lambda tables: find_erasable(tables, "ada"))
        transact, tries = diary.store.transact, iter(range(9))

        def breaks(work: Callable[[Tables], Any]) -> Any:
            if next(tries) == 1:
                raise Broken
            return transact(work)

        with monkeypatch.context() as patch:
            patch.setattr(diary.store, "transact", breaks)
            with pytest.raises(Broken):
                erase(diary.store, found, "ada", "ann")
        assert SECRET in texts(diary.store)
        assert erased(diary.store).records == 5
        assert SECRET not in texts(diary.store)
        assert diary.store.look(verify_audit).ok


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_an_erasure_itself_changed_counts(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(3):
            written(diary)
        found = diary.store.look(lambda tables: find_erasable(tables, "ada"))
        gone, others = sorted(found.records)[:2], found.records[2:4]
        transact, meanwhile = diary.store.transact, [True]

        def late(work: Callable[[Tables], Any]) -> Any:
            """Between what is read and what is written others remove a call, and erase another."""
            if meanwhile and meanwhile.pop():
                transact(lambda tables: tables.remove_through(gone[-1]))
                assert erase(diary.store, Erasable(others, 1), "ada", "bob") == Erased(2, 1)
            return transact(work)

        with monkeypatch.context() as patch:
            patch.setattr(diary.store, "transact", late)
            assert erase(diary.store, found, "ada", "ann") == Erased(2, 1)
        named = [json.decode(entry.body)["data"]["records"] for entry in records(diary.store) if entry.kind == "erase"]
        assert [sorted(map(int, one)) for one in named] == [sorted(others), sorted(found.records[4:])]
        assert SECRET not in texts(diary.store)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_erased_is_never_held_whole(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        body = encode(CallBody("ada", "code/read", {"path": "x" * 100_000}, "d" * 64, "deny", "allowlist", "no"))
        diary.store.transact(lambda tables: [tables.append("refused", 0, body) for _ in range(300)])
        found = diary.store.look(lambda tables: find_erasable(tables, "ada"))
        tracemalloc.start()
        assert erase(diary.store, found, "ada", "ann") == Erased(300, 300)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 20_000_000  # all of them together have 30

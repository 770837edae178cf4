"""Many processes, one file: they see the same, count together, and harm each other in no way, however they end."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.policy.types import Pause
from rightcall.record.tables import ManualClock, Store, SystemClock, Tables
from support.store_process import Start, heard
from support.stores import BODY, OpenSqlite, add, chained, numbers, records

pytestmark = pytest.mark.promise("P-12")


def finished(child: "subprocess.Popen[str]") -> list[str]:
    """What it said until it ended by itself, without a word of complaint."""
    out, errors = child.communicate(timeout=30)
    assert (child.returncode, errors) == (0, "")
    return out.splitlines()


@pytest.mark.long
@pytest.mark.promise("P-02")
def test_ten_thousand_attempts_from_eight_processes_admit_exactly_a_hundred(
    start: Start, open_sqlite: OpenSqlite
) -> None:
    children = [start("attempts", "1250") for _ in range(8)]
    assert [heard(child) for child in children] == ["ready"] * 8
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert sum(int(finished(child)[0]) for child in children) == 100
    found = records(open_sqlite(at=SystemClock()))
    assert numbers(found) == list(range(1, 10_001))
    assert chained(found)
    assert sum(entry.kind == "begin" for entry in found) == 100


def test_processes_that_open_a_new_store_at_once_agree_on_it(start: Start, open_sqlite: OpenSqlite) -> None:
    children = [start("key") for _ in range(4)]
    keys = {finished(child)[0] for child in children}
    assert keys == {open_sqlite().key().hex()}


def test_what_one_process_has_recorded_the_other_sees_at_once(start: Start, open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()
    store.transact(add())
    child = start("write")
    assert heard(child) == "2"
    child.kill()
    assert numbers(records(store))[:2] == [1, 2]


def test_what_another_connection_has_changed_counts_for_the_next_work(open_sqlite: OpenSqlite) -> None:
    """Also where its records in between were calls only, of which less is read anew."""
    ours, other = open_sqlite(), open_sqlite()

    def known(tables: Tables) -> list[object]:
        tables.append("end", 0, BODY)
        return [tables.definition("ping"), tables.paused() is not None, tables.changes(), tables.head()[0]]

    assert ours.transact(known) == [None, False, 0, 1]
    other.transact(lambda tables: [tables.changed("d"), tables.append("begin", 0, BODY)])
    assert ours.transact(known) == [None, False, 1, 3]
    other.transact(lambda tables: [tables.pin("ping", "first"), tables.append("definition", 0, BODY)])
    assert ours.transact(known) == ["first", False, 1, 5]
    other.transact(lambda tables: tables.pin("ping", "second"))  # nobody does so without a record; still
    assert ours.transact(known) == ["second", False, 1, 6]
    other.transact(lambda tables: [tables.put_pause(Pause("anna", "now")), tables.append("begin", 0, BODY)])
    assert ours.transact(known) == ["second", True, 1, 8]


def test_a_call_is_open_also_after_another_connection_has_written(open_sqlite: OpenSqlite) -> None:
    ours, other = open_sqlite(), open_sqlite()

    def begun(tables: Tables) -> tuple[int, bytes]:
        tables.begun(tables.append("begin", 0, BODY))
        return tables.head()

    calls = [ours.transact(begun), ours.transact(begun)]
    other.transact(lambda tables: [tables.append("begin", 0, BODY), tables.append("end", calls[0][0], BODY)])
    assert ours.transact(lambda tables: tables.is_open(*calls[1]))
    other.transact(lambda tables: [tables.remove_through(calls[1][0]), tables.append("prune", 0, BODY)])
    assert not ours.transact(lambda tables: tables.is_open(*calls[1]))


@pytest.mark.promise("A-01", "A-03")
def test_whatever_was_acknowledged_stands_when_the_process_is_killed(start: Start, open_sqlite: OpenSqlite) -> None:
    said = 0
    for round_ in range(3):
        child = start("write")
        for _ in range(5 + 7 * round_):
            said = int(heard(child))
        child.send_signal(signal.SIGKILL)
        child.wait(60)
        store = open_sqlite()
        found = records(store)
        assert len(found) >= said
        assert numbers(found) == list(range(1, len(found) + 1))
        assert chained(found)
        store.close()


def test_a_program_that_ends_without_closing_loses_nothing_and_does_not_hang(
    start: Start, open_sqlite: OpenSqlite
) -> None:
    assert finished(start("leave")) == []
    assert [entry.kind for entry in records(open_sqlite())] == ["message", "end"]


def test_a_forked_child_is_told_to_open_its_own(start: Start, open_sqlite: OpenSqlite) -> None:
    *told, own, last = finished(start("fork"))
    assert len(told) == 3
    assert all(line.startswith("closed the record") and "Open it in the process that uses it" in line for line in told)
    assert (own, last) == ("2", "3 3")
    found = records(open_sqlite())
    assert numbers(found) == [1, 2, 3]
    assert chained(found)


@pytest.mark.promise("A-04")
def test_what_cannot_be_written_is_not_opened_until_it_can(start: Start) -> None:
    folder = Path(tempfile.mkdtemp())  # where somebody who is not root can go, too
    try:
        folder.chmod(0o755)
        said = finished(start("read_only", path=folder / "kept" / "audit.db"))
    finally:
        shutil.rmtree(folder)
    assert [line.split()[0] for line in said] == ["read-only", "2", "read-only", "3"]
    assert all("Make the file, those beside it and their folder writable" in line for line in said[::2])


@pytest.mark.promise("A-04")
def test_a_disk_that_fails_refuses_and_goes_on_when_it_is_mended(start: Start) -> None:
    fault, again = finished(start("broken_disk"))
    assert fault.startswith("failed the record")
    assert "Nothing was run." in fault
    assert again == "2"


@pytest.mark.promise("A-01")
class TestACallOfAProcessThatDied:
    def test_is_interrupted_and_ends_once(self, start: Start, open_sqlite: OpenSqlite) -> None:
        child = start("calls")
        reading, writing = map(int, heard(child).split())
        child.kill()
        child.wait(60)
        store = open_sqlite(at=SystemClock())
        for call in (reading, writing):
            (end,) = store.look(lambda tables, call=call: tables.belonging(call))
            assert end.kind == "end"
            assert end.body == b'{"status":"interrupted","error":"The process ended before the call did."}'
        assert store.look(lambda tables: tables.running()) == []
        assert store.look(lambda tables: tables.changes()) == 1  # of the one that writes
        open_sqlite(at=SystemClock())
        found = records(store)
        assert numbers(found) == [1, 2, 3, 4]
        assert chained(found)

    def test_is_left_alone_while_the_process_lives(self, start: Start, open_sqlite: OpenSqlite) -> None:
        child = start("calls")
        calls = [int(word) for word in heard(child).split()]
        store = open_sqlite(at=SystemClock())
        assert store.transact(lambda tables: tables.running()) == calls
        assert numbers(records(store)) == calls

    def test_is_noticed_by_a_store_that_is_open_all_the_time(
        self, start: Start, open_sqlite: OpenSqlite, clock: ManualClock
    ) -> None:
        store = open_sqlite()
        child = start("calls")
        calls = [int(word) for word in heard(child).split()]
        child.kill()
        child.wait(60)
        assert store.look(lambda tables: tables.running()) == []
        store.transact(lambda tables: None)
        assert numbers(records(store)) == calls
        clock.advance(5)
        store.transact(lambda tables: None)
        assert [entry.call for entry in records(store)] == [0, 0, *calls]

    def test_is_interrupted_though_a_forked_child_lives_on(self, start: Start, open_sqlite: OpenSqlite) -> None:
        parent = start("orphan")
        call, child = map(int, heard(parent).split())
        try:
            parent.wait(60)
            store = open_sqlite(at=SystemClock())
            assert [entry.call for entry in records(store)] == [0, call]
        finally:
            os.kill(child, signal.SIGKILL)


def begin(store: Store, *seqs: int) -> None:
    store.transact(lambda tables: [tables.begun(seq) for seq in seqs])


def test_two_stores_of_one_process_are_two_runs(open_sqlite: OpenSqlite, clock: ManualClock) -> None:
    first, second = open_sqlite(), open_sqlite()
    begin(first, 1)
    begin(second, 2)
    clock.advance(60)
    assert second.transact(lambda tables: tables.running()) == [1, 2]
    first.close()
    clock.advance(60)
    assert second.transact(lambda tables: tables.running()) == [2]
    assert [entry.call for entry in records(second)] == [1]


def test_a_call_whose_end_no_host_tells_is_ended_after_a_day(open_sqlite: OpenSqlite, clock: ManualClock) -> None:
    def begin(tables: Tables) -> int:
        call = tables.append("begin", 0, BODY)
        tables.begun(call, elsewhere=True)
        return call

    store = open_sqlite(at=clock)
    old = store.transact(begin)
    clock.advance(3_600)
    young = store.transact(begin)
    store.close()
    clock.advance(23 * 3_600)
    store = open_sqlite(at=clock)
    assert store.look(lambda tables: tables.running()) == [old, young], "a day has not passed yet"
    store.close()
    clock.advance(1)
    store = open_sqlite(at=clock)
    assert store.look(lambda tables: tables.running()) == [young]
    assert [entry.call for entry in records(store) if entry.kind == "end"] == [old]


def test_a_dead_call_with_a_record_that_cannot_be_read_stands_in_nobodys_way(
    open_sqlite: OpenSqlite, clock: ManualClock
) -> None:
    first, second = open_sqlite(), open_sqlite()
    begin(first, first.transact(add("begin", 0, b"[]")), 99)
    first.close()
    clock.advance(60)
    assert second.transact(lambda tables: tables.changes()) == 2
    assert [entry.call for entry in records(second)] == [0, 1, 99]


def test_the_files_of_dead_runs_are_removed_and_no_other(start: Start, open_sqlite: OpenSqlite, database: Path) -> None:
    child = start("calls")
    heard(child)
    runs = database.with_name("audit.db-runs")
    assert len(list(runs.iterdir())) == 1
    child.kill()
    child.wait(60)
    store = open_sqlite(at=SystemClock())
    (own,) = runs.iterdir()
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    store.close()
    assert list(runs.iterdir()) == []


def test_a_run_is_never_a_path(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    precious = database.with_name("precious")
    precious.touch()
    begin(store, 1)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("UPDATE running SET run = '../precious'")
    assert store.look(lambda tables: tables.running()) == []
    assert precious.exists()

"""The record beside the answers: nobody waits for it, nothing is lost, and a store that fails stops no answer."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rightcall import load_policy
from rightcall.errors import StoreError
from rightcall.proxy.settle import Did
from rightcall.record.entries import CallBody, read_call
from rightcall.record.memory import MemoryStore
from rightcall.record.reading import calls
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Entry, Store, Tables
from rightcall.record.verify import verify
from rightcall.serve.facts import Facts
from rightcall.serve.recording import Recording, open_recording
from rightcall.types import Call, Verdict

pytestmark = pytest.mark.promise("H-03", "A-04")


def body(tool: str = "Read", **more: Any) -> CallBody:
    return CallBody("proxy", tool, {}, "d" * 64, "passed", "proxy:right", **more)


def facts(**more: Any) -> Facts:
    did = [Did("right", Verdict(True, Call("Read", {"file_path": "a.py"})), "Read", "{}")]
    return Facts("anthropic", "local", model="m", did=did, **more)


def entries(store: Store) -> list[Entry]:
    return store.look(lambda tables: [entry for entry in tables.entries() if entry.kind == "proxied"])


def tools(store: Store) -> list[str]:
    return [read_call(entry.body).tool for entry in entries(store)]


@contextmanager
def recording(store: Store, **settings: Any) -> Iterator[Recording]:
    quick: Any = {"gather": 0.0, "first_pause": 0.001} | settings
    made = Recording(store, owned=False, **quick)
    try:
        yield made
    finally:
        made.stop(1)


class Faulty:
    """A store that can be told to fail, and says how many transactions it was asked for."""

    def __init__(self) -> None:
        self.inner = MemoryStore()
        self.fault: Any = None
        self.tried = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()
        self.groups = 0
        self.clock, self.look, self.key, self.later = (
            self.inner.clock, self.inner.look, self.inner.key, self.inner.later
        )  # fmt: skip
        self.atransact = self.inner.atransact
        self.closed = False

    def transact(self, work: Callable[[Tables], Any]) -> Any:
        self.tried.release()
        self.gate.wait(10)
        if self.fault is not None:
            raise StoreError("the record x cannot be used: it is so. Nothing was run. Wait.", self.fault)
        self.groups += 1
        return self.inner.transact(work)

    def close(self) -> None:
        self.closed = True


def test_every_call_of_an_answer_is_recorded_and_can_be_read_as_a_call() -> None:
    store = MemoryStore()
    with recording(store) as found:
        found.told(facts(caller="editor"))
        found.told(Facts("anthropic", "local"))
    (record,) = store.look(calls)
    assert (record.caller, record.tool, record.status, record.wire) == ("editor", "Read", "proxied", "anthropic")
    assert (record.params, record.decision, record.model) == ({"file_path": "a.py"}, "passed", "m")
    assert (found.state.recorded, found.state.lost) == (1, 0)


def test_who_adds_does_not_wait_for_the_store_and_what_came_meanwhile_shares_a_commit() -> None:
    store = Faulty()
    store.gate.clear()
    with recording(store) as found:
        found.add([body("first")])
        assert store.tried.acquire(timeout=5)
        for number in range(500):
            found.add([body(str(number))])
        assert found.state.waiting == 501
        store.gate.set()
    assert tools(store.inner) == ["first", *map(str, range(500))]
    assert store.groups == 2


def test_stopping_writes_what_waits_and_closes_the_store(tmp_path: Path) -> None:
    found = open_recording(load_policy(None), root=tmp_path)
    for number in range(1200):
        found.add([body(str(number))])
    found.stop()
    found.stop()
    store = SqliteStore(tmp_path / ".rightcall" / "audit.db")
    try:
        assert tools(store) == list(map(str, range(1200)))
        assert store.look(verify).ok
        assert store.look(lambda tables: next(tables.entries())).kind == "policy"
    finally:
        store.close()
    assert (found.state.ok, found.state.fault, found.state.recorded) == (False, "closed", 1200)


def test_what_is_added_after_the_end_is_counted_as_lost() -> None:
    with recording(MemoryStore()) as found:
        found.stop()
        found.add([body()])
        assert found.state.lost == 1


@pytest.mark.parametrize("fault", ["full", "locked", "read-only", "corrupt"])
def test_a_fault_is_told_once_and_work_resumes_by_itself(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.fault = fault
    with caplog.at_level(logging.WARNING, "rightcall"), recording(store) as found:
        found.add([body("a")])
        for _ in range(3):
            assert store.tried.acquire(timeout=5)
        found.add([body("b")])
        state = found.state
        assert (state.ok, state.fault, state.recorded, state.waiting, state.lost) == (False, fault, 0, 2, 0)
        assert state.failures >= 2
        store.fault = None
        wait_until_written(found, store)
        assert (found.state.ok, found.state.fault, found.state.recorded, found.state.waiting) == (True, "", 2, 0)
    assert tools(store.inner) == ["a", "b"]
    assert [record.getMessage() for record in caplog.records] == [
        "rightcall: calls pass and are not recorded for now: the record x cannot be used: it is so. Wait.",
        "rightcall: calls are recorded again; 0 records are lost",
    ]


def wait_until_written(found: Recording, store: Faulty) -> None:
    for _ in range(1000):
        if not found.state.waiting and found.state.ok:
            return
        store.tried.acquire(timeout=0.01)
    raise AssertionError("it did not go on by itself")


def test_a_full_disk_under_a_real_database_loses_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "audit.db")
    try:
        with recording(store) as found:
            store.limit_pages(1)
            found.add([body(str(number), reason="x" * 500) for number in range(50)])
            while not found.failures:
                threading.Event().wait(0.001)
            assert (found.state.fault, found.state.recorded) == ("full", 0)
            store.limit_pages(None)
        assert tools(store) == list(map(str, range(50)))
        assert store.look(verify).ok
    finally:
        store.close()


def test_when_too_many_wait_the_oldest_stay_and_the_newest_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.fault = "full"
    with caplog.at_level(logging.ERROR, "rightcall"), recording(store, most=3) as found:
        found.add([body("a"), body("b")])
        found.add([body("c"), body("d")])
        found.add([body("e")])
        assert (found.state.waiting, found.state.lost) == (3, 2)
        store.fault = None
    assert tools(store.inner) == ["a", "b", "c"]
    assert sum("are lost, since too many wait" in record.getMessage() for record in caplog.records) == 1


def test_what_waits_is_bounded_in_bytes_too() -> None:
    store = Faulty()
    store.fault = "full"
    with recording(store, most_bytes=2500) as found:
        found.add([body(reason="x" * 1000) for _ in range(5)])
        assert (found.state.waiting, found.state.lost) == (2, 3)
        store.fault = None


def test_a_store_that_stays_broken_does_not_keep_the_server_from_stopping(caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.fault = "corrupt"
    found = Recording(store, gather=0.0, first_pause=0.001)
    with caplog.at_level(logging.ERROR, "rightcall"):
        found.add([body("a"), body("b")])
        found.stop(0.01)
    assert (found.state.lost, found.state.waiting, store.closed) == (2, 0, True)
    assert caplog.records[-1].getMessage() == "rightcall: 2 records of calls could not be written before the end"


def test_what_json_cannot_carry_is_recorded_without_it() -> None:
    store = MemoryStore()
    with recording(store) as found:
        found.add([body("half \ud83d", reason="\ud83d"), body("whole")])
    assert tools(store) == ["half \\ud83d", "whole"]
    assert found.state.lost == 0


def test_an_error_of_ours_reaches_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    broken: Any = Did("right", None, "Read")  # pyright: ignore[reportArgumentType] - such as a bug might make it
    with caplog.at_level(logging.ERROR, "rightcall"), recording(MemoryStore()) as found:
        found.told(Facts("anthropic", "local", did=[broken]))
    assert found.state.lost == 1
    assert "could not be recorded" in caplog.records[0].getMessage()


@pytest.mark.promise("P-12")
def test_the_audit_lies_beside_the_policy_file_and_hides_what_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    file = folder / "rightcall.toml"
    file.write_text('version = 1\n[audit]\npath = "kept/a.db"\nredact = ["badge"]\n', encoding="utf-8")
    found = open_recording(load_policy(file), file, root=tmp_path)
    call = Call("Read", {"file_path": "a.py", "badge": "number-7"})
    found.told(Facts("ollama", "local", did=[Did("right", Verdict(True, call), "Read", call.arguments)]))
    found.stop()
    store = SqliteStore(folder / "kept" / "a.db")
    try:
        (record,) = store.look(calls)
        assert record.params["badge"].startswith("[redacted ")
        assert record.policy == load_policy(file).digest
    finally:
        store.close()


def test_a_store_that_cannot_be_opened_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / ".rightcall").write_text("no folder", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be used"):
        open_recording(load_policy(None), root=tmp_path)


def test_in_memory_nothing_is_written_beside_the_policy(tmp_path: Path) -> None:
    found = open_recording(load_policy(None), root=tmp_path, store="memory")
    found.add([body()])
    found.stop()
    assert (found.state.recorded, list(tmp_path.iterdir())) == (1, [])

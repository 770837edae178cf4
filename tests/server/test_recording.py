"""The record beside the answers: nobody waits for it, nothing is lost, and a store that fails stops no answer."""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall import load_policy
from rightcall.errors import StoreError
from rightcall.policy.settings import Policy
from rightcall.proxy.gates import Did, Offer
from rightcall.record.calls import find_calls
from rightcall.record.erasure import erase, find_erasable
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import offered_tools
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import AuditEntry, Store, Tables, read_call, read_note
from rightcall.record.verify import prune, verify_audit
from rightcall.server import recording as noting
from rightcall.server.recording import Backlog, Facts, Recording, make_records, open_recording
from rightcall.types import Call, Verdict

pytestmark = pytest.mark.promise("H-03", "A-04")


def facts(*tools: str, **more: Any) -> Facts:
    """An answer with right calls of these tools."""
    arguments = {"file_path": "a.py"}
    did = [Did("right", Verdict(True, Call(tool, arguments)), tool, json.encode(arguments).decode()) for tool in tools]
    return Facts("anthropic", "local", model="m", did=did, **more)


def entries(store: Store) -> list[AuditEntry]:
    return store.look(lambda tables: [entry for entry in tables.entries() if entry.kind == "proxied"])


def tools(store: Store) -> list[str]:
    return [read_call(entry.body).tool for entry in entries(store)]


@contextmanager
def recording(store: Store, **settings: Any) -> Iterator[Recording]:
    quick: Any = {"gather": 0.0, "first_pause": 0.001} | settings
    made = Recording(store, owned=False, backlog=Backlog(**quick))
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
        self.atransact, self.next_answer = self.inner.atransact, self.inner.next_answer
        self.closed = self.is_remote = False

    def transact(self, work: Callable[[Tables], Any]) -> Any:
        self.tried.release()
        self.gate.wait(60)
        if self.fault is not None:
            raise StoreError("the record x cannot be used: it is so. Nothing was run. Wait.", self.fault)
        self.groups += 1
        return self.inner.transact(work)

    def close(self) -> None:
        self.closed = True


def test_every_call_of_an_answer_is_recorded_and_can_be_read_as_a_call() -> None:
    store = MemoryStore()
    with recording(store) as found:
        found.told(facts("Read", caller="editor"))
        found.told(Facts("anthropic", "local"))
    (record,) = store.look(find_calls)
    assert (record.caller, record.tool, record.status, record.wire) == ("editor", "Read", "proxied", "anthropic")
    assert (record.params, record.decision, record.model) == ({"file_path": "a.py"}, "passed", "m")
    assert (found.state.recorded, found.state.lost) == (1, 0)


def test_who_adds_does_not_wait_for_the_store_and_what_came_meanwhile_shares_a_commit() -> None:
    store = Faulty()
    store.gate.clear()
    with recording(store) as found:
        found.told(facts("first"))
        assert store.tried.acquire(timeout=60)
        for number in range(500):
            found.told(facts(str(number)))
        assert found.state.waiting == 501
        store.gate.set()
    assert tools(store.inner) == ["first", *map(str, range(500))]
    assert store.groups == 2


def test_stopping_writes_what_waits_and_closes_the_store(tmp_path: Path) -> None:
    found = open_recording(load_policy(None), root=tmp_path)
    for number in range(1200):
        found.told(facts(str(number)))
    found.stop()
    found.stop()
    store = SqliteStore(tmp_path / ".rightcall" / "audit.db")
    try:
        assert tools(store) == list(map(str, range(1200)))
        assert store.look(verify_audit).ok
        assert store.look(lambda tables: next(tables.entries())).kind == "policy"
    finally:
        store.close()
    assert (found.state.ok, found.state.fault, found.state.recorded) == (False, "closed", 1200)


def test_what_is_added_after_the_end_is_counted_as_lost() -> None:
    with recording(MemoryStore()) as found:
        found.stop()
        found.told(facts("Read"))
        assert found.state.lost == 1


@pytest.mark.parametrize("fault", ["full", "locked", "read-only", "corrupt"])
def test_a_fault_is_told_once_and_work_resumes_by_itself(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.fault = fault
    with caplog.at_level(logging.WARNING, "rightcall"), recording(store) as found:
        found.told(facts("a"))
        for _ in range(3):
            assert store.tried.acquire(timeout=60)
        found.told(facts("b"))
        state = found.state
        assert (state.ok, state.fault, state.recorded, state.waiting, state.lost) == (False, fault, 0, 2, 0)
        assert state.failures >= 2
        store.fault = None
        wait_until_written(found, store)
        assert (found.state.ok, found.state.fault, found.state.recorded, found.state.waiting) == (True, "", 2, 0)
    assert tools(store.inner) == ["a", "b"]
    assert [record.getMessage() for record in caplog.records] == [
        "rightcall: audit log unavailable; calls pass unrecorded: the record x cannot be used: it is so. Wait.",
        "rightcall: calls are recorded again; 0 records are lost",
    ]


def wait_until_written(found: Recording, store: Faulty) -> None:
    for _ in range(6000):
        if not found.state.waiting and found.state.ok:
            return
        store.tried.acquire(timeout=0.01)
    raise AssertionError("it did not go on by itself")


def test_a_full_disk_under_a_real_database_loses_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "audit.db")
    try:
        with recording(store) as found:
            store.limit_pages(1)
            found.told(facts(*map(str, range(50))))
            while not found.failures:
                threading.Event().wait(0.001)
            assert (found.state.fault, found.state.recorded) == ("full", 0)
            store.limit_pages(None)
        assert tools(store) == list(map(str, range(50)))
        assert store.look(verify_audit).ok
    finally:
        store.close()


def test_when_too_many_wait_the_oldest_stay_and_the_newest_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.fault = "full"
    with caplog.at_level(logging.ERROR, "rightcall"), recording(store, most=3) as found:
        found.told(facts("a", "b"))
        found.told(facts("c", "d"))
        found.told(facts("e"))
        assert (found.state.waiting, found.state.lost) == (3, 2)
        store.fault = None
    assert tools(store.inner) == ["a", "b", "c"]
    assert sum("are lost, since too many wait" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize("said", ["x" * 10_000, {"text": "x" * 10_000}])
def test_what_waits_is_bounded_in_bytes_too(said: Any) -> None:
    store = Faulty()
    store.gate.clear()
    with recording(store, most_bytes=100_000) as found:
        found.told(facts("first"))
        assert store.tried.acquire(timeout=60)
        long = Did("left", Verdict(False, None), "Read", said)
        found.told(Facts("anthropic", "local", did=[long] * 5))
        assert (found.state.waiting, found.state.lost) == (3, 3)
        store.gate.set()
    assert (found.state.recorded, found.state.lost) == (3, 3)


def test_records_are_made_beside_the_answers_and_not_where_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through two thousand broken calls for secrets takes a second, in which nobody else would be served."""
    wait, makers = threading.Event(), list[str]()

    def made_slowly(*given: Any) -> list[bytes]:
        wait.wait(60)
        makers.append(threading.current_thread().name)
        return make_records(*given)

    monkeypatch.setattr("rightcall.server.recording.make_records", made_slowly)
    store = MemoryStore()
    names = [str(number) for number in range(2_000)]
    with recording(store) as found:
        told = facts(*names)
        found.told(told)
        told.did.clear()  # nothing that happens to it later matters
        assert (found.state.waiting, found.state.recorded) == (2_000, 0)
        wait.set()
    assert tools(store) == names
    assert set(makers) == {"rightcall recording"}


def test_what_cannot_be_made_in_time_is_counted_and_what_was_made_is_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, wait = threading.Event(), threading.Event()

    def made_late(*given: Any) -> list[bytes]:
        begun.set()
        wait.wait(60)
        return make_records(*given)

    monkeypatch.setattr("rightcall.server.recording.make_records", made_late)
    store = MemoryStore()
    with caplog.at_level(logging.ERROR, "rightcall"):
        found = Recording(store, owned=False, backlog=Backlog(0.0))
        found.told(facts(*map(str, range(noting.AT_ONCE + 7))))
        assert begun.wait(60)
        stopping = threading.Thread(target=found.stop, args=[0.0])
        stopping.start()
        while found.state.fault != "closed":
            stopping.join(0.001)
        wait.set()
        stopping.join()
    assert tools(store) == [str(number) for number in range(noting.AT_ONCE)]
    assert (found.state.recorded, found.state.lost, found.state.waiting) == (noting.AT_ONCE, 7, 0)
    assert "7 records of calls could not be written before the end" in caplog.text


def test_a_store_that_stays_broken_does_not_keep_the_server_from_stopping(caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.fault = "corrupt"
    found = Recording(store, backlog=Backlog(0.0, 0.001))
    with caplog.at_level(logging.ERROR, "rightcall"):
        found.told(facts("a", "b"))
        found.stop(0.01)
    assert (found.state.lost, found.state.waiting, store.closed) == (2, 0, True)
    assert caplog.records[-1].getMessage() == "rightcall: 2 records of calls could not be written before the end"


def test_what_json_cannot_carry_is_recorded_without_it() -> None:
    store = MemoryStore()
    with recording(store) as found:
        found.told(facts("half \ud83d", "whole"))
    assert tools(store) == ["half \\ud83d", "whole"]
    assert found.state.lost == 0


def test_an_error_of_ours_reaches_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    broken: Any = Did("right", None, "Read")  # pyright: ignore[reportArgumentType] - such as a bug might make it
    with caplog.at_level(logging.ERROR, "rightcall"), recording(MemoryStore()) as found:
        found.told(Facts("anthropic", "local", did=[broken]))
    assert found.state.lost == 1
    assert "could not be recorded" in caplog.records[0].getMessage()


def test_a_call_that_cannot_be_recorded_takes_no_other_with_it(caplog: pytest.LogCaptureFixture) -> None:
    nameless: Any = None
    told = facts("a", "b", "c")
    told.did[1] = Did("left", Verdict(False, None), nameless, "{}")
    store = MemoryStore()
    with caplog.at_level(logging.ERROR, "rightcall"), recording(store) as found:
        found.told(told)
    assert (tools(store), found.state.recorded, found.state.lost) == (["a", "c"], 2, 1)
    assert "could not be recorded" in caplog.text


def test_a_call_is_recorded_under_the_policy_that_was_in_force_when_it_passed() -> None:
    store = Faulty()
    store.gate.clear()
    before, after = Policy(), load_policy({"gate": {"mode": "warn"}, "audit": {"redact": ["file_path"]}})
    with recording(store) as found:
        found.told(facts("first"))
        assert store.tried.acquire(timeout=60)  # the thread is busy: what follows waits
        found.told(facts("old"))
        found.under(after)
        found.told(facts("new"))
        store.gate.set()
    recorded = {one.tool: one for one in store.inner.look(find_calls)}
    old, new = recorded["old"], recorded["new"]
    assert (old.policy, new.policy) == (before.digest, after.digest)
    assert old.params == {"file_path": "a.py"}
    assert new.params["file_path"].startswith("[redacted ")


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
        (record,) = store.look(find_calls)
        assert record.params["badge"].startswith("[redacted ")
        assert record.policy == load_policy(file).digest
    finally:
        store.close()


def offers(store: Store) -> list[dict[str, Any]]:
    found = store.look(lambda tables: tables.newest(999, ("definition",)))
    return [read_note(entry.body).data for entry in reversed(found)]


def offer_of(number: int = 0, **more: Any) -> Offer:
    listed = json.encode([{"name": f"look{number}", "parameters": {"type": "object"}, **more}])
    return Offer(sha256(listed).hexdigest(), listed)


def test_the_tools_of_a_client_are_kept_once_and_its_calls_name_them() -> None:
    store = MemoryStore()
    for _ in range(2):
        with recording(store) as found:
            found.told(facts("look0", "look0", offer=offer_of(), caller="anna"))
            found.told(facts("look0", offer=offer_of()))
    (kept,) = offers(store)
    assert (kept["offered"], kept["caller"]) == (offer_of().digest, "anna")
    assert {read_call(entry.body).definition for entry in entries(store)} == {offer_of().digest[:16]}
    assert store.look(lambda tables: offered_tools(tables, offer_of().digest)) == offer_of().tools


@pytest.mark.parametrize("more", [{"description": "x" * 300_000}, {"description": "key sk-ant-api03-" + "a1B2" * 24}])
def test_tools_that_are_long_or_hold_a_secret_are_not_kept(more: dict[str, Any]) -> None:
    store = MemoryStore()
    with recording(store) as found:
        found.told(facts("look0", offer=offer_of(**more)))
    assert offers(store) == []
    assert [read_call(entry.body).definition for entry in entries(store)] == [""]


def test_a_client_with_other_tools_each_time_does_not_fill_the_store_nor_take_the_room_of_others() -> None:
    store = MemoryStore()
    with recording(store) as found:
        for number in range(80):
            found.told(facts("look", offer=offer_of(number), caller="eve"))
        for number in range(80, 160):
            found.told(facts("look", offer=offer_of(number), caller=f"anna{number}"))
    assert Counter(one["caller"] == "eve" for one in offers(store)) == {True: 32, False: 32}
    assert sum(bool(read_call(entry.body).definition) for entry in entries(store)) == 64


def test_tools_that_are_not_kept_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def described(offer: Offer, redactor: Any) -> str:
        looked.append(offer.digest)
        return ""

    monkeypatch.setattr("rightcall.server.recording._described", described)
    with recording(MemoryStore()) as found:
        for _ in range(20):
            found.told(facts("look0", offer=offer_of()))
    assert looked == [offer_of().digest]


@pytest.mark.parametrize("lose", ["prune", "erase"])
def test_tools_whose_record_is_gone_are_kept_again(lose: str) -> None:
    store = MemoryStore()
    with recording(store) as found:
        found.told(facts("look0", offer=offer_of(), caller="anna"))
    if lose == "prune":
        store.transact(lambda tables: prune(tables, keep=0, by="bert"))
    else:
        erase(store, store.look(lambda tables: find_erasable(tables, "anna")), "anna", "bert")
    assert store.look(lambda tables: offered_tools(tables, offer_of().digest)) == b""
    with recording(store) as found:
        found.told(facts("look0", offer=offer_of()))
    assert store.look(lambda tables: offered_tools(tables, offer_of().digest)) == offer_of().tools
    assert store.look(verify_audit).ok


def test_a_store_that_cannot_be_opened_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / ".rightcall").write_text("no folder", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be used"):
        open_recording(load_policy(None), root=tmp_path)


def test_in_memory_nothing_is_written_beside_the_policy(tmp_path: Path) -> None:
    found = open_recording(load_policy(None), root=tmp_path, store="memory")
    found.told(facts("Read"))
    found.stop()
    assert (found.state.recorded, list(tmp_path.iterdir())) == (1, [])


@pytest.mark.promise("S-02")
def test_an_event_loop_waits_a_moment_for_a_store_and_goes_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noting, "_LOOKING", 0.0)
    store, gate = Faulty(), threading.Event()
    look = store.look
    store.is_remote = True

    def stuck(work: Callable[[Tables], Any]) -> Any:
        gate.wait(60)
        return look(work)

    async def work(found: Recording) -> int:
        paused, passes = asyncio.ensure_future(found.paused()), 0
        try:
            while not paused.done():
                await asyncio.sleep(0.01)
                passes += 1
            assert await paused is None
        finally:
            gate.set()
        return passes

    with recording(store) as found:
        store.look = stuck
        assert asyncio.run(work(found)) > 5
        assert (found.state.ok, found.state.fault) == (False, "unreachable")
        asyncio.run(found.paused())
        assert found.state.ok


def test_a_store_whose_file_is_gone_or_another_is_noticed_though_nobody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.server.recording._LOOKING", 0.0)
    path, away = tmp_path / "audit.db", tmp_path / "away"
    store = SqliteStore(path)
    SqliteStore(tmp_path / "other" / "audit.db").close()
    with recording(store) as found:
        assert asyncio.run(found.paused()) is None
        assert found.state.ok
        path.rename(away)
        asyncio.run(found.paused())
        assert not found.state.ok
        for end in ("-wal", "-shm"):
            path.with_name(f"audit.db{end}").unlink(missing_ok=True)
        path.write_bytes((tmp_path / "other" / "audit.db").read_bytes())
        asyncio.run(found.paused())
        assert (found.state.ok, found.state.fault) == (False, "replaced")
    store.close()

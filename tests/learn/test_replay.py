"""Replaying under the same policy changes nothing, whatever happened; what a record does not hold is not guessed."""

import json
import logging
import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall import Executor, MemoryStore, load_policy, tool
from rightcall.base.secrets import Redactor
from rightcall.executor.door import Door
from rightcall.learn.differences import Again, Change, Same, Unknown
from rightcall.learn.history import CALL_KINDS, Definitions, Span, stream_entries
from rightcall.learn.replay import Replay
from rightcall.learn.rulings import Place, Ruling, Rulings, ruling_of
from rightcall.learn.sites import Sites
from rightcall.policy.types import SECOND, Grant
from rightcall.proxy.gates import Gates, Provenance, Settler, notes
from rightcall.record.admission import give_grant
from rightcall.record.notes import Decider, note_policy, policy_note
from rightcall.record.premises import guarded_paths, store_path
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, Store, encode, read_call, read_note
from rightcall.record.verify import prune
from rightcall.server.recording import Facts, open_recording
from support.every import sampled
from support.histories import CALLERS, POLICY, START, live, world

pytestmark = pytest.mark.promise("L-01")

TOOL = {"name": "look", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def replayed(store: Store, root: Path, ruling: Ruling | None = None, **more: Any) -> list[Again]:
    sites = Sites(Definitions.of(store), store, str(root))
    with closing(sites):
        return list(Replay(ruling, Rulings(), sites, **more).over(stream_entries(store)))


def rules(store: Store) -> set[str]:
    return {read_call(entry.body).rule.partition(":")[0] for entry in stream_entries(store) if entry.kind in CALL_KINDS}


ALL_RULES = {
    "paused", "quarantine", "limit", "loop", "approval", "validation", "unknown_tool", "path", "command", "url",
    "definition", "dry_run", "allowlist", "policy", "caller",
}  # fmt: skip


@pytest.mark.parametrize("seed", sampled(range(1, 4), 3))
def test_nothing_changes_under_the_same_policy(seed: int, tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, records=10**6)
    with world([store], tmp_path) as made:
        live(random.Random(seed), clock, [store], made, 900)
    assert rules(store) >= ALL_RULES
    for ruling in (None, ruling_of(load_policy(POLICY))):
        assert Counter(type(one) for one in replayed(store, tmp_path, ruling)) == {Same: 900}


def test_nothing_changes_where_two_processes_shared_a_file(tmp_path: Path) -> None:
    clock = ManualClock(START)
    stores: list[Store] = [SqliteStore(str(tmp_path / "audit.db"), clock) for _ in range(2)]
    with world(stores, tmp_path) as made:
        live(random.Random(11), clock, stores, made, 250)
    found = Counter(type(one) for one in replayed(stores[0], tmp_path))
    for store in stores:
        store.close()
    assert found == {Same: 250}


@pytest.mark.long
def test_nothing_changes_in_many_records(tmp_path: Path) -> None:
    """As many as five seconds of CPU have room for; `scripts/replay_history.py` makes and decides 100,000."""
    clock = ManualClock(START)
    store = MemoryStore(clock, records=10**7)
    with world([store], tmp_path) as made:
        live(random.Random(5), clock, [store], made, 3_000)
    assert Counter(type(one) for one in replayed(store, tmp_path)) == {Same: 3_000}


def test_a_wrong_record_is_noticed(tmp_path: Path) -> None:
    """The replay does not repeat what is written: a decision that the policy does not make is a difference."""
    clock = ManualClock(START)
    store = MemoryStore(clock)
    with Door.open("my-agent", POLICY, store=store, root=tmp_path, tools=[TOOL]) as door:
        for number in range(3):
            door.judge("look", {"n": number})
    entries = list(stream_entries(store))
    at = next(place for place, one in enumerate(entries) if one.kind == "begin")
    body = replace(read_call(entries[at].body), rule="stage:full")
    entries[at] = replace(entries[at], body=encode(body))
    sites = Sites(Definitions.of(store), store, str(tmp_path))
    found = list(Replay(None, Rulings(), sites).over(entries))
    assert [type(one) for one in found] == [Change, Same, Same]


def one_call(store: Store, root: Path, name: str, arguments: Any, policy: Any = POLICY) -> None:
    with Door.open("my-agent", policy, store=store, root=root, tools=[TOOL]) as door:
        door.judge(name, arguments)


def only(found: list[Again]) -> Again:
    (one,) = found
    return one


def test_a_redacted_argument_is_not_guessed(tmp_path: Path) -> None:
    store = MemoryStore(ManualClock(START))
    one_call(store, tmp_path, "save", {"path": "a.txt", "password": "Zq8hunter2", "file": "b.txt"})
    denied = {**POLICY, "policy": {**POLICY["policy"], "paths": {"deny": ["b.txt"]}}}
    assert only(replayed(store, tmp_path, ruling_of(load_policy(denied)))) == Unknown(2, "redacted")
    names = {**POLICY, "policy": {**POLICY["policy"], "deny": ["save"]}}
    again = only(replayed(store, tmp_path, ruling_of(load_policy(names))))  # its name is enough for this
    assert isinstance(again, Change)
    assert again.after.rule == "policy:deny"


@pytest.mark.parametrize("denied", sampled(["a*", "docs/**"], 2))
def test_a_redacted_argument_that_no_rule_for_paths_reads_changes_nothing(denied: str, tmp_path: Path) -> None:
    """The same history twice, once with an argument redacted: a change of path rules is decided alike."""
    new = POLICY | {"policy": POLICY["policy"] | {"paths": {"deny": [denied]}, "commands": {"ask": ["ls"]}}}
    told: list[list[Any]] = []
    for name, redact in (("open", []), ("redacted", ["page_mark"])):
        clock, root = ManualClock(START), tmp_path / name
        root.mkdir()
        store = MemoryStore(clock, records=10**6)
        with world([store], root, POLICY | {"audit": {"redact": redact}}) as made:
            live(random.Random(7), clock, [store], made, 250)
        found = replayed(store, root, ruling_of(load_policy(new)))
        told.append([(type(one), one.seq, getattr(getattr(one, "after", None), "rule", "")) for one in found])
    assert told[0] == told[1]
    assert Unknown not in {kind for kind, _, _ in told[1]}


def test_a_redacted_path_is_not_guessed(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock)
    old = POLICY | {"audit": {"redact": ["path"]}}
    with world([store], tmp_path, old) as made:
        for door, space in made.doors:
            door.judge("save", {"path": "a.txt"}, caller="default", space=space)
        made.executors[0].run({"name": "save", "arguments": {"path": "a.txt"}}, "default")
    new = old | {"policy": POLICY["policy"] | {"paths": {"deny": ["a*"]}}}
    found = replayed(store, tmp_path, ruling_of(load_policy(new)))
    assert [type(one) for one in found] == [Unknown] * 4


def test_arguments_written_as_broken_text_are_decided_again(tmp_path: Path) -> None:
    store = MemoryStore(ManualClock(START))
    policy: dict[str, Any] = {"policy": {"allow": ["look"]}}

    def look(n: int) -> str:
        return f"seen {n}"

    with Executor.open_sync(tmp_path, policy, tools=[tool(effects=["read"])(look)], store=store) as executor:
        assert executor.run({"name": "look", "arguments": "{'n': 1,}"}).ok
    other = policy | {"gate": {"tools": {"other": {"aliases": {"a": "b"}}}}}
    assert isinstance(only(replayed(store, tmp_path, ruling_of(load_policy(other)))), Same)
    unrepaired = only(replayed(store, tmp_path, ruling_of(load_policy(policy | {"gate": {"enabled": False}}))))
    assert isinstance(unrepaired, Change)
    assert (unrepaired.after.decision, unrepaired.after.rule) == ("deny", "validation")


def test_a_question_that_cannot_be_decided_again_counts_on_both_sides(tmp_path: Path) -> None:
    store = MemoryStore(ManualClock(START))
    policy: dict[str, Any] = {"policy": {"approval": {"tools": ["look"]}}}
    one_call(store, tmp_path, "look", {"n": 1}, policy)
    entries = [
        replace(one, body=encode(replace(read_call(one.body), digest="keyed:1"))) if one.kind == "waiting" else one
        for one in stream_entries(store)
    ]
    sites = Sites(Definitions.of(store), store, str(tmp_path))
    replay = Replay(ruling_of(load_policy(policy | {"gate": {"enabled": False}})), Rulings(), sites)
    assert isinstance(only(list(replay.over(entries))), Unknown)
    assert replay.totals.questions == [1, 1]


def test_records_of_an_older_version_are_not_guessed(tmp_path: Path) -> None:
    store = MemoryStore(ManualClock(START))
    one_call(store, tmp_path, "look", {"n": 1})
    entries = list(stream_entries(store))
    bodies = [replace(one, body=encode(replace(read_call(one.body), now=0))) if one.kind == "begin" else one
              for one in entries]  # fmt: skip
    sites = Sites(Definitions.of(store), store, str(tmp_path))
    assert list(Replay(None, Rulings(), sites).over(bodies)) == [Unknown(2, "older")]
    without_policy = [one for one in entries if one.kind != "policy"]
    assert list(Replay(None, Rulings(), sites).over(without_policy)) == [Unknown(2, "policy")]


def test_a_grant_whose_conditions_are_not_recorded_is_not_guessed(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock)
    grant = Grant("aa", "my-agent", "save", {"path": "a*"}, 3, clock.now() + 100 * SECOND, "anna", "")
    with Door.open("my-agent", POLICY, store=store, root=tmp_path, tools=[TOOL]) as door:
        store.transact(lambda tables: give_grant(tables, grant))
        door.judge("save", {"path": "a.txt"})
    again = only(replayed(store, tmp_path))
    assert again == Unknown(again.seq, "grant")


def test_a_caller_and_a_time_can_be_chosen(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, records=10**6)
    with world([store], tmp_path) as made:
        live(random.Random(1), clock, [store], made, 300)
    everything = replayed(store, tmp_path)
    middle = store.look(lambda tables: tables.entry(everything[150].seq))
    assert middle is not None
    later = replayed(store, tmp_path, span=Span(since=middle.at))
    assert 140 <= len(later) <= 160
    assert set(map(type, later)) == {Same}  # what was before still counts
    by_caller = [len(replayed(store, tmp_path, span=Span(caller=name))) for name in CALLERS]
    assert sum(by_caller) == 300
    assert min(by_caller) > 0


def test_after_a_prune_the_first_hour_is_not_guessed(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, records=10**6)
    policy = load_policy(POLICY)
    with world([store], tmp_path) as made:
        live(random.Random(1), clock, [store], made, 600)
    store.transact(lambda tables: prune(tables, keep=700, by="anna"))
    sites = Sites(Definitions.of(store), store, str(tmp_path))
    place = Place(guarded_paths(str(tmp_path), None, store_path(policy, None, str(tmp_path))), str(tmp_path))
    found = list(Replay(None, Rulings(policy, place=place), sites, pruned=True).over(stream_entries(store)))
    assert {type(one) for one in found} <= {Same, Unknown}
    assert {one.why for one in found if isinstance(one, Unknown)} <= {"pruned"}
    assert sum(isinstance(one, Same) for one in found) > 200


@pytest.mark.promise("L-01")
def test_a_policy_that_somebody_has_stays_one_ruling_whatever_records_follow(tmp_path: Path) -> None:
    policy, store, other = load_policy(POLICY), MemoryStore(), MemoryStore()
    one_call(store, tmp_path, "look", {"n": 1})
    one_call(other, tmp_path, "look", {"n": 1}, {**POLICY, "policy": {"repeats": 9}})
    body = next(read_call(one.body) for one in stream_entries(store) if one.kind in CALL_KINDS)
    place = Place(guarded_paths(str(tmp_path), None, store_path(policy, None, str(tmp_path))), str(tmp_path))
    rulings = Rulings(policy, place=place)
    first = rulings.of(body)
    for entry in stream_entries(other):
        if entry.kind == "policy":
            rulings.take(entry)
    assert first is not None
    assert rulings.of(body) is first  # what was worked out for it is known by its identity


def test_the_store_keeps_each_policy_once_and_without_secrets(tmp_path: Path) -> None:
    store = MemoryStore(ManualClock(START))
    secret = {**POLICY, "servers": {"files": {"command": ["serve"], "env": {"API_TOKEN": "Zq8hunter2"}}}}
    for _ in range(3):
        one_call(store, tmp_path, "look", {"n": 1})
        one_call(store, tmp_path, "look", {"n": 1}, secret)
    notes = [read_note(one.body).data for one in stream_entries(store) if one.kind == "policy"]
    kept = [one for one in notes if "content" in one]
    assert len(kept) == 2
    assert b"Zq8hunter2" not in b"".join(one.body for one in stream_entries(store))
    assert kept[0]["content"]["settings"]["deny"] == ["fo*"]
    assert Redactor(b"none").value(kept) == kept


@pytest.mark.parametrize("given", [False, True])
def test_calls_through_the_proxy_need_the_tools_of_their_clients(given: bool, tmp_path: Path) -> None:
    store, redactor = MemoryStore(ManualClock(START)), Redactor(b"key")
    tool = {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"},
            "day": {"type": "string"}}, "required": ["text", "day"]}}  # fmt: skip
    gate = Gates(load_policy({}), "local").of(json.dumps([tool]).encode())
    assert gate is not None
    settler = Settler(gate)
    told = [
        settler.native("note", one, "id")[1] for one in ({"text": "a", "day": "b"}, {"remark_made": "a", "day": "b"})
    ]
    bodies = notes(told, redactor, Provenance("openai", "m", "local", policy=load_policy({}).digest))
    note, digest = policy_note("loaded", load_policy({}), {}, None)
    store.transact(lambda tables: note_policy(tables, note, digest, Decider(load_policy({}))))
    for body in bodies:
        store.transact(lambda tables, one=body: tables.append("proxied", 0, encode(one)))
    assert [type(one) for one in replayed(store, tmp_path)] == [Same, Same]
    changed = ruling_of(load_policy({"gate": {"tools": {"note": {"aliases": {"remark_made": "text"}}}}}))
    sites = Sites(Definitions.of(store), store, str(tmp_path), (tool,) if given else ())
    found = list(Replay(changed, Rulings(), sites).over(stream_entries(store)))
    if not given:
        assert found == [Unknown(2, "tools"), Unknown(3, "tools")]
        return
    assert [type(one) for one in found] == [Same, Change]
    assert isinstance(found[1], Change)
    assert (found[1].kinds, found[1].after.params) == (("repaired",), {"text": "a", "day": "b"})


def test_calls_through_the_proxy_are_checked_against_the_tools_that_their_clients_offered(tmp_path: Path) -> None:
    store = MemoryStore(ManualClock(START))
    tool = {"type": "function", "function": {"name": "note", "parameters": {"type": "object", "properties": {
            "text": {"type": "string"}, "day": {"type": "string"}}, "required": ["text", "day"]}}}  # fmt: skip
    gates, offered = Gates(load_policy({}), "local"), json.dumps([tool, {"type": "web_search"}]).encode()
    gate = gates.of(offered)
    assert gate is not None
    said = ({"text": "a", "day": "b"}, {"remark_made": "a", "day": "b"}, {"Text": "a", "day": "b"})
    did = [Settler(gate).native("note", one, "id")[1] for one in said]
    recording = open_recording(load_policy({}), root=tmp_path, store=store)
    for observe in (False, True):
        facts = Facts("openai", "local", model="m", did=did, offer=gates.offer(offered), observe=observe)
        recording.told(facts)
    recording.stop()
    changed = ruling_of(load_policy({"gate": {"tools": {"note": {"aliases": {"remark_made": "text"}}}}}))
    found = replayed(store, tmp_path, changed)
    assert [type(one) for one in found] == [Same, Change, Same] * 2
    assert [one.kinds for one in found if isinstance(one, Change)] == [("repaired",)] * 2


def test_a_restart_of_the_machine_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its monotonic clock begins anew: limits and approvals of before still count."""
    policy = {"policy": {"allow": ["*"], "write": "allow", "limits": {"caller": {"minute": 4}}}}
    for boot, clock in (("one", ManualClock(START)), ("two", ManualClock(10**9, 1_767_225_610.0))):
        monkeypatch.setattr("rightcall.record.sqlite.boot_id", lambda boot=boot: boot)
        with closing(SqliteStore(str(tmp_path / "audit.db"), clock)) as store:
            with Door.open("my-agent", policy, store=store, root=tmp_path, tools=[TOOL]) as door:
                for number in range(5):
                    clock.advance(1)
                    door.judge("look", {"n": number})
            found = replayed(store, tmp_path)
            kinds = Counter(entry.kind for entry in stream_entries(store))
    assert kinds["store"] == 1
    assert kinds["refused"] == 1 + 5
    assert [type(one) for one in found] == [Same] * 10


def recorded_by(version: str, monkeypatch: pytest.MonkeyPatch, root: Path, calls: list[tuple[str, Any]]) -> MemoryStore:
    """A history of an engine that called itself so, and that did not yet guess the name of the only argument left."""
    store = MemoryStore(ManualClock(START))
    with monkeypatch.context() as older:
        older.setattr("rightcall.record.notes.__version__", version)
        older.setattr("rightcall.gate.repair.names._Search.eliminate", lambda self, is_right: None)
        with Door.open("my-agent", POLICY, store=store, root=root, tools=[TOOL]) as door:
            for name, arguments in calls:
                passage = door.judge(name, arguments)
                door.ended(passage)
    return store


def test_what_another_version_repaired_less_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Any]] = [("look", {"n": 1}), ("look", {"zeppelin": 2}), ("look", {"n": "3"}), ("look", {})]
    store = recorded_by("0.0.1", monkeypatch, tmp_path, calls)
    found = replayed(store, tmp_path, ruling_of(load_policy(POLICY)))
    assert [type(one) for one in found] == [Same, Change, Same, Same]
    change = found[1]
    assert isinstance(change, Change)
    assert (change.before.rule, change.after.decision, change.after.params) == ("validation", "allow", {"n": 2})
    assert "repaired" in change.kinds


def test_the_same_engine_under_another_version_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, records=10**6)
    with monkeypatch.context() as older:
        older.setattr("rightcall.record.notes.__version__", "0.0.1")
        with world([store], tmp_path) as made:
            live(random.Random(4), clock, [store], made, 250)
    found = replayed(store, tmp_path, ruling_of(load_policy(POLICY)))
    assert len(found) == 250
    assert not [one for one in found if isinstance(one, Change)]
    unknown = {one.seq: one.why for one in found if isinstance(one, Unknown)}
    bodies = {one.seq: one.body for one in stream_entries(store)}
    assert set(unknown.values()) == {"redacted"}  # what this version makes of them nobody can know
    assert all(b"[redacted" in bodies[seq] for seq in unknown)

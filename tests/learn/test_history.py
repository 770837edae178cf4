"""Recorded calls from any store, in the order in which they were decided."""

import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from rightcall import MemoryStore
from rightcall.learn.differences import Same
from rightcall.learn.history import (
    CALL_KINDS,
    PAGE,
    Definitions,
    RecordedCall,
    RecordedEnd,
    Span,
    count_entries,
    stream_calls,
    stream_entries,
)
from rightcall.learn.replay import Replay
from rightcall.learn.rulings import Rulings
from rightcall.learn.sites import Sites
from rightcall.record.notes import note_message
from rightcall.record.postgres import PostgresStore
from rightcall.record.postgres.node import DatabaseClock
from rightcall.record.tables import ManualClock, NoteBody, Store, encode, read_call
from support.histories import START, live, world
from support.postgres import POSTGRES, shared


def test_every_record_comes_once_and_in_order() -> None:
    store = MemoryStore(ManualClock(START), records=10**6)
    for number in range(2 * PAGE + 7):
        store.transact(lambda tables, one=number: note_message(tables, f"caller {one}"))
    found = [entry.seq for entry in stream_entries(store)]
    assert found == list(range(1, 2 * PAGE + 8))
    assert [entry.seq for entry in stream_entries(store, 4000)] == list(range(4001, 2 * PAGE + 8))
    assert count_entries(store) == len(found)


def test_calls_are_told_with_their_ends_and_definitions(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, records=10**6)
    with world([store], tmp_path) as made:
        live(random.Random(3), clock, [store], made, 200)
    told = list(stream_calls(store))
    calls = [one for one in told if isinstance(one, RecordedCall)]
    ends = [one for one in told if isinstance(one, RecordedEnd)]
    assert len(calls) == 200
    assert {one.call for one in ends} <= {one.seq for one in calls}
    mine = [one for one in stream_calls(store, Span(caller="pupil")) if isinstance(one, RecordedCall)]
    assert {one.body.caller for one in mine} == {"pupil"}
    known = Definitions.of(store)
    defined = [one for one in calls if one.body.definition and one.body.inputs.space == ""]
    found = [known.of_call(one.body) for one in defined]
    assert defined
    assert all(one is not None and one.about["name"] for one in found)


def test_a_definition_is_found_however_many_records_tell_of_others() -> None:
    store = MemoryStore(ManualClock(START), records=10**6)

    def tell(tool: str, digest: str, described: str) -> None:
        data = {"tool": tool, "definition": digest, "described": described}
        store.transact(lambda tables: tables.append("definition", 0, encode(NoteBody("accepted", "anna", data))))

    tell("save", "a" * 64, '{"name": "save"}')
    tell("save", "b" * 64, '{"name": "save", "description": "another"}')
    for number in range(10_500):
        tell("look", "cd"[number % 2] * 64, '{"name": "look"}')
    tell("look", "e" * 64, "not JSON")
    known = Definitions.of(store)
    first = known.find("save", "a" * 64)
    assert first is not None
    assert first.about == {"name": "save"}
    assert sorted(known.tools()) == ["look", "save"]
    last = known.last("save")
    assert last is not None
    assert last.digest == "b" * 64


@pytest.mark.postgres
@pytest.mark.promise("L-01")
@pytest.mark.parametrize("late", [0, 50_000_000], ids=["at once", "told late what time it is"])
def test_nothing_changes_where_two_nodes_share_a_server(
    late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their numbers tell no order among them; the database's time does, as it is within each transaction."""
    monkeypatch.setattr("rightcall.record.postgres.tables._SETTLING", 0)  # as if it were some seconds ago
    with shared(POSTGRES[-1]).database() as url, closing(PostgresStore(url)) as one, closing(PostgresStore(url)) as two:
        stores: list[Store] = [one, two]
        tell = cast("DatabaseClock", one.clock).tell
        monkeypatch.setattr(one.clock, "tell", lambda now: tell(now - late))
        with world(stores, tmp_path) as made:
            live(random.Random(4), one.clock, stores, made, 200)
        calls = [entry for entry in stream_entries(one) if entry.kind in CALL_KINDS]
        moments = [read_call(entry.body).now for entry in calls]
        assert moments == sorted(moments)
        assert len({entry.node for entry in calls}) == 2
        sites = Sites(Definitions.of(one), one, str(tmp_path))
        found = Counter(type(again) for again in Replay(None, Rulings(), sites).over(stream_entries(one)))
    assert found == {Same: 200}

"""Pages of calls: every filter finds what looking through all calls finds, page by page, and no page takes for ever."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.record.calls import CallFilter, CallRecord, find_calls
from rightcall.record.listing import ANY_REPAIR, CallPage, CallQuery, list_calls
from rightcall.record.memory import MemoryStore
from rightcall.record.rollup import rollup
from rightcall.record.tables import CallBody, EndBody, ManualClock, Store, encode
from rightcall.record.verify import prune
from support.stores import NOON, Diary

pytestmark = pytest.mark.promise("A-05")

NAMES = st.sampled_from(["ada", "bob"])
CALL = st.tuples(
    st.sampled_from(["begin", "refused", "waiting", "proxied"]), NAMES, st.sampled_from(["code/read", "file/save"]),
    st.sampled_from(["direct", "json-repair", "failed"]), st.sampled_from([None, "c1"]), st.sampled_from(["", "m1"]),
    st.sampled_from([None, "success", "failed", "interrupted"]), st.sampled_from([0, 1, 1800, 4000, -5000]),
)  # fmt: skip


def may_be(*values: str) -> "st.SearchStrategy[str | None]":
    return st.sampled_from([None, None, None, *values])


QUERY = st.builds(
    CallQuery, caller=may_be("ada", "eve"), tool=may_be("code/read"), model=may_be("m1"), provider=may_be("p"),
    decision=may_be("allow"), rule=may_be("rule:refused", "rule:waiting", "none"),
    strategy=may_be("direct", "lifted", "failed", ANY_REPAIR), context=may_be("c1", "c9"),
    status=may_be("success", "failed", "refused", "waiting", "proxied", "pending", "interrupted"),
    text=may_be("FILE/", "späť", "nothing like it"), since=may_be("2026-01-01 13:00:00.000"),
    until=may_be("2026-01-01 14:00:00.000"),
)  # fmt: skip


def write(store: Store, clock: ManualClock, calls: list[Any]) -> None:
    wall = NOON
    for kind, caller, tool, strategy, context, model, end, seconds in calls:
        wall += seconds
        clock.set_wall(wall)
        origin = "native" if context else "text"
        more = {"strategy": strategy, "origin": origin, "context": context, "model": model, "provider": model and "p"}
        body = encode(CallBody(caller, tool, {}, "d", "allow", f"rule:{kind}", "", **more))
        seq = store.transact(lambda tables, kind=kind, body=body: tables.append(kind, 0, body))
        if kind == "begin" and end is not None:
            done = encode(EndBody(end, 1.0, "späť" if end == "failed" else None))
            store.transact(lambda tables, seq=seq, done=done: tables.append("end", seq, done))


def pages(store: Store, wanted: CallQuery, limit: int, seconds: float = 5.0) -> Iterator[CallPage]:
    before: int | None = None
    while True:
        page = list_calls(store, wanted, before=before, limit=limit, seconds=seconds)
        yield page
        if page.before is None:
            return
        assert before is None or page.before < before, "it goes on"
        before = page.before


def looked_through(store: Store, wanted: CallQuery) -> list[CallRecord]:
    every = store.look(lambda tables: find_calls(tables, CallFilter(), limit=10_000))
    words = (wanted.text or "").lower()
    return [one for one in every if wanted.has(one) and words in f"{one.tool} {one.error}".lower()]


@given(st.lists(CALL, max_size=25), QUERY, st.integers(1, 5), st.integers(0, 6))
@settings(max_examples=80, deadline=None)
def test_page_by_page_a_filter_finds_what_looking_through_all_finds(
    calls: list[Any], wanted: CallQuery, limit: int, removed: int
) -> None:
    clock = ManualClock(wall=NOON)
    with closing(MemoryStore(clock)) as store:
        write(store, clock, calls)
        store.transact(lambda tables: prune(tables, keep=0, through=removed, by="ada"))
        found = [call for page in pages(store, wanted, limit) for call in page.calls]
        assert found == looked_through(store, wanted)


def test_every_store_lists_alike(store: Store, clock: ManualClock) -> None:
    diary = Diary(store, clock)
    ran, refused = diary.ran(context="c1"), diary.refused(caller="bob", strategy="json-repair")
    (page,) = pages(store, CallQuery(), 10)
    assert [call.id for call in page.calls] == [refused, ran]
    assert (page.complete, page.looked_back_to) == (True, "")
    for wanted, number in (
        (CallQuery(context="c1"), ran),
        (CallQuery(caller="bob"), refused),
        (CallQuery(strategy=ANY_REPAIR), refused),
        (CallQuery(rule="allowlist"), refused),
        (CallQuery(status="success"), ran),
        (CallQuery(text="ALLOWLIST"), refused),
    ):
        assert [call.id for page in pages(store, wanted, 10) for call in page.calls] == [number]


def test_when_the_time_is_over_the_page_says_how_far_back_it_looked(store: Store, clock: ManualClock) -> None:
    diary = Diary(store, clock)
    oldest = diary.refused(tool="needle")
    store.transact(lambda tables: [tables.append("message", 0, b"{}") for _ in range(9_000)])
    first, *rest = pages(store, CallQuery(text="needle"), 10, seconds=0.0)
    assert (first.calls, first.complete) == ((), False)
    assert first.looked_back_to == clock.wall()
    assert [call.id for call in rest[-1].calls] == [oldest]


def test_what_nobody_has_counted_yet_is_listed_as_well(store: Store, clock: ManualClock) -> None:
    diary = Diary(store, clock)
    store.look(lambda tables: tables.rollup().catch_up(tables))
    diary.ran(caller="bob")
    store.transact(lambda tables: [tables.append("message", 0, b"{}") for _ in range(12_000)])
    newest = diary.ran(caller="bob")
    page = list_calls(store, CallQuery(caller="bob"), seconds=0.0)
    assert [call.id for call in page.calls][:1] == [newest]


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize(
    "wanted", [CallQuery(), CallQuery(status="success"), CallQuery(caller="bob"), CallQuery(text="late")], ids=str
)
def test_how_far_is_counted_makes_no_difference_to_what_is_listed(
    monkeypatch: pytest.MonkeyPatch, wanted: CallQuery, limit: int
) -> None:
    """With every page one more record is counted: what is read and what is asked for meet at each number once."""
    monkeypatch.setattr(rollup, "STEP", 1)
    with closing(MemoryStore(clock := ManualClock(wall=NOON))) as store:
        diary = Diary(store, clock)
        began = diary.begin(caller="bob")
        for number in range(6):
            diary.ran(caller=("ada", "bob")[number % 2])
            diary.refused(caller="bob")
        diary.end(began, 5.0, "failed", error="late")
        diary.ran()
        for _ in range(4):
            found = [call for page in pages(store, wanted, limit, seconds=0.0) for call in page.calls]
            assert found == looked_through(store, wanted)

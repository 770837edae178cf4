"""What the rollup says is what one pass over the records counts: whatever happened, in whatever order, whatever was
pruned, by whomever and for whichever period it is asked."""

from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from rightcall.record.analytics import analytics_of
from rightcall.record.calls import Period, window_of
from rightcall.record.counts import ERROR, Counts, pass_over
from rightcall.record.memory import MemoryStore
from rightcall.record.metrics import metrics_of
from rightcall.record.notes import note_diagnosis, note_message
from rightcall.record.rollups import counted
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, EndBody, ManualClock, Store, Tables, encode
from rightcall.record.verify import prune
from support.stores import NOON

pytestmark = pytest.mark.promise("A-05")

PERIODS: tuple[Period, ...] = ("1hour", "1day", "1week")
CALLERS = st.sampled_from(["ada", "bob", ""])
STEPS = st.one_of(
    st.tuples(
        st.just("call"), st.sampled_from(["begin", "refused", "waiting", "proxied"]), CALLERS,
        st.sampled_from(["code/read", "file/save"]), st.sampled_from(["direct", "json-repair", "failed"]),
        st.sampled_from([None, "c1", "c2"]), st.sampled_from(["", "m1"]),
    ),
    st.tuples(
        st.just("end"), st.integers(0, 5), st.sampled_from(["success", "failed", "interrupted"]), st.floats(0, 1e6),
        st.sampled_from([None, "timed out", "no such file"]), st.booleans(),
    ),
    st.tuples(st.just("message"), CALLERS, st.sampled_from([None, "c1", "c2"]), st.sampled_from([None, "debug"]), st.sampled_from([None, True, False])),
    st.tuples(st.just("diagnosis"), CALLERS, st.sampled_from(["c1", "c2"]), st.sampled_from([None, True, False])),
    st.tuples(st.just("pass"), st.sampled_from([0.001, 7.0, 59.9, 3600.0, 40_000.0, 90_000.0, -4000.0])),
    st.tuples(st.just("roll")),
    st.tuples(st.just("run"), st.integers(0, 5)),
    st.tuples(st.just("prune"), st.integers(0, 12)),
)  # fmt: skip


class Life:
    """A store to which things happen."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self.calls: list[int] = []
        self.wall = NOON

    def do(self, step: Any) -> None:
        match step:
            case ("call", kind, caller, tool, strategy, context, model):
                body = CallBody(caller, tool, {}, "d", "allow", f"rule:{kind}", strategy=strategy, context=context, model=model, provider=model and "p")  # fmt: skip
                self.calls.append(self.store.transact(lambda tables: tables.append(kind, 0, encode(body))))
            case ("end", back, status, time, error, cached) if len(self.calls) > back:
                end = EndBody(status, time, error, tokens=int(time), cached=cached)
                self.store.transact(lambda tables: tables.append("end", self.calls[-1 - back], encode(end)))
            case ("message", caller, context, task, used):
                self.store.transact(lambda tables: note_message(tables, caller or "x", context, task, used, (3, 1)))
            case ("diagnosis", caller, context, correct):
                self.store.transact(lambda tables: note_diagnosis(tables, caller or "x", context, correct))
            case ("pass", seconds):
                self.clock.advance(max(seconds, 0))
                self.wall += seconds
                self.clock.set_wall(self.wall)
            case ("roll",):
                self.store.look(lambda tables: tables.rollup().catch_up(tables))
            case ("run", back) if len(self.calls) > back:
                self.store.transact(lambda tables: tables.begun(self.calls[-1 - back]))
            case ("prune", keep):
                self.store.transact(lambda tables: prune(tables, keep=keep, by="ada", now=self.clock.now()))
            case _:
                pass


def by_pass(tables: Tables, period: Period, caller: str | None) -> Counts:
    return pass_over(tables, window_of(period, tables.wall()), caller)


def by_rollup(tables: Tables, period: Period, caller: str | None, few: int = 0) -> Counts:
    rollup = tables.rollup()
    assert rollup.catch_up(tables) == 0
    return counted(rollup, tables, window_of(period, tables.wall()), caller, few)


def shown(counts: Counts) -> tuple[Any, Any]:
    return to_builtins(analytics_of(counts)), to_builtins(metrics_of(counts))


def assert_same(found: Any, wanted: Any, name: str = "") -> None:
    """Percentiles within their error, means within that of adding up, all else equal."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), name
        for key, value in wanted.items():
            assert_same(found[key], value, f"{name}.{key}")
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted), name
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, name)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=ERROR + 1e-9 if name.endswith("p95") else 1e-9, abs=0.001), name
    else:
        assert found == wanted, name


def assert_counts_alike(store: Store) -> None:
    for period in PERIODS:
        for caller in (None, "ada", "nobody"):
            wanted = shown(store.look(lambda tables, p=period, c=caller: by_pass(tables, p, c)))
            for few in (0, 1_000):
                found = shown(store.look(lambda tables, p=period, c=caller, f=few: by_rollup(tables, p, c, f)))
                assert_same(found, wanted, f"{period} {caller} {few}")


@given(st.lists(STEPS, max_size=60))
@settings(max_examples=60, deadline=None)
def test_in_memory_the_rollup_counts_what_one_pass_counts(steps: list[Any]) -> None:
    clock = ManualClock(wall=NOON)
    with closing(MemoryStore(clock, records=40)) as store:
        life = Life(store, clock)
        for step in steps:
            life.do(step)
        assert_counts_alike(store)


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_a_file_the_rollup_counts_what_one_pass_counts(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    clock = ManualClock(wall=NOON)
    with closing(SqliteStore(tmp_path_factory.mktemp("store") / "audit.db", clock)) as store:
        life = Life(store, clock)
        for step in steps:
            life.do(step)
        assert_counts_alike(store)

"""Both backends answer the same to anything: random works, some of which raise half-way, on one and on the other."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, Store, Tables
from support.stores import BODY, approval, grant

SMALL = st.integers(0, 6)
NAMES = st.sampled_from(["all", "all\0ann", "same\0", "ping"])
IDS = st.sampled_from(["x1", "x2", "x3", "x4"])
STATUSES = st.sampled_from(["waiting", "approved", "denied", "used", "expired"])
KINDS = st.sampled_from(["begin", "end", "refused"])

OPERATIONS = st.one_of(
    st.tuples(st.just("append"), KINDS, SMALL, st.just(BODY)),
    st.tuples(st.just("mark"), NAMES, SMALL),
    st.tuples(st.just("begun"), SMALL),
    st.tuples(st.just("ended"), SMALL),
    st.tuples(st.just("forget"), NAMES),
    st.tuples(st.just("changed"), NAMES),
    st.tuples(st.just("pin"), NAMES, IDS),
    st.tuples(st.just("put_approval"), st.builds(approval, IDS, status=STATUSES, used_by=SMALL)),
    st.tuples(st.just("put_grant"), st.builds(grant, IDS, uses=SMALL)),
    st.tuples(st.just("drop_grant"), IDS),
    st.tuples(st.just("remove_through"), SMALL),
    st.tuples(st.just("nth_last"), NAMES, SMALL),
    st.tuples(st.just("newest"), SMALL, st.tuples(KINDS)),
)
WORKS = st.lists(
    st.tuples(st.lists(OPERATIONS, max_size=8), st.booleans(), st.sampled_from([0, 0.5, 1800])), max_size=8
)
"""(operations, whether it raises at the end, seconds until the next)"""


class Halt(Exception):
    pass


def results(store: Store, operations: list[tuple[Any, ...]], halts: bool) -> list[Any]:
    """What each operation gave, also of a work that was taken back."""
    given: list[Any] = []

    def work(tables: Tables) -> None:
        given.extend(getattr(tables, name)(*values) for name, *values in operations)
        if halts:
            raise Halt

    try:
        store.transact(work)
    except Halt:
        given.append("halted")
    return given


def everything(tables: Tables) -> list[Any]:
    return [
        list(tables.entries()), tables.head(), [tables.belonging(n) for n in range(7)], tables.running(),
        tables.scopes(""), [tables.nth_last(name, n) for name in ("all", "ping") for n in (1, 2, 3)], tables.changes(),
        [tables.definition(name) for name in ("all", "ping")], tables.approvals(), tables.approvals("waiting", "used"),
        tables.answered("b" * 64), tables.all_grants(), tables.grants("teacher", "file/save"),
    ]  # fmt: skip


@settings(max_examples=30)
@given(WORKS)
def test_the_same_works_give_the_same_on_both(works: list[tuple[list[tuple[Any, ...]], bool, float]]) -> None:
    clock = ManualClock()
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "a.db", clock)) as kept:
        memory = MemoryStore(clock)
        for operations, halts, seconds in works:
            assert results(kept, operations, halts) == results(memory, operations, halts)
            assert kept.transact(everything) == memory.transact(everything)
            clock.advance(seconds)
        assert kept.look(everything) == memory.look(everything)

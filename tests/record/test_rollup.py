"""What the rollup says is what one pass over the records counts: whatever happened, in whatever order, whatever was
pruned, by whomever and for whichever period it is asked."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack, to_builtins

from rightcall.errors import StoreError
from rightcall.record import jobs
from rightcall.record.analytics import analytics_of, metrics_of, read_analytics
from rightcall.record.calls import Period, window_of
from rightcall.record.counts import ERROR, Counts, Durations, in_slots, lanes_of, pass_over, percentile, slot_of
from rightcall.record.identity import Origin
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import note_diagnosis, note_message
from rightcall.record.postgres import PostgresReader, PostgresStore
from rightcall.record.rollup import periods, rollup
from rightcall.record.rollup.periods import counted
from rightcall.record.rollup.rollup import Mark
from rightcall.record.rollup.tables import read_slots, write_slots
from rightcall.record.runs import Runs
from rightcall.record.sqlite import Readers, SqliteStore
from rightcall.record.sqlite_tables import SqliteTables
from rightcall.record.tables import CallBody, EndBody, ManualClock, Store, Tables, encode
from rightcall.record.verify import prune
from support.postgres import ON_SERVERS, shared
from support.stores import NOON, Diary, OpenSqlite, forge, tamper

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
    st.tuples(
        st.just("message"), CALLERS, st.sampled_from([None, "c1", "c2"]), st.sampled_from([None, "debug"]),
        st.sampled_from([None, True, False]),
    ),
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
                origin = "native" if context else "text"
                more = {
                    "strategy": strategy,
                    "origin": origin,
                    "context": context,
                    "model": model,
                    "provider": model and "p",
                }
                body = CallBody(caller, tool, {}, "d", "allow", f"rule:{kind}", **more)
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


def differing(found: Any, wanted: Any, name: str = "") -> Iterator[str]:
    """Where two figures differ: percentiles beyond their error, means beyond that of adding up, all else at all."""
    if isinstance(wanted, dict) and found.keys() == wanted.keys():
        for key, value in wanted.items():
            yield from differing(found[key], value, f"{name}.{key}")
    elif isinstance(wanted, list | tuple) and len(found) == len(wanted):
        for one, other in zip(found, wanted, strict=True):
            yield from differing(one, other, name)
    elif isinstance(wanted, float):
        if found != pytest.approx(wanted, rel=ERROR + 1e-9 if name.endswith("p95") else 1e-9, abs=0.001):
            yield f"{name}: {found} is not {wanted}"
    elif found != wanted:
        yield f"{name}: {found} is not {wanted}"


def miscounted(store: Store) -> list[str]:
    """What the rollup says otherwise than one pass over the records: for any period and caller."""
    return [
        line
        for period in PERIODS
        for caller in (None, "ada", "nobody")
        for few in (0, 1_000)
        for line in differing(
            shown(store.look(lambda tables, p=period, c=caller, f=few: by_rollup(tables, p, c, f))),
            shown(store.look(lambda tables, p=period, c=caller: by_pass(tables, p, c))),
            f"{period} {caller} {few}",
        )
    ]


@given(st.lists(STEPS, max_size=60))
@settings(max_examples=30)
def test_in_memory_the_rollup_counts_what_one_pass_counts(steps: list[Any]) -> None:
    clock = ManualClock(wall=NOON)
    with closing(MemoryStore(clock, records=40)) as store:
        life = Life(store, clock)
        for step in steps:
            life.do(step)
        assert miscounted(store) == []


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=15)
def test_in_a_file_the_rollup_counts_what_one_pass_counts(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    clock = ManualClock(wall=NOON)
    with closing(SqliteStore(tmp_path_factory.mktemp("store") / "audit.db", clock)) as store:
        life = Life(store, clock)
        for step in steps:
            life.do(step)
        assert miscounted(store) == []


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize("name", ON_SERVERS)
def test_on_a_server_the_rollup_counts_what_one_pass_counts(name: str, steps: list[Any]) -> None:
    clock = ManualClock(wall=NOON)
    with (
        shared(name).database() as url,
        closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store,
        closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as other,
    ):
        lives = [Life(store, clock), Life(other, clock)]
        lives[1].calls = lives[0].calls  # a call that began on one node may end on the other
        for number, step in enumerate(steps):
            lives[number % 2].do(step)
        assert miscounted(store) == []
        assert miscounted(other) == []


@pytest.mark.parametrize("name", ON_SERVERS)
def test_on_a_server_a_call_of_odd_names_counts_under_them_whoever_counts_its_end(
    name: str, clock: ManualClock
) -> None:
    with shared(name).database() as url:
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store:
            call = Diary(store, clock).begin(caller="a\0da", tool="t\x10ool")
            store.look(lambda tables: tables.rollup().catch_up(tables))
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store:
            Diary(store, clock).end(call, 5.0, "failed", error="late\0r")
            assert miscounted(store) == []


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=200), st.sampled_from([50, 95, 99]))
def test_a_percentile_of_slots_is_near_the_one_of_the_times(times: list[float], percent: int) -> None:
    durations = Durations()
    for time in times:
        durations.add_slots(in_slots({slot_of(time): 1}), time)
    exact = percentile(sorted(times), percent)
    assert durations.percentile(percent) == pytest.approx(exact, rel=ERROR + 1e-9, abs=0.001)
    assert durations.mean() == pytest.approx(sum(times) / len(times))


def test_a_time_that_no_call_takes_has_a_slot() -> None:
    assert slot_of(-1.0) == slot_of(0.0) == 0
    assert slot_of(1.7e308) == slot_of(1e12) < 700


@given(st.dictionaries(st.integers(0, 700), st.integers(1, 2**31), max_size=300))
def test_slots_are_read_as_they_were_written(counts: dict[int, int]) -> None:
    slots = in_slots(counts)
    assert read_slots(write_slots(slots)) == slots
    assert {slot: times for slot, times in enumerate(lanes_of(slots)) if times} == counts
    dense = dict.fromkeys(range(300), 1)
    assert read_slots(write_slots(in_slots(dense))) == read_slots(msgpack.encode(dense)) == in_slots(dense)


def test_an_hour_of_which_most_counts_is_added_whole_and_the_rest_taken_off(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, parts = periods._Filler._add_calls, list[bool]()

    def seen(self: periods._Filler, span: Any, *, exact: bool, inside: bool) -> None:
        parts.append(inside)
        add(self, span, exact=exact, inside=inside)

    monkeypatch.setattr(periods._Filler, "_add_calls", seen)
    diary = Diary(store, clock)
    for number in range(110):
        clock.advance(420 + number % 7 * 40)
        who = {"caller": "ada" if number % 3 else "bob", "tool": f"tool-{number // 6}"}  # some only in one part
        if number % 5 == 0:
            diary.refused(rule=f"rule-{number // 10}")
        elif number % 5 == 1:
            diary.failed(error=f"error {number // 8}")
        else:
            diary.ran(time=float(number), **who)
    for _ in range(4):
        clock.advance(840)
        assert miscounted(store) == []
    assert set(parts) == {True, False}


def fill(store: Store, clock: ManualClock, calls: int = 30) -> Diary:
    diary = Diary(store, clock)
    for number in range(calls):
        clock.advance(700)
        diary.ran(caller=f"c{number % 3}", tool=f"t{number % 4}", time=float(number))
    diary.failed(error="timed out")
    diary.refused()
    return diary


def mark_of(store: Store) -> Mark:
    return store.look(lambda tables: tables.rollup().mark())


def test_a_long_audit_is_counted_from_the_rollup_and_figures_stay_the_same(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, clock)
    ask: Callable[[Tables], Any] = lambda tables: read_analytics(tables, period="1day", now=tables.wall())  # noqa: E731
    short = store.look(ask)
    assert mark_of(store).seq == 0, "a short audit is passed over"
    monkeypatch.setattr(periods, "FEW", 0)
    assert list(differing(to_builtins(store.look(ask)), to_builtins(short))) == []
    assert mark_of(store).seq == store.look(lambda tables: tables.head())[0]


@pytest.mark.parametrize("minutes", [3, 17, 31, 58])
def test_calls_of_a_caller_are_in_their_slots_wherever_a_slot_ends_in_an_hour(
    store: Store, clock: ManualClock, minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    split, parted = periods._Filler._split, list[int]()

    def seen(self: periods._Filler, span: Any) -> int | None:
        slot = split(self, span)
        parted.extend([] if slot is None else [slot])
        return slot

    monkeypatch.setattr(periods._Filler, "_split", seen)
    diary = Diary(store, clock)
    for number in range(130):
        clock.advance(660 + number % 7 * 40)
        caller = "ada" if number % 5 % 2 else "bob"
        if number % 4:
            diary.begin(caller)
        else:
            body = CallBody(caller, "code/read", {}, "d" * 64, "passed", "proxy:right", wire="chat")
            store.transact(lambda tables, body=body: tables.append("proxied", 0, encode(body)))
    clock.advance(60 * minutes)
    assert miscounted(store) == []
    assert parted


def test_hours_that_were_pruned_in_part_are_counted_for_a_caller(store: Store, clock: ManualClock) -> None:
    diary = Diary(store, clock)
    ids: list[int] = []
    for number in range(90):
        clock.advance(240)
        ids.append(diary.ran(tool=f"tool-{number}"))
    assert miscounted(store) == []
    for through in (ids[17], ids[40], ids[44], ids[77]):
        store.transact(lambda tables, seq=through: prune(tables, keep=0, through=seq, by="ann", now=clock.now()))
        for _ in range(6):
            clock.advance(600)
            assert miscounted(store) == []
            found, wanted = (
                store.look(lambda tables, c=count: c(tables, "1hour", None)) for count in (by_rollup, by_pass)
            )
            assert {*found.parts["tool"]} == {*wanted.parts["tool"]}


def test_an_end_that_comes_later_counts_where_its_call_began(store: Store, clock: ManualClock) -> None:
    diary = Diary(store, clock)
    call = diary.begin()
    store.look(lambda tables: tables.rollup().catch_up(tables))
    clock.advance(90_000)
    diary.ran()  # the first day is over, and has a total
    store.look(lambda tables: tables.rollup().catch_up(tables))
    diary.end(call, 5.0, "failed", error="late")
    diary.end(call, 6.0, "success")
    assert miscounted(store) == []
    found = store.look(lambda tables: by_rollup(tables, "1week", None))
    assert (found.total.failed, found.total.succeeded) == (1, 1)
    assert [one.errors["late"] for one in found.by("tool").values()] == [1]


def test_a_day_that_was_pruned_goes_in_steps(store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "STEP", 1)
    diary = fill(store, clock, 20)
    clock.advance(90_000)
    diary.ran()
    store.look(lambda tables: tables.rollup().catch_up(tables))
    store.transact(lambda tables: prune(tables, keep=2, by="ada", now=clock.now()))
    steps = 1
    while store.look(lambda tables: tables.rollup().catch_up(tables, 0.0)):
        steps += 1
    assert steps > 3
    assert miscounted(store) == []


def test_counting_goes_on_where_it_stopped(store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "STEP", 7)
    fill(store, clock)
    head = store.look(lambda tables: tables.head())[0]
    assert store.look(lambda tables: tables.rollup().catch_up(tables, 0.0)) == head - 7
    assert store.look(lambda tables: tables.rollup().catch_up(tables, 0.0)) == head - 14
    assert miscounted(store) == []


@pytest.mark.parametrize(
    "harm",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b"no database at all" * 999),
        lambda file: file.write_bytes(b""),
        lambda file: change(file, "PRAGMA user_version = 0"),
        lambda file: change(file, "CREATE TRIGGER odd AFTER INSERT ON calls BEGIN DELETE FROM cells; END"),
        lambda file: change(file, "DROP TABLE spans"),
        lambda file: change(file, "UPDATE mark SET hash = x'00'"),
    ],
)
def test_a_file_that_is_gone_damaged_or_not_ours_is_made_anew(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock, harm: Callable[[Path], object]
) -> None:
    file = database.with_name("audit.db-rollup")
    store = open_sqlite()
    fill(store, clock)
    store.look(lambda tables: tables.rollup().catch_up(tables))
    store.close()
    harm(file)
    store = open_sqlite()
    assert miscounted(store) == []
    assert file.stat().st_mode & 0o777 == 0o600
    assert mark_of(store).seq == store.look(lambda tables: tables.head())[0]


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_newer_version_s_file_is_left_alone(open_sqlite: OpenSqlite, database: Path, clock: ManualClock) -> None:
    file = database.with_name("audit.db-rollup")
    store = open_sqlite()
    fill(store, clock)
    store.look(lambda tables: tables.rollup().catch_up(tables))
    store.close()
    change(file, "PRAGMA user_version = 99")
    change(file, "DROP TABLE spans")
    assert miscounted(open_sqlite()) == []
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (99,)


def test_another_audit_with_as_many_records_is_counted_from_its_beginning(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock
) -> None:
    store = open_sqlite()
    fill(store, clock)
    store.look(lambda tables: tables.rollup().catch_up(tables))
    store.close()
    tamper(database, "UPDATE audit SET body = replace(body, 'code/read', 'code/list')")
    forge(database)
    store = open_sqlite()
    assert miscounted(store) == []


def test_where_nothing_can_be_written_it_is_counted_in_memory(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock
) -> None:
    database.with_name("audit.db-rollup").mkdir(parents=True)
    store = open_sqlite()
    fill(store, clock)
    assert miscounted(store) == []


def test_who_only_looks_writes_nothing_and_counts_on_from_what_there_is(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock
) -> None:
    store = open_sqlite()
    fill(store, clock)
    store.look(lambda tables: tables.rollup().catch_up(tables))
    rolled = mark_of(store)
    Diary(store, clock).ran()
    wanted = shown(store.look(lambda tables: by_pass(tables, "1week", None)))
    store.close()
    path = str(database)
    readers = Readers(path, clock, Runs(path), 0.2, Origin(path, found=False), alone=True)
    assert readers.look(lambda tables: tables.rollup().mark()) == rolled
    assert list(differing(shown(readers.look(lambda tables: by_rollup(tables, "1week", None))), wanted)) == []
    readers.close()
    assert mark_of(open_sqlite()) == rolled


def test_several_count_at_once_and_each_record_counts_once(
    open_sqlite: OpenSqlite, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollup, "STEP", 5)
    stores = [open_sqlite() for _ in range(4)]
    fill(stores[0], clock)
    threads = [
        threading.Thread(target=store.look, args=(lambda tables: tables.rollup().catch_up(tables),))
        for store in stores
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert miscounted(stores[3]) == []


def test_a_record_that_cannot_be_read_is_told_as_long_as_it_lies_in_the_period(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock
) -> None:
    store = open_sqlite()
    call = Diary(store, clock).ran()
    store.close()
    tamper(database, f"UPDATE audit SET body = 'oops' WHERE seq = {call}")
    forge(database)
    store = open_sqlite()
    for ask in (by_pass, by_rollup):
        with pytest.raises(StoreError, match=f"record {call} of the audit cannot be read"):
            store.look(lambda tables, ask=ask: ask(tables, "1hour", None))
    clock.advance(7200)
    assert store.look(lambda tables: by_rollup(tables, "1hour", None)).total.calls == 0


def test_a_process_that_writes_much_counts_it_by_itself(
    open_sqlite: OpenSqlite, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "ROLL_EVERY", 20)
    store = open_sqlite()
    fill(store, clock)
    store.close()
    assert mark_of(open_sqlite()).seq > 0


@pytest.mark.parametrize("name", ON_SERVERS)
def test_a_node_that_writes_much_counts_it_by_itself(
    name: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "ROLL_EVERY", 20)
    with shared(name).database() as url:
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store:
            fill(store, clock)
        with closing(PostgresReader(url)) as reader:
            assert reader.look(lambda tables: tables.rollup().mark()).seq > 0


@pytest.mark.parametrize("name", ON_SERVERS)
def test_a_role_that_may_only_read_gets_the_same_figures(
    name: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periods, "FEW", 0)
    server = shared(name)
    with (
        server.database() as url,
        closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store,
    ):
        database, role = urlsplit(url).path[1:], f"looks_{urlsplit(url).path[-8:]}"
        fill(store, clock)
        now = clock.wall()
        ask: Callable[[Tables], Any] = lambda tables: read_analytics(tables, period="1day", now=now)  # noqa: E731
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"GRANT USAGE ON SCHEMA rightcall TO {role}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA rightcall TO {role}",
        ):
            server.run(statement, database)
        with closing(PostgresReader(server.url(database, role))) as reader:
            assert reader.look(lambda tables: tables.rollup().catch_up(tables)) > 0
            before = reader.look(ask)
            store.look(lambda tables: tables.rollup().catch_up(tables))
            assert reader.look(lambda tables: tables.rollup().catch_up(tables)) == 0
            assert list(differing(to_builtins(reader.look(ask)), to_builtins(before))) == []
        server.run(f"DROP OWNED BY {role}", database)
        server.run(f"DROP ROLE {role}")


def test_a_call_that_still_runs_was_not_interrupted_and_one_that_nobody_runs_was(
    store: Store, clock: ManualClock
) -> None:
    diary = Diary(store, clock)
    alive, dead = diary.begin(tool="file/save"), diary.begin()
    store.transact(lambda tables: tables.begun(alive))
    found = store.look(lambda tables: by_rollup(tables, "1day", None)).by("tool")
    assert dead
    assert {tool: tally.interrupted for tool, tally in found.items()} == {"file/save": 0, "code/read": 1}
    assert miscounted(store) == []


@pytest.mark.parametrize("few", [periods.FEW, 0])
def test_a_call_whose_process_ends_while_it_is_counted_was_not_interrupted(
    open_sqlite: OpenSqlite, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    reader, writer = open_sqlite(), open_sqlite()
    diary = Diary(writer)
    call = diary.begin()
    writer.transact(lambda tables: tables.begun(call))
    monkeypatch.setattr(periods, "FEW", few)

    entries, lives = SqliteTables.entries, [True]

    def with_end(*values: Any, **named: Any) -> Any:
        if lives:
            lives.clear()
            diary.end(call)
            writer.close()
        return entries(*values, **named)

    monkeypatch.setattr(SqliteTables, "entries", with_end)
    found = reader.look(lambda tables: read_analytics(tables, period="1day", now=tables.wall()))
    assert (found.running, found.interrupted) == (1, 0)
    found = reader.look(lambda tables: read_analytics(tables, period="1day", now=tables.wall()))
    assert (found.succeeded, found.interrupted) == (1, 0)


def test_a_store_that_is_closed_while_counting_begins_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[BaseException] = []
    keeper = jobs.Keeper(lambda _: 0)

    def stop() -> None:
        try:
            keeper.stop()
        except RuntimeError as fault:
            faults.append(fault)

    stopper = threading.Thread(target=stop)

    class Slow(threading.Thread):
        def start(self) -> None:
            stopper.start()
            stopper.join(0.2)  # long enough to wait for a thread that is not started yet
            super().start()

    keeper.wrote(0)
    with monkeypatch.context() as patch:
        patch.setattr(jobs.threading, "Thread", Slow)
        keeper.wrote(jobs.ROLL_EVERY)
    stopper.join()
    assert faults == []
    assert not any(one.name == "rightcall rollup" and isinstance(one, Slow) for one in threading.enumerate())

"""Nodes: leases instead of locks on files, a chain for each, and anchors that tie the chains together."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress

import psycopg
import pytest

from rightcall.errors import StoreError
from rightcall.record.admission import finishing
from rightcall.record.postgres import PostgresStore
from rightcall.record.postgres.node import LOCK_JOINING
from rightcall.record.postgres.writer import write_anchor
from rightcall.record.tables import START, Store, link, read_end
from rightcall.record.verify import newest_fit, verify_audit
from support.cluster_faults import wait_until
from support.postgres import Server
from support.postgres_calls import DONE, attempt, begin, cut_off, end, request
from support.stores import add, chained, records

pytestmark = pytest.mark.promise("S-01")

Start = Callable[..., "subprocess.Popen[str]"]


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


def run(url: str, statement: str) -> list[tuple[object, ...]]:
    """As somebody with access to the database can."""
    with psycopg.connect(url, autocommit=True, options="-c search_path=rightcall") as connection:
        found = connection.execute(statement)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return found.fetchall() if found.description else []


def expire_leases(url: str) -> None:
    run(url, "UPDATE nodes SET until = clock_timestamp() - interval '1 second'")


@pytest.fixture(autouse=True)
def nothing_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the records of a test were older than a few seconds: a missing number is missed."""
    monkeypatch.setattr("rightcall.record.postgres.tables._SETTLING", 0)


def ends_of(store: Store, call: int) -> list[str]:
    found = store.look(lambda tables: tables.belonging(call))
    return [read_end(entry.body).status for entry in found if entry.kind == "end"]


def problem(store: Store) -> str:
    found = store.look(verify_audit)
    assert found.ok == (not found.problem)
    return found.problem


@pytest.mark.promise("A-03")
def test_each_node_has_a_chain_of_its_own_and_all_of_them_verify(url: str) -> None:
    with closing(opened(url)) as one, closing(opened(url)) as two:
        for _ in range(3):
            end(one, begin(one))
            end(two, begin(two, 1))
        found = records(one)
        assert {entry.node for entry in found} == {0, 1}
        assert sorted(entry.seq for entry in found) == [entry.seq for entry in found]
        for node in (0, 1):
            assert chained([entry for entry in found if entry.node == node])
        assert problem(one) == ""
        assert one.look(lambda tables: newest_fit(tables, 8))[1] is None
        assert one.look(lambda tables: newest_fit(tables, 100)) == (len(found), None)


def test_a_node_that_ends_leaves_its_place_and_chain_to_the_next(url: str) -> None:
    for number in range(3):
        with closing(opened(url)) as store:
            store.transact(add())
            assert {entry.node for entry in records(store)} == {0}
            assert chained(records(store))
            assert len(records(store)) == number + 1
    assert run(url, "SELECT count(*) FROM nodes") == [(1,)]


@pytest.mark.promise("A-01")
def test_calls_of_a_node_whose_lease_is_over_are_ended_as_interrupted_once(url: str) -> None:
    with closing(opened(url)) as dead:
        begun = begin(dead)
        expire_leases(url)
        with closing(opened(url)) as alive:
            alive.transact(add())
            assert ends_of(alive, begun.call) == ["interrupted"]
            assert alive.look(lambda tables: tables.running()) == []
            with pytest.raises(StoreError, match="taken for dead") as raised:
                end(dead, begun)
            assert raised.value.fault == "fenced"
            end(dead, begun)  # under its new lease: the call has ended, and ends only once
            assert ends_of(alive, begun.call) == ["interrupted"]
            assert problem(alive) == ""


@pytest.mark.promise("A-01")
def test_calls_of_a_node_that_comes_back_before_anybody_ended_them_end_as_they_did(url: str) -> None:
    with closing(opened(url)) as away:
        ended, runs = begin(away), begin(away, 1)
        expire_leases(url)
        away.later(finishing(ended, DONE))  # as whoever ran it does while the server is away
        away._writer._chores._done = None  # it looks for calls to end at once
        wait_until(lambda: ends_of(away, ended.call), 10, "it has ended")
        away.transact(add())
        assert ends_of(away, ended.call) == ["success"]
        assert ends_of(away, runs.call) == []
        assert away.look(lambda tables: tables.running()) == [runs.call]
        end(away, runs)
        assert ends_of(away, runs.call) == ["success"]
        assert problem(away) == ""


@pytest.mark.promise("A-01")
def test_a_node_that_was_away_itself_gives_the_others_time_to_come_back(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(url)) as first, closing(opened(url)) as second:
        with monkeypatch.context() as patch:
            patch.setattr("rightcall.record.postgres.writer._IDLE_SECONDS", 60.0)  # the second one comes back later
            first.transact(add())
            begun = begin(second)
            expire_leases(url)
            first._writer._chores._done = None
            with pytest.raises(StoreError, match="taken for dead"):
                first.transact(add())
            first._writer._chores._done = None
            first.transact(add())
            assert ends_of(first, begun.call) == []
        with pytest.raises(StoreError, match="taken for dead"):
            end(second, begun)
        end(second, begun)
        assert ends_of(first, begun.call) == ["success"]
        assert problem(first) == ""


@pytest.mark.promise("A-01")
def test_a_call_whose_end_nobody_could_record_is_not_said_to_have_lost_its_process(url: str) -> None:
    with closing(opened(url)) as away, closing(opened(url)) as alive:
        begun = begin(away)
        run(url, "UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE id = 0")
        alive._writer._chores._done = None
        alive.transact(add())
        (found,) = [one for one in alive.look(lambda tables: tables.belonging(begun.call)) if one.kind == "end"]
        assert read_end(found.body).error == "Its process ended, or could not record the end of the call."


def test_a_paused_node_is_refused_until_it_has_a_new_lease(url: str) -> None:
    with closing(opened(url)) as paused, closing(opened(url)) as other:
        begin(paused)
        run(url, "UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE id = 0")
        other.transact(lambda tables: None)
        with pytest.raises(StoreError) as raised:
            begin(paused, 1)
        assert raised.value.fault == "fenced"
        begin(paused, 2)
        assert problem(other) == ""


@pytest.mark.promise("A-03")
def test_a_changed_body_is_found(url: str) -> None:
    with closing(opened(url)) as one, closing(opened(url)) as two:
        begin(one)
        begin(two, 1)
        changed = records(one)[0].seq
        run(url, f"UPDATE audit SET body = replace(body, 'ada', 'eve') WHERE seq = {changed}")
        assert f"record {changed} does not fit its hash" in problem(one)


@pytest.mark.promise("A-03")
def test_a_chain_that_was_cut_is_found(url: str) -> None:
    with closing(opened(url)) as one, closing(opened(url)) as two:
        for number in range(3):
            begin(two, number)
        last = records(two)[-1]
        end(one, begin(one))
        run(url, f"DELETE FROM audit WHERE seq = {last.seq}")
        assert f"its node wrote record {last.seq}" in problem(one)


def test_an_anchor_waits_for_no_other_node(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.record.postgres.writer.ANCHOR_RECORDS", 1)
    monkeypatch.setattr("rightcall.record.postgres.writer.EVERY", 0)
    with closing(opened(url)) as one, closing(opened(url)) as two:
        begin(one, 1)
        begin(two, 2)
        with psycopg.connect(url, options="-c search_path=rightcall") as busy:
            busy.execute(LOCK_JOINING.encode())
            busy.execute("SELECT 1 FROM nodes WHERE id = 1 FOR UPDATE")
            before = time.monotonic()
            begin(one, 3)
            begin(one, 4)
            assert time.monotonic() - before < 2
        anchors = [entry for entry in records(one) if b'"anchor"' in entry.body]
        assert anchors
        assert problem(one) == ""


@pytest.mark.promise("A-03")
def test_a_chain_that_was_rewritten_from_start_to_end_is_found_by_the_anchor_of_another(url: str) -> None:
    with closing(opened(url)) as one, closing(opened(url)) as two:
        for number in range(3):
            begin(two, number)
        heads = run(url, "SELECT id, seq, hash FROM nodes WHERE id = 1")
        one.transact(lambda tables: write_anchor(tables, heads))
        assert problem(one) == ""
        before = START
        for entry in [entry for entry in records(two) if entry.node == 1]:
            body = entry.body.replace(b"ada", b"eve")
            before = link(before, entry.seq, entry.kind, entry.call, entry.at, body)
            said = body.decode().replace("'", "''")
            run(url, f"UPDATE audit SET body = '{said}', hash = '\\x{before.hex()}' WHERE seq = {entry.seq}")
        run(url, f"UPDATE nodes SET hash = '\\x{before.hex()}' WHERE id = 1")
        assert "is not the one that other nodes have seen" in problem(one)


@pytest.mark.promise("A-01")
def test_a_process_that_was_killed_in_a_call_leaves_one_end(url: str, start_postgres: Start) -> None:
    child = start_postgres("begin", url, "7")
    assert child.stdout is not None
    call = int(child.stdout.readline())
    child.kill()
    child.wait()
    with closing(opened(url)) as store:
        assert store.look(lambda tables: tables.running()) == [call]  # as long as its lease lasts
        expire_leases_of_others(url)
        store.transact(add())
        store._writer._chores._done = None  # as if some seconds had passed
        store.transact(add())
        assert ends_of(store, call) == ["interrupted"]
        assert problem(store) == ""


def begins(store: PostgresStore, number: int) -> bool:
    with suppress(StoreError):
        begin(store, number)
        return True
    return False


def test_a_node_that_hangs_in_a_transaction_holds_up_the_others_for_no_longer_than_its_lease(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rightcall.record.postgres.writer._HUNG_SECONDS", 1)
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=2)) as store, psycopg.connect(url) as hung:
        begin(store, 1)
        with hung.pipeline():  # as a node that was stopped between two steps
            hung.execute("SELECT scope FROM rightcall.locks FOR UPDATE")
        wait_until(lambda: begins(store, 2), 20, "a call on another node")
        hung.close()
        assert "a node hung in a transaction" in caplog.text
        assert problem(store) == ""


@pytest.mark.promise("A-01")
def test_numbers_that_were_taken_before_a_crash_are_not_used_after_it(url: str) -> None:
    with closing(opened(url)) as store:
        begin(store, 1)
        begin(store, 2)
        chain = store._writer._chain
        assert chain is not None
        ahead = chain._numbers[-1]
        chain._numbers[:] = [ahead + 1]  # the one before it was lost with its transaction
        run(url, f"SELECT setval('numbers', {ahead}, false)")  # the server lost that it gave them
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        run(url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        for number in range(3, 7):
            wait_until(lambda number=number: begins(store, number), 20, "a call after the crash")
        assert problem(store) == ""


def test_nodes_go_on_once_the_database_allows_writing_again(url: str) -> None:
    database = url.rpartition("/test_")[2].partition("?")[0]
    with closing(opened(url)) as store:
        begin(store, 1)
        try:
            run(url, f"ALTER DATABASE test_{database} SET default_transaction_read_only = on")
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            run(url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
            faults: list[str] = []
            while "read-only" not in faults:
                try:
                    begin(store, 2)
                except StoreError as error:
                    faults.append(error.fault)
        finally:
            with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
                reset = f"ALTER DATABASE test_{database} RESET default_transaction_read_only"
                connection.execute(reset)  # pyright: ignore[reportArgumentType, reportCallIssue]
        begin(store, 3)


def expire_leases_of_others(url: str) -> None:
    run(url, "UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE id = 0")


def test_changes_are_one_count_for_all_nodes_and_none_waits_for_another_to_write_its_own(url: str) -> None:
    with closing(opened(url)) as one, closing(opened(url)) as two:
        for store, by, wanted in ((one, "x", 1), (one, "x", 1), (two, "x", 1), (two, "y", 2), (one, "x", 3)):
            store.transact(lambda tables, by=by: tables.changed(by))
            assert [each.look(lambda tables: tables.changes()) for each in (one, two)] == [wanted] * 2
        with psycopg.connect(url, options="-c search_path=rightcall") as held:  # as if one's COMMIT took long
            held.execute("SELECT 1 FROM changes WHERE space = '0' FOR UPDATE")
            writes = attempt(two, request(1, 0, effects=frozenset(("write",))))
            assert two.transact(writes).decision.kind == "allow"
        assert one.look(lambda tables: tables.changes()) == 4


@pytest.mark.promise("A-01")
def test_the_calls_of_a_dead_node_are_ended_in_a_few_round_trips_however_many_they_are(
    url: str, server: Server
) -> None:
    name = url.split("/")[3].partition("?")[0]
    with closing(opened(url)) as dead, cut_off(server.port, away=0.01) as (far, _):
        wanted = [attempt(dead, request(number, 0)) for number in range(100)]

        async def at_once() -> None:
            await asyncio.gather(*(dead.atransact(one) for one in wanted))

        asyncio.run(at_once())
        with closing(opened(f"postgresql://postgres@127.0.0.1:{far}/{name}")) as alive:
            expire_leases_of_others(url)
            alive._writer._chores._done = None  # as if some seconds had passed
            began = time.monotonic()
            alive.transact(add())
            took = time.monotonic() - began
            found = records(alive)
            assert [read_end(one.body).status for one in found if one.kind == "end"] == ["interrupted"] * 100
            assert took < 3.0  # one after the other they would take ten
            assert problem(alive) == ""


def test_figures_that_were_cleared_are_counted_anew(url: str) -> None:
    with closing(opened(url)) as store:
        for number in range(3):
            end(store, begin(store, number))
        counted = "SELECT sum(calls) FROM cells WHERE length(start) = 13 AND part = ''"

        def count() -> object:
            return store.look(lambda tables: (tables.rollup().catch_up(tables), tables.rollup().ask(counted))[1])

        before = count()
        store.look(lambda tables: tables.rollup().clear())
        assert run(url, "SELECT count(*) FROM calls") == [(0,)]
        assert count() == before == [(3,)]

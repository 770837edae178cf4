"""A server that is gone, hangs, or does not answer a COMMIT: whoever waits is refused soon, nothing runs that is not
recorded, and everything goes on by itself once the server is back."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import to_builtins

from rightcall import Executor
from rightcall.errors import StoreError
from rightcall.record.postgres import PostgresReader, PostgresStore
from rightcall.record.postgres.store import PUT
from rightcall.record.tables import Needs, Planned, Tables, read_end
from rightcall.record.verify import verify_audit
from support.cluster_faults import wait_until
from support.postgres import Server
from support.postgres_calls import begin, cut_off, end
from support.stores import add, records

pytestmark = [pytest.mark.promise("A-04", "S-02")]
SOON = 5.0
"""Half a second, and what a busy machine adds."""


@pytest.fixture
def own(request: pytest.FixtureRequest, server: Server) -> Iterator[Server]:
    """A server that may be killed."""
    with Server.started(server.binaries, "synchronous_commit=on") as made:
        yield made


def refused(store: PostgresStore) -> StoreError:
    began = time.monotonic()
    with pytest.raises(StoreError) as raised:
        begin(store, 99)
    assert time.monotonic() - began < SOON
    assert "Nothing was run." in str(raised.value)
    return raised.value


def comes_back(store: PostgresStore) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            begin(store, 100)
            return
        except StoreError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_server_that_was_killed_is_a_store_fault_and_its_return_is_noticed(own: Server) -> None:
    with own.database() as url, closing(PostgresStore(url)) as store:
        stands = [begin(store, number).call for number in range(3)]
        own.kill()
        assert refused(store).fault == "unreachable"
        assert refused(store).fault == "unreachable"
        own.start()
        comes_back(store)
        assert [entry.seq for entry in records(store) if entry.kind == "begin"][:3] == stands
        assert store.look(verify_audit).ok


def test_callers_read_nothing_of_the_server_while_it_is_away_and_the_log_does(
    own: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = {"policy": {"allow": ["*"], "write": "allow"}}
    with (
        own.database() as url,
        closing(PostgresStore(url)) as store,
        Executor.open_sync(tmp_path, policy, store=store) as executor,
    ):

        @executor.tool(effects=["write"])
        def act(n: int) -> int:
            return n

        own.kill()
        outcome, *_ = [executor.run({"name": "act", "arguments": {"n": n}}) for n in range(3)]
        own.start()
    assert not outcome.ok
    assert outcome.decision is not None
    assert outcome.decision.rule == "store:unreachable"
    told = str(to_builtins(outcome))
    assert "The audit log cannot be written now" in told
    for word in ("postgresql", "connection", str(own.port), str(own.folder)):
        assert word not in told, told
    assert "the store postgresql://" in caplog.text
    texts = [record.getMessage() for record in caplog.records if "a call was refused" in record.getMessage()]
    assert len(texts) == len(set(texts)), "the same is not said again for each call"


def test_a_server_that_hangs_is_a_store_fault_too(own: Server) -> None:
    with own.database() as url, closing(PostgresStore(url)) as store:
        begin(store)
        own.pause()
        try:
            assert refused(store).fault == "unreachable"
        finally:
            own.go_on()
        comes_back(store)
        open_calls = store.look(lambda tables: tables.running())
        assert len(open_calls) <= 2 + 1
        assert store.look(verify_audit).ok


def paused(tables: Tables) -> object:
    return tables.paused()


def test_looks_at_a_server_that_hangs_end_soon_and_then_at_once_until_it_goes_on(own: Server) -> None:
    with own.database() as url, closing(PostgresStore(url)) as store, closing(PostgresReader(url)) as reader:
        for one in (store, reader):
            assert one.look(paused) is None
        own.pause()
        try:
            for one in (store, reader):
                for limit in (SOON, 0.2):
                    began = time.monotonic()
                    with pytest.raises(StoreError) as raised:
                        one.look(paused)
                    assert time.monotonic() - began < limit
                    assert raised.value.fault == "unreachable"
        finally:
            own.go_on()
        comes_back(store)
        for one in (store, reader):
            deadline = time.monotonic() + 30
            found: object = "nothing yet"
            while found is not None and time.monotonic() < deadline:
                with suppress(StoreError):
                    found = one.look(paused)
                time.sleep(0.05)
            assert found is None


def test_a_look_may_take_long_while_the_server_answers(url: str) -> None:
    with closing(PostgresStore(url, silent_seconds=0.05)) as store:
        found = store.look(lambda tables: cast("Any", tables).documents("SELECT pg_sleep(1)::text"))
        assert found == [("",)]


def test_a_commit_whose_answer_was_lost_is_looked_up_and_stands(server: Server) -> None:
    with server.database() as url, cut_off(server.port) as (port, armed):
        name = url.split("/")[3].partition("?")[0]
        through = f"postgresql://postgres@127.0.0.1:{port}/{name}"
        with closing(PostgresStore(through, silent_seconds=30, busy_seconds=30)) as store:
            begin(store)
            armed.set()
            made = begin(store, 1)
            assert not armed.is_set()
            assert [entry.seq for entry in records(store)][-1] == made.call
            end(store, made)
            assert store.look(verify_audit).ok


def test_a_commit_of_which_nobody_knows_does_not_run_and_is_ended_later(own: Server) -> None:
    with own.database() as url, cut_off(own.port) as (port, armed):
        name = url.split("/")[3].partition("?")[0]
        with closing(
            PostgresStore(f"postgresql://postgres@127.0.0.1:{port}/{name}", silent_seconds=30, busy_seconds=30)
        ) as store:
            begin(store)
            armed.set()
            stopped = threading.Event()

            def kill_when_sent() -> None:
                while armed.is_set():
                    time.sleep(0.001)
                own.kill()
                stopped.set()

            threading.Thread(target=kill_when_sent).start()
            assert refused(store).fault in ("doubt", "unreachable")
            stopped.wait(30)
            own.start()
            comes_back(store)
            found = records(store)
            open_calls = store.look(lambda tables: tables.running())
            begins = [entry.seq for entry in found if entry.kind == "begin"]
            ends = {entry.call: read_end(entry.body).status for entry in found if entry.kind == "end"}
            assert len(open_calls) == 2  # the first, and the one after the server was back
            assert [call for call in begins if call not in open_calls] == list(ends)
            assert set(ends.values()) <= {"interrupted"}
            assert store.look(verify_audit).ok


def test_a_database_that_was_put_back_from_a_copy_is_noticed(url: str) -> None:
    import psycopg

    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        store.transact(add())
        with psycopg.connect(url, options="-c search_path=rightcall") as connection:
            connection.execute("UPDATE nodes SET seq = 0")
        with pytest.raises(StoreError, match="no longer in it") as raised:
            store.transact(add())
        assert raised.value.fault == "replaced"


def test_a_full_disk_is_in_the_log_once_with_its_reason_and_as_nothing_else(
    server: Server, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        store.transact(add())
        large = bytes(20_000_000)  # the server answers the first statement before the second one is sent

        def write(tables: Tables) -> None:
            tables.touch()
            cast("Any", tables).spend("ann", calls=1)
            cast("Any", tables).write_document("x", PUT, ("lists", b"x", large))

        with server.full_disk(url, "nodes", "spent"):
            with pytest.raises(StoreError) as raised:
                store.transact(Planned(write, Needs))
            assert raised.value.fault == "full"
            for number in range(2):  # a node that nobody asks anything
                store.later(Planned(write, Needs))
                wait_until(lambda number=number: len(caplog.records) > 0 and store._writer._later, 10, "it was tried")
            store._writer._later.clear()
        store.transact(add())
        assert store.look(verify_audit).ok
    (told,) = [record.getMessage() for record in caplog.records]
    assert "its disk is full (could not extend file" in told
    assert "Nothing was run" not in told


@pytest.mark.parametrize("times", [2, 5, 8])
def test_a_node_goes_on_after_a_full_disk_however_many_calls_were_refused(server: Server, url: str, times: int) -> None:
    """The client library prepares what it sends often; of a batch that failed, the server has not all of it."""
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        with server.full_disk(url, "audit", "nodes"):
            for number in range(times):
                with pytest.raises(StoreError) as raised:
                    begin(store, number)
                assert raised.value.fault == "full"
        made = [begin(store, 100 + number) for number in range(2)]
        end(store, made[0])
        assert store.look(verify_audit).ok

"""Limits hold across nodes: exactly as many calls are let through as the policy says, whoever asks at the same time."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from rightcall.record.admission import needs_of
from rightcall.record.postgres import PostgresStore
from rightcall.record.postgres.batch import lock_and_look, wants_of
from rightcall.record.postgres.connection import connect, read_address
from rightcall.record.postgres.node import join
from rightcall.record.postgres.tables import key_of
from rightcall.record.verify import verify_audit
from support import postgres_calls
from support.postgres_calls import attempt, crowd, request

pytestmark = [pytest.mark.promise("P-02", "P-12", "S-01")]


@contextmanager
def nodes(url: str, count: int) -> Iterator[list[PostgresStore]]:
    opened = [PostgresStore(url, silent_seconds=30, busy_seconds=30) for _ in range(count)]
    yield opened
    for store in opened:
        store.close()


def test_forty_rounds_of_a_limit_of_five_with_thirty_two_at_once_let_five_through(url: str) -> None:
    with nodes(url, 2) as stores, ThreadPoolExecutor(2) as pool:
        for number in range(40):
            caller = f"caller {number}"

            def sixteen(store: PostgresStore, caller: str = caller) -> int:
                async def at_once() -> int:
                    wanted = [request(one, 5, caller) for one in range(16)]
                    made = await asyncio.gather(*(store.atransact(attempt(store, one)) for one in wanted))
                    return sum(one.decision.kind == "allow" for one in made)

                return asyncio.run(at_once())

            assert sum(pool.map(sixteen, stores)) == 5, caller
        assert stores[0].look(verify_audit).ok


@pytest.mark.parametrize("limit", [1, 100])
def test_a_limit_is_shared_by_all_nodes(url: str, limit: int) -> None:
    with nodes(url, 3) as stores, ThreadPoolExecutor(3) as pool:
        # each makes calls of its own: the same call on three nodes, with nothing in between, is a loop
        found = pool.map(lambda one: asyncio.run(crowd(one[1], 128, limit, 16, one[0] * 1000)), enumerate(stores))
        assert sum(found) == limit


def test_a_limit_reads_no_more_however_many_calls_the_last_hour_had(url: str) -> None:
    """Also where the server chose how to read while there were none."""
    PostgresStore(url).close()
    connection = connect(read_address(url), lock_seconds=5)
    with closing(connection):
        chain = join(connection)
        wanted = wants_of([needs_of(request(one, 100)) for one in range(32)])
        for _ in range(15):  # until both the client and the server keep the plan
            lock_and_look(connection, chain, wanted)
            connection.execute("ROLLBACK")
        fill = "INSERT INTO windows SELECT %s, n, n, n FROM generate_series(1, 5000) AS n"
        connection.execute(fill, (key_of(request(0, 100).scopes[0].name),))
        lock_and_look(connection, chain, wanted)
        read = "SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'windows'"
        assert connection.execute(read).fetchall() == [(0,)]


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 5, 100, 1000])
def test_ten_thousand_attempts_from_four_processes_let_exactly_so_many_through(url: str, limit: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(
            [sys.executable, postgres_calls.__file__, "crowd", url, "2500", str(limit), "8", str(first * 10_000)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for first in range(4)
    ]  # fmt: skip
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        found = [int(child.communicate(timeout=300)[0]) for child in children]
    finally:
        for child in children:
            child.kill()
            child.communicate()
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        checked = store.look(verify_audit)
    assert (sum(found), checked.ok, checked.problem) == (limit, True, "")

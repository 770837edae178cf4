"""The store on PostgreSQL: limits that many nodes share, admitted in batches, beside a transaction of its own for each
call that locks the row of its limit. Both in one run, against one server with fsync and synchronous_commit on.

    PYTHONPATH=tests python -m bench.postgres [--seconds 10]
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from statistics import quantiles
from typing import Any

from rightcall.record.postgres import PostgresStore
from rightcall.record.verify import verify_audit
from support.postgres import Server, versions
from support.postgres_calls import attempt, request

LIMIT = 1_000_000
"""Never reached: what is measured is the way, not the refusals."""
NODES, AT_ONCE, CONNECTIONS = 4, 32, 32

Times = list[float]


def batched(url: str, seconds: float, *, hot: bool) -> tuple[Times, float]:
    """Four nodes, each a process with 32 calls under way."""
    with ProcessPoolExecutor(NODES, mp_context=get_context("spawn")) as pool:
        for waited in [pool.submit(time.sleep, 1) for _ in range(NODES)]:  # each process is there before the time runs
            waited.result()
        start = time.time() + 4
        found = [pool.submit(_node, url, start, seconds, node, hot=hot) for node in range(NODES)]
        times = [one for done in found for one in done.result()]
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        assert store.look(verify_audit).ok
    return times, seconds


def _node(url: str, start: float, seconds: float, node: int, *, hot: bool) -> Times:
    times: Times = []

    async def one(store: PostgresStore, lane: int) -> None:
        number = 0
        while time.time() < start + seconds:
            number += 1
            caller = "ada" if hot else f"caller {node}.{lane}"
            wanted = request((node * 100_000 + number) * 100 + lane, LIMIT, caller, effects=frozenset(("read",)))
            began = time.monotonic()
            made = await store.atransact(attempt(store, wanted))
            assert made.decision.kind == "allow", made.decision
            times.append(time.monotonic() - began)

    async def every(store: PostgresStore) -> None:
        await asyncio.gather(*(one(store, lane) for lane in range(AT_ONCE)))

    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        time.sleep(max(0.0, start - time.time()))
        asyncio.run(every(store))
    return times


def row_locks(url: str, seconds: float, *, hot: bool) -> tuple[Times, float]:
    """A connection for each caller, and a transaction for each call: lock the limit, look, write. What most do."""
    import psycopg

    times: Times = []

    def calls(lane: int) -> None:
        scope = b"hot" if hot else f"caller {lane}".encode()
        with psycopg.connect(url, autocommit=True, options="-c search_path=rightcall") as connection:
            connection.execute("INSERT INTO locks VALUES (%s) ON CONFLICT DO NOTHING", (scope,))
            while time.monotonic() < until:
                began = time.monotonic()
                with connection.transaction():
                    connection.execute("SELECT scope FROM locks WHERE scope = %s FOR UPDATE", (scope,))
                    last = "SELECT coalesce(max(n), 0) FROM windows WHERE scope = %s"
                    ((top,),) = connection.execute(last, (scope,)).fetchall()
                    connection.execute("SELECT at FROM windows WHERE scope = %s AND n = %s", (scope, top - LIMIT + 1))
                    ((number,),) = connection.execute("SELECT nextval('numbers')").fetchall()
                    moment = time.time_ns()
                    put = "INSERT INTO windows VALUES (%s, %s, %s, %s)"
                    connection.execute(put, (scope, top + 1, moment, number))
                    record = "INSERT INTO audit VALUES (current_date, %s, 0, 'begin', 0, '', '', repeat('x', 300))"
                    connection.execute(record, (number,))
                times.append(time.monotonic() - began)

    until = time.monotonic() + seconds
    took = _side_by_side([lambda lane=lane: calls(lane) for lane in range(CONNECTIONS)])
    return times, took


def _side_by_side(works: "list[Callable[[], Any]]") -> float:
    began = time.monotonic()
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    with Server.started(versions()[-1]) as server:
        for hot in (True, False):
            rates: dict[str, float] = {}
            for name, way in (("batch", batched), ("row locks", row_locks)):
                with server.database() as url:
                    PostgresStore(url, silent_seconds=30, busy_seconds=30).close()
                    times, took = way(url, seconds, hot=hot)
                rates[name] = len(times) / took
                p99 = quantiles(times, n=100)[98] * 1000 if len(times) > 100 else 0.0
                what = "one limit" if hot else "separate callers"
                print(f"{what:17} {name:10} {rates[name]:8,.0f} decisions/s   p99 {p99:7,.0f} ms")
            print(f"{'':17} ratio      {rates['batch'] / rates['row locks']:8.1f} x")


if __name__ == "__main__":
    main()

"""The store on PostgreSQL, against one server with fsync and synchronous_commit on:

limits      that many nodes share, admitted in batches, beside a transaction of its own for each call that locks the
            row of its limit; both in one run
approvals   how long a call waits after a person has answered on another node, while 8 nodes write; and the same
            with its listener killed each time

PYTHONPATH=tests python -m bench.postgres [limits] [approvals] [--seconds 10]
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from statistics import median, quantiles
from typing import Any

from rightcall.policy.settings import Settings
from rightcall.record.admission import pause
from rightcall.record.postgres import PostgresStore
from rightcall.record.verify import verify_audit
from support.approvals import request_of, say
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


# ── approvals ──

WRITERS, ANSWERS, KILLED = 8, 200, 20
_LISTENING = "pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


def approvals(url: str, answers: int, *, killed: bool) -> Times:
    """From the moment the answer stands on one node until the call that waits on another knows."""
    with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as pool:
        busy = [pool.submit(_write, url, node) for node in range(WRITERS)]
        with (
            closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as asking,
            closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as answering,
        ):
            while asking.look(lambda tables: tables.head()[0]) < 50 * WRITERS:
                time.sleep(0.1)
            times = asyncio.run(_answered(asking, answering, answers, killed=killed))
            answering.transact(lambda tables: pause(tables, "ann"))
        for done in busy:
            done.result()
    return times


def _write(url: str, node: int) -> None:
    """Calls, one after the other, until somebody says stop."""
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        number = 0
        while True:
            number += 1
            wanted = request(node * 1_000_000 + number, LIMIT, f"writer {node}", effects=frozenset(("read",)))
            if store.transact(attempt(store, wanted)).decision.kind != "allow":
                return


async def _answered(asking: PostgresStore, answering: PostgresStore, answers: int, *, killed: bool) -> Times:
    times: Times = []
    for number in range(answers):
        wanted = request_of({"n": number}, settings=Settings(stage="full", write="ask"))
        made = await asking.atransact(attempt(asking, wanted))
        name = made.decision.approval
        assert name is not None
        seen = asyncio.create_task(_seen(asking, name))
        await asyncio.to_thread(_counted, answering, 1)
        if killed:
            await asyncio.to_thread(_look, answering, f"SELECT count(pg_terminate_backend(pid)) FROM {_LISTENING}")
        await asyncio.to_thread(say, answering, name)
        stood = time.monotonic()
        times.append(max(0.0, await seen - stood))
    return times


async def _seen(store: PostgresStore, name: str) -> float:
    """As the executor waits."""
    while True:
        await store.next_answer(name, 60.0)
        found = await asyncio.to_thread(store.look, lambda tables: tables.approval(name))
        if found is not None and found.status != "waiting":
            return time.monotonic()


def _look(store: PostgresStore, question: str) -> Any:
    return store.look(lambda tables: tables._connection.execute(question).fetchone()[0])  # type: ignore[attr-defined]


def _counted(store: PostgresStore, listeners: int) -> None:
    while _look(store, f"SELECT count(*) FROM {_LISTENING}") < listeners:
        time.sleep(0.005)


# ── all of it ──


def measure_limits(server: Server, seconds: float) -> None:
    for hot in (True, False):
        rates: dict[str, float] = {}
        for name, way in (("batch", batched), ("row locks", row_locks)):
            with server.database() as url:
                PostgresStore(url, silent_seconds=30, busy_seconds=30).close()
                times, took = way(url, seconds, hot=hot)
            rates[name] = len(times) / took
            what = "one limit" if hot else "separate callers"
            print(f"{what:17} {name:10} {rates[name]:8,.0f} decisions/s   p99 {_p99(times):7,.0f} ms")
        print(f"{'':17} ratio      {rates['batch'] / rates['row locks']:8.1f} x")


def measure_approvals(server: Server) -> None:
    for killed, answers in ((False, ANSWERS), (True, KILLED)):
        with server.database() as url:
            PostgresStore(url, silent_seconds=30, busy_seconds=30).close()
            times = approvals(url, answers, killed=killed)
        what = "listener killed" if killed else "listener"
        print(
            f"answer on another node, {WRITERS} writers, {what:15} p50 {median(times) * 1000:7,.1f} ms"
            f"   p99 {_p99(times):7,.1f} ms   most {max(times) * 1000:7,.1f} ms"
        )


def _p99(times: Times) -> float:
    return quantiles(times, n=100)[98] * 1000 if len(times) > 100 else max(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["limits", "approvals"])
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with Server.started(versions()[-1]) as server:
        if "limits" in options.parts:
            measure_limits(server, options.seconds)
        if "approvals" in options.parts:
            measure_approvals(server)


if __name__ == "__main__":
    main()

"""The store on PostgreSQL, against one server with fsync and synchronous_commit on:

PYTHONPATH=tests python -m bench.postgres [ways] [limits] [deadlocks] [nodes] [approvals] [costs]
                                            [--seconds 10]

ways         limits that many nodes share, admitted in batches, beside what others do (bench/postgres_ways.py): a
             transaction for each call that locks the row of its limit, and one function on the server that does it
             all. Each way makes the same admission, with the same questions and the same records
limits       exactly as many calls as the limit says, from many processes at once
deadlocks    calls of many callers in every order, from four nodes; connections of each node meanwhile
nodes        eight nodes, 10 ms away from the server: a chain for each beside one chain for all
approvals    how long a call waits after a person has answered on another node, while 8 nodes write; and the same with
             its listener killed each time
costs        CPU and disk of a whole call, and what that makes a day
"""

import argparse
import asyncio
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from statistics import median, quantiles
from typing import Any

from bench.postgres_ways import LIMIT, Load, Times, one_function, row_locks
from bench.proxy_contenders import children, cpu_of
from bench.table import Figure, micro, render
from rightcall import Executor
from rightcall.policy.settings import Settings
from rightcall.record.admission import finishing, pause
from rightcall.record.postgres import PostgresStore, writer
from rightcall.record.postgres.batch import Wants, wants_of
from rightcall.record.tables import Needs
from rightcall.record.verify import verify_audit
from support.approvals import request_of, say
from support.postgres import Server, versions
from support.postgres_calls import DONE, attempt, crowd, request

NODES, AT_ONCE, TURNS = 4, 32, 3
FAR_NODES, AWAY = 8, 0.010
"""Nodes that are so many seconds, there and back, away from the server."""
ATTEMPTS, PROCESSES, IN_EACH = 10_000, 4, 8
ROUNDS, OF_ROUND = 40, 32
SHUFFLED, CALLERS = 100_000, 200
MOST_CONNECTIONS = 4


@contextmanager
def _pool(count: int) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for waited in [pool.submit(time.sleep, 1) for _ in range(count)]:  # each process is there before the time runs
            waited.result()
        yield pool


def _opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


def _verify(url: str) -> bool:
    with closing(_opened(url)) as store:
        return store.look(verify_audit).ok


def batched(url: str, seconds: float, *, hot: bool) -> Times:
    """Four nodes, each a process with 32 calls under way."""
    return _loaded(Load(url, 0, seconds, hot), NODES)


def _loaded(load: Load, nodes: int) -> Times:
    with _pool(nodes) as pool:
        load = load._replace(start=time.time() + 4 + nodes / 2)
        found = [pool.submit(_node, load, node) for node in range(nodes)]
        times = [one for done in found for one in done.result()]
    assert _verify(load.url)
    return times


def _node(load: Load, node: int) -> Times:
    times: Times = []
    if load.one_chain:
        _share_one_chain()

    async def one(store: PostgresStore, lane: int) -> None:
        number = 0
        while time.time() < load.start + load.seconds:
            number += 1
            caller = "ada" if load.hot else f"caller {node}.{lane}"
            wanted = request((node * 100_000 + number) * 100 + lane, LIMIT, caller, effects=frozenset(("read",)))
            began = time.monotonic()
            made = await store.atransact(attempt(store, wanted))
            assert made.decision.kind == "allow", made.decision
            times.append(time.monotonic() - began)

    async def every(store: PostgresStore) -> None:
        await asyncio.gather(*(one(store, lane) for lane in range(AT_ONCE)))

    with closing(_opened(load.url)) as store:
        time.sleep(max(0.0, load.start - time.time()))
        asyncio.run(every(store))
    return times


def _share_one_chain() -> None:
    """One more lock, the same for all: what the head of a chain is that all nodes write."""

    def wanted(needs: Iterable[Needs]) -> Wants:
        found = wants_of(needs)
        return found._replace(locks=[b"", *found.locks])

    writer.wants_of = wanted  # pyright: ignore[reportPrivateImportUsage]


def _beside(way: "Callable[[Load, int], Times]") -> "Callable[..., Times]":
    """As many processes, with eight connections each."""

    def run(url: str, seconds: float, *, hot: bool) -> Times:
        with _pool(NODES) as pool:
            load = Load(url, time.time() + 4 + NODES / 2, seconds, hot)
            found = [pool.submit(way, load, node) for node in range(NODES)]
            return [one for done in found for one in done.result()]

    return run


# ── rows ──


def ways(server: Server, seconds: float) -> Iterator[Figure]:
    """In turns: what else the machine does meanwhile then falls on all of them."""
    found = {"batch": batched, "row locks": _beside(row_locks), "one function": _beside(one_function)}
    for hot in (True, False):
        what = "one limit" if hot else "separate callers"
        rates: dict[str, float] = {}
        for name, times in _in_turns(server, seconds, found, hot=hot).items():
            rates[name] = len(times) / seconds
            print(f"{what:17} {name:12} {rates[name]:8,.0f} decisions/s   p99 {_p99(times):7,.0f} ms", flush=True)
        for name, least in (("row locks", 10), ("one function", 3)):
            ratio = rates["batch"] / rates[name]
            peer, target = f"{rates[name]:,.0f}/s {name}", f">= {least} x" if hot else ""
            ours = f"{rates['batch']:,.0f}/s"
            yield Figure(f"decisions, {what}", ours, peer, f"{ratio:.1f} x", target, ratio >= least if hot else None)


def _in_turns(
    server: Server, seconds: float, found: "dict[str, Callable[..., Times]]", *, hot: bool
) -> dict[str, Times]:
    times: dict[str, Times] = {name: [] for name in found}
    for _ in range(TURNS):
        for name, way in found.items():
            with server.database() as url:
                _opened(url).close()
                times[name] += way(url, seconds / TURNS, hot=hot)
    return times


def limits(server: Server, _seconds: float) -> Iterator[Figure]:
    for limit in (1, 5, 100, 1_000):
        with server.database() as url, _pool(PROCESSES) as pool:
            each = ATTEMPTS // PROCESSES
            found = sum(_all(pool.submit(_crowd, url, each, limit, number * each) for number in range(PROCESSES)))
            good = _verify(url)
        what = f"limit {limit:,}: {ATTEMPTS:,} attempts, {PROCESSES} processes x {IN_EACH}"
        yield Figure(what, f"{found:,}", "", "", f"exactly {limit:,}", found == limit and good)
    with server.database() as url, _pool(PROCESSES) as pool:
        share = OF_ROUND // PROCESSES
        over = [
            sum(_all(pool.submit(_crowd, url, share, 5, process * share, f"round {number}")
                     for process in range(PROCESSES)))
            for number in range(ROUNDS)
        ]  # fmt: skip
    told = "5" if set(over) == {5} else str(sorted(set(over)))
    what = f"{ROUNDS} rounds of limit 5, {OF_ROUND} at once"
    yield Figure(what, told, "", "", "exactly 5", set(over) == {5})


_STORES: dict[str, PostgresStore] = {}
"""Of this process, one for each database: what is measured is not how it is opened."""


def _crowd(url: str, count: int, limit: int, first: int, caller: str = "ada") -> int:
    store = _STORES[url] = _STORES.get(url) or _opened(url)
    return asyncio.run(crowd(store, count, limit, IN_EACH, first, caller))


def deadlocks(server: Server, _seconds: float) -> Iterator[Figure]:
    with server.database() as url:
        name = url.split("/")[3].partition("?")[0]
        most, over = 0, threading.Event()

        def watch() -> None:
            nonlocal most
            while not over.wait(0.2):
                question = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
                most = max(most, server.run(question)[0][0])

        with _pool(NODES) as pool:
            watcher = threading.Thread(target=watch)
            watcher.start()
            began = time.monotonic()
            made = sum(_all(pool.submit(_shuffled, url, SHUFFLED // NODES, node) for node in range(NODES)))
            took = time.monotonic() - began
            over.set()
            watcher.join()
        found = server.run(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}'")[0][0]
        good = _verify(url)
    what = f"deadlocks in {made:,} calls of {CALLERS} callers, shuffled, {NODES} nodes"
    yield Figure(what, str(found), f"{made / took:,.0f} calls/s", "", "0", found == 0 and made == SHUFFLED and good)
    yield Figure("connections of a node, at most", f"{most / NODES:g}", "", "", f"<= {MOST_CONNECTIONS}",
                 most <= MOST_CONNECTIONS * NODES)  # fmt: skip


def _shuffled(url: str, count: int, node: int) -> int:
    """Calls that count against a limit of all, of their caller and of their tool, in an order of their own."""
    chance = random.Random(node)

    async def one(store: PostgresStore, lane: int) -> int:
        made = 0
        for number in range(lane, count, AT_ONCE):
            caller = f"caller {chance.randrange(CALLERS)}"
            wanted = request(node * 10_000_000 + number, LIMIT, caller)
            begun = await store.atransact(attempt(store, wanted))
            await store.atransact(finishing(begun, DONE, wanted.digest))
            made += begun.decision.kind == "allow"
        return made

    async def every(store: PostgresStore) -> int:
        return sum(await asyncio.gather(*(one(store, lane) for lane in range(AT_ONCE))))

    with closing(_opened(url)) as store:
        return asyncio.run(every(store))


def nodes(server: Server, seconds: float) -> Iterator[Figure]:
    rates: dict[bool, float] = {}
    for one_chain in (False, True):
        with server.database() as url, _away(server.port) as port:
            _opened(url).close()
            name = url.split("/")[3].partition("?")[0]
            far = f"postgresql://postgres@127.0.0.1:{port}/{name}"
            rates[one_chain] = len(_loaded(Load(far, 0, seconds, one_chain=one_chain), FAR_NODES)) / seconds
    ratio = rates[False] / rates[True]
    what = f"decisions, {FAR_NODES} nodes {AWAY * 1000:g} ms away: a chain for each"
    peer = f"{rates[True]:,.0f}/s one chain"
    yield Figure(what, f"{rates[False]:,.0f}/s", peer, f"{ratio:.1f} x", ">= 2 x", ratio >= 2)


@contextmanager
def _away(port: int) -> Iterator[int]:
    """A port in front of the server's, in a process of its own, that hands everything on after a while."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_delay, args=(port, there), daemon=True)
    process.start()
    yield here.recv()
    process.kill()
    process.join()


def _delay(port: int, told: Any) -> None:
    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while data := await source.read(65_536):
                loop.call_later(AWAY / 2, target.write, data)
        loop.call_later(AWAY / 2, target.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, to_server), pump(from_server, writer))

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


# ── approvals ──

WRITERS, ANSWERS, KILLED = 8, 200, 20
_LISTENING = "pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


def _approved(url: str, answers: int, *, killed: bool) -> Times:
    """From the moment the answer stands on one node until the call that waits on another knows."""
    with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as pool:
        busy = [pool.submit(_write, url, node) for node in range(WRITERS)]
        with (
            closing(_opened(url)) as asking,
            closing(_opened(url)) as answering,
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
    with closing(_opened(url)) as store:
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


def approvals(server: Server, _seconds: float) -> Iterator[Figure]:
    for killed, answers, most in ((False, ANSWERS, 50.0), (True, KILLED, 1_500.0)):
        with server.database() as url:
            _opened(url).close()
            times = _approved(url, answers, killed=killed)
        what = f"answer on another node, {WRITERS} writers{', listener killed' if killed else ''}: p99"
        peer = f"p50 {median(times) * 1000:,.1f} ms"
        yield Figure(what, f"{_p99(times):,.1f} ms", peer, "", f"< {most:,.0f} ms", _p99(times) < most)


def _p99(times: Times) -> float:
    return quantiles(times, n=100)[98] * 1000 if len(times) > 100 else max(times) * 1000


# ── costs ──

CALLS = 6_000
SECONDS_A_DAY = 86_400
HEADROOM = 2
"""Half of each core is left free."""
_WIDE = {"minute": LIMIT, "hour": 0, "burst": 0}
_POLICY = {"policy": {"allow": ["*"], "write": "allow", "repeats": 0, "limits": {"all": _WIDE, "caller": _WIDE}}}


def costs(server: Server, _seconds: float) -> Iterator[Figure]:
    """Of a whole call on one node: decided, recorded, run, its end recorded."""
    with server.database() as url:
        name = url.split("/")[3].partition("?")[0]
        node, database = asyncio.run(_whole_calls(server, url))
        size = server.run(f"SELECT pg_database_size('{name}')")[0][0]
    with server.database() as empty:
        _opened(empty).close()
        size -= server.run(f"SELECT pg_database_size('{empty.split('/')[3].partition('?')[0]}')")[0][0]
    each = size / CALLS
    yield Figure("CPU of a call, node", micro(node), "", "", "", None)
    yield Figure("CPU of a call, PostgreSQL", micro(database), "", "", "", None)
    yield Figure("disk of a call", f"{each / 1000:.2f} kB", "", "", "", None)
    for rate in (10, 100, 1_000):
        cores = f"{rate * node * HEADROOM:.1f} cores of nodes, {rate * database * HEADROOM:.1f} of PostgreSQL"
        yield Figure(f"{rate:,} calls/s", cores, f"{rate * each * SECONDS_A_DAY / 1e9:,.0f} GB a day", "", "", None)


async def _whole_calls(server: Server, url: str) -> tuple[float, float]:
    """CPU seconds of each call: this process, and all of the server."""
    with closing(_opened(url)) as store:
        async with Executor.open(policy=_POLICY, store=store) as executor:

            @executor.tool(effects=["write"])
            def keep(text: str) -> str:
                """Keep a text.

                Args:
                    text: The text.
                """
                return text

            async def some(count: int, first: int) -> None:
                for number in range(first, first + count):
                    done = await executor.run({"name": "keep", "arguments": {"text": f"text {number}"}}, "ada")
                    assert done.ok, done.error

            await some(50, CALLS)
            before = time.process_time(), _server_cpu(server)
            each = CALLS // AT_ONCE
            await asyncio.gather(*(some(each, lane * each) for lane in range(AT_ONCE)))
            after = time.process_time(), _server_cpu(server)
    made = each * AT_ONCE
    return (after[0] - before[0]) / made, (after[1] - before[1]) / made


def _server_cpu(server: Server) -> float:
    return sum(cpu_of(pid) for pid in (server.pid, *children(server.pid)))


# ── all of it ──


def _all(futures: "Iterator[Future[int]]") -> list[int]:
    return [future.result() for future in list(futures)]


PARTS = {"ways": ways, "limits": limits, "deadlocks": deadlocks, "nodes": nodes, "approvals": approvals, "costs": costs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    figures: list[Figure] = []
    with Server.started(versions()[-1]) as server:
        for part in options.parts:
            found = list(PARTS[part](server, options.seconds))
            print(render(found), flush=True)
            figures += found
    return 0 if all(figure.met is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What running a call costs: the decision, the record, whole calls from many callers, and memory over many calls."""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bench.table import Figure, micro
from bench.timing import all_cores, best
from rightcall import Executor, MemoryStore, SqliteStore
from rightcall.base.secrets import Redactor
from rightcall.executor.calls import Who, Written, call_body
from rightcall.executor.request import Ground, Occasion, build_request, canonical
from rightcall.policy.decide import decide
from rightcall.policy.types import Request
from rightcall.record.admission import ApprovalQuestion, admit
from rightcall.record.tables import EndBody, Store, Tables, encode

CALLERS = 32
SECONDS = 4.0
ROWS = 40_000
WRITERS = 256
MANY = 100_000
WIDE = {"minute": 1_000_000, "hour": 1_000_000, "burst": 1_000_000}
POLICY: dict[str, Any] = {"policy": {"limits": {"all": WIDE, "caller": WIDE, "tools": {"word_count": WIDE}}}}
CALL = {"name": "word_count", "arguments": {"text": "to be or not to be", "separator": " ", "unique": True}}


def word_count(text: str, separator: str = " ", unique: bool = False) -> int:
    """Count the words of a text."""
    words = text.split(separator)
    return len(set(words) if unique else words)


def opened(store: Store, folder: str, policy: dict[str, Any] | None = POLICY) -> Executor:
    executor = Executor.open(folder, policy, store=store)
    executor.start()
    executor.tool(effects=["read"])(word_count)
    return executor


def deciding(store: Store, folder: str, *, record: bool) -> Callable[[Tables], object]:
    """From a call that was checked to a decision, recorded or not, as a work on the store's tables. Without a record
    nothing is counted, so the default policy's limits hold; with one they would soon be reached."""
    executor = opened(store, folder, POLICY if record else None)
    toolbox = executor._now()  # what is measured is the inside
    tool = toolbox.tools["word_count"]
    rights = toolbox.rights_of("teacher")
    verdict = toolbox.gate.check(CALL["name"], CALL["arguments"])
    written, who, redactor = Written(verdict, CALL["name"]), Who("teacher"), Redactor(store.key())
    nothing, numbers = ApprovalQuestion(), count()

    def request() -> Request:
        exact = canonical(CALL["name"], {**CALL["arguments"], "text": f"call {next(numbers)}"})
        return build_request(tool, exact, rights, verdict, Ground(toolbox, folder), Occasion(store.clock.now()))

    def one(tables: Tables) -> object:
        asked = request()
        if not record:
            decision = decide(asked, tables)
            assert decision.kind == "allow"
            return decision
        admission = admit(tables, asked, decide, call_body(written, who, asked, redactor), nothing)
        assert admission.decision.kind == "allow"
        return admission

    return one


def decisions() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        memory, shared = MemoryStore(), SqliteStore(str(Path(folder) / "audit.db"))
        for what, record in (("allow-decision", False), ("allow-decision and its record", True)):
            one = deciding(memory, folder, record=record)
            taken = best({"memory": lambda one=one: memory.transact(one)})["memory"]
            met = None if record else taken < 15e-6
            yield Figure(f"{what}, memory store", micro(taken), "", "", "" if record else "< 15 µs", met)
            work = deciding(shared, folder, record=record)
            taken = min(shared.transact(lambda tables, work=work: _timed(tables, work)) for _ in range(15))
            yield Figure(f"{what}, shared store, without the commit", micro(taken), "", "", "< 400 µs", taken < 400e-6)
        shared.close()


def _timed(tables: Tables, work: Callable[[Tables], object], times: int = 200) -> float:
    began = time.perf_counter()
    for _ in range(times):
        work(tables)
    return (time.perf_counter() - began) / times


def records() -> Iterator[Figure]:
    """Durable rows a second: every writer waits until its own row is on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(str(Path(folder) / "audit.db"))
        body = encode(EndBody("success", 1.5, summary="Read 12 lines from src/app.py", tokens=120))

        async def writer(count: int) -> None:
            for _ in range(count):
                await store.atransact(lambda tables: tables.append("end", 0, body))

        async def all_of_them() -> float:
            began = time.perf_counter()
            await asyncio.gather(*(writer(ROWS // WRITERS) for _ in range(WRITERS)))
            return ROWS / (time.perf_counter() - began)

        grouped = asyncio.run(all_of_them())
        began = time.perf_counter()
        for _ in range(100):
            store.transact(lambda tables: tables.append("end", 0, body))
        alone = 100 / (time.perf_counter() - began)
        store.close()
    yield Figure(
        f"durable audit rows a second, {WRITERS} writers in groups", f"{grouped:,.0f}", f"{alone:,.0f} one by one",
        f"{grouped / alone:.0f} x", ">= 10,000", grouped >= 10_000,
    )  # fmt: skip


def whole_calls() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(str(Path(folder) / "audit.db"))
        rate, p50, p99 = asyncio.run(_many_callers(opened(store, folder)))
        store.close()
    yield Figure(
        f"whole calls a second, {CALLERS} callers, durable audit", f"{rate:,.0f}", "", "", ">= 1,000", rate >= 1000
    )
    times = f"{p50:.1f} and {p99:.1f} ms"
    yield Figure("the same: time of one call, p50 and p99", times, "", "", "p99 < 100 ms", p99 < 100)


async def _many_callers(executor: Executor) -> tuple[float, float, float]:
    taken: list[float] = []
    until = time.perf_counter() + SECONDS

    async def caller(name: str) -> None:
        number = 0
        while time.perf_counter() < until:
            number += 1
            began = time.perf_counter()
            outcome = await executor.run({"name": "word_count", "arguments": {"text": f"call {number}"}}, name)
            taken.append((time.perf_counter() - began) * 1e3)
            assert outcome.ok, outcome.error

    await asyncio.gather(*(caller(f"caller {number}") for number in range(CALLERS)))
    cuts = statistics.quantiles(taken, n=100)
    return len(taken) / SECONDS, cuts[49], cuts[98]


def memory_over_time() -> Iterator[Figure]:
    """In a process of its own: what the others left behind must not count."""
    done = subprocess.run([sys.executable, "-m", "bench.executing"], capture_output=True, text=True, check=True)
    early, late = json.loads(done.stdout)
    grown = late - early
    yield Figure(
        f"memory after {MANY // 5:,} and after {MANY:,} calls", f"{early:.0f} and {late:.0f} MB", "", "",
        "flat: < 10 MB more", grown < 10,
    )  # fmt: skip


def _soak() -> tuple[float, float]:
    sizes: list[float] = []

    async def main(executor: Executor) -> None:
        async def caller(name: str, first: int, last: int) -> None:
            for number in range(first, last):
                call: dict[str, Any] = {"name": "word_count", "arguments": {"text": f"call {number}"}}
                assert (await executor.run(call, name)).ok

        each = MANY // CALLERS
        for first, last in ((0, each // 5), (each // 5, each)):
            await asyncio.gather(*(caller(f"caller {n}", first, last) for n in range(CALLERS)))
            sizes.append(_resident())

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(str(Path(folder) / "audit.db"))
        asyncio.run(main(opened(store, folder)))
        store.close()
    return sizes[0], sizes[1]


def _resident() -> float:
    """Megabytes now where the system tells, else the most there ever were."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 1e6


def executing() -> Iterator[Figure]:
    all_cores()
    yield from decisions()
    yield from records()
    yield from whole_calls()
    yield from memory_over_time()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_soak()))

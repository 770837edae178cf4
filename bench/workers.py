"""Two workers against one, in one run: CPU for each request of proxy and gateway, with parent and workers together; the
share that each worker serves; and how much more they do in a second, where there are cores for that.

Two workers have twice the clients: each has as many as the one alone. Fewer would leave it waiting, and a process that
waits needs more CPU for each request: a gateway alone 1.2 x with 8 clients of what it needs with 16. What two workers
need for the clients of one is shown beside it, what two gateways need that share nothing, and what clients of one
session need, whose connections go to the worker that has it.

Clients, model server and MCP server are processes of their own and do not count.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.request import urlopen

from bench.mcp import POLICY, SERVER, gateway, over_http
from bench.proxy_contenders import Contender, Cost, children, cost, cpu_of, idle, rightcall, upstream
from bench.table import Figure, micro, render
from bench.timing import all_cores

ROUNDS = 10
REQUESTS, CONNECTIONS = 3_000, 16
CALLS, CLIENTS = 4_000, 16
"""Of each worker, as requests and connections are."""
FREE = 4
"""Cores that must be free where throughput is compared."""


class Beside(NamedTuple):
    """What one way costs and another, round by round, one right after the other."""

    one: list[Cost]
    two: list[Cost]

    @property
    def cpu(self) -> float:
        """The ratio in the middle: the least of each would compare two lucky moments."""
        return median(two.cpu / one.cpu for one, two in zip(self.one, self.two, strict=True))

    @property
    def rate(self) -> float:
        return median(two.rate / one.rate for one, two in zip(self.one, self.two, strict=True))

    def told(self) -> tuple[str, str]:
        return micro(median(one.cpu for one in self.two)), micro(median(one.cpu for one in self.one))


class Pair(NamedTuple):
    """With one worker, and with two; what else was compared, which is no limit."""

    both: Beside
    shares: list[float]
    others: dict[str, Beside]


def working() -> Iterator[Figure]:
    all_cores()
    with tempfile.TemporaryDirectory() as name:
        for what, found in (("proxy", _proxying(Path(name))), ("gateway", _bridging(Path(name)))):
            both = found.both
            yield Figure(
                f"{what}: CPU a request, 2 workers / 1", *both.told(), f"{both.cpu:.2f} x", "1.1 x", both.cpu <= 1.1
            )
            least = min(found.shares, default=0.0)
            told = " : ".join(f"{one:.0%}" for one in found.shares)
            yield Figure(f"{what}: share of each of 2 workers", told, "", "", "40 %", least >= 0.4)
            free = (os.cpu_count() or 1) - os.getloadavg()[0]
            ours, peer = (f"{median(one.rate for one in costs):.0f}/s" for costs in (both.two, both.one))
            if free < FREE:
                yield Figure(f"{what}: throughput, 2 workers / 1", ours, peer, "not measured", "1.7 x", None)
            else:
                is_met = both.rate >= 1.7
                yield Figure(f"{what}: throughput, 2 workers / 1", ours, peer, f"{both.rate:.2f} x", "1.7 x", is_met)
            for other, beside in found.others.items():
                yield Figure(f"{what}: CPU, {other}", *beside.told(), f"{beside.cpu:.2f} x", "", None)


def _proxying(folder: Path) -> Pair:
    with ExitStack() as stack:
        server = stack.enter_context(upstream())
        ours: list[Contender] = []
        for count in (1, 2):
            place = folder / f"proxy{count}"
            place.mkdir()
            ours.append(stack.enter_context(rightcall(server, place, "--workers", str(count))))
        job = {"kind": "repaired", "check": "call"}
        for one in ours:
            cost(one, one.job(**job, count=REQUESTS // 4, connections=CONNECTIONS), 0.0)  # things are loaded
        resting = [idle(one) for one in ours]
        before = _answered(_url(ours[1]))
        asked = [one.job(**job, count=n * REQUESTS, connections=n * CONNECTIONS) for n, one in enumerate(ours, 1)]
        pairs = list(zip(ours, asked, resting, strict=True))
        one, two = _in_turns([partial(cost, *each) for each in pairs])
        return Pair(Beside(one, two), _shares(before, _answered(_url(ours[1]))), {})


def _url(one: Contender) -> str:
    return f"http://127.0.0.1:{one.port}{one.prefix}"


def _bridging(folder: Path) -> Pair:
    with ExitStack() as stack:
        found: list[tuple[int, str]] = []
        for number, count in enumerate((1, 2, 1)):
            place = folder / f"gateway{number}"
            place.mkdir()
            (place / "rightcall.toml").write_text(POLICY % json.dumps(SERVER))
            found.append(stack.enter_context(gateway(place, None, "--workers", str(count), "--no-console")))
        pool = stack.enter_context(ProcessPoolExecutor(2, get_context("spawn")))
        for one in found:
            _called(pool, [one, one])  # things are loaded
        alone, workers, other = found
        base = workers[1].removesuffix("/mcp")
        before = _answered(base)
        ways = [[alone], [workers, workers], [workers], [alone, other]]
        one, two, few, apart = _in_turns([partial(_called, pool, way) for way in ways])
        shares = _shares(before, _answered(base))
        both = _in_turns([partial(_called, pool, [one], is_shared=True) for one in (alone, workers)])
        others = {
            f"2 workers, {CLIENTS} clients in all": Beside(one, few),
            "2 gateways that share nothing": Beside(one, apart),
            f"one session, {CLIENTS} connections": Beside(*both),
        }
        return Pair(Beside(one, two), shares, others)


def _in_turns(ways: Sequence[Callable[[], Cost]]) -> list[list[Cost]]:
    rounds = [[way() for way in ways] for _ in range(ROUNDS)]
    return [list(column) for column in zip(*rounds, strict=True)]


def _called(pool: ProcessPoolExecutor, gateways: list[tuple[int, str]], *, is_shared: bool = False) -> Cost:
    """A process with clients for each that is named, all at once. `is_shared`: its clients have one session."""
    pids = {one for pid, _ in gateways for one in (pid, *_ours(pid))}
    before, began = sum(map(cpu_of, pids)), time.perf_counter()
    list(pool.map(partial(_ask, is_shared=is_shared), [url for _, url in gateways]))
    taken, wall = sum(map(cpu_of, pids)) - before, time.perf_counter() - began
    calls = CALLS * len(gateways)
    return Cost(taken / calls, calls / wall)


def _ask(url: str, *, is_shared: bool) -> None:
    asyncio.run(over_http(lambda: 0.0, url, "files_read_file", CLIENTS, CALLS, is_shared=is_shared))


def _ours(pid: int) -> list[int]:
    """Its workers, and not the MCP server."""
    name = SERVER[-1].encode()
    return [one for one in children(pid) if name not in Path(f"/proc/{one}/cmdline").read_bytes()]


def _answered(base: str, workers: int = 2) -> dict[str, int]:
    """How many requests each worker has answered so far."""
    found: dict[str, int] = {}
    until = time.monotonic() + 30
    while len(found) < workers and time.monotonic() < until:
        with urlopen(f"{base}/health") as answer:
            told = json.load(answer)["worker"]
        found[told["name"]] = told["answered"]
    return found


def _shares(before: dict[str, int], after: dict[str, int]) -> list[float]:
    served = [after[name] - before.get(name, 0) for name in sorted(after)]
    return [one / sum(served) for one in served]


if __name__ == "__main__":
    sys.stdout.write(render(working()) + "\n")

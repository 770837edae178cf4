"""Two workers against one, in one run: CPU for each request of proxy and gateway, with parent and workers together; the
share that each worker serves; and how much more they do in a second, where there are cores for that.

Clients, model server and MCP server are processes of their own and do not count.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from bench.mcp import POLICY, SERVER, gateway, over_http
from bench.proxy_contenders import Contender, Cost, children, cost, cpu_of, idle, rightcall, upstream
from bench.table import Figure, micro, render
from bench.timing import all_cores

ROUNDS = 4
REQUESTS, CONNECTIONS = 3_000, 16
CALLS, CLIENTS = 960, 16
FREE = 4
"""Cores that must be free where throughput is compared."""


class Pair(NamedTuple):
    """With one worker, and with two."""

    one: Cost
    two: Cost
    shares: list[float]


def working() -> Iterator[Figure]:
    all_cores()
    with tempfile.TemporaryDirectory() as name:
        for what, found in (("proxy", _proxying(Path(name))), ("gateway", _bridging(Path(name)))):
            ratio = found.two.cpu / found.one.cpu
            yield Figure(
                f"{what}: CPU a request, 2 workers / 1", micro(found.two.cpu), micro(found.one.cpu), f"{ratio:.2f} x",
                "1.1 x", ratio <= 1.1,
            )  # fmt: skip
            least = min(found.shares, default=0.0)
            told = " : ".join(f"{one:.0%}" for one in found.shares)
            yield Figure(f"{what}: share of each of 2 workers", told, "", "", "40 %", least >= 0.4)
            more = found.two.rate / found.one.rate
            free = (os.cpu_count() or 1) - os.getloadavg()[0]
            ours, peer = f"{found.two.rate:.0f}/s", f"{found.one.rate:.0f}/s"
            if free < FREE:
                yield Figure(f"{what}: throughput, 2 workers / 1", ours, peer, "not measured", "1.7 x", None)
            else:
                yield Figure(f"{what}: throughput, 2 workers / 1", ours, peer, f"{more:.2f} x", "1.7 x", more >= 1.7)


def _proxying(folder: Path) -> Pair:
    with ExitStack() as stack:
        server = stack.enter_context(upstream())
        ours: list[Contender] = []
        for count in (1, 2):
            place = folder / f"proxy{count}"
            place.mkdir()
            ours.append(stack.enter_context(rightcall(server, place, "--workers", str(count))))
        job = {"kind": "repaired", "count": REQUESTS, "connections": CONNECTIONS, "check": "call"}
        for one in ours:
            cost(one, one.job(**{**job, "count": REQUESTS // 4}), 0.0)  # things are loaded
        resting = [idle(one) for one in ours]
        before = _answered(_url(ours[1]))
        best = [
            min((cost(one, one.job(**job), rest) for _ in range(ROUNDS)), key=lambda found: found.cpu)
            for one, rest in zip(ours, resting, strict=True)
        ]
        return Pair(best[0], best[1], _shares(before, _answered(_url(ours[1]))))


def _url(one: Contender) -> str:
    return f"http://127.0.0.1:{one.port}{one.prefix}"


def _bridging(folder: Path) -> Pair:
    best: list[Cost] = []
    shares: list[float] = []
    for count in (1, 2):
        place = folder / f"gateway{count}"
        place.mkdir()
        (place / "rightcall.toml").write_text(POLICY % json.dumps(SERVER))
        with gateway(place, None, "--workers", str(count), "--no-console") as (pid, url):
            base = url.removesuffix("/mcp")

            def cpu(pid: int = pid) -> float:
                return sum(cpu_of(one) for one in (pid, *_ours(pid)))

            asyncio.run(over_http(cpu, url, "files_read_file", CLIENTS, CALLS // 2))
            before = _answered(base) if count == 2 else {}
            found = [asyncio.run(over_http(cpu, url, "files_read_file", CLIENTS, CALLS)) for _ in range(ROUNDS)]
            best.append(Cost(*min(found, key=lambda one: one.cpu)))
            shares = _shares(before, _answered(base)) if count == 2 else []
    return Pair(best[0], best[1], shares)


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

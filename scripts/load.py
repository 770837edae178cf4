"""Steady load on a cluster of three nodes: do memory, descriptors and connections stay flat?

    python scripts/load.py [--minutes 10] [--rate 30]

Clients ask through the balancer: questions to the practice model, whose calls are repaired, and calls of MCP tools
through the gateway, each in a session. A line a minute; ends with 1 when something grows, or an answer was wrong. What
grows in the first third, while caches fill, does not count.
"""

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median_low
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.cluster import Cluster, McpClient

CLIENTS = 4
MORE_MEMORY, MORE_FILES = 0.03, 4
"""How much a node may have more in the last third than in the middle one: a share, and descriptors."""
PAGE = os.sysconf("SC_PAGE_SIZE")


class Sample(NamedTuple):
    memory: list[float]
    """Megabytes of each node."""
    files: list[int]
    threads: list[int]
    connections: list[int]
    """Of all nodes together."""


def sample(cluster: Cluster) -> Sample:
    folders = [Path(f"/proc/{node.pid}") for node in cluster.nodes]
    return Sample(
        [int((one / "statm").read_text().split()[1]) * PAGE / 1e6 for one in folders],
        [len(os.listdir(one / "fd")) for one in folders],
        [len(os.listdir(one / "task")) for one in folders],
        [cluster.connections()],
    )


class Load:
    def __init__(self, cluster: Cluster, rate: float) -> None:
        self._cluster = cluster
        self._pause = 2 * CLIENTS / rate
        self.answers: Counter[str] = Counter()
        self.over = threading.Event()
        works = [self._complete, self._call] * CLIENTS
        self.threads = [threading.Thread(target=self._ask, args=(work,), daemon=True) for work in works]
        for thread in self.threads:
            thread.start()

    def _ask(self, work: Callable[[], None]) -> None:
        while not self.over.is_set():
            began = time.monotonic()
            try:
                work()
            except Exception as error:  # noqa: BLE001 - it is counted, whatever it is
                self.answers[f"{type(error).__name__}: {str(error)[:60]}"] += 1
            self.over.wait(max(0.0, self._pause - (time.monotonic() - began)))

    def _complete(self) -> None:
        answer = self._cluster.complete()
        good = answer.status == 200 and b'"days\\":3' in answer.body.replace(b" ", b"").replace(b'\\\\"', b'\\"')
        self.answers["model ok" if good else f"model {answer.status}"] += 1

    def _call(self) -> None:
        """A session of ten calls: sessions end, and new ones begin."""
        client = McpClient(self._cluster)
        for number in range(10):
            answer = client.call("notes_echo", text=f"{number} {time.monotonic()}")
            good = answer.status == 200 and b'"isError":true' not in answer.body and b"result" in answer.body
            self.answers["tool ok" if good else f"tool {answer.status} {answer.body[:80]!r}"] += 1
            self.over.wait(self._pause)
        client.leave()

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(60)


def judge(samples: list[Sample]) -> list[str]:
    """What grew between the middle third and the last one, each judged by the sample in its middle: memory that is
    taken in steps, now and then, is no growth."""
    third = max(1, len(samples) // 3)
    early, last = _usual(samples[third:-third] or samples), _usual(samples[-third:])
    grown: list[str] = []
    for number, (before, after) in enumerate(zip(early.memory, last.memory, strict=True), 1):
        if after > before * (1 + MORE_MEMORY):
            grown.append(f"memory of node {number}: {before:.0f} to {after:.0f} MB")
    for what, field in (("descriptors", "files"), ("threads", "threads"), ("connections", "connections")):
        for number, (before, after) in enumerate(zip(getattr(early, field), getattr(last, field), strict=True), 1):
            if after > before + MORE_FILES:
                grown.append(f"{what} of node {number}: {before} to {after}")
    return grown


def _usual(samples: list[Sample]) -> Sample:
    return Sample(*([median_low(node) for node in zip(*kind, strict=True)] for kind in zip(*samples, strict=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=30.0, help="requests a second (30)")
    options = parser.parse_args()
    every = min(60.0, options.minutes * 10)
    with Cluster.started() as cluster:
        load = Load(cluster, options.rate)
        began, samples = time.monotonic(), [sample(cluster)]
        print("minute  answers  MB of each node      descriptors      threads          connections", flush=True)
        while time.monotonic() - began < options.minutes * 60:
            time.sleep(every)
            samples.append(now := sample(cluster))
            memory = " ".join(f"{one:.0f}" for one in now.memory)
            rest = "".join(f"{' '.join(map(str, one)):17}" for one in (now.files, now.threads, now.connections))
            minute = (time.monotonic() - began) / 60
            print(f"{minute:6.1f} {load.answers.total():8,}  {memory:20} {rest}", flush=True)
        load.stop()
    wrong = {what: count for what, count in load.answers.items() if not what.endswith(" ok")}
    grown = judge(samples)
    print(f"answers: {dict(load.answers)}")
    print("flat" if not grown else f"NOT flat: {'; '.join(grown)}")
    return 1 if grown or wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Makes a long history through the real executor and the real integrations on one SQLite store, then decides it again
under the same policy: every difference is an error.

    .venv/bin/python scripts/replay_history.py --calls 60000                  # a clock moved by hand, two stores' worth
    .venv/bin/python scripts/replay_history.py --calls 40000 --processes 2    # real processes, the system's clock
    .venv/bin/python scripts/replay_history.py --calls 620000 --in-memory    # a million records, made in memory
    .venv/bin/python scripts/replay_history.py --store audit.db               # only decide again
    .venv/bin/python scripts/replay_history.py --store audit.db --policy new.toml     # under another policy
"""

import argparse
import logging
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from rightcall.learn.differences import Change, Unknown
from rightcall.learn.history import CALL_KINDS, Definitions, stream_entries
from rightcall.learn.replay import Replay
from rightcall.learn.rulings import Rulings, ruling_of
from rightcall.learn.sites import Sites
from rightcall.policy.watch import load_policy
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, SystemClock, Tables, read_call
from support.histories import POLICY, START, live, world


def hurried_policy() -> dict[str, Any]:
    """Limits for calls that come as fast as a machine makes them."""
    policy = deepcopy(POLICY)
    policy["policy"]["limits"] = {
        "all": {"minute": 9000}, "caller": {"minute": 2500, "hour": 60_000, "burst": 60},
        "tools": {"look": {"minute": 400}}, "calls_per_day": 1_000_000,
    }  # fmt: skip
    policy["policy"]["approval"] = {"expires": 30, "waiting": 30}
    return policy


def make(path: Path, root: Path, calls: int, seed: int, hurried: bool) -> None:
    logging.disable(logging.CRITICAL)
    clock: Any = SystemClock() if hurried else ManualClock(START)
    stores = [SqliteStore(str(path), clock) for _ in range(1 if hurried else 2)]
    with world(list(stores), root, hurried_policy() if hurried else POLICY) as made:
        live(random.Random(seed), clock, list(stores), made, calls)
    for store in stores:
        store.close()


class CopyClock(ManualClock):
    """Says the time of the record that is copied."""

    at = "2026-01-01 00:00:00.000"

    def wall(self) -> str:
        return self.at


def make_in_memory(path: Path, root: Path, calls: int, seed: int) -> None:
    """The same history, without a wait for the disk at each call: then every record is copied as it is."""
    logging.disable(logging.CRITICAL)
    clock = ManualClock(START)
    memory = MemoryStore(clock, records=10_000_000)
    with world([memory, memory], root, POLICY) as made:
        live(random.Random(seed), clock, [memory, memory], made, calls)
    copying = CopyClock(START)
    entries = stream_entries(memory)
    with closing(SqliteStore(str(path), copying)) as store:

        def some(tables: Tables) -> int:
            last = 0
            for entry in islice(entries, 5000):
                copying.at = entry.at
                last = tables.append(entry.kind, entry.call, entry.body)
            return last

        while store.transact(some):
            """The next ones."""
        if store.look(lambda tables: tables.head()) != memory.look(lambda tables: tables.head()):
            raise RuntimeError("the copy is not the history that was made")


def replay(path: Path, root: Path, policy: Path | None = None) -> int:
    store = SqliteStore(str(path), SystemClock())
    rules: Counter[str] = Counter()
    for entry in stream_entries(store):
        if entry.kind in CALL_KINDS:
            rules[read_call(entry.body).rule] += 1
    ruling = None if policy is None else ruling_of(load_policy(policy))
    again = Replay(ruling, Rulings(), Sites(Definitions.of(store), store, str(root)))
    found: Counter[str] = Counter()
    wrong: list[Change] = []
    began = time.process_time()
    for one in again.over(stream_entries(store)):
        found[f"not replayable: {one.why}" if isinstance(one, Unknown) else type(one).__name__] += 1
        if isinstance(one, Change):
            wrong.append(one)
    took, calls = time.process_time() - began, sum(found.values())
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = took / max(1, calls) * 1e6
    print(f"{calls:,} calls decided again in {took:.1f} s of CPU ({each:.0f} µs each), {most:.0f} MB")
    print(dict(found))
    print(dict(rules.most_common()))
    store.close()
    if policy is not None:
        return 0
    for one in wrong[:10]:
        print("DIFFERENT", one)
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--store", type=Path, help="decide this history again; with --calls, make it there")
    parser.add_argument("--policy", type=Path)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="rightcall-history-"))
    path = options.store or root / "audit.db"
    if options.store is None or options.calls:
        began, calls = time.monotonic(), options.calls or 10_000
        if options.in_memory:
            make_in_memory(path, root, calls, options.seed)
        elif options.processes:
            share = calls // options.processes
            workers = [
                multiprocessing.Process(target=make, args=(path, root, share, options.seed + number, True))
                for number in range(options.processes)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        else:
            make(path, root, calls, options.seed, False)
        print(f"made {path} in {time.monotonic() - began:.0f} s")
    return 1 if replay(path, root, options.policy) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Many at once against one limit: how many are let through?

python tests/executor/crowding.py threads|processes [--attempts 10000] [--workers 8] [--limit 100]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter

from rightcall import Executor

NOTHING = {"minute": 0, "hour": 0, "burst": 0}


def policy(limit: int) -> dict[str, object]:
    limits = {"all": NOTHING, "caller": {"minute": limit, "hour": 0, "burst": 0}}
    return {"policy": {"limits": limits, "repeats": 0}}


def work(folder: str, attempts: int, limit: int, threads: int) -> Counter[str]:
    """What came of so many attempts by one caller."""
    counts: Counter[str] = Counter()
    lock = threading.Lock()
    with Executor.open_sync(folder, policy(limit)) as executor:

        @executor.tool(effects=["read"])
        async def nothing() -> str:
            return ""

        def some(number: int) -> None:
            found = Counter(executor.run({"name": "nothing"}, "crowd").status for _ in range(number))
            with lock:
                counts.update(found)

        crowd = [threading.Thread(target=some, args=(attempts // threads,)) for _ in range(threads)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
    return counts


def processes(folder: str, attempts: int, limit: int, workers: int) -> Counter[str]:
    each = [sys.executable, __file__, "work", "--folder", folder, "--attempts", str(attempts // workers)]
    crowd = [
        subprocess.Popen([*each, "--limit", str(limit), "--workers", "5"], stdout=subprocess.PIPE, text=True)
        for _ in range(workers)
    ]
    total: Counter[str] = Counter()
    for one in crowd:
        total.update(json.loads(one.communicate()[0]))
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["threads", "processes", "work"])
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        folder, how = options.folder or fresh, processes if options.kind == "processes" else work
        counts = how(folder, options.attempts, options.limit, options.workers)
    sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()

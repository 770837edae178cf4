"""Many at once against one limit: how many are let through? Ends with 1 unless that is exactly the limit, and every
attempt was answered.

PYTHONPATH=tests python -m support.crowding threads|processes [--attempts 10000] [--workers 8] [--limit 100]
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


def shares(attempts: int, workers: int) -> list[int]:
    return [attempts // workers + (number < attempts % workers) for number in range(workers)]


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

        crowd = [threading.Thread(target=some, args=(number,)) for number in shares(attempts, threads)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
    return counts


def processes(folder: str, attempts: int, limit: int, workers: int) -> Counter[str]:
    each = [sys.executable, __file__, "work", "--folder", folder, "--limit", str(limit), "--workers", "5"]
    crowd = [
        subprocess.Popen([*each, "--attempts", str(number)], stdout=subprocess.PIPE, text=True)
        for number in shares(attempts, workers)
    ]
    total: Counter[str] = Counter()
    for one in crowd:
        total.update(json.loads(one.communicate()[0]))
    return total


def kept(counts: Counter[str], attempts: int, limit: int) -> bool:
    """Whether the limit held, and nobody was left without an answer."""
    return counts == Counter(success=min(limit, attempts), refused=max(0, attempts - limit))


def main() -> int:
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
    if options.kind == "work" or kept(counts, options.attempts, options.limit):
        return 0
    sys.stderr.write(f"of {options.attempts} attempts exactly {options.limit} should have succeeded\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""Random policies and requests, judged by the package and by the obvious evaluator of the tests: do they agree?

    python scripts/policies.py [--cases 1000000] [--seed 1]

Prints the number of cases, of disagreements, and how often each rule decided; ends with 1 when there was any.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.naive_policy import disagreement, rounds, verdict

REQUESTS = 10
PART = 10_000


def part(seed: int, cases: int) -> tuple[Counter[str], list[str]]:
    rules: Counter[str] = Counter()
    wrong: list[str] = []
    for case in rounds(random.Random(seed), policies=max(1, cases // REQUESTS), requests=REQUESTS):
        rules[" ".join(verdict(case.policy, case.request, case.world))] += 1
        if (found := disagreement(case)) is not None:
            wrong.append(found)
    return rules, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    parts = max(1, options.cases // PART)
    began = time.monotonic()
    rules: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        seeds = range(options.seed * 1_000_000, options.seed * 1_000_000 + parts)
        for number, (counted, found) in enumerate(pool.map(part, seeds, [min(PART, options.cases)] * parts), 1):
            rules += counted
            wrong += found
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number * PART:,} cases, {len(wrong)} disagreements ")
    for rule, count in rules.most_common():
        print(f"{count:>10,}  {rule}")
    print(f"{rules.total():,} cases in {time.monotonic() - began:.0f} s, {len(wrong)} disagreements")
    print(*wrong[:3], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

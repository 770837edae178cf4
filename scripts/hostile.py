"""Every kind of hostile input at full size: what the gate and the readers answered, and how long it took.

    python scripts/hostile.py [--all] [--only WORD] [--size BYTES …]

Sizes are 900 kB, just below the limit for one argument text, where the reader has the most to do, and 20 MB.
Prints the slowest and every miss (all with --all); exits with 1 when anything is missed.
"""

import argparse
import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.hostile.emissions import EMISSIONS
from support.hostile.kinds import (
    NOTE,
    Judged,
    Kind,
    allowed_seconds,
    judge_check,
    judge_loads,
    judge_read,
    judge_stream,
)
from support.hostile.objects import OBJECTS
from support.hostile.schemas import SCHEMAS
from support.hostile.texts import TEXTS

SIZES = (900_000, 20_000_000)


PATIENCE = 10
"""How many times its limit a kind may take before it is stopped."""


class Endless(BaseException):
    """Not an `Exception`, so that nothing in between takes it for a fault it can report."""


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise Endless("did not end")


class Row(NamedTuple):
    kind: str
    door: str
    size: int
    judged: Judged


def limited(judge: Callable[[int], Judged], size: int) -> Judged:
    signal.setitimer(signal.ITIMER_PROF, PATIENCE * allowed_seconds(size))
    try:
        return judge(size)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def runs(kind: Kind, sizes: list[int]) -> Iterator[Row]:
    doors: dict[str, Callable[[int], Judged]] = {"check": partial(judge_check, kind)}
    if kind in EMISSIONS:
        doors = {"read": partial(judge_read, kind), "free": partial(judge_read, kind, known=False)}
        doors["feed"] = partial(judge_stream, kind)
    elif kind in TEXTS:
        doors["loads"] = partial(judge_loads, kind)
        doors["led"] = partial(judge_loads, kind, schema=NOTE["parameters"])
    for size in sizes if kind.grows else sizes[:1]:
        yield from (Row(kind.name, door, size, limited(judge, size)) for door, judge in doors.items())


def line(row: Row) -> str:
    judged = row.judged
    note = "; ".join(judged.complaints) or "ok"
    time_taken = f"{row.size / 1e6:5.1f} MB {judged.seconds:7.3f} s of {judged.allowed:4.1f}"
    return f"{row.kind[:52]:52} {row.door:5} {time_taken}  {judged.answer:12} {note}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Hostile input at full size.")
    parser.add_argument("--all", action="store_true", help="print every kind, not only the slowest")
    parser.add_argument("--only", default="", metavar="WORD", help="only kinds whose name holds this word")
    parser.add_argument("--size", type=int, nargs="+", default=list(SIZES), metavar="BYTES")
    options = parser.parse_args()
    logging.disable()  # every refusal is a log line
    signal.signal(signal.SIGPROF, stop)
    kinds = [kind for kind in (*TEXTS, *OBJECTS, *SCHEMAS, *EMISSIONS) if options.only in kind.name]
    start = time.process_time()
    rows: list[Row] = []
    for kind in kinds:
        for row in runs(kind, options.size):
            rows.append(row)
            if options.all or row.judged.complaints:
                print(line(row), flush=True)
    missed = [row for row in rows if row.judged.complaints]
    if not options.all:
        print("\nThe ten that came closest to their limit:")
        closest = sorted(rows, key=lambda row: row.judged.seconds / (row.judged.allowed or 1), reverse=True)
        print("\n".join(map(line, closest[:10])))
    print(f"\n{len(kinds)} kinds, {len(rows)} runs, {len(missed)} missed, {time.process_time() - start:.0f} s of CPU")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

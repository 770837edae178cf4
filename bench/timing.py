"""CPU time of small things: best of many, the contenders taking turns so that a busy moment hits all alike."""

import gc
import os
import time
from collections.abc import Callable, Mapping

LEAST = 0.01
"""Seconds one measurement should take at least, so that the clock does not show."""

SHORT = 1.0
"""Seconds; what takes longer is run no more often than it has to be."""


def one_core() -> None:
    """Ratios of one core; where the system cannot pin, it does not matter much."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def all_cores() -> None:
    """What has threads and processes is measured on all that there are."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def once(action: Callable[[], object], times: int) -> float:
    rounds = range(times)
    start = time.process_time()
    for _ in rounds:
        action()
    return (time.process_time() - start) / times


def times_for(action: Callable[[], object]) -> int:
    if once(action, 1) < SHORT:
        action()  # the first time things are loaded and compiled
    times = 1
    while (taken := once(action, times) * times) < LEAST:
        times = max(times * 2, int(times * LEAST / max(taken, 1e-7)))
    return times


def best(contenders: Mapping[str, Callable[[], object]], repeats: int = 15) -> dict[str, float]:
    """Seconds of CPU per call, for each by its name."""
    counts = {name: times_for(action) for name, action in contenders.items()}
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, action in contenders.items():
                taken[name].append(once(action, counts[name]))
    finally:
        gc.enable()
    return {name: min(values) for name, values in taken.items()}

"""What a program in the sandbox costs: from the call to its first byte of output, beside the bare interpreter; how many
run in a second; how much memory the fork server holds."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Literal

from bench.table import Figure
from bench.timing import all_cores
from rightcall.errors import ToolFailure
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox.conversation import PLACE, Language, NoSandbox, Scratch, Tier, job_for, node_program
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.sandbox.scratch import put

TIMES = 30
AT_ONCE = 8
SECONDS = 3.0
PROGRAMS: dict[Language, tuple[str, bytes]] = {
    "python": ("main.py", b"print(6 * 7)"),
    "javascript": ("main.js", b"console.log(6 * 7)"),
}
TARGETS: dict[Language, float] = {"python": 30.0, "javascript": 80.0}
"""Milliseconds."""
SETTINGS = SandboxSettings()


def first_output(sandbox: Sandbox, language: Language) -> float:
    """Milliseconds from the call to the first output; raises when it is not what the program prints."""
    name, code = PROGRAMS[language]
    came: list[float] = []
    parts: list[bytes] = []

    def out(_stream: Literal["stdout", "stderr"], part: bytes) -> None:
        came.append(time.perf_counter())
        parts.append(part)

    def fill(scratch: Scratch) -> None:
        put(scratch, name, code)

    job = job_for(language, SETTINGS, PLACE, f"{PLACE}/{name}")
    began = time.perf_counter()
    ended = sandbox.run(job, fill=fill, out=out)
    if b"".join(parts) != b"42\n" or ended.code != 0:
        raise RuntimeError(f"{language}: exit {ended.code}, {b''.join(parts)!r}")
    return (came[0] - began) * 1e3


def bare(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


def medians(contenders: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Taking turns, so that a busy moment hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(TIMES):
        for name, measure in contenders.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}


def starts(sandbox: Sandbox, tier: Tier) -> Iterator[Figure]:
    peers: dict[Language, tuple[str, list[str]]] = {"python": ("python -c pass", [sys.executable, "-c", "pass"])}
    try:
        peers["javascript"] = ("node -e 0", [node_program(SETTINGS), "-e", "0"])
    except ToolFailure:
        print("no node here: JavaScript is not measured")
    for language, (words, command) in peers.items():
        first_output(sandbox, language)
        taken = medians(
            {
                "ours": lambda language=language: first_output(sandbox, language),
                "bare": lambda command=command: bare(command),
            }
        )
        target = TARGETS[language]
        yield Figure(
            f"sandbox, {tier}: {language} to its first output", f"{taken['ours']:.1f} ms",
            f"{taken['bare']:.1f} ms {words}", f"{taken['ours'] / taken['bare']:.2f} x", f"<= {target:.0f} ms",
            taken["ours"] <= target,
        )  # fmt: skip


def rates(sandbox: Sandbox, tier: Tier) -> Iterator[Figure]:
    until = time.perf_counter() + SECONDS

    def work(_number: int) -> int:
        runs = 0
        while time.perf_counter() < until:
            first_output(sandbox, "python")
            runs += 1
        return runs

    with ThreadPoolExecutor(AT_ONCE) as pool:
        total = sum(pool.map(work, range(AT_ONCE)))
    yield Figure(
        f"sandbox, {tier}: Python runs a second, {AT_ONCE} at once", f"{total / SECONDS:.0f}", "", "", "", None
    )


def server_memory(tier: Tier) -> Iterator[Figure]:
    """Of the processes that stay between runs, what is theirs alone and their share of the rest."""
    total = 0
    for pid in _children():
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    yield Figure(f"sandbox, {tier}: memory of the fork server", f"{total / 1024:.1f} MB", "", "", "", None)


def _children() -> list[int]:
    return [int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]


def sandboxing() -> Iterator[Figure]:
    all_cores()
    for tier in ("namespaces", "landlock"):
        with closing(Sandbox(only=tier)) as sandbox:
            try:
                sandbox.tier()
            except NoSandbox as fault:
                print(f"{tier}: {fault.why}")
                continue
            yield from starts(sandbox, tier)
            yield from rates(sandbox, tier)
            yield from server_memory(tier)


if __name__ == "__main__":
    from bench.table import render

    print(f"as {'root' if os.getuid() == 0 else 'an ordinary user'}, {os.cpu_count()} cores")
    print(render(sandboxing()))

"""Every snippet that attacks the sandbox, and every harmless one, by the command that users have.

    python scripts/sandbox_attacks.py [--tier namespaces|landlock] [--only WORD] [--who root|ordinary]

`rightcall sandbox run` is called for each, as root and as an ordinary user (by root; else as whoever calls it), with
namespaces and where they are refused, as in many containers. Prints what was wrong and a table, and ends with 1 when
one was not stopped, a harmless one failed, or something was left behind. Takes some minutes.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "src")]

from bench.table import columns
from support.sandbox.attacks import ORDINARY, descendants, ordinary_python
from support.sandbox.judging import LATE, Result, Snippet, faults, settings_for, snippets, works_in
from support.sandbox.outside import Outside, inheritable
from support.sandbox.without import NAMESPACES

PR_SET_CHILD_SUBREAPER = 36
TIERS = ("namespaces", "landlock")
MEMORY = 1500
"""Megabytes that the whole machine may lose while one of them runs; others work on it too."""
START = 2.0
"""Seconds that the command itself may need on a busy machine, beside the program."""
LIMITS = {
    "memory": "MB of memory",
    "processes": "processes (--",
    "scratch": "files reached",
    "output": "printed more than",
}
OURS = re.compile(rb"rightcall: .*\n")
AGAIN = "python/harmless_json_csv_statistics.py"


class Verdict(NamedTuple):
    who: str
    tier: str
    snippet: Snippet
    faults: list[str]


def command(snippet: Snippet, tier: str, folder: str, file: str, told: dict[str, object]) -> list[str]:
    settings = settings_for(snippet)
    without = [sys.executable, str(ROOT / "tests/support/sandbox/without.py"), ",".join(NAMESPACES)]
    return [
        *(without if tier == "landlock" else ()),
        sys.executable, "-m", "rightcall", "sandbox", "run", "--root", os.path.dirname(file), "--scratch", folder,
        "--timeout", str(settings.seconds), "--memory", str(settings.memory), "--processes", str(settings.processes),
        "--disk", str(settings.scratch), "--output", str(settings.output), "--tier", tier, file, "--", json.dumps(told),
    ]  # fmt: skip


def run(snippet: Snippet, tier: str, outside: Outside) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="attack-") as above:
        folder, file = os.path.join(above, "scratch"), os.path.join(above, snippet.file)
        os.chmod(above, 0o711)  # without namespaces the program's user has to come this way
        os.mkdir(folder)
        Path(file).write_text(snippet.source)
        owner = os.stat(folder).st_uid
        with memory_lost() as lost:
            began = time.monotonic()
            done = subprocess.run(
                command(snippet, tier, folder, file, outside.told()), capture_output=True, check=False,
                stdin=subprocess.DEVNULL, pass_fds=outside.fds, env=environment(), cwd="/",
            )  # fmt: skip
            took = time.monotonic() - began
        result = result_of(done, took, files_in(folder), snippet)
        found = faults(snippet, result, settings_for(snippet), outside, LATE)
        found += [f"{name} belongs to somebody else" for name in foreign(above, owner)]
        found += [f"{name} may change its user" for name in setuid(folder) if tier == "namespaces"]
    if done.returncode == 125:
        found.append("there was no sandbox")
    if lost and max(lost) > MEMORY:
        found.append(f"the machine lost {max(lost):.0f} MB")
    found += left_running({outside.process.pid})
    return found + [f"rightcall said {b''.join(OURS.findall(done.stderr))[-300:]!r}"] * bool(found)


def result_of(
    done: subprocess.CompletedProcess[bytes], took: float, files: dict[str, bytes], snippet: Snippet
) -> Result:
    ours = b"".join(OURS.findall(done.stderr)).decode(errors="replace")
    theirs = OURS.sub(b"", done.stderr)
    limits = [name for name, words in LIMITS.items() if words in ours] + ["seconds"] * (done.returncode == 124)
    by_signal = done.returncode > 128 and not limits
    allowance = min(START, took) if snippet.kind == "resource" else 0.0
    return Result(
        done.stdout, theirs, None if by_signal else done.returncode, done.returncode - 128 if by_signal else None,
        tuple(limits), took - allowance, files,
    )  # fmt: skip


def environment() -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "CANARY": os.environ["CANARY"],
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def files_in(folder: str) -> dict[str, bytes]:
    """Links as what they point to: the secret must not be reached by reading what was brought back."""
    found: dict[str, bytes] = {}
    for path in Path(folder).rglob("*"):
        with suppress(OSError):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    found[str(path.relative_to(folder))] = file.read(1 << 20)
    return found


def foreign(folder: str, owner: int) -> Iterator[str]:
    for path in Path(folder).rglob("*"):
        with suppress(OSError):
            if path.lstat().st_uid != owner:
                yield path.name[:60]


def setuid(folder: str) -> Iterator[str]:
    for path in Path(folder).rglob("*"):
        with suppress(OSError):
            if path.lstat().st_mode & 0o6000 and not path.is_symlink() and path.is_file():
                yield path.name


def left_running(known: set[int]) -> list[str]:
    """Whoever has lost its parent is our child now."""
    until = time.monotonic() + 1.0
    while (left := descendants() - known) and time.monotonic() < until:
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
    return [f"process {pid} was left" for pid in left]


@contextmanager
def memory_lost() -> Iterator[list[float]]:
    """Megabytes that were available before and are not now, looked at all the time."""
    lost: list[float] = []
    over = threading.Event()
    before = available()

    def look() -> None:
        while not over.wait(0.02):
            lost.append(before - available())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield lost
    finally:
        over.set()
        watcher.join()


def available() -> float:
    found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    return int(found[1]) / 1024 if found else 0.0


def all_of(who: str, tier: str, wanted: list[Snippet]) -> Iterator[Verdict]:
    [again] = [snippet for snippet in snippets() if snippet.name == AGAIN]
    with Outside() as outside, inheritable(outside):
        for snippet in wanted:
            if not works_in(snippet, tier):
                continue
            found = run(snippet, tier, outside)
            if snippet.kind == "resource":
                found += [f"after it: {fault}" for fault in run(again, tier, outside)]
            print(f"{'ok ' if not found else 'NOT'} {who:8} {tier:10} {snippet.name}", flush=True)
            for fault in found:
                print(f"      {fault}")
            yield Verdict(who, tier, snippet, found)


def as_ordinary(arguments: list[str]) -> int:
    """The whole of it in a process of that user, to whom then everything outside belongs."""
    program = ordinary_python()
    if program is None:
        print("as an ordinary user: no interpreter here that one could start")
        return 1
    paths = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [program, __file__, *arguments], user=ORDINARY, group=ORDINARY, extra_groups=[], cwd="/", check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
    ).returncode  # fmt: skip


def table(verdicts: list[Verdict]) -> str:
    rows: list[tuple[str, ...]] = [("user", "tier", "language", "escapes", "too much", "harmless")]
    for who, tier, language in dict.fromkeys((one.who, one.tier, one.snippet.language) for one in verdicts):
        cells = [who, tier, language]
        for kind in ("escape", "resource", "harmless"):
            group = [one for one in verdicts if (one.who, one.tier) == (who, tier)]
            group = [one for one in group if (one.snippet.language, one.snippet.kind) == (language, kind)]
            cells.append(f"{sum(not one.faults for one in group)} of {len(group)}")
        rows.append(tuple(cells))
    return columns(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tier", choices=TIERS)
    parser.add_argument("--only", default="", help="snippets whose name has this in it")
    parser.add_argument("--who", choices=("root", "ordinary"), help="root alone can be both")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wanted = [snippet for snippet in snippets() if options.only in snippet.name]
    root = os.getuid() == 0
    status = 0
    if not root or options.who != "ordinary":
        tiers = [tier for tier in TIERS if options.tier in (None, tier)]
        verdicts = [verdict for tier in tiers for verdict in all_of("root" if root else "ordinary", tier, wanted)]
        print(table(verdicts))
        status = int(any(verdict.faults for verdict in verdicts))
    if root and options.who != "root":
        status = as_ordinary([*(["--tier", options.tier] if options.tier else []), "--only", options.only]) or status
    return status


if __name__ == "__main__":
    sys.exit(main())

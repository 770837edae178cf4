"""Runs snippets through `Sandbox.run`, in this process, or as an ordinary user in a process of its own.

    python -m support.sandbox.attacks TIER KIND,… LANGUAGE [FILE …]

prints what was wrong, as one JSON object by the snippets' names.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, Literal

from rightcall.tools.sandbox.conversation import PLACE, Ended, Language, Scratch, Tier, code_for, job_for
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.sandbox.scratch import listing, read
from support.sandbox.judging import Result, Snippet, faults, settings_for, snippets, works_in
from support.sandbox.outside import Outside, inheritable

ORDINARY = 65534
AT_ONCE = 3
MOST = 1 << 20


def run_snippet(sandbox: Sandbox, snippet: Snippet, told: dict[str, Any]) -> Result:
    parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    files: dict[str, bytes] = {}

    def out(stream: Literal["stdout", "stderr"], part: bytes) -> None:
        parts[stream].append(part)

    def collect(scratch: Scratch, _ended: Ended) -> None:
        found = listing(scratch.fd, owner=scratch.uid)
        files.update({entry.path: read(scratch.fd, entry.path, MOST) or b"" for entry in found.files})

    settings = settings_for(snippet)
    language: Language = "python" if snippet.language == "python" else "javascript"
    code = code_for(snippet.file, snippet.source.encode())
    job = job_for(language, settings, PLACE, code, (json.dumps(told),))
    began = time.monotonic()
    ended = sandbox.run(job, collect=collect, out=out)
    took = time.monotonic() - began
    return Result(
        b"".join(parts["stdout"]), b"".join(parts["stderr"]), ended.code, ended.signal, ended.limits, took, files
    )  # fmt: skip


def chosen(kinds: Iterable[str], language: str) -> list[Snippet]:
    return [snippet for snippet in snippets() if snippet.kind in kinds and snippet.language == language]


def run_all(tier: Tier, wanted: list[Snippet], at_once: int = AT_ONCE) -> dict[str, list[str]]:
    """What was wrong, by name. Each of the threads has an outside of its own, so that one is not blamed for another."""
    found: dict[str, list[str]] = {}
    with everything(at_once) as outsides, closing(Sandbox(_interpreter(), only=tier)) as sandbox:
        others = descendants()
        if sandbox.tier() != tier:
            return {"tier": [f"{sandbox.tier()} instead of {tier}"]}
        server = next(iter(children(os.getpid()) - others), None)
        waiting = iter(wanted)

        def work(outside: Outside) -> None:
            for snippet in waiting:
                if not works_in(snippet, tier):
                    continue
                result = run_snippet(sandbox, snippet, outside.told(server))
                found[snippet.name] = faults(snippet, result, settings_for(snippet), outside)

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(work, outsides))
        leftover = _after_a_moment(lambda: descendants() - {server} - others - _canaries(outsides))
        if leftover:
            found["processes left"] = [_told_of(pid) for pid in leftover]
    return found


def _canaries(outsides: list[Outside]) -> set[int]:
    """Those that run now: one that was killed has been replaced."""
    return {outside.process.pid for outside in outsides}


@contextmanager
def everything(count: int) -> Iterator[list[Outside]]:
    outsides = [Outside() for _ in range(count)]
    try:
        with inheritable(outsides[0]):
            yield outsides
    finally:
        for outside in outsides:
            outside.__exit__(None, None, None)


def children(pid: int) -> set[int]:
    return {one for one, parent in _parents().items() if parent == pid}


def descendants() -> set[int]:
    """Everybody below this process, zombies too."""
    parents = _parents()
    found, fresh = set[int](), {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return parents


def _told_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/status") as file:
            return " ".join(line.strip() for line in file if line.startswith(("Name", "State", "PPid", "Uid")))
    except OSError:
        return f"{pid}, gone by now"


def _after_a_moment(left: Any) -> set[int]:
    """What is being ended needs a moment to be gone."""
    until = time.monotonic() + 30
    while left() and time.monotonic() < until:
        time.sleep(0.01)
    return left()


@cache
def ordinary_python() -> str | None:
    """An interpreter that an ordinary user can start, as root's own may lie where nobody else can look."""
    for program in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}", "/usr/bin/python3"):
        try:
            done = _as_ordinary(program, "-c", "import msgspec, rightcall, support.sandbox.judging")
        except OSError:
            continue
        if done.returncode == 0:
            return program
    return None


def run_bare(snippet: Snippet) -> list[str]:
    """Without any sandbox: only for snippets that hurt nothing but what is laid out for them."""
    with Outside() as outside, inheritable(outside), TemporaryDirectory() as place, TemporaryDirectory() as folder:
        path = os.path.join(folder, snippet.file)
        with open(path, "w") as file:
            file.write(snippet.source)
        done = subprocess.run(
            [sys.executable, path, json.dumps(outside.told())], cwd=place, capture_output=True, check=False,
            stdin=subprocess.DEVNULL, pass_fds=outside.fds,
        )  # fmt: skip
        return faults(
            snippet, Result(done.stdout, done.stderr, done.returncode, None, (), 0, {}), settings_for(snippet), outside
        )


def run_all_as_ordinary(tier: Tier, kinds: str, language: str, *only: str) -> dict[str, list[str]]:
    program = ordinary_python()
    assert program is not None
    done = _as_ordinary(program, "-m", "support.sandbox.attacks", tier, kinds, language, *only)
    return (
        json.loads(done.stdout) if done.returncode == 0 else {"the runner": [done.stderr[-2000:], done.stdout[-500:]]}
    )


def _as_ordinary(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [program, *arguments], env=environment, cwd="/", capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
        **({"user": ORDINARY, "group": ORDINARY, "extra_groups": []} if os.getuid() == 0 else {}),
    )  # fmt: skip


def _interpreter() -> str:
    return "" if os.getuid() == 0 or os.access(sys.executable, os.X_OK) else "/usr/bin/python3"


if __name__ == "__main__":
    tier, kinds, language = sys.argv[1:4]
    only = sys.argv[4:]
    wanted = [s for s in chosen(kinds.split(","), language) if not only or s.file in only]
    print(json.dumps(run_all("namespaces" if tier == "namespaces" else "landlock", wanted)))  # noqa: T201

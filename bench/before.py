"""What a change cost: this tree beside an older commit of it, on the same programs, in turns.

    python -m bench.before --base COMMIT [--pairs N] [PART …]

Every turn is a fresh process with `PYTHONPATH` at one tree's `src`; a pair is one turn of each, with one hash seed. The
ratio is new to old, in CPU time: the median of the pairs, the least of all turns, and the middle half of the pairs.
Modules move between commits, so what is measured goes by public names and the command line.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from bench.emissions import hermes
from bench.inputs import RIGHT, SEARCH
from bench.mcp import OURS, POLICY, SERVER, gateway, over_http, over_stdio
from bench.proxy_contenders import cpu_of
from bench.table import columns, micro
from bench.timing import best, one_core

HERE = Path(__file__).parent.parent
LIMIT = 1.05
PAIRS = 10
REPEATS = 5
"""Least of so many, within one turn."""
UNLIMITED = {"minute": 0, "hour": 0, "burst": 0}
LOOSE: dict[str, Any] = {"policy": {"limits": {"all": {"minute": 0, "hour": 0}, "caller": UNLIMITED}}}
BROKEN = str({**RIGHT, "passengers": "2", "flexible": "yes"})
COUNT = {
    "name": "count",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}, "unique": {"type": "boolean"}}},
}
READ_FILE = {
    "name": "read_file",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}},
}
EVENTS = {"Read": ("Read", {"file_path": "src/part_1.py"}), "Bash": ("Bash", {"command": "git status && ls src"})}
FILES = 300

Row = dict[str, float]
Turn = Callable[[Path, dict[str, str]], Row]
"""Measures once in a folder, with the environment that names a tree."""


# ── within a process ─────────────────────────────────────────────────────────────────────────────────────────────────


def checking(_: Path) -> Row:
    gate = _public("Gate")([SEARCH])
    text = f"I'll look for flights.\n{hermes('search_flights', RIGHT)}"
    assert gate.check("search_flights", BROKEN).call.arguments == RIGHT
    assert gate.read(text).calls[0].ok
    actions: dict[str, Callable[[], object]] = {
        "Gate.check, a right call": lambda: gate.check("search_flights", RIGHT),
        "Gate.check, a repaired call": lambda: gate.check("search_flights", BROKEN),
        "Gate.read, a call in a text": lambda: gate.read(text),
    }
    return best(actions, REPEATS)


def executing(folder: Path) -> Row:
    numbers, taken = count(), dict[str, float]()
    for what, store in (
        ("memory", _public("MemoryStore")()),
        ("SQLite", _public("SqliteStore")(str(folder / "a.db"))),
    ):
        executor = _public("Executor").open(folder, LOOSE, store=store)
        executor.tool(effects=["read"])(word_count)
        with asyncio.Runner() as runner:
            runner.run(executor.__aenter__())

            def one(executor: Any = executor, runner: asyncio.Runner = runner) -> None:
                call = {"name": "word_count", "arguments": {"text": f"call {next(numbers)}"}}
                outcome = runner.run(executor.run(call))
                assert outcome.ok, outcome.error

            taken |= best({f"Executor.run, own function, {what}": one}, REPEATS)
            runner.run(executor.__aexit__())
        store.close()
    return taken


def word_count(text: str, separator: str = " ", unique: bool = False) -> int:
    """Count the words of a text."""
    words = text.split(separator)
    return len(set(words) if unique else words)


def judging(folder: Path) -> Row:
    numbers, policy = count(), {**LOOSE, "gate": {"tools": {"read_file": {"paths": ["path"]}}}}
    with _door().open("my-agent", policy, tools=[COUNT, READ_FILE], root=folder) as door:

        def plain() -> None:
            passage = door.judge("count", {"text": f"call {next(numbers)}", "unique": True})
            assert passage.action == "allow", passage.message

        def path() -> None:
            passage = door.judge("read_file", {"path": "src/part_7.py", "limit": next(numbers)})
            assert passage.action == "allow", passage.message

        return best({"Door.judge": plain, "Door.judge, a path": path}, REPEATS)


def searching(folder: Path) -> Row:
    """The first time of each in a process: nothing is kept yet."""
    taken = dict[str, float]()
    with _public("Executor").open_sync(folder, LOOSE, store="memory") as executor:
        for name, arguments in (("code/search", {"pattern": "handler_7"}), ("code/list", {"pattern": "**/*.py"})):
            began = time.process_time()
            outcome = executor.run({"name": name, "arguments": arguments})
            taken[f"{name}, the first time"] = time.process_time() - began
            assert outcome.ok, outcome.error
    return taken


def _public(name: str) -> Any:
    return getattr(import_module("rightcall"), name)


def _door() -> Any:
    """It has no public name, and moves."""
    for place in ("executor.door", "door"):
        try:
            return import_module(f"rightcall.{place}").Door
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError("rightcall has no Door")


WITHIN: dict[str, Callable[[Path], Row]] = {
    "gate": checking,
    "executor": executing,
    "door": judging,
    "code": searching,
}


def within(part: str) -> Turn:
    def turn(folder: Path, env: dict[str, str]) -> Row:
        command = [sys.executable, "-m", "bench.before", "--turn", part, str(folder)]
        return json.loads(subprocess.run(command, env=env, cwd=HERE, stdout=subprocess.PIPE, check=True).stdout)

    return turn


# ── whole processes ──────────────────────────────────────────────────────────────────────────────────────────────────


def starting(folder: Path, env: dict[str, str]) -> Row:
    (folder / "tools.json").write_text(json.dumps([SEARCH]))
    check = ["check", "--tools", "tools.json", "search_flights", json.dumps(RIGHT)]
    commands = {
        "import rightcall": [sys.executable, "-c", "import rightcall"],
        "building a Gate": [sys.executable, "-c", f"from rightcall import Gate; Gate([{SEARCH!r}])"],
        "Executor.open_sync": [
            sys.executable, "-c", "from rightcall import Executor; Executor.open_sync(store='memory').close()"
        ],
        "rightcall check": [*OURS, *check],
    }  # fmt: skip
    return {what: _cpu(command, folder, env) for what, command in commands.items()}


def hooking(folder: Path, env: dict[str, str]) -> Row:
    command, taken = [*OURS, "hook", "claude", "--policy", "rightcall.toml"], dict[str, float]()
    for what, (tool, arguments) in EVENTS.items():
        event = {
            "session_id": "s", "cwd": str(folder), "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": arguments, "tool_use_id": "t",
        }  # fmt: skip
        taken[f"rightcall hook claude, {what}"] = _cpu(command, folder, env, json.dumps(event))
    return taken


def wrapping(folder: Path, env: dict[str, str]) -> Row:
    command = [*OURS, "wrap", "--policy", "rightcall.toml", "--name", "files", "--", *SERVER]
    return {"a call through rightcall wrap": over_stdio(command, folder, env).cpu}


def bridging(folder: Path, env: dict[str, str]) -> Row:
    with gateway(folder, env) as (pid, url):
        return {
            "a call through the gateway": asyncio.run(over_http(partial(cpu_of, pid), url, "files_read_file", 1)).cpu
        }


def _cpu(command: list[str], folder: Path, env: dict[str, str], sent: str = "") -> float:
    """Least CPU seconds, user and system, of the whole process."""
    taken: list[float] = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, input=sent.encode(), stdout=subprocess.DEVNULL, cwd=folder, env=env, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


PARTS: dict[str, Turn] = {
    **{part: within(part) for part in WITHIN},
    "hook": hooking,
    "start": starting,
    "wrap": wrapping,
    "gateway": bridging,
}


# ── in turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def compare(turn: Turn, trees: dict[str, Path], pairs: int) -> dict[str, dict[str, list[float]]]:
    """By row and tree, what each turn took. Who comes first changes, and the first pair only warms the caches."""
    taken: dict[str, dict[str, list[float]]] = {}
    for number in range(pairs + 1):
        for tree in sorted(trees, reverse=number % 2 == 0):
            with _project() as folder:
                row = turn(folder, _environment(trees[tree], folder, number))
            for what, seconds in row.items() if number else ():
                taken.setdefault(what, {one: [] for one in trees})[tree].append(seconds)
    return taken


def line(what: str, old: list[float], new: list[float]) -> tuple[str, ...]:
    ratios = sorted(after / before for before, after in zip(old, new, strict=True))
    median, least = statistics.median(ratios), min(new) / min(old)
    quarter = len(ratios) // 4
    spread = f"{ratios[quarter]:.2f}–{ratios[-1 - quarter]:.2f}"
    verdict = "pass" if min(median, least) <= LIMIT else "MISS"
    return what, micro(min(old)), micro(min(new)), f"{median:.3f}", f"{least:.3f}", spread, verdict


@contextmanager
def _project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rightcall.toml").write_text(POLICY % json.dumps(SERVER), encoding="utf-8")
        (folder / "src").mkdir()
        for number in range(FILES):
            text = "\n".join(f"def handler_{number}_{n}(value):\n    return value + {n}\n" for n in range(20))
            (folder / "src" / f"part_{number}.py").write_text(text, encoding="utf-8")
        yield folder


def _environment(tree: Path, folder: Path, seed: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_PROJECT_DIR")}
    own = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state"), "PYTHONHASHSEED": str(seed)}
    return kept | own | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "base"
        _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=HERE, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.before", description="CPU time beside an older commit, as ratios.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these parts: {', '.join(PARTS)} (all)")
    parser.add_argument("--base", required=True, metavar="COMMIT", help="what to compare with")
    parser.add_argument("--pairs", type=int, default=PAIRS, metavar="N", help=f"turns of each ({PAIRS})")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    one_core()
    heading, rows = ("new to old, CPU time", "old", "new", "median", "least", "middle half", f"<= {LIMIT}"), []
    with _checkout(options.base) as base:
        trees = {"new": HERE, "old": base}
        for tree in trees.values():
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree / "src")], check=True)
        for part in options.parts or PARTS:
            taken = compare(PARTS[part], trees, options.pairs)
            found = [line(what, both["old"], both["new"]) for what, both in taken.items()]
            print(columns([heading, *found]), flush=True)  # at once: all parts together take minutes
            rows += found
    return 1 if any(row[-1] == "MISS" for row in rows) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--turn"]:
        print(json.dumps(WITHIN[sys.argv[2]](Path(sys.argv[3]))))
    else:
        sys.exit(main())

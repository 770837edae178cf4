"""The code tools beside the programs a person would use, on a tree of 10,000 files and a history of 20,000 commits.
Wall time, medians, ours and the other taking turns. Each figure stands there twice: the tool alone, and the whole call
through an executor with a store in memory, nothing cached."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.coding_trees import ABSENT, COMMON, HOT, LONG_FILES, RARE, history, tree
from bench.executing import WIDE
from bench.table import Figure
from bench.timing import all_cores
from rightcall import Executor
from rightcall.base.files.sight import Sight
from rightcall.tools.code import CodeTool, diff, listing, read, search
from rightcall.tools.code.history import BLAME, LOG, SHOW
from rightcall.tools.git.repository import repository_for
from rightcall.tools.git.run import write_graph

ROUNDS = 7
READS = 2_000
MOST = {"log": 2, "diff": 1.5, "show": 2.5}
"""How many times as long as git a tool may take."""
TOOLS = (read.TOOL, search.TOOL, listing.TOOL, diff.TOOL, LOG, BLAME, SHOW)
POLICY: dict[str, Any] = {
    "policy": {
        "repeats": 0,
        "limits": {"all": WIDE, "caller": WIDE, "tools": {tool.name: WIDE for tool in TOOLS}},
    }
}
Action = Callable[[], object]


class Bench:
    """One root: a tool alone, a whole call, and a program in that folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sight = Sight(root)
        self.executor = Executor.open_sync(root, POLICY, store="memory")

    def tool(self, tool: CodeTool, **arguments: Any) -> Action:
        asked = tool.arguments(**arguments)
        return lambda: tool.run(self.sight, asked)

    def call(self, tool: CodeTool, **arguments: Any) -> Action:
        names = dict(zip(tool.arguments.__struct_fields__, tool.arguments.__struct_encode_fields__, strict=True))
        call = {"name": tool.name, "arguments": {names[key]: value for key, value in arguments.items()}}

        def run() -> None:
            self.executor._executor._cache.clear()  # what is measured is the work
            outcome = self.executor.run(call)
            assert outcome.ok, outcome.error

        return run

    def program(self, *command: str) -> Action:
        def run() -> None:
            done = subprocess.run(command, cwd=self.root, capture_output=True, stdin=subprocess.DEVNULL, check=False)
            assert done.returncode in (0, 1), done.stderr  # 1: ripgrep has found nothing

        return run


def medians(actions: Mapping[str, Action], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of each; a first round, in which things are loaded, does not count."""
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            if number:
                taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in taken.items()}


def beside(
    what: str, actions: Mapping[str, Action], peer: str, most: float, *, rounds: int = ROUNDS
) -> Iterator[Figure]:
    """Each of the actions beside the one that is the peer: at most so many times as long."""
    taken = medians(actions, rounds)
    other = taken.pop(peer)
    for name, ours in taken.items():
        target, met = f"<= {most:g} x", ours <= other * most
        yield Figure(f"{what}, {name}", milli(ours), f"{milli(other)} {peer}", f"{ours / other:.2f} x", target, met)


def milli(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def searching(on: Bench) -> Iterator[Figure]:
    if not shutil.which("rg"):
        yield Figure("code/search beside ripgrep", "", "no rg on the PATH", "", "", None)
        return
    rules = ("-i", "--no-config", "-g!node_modules", "-g!dist", "-g!build")
    for kind, pattern in (("rare", RARE), ("common", COMMON), ("absent", ABSENT)):
        actions = {
            "tool": on.tool(search.TOOL, pattern=pattern),
            "whole call": on.call(search.TOOL, pattern=pattern),
            "rg --json -C2": on.program("rg", *rules, "--json", "-C2", "-e", pattern),
        }
        yield from beside(f"code/search, {kind}", actions, "rg --json -C2", 1.3)
        counting = {"tool": actions["tool"], "rg -c": on.program("rg", *rules, "-c", "-e", pattern)}
        for figure in beside(f"code/search, {kind}", counting, "rg -c", 1.3):
            yield figure._replace(target="", met=None)
        asked = search.SearchArguments(pattern=pattern)
        alone = {
            "tool": lambda asked=asked: search.search(on.sight, asked, engine="linear"),
            "rg --json -C2": actions["rg --json -C2"],
        }
        yield from beside(f"code/search without ripgrep, {kind}", alone, "rg --json -C2", 4, rounds=3)


def reading(on: Bench) -> Iterator[Figure]:
    paths = [f"long/file_{number}.py" for number in range(LONG_FILES)]
    for name, make in (("tool", on.tool), ("whole call", on.call)):
        actions = [make(read.TOOL, path=path, max_lines=500) for path in paths]
        began = time.perf_counter()
        for number in range(READS):
            actions[number % len(actions)]()
        rate = READS / (time.perf_counter() - began)
        told = name == "tool"
        yield Figure(
            f"code/read of 500 lines a second, {name}", f"{rate:,.0f}", "", "", ">= 2,000" if told else "",
            rate >= 2000 if told else None,
        )  # fmt: skip


def listed(on: Bench) -> Iterator[Figure]:
    def by_git() -> None:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=on.root, capture_output=True, check=True)
        for name in done.stdout.split(b"\0")[:-1]:
            os.stat(os.path.join(os.fsencode(on.root), name))

    asked = {"pattern": "**/*"}
    actions = {
        "tool": on.tool(listing.TOOL, **asked),
        "whole call": on.call(listing.TOOL, **asked),
        "git ls-files, stat": by_git,
    }
    yield from beside("code/list of 10,000 files", actions, "git ls-files, stat", 1.5)


def histories(on: Bench) -> Iterator[Figure]:
    git = ("git", "--no-pager")
    engine = HOT[0]
    cases: list[tuple[str, CodeTool, dict[str, Any], tuple[str, ...]]] = [
        ("code/log", LOG, {}, ("log", "-20", "--stat")),
        ("code/log of a path", LOG, {"path": engine}, ("log", "-20", "--stat", "--", engine)),
        ("code/log with diffs", LOG, {"include_diff": True}, ("log", "-20", "-p")),
        ("code/diff of 50 commits", diff.TOOL, {"base": "HEAD~50", "compare": "HEAD"}, ("diff", "HEAD~50", "HEAD")),
        ("code/diff with the working tree", diff.TOOL, {"base": "HEAD~5"}, ("diff", "HEAD~5")),
        ("code/show", SHOW, {"commit": "HEAD~100"}, ("show", "HEAD~100")),
    ]
    for what, tool, asked, plain in cases:
        actions = {
            "tool": on.tool(tool, **asked),
            "whole call": on.call(tool, **asked),
            f"git {plain[0]}": on.program(*git, *plain),
        }
        yield from beside(what, actions, f"git {plain[0]}", MOST[plain[0]])


def blaming(on: Bench) -> Iterator[Figure]:
    asked = {"path": HOT[0], "start_line": 100, "end_line": 149}
    plain = on.program("git", "--no-pager", "blame", "--porcelain", "-L100,149", HOT[0])
    for when, warm in (("", False), (" after `warm`", True)):
        if warm:
            write_graph(repository_for(on.sight), 600)
        actions = {
            "tool": on.tool(BLAME, **asked),
            "whole call": on.call(BLAME, **asked),
            "git blame": plain,
        }
        for figure in beside(f"code/blame of 50 lines{when}", actions, "git blame", 1.1, rounds=5):
            deadline = f", {BLAME.seconds:.0f} s"
            yield figure._replace(target=figure.target + deadline)


def coding() -> Iterator[Figure]:
    all_cores()
    trees, long = Bench(tree()), Bench(history())
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # no graph of an earlier run
        try:
            for on, part in ((trees, searching), (trees, reading), (trees, listed), (long, histories), (long, blaming)):
                yield from part(on)
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before
            for on in (trees, long):
                on.executor.close()

"""The shape of the source tree: how large, how deep, how many files a call visits, what it costs to start.

    python scripts/shape.py [--base COMMIT] [--files]

Prints what was measured beside what must be reached, and exits with 1 when something is not. With `--base` the source
of that commit is measured too, and statements are compared with it; `--files` lists the files that each walk visits.

A walk is one call through objects that are ready: a call like it came before, so that neither loading nor compiling
counts. A file is visited when a function in it is entered, in any thread.
"""

import argparse
import ast
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from time import sleep
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from rightcall import Executor, Gate, load_policy
from rightcall.proxy.gates import Options
from rightcall.record.memory import MemoryStore
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.recording import Backlog, Recording
from support.gateways import run as run_site
from support.imports import SOURCE, chain, edges_of, of_ours, rings
from support.proxies import post, serving
from support.scripted.server import Answer, NativeCall, ScriptedUpstream

SHORT = 60
MANY_PARAMETERS = 6
TURNS = 5


class Row(NamedTuple):
    subject: str
    measured: float
    most: float
    """What must be reached: so much, or less."""
    before: float | None = None
    files: frozenset[str] = frozenset()

    @property
    def is_met(self) -> bool:
        return self.measured <= self.most


# ── what the source says ──────────────────────────────────────────────────────────────────────────────────────────────


class Tree:
    """The files of `rightcall` in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {file: file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py"))}
        self.imports = [found for found in of_ours(folder) if not found.typing]

    @property
    def lines(self) -> int:
        return sum(text.count("\n") for text in self.files.values())

    @property
    def short(self) -> int:
        return sum(file.name != "__init__.py" and text.count("\n") < SHORT for file, text in self.files.items())

    @lru_cache(None)  # noqa: B019  (two trees, which live as long as the program)
    def nodes(self) -> list[ast.AST]:
        return [node for text in self.files.values() for node in ast.walk(ast.parse(text))]

    @property
    def statements(self) -> int:
        return sum(isinstance(node, ast.stmt) for node in self.nodes())

    @property
    def wide(self) -> int:
        """Functions with too many parameters."""
        functions = (node for node in self.nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return sum(_parameters(function.args) > MANY_PARAMETERS for function in functions)

    @property
    def levels(self) -> int:
        return len(chain(self.imports))

    def rings(self, *, late: bool) -> int:
        return len(rings(edges_of(found for found in self.imports if late or not found.late)))


def _parameters(arguments: ast.arguments) -> int:
    """All that a caller may give; what a method is bound to is not given."""
    named = [*arguments.posonlyargs, *arguments.args]
    bound = bool(named) and named[0].arg in ("self", "cls")
    return len(named) - bound + len(arguments.kwonlyargs) + bool(arguments.vararg) + bool(arguments.kwarg)


@contextmanager
def tree_at(commit: str) -> Iterator[Tree]:
    packed = subprocess.run(["git", "archive", commit, "src/rightcall"], cwd=ROOT, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Tree(Path(folder, "src", "rightcall"))


def source_rows(now: Tree, before: Tree | None) -> Iterator[Row]:
    def row(subject: str, most: float, read: Callable[[Tree], float]) -> Row:
        return Row(subject, read(now), most, before and read(before))

    yield row("source files", 300, lambda tree: len(tree.files))
    yield row("lines", 87_000, lambda tree: tree.lines)
    yield row("statements", int(before.statements * 0.92) if before else float("inf"), lambda tree: tree.statements)
    yield row(f"files under {SHORT} lines", 10, lambda tree: tree.short)
    yield row("levels of packages", 16, lambda tree: tree.levels)
    yield row("cycles of files, at load", 0, lambda tree: tree.rings(late=False))
    yield row("cycles of files, with late imports", 0, lambda tree: tree.rings(late=True))
    yield row(f"functions with more than {MANY_PARAMETERS} parameters", 8, lambda tree: tree.wide)


# ── the walks of a call ───────────────────────────────────────────────────────────────────────────────────────────────


class Visits:
    """Which files of ours are entered while it is on."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._is_on = False

    def __enter__(self) -> None:
        self.files.clear()
        self._is_on = True

    def __exit__(self, *_: object) -> None:
        self._is_on = False

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        if self._is_on and event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            self.files.add(frame.f_code.co_filename[len(str(SOURCE)) + 1 :])


WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}
BROKEN = "{{'location': '{}', days: 'three',}}"
"""The arguments of every walk: quotes, a missing pair of them, a comma too many, another name, a number in words."""


def check(visits: Visits) -> None:
    gate = Gate([WEATHER])
    gate.check("getWeather", BROKEN.format("Oslo"))
    with visits:
        verdict = gate.check("getWeather", BROKEN.format("Bern"))
    assert verdict.call
    assert verdict.call.arguments == {"city": "Bern", "days": 3}


def execute(visits: Visits) -> None:
    with tempfile.TemporaryDirectory() as folder, Executor.open_sync(root=folder, policy={}, store=MemoryStore()) as ex:

        @ex.tool(effects=["read"])
        def get_weather(city: str, days: int) -> str:
            return f"{city}: {days}"

        ex.run({"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}, caller="a")
        with visits:
            outcome = ex.run({"name": "get_weather", "arguments": {"city": "Bern", "days": 3}}, caller="a")
    assert outcome.result == "Bern: 3", outcome


def proxy(visits: Visits) -> None:
    recording = Recording(MemoryStore(), owned=True, backlog=Backlog(gather=0.0))
    access = Access(None, bound_to="127.0.0.1")
    body = {"model": "m", "messages": [], "tools": [{"type": "function", "function": WEATHER}]}
    answers = [Answer([NativeCall("getWeather", BROKEN.format(city))]) for city in ("Oslo", "Bern")]
    with ScriptedUpstream(answers) as upstream:
        app = assemble(upstream.address, load_policy(), Options(), access, Parts(recording=recording)).app
        with serving(app) as address:
            post(address, "/v1/chat/completions", body)
            _wait_for(recording, 1)
            with visits:
                got = post(address, "/v1/chat/completions", body)
                _wait_for(recording, 2)
    assert b"Bern" in got.body, got
    assert b"location" not in got.body, got


def _wait_for(recording: Recording, records: int) -> None:
    """Records are written beside the answers."""
    while recording.state.recorded < records:
        sleep(0.01)


def gateway(visits: Visits) -> None:
    def call(id: int, text: str) -> dict[str, Any]:
        params = {"name": "aEcho", "arguments": {"Text": text}}
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}

    async def walk(site: Any) -> Any:
        own = await site.session()
        await site.ask(body=call(1, "a"), **own)
        with visits:
            return await site.ask(body=call(2, "b"), **own)

    answer = run_site(walk)
    assert b'"text":"b"' in answer.body, answer.body


WALKS = (
    ("files visited: a repaired Gate.check", 20, check),
    ("files visited: Executor.run of a function", 26, execute),
    ("files visited: a repaired proxy request", 40, proxy),
    ("files visited: a repaired gateway call", 50, gateway),
)


def walk_rows() -> Iterator[Row]:
    visits = Visits()
    threading.setprofile(visits.see)
    sys.setprofile(visits.see)
    try:
        for subject, most, walk in WALKS:
            walk(visits)
            yield Row(subject, len(visits.files), most, files=frozenset(visits.files))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


# ── what it costs to start ────────────────────────────────────────────────────────────────────────────────────────────

OPENING = """
import sys, time
began = time.process_time()
from rightcall import Executor
with Executor.open_sync(root=sys.argv[1]):
    spent = time.process_time() - began
    print(spent * 1000, sum(name.split(".")[0] == "rightcall" for name in sys.modules))
"""


def start_rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as home:
        small = Path(home, "small")
        small.mkdir()
        (small / "main.py").write_text("print('hello')\n")
        env = {**os.environ, "HOME": home, "XDG_STATE_HOME": home, "PYTHONPATH": str(SOURCE.parent)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # a start of the package as it is installed: compiled
        command = [sys.executable, "-c", OPENING, str(small)]
        turns = [subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(TURNS)]
    figures = [tuple(map(float, turn.stdout.split())) for turn in turns]
    yield Row(f"Executor.open_sync: CPU ms, least of {TURNS}", round(min(spent for spent, _ in figures), 1), 120)
    yield Row("Executor.open_sync: modules of ours loaded", figures[0][1], 110)


def table(rows: list[Row]) -> Iterator[str]:
    width = max(len(row.subject) for row in rows)
    yield f"{'':{width}}  {'before':>8}  {'measured':>8}  {'at most':>8}  ok"
    for row in rows:
        before = "" if row.before is None else f"{row.before:,}"
        most = "" if row.most == float("inf") else f"{row.most:,}"
        yield f"{row.subject:{width}}  {before:>8}  {row.measured:>8,.6g}  {most:>8}  {'yes' if row.is_met else 'NO'}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the shape of the source tree.")
    parser.add_argument("--base", metavar="COMMIT", help="compare with this commit: statements must be 8 %% fewer")
    parser.add_argument("--files", action="store_true", help="list the files that each walk visits")
    options = parser.parse_args()
    now = Tree(SOURCE)
    with tree_at(options.base) if options.base else nullcontext() as before:
        rows = list(source_rows(now, before))
    rows += [*walk_rows(), *start_rows()]
    print(*table(rows), sep="\n")
    for row in rows:
        if options.files and row.files:
            print(f"\n{row.subject}", *sorted(row.files), sep="\n  ")
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

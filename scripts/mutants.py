"""Seeded faults in the source, and the share of them that the tests catch.

    python scripts/mutants.py [--tree FOLDER] [--count 300] [--seed 1] [--workers N] [--tests tests/gate …]

The tests run once with coverage, which says which of them reach which line; then each fault runs in a copy of the tree
with the tests that reach its line: one case of each test before the next case, those of its own package before others,
the narrowest first. What runs when a module is loaded is asked of the tests that reach the file. As many faults are
drawn from every package. A fault in a line that no test reaches counts as missed, and so does one that only a program
of its own would reach.
"""

import argparse
import ast
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from xml.etree import ElementTree

from coverage import CoverageData

TESTS = 60
"""So many tests at most are asked about one fault."""
SECONDS = 120
"""A fault that makes the tests run longer than this counts as caught."""
COMPARED = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
COUNTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*"}
Span = tuple[int, int, int, int]


@dataclass(frozen=True)
class Mutant:
    """One place of one file, and what stands there instead."""

    file: str
    span: Span
    text: str

    def apply(self, source: str) -> str:
        first, start, last, end = self.span
        lines = source.encode().splitlines(keepends=True)
        head, tail = lines[first - 1][:start], lines[last - 1][end:]
        return b"".join([*lines[: first - 1], head + self.text.encode() + tail, *lines[last:]]).decode()


def find_mutants(file: str, source: str) -> Iterator[Mutant]:
    """Every fault of the kinds below within a function."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                for span, text in _faults(node, source):
                    yield Mutant(file, span, text)


def _faults(node: ast.AST, source: str) -> Iterator[tuple[Span, str]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            yield _between(left, right), f" {COMPARED[type(op)]} "
        case ast.BoolOp(op=op, values=[left, right]):
            yield _between(left, right), " or " if isinstance(op, ast.And) else " and "
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COUNTED and _is_plain(left, right):
            yield _between(left, right), f" {COUNTED[type(op)]} "
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _span(node), f"({ast.get_source_segment(source, operand)})"
        case ast.Constant(value=bool(value)):
            yield _span(node), str(not value)
        case ast.Constant(value=int(value)):
            yield _span(node), str(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield _span(test), f"(not ({ast.get_source_segment(source, test)}))"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _span(value), "None"
        case ast.Expr(value=ast.Call() as call):
            yield _span(call), "None"
        case _:
            pass


def _span(node: ast.AST) -> Span:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0


def _between(left: ast.expr, right: ast.expr) -> Span:
    """From the end of one to the start of the other; with brackets around either it is no Python, and is dropped."""
    return left.end_lineno or 0, left.end_col_offset or 0, right.lineno, right.col_offset


def _is_plain(*sides: ast.expr) -> bool:
    return not any(isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", 0), str) for side in sides)


def draw(tree: Path, count: int, seed: int) -> list[Mutant]:
    """As many of every package, and only such as are Python."""
    by_package: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((tree / "src/rightcall").rglob("*.py")):
        within = path.relative_to(tree / "src/rightcall").parts
        source = path.read_text(encoding="utf-8")
        by_package[within[0] if len(within) > 1 else "rightcall"] += find_mutants(str(path.relative_to(tree)), source)
    chance, drawn = random.Random(seed), list[Mutant]()
    for found in by_package.values():
        chance.shuffle(found)
    while len(drawn) < count and any(by_package.values()):
        for found in by_package.values():
            while found and len(drawn) < count:
                mutant = found.pop()
                if _is_python(mutant.apply((tree / mutant.file).read_text(encoding="utf-8"))):
                    drawn.append(mutant)
                    break
    return drawn


def _is_python(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def cover(tree: Path, data: Path, workers: int, tests: list[str]) -> None:
    """Run the tests once; those that fail without a fault say nothing later."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        str(workers),
        "-p",
        "no:randomly",
        "--cov=rightcall",
        "--cov-branch",
    ]
    command += ["--cov-context=test", "--cov-report=", f"--junitxml={data}.xml", "-o", "junit_family=xunit1", *tests]
    subprocess.run(command, cwd=tree, env=_environment(tree) | {"COVERAGE_FILE": str(data)}, check=False)


def _environment(tree: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def tests_of(tree: Path, data: Path, mutants: list[Mutant]) -> dict[Mutant, list[str]]:
    """The tests that are asked about each fault, in their order."""
    covered = CoverageData(str(data))
    covered.read()
    with sqlite3.connect(data) as connection:
        query = "select c.context, count(*) from arc a join context c on c.id = a.context_id group by 1"
        rows = connection.execute(query)
        width = {context.removesuffix("|run"): lines for context, lines in rows}
    found = dict[Mutant, list[str]]()
    for file in {mutant.file for mutant in mutants}:
        by_line = covered.contexts_by_lineno(str(tree / file))
        of_file = {name for names in by_line.values() for name in names}
        for mutant in (one for one in mutants if one.file == file):
            names = by_line.get(mutant.span[0], [])
            reaching = _tests(names) or (_tests(of_file) if names else set[str]())
            found[mutant] = _spread(reaching, Path(file).parts[2], width)[:TESTS]
    return found


def _tests(contexts: Iterable[str]) -> set[str]:
    """Those that reach it themselves or with what is set up for them."""
    return {name.rpartition("|")[0] for name in contexts if name.endswith(("|run", "|setup"))}


def _spread(tests: set[str], package: str, width: dict[str, int]) -> list[str]:
    order = sorted(tests, key=lambda name: (not name.startswith(f"tests/{package}/"), width.get(name, 0), name))
    cases: Counter[str] = Counter()
    turns = dict[str, int]()
    for name in order:
        function = name.partition("[")[0]
        turns[name] = cases[function]
        cases[function] += 1
    return sorted(order, key=turns.__getitem__)


def is_caught(copy: Path, mutant: Mutant, tests: list[str], deselected: list[str]) -> bool:
    file = copy / mutant.file
    right = file.read_text(encoding="utf-8")
    file.write_text(mutant.apply(right), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += [*tests, *(f"--deselect={name}" for name in deselected if name in tests)]
    try:
        ended = subprocess.run(command, cwd=copy, env=_environment(copy), capture_output=True, timeout=SECONDS)
        return ended.returncode not in (0, 5)
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(right, encoding="utf-8")


def failing(data: Path) -> list[str]:
    """The tests that failed without any fault."""
    names = list[str]()
    for case in ElementTree.parse(f"{data}.xml").iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            names.append(f"{case.get('file')}::{case.get('name')}")
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--tests", nargs="*", default=["tests"])
    parser.add_argument("--data", type=Path, help="keep the coverage here, and use it when it is there")
    given = parser.parse_args()
    tree = given.tree.resolve()
    mutants = draw(tree, given.count, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        data = (given.data or Path(folder, "coverage")).resolve()
        if not data.exists():
            cover(tree, data, given.workers, given.tests)
        reached, deselected = tests_of(tree, data, mutants), failing(data)
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.workers):
            copy = Path(folder, f"tree{number}")
            shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".venv*", "build", ".carry"))
            if (tree / ".venv").exists():
                (copy / ".venv").symlink_to(tree / ".venv")
            copies.put(copy)

        def judge(mutant: Mutant) -> bool:
            if not reached[mutant]:
                return False
            copy = copies.get()
            try:
                return is_caught(copy, mutant, reached[mutant], deselected)
            finally:
                copies.put(copy)

        caught: Counter[str] = Counter()
        drawn: Counter[str] = Counter()
        with ThreadPoolExecutor(given.workers) as pool:
            for mutant, held in zip(mutants, pool.map(judge, mutants), strict=True):
                package = Path(mutant.file).parts[2]
                drawn[package] += 1
                caught[package] += held
                if not held:
                    why = "missed" if reached[mutant] else "no test reaches"
                    print(f"{why}: {mutant.file}:{mutant.span[0]} {mutant.text.strip()[:60]}", flush=True)
    for package in sorted(drawn):
        print(f"{package:<16}{caught[package]:>5} of {drawn[package]}")
    print(f"{'total':<16}{caught.total():>5} of {drawn.total()}  {caught.total() / drawn.total():.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

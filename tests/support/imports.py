"""The import graph of a source tree, read from its syntax trees: for tests/test_layout.py and scripts/shape.py."""

import ast
import gc
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent.parent / "src" / "rightcall"
FRONT = "rightcall"  # the package itself: the public names, and what makes the facades


class Import(NamedTuple):
    file: Path
    line: int
    source: str
    target: str
    late: bool
    """Reached only when a function is called."""
    typing: bool
    """Read by the type checker alone."""

    def __str__(self) -> str:
        return f"{self.source.replace('.', '/')}:{self.line} imports {self.target}"


def part_of(module: str) -> str:
    names = module.split(".")
    return names[1] if len(names) > 1 else FRONT


def module_of(file: Path, tree: Path = SOURCE) -> str:
    names = file.relative_to(tree.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@lru_cache(None)
def is_module(name: str, tree: Path = SOURCE) -> bool:
    path = tree.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports_of(file: Path, tree: Path = SOURCE) -> Iterator[Import]:
    source = module_of(file, tree)
    text = file.read_text(encoding="utf-8")
    for node, late, typing in _candidates(ast.parse(text), "import_module" in text, late=False, typing=False):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative imports hide their direction"
            assert node.module
            submodules = [alias.name for alias in node.names if is_module(f"{node.module}.{alias.name}", tree)]
            targets = [f"{node.module}.{name}" for name in submodules] or [node.module]
        elif by_name := _named_import(node):
            targets = [by_name]
        else:
            continue
        line = node.lineno  # type: ignore[attr-defined]
        yield from (Import(file, line, source, target, late, typing) for target in targets)


def _candidates(node: ast.AST, calls: bool, *, late: bool, typing: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    """All that can be an import, each with whether it is reached only when a function is called, or never. Expressions
    are nine tenths of a tree, and looked at only where a call may be one."""
    late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    typing = typing or is_for_types(node)
    for below in ast.iter_child_nodes(node) if calls else _blocks(node):
        if isinstance(below, ast.Import | ast.ImportFrom | ast.Call):
            yield below, late, typing
        else:
            yield from _candidates(below, calls, late=late, typing=typing)


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, block, ())


def is_for_types(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:`, whose imports are never loaded."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _named_import(node: ast.AST) -> str | None:
    """`import_module("re2")`, as one loads what tells no types."""
    match node:
        case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
            return name
    return None


def own_imports(tree: Path = SOURCE) -> list[Import]:
    return _read_imports(tree)


@lru_cache
def _read_imports(tree: Path) -> list[Import]:
    gc.disable()  # it would go through the trees of all files again and again, which takes longer than reading them
    try:
        return [found for file in sorted(tree.rglob("*.py")) for found in imports_of(file, tree)]
    finally:
        gc.enable()


def of_ours(tree: Path = SOURCE) -> list[Import]:
    return [found for found in own_imports(tree) if found.target.split(".")[0] == FRONT]


def edges_of(imports: Iterable[Import]) -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {}
    for found in imports:
        if found.source != FRONT and found.target not in (FRONT, found.source):
            edges.setdefault(found.source, set()).add(found.target)
    return edges


def rings(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of files that reach each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(one: str) -> None:
        index[one] = lowest[one] = len(index)
        stack.append(one)
        for other in sorted(edges.get(one, ())):
            if other not in index:
                visit(other)
                lowest[one] = min(lowest[one], lowest[other])
            elif other in stack:
                lowest[one] = min(lowest[one], index[other])
        if lowest[one] == index[one]:
            group = stack[stack.index(one) :]
            del stack[stack.index(one) :]
            if len(group) > 1:
                found.append(sorted(group))

    for one in sorted(edges):
        if one not in index:
            visit(one)
    return found


def chain(imports: Iterable[Import]) -> list[str]:
    """The longest chain of parts (packages, and the modules beside them), each importing the next; what imports in a
    ring counts as one part."""
    edges: dict[str, set[str]] = {}
    for found in imports:
        source, target = part_of(found.source), part_of(found.target)
        if FRONT not in (source, target) and source != target:
            edges.setdefault(source, set()).add(target)
    merged = {part: " + ".join(ring) for ring in rings(edges) for part in ring}
    below: dict[str, set[str]] = {}
    for source, targets in edges.items():
        below.setdefault(merged.get(source, source), set()).update(merged.get(target, target) for target in targets)

    @lru_cache(None)
    def longest(part: str) -> tuple[str, ...]:
        chains = [longest(target) for target in sorted(below.get(part, set()) - {part})]
        return (part, *max(chains, key=len, default=()))

    return list(max(map(longest, below), key=len, default=()))

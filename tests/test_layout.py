"""The tree reads as the pipeline: imports point one way and never in a ring, files have a subject, the public face is
small, starting costs little."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rightcall"

ORDER = (
    "types", "errors", "base", "catalog", "policy", "gate", "record", "tools", "executor", "models", "router", "proxy",
    "mcp", "hosts", "server", "doctor", "cli", "__main__",
)  # fmt: skip
"""Each imports only what stands before it."""
RANK = {part: rank for rank, part in enumerate(ORDER)}
FRONT = "rightcall"  # the package itself: the public names, and what makes the facades

SHORT = 60
FRAGMENTS = {
    "__main__.py": "what `python -m rightcall` starts",
    "cli/__main__.py": "what `python -m rightcall.cli` starts: hooks that were installed call it so",
    "policy/loader.py": "every gate loads it, and it loads the reader of files only for a policy that is one",
    "tools/write/tools.py": "the tools that write, in the order of the design: no other file needs them together",
    "tools/sandbox/inside/canvas.py": "loaded inside the sandbox alone, where nothing else of ours is",
}
"""Files with fewer lines than that, each with its reason."""

MAY_LOAD = {"msgspec", "jsonschema_rs", "rapidfuzz", "re2"}  # the declared dependencies
MODULES = {"google_re2": "re2"}  # where the package has another name than the module
MAY_LOAD_IF_THERE = {"pydantic", "ast_grep_py"}  # a user's own models, the extra `code`; never at the top of a module
MAY_LOAD_IN_VECTORS = {"numpy", "tokenizers"}  # the extra for meanings: late, and in two files of router
NEEDS_VECTORS = "rightcall.router.nearest"  # loads numpy at its top, and is itself loaded late everywhere
MAY_LOAD_IN_CANVAS = {"matplotlib"}  # the extra `charts`: in a file that is only ever loaded inside the sandbox
MAY_LOAD_IN_SERVE = {
    "httptools",
    "starlette",
    "uvicorn",
    "uvloop",
}  # the extra `serve`: in `server`, and in the practice
WITH_SERVER = {"server", "doctor"}  # model, which is a server


MAY_LOAD_IN_ADAPTERS = {  # by file of hosts/: the framework it is for, which its extra brings
    "claude_sdk": {"claude_agent_sdk"},
    "fastmcp": {"fastmcp", "mcp", "mcp_types"},
    "langchain": {"langchain", "langchain_core", "langgraph"},
    "litellm": {"litellm"},
    "openai_agents": {"agents", "openai"},
    "pydantic_ai": {"pydantic_ai"},
    "smolagents": {"smolagents"},
}


class Import(NamedTuple):
    file: Path
    line: int
    target: str
    late: bool
    """Reached only when a function is called."""
    typing: bool
    """Read by the type checker alone."""

    def __str__(self) -> str:
        return f"{self.file.relative_to(SOURCE)}:{self.line} imports {self.target}"


def part_of(module: str) -> str:
    names = module.split(".")
    return names[1] if len(names) > 1 else FRONT


def module_of(file: Path) -> str:
    names = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imports_of(file: Path) -> Iterator[Import]:
    for node, late, typing in statements(ast.parse(file.read_text(encoding="utf-8")), late=False, typing=False):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative imports hide their direction"
            assert node.module
            submodules = [alias.name for alias in node.names if is_module(f"{node.module}.{alias.name}")]
            targets = [f"{node.module}.{name}" for name in submodules] or [node.module]
        elif by_name := named_import(node):
            targets = [by_name]
        else:
            continue
        line = node.lineno  # type: ignore[attr-defined]
        yield from (Import(file, line, target, late, typing) for target in targets)


def statements(node: ast.AST, *, late: bool, typing: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    """All that can be an import, each with whether it is reached only when a function is called, or never."""
    late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    typing = typing or is_for_types(node)
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.Import | ast.ImportFrom | ast.Call):
            yield below, late, typing
        if not isinstance(below, ast.Name | ast.Constant | ast.alias | ast.expr_context | ast.arguments):
            yield from statements(below, late=late, typing=typing)


def is_for_types(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:`, whose imports are never loaded."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def needs_vectors(file: Path) -> bool:
    return module_of(file) == NEEDS_VECTORS


def named_import(node: ast.AST) -> str | None:
    """`import_module("re2")`, as one loads what tells no types."""
    match node:
        case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
            return name
    return None


@lru_cache(None)
def is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@lru_cache
def own_imports() -> list[Import]:
    return [found for file in sorted(SOURCE.rglob("*.py")) for found in imports_of(file)]


def of_ours() -> list[Import]:
    return [found for found in own_imports() if found.target.split(".")[0] == FRONT]


def complaint(source: str, target: str) -> str | None:
    """Why part `source` may not import part `target`; None when it may."""
    if FRONT in (source, target) or source == target:
        return None
    if source not in RANK or target not in RANK:
        return f"{source} or {target} has no place in ORDER"
    return f"{target} stands after {source}" if RANK[target] > RANK[source] else None


def test_imports_point_one_way_along_the_order_of_packages() -> None:
    wrong = [
        f"{found}: {why}"
        for found in of_ours()
        if not found.typing and (why := complaint(part_of(module_of(found.file)), part_of(found.target)))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("gate", "catalog", True),
        ("cli", "gate", True),
        ("types", "base", False),
        ("base", "catalog", False),
        ("gate", "hosts", False),
        ("somewhere", "types", False),
    ],
)
def test_the_import_rule_says_no_where_it_should(source: str, target: str, allowed: bool) -> None:
    assert (complaint(source, target) is None) is allowed


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


def edges_of(imports: list[Import]) -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {}
    for found in imports:
        source = module_of(found.file)
        if source != FRONT and found.target not in (FRONT, source):
            edges.setdefault(source, set()).add(found.target)
    return edges


def test_no_files_import_each_other_in_a_ring() -> None:
    used = [found for found in of_ours() if not found.typing]
    wrong = rings(edges_of(used))
    lines = [
        str(found)
        for group in wrong
        for found in used
        if module_of(found.file) in group and found.target in group and found.target != module_of(found.file)
    ]
    assert (wrong, lines) == ([], [])


def test_a_ring_is_found() -> None:
    assert rings({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert rings({"a": {"b"}, "b": {"c"}, "d": {"a"}}) == []


def test_no_file_is_a_fragment() -> None:
    short = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.name != "__init__.py" and len(file.read_text(encoding="utf-8").splitlines()) < SHORT
    }
    assert short <= FRAGMENTS.keys(), "a file this short belongs into the one that uses it, or needs a reason here"


def test_only_declared_dependencies_are_imported_and_optional_ones_late() -> None:
    wrong = [
        f"{found.file.name}:{found.line} imports {found.target}"
        for found in own_imports()
        if (top := found.target.split(".")[0]) != "rightcall"
        and top not in sys.stdlib_module_names
        and top not in MAY_LOAD
        and not (found.late and top in MAY_LOAD_IF_THERE)
        and not (top in MAY_LOAD_IN_VECTORS and (needs_vectors(found.file) or (found.late or found.typing)))
        and not (top in MAY_LOAD_IN_CANVAS and found.file.stem == "canvas")
        and not (top in MAY_LOAD_IN_SERVE and part_of(module_of(found.file)) in WITH_SERVER)
        and not (found.file.parent.name == "hosts" and top in MAY_LOAD_IN_ADAPTERS.get(found.file.stem, ()))
    ]
    assert wrong == []


def test_the_module_that_needs_numpy_is_loaded_late_everywhere() -> None:
    users = [found for found in own_imports() if found.target == NEEDS_VECTORS]
    assert [found.late or found.typing for found in users] == [True] * len(users) != []


def test_the_declared_dependencies_are_the_ones_that_are_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = [requirement.split(">")[0].replace("-", "_") for requirement in project["dependencies"]]
    declared = {MODULES.get(package, package) for package in packages}
    used = {found.target.split(".")[0] for found in own_imports()}
    assert declared == MAY_LOAD
    assert declared <= used


def test_the_extra_for_the_server_is_what_only_the_server_may_import() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = {requirement.split(">")[0] for requirement in project["optional-dependencies"]["serve"]}
    assert packages == MAY_LOAD_IN_SERVE


PUBLIC = [
    "AnswerError",
    "Approval",
    "Call",
    "CallError",
    "Candidate",
    "ConfigError",
    "Decision",
    "Event",
    "Executor",
    "Format",
    "Gate",
    "Intent",
    "MemoryStore",
    "ModelError",
    "Outcome",
    "PackError",
    "Parsed",
    "Policy",
    "PolicyError",
    "Problem",
    "Reading",
    "Refused",
    "Repair",
    "RightCallError",
    "Router",
    "SqliteStore",
    "StoreError",
    "ToolError",
    "Unreadable",
    "Verdict",
    "__version__",
    "arun_calls",
    "guard",
    "load_policy",
    "loads",
    "run_calls",
    "tagged",
    "tool",
]


def test_the_public_names_are_exactly_these() -> None:
    import rightcall

    assert sorted(rightcall.__all__) == PUBLIC
    assert [name for name in PUBLIC if not hasattr(rightcall, name)] == []
    assert set(PUBLIC) <= set(dir(rightcall))


def modules_after(statement: str) -> set[str]:
    """The modules that a statement loads beyond those of a bare start."""
    code = f"import sys; bare = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - bare))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


HEAVY = {
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "json",
    "logging",
    "tomllib",
    "pydantic",
    *MAY_LOAD,
    *MAY_LOAD_IN_SERVE,
    *MAY_LOAD_IN_VECTORS,
}
TOOL = {"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def test_importing_rightcall_loads_no_package_and_none_of_its_own_modules() -> None:
    loaded = modules_after("import rightcall")
    assert loaded & HEAVY == set()
    assert {module for module in loaded if module.startswith("rightcall")} == {"rightcall"}


def test_no_command_needs_the_extra_for_the_server_before_it_runs() -> None:
    every = "[import_module('rightcall.cli.' + home_of(name)) for name in COMMANDS if name != 'version']"
    loaded = modules_after(f"from importlib import import_module; from rightcall.cli import COMMANDS, home_of; {every}")
    assert "rightcall.cli.serve" in loaded
    assert loaded & MAY_LOAD_IN_SERVE == set()


def test_a_right_call_never_loads_what_only_broken_ones_need() -> None:
    loaded = modules_after(f"from rightcall import Gate; assert Gate([{TOOL}]).check('add', {{'n': 1}}).ok")
    assert "rightcall.gate.gate" in loaded
    assert (
        loaded & {"argparse", "asyncio", "pydantic", "rapidfuzz", "rightcall.gate.judge", "rightcall.base.json.reader"}
        == set()
    )

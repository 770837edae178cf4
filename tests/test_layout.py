"""The tree reads as the pipeline: imports point one way, the public face is small, starting costs little."""

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

TIERS: tuple[tuple[str, ...], ...] = (
    ("types", "errors"),
    ("base", "parse", "text", "fs"),
    ("commands", "trust"),
    ("catalog", "config", "packs", "keys", "granting"),
    ("reading", "recover", "normalise", "validate", "authorise", "execute", "record", "present"),
    ("judge", "loading", "stats", "recovering"),
    ("gate", "offering"),
    ("guarding", "executor", "models", "web"),
    ("door",),
    ("loop",),
    ("route",),
    ("proxy",),
    ("rightcall",),  # the public names: what `from rightcall import …` inside the package would mean
    ("hosts", "cli", "serve", "mcp", "installing"),
    ("main",),  # `python -m rightcall`
)
STAGES = {"reading", "recover", "normalise", "validate", "authorise", "execute", "record", "present"}
RANK = {part: rank for rank, tier in enumerate(TIERS) for part in tier}

# `Verdict.message` is a method for the user's sake; the text it needs is written one tier up, and loaded when called.
# `Outcome.message` likewise. `Request.rights` is a record of the settings, named for the type checker alone.
UPWARD = {("types", "text"), ("types", "present"), ("types", "config")}

MAY_LOAD = {"msgspec", "jsonschema_rs", "rapidfuzz", "re2"}  # the declared dependencies
MODULES = {"google_re2": "re2"}  # where the package has another name than the module
MAY_LOAD_IF_THERE = {"pydantic", "ast_grep_py"}  # a user's own models, the extra `code`; never at the top of a module
MAY_LOAD_IN_VECTORS = {"numpy", "tokenizers"}  # the extra for meanings: late, and in route/vectors*.py alone
NEEDS_VECTORS = "rightcall.route.vectors_compare"  # loads numpy at its top, and is itself loaded late everywhere
MAY_LOAD_IN_CANVAS = {"matplotlib"}  # the extra `charts`: in a file that is only ever loaded inside the sandbox
MAY_LOAD_IN_SERVE = {"httptools", "starlette", "uvicorn", "uvloop"}  # the extra `serve`: nowhere else


MAY_LOAD_IN_ADAPTERS = {  # by file of hosts/: the framework it is for, which its extra brings
    "claude_sdk": {"claude_agent_sdk"},
    "fastmcp": {"fastmcp", "mcp", "mcp_types"},
    "langchain": {"langchain", "langchain_core", "langgraph"},
    "langchain_messages": {"langchain_core"},
    "litellm": {"litellm"},
    "openai_agents": {"agents"},
    "openai_agents_model": {"agents", "openai"},
    "openai_agents_unknown": {"agents", "openai"},
    "pydantic_ai": {"pydantic_ai"},
    "smolagents": {"smolagents"},
}


class Import(NamedTuple):
    file: Path
    line: int
    target: str
    late: bool


def part_of(module: str) -> str:
    """`rightcall.catalog_build` and `rightcall.catalog.build` are both part of `catalog`."""
    names = module.split(".")
    return names[1].lstrip("_").split("_")[0] if len(names) > 1 else names[0]


def module_of(file: Path) -> str:
    names = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imports_of(file: Path) -> Iterator[Import]:
    for node, late in statements(ast.parse(file.read_text(encoding="utf-8")), late=False):
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
        yield from (Import(file, line, target, late) for target in targets)


def statements(node: ast.AST, *, late: bool) -> Iterator[tuple[ast.AST, bool]]:
    """All that can be an import, each with whether it is reached only when a function is called."""
    late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_for_types(node)
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.Import | ast.ImportFrom | ast.Call):
            yield below, late
        if not isinstance(below, ast.Name | ast.Constant | ast.alias | ast.expr_context | ast.arguments):
            yield from statements(below, late=late)


def is_for_types(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:`, whose imports are never loaded."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def is_vectors(file: Path) -> bool:
    return file.parent.name == "route" and file.stem.startswith("vectors")


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


def complaint(source: str, target: str) -> str | None:
    """Why part `source` may not import part `target`; None when it may."""
    if source == target or source == "rightcall" or (source, target) in UPWARD:
        return None
    if source not in RANK or target not in RANK:
        return f"{source} or {target} has no place in TIERS"
    if source in STAGES and target in STAGES:
        return "a stage never imports another stage"
    return "imports point down the pipeline only" if RANK[target] > RANK[source] else None


def test_imports_point_one_way_along_the_pipeline() -> None:
    wrong = [
        f"{found.file.name}:{found.line} imports {found.target}: {why}"
        for found in own_imports()
        if found.target.split(".")[0] == "rightcall"
        and (why := complaint(part_of(module_of(found.file)), part_of(found.target)))
    ]
    assert wrong == []


def test_no_two_parts_import_each_other() -> None:
    edges = {
        (part_of(module_of(found.file)), part_of(found.target))
        for found in own_imports()
        if found.target.split(".")[0] == "rightcall"
    }
    assert [edge for edge in sorted(edges - UPWARD) if edge[0] < edge[1] and edge[::-1] in edges - UPWARD] == []


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("gate", "normalise", True),
        ("cli", "gate", True),
        ("types", "text", True),
        ("normalise", "validate", False),
        ("parse", "catalog", False),
        ("gate", "hosts", False),
        ("gate", "rightcall", False),
        ("somewhere", "types", False),
    ],
)
def test_the_import_rule_says_no_where_it_should(source: str, target: str, allowed: bool) -> None:
    assert (complaint(source, target) is None) is allowed


def test_only_declared_dependencies_are_imported_and_optional_ones_late() -> None:
    wrong = [
        f"{found.file.name}:{found.line} imports {found.target}"
        for found in own_imports()
        if (top := found.target.split(".")[0]) != "rightcall"
        and top not in sys.stdlib_module_names
        and top not in MAY_LOAD
        and not (found.late and top in MAY_LOAD_IF_THERE)
        and not (top in MAY_LOAD_IN_VECTORS and is_vectors(found.file) and (found.late or needs_vectors(found.file)))
        and not (top in MAY_LOAD_IN_CANVAS and found.file.stem == "canvas")
        and not (top in MAY_LOAD_IN_SERVE and part_of(module_of(found.file)) == "serve")
        and not (found.file.parent.name == "hosts" and top in MAY_LOAD_IN_ADAPTERS.get(found.file.stem, ()))
    ]
    assert wrong == []


def test_the_module_that_needs_numpy_is_loaded_late_everywhere() -> None:
    users = [found for found in own_imports() if found.target == NEEDS_VECTORS]
    assert [found.late for found in users] == [True] * len(users) != []


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
    every = "[import_module('rightcall.cli.' + name) for name in COMMANDS if name != 'version']"
    loaded = modules_after(f"from importlib import import_module; from rightcall.cli import COMMANDS; {every}")
    assert "rightcall.cli.serve" in loaded
    assert loaded & MAY_LOAD_IN_SERVE == set()


def test_a_right_call_never_loads_what_only_broken_ones_need() -> None:
    loaded = modules_after(f"from rightcall import Gate; assert Gate([{TOOL}]).check('add', {{'n': 1}}).ok")
    assert "rightcall.gate" in loaded
    assert (
        loaded & {"argparse", "asyncio", "pydantic", "rapidfuzz", "rightcall.judge", "rightcall.parse.reader"} == set()
    )

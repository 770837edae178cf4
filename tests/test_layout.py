"""The tree reads as the pipeline: imports point one way and never in a ring, files have a subject, the public face is
small, starting costs little."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

import rightcall
from rightcall import ConfigError, Endpoint, Executor, Gate, Router, guard, run_loop_sync, tool
from rightcall.cli import home_of
from support.every import every
from support.imports import (
    FRONT,
    SOURCE,
    Import,
    chain,
    edges_of,
    is_for_types,
    module_of,
    of_ours,
    own_imports,
    part_of,
    rings,
)

ROOT = Path(__file__).parent.parent

ORDER = (
    "types", "errors", "base", "catalog", "policy", "gate", "record", "tools", "executor", "models", "router",
    "identity", "proxy", "mcp", "hosts", "server", "doctor", "console", "batch", "learn", "lint", "cli", "__main__",
)  # fmt: skip
"""Each imports only what stands before it."""
RANK = {part: rank for rank, part in enumerate(ORDER)}

SHORT = 60
FRAGMENTS = {
    "__main__.py": "what `python -m rightcall` starts",
    "cli/__main__.py": "what `python -m rightcall.cli` starts: hooks that were installed call it so",
    "hosts/agent_zero_engine.py": "loaded by the extension that an earlier version put into Agent Zero",
    "tools/sandbox/inside/canvas.py": "loaded inside the sandbox alone, where nothing else of ours is",
}
"""Files with fewer lines than that, each with its reason."""

MAY_LOAD = {"msgspec", "jsonschema_rs", "rapidfuzz", "re2"}  # the declared dependencies
MODULES = {"google_re2": "re2"}  # where the package has another name than the module
MAY_LOAD_IF_THERE = {"pydantic", "ast_grep_py"}  # a user's own models, the extra `code`; never at the top of a module
MAY_LOAD_IN_VECTORS = {"numpy"}  # the extra for an index by meaning: late
MAY_LOAD_IN_BATCH = {"numpy", "polars", "pyarrow"}  # what the engine brings that hands a batch over: late
MAY_LOAD_IN_CANVAS = {"matplotlib"}  # the extra `charts`: in a file that is only ever loaded inside the sandbox
MAY_LOAD_IN_TELEMETRY = {"opentelemetry"}  # the extra `otel`: in files that are loaded only where telemetry is on
OF_TELEMETRY = ("otel", "sdk")
MAY_LOAD_IN_IDENTITY = {"joserfc", "keyring"}  # the extra `auth`: late, or in a file that is loaded late
OF_TOKENS = ("tokens",)
MAY_LOAD_IN_POSTGRES = {"psycopg"}  # the extra `postgres`: late, in the store on a server
MAY_LOAD_IN_ENGINES = {"polars", "pyarrow"}  # late: whoever works on such an engine has it
MAY_LOAD_IN_SERVE = {
    "httptools",
    "jinja2",
    "starlette",
    "uvicorn",
    "uvloop",
}  # the extra `serve`: in `server`, in the pages of the console, and in the practice
WITH_SERVER = {"server", "console", "doctor"}  # model, which is a server
WITH_JINJA = {"markupsafe"}  # what jinja2 escapes with, and needs


MAY_LOAD_IN_ADAPTERS = {  # by file of hosts/: the framework it is for, which its extra brings
    "claude_sdk": {"claude_agent_sdk"},
    "fastmcp": {"fastmcp", "mcp", "mcp_types"},
    "langchain": {"langchain", "langchain_core", "langgraph"},
    "litellm": {"litellm"},
    "openai_agents": {"agents", "openai"},
    "pydantic_ai": {"pydantic_ai"},
    "smolagents": {"smolagents"},
}


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
        if not found.typing and (why := complaint(part_of(found.source), part_of(found.target)))
    ]
    assert wrong == []


@every(
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


def test_no_files_import_each_other_in_a_ring() -> None:
    used = [found for found in of_ours() if not found.typing]
    wrong = rings(edges_of(used))
    lines = [
        str(found)
        for group in wrong
        for found in used
        if found.source in group and found.target in group and found.target != found.source
    ]
    assert (wrong, lines) == ([], [])


def test_a_ring_is_found() -> None:
    assert rings({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert rings({"a": {"b"}, "b": {"c"}, "d": {"a"}}) == []


def test_the_longest_chain_of_packages_is_found() -> None:
    pairs = [("a.x", "b"), ("b.y", "c.z"), ("a", "c"), ("c", "d"), ("d.w", "c")]
    imports = [Import(SOURCE, 1, f"{FRONT}.{one}", f"{FRONT}.{other}", False, False) for one, other in pairs]
    assert chain(imports) == ["a", "b", "c + d"]


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
        and not (top in MAY_LOAD_IN_VECTORS and (found.late or found.typing))
        and not (top in MAY_LOAD_IN_BATCH and found.late and part_of(found.source) == "batch")
        and not (top in MAY_LOAD_IN_CANVAS and found.file.stem == "canvas")
        and not (top in MAY_LOAD_IN_TELEMETRY and found.file.stem in OF_TELEMETRY and "telemetry" in found.file.parts)
        and not (top in MAY_LOAD_IN_IDENTITY and (found.late or found.file.stem in OF_TOKENS))
        and not (top in MAY_LOAD_IN_POSTGRES and found.file.parent.name == "postgres" and (found.late or found.typing))
        and not (top in MAY_LOAD_IN_ENGINES and found.file.stem == "engines" and (found.late or found.typing))
        and not (top in MAY_LOAD_IN_SERVE | WITH_JINJA and part_of(found.source) in WITH_SERVER)
        and not (found.file.parent.name == "hosts" and top in MAY_LOAD_IN_ADAPTERS.get(found.file.stem, ()))
    ]
    assert wrong == []


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
    "Door",
    "Endpoint",
    "Event",
    "Executor",
    "Format",
    "Gate",
    "Intent",
    "LoopResult",
    "MemoryStore",
    "ModelError",
    "Note",
    "Outcome",
    "PackError",
    "Packet",
    "Parsed",
    "Policy",
    "PolicyError",
    "Problem",
    "Reading",
    "Refused",
    "Repair",
    "RightCallError",
    "Router",
    "ScriptedModel",
    "SqliteStore",
    "StoreError",
    "SyncExecutor",
    "ToolError",
    "ToolFailure",
    "Unreadable",
    "Verdict",
    "__version__",
    "arun_calls",
    "guard",
    "load_policy",
    "loads",
    "run_calls",
    "run_loop",
    "run_loop_sync",
    "tagged",
    "tool",
]


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(rightcall.__all__) == PUBLIC
    assert [name for name in PUBLIC if not hasattr(rightcall, name)] == []
    assert set(PUBLIC) <= set(dir(rightcall))


INNER = {
    "rightcall.tools.sandbox.inside": "loaded in a process of its own, without anything else of ours",
}
"""Packages without public names, each with its reason."""
PACKAGES = sorted(module_of(file) for file in SOURCE.rglob("__init__.py"))
FRAMEWORKS = {f"rightcall.hosts.{file}" for file in MAY_LOAD_IN_ADAPTERS}
"""Files that are public themselves: importing one loads its framework."""


def test_every_package_says_what_it_is_for_and_offers_names_that_are_there() -> None:
    wrong: list[str] = []
    for package in PACKAGES:
        tree = ast.parse((SOURCE.parent.joinpath(*package.split(".")) / "__init__.py").read_text(encoding="utf-8"))
        if not re.search(r"[\w`)][.?](\s|$)", (ast.get_docstring(tree) or "").replace("TODO", "")):
            wrong.append(f"{package}: its docstring is no sentence")
        if package in INNER:
            continue
        module = import_module(package)
        names, below = module.__dict__.get("__all__", []), {one.stem for one in Path(module.__path__[0]).iterdir()}
        wrong += [f"{package} has no __all__"] * (not names)
        wrong += [f"{package}.{name} is not there" for name in names if not hasattr(module, name)]
        # Which of the two an import gets would depend on what was loaded before.
        wrong += [f"{package}.{name} is the name of a module too" for name in names if name in below]
        for home, name in seen_by_type_checkers(tree):
            if name not in names or getattr(module, name) is not getattr(import_module(home), name):
                wrong.append(f"{package}.{name} is not what a type checker sees")
    assert wrong == []


def seen_by_type_checkers(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for block in filter(is_for_types, tree.body):
        for node in ast.walk(block):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, alias.name) for alias in node.names)


def imports_in(file: Path) -> Iterator[tuple[int, str]]:
    """The modules of ours that a page, an example or the examples in docstrings import from, each with its line."""
    text = file.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines() if SOURCE not in file.parents or ">>> " in text else (), 1):
        if "rightcall" not in line or (SOURCE in file.parents and ">>> " not in line):
            continue
        for found in re.finditer(r"\b(?:from (rightcall[\w.]*) import|import (rightcall[\w.]*))", line):
            yield number, found[1] or found[2]


def test_docs_and_examples_import_from_packages_never_from_their_files() -> None:
    pages = [
        ROOT / "README.md",
        *sorted(ROOT.glob("docs/**/*.md")),
        *sorted(ROOT.glob("examples/*.py")),
        *SOURCE.rglob("*.py"),
    ]
    imported = [(page, line, module) for page in pages for line, module in imports_in(page)]
    assert len(imported) > 50
    assert [
        f"{page.relative_to(ROOT)}:{line} imports from {module}"
        for page, line, module in imported
        if module not in {*PACKAGES} - INNER.keys() | FRAMEWORKS
    ] == []


@cache
def names_in(module: str) -> set[str]:
    """What a module of ours defines or imports at its top, and the modules of a package; from its text: nothing is
    loaded, since a host's adapter needs the host."""
    place = SOURCE.parent.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    names = {one.stem for one in place.glob("*")} if place.is_dir() else set[str]()
    waiting: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    for node in waiting:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=as_name):
                names.add(as_name or name)
            case _:
                pass
        waiting += ast.iter_child_nodes(node)
    return names


@every("folder", ["tests_hosts", "tests_console", "scripts", "bench", "examples"])
def test_what_is_imported_where_types_are_not_checked_is_there(folder: str) -> None:
    missing = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {node.module}.{alias.name}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rightcall"
        for alias in node.names
        if alias.name not in names_in(node.module)
    ]
    assert missing == []


@every(
    ("written", "heard"),
    [
        ("rightcall.Gaet", "module 'rightcall' has no attribute 'Gaet': did you mean 'Gate'?"),
        ("from rightcall import Gaet", "cannot import name 'Gaet' from 'rightcall': did you mean 'Gate'?"),
        ("from rightcall.record import SqlStore", "from 'rightcall.record': did you mean 'SqliteStore'?"),
        ("rightcall.nothing_like_it", "module 'rightcall' has no attribute 'nothing_like_it'"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(written: str, heard: str) -> None:
    with pytest.raises(ImportError if written.startswith("from") else AttributeError) as error:
        exec(written, {"rightcall": rightcall})  # noqa: S102 - as somebody writes it
    assert str(error.value).endswith(heard)


def test_a_module_is_imported_from_a_package_as_from_any_other() -> None:
    names: dict[str, object] = {}
    exec("from rightcall.base import text", names)  # noqa: S102 - as somebody writes it
    assert names["text"] is sys.modules["rightcall.base.text"]


@every(
    ("called", "keyword", "heard"),
    [
        (Gate, "polcy", "Gate.__init__() got an unexpected keyword argument 'polcy': did you mean 'policy'?"),
        (Executor.open, "polcy", "Executor.open() got an unexpected keyword argument 'polcy': did you mean 'policy'?"),
        (Executor.open_sync, "stor", "argument 'stor': did you mean 'store'?"),
        (guard, "gaet", "guard() got an unexpected keyword argument 'gaet': did you mean 'gate'?"),
        (tool, "efects", "tool() got an unexpected keyword argument 'efects': did you mean 'effects'?"),
        (Endpoint, "modle", "Endpoint.__init__() got an unexpected keyword argument 'modle': did you mean 'model'?"),
        (
            partial(run_loop_sync, *cast("tuple[Any, Any]", (None, None)), "hi", caller="me"),
            "round",
            "run_loop_sync() got an unexpected keyword argument 'round': did you mean 'rounds'?",
        ),
        (Gate, "zzzz", "Gate.__init__() got an unexpected keyword argument 'zzzz'"),
    ],
)
def test_a_misspelt_keyword_is_answered_with_the_one_that_was_meant(called: Any, keyword: str, heard: str) -> None:
    with pytest.raises(TypeError) as error:
        called(**{keyword: None})
    assert str(error.value).endswith(heard)


def test_a_misspelt_keyword_of_a_call_that_runs_is_answered_likewise() -> None:
    with (
        Executor.open_sync(store="memory") as executor,
        pytest.raises(TypeError, match=r"^Executor.run\(\) got .* 'calller': did you mean 'caller'\?$"),
    ):
        executor.run({"name": "add", "arguments": {}}, calller="me")


def test_another_mistake_in_a_call_is_told_as_python_tells_it() -> None:
    many: Any = (None,) * 5
    with pytest.raises(TypeError, match=r"^Gate.__init__\(\) takes from 1 to 5 positional arguments but 6 were given$"):
        Gate(*many)


def test_a_misspelt_step_of_a_router_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"`selct` is not an option.*: did you mean 'select'\?$"):
        Router(selct=print)


def test_an_executor_that_is_called_says_how_it_is_opened() -> None:
    for arguments in ({}, {"policy": None}):
        with pytest.raises(TypeError, match=r"Executor\.open\(.*Executor\.open_sync\("):
            Executor(**arguments)


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
    *MAY_LOAD_IN_TELEMETRY,
    *MAY_LOAD_IN_IDENTITY,
    *MAY_LOAD_IN_POSTGRES,
    *MAY_LOAD_IN_ENGINES,
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


@every("command", ["ask", "run", "demo", "install", "pause", "status", "warm"])
def test_a_command_starts_without_what_only_its_work_needs(command: str) -> None:
    loaded = modules_after(f"import rightcall.cli.{home_of(command)}")
    ours = {"executor.executor", "policy.watch", "record.sqlite", "tools.git", "tools.run", "tools.write"}
    assert loaded & {"asyncio", *(f"rightcall.{module}" for module in ours)} == set()


def test_a_right_call_never_loads_what_only_broken_ones_need() -> None:
    loaded = modules_after(f"from rightcall import Gate; assert Gate([{TOOL}]).check('add', {{'n': 1}}).ok")
    assert "rightcall.gate.gate" in loaded
    assert (
        loaded & {"argparse", "asyncio", "pydantic", "rapidfuzz", "rightcall.gate.judge", "rightcall.base.json.reader"}
        == set()
    )


def test_a_hook_loads_nothing_that_only_another_call_or_another_process_needs(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text("version = 1\n")
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    options = ["claude", "--policy", str(tmp_path / "rightcall.toml"), "--root", str(tmp_path)]
    judged = f"from rightcall.hosts.hooks.hook import judge_event, read_options; options = read_options({options!r})"
    said = f"print(judge_event(options, {json.dumps(event).encode()!r}, lambda seconds: None))"
    _, loaded = [modules_after(f"{judged}; {said}") for _ in range(2)]  # the first makes the store
    assert {"rightcall.executor.door", "rightcall.policy.commands.judgement", "rightcall.record.sqlite"} <= loaded
    heavy = {
        "_hashlib",
        "asyncio",
        "inspect",
        "json",
        "logging",
        "msgspec.inspect",
        "pathlib",
        "platform",
        "queue",
        "textwrap",
        "typing_extensions",
        "urllib.parse",
    }
    ours = {"catalog.rules", "executor.executor", "executor.messages", "gate.examples", "gate.judge"}
    ours |= {"hosts.hooks.lenient", "record.memory"}
    assert loaded & (heavy | {f"rightcall.{module}" for module in ours}) == set()


STANDING_IN = """
import sys
from rightcall import {lightened}
assert not {{"datetime", "msgspec.inspect", "msgspec.toml", "textwrap"}} & sys.modules.keys() - {{{kept}}}
import msgspec, string, hashlib, datetime, typing
class Row(msgspec.Struct):
    \"\"\"A row.\"\"\"
    at: "datetime.date"
print(msgspec.json.schema(Row)["$defs"]["Row"], msgspec.inspect.type_info(int), msgspec.toml.decode(b"a = 1979-05-27"))
print(msgspec.json.decode(b'{{"at": "2026-01-01"}}', type=Row), typing.get_type_hints(Row))
print(string.Template("$x").substitute(x=1), sorted(string.digits + string.ascii_letters + string.hexdigits))
print(hashlib.sha256(b"x").hexdigest(), hashlib.blake2b(b"x", key=b"k", digest_size=6).hexdigest(), hashlib.md5(b"x"))
print(datetime.datetime.strptime("2026", "%Y"), datetime.UTC, __import__("textwrap").dedent("  x"))
"""


@pytest.mark.parametrize(
    ("lightened", "kept"),
    [
        ("Gate", ""),
        (
            "lighten; from rightcall.hosts.hooks.hook import _lighten_more; lighten(alone=True); _lighten_more(b'')",
            "'datetime'",
        ),
    ],
)
def test_what_is_loaded_late_is_what_would_have_been_loaded_at_once(lightened: str, kept: str) -> None:
    plain = STANDING_IN[STANDING_IN.index("import msgspec") :].format()
    late = STANDING_IN.format(lightened=lightened, kept=kept)
    heard = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
        for code in (plain, late)
    ]
    assert re.sub("0x[0-9a-f]+", "", heard[0]) == re.sub("0x[0-9a-f]+", "", heard[1]) != ""


def test_an_executor_opens_without_what_only_calls_need() -> None:
    loaded = modules_after("from rightcall import Executor; Executor.open_sync(store='memory').close()")
    assert "rightcall.executor.shipped" in loaded
    heavy = {"asyncio", "inspect", "jsonschema_rs", "logging", "pathlib", "subprocess", "sqlite3", "tomllib"}
    ours = {"executor.pipeline", "gate.judge", "tools.run", "tools.write.desk", "tools.write.save", "tools.web"}
    families = ("tools.git", "tools.sandbox", "tools.code.s", "tools.code.h", "policy.commands.", "base.http")
    assert loaded & (heavy | {f"rightcall.{module}" for module in ours}) == set()
    assert [module for module in loaded if module.removeprefix("rightcall.").startswith(families)] == []

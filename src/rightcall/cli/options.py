"""The options that several commands share, and the gate they describe."""

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from rightcall.cli.lines import InputError, read_text

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate


def gate_options(parser: ArgumentParser, *, tools: bool = True) -> None:
    """--tools, --pack, --policy, --provider."""
    group = parser.add_argument_group("what the gate knows")
    if tools:
        group.add_argument(
            "--tools",
            action="append",
            default=[],
            metavar="FILE",
            help="tools from a .json, .jsonl or .toml file, or module:attribute (imports that module); repeatable",
        )
    group.add_argument(
        "--pack",
        action="append",
        default=[],
        metavar="NAME",
        help="a rule pack, by name or path (`rightcall packs`); repeatable",
    )
    group.add_argument("--policy", metavar="FILE", help="a policy file (TOML)")
    group.add_argument(
        "--provider", metavar="NAME", help="who serves the model (ollama, anthropic, …): its repair settings apply"
    )


def stats_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--stats", action="store_true", help="print the statistics to standard error at the end, as JSON"
    )


def json_option(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as one JSON object")


def build_gate(options: Namespace) -> "Gate":
    """The gate that the options describe; raises ConfigError naming the file that is wrong."""
    from rightcall.gate.gate import Gate

    sources: list[str] = getattr(options, "tools", [])
    if sources:
        tools = load_tools(sources)
    else:
        tools = None
    return Gate(tools, policy=options.policy, packs=tuple(options.pack), **gate_settings(options))


def gate_settings(options: Namespace) -> dict[str, Any]:
    """What the options say of who wrote the text; a command that reads none has only the provider."""
    return {key: getattr(options, key, None) for key in ("provider", "reasoning", "model")}


# ── files of tools ──
# What `--tools` accepts: a JSON, JSON lines or TOML file, or `module:attribute` for tools written in Python.

_PYTHON = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def load_tools(sources: list[str]) -> list[Any]:
    """Everything the sources name, in order, ready for `Gate(tools=...)`."""
    return [tool for source in sources for tool in _load(source)]


def _load(source: str) -> list[Any]:
    if _PYTHON.fullmatch(source) and not os.path.exists(source):
        return _from_python(source)
    suffix = os.path.splitext(source)[1].lower()
    if suffix == ".toml":
        return [source]
    if suffix == ".py":
        raise InputError("give Python tools as module:attribute, for example mytools:TOOLS", source=source)
    text = read_text(source)
    if suffix in (".jsonl", ".ndjson"):
        return _from_lines(text, source)
    return _from_json(text, source)


def _from_json(text: str, source: str) -> list[Any]:
    try:
        return _listed(json.loads(text), source)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" in text.strip():  # several values one after the other: JSON lines
            return _from_lines(text, source)
        raise InputError(
            f"is not JSON: {error.msg} (column {error.colno})", source=source, line=error.lineno
        ) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", source=source) from error


def _from_lines(text: str, source: str) -> list[Any]:
    tools: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            tools += _listed(json.loads(line), source, number)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"is not JSON: {error}", source=source, line=number) from error
    return tools


def _listed(value: Any, source: str, line: int = 0) -> list[Any]:
    """A list of tools, {"tools": [...]}, the answer of an MCP server to tools/list, or one tool."""
    if isinstance(value, dict):
        table = cast(dict[str, Any], value)
        inner = table.get("result") if isinstance(table.get("result"), dict) else table
        listed: Any = cast(dict[str, Any], inner).get("tools")
        value = cast(Any, listed if isinstance(listed, list) else [table])
    if not isinstance(value, list):
        raise InputError(
            f'holds a JSON {type(value).__name__}: a list of tools or {{"tools": [...]}} is needed',
            source=source,
            line=line,
        )
    tools = cast(list[Any], value)
    for position, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise InputError(f"tool number {position + 1} is no JSON object but {tool!r:.60}", source=source, line=line)
    return tools


def _from_python(source: str) -> list[Any]:
    """Imports what the user named. This runs the user's own module, which is why it must be asked for by name."""
    module_name, _, path = source.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module_name)
    except Exception as error:  # whatever a user's module raises while it is imported
        raise InputError(f"importing {module_name} failed: {type(error).__name__}: {error}", source=source) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise InputError(f"{module_name} has no `{path}`", source=source)
        found = getattr(found, part)
    if isinstance(found, dict) and isinstance(cast(dict[str, Any], found).get("tools"), list):
        return list(cast(dict[str, Any], found)["tools"])
    return list(cast(list[Any], found)) if isinstance(found, list | tuple | set | frozenset) else [found]

"""List the rule packs that come with RightCall, or show one (also your own, by its path)."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import (
    InputError,
    build_gate,
    gate_options,
    json_option,
    model_options,
    policy_file,
    policy_of,
)
from rightcall.cli.read import report
from rightcall.cli.terminal import (
    Style,
    count,
    effect_words,
    harmless_lines,
    labelled,
    pad,
    tell,
    value_text,
    visible_width,
    wrap,
)
from rightcall.errors import ModelError, RightCallError
from rightcall.gate.records import json_text, reading_record
from rightcall.types import Verdict

if TYPE_CHECKING:
    from rightcall.catalog.tool import Pack, Tool
    from rightcall.gate.gate import Gate
    from rightcall.gate.recover.window import Format
    from rightcall.router.packets import Requests


# ── signature ──
# A tool's arguments in few words, from its JSON Schema.

_MOST_VALUES = 6
_DEEPEST = 4


class Argument(Struct, frozen=True):
    """One argument as a person reads it."""

    name: str
    type: str
    required: bool
    aliases: tuple[str, ...] = ()
    default: Any = None
    description: str = ""


def arguments_of(schema: Mapping[str, Any], rules: Any) -> tuple[Argument, ...]:
    """The arguments in the schema's order; those that only a rule names come last."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = {*schema.get("required", ()), *rules.required}
    names = dict.fromkeys((*properties, *rules.required, *(name for group in rules.required_any for name in group)))
    return tuple(
        Argument(
            name=name,
            type=type_words(properties.get(name, True), schema),
            required=name in required and name not in rules.required_unless,
            aliases=tuple(alias for alias, target in rules.aliases.items() if target == name),
            default=rules.defaults.get(name),
            description=_description(properties.get(name)),
        )
        for name in names
    )


def render_mapping(mapping: Mapping[str, Any]) -> str:
    """`bash, sh → terminal; py → python`: what maps to the same is said once."""
    groups: dict[str, list[str]] = {}
    for source, target in mapping.items():
        groups.setdefault(_value_words(target), []).append(escaped(source))
    return "; ".join(f"{', '.join(sources)} → {target}" for target, sources in groups.items())


def conditions(rules: Any) -> list[str]:
    """What is needed beyond the marks: one of a group, or an argument unless another has a certain value."""
    lines = [f"needs one of: {', '.join(map(escaped, group))}" for group in rules.required_any]
    for name, exceptions in rules.required_unless.items():
        words = (f"{escaped(key)} is {' or '.join(map(_value_words, values))}" for key, values in exceptions.items())
        lines.append(f"needs {escaped(name)} unless {' or '.join(words)}")
    return lines


def stated_rules(rules: Any) -> dict[str, Any]:
    """Only what the rules say, as plain data."""
    said: dict[str, Any] = msgspec.to_builtins(rules)
    return {key: value for key, value in said.items() if value not in ({}, [], None)}


def _description(schema: Any) -> str:
    text = cast(dict[str, Any], schema).get("description", "") if isinstance(schema, dict) else ""
    return " ".join(str(text).split())


def type_words(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """`integer`, `list of text`, `celsius | fahrenheit`, `text or null`, …"""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "anything"
    schema = _looked_up(cast(Mapping[str, Any], schema), root)
    if "const" in schema:
        return _value_words(schema["const"])
    if isinstance(schema.get("enum"), list):
        return _enum_words(cast(list[Any], schema["enum"]))
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            kinds = (type_words(one, root, depth + 1) for one in cast(list[Any], schema[word]))
            return " or ".join(dict.fromkeys(kinds)) or "anything"
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = (_plain(str(one), schema, root, depth) for one in cast(list[Any], kind))
        return " or ".join(dict.fromkeys(kinds)) or "anything"
    return _plain(kind if isinstance(kind, str) else "object" if "properties" in schema else "", schema, root, depth)


def _plain(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if kind == "array" and "items" in schema:
        return f"list of {type_words(schema['items'], root, depth + 1)}"
    words = {"string": "text", "array": "list", "": "anything"}.get(kind, escaped(kind))
    if kind == "object" and isinstance(schema.get("properties"), Mapping) and depth < 2:
        names = list(cast(Mapping[str, Any], schema["properties"]))
        rest = ", …" if len(names) > _MOST_VALUES else ""
        return f"object {{{', '.join(map(escaped, names[:_MOST_VALUES]))}{rest}}}"
    return words + _bounds(schema, kind)


def _bounds(schema: Mapping[str, Any], kind: str) -> str:
    if kind not in ("integer", "number"):
        return ""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" {low} to {high}"
    return f" from {low}" if low is not None else f" up to {high}" if high is not None else ""


def _enum_words(values: list[Any]) -> str:
    rest = f" | … {len(values)} in all" if len(values) > _MOST_VALUES else ""
    return " | ".join(_value_words(value) for value in values[:_MOST_VALUES]) + rest


def _value_words(value: Any) -> str:
    return escaped(value) if isinstance(value, str) and value.strip() else json_text(value)


def _looked_up(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follows a reference inside the same schema, once: a circle is somebody else's problem."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return schema
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = cast(Mapping[str, Any], found).get(key) if isinstance(found, Mapping) else None
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else schema


EXAMPLES = """\
examples:
  rightcall packs
  rightcall packs agent-zero
  rightcall packs ./my-pack.toml --json
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="Name of a pack, or path of a .toml file")
    json_option(parser)


def run(options: Namespace) -> int:
    from rightcall.catalog.packs import available_packs, load_pack

    packs = [load_pack(name) for name in ([options.name] if options.name else available_packs())]
    show = detail if options.name else summary
    record = {"packs": [pack_record(pack, whole=bool(options.name)) for pack in packs]}
    tell(options, record, lambda style: [line for pack in packs for line in show(pack, style)])
    return OK


def pack_record(pack: "Pack", *, whole: bool) -> dict[str, Any]:
    """A pack as `--json` prints it: names only in the list, everything when it is asked for alone."""
    tools: list[Any] = [pack_tool_record(tool) if whole else tool.name for tool in pack.tools]
    return {"name": pack.name, "description": pack.description, "tools": tools}


def pack_tool_record(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "effects": None if tool.effects is None else sorted(tool.effects),
        "parameters": tool.schema,
        "rules": stated_rules(tool.rules),
    }


def summary(pack: "Pack", style: Style) -> list[str]:
    names = ", ".join(escaped(tool.name) for tool in pack.tools)
    return [
        style.tint(escaped(pack.name), "bold"),
        *("  " + line for line in wrap(escaped(pack.description), style.width - 2)),
        *("  " + line for line in wrap(f"{count(pack.tools, 'tool')}: {names}", style.width - 2)),
    ]


def detail(pack: "Pack", style: Style) -> list[str]:
    """Every tool of a pack with its arguments and rules."""
    lines = [style.tint(escaped(pack.name), "bold"), *wrap(escaped(pack.description), style.width), ""]
    for tool in pack.tools:
        lines += [*_pack_tool_lines(tool, style), ""]
    return lines[:-1]


def _pack_tool_lines(tool: Any, style: Style) -> list[str]:
    effects = style.tint(f"[{effect_words(tool.effects)}]", "dim")
    lines = [f"{style.tint(escaped(tool.name), 'bold')}  {effects}"]
    for text in _rule_lines(tool):
        lines += ["  " + line for line in wrap(text, style.width - 2)]
    return lines


def _rule_lines(tool: Any) -> list[str]:
    """What a pack says of a tool, a line for each kind of rule it uses."""
    rules = tool.rules
    given = arguments_of(tool.schema or {}, rules)
    lengths = [f"{escaped(name)} {least} characters" for name, least in rules.min_length.items()]
    return [
        *([escaped(" ".join(tool.description.split()))] if tool.description else []),
        *_line("deprecated: use", [rules.replaced_by] if rules.replaced_by else []),
        *_line("also called:", rules.names),
        *_line("arguments:", [one.name + ("*" if one.required else "") for one in given]),
        *conditions(rules),
        *_line("aliases:", [render_mapping(rules.aliases)] if rules.aliases else []),
        *(f"values of {escaped(argument)}: {render_mapping(values)}" for argument, values in rules.values.items()),
        *_line("defaults:", [json_text(dict(rules.defaults))] if rules.defaults else []),
        *_line("at least:", lengths),
        *_line("holds JSON as text:", rules.json_text),
        *_line("paths:", rules.paths),
        *_line("commands:", rules.commands),
        *_line("addresses:", rules.urls),
        *_line("holds other calls, each checked by its own rules:", [rules.batch.list] if rules.batch else []),
        *_line("example:", [json_text(dict(rules.example))] if rules.example is not None else []),
    ]


def _line(label: str, words: Iterable[str]) -> list[str]:
    said = ", ".join(map(escaped, words))
    return [f"{label} {said}"] if said else []


HELP_TOOLS = """\
Show every tool with its arguments, aliases and effects, or one tool in full. Without `--tools` and `--pack`: those
that `rightcall run` has in this folder, ours and those of the policy and its MCP servers."""

EXAMPLES_TOOLS = """\
examples:
  rightcall tools
  rightcall tools --pack agent-zero
  rightcall tools --tools tools.json --json
  rightcall tools search_engine --pack agent-zero
  rightcall tools --tools mymodule:TOOLS
  rightcall tools --write-examples --upstream http://127.0.0.1:8080/v1 --model qwen3-4b
"""


def arguments_tools(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="Show this tool: schema, rules, example")
    parser.add_argument(
        "--write-examples", action="store_true",
        help="Ask a model for example requests of each tool that has none, for the router",
    )  # fmt: skip
    json_option(parser)
    gate_options(parser)
    model_options(parser, "the model of --write-examples")


def run_tools(options: Namespace) -> int:
    where = _where_written(options)
    if options.tools or options.pack:
        gate = build_gate(options)
    else:
        options.policy = policy_file(Namespace(policy=options.policy, root="."))
        gate = _gate_here(options)
    catalog = gate.catalog
    tools = {**catalog.tools, **_server_tools(options)}
    if not tools:
        raise InputError("no tool is defined there; `rightcall tools` alone shows those known in this folder")
    catalog = replace(catalog, tools=tools, get=tools.get)
    shown = list(tools.values()) if options.name is None else [_tool_named(catalog, options.name)]

    missed = _write_examples(where, gate, shown) if options.write_examples else 0
    requests = _requests_of(shown)

    def lines(style: Style) -> list[str]:
        if options.name is not None:
            return [*whole(shown[0], style), *_example_lines(requests, shown[0], style)]
        found = [line for tool in shown for line in tool_lines(tool, style, _whose(requests.get(tool.name)))]
        bare = sum(not requests.get(tool.name) for tool in shown)
        without = f", {bare} without examples of requests" if bare else ""
        return [*found, style.tint(count(shown, "tool") + without, "dim")]

    tell(options, {"tools": [catalogue_record(tool) | _examples_record(requests, tool) for tool in shown]}, lines)
    return REFUSED if missed else OK


def _gate_here(options: Namespace) -> "Gate":
    """With the tools that `rightcall run` has in this folder: ours, and those of the policy."""
    from rightcall.executor.explain import toolbox_of
    from rightcall.policy.watch import load_policy

    file = None if options.policy is None else os.path.abspath(options.policy)
    return toolbox_of(load_policy(options.policy), file, ".").gate


# ── examples of requests ──
# Whose they are, and having a model write those that are missing.


def _where_written(options: Namespace) -> Namespace:
    """The folder whose examples are meant, with its policy, which may name a model."""
    alone = next((name for name in ("upstream", "model", "key_env") if getattr(options, name) is not None), None)
    if alone is not None and not options.write_examples:
        raise InputError(f"--{alone.replace('_', '-')} needs `--write-examples`")
    where = Namespace(**vars(options), root=".")
    if options.write_examples:
        from rightcall.cli.trust import offer_trust

        offer_trust(where)
    return where


def _requests_of(tools: "Iterable[Tool]") -> "dict[str, Requests]":
    """The examples of each tool that has any. A damaged file is told, and nothing of it used."""
    from rightcall.router.packets import Requests, digest_of, load_requests, shipped_examples

    try:
        written = load_requests(".")
    except RightCallError as fault:
        sys.stderr.write(f"rightcall: {fault}\n")
        written = {}
    found: dict[str, Requests] = {}
    for tool in tools:
        if tool.rules.examples:
            found[tool.name] = Requests(tool.rules.examples, "definition")
        elif tool.name in shipped_examples():
            found[tool.name] = Requests(shipped_examples()[tool.name], "rightcall")
        elif tool.name in written and written[tool.name].fits(digest_of(tool.name, tool.description, tool.schema)):
            found[tool.name] = written[tool.name]
    return found


def _write_examples(where: Namespace, gate: "Gate", tools: "Iterable[Tool]") -> int:
    """Ask for those that are missing and keep each at once; for how many tools there is still none."""
    from asyncio import run as waiting_for

    from rightcall.cli.persons import waiting
    from rightcall.cli.routing import asked_model
    from rightcall.router.lexical import ToolText
    from rightcall.router.packets import YOU, ask_for_requests, examples_file, keep_requests, load_requests

    model = asked_model(where, policy_of(where).router, "tools --write-examples")
    written, known = load_requests(where.root), _requests_of(tools)
    missed = 0
    for tool in tools:
        name = escaped(tool.name, 100)
        if tool.name in known:
            continue
        if tool.name in written and written[tool.name].by == YOU:
            sys.stderr.write(f"{name}: your examples are for another definition; correct them, or remove `digest`\n")
            continue
        text = ToolText(tool.name, tool.description, tool.schema)
        try:
            with waiting(lambda seconds, name=name: f"{seconds:.0f} s  {name}"):
                requests = waiting_for(ask_for_requests(model, text, gate))
        except ModelError as fault:
            if fault.fault != "unreadable":
                raise
            sys.stderr.write(f"{name}: {fault}\n")
            missed += 1
            continue
        keep_requests(where.root, tool.name, requests)
        sys.stderr.write(f"{name}: {count(requests.examples, 'example')}\n")
    sys.stderr.write(f"rightcall: the examples are in {escaped(examples_file(where.root))}; edit them there\n")
    return missed


_BY = {"definition": "in its definition", "rightcall": "by RightCall"}


def _whose(requests: "Requests | None") -> str:
    if not requests:
        return ""
    by = _BY.get(requests.by) or f"by {escaped(requests.by, 100)}"
    return f"examples of requests: {len(requests.examples)} {by}"


def _example_lines(requests: "Mapping[str, Requests]", tool: "Tool", style: Style) -> list[str]:
    """Those that do not stand among its rules already."""
    found = requests.get(tool.name)
    if found is None or tool.rules.examples:
        return []
    return ["", style.tint(_whose(found), "bold"), *(escaped(one) for one in found.examples)]


def _examples_record(requests: "Mapping[str, Requests]", tool: "Tool") -> dict[str, Any]:
    found = requests.get(tool.name)
    return {"examples": list(found.examples) if found else [], "examples_by": found.by if found else None}


def _server_tools(options: Namespace) -> "dict[str, Tool]":
    """Those of the servers of the policy, as they are at this moment."""
    if options.policy is None:
        return {}

    from rightcall.executor.executor import Executor

    executor = Executor.open(policy=options.policy, store="memory", packs=options.pack, code=False)
    if not executor.has_servers:
        return {}
    executor.start()
    with closing(executor):
        found, away = executor.served()
    for server, why in away.items():
        sys.stderr.write(f"rightcall: the server {escaped(server, 100)} {escaped(why, 300)}\n")
    return found


def _tool_named(catalog: Any, name: str) -> "Tool":
    match = catalog.find(name)
    if match.tool is not None:
        return match.tool
    near = " or ".join(f"`{one}`" for one in match.suggestions)
    raise InputError(
        f"unknown tool `{name}`" + (f": did you mean {near}?" if near else ": run `rightcall tools` to list them")
    )


def catalogue_record(tool: "Tool") -> dict[str, Any]:
    """A tool as `--json` prints it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "source": tool.source,
        "effects": sorted(tool.effects),
        "effects_declared": tool.effects_declared,
        "deprecated": tool.deprecated,
        "replaced_by": tool.rules.replaced_by,
        "parameters": tool.schema,
        "rules": stated_rules(tool.rules),
        "unchecked": list(tool.unchecked),
    }


def tool_lines(tool: "Tool", style: Style, examples: str = "") -> list[str]:
    """A tool in a few lines: name, source, effects, one line per argument."""
    lines = [_title(tool, style)]
    if tool.rules.replaced_by:
        lines.append(f"  deprecated: use {escaped(tool.rules.replaced_by)}")
    given = arguments_of(tool.schema, tool.rules)
    width = max((len(argument.name) for argument in given), default=0)
    for argument in given:
        pieces = wrap(_words(argument), max(20, style.width - width - 5))
        lines += [f"  {_mark(argument)} {pad(escaped(argument.name), width)}  {pieces[0]}"]
        lines += [" " * (width + 6) + piece for piece in pieces[1:]]
    lines += [f"  {condition}" for condition in conditions(tool.rules)]
    if tool.rules.names:
        lines += wrap(f"  also called: {', '.join(map(escaped, tool.rules.names))}", style.width)
    return [*lines, f"  {examples}", ""] if examples else [*lines, ""]


def _title(tool: "Tool", style: Style) -> str:
    effects = effect_words(tool.effects if tool.effects_declared else None)
    return f"{style.tint(escaped(tool.name), 'bold')}  {style.tint(f'[{escaped(tool.source)}; {effects}]', 'dim')}"


def _mark(argument: Argument) -> str:
    return "*" if argument.required else " "


def _words(argument: Argument) -> str:
    parts = [argument.type]
    if argument.default is not None:
        parts.append(f"default {json_text(argument.default)}")
    if argument.aliases:
        parts.append(f"also {', '.join(map(escaped, argument.aliases))}")
    return "; ".join(parts)


def whole(tool: "Tool", style: Style) -> list[str]:
    """Everything known of one tool."""
    lines = tool_lines(tool, style)[:-1]
    if tool.description:
        lines += ["", *wrap(escaped(" ".join(tool.description.split())), style.width)]
    lines += ["", style.tint("schema", "bold"), *json_text(tool.schema, indent=2).split("\n")]
    rules = stated_rules(tool.rules)
    example = rules.pop("example", None)
    if rules:
        lines += ["", style.tint("rules", "bold"), *json_text(rules, indent=2).split("\n")]
    if example is not None:
        lines += ["", style.tint("example", "bold"), json_text(example)]
    if tool.unchecked:
        lines += ["", style.tint("not checked", "bold"), *(escaped(note) for note in tool.unchecked)]
    return lines


HELP_FORMATS = """\
List the formats of calls that RightCall reads, or show one with its example and the call read from it."""


EXAMPLES_FORMATS = """\
examples:
  rightcall formats
  rightcall formats hermes
  rightcall formats --json
"""


def arguments_formats(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="Show this format: its tokens, an example, the calls read from it"
    )
    json_option(parser)


def run_formats(options: Namespace) -> int:
    from rightcall.gate.recover.machine import builtin_formats

    formats = builtin_formats()
    shown = formats if options.name is None else [_format_named(formats, options.name)]
    record = {"formats": [format_record(one, whole=options.name is not None) for one in shown]}
    tell(
        options, record, lambda style: listing(shown, style) if options.name is None else format_lines(shown[0], style)
    )
    return OK


def _format_named(formats: Sequence["Format"], name: str) -> "Format":
    from difflib import get_close_matches

    for one in formats:
        if one.name == name:
            return one
    near = get_close_matches(name, [one.name for one in formats], n=1)
    hint = f"did you mean `{near[0]}`?" if near else "run `rightcall formats` to list them"
    raise InputError(f"unknown format `{name}`: {hint}")


def format_record(one: "Format", *, whole: bool) -> dict[str, Any]:
    """A format as `--json` prints it; what reading its example gives only when it is asked for alone."""
    words = {"opens": list(dict.fromkeys(one.opens)), "closes": list(dict.fromkeys(one.closes))}
    record = {"name": one.name, "about": one.about, **words, "example": one.example}
    if not whole:
        return record
    from rightcall.gate.gate import Gate

    return {**record, "reading": reading_record(Gate().read(one.example), one.example)}


def listing(formats: Sequence["Format"], style: Style) -> list[str]:
    """A table: the name, whose it is, and the words it opens with."""
    name = max(len(one.name) for one in formats)
    about = (style.width - name - 4) // 2
    widths = (name, about, style.width - name - about - 4)
    lines = [style.tint(line, "bold") for line in _row(["format"], ["models, or what it is"], ["opens with"], widths)]
    for one in formats:
        opens = words_filled(one.opens, widths[2], most=3)
        lines += _row([escaped(one.name)], wrap(escaped(one.about), about), opens, widths)
    return [*lines, "", f"{count(formats, 'format')}; `rightcall formats NAME` shows an example of one"]


def _row(name: list[str], about: list[str], opens: list[str], widths: Sequence[int]) -> list[str]:
    return [
        "  ".join(pad(piece, width) for piece, width in zip(pieces, widths, strict=True)).rstrip()
        for pieces in zip_longest(name, about, opens, fillvalue="")
    ]


def words_filled(words: Sequence[str], width: int, *, most: int | None = None) -> list[str]:
    """Opening words in lines of at most `width` columns, none of them broken: a blank may be part of one."""
    distinct = [escaped(word.replace("\n", "\\n")) for word in dict.fromkeys(words)]
    if most is not None and len(distinct) > most:
        distinct[most:] = [f"… {len(distinct) - most} more"]
    lines: list[str] = []
    for word in distinct:
        if lines and visible_width(f"{lines[-1]}  {word}") <= width:
            lines[-1] += f"  {word}"
        else:
            lines.append(word)
    return lines


def format_lines(one: "Format", style: Style) -> list[str]:
    """Everything about one format, and its example read by a gate that knows no tools."""
    from rightcall.gate.gate import Gate

    reading = Gate().read(one.example)
    return [
        style.tint(escaped(one.name), "bold"),
        *wrap(escaped(one.about), style.width),
        *labelled("opens with", words_filled(one.opens, style.width - 20), style),
        *labelled("closes with", words_filled(one.closes, style.width - 20), style),
        "",
        style.tint("example", "bold"),
        *harmless_lines(one.example),
        "",
        style.tint("what is read", "bold"),
        *report(reading, one.example, style, explain=not reading.calls),
    ]


# ── explain ──
# `rightcall check --explain`: the same verdict with everything that led to it.

_STRATEGIES = {
    "direct": "it was right as written",
    "python_ast": "read as Python literals",
    "regex_quotes": "quotes repaired",
    "structure": "text, names or types repaired by the schema",
    "manual_repair": "repaired by a rule for this tool",
    "llm": "put together by the model of `[gate.llm]`",
    "failed": "no strategy gave a certain result",
}


def explanation(verdict: Verdict, name: str, gate: "Gate", style: Style) -> list[str]:
    """How the call was read, which tool it was taken for, and what strategy, confidence and mode mean."""
    lines: list[str] = []
    if verdict.ok and verdict.found is not None:
        lines += labelled("read as", [value_text(verdict.found.arguments)], style)
    lines += labelled("strategy", [f"{verdict.strategy}: {_STRATEGIES[verdict.strategy]}"], style)
    if verdict.ok:
        lines += labelled("confidence", [f"{verdict.confidence:.2f}: the lowest of all repairs, 1 is certain"], style)
    lines += labelled("mode", [_mode(verdict)], style)
    return lines + _tool(verdict, name, gate, style)


def _mode(verdict: Verdict) -> str:
    return {
        "block": "block: a call with problems is refused",
        "warn": "warn: a call with problems runs, and the model is told",
        "observe": "observe: nothing is changed or refused, only reported",
    }[verdict.mode]


def _tool(verdict: Verdict, name: str, gate: "Gate", style: Style) -> list[str]:

    called = verdict.call.name if verdict.call else name
    tool = gate.catalog.get(called)
    if tool is None:
        known = ", ".join(map(escaped, gate.catalog.names[:20])) or "none: give --tools or --pack"
        return labelled("tools known", [known], style)
    return labelled("the tool", tool_lines(tool, style)[:-1], style)

"""Show the catalogue: every tool with its arguments, aliases and effects, or one tool whole."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.lines import InputError
from rightcall.cli.options import build_gate, gate_options, json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.signature import Argument, arguments_of, conditions, effect_words, stated
from rightcall.cli.terminal import Style, count, pad, say, style_for, wrap
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.catalog import Tool

EXAMPLES = """\
examples:
  rightcall tools --pack agent-zero
  rightcall tools --tools tools.json --json
  rightcall tools search_engine --pack agent-zero
  rightcall tools --tools mymodule:TOOLS
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this tool whole: schema, rules, example")
    json_option(parser, "the catalogue")
    gate_options(parser)


def run(options: Namespace) -> int:
    catalog = build_gate(options).catalog
    if not catalog.tools:
        raise InputError("there are no tools to show: give --tools FILE or --pack NAME (`rightcall packs` lists them)")
    shown = list(catalog.tools.values()) if options.name is None else [_one(catalog, options.name)]
    if options.json:
        record = {"tools": [tool_record(tool) for tool in shown]}
        say(json_text(record, ascii_only=not is_unicode(sys.stdout)))
    elif options.name is None:
        style = style_for(sys.stdout)
        for tool in shown:
            say(*summary(tool, style))
        say(style.tint(count(shown, "tool"), "dim"))
    else:
        say(*whole(shown[0], style_for(sys.stdout)))
    return OK


def _one(catalog: Any, name: str) -> "Tool":
    match = catalog.find(name)
    if match.tool is not None:
        return match.tool
    near = " or ".join(f"`{one}`" for one in match.suggestions)
    raise InputError(f"there is no tool `{name}`" + (f": did you mean {near}?" if near else ""))


def tool_record(tool: "Tool") -> dict[str, Any]:
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
        "rules": stated(tool.rules),
        "unchecked": list(tool.unchecked),
    }


def summary(tool: "Tool", style: Style) -> list[str]:
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
    return [*lines, ""]


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
    lines = summary(tool, style)[:-1]
    if tool.description:
        lines += ["", *wrap(escaped(" ".join(tool.description.split())), style.width)]
    lines += ["", style.tint("schema", "bold"), *json_text(tool.schema, indent=2).split("\n")]
    rules = stated(tool.rules)
    example = rules.pop("example", None)
    if rules:
        lines += ["", style.tint("rules", "bold"), *json_text(rules, indent=2).split("\n")]
    if example is not None:
        lines += ["", style.tint("example", "bold"), json_text(example)]
    if tool.unchecked:
        lines += ["", style.tint("not checked", "bold"), *(escaped(note) for note in tool.unchecked)]
    return lines

"""List the rule packs that come with RightCall, or show one (also your own, by its path)."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.signature import arguments_of, conditions, effect_words, grouped
from rightcall.cli.terminal import Style, count, say, style_for, wrap
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.packs import Pack

EXAMPLES = """\
examples:
  rightcall packs
  rightcall packs agent-zero
  rightcall packs ./my-pack.toml --json
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a pack by name, or the path of a .toml file")
    json_option(parser, "the packs")


def run(options: Namespace) -> int:
    from rightcall.packs import available_packs, load_pack

    packs = [load_pack(name) for name in ([options.name] if options.name else available_packs())]
    if options.json:
        record = {"packs": [pack_record(pack, whole=bool(options.name)) for pack in packs]}
        say(json_text(record, ascii_only=not is_unicode(sys.stdout)))
        return OK
    style = style_for(sys.stdout)
    for pack in packs:
        say(*(detail(pack, style) if options.name else summary(pack, style)))
    return OK


def pack_record(pack: "Pack", *, whole: bool) -> dict[str, Any]:
    """A pack as `--json` prints it: names only in the list, everything when it is asked for alone."""
    tools: list[Any] = [tool_record(tool) if whole else tool.name for tool in pack.tools]
    return {"name": pack.name, "description": pack.description, "tools": tools}


def tool_record(tool: Any) -> dict[str, Any]:
    import msgspec

    return {
        "name": tool.name,
        "description": tool.description,
        "effects": None if tool.effects is None else sorted(tool.effects),
        "parameters": tool.schema,
        "rules": msgspec.to_builtins(tool.rules),
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
        lines += [*_tool_lines(tool, style), ""]
    return lines[:-1]


def _tool_lines(tool: Any, style: Style) -> list[str]:
    effects = style.tint(f"[{effect_words(tool.effects)}]", "dim")
    lines = [f"{style.tint(escaped(tool.name), 'bold')}  {effects}"]
    for text in _rule_lines(tool):
        lines += ["  " + line for line in wrap(text, style.width - 2)]
    return lines


def _rule_lines(tool: Any) -> list[str]:
    rules = tool.rules
    given = arguments_of(tool.schema or {}, rules)
    lines = [escaped(" ".join(tool.description.split()))] if tool.description else []
    if rules.replaced_by:
        lines.append(f"deprecated: use {escaped(rules.replaced_by)}")
    if rules.names:
        lines.append("also called: " + ", ".join(map(escaped, rules.names)))
    if given:
        lines.append("arguments: " + ", ".join(escaped(one.name) + ("*" if one.required else "") for one in given))
    lines += conditions(rules)
    if rules.aliases:
        lines.append(f"aliases: {grouped(rules.aliases)}")
    lines += [f"values of {escaped(argument)}: {grouped(values)}" for argument, values in rules.values.items()]
    if rules.defaults:
        lines.append("defaults: " + json_text(dict(rules.defaults)))
    if rules.min_length:
        lines.append("at least: " + ", ".join(f"{escaped(a)} {n} characters" for a, n in rules.min_length.items()))
    if rules.example is not None:
        lines.append("example: " + json_text(dict(rules.example)))
    return lines

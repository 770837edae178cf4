"""List the rule packs that come with RightCall, or show one (also your own, by its path)."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.signature import arguments_of, conditions, effect_words, grouped, stated
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
    return {
        "name": tool.name,
        "description": tool.description,
        "effects": None if tool.effects is None else sorted(tool.effects),
        "parameters": tool.schema,
        "rules": stated(tool.rules),
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
        *_line("aliases:", [grouped(rules.aliases)] if rules.aliases else []),
        *(f"values of {escaped(argument)}: {grouped(values)}" for argument, values in rules.values.items()),
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

"""Check one call, or JSON lines of calls: repair what is certain, refuse the rest with a hint."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import (
    InputError,
    build_gate,
    gate_options,
    json_option,
    lines_options,
    read_argument,
    stats_option,
)
from rightcall.cli.terminal import ADD_TOOLS, NO_TOOLS, Style, Whole, labelled, print_stats, report, tell
from rightcall.gate.records import verdict_record
from rightcall.types import Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

EXAMPLES = """\
examples:
  rightcall check get_weather "{'city': 'Rome', days: 3}" --tools tools.json
  rightcall check code_execution_tool '{"runtime": "bash", "command": "ls"}' --pack agent-zero
  rightcall check get_weather @arguments.txt --tools tools.json --json
  some-program | rightcall check get_weather - --tools tools.json
  rightcall check --jsonl calls.jsonl --tools tools.json --stats > verdicts.jsonl

a JSON line: {"id": …, "name" or "tool": …, "arguments" or "args" or "emitted": …}, and optionally the tools
of that line alone: "tools": […], or "schema": {…} for the arguments of the tool it names.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="Name of the tool (with --jsonl: a file, or -)")
    parser.add_argument(
        "args",
        nargs="?",
        metavar="ARGS",
        help="Arguments as the model wrote them; @FILE reads a file, - standard input",
    )
    parser.add_argument("--jsonl", action="store_true", help="Read calls as JSON lines; answer each with one line")
    lines_options(parser)
    parser.add_argument(
        "--explain", action="store_true", help="Explain more: how the call was read, the tool, the figures"
    )
    stats_option(parser)
    json_option(parser)
    gate_options(parser)


def run(options: Namespace) -> int:
    if options.jsonl:
        return _run_lines(options)
    if options.tool is None or options.args is None:
        raise InputError("check needs TOOL and ARGS, or --jsonl; `rightcall check --help` shows examples")
    gate = build_gate(options)
    written = read_argument(options.args)
    verdict = gate.check(options.tool, written)
    tell(options, verdict_record(verdict, options.tool), lambda style: _lines(options, gate, verdict, written, style))
    if options.stats:
        print_stats(gate.stats())
    return OK if verdict.ok else REFUSED


def _lines(options: Namespace, gate: "Gate", verdict: "Verdict", written: str, style: Style) -> list[str]:
    lines = report(verdict, options.tool, written, style)
    if verdict.ok and not gate.catalog.tools:
        lines[0] = style.tint(f"! {escaped(options.tool)} can be read: {NO_TOOLS}", "yellow", "bold")
        lines += labelled("next", [Whole(ADD_TOOLS)], style)
    if options.explain:
        from rightcall.cli.packs import explanation

        lines += explanation(verdict, options.tool, gate, style)
    return lines


def _run_lines(options: Namespace) -> int:
    from rightcall.cli.lines import run_lines

    if options.args is not None:
        raise InputError("--jsonl takes one file (or nothing for standard input), the arguments stand in its lines")
    return run_lines(options, options.tool or "-")

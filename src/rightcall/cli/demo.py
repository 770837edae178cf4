"""Take broken calls of many kinds through the gate, then run some under a policy, and show what happens to each."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.demo_cases import CASES, PACKS, TOOLS, DemoCase
from rightcall.cli.output import is_unicode, json_text, verdict_record
from rightcall.cli.render import headline, labelled, problem_lines, repair_lines, value_text, written_lines
from rightcall.cli.terminal import Style, beside, harmless_lines, say, style_for, wrap

if TYPE_CHECKING:
    from rightcall.types import Verdict

EXAMPLES = """\
examples:
  rightcall demo
  rightcall demo --plain
  rightcall demo --json | head -1
"""

_NARROWEST_PAIR = 90  # below this many columns the two sides stand one under the other

_NEXT = (
    'rightcall check code_execution_tool \'{"runtime": "bash", "command": "ls"}\' --pack agent-zero',
    """rightcall read 'On it. <tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>' --explain""",
    "rightcall formats",
    "rightcall init; rightcall policy explain --as teacher code/execute/python",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="no colours, also on a terminal")
    parser.add_argument("--json", action="store_true", help="print one JSON object per call")


def run(options: Namespace) -> int:
    from rightcall.gate import Gate

    gate = Gate(list(TOOLS), packs=PACKS)
    style = style_for(sys.stdout, plain=options.plain)
    if not options.json:
        say(*_opening(style))
    for number, case in enumerate(CASES, 1):
        verdict = gate.check(case.tool, case.wrote)
        if options.json:
            say(json_text(_record(case, verdict), ascii_only=not is_unicode(sys.stdout)))
        else:
            say(*_render_case(number, case, verdict, style))
    if not options.json:
        from rightcall.cli.demo_running import demonstration

        say(*_summary(gate.stats(), style), *demonstration(style), *_closing(style))
    return OK


def _record(case: DemoCase, verdict: "Verdict") -> dict[str, Any]:
    return {"title": case.title, "model": case.model, "wrote": case.wrote, **verdict_record(verdict, case.tool)}


def _opening(style: Style) -> list[str]:
    return [
        style.tint("RightCall: every tool call comes out right, or not at all.", "bold"),
        *wrap(f"{len(CASES)} broken calls, made up for this demo after damage that models really do.", style.width),
    ]


def _render_case(number: int, case: DemoCase, verdict: "Verdict", style: Style) -> list[str]:
    title = f"{number:>2}. {case.title}  ({case.model}, tool {case.tool})"
    left = [style.tint("what the model wrote", "dim"), *written_lines(case.wrote)]
    right = [style.tint("what comes out", "dim"), *_outcome(verdict)]
    pair = beside(left, right, style.width) if style.width >= _NARROWEST_PAIR else _stacked(left, right, style)
    heading = [style.tint(piece, "bold", "cyan") for piece in wrap(title, style.width)]
    lines = ["", style.tint("─" * style.width, "dim"), *heading, *pair]
    lines += [headline(verdict, case.tool, style)]
    if verdict.ok:
        lines += labelled("repaired", repair_lines(verdict.repairs), style)
    if verdict.hint:
        return lines + labelled("hint", harmless_lines(verdict.hint), style)
    return lines + labelled("problems", problem_lines(verdict.problems), style)


def _outcome(verdict: "Verdict") -> list[str]:
    if not verdict.ok or verdict.call is None:
        return ["nothing: the call does not run"]
    arguments = verdict.call.arguments
    rows = [f"  {json_text(name)}: {value_text(value)}" for name, value in arguments.items()]
    cut_off = ["(cut off, but every value was complete)"] if verdict.truncated else []
    return [verdict.call.name, *rows, *cut_off]


def _stacked(left: list[str], right: list[str], style: Style) -> list[str]:
    return [piece for line in (*left, *right) for piece in wrap(line, style.width)]


def _summary(stats: dict[str, Any], style: Style) -> list[str]:
    ways = ", ".join(f"{count} {way}" for way, count in stats["normalizations"].items() if count and way != "failed")
    total, failures = stats["total_calls"], stats["failures"]
    return [
        "",
        style.tint("─" * style.width, "dim"),
        style.tint(f"{total} calls: {total - failures} may run, {failures} are refused with a hint.", "bold"),
        *wrap(f"How they were made to fit: {ways}.", style.width),
    ]


def _closing(style: Style) -> list[str]:
    return ["", style.tint("Try next:", "bold"), *(f"  {command}" for command in _NEXT)]

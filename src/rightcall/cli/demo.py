"""Repair and check broken calls of many kinds, run some under a policy, and show the result of each."""

import os
import sys
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, convert

from rightcall.cli import OK
from rightcall.cli.run import report
from rightcall.cli.terminal import (
    Style,
    beside,
    harmless_lines,
    headline,
    labelled,
    problem_lines,
    repair_lines,
    say,
    style_for,
    tell,
    value_text,
    wrap,
    written_lines,
)
from rightcall.gate.records import json_text, verdict_record
from rightcall.types import Verdict

PACKS = ("agent-zero", "edit-files", "local-toolkit")


class DemoCase(Struct, frozen=True):
    """One broken call: who writes like this, what is wrong with it, the tool and the text."""

    title: str
    model: str
    tool: str
    wrote: str


class Demo(Struct, frozen=True):
    """What `demo.toml` holds."""

    tools: list[dict[str, Any]]
    cases: tuple[DemoCase, ...]


def load_demo() -> Demo:
    with open(os.path.join(os.path.dirname(__file__), "demo.toml"), "rb") as file:
        return convert(tomllib.load(file), Demo)


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
    parser.add_argument("--plain", action="store_true", help="Print without colours")
    parser.add_argument("--json", action="store_true", help="Print one JSON object per call")


def run(options: Namespace) -> int:
    from rightcall.gate.gate import Gate

    demo = load_demo()
    gate = Gate(demo.tools, packs=PACKS)
    style = style_for(sys.stdout, plain=options.plain)
    if not options.json:
        say(
            style.tint("RightCall repairs broken tool calls, blocks forbidden ones.", "bold"),
            *wrap(f"{len(demo.cases)} invented calls, with the mistakes that models make.", style.width),
        )
    for number, case in enumerate(demo.cases, 1):
        verdict = gate.check(case.tool, case.wrote)
        shown = _render_case(number, case, verdict, style)
        tell(options, _record(case, verdict), lambda _, shown=shown: shown)
    if not options.json:
        say(
            *_summary(gate.stats(), style),
            *demonstration(style),
            "",
            style.tint("Try next:", "bold"),
            *(f"  {command}" for command in _NEXT),
        )
    return OK


def _record(case: DemoCase, verdict: "Verdict") -> dict[str, Any]:
    return {"title": case.title, "model": case.model, "wrote": case.wrote, **verdict_record(verdict, case.tool)}


def _render_case(number: int, case: DemoCase, verdict: "Verdict", style: Style) -> list[str]:
    title = f"{number:>2}. {case.title}  ({case.model}, tool {case.tool})"
    left = [style.tint("input", "dim"), *written_lines(case.wrote)]
    right = [style.tint("repaired", "dim"), *_outcome(verdict)]
    pair = (
        beside(left, right, style.width)
        if style.width >= _NARROWEST_PAIR
        else [piece for line in (*left, *right) for piece in wrap(line, style.width)]
    )
    heading = [style.tint(piece, "bold", "cyan") for piece in wrap(title, style.width)]
    lines = ["", style.tint("─" * style.width, "dim"), *heading, *pair]
    lines += [headline(verdict, case.tool, style)]
    if verdict.ok:
        lines += labelled("repairs", repair_lines(verdict.repairs), style)
    if verdict.hint:
        return lines + labelled("hint", harmless_lines(verdict.hint), style)
    return lines + labelled("problems", problem_lines(verdict.problems), style)


def _outcome(verdict: "Verdict") -> list[str]:
    if not verdict.ok or verdict.call is None:
        return ["nothing: the call does not run"]
    arguments = verdict.call.arguments
    rows = [f"  {json_text(name)}: {value_text(value)}" for name, value in arguments.items()]
    cut_off = ["(truncated, but every value was complete)"] if verdict.truncated else []
    return [verdict.call.name, *rows, *cut_off]


def _summary(stats: dict[str, Any], style: Style) -> list[str]:
    ways = ", ".join(f"{count} {way}" for way, count in stats["normalizations"].items() if count and way != "failed")
    total, failures = stats["total_calls"], stats["failures"]
    return [
        "",
        style.tint("─" * style.width, "dim"),
        style.tint(f"{total} calls: {total - failures} may run, {failures} are refused with a hint.", "bold"),
        *wrap(f"How they were made to fit: {ways}.", style.width),
    ]


# ── calls that run ──
# The second half of `rightcall demo`: calls that run under a policy, in memory, so that nothing is left behind.

POLICY: dict[str, Any] = {"policy": {"allow": ["save_note"], "limits": {"caller": {"minute": 5}}}}
_CALLS = (
    ("a tool that only reads runs, repaired where it must be", "word_count", "{'text': 'to be or not', unique: yes}"),
    ("a tool that writes is rehearsed until the policy says otherwise", "save_note", '{"text": "buy milk"}'),
    ("what no list names does not run, and is not explained either", "drop_table", '{"name": "users"}'),
    ("the same call again", "word_count", '{"text": "to be or not", "unique": true}'),
    ("and a third time: the earlier result is named", "word_count", '{"text": "to be or not", "unique": true}'),
    ("another call", "word_count", '{"text": "to be"}'),
    ("and one more", "word_count", '{"text": "or not"}'),
    ("one too many for a caller with five a minute", "word_count", '{"text": "enough"}'),
)


def demonstration(style: Style) -> Iterator[str]:
    """Line by line."""
    from rightcall.executor.executor import Executor
    from rightcall.record.verify import verify_audit

    yield from ("", style.tint("─" * style.width, "dim"))
    yield style.tint("And then they run: under a policy, with a record of each.", "bold")
    with Executor.open_sync(policy=POLICY, store="memory") as executor:
        _register(executor)
        for what, name, written in _CALLS:
            outcome = executor.run({"name": name, "arguments": written}, "demo")
            yield from ("", *(style.tint(piece, "bold", "cyan") for piece in wrap(what, style.width)))
            yield from (line for line in report(outcome, style) if "audit show" not in line)
        checked = executor.store.look(verify_audit)
        state = "unbroken" if checked.ok else checked.problem
        yield from ("", style.tint(f"{checked.checked} records, their chain is {state}.", "bold"))


def _register(executor: Any) -> None:
    @executor.tool(effects=["read"])
    def word_count(text: str, unique: bool = False) -> int:
        """Count the words of a text."""
        words = text.split()
        return len(set(words) if unique else words)

    @executor.tool(effects=["write"])
    def save_note(text: str) -> str:
        """Save a note."""
        return f"saved {text!r}"

    @executor.tool
    def drop_table(name: str) -> str:
        """Drop a table."""
        return f"dropped {name}"

    del word_count, save_note, drop_table

"""Repair and check broken calls of many kinds, run some under a policy, and show the result of each."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

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

# ── cases ──
# The calls of `rightcall demo`: made up for it, after damage that models really do. Data only.


class DemoCase(Struct, frozen=True):
    """One broken call: who writes like this, what is wrong with it, the tool and the text."""

    title: str
    model: str
    tool: str
    wrote: str


PACKS = ("agent-zero", "edit-files", "local-toolkit")

_CITY = {"type": "string", "description": "City and country"}

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "get_weather",
        "description": "The weather of the coming days.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": _CITY,
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    },
    {
        "name": "book_table",
        "description": "Books a table in a restaurant.",
        "parameters": {
            "type": "object",
            "properties": {
                "restaurant": {"type": "string"},
                "guests": {"type": "integer", "minimum": 1},
                "date": {"type": "string"},
                "wishes": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["restaurant", "guests", "date"],
        },
    },
    {
        "name": "transfer_money",
        "description": "Moves money from one account to another.",
        "parameters": {
            "type": "object",
            "properties": {
                "from_account": {"type": "string"},
                "to_account": {"type": "string"},
                "amount": {"type": "number", "exclusiveMinimum": 0},
            },
            "required": ["from_account", "to_account", "amount"],
        },
    },
    {
        "name": "run_query",
        "description": "Runs one SQL query.",
        "parameters": {
            "type": "object",
            "properties": {"sql": {"type": "string"}, "limit": {"type": "integer"}, "dry_run": {"type": "boolean"}},
            "required": ["sql"],
        },
    },
    {
        "name": "Write",
        "description": "Writes a file.",
        "parameters": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        },
    },
)

CASES: tuple[DemoCase, ...] = (
    DemoCase(
        "a Python list where the tool wants JSON text",
        "Qwen",
        "edit_files",
        """{"operations": "[{'type': 'modify', 'path': 'fibonacci.sh', 'content': 'echo \\"it\\\\'s done\\"'}]"}""",
    ),
    DemoCase(
        "single quotes, and Python's own True",
        "Llama 3",
        "run_query",
        "{'sql': 'SELECT name FROM users', 'dry_run': True}",
    ),
    DemoCase("typographic quotes", "Gemma", "get_weather", "{“city”: “Lisbon, Portugal”, “days”: 3}"),
    DemoCase(
        "unquoted keys, a comment, a trailing comma",
        "Mistral",
        "get_weather",
        '{city: "Oslo, Norway", days: 5, // a working week\n unit: "celsius",}',
    ),
    DemoCase(
        "a fence, and prose around it",
        "Phi",
        "book_table",
        "Sure, I will book that for you.\n"
        '```json\n{"restaurant": "Da Enzo", "guests": 4, "date": "2026-05-01"}\n```\nAnything else?',
    ),
    DemoCase(
        "other names, a number as a word, a text for a list",
        "Llama 3 8B",
        "bookTable",
        '{"Restaurant": "Da Enzo", "guest": "four", "date": "2026-05-01", "wishes": "window, high chair"}',
    ),
    DemoCase(
        "the tool's old habits: bash, command",
        "DeepSeek",
        "code_execution_tool",
        '{"runtime": "bash", "command": "ls -la"}',
    ),
    DemoCase(
        "code with raw line breaks and quotes that nobody escaped",
        "CodeLlama",
        "Write",
        '{"file_path": "hello.py", "content": "def hello():\n    print("hello")\n"}',
    ),
    DemoCase(
        "encoded twice",
        "GPT-3.5",
        "transfer_money",
        '"{\\"from_account\\": \\"00123\\", \\"to_account\\": \\"00456\\", \\"amount\\": \\"1,250.50\\"}"',
    ),
    DemoCase(
        "the closing brackets are missing",
        "SmolLM",
        "book_table",
        '{"restaurant": "Da Enzo", "guests": 2, "date": "2026-05-01", "wishes": ["window"',
    ),
    DemoCase(
        "truncated in the middle of a value",
        "any model at its token limit",
        "transfer_money",
        '{"from_account": "00123", "to_account": "00456", "amount": 12',
    ),
    DemoCase(
        "one argument twice",
        "Hermes",
        "transfer_money",
        '{"from_account": "00123", "to_account": "00456", "amount": 50, "amount": 5000}',
    ),
    DemoCase(
        "two names that could be either",
        "TinyLlama",
        "transfer_money",
        '{"account": "00123", "other_account": "00456", "amount": 50}',
    ),
    DemoCase("a required argument is missing", "Claude", "Write", '{"file_path": "notes.md"}'),
    DemoCase("a tool that does not exist", "Granite", "weather_lookup", '{"city": "Rome, Italy"}'),
    DemoCase(
        "a tool that was replaced",
        "an agent with old instructions",
        "write_local_file",
        '{"path": "notes.md", "content": "buy milk and bread"}',
    ),
)


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

    gate = Gate(list(TOOLS), packs=PACKS)
    style = style_for(sys.stdout, plain=options.plain)
    if not options.json:
        say(*_opening(style))
    for number, case in enumerate(CASES, 1):
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


def _opening(style: Style) -> list[str]:
    return [
        style.tint("RightCall repairs broken tool calls, blocks forbidden ones.", "bold"),
        *wrap(f"{len(CASES)} invented calls, with the mistakes that models make.", style.width),
    ]


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

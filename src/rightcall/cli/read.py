"""Find the calls in what a model wrote, in whatever format, and check each; the prose that is left follows."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, get_args

from rightcall.cli import OK, REFUSED
from rightcall.cli.lines import InputError, read_text
from rightcall.cli.options import build_gate, gate_options, json_option, stats_option
from rightcall.cli.output import is_unicode, json_text, print_stats
from rightcall.cli.terminal import say, style_for
from rightcall.types import ReasoningMode

if TYPE_CHECKING:
    from rightcall.gate import Gate
    from rightcall.types import Reading

MAX_BYTES = 32 * 1024 * 1024
"""Of one text or line. A whole conversation may stand in it, which arguments alone never are."""

EXAMPLES = """\
examples:
  rightcall read '<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>'
  some-model | rightcall read --tools tools.json
  rightcall read --file answer.txt --tools tools.json --explain
  rightcall read --message message.json --tools tools.json --json
  rightcall read --jsonl answers.jsonl --tools tools.json > readings.jsonl

a JSON line: {"text": …} or {"message": {…}}, and optionally "id", "finish_reason", and the tools of that line alone:
"tools": […]; or just a JSON string. `rightcall formats` lists the formats that are found.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "text",
        nargs="?",
        metavar="TEXT",
        help="what the model wrote; - or nothing reads standard input (--jsonl: a file, or - )",
    )
    parser.add_argument("--file", metavar="FILE", help="read the text from a file")
    parser.add_argument(
        "--message", metavar="FILE", help="read a native message (OpenAI, Anthropic, Gemini, MCP) from a JSON file"
    )
    parser.add_argument(
        "--jsonl", action="store_true", help="read emissions as JSON lines and answer each with one line"
    )
    parser.add_argument(
        "--explain", action="store_true", help="say more: where each call stood, in which format, what was repaired"
    )
    parser.add_argument(
        "--finish-reason", metavar="WORD", help="how the model's API says the text ended; length: it was cut off"
    )
    parser.add_argument(
        "--stream", type=int, metavar="N", help="read the text as a stream, in pieces of N characters; same output"
    )
    parser.add_argument(
        "--reasoning",
        choices=get_args(ReasoningMode),
        help="open: the prompt ends inside the model's reasoning, so calls before its closing tag do not count",
    )
    parser.add_argument("--model", metavar="NAME", help="the model that wrote it: its settings in the policy apply")
    stats_option(parser)
    json_option(parser, "the reading")
    gate_options(parser)


def run(options: Namespace) -> int:
    _refuse_contradictions(options)
    if options.jsonl:
        return _run_lines(options)
    gate = build_gate(options)
    text = None if options.message else _text(options)
    reading = _reading(gate, text, options)
    if options.json:
        _print_json(reading, text)
    else:
        from rightcall.cli.read_report import report

        say(*report(reading, text, style_for(sys.stdout), explain=options.explain))
    if options.stats:
        print_stats(gate.stats())
    return OK if all(verdict.ok for verdict in reading.calls) else REFUSED


def _refuse_contradictions(options: Namespace) -> None:
    given = [name for name in ("text", "file", "message") if getattr(options, name) is not None]
    if len(given) > 1:
        words = " and ".join("TEXT" if name == "text" else f"--{name}" for name in given)
        raise InputError(f"read takes one of TEXT, --file and --message, not {words}")
    if options.stream is not None and options.stream < 1:
        raise InputError(f"--stream is the number of characters of a piece, 1 or more, not {options.stream}")
    if options.message is not None and (options.stream or options.jsonl):
        other = "--stream" if options.stream else "--jsonl"
        raise InputError(f"--message reads one message as a whole; it does not go with {other}")


def _text(options: Namespace) -> str:
    if options.file is not None:
        return read_text(options.file, limit=MAX_BYTES)
    if options.text is not None and options.text != "-":
        return options.text
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("rightcall: reading what you type; end it with Ctrl-D\n")
    return read_text("-", limit=MAX_BYTES)


def _reading(gate: "Gate", text: str | None, options: Namespace) -> "Reading":
    if text is None:
        return gate.read(_message(options.message), options.finish_reason)
    if not options.stream:
        return gate.read(text, options.finish_reason)
    from rightcall.cli.readings import pieces_of, read_pieces

    return read_pieces(gate, pieces_of(text, options.stream), options.finish_reason)


def _message(path: str) -> Any:
    """The native message of a JSON file, decoded."""
    import json

    from rightcall.cli.jsonl import once

    source = "standard input" if path == "-" else path
    text = read_text(path, limit=MAX_BYTES)
    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} (column {error.colno})"
        raise InputError(message, source=source, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot be used: {error}", source=source) from error


def _print_json(reading: "Reading", text: str | None) -> None:
    from rightcall.cli.readings import reading_record

    say(json_text(reading_record(reading, text), ascii_only=not is_unicode(sys.stdout)))


def _run_lines(options: Namespace) -> int:
    from rightcall.cli.jsonl import LineGates, answer_lines
    from rightcall.cli.lines import open_lines
    from rightcall.cli.read_lines import line_reader

    gates = LineGates(options, build_gate(options))
    path = options.file or options.text or "-"
    stream = open_lines(path)
    try:
        answer = line_reader(options.finish_reason, options.stream or 0)
        answer_lines(stream, gates, sys.stdout, answer, limit=MAX_BYTES)
    finally:
        if path != "-":
            stream.close()
    if options.stats:
        print_stats(gates.stats())
    return OK

"""Find the calls in a model's output, in any format, and check each. The remaining text follows."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.lines import LineError, LineGates, refuse_twice, run_lines, tools_of, value_of
from rightcall.cli.options import (
    InputError,
    build_gate,
    gate_options,
    json_option,
    lines_options,
    read_argument,
    read_text,
    stats_option,
)
from rightcall.cli.terminal import (
    ADD_TOOLS,
    NO_TOOLS,
    Style,
    Whole,
    advice,
    count,
    headline,
    labelled,
    outcome,
    print_stats,
    reasons,
    retry_text,
    tell,
    value_text,
    written_lines,
)
from rightcall.errors import RightCallError
from rightcall.gate.records import place_records, reading_record
from rightcall.types import Note, Place, Reading, ReasoningMode, Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

MAX_TEXT = 32 * 1024 * 1024
"""Of one text or line. A whole conversation may stand in it, which arguments alone never are."""

EXAMPLES = """\
examples:
  rightcall read '<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>'
  some-model | rightcall read --tools tools.json
  rightcall read --file answer.txt --tools tools.json --explain
  rightcall read --message message.json --tools tools.json --json
  rightcall read --jsonl answers.jsonl --tools tools.json > readings.jsonl
  rightcall read --jsonl answers.jsonl --field output --workers auto --out readings.jsonl

a JSON line: {"text": …} or {"message": {…}}, and optionally "id", "finish_reason", and the tools of that line alone:
"tools": […]; or just a JSON string. `rightcall formats` lists the formats that are found.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "text",
        nargs="?",
        metavar="TEXT",
        help="Model output; @FILE reads a file, - or nothing standard input (with --jsonl: a file, or -)",
    )
    parser.add_argument("--file", metavar="FILE", help="Read the output from a file")
    parser.add_argument(
        "--message", metavar="FILE", help="Read a native message (OpenAI, Anthropic, Gemini, MCP) from JSON"
    )
    parser.add_argument("--jsonl", action="store_true", help="Read outputs as JSON lines; answer each with one line")
    parser.add_argument("--field", metavar="KEY", help="With --jsonl: the key of the text or message in each line")
    lines_options(parser)
    parser.add_argument(
        "--explain", action="store_true", help="Explain more: position, format and repairs of each call"
    )
    parser.add_argument("--finish-reason", metavar="WORD", help="Finish reason of the model's API (length: truncated)")
    parser.add_argument(
        "--stream", type=int, metavar="N", help="Read the output as a stream, in pieces of N characters"
    )
    parser.add_argument(
        "--reasoning",
        choices=get_args(ReasoningMode),
        help="open: the prompt ends inside the reasoning; ignore calls there",
    )
    parser.add_argument("--model", metavar="NAME", help="Use the policy's settings for this model")
    stats_option(parser)
    json_option(parser)
    gate_options(parser)


def run(options: Namespace) -> int:
    _refuse_contradictions(options)
    if options.jsonl:
        return _run_lines(options)
    gate = build_gate(options)
    text = None if options.message else _text(options)
    reading = _reading(gate, text, options)

    def lines(style: Style) -> list[str]:
        checked = bool(gate.catalog.tools)
        found = report(reading, text, style, explain=options.explain, checked=checked)
        return found if checked else [*found, *_without_tools(reading, style)]

    tell(options, reading_record(reading, text), lines)
    if options.stats:
        print_stats(gate.stats())
    return OK if all(verdict.ok for verdict in reading.calls) else REFUSED


def _refuse_contradictions(options: Namespace) -> None:
    given = [name for name in ("text", "file", "message") if getattr(options, name) is not None]
    if len(given) > 1:
        words = " and ".join("TEXT" if name == "text" else f"--{name}" for name in given)
        raise InputError(f"read takes one of TEXT, --file and --message, not {words}")
    for name in ("field", "out"):
        if getattr(options, name) is not None and not options.jsonl:
            raise InputError(f"--{name} is for JSON lines: pass --jsonl too")
    if options.stream is not None and options.stream < 1:
        raise InputError(f"--stream is the number of characters of a piece, 1 or more, not {options.stream}")
    if options.message is not None and (options.stream or options.jsonl):
        other = "--stream" if options.stream else "--jsonl"
        raise InputError(f"--message reads one message as a whole; it does not go with {other}")


def _text(options: Namespace) -> str:
    if options.file is not None:
        return read_text(options.file, limit=MAX_TEXT)
    if options.text is not None and options.text != "-":
        return read_argument(options.text, limit=MAX_TEXT)
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("rightcall: reading what you type; end it with Ctrl-D\n")
    return read_text("-", limit=MAX_TEXT)


def _reading(gate: "Gate", text: str | None, options: Namespace) -> "Reading":
    if text is None:
        return gate.read(_message(options.message), options.finish_reason)
    return _read_as(gate, text, options.finish_reason, options.stream)


def _read_as(gate: "Gate", text: str, finish_reason: str | None, stream: int | None) -> "Reading":
    """As a whole, or as a stream in pieces of so many characters."""
    if not stream:
        return gate.read(text, finish_reason)
    return read_pieces(gate, pieces_of(text, stream), finish_reason)


def _message(path: str) -> Any:
    """The native message of a JSON file, decoded."""
    source = "standard input" if path == "-" else path
    text = read_text(path, limit=MAX_TEXT)
    try:
        return json.loads(text, object_pairs_hook=refuse_twice)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} (column {error.colno})"
        raise InputError(message, source=source, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot be used: {error}", source=source) from error


def _run_lines(options: Namespace) -> int:
    answer = LineReader(options.finish_reason, options.stream or 0, options.field)
    return run_lines(options, options.file or options.text or "-", answer, limit=MAX_TEXT)


# ── readings ──
# Reading an emission for a command, and the plain object that `--json` and `--jsonl` print of it.


def read_pieces(gate: "Gate", pieces: Iterable[str], finish_reason: str | None = None) -> Reading:
    """What `gate.read` says of the whole text, read as a stream of these pieces."""
    feed = gate.stream()
    events = [event for piece in pieces for event in feed.push(piece)]
    events += feed.close(finish_reason)
    calls = tuple(event for event in events if isinstance(event, Verdict))
    text = "".join(event for event in events if isinstance(event, str))
    return Reading(calls, text, tuple(feed.notes), tuple(feed.places))


def pieces_of(text: str, size: int) -> Iterator[str]:
    """The text in pieces of `size` characters.

    >>> list(pieces_of("abcde", 2))
    ['ab', 'cd', 'e']
    """
    return (text[start : start + size] for start in range(0, len(text), size))


# ── JSON lines ──
# `rightcall read --jsonl`: emissions in, readings out, one line each, in order, with bounded memory.

_FORM = 'expected "text" (the model output), "message" (a native message), or a JSON string'


class LineReader(NamedTuple):
    """What answers a line; a line's own finish reason comes before the one given for all."""

    finish_reason: str | None = None
    stream: int = 0
    field: str | None = None

    def __call__(self, line: bytes, gates: LineGates) -> dict[str, Any]:
        fields = _text_fields(line, self.field)
        line_id = fields.get("id")
        try:
            gate = gates.gate_for(tools_of(fields))
        except (RightCallError, TypeError, ValueError, RecursionError) as error:
            raise LineError(str(error), line_id) from error
        ended = _finish_reason(fields, line_id) or self.finish_reason
        record = (
            reading_record(gate.read(fields["message"], ended), None)
            if "message" in fields
            else _text_lines(fields, gate, ended, self.stream)
        )
        return {"id": line_id, **record} if "id" in fields else record


def _text_fields(line: bytes, field: str | None) -> dict[str, Any]:
    value = value_of(line)
    if isinstance(value, str) and field is None:
        return {"text": value}
    if not isinstance(value, dict):
        raise LineError(_FORM if field is None else f'expected an object with "{field}"')
    fields = cast(dict[str, Any], value)
    if field is not None:
        return _with_field(fields, field)
    if ("text" in fields) == ("message" in fields):
        both = 'the line has both "text" and "message"; which one is meant?'
        raise LineError(both if "text" in fields else _FORM, fields.get("id"))
    return fields


def _with_field(fields: dict[str, Any], field: str) -> dict[str, Any]:
    """The line, with the text or message from where `--field` says that it is; the line's other keys keep out of it."""
    given = fields.get(field)
    if not isinstance(given, str | dict | list):
        found = "the line has none" if field not in fields else f"not {type(given).__name__}"
        raise LineError(f'"{field}" must be a text or a native message: {found}', fields.get("id"))
    kept = {key: fields[key] for key in ("id", "tools", "finish_reason") if key in fields}
    return kept | {"text" if isinstance(given, str) else "message": given}


def _text_lines(fields: Mapping[str, Any], gate: "Gate", finish_reason: str | None, stream: int) -> dict[str, Any]:
    text = fields["text"]
    if not isinstance(text, str):
        raise LineError('"text" must be a string: the model output', fields.get("id"))
    return reading_record(_read_as(gate, text, finish_reason, stream), text)


def _finish_reason(fields: Mapping[str, Any], line_id: Any) -> str | None:
    reason = fields.get("finish_reason")
    if reason is not None and not isinstance(reason, str):
        raise LineError('"finish_reason" is a word of the model\'s API, a string', line_id)
    return reason


# ── the report ──
# A reading for people: each call with its verdict, then the prose; with `--explain` where it stood and why.


def report(reading: Reading, text: str | None, style: Style, *, explain: bool, checked: bool = True) -> list[str]:
    """Everything about one reading, line by line. `text` is what was read, None for a native message; without tools
    nothing is `checked`."""
    lines: list[str] = []
    for verdict, place in zip(reading.calls, place_records(reading.places, text), strict=True):
        name = verdict.found.name if verdict.found else "a tool call"
        unchecked = style.tint(f"! {escaped(name)} can be read", "yellow", "bold")
        lines += [headline(verdict, name, style) if checked or not verdict.ok else unchecked]
        lines += _explained(verdict, place, text, style) if explain else [*outcome(verdict, style)]
        lines += [
            *advice(verdict, style),
            *(([] if verdict.ok else labelled("trying again", [retry_text(verdict)], style)) if explain else []),
        ]
    if not reading.calls:
        lines.append(style.tint("no call found", "bold"))
    lines += labelled(
        "remaining text", written_lines(reading.text.strip("\r\n")) if reading.text.strip() else ["(none)"], style
    )
    return lines + _notes(reading.notes, text, style, explain=explain)


def _without_tools(reading: Reading, style: Style) -> list[str]:
    """Why so little was found, or why nothing was refused."""
    bare = "" if reading.calls else ". A JSON object alone counts as a call only if it names one of the tools"
    return labelled("not checked", [f"{NO_TOOLS}{bare}", Whole(ADD_TOOLS)], style)


def _explained(verdict: Verdict, place: Mapping[str, Any], text: str | None, style: Style) -> list[str]:
    lines = labelled("found", [f"{where(place)}, in the format {escaped(place['format'])}"], style)
    if text is not None:
        lines += labelled("input", written_lines(text[place["start"] : place["end"]]), style)
    found = verdict.found
    if verdict.ok and found is not None and found != verdict.call:
        lines += labelled("read as", [f"{escaped(found.name)} {value_text(found.arguments)}"], style)
    return [*lines, *outcome(verdict, style), *reasons(verdict, style)]


def where(place: Mapping[str, Any]) -> str:
    """`line 3, characters 40 to 92`; a native message has neither."""
    if place["line"] is None:
        return "in the message"
    return f"line {place['line']:,}, characters {place['start']:,} to {place['end']:,}"


def _notes(notes: tuple[Note, ...], text: str | None, style: Style, *, explain: bool) -> list[str]:
    """What looked like a call and was left."""
    if not notes:
        return []
    if not explain:
        return labelled("left alone", [f"{count(notes, 'place')} that may look like a call; --explain says why"], style)
    spans = place_records((Place(note.start, note.end, note.code) for note in notes), text)
    said = [f"{where(span)}: {escaped(note.message)}  [{note.code}]" for note, span in zip(notes, spans, strict=True)]
    return labelled("left alone", said, style)

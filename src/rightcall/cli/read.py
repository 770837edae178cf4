"""Find the calls in a model's output, in any format, and check each. The remaining text follows."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast, get_args

import msgspec

from rightcall.base.json.strict import attempt, duplicate_keys
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import (
    MAX_BYTES,
    InputError,
    bounded_lines,
    build_gate,
    gate_options,
    gate_settings,
    json_option,
    open_lines,
    read_argument,
    read_text,
    stats_option,
)
from rightcall.cli.terminal import (
    Style,
    advice,
    call_record,
    count,
    headline,
    is_unicode,
    json_text,
    labelled,
    outcome,
    print_stats,
    problem_record,
    reasons,
    retry_text,
    tell,
    value_text,
    verdict_record,
    written_lines,
)
from rightcall.errors import RightCallError
from rightcall.types import Note, Place, Reading, ReasoningMode, Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

# ── statistics of several gates ──
# Statistics of several gates added up, in the shape that `Gate.stats()` has.


def add_statistics(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """The sum of two statistics; the provider is that of the first."""
    if one is None:
        return other
    total = {**one, **_counts(one, other)}
    tools: dict[str, Any] = dict(one.get("tools", {}))
    for name, stats in other.get("tools", {}).items():
        tools[name] = {**tools[name], **_counts(tools[name], stats)} if name in tools else stats
    return {**total, "tools": tools}


def _counts(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    calls = one["total_calls"] + other["total_calls"]
    failures = one["failures"] + other["failures"]
    ways = {**one["normalizations"], **other["normalizations"]}
    return {
        "total_calls": calls,
        "normalizations": {
            way: one["normalizations"].get(way, 0) + other["normalizations"].get(way, 0) for way in ways
        },
        "failures": failures,
        "success_rate": 100.0 * (calls - failures) / calls if calls else 0.0,
    }


_MOST_GATES = 64
_ARGUMENTS = ("arguments", "args", "emitted")
_NAMES = ("name", "tool")


class LineError(RightCallError, ValueError):
    """A line that is no call. `id` is the line's own, where it could be read."""

    def __init__(self, message: str, id: Any = None) -> None:
        super().__init__(message)
        self.id = id


class LineGates:
    """The gates a run needs: one for all lines, and one for each set of tools that a line brings along."""

    def __init__(self, options: Namespace, gate: "Gate") -> None:
        self._options = options
        self._gate = gate
        self._own: OrderedDict[str, Gate] = OrderedDict()
        self._past: dict[str, Any] | None = None

    def gate_for(self, tools: Any) -> "Gate":
        if tools is None:
            return self._gate
        key = json_text(tools)
        gate = self._own.get(key)
        if gate is None:
            gate = self._own[key] = self._build(tools)
            if len(self._own) > _MOST_GATES:
                self._forget(self._own.popitem(last=False)[1])
        else:
            self._own.move_to_end(key)
        return gate

    def _forget(self, gate: "Gate") -> None:
        if self._options.stats:
            self._past = add_statistics(self._past, gate.stats())

    def _build(self, tools: Any) -> "Gate":
        from rightcall.gate.gate import Gate

        options = self._options
        return Gate(tools, policy=self._gate.policy, packs=tuple(options.pack), **gate_settings(options))

    def stats(self) -> dict[str, Any]:
        """The statistics of all gates of this run together."""
        total = self._gate.stats()
        for stats in (self._past, *(gate.stats() for gate in self._own.values())):
            total = add_statistics(total, stats) if stats else total
        return total


Answer = Callable[[bytes, LineGates], dict[str, Any]]


def check_line(line: bytes, gates: LineGates) -> dict[str, Any]:
    """The verdict on the call of one line."""
    fields = _call_fields(line)
    line_id = fields.get("id")
    name = _tool_name(fields, line_id)
    try:
        gate = gates.gate_for(_tools_or_schema(fields, name))
    except (RightCallError, TypeError, ValueError, RecursionError) as error:
        raise LineError(str(error), line_id) from error
    verdict = gate.check(name, _arguments(fields, line_id), call_id=line_id if isinstance(line_id, str) else None)
    record = verdict_record(verdict, name)
    return {"id": line_id, **record} if "id" in fields else record


def answer_lines(
    stream: BinaryIO, gates: LineGates, out: TextIO, answer: Answer = check_line, *, limit: int = MAX_BYTES
) -> None:
    """Answers every line of the stream, in order."""
    answer_each(stream, out, lambda line: answer(line, gates), limit=limit)


def run_lines(options: Namespace, path: str, answer: Answer = check_line, *, limit: int = MAX_BYTES) -> int:
    """The whole of `--jsonl`: answers every line of a file, or of standard input."""
    gates = LineGates(options, build_gate(options))
    with open_lines(path) as stream:
        answer_lines(stream, gates, sys.stdout, answer, limit=limit)
    if options.stats:
        print_stats(gates.stats())
    return OK


def answer_each(
    stream: BinaryIO, out: TextIO, answer: Callable[[bytes], dict[str, Any]], *, limit: int = MAX_BYTES
) -> None:
    """The same with whatever makes an answer of a line; what it raises of ours is the answer to that line alone."""
    ascii_only = not is_unicode(out)
    for number, line in bounded_lines(stream, limit):
        if line is not None and not line.strip():
            continue
        try:
            if line is None:
                raise LineError(f"the line is longer than {limit:,} bytes")
            record = answer(line)
        except RightCallError as error:
            record = {"id": getattr(error, "id", None), "line": number, "error": str(error)}
        out.write(json_text(record, ascii_only=ascii_only) + "\n")
        out.flush()


def _call_fields(line: bytes) -> dict[str, Any]:
    """The members of a line. Arguments that are an object stay text, so that the gate sees a key that stands twice."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        _refuse_twice(line.decode(), raw)
        return {key: _member(key, value) for key, value in raw.items()}
    except msgspec.ValidationError as error:
        raise LineError("the line is JSON, but no object") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _fields_of_odd_json(line)


def _refuse_twice(line: str, raw: dict[str, msgspec.Raw]) -> None:
    """A member of the line that stands twice is refused; what is inside the arguments is the gate's business."""
    for path in duplicate_keys(line, attempt(line)):
        if path in raw:
            raise LineError(f"the line has `{path}` twice")


def _member(key: str, raw: msgspec.Raw) -> Any:
    data = bytes(raw)
    if key in _ARGUMENTS and data[:1] in (b"{", b"["):
        return data.decode()
    return msgspec.json.decode(data)


def _fields_of_odd_json(line: bytes) -> dict[str, Any]:
    """What the strict reader refuses and Python's own still reads: NaN, lone surrogates."""
    value = value_of(line)
    if not isinstance(value, dict):
        raise LineError("the line is JSON, but no object")
    return cast(dict[str, Any], value)


def value_of(line: bytes) -> Any:
    """The JSON value of a line, in which no key stands twice."""
    try:
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=refuse_twice)
    except UnicodeDecodeError as error:
        raise LineError(f"the line is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise LineError(f"the line is not JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise LineError(f"the line cannot be read: {error}") from error


def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: an object in which no key stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


def _tool_name(fields: Mapping[str, Any], id: Any) -> str:
    name = next((fields[key] for key in _NAMES if key in fields), None)
    if not isinstance(name, str):
        raise LineError('the line needs "name" (or "tool"): the name of the tool, as text', id)
    return name


def _arguments(fields: Mapping[str, Any], id: Any) -> Any:
    given = [key for key in _ARGUMENTS if key in fields]
    if len(given) > 1:
        raise LineError(f"the line has both {given[0]} and {given[1]}; which one is meant?", id)
    return fields[given[0]] if given else {}


def _tools_or_schema(fields: Mapping[str, Any], name: str) -> Any:
    tools, schema = _tools(fields), fields.get("schema")
    if schema is None:
        return tools
    if not isinstance(schema, dict):
        raise ValueError('"schema" is the JSON Schema of the arguments, an object')
    return [{"name": name, "parameters": schema}]


MAX_TEXT = 32 * 1024 * 1024
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
        help="Model output; @FILE reads a file, - or nothing standard input (with --jsonl: a file, or -)",
    )
    parser.add_argument("--file", metavar="FILE", help="Read the output from a file")
    parser.add_argument(
        "--message", metavar="FILE", help="Read a native message (OpenAI, Anthropic, Gemini, MCP) from JSON"
    )
    parser.add_argument("--jsonl", action="store_true", help="Read outputs as JSON lines; answer each with one line")
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
    tell(options, reading_record(reading, text), lambda style: report(reading, text, style, explain=options.explain))
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
    answer = line_reader(options.finish_reason, options.stream or 0)
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


def reading_record(reading: Reading, text: str | None) -> dict[str, Any]:
    """A reading as plain data. `text` is what was read; None for a native message, which has no lines to count."""
    calls: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for verdict, place in zip(reading.calls, place_records(reading.places, text), strict=True):
        if verdict.found is None:
            unread.append(_unread_record(verdict, place))
        else:
            calls.append(_read_record(verdict, place))
    notes = [
        {"code": note.code, "message": note.message, **place}
        for note, place in zip(reading.notes, _spans(reading.notes, text), strict=True)
    ]
    return {"calls": calls, "unread": unread, "text": reading.text, "notes": notes}


def _read_record(verdict: Verdict, place: dict[str, Any]) -> dict[str, Any]:
    """A call that could be read. `name` and `arguments` are as found, `call` is what should run."""
    found = verdict.found
    assert found is not None
    order = dict.fromkeys(("name", "arguments", "ok", "call", "found", "id"))  # what a reader wants first, first
    asked = {"name": found.name, "arguments": found.arguments, "id": found.id, "call": call_record(verdict.call)}
    return {**order, **verdict_record(verdict, found.name), **asked, "place": place}


def _unread_record(verdict: Verdict, place: dict[str, Any]) -> dict[str, Any]:
    """Markup of a call in which none could be read: broken, cut off or made up."""
    return {
        "ok": verdict.ok,
        "problems": [problem_record(problem) for problem in verdict.problems],
        "hint": verdict.hint,
        "truncated": verdict.truncated,
        "retry": verdict.retry,
        "place": place,
    }


def place_records(places: Iterable[Place], text: str | None) -> list[dict[str, Any]]:
    """Each place with the line it begins in."""
    places = tuple(places)
    return [{**span, "format": place.format} for place, span in zip(places, _spans(places, text), strict=True)]


def _spans(places: Iterable[Place | Note], text: str | None) -> Iterator[dict[str, Any]]:
    at = line = 0
    for place in places:
        if place.start < at:
            at = line = 0
        if text is not None:
            line += text.count("\n", at, place.start)
            at = place.start
        yield {"start": place.start, "end": place.end, "line": None if text is None else line + 1}


# ── JSON lines ──
# `rightcall read --jsonl`: emissions in, readings out, one line each, in order, with bounded memory.

_FORM = 'expected "text" (the model output), "message" (a native message), or a JSON string'


def line_reader(finish_reason: str | None, stream: int) -> Answer:
    """What answers a line; a line's own finish reason comes before the one given for all."""

    def read_line(line: bytes, gates: LineGates) -> dict[str, Any]:
        fields = _text_fields(line)
        line_id = fields.get("id")
        try:
            gate = gates.gate_for(_tools(fields))
        except (RightCallError, TypeError, ValueError, RecursionError) as error:
            raise LineError(str(error), line_id) from error
        ended = _finish_reason(fields, line_id) or finish_reason
        record = (
            reading_record(gate.read(fields["message"], ended), None)
            if "message" in fields
            else _text_lines(fields, gate, ended, stream)
        )
        return {"id": line_id, **record} if "id" in fields else record

    return read_line


def _text_fields(line: bytes) -> dict[str, Any]:
    value = value_of(line)
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, dict):
        raise LineError(_FORM)
    fields = cast(dict[str, Any], value)
    if ("text" in fields) == ("message" in fields):
        both = 'the line has both "text" and "message"; which one is meant?'
        raise LineError(both if "text" in fields else _FORM, fields.get("id"))
    return fields


def _text_lines(fields: Mapping[str, Any], gate: "Gate", finish_reason: str | None, stream: int) -> dict[str, Any]:
    text = fields["text"]
    if not isinstance(text, str):
        raise LineError('"text" must be a string: the model output', fields.get("id"))
    return reading_record(_read_as(gate, text, finish_reason, stream), text)


def _tools(fields: Mapping[str, Any]) -> Any:
    tools = fields.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise ValueError('"tools" is a list of tools')
    return cast(Any, tools)


def _finish_reason(fields: Mapping[str, Any], line_id: Any) -> str | None:
    reason = fields.get("finish_reason")
    if reason is not None and not isinstance(reason, str):
        raise LineError('"finish_reason" is a word of the model\'s API, a string', line_id)
    return reason


# ── the report ──
# A reading for people: each call with its verdict, then the prose; with `--explain` where it stood and why.


def report(reading: Reading, text: str | None, style: Style, *, explain: bool) -> list[str]:
    """Everything about one reading, line by line. `text` is what was read, None for a native message."""
    lines: list[str] = []
    for verdict, place in zip(reading.calls, place_records(reading.places, text), strict=True):
        lines += [headline(verdict, verdict.found.name if verdict.found else "a tool call", style)]
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

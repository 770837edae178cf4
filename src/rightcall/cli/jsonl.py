"""`rightcall check --jsonl`: calls in, verdicts out, one line each, in order, with bounded memory.

A line that cannot be used is answered with an error object and the run goes on. Every answer is flushed at once, so
that a program at the other end of a pipe can ask one question at a time. `read.py` answers lines for `rightcall read`.
"""

import json
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

import msgspec

from rightcall.base.json.strict import attempt, duplicate_keys
from rightcall.cli.lines import MAX_BYTES, bounded_lines
from rightcall.cli.options import gate_settings
from rightcall.cli.terminal import is_unicode, json_text, verdict_record
from rightcall.errors import RightCallError

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate


# ── statistics of several gates ──
# Statistics of several gates added up, in the shape that `Gate.stats()` has.


def merged(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
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
            self._past = merged(self._past, gate.stats())

    def _build(self, tools: Any) -> "Gate":
        from rightcall.gate.gate import Gate

        options = self._options
        return Gate(tools, policy=self._gate.policy, packs=tuple(options.pack), **gate_settings(options))

    def stats(self) -> dict[str, Any]:
        """The statistics of all gates of this run together."""
        total = self._gate.stats()
        for stats in (self._past, *(gate.stats() for gate in self._own.values())):
            total = merged(total, stats) if stats else total
        return total


Answer = Callable[[bytes, LineGates], dict[str, Any]]


def check_line(line: bytes, gates: LineGates) -> dict[str, Any]:
    """The verdict on the call of one line."""
    fields = _fields(line)
    line_id = fields.get("id")
    name = _name(fields, line_id)
    try:
        gate = gates.gate_for(_tools(fields, name))
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


def _fields(line: bytes) -> dict[str, Any]:
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
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise LineError(f"the line is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise LineError(f"the line is not JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise LineError(f"the line cannot be read: {error}") from error


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: an object in which no key stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice")
    return members


def _name(fields: Mapping[str, Any], id: Any) -> str:
    name = next((fields[key] for key in _NAMES if key in fields), None)
    if not isinstance(name, str):
        raise LineError('the line needs "name" (or "tool"): the name of the tool, as text', id)
    return name


def _arguments(fields: Mapping[str, Any], id: Any) -> Any:
    given = [key for key in _ARGUMENTS if key in fields]
    if len(given) > 1:
        raise LineError(f"the line has both {given[0]} and {given[1]}; which one is meant?", id)
    return fields[given[0]] if given else {}


def _tools(fields: Mapping[str, Any], name: str) -> Any:
    tools, schema = fields.get("tools"), fields.get("schema")
    if tools is not None and not isinstance(tools, list):
        raise ValueError('"tools" is a list of tools')
    if schema is None:
        return cast(Any, tools)
    if not isinstance(schema, dict):
        raise ValueError('"schema" is the JSON Schema of the arguments, an object')
    return [{"name": name, "parameters": schema}]

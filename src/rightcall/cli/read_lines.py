"""`rightcall read --jsonl`: emissions in, readings out, one line each, in order, with bounded memory."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from rightcall.cli.jsonl import Answer, LineError, LineGates, value_of
from rightcall.cli.readings import pieces_of, read_pieces, reading_record
from rightcall.errors import RightCallError

if TYPE_CHECKING:
    from rightcall.gate import Gate

_FORM = 'the line needs "text" (what the model wrote), "message" (a native message), or to be a JSON string'


def line_reader(finish_reason: str | None, stream: int) -> Answer:
    """What answers a line; a line's own finish reason comes before the one given for all."""

    def read_line(line: bytes, gates: LineGates) -> dict[str, Any]:
        fields = _fields(line)
        line_id = fields.get("id")
        try:
            gate = gates.gate_for(_tools(fields))
        except (RightCallError, TypeError, ValueError, RecursionError) as error:
            raise LineError(str(error), line_id) from error
        ended = _finish_reason(fields, line_id) or finish_reason
        record = _message(fields, gate, ended) if "message" in fields else _text(fields, gate, ended, stream)
        return {"id": line_id, **record} if "id" in fields else record

    return read_line


def _fields(line: bytes) -> dict[str, Any]:
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


def _text(fields: Mapping[str, Any], gate: "Gate", finish_reason: str | None, stream: int) -> dict[str, Any]:
    text = fields["text"]
    if not isinstance(text, str):
        raise LineError('"text" is what the model wrote, a string', fields.get("id"))
    if stream:
        reading = read_pieces(gate, pieces_of(text, stream), finish_reason)
    else:
        reading = gate.read(text, finish_reason)
    return reading_record(reading, text)


def _message(fields: Mapping[str, Any], gate: "Gate", finish_reason: str | None) -> dict[str, Any]:
    return reading_record(gate.read(fields["message"], finish_reason), None)


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

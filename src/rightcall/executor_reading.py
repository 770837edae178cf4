"""What an executor is given, as written calls: one call in any common shape, or everything in a text or message."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from rightcall.errors import CallError
from rightcall.executor_calls import Written
from rightcall.gate import Gate
from rightcall.types import Call, Reading

_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "params", "parameters", "args", "input")


def one_call(call: Any, gate: Gate) -> Written:
    """A `Call`, a dict with a name and arguments, or a native message that holds exactly one call."""
    if isinstance(call, Call):
        return Written(gate.check(call.name, call.arguments, call_id=call.id), call.name, gate=gate)
    if isinstance(call, Mapping):
        table = cast("Mapping[str, Any]", call)
        name = table.get("name")
        if not isinstance(name, str):
            name = next((table[key] for key in _NAMES if isinstance(table.get(key), str)), None)
        if name is not None and "content" not in table:
            arguments = next((table[key] for key in _ARGUMENTS if key in table), cast("Any", {}))
            call_id = table.get("id")
            verdict = gate.check(name, arguments, call_id=call_id if isinstance(call_id, str) else None)
            return Written(verdict, name, gate=gate)
    found = writings(call, gate, None)
    if len(found) == 1:
        return found[0]
    what = "no call" if not found else f"{len(found)} calls"
    raise CallError(f'run takes one call, such as {{"name": …, "arguments": {{…}}}}; this holds {what} (see run_all)')


def writings(message: Any, gate: Gate, finish_reason: str | None, emission: str | None = None) -> list[Written]:
    """Every call in a text, a native message, or a `Reading` of one (then of the text `emission`), in order."""
    reading = message if isinstance(message, Reading) else gate.read(message, finish_reason)
    checked = None if isinstance(message, Reading) else gate
    text = message if isinstance(message, str) else emission
    found: list[Written] = []
    for number, verdict in enumerate(reading.calls):
        call = verdict.found or verdict.call
        place = reading.places[number] if number < len(reading.places) else None
        if place is not None and place.format == "native":
            place = None  # it stands in no text
        stood = text[place.start : place.end] if text is not None and place is not None else None
        found.append(Written(verdict, call.name if call else "", stood, checked))
    return found


def groups(calls: list[Written], alone: Callable[[Written], bool]) -> Iterator[list[Written]]:
    """Calls that may run at the same time: those that only read; any other waits for those before and runs alone."""
    together: list[Written] = []
    for call in calls:
        if not alone(call):
            together.append(call)
            continue
        if together:
            yield together
        yield [call]
        together = []
    if together:
        yield together

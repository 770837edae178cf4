"""Whether an answer can be used, whether it is right, and what is wrong with it.

*Usable* means: the right tools, as native calls with ids, and arguments that are JSON and fit the schema. *Right*
means: also with the values that the question states. A wrong tool is never usable, whoever repaired it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, Literal, cast

import msgspec
from msgspec import Struct

from rightcall.catalog import Tool
from rightcall.gate import Gate
from rightcall.proxy.wire import Wire
from rightcall.serve.doctor_questions import DoctorQuestion
from rightcall.serve.doctor_reading import Message, Native

Damage = Literal[
    "refused", "ignored", "none", "text", "name", "json", "types", "missing", "surplus", "id", "cut", "wrong tool",
    "number", "error", "slow",
]  # fmt: skip

TOLD: Final[dict[Damage, str]] = {
    "refused": "the server refused the request because of its tools",
    "ignored": "the server did not tell the model of its tools",
    "none": "no call at all",
    "text": "a call left in the text",
    "name": "a name that no tool has",
    "json": "arguments that are no JSON",
    "types": "values of a wrong type or outside the choices",
    "missing": "a required argument is missing",
    "surplus": "an argument that the tool does not have",
    "id": "a call without an id",
    "cut": "cut off at the most tokens allowed",
    "wrong tool": "another tool than the one asked for",
    "number": "too many or too few calls",
    "error": "the server answered with an error",
    "slow": "no whole answer in time",
}

CUT: Final = frozenset({"length", "max_tokens"})
"""Why an answer ended, in the words of the APIs, where it was not over."""


class Outcome(Struct, frozen=True):
    usable: bool = False
    right: bool = False


def judged(wire: Wire, gate: Gate, message: Message, question: DoctorQuestion) -> Outcome:
    """What a strict client could do with the answer."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for call in message.calls:
        arguments = arguments_of(wire, call)
        if damages_of(wire, gate, call) or arguments is None:
            return Outcome()
        calls.append((call.name, arguments))
    if Counter(name for name, _ in calls) != Counter(wanted.tool for wanted in question.wanted):
        return Outcome()
    return Outcome(True, _has_values(calls, question))


def damages_of(wire: Wire, gate: Gate, call: Native) -> set[Damage]:
    """What is wrong with a native call as such."""
    damages: set[Damage] = set()
    if wire.new_id() and not (isinstance(call.id, str) and call.id):
        damages.add("id")
    arguments = arguments_of(wire, call)
    tool = gate.catalog.tools.get(call.name) if isinstance(call.name, str) else None
    if tool is None:
        damages.add("name")
    if arguments is None:
        damages.add("json")
    elif tool is not None:
        damages |= _misfits(tool, arguments)
    return damages


def arguments_of(wire: Wire, call: Native) -> dict[str, Any] | None:
    """The arguments as a client gets them that does exactly what the API says; None where it fails."""
    value = call.arguments
    if wire.name in ("openai_chat", "openai_responses"):
        if not isinstance(value, str):
            return None
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
    elif isinstance(value, str) and not value:
        value = {}  # a stream without a piece of arguments: there are none
    elif isinstance(value, str):
        value = _streamed_object(wire, value)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _streamed_object(wire: Wire, text: str) -> Any:
    """Anthropic streams arguments as text; a text in a whole answer of Ollama is no object."""
    if wire.name != "anthropic":
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _misfits(tool: Tool, arguments: dict[str, Any]) -> set[Damage]:
    try:
        if tool.fits(arguments):
            return set()
        kinds = {str(cast("Any", error.kind).name) for error in tool.errors(arguments)}
    except ValueError:
        return {"json"}
    by_kind: dict[str, Damage] = {"required": "missing", "additionalProperties": "surplus"}
    return {by_kind.get(kind, "types") for kind in kinds} or {"types"}


def _has_values(calls: list[tuple[str, dict[str, Any]]], question: DoctorQuestion) -> bool:
    """Each wanted call has one of its own; in any order, since the calls of one message may run in any."""
    left = list(calls)
    for wanted in question.wanted:
        fitting = (
            call for call in left
            if call[0] == wanted.tool and same(call[1], wanted.values, exact=question.exact)
        )  # fmt: skip
        found = next(fitting, None)
        if found is None:
            return False
        left.remove(found)
    return True


def same(given: Any, wanted: Any, *, exact: bool) -> bool:
    """Whether a value is the one that was stated.

    >>> same({"city": " paris"}, {"city": "Paris"}, exact=False), same(True, 1, exact=False), same("A", "a", exact=True)
    (True, False, False)
    """
    if isinstance(wanted, dict):
        pairs = cast("dict[str, Any]", wanted).items()
        if not isinstance(given, dict):
            return False
        holder = cast("dict[str, Any]", given)
        return all(key in holder and same(holder[key], value, exact=exact) for key, value in pairs)
    if isinstance(wanted, list):
        items, others = cast("list[Any]", wanted), cast("list[Any]", given)
        if not isinstance(given, list) or len(others) != len(items):
            return False
        return all(same(one, other, exact=exact) for one, other in zip(others, items, strict=True))
    if isinstance(wanted, str) and isinstance(given, str):
        return given.rstrip("\n") == wanted.rstrip("\n") if exact else _plain(given) == _plain(wanted)
    return isinstance(given, bool) == isinstance(wanted, bool) and given == wanted


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()

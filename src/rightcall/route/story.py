"""Packets change by giving the next one: small steps from one to another, without asking or running anything."""

from collections.abc import Iterator
from time import perf_counter
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.errors import CallError
from rightcall.parse.kinds import is_object
from rightcall.record.clock import SystemClock
from rightcall.route.types import DataField, Packet, ReflectionLog, Sketchpad, State

RESULT, SAID = "tool_result", "user_said"
"""Keys of data fields: what a tool gave, and what the user added when asked."""

Step = Literal[
    "intent_detection", "tool_selection", "confidence_review", "tool_routing", "tool_execution", "response"
]  # fmt: skip

_clock = SystemClock()


class Taken(Struct, frozen=True):
    """What a step has cost so far."""

    began: float
    tokens: int = 0

    def plus(self, tokens: int) -> "Taken":
        return Taken(self.began, self.tokens + tokens)


def starting() -> Taken:
    return Taken(perf_counter())


def logged(
    packet: Packet, step: Step, summary: str, taken: Taken, *, sure: float | None = None, seconds: float | None = None
) -> Packet:
    """The packet with one more line in its story."""
    took = perf_counter() - taken.began if seconds is None else seconds
    line = ReflectionLog(step, summary, sure, _clock.wall(), round(took * 1e3, 3), taken.tokens)
    log = (*packet.reasoning.reflection_log, line)
    return replace(packet, reasoning=replace(packet.reasoning, reflection_log=log))


def routed(packet: Packet, **changes: Any) -> Packet:
    """The packet with another routing state."""
    return replace(packet, tool_routing=replace(packet.tool_routing, **changes))


def standing(packet: Packet, state: State, why: str = "") -> Packet:
    return replace(packet, status=replace(packet.status, state=state, why=why))


def with_field(packet: Packet, field: DataField) -> Packet:
    fields = (*packet.content.data_fields, field)
    return replace(packet, content=replace(packet.content, data_fields=fields))


def with_note(packet: Packet, note: Sketchpad) -> Packet:
    """The note takes the place of an older one in its slot."""
    others = (one for one in packet.reasoning.sketchpad if one.slot != note.slot)
    return replace(packet, reasoning=replace(packet.reasoning, sketchpad=(*others, note)))


def request_of(packet: Packet) -> str:
    """What the user wants: the request, and what was added when the user was asked."""
    added = [str(one.value) for one in packet.content.data_fields if one.key == SAID]
    return "\n".join((packet.content.original_prompt, *added))


def has_spoken(packet: Packet) -> bool:
    """Whether the user has added something to the request."""
    return any(one.key == SAID for one in packet.content.data_fields)


def results_of(packet: Packet) -> Iterator[dict[str, Any]]:
    """What tools gave so far, in order."""
    return (one.value for one in packet.content.data_fields if one.key == RESULT and is_object(one.value))


def request_text(text: object) -> str:
    """A request that a program gave, which has no types at run time. Raises CallError."""
    if not isinstance(text, str):
        raise CallError(f"`text` must be the request as a str, not {type(text).__name__}")
    return text

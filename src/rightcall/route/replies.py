"""What a model replied to a question that wants a JSON object. Servers do not keep their word on a schema, so nothing
is taken for granted: what is damaged in a way that leaves no doubt is mended, everything else is no reply."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightcall.errors import Unreadable
from rightcall.loading import loads
from rightcall.loop_replies import answer_of, turn_of
from rightcall.parse.kinds import is_object
from rightcall.recover.registry import REASONING
from rightcall.types import Reading

if TYPE_CHECKING:
    from rightcall.gate import Gate

_DOUBTFUL = {
    "duplicate_key": "a key stands in it twice",
    "several_values": "it holds more than one value",
}


class Said(Struct, frozen=True):
    """A reply taken apart."""

    text: str
    """Its prose, without the reasoning that some models write first."""
    reading: Reading
    """The calls in it, for a model that calls where it should choose."""


class Object(Struct, frozen=True):
    """The one JSON object of a reply."""

    value: dict[str, Any]
    confidence: float = 1.0
    """How sure its repairs are."""


class Broken(Struct, frozen=True):
    """A reply that cannot be used. `why` is for people and for the model."""

    why: str


def taken_apart(gate: "Gate", written: Any) -> Said:
    """Never raises, whatever a model wrote."""
    reading = gate.read(written)
    turn = turn_of(written, reading)
    return Said(answer_of(turn, Reading((), turn.prose)).strip(), reading)


def object_in(text: str) -> Object | Broken:
    """The JSON object that a reply holds, alone or within some words.

    >>> object_in('Sure: {"approved": true,}').value
    {'approved': True}
    >>> object_in('{"approved": true} {"approved": false}').why
    'it holds more than one value'
    """
    if text.startswith(tuple(REASONING)):
        return Broken("it ends before the reasoning does")
    try:
        parsed = loads(text)
    except Unreadable:
        return Broken("it holds no JSON object")
    if parsed.truncated:
        return Broken("its JSON is cut off")
    for repair in parsed.repairs:
        if repair.rule in _DOUBTFUL:
            return Broken(_DOUBTFUL[repair.rule])
    if not is_object(parsed.value):
        return Broken("it holds no JSON object")
    return Object(parsed.value, parsed.confidence)


def share(value: Any) -> float | None:
    """A number from 0 to 1; None for everything else: `true`, "0.9", NaN and 90 are none.

    >>> share(0.9), share(1), share(True), share("0.9"), share(float("nan")), share(90)
    (0.9, 1.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= 1 else None


def words(value: Any, most: int = 1000) -> str:
    """A text that a model gave beside its choice, cut; nothing for anything else."""
    return value[:most] if isinstance(value, str) else ""

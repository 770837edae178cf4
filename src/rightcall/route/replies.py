"""What a model replied to a question that wants a JSON object. Servers do not keep their word on a schema, so nothing
is taken for granted. The object is the whole reply, but for reasoning before it and one fence around it: what stands
within other words may be quoted there, and meant otherwise.

    object_in ─▶ what is damaged in a way that leaves no doubt is mended (a choice, which is reviewed)
    exact_in  ─▶ JSON to the letter (a review, which lets things run)
"""

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightcall.errors import Unreadable
from rightcall.loading import loads
from rightcall.loop_replies import Turn, answer_of, turn_of
from rightcall.parse.kinds import is_object
from rightcall.parse.strict import NO_JSON, attempt, duplicate_keys
from rightcall.recover.native import unpack
from rightcall.recover.registry import REASONING
from rightcall.types import Reading

if TYPE_CHECKING:
    from rightcall.gate import Gate

_DOUBTFUL = {
    "duplicate_key": "a key stands in it twice",
    "several_values": "it holds more than one value",
}
_AROUND = "other words stand around its JSON object"

_HARMONY = ("<|channel|>", "<|start|>")
_CHANNELS = re.compile(
    r"(?:<\|start\|>assistant)?(?:<\|channel\|>(?:analysis|commentary)<\|message\|>(?:(?!<\|).)*<\|end\|><\|start\|>assistant)*"
    r"<\|channel\|>final<\|message\|>(?P<final>(?:(?!<\|).)*)(?:<\|return\|>|<\|end\|>)?\s*",
    re.DOTALL,
)
"""A reply in channels, whole and in order. What quotes a marker within a channel is none, and is not taken apart."""
_FENCE = "```"
_LANGUAGES = frozenset(("", "json"))


class Said(Struct, frozen=True):
    """A reply taken apart."""

    text: str
    """Its prose, without the reasoning that some models write first."""
    reading: Reading
    """The calls in it, for a model that calls where it should choose."""
    finish: str = ""
    """Why it ended, where its API says so."""
    opened: bool = False
    """Whether it begins inside of reasoning."""

    @property
    def only_calls(self) -> bool:
        """Whether it is nothing but calls: through the API, which keeps them apart, or in a format of the model's own
        without other words."""
        reading = self.reading
        if not reading.calls:
            return False
        native = any(place.format == "native" for place in reading.places)
        return native or self.text.startswith(_HARMONY) or not _without_reasoning(reading.text, self.opened)


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
    finish = "" if isinstance(written, (str, bytes)) else str(unpack(written).finish or "")
    opened = gate.reasoning == "open"
    return Said(_final(_without_reasoning(turn_of(written, reading).prose, opened)), reading, finish, opened)


def object_in(text: str) -> Object | Broken:
    """The JSON object that a reply is, mended where it is broken.

    >>> object_in('{approved: true,}').value
    {'approved': True}
    >>> object_in('{"approved": true} {"approved": false}').why
    'it holds more than one value'
    >>> object_in('I will never say {"approved": true}').why
    'other words stand around its JSON object'
    """
    bare = _unfenced(text)
    if bare.startswith(tuple(REASONING)):
        return Broken("it ends before the reasoning does")
    try:
        parsed = loads(bare)
    except Unreadable:
        return Broken("it holds no JSON object")
    if parsed.truncated:
        return Broken("its JSON is cut off")
    for repair in parsed.repairs:
        if repair.rule in _DOUBTFUL:
            return Broken(_DOUBTFUL[repair.rule])
    if not is_object(parsed.value):
        return Broken("it holds no JSON object")
    if not bare.startswith("{") or bare[parsed.end :].strip("} \t\r\n"):
        return Broken(_AROUND)
    return Object(parsed.value, parsed.confidence)


def exact_in(text: str) -> Object | Broken:
    """The JSON object that a reply is, to the letter.

    >>> exact_in('```json\\n{"approved": true}\\n```').value
    {'approved': True}
    >>> exact_in('{"approved": true,}').why
    'it is no JSON to the letter'
    """
    bare = _unfenced(text)
    value = attempt(bare)
    if value is NO_JSON:
        found = object_in(bare)
        return found if isinstance(found, Broken) else Broken("it is no JSON to the letter")
    if not is_object(value):
        return Broken("it holds no JSON object")
    return Broken(_DOUBTFUL["duplicate_key"]) if duplicate_keys(bare, value) else Object(value)


def _without_reasoning(text: str, opened: bool) -> str:
    return answer_of(Turn({}, prose=text), Reading((), text), opened=opened).strip()


def _final(text: str) -> str:
    """Of a reply in channels, what is meant for others; the whole of it where that cannot be told."""
    found = _CHANNELS.fullmatch(text) if text.startswith(_HARMONY) else None
    return text if found is None else found["final"].strip()


def _unfenced(text: str) -> str:
    """Without the one fence that may stand around everything."""
    bare = text.strip()
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE)):
        return bare
    language, _, inner = bare.removeprefix(_FENCE).removesuffix(_FENCE).partition("\n")
    return inner.strip() if language.strip().lower() in _LANGUAGES else bare


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

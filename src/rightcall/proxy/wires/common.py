"""What the events of every API come down to: pieces of text, pieces of calls, and the end of an answer.

A wire reads an `Event` with its `Delta`s, the flow decides each delta, and the wire writes the event again. A whole
answer that was not streamed is one event with all its deltas.
"""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from enum import Enum, IntEnum
from typing import Any, Final, Literal, NamedTuple, Protocol, cast

import msgspec
from msgspec import Struct

from rightcall.base.http.answers import Framing, payload
from rightcall.types import Call


class Kind(IntEnum):
    """What a delta says."""

    OPEN = 1
    """A block of text begins. Only APIs that mark it say so; dropped where all its text was lifted."""
    TEXT = 2
    """A piece of the text of `lane`."""
    SHUT = 3
    """The block of text is over. Shares the fate of its OPEN."""
    CALL = 4
    """A call begins: `key`, and as far as they are known `name`, `id` and (a piece of) its `arguments`."""
    MORE = 5
    """A further piece of the arguments of call `key`."""
    DONE = 6
    """Call `key` is complete."""
    FINISH = 7
    """The answer is over; `text` is the reason in the API's own word."""


class _Kept(Enum):
    SAME = "as it came"
    DROP = "not at all: what it said is said elsewhere"


SAME: Final = _Kept.SAME
DROP: Final = _Kept.DROP


class Ending(NamedTuple):
    """What comes before the end of an answer: text and calls that the API did not send as such."""

    calls: tuple[Call, ...]
    text: str = ""
    reason: str | None = None
    """Why the answer ended from which they come, in the API's own word, where that is another one."""
    native: bool = False
    """Whether the answer has calls of its own before them."""

    @property
    def has_calls(self) -> bool:
        """Whether the client gets any call."""
        return bool(self.calls) or self.native


class Delta(Struct, eq=False):
    """One thing that an event says, and what becomes of it.

    `new`, once `done`: SAME, DROP, a str in place of a TEXT, a `Call` on the first delta of a call that is written anew
    (the whole of it, with its id; the other pieces are dropped) and on its DONE, an `Ending` on a FINISH.
    """

    kind: Kind
    answer: int = 0
    """Which of several answers to the same request."""
    lane: int = 0
    """Which block of text of the answer."""
    text: str = ""
    key: Any = None
    name: Any = None
    id: Any = None
    arguments: Any = ""
    start: int = 0
    end: int = 0
    index: int | None = None
    """The number that the server gave the call, and `number` the one that the client is told: where a wire needs
    them."""
    number: int | None = None
    done: bool = False
    new: Any = SAME

    def decide(self, new: Any = SAME) -> None:
        self.new = new
        self.done = True

    def __repr__(self) -> str:
        return f"<{self.kind.name} {self.text or self.name or self.arguments!r} {self.new if self.done else '?'}>"


class Event:
    """One event of a stream as it came, or a whole answer."""

    __slots__ = ("again", "data", "deltas", "raw")

    def __init__(self, raw: bytes, deltas: list[Delta] | None = None, data: Any = None) -> None:
        self.raw = raw
        """With its framing, ready to be passed on."""
        self.deltas = deltas or []
        self.data = data
        """What a wire keeps of it, so as not to decode it twice."""
        self.again = False
        """Whether a part of it was written already: then only the text that is left is written now."""

    @property
    def done(self) -> bool:
        for delta in self.deltas:  # noqa: SIM110 - a generator costs more than all that is in it
            if not delta.done:
                return False
        return True

    @property
    def same(self) -> bool:
        """Whether it leaves as it came."""
        if self.again:
            return False
        for delta in self.deltas:  # noqa: SIM110 - likewise
            if delta.new is not SAME:
                return False
        return True


# ── wire ──
# What the engine asks of a wire: the translation between one API and what all APIs have in common.

WireName = Literal["openai_chat", "openai_responses", "anthropic", "ollama"]
Choice = Literal["auto", "none", "required"]

FaultKind = Literal["unreachable", "timeout", "broken", "too_large", "refused", "internal", "stopped"]
"""What went wrong between us and the model's server."""


class Asked(Struct, frozen=True):
    """What a request asks for, as far as the proxy cares."""

    model: str
    stream: bool
    tools: bytes
    """The list of tools as it stood in the request; empty where there is none."""
    choice: Choice = "auto"
    """Whether the model may or must call a tool; a certain one that it must call counts as required."""
    answers: int = 1
    limit: int | None = None
    """The most tokens of an answer."""


class Usage(Struct, frozen=True):
    """Tokens, as far as the server counted them."""

    prompt: int | None = None
    completion: int | None = None


class Redo(Struct, frozen=True):
    """What the model is told when it is asked again."""

    prose: str
    calls: tuple[Call, ...]
    """The calls as the model wrote them (arguments as text or object), each with an id."""
    hints: tuple[str, ...]
    """What to say to each of them."""
    text: str = ""
    """The hint where there is no native call to answer: the model wrote its call into the text."""


class StreamWire(Protocol):
    """Reads and writes the events of one stream. It may keep state: events are written in the order they were read."""

    @property
    def framing(self) -> Framing: ...

    @property
    def text_alone(self) -> bool:
        """Whether events that say a piece of text and nothing else are read and written without any state: two that
        are alike but for their text mean the same."""
        ...

    @property
    def usage(self) -> Usage:
        """The tokens that the stream has told of so far."""
        ...

    def read(self, raw: bytes) -> Event:
        """What an event says. What it cannot read has no deltas, and passes. Never raises."""
        ...

    def write(self, event: Event, usage: Usage | None) -> bytes:
        """The event as it was decided; its own bytes where nothing changed. `usage` are tokens of other tries, to be
        added where the event tells the tokens."""
        ...


class Wire(ABC):
    """One API. Everything takes and gives decoded JSON; nothing raises because of what a server or a model wrote."""

    name: WireName
    path: str
    """What the paths end with at which a model is asked over this API."""
    prefix = "call_"
    """What the ids of calls begin with, as the API shapes them."""
    text_arguments = False
    """Whether arguments are JSON text, not an object."""
    streams = False
    """Whether an answer is streamed where the request does not say."""
    counts = ("prompt_tokens", "completion_tokens")
    """The names of the tokens in `usage`: of the prompt, and of the answer."""

    def is_for(self, method: str, path: str) -> bool:
        """Whether a request to this path asks a model over this API."""
        return method == "POST" and path.endswith(self.path)

    def asked(self, body: bytes) -> Asked | None:
        """What the request asks for; None where it cannot be read, so that it passes as it is."""
        request = decode_request(body)
        if request is None:
            return None
        stream = request.stream is True or (self.streams and request.stream is not False)
        choice, answers = self.choice(request.tool_choice), a_number(request.n) or 1
        return Asked(str(request.model), stream, raw_list(request.tools), choice, answers, request.limit)

    def choice(self, given: Any) -> Choice:
        """What the request's `tool_choice` says; this one says nothing."""
        del given
        return "auto"

    def new_id(self) -> str:
        """A new id for a call. Wires whose calls have no ids give ''."""
        return random_id(self.prefix)

    @abstractmethod
    def stream(self) -> StreamWire: ...

    @abstractmethod
    def whole(self, answer: Any) -> Event | None:
        """A whole answer as one event (its `data` is `answer`); None where it is no answer of a model."""

    @abstractmethod
    def written(self, event: Event) -> Any:
        """The whole answer as decided, a new object; unknown fields survive."""

    def usage(self, answer: Any) -> Usage:
        return usage_of((an_object(answer) or {}).get("usage"), self.counts)

    def with_usage(self, answer: Any, extra: Usage | None) -> Any:
        """The answer, with tokens of other tries added to its own."""
        return with_tokens(answer, extra, self.counts)

    @abstractmethod
    def again(self, request: dict[str, Any], redo: Redo) -> dict[str, Any]:
        """The request once more, with what the model wrote and what is wrong with it; not streamed."""

    @abstractmethod
    def taught(self, request: dict[str, Any], prompt: str) -> dict[str, Any]:
        """The request for a model that knows no tools: `prompt` among its instructions, no tools, and the calls and
        results of the conversation so far as text."""

    @abstractmethod
    def error(self, status: int, kind: FaultKind, message: str) -> bytes:
        """The body of an error, as clients of this API read it."""

    @abstractmethod
    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        """An error in the middle of a stream, as clients of this API read it."""


# ── common ──
# What several wires need: small readings of JSON that somebody else wrote.

encode = msgspec.json.encode
Object = dict[str, Any]


def decode_object(data: bytes) -> Object | None:
    """The object in these bytes, if there is one."""
    return an_object(decode_value(data))


def decode_value(data: bytes | str) -> Any:
    """The JSON value in these bytes, None also where there is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


class Requested(msgspec.Struct):
    """What every API's request says in the same words. The tools stay as they stood."""

    model: Any = ""
    stream: Any = None
    tools: msgspec.Raw = msgspec.Raw()
    tool_choice: Any = None
    n: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    options: Any = None

    @property
    def limit(self) -> int | None:
        """The most tokens of an answer, whatever its API calls them; Ollama's -1 is none."""
        named = (self.max_tokens, self.max_completion_tokens, self.max_output_tokens)
        given = (*named, (an_object(self.options) or {}).get("num_predict"))
        return min((one for one in map(a_number, given) if one is not None and one > 0), default=None)


_requested = msgspec.json.Decoder(Requested)


def decode_request(body: bytes) -> Requested | None:
    """The request, None where it cannot be read."""
    try:
        return _requested.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def random_id(prefix: str) -> str:
    """An id that no server gives a second time.

    >>> len(random_id("call_"))
    29
    """
    return prefix + secrets.token_hex(12)


def an_object(value: Any) -> Object | None:
    """The value if it is an object.

    >>> an_object([1]) is None
    True
    """
    return cast("Object", value) if isinstance(value, dict) else None


def a_list(value: Any) -> list[Any]:
    """The value if it is a list, else none of its items."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def objects(value: Any) -> list[Object]:
    """The objects in a list."""
    return [cast("Object", item) for item in a_list(value) if isinstance(item, dict)]


def raw_list(value: msgspec.Raw) -> bytes:
    """The bytes of a list that was not decoded; none where it is empty or no list."""
    raw = bytes(value)
    return raw if raw.startswith(b"[") and raw.strip(b"[ \n\r\t]") else b""


def content_text(content: Any) -> str:
    """The text of a content that is one, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in objects(content))


def arguments_text(arguments: Any) -> str:
    """Arguments as the JSON text that APIs carry."""
    return arguments if isinstance(arguments, str) else encode(arguments).decode()


def a_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def add_count(value: Any, more: int | None) -> Any:
    """A count with another one added, where it is a count."""
    number = a_number(value)
    return value if number is None or more is None else number + more


def usage_of(given: Any, counts: tuple[str, str]) -> Usage:
    """The tokens in a `usage` object."""
    usage = an_object(given) or {}
    return Usage(*[a_number(usage.get(count)) for count in counts])


def with_tokens(answer: Object, extra: Usage | None, counts: tuple[str, str]) -> Object:
    """An answer or an event with tokens of other tries added to its own `usage`, where it tells any by these names."""
    usage = an_object(answer.get("usage"))
    if usage is None or extra is None:
        return answer
    total = (extra.prompt or 0) + (extra.completion or 0)
    more = dict(zip((*counts, "total_tokens"), (extra.prompt, extra.completion, total), strict=True))
    return {**answer, "usage": add_counts(usage, more)}


def add_counts(given: Object, more: dict[str, int | None]) -> Object:
    """The object with these added to its own counts, where it has any by their names."""
    return {**given, **{key: add_count(given[key], count) for key, count in more.items() if key in given}}


def plus(one: Usage, other: Usage) -> Usage:
    """
    >>> plus(Usage(1, 2), Usage(3, None))
    Usage(prompt=4, completion=2)
    """
    return Usage(_sum(one.prompt, other.prompt), _sum(one.completion, other.completion))


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other


# ── the report ──
# What was done to an answer, as a field of it: for clients that ask for it, since not every client skips what it does
# not know.

FIELD: Final = "rightcall"


def with_report(answer: Object, words: str | None) -> Object:
    """The answer, or the event that ends one, with the words; an upstream's own such field never passes for ours.

    >>> with_report({"done": True}, "repaired=1")
    {'done': True, 'rightcall': 'repaired=1'}
    """
    inner = an_object(answer.get("response")) if str(answer.get("type")).startswith("response.") else None
    if inner is not None:  # where the Responses API has the answer in its last event
        return {**answer, "response": with_report(inner, words)}
    kept = {key: value for key, value in answer.items() if key != FIELD}
    return kept if words is None else {**kept, FIELD: words}


def reported(raw: bytes, words: str | None) -> bytes | None:
    """One event or line of a stream with the words in it; None where it has no place for them."""
    old = payload(raw) or raw.strip()
    data = decode_object(old)
    return None if data is None or raw.count(old) != 1 else raw.replace(old, encode(with_report(data, words)))


# ── tokens that a request used ──
# Tokens that a request used: as the model's server tells them, else about as many; and refusing whoever has used up
# the budget of a day.
#
#     budget.check(caller) ─▶ Spent, told as 429 in the words of the API
#     Meter.take(bytes that pass) ─▶ Meter.tokens()
#
# An answer that passes byte for byte is not read as a whole: the counts stand at its beginning or at its end.

_NEAR = 16_384
"""Bytes at the beginning and at the end in which counts are looked for."""
_A_TOKEN = 4
"""Bytes, about."""
_PROMPT = (
    b"prompt_tokens", b"input_tokens", b"prompt_eval_count", b"cache_read_input_tokens", b"cache_creation_input_tokens",
)  # fmt: skip
_COUNT = re.compile(
    rb'"(prompt_tokens|completion_tokens|input_tokens|output_tokens|prompt_eval_count|eval_count'
    rb'|cache_read_input_tokens|cache_creation_input_tokens)"\s*:\s*(\d{1,12})'
)
"""Inside a text that a model wrote the quotes are escaped: there it finds nothing."""


class Spent(Exception):
    """The caller has used up its tokens of the day; in `wait` seconds there are new ones."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


class Budget(Protocol):
    """What callers may use up in a day, and have."""

    def counts(self, caller: str) -> bool:
        """Whether the tokens of this caller are limited at all."""
        ...

    async def check(self, caller: str) -> None:
        """Raises Spent."""
        ...


class Meter:
    """Of one request whose answer passes unread."""

    def __init__(self, body: bytes) -> None:
        self._asked = len(body)
        self._size = self._events = 0
        self._head = self._tail = b""

    def take(self, data: bytes) -> None:
        self._size += len(data)
        self._events += data.count(b"data:")
        if len(self._head) < _NEAR:
            self._head += data[: _NEAR - len(self._head)]
        self._tail = (self._tail + data)[-_NEAR:]

    def tokens(self) -> int:
        """
        >>> meter = Meter(b"{}")
        >>> meter.take(b'{"content": "hi", "usage": {"prompt_tokens": 12, "completion_tokens": 3}}')
        >>> meter.tokens()
        15
        """
        found = {name: int(count) for name, count in _COUNT.findall(self._head + b" " + self._tail)}
        told = sum(found.values())
        answered = any(name not in _PROMPT for name in found)
        return told if told and answered else told + estimate(0 if told else self._asked, self._size, self._events)


def tokens_of(usage: Usage) -> int:
    return (usage.prompt or 0) + (usage.completion or 0)


def estimate(asked: int, answered: int = 0, events: int = 0) -> int:
    """Of a server that tells nothing, from the bytes that were sent and came; a stream has about a token an event.

    >>> estimate(400, 80), estimate(400, 9_000, 30)
    (120, 130)
    """
    return asked // _A_TOKEN + (events or answered // _A_TOKEN)

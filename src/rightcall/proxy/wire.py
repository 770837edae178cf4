"""What the engine asks of a wire: the translation between one API and what all APIs have in common."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from msgspec import Struct

from rightcall.proxy.events import Event
from rightcall.text.framing import Framing
from rightcall.types import Call

WireName = Literal["openai_chat", "openai_responses", "anthropic", "ollama"]
Choice = Literal["auto", "none", "required"]

FaultKind = Literal["unreachable", "timeout", "broken", "too_large", "refused", "internal"]
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


class Wire(Protocol):
    """One API. Everything takes and gives decoded JSON; nothing raises because of what a server or a model wrote."""

    @property
    def name(self) -> WireName: ...

    def is_for(self, method: str, path: str) -> bool:
        """Whether a request to this path asks a model over this API."""
        ...

    def asked(self, body: bytes) -> Asked | None:
        """What the request asks for; None where it cannot be read, so that it passes as it is."""
        ...

    def new_id(self) -> str:
        """A new id for a call, as the API shapes them. Wires whose calls have no ids give ''."""
        ...

    def stream(self) -> StreamWire: ...

    def whole(self, answer: Any) -> Event | None:
        """A whole answer as one event (its `data` is `answer`); None where it is no answer of a model."""
        ...

    def written(self, event: Event) -> Any:
        """The whole answer as decided, a new object; unknown fields survive."""
        ...

    def usage(self, answer: Any) -> Usage: ...

    def with_usage(self, answer: Any, extra: Usage) -> Any:
        """The answer, with tokens of other tries added to its own."""
        ...

    def again(self, request: dict[str, Any], redo: Redo) -> dict[str, Any]:
        """The request once more, with what the model wrote and what is wrong with it; not streamed."""
        ...

    def taught(self, request: dict[str, Any], prompt: str) -> dict[str, Any]:
        """The request for a model that knows no tools: `prompt` among its instructions, no tools, and the calls and
        results of the conversation so far as text."""
        ...

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:
        """The body of an error, as clients of this API read it."""
        ...

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        """An error in the middle of a stream, as clients of this API read it."""
        ...

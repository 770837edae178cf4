"""What a scripted upstream can be told to say: the parts of an answer, and the ways in which one goes wrong."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, json

CREATED = 1_763_200_000
"""Seconds. Every answer was made at this moment, so that two answers to one script are the same bytes."""

Pieces = list[str] | int | None
"""How a text is cut for a stream: these pieces, pieces of so many characters, or (None) one piece per word."""


class Usage(Struct, frozen=True):
    prompt: int = 21
    completion: int = 13


class Text(Struct, frozen=True):
    """Prose, or what the model took for it."""

    text: str
    pieces: Pieces = None


class Reasoning(Struct, frozen=True):
    text: str
    pieces: Pieces = None
    signature: str = "EqQBCgIYAhIkc2lnbmF0dXJl"


class NativeCall(Struct, frozen=True):
    """A call in the wire's own form. Arguments given as text go out as they are, broken or not."""

    name: str
    arguments: str | dict[str, Any]
    id: str | None = None
    pieces: Pieces = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else dumped(self.arguments)

    @property
    def value(self) -> Any:
        """For wires that carry arguments as an object: the text itself where it is none."""
        if isinstance(self.arguments, dict):
            return self.arguments
        try:
            return json.decode(self.arguments)
        except ValueError:
            return self.arguments


Part = Text | Reasoning | NativeCall


class Answer(Struct, frozen=True):
    """One answer of the model. `finish` is the wire's own word; None is the one that fits the parts. `extra` are fields
    no client has heard of, put into the answer and into every event. `others` are the parts of further choices."""

    parts: list[Part]
    finish: str | None = None
    usage: Usage = Usage()
    extra: dict[str, Any] = {}
    id: str = "0001"
    others: list[list[Part]] = []

    @property
    def calls(self) -> list[NativeCall]:
        return [part for part in self.parts if isinstance(part, NativeCall)]

    def numbered(self, prefix: str, call: NativeCall) -> str:
        """The id of a call: its own, or one by its place among all calls of this answer."""
        every = [part for parts in (self.parts, *self.others) for part in parts if isinstance(part, NativeCall)]
        place = next(place for place, other in enumerate(every) if other is call)
        return call.id or f"{prefix}_{self.id}_{place}"


class Raw(Struct, frozen=True):
    """Exactly these bytes. `pieces` are sent one by one, each as a chunk; `length` is what the header claims instead of
    the truth (with `pieces`: instead of chunks). Pieces may be made while they are sent: `repeat(b"x" * 65536, 3200)`
    is 200 MB."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = {}
    content_type: str = "application/json"
    pieces: Iterable[bytes] | None = None
    length: int | None = None


class Failure(Struct, frozen=True):
    """An error in the wire's own shape."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    headers: dict[str, str] = {}


class Dies(Struct, frozen=True):
    """The connection ends after so many events of the stream, or in the middle of an answer that is no stream. `half`:
    half of the next event is sent as well; `silent`: the end of the connection ends the body, as HTTP allows."""

    answer: Answer
    after: int = 1
    half: bool = False
    silent: bool = False


class Stalls(Struct, frozen=True):
    """Nothing more comes after so many events, until the test says `release`. 0: not even the head of the answer."""

    answer: Answer
    after: int = 1


class Fails(Struct, frozen=True):
    """A stream that says, after so many events, that it failed, as the wire says it."""

    answer: Answer
    after: int = 1
    message: str = "Overloaded"


Scripted = Answer | Raw | Failure | Dies | Stalls | Fails


def cut(text: str, pieces: Pieces) -> list[str]:
    """
    >>> cut("two words", None)
    ['two ', 'words']
    >>> cut("abcde", 2)
    ['ab', 'cd', 'e']
    """
    if isinstance(pieces, list):
        assert "".join(pieces) == text, f"the pieces {pieces} are not {text!r}"
        return pieces
    if pieces is None:
        return list(_words(text))
    return [text[at : at + pieces] for at in range(0, len(text), pieces)]


def _words(text: str) -> Iterator[str]:
    start = 0
    for at in range(1, len(text)):
        if text[at - 1] == " " and text[at] != " ":
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def dumped(value: Any) -> str:
    """JSON as the hosted services write it into streams: no blanks."""
    return json.encode(value).decode()


def printed(value: Any) -> bytes:
    """JSON as OpenAI writes whole answers: indented."""
    return json.format(json.encode(value), indent=2)


def event(name: str | None, data: Any) -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else dumped(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()

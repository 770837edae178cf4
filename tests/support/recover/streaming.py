"""Reading a text in pieces, and comparing with the whole."""

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

from rightcall import Gate
from rightcall.types import Note, Place, Verdict
from support.recover.soup import pieces


class Streamed(NamedTuple):
    """What a stream gave, put together as `Gate.read` does."""

    calls: tuple[Verdict, ...]
    text: str
    places: tuple[Place, ...]
    notes: tuple[Note, ...]


def streamed(gate: Gate, chunks: Iterable[str], finish_reason: str | None = None) -> Streamed:
    feed = gate.stream()
    events: list[Any] = [event for chunk in chunks for event in feed.push(chunk)]
    events += feed.close(finish_reason)
    calls = tuple(event for event in events if isinstance(event, Verdict))
    text = "".join(event for event in events if isinstance(event, str))
    return Streamed(calls, text, tuple(feed.places), tuple(feed.notes))


def whole(gate: Gate, text: str, finish_reason: str | None = None) -> Streamed:
    reading = gate.read(text, finish_reason)
    return Streamed(reading.calls, reading.text, reading.places, reading.notes)


def differences(gate: Gate, text: str, seed: object = 0, chunkings: int = 2) -> list[str]:
    """Where reading in pieces and reading the whole disagree: by characters, and in random pieces."""
    expected = whole(gate, text)
    random = Random(f"{seed}:{text!r}")
    found: list[str] = []
    for chunks in (list(text), *(pieces(text, random) for _ in range(chunkings))):
        got = streamed(gate, chunks)
        way = repr(chunks) if len(chunks) < 40 else "by characters"
        found += [
            f"{part} differ: {one!r:.400} in pieces, {other!r:.400} whole; {way}"
            for part, one, other in zip(Streamed._fields, got, expected, strict=True)
            if one != other
        ]
        if found:
            break
    return found

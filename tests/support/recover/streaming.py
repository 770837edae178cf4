"""Reading a text in pieces, and comparing with the whole."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

import pytest

from cases import cases
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


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(f"{record.getMessage()}: {record.exc_info[1]!r}" if record.exc_info else record.getMessage())


@contextmanager
def faults() -> Iterator[list[str]]:
    """The errors that are logged meanwhile. Warnings are silent: every refusal is one."""
    log, collector = logging.getLogger("rightcall"), _Collector()
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    log.addHandler(collector)
    try:
        yield collector.found
    finally:
        log.removeHandler(collector)
        logging.disable(before)


def parameters(*files: str) -> list[Any]:
    found: list[Any] = []
    for name in files:
        for case in cases(name):
            marks = [pytest.mark.promise(case["promise"])]
            if "xfail" in case:
                marks.append(pytest.mark.xfail(reason=case["xfail"]))
            found.append(pytest.param(case, id=f"{name.removeprefix('recover_')[:-6]}: {case['why']}", marks=marks))
    return found

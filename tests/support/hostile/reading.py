"""How `Gate.read` and `Gate.stream` are judged on a hostile emission."""

import time
from collections.abc import Callable
from functools import cache

from rightcall import Gate
from rightcall.types import Reading
from support.hostile.kinds import NOTE, Judged, Kind, complaints, finish, size_of
from support.recover.faults import faults

MOST = 2000
"""Calls and attempts at one: a person or a model has to deal with every one of them."""

PIECE = 1000


@cache
def gate(known: bool) -> Gate:
    return Gate([NOTE] if known else [])


def judge_read(kind: Kind, size: int, *, known: bool = True) -> Judged:
    return _judged(kind, size, lambda text: gate(known).read(text))


def judge_stream(kind: Kind, size: int) -> Judged:
    def stream(text: str) -> Reading:
        feed = gate(True).stream()
        events = [event for at in range(0, len(text), PIECE) for event in feed.push(text[at : at + PIECE])]
        events += feed.close()
        prose = "".join(event for event in events if isinstance(event, str))
        return Reading(tuple(event for event in events if not isinstance(event, str)), prose, tuple(feed.notes))

    return _judged(kind, size, stream)


def _judged(kind: Kind, size: int, read: Callable[[str], Reading]) -> Judged:
    text = kind.make(size)
    bulk = size_of(text, size)
    with faults() as errors:
        start = time.process_time()
        try:
            reading = read(text)
        except BaseException as error:  # noqa: BLE001  (whatever escapes is the finding)
            seconds = time.process_time() - start
            return Judged(seconds, 0, "raised", [f"raised {type(error).__name__}: {error!s:.200}"])
        seconds = time.process_time() - start
    found = [f"a fault of our own: {error:.300}" for error in errors[:1]]
    for verdict in reading.calls[:50]:
        found += complaints(verdict, verdict.message("openai"), "any", kind)
    if len(reading.calls) > MOST or len(reading.notes) > MOST:
        found.append(f"{len(reading.calls)} calls and {len(reading.notes)} notes")
    if not reading.calls and reading.text != text:
        found.append("no call, and yet the text came back otherwise")
    if len(reading.text) > len(text):
        found.append("more text than there was")
    return finish(seconds, bulk, f"{len(reading.calls)} calls", list(dict.fromkeys(found)))

"""Reading an emission for a command, and the plain object that `--json` and `--jsonl` print of it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rightcall.cli.output import call_record, problem_record, verdict_record
from rightcall.types import Note, Place, Reading, Verdict

if TYPE_CHECKING:
    from rightcall.gate import Gate


def read_pieces(gate: "Gate", pieces: Iterable[str], finish_reason: str | None = None) -> Reading:
    """What `gate.read` says of the whole text, read as a stream of these pieces."""
    feed = gate.stream()
    events = [event for piece in pieces for event in feed.push(piece)]
    events += feed.close(finish_reason)
    calls = tuple(event for event in events if isinstance(event, Verdict))
    text = "".join(event for event in events if isinstance(event, str))
    return Reading(calls, text, tuple(feed.notes), tuple(feed.places))


def pieces_of(text: str, size: int) -> Iterator[str]:
    """The text in pieces of `size` characters.

    >>> list(pieces_of("abcde", 2))
    ['ab', 'cd', 'e']
    """
    return (text[start : start + size] for start in range(0, len(text), size))


def reading_record(reading: Reading, text: str | None) -> dict[str, Any]:
    """A reading as plain data. `text` is what was read; None for a native message, which has no lines to count."""
    calls: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for verdict, place in zip(reading.calls, place_records(reading.places, text), strict=True):
        if verdict.found is None:
            unread.append(_unread_record(verdict, place))
        else:
            calls.append(_read_record(verdict, place))
    notes = [
        {"code": note.code, "message": note.message, **place}
        for note, place in zip(reading.notes, _spans(reading.notes, text), strict=True)
    ]
    return {"calls": calls, "unread": unread, "text": reading.text, "notes": notes}


def _read_record(verdict: Verdict, place: dict[str, Any]) -> dict[str, Any]:
    """A call that could be read. `name` and `arguments` are as found, `call` is what should run."""
    found = verdict.found
    assert found is not None
    order = dict.fromkeys(("name", "arguments", "ok", "call", "found", "id"))  # what a reader wants first, first
    asked = {"name": found.name, "arguments": found.arguments, "id": found.id, "call": call_record(verdict.call)}
    return {**order, **verdict_record(verdict, found.name), **asked, "place": place}


def _unread_record(verdict: Verdict, place: dict[str, Any]) -> dict[str, Any]:
    """Markup of a call in which none could be read: broken, cut off or made up."""
    return {
        "ok": verdict.ok,
        "problems": [problem_record(problem) for problem in verdict.problems],
        "hint": verdict.hint,
        "truncated": verdict.truncated,
        "retry": verdict.retry,
        "place": place,
    }


def place_records(places: Iterable[Place], text: str | None) -> list[dict[str, Any]]:
    """Each place with the line it begins in."""
    places = tuple(places)
    return [{**span, "format": place.format} for place, span in zip(places, _spans(places, text), strict=True)]


def _spans(places: Iterable[Place | Note], text: str | None) -> Iterator[dict[str, Any]]:
    at = line = 0
    for place in places:
        if place.start < at:
            at = line = 0
        if text is not None:
            line += text.count("\n", at, place.start)
            at = place.start
        yield {"start": place.start, "end": place.end, "line": None if text is None else line + 1}

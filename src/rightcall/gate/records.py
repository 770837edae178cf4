"""A verdict and a reading as plain data and as JSON: what `--json` prints, and what a column of a data frame holds."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from rightcall.base.text import escaped
from rightcall.types import Call, Note, Place, Problem, Reading, Repair, Verdict

_MOST_DIGITS = 4000  # beyond this Python itself refuses to write an integer
_DEEPEST = 200
_SUSPECT = re.compile("[^\n\x20-\x7e]")  # line ends come from the indentation only: in strings JSON escapes them
_ODD_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def verdict_record(verdict: Verdict, name: str) -> dict[str, Any]:
    """A verdict as the plain object that `--json` and `--jsonl` print. `name` is the tool that was asked for."""
    call = verdict.call
    return {
        "ok": verdict.ok,
        "name": call.name if call else name,
        "arguments": call.arguments if call else None,
        "found": call_record(verdict.found),
        "repairs": [repair_record(repair) for repair in verdict.repairs],
        "problems": [problem_record(problem) for problem in verdict.problems],
        "hint": verdict.hint,
        "confidence": verdict.confidence,
        "truncated": verdict.truncated,
        "strategy": verdict.strategy,
        "retry": verdict.retry,
        "mode": verdict.mode,
    }


def call_record(call: Call | None) -> dict[str, Any] | None:
    return None if call is None else {"name": call.name, "arguments": call.arguments}


def repair_record(repair: Repair) -> dict[str, Any]:
    return {
        "path": repair.path,
        "before": repair.before,
        "after": repair.after,
        "strategy": repair.strategy,
        "rule": repair.rule,
        "confidence": repair.confidence,
        "note": repair.note,
    }


def problem_record(problem: Problem) -> dict[str, str]:
    return {"code": problem.code, "path": problem.path, "message": problem.message}


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


# ── JSON ──


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """JSON text of anything a model can have written; what JSON has no word for becomes text (NaN is "NaN")."""
    try:
        text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=indent)
    except (ValueError, TypeError, RecursionError):
        text = json.dumps(_tame(value, 0), ensure_ascii=ascii_only, indent=indent)
    return text if ascii_only else _SUSPECT.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    """What a terminal would obey or hide becomes an escape: it can only stand in a string, where that is the same."""
    character = match.group()
    if escaped(character) == character:
        return character
    return f"\\u{ord(character):04x}" if character <= "\uffff" else json.dumps(character)[1:-1]


def _tame(value: Any, depth: int) -> Any:
    """A copy of the value that JSON can carry; what it cannot carry becomes text."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {key if isinstance(key, str) else repr(key): _tame(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [_tame(item, depth + 1) for item in cast(list[Any] | tuple[Any, ...], value)]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _MOST_DIGITS * 3 else f"(an integer of {value.bit_length()} bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else _ODD_NUMBERS[str(value)]
    return f"({type(value).__name__})"

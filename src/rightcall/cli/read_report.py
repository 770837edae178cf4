"""A reading for people: each call with its verdict, then the prose; with `--explain` where it stood and why."""

from collections.abc import Mapping
from typing import Any

from rightcall.cli.readings import place_records
from rightcall.cli.render import advice, headline, labelled, outcome, reasons, retry_text, value_text, written_lines
from rightcall.cli.terminal import Style, count
from rightcall.text.escape import escaped
from rightcall.types import Note, Place, Reading, Verdict

_NAMELESS = "a tool call"


def report(reading: Reading, text: str | None, style: Style, *, explain: bool) -> list[str]:
    """Everything about one reading, line by line. `text` is what was read, None for a native message."""
    lines: list[str] = []
    for verdict, place in zip(reading.calls, place_records(reading.places, text), strict=True):
        lines += [headline(verdict, _name(verdict), style)]
        lines += _explained(verdict, place, text, style) if explain else [*outcome(verdict, style)]
        lines += [*advice(verdict, style), *(_retry(verdict, style) if explain else [])]
    if not reading.calls:
        lines.append(style.tint("no call found", "bold"))
    lines += labelled("text left", _prose(reading.text), style)
    return lines + _notes(reading.notes, text, style, explain=explain)


def _name(verdict: Verdict) -> str:
    return verdict.found.name if verdict.found else _NAMELESS


def _explained(verdict: Verdict, place: Mapping[str, Any], text: str | None, style: Style) -> list[str]:
    lines = labelled("found", [f"{where(place)}, in the format {escaped(place['format'])}"], style)
    if text is not None:
        lines += labelled("the model wrote", written_lines(text[place["start"] : place["end"]]), style)
    found = verdict.found
    if verdict.ok and found is not None and found != verdict.call:
        lines += labelled("read as", [f"{escaped(found.name)} {value_text(found.arguments)}"], style)
    return [*lines, *outcome(verdict, style), *reasons(verdict, style)]


def _retry(verdict: Verdict, style: Style) -> list[str]:
    return [] if verdict.ok else labelled("trying again", [retry_text(verdict)], style)


def where(place: Mapping[str, Any]) -> str:
    """`line 3, characters 40 to 92`; a native message has neither."""
    if place["line"] is None:
        return "in the message"
    return f"line {place['line']:,}, characters {place['start']:,} to {place['end']:,}"


def _prose(text: str) -> list[str]:
    return written_lines(text.strip("\r\n")) if text.strip() else ["(none)"]


def _notes(notes: tuple[Note, ...], text: str | None, style: Style, *, explain: bool) -> list[str]:
    """What looked like a call and was left."""
    if not notes:
        return []
    if not explain:
        return labelled("left alone", [f"{count(notes, 'place')} that may look like a call; --explain says why"], style)
    spans = place_records((Place(note.start, note.end, note.code) for note in notes), text)
    said = [f"{where(span)}: {escaped(note.message)}  [{note.code}]" for note, span in zip(notes, spans, strict=True)]
    return labelled("left alone", said, style)

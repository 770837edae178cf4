"""Lines as a model is shown them: without their ends, as text, and cut around the match where they are long."""

from typing import Protocol

from msgspec import UNSET, Struct, UnsetType

from rightcall.execute.code.search_lines import Hit, Looked
from rightcall.fs.names import shown_name

SHOWN = 400
"""Characters of a line that are shown."""
_BEFORE = 120
"""Of those, how many may stand before the match."""
_NEAR = 4 * SHOWN
"""Bytes on either side that are looked at for that: a character takes four at most."""
_CONTEXT = 1 << 16
"""Bytes before and after in which the lines around a match are looked for."""


class CodeMatch(Struct, frozen=True, rename="camel", kw_only=True):
    """One line that matches. `column` is where its first match begins, in characters counted from 1."""

    file: str
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    matched_text: str
    context_before: list[str]
    context_after: list[str]


class Showing(Protocol):
    """How it is to be shown."""

    @property
    def context_lines(self) -> int: ...
    @property
    def include_line_numbers(self) -> bool: ...


def shown(path: str, looked: Looked, hit: Hit, asked: Showing) -> CodeMatch:
    """The match with the lines around it."""
    context, numbered = asked.context_lines, asked.include_line_numbers
    return CodeMatch(
        file=shown_name(path),
        line=hit.number if numbered else UNSET,
        column=len(_text(looked.text(hit.start, hit.match))) + 1 if numbered else UNSET,
        matched_text=_around(looked, hit),
        context_before=_lines_before(looked, hit, context),
        context_after=_lines_after(looked, hit, context),
    )


def _around(looked: Looked, hit: Hit) -> str:
    first, last = max(hit.match - _NEAR, hit.start), min(hit.match + _NEAR, hit.end)
    lead = _text(_from_character(looked.text(first, hit.match)) if first > hit.start else looked.text(first, hit.match))
    rest = (
        _text(looked.text(hit.match, last)).removesuffix("\r")
        if last == hit.end
        else _text(looked.text(hit.match, last))
    )
    if first == hit.start and last == hit.end and len(lead) + len(rest) <= SHOWN:
        return lead + rest
    kept = lead[-max(_BEFORE, SHOWN - len(rest)) :] if lead else ""
    tail = rest[: SHOWN - len(kept)]
    cut_before = first > hit.start or len(kept) < len(lead)
    cut_after = last < hit.end or len(tail) < len(rest)
    return ("…" if cut_before else "") + kept + tail + ("…" if cut_after else "")


def _lines_before(looked: Looked, hit: Hit, context: int) -> list[str]:
    if not context or hit.start <= looked.begin:
        return []
    first = max(hit.start - _CONTEXT, looked.begin)
    lines = looked.text(first, hit.start - 1).split(b"\n")
    if first > looked.begin and len(lines) <= context:
        lines[0] = _from_character(lines[0])
    return [_line(line) for line in lines[-context:]]


def _lines_after(looked: Looked, hit: Hit, context: int) -> list[str]:
    first, last = hit.end + 1, min(hit.end + 1 + _CONTEXT, looked.size)
    if not context or first >= looked.size:
        return []
    lines = looked.text(first, last).split(b"\n")
    if last == looked.size and not lines[-1]:
        lines.pop()  # the end of the last line begins no other
    return [_line(line) for line in lines[:context]]


def _line(raw: bytes) -> str:
    text = _text(raw[:_NEAR], cut=True) if len(raw) > _NEAR else _text(raw.removesuffix(b"\r"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _from_character(raw: bytes) -> bytes:
    """Without the rest of a character whose beginning was cut off."""
    at = 0
    while at < min(3, len(raw)) and raw[at] & 0xC0 == 0x80:
        at += 1
    return raw[at:]


def _text(raw: bytes, *, cut: bool = False) -> str:
    """Bytes that are no UTF-8 are read as Latin-1; of a text that was cut the last character may be half of one."""
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        if cut and fault.start >= len(raw) - 3 and fault.reason == "unexpected end of data":
            return raw[: fault.start].decode()
        return raw.decode("latin-1")

"""Lines as a model is shown them: without their ends, as text, cut around the match where they are long, and with the
places of all matches in what is shown."""

from time import monotonic
from typing import NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from rightcall.execute.code.search_lines import Hit, Looked
from rightcall.execute.code.search_pattern import Pattern
from rightcall.fs.names import shown_name

SHOWN = 400
"""Characters of a line that are shown."""
_BEFORE = 120
"""Of those, how many may stand before the match."""
_NEAR = 4 * SHOWN
"""Bytes on either side that are looked at for that: a character takes four at most."""
_CONTEXT = 1 << 16
"""Bytes before and after in which the lines around a match are looked for."""
_MOST_HIGHLIGHTS = 100
"""Of one line."""
_PATIENCE = 0.2
"""Seconds for the highlights of a whole search. A pattern can be made to cost; what matches is known without them."""


class CodeMatch(Struct, frozen=True, rename="camel", kw_only=True):
    """One line that matches. `column` is where its first match begins, in characters counted from 1; `highlights` are
    all matches in `matched_text` as it is here: where each begins and ends, in characters counted from 0."""

    file: str
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    matched_text: str
    highlights: list[list[int]]
    context_before: list[str]
    context_after: list[str]


class Showing(Protocol):
    """How it is to be shown."""

    @property
    def context_lines(self) -> int: ...
    @property
    def include_line_numbers(self) -> bool: ...


class _Line(NamedTuple):
    """A line as it is shown: how many characters of it are before the first match, and how many from there on; and the
    bytes in which the matches are found, with the one before the first match where there is any."""

    text: str
    before: int
    here: int
    raw: bytes
    first: int
    """Where the first match begins in the bytes: 0 or 1."""
    cut: bool
    """Whether the line goes on after the bytes."""


class Marker:
    """Finds the matches in lines that are shown, for as long as there is time for it."""

    __slots__ = ("_left", "_pattern")

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._left = _PATIENCE

    def spans(self, line: _Line) -> list[tuple[int, int]]:
        """Every match in the bytes of a line, empty ones too. Where the line goes on after them, one that reaches their
        end may only seem to match, unless it is the first, which is known; and if that is not found in them, it goes on
        after them."""
        found: list[tuple[int, int]] = []
        raw, cut, span = line.raw, line.cut, self._pattern.span
        now, at, end = monotonic(), line.first, len(raw)
        while at <= end and len(found) < _MOST_HIGHLIGHTS and self._left > 0:
            first, last = span(raw, at, end)
            if cut and not found and first != line.first:
                first, last = line.first, end
            if first < 0 or (cut and found and last == end):
                break
            found.append((first, last))
            at = last if last > first else first + 1
            before, now = now, monotonic()
            self._left -= now - before
        return found


def render_match(path: str, looked: Looked, hit: Hit, asked: Showing, marker: Marker) -> CodeMatch:
    """The match with the lines around it."""
    context, numbered = asked.context_lines, asked.include_line_numbers
    line = _around(looked, hit)
    return CodeMatch(
        file=shown_name(path),
        line=hit.number if numbered else UNSET,
        column=len(_text(looked.text(hit.start, hit.match))) + 1 if numbered else UNSET,
        matched_text=line.text,
        highlights=_highlights(line, marker),
        context_before=_lines_before(looked, hit, context),
        context_after=_lines_after(looked, hit, context),
    )


def _around(looked: Looked, hit: Hit) -> _Line:
    first, last = max(hit.match - _NEAR, hit.start), min(hit.match + _NEAR, hit.end)
    lead = _text(_from_character(looked.text(first, hit.match)) if first > hit.start else looked.text(first, hit.match))
    raw, at = looked.text(max(hit.match - 1, hit.start), last), int(hit.match > hit.start)
    raw = raw if last == hit.end else _to_character(raw)
    rest = _text(raw[at:]).removesuffix("\r") if last == hit.end else _text(raw[at:])
    if first == hit.start and last == hit.end and len(lead) + len(rest) <= SHOWN:
        return _Line(lead + rest, len(lead), len(rest), raw, at, cut=False)
    kept = lead[-max(_BEFORE, SHOWN - len(rest)) :] if lead else ""
    tail = rest[: SHOWN - len(kept)]
    cut_before = first > hit.start or len(kept) < len(lead)
    cut_after = last < hit.end or len(tail) < len(rest)
    before = ("…" if cut_before else "") + kept
    text = before + tail + ("…" if cut_after else "")
    return _Line(text, len(before), len(tail), raw, at, cut=last < hit.end)


def _highlights(line: _Line, marker: Marker) -> list[list[int]]:
    """What matches in the part of a line that is shown, in characters."""
    found: list[list[int]] = []
    spans = marker.spans(line)
    if not line.raw.isascii():
        rest = line.raw[line.first :]
        if len(_text(rest)) < len(rest):  # else it is no UTF-8, and each byte a character
            spans = [
                (line.first + _characters(rest, first - line.first), line.first + _characters(rest, last - line.first))
                for first, last in spans
            ]
    for first, last in spans:
        start, end = first - line.first, min(last - line.first, line.here)
        if start < end:
            found.append([line.before + start, line.before + end])
    return found


def _characters(raw: bytes, end: int) -> int:
    """How many characters the bytes up to a place are."""
    return len(raw[:end].decode(errors="ignore"))


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
    text = _text(_to_character(raw[:_NEAR])) if len(raw) > _NEAR else _text(raw.removesuffix(b"\r"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _from_character(raw: bytes) -> bytes:
    """Without the rest of a character whose beginning was cut off."""
    at = 0
    while at < min(3, len(raw)) and raw[at] & 0xC0 == 0x80:
        at += 1
    return raw[at:]


def _to_character(raw: bytes) -> bytes:
    """Without the beginning of a character whose rest was cut off."""
    try:
        raw.decode()
    except UnicodeDecodeError as fault:
        if fault.start >= len(raw) - 3 and fault.reason == "unexpected end of data":
            return raw[: fault.start]
    return raw


def _text(raw: bytes) -> str:
    """Bytes that are no UTF-8 are read as Latin-1."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")

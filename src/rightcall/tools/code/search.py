"""`code/search`: lines that match a regular expression, line by line.

    which files (`candidates`) ─▶ which of them have matches (ripgrep, or all are opened) ─▶ their lines, by our own
    engine in what was opened beneath the root ─▶ as they are shown

Ripgrep only saves opening files in vain; results are the same with it and without.
"""

import codecs
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import takewhile
from time import monotonic, time_ns
from typing import Literal, NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from rightcall.base.files.sight import Opened, Sight, shown_name
from rightcall.base.globs import compile_globs
from rightcall.base.text import AnswerRoom
from rightcall.errors import ToolFailure
from rightcall.tools.code import SECONDS, CodeTool, begin_trace
from rightcall.tools.code.candidates import Candidates, Wanted, candidates
from rightcall.tools.code.listing import Opener
from rightcall.tools.code.pattern import Pattern, read_pattern
from rightcall.tools.state import Trace, current_trace, untold

# ── lines that match ──
# The lines of one file in which a pattern matches, found by our own engine in what was opened beneath the root. A file
# with a NUL byte is binary and has none, unless it begins with the mark of UTF-16.

_BLOCK = 4 << 20
"""Bytes that are looked through at once."""
_LONGEST_LINE = 16 << 20
"""Bytes of one line; where it is longer, what follows counts as another with the same number."""
_LARGEST_WIDE = 32 << 20
"""Bytes of a file in UTF-16, which has to be rewritten as a whole."""
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NEWLINE = 0x0A
_LINE_PATIENCE = 0.3
"""Seconds for one very long line. Most patterns need none of it; some texts are made to cost."""
_GLANCE = 64
"""Lines after which the clock is looked at."""

Slice = Callable[[int, int], bytes]
"""The text from one byte to another, wherever it is kept."""


class Hit(Struct, frozen=True):
    """A line that matches: its number, counted from 1, where it begins and ends, and where the match begins."""

    number: int
    start: int
    end: int
    match: int


class Looked(Struct):
    """What a file holds: the first hits, how many lines match, and how to get at its text."""

    hits: list[Hit]
    total: int
    text: Slice
    size: int
    begin: int = 0
    """Where the text begins: after a mark of its encoding."""

    def add(self, text: bytes, at: int, lines: int, pattern: Pattern, most: int, effort: "Effort") -> None:
        """What a block of whole lines holds, after so many lines."""
        counted, number = 0, lines + 1
        for start, end, match in matching(text, pattern, effort):
            self.total += 1
            if len(self.hits) < most:
                number += text.count(b"\n", counted, start)
                counted = start
                self.hits.append(Hit(number, at + start, at + end, at + match))
            elif end - start < pattern.reach:
                self.total += _count(text, end + 1, pattern, effort)
                return


class Effort:
    """How much a search may do. `late`: time ran out; `cut`: the end of a very long line was not looked at."""

    __slots__ = ("cut", "deadline", "late")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.late = self.cut = False

    def over(self) -> bool:
        """Whether there is no time left."""
        self.late = self.late or monotonic() > self.deadline
        return self.late


class _Binary(Exception):
    """The file is no text."""


def look_into(file: Opened, pattern: Pattern, most: int, effort: Effort) -> Looked | None:
    """Search an open file; at most so many hits are kept. None when nothing is in it, or it is binary."""
    size = file.stat.st_size
    try:
        first = os.read(file.fd, min(size + 1, _BLOCK))
        if len(first) > size or len(first) == _BLOCK or first[:2] in _WIDE or not first:
            return _look_at_length(file, pattern, most, effort)
    except OSError:
        return None
    return None if b"\0" in first else _look_whole(_unmarked(first), pattern, most, effort)


def _look_at_length(file: Opened, pattern: Pattern, most: int, effort: Effort) -> Looked | None:
    """A file that is large, that grows meanwhile, or that has to be rewritten."""
    first = file.read(_BLOCK)
    if first[:2] in _WIDE:
        whole = file.read(_LARGEST_WIDE + 1) if file.stat.st_size <= _LARGEST_WIDE else b""
        text = whole[2:].decode(_WIDE[first[:2]], "replace").encode()
        return None if b"\0" in text else _look_whole(text, pattern, most, effort)
    begin = len(first) - len(_unmarked(first))
    found = Looked([], 0, lambda start, end: os.pread(file.fd, end - start, start), os.fstat(file.fd).st_size, begin)
    lines = 0
    try:
        for block, at in _blocks(file, first, begin):
            found.add(block, at, lines, pattern, most, effort)
            if effort.late:
                break
            lines += block.count(b"\n") if len(found.hits) < most else 0
    except _Binary:
        return None
    return found


def _unmarked(text: bytes) -> bytes:
    return text.removeprefix(codecs.BOM_UTF8)


def _look_whole(text: bytes, pattern: Pattern, most: int, effort: Effort) -> Looked | None:
    if len(text) <= pattern.reach and pattern.find(text, 0, len(text)) < 0:  # most files
        return None
    found = Looked([], 0, lambda start, end: text[start:end], len(text))
    found.add(text, 0, 0, pattern, most, effort)
    return found


def _count(text: bytes, at: int, pattern: Pattern, effort: Effort) -> int:
    """How many lines match from here on, where nobody wants to see them."""
    find, whole, total = pattern.find, len(text), 0
    while at < whole:
        if total % _GLANCE == 0 and effort.over():
            break
        stop = min(at + pattern.reach, whole)
        match = find(text, at, stop)
        if match < 0 and stop < whole:
            if effort.over():
                break
            at = max(text.rfind(b"\n", at, stop) + 1, at + pattern.reach // 2)
            continue
        if match < 0 or (match == whole and text[-1] == _NEWLINE):
            break
        total += 1
        end = text.find(b"\n", match)
        if end < 0:
            break
        at = end + 1
    return total


def matching(text: bytes, pattern: Pattern, effort: Effort) -> Iterator[tuple[int, int, int]]:
    """Each line that matches, until time runs out: where it begins and ends, and where its first match begins."""
    find, reach = pattern.find, pattern.reach
    at, whole = 0, len(text)
    while at < whole:
        stop = min(at + reach, whole)
        if stop < whole:
            stop = text.rfind(b"\n", at, stop) + 1
            if stop == 0:
                stop = text.find(b"\n", at) + 1 or whole
                match = _within(text, at, stop, pattern, effort)
                if match >= 0:
                    yield at, stop - (text[stop - 1] == _NEWLINE), match
                at = stop
        while at < stop and (match := find(text, at, stop)) >= 0:
            if match >= stop and (stop < whole or text[-1] == _NEWLINE):
                break  # at the beginning of the next line, if there is one
            start = text.rfind(b"\n", at, match) + 1 or at
            end = text.find(b"\n", match)
            end = whole if end < 0 else end
            yield start, end, match
            at = end + 1
        at = max(at, stop)
        if at < whole and effort.over():
            return


def _within(text: bytes, start: int, stop: int, pattern: Pattern, effort: Effort) -> int:
    """The first match in a line that is too long to be looked through at once, or -1: piece by piece, each half over
    the one before, so that nothing short of half a piece is missed. Where that takes long the rest is left."""
    until = monotonic() + _LINE_PATIENCE
    for at in range(start, stop, pattern.reach // 2):
        match = pattern.find(text, at, min(at + pattern.reach, stop))
        if match >= 0 and (match < stop or text[-1] != _NEWLINE):
            return match
        if effort.over():
            break
        if monotonic() > until:
            effort.cut = True
            break
    return -1


def _blocks(file: Opened, first: bytes, begin: int) -> Iterator[tuple[bytes, int]]:
    """A large file in blocks of whole lines, and where each begins. Raises _Binary and OSError."""
    rest, at, read = first[begin:], begin, len(first)
    block = first
    while block:
        if b"\0" in block:
            raise _Binary
        cut = rest.rfind(b"\n") + 1
        if cut == 0 and len(rest) > _LONGEST_LINE:
            cut = len(rest)
        if cut:
            yield rest[:cut], at
            rest, at = rest[cut:], at + cut
        block = os.pread(file.fd, _BLOCK, read)
        read += len(block)
        rest += block
    if rest:
        yield rest, at


# ── the answer ──
# Lines as a model is shown them: without their ends, as text, cut around the match where they are long, and with the
# places of all matches in what is shown.

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


MOST_MATCHES = 100
MOST_CONTEXT = 20
MOST_PATHS = 100
_SECONDS = SECONDS["code/search"]
_COARSE = 20_000_000
"""Nanoseconds by which the times of files may be behind."""
_MARGIN = 0.5
"""Seconds kept back for showing what was found."""
_MOST_UNOPENED = 200
"""Files that only ripgrep has looked into, for results to be kept: looking at each again costs what ripgrep does."""
_LATE = "Time ran out: this is what was found until then. Narrow the search with paths or filePattern."
_CUT = "For this pattern very long lines were not searched to their end; a shorter pattern is."
_FULL = "No more matches fit into one answer. Ask for fewer contextLines, or narrow it with paths or filePattern."

Engine = Literal["ripgrep", "linear"]


class SearchArguments(Struct, frozen=True, rename="camel", kw_only=True):
    """What is looked for, and where."""

    pattern: str
    paths: list[str] = []
    file_pattern: str | None = None
    exclude_patterns: list[str] = []
    context_lines: int = 2
    case_sensitive: bool = False
    max_matches: int = MOST_MATCHES
    include_line_numbers: bool = True


class SearchResult(Struct, frozen=True, rename="camel", kw_only=True):
    """What was found. `total_matches` counts lines, also those that are not shown; `note` says when not all of the
    text was searched, or when matches with their lines around were too much for one answer."""

    success: bool = True
    pattern: str
    matches: list[CodeMatch]
    total_matches: int
    files_searched: int
    truncated: bool
    note: str | UnsetType = UNSET


def search(sight: Sight, asked: SearchArguments, *, engine: Engine | None = None) -> SearchResult:
    """The matching lines, in the order of their files' paths. Without an engine named, ripgrep where there is one."""
    began, deadline = time_ns() - _COARSE, monotonic() + _SECONDS - _MARGIN
    pattern = read_pattern(asked.pattern, case_sensitive=asked.case_sensitive)
    wanted = _wanted(asked)
    starts = _opened(sight, asked)
    for written, start in zip(asked.paths or ["."], starts, strict=True):
        begin_trace(sight, written, start)
    try:
        by_ripgrep = engine != "linear" and not pattern.costly
        found = candidates(sight, starts, wanted, pattern, deadline, by_ripgrep=by_ripgrep)
    finally:
        for start in starts:
            start.close()
    return _looked_through(sight, asked, pattern, found, began, deadline)


def _looked_through(
    sight: Sight, asked: SearchArguments, pattern: Pattern, found: Candidates, began: int, deadline: float
) -> SearchResult:
    """Once enough lines are found, ripgrep's counts do for the rest, unless a folder has changed since it began: then
    it may have read something else, and is not believed."""
    matches: list[CodeMatch] = []
    total, effort, room, marker = 0, Effort(deadline), AnswerRoom(), Marker(pattern)
    effort.late = found.late
    trace = current_trace()
    with Opener(sight) as opener:
        for path, count in found.files:
            left = 0 if room.full else asked.max_matches - len(matches)
            if left == 0 and count is not None and opener.settled(path.rpartition("/")[0], began):
                total += count
                continue
            file = opener.file(path)
            if file is None:
                continue
            with file:
                if trace is not None:
                    trace.file(path, file.stat)
                looked = look_into(file, pattern, left, effort)
                if looked is None:
                    continue
                total += looked.total
                matches += takewhile(room.take, (render_match(path, looked, hit, asked, marker) for hit in looked.hits))
            if effort.over():
                break
        if trace is not None:
            _note_searched(trace, found, opener, whole=not (effort.late or effort.cut))
    return SearchResult(
        pattern=asked.pattern,
        matches=matches,
        total_matches=total,
        files_searched=len(found.searched),
        truncated=effort.late or effort.cut or total > len(matches),
        note=" ".join(_notes(effort, room)) or UNSET,
    )


def _note_searched(trace: Trace, found: Candidates, opener: Opener, *, whole: bool) -> None:
    """Note the files that only ripgrep has looked into, as they look now: none may have changed since the search
    began."""
    opened = set(trace.paths)
    unopened = [path for path in found.searched if path not in opened]
    if not whole or len(unopened) > _MOST_UNOPENED:
        trace.lose()
        return
    for path in unopened:
        look = opener.look(path)
        if look is None:
            trace.lose()
            return
        trace.file(path, look)


def _notes(effort: Effort, room: AnswerRoom) -> Iterator[str]:
    if effort.late:
        yield _LATE
    elif effort.cut:
        yield _CUT
    if room.full:
        yield _FULL


def _wanted(asked: SearchArguments) -> Wanted:
    _in_range("maxMatches", asked.max_matches, 1, MOST_MATCHES)
    _in_range("contextLines", asked.context_lines, 0, MOST_CONTEXT)
    _in_range("paths", len(asked.paths), 0, MOST_PATHS)
    included, excluded = asked.file_pattern, asked.exclude_patterns
    return Wanted(
        compile_globs([included], anywhere=True, argument="filePattern") if included else None,
        compile_globs(excluded, anywhere=True, argument="excludePatterns") if excluded else None,
        included or None,
    )


def _in_range(argument: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ToolFailure(f"{argument}: is {value}, from {least} to {most} is possible")


def _opened(sight: Sight, asked: SearchArguments) -> list[Opened]:
    with ExitStack() as opened:
        starts = [opened.enter_context(sight.open(path)) for path in asked.paths or ["."]]
        opened.pop_all()  # all of them: whoever asked closes them
    return starts


TOOL = CodeTool("code/search", SearchArguments, search, untold)

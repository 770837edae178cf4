"""`code/search`: lines that match a regular expression, line by line.

    which files (search_files) ─▶ which of them have matches (ripgrep, or all are opened) ─▶ their lines, by our own
    engine in what was opened beneath the root ─▶ as they are shown

Ripgrep only saves opening files in vain; results are the same with it and without.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import takewhile
from time import monotonic, time_ns
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from rightcall.base.globs import compile_globs
from rightcall.errors import ToolFailure
from rightcall.execute.code.opening import Opener
from rightcall.execute.code.search_candidates import Candidates, candidates
from rightcall.execute.code.search_files import Wanted
from rightcall.execute.code.search_lines import Effort, look_into
from rightcall.execute.code.search_pattern import Pattern, read_pattern
from rightcall.execute.code.search_showing import CodeMatch, Marker, render_match
from rightcall.execute.code.tool import CodeTool, begin_trace
from rightcall.execute.state import untold
from rightcall.execute.trace import Trace, current_trace
from rightcall.fs.sight import Opened, Sight
from rightcall.text.cut import AnswerRoom

MOST_MATCHES = 100
MOST_CONTEXT = 20
MOST_PATHS = 100
_SECONDS = 10.0
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
        ripgrep = engine != "linear" and not pattern.costly
        found = candidates(sight, starts, wanted, pattern, deadline, ripgrep=ripgrep)
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


TOOL = CodeTool("code/search", SearchArguments, search, seconds=_SECONDS, state=untold, traced=True)

"""`code/search`: lines that match a regular expression, line by line.

    which files (search_files) ─▶ which of them have matches (ripgrep, or all are opened) ─▶ their lines, by our own
    engine in what was opened beneath the root ─▶ as they are shown

Ripgrep only saves opening files in vain; results are the same with it and without.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import takewhile
from threading import Event, Thread
from time import monotonic, time_ns
from typing import Literal, NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from rightcall.base.files.beneath import shown_name
from rightcall.base.files.rules import DOTFILES, REFUSED_FOLDERS
from rightcall.base.files.sight import Opened, Sight
from rightcall.base.globs import compile_globs
from rightcall.base.text import AnswerRoom
from rightcall.errors import ToolFailure
from rightcall.tools.code.ignore import Ignoring, OutOfTime, ignoring_at
from rightcall.tools.code.listing import Place, walk
from rightcall.tools.code.matching import Effort, Hit, Looked, look_into
from rightcall.tools.code.opening import SECONDS, CodeTool, Opener, begin_trace
from rightcall.tools.code.pattern import Pattern, read_pattern
from rightcall.tools.process import SLICE, Finished, Program, program, run_program
from rightcall.tools.state import Trace, current_trace, untold

# ── files ──
# Which files a search looks into: those that may be seen, that no ignore file leaves out, that lie in no folder of
# made or fetched things, and that fit the globs. The walk is ours, whichever engine searches: both see the same files.

LEFT_OUT = frozenset(("node_modules", ".git", "dist", "build"))
"""Folders that are never gone into, unless a search is told to begin in them or below."""

Globs = Callable[[str], bool]


class Listing(Struct):
    """Files by their true paths. `late` when time ran out; `negates_below` when an ignore file further down takes back
    what one above leaves out."""

    files: list[str]
    late: bool = False
    negates_below: bool = False


class Wanted(Struct, frozen=True):
    """A glob that a path must match, as it was written too, and those that it must not match; None for none."""

    included: Globs | None = None
    excluded: Globs | None = None
    written: str | None = None

    def file(self, path: str) -> bool:
        return (self.included is None or self.included(path)) and not (
            self.excluded is not None and self.excluded(path)
        )

    def folder(self, path: str) -> bool:
        return self.excluded is None or not self.excluded(path)


def files_below(sight: Sight, start: Opened, wanted: Wanted, deadline: float) -> Listing:
    """The files below an open folder, in the order of the walk."""
    root = sight.open_root()
    try:
        above = ignoring_at(root, start.path, deadline)
    finally:
        os.close(root)
    found = Listing([])
    ignoring: dict[str, Ignoring] = {start.path: above}
    for place in walk(sight, start):
        if monotonic() > deadline:
            found.late = True
            break
        here = ignoring.pop(place.path, above).below(place.path, place.fd, place.files)
        found.negates_below = found.negates_below or here.negates_below
        try:
            _leave_out(place, here)
        except OutOfTime:
            found.late = True
            break
        top = f"{place.path}/" if place.path else ""
        if wanted.excluded is not None:
            place.folders[:] = [name for name in place.folders if wanted.folder(top + name)]
        for name in place.folders:
            ignoring[top + name] = here
        files = [top + name for name in place.files]
        found.files += files if wanted.included is wanted.excluded is None else filter(wanted.file, files)
    return found


def _leave_out(place: Place, here: Ignoring) -> None:
    if place.folders:
        place.folders[:] = [name for name in place.folders if name not in LEFT_OUT]
    if here.suspects(place.path, place.folders + place.files):
        place.folders[:] = here.kept(place.path, place.folders, folders=True)
        place.files[:] = here.kept(place.path, place.files, folders=False)


# ── candidates ──
# The files of a search, and what is known of each before it is opened: how many of its lines match, where ripgrep has
# said so. It works while we walk.

_MOST_AT_ONCE = 4
"""Folders for each of which ripgrep is worth starting."""


class Candidates(Struct, frozen=True):
    """Files in the order of their paths, each with the number of its matching lines, None where nobody has looked yet;
    those without any are left out. `searched` are all of them, in the same order."""

    files: list[tuple[str, int | None]]
    searched: list[str]
    late: bool


def candidates(
    sight: Sight, starts: list[Opened], wanted: Wanted, pattern: Pattern, deadline: float, *, by_ripgrep: bool
) -> Candidates:
    """Everything below the folders, and the files, that a search was told to begin with."""

    program = ripgrep(sight.root) if by_ripgrep and len(starts) <= _MOST_AT_ONCE else None
    known: dict[str, int | None] = {}
    late = False
    for start in starts:
        if not start.is_folder:
            if wanted.file(start.path):
                known[start.path] = None
            continue
        found, was_late = _below(sight, start, wanted, pattern, deadline, program)
        known.update(found)
        late = late or was_late
    searched = sorted(known)
    return Candidates([(path, known[path]) for path in searched if known[path] != 0], searched, late)


def _below(
    sight: Sight, start: Opened, wanted: Wanted, pattern: Pattern, deadline: float, program: str | None
) -> tuple[dict[str, int | None], bool]:
    if program is None:
        listing = files_below(sight, start, wanted, deadline)
        return dict.fromkeys(listing.files), listing.late

    root_rules = Ignoring(deadline).below("", start.fd) if not start.path else None
    in_the_open = sight.rules.as_built and "/." not in f"/{start.path}"  # below a hidden folder others can be seen
    counting = Counting(
        program, start.fd, pattern.ripgrep, told_lines(root_rules, as_built=in_the_open), told_glob(wanted.written),
        deadline - monotonic(),
    )  # fmt: skip
    try:
        listing = files_below(sight, start, wanted, deadline)
        counted = counting.counts()
    except BaseException:
        counting.stop()
        raise
    if counted is None or listing.negates_below:
        return dict.fromkeys(listing.files), listing.late
    return _joined(listing, start.path, counted[0]), listing.late or counted[1]


def _joined(listing: Listing, folder: str, counts: dict[str, int]) -> dict[str, int | None]:
    top = f"{folder}/" if folder else ""
    found: dict[str, int | None] = dict.fromkeys(listing.files, 0)
    for path, count in counts.items():
        if top + path in found:
            found[top + path] = count
    for path in listing.files:
        if "\n" in path:  # ripgrep's globs do not always see past the end of a line
            found[path] = None
    return found


# ── ripgrep ──
# Ripgrep as an accelerator: it says in which files lines match, and how many. Which files those may be and what
# stands in them is none of its business: it reads no ignore file, no setting and no link of its own accord, and not a
# byte of what it has read is shown. Told to leave out what we leave out anyway, it may always look into more.

_MOST_OUTPUT = 64 << 20
_MOST_TOLD = 16_000
"""Bytes of patterns that are handed over: they must fit in a pipe."""
_PLAIN = re.compile(rb"/?(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_GLOB = re.compile(r"(?:\*\*/)?(?:\*|[A-Za-z0-9_-])[A-Za-z0-9_.-]*(?:\{[A-Za-z0-9_.-]+(?:,[A-Za-z0-9_.-]+)*\})?")
_COUNTED = re.compile(rb"(?:\./)?([^\0]+)\0([0-9]+)\n")
_FAILED = 2


def _in_any_case(name: str) -> str:
    """A glob for a name in upper and lower case."""
    return "".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in name)


_SHOWN_FOLDERS = tuple(_in_any_case(pattern.split("/")[0]) for pattern in DOTFILES)
"""Hidden folders that can be seen with all that is in them."""
_SEEN = tuple(line.encode() for name in _SHOWN_FOLDERS for line in (f"!{name}/", f"!**/{name}/**"))


def ripgrep(root: str) -> str | None:
    """Where it is, by its whole path: none that lies below the root."""
    return program("rg", root)


class Counting:
    """Ripgrep at work below one open folder, while we do something else."""

    def __init__(self, program: str, folder: int, pattern: str, tell: bytes, glob: str | None, seconds: float) -> None:
        self._finished: Finished | None = None
        self._unwanted = Event()
        self._work = (program, os.dup(folder), pattern, tell, glob, seconds)  # who asked may be gone before it starts
        self._thread = Thread(target=self._run, name="rightcall-ripgrep", daemon=True)
        self._thread.start()

    def counts(self) -> tuple[dict[str, int], bool] | None:
        """How many lines match in each file that has any, by its path below the folder, and whether time ran out. None
        when ripgrep cannot do it."""
        while self._thread.is_alive():
            self._thread.join(SLICE)
        done = self._finished
        if done is None or done.full or (done.code is not None and done.code >= _FAILED and done.err):
            return None
        if done.code is not None and (done.code < 0 or done.code > _FAILED):
            return None
        found = {os.fsdecode(one[1]): int(one[2]) for one in _COUNTED.finditer(done.out)}
        return found, done.late

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self._unwanted.set()

    def _run(self) -> None:
        program, folder, pattern, tell, glob, seconds = self._work
        told, teller = os.pipe()
        try:
            os.write(teller, tell[:_MOST_TOLD])
            os.close(teller)
            command = _command(program, pattern, f"/dev/fd/{told}", glob)
            env = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
            self._finished = run_program(
                Program(command, env, _place(folder), fds=(told,)), seconds=seconds, most=_MOST_OUTPUT,
                unwanted=self._unwanted.is_set,
            )  # fmt: skip
        except (ToolFailure, OSError):
            self._finished = None
        finally:
            os.close(told)
            os.close(folder)


def _place(folder: int) -> str:
    """The folder itself, whatever its name leads to by now."""
    return f"/proc/self/fd/{folder}" if os.path.isdir("/proc/self/fd") else f"/dev/fd/{folder}"


def _command(program: str, pattern: str, told: str, glob: str | None) -> Sequence[str]:
    return [
        program, "--no-config", "--count", "--null", "--no-messages", "--color=never", "--with-filename",
        "--no-follow", "--no-mmap", "--no-ignore", "--hidden", f"--ignore-file={told}", "--case-sensitive",
        "--regex-size-limit=16M", "--dfa-size-limit=8M", "--engine=default",
        *((f"--glob={glob}",) if glob else ()), f"--regexp={pattern}", "--", "./",
    ]  # fmt: skip


def told_glob(pattern: str | None) -> str | None:
    """A glob that ripgrep reads as we do: names in any folder, nothing else."""
    return pattern if pattern is not None and _GLOB.fullmatch(pattern) else None


def told_lines(ignoring: Ignoring | None, *, as_built: bool) -> bytes:
    """What ripgrep may leave out: folders that we never go into, and of the root's ignore files (None when it starts
    further down) the plain lines that nothing takes back. `as_built`: the path rules know no exceptions."""
    lines = [b".[!.]*/", *_SEEN] if as_built else []
    lines += [name.encode() + b"/" for name in sorted(LEFT_OUT | REFUSED_FOLDERS if as_built else LEFT_OUT)]
    files = ignoring.files() if ignoring is not None else ()
    if not any(file.negates for file in files):
        for file in files:
            for line in file.lines:
                if _PLAIN.fullmatch(line.written):
                    lines.append(line.written + (b"/" if line.folder else b""))
    told = b"\n".join(lines) + b"\n"
    return told if len(told) <= _MOST_TOLD else told[: told.rindex(b"\n", 0, _MOST_TOLD) + 1]


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

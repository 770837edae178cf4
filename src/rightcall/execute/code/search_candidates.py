"""The files of a search, and what is known of each before it is opened: how many of its lines match, where ripgrep has
said so. It works while we walk."""

from time import monotonic

from msgspec import Struct

from rightcall.execute.code.ignoring import Ignoring
from rightcall.execute.code.search_files import Listing, Wanted, files_below
from rightcall.execute.code.search_pattern import Pattern
from rightcall.fs.sight import Opened, Sight

_MOST_AT_ONCE = 4
"""Folders for each of which ripgrep is worth starting."""


class Candidates(Struct, frozen=True):
    """Files in the order of their paths, each with the number of its matching lines, None where nobody has looked yet;
    those without any are left out. `searched` are all of them, in the same order."""

    files: list[tuple[str, int | None]]
    searched: list[str]
    late: bool


def candidates(
    sight: Sight, starts: list[Opened], wanted: Wanted, pattern: Pattern, deadline: float, *, ripgrep: bool
) -> Candidates:
    """Everything below the folders, and the files, that a search was told to begin with."""
    from rightcall.execute.code import search_ripgrep  # late: it can start programs, and takes 20 ms

    program = search_ripgrep.ripgrep(sight.root) if ripgrep and len(starts) <= _MOST_AT_ONCE else None
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
    from rightcall.execute.code.search_ripgrep import Counting, told_glob, told_lines

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

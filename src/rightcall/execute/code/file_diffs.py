"""The changes that may be told: what `diff_reading` reads, without the files that the rules refuse, and no more of it
than was asked for. A refused file is in no list, no count and no sum; a rename is refused with either of its names."""

from collections.abc import Iterable
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from rightcall.execute.code.changes import FileDiff, Stats, TotalChanges, View
from rightcall.execute.code.diff_reading import Changed, Counts, DiffReader, FileHunks, Garbled, Room
from rightcall.text.cut import AnswerRoom

MOST_FILES = 1000
"""Files that are named in one comparison; all are counted."""
_MOST_NAMES = 200_000
"""Bytes that naming them takes as JSON: a path may have thousands of characters."""

DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-color-moved", "--no-relative", "--submodule=short",
    "--find-renames", "-l400", "--src-prefix=a/", "--dst-prefix=b/", "-z",
)  # fmt: skip
"""For every comparison. No program is started for it; with more than 400 files that came and went to compare
with each other only those are taken for renamed that are the same."""


class Changes(Struct, frozen=True):
    """The files with their hunks, what all of them come to, and whether something of it is not here."""

    diffs: list[FileDiff]
    totals: TotalChanges
    truncated: bool


class Named(Struct, frozen=True):
    """The names of files, as many as fit, and what all of them come to."""

    files: list[str]
    totals: TotalChanges


def read_changes(reader: DiffReader, view: View, room: Room) -> Changes:
    """Raw, numstat and patch. An output that was cut before the patch raises Garbled: the sums are always whole."""
    files = reader.raw()
    counts = reader.counts()
    if not (reader.skipped(b"\0") if files else reader.done and reader.whole):
        raise Garbled
    paths = _paths(view, files)
    counted = {count.new: count for count in counts if count.new in paths}  # not there: only blanks, which are ignored
    told = [file for file in files if file.new in counted]
    named = _named(view, told, paths, counted)
    kept: list[FileHunks] = []
    try:
        reader.patch(files, room, lambda file: file.new in named, kept)
    except Garbled:
        if reader.whole:
            raise
        reader.at = len(reader.data)
    diffs = [
        replace(named[file.new], hunks=found.hunks, truncated=found.cut)
        for file, found in zip(files, kept, strict=True)
        if file.new in named
    ]
    truncated = len(diffs) < len(told) or any(diff.truncated for diff in diffs)
    return Changes(diffs, _total(counted.values()), truncated)


def read_names(reader: DiffReader, view: View) -> Named:
    """Numstat alone."""
    counts = reader.counts()
    paths = _paths(view, counts)
    names = list(takewhile(AnswerRoom(_MOST_NAMES).take, islice(paths.values(), MOST_FILES)))
    return Named(names, _total(count for count in counts if count.new in paths))


def _total(counts: Iterable[Counts]) -> TotalChanges:
    seen = list(counts)
    return TotalChanges(len(seen), sum(count.insertions for count in seen), sum(count.deletions for count in seen))


def _named(
    view: View, files: Iterable[Changed], paths: dict[bytes, str], counted: dict[bytes, Counts]
) -> dict[bytes, FileDiff]:
    """The first files without their hunks, as many as may be named."""
    room = AnswerRoom(_MOST_NAMES)
    named: dict[bytes, FileDiff] = {}
    for file in islice(files, MOST_FILES):
        count = counted[file.new]
        old = view.path(file.old) if file.status == "renamed" else None
        stats = Stats(count.insertions, count.deletions)
        head = FileDiff(paths[file.new], file.status, [], stats, old, count.binary)
        if not room.take(head):
            break
        named[file.new] = head
    return named


def _paths(view: View, files: Iterable[Changed | Counts]) -> dict[bytes, str]:
    """Where the files that may be seen are now, by their names."""
    paths: dict[bytes, str] = {}
    for file in files:
        path = view.path(file.new)
        if path is not None and (file.old == file.new or view.path(file.old) is not None):
            paths[file.new] = path
    return paths

"""The changes that may be told: what `diff_reading` reads, without the files that the rules refuse, and no more of it
than was asked for. A refused file is in no list, no count and no sum; a rename is refused with either of its names."""

from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

from rightcall.execute.code.changes import FileDiff, Stats, TotalChanges, View
from rightcall.execute.code.diff_reading import Changed, Counts, DiffReader, FileHunks, Garbled, Room

MOST_FILES = 1000
"""Files that are named in one answer; all are counted."""

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
    kept: list[FileHunks] = []
    try:
        reader.patch(files, room, lambda file: file.new in paths, kept)
    except Garbled:
        if reader.whole:
            raise
        reader.at = len(reader.data)
    counted = {count.new: count for count in counts if count.new in paths}  # not there: only blanks, which are ignored
    told = [(file, hunks) for file, hunks in zip(files, kept, strict=True) if file.new in counted]
    diffs = [_told(view, file, paths[file.new], counted[file.new], hunks) for file, hunks in told[:MOST_FILES]]
    truncated = len(diffs) < len(told) or any(diff.truncated for diff in diffs)
    return Changes(diffs, _total(counted.values()), truncated)


def read_names(reader: DiffReader, view: View) -> Named:
    """Numstat alone."""
    counts = reader.counts()
    paths = _paths(view, counts)
    return Named(list(islice(paths.values(), MOST_FILES)), _total(count for count in counts if count.new in paths))


def _total(counts: Iterable[Counts]) -> TotalChanges:
    seen = list(counts)
    return TotalChanges(len(seen), sum(count.insertions for count in seen), sum(count.deletions for count in seen))


def _told(view: View, file: Changed, path: str, count: Counts, kept: FileHunks) -> FileDiff:
    old = view.path(file.old) if file.status == "renamed" else None
    stats = Stats(count.insertions, count.deletions)
    return FileDiff(path, file.status, kept.hunks, stats, old, count.binary, kept.cut)


def _paths(view: View, files: Iterable[Changed | Counts]) -> dict[bytes, str]:
    """Where the files that may be seen are now, by their names."""
    paths: dict[bytes, str] = {}
    for file in files:
        path = view.path(file.new)
        if path is not None and (file.old == file.new or view.path(file.old) is not None):
            paths[file.new] = path
    return paths

"""What changed, as records: lines in hunks in files, and the commits that did it (design 002 §5.4 to §5.7). The fields
are what a caller gets, in camelCase; those with a default are left out where they say nothing."""

from typing import Literal

from msgspec import Struct

from rightcall.fs.names import shown_name
from rightcall.fs.sight import Sight

LineType = Literal["context", "addition", "deletion"]
Status = Literal["added", "modified", "deleted", "renamed"]
SHORT_HASH = 10
"""Digits of a commit's short name, the same in every tool and every repository."""


class DiffLine(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A line. Its number is that of the new file; of the old one for a deletion."""

    type: LineType
    line_number: int
    content: str
    no_newline: bool = False
    """The file ends here, without a line end."""


class DiffHunk(Struct, frozen=True, rename="camel"):
    """Changes that stand close together. A hunk that was cut has fewer lines than it counts."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[DiffLine]


class Stats(Struct, frozen=True):
    """Lines that came and went."""

    insertions: int
    deletions: int


class FileDiff(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of one file. `truncated`: not all of its hunks are here."""

    path: str
    status: Status
    hunks: list[DiffHunk]
    stats: Stats
    old_path: str | None = None
    binary: bool = False
    truncated: bool = False


class TotalChanges(Struct, frozen=True, rename="camel"):
    files_changed: int
    insertions: int
    deletions: int


class GitCommit(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A commit. `more_files`: so many changed files are not named; they are counted in `stats` all the same."""

    hash: str
    short_hash: str
    author: str
    email: str
    date: str
    message: str
    files_changed: list[str]
    stats: Stats
    more_files: int = 0
    diff: list[FileDiff] | None = None


class View(Struct, frozen=True):
    """What may be told of a repository: its names are those below its own folder, ours those below the root."""

    sight: Sight
    folder: str

    def path(self, name: bytes) -> str | None:
        """A path of the repository as the root knows it; None when it may not be seen."""
        inside = name.decode(errors="surrogateescape")
        path = f"{self.folder}/{inside}" if self.folder else inside
        return shown_name(path) if self.sight.sees(path) else None


def text_of(content: bytes) -> str:
    """What git holds as text; bytes that are none come out as `\\\\xNN`."""
    return content.decode(errors="backslashreplace")

"""Reads what git writes of changes: which files, how many lines, the changes themselves, and the commits that did it.

    9c… ␀ Ada ␀ ada@… ␀ 1700000000 ␀ Why ␀    a commit, in a format of our own (`git log -z`)
    :100644 100644 1d… 5f… M ␀ a.txt ␀       the files (raw)
    3 ⇥ 1 ⇥ a.txt ␀                           lines that came and went (numstat)
    ␀ diff --git a/a.txt b/a.txt …            the changes (patch)

Names are taken from the parts before the last only, where a NUL ends them. In that everything is counted: a hunk says
how many lines it has, and those are content, whatever they look like. So nothing in a file can pass for structure.

Told is only what the rules let be seen, and no more of it than was asked for. A refused file is in no list, no count
and no sum; a rename is refused with either of its names.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import Sight, shown_name
from rightcall.base.text import AnswerRoom, cut_end, utc

# ── changes ──
# What changed, as records: lines in hunks in files, and the commits that did it (design 002 §5.4 to §5.7). The fields
# are what a caller gets, in camelCase; those with a default are left out where they say nothing.

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

_LONGEST = 20_000
"""Characters of a message."""
_LONGEST_NAME = 1_000
"""Of an author, and of an address. With these bounds, and those of names and changes, one commit always fits into an
answer."""

LOG_OPTIONS = (
    "--format=%H%x00%an%x00%ae%x00%at%x00%B", "--encoding=UTF-8", "--no-mailmap", "--no-notes",
    "--no-show-signature", "--no-decorate", "--numstat", *DIFF_OPTIONS,
)  # fmt: skip
MERGES = "--diff-merges=first-parent"
"""A merge is compared with the first of its parents."""
PATCH_OPTIONS = ("--raw", "--patch", "--unified=3")

_STATUS: dict[str, Status] = {"A": "added", "C": "added", "D": "deleted", "R": "renamed"}
_RAW = re.compile(rb":\d+ \d+ ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*\0")
_COUNT = re.compile(rb"(\d+|-)\t(\d+|-)\t")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@[^\n]*\n")
_COMMIT = re.compile(rb"[0-9a-f]{40,64}\0")
_FILE = b"diff --git "
_UNMERGED = b"* Unmerged path "
_ABOUT = tuple(
    b"old mode |new mode |new file mode |deleted file mode |similarity index |dissimilarity index |rename from |"
    b"rename to |copy from |copy to |index |--- |+++ |Binary files ".split(b"|")
)
"""How the lines begin that stand between a file's name and its hunks."""
_KINDS: dict[int, LineType] = {0x20: "context", 0x2B: "addition", 0x2D: "deletion"}
_ODD = re.compile(rb'[\x00-\x1f\x7f"\\]')
_ODD_OR_HIGH = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
_MOST_RECORDS = 400_000
"""Bytes of lines as JSON: empty ones take many times what they have in git."""
_SHORT = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}


class Garbled(Exception):
    """Not what git would write; or its end is missing, because it was cut."""


class Changed(Struct, frozen=True):
    """One file of the raw part, with the names it had before and has now (the same, but for a rename)."""

    letter: str
    """A, M, D, R or T, as git says it."""
    old: bytes
    new: bytes
    ids: tuple[str, str]
    """Of both contents; only zeros where there is no file."""

    @property
    def status(self) -> Status:
        return _STATUS.get(self.letter, "modified")


class Counts(Struct, frozen=True):
    """One file of the numstat part. `binary`: no lines to count."""

    old: bytes
    new: bytes
    insertions: int
    deletions: int
    binary: bool


class Room:
    """How many bytes of changes are still to be kept. Once something did not fit, nothing more does."""

    def __init__(self, size: int) -> None:
        self.left = size
        self._records = AnswerRoom(_MOST_RECORDS)

    def take(self, size: int, record: object) -> bool:
        """So many bytes of git, which become this record."""
        self.left = self.left - size if size <= self.left and self._records.take(record) else -1
        return self.left >= 0


class FileHunks(Struct):
    """The hunks of one file as far as they were kept; `cut` as long as not all were."""

    hunks: list[DiffHunk]
    cut: bool = True


class DiffReader:
    """Goes through the output. `Garbled` is raised where something else comes than should, and at the end of an output
    that is not `whole`."""

    def __init__(self, data: bytes, *, whole: bool = True) -> None:
        self.data = data
        self.at = 0
        self.whole = whole

    @property
    def done(self) -> bool:
        return self.at >= len(self.data)

    def field(self) -> bytes:
        """Up to the next NUL, which is passed."""
        return self._until(b"\0")

    def skipped(self, mark: bytes) -> bool:
        """Whether this stands here; if so it is passed."""
        if not self.data.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def raw(self) -> list[Changed]:
        files: list[Changed] = []
        while match := _RAW.match(self.data, self.at):
            self.at = match.end()
            before, after, letter = (part.decode() for part in match.groups())
            old = self.field()
            new = self.field() if letter in "RC" else old
            if letter != "U":  # a conflict: the same file comes once more, with what it looks like now
                files.append(Changed(letter, old, new, (before, after)))
        return files

    def counts(self) -> list[Counts]:
        files: list[Counts] = []
        while match := _COUNT.match(self.data, self.at):
            self.at = match.end()
            name = self.field()
            old, new = (name, name) if name else (self.field(), self.field())
            binary = match[1] == b"-"
            files.append(Counts(old, new, 0 if binary else int(match[1]), 0 if binary else int(match[2]), binary))
        return files

    def patch(
        self, files: Sequence[Changed], room: Room, wanted: Callable[[Changed], bool], kept: list[FileHunks]
    ) -> None:
        """Add to `kept` the hunks of each wanted file, in the order of `files`; what came before a `Garbled` stays."""
        kept.extend(FileHunks([]) for _ in files)
        todo = 0  # the first file that nothing was told of yet
        while not self.done:
            if self.skipped(_UNMERGED):
                self._line()
                continue
            if not self.data.startswith(_FILE, self.at):
                break
            header = self._line()
            at = max(todo - 1, 0)  # a file that became a link comes twice: as it went, and as it came
            while at < len(files) and header not in _headers(files[at]):
                at += 1
            if at == len(files):
                raise Garbled
            for blank in kept[todo:at]:  # their changes are all in blanks, and those are ignored
                blank.cut = False
            todo = at + 1
            self._file(room if wanted(files[at]) else None, kept[at])
        self._must_be_over()
        for blank in kept[todo:]:
            blank.cut = False

    def _file(self, room: Room | None, into: FileHunks) -> None:
        while self.data.startswith(_ABOUT, self.at):
            self._line()
        whole = True
        while self.data.startswith(b"@@ -", self.at):
            whole = self._hunk(room, into) and whole
        if not self.data.startswith((_FILE, _UNMERGED), self.at):
            self._must_be_over()
        into.cut = not whole

    def _must_be_over(self) -> None:
        """Behind the last file there is nothing, or another commit."""
        if not (self.whole if self.done else _COMMIT.match(self.data, self.at)):
            raise Garbled

    def _hunk(self, room: Room | None, into: FileHunks) -> bool:
        """Whether all of it was kept."""
        match = _HUNK.match(self.data, self.at)
        if match is None:
            raise Garbled
        old, old_lines, new, new_lines = (1 if part is None else int(part) for part in match.groups())
        self.at = match.end()
        hunk = DiffHunk(old, old_lines, new, new_lines, [])
        old_end, new_end = old + old_lines, new + new_lines
        while old < old_end or new < new_end:
            if room is None or room.left < 0:
                self._pass_over(old_end - old, new_end - new)
                return False
            start = self.at
            line = self._line()
            kind = _KINDS.get(line[0]) if line else None
            if kind is None:
                raise Garbled
            ends = self._no_newline()
            record = DiffLine(kind, old if kind == "deletion" else new, text_of(line[1:]), ends)
            if not room.take(len(line) + 1, record if hunk.lines else (hunk, record)):
                self.at = start
                continue
            if not hunk.lines:
                into.hunks.append(hunk)
            hunk.lines.append(record)
            old += kind != "addition"
            new += kind != "deletion"
        if old != old_end or new != new_end:
            raise Garbled
        return True

    def _pass_over(self, old: int, new: int) -> None:
        """So many lines of the old and of the new file, as quickly as can be: they may be millions."""
        data, at = self.data, self.at
        while old > 0 or new > 0:
            end = data.find(b"\n", at) + 1
            if not end:
                raise Garbled
            kind = data[at]
            if kind == 0x20:
                old -= 1
                new -= 1
            elif kind == 0x2B:
                new -= 1
            elif kind == 0x2D:
                old -= 1
            elif kind != 0x5C:
                raise Garbled
            at = end
        self.at = at
        if old or new:
            raise Garbled
        self._no_newline()

    def _no_newline(self) -> bool:
        """Whether the line before was the last of its file, and has no end."""
        ends = self.skipped(b"\\")
        if ends:
            self._line()
        return ends

    def _line(self) -> bytes:
        return self._until(b"\n")

    def _until(self, mark: bytes) -> bytes:
        end = self.data.find(mark, self.at)
        if end < 0:
            raise Garbled
        start, self.at = self.at, end + 1
        return self.data[start:end]


def _headers(file: Changed) -> tuple[bytes, bytes]:
    """The line that git begins the changes of a file with, for both ways in which it spells names out."""
    names = (b"a/" + file.old, b"b/" + file.new)
    plain, high = (b" ".join(_spelled(name, odd) for name in names) for odd in (_ODD, _ODD_OR_HIGH))
    return _FILE + plain, _FILE + high


def _spelled(name: bytes, odd: re.Pattern[bytes]) -> bytes:
    """A name as git writes it: in quotes when there is something odd in it.

    >>> _spelled(b'a/b"c', _ODD), _spelled("a/é".encode(), _ODD_OR_HIGH), _spelled(b"a/b c", _ODD)
    (b'"a/b\\\\"c"', b'"a/\\\\303\\\\251"', b'a/b c')
    """
    if odd.search(name) is None:
        return name
    return b'"' + odd.sub(_escape, name) + b'"'


def _escape(match: re.Match[bytes]) -> bytes:
    code = match[0][0]
    return b"\\" + (_SHORT.get(code) or b"%03o" % code)


# ── what may be told of it ────────────────────────────────────────────────────────────────────────────────────────────


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


# ── commits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Commits(Struct, frozen=True):
    """The commits as they came. `cut`: something of their changes is left out; `whole`: these are all that there were
    to read."""

    commits: list[GitCommit]
    cut: bool
    whole: bool


def read_commits(output: bytes, view: View, *, most: int, room: Room | None, whole: bool = True) -> Commits:
    """At most so many commits, and no more than fit into an answer. `room`: the changes themselves are in the output
    (PATCH_OPTIONS), and so much of them is kept in all."""
    reader = DiffReader(output, whole=whole)
    commits: list[GitCommit] = []
    answer = AnswerRoom()
    cut = False
    while not reader.done and len(commits) < most:
        try:
            commit, short = _commit(reader, view, room)
        except Garbled:
            if whole:
                raise
            return Commits(commits, cut, False)
        if not answer.take(commit):
            return Commits(commits, cut, False)
        commits.append(commit)
        cut = cut or short
    return Commits(commits, cut, whole and reader.done)


def _commit(reader: DiffReader, view: View, room: Room | None) -> tuple[GitCommit, bool]:
    full, author, email, seconds, message = (text_of(reader.field()) for _ in range(5))
    changed = reader.skipped(b"\n")
    if room is None or not changed:
        named = read_names(reader, view)
        files, totals, cut = named.files, named.totals, False
        diffs: list[FileDiff] | None = None if room is None else []
    else:
        changes = read_changes(reader, view, room)
        files = [diff.path for diff in changes.diffs]
        totals, diffs, cut = changes.totals, changes.diffs, changes.truncated
    commit = GitCommit(
        hash=full,
        short_hash=full[:SHORT_HASH],
        author=cut_end(author, _LONGEST_NAME),
        email=cut_end(email, _LONGEST_NAME),
        date=utc(int(seconds) if seconds.isdecimal() else 0),
        message=cut_end(message.rstrip("\n"), _LONGEST),
        files_changed=files,
        stats=Stats(totals.insertions, totals.deletions),
        more_files=totals.files_changed - len(files),
        diff=diffs,
    )
    return commit, cut

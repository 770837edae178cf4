"""Reads commits as `git log -z` writes them in a format of our own: five fields, each ended by a NUL, which neither a
name nor a message can hold; then what the commit changed, behind a line end."""

from msgspec import Struct

from rightcall.execute.code.changes import SHORT_HASH, FileDiff, GitCommit, Stats, View, text_of
from rightcall.execute.code.diff_reading import DiffReader, Garbled, Room
from rightcall.execute.code.file_diffs import DIFF_OPTIONS, read_changes, read_names
from rightcall.execute.code.moments import utc
from rightcall.text.cut import AnswerRoom
from rightcall.text.escape import cut_end

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

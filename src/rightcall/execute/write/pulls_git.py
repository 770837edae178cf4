"""What git knows of a pull request: its commits and who made them, the files it changes, the diff."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.base.globs import path_matches
from rightcall.errors import ToolFailure
from rightcall.execute.code.git.run import checked, run_git
from rightcall.execute.write.git import Writer
from rightcall.text.cut import MOST_SHOWN, cut_preview
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_hands import WriteSettings
    from rightcall.fs.sight import Sight

_SECONDS = 30.0
_MOST = 64 << 20
_MOST_COMMITS = 2_000
_MOST_NAMED = 5
_FIELDS = "%x00".join(("%H", "%an", "%cn", "%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x01)", "%s"))
_LONGEST_SUBJECT = 200


class Commit(Struct, frozen=True):
    hash: str
    subject: str
    names: tuple[str, ...]
    """Whoever it is by: author, committer, and those it says it was made with."""


class Counts(Struct, frozen=True):
    files: int
    insertions: int
    deletions: int


def required_tip(writer: Writer, branch: str, what: str) -> str:
    """The commit that a branch is at; ToolFailure where there is no such branch."""
    tip = writer.tip(branch)
    if tip is None:
        raise ToolFailure(f"{what}: there is no branch {escaped(branch, 200)} (any more)")
    return tip


def commits_between(writer: Writer, base: str, head: str) -> tuple[Commit, ...]:
    """The commits that a branch has beyond another, the newest first."""
    command = ["log", "-z", f"--max-count={_MOST_COMMITS + 1}", f"--format={_FIELDS}", head, f"^{base}", "--"]
    out = checked(run_git(writer.repository, command, seconds=_SECONDS, most=_MOST))
    parts = out.decode(errors="replace").split("\0")
    rows = [parts[at : at + 5] for at in range(0, len(parts) - 4, 5)]
    if len(rows) > _MOST_COMMITS:
        raise ToolFailure(f"The branch has more than {_MOST_COMMITS:,} commits beyond its base: too many to review")
    return tuple(Commit(row[0].strip(), row[4][:_LONGEST_SUBJECT], _people(row[1:4])) for row in rows)


def _people(fields: Sequence[str]) -> tuple[str, ...]:
    author, committer, others = fields
    named = (one.partition("<")[0].strip() for one in others.split("\1"))
    return tuple(dict.fromkeys(name for name in (author, committer, *named) if name))


def fork_point(writer: Writer, base: str, head: str) -> str:
    """Where a branch has left another: its diff counts from there."""
    out = run_git(writer.repository, ["merge-base", base, head], seconds=_SECONDS, most=_MOST)
    if out.code == 1:
        raise ToolFailure("The branch and its base have no common history: they cannot be merged")
    return checked(out).decode().split()[0]


def counts(writer: Writer, old: str, new: str) -> Counts:
    command = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--end-of-options", old, new]
    lines = checked(run_git(writer.repository, command, seconds=_SECONDS, most=_MOST)).split(b"\0")[:-1]
    pairs = [line.split(b"\t")[:2] for line in lines]
    inserted, deleted = (sum(int(pair[side]) for pair in pairs if pair[side].isdigit()) for side in (0, 1))
    return Counts(len(lines), inserted, deleted)


def blobs(writer: Writer, ids: Iterable[str]) -> dict[str, bytes]:
    """The content of each blob, all in one go."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    told = "".join(f"{one}\n" for one in wanted).encode()
    finished = run_git(writer.repository, ["cat-file", "--batch"], stdin=told, seconds=_SECONDS, most=_MOST)
    if finished.full:
        raise ToolFailure("The branch changes more than 64 MB of files: that is too much for a checkout at once")
    out, at, found = checked(finished), 0, dict[str, bytes]()
    for one in wanted:
        about, _, _ = out[at : at + 200].partition(b"\n")
        _, _, size = about.rpartition(b" ")
        if b" blob " not in about or not size.isdigit():
            raise ToolFailure("The git repository is damaged, or a part of it is not here")
        at += len(about) + 1
        found[one] = out[at : at + int(size)]
        at += int(size) + 1
    return found


def exact_diff(writer: Writer, old: str, new: str) -> bytes:
    """The diff byte for byte, as `git apply` takes it."""
    command = [
        "diff-tree", "-r", "-p", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
        "--full-index", "--end-of-options", old, new,
    ]  # fmt: skip
    finished = run_git(writer.repository, command, seconds=_SECONDS, most=_MOST)
    if finished.full:
        raise ToolFailure("The diff is larger than 64 MB: git itself can show it")
    return checked(finished)


def shown_diff(writer: Writer, old: str, new: str, most: int) -> str:
    """The diff, bounded; escaped by whoever shows it. For messages: what gets approved is a `diff_preview`."""
    diff = writer.shown(old, new, most)
    text = diff.text.rstrip("\n")
    return f"{text}\n… cut here: {diff.left_out}" if diff.left_out else text


def diff_preview(head: Sequence[str], writer: Writer, old: str, new: str, instead: str) -> str:
    """What a person is asked about: a head, and the whole diff below it. Where that cannot be shown whole, the very
    first line says so and what to do `instead`, and every file is named."""
    diff = writer.shown(old, new, MOST_SHOWN)
    if diff.left_out:
        return cut_preview(f"{diff.left_out} {instead}", head, diff.files, diff.text)
    return "\n".join([*head, diff.text.rstrip("\n")])


def refuse_untouchable(
    paths: Iterable[str], writer: Writer, sight: "Sight", settings: "WriteSettings"
) -> None:  # fmt: skip
    """ToolFailure where a branch changes what no tool writes. Paths that may not even be seen are counted, not named:
    a refusal tells nothing of them."""
    locked: list[str] = []
    unseen = 0
    for path in paths:
        outside = writer.repository.outside(path)
        if not sight.sees(outside):
            unseen += 1
        elif any(path_matches(one, name) for one in settings.locked for name in {path, outside}):
            locked.append(path)
    if locked:
        raise ToolFailure(f"The branch changes what no tool may change ([write] locked): {names(locked)}")
    if unseen:
        raise ToolFailure(f"The branch changes {unseen} file(s) that no tool may see or change: a person must merge it")


def names(paths: Sequence[str]) -> str:
    """A few of them, safe to show."""
    shown = ", ".join(escaped(os.fsencode(path).decode(errors="backslashreplace"), 200) for path in paths[:_MOST_NAMED])
    return shown if len(paths) <= _MOST_NAMED else f"{shown} and {len(paths) - _MOST_NAMED} more"

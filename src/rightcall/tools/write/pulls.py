"""Pull requests: records on the desk, each the story of one branch that asks to be merged.

    opened ─▶ comments, approvals, rejections (each bound to a commit) ─▶ checks ─▶ merged, or closed

A record is a document beside the changes, so that what happens to a branch and what is told about it are one change.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.base.globs import path_matches
from rightcall.base.letters import skeleton
from rightcall.base.text import MOST_SHOWN, cut_preview, escaped
from rightcall.errors import ToolFailure
from rightcall.tools.git.run import output_of, run_git
from rightcall.tools.write.plumbing import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rightcall.base.files.sight import Sight
    from rightcall.policy.settings import WriteSettings
    from rightcall.tools.write.changes import FileStep
    from rightcall.tools.write.desk import Desk


PullStatus = Literal["open", "merged", "closed"]
RemarkKind = Literal["opened", "comment", "approve", "reject", "check", "merge", "close"]
Decision = Literal["comment", "approve", "reject"]

PULLS: Final = "pulls"
LONGEST_TITLE: Final = 300
LONGEST_TEXT: Final = 50_000
"""Characters of a body or a comment."""
MOST_COMMENTS: Final = 500
MOST_BY_ONE: Final = 100
"""Comments of one caller: nobody takes the room of all others."""
_MOST_COMMENTED: Final = 1_000_000
_MOST_COMMENTED_BY_ONE: Final = 200_000
"""Characters of all comments."""
_MOST_WORDS: Final = 10
"""Approvals and rejections of one caller that are kept, of which the last counts."""
_MOST_NOTES: Final = 100
"""What was noted of checks and merges."""
_MOST_DIGITS: Final = 9


class Remark(Struct, frozen=True, omit_defaults=True):
    """Something that was said about a pull request, or happened to it."""

    by: str
    kind: RemarkKind
    at: str
    text: str = ""
    commit: str = ""
    """What the branch was at: an approval or rejection is about this commit and no other."""
    person: bool = False
    """Whether it was somebody at the command line, and no caller of tools."""


class CheckRun(Struct, frozen=True, omit_defaults=True):
    """One run of the check command, over the files as they would be after the merge."""

    commit: str
    """What the branch was at."""
    base: str
    """What the base branch was at."""
    ok: bool
    exit: int | None
    """The exit status; None where it was ended."""
    seconds: float
    at: str
    tail: str = ""
    """The end of what it printed."""
    limits: tuple[str, ...] = ()
    """The limits that it came to."""
    tier: str = ""


class PullRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    """`1`, `2`, …"""
    title: str
    body: str = ""
    author: str
    """The caller who opened it."""
    branch: str
    base: str
    repository: str = ""
    """The folder of the repository's work tree below the root."""
    head: str
    """What the branch was at when it was opened, and in the end what was merged; in between it may grow."""
    made: str
    status: PullStatus = "open"
    merge: str = ""
    """The commit that merged it."""
    before: str = ""
    """What the base branch was at before that."""
    discussion: tuple[Remark, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    """The latest runs, oldest first."""

    @property
    def name(self) -> str:
        return f"#{self.id}"


def pull_id(given: str | int) -> str:
    """The id that somebody has written: `7`, `"7"` or `"#7"`. Raises ToolFailure for what can be none.

    >>> pull_id(" #7 "), pull_id(7)
    ('7', '7')
    """
    text = str(given) if isinstance(given, str) or 0 < given < 10**_MOST_DIGITS else ""
    digits = text.strip().removeprefix("#").lstrip("0")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        raise ToolFailure(f"id: {escaped(str(given)[:60], 40)!r} is not a pull request; pass a number, such as 7")
    return digits


def pull_of(desk: "Desk", given: str | int) -> PullRecord:
    """A pull request; ToolFailure that says which there are where there is none."""
    number = pull_id(given)
    content = desk.document(PULLS, number)
    if content is None:
        raise ToolFailure(f"Unknown pull request {number}{_which(desk)}")
    return _read(number, content)


def all_pulls(desk: "Desk") -> list[PullRecord]:
    """Every pull request, the newest first; one that is damaged is left out, since its own name is all it has."""
    return [one for one in _every(desk) if isinstance(one, PullRecord)]


def damaged_pulls(desk: "Desk") -> list[str]:
    """The numbers of those whose records cannot be read."""
    return [one for one in _every(desk) if isinstance(one, str)]


def _every(desk: "Desk") -> "Iterator[PullRecord | str]":
    for number in map(str, sorted(_ids(desk), reverse=True)):
        try:
            content = desk.document(PULLS, number)
            if content is not None:
                yield _read(number, content)
        except ToolFailure:
            yield number


def next_id(desk: "Desk") -> str:
    """The next number. Under the desk's lock only: there two processes cannot get the same."""
    return str(max(_ids(desk), default=0) + 1)


def pull_step(desk: "Desk", record: PullRecord) -> "FileStep":
    """The step that writes a record, from what it is now. Under the lock only."""
    return desk.document_step(PULLS, record.id, encode(record) + b"\n")


def with_remark(record: PullRecord, remark: Remark) -> PullRecord:
    """The record with one more remark. There is an end to comments only: whatever was said before, there is room for an
    approval, a rejection and what becomes of the request; each of these may take the place of the oldest of its kind,
    and of its author."""
    if remark.kind == "comment":
        _refuse_endless(record, remark)
    replaced = _replaced(record.discussion, remark)
    kept = (one for at, one in enumerate(record.discussion) if at != replaced)
    return replace(record, discussion=(*kept, remark))


def _refuse_endless(record: PullRecord, remark: Remark) -> None:
    comments = [one for one in record.discussion if one.kind == "comment"]
    own = [one for one in comments if _is_by(remark.by, one)]
    for said, whose, most, longest in (
        (own, f"{escaped(remark.by, 40)!r} has made", MOST_BY_ONE, _MOST_COMMENTED_BY_ONE),
        (comments, "there are", MOST_COMMENTS, _MOST_COMMENTED),
    ):
        length = sum(len(one.text) for one in said)
        if len(said) >= most or length + len(remark.text) > longest:
            raise ToolFailure(
                f"comment: {whose} {len(said):,} comments with {length:,} characters on pull request {record.id}; at "
                f"most {most:,} with {longest:,} are taken. An approval or a rejection always is (decision)"
            )


def _replaced(discussion: tuple[Remark, ...], remark: Remark) -> int | None:
    """The place of a remark that makes room for another one."""
    if remark.kind in ("approve", "reject"):
        places = [
            at for at, one in enumerate(discussion) if one.kind in ("approve", "reject") and _is_by(remark.by, one)
        ]
        return places[0] if len(places) >= _MOST_WORDS else None
    places = [at for at, one in enumerate(discussion) if one.kind == remark.kind]
    return places[0] if remark.kind in ("check", "merge") and len(places) >= _MOST_NOTES else None


def _is_by(name: str, remark: Remark) -> bool:
    return remark.by == name or (bool(skeleton(name)) and skeleton(remark.by) == skeleton(name))


def with_check(record: PullRecord, run: CheckRun) -> PullRecord:
    return replace(record, checks=(*record.checks, run)[-20:])


def require_open(record: PullRecord) -> None:
    if record.status != "open":
        raise ToolFailure(f"Pull request {record.id} is {record.status}: nothing more can be done with it")


def moment() -> str:
    """Now, as records write it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def checked_text(what: str, text: str, most: int = LONGEST_TEXT) -> str:
    """What somebody wrote, without blanks around it. Raises ToolFailure for what cannot be kept."""
    text = text.replace("\r\n", "\n").strip()
    if len(text) > most:
        raise ToolFailure(f"{what} has {len(text):,} characters; at most {most:,} are taken")
    if "\0" in text:
        raise ToolFailure(f"{what} holds a NUL character; leave it out")
    return text.encode(errors="replace").decode()  # lone surrogates have no place in a file


def _ids(desk: "Desk") -> list[int]:
    return [int(name) for name in desk.documents(PULLS) if name.isascii() and name.isdecimal()]


def _read(id: str, content: bytes) -> PullRecord:
    try:
        record = decode(content, type=PullRecord)
    except DecodeError:
        record = None
    if record is None or record.id != id:
        raise ToolFailure(f"The record of pull request {id} is damaged") from None
    return record


def _which(desk: "Desk") -> str:
    ids = sorted(_ids(desk))
    if not ids:
        return ": none was opened yet; code/pull-request opens one"
    if len(ids) == 1:
        return f"; the only one is {ids[0]}"
    *most, last = map(str, ids[-10:])
    return f"; {'there are' if len(ids) <= 10 else 'the latest are'} {', '.join(most)} and {last}"


# ── git ──
# What git knows of a pull request: its commits and who made them, the files it changes, the diff.

_SECONDS = 30.0
_MOST = 64 << 20
_MOST_COMMITS = 2_000
_MOST_NAMED = 5
_FIELDS = "%x00".join(("%H", "%an", "%cn", "%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x01)", "%s"))


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
        raise ToolFailure(f"{what}: no such branch: {escaped(branch, 200)} (any more)")
    return tip


def commits_between(writer: Writer, base: str, head: str) -> tuple[Commit, ...]:
    """The commits that a branch has beyond another, the newest first."""
    command = ["log", "-z", f"--max-count={_MOST_COMMITS + 1}", f"--format={_FIELDS}", head, f"^{base}", "--"]
    out = output_of(run_git(writer.repository, command, seconds=_SECONDS, most=_MOST))
    parts = out.decode(errors="replace").split("\0")
    rows = [parts[at : at + 5] for at in range(0, len(parts) - 4, 5)]
    if len(rows) > _MOST_COMMITS:
        raise ToolFailure(f"The branch has more than {_MOST_COMMITS:,} commits beyond its base: too many to review")
    return tuple(Commit(row[0].strip(), row[4][:200], _people(row[1:4])) for row in rows)


def _people(fields: Sequence[str]) -> tuple[str, ...]:
    author, committer, others = fields
    named = (one.partition("<")[0].strip() for one in others.split("\1"))
    return tuple(dict.fromkeys(name for name in (author, committer, *named) if name))


def fork_point(writer: Writer, base: str, head: str) -> str:
    """Where a branch has left another: its diff counts from there."""
    out = run_git(writer.repository, ["merge-base", base, head], seconds=_SECONDS, most=_MOST)
    if out.code == 1:
        raise ToolFailure("The branch and its base have no common history: they cannot be merged")
    return output_of(out).decode().split()[0]


def counts(writer: Writer, old: str, new: str) -> Counts:
    command = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--end-of-options", old, new]
    lines = output_of(run_git(writer.repository, command, seconds=_SECONDS, most=_MOST)).split(b"\0")[:-1]
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
    out, at, found = output_of(finished), 0, dict[str, bytes]()
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
    return output_of(finished)


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

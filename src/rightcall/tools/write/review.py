"""`code/review`: a review of somebody else's pull request, bound to the commit that was looked at; and its export."""

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.json import encode

from rightcall.base.letters import skeleton, visible
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.diff import one_line
from rightcall.tools.git.run import output_of, run_git
from rightcall.tools.write.branches import BranchRecord, branch_record
from rightcall.tools.write.changes import GitScope, Moved
from rightcall.tools.write.commit import commit_lines
from rightcall.tools.write.edit import DeskWork, digest
from rightcall.tools.write.plumbing import Writer, author_of
from rightcall.tools.write.pulls import (
    Commit,
    Counts,
    Decision,
    PullRecord,
    PullStatus,
    Remark,
    checked_text,
    commits_between,
    counts,
    diff_preview,
    fork_point,
    moment,
    pull_of,
    pull_step,
    require_open,
    required_tip,
    shown_diff,
    with_remark,
)

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk


# ── who may review ──
# Whose word counts on a pull request: somebody else's, on the very commit that it was said of.
#
# Names that look alike are one name. Whoever opened it, owns the branch or has a commit on it is no reviewer of it.


class Standing(Struct, frozen=True):
    """Where the reviews of a pull request stand, at what its branch is at now."""

    approved: tuple[str, ...]
    """By whom, each once."""
    rejected: tuple[Remark, ...]
    void: tuple[Remark, ...]
    """Approvals of an earlier commit, by somebody who has not approved this one."""


def people_involved(record: PullRecord, owner: str, commits: Iterable[Commit]) -> tuple[str, ...]:
    """Everybody whose work it is."""
    people = [record.author, owner, *(name for commit in commits for name in commit.names)]
    return tuple(dict.fromkeys(name for name in people if name))


def require_other(by: str, people: Iterable[str], what: str) -> None:
    """ToolFailure where somebody would judge work of their own."""
    if not skeleton(by):
        raise ToolFailure(f"{what} needs a name with letters or digits; {escaped(by, 40)!r} has none")
    for name in people:
        if _same(by, name):
            like = "" if name == by else f", which looks like {escaped(by, 40)!r}"
            raise ToolFailure(
                f"{what} must come from somebody else: {escaped(name, 40)!r}{like} opened it, owns the branch or has "
                "a commit on it. A comment can be made by anybody (decision: comment)"
            )


def standing_of(record: PullRecord, head: str, people: Iterable[str]) -> Standing:
    """The last word of each reviewer counts, and only on this commit. An approval by whoever has a hand in it by
    now does not; a rejection does, whoever says it."""
    own = tuple(people)
    last: dict[str, Remark] = {}
    earlier: dict[str, Remark] = {}
    for remark in record.discussion:
        if remark.kind not in ("approve", "reject"):
            continue
        if remark.kind == "approve" and any(_same(remark.by, name) for name in own):
            continue
        (last if remark.commit == head else earlier)[skeleton(remark.by)] = remark
    return Standing(
        approved=tuple(one.by for one in last.values() if one.kind == "approve"),
        rejected=tuple(one for one in last.values() if one.kind == "reject"),
        void=tuple(one for who, one in earlier.items() if one.kind == "approve" and who not in last),
    )


def has_approved(now: Standing, by: str) -> bool:
    """Whether the word of this one, however the name is spelled, is an approval already."""
    return any(one == by or skeleton(one) == skeleton(by) for one in now.approved)


def refuse_second(record: PullRecord, now: Standing, head: str, by: str) -> None:
    """ToolFailure where somebody approves what they have approved."""
    if has_approved(now, by):
        raise ToolFailure(
            f"{escaped(by, 40)!r} has approved pull request {record.id} at commit {head[:_SHORT]} already; whoever has "
            "more to say about it comments (decision: comment)"
        )


def require_approved(record: PullRecord, now: Standing, head: str, needed: int) -> None:
    """ToolFailure where a pull request may not be merged as it is."""
    if now.rejected:
        one = now.rejected[0]
        why = f": {escaped(one.text, 300)}" if one.text else ""
        raise ToolFailure(f"{escaped(one.by, 40)!r} has rejected pull request {record.id} as it is now{why}")
    if len(now.approved) >= needed:
        return
    lacking = f"Pull request {record.id} needs {needed} approval(s) by others and has {len(now.approved)}"
    if now.void:
        who = ", ".join(sorted({repr(escaped(one.by, 40)) for one in now.void}))
        raise ToolFailure(
            f"{lacking}: {who} approved an earlier commit ({now.void[-1].commit[:_SHORT]}), and the branch is at "
            f"{head[:_SHORT]} now. Somebody has to look at it again: code/review"
        )
    raise ToolFailure(f"{lacking}. Somebody else than its author has to approve it: code/review, decision approve")


def _same(one: str, other: str) -> bool:
    """As they are, or as a commit names its author."""
    return bool(_looks(one) & _looks(other))


def _looks(name: str) -> set[str]:
    return {skeleton(name), skeleton(author_of(name)[0])} - {""}


_SHORT: Final = 10
_WOULD: Final = {"comment": "comment on", "approve": "approve", "reject": "reject"}
_DONE: Final = {"comment": "commented on", "approve": "approved", "reject": "rejected"}


class ReviewArguments(Struct, frozen=True, kw_only=True):
    id: str | int
    decision: Decision | None = None
    comment: str = ""
    caller: str = ""
    expected: str | None = None


class Reviewed(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    id: str
    decision: Decision
    commit: str
    """What the branch was at: the word counts for this commit alone."""
    status: PullStatus
    approvals: int
    needed: int
    change: str
    undo: str


class Case(Struct, frozen=True):
    """A pull request as it is now, with what git says of it."""

    record: PullRecord
    writer: Writer
    head: str
    tip: str
    """What the base branch is at."""
    fork: str
    commits: "tuple[Commit, ...]"
    people: tuple[str, ...]
    """Whose work it is."""
    now: Standing


def case_of(desk: "Desk", given: str | int) -> Case:
    """An open pull request; ToolFailure where there is none, or its branches are gone."""
    record = pull_of(desk, given)
    require_open(record)
    writer = Writer(desk.sight, record.repository)
    head, tip = required_tip(writer, record.branch, "branch"), required_tip(writer, record.base, "base")
    commits = commits_between(writer, tip, head)
    people = people_involved(record, _owner(branch_record(desk, record.branch)), commits)
    fork = fork_point(writer, tip, head)
    return Case(record, writer, head, tip, fork, commits, people, standing_of(record, head, people))


class _Word(Struct, frozen=True):
    """What would be said about a pull request."""

    case: Case
    decision: Decision
    text: str

    def state(self) -> str:
        return digest("review", encode(self.case.record), self.case.head, self.case.fork)

    def shown(self) -> str:
        case = self.case
        return diff_preview(
            [
                f"Would {_WOULD[self.decision]} pull request {case.record.id} at commit {case.head[:_SHORT]}",
                f"{one_line(case.record.branch)} into {one_line(case.record.base)}, by {one_line(case.record.author)}",
                f"title: {one_line(case.record.title)}",
                *(f"  {line}" for line in self.text.split("\n") if self.text),
                *commit_lines(case.commits),
                "",
            ],
            case.writer, case.fork, case.head,
            f"A person can look at all of it (rightcall pr diff {case.record.id}) and say it (rightcall pr)",
        )  # fmt: skip


def review(desk: "Desk", asked: ReviewArguments, *, person: bool = False, at: str | None = None) -> Reviewed:
    """Say it. `person`: by somebody at the command line, who was shown the commit `at`."""
    with desk.working() as worker:
        word = _judged(desk, asked)
        case, decision, text = word.case, word.decision, word.text
        record = case.record
        if asked.expected not in (None, word.state()) or at not in (None, case.head):
            raise Moved(
                f"Pull request {record.id}, or what was said about it, has changed since it was reviewed: "
                f"{escaped(record.branch, 200)} is at {case.head[:_SHORT]} now. No review was recorded; look again",
                shown_diff(case.writer, case.fork, case.head, 20_000),
            )
        said = with_remark(record, Remark(asked.caller, decision, moment(), text, case.head, person))
        change = worker.apply(
            tool="code/review", caller=asked.caller, summary=f"{_DONE[decision]} pull request {record.id}",
            files=[pull_step(desk, said)], scope=GitScope(record.repository, pull=record.id),
        )  # fmt: skip
    now = standing_of(said, case.head, case.people)
    return Reviewed(
        id=record.id, decision=decision, commit=case.head, status=said.status, approvals=len(now.approved),
        needed=desk.settings.reviews, change=change.id, undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def _judged(desk: "Desk", asked: ReviewArguments) -> _Word:
    by, text = asked.caller, checked_text("comment", asked.comment)
    if asked.decision is None and not text:
        raise ToolFailure("Say something: comment, or decision (comment, approve or reject), or both")
    decision: Decision = asked.decision or "comment"
    if decision == "comment" and not text:
        raise ToolFailure("comment: a comment needs some words; decision approve needs none")
    if decision == "reject" and not text:
        raise ToolFailure("`comment` is required when `decision` is `reject`")
    case = case_of(desk, asked.id)
    if decision != "comment":
        # a no counts from anybody: else a message that names somebody as co-author would silence them
        people = case.people if decision == "approve" else ()
        require_other(by, people, "An approval" if decision == "approve" else "A rejection")
        if not case.commits:
            raise ToolFailure(f"Pull request {case.record.id} has no commit that its base lacks: nothing to review")
    if decision == "approve":
        refuse_second(case.record, case.now, case.head, by)
    return _Word(case, decision, text)


REVIEW_WORK = DeskWork(ReviewArguments, _judged, review)


def _owner(branch: BranchRecord | None) -> str:
    return "" if branch is None else branch.owner


# ── export ──
# A pull request for a forge: what its own command line takes, as files and a command that a person can run.
#
# Nothing is run here, and nothing is sent.

Forge = Literal["github", "gitlab", "gitea", "patch"]
FORGES: Final[tuple[Forge, ...]] = ("github", "gitlab", "gitea", "patch")

TITLE, BODY, SERIES = "title.txt", "body.md", "series.mbox"


class Span(Struct, frozen=True):
    """From where to where a pull request goes in its repository."""

    writer: Writer
    old: str
    new: str
    """For its diff."""
    head: str
    """The last of its own commits: between these and `old` are its commits."""


def span_of(desk: "Desk", record: PullRecord) -> Span:
    """Of an open one as it is now, of a merged one as it was merged, of a closed one as far as it is still there."""
    writer = Writer(desk.sight, record.repository)
    if record.status == "merged":
        return Span(writer, record.before, record.merge, record.head)
    head = writer.tip(record.branch) if record.status == "closed" else required_tip(writer, record.branch, "branch")
    head = head or record.head
    fork = fork_point(writer, required_tip(writer, record.base, "base"), head)
    return Span(writer, fork, head, head)


def series(span: Span) -> bytes:
    """Its commits as `git am` takes them, byte for byte."""
    command = [
        "format-patch", "--stdout", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames",
        "--no-signature", "--no-thread", "--no-attach", "--encode-email-headers", span.head, f"^{span.old}", "--",
    ]  # fmt: skip
    finished = run_git(span.writer.repository, command, seconds=60.0, most=256 << 20)
    if finished.full:
        raise ToolFailure("The commits are larger than 256 MB: push the branch instead")
    return output_of(finished)


def export(desk: "Desk", record: PullRecord, forge: Forge, folder: str) -> list[str]:
    """Write the files into a folder, which must be new or empty; the commands to run, one to a line."""
    span = span_of(desk, record)
    files = {TITLE: f"{record.title}\n".encode(), BODY: f"{record.body}\n".encode(), SERIES: series(span)}
    if not files[SERIES]:
        raise ToolFailure(f"Pull request {record.id} has no commits of its own to export")
    _write(folder, files)
    return commands(record, forge, os.path.abspath(folder))


def commands(record: PullRecord, forge: Forge, folder: str) -> list[str]:
    """What a person runs to make the request at the forge."""
    if forge == "patch":
        return [f"git am {shlex.quote(os.path.join(folder, SERIES))}"]
    branch, base = shlex.quote(record.branch), shlex.quote(record.base)
    ref = shlex.quote(f"refs/heads/{record.branch}")
    push = f"git push origin {ref}:{ref}"
    title = _quoted(record.title, os.path.join(folder, TITLE))
    body = shlex.quote(os.path.join(folder, BODY))
    create = {
        "github": f"gh pr create --head {branch} --base {base} --title {title} --body-file {body}",
        "gitlab": (
            f"glab mr create --source-branch {branch} --target-branch {base} --title {title} "
            f'--description "$(cat {body})" --yes'
        ),
        "gitea": f'tea pulls create --head {branch} --base {base} --title {title} --description "$(cat {body})"',
    }
    return [push, create[forge]]


def _quoted(text: str, file: str) -> str:
    """For a shell. What a terminal would obey or hide is not printed: it is read from its file instead."""
    return shlex.quote(text) if visible(text) == text else f'"$(cat {shlex.quote(file)})"'


def _write(folder: str, files: Mapping[str, bytes]) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise ToolFailure(f"{escaped(folder, 300)} is not empty: name a folder that is new, --out DIR")
        for name, content in files.items():
            with open(os.path.join(folder, name), "xb") as file:
                file.write(content)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ToolFailure(f"{escaped(folder, 300)} cannot be written to: {why}") from error


# ── one pull request ──
# As it is now: its record, and what git says of it, as far as its branches are still there.


class PullView(Struct, frozen=True):
    record: PullRecord
    head: str
    commits: tuple[Commit, ...] = ()
    totals: Counts | None = None
    now: Standing | None = None
    """Where its reviews stand, while it is open."""
    missing: str = ""
    """Why less is known of it."""


def view_pull(desk: "Desk", record: PullRecord) -> PullView:
    try:
        span = span_of(desk, record)
        commits = commits_between(span.writer, span.old, span.head)
        totals = counts(span.writer, span.old, span.new)
        now = case_of(desk, record.id).now if record.status == "open" else None
    except ToolFailure as error:
        return PullView(record, record.head, missing=str(error))
    return PullView(record, span.head, commits, totals, now)

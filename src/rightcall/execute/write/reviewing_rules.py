"""Whose word counts on a pull request: somebody else's, on the very commit that it was said of.

Names that look alike are one name. Whoever opened it, owns the branch or has a commit on it is no reviewer of it.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.write.git import author_of
from rightcall.execute.write.pulls import PullRecord, Remark
from rightcall.execute.write.pulls_git import Commit
from rightcall.text.alike import skeleton
from rightcall.text.escape import escaped

_SHORT: Final = 10


class Standing(Struct, frozen=True):
    """Where the reviews of a pull request stand, at what its branch is at now."""

    approved: tuple[str, ...]
    """By whom, each once."""
    rejected: tuple[Remark, ...]
    void: tuple[Remark, ...]
    """Approvals of an earlier commit, by somebody who has not approved this one."""


def involved(record: PullRecord, owner: str, commits: Iterable[Commit]) -> tuple[str, ...]:
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


def standing(record: PullRecord, head: str, people: Iterable[str]) -> Standing:
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

"""Pull requests on the terminal. Everything in them was written by somebody: nothing is shown as it is, and since a
person decides about it, nothing hides."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from rightcall.base.text import escaped
from rightcall.cli.code_report import tinted
from rightcall.cli.persons import spelled, spelled_lines
from rightcall.cli.terminal import Style, Tint, many, table
from rightcall.errors import ToolFailure
from rightcall.tools.write.pulls import Commit, Counts, PullRecord, commits_between, counts
from rightcall.tools.write.review import Standing, case_of, span_of

if TYPE_CHECKING:
    from rightcall.policy.settings import WriteSettings
    from rightcall.tools.write.desk import Desk
    from rightcall.tools.write.pulls import CheckRun, Remark


_STATUS: dict[str, Tint] = {"open": "green", "merged": "cyan", "closed": "red"}
_KIND: dict[str, Tint] = {"approve": "green", "reject": "red", "check": "yellow", "merge": "cyan", "close": "red"}
_SAID = {
    "opened": "opened it",
    "comment": "says",
    "approve": "approves",
    "reject": "rejects",
    "check": "ran the checks",
    "merge": "on the merge",
    "close": "closed it",
}
_SHORT = 10
_TITLE = 60
_MOST_TAIL = 30


def summary(record: "PullRecord") -> dict[str, Any]:
    """As `list --json` prints it."""
    return {
        "id": record.id,
        "title": record.title,
        "author": record.author,
        "branch": record.branch,
        "base": record.base,
        "status": record.status,
        "made": record.made,
        "remarks": len(record.discussion),
    }


def whole(view: "View", needed: int) -> dict[str, Any]:
    """As `show --json` prints it."""
    now = view.now
    return to_builtins(view.record) | {
        "status": view.record.status,
        "head": view.head,
        "commits": to_builtins(view.commits),
        "totals": None if view.totals is None else to_builtins(view.totals),
        "approved_by": [] if now is None else list(now.approved),
        "rejected_by": [] if now is None else [one.by for one in now.rejected],
        "void": [] if now is None else [{"by": one.by, "commit": one.commit} for one in now.void],
        "needed": needed,
        "missing": view.missing,
    }


def listing(found: "Sequence[PullRecord]", style: Style) -> list[str]:
    rows = [
        [
            one.id,
            style.tint(one.status, _STATUS[one.status]),
            spelled(one.author, 30),
            f"{spelled(one.branch, 40)} → {spelled(one.base, 40)}",
            spelled(one.made[:16].replace("T", " "), 16),
            spelled(one.title, _TITLE),
        ]
        for one in found
    ]
    return table(["id", "status", "by", "branch", "opened (UTC)", "title"], rows, style, left=6)


def story(view: "View", settings: "WriteSettings", style: Style) -> list[str]:
    record = view.record
    branches = f"{spelled(record.branch)} → {spelled(record.base)}"
    by = f"by {spelled(record.author)}, {spelled(record.made)}"
    return [
        f"{style.tint(f'#{record.id}', 'yellow')}  {style.tint(spelled(record.title), 'bold')}",
        f"{style.tint(record.status, _STATUS[record.status])}  {branches}, {by}",
        *(f"  {line}" for line in spelled_lines(record.body, most=200) if record.body),
        *_commits(view, style),
        *_reviews(view, settings.reviews, style),
        *_checks(record.checks, style),
        *_discussion(record.discussion, style),
        *_next(record, view),
    ]


def diff_lines(text: str, style: Style) -> Iterator[str]:
    """A diff in which nothing hides, with colours where there are any."""
    for line in spelled_lines(text.removesuffix("\n")):
        yield tinted(line, style)


def _commits(view: "View", style: Style) -> Iterator[str]:
    if view.missing:
        yield style.tint(escaped(view.missing), "dim")  # a message of ours
    for one in view.commits:
        yield f"  {style.tint(one.hash[:_SHORT], 'yellow')}  {spelled(one.subject, 100)}  ({_names(one.names)})"
    if view.totals is not None:
        told = view.totals
        yield style.tint(f"  {many(told.files, 'file')}, +{told.insertions} -{told.deletions}", "dim")


def _reviews(view: "View", needed: int, style: Style) -> Iterator[str]:
    if view.now is None:
        return
    now = view.now
    yield f"approvals: {len(now.approved)} of {needed}" + (f" ({_names(now.approved)})" if now.approved else "")
    for one in now.rejected:
        yield style.tint(f"rejected by {spelled(one.by, 60)}", "red")
    for one in now.void:
        yield style.tint(f"void: {spelled(one.by, 60)} approved {one.commit[:_SHORT]}, an earlier commit", "yellow")


def _checks(runs: "Sequence[CheckRun]", style: Style) -> Iterator[str]:
    if not runs:
        return
    last = runs[-1]
    word = style.tint("passed", "green") if last.ok else style.tint("failed", "red")
    ended = f"exit {last.exit}" if last.exit is not None else "ended"
    limits = f", limit: {', '.join(last.limits)}" if last.limits else ""
    yield f"checks: {word} ({ended}{limits}, {last.seconds:g} s, {spelled(last.at)}; {many(len(runs), 'run')})"
    if not last.ok:
        tail = "\n".join(last.tail.split("\n")[-_MOST_TAIL:]).replace("\t", "    ")
        yield from (f"  | {line}" for line in spelled_lines(tail))


def _discussion(remarks: "Sequence[Remark]", style: Style) -> Iterator[str]:
    for one in remarks:
        who = spelled(one.by, 60) + (" (a person)" if one.person else "")
        at = f" at {one.commit[:_SHORT]}" if one.kind in ("approve", "reject") else ""
        said = style.tint(f"{_SAID[one.kind]}{at}", _KIND.get(one.kind, "dim"))
        yield f"{style.tint(spelled(one.at), 'dim')}  {who} {said}"
        yield from (f"    {line}" for line in spelled_lines(one.text, most=100) if one.text)


def _next(record: "PullRecord", view: "View") -> list[str]:
    if record.status != "open" or view.missing:
        return []
    return [f"rightcall pr diff {record.id} shows what it changes; rightcall pr merge {record.id} merges it"]


def _names(names: Iterable[str]) -> str:
    return ", ".join(spelled(name, 60) for name in names)


# ── one pull request ──
# A pull request as it is now: its record, and what git says of it, as far as its branches are still there.


class View(Struct, frozen=True):
    record: PullRecord
    head: str
    commits: tuple[Commit, ...] = ()
    totals: Counts | None = None
    now: Standing | None = None
    """Where its reviews stand, while it is open."""
    missing: str = ""
    """Why less is known of it."""


def view_of(desk: "Desk", record: PullRecord) -> View:
    try:
        span = span_of(desk, record)
        commits = commits_between(span.writer, span.old, span.head)
        totals = counts(span.writer, span.old, span.new)
        now = case_of(desk, record.id).now if record.status == "open" else None
    except ToolFailure as error:
        return View(record, record.head, missing=str(error))
    return View(record, span.head, commits, totals, now)

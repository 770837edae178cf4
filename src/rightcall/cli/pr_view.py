"""A pull request as it is now: its record, and what git says of it, as far as its branches are still there."""

from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.write.exporting import span_of
from rightcall.execute.write.pulls import PullRecord
from rightcall.execute.write.pulls_git import Commit, Counts, commits_between, counts
from rightcall.execute.write.reviewing import case_of
from rightcall.execute.write.reviewing_rules import Standing

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk


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

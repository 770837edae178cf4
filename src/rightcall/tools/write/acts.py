"""What a person does about the work of tools: says something about a pull request, closes or merges it, takes a change
back; from a terminal or from the console. The record comes first: where nothing can be recorded, nothing happens.

Stage and dry run are for callers of tools; a person's own act is recorded with their name.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.tools.write.apply import why_not
from rightcall.tools.write.commit import close_pull
from rightcall.tools.write.merge import Checker, Merge, MergeArguments, MergePlan, approved_plan, merge
from rightcall.tools.write.pulls import Decision, PullRecord
from rightcall.tools.write.review import ReviewArguments, Reviewed, has_approved, review

if TYPE_CHECKING:
    from rightcall.tools.write.changes import Change
    from rightcall.tools.write.desk import Desk


class Actor(Struct, frozen=True):
    """A person who acts."""

    name: str
    record: Callable[[str, dict[str, Any]], object]
    """Notes what is done, before it is."""


def say(desk: "Desk", who: Actor, record: PullRecord, decision: Decision, text: str, at: str | None = None) -> Reviewed:
    """A comment, an approval or a rejection; `at` is the commit that was shown."""
    who.record(f"pr {decision}", {"pull": record.id, "commit": at or "", "branch": record.branch})
    asked = ReviewArguments(id=record.id, decision=decision, comment=text, caller=who.name)
    return review(desk, asked, person=True, at=at)


def close(desk: "Desk", who: Actor, record: PullRecord, text: str) -> "Change":
    who.record("pr close", {"pull": record.id, "branch": record.branch})
    return close_pull(desk, record.id, who.name, text)


def merge_shown(desk: "Desk", who: Actor, plan: MergePlan, checker: Checker, *, approve: bool) -> Merge:
    """Merge what a plan shows and nothing else, approving it first where asked. Takes as long as the checks do; that it
    was not merged is recorded too."""
    record, head = plan.case.record, plan.case.head
    data = merge_data(plan)
    who.record("pr merge", data | {"approve": approve})
    if approve and not has_approved(plan.case.now, who.name):
        review(desk, ReviewArguments(id=record.id, decision="approve", caller=who.name), person=True, at=head)
        plan = approved_plan(desk, plan, who.name)
    asked = MergeArguments(id=record.id, caller=who.name, expected=plan.state())
    try:
        done = merge(desk, asked, checker, person=True)
    except ToolFailure:
        who.record("pr not merged", data)
        raise
    who.record("pr merged", data | {"change": done.change, "merge": done.commit})
    return done


def merge_data(plan: MergePlan) -> dict[str, Any]:
    """What the records of a merge say of it."""
    record = plan.case.record
    return {"pull": record.id, "commit": plan.case.head, "branch": record.branch, "base": record.base}


class Undone(Struct, frozen=True):
    change: "Change"
    notes: tuple[str, ...]
    """What was found half done, and was rolled back first."""


def undo_change(desk: "Desk", who: Actor, id: str, still: Callable[[], bool] = lambda: True) -> Undone:
    """Take a change back. `still` says, once nobody else can write, whether it is as it was shown. Raises ToolFailure
    where it is not, and where something newer depends on it."""
    with desk.working() as worker:
        filed = desk.filed(id)
        if why := why_not(desk, filed):
            raise ToolFailure(f"{id} cannot be undone: {why}")
        if not still():
            raise ToolFailure(f"What undoing {id} would change is not what was shown. Nothing was changed; look again")
        entry = filed.entry
        about = {"change": entry.id, "tool": entry.tool, "caller": entry.caller, "summary": entry.summary}
        who.record("undo", about)
        try:
            return Undone(worker.undo(entry.id, by=who.name), worker.notes)
        except ToolFailure as error:
            who.record("undo failed", about | {"error": str(error)})
            raise

"""Answering a question: what `approvals approve`, `deny` and `watch` have in common."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from rightcall.cli.persons import who
from rightcall.cli.questions import columns, found_approval, whole_view
from rightcall.cli.store_options import policy_of, redactor_of
from rightcall.cli.terminal import say
from rightcall.errors import AnswerError
from rightcall.record.asking import Reply, answer, answerable, approval_of
from rightcall.text.question import LEAST_WIDTH, is_cut_off
from rightcall.types_running import Approval

if TYPE_CHECKING:
    from rightcall.record.tables import Store, Tables

YES: Final = ("y", "yes")


def show_question(store: "Store", id: str) -> Approval:
    """Show a question that can still be answered, completely; whoever says yes says it to what this returns."""
    approval, before = store.look(lambda tables: found_approval(tables, id))
    answerable(approval, store.clock.now())
    if columns() < LEAST_WIDTH:
        raise AnswerError(f"the terminal has {columns()} columns: a question needs at least {LEAST_WIDTH} to be shown")
    seen = whole_view(store, approval, before, full=True)
    say(*seen.lines)
    if not seen.complete:
        raise AnswerError(f"approval {approval.id} cannot be shown as it is, so it cannot be approved; deny it")
    return approval


def _require_whole(approval: Approval) -> None:
    if is_cut_off(approval):
        raise AnswerError(
            f"approval {approval.id} cannot be approved from here: its preview leaves something out, and says what to "
            "do instead; deny it"
        )


def denied_all(store: "Store", options: Namespace, ids: Sequence[str]) -> list[str]:
    """Deny all of these that still wait, each in the record, in one transaction: all of it or nothing. What somebody
    has answered meanwhile, or has expired, stays as it is. Returns those that were denied."""
    settings = policy_of(options).settings
    by, callers, expires = who(options), tuple(settings.callers), settings.approval.expires
    reply = Reply("denied", by, reason=options.reason, hide=redactor_of(options, store).value)
    now = store.clock.now()

    def work(tables: "Tables") -> list[str]:
        found = (tables.approval(one) for one in ids)
        waits = [one.id for one in found if one is not None and one.status == "waiting" and one.expires_at > now]
        for one in waits:
            answer(tables, one, reply, now, expires, callers)
        return waits

    return store.transact(work)


def answered(
    store: "Store", options: Namespace, id: str, said: Literal["approved", "denied"], digest: str = "", reason: str = ""
) -> str:
    """Give the answer; returns what to tell. Raises AnswerError when it is not taken."""
    settings = policy_of(options).settings
    by, callers = who(options), tuple(settings.callers)
    now, expires = store.clock.now(), settings.approval.expires
    reply = Reply(said, by, digest, reason, redactor_of(options, store).value)
    if said == "approved":
        _require_whole(store.look(lambda tables: approval_of(tables, id)))
    done = store.transact(lambda tables: answer(tables, id, reply, now, expires, callers))
    if done.kind != "call":
        return f"{done.id}: the changed {done.kind} is {'accepted' if said == 'approved' else 'not accepted'}."
    if said == "approved":
        return f"{done.id} is approved: the call may run once, as it was shown, within {expires} seconds."
    return f"{done.id} is denied."

"""The same call again, at a door (P-07). What a host's tool touches is not known, so whether anything has changed is
seen from what the call gave: as long as that differs, asking again is no loop."""

from msgspec.structs import replace

from rightcall.authorise import decide
from rightcall.keys import same_scope
from rightcall.record.entries import read_end
from rightcall.record.tables import Tables
from rightcall.types_running import Decision, Request


def decided(request: Request, tables: Tables) -> Decision:
    """The decision on a request, where a repeated call is only refused if it gave the same each time."""
    decision = decide(request, tables)
    if decision.rule != "loop":
        return decision
    if not _gave_the_same(request, tables):
        return decide(replace(request, repeatable=True), tables)
    return replace(decision, reason=decision.reason.replace("nothing has changed since", "it gave the same each time"))


def _gave_the_same(request: Request, tables: Tables) -> bool:
    scope = same_scope(request, tables.changes())
    marks = [tables.nth_last(scope, number) for number in range(1, request.rights.repeats)]
    given = {_given(tables, mark.call) for mark in marks if mark is not None}
    return len(given) == 1 and None not in given


def _given(tables: Tables, call: int) -> tuple[str, str | None, str] | None:
    """What came of a call; None while it still runs."""
    for entry in tables.belonging(call):
        if entry.kind == "end":
            end = read_end(entry.body)
            return end.status, end.error, end.summary
    return None

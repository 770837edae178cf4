"""Admitting a call: the decision and its record are one transaction, so that two processes never decide on the same
count, and nothing runs of which no record stands (A-01).

    admit ─▶ decide(request, facts) ─┬─ allow, dry run: count it, use the approval, `begin`
                                     ├─ ask:            the question, `waiting`
                                     └─ deny:           notice how often, `refused`
    finish ─▶ `end`
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from rightcall.keys import count_since, refused_scope, same_scope, server_key
from rightcall.record.asking import ApprovalQuestion, ask, use
from rightcall.record.entries import CallBody, EndBody, NoteBody, encode, read_end
from rightcall.record.tables import Tables
from rightcall.types_running import HOUR, PAUSED, Decision, Facts, Request

Decide = Callable[[Request, Facts], Decision]

UNCOUNTED = ("limit:", "loop", "store:", "quarantine", "approval:", "paused", "fault")
"""Refusals that say nothing against the call itself: repeating it later can be right, so they do not add up."""

MOST_REFUSALS = 100
"""As far as refusals are counted."""


class Admission(Struct, frozen=True):
    """The decision that was recorded, and where."""

    decision: Decision
    call: int
    refusals: int = 0
    """How often this very call was refused within the hour, this time included."""
    earlier: str = ""
    """What came of the earlier identical call, where that is the reason."""
    hash: bytes = b""
    """Of the `begin`: its number may be another's, if the transaction failed after all."""


def admit(tables: Tables, request: Request, decide: Decide, body: CallBody, question: ApprovalQuestion) -> Admission:
    """Decide and record. `body` is the record, without its decision."""
    decision = decide(request, tables)
    if decision.kind == "deny":
        return refuse(tables, request.caller, request.digest, decision, body, request.at)
    if decision.kind == "ask":
        return _wait(tables, request, decision, body, question)
    decided = _decided(tables, body, decision, request.at, count_start(tables, request, tables.head()[0] + 1))
    seq = tables.append("begin", 0, encode(decided))
    _, own = tables.head()
    tables.begun(seq)
    use(tables, decision, seq)
    if request.side_effects and decision.kind == "allow":
        tables.changed(request.digest)
    if request.rights.repeats and not request.repeatable:
        tables.mark(same_scope(request, tables.changes()), seq, request.at)
    _pin_what_is_new(tables, request, seq, question.definition)
    return Admission(decision, seq, hash=own)


def refuse(tables: Tables, caller: str, digest: str, decision: Decision, body: CallBody, at: int) -> Admission:
    """Record a call that does not run, and notice how often it was refused before. While everything is paused, that is
    why."""
    if tables.paused() is not None:
        decision = PAUSED
    seq = tables.append("refused", 0, encode(_decided(tables, body, decision, at)))
    scope = refused_scope(caller, digest)
    if not decision.rule.startswith(UNCOUNTED):
        tables.mark(scope, seq, at)
    count = count_since(tables, scope, at - HOUR, MOST_REFUSALS)
    return Admission(decision, seq, count, "" if decision.earlier is None else _outcome(tables, decision.earlier))


def finish(tables: Tables, call: int, end: EndBody, changed: str | None = None) -> None:
    """Complete a record. `changed` is the digest of a call that had side effects."""
    tables.append("end", call, encode(end))
    tables.ended(call)
    if changed is not None:
        tables.changed(changed)


def finish_once(tables: Tables, admission: Admission, end: EndBody, changed: str | None = None) -> None:
    """Complete a record, if it stands and is not complete: whoever was cancelled while waiting cannot know."""
    begun = tables.entry(admission.call)
    if begun is None or begun.hash != admission.hash:
        return
    if not any(entry.kind == "end" for entry in tables.belonging(admission.call)):
        finish(tables, admission.call, end, changed)


def _wait(
    tables: Tables, request: Request, decision: Decision, body: CallBody, question: ApprovalQuestion
) -> Admission:
    approval, held = ask(tables, request, decision, question, body.context)
    body = replace(body, held=held)
    if isinstance(approval, Decision):
        return refuse(tables, request.caller, request.digest, approval, body, request.at)
    order = count_start(tables, request, 0)  # a question costs a person's time: it counts like a call
    decision = replace(decision, approval=approval)
    decided = _decided(tables, body, decision, request.at, order)
    return Admission(decision, tables.append("waiting", 0, encode(decided)))


def count_start(tables: Tables, request: Request, call: int) -> dict[str, int]:
    """Count a start towards every limit that it falls under; the how many-th it is of each kind."""
    return {scope.name.partition("\0")[0]: tables.mark(scope.name, call, request.at) for scope in request.scopes}


def _pin_what_is_new(tables: Tables, request: Request, call: int, described: str) -> None:
    """The first use of a tool, and of a server, says what they are."""
    origin = request.origin
    if origin is not None and tables.definition(key := server_key(origin.server)) is None:
        tables.pin(key, origin.digest)
        _note_first_seen(tables, call, {"server": origin.server}, origin.digest, origin.described)
    if request.definition and tables.definition(request.tool) is None:
        tables.pin(request.tool, request.definition)
        _note_first_seen(tables, call, {"tool": request.tool}, request.definition, described)


def _note_first_seen(tables: Tables, call: int, what: dict[str, str], digest: str, described: str) -> None:
    data = {**what, "definition": digest, "described": described}
    tables.append("definition", call, encode(NoteBody("first seen", data=data)))


def _decided(
    tables: Tables, body: CallBody, decision: Decision, now: int, order: dict[str, int] | None = None
) -> CallBody:
    return replace(
        body, now=now, order=order or {}, changes=tables.changes(),
        decision=decision.kind, rule=decision.rule, reason=decision.reason, approval=decision.approval,
        grant=decision.grant, earlier=decision.earlier, retry_after=decision.retry_after,
    )  # fmt: skip


def _outcome(tables: Tables, call: int) -> str:
    """In a few words, what came of an earlier call."""
    for entry in tables.belonging(call):
        if entry.kind == "end":
            end = read_end(entry.body)
            return f"{end.status}: {end.error or end.summary}"
    return "pending"

"""Admitting a call: the decision and its record are one transaction, so that two processes never decide on the same
count, and nothing runs of which no record stands (A-01).

    admit ─▶ decide(request, facts) ─┬─ allow, dry run: count it, use the approval, `begin`
                                     ├─ ask:            the question, `waiting`
                                     └─ deny:           notice how often, `refused`
    finish ─▶ `end`
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from functools import partial
from hashlib import sha256
from typing import Any, Final, Literal

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.errors import AnswerError
from rightcall.policy.types import (
    HOUR,
    PAUSED,
    REFUSED_SCOPES,
    SECOND,
    SERVER_CHANGED,
    Approval,
    Decision,
    Facts,
    Grant,
    Pause,
    Request,
    binding,
    count_since,
    definition_binding,
    refused_scope,
    same_scope,
    same_scope_parts,
    server_key,
)
from rightcall.record.tables import (
    AnswerBody,
    CallBody,
    EndBody,
    Needs,
    NoteBody,
    Planned,
    Tables,
    encode,
    held_bytes,
    read_call,
    read_end,
    read_note,
)

# ── asking ──
# Approvals and grants in the tables: asking, using and answering, each inside one transaction.
#
# An approval is bound to caller, canonical call, definition, state and context (`policy.types.binding`); it is
# answered by somebody else than the caller, who names the digest of what was shown; it is used once; and it expires.
# Only so many questions of one caller wait at a time.

LEAST_DIGEST = 8
"""Characters of the digest that an answer must name at least."""

Hide = Callable[[Any], Any]
"""From what a person wrote to what may stand in the record, such as `Redactor.value`."""

UNSAID = "[not recorded]"

FULL = "approval:full"
"""The rule that refuses a question where no more of its caller's may wait."""

LONGEST_NAME = 100
_MOST_DEFINITIONS = 10_000
"""Records of definitions that are looked through for an earlier one."""


def unsaid(_: Any) -> Any:
    """For whoever has no redactor: nobody knows whether it holds a secret, so it is not recorded."""
    return UNSAID


class ApprovalQuestion(Struct, frozen=True):
    """What a person is shown when one has to be asked."""

    details: str = "{}"
    """JSON beside the call: repairs, confidence, effects, preview."""
    definition: str = ""
    """The tool's definition as JSON, for the question whether its change is accepted."""


def ask(
    tables: Tables, request: Request, decision: Decision, question: ApprovalQuestion, context: str | None = None
) -> tuple[str | Decision, int, bool]:
    """The id of the question about this request, the one that already waits or a new one; a refusal where no more of
    this caller's may wait. And the bytes that it holds, and whether it is new. `context` is the request's as a record
    may hold it."""
    approval = _build_approval(tables, request, decision, question, context)
    held = held_bytes(approval)
    known = tables.answered(approval.binding)
    if known is not None and known.status == "waiting" and known.expires_at > request.at:
        return known.id, held, False
    sweep(tables, request.at)
    full = refuse_overflow(tables, request, held)
    if full is not None:
        return full, held, False
    if known is not None and known.status == "denied" and known.expires_at <= request.at:
        _expire(tables, known)
    tables.put_approval(approval)
    return approval.id, held, True


def _build_approval(
    tables: Tables, request: Request, decision: Decision, question: ApprovalQuestion, context: str | None
) -> Approval:
    """The question as it would be kept: about the call; or about the tool or its server, where that has changed."""
    about_call = Approval(
        id=_new_id(tables),
        kind="call",
        caller=request.caller,
        tool=request.tool,
        canonical=request.canonical.decode(),
        digest=request.digest,
        binding=binding(request),
        definition=request.definition,
        state=request.state,
        why=f"{decision.rule}: {decision.reason}",
        details=question.details,
        asked_at=request.at,
        asked=tables.wall(),
        expires_at=request.at + request.rights.approval.expires * SECOND,
        context=context,
    )
    if decision.rule == SERVER_CHANGED and request.origin is not None:
        origin = request.origin
        return replace(
            about_call, kind="server", tool=origin.server, canonical=origin.described,
            digest=sha256(origin.described.encode()).hexdigest(), definition=origin.digest, details="{}",
            binding=definition_binding(server_key(origin.server), origin.digest),
        )  # fmt: skip
    if decision.rule.startswith("definition:"):
        return replace(
            about_call, kind="definition", canonical=question.definition, digest=request.definition,
            binding=definition_binding(request.tool, request.definition),
        )  # fmt: skip
    return about_call


_LATER = "Do not send more calls that need approval now. Go on once a person has answered."


def refuse_overflow(tables: Tables, request: Request, size: int) -> Decision | None:
    """Why this question cannot wait beside the others of its caller; None where it can."""
    most = request.rights.approval.waiting_bytes
    if size > most:
        told = f"The call needs approval and is too large to wait for one ({size:,} bytes, at most {most:,})"
        return Decision("deny", FULL, told, "Make a smaller call.")
    questions, held = tables.waiting(request.caller, request.at)
    if questions >= request.rights.approval.waiting:
        calls = "1 call waits" if questions == 1 else f"{questions} calls wait"
        told = f"{calls} for approval already, and no more may wait. This one did not run"
        return Decision("deny", FULL, told, _LATER)
    if held + size > most:
        told = f"The calls that wait for approval hold {held:,} of at most {most:,} bytes. This one did not run"
        return Decision("deny", FULL, told, _LATER)
    return None


def _new_id(tables: Tables) -> str:
    new = os.urandom(4).hex()
    while tables.approval(new) is not None:  # an id that is taken would put this question in the place of another
        new = os.urandom(4).hex()
    return new


def use(tables: Tables, decision: Decision, call: int) -> None:
    """The approval or grant that a decision rests on is used up by this call, in the same transaction. Raises when it
    is not there to be used: then nothing runs."""
    if decision.approval is not None:
        approval = tables.approval(decision.approval)
        if approval is None or approval.status != "approved":
            raise AnswerError(
                f"approval {decision.approval} cannot be used: nobody has said yes, or it was used before"
            )
        tables.put_approval(replace(approval, status="used", used_by=call, canonical="", details="{}"))
    if decision.grant is not None:
        grant = _grant(tables, decision.grant)
        if grant.uses > 1:
            tables.put_grant(replace(grant, uses=grant.uses - 1))
        else:
            tables.drop_grant(grant.id)
            tables.append("grant", call, encode(NoteBody("used up", "", _grant_data(grant))))


ANSWERS: Final = ("approved", "denied")


class Reply(Struct, frozen=True):
    """What a person says to a question."""

    said: Literal["approved", "denied"]
    by: str
    digest: str = ""
    """What stood below the call they were shown; a no needs none."""
    reason: str = ""
    hide: Hide = unsaid
    """Says what the record keeps of the reason."""
    through: str = ""
    """Where the person was, if not at a terminal."""
    takes_back: bool = False
    """A no to a yes that was given before, and that nothing has used yet."""


def answer(tables: Tables, id: str, reply: Reply, expires: int, callers: Collection[str] = ()) -> Approval:
    """A person answers. `expires` is how many seconds the answer holds; `callers` are the names that the policy knows
    as callers, who cannot answer."""
    said, by, digest, now = reply.said, reply.by, reply.digest, tables.now()
    _require_known_word(said)
    approval = approval_of(tables, id)
    if not (reply.takes_back and said == "denied" and may_be_taken_back(approval, now)):
        require_answerable(approval, now)
    if said == "approved" or digest:
        _require_digest(approval, digest)
    if said == "approved":
        _require_shown(approval)
    require_person(by, approval.caller, callers)
    sweep(tables, now)
    answered = replace(approval, status=said, by=by, answered=tables.wall(), expires_at=now + expires * SECOND)
    if said == "approved" and approval.kind != "call":
        _accept(tables, approval, by)
        answered = replace(answered, status="used")
    if answered.status != "approved":
        answered = replace(answered, canonical="", details="{}")
    tables.put_approval(answered)
    why = reply.hide(reply.reason) if reply.reason else ""
    body = AnswerBody(
        id, said, by, approval.digest, approval.kind, approval.tool, approval.caller, why, now, answered.expires_at,
        reply.through,
    )  # fmt: skip
    tables.append("answer", 0, encode(body))
    return answered


def _require_known_word(said: object) -> None:
    """Any other word would use the question up without being a yes or a no."""
    if said in ANSWERS:
        return
    from difflib import get_close_matches  # late: only a mistake pays for it

    near = get_close_matches(said.strip().lower(), ANSWERS, n=1, cutoff=0.5) if isinstance(said, str) else []
    hint = f"did you mean {near[0]!r}?" if near else f"expected {ANSWERS[0]!r} or {ANSWERS[1]!r}."
    raise AnswerError(f"invalid answer {escaped(repr(said), 40)}: {hint} Nothing was recorded")


def approval_of(tables: Tables, id: str) -> Approval:
    approval = tables.approval(id)
    if approval is None:
        raise AnswerError(f"unknown approval {escaped(id, 40)!r}; `rightcall approvals list` shows those that wait")
    return approval


def require_answerable(approval: Approval, now: int) -> None:
    """Raises when a question cannot be answered any more."""
    if approval.status == "expired" or (approval.status == "waiting" and approval.expires_at <= now):
        raise AnswerError(f"approval {approval.id} has expired; the call must be made again")
    if approval.status != "waiting":
        raise AnswerError(f"approval {approval.id} is already {approval.status}; an answer is given once")


def may_be_taken_back(approval: Approval, now: int) -> bool:
    """Whether a yes was given that nothing has used: a no after it is as good as one before it."""
    return approval.status == "approved" and approval.kind == "call" and approval.expires_at > now


def _require_shown(approval: Approval) -> None:
    """Nobody says yes to what nobody can be shown."""
    if not approval.canonical:
        raise AnswerError(
            f"the call of approval {approval.id} is no longer kept beside the database, so it cannot be approved; "
            f"deny it with `rightcall approvals deny {approval.id}`, then the call can be made again"
        )


def _require_digest(approval: Approval, digest: str) -> None:
    if len(digest) < LEAST_DIGEST or not approval.digest.startswith(digest.lower()):
        raise AnswerError(
            f"{escaped(digest, 70)!r} is not the digest of approval {approval.id}, of which at least {LEAST_DIGEST} "
            f"characters are needed: it is printed below what `rightcall approvals show {approval.id} --full` shows"
        )


def _accept(tables: Tables, approval: Approval, by: str) -> None:
    word, key = _pinned(approval.kind, approval.tool)
    tables.pin(key, approval.definition)
    data = {word: approval.tool, "definition": approval.definition, "described": approval.canonical}
    tables.append("definition", 0, encode(NoteBody("accepted", by, data)))


def _pinned(kind: str, name: str) -> tuple[str, str]:
    """As what a record names the thing that a question is about, and under which key it is pinned."""
    return ("server", server_key(name)) if kind == "server" else ("tool", name)


def earlier_definition(tables: Tables, name: str, kind: str = "definition") -> str:
    """What a tool (or for `server`, a server) was when it was last seen or accepted, as JSON; empty when no record
    holds it."""
    word, key = _pinned(kind, name)
    known = tables.definition(key)
    for entry in tables.newest(_MOST_DEFINITIONS, ("definition",)):
        data = read_note(entry.body).data
        if isinstance(data, dict) and data.get(word) == name and data.get("definition") == known:  # pyright: ignore[reportUnknownMemberType] - what a record holds
            return str(data.get("described", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return ""


def require_person(by: str, caller: str, callers: Collection[str]) -> None:
    """Only a person decides about a caller: raises for that caller, for any other of the policy file, and for who looks
    like one."""
    who = _alike(by)
    if not who:
        raise AnswerError("say who you are: --by NAME")
    if not by.isprintable() or len(by) > LONGEST_NAME:
        raise AnswerError(
            f"{escaped(by, 40)!r} is not a valid name: expected at most {LONGEST_NAME} visible characters"
        )
    if who == _alike(caller):
        raise AnswerError(f"{by!r} is the caller itself, or looks the same; somebody else has to decide")
    if who in map(_alike, callers):
        raise AnswerError(f"{by!r} is a caller of the policy, or looks like one; a person has to decide: --by NAME")


def _alike(name: str) -> str:
    from rightcall.base.letters import skeleton  # late: calls that nobody answers need no tables of letters

    return skeleton(name)


_INTERRUPTED: Final = EndBody("interrupted", error="The process ended before the call did.")


def end_interrupted(tables: Tables, calls: Iterable[int], end: EndBody = _INTERRUPTED) -> None:
    """Calls whose process died get their end. They are never run again by themselves (A-01)."""
    for call in calls:
        tables.append("end", call, encode(end))
        tables.ended(call)
        changed = _changed_by(tables, call)
        if changed is not None:
            tables.changed(changed)


def _changed_by(tables: Tables, call: int) -> str | None:
    """The digest of a call that may have changed something; None for one that only read."""
    begin = tables.entry(call)
    try:
        body = None if begin is None else read_call(begin.body)
    except MsgspecError:  # not as we write it: it must not stand in everybody's way
        body = None
    if body is None:
        return f"call {call}"
    return body.digest if body.decision == "allow" and set(body.effects) - {"read"} else None


def sweep(tables: Tables, now: int) -> None:
    """What nobody answered or used in time is not kept: a call can hold secrets, and so can a grant's conditions."""
    for approval in tables.overdue(now):
        _expire(tables, approval)
    for grant in tables.all_grants():
        if grant.expires_at <= now:
            tables.drop_grant(grant.id)
            tables.append("grant", 0, encode(NoteBody("expired", "", _grant_data(grant))))


def _expire(tables: Tables, approval: Approval) -> None:
    tables.put_approval(replace(approval, status="expired", canonical="", details="{}"))
    kind = sys.intern(approval.kind)  # only then a default is known as one, and left out, whichever store it is from
    body = AnswerBody(approval.id, "expired", "", approval.digest, kind, approval.tool, approval.caller)
    tables.append("answer", 0, encode(body))


def give_grant(tables: Tables, grant: Grant, callers: Collection[str] = (), hide: Hide = unsaid) -> None:
    """Somebody says yes in advance; never for oneself. `hide` says what the record keeps of conditions and note."""
    require_person(grant.by, grant.caller, callers)
    for what, name in (("caller", grant.caller), ("tool", grant.tool)):
        if not name.strip() or not name.isprintable() or "*" in name:
            raise AnswerError(f"a grant is for one {what}, by its whole name; {escaped(name, 40)!r} is none")
    if grant.uses < 1:
        raise AnswerError(f"a grant is for at least one use, not {grant.uses}")
    if any(one.id == grant.id for one in tables.all_grants()):
        raise AnswerError(f"there is a grant {grant.id} already; try again")
    tables.put_grant(grant)
    where: Any = hide(dict(grant.where)) if grant.where else {}
    said = {"where": where, "note": hide(grant.note) if grant.note else ""}
    tables.append("grant", 0, encode(NoteBody("made", grant.by, _grant_data(grant) | said)))


def revoke_grant(tables: Tables, id: str, by: str) -> Grant:
    grant = _grant(tables, id)
    tables.drop_grant(id)
    tables.append("grant", 0, encode(NoteBody("revoked", by, _grant_data(grant))))
    return grant


def _grant(tables: Tables, id: str) -> Grant:
    grant = next((one for one in tables.all_grants() if one.id == id), None)
    if grant is None:
        raise AnswerError(f"unknown grant {escaped(id, 40)!r}; `rightcall grants list` shows them")
    return grant


def _grant_data(grant: Grant) -> dict[str, object]:
    return {
        "id": grant.id, "caller": grant.caller, "tool": grant.tool, "uses": grant.uses, "until": grant.expires_at,
    }  # fmt: skip


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
    asks: bool = False
    """Whether a person is needed who was not needed before: a question has begun to wait."""


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


def needs_of(request: Request) -> Needs:
    """What `admit` will ask and write, for stores that want to know it beforehand."""
    origin = request.origin
    definitions = (request.tool,) if origin is None else (request.tool, server_key(origin.server))
    return Needs(
        callers=(request.caller,),
        scopes=tuple((scope.name, calls) for scope in request.scopes for calls, _, _ in scope.windows),
        tails=(refused_scope(request.caller, request.digest),),
        same=(same_scope_parts(request),),
        definitions=definitions,
        bindings=(binding(request),),
        approvals=() if request.approval is None else (request.approval,),
        grants=((request.caller, request.tool),),
        budgets=(request.caller,) if request.rights.calls_per_day else (),
    )


def refusal_needs(caller: str, digest: str) -> Needs:
    """The same of `refuse`."""
    return Needs(callers=(caller,), tails=(refused_scope(caller, digest),))


def refuse(tables: Tables, caller: str, digest: str, decision: Decision, body: CallBody, at: int) -> Admission:
    """Record a call that does not run, and notice how often it was refused before. While everything is paused, that is
    why. `at` is the time of the transaction: records of several nodes are put in order by it."""
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


def finishing(admission: Admission, end: EndBody, changed: str | None = None) -> Planned[None]:
    """`finish_once`, as a work that says what it needs."""
    work = partial(finish_once, admission=admission, end=end, changed=changed)
    return Planned(work, lambda: Needs(ends=(admission.call,)))


def finish_once(tables: Tables, admission: Admission, end: EndBody, changed: str | None = None) -> None:
    """Complete a record, if it stands and is not complete: whoever was cancelled while waiting cannot know."""
    if tables.is_open(admission.call, admission.hash):
        finish(tables, admission.call, end, changed)


def _wait(
    tables: Tables, request: Request, decision: Decision, body: CallBody, question: ApprovalQuestion
) -> Admission:
    approval, held, is_new = ask(tables, request, decision, question, body.context)
    body = replace(body, held=held)
    if isinstance(approval, Decision):
        return refuse(tables, request.caller, request.digest, approval, body, request.at)
    order = count_start(tables, request, 0)  # a question costs a person's time: it counts like a call
    decision = replace(decision, approval=approval)
    decided = _decided(tables, body, decision, request.at, order)
    return Admission(decision, tables.append("waiting", 0, encode(decided)), asks=is_new)


def count_start(tables: Tables, request: Request, call: int) -> dict[str, int]:
    """Count a start towards every limit that it falls under; the how many-th it is of each kind."""
    if request.rights.calls_per_day:
        tables.spend(request.caller, calls=1)
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


# ── release ──
# Calls that were refused again and again (P-11): which there are, and letting one try again.


class RefusedCall(Struct, frozen=True):
    """A call that was refused within the last hour."""

    caller: str
    digest: str
    tool: str
    """Empty where the record is gone."""
    refusals: int
    rule: str = ""
    """Why it was refused last."""


def refused_calls(tables: Tables, least: int = 1) -> list[RefusedCall]:
    """The calls that were refused at least so often within the hour, by caller; those in quarantine for as many as the
    policy says."""
    found = [_held(tables, *scope) for scope in tables.scopes(REFUSED_SCOPES) if scope[1] >= least]
    return sorted(found, key=lambda held: (held.caller, -held.refusals, held.digest))


def _held(tables: Tables, scope: str, refusals: int) -> RefusedCall:
    caller, _, digest = scope.removeprefix(REFUSED_SCOPES).rpartition("\0")
    last = tables.nth_last(scope, 1)
    entry = tables.entry(last.call) if last is not None else None
    if entry is None:
        return RefusedCall(caller, digest, "", refusals)
    body = read_call(entry.body)
    return RefusedCall(caller, digest, body.tool, refusals, body.rule)


def release(tables: Tables, caller: str, digest: str, by: str, callers: Collection[str] = ()) -> RefusedCall:
    """Forget the refusals of one call; `digest` may be cut to its first characters."""
    if len(digest) < LEAST_DIGEST:
        raise AnswerError(f"{escaped(digest, 40)!r} is too short: at least {LEAST_DIGEST} characters of the digest")
    found = [held for held in refused_calls(tables) if held.caller == caller and held.digest.startswith(digest.lower())]
    if not found:
        raise AnswerError(
            f"no call {escaped(digest, 40)!r} of caller {escaped(caller, 40)!r} was refused within the last hour; "
            f"`rightcall policy quarantine list --all` shows those that were"
        )
    if len(found) > 1:
        raise AnswerError(f"{len(found)} calls begin with {escaped(digest, 40)!r}: name more of the digest")
    return _released(tables, found[0], by, callers)


def release_all(tables: Tables, by: str, callers: Collection[str] = ()) -> list[RefusedCall]:
    """Forget the refusals of every call."""
    return [_released(tables, held, by, callers) for held in refused_calls(tables)]


def _released(tables: Tables, held: RefusedCall, by: str, callers: Collection[str]) -> RefusedCall:
    require_person(by, held.caller, callers)
    tables.forget(refused_scope(held.caller, held.digest))
    data = {"caller": held.caller, "digest": held.digest, "tool": held.tool, "refusals": held.refusals}
    tables.append("release", 0, encode(NoteBody("released", by, data)))
    return held


# ── pause ──
# The emergency stop in the tables: one word that every admission reads in its own transaction. Once `pause` has
# returned, no process on this store admits another call. Calls that run already end by themselves.
#
# The stop that holds for all processes of a user is in `policy/trust.py`.

LONGEST_REASON = 500


def pause(tables: Tables, by: str, reason: str = "", callers: Collection[str] = ()) -> tuple[Pause, bool]:
    """Refuse every call from now on; who did so first stays the one who did. Whether this one did is the second value.
    `reason` is recorded as it is: whoever takes it from outside hides what is secret in it. Raises AnswerError for who
    is no person."""
    check_operator(by, reason, callers)
    known = tables.own_pause()
    if known is not None:
        return known, False
    made = Pause(by, tables.wall(), reason)
    tables.put_pause(made)
    tables.append("pause", 0, encode(NoteBody("paused", by, {"reason": reason} if reason else None)))
    return made, True


def resume(tables: Tables, by: str, reason: str = "", callers: Collection[str] = ()) -> Pause | None:
    """Let calls go on; returns the stop that ends, None when there was none."""
    check_operator(by, reason, callers)
    known = tables.own_pause()
    if known is not None:
        tables.put_pause(None)
        data = {"since": known.since, "paused_by": known.by} | ({"reason": reason} if reason else {})
        tables.append("pause", 0, encode(NoteBody("resumed", by, data)))
    return known


def check_operator(by: str, reason: str, callers: Collection[str]) -> None:
    """A caller can neither stop the others nor let itself go on."""
    require_person(by, "", callers)
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise AnswerError(f"a reason has at most {LONGEST_REASON} characters, all of them visible")

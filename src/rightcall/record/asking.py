"""Approvals and grants in the tables: asking, using and answering, each inside one transaction.

An approval is bound to caller, canonical call, definition and state (`keys.binding`); it is answered by somebody else
than the caller, who names the digest of what was shown; it is used once; and it expires.
"""

from collections.abc import Collection
from secrets import token_hex
from typing import Literal
from unicodedata import normalize

from msgspec.structs import replace

from rightcall.errors import AnswerError
from rightcall.keys import binding, definition_binding
from rightcall.record.entries import AnswerBody, NoteBody, encode
from rightcall.record.tables import Tables
from rightcall.text.escape import escaped
from rightcall.types_running import SECOND, Approval, Decision, Grant, Request

LEAST_DIGEST = 8
"""Characters of the digest that an answer must name at least."""


def ask(tables: Tables, request: Request, decision: Decision, details: str, definition: str) -> str:
    """The id of the question about this request: the one that already waits, or a new one."""
    about_definition = decision.rule.startswith("definition:")
    bound = definition_binding(request.tool, request.definition) if about_definition else binding(request)
    known = tables.answered(bound)
    if known is not None and known.status == "waiting" and known.expires_at > request.at:
        return known.id
    if known is not None and known.expires_at <= request.at:
        _expire(tables, known)
    approval = Approval(
        id=token_hex(4),
        kind="definition" if about_definition else "call",
        caller=request.caller,
        tool=request.tool,
        canonical=definition if about_definition else request.canonical.decode(),
        digest=request.definition if about_definition else request.digest,
        binding=bound,
        definition=request.definition,
        state=request.state,
        why=f"{decision.rule}: {decision.reason}",
        details=details,
        asked_at=request.at,
        asked=tables.wall(),
        expires_at=request.at + request.rights.approval.expires * SECOND,
    )
    tables.put_approval(approval)
    return approval.id


def use(tables: Tables, decision: Decision, call: int) -> None:
    """The approval or grant that a decision rests on is used up by this call, in the same transaction."""
    if decision.approval is not None and (approval := tables.approval(decision.approval)) is not None:
        tables.put_approval(replace(approval, status="used", used_by=call, canonical="", details="{}"))
    if decision.grant is not None:
        grant = next(one for one in tables.all_grants() if one.id == decision.grant)
        if grant.uses > 1:
            tables.put_grant(replace(grant, uses=grant.uses - 1))
        else:
            tables.drop_grant(grant.id)


def answer(
    tables: Tables, id: str, said: Literal["approved", "denied"], by: str, digest: str, now: int, expires: int,
    callers: Collection[str] = (),
) -> Approval:  # fmt: skip
    """A person answers. `digest` is what stood below the call they were shown; `expires` is how many seconds a yes
    holds; `callers` are the names that the policy knows as callers, who cannot answer."""
    approval = tables.approval(id)
    if approval is None:
        raise AnswerError(f"there is no approval {escaped(id, 40)!r}; `rightcall approvals list` shows those that wait")
    if approval.status != "waiting":
        raise AnswerError(f"approval {id} is already {approval.status}; an answer is given once")
    if approval.expires_at <= now:
        raise AnswerError(f"approval {id} has expired; the call must be made again")
    if len(digest) < LEAST_DIGEST or not approval.digest.startswith(digest.lower()):
        raise AnswerError(f"{escaped(digest, 70)!r} is not the digest of approval {id}: look at it again with `show`")
    _not_the_caller(approval, by, callers)
    answered = replace(
        approval, status=said, by=by, answered=tables.wall(), expires_at=now + expires * SECOND,
        canonical=approval.canonical if said == "approved" else "", details=approval.details if said == "approved" else "{}",
    )  # fmt: skip
    if said == "approved" and approval.kind == "definition":
        tables.pin(approval.tool, approval.definition)
        answered = replace(answered, status="used", canonical="", details="{}")
    tables.put_approval(answered)
    tables.append(
        "answer", 0, encode(AnswerBody(id, said, by, approval.digest, approval.kind, approval.tool, approval.caller))
    )
    return answered


def _not_the_caller(approval: Approval, by: str, callers: Collection[str]) -> None:
    who = _plain(by)
    if not who:
        raise AnswerError("say who answers: --by NAME")
    if who == _plain(approval.caller):
        raise AnswerError(f"{by!r} asked for this itself; somebody else has to answer")
    if who in {_plain(name) for name in callers}:
        raise AnswerError(f"{by!r} is a caller in the policy file; a person has to answer")


def _plain(name: str) -> str:
    """Names that look alike are one name."""
    return "".join(normalize("NFKC", name).casefold().split())


def _expire(tables: Tables, approval: Approval) -> None:
    tables.put_approval(replace(approval, status="expired", canonical="", details="{}"))
    body = AnswerBody(approval.id, "expired", "", approval.digest, approval.kind, approval.tool, approval.caller)
    tables.append("answer", 0, encode(body))


def give_grant(tables: Tables, grant: Grant, callers: Collection[str] = ()) -> None:
    """Somebody says yes in advance; never for oneself."""
    if _plain(grant.by) == _plain(grant.caller) or not _plain(grant.by):
        raise AnswerError(f"{grant.by!r} cannot grant itself anything; somebody else has to")
    if _plain(grant.by) in {_plain(name) for name in callers}:
        raise AnswerError(f"{grant.by!r} is a caller in the policy file; a person has to grant")
    tables.put_grant(grant)
    data = {"id": grant.id, "caller": grant.caller, "tool": grant.tool, "uses": grant.uses, "where": dict(grant.where)}
    tables.append("grant", 0, encode(NoteBody("made", grant.by, data)))


def revoke_grant(tables: Tables, id: str, by: str) -> Grant:
    grant = next((one for one in tables.all_grants() if one.id == id), None)
    if grant is None:
        raise AnswerError(f"there is no grant {escaped(id, 40)!r}; `rightcall grants list` shows them")
    tables.drop_grant(id)
    tables.append("grant", 0, encode(NoteBody("revoked", by, {"id": id, "caller": grant.caller, "tool": grant.tool})))
    return grant

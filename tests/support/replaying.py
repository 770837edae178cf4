"""Decides the calls of an audit again, from nothing but its records and the rights that they name by digest.

What a record does not hold (a redacted argument, a path too long to be kept) is not guessed: such a call is told as one
that cannot be decided again, and only what it counts for is taken over.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.executor.guesses import decided
from rightcall.executor.request import canonical
from rightcall.executor.rights import NOT_TOLD
from rightcall.policy.decide import denial, quarantine, scopes_of
from rightcall.policy.types import (
    SERVER_CHANGED,
    Approval,
    Decision,
    Finding,
    Grant,
    Origin,
    Pause,
    Request,
    Rights,
    binding,
    definition_binding,
    refused_scope,
    same_scope,
    server_key,
)
from rightcall.record.admission import UNCOUNTED, refuse_overflow
from rightcall.record.memory import MemoryTables
from rightcall.record.tables import AuditEntry, CallBody, ManualClock, read_answer, read_call, read_note

Told = Literal["same", "another", "unknown", "unread"]
"""`unknown`: its record does not hold everything; `unread`: the gate refused it, and no policy was asked."""


class Again(Struct, frozen=True):
    seq: int
    told: Told
    recorded: tuple[Any, ...] = ()
    again: tuple[Any, ...] = ()


class Replay:
    """`rights` by their digest. One whose rights nobody can name any more cannot be decided again."""

    def __init__(self, rights: Mapping[str, Rights]) -> None:
        self._rights = rights
        self._quarantine = {one.caller: one.quarantine for one in rights.values()}
        self._bodies: dict[int, CallBody] = {}
        self.tables = MemoryTables(ManualClock(), 10**6)

    def over(self, entries: Iterable[AuditEntry]) -> list[Again]:
        found: list[Again] = []
        for entry in entries:
            if entry.kind in ("begin", "refused", "waiting"):
                found.append(self._call(entry, read_call(entry.body)))
            else:
                self._other(entry)
            self.tables.append(entry.kind, entry.call, entry.body)
            self.tables.keep()
        return found

    def _call(self, entry: AuditEntry, body: CallBody) -> Again:
        self._bodies[entry.seq] = body
        request = self._request(body)
        if body.rule == "approval:host":  # a person said so in the host, and nothing was decided here
            return Again(entry.seq, "unread")
        assert self.tables.changes() == body.changes
        again = self._again(entry, body, request)
        self._count(entry, body, request)
        return again

    def _request(self, body: CallBody) -> Request | None:
        """What was asked of the policies; None where nothing was, or nobody knows under which rights."""
        rights, inputs = self._rights.get(body.rights), body.inputs
        if rights is None or inputs.unasked:
            return None
        definition = "" if inputs.unpinned else body.definition
        if definition == NOT_TOLD[:16] and self.tables.definition(body.tool) is None:
            definition = ""
        paths = tuple((path, path) if isinstance(path, str) else path for path in inputs.paths)
        arguments = body.params if isinstance(body.params, dict) else {}
        return Request(
            caller=body.caller, tool=body.tool, arguments=arguments, canonical=b"", digest=body.digest,
            definition=definition, effects=frozenset(body.effects), rights=rights, at=body.now,  # pyright: ignore[reportArgumentType]
            state=body.state, scopes=scopes_of(rights, body.tool), own=inputs.own, permit=inputs.permit,
            called=inputs.called, repeatable=inputs.repeatable, unsure=inputs.unsure, turn=inputs.turn,
            dry_run=inputs.dry_run,
            asks=frozenset(inputs.asks), truncated=body.truncated, repaired=inputs.repaired,  # pyright: ignore[reportArgumentType]
            confidence=body.confidence, paths=paths, outside=inputs.outside, linked=inputs.linked, inner=inputs.inner,
            approval=inputs.approval, commanded=inputs.commanded, command_paths=inputs.command_paths,
            findings=tuple(Finding(*one) for one in inputs.findings),  # pyright: ignore[reportArgumentType]
            context=body.context, origin=Origin(*inputs.server, "") if inputs.server[0] else None,
        )  # fmt: skip

    def _again(self, entry: AuditEntry, body: CallBody, request: Request | None) -> Again:
        if request is None:
            return self._unread(entry, body)
        if not whole(body):
            return Again(entry.seq, "unknown")
        decision = decided(request, self.tables, runs_here=not body.wire)
        if decision.kind == "ask":
            known = self.tables.answered(self._bound(decision.rule, request))
            if known is None or known.status != "waiting" or known.expires_at <= request.at:
                decision = refuse_overflow(self.tables, request, body.held) or decision
        made = _words(decision, body)
        recorded = _recorded(body)
        if body.rule == "observe":  # it ran all the same; the reason says what would have been
            would = "" if decision.kind == "allow" else f"{decision.kind} by {decision.rule}: {decision.reason}"
            made, recorded = (would,), (body.reason,)
        return Again(entry.seq, "same" if made == recorded else "another", recorded, made)

    def _unread(self, entry: AuditEntry, body: CallBody) -> Again:
        rights = self._rights.get(body.rights)
        if rights is None or not body.inputs.unasked or body.rule == "observe":
            return Again(entry.seq, "unknown")
        most = self._quarantine.get(body.caller, 0)
        held = quarantine(self.tables, body.caller, body.digest, most, body.now)
        stopped = self.tables.paused() is not None
        against: str | None = body.rule
        if against in ("policy:deny", "caller:deny"):  # by its name, with the server before it or without
            against = denial(rights, body.tool) or denial(rights, body.tool.rpartition("/")[2])
        expected = "paused" if stopped else "quarantine" if held else against
        return Again(entry.seq, "unread" if expected == body.rule else "another", (body.rule,), (expected,))

    def _count(self, entry: AuditEntry, body: CallBody, request: Request | None) -> None:
        """What a call changes in the tables, as `admit` and `refuse` do."""
        tables = self.tables
        if entry.kind == "refused":
            if not body.rule.startswith(UNCOUNTED):
                tables.mark(refused_scope(body.caller, body.digest), entry.seq, body.now)
            return
        if request is None:
            return
        call = 0 if entry.kind == "waiting" else entry.seq
        order = {scope.name.partition("\0")[0]: tables.mark(scope.name, call, body.now) for scope in request.scopes}
        assert order == body.order
        if entry.kind == "waiting":
            self._asked(body, request)
        elif body.rule != "observe":
            self._used(body, request, entry.seq)

    def _asked(self, body: CallBody, request: Request) -> None:
        assert body.approval is not None
        if self.tables.approval(body.approval) is not None:
            return
        bound, kind = self._bound(body.rule, request), _kind_of(body.rule)
        tool = request.origin.server if kind == "server" and request.origin is not None else body.tool
        self.tables.put_approval(Approval(
            body.approval, kind, body.caller, tool, "." * body.held, body.digest, bound,
            body.definition, body.state, "", "", body.now, "", body.now + request.rights.approval.expires * 10**9,
        ))  # fmt: skip

    def _bound(self, rule: str, request: Request) -> str:
        """What a question by this rule is bound to."""
        if _kind_of(rule) == "server" and request.origin is not None:
            return definition_binding(server_key(request.origin.server), request.origin.digest)
        if _kind_of(rule) == "definition":
            return definition_binding(request.tool, request.definition)
        return binding(request)

    def _used(self, body: CallBody, request: Request, seq: int) -> None:
        tables = self.tables
        if body.approval is not None:
            used = tables.approval(body.approval)
            assert used is not None
            tables.put_approval(replace(used, status="used", used_by=seq))
        if body.grant is not None:
            given = next(one for one in tables.all_grants() if one.id == body.grant)
            tables.put_grant(replace(given, uses=given.uses - 1))
        if request.side_effects and body.decision == "allow":
            tables.changed(body.digest)
        if request.rights.repeats and not request.repeatable:
            tables.mark(same_scope(request, tables.changes()), seq, body.now)

    def _other(self, entry: AuditEntry) -> None:
        tables = self.tables
        if entry.kind == "end":
            begun = self._bodies.get(entry.call)
            if begun is not None and begun.decision == "allow" and set(begun.effects) - {"read"}:
                tables.changed(begun.digest)
        elif entry.kind == "answer":
            said = read_answer(entry.body)
            known = tables.approval(said.id)
            if known is not None:
                over = said.kind != "call" and said.status == "approved"
                until = said.until or known.expires_at
                tables.put_approval(replace(known, status="used" if over else said.status, expires_at=until))
        else:
            self._noted(entry)

    def _noted(self, entry: AuditEntry) -> None:
        tables, note = self.tables, read_note(entry.body)
        data: dict[str, Any] = note.data or {}
        match entry.kind, note.what:
            case "grant", "made":
                where = data["where"]
                tables.put_grant(Grant(
                    data["id"], data["caller"], data["tool"], where, data["uses"], data["until"], note.by, ""
                ))  # fmt: skip
            case "grant", _:
                tables.drop_grant(data["id"])
            case "definition", _:
                if "server" in data:
                    tables.pin(server_key(data["server"]), data["definition"])
                else:
                    tables.pin(data["tool"], data["definition"][:16])
            case "release", _:
                tables.forget(refused_scope(data["caller"], data["digest"]))
            case "pause", what:
                tables.put_pause(Pause(note.by, entry.at) if what == "paused" else None)
            case _:
                pass


def _kind_of(rule: str) -> Literal["call", "definition", "server"]:
    if rule == SERVER_CHANGED:
        return "server"
    return "definition" if rule.startswith("definition:") else "call"


def whole(body: CallBody) -> bool:
    """Whether the record holds the call itself: then its digest is that of what it holds."""
    if body.inputs.partial or not isinstance(body.params, dict):
        return False
    return canonical(body.tool, body.params).digest == body.digest


def _words(decision: Decision, body: CallBody) -> tuple[Any, ...]:
    asked = body.approval if decision.kind == "ask" else decision.approval
    return (
        decision.kind, decision.rule, decision.reason, asked, decision.grant, decision.earlier, decision.retry_after
    )  # fmt: skip


def _recorded(body: CallBody) -> tuple[Any, ...]:
    return (body.decision, body.rule, body.reason, body.approval, body.grant, body.earlier, body.retry_after)

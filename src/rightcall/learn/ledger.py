"""What the shared tables would hold while history is decided again: limits, repeated and refused calls, approvals,
grants, definitions, pauses. The tables are those of the store in memory; time is that of the records.

    Ledger ─▶ Facts for `policy/decide.py`, and what a decision changes in them
"""

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.text import REDACTED
from rightcall.learn.history import DIGEST
from rightcall.policy.types import (
    MINUTE,
    SECOND,
    SERVER_CHANGED,
    Approval,
    Decision,
    Grant,
    Mark,
    Pause,
    Request,
    binding,
    definition_binding,
    refused_scope,
    same_scope,
    server_key,
)
from rightcall.record.admission import UNCOUNTED, UNSAID, count_start, refuse_overflow
from rightcall.record.memory import MemoryTables
from rightcall.record.tables import (
    AnswerBody,
    AuditEntry,
    CallBody,
    EndBody,
    NoteBody,
    encode,
    read_answer,
    read_note,
)

_MOST_OPEN: Final = 100_000
"""Calls that have begun and of which no end was recorded: of more, the oldest count as ended."""
_REHEARSED: Final = encode(EndBody("success", summary="Dry run: it was not made"))
_SLACK: Final = 5_000_000
"""Nanoseconds by which the two clocks of a record may differ: dates are written in thousandths of a second."""


class RecordClock:
    """Stands at the moment of the record that is decided."""

    def __init__(self) -> None:
        self._now, self._wall = 0, ""

    def now(self) -> int:
        return self._now

    def wall(self) -> str:
        return self._wall

    def move(self, now: int, wall: str) -> None:
        self._now, self._wall = now or self._now, wall

    def estimate(self, wall: str) -> int:
        """What the monotonic clock said at a date soon after the last record."""
        return self._now + max(0, nanoseconds(wall) - nanoseconds(self._wall)) if self._wall else self._now


def nanoseconds(wall: str) -> int:
    try:
        return round(datetime.fromisoformat(wall).replace(tzinfo=UTC).timestamp() * 1000) * 1_000_000
    except ValueError:
        return 0


class Begun(Struct, frozen=True):
    """A call that is under way in the replay."""

    digest: str
    changes: bool
    """It may have changed something, so that its end counts as a change too."""
    at: int


class Ledger(MemoryTables):
    """The tables of one replay. Nothing in it is ever undone, and it holds no records."""

    def __init__(self) -> None:
        self.clock = RecordClock()
        super().__init__(self.clock, 2)
        self._pause: Pause | None = None
        self._open: OrderedDict[int, Begun] = OrderedDict()
        self._ended: OrderedDict[int, tuple[int, AuditEntry]] = OrderedDict()
        self._questions: dict[str, dict[str, Approval]] = {}
        """By caller, those that wait."""
        self._live: dict[str, Approval] = {}
        """Questions and answers whose time can run out."""
        self._other_ids: dict[str, str] = {}
        """Questions that history asked anew while the replay still has the one before."""
        self._invented: OrderedDict[int, None] = OrderedDict()
        """Calls that run here and did not in history: what they would have given nobody knows."""
        self._expires: dict[str, int] = {}
        self._unclear: dict[tuple[str, str], dict[str, int]] = {}
        """Grants whose conditions no record holds, by caller and tool: until when."""

    # What the tables are asked

    def paused(self) -> Pause | None:
        """That of the record; the stop of this machine has nothing to do with it."""
        return self._pause

    def belonging(self, seq: int) -> list[AuditEntry]:
        found = self._ended.get(seq)
        return [] if found is None else [found[1]]

    def waiting(self, caller: str, now: int) -> tuple[int, int]:
        found = [one for one in self._questions.get(caller, {}).values() if one.expires_at > now]
        return len(found), sum(len(one.canonical) for one in found)

    def put_approval(self, approval: Approval) -> None:
        super().put_approval(approval)
        of_caller = self._questions.setdefault(approval.caller, {})
        if approval.status == "waiting":
            of_caller[approval.id] = approval
        else:
            of_caller.pop(approval.id, None)
        if approval.status in ("waiting", "approved"):
            self._live[approval.id] = approval
        else:
            self._live.pop(approval.id, None)

    def is_unclear(self, request: Request) -> bool:
        """Whether a grant may cover this call of which nobody knows what it was given for."""
        known = self._unclear.get((request.caller, request.tool), {})
        return any(until > request.at for until in known.values())

    def knows_approval(self, id: str) -> bool:
        return self.approval(self._other_ids.get(id, id)) is not None

    def named_approval(self, id: str) -> str:
        """What a question is called here that history calls so."""
        return self._other_ids.get(id, id)

    # What a decision changes

    def admit(self, request: Request, decision: Decision, seq: int) -> None:
        """A call runs, or is rehearsed: as `admission.admit` does it."""
        count_start(self, request, seq)
        if decision.approval is not None and (used := self.approval(decision.approval)) is not None:
            self.put_approval(replace(used, status="used", used_by=seq, canonical=""))
        if decision.grant is not None:
            self._use_grant(decision.grant)
        changes = request.side_effects and decision.kind == "allow"
        if changes:
            self.changed(request.digest)
        if request.rights.repeats and not request.repeatable:
            self.mark(same_scope(request, self.changes()), seq, request.at)
        self._pin_what_is_new(request)
        self._begin(seq, Begun(request.digest, changes, request.at))

    def _pin_what_is_new(self, request: Request) -> None:
        origin = request.origin
        if origin is not None and self.definition(key := server_key(origin.server)) is None:
            self.pin(key, origin.digest)
        if request.definition and self.definition(request.tool) is None:
            self.pin(request.tool, request.definition)

    def invent(self, seq: int) -> None:
        """This call did not run in history."""
        self._invented[seq] = None
        if len(self._invented) > _MOST_OPEN:
            self._invented.popitem(last=False)

    @property
    def has_invented(self) -> bool:
        return bool(self._invented)

    def repeats_invented(self, request: Request) -> bool:
        """Whether an identical call within the last minute ran here alone."""
        scope = same_scope(request, self.changes())
        marks = (self.nth_last(scope, number) for number in range(1, max(request.rights.repeats, 1)))
        return any(mark is not None and mark.call in self._invented and mark.at > request.at - MINUTE for mark in marks)

    def rehearse(self, seq: int, at: int, wall: str) -> None:
        """An integration ends a dry run at once, in the same words each time."""
        self._open.pop(seq, None)
        self._ended[seq] = at, AuditEntry(0, "end", seq, wall, _REHEARSED, b"")

    def observe(self, request: Request | None, digest: str, seq: int) -> None:
        """It runs whatever would have been decided: it counts, and is no repetition."""
        if request is not None:
            count_start(self, request, seq)
        self._begin(seq, Begun(digest, request is not None and request.side_effects, self.clock.now()))

    def refuse(self, caller: str, digest: str, rule: str, seq: int, at: int) -> None:
        if not rule.startswith(UNCOUNTED):
            self.mark(refused_scope(caller, digest), seq, at)

    def overflow(self, request: Request, decision: Decision, held: int) -> Decision | None:
        """The refusal of a question that has no room beside the others of its caller."""
        known = self.answered(bound_to(decision.rule, request))
        if known is not None and known.status == "waiting" and known.expires_at > request.at:
            return None
        return refuse_overflow(self, request, held)

    def ask(self, request: Request, decision: Decision, body: CallBody, expires: int | None = None) -> None:
        """A call waits for a person. A question that history never asked has no answer, so it is not kept. `expires`:
        how many seconds an answer holds, where that is not as history had it."""
        count_start(self, request, 0)
        if body.approval is None:
            return
        if expires is not None:
            self._expires[body.approval] = expires
        bound = bound_to(decision.rule, request)
        known = self.answered(bound)
        if known is not None and known.status == "waiting" and known.expires_at > request.at:
            if known.id != body.approval:
                self._other_ids[body.approval] = known.id
            return
        self._sweep_approvals(request.at)
        kind = _kind_of(decision.rule)
        tool = request.origin.server if kind == "server" and request.origin is not None else request.tool
        expires = request.at + request.rights.approval.expires * SECOND
        self.put_approval(Approval(
            body.approval, kind, request.caller, tool, "." * body.held, request.digest, bound, request.definition,
            request.state, "", "", request.at, "", expires,
        ))  # fmt: skip

    def _begin(self, seq: int, begun: Begun) -> None:
        self._open[seq] = begun
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    def _use_grant(self, id: str) -> None:
        given = next((one for one in self.all_grants() if one.id == id), None)
        if given is not None and given.uses > 1:
            self.put_grant(replace(given, uses=given.uses - 1))
        elif given is not None:
            self.drop_grant(id)

    def _sweep_approvals(self, now: int) -> None:
        for one in [one for one in self._live.values() if one.expires_at <= now]:
            self.put_approval(replace(one, status="expired", canonical=""))

    # What else is on record

    def take(self, entry: AuditEntry) -> None:
        """Any record that is no call. Raises DecodeError for one that cannot be read."""
        if entry.kind == "end":
            self._end(entry)
        elif entry.kind == "answer":
            self._answer(entry, read_answer(entry.body))
        elif entry.kind in ("grant", "definition", "release", "pause", "store"):
            note = read_note(entry.body)
            data: Any = note.data
            self._note(entry, note, cast("dict[str, Any]", data) if isinstance(data, dict) else {})

    def _end(self, entry: AuditEntry) -> None:
        begun = self._open.pop(entry.call, None)
        if begun is None:
            return
        self._ended[entry.call] = begun.at, entry
        if begun.changes:
            self.changed(begun.digest)
        while self._ended:
            first = next(iter(self._ended))
            if self._ended[first][0] > self.clock.now() - 2 * MINUTE and len(self._ended) < _MOST_OPEN:
                break
            del self._ended[first]

    def _answer(self, entry: AuditEntry, said: AnswerBody) -> None:
        known = self.approval(self.named_approval(said.id))
        if known is None:
            return
        if entry.call:  # a person said yes in the host, and it has run
            self.put_approval(replace(known, status="used", canonical=""))
        elif said.status == "expired":
            if known.expires_at <= self.clock.estimate(entry.at) + _SLACK:
                self.put_approval(replace(known, status="expired", canonical=""))
        elif said.status in ("approved", "denied") and known.status == "waiting":
            self._sweep_approvals(said.now)
            over = said.kind != "call" and said.status == "approved"
            expires = self._expires.pop(said.id, None)
            until = said.until if expires is None else said.now + expires * SECOND
            self.put_approval(replace(known, status="used" if over else said.status, expires_at=until))

    def _note(self, entry: AuditEntry, note: NoteBody, data: Mapping[str, Any]) -> None:
        match entry.kind, note.what:
            case "grant", "made":
                self._give(note, data)
            case "grant", "used up":
                pass  # here it is used up when it is
            case "grant", _:
                self.drop_grant(data.get("id", ""))
                for known in self._unclear.values():
                    known.pop(data.get("id", ""), None)
            case "definition", "accepted" if "server" in data:
                self.pin(server_key(data["server"]), data["definition"])
            case "definition", "accepted":
                self.pin(data["tool"], data["definition"][:DIGEST])
            case "release", _:
                self.forget(refused_scope(data["caller"], data["digest"]))
            case "pause", what:
                self._pause = Pause(note.by, entry.at) if what == "paused" else None
            case "store", "restarted":
                self._shift(data["by"], data["now"], data.get("until"))
            case _:
                pass

    def _give(self, note: NoteBody, data: Mapping[str, Any]) -> None:
        where: Any = data.get("where", {})
        if where == UNSAID or REDACTED.search(str(where)):
            self._unclear.setdefault((data["caller"], data["tool"]), {})[data["id"]] = data["until"]
            return
        self.put_grant(
            Grant(data["id"], data["caller"], data["tool"], where or {}, data["uses"], data["until"], note.by, "")
        )

    def _shift(self, by: int, now: int, until: int | None) -> None:
        """The machine was started anew: times before are of another clock."""
        for marks in self._marks.values():
            marks[:] = [Mark(min(mark.at + by, now), mark.call) for mark in marks]

        def end(expires: int) -> int:
            return expires + by if until is None else min(expires + by, until)

        for one in list(self._approvals.values()):
            self.put_approval(replace(one, asked_at=min(one.asked_at + by, now), expires_at=end(one.expires_at)))
        for one in self.all_grants():
            self.put_grant(replace(one, expires_at=end(one.expires_at)))
        self._ended.clear()


def bound_to(rule: str, request: Request) -> str:
    """What a question by this rule is bound to."""
    kind = _kind_of(rule)
    if kind == "server" and request.origin is not None:
        return definition_binding(server_key(request.origin.server), request.origin.digest)
    if kind == "definition":
        return definition_binding(request.tool, request.definition)
    return binding(request)


def _kind_of(rule: str) -> Any:
    if rule == SERVER_CHANGED:
        return "server"
    return "definition" if rule.startswith("definition:") else "call"

"""History decided again: every recorded call goes through the very policies that decide calls, under another policy,
with the time, the limits, the approvals and the grants that its record had. Nothing runs, and nothing is written.

    entries ─▶ Replay ─┬─ as recorded, or as it would be rebuilt ─▶ decided ─▶ the same, or a Change
                       └─ what no record holds ─▶ not replayable, with the reason; never guessed

Under the policy and version that decided it, a call is decided from its record alone. Under another policy, what the
policy itself changes about the call (repairs, effects, findings in commands and paths) is worked out under both: only
where the old policy gives what was recorded does the new one's word count.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final, cast

from msgspec import DecodeError, Struct
from msgspec.structs import replace

from rightcall import __version__
from rightcall.base.text import REDACTED
from rightcall.executor.guesses import LOOP, decided
from rightcall.executor.lookups import LOOKUPS
from rightcall.executor.rights import NOT_TOLD
from rightcall.learn.comparison import (
    CARRIED,
    arguments_in,
    carry,
    is_as_recorded,
    plain_field,
    shows_places,
    unasked_rule,
    under,
)
from rightcall.learn.differences import Again, Change, Kind, Missing, Same, Totals, Unknown, Word, kinds_of, word_before
from rightcall.learn.history import CALL_KINDS, DIGEST, Span
from rightcall.learn.ledger import Ledger
from rightcall.learn.rulings import Ruling, Rulings
from rightcall.learn.sites import Known, Rebuilt, Sites, text_of_arguments, written_in
from rightcall.policy.content import content_of
from rightcall.policy.decide import decide, quarantine, scopes_of
from rightcall.policy.settings import Policy
from rightcall.policy.types import HOUR, PAUSED, Decision, Finding, Origin, Request, Rights
from rightcall.record.tables import AuditEntry, CallBody, read_call, read_end
from rightcall.types import Mode

_FACTS: Final = ("store:", "fault", "unable", "state", "unavailable", "paused")
"""Refusals that no policy makes: what was so then stays so."""
_EARLY: Final = ("allowlist", "policy:deny", "caller:", "deny:", "server:")
"""Refusals of a tool as such, whatever its arguments are."""
_MOST_OPEN: Final = 20_000
_NEARLY: Final = 0.9
"""The share of its budget from which on a result may have been cut."""
_MOST_REBUILT: Final = 20_000


class _Made(Struct, frozen=True):
    """What is to be decided, under the new policy."""

    asked: Request | Decision
    digest: str
    rights: Rights
    observed: bool
    is_other: bool = False
    """It has other arguments, or another tool, than it had."""


class _Spent(Struct, frozen=True):
    change: Change
    runs: bool
    before: int
    after: int


class Replay:
    """`ruling` is the policy under which history is decided again; None: each call's own. Feed it records in order."""

    def __init__(
        self, ruling: Ruling | None, rulings: Rulings, sites: Sites, *, span: Span | None = None, given: bool = False,
        pruned: bool = False,
    ) -> None:  # fmt: skip
        self._ruling, self._rulings, self._sites = ruling, rulings, sites
        self._span, self._given, self._pruned = span or Span(), given, pruned
        self.ledger = Ledger()
        self._history: Ledger | None = None
        """What the tables held in truth, from the first call on that another policy decides: where a call is decided
        otherwise only because of `ledger`, the calls before it are the reason and not the policy."""
        self.totals = Totals()
        self._placed: dict[int, tuple[Ruling, Ruling]] = {}
        self._about: dict[tuple[int, int], frozenset[str] | None] = {}
        self._parts: dict[tuple[int, int], tuple[bool, bool]] = {}
        self._rebuilt: OrderedDict[tuple[Any, ...], Rebuilt | None] = OrderedDict()
        self._asked: OrderedDict[str, Word] = OrderedDict()
        self._costs: OrderedDict[int, _Spent] = OrderedDict()
        self._first = 0

    def over(self, entries: Iterable[AuditEntry]) -> Iterator[Again]:
        """What becomes of each call within the span. Records before it are followed, and not told."""
        for entry in entries:
            found = self.take(entry)
            if found is not None:
                yield found

    def take(self, entry: AuditEntry) -> Again | None:
        """The next record; None for one that is no call, or not within the span."""
        try:
            found = self._call(entry) if entry.kind in CALL_KINDS else self._other(entry)
        except (DecodeError, KeyError, TypeError, ValueError):
            found = (
                Unknown(entry.seq, "unreadable") if entry.kind in CALL_KINDS and self._span.has_time(entry.at) else None
            )
        for ledger in self._ledgers():
            ledger.keep()
        return found

    def _ledgers(self) -> tuple[Ledger, ...]:
        return (self.ledger,) if self._history is None else (self.ledger, self._history)

    # Records that are no calls

    def _other(self, entry: AuditEntry) -> Again | None:
        if entry.kind == "policy":
            self._rulings.take(entry)
            return None
        for ledger in self._ledgers():
            ledger.take(entry)
        return self._cost(entry) if entry.kind == "end" else None

    def _cost(self, entry: AuditEntry) -> Change | None:
        """What a result took of the model's tokens, and would take."""
        spent = self._costs.pop(entry.call, None)
        if spent is None:
            return None
        taken = read_end(entry.body).tokens
        would = 0 if not spent.runs else min(taken, spent.after)
        if spent.runs and taken >= spent.before * _NEARLY and spent.after > spent.before:
            would = spent.after  # it may have been cut: at most so much
        self.totals.tokens[0] += taken
        self.totals.tokens[1] += would
        if not spent.runs or would == taken:
            return None
        return replace(spent.change, kinds=("cost",), tokens=(taken, would))

    # Calls

    def _call(self, entry: AuditEntry) -> Again | None:
        body = read_call(entry.body)
        self._first = self._first or body.now
        self.ledger.clock.move(body.now, entry.at)
        if entry.kind != "proxied":  # of those, the definitions are lists of their clients
            self._sites.note(body)
        told = self._span.has(entry.at, body)
        found = self._proxied(entry, body) if entry.kind == "proxied" else self._followed(entry, body)
        if told and self._pruned and not isinstance(found, Same) and body.now - self._first < HOUR:
            found = Unknown(entry.seq, "pruned")
        return found if told else None

    def _followed(self, entry: AuditEntry, body: CallBody) -> Again:
        old = self._rulings.of(body)
        if self._history is None and (self._given or (old is not None and self._new(old, body) is not old)):
            self._history = deepcopy(self.ledger, {id(self.ledger.clock): self.ledger.clock})
        found = self._decided(entry, body)
        if self._history is not None and not (body.rule == "approval:host" or _missing(body) == "erased"):
            self._repeat(self._history, entry, body, None if old is None else old.rights(body))
        return found

    def _decided(self, entry: AuditEntry, body: CallBody) -> Again:
        old = self._rulings.of(body)
        missing = _missing(body)
        if missing is None and old is None and body.rights:
            missing = "policy"
        if missing is not None:
            self._adopt(entry, body, None if old is None else old.rights(body))
            return Unknown(entry.seq, missing)
        if body.rule == "approval:host":
            return self._in_the_host(entry, body)
        if not body.rights or _is_fact(body) or old is None:
            self._adopt(entry, body, None)
            return Same(entry.seq)
        made = self._make(body, old)
        if not isinstance(made, _Made):
            self._adopt(entry, body, self._new(old, body).rights(body))
            return Unknown(entry.seq, made)
        return self._settle(entry, body, made)

    def _settle(self, entry: AuditEntry, body: CallBody, made: _Made) -> Again:
        """Decide, and note what that changes for the calls after it."""
        decision = self._decision(body, made)
        if decision.kind == "deny" and isinstance(made.asked, Request) and _is_early(decision.rule):
            made = self._refused_early(body, made, decision)
            decision = self._decision(body, made)
        asked = made.asked
        if (
            isinstance(asked, Request)
            and decision.kind in ("ask", "allow")
            and self._depends_on_unclear(asked, decision)
        ):
            self._adopt(entry, body, made.rights)
            return Unknown(entry.seq, "grant")
        if isinstance(asked, Request) and self._depends_on_invented(body, asked):
            self._adopt(entry, body, made.rights)
            return Unknown(entry.seq, "outcome")
        observed = made.observed and decision is not PAUSED
        if observed:
            self.ledger.observe(asked if isinstance(asked, Request) else None, made.digest, entry.seq)
        else:
            self._note(entry, body, made, decision)
        return self._compare(entry, body, made, decision, observed=observed)

    def _depends_on_invented(self, body: CallBody, request: Request) -> bool:
        """Whether it is a loop only if a call gave the same that never ran."""
        runs_here = not body.wire or body.inputs.runs_here
        if not self.ledger.has_invented or (runs_here and request.state and not request.unsure):
            return False
        return self.ledger.repeats_invented(request) and decide(request, self.ledger).rule == LOOP

    def _refused_early(self, body: CallBody, made: _Made, decision: Decision) -> _Made:
        """What a caller may not use at all is refused before there is a request: it is known by what was written."""
        old = self._rulings.of(body)
        if old is None or body.rule == decision.rule:
            return made
        mode = _mode_given(old.policy, body) if body.wire else None
        would = self._rebuilt_by(self._new(old, body), body, mode, Known(self._given))
        if would is None or not isinstance(would.request, Decision):
            return made
        return _Made(would.request, would.digest, made.rights, made.observed)

    def _depends_on_unclear(self, request: Request, decision: Decision) -> bool:
        """Whether a grant may have counted of which too little is known: its conditions, or the call's arguments."""
        if decision.rule != "approval:grant" and decision.kind != "ask":
            return False
        if decision.rule.startswith(("definition:", "approval:confidence")) or decision.approval is not None:
            return False
        if self.ledger.is_unclear(request):
            return True
        wanted = {name for one in self.ledger.grants(request.caller, request.tool) for name in one.where}
        return any(REDACTED.search(str(request.arguments.get(name, ""))) for name in wanted)

    def _decision(self, body: CallBody, made: _Made, ledger: Ledger | None = None) -> Decision:
        ledger, asked = ledger or self.ledger, made.asked
        if ledger.paused() is not None or body.rule == PAUSED.rule:  # a stop of the machine is on no record but this
            return PAUSED
        if isinstance(asked, Decision):
            if made.observed or body.tool.removeprefix(f"{body.inputs.space}/") in LOOKUPS:
                return asked
            return quarantine(ledger, body.caller, made.digest, made.rights.quarantine, body.now) or asked
        runs_here = not body.wire or body.inputs.runs_here
        decision = decided(asked, cast("Any", ledger), runs_here=runs_here)
        if decision.kind == "ask" and not made.observed and body.held:
            decision = ledger.overflow(asked, decision, body.held) or decision
        return decision

    def _note(self, entry: AuditEntry, body: CallBody, made: _Made, decision: Decision) -> None:
        ledger, asked = self.ledger, made.asked
        if decision.kind == "deny" or isinstance(asked, Decision):
            ledger.refuse(body.caller, made.digest, decision.rule, entry.seq, body.now)
        elif decision.kind == "ask":
            self.totals.questions[1] += 1
            expires = made.rights.approval.expires
            ledger.ask(asked, decision, body, None if expires == self._old_rights(body).approval.expires else expires)
        else:
            ledger.admit(asked, decision, entry.seq)
            if decision.kind == "dry_run" and body.wire and not body.inputs.runs_here:
                if body.decision != "dry_run":
                    ledger.rehearse(entry.seq, body.now, entry.at)
            elif entry.kind != "begin":
                ledger.invent(entry.seq)

    def _adopt(self, entry: AuditEntry, body: CallBody, rights: Rights | None) -> None:
        """What cannot be decided again counts as it was decided."""
        if body.decision == "ask":
            self.totals.questions[0] += 1
            self.totals.questions[1] += 1
        self._repeat(self.ledger, entry, body, rights)

    def _repeat(self, ledger: Ledger, entry: AuditEntry, body: CallBody, rights: Rights | None) -> None:
        """Note what was decided in truth."""
        if entry.kind == "refused":
            ledger.refuse(body.caller, body.digest, body.rule, entry.seq, body.now)
        elif rights is not None and not body.inputs.unasked:
            request, kind = self._recorded(body, rights), cast("Any", body.decision)
            said = Decision(kind, body.rule, approval=body.approval, grant=body.grant)
            if entry.kind == "waiting":
                ledger.ask(request, said, body)
            elif body.rule == "observe":
                ledger.observe(request, body.digest, entry.seq)
            else:
                ledger.admit(request, said, entry.seq)

    def _in_the_host(self, entry: AuditEntry, body: CallBody) -> Again:
        """A person said yes in the host to what waited: it ran, unless the question would never have been asked."""
        asked = self._asked.get(body.approval or "")
        before = Word("allow", body.rule, tool=body.tool, params=body.params)
        if asked is None or asked.decision != "deny":
            return Same(entry.seq)
        return Change(entry.seq, entry.at, body.caller, before, asked, ("tightened", "refused"))

    # What is to be decided

    def _new(self, old: Ruling, body: CallBody) -> Ruling:
        """The new policy where the old one was; the old one itself where they are the same."""
        new = self._ruling
        if new is None or (new.policy.digest == body.policy and self._is_same(new, old)):
            return old
        placed = self._placed.get(id(old))
        if placed is None:
            placed = self._placed[id(old)] = old, new.at_the_place_of(old)
        return placed[1]

    def _is_same(self, new: Ruling, old: Ruling) -> bool:
        """Whether it is one policy, with the same packs, under one version."""
        return new.version == old.version and {**new.packs, **old.beside} == dict(old.packs)

    def _make(self, body: CallBody, old: Ruling) -> _Made | Missing:
        new = self._new(old, body)
        rights = new.rights(body)
        mode = _mode_given(old.policy, body) if body.wire else None
        if new is old and not self._given and old.version == __version__:
            return self._as_recorded(body, rights, observed=body.rule == "observe")
        observed = bool(body.wire) and _observes(new, body, mode)
        gate, places = self._differences(old, new)
        is_unasked = body.inputs.unasked
        by_rights = is_unasked and rights.digest != body.rights
        gate = gate and (is_unasked or self._may_concern(body, old, new))
        if not (gate or places or by_rights):
            return self._as_recorded(body, rights, observed=observed, new=new)
        return self._rebuild(body, old, new, mode, observed)

    def _as_recorded(
        self, body: CallBody, rights: Rights, *, observed: bool, new: Ruling | None = None
    ) -> _Made | Missing:
        if body.inputs.unasked:
            rule = unasked_rule(body)
            return _Made(Decision("deny", rule, body.reason), body.digest, rights, observed)
        request = self._recorded(body, rights)
        if new is not None:
            request = under(request, body, rights, self._old_rights(body), new)
        return _Made(request, body.digest, rights, observed)

    def _old_rights(self, body: CallBody) -> Rights:
        old = self._rulings.of(body)
        assert old is not None
        return old.rights(body)

    def _differences(self, old: Ruling, new: Ruling) -> tuple[bool, bool]:
        """Whether what the gate does may differ, and what is found in commands, addresses and paths."""
        key = id(old), id(new)
        if key not in self._parts:
            was, now = content_of(old.policy), content_of(new.policy)
            gate = any(was.get(name) != now.get(name) for name in was.keys() | now.keys() if name != "settings")
            gate = gate or dict(old.packs) != dict(new.packs) or self._given or old.version != new.version
            one, other = old.policy.settings, new.policy.settings
            places = (one.paths, one.commands, one.urls) != (other.paths, other.commands, other.urls)
            self._parts[key] = gate, places
        return self._parts[key]

    def _may_concern(self, body: CallBody, old: Ruling, new: Ruling) -> bool:
        """Whether what differs at the gate may be about this call: not where the policies say other things of other
        tools alone."""
        key = id(old), id(new)
        if key not in self._about:
            self._about[key] = None if self._given or old.version != new.version else _tools_that_differ(old, new)
        names = self._about[key]
        if names is None or body.inputs.inner:
            return True
        said = written_in(body)
        called = (body.tool, body.tool.rpartition("/")[2], said.name, *body.inputs.called)
        return said.text is not None or any(name.casefold() in names for name in called)

    def _rebuild(self, body: CallBody, old: Ruling, new: Ruling, mode: Mode | None, observed: bool) -> _Made | Missing:
        rights = new.rights(body)
        if not body.inputs.unasked and body.digest.startswith("keyed:"):
            return self._rebuild_redacted(body, old, new, mode, observed)
        same = self._rebuilt_the_same(body, new, mode, rights, observed)
        if same is not None:
            return same
        found = self._rebuild_both(body, old, new, mode)
        if found is None:
            return "rebuilt"
        was, would = found
        if old.version != new.version and would.definition[:DIGEST] == body.definition:
            return self._by_another_version(body, would, rights, observed)
        if was.digest != body.digest:
            return "redacted" if body.digest.startswith("keyed:") else "rebuilt"
        if body.inputs.unasked:
            return self._from_unasked(body, was, would, rights, observed)
        if isinstance(was.request, Decision):
            return "rebuilt"
        request = self._recorded(body, rights)
        if isinstance(would.request, Decision):
            return _Made(would.request, would.digest, rights, observed)
        carried = carry(request, was.request, would.request)
        if carried is None:
            return "rebuilt"
        other = carried.arguments != request.arguments or would.request.tool != request.tool
        if other:
            carried = replace(
                carried, tool=would.request.tool, digest=would.digest, canonical=would.request.canonical,
                definition=self._definition_of(request, would.request),
                scopes=scopes_of(rights, would.request.tool),
            )  # fmt: skip
        carried = under(carried, body, rights, self._old_rights(body), new, effects_of=would.request)
        return _Made(carried, carried.digest, rights, observed, is_other=other)

    def _rebuilt_the_same(
        self, body: CallBody, new: Ruling, mode: Mode | None, rights: Rights, observed: bool
    ) -> _Made | None:
        """Where the new policy makes of it what was recorded, the record stands; most calls are such."""
        would = self._rebuilt_by(new, body, mode, Known(self._given))
        if would is None or not is_as_recorded(would, body):
            return None
        if isinstance(would.request, Decision):
            return _Made(would.request, body.digest, rights, observed) if would.request.rule == body.rule else None
        request = self._recorded(body, rights)
        if any(
            plain_field(name, getattr(would.request, name)) != plain_field(name, getattr(request, name))
            for name in CARRIED
        ):
            return None
        request = under(request, body, rights, self._old_rights(body), new, effects_of=would.request)
        return _Made(request, body.digest, rights, observed)

    def _by_another_version(self, body: CallBody, would: Rebuilt, rights: Rights, observed: bool) -> _Made:
        """What this version makes of a call counts, whatever the one before made of it."""
        if isinstance(would.request, Decision):
            return _Made(would.request, would.digest, rights, observed)
        request = replace(
            would.request, rights=rights, at=body.now, definition=would.request.definition[:DIGEST], state=body.state,
            scopes=scopes_of(rights, would.request.tool), context=body.context,
        )  # fmt: skip
        return _Made(request, request.digest, rights, observed, is_other=request.digest != body.digest)

    def _rebuild_both(
        self, body: CallBody, old: Ruling, new: Ruling, mode: Mode | None
    ) -> tuple[Rebuilt, Rebuilt] | None:
        """Under the old policy and under the new one. Where the tools that were called there do not give what was
        recorded, those count too that were only listed."""
        for wide in (False, True):
            was = self._rebuilt_by(old, body, mode, Known(wide=wide))
            would = self._rebuilt_by(new, body, mode, Known(self._given, wide))
            if was is not None and would is not None and (wide or is_as_recorded(was, body)):
                return was, would
        return None

    def _definition_of(self, request: Request, would: Request) -> str:
        """Tools that were named count as having been there all along: none of them has changed."""
        if self._given:
            return ""
        return request.definition if would.tool == request.tool else would.definition[:DIGEST]

    def _from_unasked(
        self, body: CallBody, was: Rebuilt, would: Rebuilt, rights: Rights, observed: bool
    ) -> _Made | Missing:
        rule = unasked_rule(body)
        if not isinstance(was.request, Decision) or (rule and was.request.rule != rule):
            return "rebuilt"
        if isinstance(would.request, Decision):
            return _Made(would.request, body.digest, rights, observed)
        request = replace(
            would.request, rights=rights, at=body.now, scopes=scopes_of(rights, would.request.tool),
            definition="" if self._given else would.request.definition[:DIGEST], context=body.context,
        )  # fmt: skip
        return _Made(request, request.digest, rights, observed, is_other=True)

    def _rebuild_redacted(
        self, body: CallBody, old: Ruling, new: Ruling, mode: Mode | None, observed: bool
    ) -> _Made | Missing:
        """Where only rules for paths differ, and the record shows all paths, what was redacted says nothing to them."""
        rights = new.rights(body)
        if self._differences(old, new)[0]:
            return "redacted"
        for wide in (False, True):
            was, would = (self._rebuilt_by(one, body, mode, Known(wide=wide)) for one in (old, new))
            if was is None or would is None:
                continue
            if isinstance(was.request, Decision) or isinstance(would.request, Decision):
                continue
            if was.request.tool != body.tool or not (shows_places(body, was.tool) and shows_places(body, would.tool)):
                continue
            carried = carry(self._recorded(body, rights), was.request, would.request)
            if carried is not None:
                carried = under(carried, body, rights, self._old_rights(body), new, effects_of=would.request)
                return _Made(carried, body.digest, rights, observed)
        return "redacted"

    def _rebuilt_by(self, ruling: Ruling, body: CallBody, mode: Mode | None, known: Known) -> Rebuilt | None:
        """The same call again and again is rebuilt once."""
        inputs = body.inputs
        key = (
            id(ruling), known, self._sites.known_at(body),
            body.wire, inputs.space, inputs.folder, body.caller, body.tool, body.digest, mode,
            body.definition, body.context, inputs.approval, inputs.rehearse, inputs.asks, repr(body.emission),
            text_of_arguments(body),
        )  # fmt: skip
        if key in self._rebuilt:
            self._rebuilt.move_to_end(key)
            return self._rebuilt[key]
        found = self._rebuilt[key] = self._sites.rebuild(ruling, body, mode, known)
        if len(self._rebuilt) > _MOST_REBUILT:
            self._rebuilt.popitem(last=False)
        return found

    def _recorded(self, body: CallBody, rights: Rights) -> Request:
        """The request that the record tells of, under these rights."""
        inputs = body.inputs
        definition = "" if inputs.unpinned else body.definition
        if definition == NOT_TOLD[:DIGEST] and self.ledger.definition(body.tool) is None:
            definition = ""
        approval = inputs.approval
        if approval is not None:
            approval = self._named(approval)
        return Request(
            caller=body.caller, tool=body.tool, arguments=arguments_in(body), canonical=b"", digest=body.digest,
            definition=definition, effects=frozenset(cast("Any", body.effects)), rights=rights, at=body.now,
            state=body.state, scopes=scopes_of(rights, body.tool), own=inputs.own, permit=inputs.permit,
            called=inputs.called, repeatable=inputs.repeatable, unsure=inputs.unsure, turn=inputs.turn,
            dry_run=inputs.dry_run, asks=frozenset(cast("Any", inputs.asks)), truncated=body.truncated,
            rehearse=frozenset(cast("Any", inputs.rehearse)), repaired=inputs.repaired, confidence=body.confidence,
            paths=tuple([(path, path) if isinstance(path, str) else path for path in inputs.paths]),
            outside=inputs.outside, linked=inputs.linked, inner=inputs.inner, approval=approval,
            commanded=inputs.commanded, command_paths=inputs.command_paths,
            findings=tuple([Finding(*cast("Any", one)) for one in inputs.findings]), context=body.context,
            origin=Origin(*inputs.server, "") if inputs.server[0] else None,
        )  # fmt: skip

    def _named(self, approval: str) -> str | None:
        """An approval that the caller named; None where the new policy would not have asked for it."""
        if self.ledger.knows_approval(approval):
            return self.ledger.named_approval(approval)
        asked = self._asked.get(approval)
        return approval if asked is None or asked.decision == "ask" else None

    # What differs

    def _compare(self, entry: AuditEntry, body: CallBody, made: _Made, decision: Decision, *, observed: bool) -> Again:
        before = word_before(body, both_observed=observed)
        asked = made.asked
        tool = asked.tool if isinstance(asked, Request) else body.tool
        params = asked.arguments if isinstance(asked, Request) and made.is_other else body.params
        is_watched = observed and body.rule != "observe"
        after = Word(
            "allow" if is_watched else decision.kind, "observe" if is_watched else decision.rule, observed, tool, params
        )
        if body.decision == "ask":
            self.totals.questions[0] += 1
        if body.approval is not None and entry.kind == "waiting":
            self._remember(body.approval, after)
        kinds = kinds_of(body, before, after, is_judged=isinstance(asked, Request), is_other=made.is_other)
        is_indirect = bool(kinds) and self._is_indirect(body, made, before)
        change = Change(entry.seq, entry.at, body.caller, before, after, kinds, body.emission, is_indirect=is_indirect)
        if entry.kind == "begin" and not body.wire:
            self._expect_cost(entry.seq, body, made, change)
        return change if kinds else Same(entry.seq)

    def _is_indirect(self, body: CallBody, made: _Made, before: Word) -> bool:
        """Whether the new policy decides this call as it was decided, if the calls before it stay as they were."""
        if self._history is None or made.is_other or made.observed or before.observed:
            return False
        asked = made.asked
        if isinstance(asked, Request):
            made = replace(made, asked=replace(asked, approval=body.inputs.approval))
        decision = self._decision(body, made, self._history)
        return (decision.kind, decision.rule) == (before.decision, before.rule)

    def _remember(self, approval: str, word: Word) -> None:
        self._asked[approval] = word
        if len(self._asked) > _MOST_OPEN:
            self._asked.popitem(last=False)

    def _expect_cost(self, seq: int, body: CallBody, made: _Made, change: Change) -> None:
        before, after = self._old_rights(body), made.rights
        runs = change.after.decision in ("allow", "dry_run")
        caps = [(one.budgets_of_tools.get(body.tool) or one.budgets).tokens for one in (before, after)]
        self._costs[seq] = _Spent(change, runs, caps[0], caps[1])
        if len(self._costs) > _MOST_OPEN:
            self._costs.popitem(last=False)

    def _proxied(self, entry: AuditEntry, body: CallBody) -> Again:
        """A call that went from a model to a client: what the gate made of it is all there is to say."""
        old = self._rulings.of(body)
        if old is None:
            return (
                Same(entry.seq)
                if self._ruling is None or self._ruling.policy.digest == body.policy
                else Unknown(entry.seq, "policy")
            )
        new = self._new(old, body)
        gate, _ = self._differences(old, new)
        if not gate:
            return Same(entry.seq)
        if body.digest.startswith("keyed:"):
            return Unknown(entry.seq, "redacted")
        was, would = self._sites.pass_on(old, body), self._sites.pass_on(new, body)
        if was is None or would is None:
            return Unknown(entry.seq, "tools")
        if was != (body.rule, body.params):
            return Unknown(entry.seq, "tools" if self._given else "rebuilt")
        if would == was:
            return Same(entry.seq)
        before, after = Word("passed", *_passed(body, was)), Word("passed", *_passed(body, would))
        kind: Kind = "repaired" if body.rule == "proxy:left" else "arguments" if would[1] != was[1] else "rule"
        return Change(entry.seq, entry.at, body.caller, before, after, (kind,), body.emission)


def _tools_that_differ(old: Ruling, new: Ruling) -> frozenset[str] | None:
    """The tools of which two policies say different things, by all their names; None where more than that differs."""
    was, now = content_of(old.policy), content_of(new.policy)
    others = (was.keys() | now.keys()) - {"settings", "tools"}
    if dict(old.packs) != dict(new.packs) or any(was.get(name) != now.get(name) for name in others):
        return None
    one, other = old.policy.tools, new.policy.tools
    changed = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
    rules = [tools[name].rules for name in changed for tools in (one, other) if name in tools]
    names = (*changed, *(name.rpartition("/")[2] for name in changed), *(name for rule in rules for name in rule.names))
    return frozenset(name.casefold() for name in names)


def _passed(body: CallBody, made: tuple[str, Any]) -> tuple[str, bool, str, Any]:
    return made[0], False, body.tool, made[1]


def _missing(body: CallBody) -> Missing | None:
    if body.erased:
        return "erased"
    if not body.now:
        return "older"
    return "partial" if body.inputs.partial else None


def _is_early(rule: str) -> bool:
    return rule.startswith(_EARLY)


def _is_fact(body: CallBody) -> bool:
    return body.inputs.unasked and body.rule.startswith(_FACTS) and body.rule != "paused"


def _mode_given(policy: Policy, body: CallBody) -> Mode | None:
    """The mode that an integration was opened with, as far as that is seen from what it did."""
    named = policy.hosts.get(body.wire)
    if named is not None and named.mode is not None:
        return None
    is_watched = body.rule == "observe"
    if is_watched and policy.mode != "observe":
        return "observe"
    return "block" if not is_watched and policy.mode == "observe" else None


def _observes(ruling: Ruling, body: CallBody, mode: Mode | None) -> bool:
    space = body.inputs.space
    bare = body.tool.removeprefix(f"{space}/") if space else body.tool
    return ruling.host_policy(body.wire, mode).mode_for(bare, body.wire) == "observe"

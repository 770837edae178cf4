"""The order in which every call goes: `Pipeline.run` is the whole of it. And what a call comes to: its outcome.

    check ─▶ authorise, record ─▶ execute ─▶ record ─▶ present

Authorising and the first record are one transaction (`record/admission.py`): no record, no execution.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import isawaitable
from os import urandom
from time import perf_counter
from typing import Any, Literal, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import is_another_name, is_guarded
from rightcall.base.json.marks import is_object
from rightcall.base.secrets import LONGEST_SUMMARY, Redactor
from rightcall.base.text import cut_end, escaped, estimate
from rightcall.errors import AnswerError, StoreError
from rightcall.executor.calls import (
    OnStage,
    Stopwatch,
    Who,
    Written,
    as_written,
    call_body,
    end_body,
    equipped,
    fault_body,
    faulty,
    hide_tools,
    hush_reasons,
    objection,
    question,
    reason_told,
    record_later,
    stubborn_hint,
    tell_people,
    unrecorded,
)
from rightcall.executor.guesses import LOOP, LoopNews, answer_digest, decided
from rightcall.executor.messages import Content, Outcome, content, error_content, mark_as_data
from rightcall.executor.request import (
    UNREADABLE,
    Ground,
    Occasion,
    Tighter,
    attempt_request,
    build_request,
    canonical,
)
from rightcall.executor.toolbox import Equipped, Toolbox
from rightcall.policy.decide import may_use, quarantine
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import Budgets
from rightcall.policy.types import PAUSED, UNKNOWN, Approval, Decision, DecisionKind, Metadata, Request, Result, Rights
from rightcall.record.admission import (
    Admission,
    ApprovalQuestion,
    Decide,
    admit,
    finishing,
    needs_of,
    refusal_needs,
    refuse,
)
from rightcall.record.notes import note_seen
from rightcall.record.premises import Held
from rightcall.record.tables import CallBody, EndBody, Planned, Store, Tables
from rightcall.tools.diff import preview, rehearsal
from rightcall.tools.functions import LocalTool
from rightcall.tools.run import run
from rightcall.tools.state import Cache, is_keepable, place_arguments, state_of, tells_changes, tracing
from rightcall.types import Call, Verdict

log = logging.getLogger("rightcall")

T = TypeVar("T")

GIVEN_UP = EndBody("failed", error="The caller cancelled it.")
CHANGED = Result(False, error="What the call touches has changed since it was approved. It was not run.")
_LONGEST_STATE = 1000
_SHORTEST = 0.001
"""Seconds of a call whose time is over: it is begun, since that is recorded, and stopped."""
_LOOKS = 3
_MOST_SEEN = 10_000
_TWICE = 2
_USUAL_SECONDS = Budgets().seconds
"""That a tool may take where nobody has said otherwise: one with a time limit of its own has that instead."""
UNSTEADY = Decision(
    "deny", "state", "The files of this call are changing, so no approval could be requested",
    "Resend the identical call in a moment.",
)  # fmt: skip


class Pipeline(Struct, frozen=True, eq=False):
    """One call's way through one toolbox. Made anew for each call, so that an old and a new policy never mix."""

    toolbox: Toolbox
    store: Store
    cache: Cache
    redactor: Redactor
    root: str
    on_stage: OnStage | None = None
    tighter: Tighter = Tighter()
    until: float | None = None
    """By `perf_counter`: when the time is over that its maker gives it."""
    loops: LoopNews | None = None
    held: tuple[Held, ...] = ()
    """The root as it was when the executor was opened."""
    seen: dict[tuple[str, str], int] | None = None
    """How often tools were called and did not run, by name and definition."""

    async def run(self, written: Written, who: Who, approval: str | None = None) -> Outcome:
        """The whole way of one call."""
        watch = Stopwatch(self.on_stage)
        watch.stage("check")
        rights = self.toolbox.rights_of(who.caller)
        tool = equipped(written, self.toolbox)
        request, rehearsal = await self._looked_at(written, tool, rights, approval, who)
        watch.stage("authorise")
        admission = await self._admit(written, who, request, tool, rehearsal)
        tell_people(admission, request)
        if tool is not None and admission.call and admission.decision.kind != "allow" and tool.behind is None:
            self._tell_seen(tool)
        if isinstance(request, Decision) or tool is None or admission.decision.kind in ("deny", "ask"):
            outcome = refused(written, admission, tool, rights, watch.taken)
            if self.loops is not None and admission.decision.rule == LOOP and tool is not None:
                self.loops.tell(tool.tool.name if isinstance(request, Decision) else request.tool)
            if not isinstance(request, Decision) and admission.decision.rule == "approval:mismatch":
                outcome = await self._shown_anew(request, tool, outcome)
            watch.stage("")
            return outcome
        watch.stage("execute")
        result = await self._execute(request, tool, admission)
        watch.stage("record")
        shown = self._shaped(request, result)
        answer = self._answer(request, result)
        end = end_body(result, shown.summary, request.arguments, self.redactor, tokens=shown.tokens, answer=answer)
        tier = _tier(tool, admission, result)
        end = end if tier is None else replace(end, sandbox=tier)
        recorded = await self._complete(request, admission, end)
        watch.stage("present")
        call = Call(request.tool, request.arguments, *_identity(written))
        metadata = Metadata(result.seconds * 1e3, shown.tokens, result.cached, admission.call, recorded, watch.taken)
        told = hide_tools(written.verdict, tool, self.toolbox, rights)
        outcome = ran(call, told, admission.decision, result, shown, metadata)
        watch.stage("")
        return outcome

    async def _looked_at(
        self, written: Written, found: Equipped | None, rights: Rights, approval: str | None, who: Who
    ) -> tuple[Request | Decision, str]:
        """The request that the policies judge, and what a person is shown of it, both of one and the same state: what
        changes in between is looked at again, and what changes all the time is refused."""
        try:
            for _ in range(_LOOKS):
                request = self.request_for(written, found, rights, approval, who)
                if isinstance(request, Decision) or found is None:
                    return request, ""
                if found.touches:
                    request = await self._with_state(request, found)
                if found.local is None or found.local.preview is None:
                    return request, ""
                shown = await self._rehearsal(request, found)
                told = bool(request.state) and not request.state.startswith(UNKNOWN)  # else no yes to it will ever fit
                if shown and told and await self._state(request, found) != request.state:
                    continue
                if isinstance(shown, Result):
                    return Decision("deny", "unable", shown.error or "It cannot say what it would do"), ""
                return request, shown
            return UNSTEADY, ""
        except StoreError as error:
            return unrecorded(error).decision, ""
        except Exception as error:
            log.exception("rightcall: checking a call failed")
            return faulty(error), ""

    async def _with_state(self, request: Request, found: Equipped) -> Request:
        own = found.local is not None and found.local.state is not None
        # whether an approval fits cannot be told before the state is known
        if own and await self._likely(replace(request, approval=None)) == "deny":
            return request
        known = found.local is None or tells_changes(found.local, request.arguments, self.root)
        state = await self._state(request, found)
        return replace(request, state=state, unsure=not known or state.startswith(UNKNOWN))

    def request_for(
        self, written: Written, found: Equipped | None, rights: Rights, approval: str | None, who: Who
    ) -> Request | Decision:
        """The request that the policies judge, or why there can be none."""
        against = objection(written, found, self.toolbox, rights)
        call = written.verdict.call
        if against is not None or found is None or call is None:
            return against or UNREADABLE
        ground, occasion = (
            Ground(self.toolbox, self.root, held=self.held),
            Occasion(self.store.clock.now(), approval, who.context, self.tighter, who.turn),
        )
        request = attempt_request(
            lambda: build_request(
                found, canonical(found.tool.name, call.arguments), rights, written.verdict, ground, occasion
            )
        )
        if isinstance(request, Decision):
            return request
        for written_path, resolved, _ in request.command_paths:
            whole = os.path.join(request.root, resolved)
            if is_guarded(whole, self.toolbox.guarded) or is_another_name(whole, self.toolbox.guarded):
                return Decision("deny", "path:deny", f"No such file or folder: {escaped(written_path, 200)}")
        return request

    async def _admit(
        self, written: Written, who: Who, request: Request | Decision, found: Equipped | None, rehearsal: str
    ) -> Admission:
        """The decision, recorded. When the store cannot record it, it is no (A-04)."""
        done: list[Admission] = []
        try:
            if isinstance(request, Decision) or found is None:
                work = self._refusal(written, who, request if isinstance(request, Decision) else UNREADABLE, found)
                needs = partial(refusal_needs, who.caller, written.digest)
            else:
                body = self._recorded(call_body(written, who, request, self.redactor), request)
                asked = question(request, written.verdict, found.described, rehearsal)
                work = partial(self._decided, request=request, body=body, asked=asked)
                needs = partial(needs_of, request)
            return await self.store.atransact(Planned(lambda tables: _note_done(done, work(tables)), needs))
        except StoreError as error:
            return unrecorded(error)
        except Exception as error:  # whatever it is, nothing runs
            log.exception("rightcall: deciding on a call failed")
            return await self._admit_fault(written, who, faulty(error))
        except asyncio.CancelledError:
            if not isinstance(request, Decision):  # what was admitted all the same is over
                record_later(self.store, lambda tables: [self._ending(request, one, GIVEN_UP)(tables) for one in done])
            raise

    async def _admit_fault(self, written: Written, who: Who, decision: Decision) -> Admission:
        """The transaction in which a policy raised was undone, with its record: the refusal gets one of its own."""
        body = self._recorded(fault_body(written, who, self.redactor))
        try:
            return await self.store.atransact(
                lambda tables: refuse(tables, who.caller, body.digest, decision, body, tables.now())
            )
        except StoreError as error:
            return unrecorded(error)
        except Exception:
            log.exception("rightcall: a refusal could not be recorded")
            return Admission(decision, 0)

    def _tell_seen(self, tool: Equipped) -> None:
        """A tool that was called again and did not run is noted, once; ours are known."""
        if self.seen is None or tool.local is None or tool.local.about is not None or len(self.seen) >= _MOST_SEEN:
            return
        key = tool.tool.name, tool.definition
        times = self.seen[key] = self.seen.get(key, 0) + 1
        if times == _TWICE:
            record_later(self.store, partial(note_seen, tool=key[0], digest=key[1], described=tool.described))

    def _recorded(self, body: CallBody, request: Request | None = None) -> CallBody:
        """The record, with the tool called as policy and audit call it: here that is its own name."""
        del request
        return body

    def _decided(self, tables: Tables, request: Request, body: CallBody, asked: ApprovalQuestion) -> Admission:
        """The time that counts is that of the transaction: a call may have waited for it."""
        now = self.store.clock.now()
        return admit(tables, replace(request, at=now), hush_reasons(self._judged(tables), self.redactor), body, asked)

    def _judged(self, tables: Tables) -> Decide:
        return lambda request, _: decided(request, tables, runs_here=True)

    def _answer(self, request: Request, result: Result) -> str:
        """What is compared when the call is made again; not of a tool whose state says whether it would give another
        answer."""
        if request.repeatable or (request.state and not request.unsure) or not request.rights.repeats:
            return ""
        return answer_digest(result.value if result.ok else result.error, self.redactor)

    async def _likely(self, request: Request) -> DecisionKind:
        """What will be decided, as far as one can tell: nothing of a tool runs for a call that is refused, neither its
        preview nor the function that tells its state."""
        return (await asyncio.to_thread(self.store.look, partial(decided, request, runs_here=True))).kind

    async def _state(self, request: Request, found: Equipped) -> str:
        """What the call touches, now. A tool's own word on it has the same time limit as the tool."""
        local, root = found.local, self.root
        if local is None or local.state is None:
            return state_of(local, request.arguments, root) if local is not None else ""
        given = dict(request.arguments)
        if local.caller is not None and local.expected is not None:
            given[local.caller] = request.caller

        def tell(arguments: dict[str, Any]) -> str:
            return state_of(local, arguments, root)

        told = await run(
            replace(local, function=tell, convert=None, timeout=None), {"arguments": given},
            seconds=self._seconds(request), output=_LONGEST_STATE,
        )  # fmt: skip
        return str(told.value) if told.ok else f"{UNKNOWN} {urandom(16).hex()}"

    def _refusal(
        self, written: Written, who: Who, decision: Decision, found: Equipped | None
    ) -> Callable[[Tables], Admission]:
        rights = self.toolbox.rights_of(who.caller)
        body = self._recorded(call_body(written, who, None, self.redactor))
        definition = "" if found is None else found.definition[:16]
        inputs = replace(body.inputs, unasked=True)
        body = replace(body, rights=rights.digest, inputs=inputs, definition=definition)
        decision = replace(decision, reason=reason_told(decision.reason, written.arguments, self.redactor))
        digest, most = written.digest, rights.quarantine

        def work(tables: Tables) -> Admission:
            now = tables.now()
            held = quarantine(tables, who.caller, digest, most, now)
            return refuse(tables, who.caller, digest, held or decision, body, now)

        return work

    async def _rehearsal(self, request: Request, found: Equipped) -> str | Result:
        """What a person is shown of a call that may have to ask, where the tool can show it; or why it cannot, of one
        that writes only onto what was shown."""
        local = found.local
        if local is None or local.preview is None or request.dry_run or not request.side_effects:
            return ""
        if await self._likely(request) != "ask":
            return ""
        given = self._given(request, local)
        shown = await rehearsal(local, given, request.canonical, seconds=self._seconds(request))
        return str(shown.value) if shown.ok else shown

    async def _execute(self, request: Request, found: Equipped, admission: Admission) -> Result:
        """Run it, or rehearse it; what can be taken from the cache was authorised and recorded all the same."""
        assert found.local is not None
        began = perf_counter()
        try:
            if admission.decision.approval is not None and await self._state(request, found) != request.state:
                return await self._changed(request, found.local)  # a last look, as late as possible
            if admission.decision.kind == "dry_run":
                given = self._given(request, found.local, bound=False)
                return await preview(found.local, given, request.canonical, seconds=self._seconds(request))
            key = self._cache_key(request, found.local)
            if key is not None and (known := await self._known(key, found.local)) is not None:
                log.debug("Cache hit: %s", request.tool)
                return known
            given = self._given(request, found.local)
            seconds, output = self._seconds(request, found.local), self._budget(request).output
            running = run(found.local, given, seconds=seconds, output=output, why_not=self._why_not)
            if found.local.traced and key is not None:
                with tracing(self.root) as trace:
                    result = await running
            else:
                trace, result = None, await running
            if key is None or not result.ok:
                return result
            if trace is not None and trace.kept is not None:
                self.cache.put(key, result, trace=trace.kept)
            elif trace is None and await self._state(request, found) == request.state:
                self.cache.put(key, result)
            return result
        except asyncio.CancelledError:
            end = replace(GIVEN_UP, execution_time=round((perf_counter() - began) * 1e3, 3))
            record_later(self.store, self._ending(request, admission, end))
            raise

    async def _known(self, key: str, local: LocalTool) -> Result | None:
        """A result that is kept and still counts."""
        if not local.traced or key not in self.cache:
            return self.cache.get(key)
        return await asyncio.to_thread(self.cache.get, key, self.root)  # it looks at many files

    def _why_not(self) -> str | None:
        """Why a call that was admitted, and then waited for a thread, must not start: everything was paused meanwhile.
        A store that cannot be read now could be, when the call was admitted."""
        try:
            return f"{PAUSED.reason}. It was not run." if self.store.look(lambda tables: tables.paused()) else None
        except StoreError:
            return None

    async def _changed(self, request: Request, local: LocalTool) -> Result:
        """Why an approved call is not run, and what it would do now."""
        now = await self._would_do(request, local)
        return replace(CHANGED, error=f"{CHANGED.error}\n{now}") if now else CHANGED

    async def _shown_anew(self, request: Request, found: Equipped | None, outcome: Outcome) -> Outcome:
        """A refusal of a call whose approval is for something else, with what it would do now: a person has to be asked
        about that."""
        now = "" if found is None or found.local is None else await self._would_do(request, found.local)
        if not now:
            return outcome
        told = f"{outcome.content}\n{mark_as_data(request.tool, now)}"
        return replace(outcome, content=told, error=f"{outcome.error}\n{now}")

    async def _would_do(self, request: Request, local: LocalTool) -> str:
        """What the tool itself says it would do; nothing where it says nothing."""
        if local.preview is None:
            return ""
        given = self._given(request, local, bound=False)
        now = await preview(local, given, request.canonical, seconds=self._seconds(request))
        return str(now.value) if now.ok else ""

    def _given(self, request: Request, local: LocalTool, *, bound: bool = True) -> dict[str, Any]:
        """What the function gets: the call as it was judged, its paths counted from the root; where it is `bound`, also
        the state for which it was."""
        given = dict(request.arguments) if local.rooted else place_arguments(request.arguments, local.paths, self.root)
        if local.caller is not None:
            given[local.caller] = request.caller
        if local.context is not None:
            given[local.context] = request.context
        if local.expected is not None and bound:
            given[local.expected] = request.state
        return given

    async def _complete(self, request: Request, admission: Admission, end: EndBody) -> bool:
        """Complete the record. It has run: if the store fails now, it is written as soon as the store works again."""
        work = self._ending(request, admission, end)
        try:
            await self.store.atransact(work)
        except asyncio.CancelledError:
            record_later(self.store, work)
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is: the call has run, and its caller must be told so
            why = error.reason if isinstance(error, StoreError) else error
            log.warning("call %d ran, but its outcome is not recorded yet: %s", admission.call, why)
            record_later(self.store, work)
            return False
        return True

    def _ending(self, request: Request, admission: Admission, end: EndBody) -> Callable[[Tables], None]:
        """Completes the record, once: whoever does not know whether it was done may do it again."""
        changed = request.digest if request.side_effects and admission.decision.kind == "allow" else None
        return finishing(admission, end, changed)

    def _shaped(self, request: Request, result: Result) -> Content:
        """What the model will read of a result."""
        if result.ok:
            return content(request.tool, result.value, self._budget(request).tokens, cut=result.cut)
        text = error_content(result.error or "It gave no reason.", tool=None if result.plain else request.tool)
        return Content(text, estimate(text), "")

    def _budget(self, request: Request) -> Budgets:
        return request.rights.budgets_of_tools.get(request.tool) or request.rights.budgets

    def _seconds(self, request: Request, local: LocalTool | None = None) -> float:
        own = self._budget(request).seconds
        if local is not None and local.lasting and local.timeout is not None and own == _USUAL_SECONDS:
            own = local.timeout
        return own if self.until is None else min(own, max(round(self.until - perf_counter(), 3), _SHORTEST))

    def _cache_key(self, request: Request, local: LocalTool) -> str | None:
        """None where nothing may be cached: only a tool that says what it read can be known to have read the same."""
        if request.side_effects or not self.cache.keeps:
            return None
        if local.traced:
            return f"{request.rights.digest} {request.definition} {request.digest}"
        if not is_keepable(local, request.arguments, self.root):
            return None
        return f"{request.rights.digest} {request.definition} {request.digest} {request.state}"


def _tier(found: Equipped, admission: Admission, result: Result) -> str | None:
    """The isolation that was used, as a tool of ours has told; a function of somebody else's can say what it likes."""
    if found.local is None or found.local.about is None or admission.decision.kind == "dry_run":
        return None
    value = result.value if is_object(result.value) else {}
    told = value.get("tier") or value.get("sandbox")
    return told if isinstance(told, str) else None


def _note_done(done: list[T], value: T) -> T:
    """Notes that a work was done, for whoever is cancelled while waiting for it."""
    done.append(value)
    return value


def _identity(written: Written) -> tuple[str | None, Literal["native", "text"]]:
    call = written.verdict.call
    return (None, "native") if call is None else (call.id, call.origin)


# ── waiting for an answer ──
# Waiting for a person: one whom the host asks on the spot, or one who answers elsewhere in time.

Ask = Callable[[Approval], str | Awaitable[str | None] | None]
"""Asks a person about a call: the name of who said yes, None for no."""

Answered = Literal["answered", "waiting", "expired"]


class Desk(Protocol):
    """Where questions wait and answers are given."""

    @property
    def store(self) -> Store: ...

    def answer(self, id: str, said: Literal["approved", "denied"], *, by: str, digest: str) -> Approval: ...


async def answered(desk: Desk, id: str, ask: Ask | None, wait: float) -> tuple[Answered, str]:
    """What has become of a question after at most `wait` seconds, and why the host's own way of asking failed."""
    return (await _looked_for(desk, id, wait), "") if ask is None else await _ask_host(desk, id, ask)


async def _looked_for(desk: Desk, id: str, wait: float) -> Answered:
    clock = asyncio.get_running_loop().time
    deadline = clock() + wait
    while clock() < deadline:
        await desk.store.next_answer(id, deadline - clock())
        try:
            approval = await asyncio.to_thread(_approval, desk, id)
        except StoreError as error:  # it may come back before the time is over
            log.warning("whether approval %s was answered cannot be seen: %s", id, error)
            continue
        if approval is None or approval.status not in ("waiting", "expired"):
            return "answered"
        if approval.status == "expired" or approval.expires_at <= desk.store.clock.now():
            return "expired"
    return "waiting"


async def _ask_host(desk: Desk, id: str, ask: Ask) -> tuple[Answered, str]:
    """What the host's own way of asking says; when it fails, nobody has said yes. What it raised is for the log: its
    words are not for a model."""
    try:
        approval = await asyncio.to_thread(_approval, desk, id)
        if approval is None or approval.status != "waiting":
            return "answered", ""
        said = ask(approval)
        name = cast("object", await said if isawaitable(said) else said)  # a function may break its word
        if name and not isinstance(name, str):
            told = f"`ask` returned {type(name).__name__}; expected the name of the person who approved, or None"
            log.error("rightcall: %s. Approval %s still waits", told, id)
            return "waiting", told
        word: Literal["approved", "denied"] = "approved" if name else "denied"
        await asyncio.to_thread(desk.answer, id, word, by=str(name or "(nobody)"), digest=approval.digest)
    except AnswerError as error:
        log.error("rightcall: what `ask` returned is not an answer to approval %s, so it still waits: %s", id, error)
        return "waiting", f"What `ask` returned is not an answer: {error}"
    except Exception as error:  # the host's own code
        log.exception("rightcall: asking a person about approval %s failed, so it still waits", id)
        return "waiting", f"`ask` failed with {type(error).__name__}; the log has the details"
    return "answered", ""


def _approval(desk: Desk, id: str) -> Approval | None:
    return desk.store.look(lambda tables: tables.approval(id))


# ── outcomes ──
# What a call comes to, as whoever made it is told, with the text for the model.


def refused(
    written: Written, admission: Admission, found: Equipped | None, rights: Rights, stages: Mapping[str, float]
) -> Outcome:
    """A call that did not run, or that waits for a person. A name that it was mapped to is only told to a caller who
    may know of that tool."""
    decision, verdict = admission.decision, written.verdict
    waiting = decision.kind == "ask"
    pending = f"Approval {decision.approval} is pending. Do not retry yet. After approval, send the identical call."
    hint = pending if waiting else stubborn_hint(admission, decision.hint)
    known = found is not None and may_use(rights, found.tool.name, own=found.own, effects=found.tool.effects)
    name = found.tool.name if found is not None and known else as_written(written, written.name)
    content, summary = error_content(decision.reason, hint), admission.earlier.partition(": ")[2]
    return Outcome(
        ok=False,
        tool=name,
        content=f"{content}\n{mark_as_data(name, summary)}" if summary else content,
        error=decision.reason,
        hint=hint,
        decision=decision,
        status="waiting" if waiting else "refused",
        call=verdict.call,
        repairs=verdict.repairs,
        metadata=Metadata(call=admission.call, recorded=admission.call > 0, stages=stages),
        to_allow="" if found is None else _to_allow(decision, found),
    )


def _to_allow(decision: Decision, found: Equipped) -> str:
    line = line_to_add(decision.rule, found.tool.name, found.tool.effects)
    if decision.rule == "allowlist" and found.local is not None and not found.tool.effects_declared:
        line = f'declare what it does, such as effects=["read"], or {line}'
    if decision.kind != "ask":
        return line
    return "; ".join(part for part in (f"run `rightcall approvals approve {decision.approval}`", line) if part)


def ran(
    call: Call, verdict: Verdict, decision: Decision, result: Result, shown: Content, metadata: Metadata,
) -> Outcome:  # fmt: skip
    """A call that ran, whatever came of it."""
    outcome = Outcome(
        ok=result.ok,
        tool=call.name,
        content=shown.text,
        result=result.value,
        error=result.error,
        decision=decision,
        status="success" if result.ok else "failed",
        call=call,
        repairs=verdict.repairs,
        summary=cut_end(shown.summary, LONGEST_SUMMARY),
        metadata=metadata,
    )
    if verdict.mode == "warn" and verdict.problems and verdict.hint:
        return replace(outcome, hint=verdict.hint, content=f"{shown.text}\n\n{verdict.hint}")
    return outcome


def nobody_answered(outcome: Outcome) -> Outcome:
    """A call whose question has expired while it waited: nobody to ask means no."""
    error = "Approval timed out. The call did not run"
    hint = "Sending the identical call again asks again."
    return replace(outcome, status="refused", error=error, hint=hint, content=error_content(error, hint))


def asked_in_vain(outcome: Outcome, trouble: str) -> Outcome:
    """A call that still waits, because the host's own way of asking failed."""
    error = f"{outcome.error}. {trouble}" if outcome.error else trouble
    return replace(outcome, error=error, content=error_content(error, outcome.hint))

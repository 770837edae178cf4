"""The order in which every call goes, and nothing else: `Pipeline.run` is the whole of it.

    check ─▶ authorise, record ─▶ execute ─▶ record ─▶ present

Authorising and the first record are one transaction (`record/admission.py`): no record, no execution.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rightcall.authorise import decide
from rightcall.authorise.quarantine import quarantine
from rightcall.config_settings import Budgets, Rights
from rightcall.errors import StoreError
from rightcall.execute.cache import Cache
from rightcall.execute.functions import LocalTool
from rightcall.execute.preview import DRY_RUN, preview
from rightcall.execute.run import run
from rightcall.execute.state import keepable, state_of
from rightcall.executor_calls import OnStage, Stopwatch, Who, Written, call_body, end_body, question, unrecorded
from rightcall.executor_outcomes import equipped, objection, ran, refused
from rightcall.executor_request import build_request, canonical
from rightcall.executor_toolbox import Equipped, Toolbox
from rightcall.present.messages import Content, content, error_content
from rightcall.record.admission import Admission, admit, finish, refuse
from rightcall.record.entries import EndBody
from rightcall.record.tables import Store, Tables
from rightcall.text.redact import Redactor
from rightcall.text.tokens import estimate
from rightcall.types import Call
from rightcall.types_running import Decision, Metadata, Outcome, Request, Result

log = logging.getLogger("rightcall")

T = TypeVar("T")

GIVEN_UP = EndBody("failed", error="The caller gave it up.")
CHANGED = Result(False, error="What the call touches has changed since it was approved. It was not run.")
UNREADABLE = Decision("deny", "validation", "Validation failed: the call cannot be read")


class Pipeline(Struct, frozen=True, eq=False):
    """One call's way through one toolbox. Made anew for each call, so that an old and a new policy never mix."""

    toolbox: Toolbox
    store: Store
    cache: Cache
    redactor: Redactor
    root: str
    on_stage: OnStage | None = None

    async def run(self, written: Written, who: Who, approval: str | None = None) -> Outcome:
        """The whole way of one call."""
        watch = Stopwatch(self.on_stage)
        watch.stage("check")
        rights = self.toolbox.rights_of(who.caller)
        tool = equipped(written, self.toolbox)
        request = self._judgeable(written, tool, rights, approval)
        watch.stage("authorise")
        admission = await self._admit(written, who, request, tool)
        if isinstance(request, Decision) or tool is None or admission.decision.kind in ("deny", "ask"):
            watch.stage("")
            return refused(written, admission, watch.taken)
        watch.stage("execute")
        result = await self._execute(request, tool, admission)
        watch.stage("record")
        shown = self._shaped(request, result)
        recorded = await self._complete(
            request, admission, end_body(result, shown.summary, shown.tokens, request.arguments, self.redactor)
        )
        watch.stage("present")
        call = Call(request.tool, request.arguments, *_identity(written))
        metadata = Metadata(result.seconds * 1e3, shown.tokens, result.cached, admission.call, recorded, watch.taken)
        outcome = ran(call, written.verdict, admission.decision, result, shown, metadata)
        watch.stage("")
        return outcome

    def _judgeable(
        self, written: Written, found: Equipped | None, rights: Rights, approval: str | None
    ) -> Request | Decision:
        try:
            return self._request(written, found, rights, approval)
        except Exception as error:  # an error of ours must not become the host's, and must not let a call pass
            log.exception("rightcall: judging a call failed")
            return Decision("deny", "fault", f"The call could not be judged: {type(error).__name__}")

    def _request(
        self, written: Written, found: Equipped | None, rights: Rights, approval: str | None
    ) -> Request | Decision:
        """The request that the policies judge, or why there can be none."""
        against = objection(written, found, self.toolbox, rights)
        call = written.verdict.call
        if against is not None or found is None or call is None:
            return against or UNREADABLE
        try:
            exact = canonical(call.name, call.arguments)
        except (TypeError, ValueError, OverflowError, RecursionError) as fault:
            return Decision("deny", "validation", f"Validation failed: the arguments are no JSON ({fault})")
        at = self.store.clock.now()
        return build_request(
            found, exact, rights, at=at, root=self.root, verdict=written.verdict, approval=approval,
            scopes=self.toolbox.scopes_of(rights, found.tool.name),
        )  # fmt: skip

    async def _admit(
        self, written: Written, who: Who, request: Request | Decision, found: Equipped | None
    ) -> Admission:
        """The decision, recorded. When the store cannot record it, it is no (A-04)."""
        done: list[Admission] = []
        try:
            if isinstance(request, Decision) or found is None:
                work = self._refusal(written, who, request if isinstance(request, Decision) else UNREADABLE)
            else:
                body = call_body(written, who, request, self.redactor)
                asked = question(request, written.verdict, found.described, await self._rehearsal(request, found))
                work = partial(admit, request=request, decide=decide, body=body, question=asked)
            return await self.store.atransact(lambda tables: _kept(done, work(tables)))
        except StoreError as error:
            return unrecorded(error)
        except Exception as error:  # as above: whatever it is, nothing runs
            log.exception("rightcall: deciding on a call failed")
            return unrecorded(StoreError(f"The call could not be decided: {type(error).__name__}"))
        except asyncio.CancelledError:
            if not isinstance(request, Decision):
                self.store.later(lambda tables: self._abandon(tables, request, done))
            raise

    def _abandon(self, tables: Tables, request: Request, done: list[Admission]) -> None:
        """A caller that gave up while its call was being admitted: what was admitted all the same is over."""
        for admission in done:
            if admission.decision.kind in ("allow", "dry_run"):
                self._ending(request, admission, GIVEN_UP)(tables)

    def _refusal(self, written: Written, who: Who, decision: Decision) -> Callable[[Tables], Admission]:
        body = call_body(written, who, None, self.redactor)
        decision = replace(decision, reason=self.redactor.beside(decision.reason, written.arguments))
        digest, most = written.digest, self.toolbox.rights_of(who.caller).quarantine
        now = self.store.clock.now()

        def work(tables: Tables) -> Admission:
            held = quarantine(tables, who.caller, digest, most, now)
            return refuse(tables, who.caller, digest, held or decision, body, now)

        return work

    async def _rehearsal(self, request: Request, found: Equipped) -> str:
        """What a person is shown of a call that may have to ask, where the tool can show it."""
        local = found.local
        if local is None or local.preview is None or request.dry_run or not request.side_effects:
            return ""
        likely = await asyncio.to_thread(self.store.look, partial(decide, request))
        if likely.kind != "ask":  # nothing of a tool runs for a call that is refused, its preview neither
            return ""
        shown = await preview(local, request.arguments, request.canonical, seconds=self._budget(request).seconds)
        return str(shown.value if shown.ok else shown.error).removeprefix(f"{DRY_RUN}\n")

    async def _execute(self, request: Request, found: Equipped, admission: Admission) -> Result:
        """Run it, or rehearse it; what can be taken from the cache was authorised and recorded all the same."""
        assert found.local is not None
        budget = self._budget(request)
        try:
            if admission.decision.approval is not None and self._touched(request, found.local):
                return CHANGED
            if admission.decision.kind == "dry_run":
                return await preview(found.local, request.arguments, request.canonical, seconds=budget.seconds)
            key = self._cache_key(request, found.local)
            if key is not None and (known := self.cache.get(key)) is not None:
                return known
            result = await run(found.local, request.arguments, seconds=budget.seconds, output=budget.output)
            if key is not None and result.ok and state_of(found.local, request.arguments, self.root) == request.state:
                self.cache.put(key, result)
            return result
        except asyncio.CancelledError:
            self.store.later(self._ending(request, admission, GIVEN_UP))
            raise

    async def _complete(self, request: Request, admission: Admission, end: EndBody) -> bool:
        """Complete the record. It has run: if the store fails now, it is written as soon as the store works again."""
        work, done = self._ending(request, admission, end), list[None]()
        try:
            await self.store.atransact(lambda tables: _kept(done, work(tables)))
        except StoreError as error:
            log.warning("call %d ran, but its outcome is not recorded yet: %s", admission.call, error)
            self.store.later(work)
            return False
        except asyncio.CancelledError:
            self.store.later(lambda tables: None if done else work(tables))
            raise
        return True

    def _ending(self, request: Request, admission: Admission, end: EndBody) -> Callable[[Tables], None]:
        changed = request.digest if request.side_effects and admission.decision.kind == "allow" else None
        return lambda tables: finish(tables, admission.call, end, changed)

    def _shaped(self, request: Request, result: Result) -> Content:
        """What the model will read of a result."""
        if result.ok:
            return content(request.tool, result.value, self._budget(request).tokens, cut=result.cut)
        text = error_content(result.error or "It gave no reason.", tool=request.tool)
        return Content(text, estimate(text), "")

    def _budget(self, request: Request) -> Budgets:
        return request.rights.budgets_of_tools.get(request.tool) or request.rights.budgets

    def _touched(self, request: Request, local: LocalTool) -> bool:
        """Whether what an approval was given for is no longer as it was: a last look, as late as possible."""
        return state_of(local, request.arguments, self.root) != request.state

    def _cache_key(self, request: Request, local: LocalTool) -> str | None:
        """None where nothing may be cached: only a tool that says what it read can be known to have read the same."""
        if request.side_effects or not keepable(local, request.arguments, self.root):
            return None
        return f"{request.rights.digest} {request.definition} {request.digest} {request.state}"


def _kept(done: list[T], value: T) -> T:
    """Notes that a work was done, for whoever is cancelled while waiting for it."""
    done.append(value)
    return value


def _identity(written: Written) -> tuple[str | None, Literal["native", "text"]]:
    call = written.verdict.call
    return (None, "native") if call is None else (call.id, call.origin)

"""One call on its way: who wants it, what was written, how long each stage took; and the records made of it.

What a model and its host are told of a call: objections before it was judged, refusals, questions, results.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from functools import lru_cache
from hashlib import sha256
from math import inf
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.globs import loosely
from rightcall.base.json.marks import used
from rightcall.base.json.strict import encode_sorted
from rightcall.base.secrets import LONGEST_SUMMARY, LONGEST_VALUE, Redactor, make_storable, redact_text
from rightcall.base.text import cut_end, escaped, render_json
from rightcall.errors import CallError, StoreError
from rightcall.executor.request import TOO_MANY_PATHS
from rightcall.executor.toolbox import Equipped, Inner, Toolbox, inner_calls, names_of
from rightcall.gate.gate import Gate
from rightcall.policy.decide import denial, effect_denial, may_use, not_whitelisted
from rightcall.policy.effects import word_for
from rightcall.policy.types import Decision, Facts, Request, Result, Rights
from rightcall.record.admission import Admission, ApprovalQuestion, Decide
from rightcall.record.notes import Rescued
from rightcall.record.tables import NO_IDENTITY, NO_INPUTS, CallBody, EndBody, Inputs, Store, Tables
from rightcall.types import Batch, Call, Effect, Problem, Reading, Repair, StrategyName, Verdict

if TYPE_CHECKING:
    from rightcall.gate.last_resort import Attempt

LONGEST_EMISSION = 4000
"""Characters of what a model wrote that a record keeps; its digest covers the whole."""
LONGEST_CALLER = 200
_LONGEST_LABEL = 1000

UNNAMED = "(unknown)"
"""In place of a tool's name that could hold anything."""

log = LateLog()

Stage = str
OnStage = Callable[[Stage], object]


def checked_caller(caller: object) -> str:
    """The name of a caller, at every integration: what is stored by it is kept apart by signs that no name holds.
    Raises CallError."""
    if isinstance(caller, str) and caller.strip() and len(caller) <= LONGEST_CALLER and caller.isprintable():
        return caller
    raise CallError(f"a caller needs a name of 1 to {LONGEST_CALLER} printable characters, not {caller!r:.60}")


def check_label(name: str, value: object) -> str | None:
    """An id that groups records: a text, or a whole number, which is common for chats."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None or (isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_LABEL):
        return value
    raise CallError(f"`{name}` must be a text of 1 to {_LONGEST_LABEL} printable characters, not {value!r:.60}")


class Who(Struct, frozen=True):
    """On whose behalf, and within what."""

    caller: str
    context: str | None = None
    step: str | None = None
    provider: str = ""
    turn: str | None = None
    """The request of a person that is being answered, where one is known."""
    policy: str = ""
    """Digest of the policy in force."""
    packs: str = ""
    """Digest of the rule packs, where there are any."""


_SPEAKS: ContextVar[tuple[str, str]] = ContextVar("identity", default=NO_IDENTITY)


class Speaking:
    """The calls that begin meanwhile, in this task and those it starts, are of this identity: issuer and subject."""

    __slots__ = ("_identity", "_token")

    def __init__(self, identity: tuple[str, str]) -> None:
        self._identity = identity if identity[0] else NO_IDENTITY
        self._token: Token[tuple[str, str]] | None = None

    def __enter__(self) -> None:
        if _SPEAKS.get() is not self._identity:
            self._token = _SPEAKS.set(self._identity)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _SPEAKS.reset(self._token)


def identity_now() -> tuple[str, str]:
    """Whose calls begin now, as the identity provider says; empty where none does."""
    return _SPEAKS.get()


def who_of(caller: object, context: object, step: object, turn: object, provider: str) -> Who:
    """Raises CallError for what no caller, chat, step or turn can be called."""
    within = (check_label("context", context), check_label("step", step))
    return Who(checked_caller(caller), *within, provider, check_label("turn", turn))


class Stopwatch:
    """How long each stage took, in milliseconds; and whoever listens is told when one begins."""

    __slots__ = ("_began", "_name", "_tell", "taken")

    def __init__(self, tell: OnStage | None) -> None:
        self.taken: dict[Stage, float] = {}
        self._tell = tell
        self._name = ""
        self._began = 0.0

    def stage(self, name: Stage) -> None:
        now, last = perf_counter(), self._name
        if last:
            self.taken[last] = (now - self._began) * 1e3
        self._name, self._began = name, now
        if self._tell is not None and name:
            try:
                self._tell(name)
            except Exception:  # a listener of the host's must not decide over a call
                log.exception("rightcall: the stage callback failed")


class Written(Struct, frozen=True):
    """What the model wrote: the verdict on it, and the text it stood in."""

    verdict: Verdict
    name: str
    """The tool as it was written."""
    text: str | None = None
    gate: Gate | None = None
    """Who checked it: under another policy it has to be checked again."""
    refused: Verdict | None = None
    """The verdict before a model put the call together, where one did."""

    def checked_by(self, gate: Gate) -> "Written":
        """The same, as another gate sees it. What is refused stays refused; and what a model has put together is, under
        another policy than the one that let it be asked."""
        if self.refused is not None and self.gate is not gate:
            return replace(self, verdict=self.refused, refused=None, gate=gate)
        found = self.verdict.found
        if self.gate is gate or found is None or not self.verdict.ok:
            return self
        return replace(self, verdict=check_again(self.verdict, gate, found.name), gate=gate)

    @property
    def arguments(self) -> Any:
        """Of the call as far as it could be read."""
        call = self.verdict.call or self.verdict.found
        return None if call is None else call.arguments

    @property
    def digest(self) -> str:
        """Of a call that never became a request. As far as it can be read, in whatever spelling and order, it is the
        same call."""
        try:
            raw = encode_sorted(["refused", loosely(self._called), self.arguments])
        except (TypeError, ValueError, OverflowError, RecursionError):
            raw = b""
        if not raw or self.arguments is None:
            raw = (self.text or render_json([self.name, self.arguments], 100_000)).encode("utf-8", "surrogatepass")
        return sha256(raw).hexdigest()

    @property
    def _called(self) -> str:
        call = self.verdict.call or self.verdict.found
        return call.name if call is not None else self.name


def check_again(before: Verdict, gate: Gate, name: str) -> Verdict:
    """A call that was read before, by this name and as this gate sees it. What reading its text has mended is no longer
    in the arguments: it stays in the verdict, with its doubts; and what was too doubtful then is so now."""
    found, call = before.found or before.call, before.call
    if found is None:
        return before
    verdict = gate.check(name, found.arguments, call_id=call.id if call is not None else None)
    again = {(one.path, one.rule) for one in verdict.repairs}
    mended = [one for one in before.repairs if not one.path and not one.rule.startswith("tool_")]
    mended = [one for one in mended if (one.path, one.rule) not in again]
    if verdict.ok and not before.ok:
        from rightcall.gate.judge import CERTAIN  # late: hardly ever needed

        if any(one.confidence < CERTAIN for one in mended):
            return before
    if verdict.call is not None and call is not None:
        verdict = replace(verdict, call=replace(verdict.call, origin=call.origin))
    truncated = verdict.truncated or before.truncated
    return with_repairs(replace(verdict, truncated=truncated), mended) if mended or truncated else verdict


def with_repairs(verdict: Verdict, earlier: Sequence[Repair]) -> Verdict:
    """The verdict on a call that was repaired before it was checked."""
    repairs = (*earlier, *verdict.repairs)
    sure = min([verdict.confidence, *(one.confidence for one in earlier)])
    return replace(
        verdict, repairs=repairs, confidence=sure,
        strategy=verdict.strategy if verdict.strategy == "failed" else used(repairs),
    )  # fmt: skip


def call_body(written: Written, who: Who, request: Request | None, redactor: Redactor) -> CallBody:
    """The record of a call, before it is decided."""
    verdict = written.verdict
    call = verdict.call or verdict.found
    given = request.arguments if request else written.arguments
    params, digest = redactor.beside(given, given), request.digest if request else written.digest
    is_short = request is not None and len(request.canonical) <= LONGEST_VALUE  # then its arguments are, too
    body = CallBody(
        caller=who.caller,
        tool=request.tool if request else redactor.beside(call.name if call else written.name, written.arguments),
        params=make_storable(params, is_short=is_short and params is given),
        # who knows a call but for one short secret must not be able to try values until the digest fits
        digest=digest if params is given else redactor.keyed(digest.encode()),
        decision="deny",
        rule="",
        context=None if who.context is None else redactor.label(who.context),
        step=None if who.step is None else redactor.value(who.step),
        policy=who.policy,
        provider=who.provider,
        packs=who.packs,
        problems=kept_problems(verdict.problems, written.arguments, redactor) if request is None else (),
        definition=request.definition[:16] if request else "",
        state=request.state[:16] if request else "",
        effects=_in_order(request.effects) if request else (),
        rights=request.rights.digest if request else "",
        inputs=_inputs(request, redactor, whole=params is given) if request else NO_INPUTS,
        identity=identity_now(),
    )
    if verdict.repairs or verdict.truncated or call is None or call.origin == "text" or request is None:
        body = replace(
            body, emission=_emission(written, redactor),
            repairs=kept_repairs(verdict.repairs, written.arguments, redactor),
            strategy=_strategy(verdict), confidence=verdict.confidence, truncated=verdict.truncated,
            origin=call.origin if call else "native",
        )  # fmt: skip
    return body


@lru_cache(64)
def _in_order(effects: frozenset[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(effects))


def _strategy(verdict: Verdict) -> StrategyName:
    """The strategy that a record counts the call under: to call a tool by another of its names is no mistake."""
    if verdict.strategy == "failed":
        return "failed"
    return used(repair for repair in verdict.repairs if repair.rule != "tool_alias")


def _inputs(request: Request, redactor: Redactor, *, whole: bool) -> Inputs:
    """What the decision uses besides what a record says anyway; of most calls there is next to nothing."""
    beside = request.commanded or request.command_paths or request.findings
    turn = str(redactor.label(request.turn)) if request.turn else ""
    server = ("", "")
    if request.origin is not None:
        server, beside = (request.origin.server, request.origin.digest), beside or request.linked or request.outside
    if not (request.paths or request.inner or request.asks or request.rehearse or request.approval or beside):
        plain = Inputs(
            own=request.own, permit=request.permit, called=request.called, repeatable=request.repeatable,
            unsure=request.unsure, dry_run=request.dry_run, repaired=request.repaired, turn=turn,
            guesses=request.guesses, server=server,
        )  # fmt: skip
        return NO_INPUTS if plain == NO_INPUTS else plain

    def hide(text: str) -> str:
        return text if whole else str(redactor.beside(text, request.arguments))

    paths, seen = request.paths, request.command_paths
    if not whole:
        paths = tuple([(hide(written), hide(resolved)) for written, resolved in paths])
        seen = tuple([(hide(written), hide(resolved), writes) for written, resolved, writes in seen])
    partial = sum([len(path[0]) + len(path[1]) for path in (*paths, *seen)]) > LONGEST_VALUE
    return Inputs(
        own=request.own, permit=request.permit, called=request.called, repeatable=request.repeatable,
        unsure=request.unsure, dry_run=request.dry_run, asks=tuple(sorted(request.asks)),
        rehearse=tuple(sorted(request.rehearse)), repaired=request.repaired,
        paths=() if partial else tuple([path[0] if path[0] == path[1] else path for path in paths]),
        guesses=request.guesses, outside=request.outside, linked=request.linked, inner=request.inner,
        approval=request.approval, partial=partial, commanded=request.commanded, command_paths=() if partial else seen,
        findings=tuple([(one.answer, one.rule, hide(one.why)) for one in request.findings]),
        server=server,
        turn=turn,
    )  # fmt: skip


def end_body(
    result: Result, summary: str, arguments: Any, redactor: Redactor, *, tokens: int = 0, answer: str = ""
) -> EndBody:
    """What came of a call; a tool that quotes its secret arguments is not quoted."""
    return EndBody(
        status="success" if result.ok else "failed",
        execution_time=round(result.seconds * 1e3, 3),
        error=None if result.error is None else redact_text(result.error, LONGEST_VALUE, arguments, redactor),
        summary=cut_end(redact_text(summary, LONGEST_SUMMARY + 1, arguments, redactor), LONGEST_SUMMARY),
        tokens=tokens,
        cached=result.cached,
        answer=answer,
    )


def hush_reasons(decide: Decide, redactor: Redactor) -> Decide:
    """Decides the same, with a reason that can be recorded: it may quote the call."""

    def decided(request: Request, facts: Facts) -> Decision:
        decision = decide(request, facts)
        if not decision.reason:
            return decision
        reason = reason_told(decision.reason, request.arguments, redactor)
        return decision if reason == decision.reason else replace(decision, reason=reason)

    return decided


def reason_told(reason: str, arguments: Any, redactor: Redactor) -> str:
    """A reason as it may be recorded: it may quote the call. One that never does stands as it is, also where the call
    is too large to be looked through."""
    return reason if reason == TOO_MANY_PATHS else redactor.beside(reason, arguments)


def question(request: Request, verdict: Verdict, described: str, preview: str) -> ApprovalQuestion:
    """What a person sees beside the call. Nothing is redacted: who decides must see what would run."""
    if not verdict.repairs and not preview:
        return ApprovalQuestion(_plain_details(request.effects, verdict.confidence), described)
    details: dict[str, Any] = {
        "effects": sorted(request.effects),
        "confidence": verdict.confidence,
        "repairs": [_plain_repair(repair) for repair in verdict.repairs],
    }
    if preview:
        details["preview"] = preview
    return ApprovalQuestion(json.encode(details, enc_hook=repr).decode(), described)


def tell_people(admission: Admission, request: Request | Decision) -> None:
    """Somebody is needed: whoever the policy names is told, and nobody waits for that."""
    if not admission.asks or isinstance(request, Decision) or admission.decision.approval is None:
        return
    if notify := request.rights.approvals.notify:
        from rightcall.executor.notices import send  # late: few policies name anybody

        send(notify, admission.decision.approval, request.tool, request.caller)


@lru_cache(256)
def _plain_details(effects: frozenset[Effect], confidence: float) -> str:
    """Of a call that was right as it was written: next to all of them."""
    return json.encode({"effects": sorted(effects), "confidence": confidence, "repairs": []}).decode()


_AGAIN, _MOST_LOGGED = 60.0, 64
_logged: dict[str, float] = {}
"""When each fault of a store was logged: while a server is away, it is the same for every call."""


REFUSED_BY_STORE = "rightcall: a call was refused"


def unrecorded(error: StoreError) -> Admission:
    """What is decided when the store cannot be used: nothing runs (A-04)."""
    text, now = str(error), monotonic()
    if error.told != text and now - _logged.get(text, -inf) >= _AGAIN:
        if len(_logged) >= _MOST_LOGGED:
            _logged.clear()
        _logged[text] = now
        log.warning("%s: %s", REFUSED_BY_STORE, text)
    return Admission(Decision("deny", f"store:{error.fault}", error.told), 0)


def record_later(store: Store, work: Callable[[Tables], object]) -> None:
    """Nobody waits for it, and nothing is raised."""
    try:
        store.later(work)
    except StoreError as error:  # closed: the next process finds the call interrupted
        log.warning("the outcome of a call could not be recorded: %s", error.reason)


_GIVE_UP = "Do not repeat it; tell the user."


def faulty(error: Exception) -> Decision:
    """What is decided where judging a call raised: an error of ours, or of a function that somebody declared, neither
    becomes the host's nor lets a call pass."""
    return Decision("deny", "fault", f"The call could not be checked: {type(error).__name__}", _GIVE_UP)


def fault_body(written: Written, who: Who, redactor: Redactor) -> CallBody:
    """The record of a call that could not be judged: with as much of it as can be written down."""
    try:
        return call_body(written, who, None, redactor)
    except Exception:
        log.exception("rightcall: a call could not be recorded")
        return CallBody(
            who.caller, UNNAMED, None, "", "deny", "", policy=who.policy, provider=who.provider, identity=identity_now()
        )  # fmt: skip


def _emission(written: Written, redactor: Redactor) -> Any:
    if written.text is not None:
        return redact_text(written.text, LONGEST_EMISSION, written.arguments, redactor)
    found = written.verdict.found
    if (unread := written.verdict.unread) is not None:
        name = redact_text(unread.name, LONGEST_VALUE, written.arguments, redactor)
        return {"name": name, "arguments": redact_text(unread.arguments, LONGEST_EMISSION, written.arguments, redactor)}
    if found is None:
        return redact_text(written.name, LONGEST_VALUE, written.arguments, redactor)
    name = redact_text(found.name, LONGEST_VALUE, written.arguments, redactor)
    return {"name": name, "arguments": make_storable(redactor.beside(found.arguments, written.arguments))}


def kept_repairs(repairs: Iterable[Repair], arguments: Any, redactor: Redactor) -> tuple[dict[str, Any], ...]:
    """A value is as secret as the names on its path."""
    hidden = (redactor.beside(_plain_repair(one), arguments) for one in repairs)
    return tuple(one | {word: make_storable(one[word]) for word in ("before", "after")} for one in hidden)


def _plain_repair(repair: Repair) -> dict[str, Any]:
    return {
        "path": repair.path, "before": repair.before, "after": repair.after, "strategy": repair.strategy,
        "rule": repair.rule, "confidence": repair.confidence, "note": repair.note,
    }  # fmt: skip


def kept_problems(problems: Iterable[Problem], arguments: Any, redactor: Redactor) -> tuple[dict[str, str], ...]:
    said = ({"code": one.code, "path": one.path, "message": one.message} for one in problems)
    hidden = (redactor.beside(one, arguments) for one in said)
    return tuple(one | {"message": one["message"][:LONGEST_VALUE]} for one in hidden)


# ── what was handed over ──
# What an executor is given, as written calls: one call in any common shape, or everything in a text or message.

_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "params", "parameters", "args", "input")


def one_call(call: Any, gate: Gate) -> Written:
    """A `Call`, a dict with a name and arguments, or a native message that holds exactly one call."""
    if isinstance(call, Call):
        return Written(gate.check(call.name, call.arguments, call_id=call.id), call.name, gate=gate)
    if type(call) is dict or isinstance(call, Mapping):
        table = cast("Mapping[str, Any]", call)
        name = table.get("name")
        if not isinstance(name, str):
            name = next((table[key] for key in _NAMES if isinstance(table.get(key), str)), None)
        if name is not None and "content" not in table:
            arguments = next((table[key] for key in _ARGUMENTS if key in table), cast("Any", {}))
            call_id = table.get("id")
            verdict = gate.check(name, arguments, call_id=call_id if isinstance(call_id, str) else None)
            return Written(verdict, name, gate=gate)
    found = writings(call, gate, None)
    if len(found) == 1:
        return found[0]
    what = "no call" if not found else f"{len(found)} calls"
    raise CallError(
        f'run takes one call, such as {{"name": …, "arguments": {{…}}}}; this contains {what} (see run_all)'
    )


def writings(message: Any, gate: Gate, finish_reason: str | None, emission: str | None = None) -> list[Written]:
    """Every call in a text, a native message, or a `Reading` of one (then of the text `emission`), in order."""
    reading = message if isinstance(message, Reading) else gate.read(message, finish_reason)
    checked = None if isinstance(message, Reading) else gate
    text = message if isinstance(message, str) else emission
    found: list[Written] = []
    for number, verdict in enumerate(reading.calls):
        call = verdict.found or verdict.call
        place = reading.places[number] if number < len(reading.places) else None
        if place is not None and place.format == "native":
            place = None  # it stands in no text
        stood = text[place.start : place.end] if text is not None and place is not None else None
        found.append(Written(verdict, call.name if call else "", stood, checked))
    return found


def groups(calls: list[Written], alone: Callable[[Written], bool]) -> Iterator[list[Written]]:
    """Calls that may run at the same time: those that only read; any other waits for those before and runs alone."""
    together: list[Written] = []
    for call in calls:
        if not alone(call):
            together.append(call)
            continue
        if together:
            yield together
        yield [call]
        together = []
    if together:
        yield together


async def rescue(written: Written, toolbox: Toolbox, who: Who, hear: Callable[[Rescued], object]) -> Written:
    """The call after the last resort was asked. Only about one that its caller may use, and that is refused for nothing
    but its form. `hear` is told of each attempt."""
    verdict, gate = written.verdict, toolbox.gate
    meant = verdict.call or verdict.found or verdict.unread
    if verdict.ok or gate.last_resort is None or meant is None:
        return written
    named = replace(written, name=meant.name)
    against = objection(named, equipped(named, toolbox), toolbox, toolbox.rights_of(who.caller))
    if against is None or against.rule != "validation":
        return written

    def told(attempt: "Attempt") -> None:
        asked = attempt.rescue
        rescued = Rescued(
            who.caller, who.context, attempt.tool, asked.model, taken=not attempt.refused, why=attempt.refused,
            tokens=asked.tokens, seconds=asked.seconds, cached=asked.cached,
        )  # fmt: skip
        hear(rescued)

    better = await gate.rescue(verdict, told)
    return written if better is verdict else replace(named, verdict=better, gate=gate, refused=verdict)


# ── what a model and its host are told ────────────────────────────────────────────────────────────────────────────────

# ── hints ──
# What may be said of a call to the caller that made it: nothing of tools that it may not use, neither their names nor
# their arguments (V-09). A tool is called by the name that the model wrote.

_UNTOLD = Problem(
    "inner_call", "", "A call inside the batch is invalid: each must name exactly one tool, with an object as arguments"
)  # fmt: skip
_NAMING = {
    "; use `{}`": "", " to another tool, `{}`": " to another tool", "The {} call could": "The call could",
}  # fmt: skip
"""The words in which the gate names tools, and the same without."""


def as_written(written: Written, tool: str) -> str:
    """The name that a model wrote for a tool."""
    found = written.verdict.found
    return spelled(written.verdict.repairs, found.name if found is not None else tool)


def spelled(repairs: Iterable[Repair], tool: str) -> str:
    """The name that became this one, by the repairs that were made."""
    before = {one.after: one.before for one in repairs if one.rule.startswith("tool_")}
    for _ in range(len(before)):
        tool = before.get(tool, tool)
    return tool


def forbidden_inside(verdict: Verdict, found: Equipped, toolbox: Toolbox, rights: Rights) -> Decision | None:
    """The refusal of a batch that holds a call of a tool that the caller may not use."""
    for inner in _inside(verdict, found.tool.rules.batch, toolbox):
        for written in inner.names:
            for name in names_of(toolbox, written):
                if not may_use(rights, name):
                    rule = denial(rights, name) or "allowlist"
                    return Decision("deny", rule, not_whitelisted(spelled(verdict.repairs, written)))
    return None


def hide_tools(verdict: Verdict, found: Equipped, toolbox: Toolbox, rights: Rights) -> Verdict:
    """The same verdict without a word of tools that the caller may not use."""
    if not verdict.problems:
        return verdict
    usable = {one.tool.name for one in toolbox.usable(rights)}
    other = found.tool.rules.replaced_by
    if other is not None and other not in usable:
        return replace(verdict, problems=(), hint=None)
    hidden = [name for name in toolbox.tools if name not in usable]
    problems = tuple(replace(one, message=without_names(one.message, hidden)) for one in verdict.problems)
    if not all(inner.told for inner in _inside(verdict, found.tool.rules.batch, toolbox)):
        problems = (*(one for one in problems if one.code != "inner_call"), _UNTOLD)
    if problems == verdict.problems:
        return verdict
    from rightcall.gate.examples import hint  # late, wherever it is used: a call that fits gets none

    return replace(verdict, problems=problems, hint=hint(found.tool, problems, given=verdict.found))


def without_names(message: str, hidden: list[str]) -> str:
    """A problem of the gate's without the place where it names a tool that the model did not."""
    for name in hidden:
        for named, nameless in _NAMING.items():
            message = message.replace(named.format(name), nameless)
    return message


def _inside(verdict: Verdict, batch: Batch | None, toolbox: Toolbox) -> list[Inner]:
    call = verdict.call or verdict.found
    arguments: Any = None if call is None else call.arguments
    if batch is None or not isinstance(arguments, dict):
        return []
    return list(inner_calls(toolbox, batch, cast("dict[str, Any]", arguments)))


_COMES_BACK = "It restarts by itself. Resend the identical call later, or continue without this tool."
_AFTER_LOGIN = "A person has to log in first. Resend the identical call after that, or continue without this tool."
STUBBORN = 3
"""Refusals of the same call from which on the hint changes."""


def equipped(written: Written, toolbox: Toolbox) -> Equipped | None:
    """The tool that a call is for, None when there is none."""
    call = written.verdict.call
    known = toolbox.tools.get(call.name if call is not None else written.name)
    if known is None:
        match = toolbox.gate.catalog.find(written.name)
        known = toolbox.tools.get(match.tool.name) if match.tool is not None else None
    return known


def objection(written: Written, found: Equipped | None, toolbox: Toolbox, rights: Rights) -> Decision | None:
    """Why a call cannot even be judged. What the caller may not use comes first, so that no hint tells of it."""
    verdict = written.verdict
    if found is None and not written.name and verdict.problems:
        return _unread(verdict, toolbox, rights)
    if found is None:
        return _unknown(written.name, toolbox, rights)
    name = found.tool.name
    against = effect_denial(rights, name, found.tool.effects)
    if against is not None:
        return against
    if not may_use(rights, name, own=found.own):
        return Decision("deny", denial(rights, name) or "allowlist", not_whitelisted(as_written(written, name)))
    inside = forbidden_inside(verdict, found, toolbox, rights)
    if inside is not None:
        return inside
    if not verdict.ok or verdict.call is None or type(verdict.call.arguments) is not dict:
        return _invalid(written, found, toolbox, rights)
    if found.local is None:
        return Decision("deny", "unavailable", f"Tool '{escaped(name, 100)}' is unavailable here. Use another tool")
    if found.local.absent and not _is_only_shown(rights, found):
        return Decision("deny", "unavailable", found.local.absent)
    return None


def _is_only_shown(rights: Rights, found: Equipped) -> bool:
    said = word_for(rights.words, found.tool.effects, (found.tool.name,))
    return said is not None and said[1] == "dry-run"


def _unread(verdict: Verdict, toolbox: Toolbox, rights: Rights) -> Decision:
    """Markup of a call that holds none: made up, cut off, or damaged beyond reading."""
    problem = verdict.problems[0]
    hidden = [
        name for name, one in toolbox.tools.items() if not may_use(rights, name, own=one.own, effects=one.tool.effects)
    ]
    reason = f"Validation failed: {without_names(problem.message, hidden)}"
    if problem.code != "unknown_tool":
        return Decision("deny", "validation", reason)  # which says all that the hint would
    names = ", ".join(escaped(one.tool.name, 100) for one in toolbox.usable(rights)) or "none"
    return Decision("deny", "unknown_tool", reason, f"Tools: {names}")


def _unknown(name: str, toolbox: Toolbox, rights: Rights) -> Decision:
    missing = None if toolbox.servers is None else toolbox.servers.missing(name)
    if missing is not None:
        hint = _AFTER_LOGIN if missing.awaits_login else _COMES_BACK
        return Decision("deny", "unavailable", f"Tool '{escaped(name, 100)}' is not available: {missing.told}", hint)
    from rightcall.gate.examples import unknown_tool_hint

    names = [one.tool.name for one in toolbox.usable(rights)]
    near = [one for one in toolbox.gate.catalog.find(name).suggestions if one in names]
    reason = f"Validation failed: Unknown tool `{escaped(name, 100)}`"
    return Decision("deny", "unknown_tool", reason, unknown_tool_hint(name, near, names))


def _invalid(written: Written, found: Equipped, toolbox: Toolbox, rights: Rights) -> Decision:
    other = found.tool.rules.replaced_by
    usable = {one.tool.name for one in toolbox.usable(rights)}
    if other is not None and other not in usable:
        return Decision("deny", "deprecated", f"Tool '{escaped(found.tool.name, 100)}' is no longer there")
    verdict = hide_tools(written.verdict, found, toolbox, rights)
    told = verdict.hint
    called = as_written(written, found.tool.name)
    if told and called in found.tool.rules.names:
        from rightcall.gate.examples import hint

        told = hint(replace(found.tool, name=called), verdict.problems, given=verdict.found)
    problems = "; ".join(problem.message for problem in verdict.problems) or "the arguments cannot be read"
    return Decision("deny", "validation", f"Validation failed: {problems}", told)


def stubborn_hint(admission: Admission, hint: str | None) -> str | None:
    """The hint, and beside it what came of the same call before; one that is made again and again is told so."""
    if admission.earlier:  # the rest of it are a tool's own words, which are no hint
        hint = f"{hint or ''} It gave: {admission.earlier.partition(': ')[0]}.".strip()
    if admission.refusals < STUBBORN or admission.decision.rule == "quarantine":
        return hint
    times = f"This call was refused {admission.refusals} times"
    stubborn = f"{times}. Do not repeat it. Change the arguments or continue without it."
    return f"{stubborn} {hint}" if hint else stubborn

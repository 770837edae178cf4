"""From a call as a host hands it over to what is asked of the policy: checked, named as the policy names it, with its
record ready to be written. No I/O, apart from following the links of paths."""

from collections.abc import Iterator
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.secrets import Redactor
from rightcall.base.text import escaped
from rightcall.catalog.tool import Tool
from rightcall.executor.calls import Who, Written, call_body, fault_body, faulty, question, reason_told, stubborn_hint
from rightcall.executor.request import UNREADABLE, Ground, Occasion, attempt_request, build_request, canonical
from rightcall.executor.rights import DoorRights, judge_names, own_name, unknown_tool
from rightcall.executor.toolbox import Equipped, Toolbox, full_name, names_meant
from rightcall.policy.decide import (
    denial,
    effect_denial,
    is_outside,
    is_rehearsed,
    is_repeatable,
    not_whitelisted,
    permission,
)
from rightcall.policy.settings import Policy
from rightcall.policy.types import Decision, Origin, Request, Rights
from rightcall.record.admission import FULL, Admission, ApprovalQuestion, finish
from rightcall.record.premises import Held
from rightcall.record.tables import UNASKED, AnswerBody, AuditEntry, CallBody, EndBody, Tables, encode, read_call
from rightcall.types import Call, Mode, Problem, Repair, Verdict

# ── unsure calls ──
# Repairs that are not sure enough to run by themselves, where nobody can be asked about them.


def unsure(verdict: Verdict, tool: Equipped, confidence: float) -> bool:
    """Whether a call that does more than read was repaired with less confidence than that (P-10)."""
    return verdict.ok and bool(verdict.repairs) and tool.side_effects and verdict.confidence < confidence


def as_it_was(verdict: Verdict, tool: Equipped, mode: Mode) -> Verdict:
    """The call is what the model wrote, and does not fit: the hint says what it seems to mean, for the model to say so
    itself. Where the host is only warned it runs as it was written."""
    from rightcall.gate.examples import hint  # late, as what is told of a refusal below: most calls fit and pass

    problems = tuple(_problems(verdict))
    found = verdict.found
    warned = mode == "warn" and found is not None and type(found.arguments) is dict
    told = hint(tool.tool, problems, given=found)
    return replace(
        verdict, ok=warned, call=found, repairs=(), problems=problems, hint=told,
        strategy="failed", mode="warn" if warned else "block", retry=True,
    )  # fmt: skip


def _problems(verdict: Verdict) -> Iterator[Problem]:
    for repair in verdict.repairs:
        renamed = isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]
        if renamed:
            meant = f"use `{escaped(repair.after, 60)}` if you meant it"
            says = f"`{escaped(repair.path, 60)}` is not an argument of this tool; {meant}"
            yield Problem("unknown_argument", repair.path, says)
        else:
            where = f"`{escaped(repair.path, 60)}`" if repair.path else "the call"
            yield Problem("value", repair.path, f"{where} is ambiguous ({repair.rule})")


log = LateLog()

_OF_THE_GATE = ("validation", "unknown_tool")
_MOST_NAMES, _LONGEST_NAMES = 1000, 400
"""Of which is kept what rules say of them: models make up any."""
_MOST_WAITING = 200
"""Questions that are looked through for one that a host has answered itself."""


class Here(Struct, frozen=True):
    """Where a call is judged."""

    host: str
    space: str
    policy: Policy
    box: Toolbox
    rights: DoorRights
    root: str
    fixed: bool
    redactor: Redactor
    listed: bool = False
    """Whether the server of this space has told its tools."""
    guarded: tuple[str, ...] = ()
    """Files that no call may touch, as whole paths: the policy, and the audit."""
    origin: Origin | None = None
    """Where the server of this space comes from, where that is known."""
    twins: frozenset[str] = frozenset()
    """Tools of this space whose names only look like another one's."""
    folders: tuple[str, ...] = ()
    """Where relative paths may count from besides the root: the folder that the host, or the server, works in."""
    cwd: str = ""
    """The folder that the host works in, where that is not the root."""
    above: str = ""
    """The folder of the policy, where that is not the root."""
    held: tuple[Held, ...] = ()
    """The root and the server's folder, as they were when the door was opened."""
    names: dict[tuple[str, str], "Named"] = {}
    """What all of this says of a name, kept as long as it holds: by the tool's name and the name that was called."""


class Named(Struct, frozen=True):
    """A tool as rules may name it, whatever its arguments are."""

    whole: str
    others: tuple[str, ...]
    against: Decision | None
    """Why its caller may not use it."""
    called: tuple[str, ...]
    repeatable: bool
    observed: bool


class CallContext(Struct, frozen=True, kw_only=True):
    """What a host knows around a call."""

    caller: str | None = None
    context: str | None = None
    """What groups records, such as a session, and `step` one call or round in it."""
    step: str | None = None
    call_id: str | None = None
    space: str = ""
    """The server whose tool it is."""
    approval: str | None = None
    cwd: str | None = None
    """The folder that the host works in, where it says so: a relative path may count from there too."""


class Asked(Struct, frozen=True):
    """One call, ready to be decided: a request, or why there can be none."""

    name: str
    arguments: Any
    verdict: Verdict
    request: Request | Decision
    rights: Rights
    body: CallBody
    question: ApprovalQuestion
    digest: str
    observed: bool
    tool: Equipped | None = None
    """What it was checked against."""


def asked_of(here: Here, who: Who, name: Any, arguments: Any, around: CallContext, at: int) -> Asked:
    """Never raises: what cannot be judged is refused, and recorded."""
    called = name if isinstance(name, str) else ""
    try:
        return _asked_of(here, who, called, arguments, around, at)
    except Exception as error:
        log.exception("rightcall: checking a call failed")
        return _unjudged(here, who, called, arguments, faulty(error))


def _unjudged(here: Here, who: Who, called: str, arguments: Any, fault: Decision) -> Asked:
    verdict = Verdict(False, None)
    body = fault_body(Written(verdict, full_name(here.space, called)), who, here.redactor)
    observed = here.policy.mode_for(called, here.host) == "observe"
    return Asked(
        called, arguments, verdict, fault, here.rights.rights, replace(body, wire=here.host), ApprovalQuestion(),
        body.digest, observed,
    )  # fmt: skip


class Judged(Struct, frozen=True):
    """One call as it was checked, before anything is recorded of it."""

    written: Written
    tool: Equipped
    request: Request | Decision


def judge_written(here: Here, called: str, arguments: Any, around: CallContext, at: int) -> Judged:
    """What is asked of the policy about a call, or why nothing is."""
    verdict = _checked(here, called, arguments, around.call_id)
    tool = tool_of(here, verdict, called)
    if here.rights.unset and unsure(verdict, tool, here.rights.rights.approval.confidence):
        verdict = as_it_was(verdict, tool, here.policy.mode_for(tool.tool.name, here.host))
    written = Written(verdict, full_name(here.space, called), gate=here.box.gate)
    try:
        request = request_of(here, written, tool, called, Occasion(at, around.approval, around.context))
    except Exception as error:
        log.exception("rightcall: checking a call failed")
        request = faulty(error)
    return Judged(written, tool, request)


def _asked_of(here: Here, who: Who, called: str, arguments: Any, around: CallContext, at: int) -> Asked:
    found = judge_written(here, called, arguments, around, at)
    written, tool, request = found.written, found.tool, found.request
    verdict = written.verdict
    judged = None if isinstance(request, Decision) else request
    body = call_body(written, who, judged, here.redactor)
    inputs = body.inputs
    if isinstance(request, Decision):
        problems = body.problems if request.rule in _OF_THE_GATE else _known_ones(body.problems)
        inputs = UNASKED
        body = replace(body, problems=problems, rights=here.rights.rights.digest, definition=tool.definition[:16])
        shown = ApprovalQuestion()
        request = replace(request, reason=reason_told(request.reason, written.arguments, here.redactor))
    else:
        shown = question(request, verdict, tool.described, "")
    if here.space or here.cwd:
        folder = here.redactor.label(here.cwd) if here.cwd else ""
        inputs = replace(inputs, space=here.space, folder=folder)
    body = replace(body, tool=recorded_name(here, body.tool, judged), wire=here.host, inputs=inputs)
    if verdict.call is not None:
        observed = _named(here, verdict.call.name, called).observed
    else:
        observed = here.policy.mode_for(called, here.host) == "observe"
    digest = written.digest if judged is None else judged.digest
    return Asked(called, arguments, verdict, request, here.rights.rights, body, shown, digest, observed, tool)


def _checked(here: Here, name: str, arguments: Any, call_id: str | None) -> Verdict:
    """Where the host has chosen the tool, a name that is not exactly one we know is another tool's."""
    if here.fixed and here.box.gate.catalog.get(name) is None:
        call = Call(name, arguments, call_id)
        return Verdict(True, call, call)
    verdict = here.box.gate.check(name, arguments, call_id=call_id)
    if not here.fixed:
        return verdict
    tool = here.box.gate.catalog.get(name)
    return _moved(here, verdict, tool) if tool is not None and tool.deprecated and _is_told(verdict, name) else verdict


def _is_told(verdict: Verdict, name: str) -> bool:
    """Whether the model is to read that another tool has replaced this one."""
    is_other = verdict.call is not None and verdict.call.name != name
    return is_other or any(problem.code == "deprecated_tool" for problem in verdict.problems)


def _moved(here: Here, verdict: Verdict, tool: Tool) -> Verdict:
    """The host has chosen a tool that another one has replaced: its input can be changed, which tool runs cannot. Where
    the model is only warned, it runs as it was written."""
    from rightcall.gate.examples import deprecated_hint

    new = own_name(here.host, tool.rules.replaced_by or "")
    tool = replace(tool, rules=replace(tool.rules, replaced_by=new))
    target = here.box.gate.catalog.get(new)
    problem = Problem("deprecated_tool", "", f"`{escaped(tool.name, 100)}` is replaced by `{escaped(new, 100)}`")
    call = verdict.call
    if call is None or call.name == tool.name:
        others = (one for one in verdict.problems if one.code != "deprecated_tool")
        return replace(verdict, problems=(problem, *others), hint=deprecated_hint(tool, target))
    renamed = tool.rules.replacement_arguments
    is_whole = all(call.arguments.get(renamed.get(one, one)) for one in tool.rules.required)
    hint = deprecated_hint(tool, target, call.arguments if is_whole else None)
    warned = verdict.mode == "warn" and verdict.found is not None and type(verdict.found.arguments) is dict
    return replace(
        verdict, ok=warned, call=verdict.found, repairs=(), problems=(problem,), hint=hint, confidence=0.0,
        strategy="failed", mode="warn" if warned else "block", retry=True,
    )  # fmt: skip


def tool_of(here: Here, verdict: Verdict, name: str) -> Equipped:
    call = verdict.call or verdict.found
    called = call.name if call is not None else name
    known = here.box.tools.get(called)
    return known or unknown_tool(here.policy.servers.get(here.space), called, listed=here.listed and not here.fixed)


def request_of(here: Here, written: Written, tool: Equipped, name: str, occasion: Occasion) -> Request | Decision:
    verdict, rights = written.verdict, here.rights.rights
    call = verdict.call or verdict.found
    bare = call.name if call is not None else name
    named = _named(here, bare, name)
    if named.against is not None:
        return named.against
    whole = named.whole
    against = effect_denial(rights, whole, tool.tool.effects)
    if against is not None:
        return against
    arguments: Any = None if verdict.call is None else verdict.call.arguments
    if not verdict.ok or type(arguments) is not dict:
        return _invalid(verdict)
    given = cast("dict[str, Any]", arguments)
    ground = Ground(here.box, here.root, here.folders, here.above, here.held, guesses=True, called=bare)
    request = attempt_request(
        lambda: build_request(tool, canonical(whole, given, here.cwd), rights, verdict, ground, occasion)
    )
    if isinstance(request, Decision):
        return request
    if request.paths or request.command_paths:
        judged = judge_names(tool, request, here.root, here.guarded, here.policy.write.locked)
        if isinstance(judged, Decision):
            return judged
        request = judged
    inner, called, rehearsed = request.inner, named.called, occasion.tighter.rehearse
    if inner:
        unoffered = _unoffered(here, inner)
        if unoffered is not None:
            return unoffered
        others = (*named.others, *(name for tool in inner if tool for name in (tool, *names_meant(here.space, tool))))
        called, inner = _others(others, whole), tuple([full_name(here.space, tool) if tool else tool for tool in inner])
    request = replace(
        request, tool=whole, scopes=here.box.scopes_of(rights, whole), own=False, permit=here.rights.permit,
        called=called, origin=here.origin, repeatable=tool.tool.rules.repeatable or named.repeatable, inner=inner,
    )  # fmt: skip
    dry_run = is_rehearsed(request, rehearsed)
    return request if dry_run == request.dry_run else replace(request, dry_run=dry_run)


def _named(here: Here, bare: str, name: str) -> Named:
    known = here.names.get((bare, name))
    if known is not None:
        return known
    whole, written = full_name(here.space, bare), full_name(here.space, name)
    others = (*names_meant(here.space, bare), *(names_meant(here.space, name) if name != bare else ()), name)
    found = Named(
        whole, others, deny_name(here, whole, bare, written, others), _others(others, whole),
        is_repeatable(here.rights.rights, whole), here.policy.mode_for(bare, here.host) == "observe",
    )  # fmt: skip
    if len(here.names) < _MOST_NAMES and len(bare) + len(name) <= _LONGEST_NAMES:
        here.names[bare, name] = found
    return found


def _unoffered(here: Here, inner: tuple[str, ...]) -> Decision | None:
    """A tool in a batch that the table of its server leaves out."""
    server = here.policy.servers.get(here.space) if here.space else None
    left_out = next((tool for tool in inner if tool and server is not None and not server.offers(tool)), None)
    if left_out is None:
        return None
    return Decision("deny", f"server:{here.space}", not_whitelisted(full_name(here.space, left_out)))


def _others(names: tuple[str, ...], whole: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name != whole))


def deny_name(here: Here, whole: str, bare: str, written: str, others: tuple[str, ...]) -> Decision | None:
    """What the caller may not use comes first, so that no hint tells of it."""
    rights = here.rights.rights
    for name in dict.fromkeys((whole, written, *others)):
        rule = denial(rights, name)
        if rule is not None:
            return Decision("deny", rule, not_whitelisted(name))
    if bare in here.twins:
        return Decision("deny", "name:lookalike", not_whitelisted(whole))
    if is_outside(rights, whole):
        return Decision("deny", "caller:only", not_whitelisted(whole))
    server = here.policy.servers.get(here.space) if here.space else None
    if server is not None and not server.offers(bare):
        return Decision("deny", f"server:{server.name}", not_whitelisted(whole))
    if not permission(rights, whole) and not here.rights.permit:
        return Decision("deny", "allowlist", not_whitelisted(whole))
    return None


def _invalid(verdict: Verdict) -> Decision:
    unknown = any(problem.code == "unknown_tool" for problem in verdict.problems)
    problems = "; ".join(problem.message for problem in verdict.problems)
    if not problems:
        return UNREADABLE
    rule = "unknown_tool" if unknown else "validation"
    return Decision("deny", rule, f"Validation failed: {problems}", verdict.hint)


def _known_ones(problems: tuple[dict[str, str], ...]) -> tuple[dict[str, str], ...]:
    """The gate does not know what a caller may not use; in the record that is denied, and not unknown."""
    return tuple(one for one in problems if one.get("code") != "unknown_tool")


def recorded_name(here: Here, tool: str, request: Request | None) -> str:
    if request is not None:
        return request.tool
    return tool if not here.space or tool.startswith(f"{here.space}/") else full_name(here.space, tool)


def noted(tables: Tables, context: str | None, step: str, end: EndBody, host: str) -> bool:
    """Complete the record of a call that another process judged; False when there is none that is still open."""
    for seq in reversed(tables.running()):
        entry = tables.entry(seq)
        if entry is not None and _is_of(entry, context, step):
            body = read_call(entry.body)
            finish(tables, seq, end, body.digest if set(body.effects) - {"read"} else None)
            return True
    for entry in tables.newest(_MOST_WAITING, ("waiting",)):
        if _is_of(entry, context, step) and not tables.belonging(entry.seq):
            _ran_after_all(tables, entry, end, host)
            return True
    return False


def _is_of(entry: AuditEntry, context: str | None, step: str) -> bool:
    body = read_call(entry.body)
    return body.step == step and body.context == context


def _ran_after_all(tables: Tables, waiting: AuditEntry, end: EndBody, host: str) -> None:
    """A person has said yes in the host: its question here is answered, and what ran is recorded."""
    body = read_call(waiting.body)
    about = None if body.approval is None else tables.approval(body.approval)
    by = f"(in {host})"
    seq = tables.append("begin", 0, encode(replace(body, decision="allow", rule="approval:host")))
    if about is not None and about.status == "waiting":
        used = replace(about, status="used", by=by, answered=tables.wall(), used_by=seq, canonical="", details="{}")
        tables.put_approval(used)
        said = AnswerBody(about.id, "approved", by, about.digest, about.kind, about.tool, about.caller)
        tables.append("answer", waiting.seq, encode(said))
    finish(tables, seq, end, body.digest if set(body.effects) - {"read"} else None)


# ── the passage ──
# What a door says of one call, and the words in which it says it.

Action = Literal["allow", "deny", "ask"]

_MOST_CORRECTIONS = 5


class Passage(Struct, frozen=True):
    """One call at a door: what the host is to do with it. Where the door only observes it is always let through as it
    was written, and `verdict` and `decision` say what would have been."""

    action: Action
    name: str
    """The tool to run, as its host or server calls it."""
    arguments: Any
    changed: bool
    """Whether name or arguments are others than were written."""
    message: str
    """What the model should read: why not, and what would be right; where it only warns, the warning; else empty."""
    why: str
    """For the person who is asked."""
    verdict: Verdict
    decision: Decision
    observed: bool = False
    request: Request | None = None
    admission: Admission = Admission(Decision("deny", ""), 0)
    desk: str = ""
    """Where a person answers, as options of the command that does it."""

    @property
    def approval(self) -> str | None:
        """The approval it waits for, or that it uses."""
        return self.decision.approval

    @property
    def call(self) -> int:
        """The number of its record, 0 where there is none."""
        return self.admission.call


def passage(
    asked: "Asked", admission: Admission, request: Request | None, *, observed: bool, desk: str | None = ""
) -> Passage:
    """`desk` says where a person answers; None: the text is read on another machine, which is told no command and no
    path of this one."""
    name, arguments, verdict, decision = asked.name, asked.arguments, asked.verdict, admission.decision
    if observed:
        return Passage("allow", name, arguments, False, "", "", verdict, decision, True, request, admission)
    call = verdict.call
    if decision.kind == "allow" and call is not None:
        changed = call.name != name or call.arguments != arguments
        warning = verdict.hint or "" if verdict.mode == "warn" and verdict.problems else ""
        return Passage(
            "allow", call.name, call.arguments, changed, warning, "", verdict, decision, False, request, admission
        )
    if decision.kind == "ask" and call is not None:
        message, why = _waiting(decision, desk), _reason(decision, verdict)
        changed = call.name != name or call.arguments != arguments
        return Passage(
            "ask",
            call.name,
            call.arguments,
            changed,
            message,
            why,
            verdict,
            decision,
            False,
            request,
            admission,
            desk or "",
        )
    told = _refusal(verdict, admission, desk)
    return Passage("deny", name, arguments, False, told, "", verdict, decision, False, request, admission)


def dry_run_text(request: Request) -> str:
    """What a model reads of a call that was not run."""
    return f"Dry run: nothing was changed. This call would be made: {escaped(request.canonical.decode(), 2000)}"


def _refusal(verdict: Verdict, admission: Admission, desk: str | None) -> str:
    decision = admission.decision
    if decision.kind == "dry_run":
        return decision.reason
    if decision.rule in ("validation", "unknown_tool") and verdict.hint:
        return stubborn_hint(admission, verdict.hint) or verdict.hint
    from rightcall.executor.messages import error_content

    hint = stubborn_hint(admission, decision.hint)
    if decision.rule == FULL and desk is not None:  # a host's user says no in the host, which does not tell of it
        hint = f"{hint or ''} A person sees what waits with `rightcall approvals list{desk}`.".strip()
    return error_content(decision.reason, hint)


def _waiting(decision: Decision, desk: str | None) -> str:
    """Nothing in it is of the model's own words."""
    from rightcall.executor.messages import error_content

    waiting = decision.approval
    if desk is None:
        pending = f"Approval {waiting} is pending. Do not retry yet. After approval, send the identical call."
        return error_content(decision.reason, pending)
    return error_content(
        decision.reason,
        f"Approval {waiting} is pending. Do not retry yet. After approval, send the identical call. "
        f"A person approves it with `rightcall approvals approve {waiting}{desk}`.",
    )


def _reason(decision: Decision, verdict: Verdict) -> str:
    changes = [_correction(repair) for repair in verdict.repairs[:_MOST_CORRECTIONS]]
    corrected = f" RightCall corrected the call: {', '.join(changes)}." if changes else ""
    return f"{decision.reason} ({decision.rule}).{corrected}"


def _correction(repair: Repair) -> str:
    if isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]:
        return f"`{escaped(str(repair.before), 60)}` is `{escaped(repair.after, 60)}`"
    return f"`{escaped(repair.path or 'the call', 60)}` ({repair.rule})"

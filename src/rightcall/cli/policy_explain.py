"""`rightcall policy explain`: what would be decided for a caller and a tool, by which rule, and what every other policy
says. The very policies that decide are asked; nothing runs and nothing is recorded."""

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing
from difflib import get_close_matches
from typing import Any, cast

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.catalog.toml import dotted
from rightcall.cli import OK
from rightcall.cli.options import InputError, load_tools, open_store, policy_of, policy_path, read_argument
from rightcall.cli.terminal import Style, Tint, effect_words, hang, tell
from rightcall.executor.request import Ground, Occasion, build_request, canonical
from rightcall.executor.shipped import Hands, shipped_tools
from rightcall.executor.toolbox import Equipped, Toolbox, build_toolbox
from rightcall.policy.decide import POLICIES, decide, may_use
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import STAGES, Budgets, Policy, Rights
from rightcall.policy.types import Decision, DecisionKind, Facts, Request, count_since
from rightcall.record.memory import MemoryStore, Premises, store_path
from rightcall.record.tables import Store
from rightcall.tools.functions import LocalTool, local_tool
from rightcall.types import Verdict

KNOWN_PACK = "code"
_SAID: dict[DecisionKind, tuple[str, str, Tint]] = {
    "allow": ("✓", "would run", "green"),
    "dry_run": ("○", "would be a dry run", "yellow"),
    "ask": ("?", "would wait for a person", "yellow"),
    "deny": ("✗", "would be refused", "red"),
}
_WORDS: dict[DecisionKind, str] = {"allow": "passes", "dry_run": "dry run", "ask": "asks", "deny": "denied"}
_PERIODS = {"minute": "a minute", "hour": "an hour", "burst": "a second"}
_LABEL = 12


class Step(Struct, frozen=True):
    """What one policy says; None for nothing."""

    policy: str
    word: Decision | None
    decides: bool


class Limit(Struct, frozen=True):
    """A window that counts this call; `used` is how full it is, None when nobody looked."""

    rule: str
    calls: int
    used: int | None


class Explanation(Struct, frozen=True):
    """Everything that `explain` can say."""

    policy: Policy
    file: str | None
    caller: str
    named: bool
    """Whether the policy has a table for this caller."""
    tool: Equipped
    rights: Rights
    decision: Decision
    steps: tuple[Step, ...]
    limits: tuple[Limit, ...]
    budgets: Budgets
    verdict: Verdict | None
    """What the gate says of the arguments; None when there were none."""
    live: bool


def run(options: Namespace) -> int:
    found = explain(options)
    tell(options, record(found), lambda style: report(found, style))
    return OK


def explain(options: Namespace) -> Explanation:
    """Raises ConfigError for a wrong file or name, StoreError when there is no store to look into."""
    name, written = _words(options)
    file = policy_path(options)
    policy = policy_of(options)
    toolbox = _toolbox(policy, file, options)
    tool = _tool(toolbox, name)
    verdict = None if written is None else toolbox.gate.check(name, read_argument(written))
    rights = toolbox.rights_of(options.caller)
    with closing(open_store(options) if options.live else MemoryStore()) as store:
        request = _request(toolbox, tool, verdict, rights, store, options.root)
        decision, steps, limits = store.look(lambda facts: _judged(request, facts, live=options.live))
    if (
        verdict is not None
        and not verdict.ok
        and may_use(rights, tool.tool.name, own=tool.own, effects=tool.tool.effects)
    ):
        decision = _invalid(verdict)
        steps = (Step("arguments", decision, True), *(Step(one.policy, one.word, False) for one in steps))
    return Explanation(
        policy=policy,
        file=file,
        caller=options.caller,
        named=options.caller in policy.settings.callers,
        tool=tool,
        rights=rights,
        decision=decision,
        steps=steps,
        limits=limits,
        budgets=rights.budgets_of_tools.get(tool.tool.name, rights.budgets),
        verdict=verdict,
        live=options.live,
    )


def _words(options: Namespace) -> tuple[str, str | None]:
    """TOOL and ARGS; a policy file before them is put where `--policy` would."""
    words: list[str] = list(options.words)
    if len(words) > 1 and words[0].endswith(".toml"):
        if options.policy is not None:
            raise InputError("the policy file is named twice: as FILE and by --policy")
        options.policy = words.pop(0)
    if len(words) > 2:
        raise InputError('explain takes [FILE] TOOL [ARGS]; quote ARGS, as in \'{"path": "src"}\'')
    if options.store is not None and not options.live:
        raise InputError("`--store` needs `--live`")
    if not options.caller.strip() or not options.caller.isprintable():
        raise InputError("--as needs the name of a caller")
    return words[0], words[1] if len(words) > 1 else None


def _toolbox(policy: Policy, file: str | None, options: Namespace) -> Toolbox:
    """The functions and definitions that were named, the policy's packs, and the tools that ship with us as an executor
    has them: known by the same digest, and kept from the same files."""
    given: list[Any] = load_tools(options.tools)
    ours = [one for one in given if isinstance(one, LocalTool) or (callable(one) and not isinstance(one, type))]
    others = [one for one in given if not any(one is other for other in ours)]
    packs = tuple(dict.fromkeys((KNOWN_PACK, *options.pack)))
    root = os.path.abspath(options.root)
    premises = Premises(root, file, store_path(policy, file, root))
    shipped = shipped_tools(premises, policy, MemoryStore, (*policy.packs, *packs), Hands())
    own = {one.name: one for one in map(local_tool, ours)}
    return build_toolbox(policy, (shipped | own).values(), others, premises.protected, packs=packs)


def _tool(toolbox: Toolbox, name: str) -> Equipped:
    match = toolbox.gate.catalog.find(name)
    if match.tool is not None:
        return toolbox.tools[match.tool.name]
    near = " or ".join(f"`{one}`" for one in match.suggestions)
    known = "add others with `--tools` or `--pack`"
    raise InputError(f"unknown tool `{name}`: " + (f"did you mean {near}? ({known})" if near else known))


def _request(
    toolbox: Toolbox, tool: Equipped, verdict: Verdict | None, rights: Rights, store: Store, root: str
) -> Request:
    """The request as the executor builds it; arguments that are not known, or not right, count as none."""
    call = verdict.call if verdict is not None and verdict.ok else None
    given: Any = {} if call is None else call.arguments
    try:
        exact = canonical(tool.tool.name, cast("dict[str, Any]", given) if isinstance(given, dict) else {})
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise InputError(f"the arguments are no JSON: {fault}") from None
    found = verdict or Verdict(True, None)
    ground = Ground(toolbox, os.path.abspath(root))
    return build_request(tool, exact, rights, found, ground, Occasion(store.clock.now()))


def _judged(request: Request, facts: Facts, *, live: bool) -> tuple[Decision, tuple[Step, ...], tuple[Limit, ...]]:
    """The decision, the word of each policy beside it, and the limits that count the call."""
    decision = decide(request, facts)
    words = [(name, policy(request, facts)) for name, policy in POLICIES]
    deciding = next((name for name, word in words if word == decision and word is not None), None)
    steps = tuple(Step(name, word, name == deciding) for name, word in words)
    return decision, steps, tuple(_limits(request, facts, live=live))


def _limits(request: Request, facts: Facts, *, live: bool) -> Iterator[Limit]:
    for scope in request.scopes:
        for calls, length, rule in scope.windows:
            used = count_since(facts, scope.name, request.at - length, calls) if live else None
            yield Limit(rule, calls, used)


def _invalid(verdict: Verdict) -> Decision:
    problems = "; ".join(problem.message for problem in verdict.problems) or "the arguments cannot be read"
    return Decision("deny", "validation", f"Validation failed: {problems}", verdict.hint)


def record(found: Explanation) -> dict[str, Any]:
    """The plain object that `--json` prints."""
    tool = found.tool.tool
    return {
        "caller": found.caller,
        "tool": tool.name,
        "decision": {name: getattr(found.decision, name) for name in ("kind", "rule", "reason", "hint", "retry_after")},
        "policies": [
            {
                "policy": step.policy,
                "says": "no opinion" if step.word is None else _WORDS[step.word.kind],
                "rule": step.word.rule if step.word else None,
                "reason": (step.word.reason or None) if step.word else None,
                "decides": step.decides,
            }
            for step in found.steps
        ],
        "limits": [{"rule": limit.rule, "calls": limit.calls, "used": limit.used} for limit in found.limits],
        "budgets": {key: getattr(found.budgets, key) for key in found.budgets.__struct_fields__},
        "stage": found.rights.stage,
        "effects": sorted(tool.effects),
        "effects_declared": tool.effects_declared,
        "file": found.file,
        "digest": found.policy.digest,
        "named": found.named,
        "live": found.live,
    }


def report(found: Explanation, style: Style) -> list[str]:
    """Line by line."""
    tool, decision, budgets = found.tool.tool, found.decision, found.budgets
    mark, words, tint = _SAID[decision.kind]
    effects = effect_words(tool.effects if tool.effects_declared else None)
    unjudged = "no arguments were given, so nothing that depends on them: paths, repeats"
    rows = [
        ("rule", decision.rule),
        ("reason", escaped(decision.reason)),
        _advice(found),
        ("policy", _source(found)),
        ("caller", _caller(found)),
        ("tool", f"{escaped(tool.source)}; {effects}"),
        *_labelled("policies", (_step(step, style) for step in found.steps)),
        *_labelled("limits", (f"{limit.rule:<20}  {_limit(limit)}" for limit in found.limits)),
        ("budgets", f"{budgets.seconds:g} s, {budgets.tokens} tokens shown, {budgets.output} bytes kept"),
        ("not judged", unjudged if found.verdict is None else ""),
    ]
    headline = f"{mark} {escaped(tool.name, 100)} by {escaped(found.caller, 100)} {words}"
    lines = [style.tint(headline, tint, "bold")]
    return lines + [line for label, text in rows if text for line in hang(f"  {label:<{_LABEL}}  ", text, style)]


def _labelled(label: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The label stands before the first."""
    return (("" if number else label, text) for number, text in enumerate(texts))


def _source(found: Explanation) -> str:
    if found.file is None:
        return "the defaults: no rightcall.toml here"
    return f"{escaped(found.file)} ({found.policy.digest})"


def _caller(found: Explanation) -> str:
    stage = f"stage {found.rights.stage}" if found.rights.stage else "only what its own list names"
    if found.named:
        return f"has a table of its own; {stage}"
    near = get_close_matches(found.caller, found.policy.settings.callers, n=1)
    hint = f" (did you mean {escaped(near[0], 60)}?)" if near else ""
    return f"not named in the policy{hint}, so what holds for everybody; {stage}"


def _advice(found: Explanation) -> tuple[str, str]:
    """How to allow what only a list or a word on its effects forbids."""
    name = found.tool.tool.name
    line = line_to_add(found.decision.rule, name, found.tool.tool.effects)
    if line and (found.rights.stage or found.decision.rule != "allowlist"):
        return "to allow it", escaped(line)
    if found.decision.rule != "allowlist":
        return "hint", escaped(found.decision.hint or "")
    stage = next((stage for stage, tools in STAGES.items() if name in tools), None)
    by_stage = f'stage = "{stage}" has it; ' if stage and found.rights.stage else ""
    key = "allow" if found.rights.stage else "only"
    table = escaped(dotted(("callers", found.caller)))
    return "to allow it", f'{by_stage}{key} = ["{escaped(name, 100)}"] in [{table}]'


def _step(step: Step, style: Style) -> str:
    said = "no opinion" if step.word is None else _WORDS[step.word.kind]
    rule = f"  {step.word.rule}" if step.word else ""
    text = f"{step.policy:<10}  {said:<10}{rule}{'  ◀ decides' if step.decides else ''}"
    return text if step.word else style.tint(text, "dim")


def _limit(limit: Limit) -> str:
    words = f"{limit.calls} {_PERIODS[limit.rule.rpartition(':')[2]]}"
    return words if limit.used is None else f"{words}, {limit.used} used"

"""What `rightcall policy explain` found, for people and for programs."""

import sys
from argparse import Namespace
from difflib import get_close_matches
from typing import Any

from rightcall.cli import OK
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.policy_explain import Explanation, Limit, Step, explain
from rightcall.cli.signature import effect_words
from rightcall.cli.terminal import Style, Tint, say, style_for, wrap
from rightcall.packs.source import dotted
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, DecisionKind

_SAID: dict[DecisionKind, tuple[str, str, Tint]] = {
    "allow": ("✓", "would run", "green"),
    "dry_run": ("○", "would be a dry run", "yellow"),
    "ask": ("?", "would wait for a person", "yellow"),
    "deny": ("✗", "would be refused", "red"),
}
_WORDS: dict[DecisionKind, str] = {"allow": "passes", "dry_run": "dry run", "ask": "asks", "deny": "denied"}
_PERIODS = {"minute": "a minute", "hour": "an hour", "burst": "a second"}
_LABEL = 12


def run(options: Namespace) -> int:
    found = explain(options)
    if options.json:
        say(json_text(record(found), ascii_only=not is_unicode(sys.stdout)))
    else:
        say(*report(found, style_for(sys.stdout)))
    return OK


def record(found: Explanation) -> dict[str, Any]:
    """The plain object that `--json` prints."""
    tool = found.tool.tool
    return {
        "caller": found.caller,
        "tool": tool.name,
        "decision": _decision(found.decision),
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


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "kind": decision.kind,
        "rule": decision.rule,
        "reason": decision.reason,
        "hint": decision.hint,
        "retry_after": decision.retry_after,
    }


def report(found: Explanation, style: Style) -> list[str]:
    """Line by line."""
    tool = found.tool.tool
    mark, words, tint = _SAID[found.decision.kind]
    effects = effect_words(tool.effects if tool.effects_declared else None)
    lines = [
        style.tint(f"{mark} {escaped(tool.name, 100)} by {escaped(found.caller, 100)} {words}", tint, "bold"),
        *_row("rule", found.decision.rule, style),
        *(_row("reason", escaped(found.decision.reason), style) if found.decision.reason else []),
        *_advice(found, style),
        *_row("policy", _source(found), style),
        *_row("caller", _caller(found), style),
        *_row("tool", f"{escaped(tool.source)}; {effects}", style),
    ]
    for number, step in enumerate(found.steps):
        lines += _step(step, style, first=number == 0)
    for number, limit in enumerate(found.limits):
        lines += _row("" if number else "limits", f"{limit.rule:<20}  {_limit(limit)}", style)
    lines += _row("budgets", _budgets(found), style)
    if found.verdict is None:
        lines += _row("not judged", "no arguments were given, so nothing that depends on them: paths, repeats", style)
    return lines


def _source(found: Explanation) -> str:
    if found.file is None:
        return "the defaults: there is no rightcall.toml here"
    return f"{escaped(found.file)} ({found.policy.digest})"


def _caller(found: Explanation) -> str:
    stage = f"stage {found.rights.stage}" if found.rights.stage else "only what its own list names"
    if found.named:
        return f"has a table of its own; {stage}"
    near = get_close_matches(found.caller, found.policy.settings.callers, n=1)
    hint = f" (did you mean {escaped(near[0], 60)}?)" if near else ""
    return f"not named in the policy{hint}, so what holds for everybody; {stage}"


def _advice(found: Explanation, style: Style) -> list[str]:
    """How to allow what only a list forbids."""
    if found.decision.rule != "allowlist":
        return [] if found.decision.hint is None else _row("hint", escaped(found.decision.hint), style)
    stage = found.stage_that_has_it
    by_stage = f'stage = "{stage}" has it; ' if stage and found.rights.stage else ""
    key = "allow" if found.rights.stage else "only"
    table = escaped(dotted(("callers", found.caller)))
    return _row("to allow it", f'{by_stage}{key} = ["{escaped(found.tool.tool.name, 100)}"] in [{table}]', style)


def _step(step: Step, style: Style, *, first: bool) -> list[str]:
    said = "no opinion" if step.word is None else _WORDS[step.word.kind]
    rule = f"  {step.word.rule}" if step.word else ""
    decides = "  ◀ decides" if step.decides else ""
    text = f"{step.policy:<10}  {said:<10}{rule}{decides}"
    return _row("policies" if first else "", text if step.word else style.tint(text, "dim"), style)


def _limit(limit: Limit) -> str:
    words = f"{limit.calls} {_PERIODS[limit.rule.rpartition(':')[2]]}"
    return words if limit.used is None else f"{words}, {limit.used} used"


def _budgets(found: Explanation) -> str:
    budgets = found.budgets
    return f"{budgets.seconds:g} s, {budgets.tokens} tokens shown, {budgets.output} bytes kept"


def _row(label: str, text: str, style: Style) -> list[str]:
    first, *more = wrap(text, max(20, style.width - _LABEL - 4))
    return [f"  {label:<{_LABEL}}  {first}", *(" " * (_LABEL + 4) + piece for piece in more)]

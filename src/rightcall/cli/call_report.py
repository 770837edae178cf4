"""An outcome for people and for programs: what ran, what came of it, and with --explain everything that led to it."""

from typing import Any

from rightcall.cli.code_report import code_lines
from rightcall.cli.output import call_record, repair_record
from rightcall.cli.render import labelled, repair_lines, value_text
from rightcall.cli.terminal import Style, harmless_lines
from rightcall.present.messages import Outcome
from rightcall.text.escape import cut_counted, escaped

_LONGEST = 4000
_KINDS = {"allow": "allowed", "dry_run": "only rehearsed", "ask": "has to be asked for", "deny": "denied"}


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """The plain object that `--json` prints."""
    decision, metadata = outcome.decision, outcome.metadata
    return {
        "ok": outcome.ok,
        "success": outcome.ok,
        "status": outcome.status,
        "tool": outcome.tool,
        "call": call_record(outcome.call),
        "result": outcome.result,
        "content": outcome.content,
        "error": outcome.error,
        "hint": outcome.hint,
        "summary": outcome.summary,
        "decision": None
        if decision is None
        else {
            "kind": decision.kind,
            "rule": decision.rule,
            "reason": decision.reason,
            "retry_after": decision.retry_after,
            "approval": decision.approval,
            "grant": decision.grant,
        },
        "repairs": [repair_record(repair) for repair in outcome.repairs],
        "metadata": {
            "executionTime": metadata.execution_time,
            "tokenEstimate": metadata.token_estimate,
            "cached": metadata.cached,
            "record": metadata.call,
            "recorded": metadata.recorded,
            "stages": dict(metadata.stages),
        },
    }


def report(outcome: Outcome, style: Style, *, explain: bool = False) -> list[str]:
    """Line by line."""
    lines = [_headline(outcome, style)]
    asked: dict[str, Any] = outcome.call.arguments if outcome.call is not None else {}
    shown = code_lines(outcome.tool, outcome.result, style, asked) if outcome.ok else None
    if shown is not None:
        lines += shown
    elif outcome.ok:
        text = outcome.result if isinstance(outcome.result, str) else value_text(outcome.result)
        lines += labelled("result", harmless_lines(cut_counted(text, _LONGEST)), style)
    else:
        lines += labelled("error", harmless_lines(outcome.error or ""), style)
    if outcome.hint:
        lines += labelled("hint", harmless_lines(outcome.hint), style)
    if outcome.metadata.call:
        lines += labelled("record", [f"{outcome.metadata.call}  (rightcall audit show {outcome.metadata.call})"], style)
    if not outcome.metadata.recorded and outcome.ok:
        lines += labelled("not recorded", ["it ran, but its outcome is not in the audit yet"], style)
    return lines + (_explained(outcome, style) if explain else [])


def _headline(outcome: Outcome, style: Style) -> str:
    name, taken = escaped(outcome.tool, 100), f"{outcome.metadata.execution_time:.1f} ms"
    if outcome.decision is not None and outcome.decision.kind == "dry_run":
        return style.tint(f"○ {name} was rehearsed: a dry run, nothing was changed", "yellow", "bold")
    match outcome.status:
        case "success":
            cached = ", from the cache" if outcome.metadata.cached else ""
            return style.tint(f"✓ {name} ran in {taken}{cached}", "green", "bold")
        case "waiting":
            return style.tint(f"… {name} waits for a person", "yellow", "bold")
        case "failed":
            return style.tint(f"✗ {name} failed after {taken}", "red", "bold")
        case _:
            return style.tint(f"✗ {name} was refused", "red", "bold")


def _explained(outcome: Outcome, style: Style) -> list[str]:
    lines: list[str] = []
    if outcome.call is not None:
        lines += labelled("what ran" if outcome.ok else "the call", [value_text(outcome.call.arguments)], style)
    lines += labelled("repaired", repair_lines(outcome.repairs) or ["nothing"], style)
    if outcome.decision is not None:
        decided = f"{_KINDS[outcome.decision.kind]} by rule {outcome.decision.rule}"
        if outcome.decision.approval:
            decided += f", approval {outcome.decision.approval}"
        lines += labelled("decision", [decided], style)
    lines += labelled("tokens", [f"about {outcome.metadata.token_estimate}"], style)
    stages = [f"{stage} {taken:.2f} ms" for stage, taken in outcome.metadata.stages.items()]
    return lines + labelled("stages", ["  ".join(stages)], style)

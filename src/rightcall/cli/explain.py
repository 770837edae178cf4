"""`rightcall check --explain`: the same verdict with everything that led to it."""

from typing import TYPE_CHECKING

from rightcall.cli.render import labelled, value_text
from rightcall.cli.terminal import Style
from rightcall.text.escape import escaped
from rightcall.types import Verdict

if TYPE_CHECKING:
    from rightcall.gate import Gate

_STRATEGIES = {
    "direct": "it was right as written",
    "python_ast": "read as Python literals",
    "regex_quotes": "quotes put right",
    "structure": "text, names or types put right, led by the schema",
    "manual_repair": "put right by a rule made for this tool",
    "failed": "no strategy gave a certain result",
}


def explanation(verdict: Verdict, name: str, gate: "Gate", style: Style) -> list[str]:
    """How the call was read, which tool it was taken for, and what strategy, confidence and mode mean."""
    lines: list[str] = []
    if verdict.ok and verdict.found is not None:
        lines += labelled("read as", [value_text(verdict.found.arguments)], style)
    lines += labelled("strategy", [f"{verdict.strategy}: {_STRATEGIES[verdict.strategy]}"], style)
    if verdict.ok:
        lines += labelled("confidence", [f"{verdict.confidence:.2f}: the lowest of all repairs, 1 is certain"], style)
    lines += labelled("mode", [_mode(verdict)], style)
    return lines + _tool(verdict, name, gate, style)


def _mode(verdict: Verdict) -> str:
    return {
        "block": "block: a call with problems is refused",
        "warn": "warn: a call with problems runs, and the model is told",
        "observe": "observe: nothing is changed or refused, only reported",
    }[verdict.mode]


def _tool(verdict: Verdict, name: str, gate: "Gate", style: Style) -> list[str]:
    from rightcall.cli.tools import summary

    called = verdict.call.name if verdict.call else name
    tool = gate.catalog.get(called)
    if tool is None:
        known = ", ".join(map(escaped, gate.catalog.names[:20])) or "none: give --tools or --pack"
        return labelled("tools known", [known], style)
    return labelled("the tool", summary(tool, style)[:-1], style)

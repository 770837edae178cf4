"""Repairs that are not sure enough to run by themselves, where nobody can be asked about them."""

from collections.abc import Iterator

from msgspec.structs import replace

from rightcall.executor_toolbox import Equipped
from rightcall.text.escape import escaped
from rightcall.types import Mode, Problem, Verdict
from rightcall.validate import hint


def unsure(verdict: Verdict, tool: Equipped, confidence: float) -> bool:
    """Whether a call that does more than read was repaired with less confidence than that (P-10)."""
    return verdict.ok and bool(verdict.repairs) and tool.side_effects and verdict.confidence < confidence


def as_it_was(verdict: Verdict, tool: Equipped, mode: Mode) -> Verdict:
    """The call is what the model wrote, and does not fit: the hint says what it seems to mean, for the model to say so
    itself. Where the host is only warned it runs as it was written."""
    problems = tuple(_problems(verdict))
    found = verdict.found
    warned = mode == "warn" and found is not None and type(found.arguments) is dict
    return replace(
        verdict, ok=warned, call=found, repairs=(), problems=problems, hint=hint(tool.tool, problems),
        strategy="failed", mode="warn" if warned else "block", retry=True,
    )  # fmt: skip


def _problems(verdict: Verdict) -> Iterator[Problem]:
    for repair in verdict.repairs:
        renamed = isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]
        if renamed:
            says = (
                f"`{escaped(repair.path, 60)}` is no argument of it; if you meant `{escaped(repair.after, 60)}`, say so"
            )
            yield Problem("unknown_argument", repair.path, says)
        else:
            where = f"`{escaped(repair.path, 60)}`" if repair.path else "the call"
            yield Problem("value", repair.path, f"{where} cannot be read with certainty ({repair.rule})")

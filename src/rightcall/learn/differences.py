"""What a replay says of a call: the same, another decision, or that it cannot be known; and which kinds of change that
is.

    Word before, Word after ─▶ kinds_of ─▶ Change, or Same
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

from rightcall.record.tables import CallBody

Missing = Literal[
    "older", "unreadable", "erased", "partial", "pruned", "policy", "redacted", "grant", "tools", "rebuilt", "outcome",
]  # fmt: skip
"""Why a call cannot be decided again."""
WHY: Final[Mapping[Missing, str]] = {
    "older": "recorded by a version that kept fewer facts",
    "unreadable": "the record cannot be read",
    "erased": "its content was erased",
    "partial": "a path in it was too long to be kept",
    "pruned": "recorded within an hour after the oldest record left; what counted towards its limits was pruned",
    "policy": "the store no longer has the policy that decided it",
    "redacted": "the decision depends on arguments that were redacted or truncated",
    "grant": "it depends on a grant whose conditions were redacted",
    "outcome": "it repeats a call that only the new policy would have run; the result of that call is unknown",
    "tools": "the tool definitions it was checked against are not on record; pass `--tools FILE`",
    "rebuilt": "checking it again under its own policy does not give what was recorded: a file, a link or a tool has "
    "changed since",
}

Kind = Literal["loosened", "tightened", "refused", "asked", "allowed", "repaired", "arguments", "rule", "cost"]
KINDS: Final[Mapping[Kind, str]] = {
    "loosened": "less is refused or asked than before",
    "tightened": "more is refused or asked than before",
    "refused": "a call that was not refused is refused",
    "asked": "a call that ran, or was refused, asks a person",
    "allowed": "a call that did not run runs",
    "repaired": "a call that the gate refused is repaired",
    "arguments": "a call has other arguments, or is for another tool",
    "rule": "the decision is the same, by another rule",
    "cost": "a result may take more or fewer tokens",
}

_STRICTNESS: Final = {"allow": 0, "passed": 0, "ask": 1, "dry_run": 2, "deny": 3}
_GATE: Final = ("validation", "unknown_tool", "deprecated")


class Word(Struct, frozen=True):
    """What was decided of a call, or would be."""

    decision: str
    rule: str
    observed: bool = False
    """It ran, whatever was decided."""
    tool: str = ""
    params: Any = None


class Change(Struct, frozen=True):
    """A call that would be decided otherwise."""

    seq: int
    at: str
    caller: str
    before: Word
    after: Word
    kinds: tuple[Kind, ...]
    emission: Any = None
    tokens: tuple[int, int] | None = None
    """What its result took, and would take at most."""
    is_indirect: bool = False
    """The policy decides it as before, and calls before it otherwise: one of them no longer uses up a limit, say."""


class Same(Struct, frozen=True):
    """A call that would be decided as it was."""

    seq: int


class Unknown(Struct, frozen=True):
    """A call that cannot be decided again."""

    seq: int
    why: Missing


Again = Change | Same | Unknown


class Totals(Struct):
    """What was asked of people and told to models, before and after."""

    questions: list[int] = field(default_factory=lambda: [0, 0])
    tokens: list[int] = field(default_factory=lambda: [0, 0])


def word_before(body: CallBody, *, both_observed: bool) -> Word:
    if body.rule == "observe" and both_observed:
        kind, _, rest = body.reason.partition(" by ")
        rule = rest.partition(": ")[0]
        return Word(kind or "allow", rule, True, body.tool, body.params)
    return Word(body.decision, body.rule, body.rule == "observe", body.tool, body.params)


def kinds_of(body: CallBody, before: Word, after: Word, *, is_judged: bool, is_other: bool) -> tuple[Kind, ...]:
    found: list[Kind] = []
    one, other = _STRICTNESS[before.decision], _STRICTNESS[after.decision]
    if other != one:
        found.append("loosened" if other < one else "tightened")
    if after.decision == "deny" != before.decision:
        found.append("refused")
    if after.decision == "ask" != before.decision:
        found.append("asked")
    if after.decision == "allow" and before.decision not in ("allow", "passed"):
        found.append("allowed")
    refused_by_gate = body.inputs.unasked and before.rule.startswith(_GATE)
    if refused_by_gate and is_judged:
        found.append("repaired")
    elif is_other and after.decision != "deny" and before.decision != "deny":
        found.append("arguments")
    if not found and before.rule and after.rule != before.rule:
        found.append("rule")
    return tuple(found)

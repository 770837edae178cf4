"""The list of changes made to one call, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.base.json.marks import REPAIRING, repairs_of
from rightcall.base.json.reader import Read
from rightcall.gate.repair.words import joined, words_of
from rightcall.types import Problem, ProblemCode, Repair, StrategyName, UnknownArgument

MOST_ATTEMPTS = 2_000
"""So many alternatives of a schema are tried in one call; a value that needs more is left as it is, and refused."""

_DECLARED = frozenset({"alias", "value_alias", "tool_repair"})


class Log:
    """Collects repairs and problems, and knows what is allowed: which strategies, and what to do with strangers.

    A change that names no strategy was led by the schema.
    """

    __slots__ = ("attempts", "beside", "lossy", "problems", "repairs", "strategies", "unknown")

    def __init__(self, unknown: UnknownArgument = "drop", strategies: frozenset[StrategyName] = REPAIRING) -> None:
        self.unknown: UnknownArgument = unknown
        self.strategies = strategies
        self.repairs: list[Repair] = []
        self.problems: list[Problem] = []
        self.lossy = False  # the text had digits that a number does not keep: 1.10
        self.beside: Mapping[str, str] = {}  # what the siblings of a value say of its unit
        self.attempts = [MOST_ATTEMPTS]  # a list, so that trials draw from the same

    def add(
        self, path: str, before: Any, after: Any, rule: str, confidence: float, strategy: StrategyName | None = None
    ) -> None:
        known: StrategyName = strategy or ("manual_repair" if rule in _DECLARED else "structure")
        self.repairs.append(Repair(path, before, after, known, rule, confidence))

    @property
    def led(self) -> bool:
        """Whether the schema may lead: names, types and values inferred from it."""
        return "structure" in self.strategies

    def trial(self) -> Log:
        """An empty log of the same kind, for a change that may be given up."""
        trial = Log(self.unknown, self.strategies)
        trial.attempts, trial.beside, trial.lossy = self.attempts, self.beside, self.lossy
        return trial

    def may_try(self, alternatives: int) -> bool:
        """Whether so many alternatives may still be tried; then they count as tried."""
        self.attempts[0] -= alternatives
        return self.attempts[0] >= 0

    def read(self, path: str, text: str, read: Read, *, declared: bool = False) -> bool:
        """Note what the lenient reader needed for a text; false if that is not allowed. `declared`: a pack or the
        policy says of this tool that there is such a text."""
        repairs, forbidden = repairs_of(read.marks, text, path, self.strategies, declared=declared)
        self.repairs.extend(() if forbidden else repairs)
        return not forbidden

    def problem(self, code: ProblemCode, path: str, message: str) -> None:
        self.problems.append(Problem(code, path, message))

    def extend(self, other: Log) -> None:
        self.repairs.extend(other.repairs)
        self.problems.extend(other.problems)


# ── restraints ──
# Strangers that must not be dropped: they hold a call back or narrow it, so that without them it would do more.
#
# `rm -rf x` with `dry_run` is another call than without. What adds nothing but a preference is dropped as ever.

_BACK_TEXT = "dry dryrun simulate simulated simulation preview draft sandbox readonly disabled disable paused append"
_BACK = frozenset(_BACK_TEXT.split())
"""Words that hold a call back where they are switched on."""

_CONFIRM = frozenset(["confirm", "confirmed", "confirmation", "approve", "approved", "approval", "consent"])
"""Words that hold a call back where they are switched off."""

_NARROW_TEXT = (
    "exclude excluded excludes excluding exclusion exclusions except skip ignore omit without unless only not no"
)
_NARROW = frozenset(["no", *_NARROW_TEXT.split()])
"""Words that take something out of what a call works on."""

_VALUES = frozenset(["append", "dryrun", "preview", "simulate", "readonly", "draft"])
"""What a `mode` may say to the same effect."""

_OFF = (None, False, 0, "", "false", "no", "off", "none", "0")


def restrains(name: str, value: Any) -> bool:
    """Whether a call without this argument would do more than the one that was written.

    >>> restrains("dry_run", True), restrains("dryRun", False), restrains("exclude", ["a"]), restrains("colour", "red")
    (True, False, True, False)
    """
    words = words_of(name)
    off = (value.strip().lower() if isinstance(value, str) else value) in _OFF
    if any(word in _CONFIRM for word in words):
        return off and value is not None
    if off or value == [] or value == {}:
        return False
    if any(word in _BACK for word in words) or joined(name) in _BACK:
        return True
    if any(word in _NARROW for word in words):
        return words[:2] != ("no", "of")  # the number of something
    return joined(name).endswith("mode") and isinstance(value, str) and joined(value) in _VALUES

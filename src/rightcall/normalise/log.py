"""The list of changes made to one call, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.parse.marks import RULES
from rightcall.parse.reader import Read
from rightcall.types import Problem, ProblemCode, Repair, StrategyName, UnknownArgument

_PREVIEW = 200
"""How much of a text a repair record quotes; the whole emission is in the audit."""

_DECLARED = frozenset({"alias", "value_alias", "tool_repair"})


class Log:
    """Collects repairs and problems. A change that names no strategy was led by the schema."""

    __slots__ = ("problems", "repairs", "unknown")

    def __init__(self, unknown: UnknownArgument = "drop") -> None:
        self.unknown: UnknownArgument = unknown
        self.repairs: list[Repair] = []
        self.problems: list[Problem] = []

    def add(
        self, path: str, before: Any, after: Any, rule: str, confidence: float, strategy: StrategyName | None = None
    ) -> None:
        known: StrategyName = strategy or ("manual_repair" if rule in _DECLARED else "structure")
        self.repairs.append(Repair(path, before, after, known, rule, confidence))

    def read(self, path: str, text: str, read: Read) -> None:
        """Note what the lenient reader needed for a text."""
        self.repairs.extend(reading_repairs(read.marks, text, path))

    def problem(self, code: ProblemCode, path: str, message: str) -> None:
        self.problems.append(Problem(code, path, message))

    def extend(self, other: Log) -> None:
        self.repairs.extend(other.repairs)
        self.problems.extend(other.problems)


def reading_repairs(marks: Mapping[str, int], text: str, path: str = "") -> tuple[Repair, ...]:
    """One record for each rule the reader needed, with the place in the text where it was needed first."""
    return tuple(
        Repair(path, text[max(0, at - 20) : at + _PREVIEW - 20], RULES[rule].what, RULES[rule].strategies[0], rule, RULES[rule].confidence)
        for rule, at in marks.items()
    )

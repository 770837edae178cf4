"""The list of changes made to one call, in order."""

from __future__ import annotations

from typing import Any

from rightcall.parse.marks import repairs_of
from rightcall.parse.reader import Read
from rightcall.types import Problem, ProblemCode, Repair, StrategyName, UnknownArgument

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
        self.repairs.extend(repairs_of(read.marks, text, path)[0])

    def problem(self, code: ProblemCode, path: str, message: str) -> None:
        self.problems.append(Problem(code, path, message))

    def extend(self, other: Log) -> None:
        self.repairs.extend(other.repairs)
        self.problems.extend(other.problems)

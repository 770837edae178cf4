"""What a replay found, added up: how many calls would be decided otherwise, grouped by rule and tool, each group with
one example. Only groups are held, however many calls there are."""

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from msgspec import Struct, field

from rightcall.learn.differences import WHY, Again, Change, Kind, Missing, Same, Totals, Word

_MOST_GROUPS: Final = 5000
"""Tools and rules that are told apart; what is beyond counts under no tool."""


class Group(Struct):
    """Calls of one tool that one rule decides otherwise than another did."""

    kinds: tuple[Kind, ...]
    tool: str
    before: tuple[str, str]
    """Decision and rule."""
    after: tuple[str, str]
    example: Change
    count: int = 0
    callers: set[str] = field(default_factory=set[str])
    """Some of those whose calls they are."""
    is_indirect: bool = False


_MOST_CALLERS: Final = 20


class Tally:
    """Takes what a replay says of each call."""

    def __init__(self) -> None:
        self.unchanged = self.changed = self.indirect = 0
        self.unknown: Counter[Missing] = Counter()
        self.kinds: Counter[Kind] = Counter()
        self.first, self.last = 0, 0
        self._groups: dict[tuple[Any, ...], Group] = {}

    @property
    def decided(self) -> int:
        return self.unchanged + self.changed

    def add(self, again: Again) -> None:
        self.first = self.first or again.seq
        self.last = max(self.last, again.seq)
        if isinstance(again, Same):
            self.unchanged += 1
        elif isinstance(again, Change):
            self._add_change(again)
        else:
            self.unknown[again.why] += 1

    def _add_change(self, change: Change) -> None:
        if change.tokens is None:
            self.changed += 1
        if change.is_indirect:
            self.indirect += 1
        else:
            self.kinds.update(change.kinds)
        before, after = _said(change.before), _said(change.after)
        key = change.kinds, change.after.tool, before, after, change.is_indirect
        if key not in self._groups and len(self._groups) >= _MOST_GROUPS:
            key = change.kinds, "", before, after, change.is_indirect
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key[0], key[1], before, after, change, is_indirect=change.is_indirect)
        group.count += 1
        if len(group.callers) < _MOST_CALLERS:
            group.callers.add(change.caller)

    def groups(self) -> list[Group]:
        """The largest first, those that loosen before all others, and last what only follows from others."""
        order = {"loosened": 0, "tightened": 1}

        def place(one: Group) -> tuple[Any, ...]:
            return one.is_indirect, order.get(one.kinds[0], 2), one.kinds, -one.count, one.tool, one.after

        return sorted(self._groups.values(), key=place)

    def found(self, kinds: Collection[str]) -> list[str]:
        """Those of these kinds of change that occur."""
        counts = {**self.kinds, "indirect": self.indirect, "changed": self.changed, "unknown": self.unknown.total()}
        return [kind for kind in kinds if counts.get(kind)]

    def record(self, totals: Totals, *, partial: bool) -> dict[str, Any]:
        """Everything, for a program."""
        return {
            "partial": partial,
            "decided": self.decided,
            "unchanged": self.unchanged,
            "changed": self.changed,
            "indirect": self.indirect,
            "not_replayable": sum(self.unknown.values()),
            "reasons": {why: {"count": count, "means": WHY[why]} for why, count in self.unknown.most_common()},
            "kinds": dict(self.kinds.most_common()),
            "records": [self.first, self.last],
            "questions": totals.questions,
            "tokens": totals.tokens,
            "groups": [_group_record(one) for one in self.groups()],
        }


def _said(word: Word) -> tuple[str, str]:
    return word.decision, word.rule


def _group_record(group: Group) -> dict[str, Any]:
    example = group.example
    return {
        "kinds": group.kinds, "indirect": group.is_indirect,
        "tool": group.tool, "count": group.count, "callers": sorted(group.callers),
        "before": {"decision": group.before[0], "rule": group.before[1]},
        "after": {"decision": group.after[0], "rule": group.after[1]},
        "example": {
            "record": example.seq, "at": example.at, "caller": example.caller, "params": example.before.params,
            "would": example.after.params if example.after.params != example.before.params else None,
            "tokens": example.tokens,
        },
    }  # fmt: skip

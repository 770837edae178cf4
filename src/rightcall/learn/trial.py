"""The trial: a pack of proposals, tried on the whole history before anybody sees it.

    every call ─▶ as it is ─┬─▶ worked, and would be another call: the rule is not proposed
                 with pack ─┘   was corrected, and would have been right at once: a retry saved

What is counted as held out is in a part of the history that the rule was not learned from.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from rightcall.base.json.marks import is_object
from rightcall.catalog.packs import read_pack_text
from rightcall.errors import PackError
from rightcall.learn.bench import Bench
from rightcall.learn.clues import general_place, plain_key, values_at
from rightcall.learn.emissions import Emitted, History
from rightcall.learn.evidence import part_of
from rightcall.learn.packfile import pack_text
from rightcall.learn.proposals import Measured, Proposal
from rightcall.learn.retries import GivenUp, Mistake, Retry, Threads, is_right, likeness, loses_argument
from rightcall.types import Call, Verdict

_MOST_TRIALS: Final = 6
_WRONG: Final = 0.2
"""Of the mistakes that a rule is about, so many may be corrected otherwise."""
_LEAST_ELSEWHERE: Final = 2
"""Corrections in other contexts from which a rule is learned before it is measured; one, where there are two in all."""
_ALWAYS: Final = 0.95
_ALL_ALIKE: Final = 6
"""Right calls and corrections that all pass one value, from which on it is no accident."""
_CHANCE: Final = 0.02
Step = Callable[[], object]


class Measure:
    """What was counted of one proposal."""

    __slots__ = ("also", "changed", "otherwise", "saved", "saved_in_all", "tested", "values", "wrong")

    def __init__(self) -> None:
        self.tested = self.saved = self.saved_in_all = self.wrong = self.changed = self.also = 0
        self.otherwise = 0
        self.values: Counter[str] = Counter()
        """Of a default: what right calls pass there."""

    def result(self) -> Measured:
        return Measured(self.tested, self.saved, self.saved_in_all, self.wrong, self.changed, self.also)


def tried(found: list[Proposal], history: History, bench: Bench, step: Step) -> list[Proposal]:
    """The proposals with what they would have done. One that would change a call that worked is set aside, and the
    rest is tried again without it."""
    for _ in range(_MOST_TRIALS):
        rules = [one for one in found if one.is_rule and not one.refused]
        if not rules:
            return found
        measured = _measured(rules, history, bench, step)
        verdicts = {one.id: _judged(one, measured[one.id]) for one in rules}
        found = [verdicts.get(one.id, one) for one in found]
        if not any(one.measured.changed for one in verdicts.values()):
            return found
    left = "its effect could not be told apart from that of others"
    return [replace(one, refused=left) if one.is_rule and not one.refused else one for one in found]


def _judged(one: Proposal, measure: Measure) -> Proposal:
    result = measure.result()
    refused = ""
    if result.changed:
        refused = f"it would change {result.changed:,} calls that worked"
    elif result.wrong > max(1, _WRONG * (result.wrong + result.saved_in_all)) or result.wrong > result.saved_in_all:
        refused = f"{result.wrong:,} corrections mean something else"
    elif not result.saved:
        refused = "it saves no retry in the parts of the history that it was not learned from"
    elif one.kind == "default":
        refused = _by_chance(one, measure)
    return replace(one, measured=result, refused=refused)


def _by_chance(one: Proposal, measure: Measure) -> str:
    """A default is one only where its value is no accident: among a few values, a few corrections agree by chance."""
    total, same = sum(measure.values.values()), measure.values[plain_key(one.meant)]
    if same == total and total + one.counted >= _ALL_ALIKE:
        return ""
    share = (same + 1) / (total + 2)
    if share >= _ALWAYS or share**one.counted <= _CHANCE:
        return ""
    return f"right calls pass this value in {share:.0%} of cases, so that {one.counted} corrections may agree by chance"


def _measured(rules: list[Proposal], history: History, bench: Bench, step: Step) -> dict[str, Measure]:
    trial = Trial(rules, bench)
    threads = Threads()
    for emitted in history():
        step()
        verdict = bench.judge(emitted.name, emitted.arguments, emitted.tools) if emitted.name else None
        if verdict is not None and is_right(emitted, verdict) and not loses_argument(verdict):
            trial.see_right(emitted, verdict)
        for one in threads.take(emitted, verdict):
            trial.see(one)
    for one in threads.close():
        trial.see(one)
    return trial.measures


class Trial:
    """One look at the history, with and without the pack."""

    def __init__(self, rules: list[Proposal], bench: Bench) -> None:
        self.measures = {one.id: Measure() for one in rules}
        self._by_tool: dict[str, list[Proposal]] = {}
        self._names = {one.given: one for one in rules if one.kind == "name"}
        for one in rules:
            if one.kind != "name":
                self._by_tool.setdefault(one.tool, []).append(one)
        try:
            self._bench = bench.with_pack(read_pack_text(pack_text(rules, "trial")))
        except PackError as wrong:  # ours: what may stand in a pack was looked at before
            raise RuntimeError(f"a learned pack cannot be loaded: {wrong}") from wrong

    def see_right(self, emitted: Emitted, verdict: Verdict) -> None:
        """A call that worked must stay the call it was."""
        assert verdict.call is not None
        for one in self._by_tool.get(verdict.call.name, ()):
            if one.kind == "default":
                self._count_values(one, verdict.call)
        if verdict.call.name not in self._by_tool and emitted.name not in self._names:
            return
        with_pack = self._bench.judge(emitted.name, emitted.arguments, emitted.tools)
        if not same_call(verdict.call, with_pack.call):
            for one in self._used(emitted, with_pack, verdict.call.name):
                self.measures[one.id].changed += 1

    def _count_values(self, one: Proposal, call: Call) -> None:
        values = self.measures[one.id].values
        for value in values_at(call.arguments, one.place.split(".")):
            text = plain_key(value)
            if text in values or len(values) < 100:
                values[text] += 1

    def see(self, one: Retry | GivenUp) -> None:
        mistake = one.mistake
        if mistake.verdict is None:
            return
        with_pack = self._bench.judge(mistake.emitted.name, mistake.emitted.arguments, mistake.emitted.tools)
        used = list(self._used(mistake.emitted, with_pack, ""))
        if isinstance(one, Retry):
            for rule in used:
                self._count_retry(rule, one, with_pack)
        elif used and not same_call(mistake.verdict.call, with_pack.call):
            for rule in used:
                self._count_given_up(rule, mistake, with_pack)

    def _count_retry(self, rule: Proposal, retry: Retry, with_pack: Verdict) -> None:
        measure, call = self.measures[rule.id], with_pack.call
        corrected = retry.corrected.call
        held_out = _is_held_out(rule, part_of(retry.mistake.emitted))
        measure.tested += held_out
        if with_pack.problems or call is None or corrected is None:
            return
        if not _agrees(rule, call, corrected):
            measure.wrong += _is_same_request(rule, retry)
            return
        measure.saved_in_all += 1
        measure.saved += held_out

    def _count_given_up(self, rule: Proposal, mistake: Mistake, with_pack: Verdict) -> None:
        measure = self.measures[rule.id]
        if is_right(mistake.emitted, mistake.verdict):
            measure.changed += 1  # it lost an argument, and nobody minded
        elif not with_pack.problems:
            measure.also += 1

    def _used(self, emitted: Emitted, verdict: Verdict, otherwise: str) -> Iterable[Proposal]:
        """The rules that had a part in a verdict; where none shows, those of the tool."""
        found: dict[str, Proposal] = {}
        tool = verdict.call.name if verdict.call is not None else ""
        rules = self._by_tool.get(tool, [])
        for repair in verdict.repairs:
            place = general_place(repair.path)
            for one in rules:
                if _made_by(one, repair.rule, place, repair.before):
                    found[one.id] = one
            if repair.rule == "tool_alias" and emitted.name in self._names:
                found[emitted.name] = self._names[emitted.name]
        written = verdict.found.arguments if verdict.found is not None else None
        for one in rules:
            if one.kind == "default" and verdict.call is not None and _fills(one, written, verdict.call.arguments):
                found[one.id] = one
        if not found and otherwise:
            found = {one.id: one for one in self._by_tool.get(otherwise, [])}
            found |= {one.id: one for name, one in self._names.items() if name == emitted.name}
        return found.values()


def same_call(one: Call | None, other: Call | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.name == other.name and one.arguments == other.arguments


def _is_held_out(rule: Proposal, part: int) -> bool:
    """Whether the rule can be learned without this part of the history."""
    return rule.counted - rule.parts.get(part, 0) >= min(_LEAST_ELSEWHERE, rule.counted - 1)


def _agrees(rule: Proposal, call: Call, corrected: Call) -> bool:
    """Whether a rule made what the correction made, at its place."""
    if call.name != corrected.name:
        return False
    if rule.kind == "name":
        return True
    steps = rule.place.split(".")
    return values_at(call.arguments, steps) == values_at(corrected.arguments, steps)


def _is_same_request(rule: Proposal, retry: Retry) -> bool:
    """Whether the second call wants the same as the first, so that what differs is the correction."""
    found, corrected = retry.mistake.verdict and retry.mistake.verdict.found, retry.corrected.call
    if found is None or corrected is None:
        return False
    return likeness(found.arguments, corrected.arguments) >= (1.0 if rule.kind == "default" else 0.5)


def _made_by(one: Proposal, rule: str, place: str, before: Any) -> bool:
    if one.kind == "alias":
        return rule == "alias" and place == one.given
    if one.kind == "value":
        return rule == "value_alias" and place == one.place and plain_key(before) == one.given
    return one.kind == "form" and rule == "form" and place == one.place


def _fills(one: Proposal, written: Any, arguments: Any) -> bool:
    steps = one.place.split(".")
    before: Mapping[str, Any] = written if is_object(written) else {}
    return not values_at(before, steps) and one.meant in values_at(arguments, steps)

"""The seven success metrics of design 002 §17, each against its target, with what was counted for it.

Four come from the calls alone. Adoption, depth and accuracy need what only the host knows (`notes.py`): where it told
nothing, they have no value, and nobody guesses one.
"""

from collections import Counter
from typing import Final, Literal

from msgspec import Struct

from rightcall.record.analytics import UNTOLD, rate
from rightcall.record.calls import Period
from rightcall.record.counts import Counts, Tally
from rightcall.record.rollup.periods import count
from rightcall.record.tables import Tables

NO_CALLS: Final = "no calls"

Unit = Literal["%", "s", ""]


class Metric(Struct, frozen=True):
    """One figure against its target. `met` is None where there is no value; `missing` then says why in two words."""

    name: str
    value: float | None
    target: str
    """In the design's words, such as `>50%`."""
    met: bool | None
    how: str
    """What was counted, or what would have to be told."""
    unit: Unit = ""
    missing: str = ""


def read_metrics(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> list[Metric]:
    """The metrics of the period that ends `now` (UTC, as the store's clock writes it)."""
    return metrics_of(count(tables, period=period, caller=caller, now=now))


def metrics_of(counts: Counts) -> list[Metric]:
    everything, refusals = counts.total, counts.rules(refused=True)
    return [
        _adoption(counts),
        _depth(counts),
        _accuracy(counts),
        _success(everything),
        _response_time(everything),
        _limit_hits(refusals, everything),
        _violations(refusals, counts.rules(refused=False), everything),
    ]


def _adoption(counts: Counts) -> Metric:
    """Messages in which a tool ran, of all messages."""
    how = f"{counts.messages_with_tools:,} of {_many(counts.messages, 'message')} used tools"
    value = rate(counts.messages_with_tools, counts.messages)
    return _percent("Tool Adoption", value, 50, how, ("the host has to call note_message", UNTOLD))


def _depth(counts: Counts) -> Metric:
    """Calls that ran for each debugging task. A task is a caller's context that was noted as `debug`."""
    name, target, tasks = "Investigation Depth", "3+", len(counts.debugging)
    if not tasks:
        return Metric(name, None, target, None, 'the host has to call note_message with task="debug"', missing=UNTOLD)
    calls = sum(counts.begun.get(task, 0) for task in counts.debugging)
    how = f"{_many(calls, 'call')} in {_many(tasks, 'debugging task')}"
    return Metric(name, calls / tasks, target, calls / tasks >= 3, how)


def _accuracy(counts: Counts) -> Metric:
    """Diagnoses that turned out right, of those that a person has checked."""
    right, checked = sum(counts.diagnoses.values()), len(counts.diagnoses)
    how = f"{right:,} of {checked:,} checked {'diagnosis' if checked == 1 else 'diagnoses'} right"
    missing = "the host has to call note_diagnosis", UNTOLD
    return _percent("Diagnosis Accuracy", rate(right, checked), 70, how, missing)


def _success(everything: Tally) -> Metric:
    """Of what ran. A refused call is no failure of a tool."""
    how = f"{everything.succeeded:,} of {_many(everything.ran, 'call')} that ran succeeded"
    value = rate(everything.succeeded, everything.ran)
    return _percent("Tool Success Rate", value, 90, how, ("no call has run", NO_CALLS))


def _response_time(everything: Tally) -> Metric:
    """The mean, in seconds."""
    name, target, milliseconds = "Response Time", "<2s", everything.times.mean()
    if milliseconds is None:
        return Metric(name, None, target, None, "no call has come to its end", "s", NO_CALLS)
    how = f"mean of {_many(len(everything.times), 'call')}"
    return Metric(name, milliseconds / 1000, target, milliseconds / 1000 < 2, how, "s")


def _limit_hits(refusals: Counter[str], everything: Tally) -> Metric:
    """Calls refused by a limit, of all calls."""
    hits = _with(refusals, "limit:")
    how = f"{hits:,} of {_many(everything.calls, 'call')} refused by a limit"
    return _percent("Rate Limit Hits", rate(hits, everything.calls), -5, how, ("no call was made", NO_CALLS))


def _violations(refusals: Counter[str], permissions: Counter[str], everything: Tally) -> Metric:
    """Calls that began although a path rule decided about them: such a rule only ever refuses, so a single one means
    that the policy did not hold. What a tool opened by itself is not in the audit, and not measured here."""
    name, target, outside = "Security Violations", "0", refusals["path:outside"]
    if not everything.calls:
        return Metric(name, None, target, None, "no call was made", missing=NO_CALLS)
    through = _with(permissions, "path:")
    how = f"{through:,} let through, {_with(refusals, 'path:'):,} refused by path rules"
    if outside:
        how += f" ({outside:,} outside the root)"
    return Metric(name, float(through), target, through == 0, how)


def _percent(name: str, value: float | None, bound: int, how: str, missing: tuple[str, str]) -> Metric:
    """A share that is to be above a bound, or below a negative one. `missing`: what to say where there is no value."""
    target = f"<{-bound}%" if bound < 0 else f">{bound}%"
    if value is None:
        return Metric(name, None, target, None, missing[0], "%", missing[1])
    return Metric(name, value, target, value < -bound if bound < 0 else value > bound, how, "%")


def _with(rules: Counter[str], prefix: str) -> int:
    return sum(times for rule, times in rules.items() if rule.startswith(prefix))


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"

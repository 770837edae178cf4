"""The seven success metrics of design 002 §17, each against its target, with what was counted for it.

Four come from the calls alone. Adoption, depth and accuracy need what only the host knows (`notes.py`): where it told
nothing, they have no value, and nobody guesses one.
"""

from collections import Counter
from typing import Final, Literal

from msgspec import Struct

from rightcall.record.analytics import UNTOLD, Counts, Tally, count, mean, rate
from rightcall.record.calls import Period
from rightcall.record.tables import Tables

NOT_REPORTED: Final = UNTOLD
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
        adoption(counts),
        depth(counts),
        accuracy(counts),
        success(everything),
        response_time(everything),
        limit_hits(refusals, everything),
        violations(refusals, counts.rules(refused=False), everything),
    ]


def adoption(counts: Counts) -> Metric:
    """Messages in which a tool ran, of all messages."""
    name, target = "Tool Adoption", ">50%"
    value = rate(counts.messages_with_tools, counts.messages)
    if value is None:
        return Metric(name, None, target, None, "the host has to call note_message", "%", NOT_REPORTED)
    how = f"{counts.messages_with_tools:,} of {_many(counts.messages, 'message')} used tools"
    return Metric(name, value, target, value > 50, how, "%")


def depth(counts: Counts) -> Metric:
    """Calls that ran for each debugging task. A task is a caller's context that was noted as `debug`."""
    name, target = "Investigation Depth", "3+"
    tasks = len(counts.debugging)
    if not tasks:
        return Metric(name, None, target, None, 'the host has to call note_message with task="debug"', "", NOT_REPORTED)
    calls = sum(counts.begun.get(task, 0) for task in counts.debugging)
    value = calls / tasks
    return Metric(name, value, target, value >= 3, f"{_many(calls, 'call')} in {_many(tasks, 'debugging task')}")


def accuracy(counts: Counts) -> Metric:
    """Diagnoses that turned out right, of those that a person has checked."""
    name, target = "Diagnosis Accuracy", ">70%"
    right, checked = sum(counts.diagnoses.values()), len(counts.diagnoses)
    value = rate(right, checked)
    if value is None:
        return Metric(name, None, target, None, "the host has to call note_diagnosis", "%", NOT_REPORTED)
    how = f"{right:,} of {checked:,} checked {'diagnosis' if checked == 1 else 'diagnoses'} right"
    return Metric(name, value, target, value > 70, how, "%")


def success(everything: Tally) -> Metric:
    """Of what ran. A refused call is no failure of a tool."""
    name, target = "Tool Success Rate", ">90%"
    value = rate(everything.succeeded, everything.ran)
    if value is None:
        return Metric(name, None, target, None, "no call has run", "%", NO_CALLS)
    how = f"{everything.succeeded:,} of {_many(everything.ran, 'call')} that ran succeeded"
    return Metric(name, value, target, value > 90, how, "%")


def response_time(everything: Tally) -> Metric:
    """The mean, in seconds."""
    name, target = "Response Time", "<2s"
    milliseconds = mean(everything.times)
    if milliseconds is None:
        return Metric(name, None, target, None, "no call has come to its end", "s", NO_CALLS)
    value = milliseconds / 1000
    return Metric(name, value, target, value < 2, f"mean of {_many(len(everything.times), 'call')}", "s")


def limit_hits(refusals: Counter[str], everything: Tally) -> Metric:
    """Calls refused by a limit, of all calls."""
    name, target = "Rate Limit Hits", "<5%"
    hits = _with(refusals, "limit:")
    value = rate(hits, everything.calls)
    if value is None:
        return Metric(name, None, target, None, "no call was made", "%", NO_CALLS)
    how = f"{hits:,} of {_many(everything.calls, 'call')} refused by a limit"
    return Metric(name, value, target, value < 5, how, "%")


def violations(refusals: Counter[str], permissions: Counter[str], everything: Tally) -> Metric:
    """Calls that began although a path rule decided about them: such a rule only ever refuses, so a single one means
    that the policy did not hold. What a tool opened by itself is not in the audit, and not measured here."""
    name, target = "Security Violations", "0"
    if not everything.calls:
        return Metric(name, None, target, None, "no call was made", "", NO_CALLS)
    through = _with(permissions, "path:")
    refused, outside = _with(refusals, "path:"), refusals["path:outside"]
    how = f"{through:,} let through, {refused:,} refused by path rules"
    if outside:
        how += f" ({outside:,} outside the root)"
    return Metric(name, float(through), target, through == 0, how)


def _with(rules: Counter[str], prefix: str) -> int:
    return sum(times for rule, times in rules.items() if rule.startswith(prefix))


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"

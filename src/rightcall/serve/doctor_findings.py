"""What the doctor found, in figures: by step, in all, and as one record for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from rightcall.serve.doctor import Examination, Result
from rightcall.serve.doctor_judging import TOLD, Damage, Outcome
from rightcall.serve.doctor_treating import Treated

Way = Literal["without", "with", "retry", "lift", "teach", "teach_retry"]
"""How the calls reach the client: from the server itself, or through the proxy with these settings."""

WAYS: Final[dict[Way, str]] = {
    "without": "without",
    "with": "with",
    "retry": "--retry 1",
    "lift": "--lift on",
    "teach": "--teach on",
    "teach_retry": "--teach on --retry 1",
}


class Share(Struct, frozen=True):
    """Of so many questions, so many answers were usable, and so many of those also right."""

    asked: int = 0
    usable: int = 0
    right: int = 0


class Row(Struct, frozen=True):
    """The shares of one step, or of all."""

    name: str
    shares: dict[Way, Share]


class Findings(Struct, frozen=True):
    """Everything that is known at the end."""

    rows: tuple[Row, ...]
    total: Row
    damage: dict[Damage, int]
    """In how many answers each was seen, the most frequent first."""
    taught_damage: dict[Damage, int]
    ignored: str
    """Why the server seems to ignore tools; empty where it does not."""
    notes: tuple[str, ...]
    """What the server said where it failed, each once."""

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways that were tried at all."""
        return tuple(way for way in WAYS if self.total.shares[way].asked)


def findings(examination: Examination) -> Findings:
    """The figures of what was asked so far."""
    results = examination.results
    steps = [
        _row(step.name, [result for result in results if result.step == at])
        for at, step in enumerate(examination.settings.steps)
    ]
    tried = _row("all", results)
    ways = _tried(results)
    return Findings(
        rows=tuple(_only(row, ways) for row in steps if row.shares["without"].asked),
        total=_only(tried, ways),
        damage=_counted(result.plain for result in results),
        taught_damage=_counted(result.taught for result in results if result.taught is not None),
        ignored=next((result.plain.ignored for result in results if result.plain.ignored), ""),
        notes=_notes(results),
    )


def _row(name: str, results: Sequence[Result]) -> Row:
    return Row(name, {way: _share(results, outcome) for way, outcome in _OUTCOMES.items()})


def _share(results: Iterable[Result], outcome: Callable[[Result], Outcome | None]) -> Share:
    outcomes = [found for result in results if (found := outcome(result)) is not None]
    return Share(len(outcomes), sum(one.usable for one in outcomes), sum(one.usable and one.right for one in outcomes))


def _taught(result: Result) -> Outcome | None:
    return None if result.taught is None else result.taught.treated


def _taught_again(result: Result) -> Outcome | None:
    return None if result.taught is None else result.taught.retried or result.taught.treated


_OUTCOMES: Final[dict[Way, Callable[[Result], Outcome | None]]] = {
    "without": lambda result: result.plain.without,
    "with": lambda result: result.plain.treated,
    "retry": lambda result: result.plain.retried or result.plain.treated,
    "lift": lambda result: result.plain.lifted,
    "teach": _taught,
    "teach_retry": _taught_again,
}


def _tried(results: Sequence[Result]) -> set[Way]:
    """A way that was the same as another one for every question says nothing."""
    ways: set[Way] = {"without", "with"}
    if any(result.plain.retried is not None for result in results):
        ways.add("retry")
    if any(result.plain.lifted not in (None, result.plain.treated) for result in results):
        ways.add("lift")
    if any(result.taught is not None for result in results):
        ways.add("teach")
    if any(result.taught is not None and result.taught.retried is not None for result in results):
        ways.add("teach_retry")
    return ways


def _only(row: Row, ways: set[Way]) -> Row:
    return Row(row.name, {way: share if way in ways else Share() for way, share in row.shares.items()})


def _counted(treated: Iterable[Treated]) -> dict[Damage, int]:
    counts: Counter[Damage] = Counter()
    for one in treated:
        counts.update(one.damage)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], list(TOLD).index(pair[0]))))


def _notes(results: Iterable[Result]) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for result in results:
        for treated in (result.plain, result.taught):
            if treated is not None and treated.note:
                notes[treated.note] = None
    return tuple(notes)


# ── for machines ─────────────────────────────────────────────────────────────────────────────────────────────────────


def record(examination: Examination, found: Findings, advice: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Everything as one object; no key is in it, and nothing that the model wrote."""
    patient = examination.patient
    return {
        "host": examination.host,
        "wire": patient.speech if patient else None,
        "model": patient.model if patient else None,
        "model_chosen": examination.chosen,
        "complete": examination.complete,
        "stopped": examination.stopped or None,
        "seconds": round(examination.seconds, 3),
        "tries": examination.settings.tries,
        "max_tokens": examination.settings.tokens,
        "total": _shares(found.total, found.ways),
        "steps": [{"name": row.name, **_shares(row, found.ways)} for row in found.rows],
        "damage": found.damage,
        "damage_when_taught": found.taught_damage,
        "ignored": found.ignored or None,
        "suggestions": [{"setting": setting or None, "why": why} for setting, why in advice],
        "server_said": list(found.notes),
        "questions": [_result(examination, result) for result in examination.results],
    }


def _shares(row: Row, ways: Sequence[Way]) -> dict[str, Any]:
    shares = {way: row.shares[way] for way in ways}
    return {
        "asked": row.shares["without"].asked,
        **{way: {"asked": one.asked, "usable": one.usable, "right": one.right} for way, one in shares.items()},
    }


def _result(examination: Examination, result: Result) -> dict[str, Any]:
    outcomes = {way: outcome(result) for way, outcome in _OUTCOMES.items()}
    return {
        "id": result.question.id,
        "step": examination.settings.steps[result.step].name,
        "stream": result.question.stream,
        "seconds": round(result.plain.seconds, 3),
        "damage": list(result.plain.damage),
        "damage_when_taught": list(result.taught.damage) if result.taught else None,
        **{way: {"usable": one.usable, "right": one.right} for way, one in outcomes.items() if one is not None},
    }

"""How calls fitted over time, before and after they were repaired (design 003): of all, or of each tool, provider,
model or caller. From the rollup, in whole minutes of an hour, hours of a day or days of a week.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from rightcall.record.calls import Period, window_of
from rightcall.record.counts import Part
from rightcall.record.rollup_file import Rollup
from rightcall.record.rollup_tables import AFTER, DAY, HOUR, MINUTE
from rightcall.record.tables import Tables

_WIDTHS: Final[Mapping[Period, int]] = {"1hour": MINUTE, "1day": HOUR, "1week": DAY}
_LENGTHS: Final = {MINUTE: timedelta(minutes=1), HOUR: timedelta(hours=1), DAY: timedelta(days=1)}
_SECONDS: Final = 0.1
"""That are spent on counting what is new."""
_NOT_DIRECT: Final = " AND kinds.strategy <> 'direct'"

FitBy = Part | Literal["all"]


class Fit(Struct, frozen=True):
    """The calls of one minute, hour or day, those that went through the proxy included."""

    start: str
    """UTC, as far as it goes: `2026-01-31 12` is the hour that begins at twelve."""
    calls: int = 0
    repaired: int = 0
    failed: int = 0
    """Nothing made them fit."""

    @property
    def before(self) -> float | None:
        """The part that fitted as it was written, from 0 to 100."""
        return 100 * (self.calls - self.repaired - self.failed) / self.calls if self.calls else None

    @property
    def after(self) -> float | None:
        """The part that fitted in the end."""
        return 100 * (self.calls - self.failed) / self.calls if self.calls else None


def fit_over_time(
    tables: Tables, period: Period, by: FitBy = "all", *, caller: str | None = None, now: str
) -> dict[str, tuple[Fit, ...]]:
    """By name (`all`: under the empty name), those with the most calls first. Every name has a point for every minute,
    hour or day that the period touches."""
    window, width = window_of(period, now), _WIDTHS[period]
    rollup = tables.rollup()
    rollup.catch_up(tables, _SECONDS)
    starts = list(_starts(window.since, window.until, width))
    name = "''" if by == "all" else f"lines.{by}"
    own, whose = ("", ()) if caller is None else (" AND lines.caller = ?", (caller,))
    with rollup.reading():
        if width == MINUTE:
            totals, others = _minutes(rollup, name, own, (starts[0], starts[-1] + AFTER, *whose))
        else:
            totals, others = _cells(rollup, name, own, _sources(rollup, starts), whose)
    found: dict[str, dict[str, Fit]] = {}
    for start, key, calls in totals:
        _add(found, key, Fit(start[:width], calls))
    for start, key, failed, times in others:
        _add(found, key, Fit(start[:width], 0, 0 if failed else times, times if failed else 0))
    names = sorted(found, key=lambda key: (-sum(one.calls for one in found[key].values()), key))
    return {key: tuple(found[key].get(start, Fit(start)) for start in starts) for key in names}


def fit_of_all(parts: Mapping[str, Sequence[Fit]]) -> tuple[Fit, ...]:
    """All names together."""
    return tuple(
        Fit(
            some[0].start,
            sum(one.calls for one in some),
            sum(one.repaired for one in some),
            sum(one.failed for one in some),
        )
        for some in zip(*parts.values(), strict=True)
    )


def _add(found: dict[str, dict[str, Fit]], key: str, more: Fit) -> None:
    points = found.setdefault(key, {})
    known = points.get(more.start, Fit(more.start))
    points[more.start] = Fit(
        more.start, known.calls + more.calls, known.repaired + more.repaired, known.failed + more.failed
    )


_Totals = list[tuple[str, str, int]]
_Others = list[tuple[str, str, int, int]]


def _sources(rollup: Rollup, starts: list[str]) -> list[str]:
    """The cells that are read: days that are over as a whole, and hours."""
    if len(starts[0]) == HOUR:
        return starts
    over = {start for start in starts if rollup.ask("SELECT 1 FROM spans WHERE start = ?", start)}
    return [*sorted(over), *(f"{day} {hour:02}" for day in starts if day not in over for hour in range(24))]


def _cells(
    rollup: Rollup, name: str, own: str, sources: list[str], whose: tuple[str, ...]
) -> tuple[_Totals, _Others]:  # fmt: skip
    among = f"JOIN lines ON lines.id = line WHERE start IN ({', '.join('?' * len(sources))}){own} GROUP BY"
    values = (*sources, *whose)
    return (
        rollup.ask(f"SELECT start, {name}, sum(calls) + sum(proxied) FROM cells {among} 1, 2", *values),
        rollup.ask(f"SELECT start, {name}, strategy = 'failed', sum(times) FROM repairs {among} 1, 2, 3", *values),
    )


def _minutes(rollup: Rollup, name: str, own: str, values: tuple[str, ...]) -> tuple[_Totals, _Others]:
    """From the calls themselves: minutes have no cells."""
    low, high = rollup.ask("SELECT min(low), max(high) FROM spans WHERE start >= ? AND start < ?", *values[:2])[0]
    among = (
        "FROM calls JOIN kinds ON kinds.id = calls.kind JOIN lines ON lines.id = kinds.line"
        f" WHERE at >= ? AND at < ?{own} AND seq >= ? AND seq <= ? AND kinds.kind <> 'waiting'"
    )
    given, minute = (*values, low or 0, high or 0), f"substr(at, 1, {MINUTE})"
    return (
        rollup.ask(f"SELECT {minute}, {name}, count(*) {among} GROUP BY 1, 2", *given),
        rollup.ask(
            f"SELECT {minute}, {name}, strategy = 'failed', count(*) {among}{_NOT_DIRECT} GROUP BY 1, 2, 3", *given
        ),
    )


def _starts(since: str, until: str, width: int) -> Iterable[str]:
    moment, end = datetime.fromisoformat(since), until[:width]
    while (start := str(moment)[:width]) <= end:
        yield start
        moment += _LENGTHS[width]

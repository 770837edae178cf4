"""What pages show of the store, each answered within a fraction of a second however long the audit is.

    read_overview    a period in figures: calls, refusals by rule, tools with their times, questions that wait
    read_series      the same over time, by tool, caller, provider, model, strategy or rule
    fit_over_time    how many calls fitted as they were written, and after they were repaired (design 003)
    count_waiting    questions that a person can answer now

They count what is new for a bounded time, and say how many records they left out (`uncounted`): only right after an
upgrade, or where many records were written by programs that did not live long, is that more than none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import add
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct

from rightcall.record.calls import LIFTED, Period, window_of
from rightcall.record.counts import Durations, Part, Tally, add_counts
from rightcall.record.rollup.periods import count_within
from rightcall.record.rollup.rollup import Rollup
from rightcall.record.rollup.tables import AFTER, DAY, HOUR, MINUTE, NUMBERS, read_repairs, read_slots
from rightcall.record.tables import Store, Tables

SECONDS: Final = 0.1
"""That are spent on counting what is new."""


class Figures(Struct, frozen=True, kw_only=True):
    """Calls of one tool, caller or model, or all of them. Times in milliseconds; None where no call came to its end."""

    calls: int
    """= `refused` + `succeeded` + `failed` + `interrupted` + `running`"""
    refused: int
    succeeded: int
    failed: int
    interrupted: int
    running: int
    proxied: int
    """Calls that went through the proxy to another program; not among `calls`."""
    repaired: int
    """Of both: they did not fit as they were written, and were put right."""
    unfit: int
    """Of both: nothing made them fit."""
    cached: int
    tokens: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None


class Overview(Struct, frozen=True, kw_only=True):
    period: Period
    caller: str | None
    since: str
    until: str
    """UTC."""
    total: Figures
    waiting: int
    """Questions that a person can answer now, whenever they were asked."""
    asked: int
    """Questions that were asked in the period."""
    refusals: Mapping[str, int]
    """By rule, the most frequent first."""
    permissions: Mapping[str, int]
    """Calls that began, by the rule that let them."""
    strategies: Mapping[str, int]
    tools: Mapping[str, Figures]
    callers: Mapping[str, Figures]
    models: Mapping[str, Figures]
    """Each by the number of calls, the largest first; a model that nobody told is empty."""
    slots: tuple[str, ...]
    timeline: tuple[int, ...]
    """Calls in each slot; `slots` says when it begins."""
    uncounted: int
    """Records that are not yet among these figures."""


def read_overview(
    store: Store, period: Period = "1day", caller: str | None = None, seconds: float = SECONDS
) -> Overview:
    """The period that ends now, of one caller or (None) of all."""
    now = store.clock.now()

    def work(tables: Tables) -> Overview:
        window = window_of(period, tables.wall())
        counts, left = count_within(tables, window, caller, seconds)
        return Overview(
            period=period,
            caller=caller,
            since=window.since,
            until=window.until,
            total=figures_of(counts.total),
            waiting=_waiting(tables, caller, now),
            asked=counts.waiting,
            refusals=_most_first(counts.rules(refused=True)),
            permissions=_most_first(counts.rules(refused=False)),
            strategies=_most_first(counts.total.strategies),
            tools=_each(counts.by("tool")),
            callers={} if caller is not None else _each(counts.by("caller")),
            models=_each(counts.by("model")),
            slots=window.slots,
            timeline=tuple(counts.slots),
            uncounted=left,
        )

    return store.look(work)


def count_waiting(store: Store, caller: str | None = None) -> int:
    """How many questions a person can answer now."""
    now = store.clock.now()
    return store.look(lambda tables: _waiting(tables, caller, now))


def _waiting(tables: Tables, caller: str | None, now: int) -> int:
    return tables.count_waiting(now) if caller is None else tables.waiting(caller, now)[0]


def figures_of(tally: Tally) -> Figures:
    direct, unfit, fitted = tally.strategies["direct"], tally.strategies["failed"], tally.strategies.total()
    lifted = tally.strategies[LIFTED]
    return Figures(
        calls=tally.calls,
        refused=tally.refused,
        succeeded=tally.succeeded,
        failed=tally.failed,
        interrupted=tally.interrupted,
        running=tally.running,
        proxied=tally.proxied,
        repaired=fitted - direct - lifted - unfit,
        unfit=unfit,
        cached=tally.cached,
        tokens=tally.tokens,
        mean=tally.times.mean(),
        p50=tally.times.percentile(50),
        p95=tally.times.percentile(95),
        p99=tally.times.percentile(99),
    )


def _each(tallies: Mapping[str, Tally]) -> dict[str, Figures]:
    largest = sorted(tallies.items(), key=lambda pair: (-pair[1].calls, pair[0]))
    return {name: figures_of(tally) for name, tally in largest}


def _most_first(counter: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))


# ── over time ──

By = Literal["all", "tool", "caller", "provider", "model", "strategy", "rule"]
_PARTS: Final = ("tool", "caller", "provider", "model")
_WIDTHS: Final[Mapping[Period, int]] = {"1hour": MINUTE, "1day": HOUR, "1week": DAY}
P = TypeVar("P")
_LENGTHS: Final = {MINUTE: timedelta(minutes=1), HOUR: timedelta(hours=1), DAY: timedelta(days=1)}


class Point(Struct, frozen=True, kw_only=True):
    """One minute, hour or day. By strategy or rule only `calls` is counted."""

    start: str
    """UTC, as the audit writes times, as far as it goes: `2026-01-31 12` is the hour that begins at twelve."""
    calls: int = 0
    refused: int = 0
    succeeded: int = 0
    failed: int = 0
    interrupted: int = 0
    proxied: int = 0
    tokens: int = 0
    p50: float | None = None
    p95: float | None = None


def read_series(
    store: Store, period: Period = "1day", by: By = "all", *, caller: str | None = None, seconds: float = SECONDS
) -> dict[str, tuple[Point, ...]]:
    """Calls over time, by name (`all`: under the empty name), those with the most calls first, wherever these run.
    Every name has a point for every whole minute (of an hour), hour (of a day) or day (of a week) that the period
    touches. By rule: the calls that were refused; by strategy: all, those through the proxy included."""
    return store.look(lambda tables: _series(tables, period, by, caller, seconds))


def _series(tables: Tables, period: Period, by: By, caller: str | None, seconds: float) -> dict[str, tuple[Point, ...]]:
    def read(rollup: Rollup, starts: list[str]) -> dict[str, dict[str, Point]]:
        if by in ("strategy", "rule") and len(starts[0]) != MINUTE:
            return _times(rollup, by, caller, starts)
        return _each_cell(_summed(rollup, by, caller, starts), _point)

    found, starts = _over_time(tables, period, tables.wall(), seconds, read)
    is_part = by in _PARTS  # by strategy, those through the proxy are among `calls`
    sizes = {
        name: sum(one.calls + (one.proxied if is_part else 0) for one in points.values())
        for name, points in found.items()
    }
    names = sorted(found, key=lambda name: (-sizes[name], name))
    return {name: tuple(found[name].get(start) or Point(start=start) for start in starts) for name in names}


def _over_time(
    tables: Tables, period: Period, now: str, seconds: float,
    read: Callable[[Rollup, list[str]], dict[str, dict[str, P]]],
) -> tuple[dict[str, dict[str, P]], list[str]]:  # fmt: skip
    """What is read of the minutes, hours or days that a period touches, by name and start; and all starts."""
    window, width, rollup = window_of(period, now), _WIDTHS[period], tables.rollup()
    rollup.catch_up(tables, seconds)
    starts = list(_starts(window.since, window.until, width))
    with rollup.reading():
        return read(rollup, starts), starts


def _starts(since: str, until: str, width: int) -> Iterable[str]:
    moment, end = datetime.fromisoformat(since), until[:width]
    while (start := str(moment)[:width]) <= end:
        yield start
        moment += _LENGTHS[width]


class _Cell:
    """Calls of one name in one minute, hour or day: their numbers in the order of `NUMBERS`."""

    __slots__ = ("numbers", "strategies", "times")

    def __init__(self) -> None:
        self.numbers: list[Any] = [0] * len(NUMBERS)
        self.times = Durations()
        self.strategies: dict[str, int] = {}

    def add(self, numbers: Sequence[Any]) -> None:
        self.numbers = list(map(add, self.numbers, numbers))


_Cells = dict[str, dict[str, _Cell]]
"""By name and start."""


def _each_cell(cells: _Cells, show: Callable[[str, _Cell], P]) -> dict[str, dict[str, P]]:
    return {name: {start: show(start, cell) for start, cell in some.items()} for name, some in cells.items()}


def _summed(rollup: Rollup, by: By, caller: str | None, starts: list[str]) -> _Cells:
    found: _Cells = defaultdict(lambda: defaultdict(_Cell))
    if len(starts[0]) == MINUTE:
        _add_minutes(found, rollup, by, caller, starts)
        return found
    sources = _sources(rollup, starts)
    columns = f"{', '.join(NUMBERS)}, slots, repairs"
    for start, name, *numbers, slots, repairs in rollup.cells(_part(by), caller, sources, columns):
        cell = found[name][sources[start]]
        cell.add(numbers)
        cell.times.add_slots(read_slots(slots), 0.0)
        add_counts(cell.strategies, read_repairs(repairs))
    return found


def _sources(rollup: Rollup, starts: list[str]) -> dict[str, str]:
    """The cells that are read, each with the point it belongs to: hours, where a day has no total yet."""
    if len(starts[0]) != DAY:
        return {start: start for start in starts}
    over = {start for start in starts if rollup.ask("SELECT 1 FROM spans WHERE start = ?", start)}
    found = {start: start for start in over}
    for day in sorted(set(starts) - over):
        found |= {f"{day} {hour:02}": day for hour in range(24)}
    return found


def _part(by: By) -> Part | Literal[""]:
    return by if by in _PARTS else ""


def _point(start: str, cell: _Cell) -> Point:
    calls, refused, _, proxied, succeeded, failed, interrupted, _, tokens, _ = cell.numbers
    return Point(
        start=start, calls=calls, refused=refused, succeeded=succeeded, failed=failed, interrupted=interrupted,
        proxied=proxied, tokens=tokens, p50=cell.times.percentile(50), p95=cell.times.percentile(95),
    )  # fmt: skip


def _add_minutes(found: _Cells, rollup: Rollup, by: By, caller: str | None, starts: list[str]) -> None:
    """From the calls themselves: minutes have no cells."""
    low, high = rollup.ask(
        "SELECT min(low), max(high) FROM spans WHERE start >= ? AND start < ?", starts[0], starts[-1] + AFTER
    )[0]
    name = f"lines.{by}" if by in _PARTS else f"kinds.{by}" if by in ("strategy", "rule") else "''"
    own, values = ("", ()) if caller is None else (" AND lines.caller = ?", (caller,))
    own += " AND kinds.kind = 'refused'" if by == "rule" else " AND kinds.kind <> 'waiting'"
    for minute, key, kind, strategy, status, time, tokens in rollup.ask(
        f"SELECT substr(at, 1, {MINUTE}), {name}, kinds.kind, kinds.strategy, status, time, tokens FROM calls"
        " JOIN kinds ON kinds.id = calls.kind JOIN lines ON lines.id = kinds.line"
        f" WHERE seq >= ? AND seq <= ? AND at >= ? AND at < ?{own}",
        low or 0, high or 0, starts[0], starts[-1] + AFTER, *values,
    ):  # fmt: skip
        cell = found[key][minute]
        is_call = kind != "proxied" or by == "strategy"
        cell.add((is_call, kind == "refused", 0, kind == "proxied", status == "success", status == "failed",
                  status == "interrupted", 0, tokens, 0))  # fmt: skip
        if strategy != "direct":
            cell.strategies[strategy] = cell.strategies.get(strategy, 0) + 1
        if time is not None and status != "interrupted":
            cell.times.exact.append(time)


def _times(rollup: Rollup, by: By, caller: str | None, starts: list[str]) -> dict[str, dict[str, Point]]:
    """By strategy or rule."""
    sources = _sources(rollup, starts)
    if by == "rule":
        among, own = f"start IN ({', '.join('?' * len(sources))})", "" if caller is None else " AND caller = ?"
        rows = rollup.ask(
            f"SELECT start, rule, sum(times) FROM rules WHERE {among}{own} AND kind = 'refused' GROUP BY 1, 2",
            *sources, *(() if caller is None else (caller,)),
        )  # fmt: skip
    else:
        rows = list[Any]()
        for start, _, calls, proxied, some in rollup.cells("", caller, sources, "calls, proxied, repairs"):
            repairs = read_repairs(some)
            rows += [(start, strategy, times) for strategy, times in repairs.items()]
            rows.append((start, "direct", calls + proxied - sum(repairs.values())))
    found: dict[str, dict[str, Point]] = {}
    for start, name, times in rows:
        points, place = found.setdefault(name, {}), sources[start]
        points[place] = Point(start=place, calls=times + (points[place].calls if place in points else 0))
    return found


# ── how calls fitted, before and after they were repaired ──

FitBy = Part | Literal["all"]


class Fit(Struct, frozen=True):
    """The calls of one minute, hour or day, those that went through the proxy included."""

    start: str
    """UTC, as far as it goes: `2026-01-31 12` is the hour that begins at twelve."""
    calls: int = 0
    repaired: int = 0
    failed: int = 0
    """Nothing made them fit."""
    lifted: int = 0
    """Right, but written into the text, and taken out of it."""

    @property
    def before(self) -> float | None:
        """The part that was right as written, from 0 to 100."""
        right = self.calls - self.repaired - self.failed - self.lifted
        return 100 * right / self.calls if self.calls else None

    @property
    def after(self) -> float | None:
        """The part that fitted in the end."""
        return 100 * (self.calls - self.failed) / self.calls if self.calls else None


def fit_over_time(
    tables: Tables, period: Period, by: FitBy = "all", *, caller: str | None = None, now: str
) -> dict[str, tuple[Fit, ...]]:
    """By name (`all`: under the empty name), those with the most calls first. Every name has a point for every minute,
    hour or day that the period touches."""

    def read(rollup: Rollup, starts: list[str]) -> dict[str, dict[str, Fit]]:
        return _each_cell(_summed(rollup, by, caller, starts), _fit)

    found, starts = _over_time(tables, period, now, SECONDS, read)
    names = sorted(found, key=lambda key: (-sum(one.calls for one in found[key].values()), key))
    return {key: tuple(found[key].get(start, Fit(start)) for start in starts) for key in names}


def _fit(start: str, cell: _Cell) -> Fit:
    failed, lifted = (cell.strategies.get(name, 0) for name in ("failed", LIFTED))
    repaired = sum(cell.strategies.values()) - failed - lifted
    return Fit(start, cell.numbers[0] + cell.numbers[3], repaired, failed, lifted)


def fit_of_all(parts: Mapping[str, Sequence[Fit]]) -> tuple[Fit, ...]:
    """All names together."""
    return tuple(
        Fit(
            some[0].start,
            sum(one.calls for one in some),
            sum(one.repaired for one in some),
            sum(one.failed for one in some),
            sum(one.lifted for one in some),
        )
        for some in zip(*parts.values(), strict=True)
    )

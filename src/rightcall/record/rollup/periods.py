"""The figures of a period, from the rollup: whole days and hours are added up, and only where a period begins or ends
within an hour are single calls read.

    count ─▶ everything that analytics and metrics show: the same as one pass over the records counts

A short audit, and a short period of a long one, are counted call by call: then percentiles are exact. Otherwise they
are at most 2.5 % (`counts.ERROR`) away from a time that a call really took. Every other figure is exact.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from itertools import pairwise
from math import fsum
from typing import Any, Final

from rightcall.record.calls import Period, PeriodSlots, window_of
from rightcall.record.counts import (
    Asker,
    Counts,
    Line,
    Tally,
    add_counts,
    in_slots,
    pass_over,
    running_in,
    slot_of,
    unreadable,
)
from rightcall.record.rollup.rollup import Rollup
from rightcall.record.rollup.tables import (
    AFTER,
    CELL,
    DAY,
    HOUR,
    LINE,
    MINUTE,
    in_places,
    read_faults,
    read_repairs,
    read_slots,
)
from rightcall.record.tables import Tables

FEW: Final = 10_000
"""Records of an audit that are passed over, and calls of a period that are read one by one."""


def count(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> Counts:
    """What was counted in the period that ends `now`. Raises StoreError for a record in it that cannot be read."""
    return count_window(tables, window_of(period, now), caller)


def count_window(tables: Tables, window: PeriodSlots, caller: str | None = None) -> Counts:
    """The same for any period."""
    if tables.head()[0] - tables.oldest() < FEW:
        return pass_over(tables, window, caller)
    rollup, alive = tables.rollup(), running_in(tables)
    if rollup.catch_up(tables):  # another process is making it, which may take long
        return pass_over(tables, window, caller, alive)
    return counted(rollup, tables, window, caller, alive=alive)


def count_within(tables: Tables, window: PeriodSlots, caller: str | None, seconds: float) -> tuple[Counts, int]:
    """As far as it is counted within that time; and how many records are left."""
    if tables.head()[0] - tables.oldest() < FEW:
        return pass_over(tables, window, caller), 0
    rollup, alive = tables.rollup(), running_in(tables)
    left = rollup.catch_up(tables, seconds)
    return counted(rollup, tables, window, caller, alive=alive), left


def counted(
    rollup: Rollup,
    tables: Tables,
    window: PeriodSlots,
    caller: str | None,
    few: int = FEW,
    alive: Set[int] | None = None,
) -> Counts:
    """As far as the rollup has come. `few` calls are read one by one."""
    counts = Counts(window, caller)
    with rollup.reading():
        _refuse_damaged(rollup, window, caller)
        filler = _Filler(rollup, counts, few)
        filler.fill()
        filler.fill_slots()
        filler.take_open(tables, running_in(tables) if alive is None else alive)
        filler.take_messages()
    counts.settle()
    return counts


def _refuse_damaged(rollup: Rollup, window: PeriodSlots, caller: str | None) -> None:
    for seq, whose, why in rollup.ask(
        "SELECT seq, caller, why FROM damaged WHERE at >= ? AND at <= ? ORDER BY seq", window.since, window.until
    ):
        if caller is None or whose in ("", caller):
            raise unreadable(seq, why)


class _Filler:
    """Fills counts from the rollup."""

    def __init__(self, rollup: Rollup, counts: Counts, few: int) -> None:
        self._rollup = rollup
        self._ask = rollup.ask
        self._counts = counts
        self._window = window = counts.window
        self._whose = "" if counts.caller is None else " WHERE caller = ?"
        self._caller = () if counts.caller is None else (counts.caller,)
        lines = rollup.ask(f"SELECT id, caller, tool, provider, model FROM lines{self._whose}", *self._caller)
        self._lines = {number: Line(*names) for number, *names in lines}
        self._spans = rollup.ask(
            "SELECT start, first, last, calls, passed, rows, low, high FROM spans WHERE start >= ? AND start <= ?"
            f" AND first <= ? AND last >= ? AND length(start) <> {MINUTE} ORDER BY start",
            window.since[:DAY], window.until, window.until, window.since,
        )  # fmt: skip
        self._kinds: str | None = None
        self._tallies: dict[int, Tally] = {}
        self._parts: dict[str, tuple[int, int, tuple[Any, ...]]] = {}
        """Of hours or minutes: the slot of the part that is counted by calls, that of the rest, and the part."""
        hours = [span for span in self._spans if len(span[0]) == HOUR]
        self._few = sum(span[5] for span in hours) <= few

    def _tally(self, line: int) -> Tally:
        tally = self._tallies.get(line)
        if tally is None:
            tally = self._tallies[line] = self._counts.tallies[self._lines[line]] = Tally()
        return tally

    def fill(self) -> None:
        whole, cut = self._cover()
        self._add_cells(whole)
        for span in cut:
            self._add_calls(span, exact=not whole, inside=span[0] not in whole)
        for tally in (
            *self._counts.tallies.values(),
            *(one for part in self._counts.parts.values() for one in part.values()),
        ):
            direct = tally.calls + tally.proxied - tally.strategies.total()
            if direct:
                tally.strategies["direct"] = direct

    def _cover(self) -> tuple[list[str], list[Any]]:
        """Days and hours that are added as a whole, and hours of which only a part lies within the period: where that
        is most of it, the hour is among the whole ones, and the rest is taken off again."""
        whole: list[str] = []
        cut: list[Any] = []
        for span in self._spans:
            start, first, last, _, _, rows, *_ = span
            if whole and start[:DAY] == whole[-1]:  # an hour of a day that counts as a whole
                continue
            if not self._few and first >= self._window.since and last <= self._window.until:
                whole.append(start)
            elif len(start) == HOUR:
                cut.append(span)
                if not self._few and 2 * sum(minute[5] for minute in self._minutes(start)) > rows:
                    whole.append(start)
        return whole, cut

    def _add_cells(self, starts: list[str]) -> None:
        """Of all callers what is kept of each part; of one caller its lines, which are added up when all is taken."""
        counts, faults = self._counts, list[tuple[Tally, dict[int, int]]]()
        for part in (LINE,) if self._whose else counts.parts:
            for _, name, *row in self._rollup.cells(part, counts.caller, starts, CELL):
                tally = self._tally(name) if part == LINE else _tally_of(counts.parts[part], name)
                _add_cell(tally, row)
                if part in (LINE, "tool"):
                    faults.append((tally, read_faults(row[12])))
                if part in (LINE, ""):
                    counts.waiting += row[2]
        self._add_faults(faults)
        among, own = f"start IN ({', '.join('?' * len(starts))})", " AND caller = ?" if self._whose else ""
        for kind, rule, times in self._ask(
            f"SELECT kind, rule, sum(times) FROM rules WHERE {among}{own} GROUP BY kind, rule", *starts, *self._caller
        ):
            counts.ruled[kind][rule] += times

    def _add_faults(self, found: Collection[tuple[Tally, dict[int, int]]]) -> None:
        """Errors, which are known by their numbers."""
        texts = self._texts({number for _, faults in found for number in faults})
        for tally, faults in found:
            for number, times in faults.items():
                tally.errors[texts[number]] += times

    def _texts(self, errors: Iterable[int]) -> dict[int, str]:
        return dict(self._rows_of("text", "errors", errors))

    def _rows_of(self, columns: str, table: str, numbers: Iterable[int]) -> Iterator[Any]:
        """The rows of a table that have these numbers."""
        for some in in_places(numbers):  # as they are: to send 500 values takes a server's client 8 ms
            yield from self._ask(f"SELECT id, {columns} FROM {table} WHERE id IN ({', '.join(map(str, {*some}))})")

    def _add_calls(self, span: Any, *, exact: bool, inside: bool) -> None:
        """Those of one hour that lie within the period, one by one; or take those off that do not."""
        hour, *_, low, high = span
        window, by = self._window, 1 if inside else -1
        part = "at >= ? AND at <= ?" if inside else "(at < ? OR at > ?)"
        # kinds and errors are no part of the question: a server that takes the calls for few looks each of them up
        rows = self._ask(
            "SELECT kind, status, time, tokens, cached, error"
            f" FROM calls WHERE seq >= ? AND seq <= ? AND at >= ? AND at < ? AND {part}{self._of_caller('kind')}",
            low, high, hour, hour + AFTER, window.since, window.until,
        )  # fmt: skip
        texts = self._texts({row[-1] for row in rows if row[-1] is not None})
        of_kind: dict[int, list[Any]] = {}
        for row in rows:
            of_kind.setdefault(row[0], []).append(row)
        took: dict[int, list[float]] = {}
        for number, line, kind, rule, strategy in self._rows_of("line, kind, rule, strategy", "kinds", of_kind):
            calls = of_kind[number]
            times = by * len(calls)
            if kind == "waiting":
                self._counts.waiting += times
                continue
            tally = self._tally(line)
            self._counts.ruled[kind][rule] += times
            if strategy != "direct":
                tally.strategies[strategy] += times
            if kind == "proxied":
                tally.proxied += times
                continue
            tally.calls += times
            if kind == "refused":
                tally.refused += times
            took.setdefault(line, []).extend(_add_ends(tally, calls, texts, by))
        for line, times in took.items():
            if exact:
                self._tally(line).times.exact.extend(times)
            else:  # among the others
                self._tally(line).times.add_slots(by * in_slots(Counter(map(slot_of, times))), by * fsum(times))

    def _of_caller(self, column: str) -> str:
        """A condition on calls."""
        if not self._whose:
            return ""
        if self._kinds is None:
            found = self._ask(
                "SELECT kinds.id FROM kinds JOIN lines ON lines.id = line WHERE caller = ?", *self._caller
            )
            self._kinds = ", ".join(str(int(number)) for (number,) in found)
        return f" AND {column} IN ({self._kinds})"

    def fill_slots(self) -> None:
        """Calls in each slot, and those that passed through the proxy. Slots begin at any moment: hours that are cut in
        two are added up by minutes, minutes by calls. Of one caller's only hours are known."""
        whole = dict[str, int]()
        for span in self._spans:
            start = span[0]
            if len(start) == DAY:
                continue
            slot = self._slot_of(span)
            if slot is None and self._whose:
                slot = self._split(span)
            if slot is not None:
                whole[start] = slot
                if not self._whose:
                    self._add_to_slot(slot, *span[3:5])
                continue
            for minute in [span] if self._whose else self._minutes(start):
                slot = None
                if not self._whose:
                    slot = self._slot_of(minute)
                    slot = self._split(minute) if slot is None else slot
                if slot is not None:
                    self._add_to_slot(slot, *minute[3:5])
                else:
                    self._cut(minute)
        if self._whose:
            for start, _, calls, passed in self._rollup.cells("", self._counts.caller, whole, "calls, proxied"):
                self._add_to_slot(whole[start], calls, passed)
        self._add_parts()

    def _add_to_slot(self, slot: int, calls: int, passed: int) -> None:
        self._counts.slots[slot] += calls
        self._counts.passed_slots[slot] += passed

    def _minutes(self, hour: str) -> list[Any]:
        return self._ask(
            "SELECT start, first, last, calls, passed, rows, low, high FROM spans WHERE start > ? AND start < ?"
            " AND first <= ? AND last >= ?",
            hour, hour + AFTER, self._window.until, self._window.since,
        )  # fmt: skip

    def _slot_of(self, span: Any) -> int | None:
        """The slot that all of a span is in."""
        slots, (_, first, last, *_) = self._window.slots, span
        slot = bisect_right(slots, first) - 1
        inside = slot >= 0 and last <= self._window.until and bisect_right(slots, last) - 1 == slot
        return slot if inside else None

    def _split(self, span: Any) -> int | None:
        """Of a minute, or of an hour of one caller, in which a slot ends, only a part is counted by calls, later: of an
        hour the smaller one. The slot of the rest, which has all of it but these; None at the edge of the period."""
        slots, (start, first, last, _, _, rows, *seqs) = self._window.slots, span
        one, other = (bisect_right(slots, moment) - 1 for moment in (first, last))
        if one < 0 or other != one + 1 or last > self._window.until:
            return None
        edge = slots[other]
        if len(start) == MINUTE:
            self._parts[start] = other, one, (*seqs, edge, start + AFTER)
            return one
        minutes = self._minutes(start)
        if sum(minute[5] for minute in minutes) != rows:
            return None
        before, behind = [each for each in minutes if each[1] < edge], [each for each in minutes if each[2] >= edge]
        if not before or not behind:  # a part was pruned
            return other if behind else one
        small, rest, part, since, until = one, other, before, start, edge
        if sum(each[5] for each in behind) < sum(each[5] for each in before):
            small, rest, part, since, until = other, one, behind, edge, start + AFTER
        low, high = min(each[6] for each in part), max(each[7] for each in part)
        self._parts[start] = small, rest, (low, high, since, until)
        return rest

    def _add_parts(self) -> None:
        """The parts that are counted by calls, all with one question: the kinds of a caller are many."""
        if not self._parts:
            return
        size = HOUR if self._whose else MINUTE
        part = "(seq >= ? AND seq <= ? AND at >= ? AND at < ?)"
        for start, is_passed, times in self._ask(
            f"SELECT substr(at, 1, {size}), status = 'proxied', count(*) FROM calls"
            f" WHERE ({' OR '.join([part] * len(self._parts))}) AND status <> 'waiting'{self._of_caller('kind')}"
            " GROUP BY 1, 2",
            *(value for _, _, values in self._parts.values() for value in values),
        ):
            calls, passed = (0, times) if is_passed else (times, 0)
            small, rest, _ = self._parts[start]
            self._add_to_slot(small, calls, passed)
            self._add_to_slot(rest, -calls, -passed)

    def _cut(self, span: Any) -> None:
        """Its calls, of each slot: those from its beginning on without those from the next one's on."""
        (start, *_, low, high), slots = span, self._window.slots
        since = max(start, self._window.since)
        slot = bisect_right(slots, since) - 1
        edges = slots[slot + 1 : bisect_right(slots, start + AFTER)]
        later = ", sum(CASE WHEN at >= ? THEN 1 ELSE 0 END)" * len(edges)
        for is_passed, *counts in self._ask(
            f"SELECT status = 'proxied', count(*){later} FROM calls WHERE seq >= ? AND seq <= ? AND at >= ? AND at < ?"
            f" AND at <= ? AND status <> 'waiting'{self._of_caller('kind')} GROUP BY 1",
            *edges, low, high, since, start + AFTER, self._window.until,
        ):  # fmt: skip
            for number, (one, other) in enumerate(pairwise((*counts, 0)), slot):
                calls, passed = (0, one - other) if is_passed else (one - other, 0)
                self._add_to_slot(number, calls, passed)

    def take_open(self, tables: Tables, alive: Set[int]) -> None:
        """What has begun, has not ended and runs in no living process was interrupted."""
        found = self._ask(
            "SELECT seq, line FROM calls JOIN kinds ON kinds.id = calls.kind"
            f" WHERE status = 'pending' AND at >= ? AND at <= ?{self._of_caller('calls.kind')}",
            self._window.since, self._window.until,
        )  # fmt: skip
        head = tables.head()[0]
        for seq, line in found:
            # what came after this look began is not known to have died
            self._tally(line).interrupted += seq not in alive and seq <= head

    def take_messages(self) -> None:
        counts, window = self._counts, self._window
        told = "FROM messages WHERE at >= ? AND at <= ?" + ("" if counts.caller is None else " AND caller = ?")
        values = (window.since, window.until, *self._caller)
        for caller, context, correct in self._ask(
            f"SELECT caller, context, correct {told} AND what = 'diagnosis' AND correct IS NOT NULL ORDER BY seq",
            *values,
        ):
            counts.diagnoses[caller, context] = bool(correct)
        for caller, context in self._ask(
            f"SELECT DISTINCT caller, context {told} AND task = 'debug' AND context IS NOT NULL", *values
        ):
            counts.debugging.add((caller, context))
            counts.begun[caller, context] = self._begun((caller, context), (0, 2**63 - 1))
        self._take_used(told, values)

    def _take_used(self, told: str, values: tuple[str, ...]) -> None:
        """How often models were asked, and messages in which a tool was used: as they say themselves, else where a call
        has begun since the one before of the same caller and context."""
        counts, since, until = self._counts, self._window.since, self._window.until
        messages, began = f"{told} AND what = 'message'", "used IS NULL AND begun > earlier"
        outside = f"{began} AND (begun_at < ? OR begun_at > ?)"
        odd = 0
        for caller, number, used, before, turns, tool_turns in self._ask(
            f"SELECT caller, count(*), sum(CASE WHEN {began} AND begun_at >= ? AND begun_at <= ? OR used THEN 1 ELSE 0"
            f" END), sum(CASE WHEN {outside} THEN 1 ELSE 0 END), sum(turns),"
            f" sum(CASE WHEN turns <> 0 THEN tool_turns ELSE 0 END) {messages} GROUP BY caller",
            since, until, since, until, *values,
        ):  # fmt: skip
            counts.messages += number
            counts.messages_with_tools += used
            odd += before
            if turns:
                counts.turns[caller] += turns
                counts.tool_turns[caller] += tool_turns
        if odd:  # the clock was set, or the last call began before the period
            for *asker, earlier, seq in self._ask(
                f"SELECT caller, context, earlier, seq {messages} AND {outside}", *values, since, until
            ):
                counts.messages_with_tools += bool(self._begun((asker[0], asker[1]), (earlier, seq)))

    def _begun(self, asker: Asker, between: tuple[int, int]) -> int:
        caller, context = asker
        only = "" if context is None else " AND context = (SELECT id FROM contexts WHERE name = ?)"
        return self._ask(
            "SELECT count(*) FROM calls WHERE seq > ? AND seq < ? AND at >= ? AND at <= ?"
            f"{only} AND kind IN (SELECT kinds.id FROM kinds JOIN lines ON lines.id = line"
            " WHERE caller = ? AND kind = 'begin')",
            *between, self._window.since, self._window.until, *(() if context is None else (context,)), caller,
        )[0][0]  # fmt: skip


def _tally_of(tallies: dict[str, Tally], name: str) -> Tally:
    tally = tallies.get(name)
    if tally is None:
        tally = tallies[name] = Tally()
    return tally


def _add_ends(tally: Tally, calls: Iterable[Any], texts: Mapping[int, str], by: int) -> list[float]:
    """What came of calls; and how long those took that came to their end."""
    took: list[float] = []
    for _, status, time, tokens, cached, error in calls:
        if time is None:
            continue
        tally.tokens += by * tokens
        tally.cached += by * cached
        if status == "interrupted":
            tally.interrupted += by
            continue
        took.append(time)
        if status == "success":
            tally.succeeded += by
        else:
            tally.failed += by
            tally.errors[texts.get(error, "")] += by
    return took


def _add_cell(tally: Tally, row: list[Any]) -> None:
    """All but its errors."""
    calls, refused, _, proxied, succeeded, failed, interrupted, cached, tokens, total, slots, repairs, _ = row
    tally.calls += calls
    tally.refused += refused
    tally.proxied += proxied
    tally.succeeded += succeeded
    tally.failed += failed
    tally.interrupted += interrupted
    tally.cached += cached
    tally.tokens += tokens
    tally.times.add_slots(read_slots(slots), total)
    add_counts(tally.strategies, read_repairs(repairs))

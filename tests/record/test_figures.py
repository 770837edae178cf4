"""What pages show: one period in figures and over time, the same as analytics counts."""

import pytest

from rightcall.policy.types import Approval
from rightcall.record.analytics import read_analytics
from rightcall.record.calls import Period
from rightcall.record.figures import By, Point, count_waiting, read_overview, read_series
from rightcall.record.rollup import periods
from rightcall.record.tables import ManualClock, Store
from support.every import sampled
from support.stores import Diary

pytestmark = pytest.mark.promise("A-05")


@pytest.fixture
def diary(store: Store, clock: ManualClock) -> Diary:
    diary = Diary(store, clock)
    for number in range(40):
        clock.advance(3_000)
        diary.ran(tool=f"t{number % 3}", time=10.0 * number, model=f"m{number % 2}", provider="p")
    diary.failed(caller="bob", error="timed out")
    diary.refused(caller="bob", rule="limit:caller", strategy="json-repair")
    diary.refused(rule="allowlist", strategy="failed")
    return diary


@pytest.mark.parametrize("few", [0, 10_000], ids=["from the rollup", "by one pass"])
@pytest.mark.parametrize("period", ["1hour", "1day", "1week"])
def test_the_overview_shows_what_analytics_counts(
    diary: Diary, period: Period, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periods, "FEW", few)
    found = read_overview(diary.store, period)
    wanted = diary.store.look(lambda tables: read_analytics(tables, period=period, now=diary.now))
    total = found.total
    assert (total.calls, total.refused, total.failed) == (wanted.total_calls, wanted.refused, wanted.failed)
    assert (found.refusals, found.timeline) == (wanted.refusals, wanted.timeline)
    assert {tool: one.calls for tool, one in found.tools.items()} == {
        tool: share.calls for tool, share in wanted.tool_breakdown.items()
    }
    assert total.repaired == 1
    assert total.unfit == 1
    assert total.p95 == pytest.approx(wanted.p95, rel=0.03)
    assert found.uncounted == 0


def test_questions_that_can_still_be_answered_are_counted_whenever_they_were_asked(
    diary: Diary, clock: ManualClock
) -> None:
    now = clock.now()
    for name, until in (("a1", now + 10**9), ("a2", now), ("a3", now + 10**9)):
        question = Approval(
            id=name, kind="call", caller="ada", tool="t", canonical="{}", digest="d", binding=name, definition="",
            state="", why="", details="", asked_at=now, asked=clock.wall(), expires_at=until,
        )  # fmt: skip
        diary.store.transact(lambda tables, question=question: tables.put_approval(question))
    assert read_overview(diary.store).waiting == count_waiting(diary.store) == 2
    assert count_waiting(diary.store, "bob") == 0


@pytest.mark.parametrize("period", ["1hour", "1day", "1week"])
@pytest.mark.parametrize("by", sampled(["all", "tool", "caller", "provider", "model", "strategy", "rule"], 2))
def test_a_series_has_a_point_for_every_step_and_adds_up(diary: Diary, period: Period, by: By) -> None:
    diary.clock.advance(1)
    found = read_series(diary.store, period, by)
    wanted = read_overview(diary.store, "1week" if period != "1hour" else "1hour")
    starts = {tuple(point.start for point in points) for points in found.values()}
    assert len(starts) == 1
    assert next(len(points) for points in found.values()) in {"1hour": (61,), "1day": (25,), "1week": (8,)}[period]
    calls = {name: sum(point.calls for point in points) for name, points in found.items()}
    if period == "1day":
        return
    expected = {
        "all": {"": wanted.total.calls},
        "tool": {name: one.calls for name, one in wanted.tools.items()},
        "caller": {name: one.calls for name, one in wanted.callers.items()},
        "model": {name: one.calls for name, one in wanted.models.items()},
        "strategy": wanted.strategies,
        "rule": wanted.refusals,
    }
    assert calls == expected.get(by, calls)


def test_a_point_has_outcomes_and_times(diary: Diary) -> None:
    hour = diary.now[:13]
    (points,) = read_series(diary.store, "1day", caller="bob").values()
    assert points[-1] == Point(start=hour, calls=2, refused=1, failed=1, p50=points[-1].p50, p95=points[-1].p95)
    assert points[-1].p50 == pytest.approx(1.0, rel=0.03)

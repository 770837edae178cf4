"""What was used, how often, how well: counted from the audit in one pass."""

import sqlite3
from collections import Counter
from contextlib import closing
from math import ceil, fsum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import ConfigError, StoreError
from rightcall.record.analytics import Analytics, Repairs, Share, TopTool, as_design, read_analytics
from rightcall.record.calls import Period
from rightcall.record.counts import percentile
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, encode
from support.every import every
from support.stores import Diary

pytestmark = pytest.mark.promise("A-05")


def figures(diary: Diary, period: Period = "1day", caller: str | None = None, now: str | None = None) -> Analytics:
    return diary.store.look(lambda tables: read_analytics(tables, period=period, caller=caller, now=now or diary.now))


@pytest.fixture
def diary() -> Diary:
    return Diary()


def test_a_call_is_what_began_or_was_refused_and_a_question_is_none(diary: Diary) -> None:
    diary.ran()
    diary.failed()
    diary.refused()
    diary.waiting()
    found = figures(diary)
    assert (found.total_calls, found.ran, found.refused, found.waiting) == (3, 2, 1, 1)
    assert (found.succeeded, found.failed) == (1, 1)


def test_the_success_rate_is_of_all_calls_and_beside_it_stands_that_of_those_that_ran(diary: Diary) -> None:
    for _ in range(6):
        diary.ran()
    diary.failed()
    diary.refused()
    found = figures(diary)
    assert found.success_rate == 75.0
    assert found.run_success_rate == pytest.approx(100 * 6 / 7)


def test_a_call_that_still_runs_is_a_call_without_an_outcome(diary: Diary) -> None:
    diary.ran()
    call = diary.begin()
    diary.store.transact(lambda tables: tables.begun(call))
    found = figures(diary)
    assert (found.total_calls, found.running, found.interrupted) == (2, 1, 0)
    assert (found.success_rate, found.run_success_rate) == (100.0, 100.0)


def test_what_runs_nowhere_and_never_ended_was_interrupted(diary: Diary) -> None:
    diary.ran(time=10.0)
    diary.begin()
    diary.end(diary.begin(), 0.0, "interrupted")
    found = figures(diary)
    assert (found.interrupted, found.running, found.ran) == (2, 0, 3)
    assert found.success_rate == pytest.approx(100 / 3)
    assert found.avg_execution_time == 10.0, "nobody knows how long an interrupted call took"


def test_mean_and_p95_are_of_the_calls_that_came_to_their_end(diary: Diary) -> None:
    for time in (30.0, 10.0, 20.0):
        diary.ran(time=time)
    diary.failed(time=100.0)
    diary.refused()
    found = figures(diary)
    assert (found.avg_execution_time, found.p95) == (40.0, 100.0)


@every(
    ("count", "expected"),
    [(0, None), (1, 1), (2, 2), (19, 19), (20, 19), (21, 20), (39, 38), (40, 38), (41, 39), (99, 95), (100, 95)],
)
def test_p95_is_the_smallest_time_that_95_percent_do_not_exceed(count: int, expected: int | None) -> None:
    assert percentile(range(1, count + 1), 95) == expected


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_p95_is_a_time_that_was_measured_and_holds_what_it_says(times: list[float]) -> None:
    times.sort()
    found = percentile(times, 95)
    assert found in times
    assert sum(time <= found for time in times) * 100 >= 95 * len(times)
    assert sum(time < found for time in times) * 100 < 95 * len(times)


def test_top_tools_come_by_their_number_of_calls_and_then_by_name(diary: Diary) -> None:
    diary.ran(tool="code/list", time=4.0)
    diary.ran(tool="code/blame", time=4.0)
    diary.ran(tool="code/read", time=1.0)
    diary.refused(tool="code/read")
    assert figures(diary).top_tools == (
        TopTool("code/read", 2, 1.0, 50.0),
        TopTool("code/blame", 1, 4.0, 100.0),
        TopTool("code/list", 1, 4.0, 100.0),
    )


def test_ten_tools_are_the_top_and_the_breakdown_has_them_all(diary: Diary) -> None:
    for number in range(12):
        diary.ran(tool=f"tool{number:02}")
    found = figures(diary)
    assert [one.tool for one in found.top_tools] == [f"tool{number:02}" for number in range(10)]
    assert len(found.tool_breakdown) == 12


def test_equal_errors_of_a_tool_are_one_line_with_a_count(diary: Diary) -> None:
    for error in ("No such file", "timed out", "No such file", None):
        diary.failed(error=error)
    diary.failed(tool="code/list", error="No such file")
    assert [(one.tool, one.error, one.count) for one in figures(diary).errors] == [
        ("code/read", "No such file", 2),
        ("code/list", "No such file", 1),
        ("code/read", "no reason given", 1),
        ("code/read", "timed out", 1),
    ]


def test_refusals_are_counted_by_rule_and_limits_together(diary: Diary) -> None:
    for rule in ("limit:caller:minute", "limit:all:hour", "limit:caller:minute", "path:outside"):
        diary.refused(rule=rule)
    found = figures(diary)
    assert found.refusals == {"limit:caller:minute": 2, "limit:all:hour": 1, "path:outside": 1}
    assert list(found.refusals) == ["limit:caller:minute", "limit:all:hour", "path:outside"]
    assert found.limit_hits == 3


def test_repairs_are_calls_by_strategy_without_those_that_needed_none(diary: Diary) -> None:
    diary.ran()
    diary.ran(strategy="python_ast")
    diary.ran(strategy="structure")
    diary.ran(strategy="structure")
    diary.refused(strategy="failed")
    assert figures(diary).repairs == {"structure": 2, "failed": 1, "python_ast": 1}


def test_dry_runs_are_calls_that_ran_and_are_counted_apart(diary: Diary) -> None:
    diary.ran(rule="dry_run")
    diary.ran()
    found = figures(diary)
    assert (found.dry_runs, found.ran, found.succeeded) == (1, 2, 2)


def test_cached_results_and_tokens_are_added_up(diary: Diary) -> None:
    diary.end(diary.begin(), 1.0, tokens=120)
    diary.end(diary.begin(), 0.0, tokens=80, cached=True)
    found = figures(diary)
    assert (found.cached, found.tokens) == (1, 200)


def test_only_the_caller_that_is_asked_for_is_counted(diary: Diary) -> None:
    diary.ran("ada")
    diary.ran("bob", strategy="structure")
    diary.failed("bob", error="broken")
    diary.refused("bob")
    diary.waiting("bob")
    everyone, ada = figures(diary), figures(diary, caller="ada")
    assert (ada.total_calls, ada.refusals, ada.repairs, ada.errors, ada.waiting) == (1, {}, {}, (), 0)
    assert ada.callers == {}
    assert everyone.total_calls == 4
    assert everyone.callers == {"bob": Share(3, 100 / 3, 1.0, 1.0), "ada": Share(1, 100.0, 1.0, 1.0)}
    assert figures(diary, caller="nobody").total_calls == 0


@pytest.mark.parametrize(("period", "seconds"), [("1hour", 3600), ("1day", 86_400), ("1week", 604_800)])
def test_a_period_reaches_back_from_now_and_holds_both_its_ends(diary: Diary, period: Period, seconds: int) -> None:
    diary.ran(tool="too/early")
    diary.clock.advance(0.001)
    diary.ran(tool="first")
    diary.clock.advance(seconds)
    now = diary.now
    diary.ran(tool="last")
    diary.clock.advance(0.001)
    diary.ran(tool="too/late")
    assert sorted(figures(diary, period, now=now).tool_breakdown) == ["first", "last"]


def test_an_end_belongs_to_its_call_whenever_it_is_written(diary: Diary) -> None:
    early = diary.begin(tool="before")
    diary.clock.advance(3600.5)
    diary.end(early)
    late = diary.begin(tool="within")
    now = diary.now
    diary.clock.advance(30)
    diary.end(late)
    found = figures(diary, "1hour", now=now)
    assert list(found.tool_breakdown) == ["within"]
    assert (found.succeeded, found.interrupted) == (1, 0)


def test_setting_the_date_back_loses_no_outcome(diary: Diary) -> None:
    diary.ran(tool="old")
    diary.clock.advance(7200)
    now = diary.now
    call = diary.begin(tool="new")
    diary.clock.advance(-7200)
    diary.end(call)
    found = figures(diary, "1hour", now=now)
    assert (list(found.tool_breakdown), found.succeeded) == (["new"], 1)


def test_the_timeline_says_when_the_calls_were(diary: Diary) -> None:
    diary.ran()  # exactly 24 hours ago: the first slot
    diary.clock.advance(3600)
    diary.ran()
    diary.refused()
    diary.clock.advance(23 * 3600)
    diary.ran()  # now: the last slot
    timeline = figures(diary).timeline
    assert timeline == (1, 2, *[0] * 21, 1)
    assert len(figures(diary, "1hour").timeline) == 12
    assert len(figures(diary, "1week").timeline) == 7


def test_an_empty_audit_has_no_rates_rather_than_zeros(diary: Diary) -> None:
    found = figures(diary)
    assert (found.total_calls, found.success_rate, found.run_success_rate) == (0, None, None)
    assert (found.avg_execution_time, found.p95, found.top_tools, found.errors) == (None, None, (), ())


def test_the_design_s_own_shape_has_exactly_its_keys(diary: Diary) -> None:
    for time in (100.0, 190.0):
        diary.ran("claude-assistant", time=time)
    diary.failed("claude-assistant", "code/search", 512.0, "too many matches")
    diary.refused("claude-assistant", "code/edit")
    assert as_design(figures(diary, caller="claude-assistant")) == {
        "personaId": "claude-assistant",
        "personaName": "Claude Assistant",
        "period": "1day",
        "stats": {
            "totalCalls": 4,
            "successRate": 50.0,
            "avgExecutionTime": pytest.approx((100 + 190 + 512) / 3),
            "topTools": [
                {"tool": "code/read", "count": 2, "avgTime": 145.0},
                {"tool": "code/edit", "count": 1, "avgTime": 0.0},
                {"tool": "code/search", "count": 1, "avgTime": 512.0},
            ],
            "errors": [{"tool": "code/search", "error": "too many matches", "count": 1}],
        },
        "toolBreakdown": {
            "code/read": {"calls": 2, "successRate": 100.0, "avgTime": 145.0},
            "code/edit": {"calls": 1, "successRate": 0.0, "avgTime": 0.0},
            "code/search": {"calls": 1, "successRate": 0.0, "avgTime": 512.0},
        },
    }
    assert as_design(figures(diary))["personaId"] == "*"
    assert as_design(figures(diary))["personaName"] == "All Callers"


def test_wrong_periods_and_times_are_refused_with_what_would_be_right(diary: Diary) -> None:
    with pytest.raises(ConfigError, match="period: '1month' is not a period; expected 1hour, 1day, 1week"):
        figures(diary, "1month")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="now: 'noon' cannot be read as a time; write it in UTC"):
        figures(diary, now="noon")


def test_now_may_carry_a_zone(diary: Diary) -> None:
    assert figures(diary, now="2026-01-01T13:00:00+01:00").until == "2026-01-01 12:00:00.000"


@pytest.mark.parametrize("body", [b"{", b'{"caller": 1}', b'{"caller": "\xff", "tool": "t", "rule": "r"}'])
def test_a_record_that_cannot_be_read_is_named(diary: Diary, body: bytes) -> None:
    diary.ran()
    diary.store.transact(lambda tables: tables.append("begin", 0, body))
    with pytest.raises(StoreError, match="record 3 of the audit cannot be read") as raised:
        figures(diary)
    assert raised.value.fault == "corrupt"


def test_other_kinds_of_records_and_later_versions_with_more_fields_change_nothing(diary: Diary) -> None:
    diary.ran()
    before = figures(diary)
    diary.store.transact(lambda tables: tables.append("policy", 0, b'{"what":"loaded"}'))
    diary.store.transact(lambda tables: tables.append("message", 0, b'{"what":"a word of a later version"}'))
    diary.store.transact(lambda tables: tables.append("answer", 1, b"{}"))
    assert figures(diary) == before
    diary.store.transact(
        lambda tables: tables.append("refused", 0, b'{"caller":"ada","tool":"t","rule":"allowlist","new":[{}]}')
    )
    assert figures(diary).refused == 1


def test_the_view_for_sql_agrees(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "audit.db")
    diary = Diary(store)
    for number in range(7):
        diary.ran("ada", "code/read", 10.0 * number)
    diary.failed("ada", "code/search", 90.0, "too many matches")
    diary.refused("bob", "code/read", "limit:caller:minute")
    diary.waiting("bob")
    call = diary.begin("bob")
    store.transact(lambda tables: tables.begun(call))
    found = store.look(lambda tables: read_analytics(tables, period="1day", now=tables.wall()))
    settled = "FROM tool_usage_logs WHERE status NOT IN ('pending', 'waiting')"
    calls = "FROM tool_usage_logs WHERE status <> 'waiting' GROUP BY tool ORDER BY 2 DESC"
    with closing(sqlite3.connect(tmp_path / "audit.db")) as database:
        rate, time = database.execute(
            f"SELECT 100.0 * sum(success) / count(*), avg(execution_time) {settled}"
        ).fetchone()
        by_tool = database.execute(f"SELECT tool, count(*) {calls}").fetchall()
    store.close()
    assert (found.success_rate, found.avg_execution_time) == (rate, time)
    assert [(one.tool, one.count) for one in found.top_tools] == by_tool == [("code/read", 9), ("code/search", 1)]


ROW = st.tuples(
    st.sampled_from(["ada", "bob"]),
    st.sampled_from(["code/read", "code/search"]),
    st.sampled_from(["success", "failed", "interrupted", "refused", "waiting", "gone", "running"]),
    st.integers(0, 5000),
    st.sampled_from(["limit:caller:minute", "path:outside", "allowlist"]),
    st.sampled_from(["direct", "structure"]),
    st.integers(0, 600_000),
)


def write(diary: Diary, row: Any) -> None:
    caller, tool, outcome, time, rule, strategy, later = row
    diary.clock.advance(later / 1000)
    if outcome == "refused":
        diary.refused(caller, tool, rule, strategy=strategy)
    elif outcome == "waiting":
        diary.waiting(caller, tool)
    else:
        call = diary.begin(caller, tool, strategy=strategy)
        if outcome == "running":
            diary.store.transact(lambda tables: tables.begun(call))
        elif outcome != "gone":
            diary.end(call, time, outcome, error="broken")


@given(st.lists(ROW, max_size=30), st.sampled_from([None, "ada"]))
def test_one_pass_counts_what_a_naive_recount_counts(rows: list[Any], caller: str | None) -> None:
    diary = Diary()
    total = 0
    kept: list[Any] = []
    for row in rows:
        write(diary, row)
    for row in reversed(rows):
        if total <= 3_600_000 and row[2] != "waiting" and caller in (None, row[0]):
            kept.append(row)
        total += row[6]
    found = figures(diary, "1hour", caller)
    outcomes = Counter(row[2] for row in kept)
    times = sorted(row[3] for row in kept if row[2] in ("success", "failed"))
    settled = len(kept) - outcomes["running"]
    assert found.total_calls == len(kept)
    assert sum(found.timeline) == len(kept)
    assert found.interrupted == outcomes["interrupted"] + outcomes["gone"]
    assert found.running == outcomes["running"]
    assert found.success_rate == (100 * outcomes["success"] / settled if settled else None)
    assert found.avg_execution_time == (fsum(times) / len(times) if times else None)
    assert found.p95 == (times[ceil(len(times) * 95 / 100) - 1] if times else None)
    assert found.refusals == Counter(row[4] for row in kept if row[2] == "refused")
    assert found.repairs == Counter(row[5] for row in kept if row[5] != "direct")
    assert sum(one.count for one in found.errors) == outcomes["failed"]
    for tool, share in found.tool_breakdown.items():
        of_tool = [row for row in kept if row[1] == tool]
        settled = [row for row in of_tool if row[2] != "running"]
        assert share.calls == len(of_tool)
        assert share.success_rate == (
            100 * sum(row[2] == "success" for row in settled) / len(settled) if settled else None
        )
    if caller is None:
        assert {name: one.calls for name, one in found.callers.items()} == Counter(row[0] for row in kept)


@pytest.mark.promise("A-80")
def test_repairs_are_counted_for_each_tool_provider_and_model_with_those_of_the_proxy(diary: Diary) -> None:
    diary.ran(provider="ollama", strategy="python_ast")
    diary.ran(provider="ollama", strategy="structure")
    diary.ran(provider="ollama")
    diary.ran(tool="code/list", provider="anthropic")
    diary.refused(tool="code/list", provider="ollama", strategy="failed")
    diary.ran(caller="bob", provider="openai", strategy="structure")
    diary.ran(tool="code/list")
    body = CallBody(
        "ada", "Read", {}, "", "passed", "proxy:repaired", strategy="structure", model="m", provider="ollama"
    )
    diary.store.transact(lambda tables: tables.append("proxied", 0, encode(body)))
    found = figures(diary)
    assert [*found.repairs_by_provider] == ["ollama", "not reported", "anthropic", "openai"]
    assert found.repairs_by_provider["ollama"] == Repairs(
        calls=5, direct=1, lifted=0, repaired=3, failed=1, repair_rate=60.0, success_rate=80.0,
        strategies={"structure": 2, "python_ast": 1},
    )  # fmt: skip
    assert found.repairs_by_provider["anthropic"] == Repairs(1, 1, 0, 0, 0, 0.0, 100.0, {})
    assert {name: (one.calls, one.repaired, one.failed) for name, one in found.repairs_by_tool.items()} == {
        "code/read": (4, 3, 0), "code/list": (3, 0, 1), "Read": (1, 1, 0),
    }  # fmt: skip
    assert {name: (one.calls, one.repaired) for name, one in found.repairs_by_model.items()} == {
        "not reported": (7, 3),
        "m": (1, 1),
    }
    shares = {name: (one.calls, one.success_rate) for name, one in found.providers.items()}
    assert shares == {"ollama": (4, 75.0), "not reported": (1, 100.0), "anthropic": (1, 100.0), "openai": (1, 100.0)}
    assert [*figures(diary, caller="bob").repairs_by_provider] == ["openai"]
    assert figures(Diary()).repairs_by_tool == {}

"""Charts of the console: the numbers are those of the record, each chart is told in words and has its table and its
export."""

import csv
import io
import json
import re

import pytest

from rightcall.console.charts import MOST, OTHERS, Drawing, Series, bars, lines
from rightcall.record.calls import Period
from rightcall.record.figures import fit_over_time
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import CallBody, ManualClock, encode
from support.consoles import Browser
from support.every import sampled
from support.stores import Diary

pytestmark = pytest.mark.promise("H-09")

STARTS = ["2026-01-01", "2026-01-02", "2026-01-03"]


@pytest.fixture
def diary(store: MemoryStore, clock: ManualClock) -> Diary:
    return Diary(store, clock)


def drawing(*series: Series, unit: str = "") -> Drawing:
    return Drawing(id="x", title="X", desc="About X", starts=STARTS, series=series, unit=unit)  # pyright: ignore[reportArgumentType]


def test_a_place_without_a_value_interrupts_the_line() -> None:
    (drawn,) = lines(drawing(Series("a", [1, None, 3]))).drawn
    assert drawn.path.count("M") == 2
    assert "L" not in drawn.path
    assert [one.label for one in drawn.dots] == ["a: 1", "a: 3"]


def test_bars_stand_on_top_of_each_other_and_small_ones_are_added_up() -> None:
    chart = bars(drawing(*(Series(f"s{number}", [number, 1, 0]) for number in range(1, MOST + 3))))
    assert [one.name for one in chart.drawn] == [*(f"s{number}" for number in range(1, MOST)), OTHERS]
    assert chart.drawn[-1].bars[0].label == f"{OTHERS}: {MOST + MOST + 1 + MOST + 2}"
    below, above = chart.drawn[0].bars[0], chart.drawn[1].bars[0]
    assert above.y + above.height == pytest.approx(below.y, abs=0.05)
    assert len(chart.columns) == MOST + 3, "the table has every one"


def test_parts_of_a_hundred_begin_where_they_differ_and_the_ticks_say_where() -> None:
    chart = lines(drawing(Series("a", [95.0, 97.0, 100.0]), unit="%"))
    assert [one.label for one in chart.ticks] == ["100 %", "95 %", "90 %"]


def test_what_fitted_before_and_after_repair_is_counted_by_part(store: MemoryStore, diary: Diary) -> None:
    diary.ran("ada", "code/read", strategy="direct", model="m1")
    diary.ran("ada", "code/read", strategy="python_ast", model="m1")
    diary.refused("ada", "web/fetch", strategy="failed", model="m2")
    found = store.look(lambda tables: fit_over_time(tables, "1day", "model", now=tables.wall()))
    assert list(found) == ["m1", "m2"]
    (one,) = (point for point in found["m1"] if point.calls)
    assert (one.calls, one.repaired, one.failed, one.before, one.after) == (2, 1, 0, 50.0, 100.0)
    (other,) = (point for point in found["m2"] if point.calls)
    assert (other.before, other.after) == (0.0, 0.0)
    lengths: dict[Period, int] = {"1hour": 61, "1day": 25, "1week": 8}
    for period, points in lengths.items():
        whole = store.look(lambda tables, period=period: fit_over_time(tables, period, now=tables.wall()))
        assert len(whole[""]) == points
        assert sum(point.calls for point in whole[""]) == 3
        assert sum(point.repaired for point in whole[""]) == 1


@pytest.mark.parametrize("period", sampled(["1day", "1hour", "1week"], 3))
@pytest.mark.parametrize("by", ["tool", "model", "provider", "caller"])
def test_every_chart_is_told_in_words_and_has_a_table_and_an_export(
    ann: Browser, diary: Diary, by: str, period: str
) -> None:
    diary.ran("ada", "code/read", time=12.0, strategy="python_ast", model="m1", provider="p1")
    diary.failed("eve", "web/fetch", error="timed out")
    page = ann.get(f"/analytics?by={by}&period={period}").text
    charts = re.findall(r'<svg [^>]*role="img" aria-labelledby="(\S+)-t \1-d"><title id="\1-t">.+?</title><desc', page)
    assert charts == ["fit", "strategies", f"fit-{by}", f"calls-{by}", f"success-{by}", "latency"]
    for name in (*charts, f"by-{by}", "metrics", "errors"):
        assert f"table={name}&amp;format=csv" in page
        header, *rows = csv.reader(io.StringIO(ann.get(f"/analytics/export?by={by}&period={period}&table={name}").text))
        assert all(len(row) == len(header) for row in rows)
        assert rows
        lines_of = ann.get(f"/analytics/export?by={by}&period={period}&table={name}&format=jsonl").text.splitlines()
        assert [list(json.loads(line)) for line in lines_of] == [header] * len(rows)


def test_the_table_of_tools_says_how_each_one_does(ann: Browser, diary: Diary) -> None:
    diary.ran("ada", "code/read", time=12.0)
    diary.ran("ada", "code/read", time=14.0, strategy="python_ast")
    diary.failed("ada", "code/read", time=16.0)
    header, row = csv.reader(io.StringIO(ann.get("/analytics/export?table=by-tool").text))
    told = dict(zip(header, row, strict=True))
    assert (told["tool"], told["calls"], told["repaired"], told["after (%)"]) == ("code/read", "3", "1", "100.0")
    assert (told["before (%)"], told["ran well (%)"], told["p95 (ms)"]) == ("66.67", "66.67", "16.0")


@pytest.mark.parametrize("period", ["1hour", "1day", "1week"])
def test_the_largest_tools_are_named_wherever_they_run_and_only_the_tail_is_folded(
    ann: Browser, store: MemoryStore, diary: Diary, period: str
) -> None:
    for number in range(MOST + 2):
        diary.ran("ada", f"tool-{number}")
    body = CallBody("proxy", "weather", {}, "ab" * 32, "passed", "proxy:right")
    for _ in range(3):
        store.transact(lambda tables: tables.append("proxied", 0, encode(body)))
    chart = ann.get(f"/analytics?period={period}").text.partition('<h2 id="calls-tool">')[2]
    named = re.findall(r"</svg>([^<]+)</li>", chart.partition("</ul>")[0])
    assert named == ["weather", *(f"tool-{number}" for number in range(MOST - 2)), OTHERS]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_no_cell_of_an_export_is_a_formula(ann: Browser, diary: Diary, sign: str) -> None:
    diary.failed(f"{sign}eve", f"{sign}tool", error=f"{sign}1+1")
    for table in ("by-tool", "errors", "calls-tool", "by-caller&by=caller"):
        rows = list(csv.reader(io.StringIO(ann.get(f"/analytics/export?table={table}").text)))
        assert len(rows) > 1
        assert not [one for row in rows for one in row if one.startswith(("=", "+", "-", "@"))]


def test_an_empty_period_says_what_to_do(ann: Browser) -> None:
    page = ann.get("/analytics?period=1hour").text
    assert "choose a longer period" in page
    assert ann.get("/analytics/export?table=nothing").status == 404


def test_in_a_long_line_only_a_value_that_no_line_leads_to_has_a_dot() -> None:
    values = [1, None, 2, 3, None, 4, *[None] * 200, 5]
    starts = [f"{number}" for number in range(len(values))]
    series = (Series("a", values),)
    (drawn,) = lines(Drawing(id="x", title="X", desc="X", starts=starts, series=series)).drawn
    assert [one.label for one in drawn.dots] == ["a: 1", "a: 4", "a: 5"]

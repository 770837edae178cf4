"""Calls that passed through the proxy: in every look at the audit, and in no figure about calls that ran here."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall.proxy.gates import Did
from rightcall.record.analytics import Analytics, Passed, as_design, read_analytics, read_metrics
from rightcall.record.browse import list_records, log_lines, read_record
from rightcall.record.calls import CallFilter, call, find_calls
from rightcall.record.figures import fit_over_time
from rightcall.record.tables import CallBody, encode
from rightcall.record.verify import prune, verify_audit
from rightcall.types import Call, Verdict
from support.every import every
from support.stores import KINDS, Diary, opened

pytestmark = pytest.mark.promise("H-03")

every_store = pytest.mark.parametrize("kind", KINDS)


def passed(diary: Diary, fate: str = "right", tool: str = "Read", caller: str = "proxy", **more: Any) -> int:
    about: Any = {"wire": "openai_chat", "model": "qwen3:4b"} | more
    body = CallBody(caller, tool, {"file_path": "a.py"}, "d" * 64, "passed", f"proxy:{fate}", **about)
    return diary.store.transact(lambda tables: tables.append("proxied", 0, encode(body)))


def figures(diary: Diary, caller: str | None = None) -> Analytics:
    return diary.store.look(lambda tables: read_analytics(tables, period="1day", caller=caller, now=diary.now))


@every_store
def test_one_is_read_back_as_a_call_that_nobody_ran(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        number = passed(diary, "left", reason="Missing: city.", written="red", retries=2, taught=True)
        record = diary.store.look(lambda tables: call(tables, number))
        assert record is not None
        assert (record.status, record.rule, record.error, record.ended) == (
            "proxied",
            "proxy:left",
            "Missing: city.",
            None,
        )
        assert (record.ended, record.execution_time) == (None, None)
        assert (record.written, record.retries, record.taught) == ("red", 2, True)
        assert [
            one.id for one in diary.store.look(lambda tables: find_calls(tables, CallFilter(status="proxied")))
        ] == [number]
        assert diary.store.look(lambda tables: find_calls(tables, CallFilter(status="success"))) == []


@every_store
@pytest.mark.promise("C-11")
def test_logs_and_calls_show_them_and_the_log_of_tools_used_does_not(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        ran = diary.ran()
        number = passed(diary, "repaired")
        assert log_lines(diary.store).lines[0] == "2026-01-01T12:00:00.000Z #3 proxy Read proxied proxy:repaired"
        rows = list_records(diary.store, "calls", {"status": "proxied"}).records
        assert [(row["id"], row["model"], row["wire"]) for row in rows] == [(number, "qwen3:4b", "openai_chat")]
        assert read_record(diary.store, "calls", number).record["decision"] == "passed"
        assert [row["id"] for row in list_records(diary.store, "tool_usage_logs").records] == [ran]


def test_the_view_of_tools_used_and_its_success_rate_leave_them_out(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        ran = diary.ran()
        passed(diary)
        with closing(sqlite3.connect(tmp_path / "audit.db")) as connection:
            assert connection.execute("SELECT id, status FROM tool_usage_logs").fetchall() == [(ran, "success")]


@pytest.mark.promise("A-05")
def test_they_are_counted_apart_and_their_repairs_with_all_others() -> None:
    diary = Diary()
    diary.ran(strategy="structure")
    diary.refused()
    alone = figures(diary)
    named = diary.store.look(lambda tables: read_metrics(tables, period="1day", now=diary.now))
    passed(diary, "repaired", strategy="structure")
    passed(diary, "repaired", "Edit", strategy="python_ast")
    passed(diary, "left", strategy="failed", model="phi4", caller="editor")
    passed(diary)
    found = figures(diary)
    assert found.passed == Passed(
        4,
        {"repaired": 2, "left": 1, "right": 1},
        {"Read": 3, "Edit": 1},
        {"qwen3:4b": 3, "phi4": 1},
        {"proxy": 3, "editor": 1},
        (*[0] * (len(found.timeline) - 1), 4),
    )
    assert found.repairs == {"structure": 2, "failed": 1, "python_ast": 1}
    assert (found.total_calls, found.success_rate, found.ran, found.timeline) == (
        alone.total_calls, alone.success_rate, alone.ran, alone.timeline,
    )  # fmt: skip
    assert as_design(found) == as_design(alone)
    assert diary.store.look(lambda tables: read_metrics(tables, period="1day", now=diary.now)) == named
    assert figures(diary, "editor").passed.calls == 1


@every_store
@pytest.mark.promise("A-03")
def test_the_chain_holds_them_and_pruning_takes_them_like_any_other(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(5):
            passed(diary)
        assert diary.store.look(verify_audit).checked == 5
        done = diary.store.transact(lambda tables: prune(tables, keep=2, by="ann"))
        assert (done.removed, diary.store.look(verify_audit).ok) == (3, True)


WAYS = [
    ("right", "direct", "native", "right"), ("unknown", "direct", "native", "right"),
    ("repeated", "direct", "text", "right"), ("lifted", "direct", "text", "lifted"),
    ("would-lift", "direct", "text", "lifted"), ("lifted", "python_ast", "text", "repaired"),
    ("repaired", "structure", "native", "repaired"), ("repaired", "direct", "native", "repaired"),
    ("left", "failed", "native", "left"), ("left", "direct", "text", "left"),
]  # fmt: skip
"""What was done, by which strategy, where the call was written, and what it counts as."""


@every_store
def test_right_as_written_means_the_same_in_records_figures_and_charts(kind: str, tmp_path: Path) -> None:
    """A call that was lifted from the text, repaired or left was not right as written."""
    with opened(kind, tmp_path) as diary:
        for fate, strategy, origin, fit in WAYS:
            number = passed(diary, fate, strategy=strategy, origin=origin)
            record = diary.store.look(lambda tables, number=number: call(tables, number))
            assert record is not None
            assert record.fit == fit, (fate, strategy, origin)
        one = figures(diary).repairs_by_tool["Read"]
        assert (one.calls, one.direct, one.lifted, one.repaired, one.failed) == (10, 3, 2, 3, 2)
        (point,) = [
            point
            for point in diary.store.look(lambda tables: fit_over_time(tables, "1day", now=diary.now))[""]
            if point.calls
        ]
        assert (point.calls, point.lifted, point.repaired, point.failed, point.before) == (10, 2, 3, 2, 30.0)


@every(("fate", "strategy", "origin", "fit"), [way for way in WAYS if way[0] != "would-lift"])
def test_the_proxy_counts_a_call_as_its_record_does(fate: Any, strategy: Any, origin: Any, fit: str) -> None:
    verdict = Verdict(ok=True, call=Call("Read", {}, None, origin), strategy=strategy)
    assert Did(fate, verdict, "Read").fit == fit

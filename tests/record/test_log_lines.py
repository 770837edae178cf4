"""What happened, a line each, from every process that shares the store; and each caller's own record of it."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.record.analytics import own_report
from rightcall.record.browse import MOST_LINES, log_lines
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import NoteBody, encode
from support.stores import KINDS, Diary, opened, tamper

pytestmark = pytest.mark.promise("C-11")

every_store = pytest.mark.parametrize("kind", KINDS)


def append(diary: Diary, kind: Any, what: str, **data: Any) -> None:
    diary.store.transact(lambda tables: tables.append(kind, 0, encode(NoteBody(what, "eve", data))))


@every_store
def test_each_line_says_when_who_what_and_how_it_went(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran("ada", "code/read", 12.54)
        diary.clock.advance(1.5)
        diary.failed("bob", "code/search", 3, error="no such folder")
        diary.refused("bob", "code/edit", reason="Not allowed.")
        diary.waiting("ada")
        append(diary, "policy", "loaded", source="/home/ann/rightcall.toml")
        append(diary, "release", "released", caller="bob", tool="code/edit")
        diary.begin("ada", "ping")
        found = log_lines(diary.store)
        assert found.lines == [
            (
                "2026-01-01T12:00:01.500Z #9 ada ping interrupted stage:read-only: "
                "Its process ended, or could not record the end of the call."
            ),
            "2026-01-01T12:00:01.500Z #8 release released bob code/edit",
            "2026-01-01T12:00:01.500Z #7 policy loaded",
            "2026-01-01T12:00:01.500Z #6 ada file/save waiting approval:effects",
            "2026-01-01T12:00:01.500Z #5 bob code/edit refused allowlist: Not allowed.",
            "2026-01-01T12:00:01.500Z #3 bob code/search failed 3.0 ms stage:read-only: no such folder",
            "2026-01-01T12:00:00.000Z #1 ada code/read success 12.5 ms stage:read-only",
        ]
        assert not found.truncated


@every_store
def test_nothing_that_a_model_wrote_can_make_a_line_of_its_own_or_pass_for_another(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.refused("ada", "ping success 1.0 ms", reason="a\n2026 #7 root \x1b[31m\u202e" + "x" * 999)
        (line,) = log_lines(diary.store).lines
        assert line.isprintable()
        assert '#1 ada "ping success 1.0 ms" refused allowlist: a\\u000a2026 #7 root \\u001b[31m\\u202exxx' in line
        assert len(line) < 400


@every_store
def test_at_most_so_many_lines_are_shown_and_the_rest_is_said(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for _ in range(52):
            diary.refused()
        found = log_lines(diary.store)
        assert (len(found.lines), found.truncated, " #52 " in found.lines[0]) == (50, True, True)
        assert (len(log_lines(diary.store, 52).lines), log_lines(diary.store, 52).truncated) == (52, False)
        assert len(log_lines(diary.store, -3).lines) == 1
        diary.store.transact(
            lambda tables: [tables.append("message", 0, encode(NoteBody("message"))) for _ in range(MOST_LINES)]
        )
        assert len(log_lines(diary.store, 10**30).lines) == MOST_LINES


def test_the_lines_are_those_of_all_processes_that_share_the_store(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary, closing(SqliteStore(tmp_path / "audit.db", diary.clock)) as other:
        diary.refused("ada")
        Diary(other, diary.clock).refused("bob")
        assert log_lines(diary.store) == log_lines(other)
        assert [line.split()[2] for line in log_lines(other).lines] == ["bob", "ada"]


def test_a_changed_record_is_a_line_that_says_so(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.ran()
        append(diary, "policy", "loaded")
        tamper(tmp_path / "audit.db", "UPDATE audit SET body = '[' WHERE seq <> 2")
        policy, call = log_lines(diary.store).lines
        assert policy.endswith("#3 policy damaged")
        assert "#1 damaged" in call


@every_store
def test_a_report_counts_the_callers_own_calls_alone(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        diary.ran("ada", "code/read", 99)
        diary.clock.advance(2 * 3600)
        diary.ran("ada", "code/read", 10)
        diary.failed("ada", "code/search", 20, "no such folder")
        diary.failed("bob", "code/list", 1, "bob's own")
        call = diary.begin("ada", "ai/report")
        diary.store.transact(lambda tables: tables.begun(call))
        report = own_report(diary.store, "ada", "1hour")
        assert encode(report) == encode(
            {
                "success": True,
                "personaId": "ada",
                "personaName": "Ada",
                "period": "1hour",
                "stats": {
                    "totalCalls": 3,
                    "successRate": 50.0,
                    "avgExecutionTime": 15.0,
                    "topTools": [
                        {"tool": "ai/report", "count": 1, "avgTime": None},
                        {"tool": "code/read", "count": 1, "avgTime": 10.0},
                        {"tool": "code/search", "count": 1, "avgTime": 20.0},
                    ],
                    "errors": [{"tool": "code/search", "error": "no such folder", "count": 1}],
                },
                "toolBreakdown": {
                    "ai/report": {"calls": 1, "successRate": None, "avgTime": None},
                    "code/read": {"calls": 1, "successRate": 100.0, "avgTime": 10.0},
                    "code/search": {"calls": 1, "successRate": 0.0, "avgTime": 20.0},
                },
            }
        )
        assert own_report(diary.store, "ada").stats["totalCalls"] == 4, "a day, where nothing else is asked for"
        assert own_report(diary.store, "*").stats["totalCalls"] == 0, "no name stands for everybody"


def test_a_report_is_bounded_and_a_store_that_cannot_be_read_is_a_clear_failure(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        for n in range(60):
            diary.failed("ada", f"tool-{n}", error=f"{n}" * 300)
        report = own_report(diary.store, "ada")
        assert (len(report.tool_breakdown), len(report.stats["errors"])) == (50, 20)
        tamper(tmp_path / "audit.db", "UPDATE audit SET body = '[' WHERE seq = 1")
        with pytest.raises(ToolFailure, match=r"cannot be read now \(corrupt\)"):
            own_report(diary.store, "ada")
    for look in (log_lines, lambda store: own_report(store, "ada")):
        with pytest.raises(ToolFailure, match=r"cannot be read now \(closed\)"):
            look(diary.store)

"""`tool_usage_logs`: the audit as design 002 asks for it, with any program that reads SQLite."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from typing import Any

import pytest

from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import SystemClock
from support.stores import OpenSqlite, add, begin_body, end_body

DESIGN_QUERY = """
-- Measure tool usage by persona
SELECT
  persona_name,
  tool,
  COUNT(*) as call_count,
  AVG(execution_time) as avg_time_ms,
  SUM(CASE WHEN status='success' THEN 1 ELSE 0 END) / COUNT(*) as success_rate
FROM tool_usage_logs
WHERE timestamp > datetime('now', '-24 hours')
GROUP BY persona_name, tool
ORDER BY call_count DESC
LIMIT 20;
"""

COLUMNS = [
    "id", "timestamp", "persona_id", "persona_name", "context_id", "step_id", "tool", "params", "status",
    "execution_time", "error", "result_summary", "tokens_consumed", "success", "cached", "rule", "decision",
]  # fmt: skip

pytestmark = pytest.mark.promise("A-05", "A-06")


@pytest.fixture
def store(open_sqlite: OpenSqlite) -> SqliteStore:
    return open_sqlite(at=SystemClock())


def ran(store: SqliteStore, end: bytes | None = None, **body: Any) -> int:
    call = store.transact(add("begin", 0, begin_body(**body)))
    if end is not None:
        store.transact(add("end", call, end))
    return call


def query(path: str, sql: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql)]


def logs(store: SqliteStore) -> list[dict[str, Any]]:
    return query(store.path, "SELECT * FROM tool_usage_logs ORDER BY id")


def test_a_call_and_its_end_are_one_row(store: SqliteStore) -> None:
    end = end_body("success", execution_time=12.5, summary="Read 10 lines", tokens=40, cached=True)
    call = ran(store, end)
    (row,) = logs(store)
    timestamp = row.pop("timestamp")
    at = store.look(lambda tables: tables.entry(call))
    assert at is not None
    assert timestamp == at.at
    assert json.loads(row.pop("params")) == {"path": "a.py"}
    assert row == {
        "id": call, "persona_id": "teacher", "persona_name": "teacher", "context_id": "plan-1", "step_id": "2",
        "tool": "code/read", "status": "success", "execution_time": 12.5, "error": None,
        "result_summary": "Read 10 lines", "tokens_consumed": 40, "success": 1, "cached": 1, "rule": "stage:read-only",
        "decision": "allow",
    }  # fmt: skip


def test_the_columns_are_those_of_the_design(store: SqliteStore) -> None:
    ran(store)
    assert list(logs(store)[0]) == COLUMNS


def test_every_status_has_its_word(store: SqliteStore) -> None:
    ran(store)
    ran(store, end_body("success"))
    ran(store, end_body("failed", error="no such file"))
    ran(store, end_body("interrupted", error="The process ended before the call did."))
    refused = begin_body(decision="deny", rule="limit:caller:minute", reason="Rate limit exceeded")
    store.transact(add("refused", 0, refused))
    store.transact(add("waiting", 0, begin_body(decision="ask", rule="effect:write", reason="it writes")))
    for kind in ("answer", "grant", "definition", "policy", "release", "prune", "message"):
        store.transact(add(kind))
    found = [(row["status"], row["success"], row["execution_time"], row["error"]) for row in logs(store)]
    assert found == [
        ("pending", 0, None, None),
        ("success", 1, 0.0, None),
        ("failed", 0, 0.0, "no such file"),
        ("interrupted", 0, 0.0, "The process ended before the call did."),
        ("refused", 0, None, "Rate limit exceeded"),
        ("waiting", 0, None, "it writes"),
    ]


def test_parameters_are_json_whatever_they_are(store: SqliteStore) -> None:
    for params in ({"a": [1, None]}, "raw text", [1], None, 'quoted "text"'):
        ran(store, params=params)
    assert [json.loads(row["params"]) for row in logs(store)] == [
        {"a": [1, None]},
        "raw text",
        [1],
        None,
        'quoted "text"',
    ]


def usage(store: SqliteStore) -> None:
    for _ in range(3):
        ran(store, end_body("success", execution_time=10.0))
    ran(store, end_body("failed", execution_time=30.0))
    ran(store, end_body("success", execution_time=5.0), caller="helper", tool="code/search")


def test_the_designs_query_runs_as_it_stands(store: SqliteStore) -> None:
    usage(store)
    assert query(store.path, DESIGN_QUERY) == [
        {"persona_name": "teacher", "tool": "code/read", "call_count": 4, "avg_time_ms": 15.0, "success_rate": 0},
        {"persona_name": "helper", "tool": "code/search", "call_count": 1, "avg_time_ms": 5.0, "success_rate": 1},
    ]


def test_the_view_beside_it_has_a_rate_that_is_one(store: SqliteStore) -> None:
    usage(store)
    assert query(store.path, "SELECT persona_name, success_rate FROM tool_usage_by_persona") == [
        {"persona_name": "teacher", "success_rate": 75.0},
        {"persona_name": "helper", "success_rate": 100.0},
    ]


def test_only_the_last_day_counts(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()  # its clock says the first of January 2026
    usage(store)
    assert query(store.path, DESIGN_QUERY) == []
    assert len(logs(store)) == 5


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the sqlite3 program is not installed")
def test_the_designs_query_runs_in_the_sqlite3_program(store: SqliteStore) -> None:
    usage(store)
    command = ["sqlite3", "-readonly", store.path, DESIGN_QUERY]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout.splitlines() == ["teacher|code/read|4|15.0|0", "helper|code/search|1|5.0|1"]


def test_the_view_finds_rows_and_their_ends_by_index(store: SqliteStore) -> None:
    plan = query(store.path, f"EXPLAIN QUERY PLAN {DESIGN_QUERY}")
    steps = [row["detail"] for row in plan]
    assert any("asked USING INDEX audit_at" in step for step in steps)
    assert any("done USING INDEX audit_call" in step for step in steps)

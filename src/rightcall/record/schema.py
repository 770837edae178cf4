"""The tables of the store as SQL, with the version they are in. What is older is brought up to date, what is newer is
refused: a program that does not know a table cannot keep its promises.

    audit        the records, chained; only ever added to
    windows      starts per scope, numbered, for limits and repeats; kept for an hour
    running      calls that have begun, each with the run (process) it is in
    approvals, grants, definitions, tokens
    meta         few words: the last record once all are pruned, changes, the boot the times belong to
"""

import sqlite3
from pathlib import Path

from rightcall.record.sqlite_faults import unusable

APPLICATION = 0x52434C31
"""Marks the file as ours (`RCL1`): `PRAGMA application_id`."""

_TABLES = """
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, call INTEGER NOT NULL, at TEXT NOT NULL,
    hash BLOB NOT NULL, body TEXT NOT NULL
);
CREATE INDEX audit_call ON audit (call) WHERE call > 0;
CREATE INDEX audit_at ON audit (at);
CREATE TABLE windows (
    scope TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, call INTEGER NOT NULL, PRIMARY KEY (scope, n)
) WITHOUT ROWID;
CREATE INDEX windows_at ON windows (at);
CREATE TABLE running (seq INTEGER PRIMARY KEY, run TEXT NOT NULL);
CREATE TABLE definitions (tool TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE approvals (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL,
    canonical TEXT NOT NULL, digest TEXT NOT NULL, binding TEXT NOT NULL, definition TEXT NOT NULL,
    state TEXT NOT NULL, why TEXT NOT NULL, details TEXT NOT NULL, asked_at INTEGER NOT NULL, asked TEXT NOT NULL,
    expires_at INTEGER NOT NULL, status TEXT NOT NULL, "by" TEXT NOT NULL, answered TEXT NOT NULL,
    used_by INTEGER NOT NULL
);
CREATE INDEX approvals_binding ON approvals (binding);
CREATE INDEX approvals_status ON approvals (status);
CREATE TABLE grants (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, caller TEXT NOT NULL, tool TEXT NOT NULL, "where" TEXT NOT NULL,
    uses INTEGER NOT NULL, expires_at INTEGER NOT NULL, "by" TEXT NOT NULL, made TEXT NOT NULL, note TEXT NOT NULL
);
CREATE INDEX grants_caller ON grants (caller, tool);
"""

META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"

_VIEWS = """
CREATE VIEW tool_usage_logs AS
SELECT
    asked.seq AS id,
    asked.at AS timestamp,
    json_extract(asked.body, '$.caller') AS persona_id,
    json_extract(asked.body, '$.caller') AS persona_name,
    json_extract(asked.body, '$.context') AS context_id,
    json_extract(asked.body, '$.step') AS step_id,
    json_extract(asked.body, '$.tool') AS tool,
    json_quote(json_extract(asked.body, '$.params')) AS params,
    CASE asked.kind WHEN 'begin' THEN coalesce(json_extract(done.body, '$.status'), 'pending')
        ELSE asked.kind END AS status,
    CASE WHEN done.seq IS NOT NULL THEN coalesce(json_extract(done.body, '$.execution_time'), 0.0) END
        AS execution_time,
    CASE asked.kind WHEN 'begin' THEN json_extract(done.body, '$.error')
        ELSE json_extract(asked.body, '$.reason') END AS error,
    json_extract(done.body, '$.summary') AS result_summary,
    coalesce(json_extract(done.body, '$.tokens'), 0) AS tokens_consumed,
    coalesce(json_extract(done.body, '$.status') = 'success', 0) AS success,
    coalesce(json_extract(done.body, '$.cached'), 0) AS cached,
    json_extract(asked.body, '$.rule') AS rule,
    json_extract(asked.body, '$.decision') AS decision
FROM audit AS asked
LEFT JOIN audit AS done ON done.call = asked.seq AND done.call > 0 AND done.kind = 'end'
WHERE asked.kind IN ('begin', 'refused', 'waiting');

CREATE VIEW tool_usage_by_persona AS
SELECT
    persona_name,
    tool,
    count(*) AS call_count,
    avg(execution_time) AS avg_time_ms,
    100.0 * sum(success) / count(*) AS success_rate
FROM tool_usage_logs
WHERE timestamp > datetime('now', '-24 hours')
GROUP BY persona_name, tool
ORDER BY call_count DESC;
"""
"""`tool_usage_by_persona` is design 002's own query (the last 24 hours) with a rate that is not cut to an integer."""

_APPROVAL_CONTEXT = """
ALTER TABLE approvals ADD COLUMN context TEXT;
CREATE INDEX approvals_waiting ON approvals (caller, expires_at) WHERE status = 'waiting';
CREATE INDEX approvals_open ON approvals (expires_at) WHERE status IN ('waiting', 'approved');
"""
"""Questions that waited before have none, and so only a call without a context redeems them."""

_TOKENS = """
CREATE TABLE tokens (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, caller TEXT NOT NULL, digest TEXT NOT NULL UNIQUE,
    expires TEXT NOT NULL, "by" TEXT NOT NULL, made TEXT NOT NULL, note TEXT NOT NULL
);
"""

STEPS = (f"{_TABLES}{META};\n{_VIEWS}", _APPROVAL_CONTEXT + _TOKENS)
"""What leads from each version to the next; an empty file is version 0."""

VERSION = len(STEPS)


_STATE = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""
"""In one statement: another process may be making the tables just now."""


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a store, checked: StoreError when the file is another program's, or newer than this one knows."""
    application, version, objects = connection.execute(_STATE).fetchone()
    if application != APPLICATION and (application or version or objects):
        raise unusable(path, "it is a database of another program", _OTHER, "corrupt")
    if version > VERSION:
        what = f"a newer RightCall wrote it (tables of version {version}, this one knows {VERSION})"
        raise unusable(path, what, f"Update RightCall. {_OTHER}", "version")
    return version


_OTHER = "Another file can be named under [audit] path in the policy file."


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Inside a transaction: make the tables, or take them from an older version to this one."""
    for step in STEPS[version_of(connection, path) :]:
        for statement in step.split(";\n"):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")

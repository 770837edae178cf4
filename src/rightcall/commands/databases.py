"""Clients of databases: what the statements do that they are given, typed or in a script."""

import re
from collections.abc import Iterator

from rightcall.commands.places import Place
from rightcall.commands.runs import Found, Run
from rightcall.commands.verbs import DEPLOYS
from rightcall.commands.words import Word, basename
from rightcall.parse.late import Late

CLIENTS = frozenset(
    ("psql", "mysql", "mariadb", "sqlite3", "sqlite", "mycli", "pgcli", "litecli", "clickhouse-client", "clickhouse",
     "sqlcmd", "cqlsh", "duckdb", "usql", "mongosh", "mongo", "snowsql", "bq", "trino", "presto", "hive", "beeline",
     "cockroach", "turso", "wrangler", "osqueryi", "impala-shell", "sqlplus", "isql", "tsql")
)  # fmt: skip
_SQL_DESTROYS = Late(
    r"\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|INDEX|VIEW|USER|ROLE|COLUMN|KEYSPACE|COLLECTION|FUNCTION|TRIGGER"
    r"|SEQUENCE|TYPE|OWNED|"
    r"MATERIALIZED|EXTENSION|POLICY|PROCEDURE|CONSTRAINT|TABLESPACE)|TRUNCATE\b|DELETE\s+FROM"
    r"|UPDATE\s+\S+\s+SET|REPLACE\s+INTO|pg_terminate_backend|KILL\s+\d"
    r"|ALTER\s+(?:TABLE|DATABASE|SYSTEM)|OVERWRITE\b)|\.(?:drop|dropDatabase|deleteMany|deleteOne|remove"
    r"|dropIndexes|updateMany"
    r"|findOneAndDelete|bulkWrite|renameCollection)\s*\(|\bdropDatabase\b|db\.shutdownServer", re.IGNORECASE,
)  # fmt: skip
_SQL_RIGHTS = Late(r"\b(?:GRANT|REVOKE)\s|\b(?:CREATE|ALTER)\s+(?:USER|ROLE)\b|LOAD_EXTENSION|LOAD\s+DATA\b"
                         r"|INTO\s+(?:OUT|DUMP)FILE|xp_cmdshell|pg_read_file|lo_import"
                         r"|createUser\(", re.IGNORECASE)  # fmt: skip
_SQL_RUNS = Late(
    r"\\!\s*(.*)|^\s*\.(?:shell|system)\s+(.*)|PROGRAM\s+'([^']*)'|^\s*system\s+(.*)", re.MULTILINE | re.IGNORECASE
)
_SQL_SECRET = Late(
    r"pg_shadow|pg_authid|mysql\.user|authentication_string|\bpassword_hash\b|rolpassword", re.IGNORECASE
)


_SQL_READS = Late(r"(?:^|\s)(?:\.read|\\ir?|source)\s+['\"]?([^\s'\";]+)")


def sql_files(run: Run) -> list[Word]:
    """The scripts that a client of a database is told to run."""
    if run.program not in CLIENTS:
        return []
    named = run.option("-f", "--file", "--queries-file", "--init", "-init", "-i")
    told = [Word(one) for value in run.values if len(value) < 5000 for one in _SQL_READS.findall(value)]
    return [*([named] if named is not None else []), *told]


def is_sql_client(run: Run) -> bool:
    return run.program in CLIENTS


def is_named_dangerously(file: str) -> bool:
    """A script that nobody can look into, named after what it does: `wipe.sql`."""
    return DEPLOYS.search(basename(file)) is not None


def console_rules(run: Run) -> Iterator[Found]:
    yield from sql_rules(run.program, "\n".join((*run.values, run.text or ""))[:100_000])


def sql_rules(program: str, text: str) -> Iterator[Found]:
    """What a text of SQL does."""
    for kind, expression in (
        ("destroys", _SQL_DESTROYS), ("escalates", _SQL_RIGHTS), ("runs", _SQL_RUNS), ("credentials", _SQL_SECRET),
    ):  # fmt: skip
        found = expression.search(text)
        if found:
            yield Found(kind, f"{program} {' '.join(found.group().split())[:40]}")
            return


def restore_rules(run: Run, _place: Place) -> Iterator[Found]:
    if run.has("-c", "--clean", "--create", "-C"):
        yield Found("destroys", "pg_restore --clean", ("--clean",))


def redis_rules(run: Run, _place: Place) -> Iterator[Found]:
    if run.text and re.search(r"\b(?:FLUSHALL|FLUSHDB|DEL|UNLINK|SHUTDOWN|CONFIG)\b", run.text, re.IGNORECASE):
        yield Found("destroys", "redis-cli")

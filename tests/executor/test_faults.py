"""A store that cannot be written: nothing runs, the error is clear and quick, and work resumes by itself (A-04)."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, SqliteStore
from rightcall.record.verify import verify_audit
from support import killing_calls

POLICY = {"policy": {"allow": ["*"], "write": "allow", "execute": "allow", "repeats": 0}}


class Bench:
    def __init__(self, folder: Path, store: SqliteStore) -> None:
        self.database = folder / "audit.db"
        self.ran: list[int] = []
        self.store = store
        self.executor = Executor.open_sync(folder, POLICY, store=store)

        @self.executor.tool(effects=["write"])
        def act(n: int) -> int:
            self.ran.append(n)
            return n

    def run(self, n: int) -> Any:
        return self.executor.run({"name": "act", "arguments": {"n": n}})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    store = SqliteStore(str(tmp_path / "audit.db"), busy_seconds=0.3)
    made = Bench(tmp_path, store)
    yield made
    made.executor.close()
    store.close()


def refused(bench: Bench, rule: str) -> None:
    """Nothing runs, and the answer comes."""
    began = time.monotonic()
    outcome = bench.run(-1)
    assert time.monotonic() - began < 60  # a busy machine may be slow
    assert (outcome.ok, outcome.decision.rule) == (False, rule)
    assert outcome.error
    assert outcome.metadata.recorded is False
    assert -1 not in bench.ran


def works_again(bench: Bench) -> None:
    assert bench.run(2).ok
    assert bench.ran == [1, 2]
    assert bench.store.look(verify_audit).ok


def test_of_a_call_that_ran_nobody_says_that_nothing_was_run(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @bench.executor.tool(effects=["write"])
    def close_store() -> str:
        bench.store.close()
        return "closed"

    outcome = bench.executor.run({"name": "close_store", "arguments": {}})
    assert (outcome.ok, outcome.metadata.recorded) == (True, False)
    assert "ran, but its outcome is not recorded yet: " in caplog.text
    assert "the outcome of a call could not be recorded: " in caplog.text
    assert "Nothing was run" not in caplog.text


@pytest.mark.promise("A-01", "A-04")
def test_a_database_that_another_process_has_locked(bench: Bench) -> None:
    assert bench.run(1).ok
    other = sqlite3.connect(bench.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(bench, "store:locked")
    other.execute("ROLLBACK")
    other.close()
    works_again(bench)


@pytest.mark.promise("A-01", "A-04")
def test_a_full_disk(bench: Bench) -> None:
    assert bench.run(1).ok
    limit = sqlite3.connect(bench.database)
    limit.close()
    bench.store.limit_pages(bench.database.stat().st_size // 4096)
    while (outcome := bench.run(1)).ok:
        pass
    assert outcome.decision.rule == "store:full"
    ran = list(bench.ran)
    refused(bench, "store:full")
    assert bench.ran == ran
    bench.store.limit_pages(None)
    assert bench.run(2).ok
    assert bench.store.look(verify_audit).ok


@pytest.mark.promise("A-01", "A-04")
def test_a_database_that_is_no_longer_one(bench: Bench) -> None:
    assert bench.run(1).ok
    whole = {path: path.read_bytes() for path in bench.database.parent.glob("audit.db*") if path.is_file()}
    bench.database.write_bytes(b"this is no database" * 1000)
    refused(bench, "store:corrupt")
    for path, content in whole.items():
        path.write_bytes(content)
    works_again(bench)


@pytest.mark.promise("A-01", "A-04")
@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_call_that_ran_while_the_store_failed_is_completed_later(bench: Bench) -> None:
    other = sqlite3.connect(bench.database, isolation_level=None, check_same_thread=False)

    @bench.executor.tool(effects=["write"], name="lock")
    def lock() -> str:
        other.execute("BEGIN IMMEDIATE")
        return "locked"

    outcome = bench.executor.run({"name": "lock"})
    assert (outcome.ok, outcome.result, outcome.metadata.recorded) == (True, "locked", False)
    other.execute("ROLLBACK")
    other.close()
    assert bench.run(1).ok
    assert bench.store.look(lambda tables: tables.running()) == []
    assert bench.store.look(verify_audit).ok


@pytest.mark.long
@pytest.mark.promise("A-01", "A-03")
def test_whatever_the_stage_nothing_ran_without_a_record_or_twice_and_the_interruption_shows() -> None:
    done = subprocess.run(
        [sys.executable, killing_calls.__file__, "--times", "2"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"kills": 16, "faults": []}

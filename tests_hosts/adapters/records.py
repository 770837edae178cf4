"""What a door has recorded, and what an example prints."""

import subprocess
import sys
from pathlib import Path

from rightcall.executor.door import Door
from rightcall.record.calls import CallRecord, find_calls


def records(door: Door) -> list[CallRecord]:
    """Every call, the oldest first."""
    door.store.transact(lambda _: None)  # what was left for later is written with this
    return sorted(door.store.look(lambda tables: list(find_calls(tables))), key=lambda record: record.id)


def statuses(door: Door) -> list[tuple[str, str]]:
    return [(record.tool, record.status) for record in records(door)]


def answered(door: Door, record: CallRecord) -> str | None:
    """What became of the question that a call waited for."""
    found = door.store.look(lambda tables: tables.approval(record.approval or ""))
    return None if found is None else found.status


def example(name: str) -> str:
    """What an example prints when it is run as a program; a warning is an error."""
    file = Path(__file__).parents[2] / "examples" / name
    run = subprocess.run([sys.executable, "-W", "error", str(file)], capture_output=True, text=True, timeout=200)
    assert run.stderr == ""
    assert run.returncode == 0
    return run.stdout

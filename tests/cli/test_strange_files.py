"""A pipe in the place of a file of ours: nobody waits for its other end, and the refusal names it."""

import os
from pathlib import Path

import pytest

from support.cli import start

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


@pytest.mark.promise("P-09", "A-04")
@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("x.db", ("audit", "verify", "--db", "{0}/x.db")),
        ("x.db", ("audit", "adopt", "--db", "{0}/x.db")),
        ("pack.toml", ("check", "--pack", "{0}/pack.toml", "x", "{{}}")),
        ("rightcall.toml", ("policy", "check", "{0}/rightcall.toml")),
        ("state/rightcall/installed.json", ("install", "claude-code", "--dry-run")),
    ],
)
def test_nothing_waits_for_a_pipe(tmp_path: Path, place: str, command: tuple[str, ...]) -> None:
    pipe = tmp_path / place
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    where = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    process = start(*(word.format(tmp_path) for word in command), **where)
    try:
        _, told = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 2
    assert place.rpartition("/")[2] in told.decode()
    assert "Traceback" not in told.decode()

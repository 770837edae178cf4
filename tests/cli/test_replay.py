"""`rightcall replay`: what a person gets told where nothing can be decided."""

from pathlib import Path

import pytest

from rightcall import Executor
from support.cli import Runner


@pytest.mark.promise("L-01")
@pytest.mark.parametrize("in_policy", [False, True])
def test_a_pack_that_is_missing_is_an_error_and_not_a_history_without_changes(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_policy: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    with Executor.open_sync(tmp_path) as executor:
        executor.run({"name": "ping", "arguments": {}})
    Path("new.toml").write_text('[gate]\npacks = ["./absent.toml"]\n' if in_policy else "version = 1\n")
    more = () if in_policy else ("--pack", "absent.toml")
    done = run("replay", "--policy", "new.toml", "--fail-on", "loosened", *more)
    assert done.code == 2
    assert "absent.toml" in done.err

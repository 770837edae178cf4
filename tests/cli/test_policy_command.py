"""`rightcall policy command`: one line for a person."""

from pathlib import Path

import pytest
from msgspec import json

from support.cli import Runner


@pytest.mark.promise("P-16")
def test_one_line_is_explained(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("policy", "command", "git push --force")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "? git push --force\n"
        "  answer  ask\n"
        "  rule    command:destroys\n"
        "  why     `git push --force` can destroy something that cannot be brought back\n"
    )
    assert json.decode(run("policy", "command", "--url", "file:///x/.env", "--json").out)["answer"] == "deny"


def test_a_command_line_without_quotes_is_told_to_be_quoted(run: Runner) -> None:
    for words in (["ls", "-la"], ["git", "push", "origin"]):
        done = run("policy", "command", *words)
        assert done.code == 2
        assert f"rightcall policy command '{' '.join(words)}'" in done.err

"""`rightcall call`: one call the whole way, from the shell."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_running import Done, Runner
from trusting import write_trusted

Caller = Callable[..., Done]

TOOLS = '''
from rightcall import tool

@tool(effects=["read"])
def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())

@tool(effects=["write"])
def save(name: str) -> str:
    with open(name, "w") as file:
        file.write("saved")
    return "saved"

@tool(effects=["read"])
def fail() -> None:
    raise RuntimeError("broken \\x1b[31m inside")

TOOLS = [word_count, save, fail]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "calltools.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "calltools", raising=False)
    return tmp_path


@pytest.fixture
def call(run: Runner, folder: Path) -> Caller:
    return lambda *arguments: run("call", *arguments, "--tools", "calltools:TOOLS", "--as", "teacher")


@pytest.mark.promise("X-01", "H-02")
def test_a_call_is_repaired_run_and_recorded(call: Caller, folder: Path) -> None:
    ran = call("word_count", "{'txt': 'to be or not'}", "--json")
    assert ran.code == 0, ran.err
    outcome: Any = json.loads(ran.out)
    assert (outcome["ok"], outcome["result"], outcome["decision"]["rule"]) == (True, 4, "stage:own")
    assert outcome["call"] == {"name": "word_count", "arguments": {"text": "to be or not"}}
    assert set(outcome["metadata"]["stages"]) == {"check", "authorise", "execute", "record", "present"}
    assert (folder / ".rightcall" / "audit.db").exists()


@pytest.mark.promise("X-01")
def test_explain_says_what_was_repaired_which_rule_decided_and_how_long_each_stage_took(
    call: Callable[..., Done], folder: Path
) -> None:
    ran = call("word_count", "{'txt': 'to be'}", "--explain")
    assert ran.code == 0, ran.err
    for words in ("✓ word_count ran in", "repaired", "allowed by rule stage:own", "authorise", "record"):
        assert words in ran.out


@pytest.mark.promise("P-01", "P-04")
def test_what_the_policy_does_not_allow_ends_with_one_and_changes_nothing(
    call: Callable[..., Done], folder: Path
) -> None:
    ran = call("save", '{"name": "a.txt"}')
    assert ran.code == 1
    assert "Tool 'save' is not whitelisted for AI use" in ran.out
    write_trusted(folder / "rightcall.toml", '[policy]\nallow = ["save"]\n')
    ran = call("save", '{"name": "a.txt"}')
    assert ran.code == 0
    assert "DRY RUN: nothing was changed." in ran.out
    write_trusted(folder / "rightcall.toml", '[policy]\nallow = ["save"]\ndry_run = false\n')
    ran = call("save", '{"name": "a.txt"}')
    assert ran.code == 1
    assert "waits for a person" in ran.out
    assert not (folder / "a.txt").exists()


@pytest.mark.promise("X-03", "A-07")
def test_a_tool_that_fails_ends_with_one_and_its_error_is_shown_escaped(
    call: Callable[..., Done], folder: Path
) -> None:
    ran = call("fail")
    assert ran.code == 1
    assert "RuntimeError: broken \\u001b[31m inside" in ran.out
    assert "\x1b" not in ran.out


def test_wrong_usage_is_said_clearly(call: Caller, run: Runner, folder: Path) -> None:
    ran = run("call", "word_count", "{}", "--tools", "tools.json")
    assert (ran.code, "MODULE:NAME" in ran.err) == (2, True)
    ran = run("call", "word_count", "{}", "--tools", "nowhere:TOOLS")
    assert (ran.code, "importing nowhere failed" in ran.err) == (2, True)
    (folder / "rightcall.toml").write_text("[policy]\nstage = 'all'\n")
    ran = call("word_count", "{}")
    assert (ran.code, "rightcall.toml:2" in ran.err) == (2, True)

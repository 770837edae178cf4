"""When a call cannot be judged the host is told what the policy wants, also where the policy is what is wrong; and
where a hook looks for the policy and for what others have learnt."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec import json

from rightcall.hosts.hooks.hook import Options, judge_event
from rightcall.hosts.hooks.judgement import Failed, Hook, Hooks
from rightcall.hosts.hooks.place import policy_of_project, record_without_policy
from rightcall.hosts.hooks.wires import answer_unjudged, reason_unsaid
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import MOST_BYTES, remember_tools, remembered_servers, remembered_tools
from rightcall.record.sqlite import SqliteStore
from support.cli import environment
from support.every import every

pytestmark = pytest.mark.promise("H-05")

BLOCK = 'version = 1\n[gate.hosts.claude-code]\nmode = "block"\n'


@pytest.mark.parametrize(
    ("policy", "mode", "denies"),
    [
        (None, None, True),
        (None, "block", True),
        (None, "warn", False),
        (None, "observe", False),
        ("version = 1", "observe", False),
        (BLOCK, "observe", True),
        (BLOCK.replace("claude-code", "claude"), "observe", True),
        (BLOCK.replace('"block"', '"observe"'), "block", False),
        (BLOCK + 'on_failure = "allow"', None, False),
        (BLOCK + "on_failure = 3", None, True),
        ('[gate]\nmode = "observe"\n', None, False),
        ('[gate]\nmode = "observe"\n', "block", True),
        (BLOCK + "what is this", "observe", True),
        ("what is this", "observe", False),
        ("what is this", None, True),
        ('# mode = "block"\nwhat is this', "warn", False),
        ("gate = 3", None, True),
    ],
)
def test_a_hook_fails_as_it_is_configured(
    tmp_path: Path, policy: str | None, mode: str | None, denies: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rightcall.toml"
    if policy is not None:
        file.write_text(policy)
    told = answer_unjudged("claude", None if policy is None else str(file), mode, "the disk is full")
    assert bool(told) is denies
    if denies:
        output = json.decode(told)["hookSpecificOutput"]
        assert output["permissionDecision"] == "deny"
        assert "Do not repeat it; tell the user. `rightcall status` shows" in output["permissionDecisionReason"]
        assert "disk" not in output["permissionDecisionReason"]  # commands that help are for the operator
        assert "the disk is full" in capfd.readouterr().err


def test_a_policy_file_that_is_gone_is_no_reason_to_let_pass(tmp_path: Path) -> None:
    assert answer_unjudged("codex", str(tmp_path / "gone.toml"), None, "it is gone")


def test_why_it_failed_is_told_on_one_line_however_it_reads(capfd: pytest.CaptureFixture[str]) -> None:
    told = json.decode(answer_unjudged("gemini", None, None, "a\nb\x1b[31m" + "c" * 10_000))
    assert told["decision"] == "deny"
    (line,) = capfd.readouterr().err.splitlines()
    assert line.isprintable()
    assert len(line) < 1000


def test_a_policy_is_found_upwards_as_far_as_the_repository_reaches(tmp_path: Path) -> None:
    (inner := tmp_path / "repository" / "a" / "b").mkdir(parents=True)
    (tmp_path / "rightcall.toml").write_text("version = 1")
    assert policy_of_project(str(inner)) is None
    (tmp_path / "repository" / ".git").mkdir()
    assert policy_of_project(str(inner)) is None
    (tmp_path / "repository" / "rightcall.toml").write_text("version = 1")
    assert policy_of_project(str(inner)) == str(tmp_path / "repository" / "rightcall.toml")
    (inner / "rightcall.toml").write_text("version = 1")
    assert policy_of_project(str(inner)) == str(inner / "rightcall.toml")


def test_without_a_policy_the_record_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert record_without_policy() == str(tmp_path / "rightcall" / "audit.db")


def test_definitions_are_kept_beside_the_record_for_their_owner_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "audit.db")
    try:
        tools = [{"name": "read", "inputSchema": {"type": "object"}}]
        assert remember_tools(store, "files", tools)
        assert remember_tools(store, "../up", [*tools, "nonsense"])
        assert remembered_tools(store, "files") == tools
        assert remembered_tools(store, "../up") == tools
        assert remembered_tools(store, "unknown") == []
        assert remembered_servers(store) == ["../up", "files"]
        folder = tmp_path / "audit.db-definitions"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
        assert sorted(file.name for file in folder.iterdir()) == ["%2E%2E%2Fup.json", "files.json"]
        (folder / "files.json").write_text("{")
        assert remembered_tools(store, "files") == []
        assert remember_tools(store, "files", [])
        assert remembered_tools(store, "files") == []
    finally:
        store.close()


@pytest.mark.parametrize("kind", ["pipe", "device", "link", "huge"])
def test_what_is_no_plain_file_of_definitions_is_neither_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    store = SqliteStore(tmp_path / "audit.db")
    try:
        assert remember_tools(store, "files", [{"name": "read"}])
        file = tmp_path / "audit.db-definitions" / "files.json"
        if kind == "huge":
            os.truncate(file, MOST_BYTES + 1)
        else:
            aside = file.rename(tmp_path / "aside")
            os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero" if kind == "device" else aside)
        read: list[object] = []
        reader = Thread(target=lambda: read.append(remembered_tools(store, "files")), daemon=True)
        reader.start()
        reader.join(60)
        assert read == [[]]
    finally:
        store.close()


def test_a_record_in_memory_keeps_definitions_for_as_long_as_it_lives() -> None:
    store = MemoryStore()
    assert remember_tools(store, "files", [{"name": "read"}])
    assert remembered_tools(store, "files") == [{"name": "read"}]
    assert remembered_tools(MemoryStore(), "files") == []


@every(
    ("text", "said"),
    [
        ('{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}', "no"),
        ('{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"may I?"}}', "may I?"),
        ('{"decision":"deny","reason":"no"}', "no"),
        ('{"hookSpecificOutput":{"updatedInput":{}}}', "so it was not made: the disk is full."),
        ('{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{}}}', "so it was not made: the disk is"),
        ('{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"by the way"}}', ""),
        ('{"hookSpecificOutput":{"permissionDecision":"allow"}}', ""),
        ("half", "so it was not made: the disk is full."),
    ],
)
def test_an_answer_that_does_not_arrive_lets_nothing_pass_that_it_did_not_let_pass(text: str, said: str) -> None:
    why = reason_unsaid(text, "the disk is full")
    assert said in why
    assert bool(said) is bool(why)


@pytest.mark.parametrize(("says", "denied"), [("", True), ('on_failure = "allow"', False)])
def test_a_fault_while_judging_is_recorded_and_on_failure_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, denied: bool
) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text(BLOCK + says)
    monkeypatch.setattr("rightcall.executor.door.decided", _raise)
    event = json.encode({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Read", "tool_use_id": "t",
                         "cwd": str(tmp_path), "tool_input": {"file_path": "a.py"}})  # fmt: skip
    hooks = Hooks(Hook("claude", str(policy), str(tmp_path)), every_tool=False)
    with closing(hooks), pytest.raises(Failed) as failed:
        hooks.answer(event)
    assert ("deny" in failed.value.answer) is denied
    with closing(SqliteStore(tmp_path / ".rightcall" / "audit.db")) as store:
        assert b'"rule":"fault"' in store.look(lambda tables: tables.newest(1, ("refused",))[0].body)


def _raise(*_: object) -> Any:
    raise RuntimeError("a policy with a mistake in it")


def test_no_model_is_told_a_command_where_the_record_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    SqliteStore(record_without_policy()).close()
    os.unlink(record_without_policy())
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    told = judge_event(
        Options("claude", None, str(tmp_path), None, None, False, True), json.encode(event), lambda _: None
    )
    assert '"deny"' in told
    assert "rightcall audit adopt" not in told
    assert "rightcall audit adopt" in capfd.readouterr().err


def test_the_approval_that_is_printed_names_the_store_of_hooks_without_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_use_id": "1"}
    with closing(Hooks(Hook("claude", root=str(tmp_path)), every_tool=False)) as hooks:
        told = hooks.answer(json.encode(event | {"tool_input": {"command": "git push"}}))
        (waiting,) = hooks.door.store.look(lambda tables: tables.approvals("waiting"))
    assert f"`rightcall approvals approve {waiting.id} --store {record_without_policy()}`" in told


@pytest.mark.promise("P-13")
def test_the_approval_that_is_printed_does_not_name_a_policy_that_was_only_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "rightcall.toml").write_text(f'[audit]\npath = "{tmp_path}/elsewhere.db"\n')
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_use_id": "1"}
    hook = Hook("claude", str(clone / "rightcall.toml"), root=str(clone), found=True)
    with closing(Hooks(hook, every_tool=False)) as hooks:
        told = hooks.answer(json.encode(event | {"tool_input": {"command": "git push"}}))
        (waiting,) = hooks.door.store.look(lambda tables: tables.approvals("waiting"))
    assert f"`rightcall approvals approve {waiting.id} --root {clone}`" in told
    assert "--policy" not in told


_BREAKS = """
import sys

class Broken:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {name!r}:
            raise {fault}

sys.meta_path.insert(0, Broken)
"""


@pytest.mark.promise("H-05")
@pytest.mark.parametrize(("mode", "code"), [("", 2), ("--mode=observe", 1)])
@pytest.mark.parametrize("fault", ["ImportError('half of an upgrade')", "SystemExit(0)"])
@pytest.mark.parametrize("name", ["rightcall.hosts.hooks.hook", "rightcall.hosts.hooks.place", "zlib"])
def test_a_hook_that_cannot_be_loaded_lets_nothing_pass(
    tmp_path: Path, name: str, fault: str, mode: str, code: int
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_BREAKS.format(name=name, fault=fault))
    words = [sys.executable, "-P", "-m", "rightcall", "hook", "claude", *filter(None, [mode])]
    given = environment()
    given["PYTHONPATH"] = os.pathsep.join((str(tmp_path), given["PYTHONPATH"]))
    ended = subprocess.run(words, input=b"{}", cwd=tmp_path, env=given, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (code, b"")
    assert ended.stderr.startswith(b"rightcall hook: it cannot be started (")

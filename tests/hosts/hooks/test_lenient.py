"""Events that no strict reader takes: the tool that they are about is judged all the same."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.hosts.hooks.judgement import Failed, Hook, Hooks
from rightcall.hosts.hooks.lenient import lenient
from rightcall.hosts.hooks.wires import WrongEvent

pytestmark = pytest.mark.promise("H-05")

POLICY = (
    'version = 1\n[policy]\ndeny = ["Bash", "run_shell_command", "files/move"]\n[policy.approval]\ntools = ["Edit"]\n'
)
INPUTS = {
    "half a character": b'{"command": "\\ud800"}',
    "deep": b'{"command": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    "never closed": b'{"command": ' + b'{"a": [' * 5000 + b"}",
    "without end": b'{"n": 1e999}',
    "many digits": b'{"n": ' + b"7" * 5000 + b"}",
    "no text": b'{"command": "\xff\xfe"}',
    "cut off": b'{"command": "rm',
}
HOSTS = {
    "claude": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "Bash"),
    "gemini": ("BeforeTool", "run_shell_command"),
}


def sent(host: str, tool: str, given: bytes) -> bytes:
    name = HOSTS[host][0]
    start = {"session_id": "s", "cwd": "/", "hook_event_name": name, "tool_name": tool, "tool_use_id": "t"}
    return json.encode(start)[:-1] + b', "tool_input": ' + given + b"}"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "rightcall.toml"
    file.write_text(POLICY)
    return file


def answers(policy: Path, host: str, mode: Any, events: list[bytes]) -> list[Any]:
    told: list[Any] = []
    hooks = Hooks(Hook(host, str(policy), str(policy.parent), mode, found=True), every_tool=False)
    try:
        for one in events:
            try:
                said = hooks.answer(one)
            except Failed as failed:
                said = failed.answer
            told.append(json.decode(said) if said else None)
    finally:
        hooks.close()
    return told


def decision(told: Any) -> str:
    return told.get("decision") or told["hookSpecificOutput"]["permissionDecision"]


@pytest.mark.parametrize("host", HOSTS)
def test_a_denied_tool_stays_denied_whatever_its_input_is(policy: Path, host: str) -> None:
    events = [sent(host, HOSTS[host][1], given) for given in INPUTS.values()]
    events.append(sent(host, "mcp__files__move", INPUTS["half a character"]))
    told = answers(policy, host, "warn", events)
    assert [decision(one) for one in told] == ["deny"] * len(events)
    assert all("whitelisted" in str(one) for one in told)


def test_what_is_not_denied_fails_as_it_is_configured(policy: Path) -> None:
    events = [sent("claude", "Read", given) for given in INPUTS.values()]
    assert answers(policy, "claude", "warn", events) == [None] * len(events)
    assert {decision(one) for one in answers(policy, "claude", "block", events)} == {"deny"}
    assert answers(policy, "claude", "observe", [sent("claude", "Bash", INPUTS["deep"])]) == [None]


def test_a_question_is_still_asked_and_nothing_that_was_read_so_is_handed_back(policy: Path) -> None:
    (told,) = answers(policy, "claude", "warn", [sent("claude", "Edit", b'{"file": "\\ud800", "n": 1e999}')])
    assert decision(told) == "ask"
    assert "updatedInput" not in told["hookSpecificOutput"]


def test_the_fields_at_the_top_are_read_each_for_itself() -> None:
    read = lenient(
        b'{"a": "\\"{\\ud800\\ud83d\\ude00", "b": {"c": [1, "]"]}, "d": 1e999, "e": ' + b"9" * 5000 + b', "f": tru'
    )
    assert read == {"a": '"{\ufffd😀', "b": {"c": [1, "]"]}, "d": float("inf"), "e": float("inf"), "f": {}}
    assert lenient(b'\xef\xbb\xbf {"a" : "x" , "b"') == {"a": "x"}
    for nothing in (b"", b"[]", b'"x"', b"null", b"\xff"):
        with pytest.raises(WrongEvent):
            lenient(nothing)


def test_an_event_of_brackets_alone_takes_no_time() -> None:
    assert lenient(b'{"tool_name": "Bash", "x": ' + b"[{" * 2_000_000)["tool_name"] == "Bash"
    assert lenient(b'{"tool_name": "Bash", "x": ' + b'"a",' * 2_000_000)["tool_name"] == "Bash"

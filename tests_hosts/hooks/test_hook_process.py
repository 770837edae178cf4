"""The hook as a process: whatever it is sent and whatever is wrong, it answers in time and in the host's words."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from hooks.hooking import SOURCE, bind, hook, project, recorded
from rightcall.hosts.hooks.hook import Options, ask_server
from rightcall.hosts.hooks.place import socket_path
from rightcall.record.notes import remember_tools
from rightcall.record.sqlite import SqliteStore
from rightcall.server.hooks import HookServer

pytestmark = pytest.mark.promise("H-05")

TOOL = {
    "name": "write_file",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
}


def event(tool: str, given: Any, step: str = "t1", name: str = "PreToolUse", **more: Any) -> dict[str, Any]:
    return {
        "session_id": "s1", "transcript_path": "/t", "cwd": "/", "hook_event_name": name, "tool_name": tool,
        "tool_input": given, "tool_use_id": step, **more,
    }  # fmt: skip


def reason(output: Any) -> str:
    told = output["hookSpecificOutput"]
    assert told["permissionDecision"] == "deny"
    return told["permissionDecisionReason"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = project(tmp_path / "work")
    store = SqliteStore(folder / ".rightcall" / "audit.db")
    remember_tools(store, "files", [TOOL])
    store.close()
    return folder


@pytest.fixture
def server(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookServer]:
    monkeypatch.setenv("XDG_STATE_HOME", str(work / "state"))
    made = HookServer(str(work / "rightcall.toml"))
    assert made.start()
    yield made
    made.stop()


WRONG = event("mcp__files__write_file", {"file_path": "a", "content": "b"})


def test_without_a_policy_nothing_is_written_into_the_project(tmp_path: Path) -> None:
    folder = project(tmp_path / "work", None)
    before = sorted(folder.rglob("*"))
    assert hook("claude", event("Bash", {"command": "ls"}), folder, XDG_STATE_HOME=str(tmp_path / "state")) is None
    assert sorted(folder.rglob("*")) == before
    (call,) = recorded(tmp_path / "state" / "rightcall", "audit.db")
    assert (call["tool"], call["context"], call["step"], call["end"]) == ("Bash", "s1", "t1", None)


def test_what_came_of_a_call_is_told_by_another_process(work: Path) -> None:
    read = {"file_path": "a.txt"}
    assert hook("claude", event("Read", read), work) is None
    done = event("Read", read, name="PostToolUse", tool_response="the words", duration_ms=20)
    assert hook("claude", done, work) is None
    assert hook("claude", event("Grep", {"pattern": "x"}, "t2"), work) is None
    assert hook("claude", event("Glob", {"pattern": "x"}, "t3"), work) is None
    failed = event("Grep", {"pattern": "x"}, "t2", name="PostToolUseFailure", error="no such folder")
    assert hook("claude", failed, work) is None
    assert hook("claude", event("", {}, name="SessionEnd"), work) is None
    assert [(one["tool"], one["end"], one["error"]) for one in recorded(work)] == [
        ("Read", "success", None),
        ("Grep", "failed", "no such folder"),
        ("Glob", "interrupted", "The host never reported the outcome."),
    ]


def test_a_call_that_a_person_allowed_in_the_host_is_recorded_as_approved_there(work: Path) -> None:
    given = {"file_path": "/tmp/x", "content": "x"}
    asked = hook("claude", event("Write", given), work)
    assert asked["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert hook("claude", event("Write", given, name="PostToolUse", tool_response={}), work) is None
    assert [(one["kind"], one["rule"], one["end"]) for one in recorded(work)] == [
        ("waiting", "approval:tool", None),
        ("begin", "approval:host", "success"),
    ]


def test_a_name_that_is_only_alike_is_another_tool(work: Path) -> None:
    """The host has found the tool that it names: nothing of a similar one holds for it."""
    given = {"file_path": "a", "content": "b"}
    for name in ("mcp__files__write_files", "mcp__files__writeFile", "mcp__files2__write_file", "write_file"):
        assert hook("claude", event(name, given), work) is None
    assert hook("claude", WRONG, work)["hookSpecificOutput"]["updatedInput"] == {"path": "a", "content": "b"}


@pytest.mark.parametrize(
    "sent",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": "PreToolUse"}'],
    ids=["nothing", "half", "list", "null", "text", "no text", "deep", "no tool"],
)
def test_an_event_that_is_none_is_denied_where_calls_are_blocked(work: Path, sent: bytes) -> None:
    assert "cannot be read" in reason(hook("claude", sent, work))


def test_an_event_that_is_none_passes_where_calls_are_only_watched(work: Path) -> None:
    assert hook("claude", b"{", work, "--mode", "observe") is None
    (work / "rightcall.toml").write_text('version = 1\n[gate.hosts.claude]\non_failure = "deny"\nmode = "observe"\n')
    assert "cannot be read" in reason(hook("claude", b"{", work))


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (b"null", ["begin"]),
        (b'{"file_path": 3}', ["begin"]),
        (b"[]", ["refused"]),
        (b'"text"', ["refused"]),
        (b"3", ["refused"]),
        (b'{"a": "\\ud800"}', []),
    ],
)
def test_any_input_of_a_tool_is_judged(work: Path, given: bytes, kinds: list[str]) -> None:
    said = hook("claude", json.encode(event("Read", "INPUT")).replace(b'"INPUT"', given), work)
    assert [one["kind"] for one in recorded(work)] == kinds
    assert ("begin" in kinds) == ("permissionDecision" not in (said or {}).get("hookSpecificOutput", {}))


def test_a_policy_that_is_wrong_denies_and_says_why(work: Path) -> None:
    (work / "rightcall.toml").write_text("version = 1\n[policy]\ndeny = 3\n")
    assert "rightcall.toml" in reason(hook("claude", WRONG, work))
    assert hook("claude", WRONG, work, "--mode", "observe") is None


def test_a_record_that_cannot_be_written_denies_and_says_why(work: Path) -> None:
    (work / "rightcall.toml").write_text('version = 1\n[audit]\npath = "a.txt"\n')
    assert "a.txt" in reason(hook("claude", WRONG, work))


def test_wrong_words_stop_the_call_where_it_would_be_blocked(work: Path) -> None:
    for words, code in ((["--nonsense"], 2), (["--mode", "observe", "--nonsense"], 1), (["--mode", "deny"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "rightcall", "hook", "claude", *words],
            input=b"{}", capture_output=True, cwd=work, env={"PYTHONPATH": SOURCE}, timeout=200, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (code, b"")
        assert done.stderr.startswith(b"rightcall hook: ")


def test_a_host_that_sends_nothing_is_answered_in_time(work: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "rightcall", "hook", "claude", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=work,
            env={"PYTHONPATH": SOURCE},
        )
        for words in ((), ("--mode", "observe"))
    ]
    said = []
    for process in started:
        with process:
            assert process.stdout is not None
            said.append(process.stdout.read())
            assert process.wait(60) == 0
    assert "did not judge this call in time" in reason(json.decode(said[0]))
    assert said[1] == b""


def test_a_running_server_answers_the_same(work: Path, server: HookServer) -> None:
    calls = [WRONG, event("Bash", {}), event("Read", {"file_path": "private/b.txt"}), event("Read", {"file_path": "x"})]
    told = [hook("claude", call, work) for call in calls]
    assert server.answered == len(calls)
    server.stop()
    assert told == [hook("claude", call, work) for call in calls]
    assert len(recorded(work)) == 2 * len(calls)


def test_a_server_answers_only_for_its_own_policy(work: Path, server: HookServer, tmp_path: Path) -> None:
    other = project(tmp_path / "other", "version = 1\n")
    os.link(server.path, socket_path(str(other / "rightcall.toml")))  # as if both files had the same sum
    options = Options("claude", str(other / "rightcall.toml"), str(other), None, None)
    assert ask_server(options, json.encode(WRONG)) is None
    assert ask_server(options._replace(policy=server.policy), json.encode(WRONG)) is not None
    assert hook("claude", event("Bash", {}), other, XDG_STATE_HOME=str(work / "state")) is None
    assert server.answered == 1


def test_a_link_to_a_policy_of_another_project_is_not_read(work: Path, server: HookServer, tmp_path: Path) -> None:
    other = project(tmp_path / "other", None)
    (other / "rightcall.toml").symlink_to(work / "rightcall.toml")
    told = reason(hook("claude", event("Bash", {}), other, XDG_STATE_HOME=str(work / "state")))
    assert "could not judge" in told
    assert "was only found" in told
    assert server.answered == 0


def test_what_a_killed_server_has_left_is_in_nobodys_way(work: Path, server: HookServer) -> None:
    assert not HookServer(str(work / "rightcall.toml")).start()  # one lives
    server.stop()
    Path(server.path).parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        bind(dead, server.path)
    assert hook("claude", WRONG, work)["hookSpecificOutput"]["updatedInput"]
    again = HookServer(str(work / "rightcall.toml"))
    assert again.start()
    assert hook("claude", WRONG, work)["hookSpecificOutput"]["updatedInput"]
    again.stop()
    assert again.answered == 1
    assert not os.path.exists(again.path)


def test_a_folder_that_others_can_look_into_is_not_trusted(work: Path, server: HookServer) -> None:
    folder = Path(server.path).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(server.path).stat().st_mode & 0o777 == 0o600
    folder.chmod(0o755)
    assert hook("claude", WRONG, work)["hookSpecificOutput"]["updatedInput"]
    assert server.answered == 0
    assert not HookServer(str(work / "rightcall.toml")).start()
    folder.chmod(0o700)


@pytest.mark.parametrize("end", [">/dev/full", ">&-", ">&- 2>&-"])
@pytest.mark.parametrize(
    ("given", "code", "why"),
    [
        (event("Bash", {"command": "ls"}), 2, b"Bash"),
        (event("Write", {"file_path": "a", "content": "b"}), 2, b"Write"),
        (event("Read", {"file_path": "a.txt"}), 0, b""),
    ],
    ids=["denied", "to be asked", "passing"],
)  # fmt: skip
def test_a_word_that_cannot_be_written_stops_the_call_by_the_exit_code(
    work: Path, end: str, given: dict[str, Any], code: int, why: bytes
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m rightcall hook claude --policy rightcall.toml {end}', sys.executable],
        input=json.encode(given), capture_output=True, timeout=200, check=False, cwd=work,
        env={"PATH": os.defpath, "PYTHONPATH": SOURCE, "XDG_STATE_HOME": str(work / "state")},
    )  # fmt: skip
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert (why in done.stderr) if "2>" not in end else (done.stderr == b"")
    assert len(recorded(work)) == 1


@pytest.mark.parametrize(("mode", "denies"), [("block", True), ("observe", False)])
def test_an_interrupted_hook_fails_as_its_mode_says(tmp_path: Path, mode: str, denies: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "hook", "claude", "--mode", mode],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
        env={"PATH": os.defpath, "PYTHONPATH": SOURCE, "XDG_STATE_HOME": str(tmp_path / "state")},
    ) as process:  # fmt: skip
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0
    assert (b"could not judge" in out) is denies
    assert (b"it was interrupted" in err) is denies


INTERRUPTED = """
import signal, rightcall.cli, rightcall.hosts.hooks.hook as hook
read, times = hook.read_options, []
def interrupting(words):
    times.append(1)
    if len(times) == 1:
        signal.raise_signal(signal.SIGINT)
    return read(words)
hook.read_options = interrupting
rightcall.cli.main()
"""

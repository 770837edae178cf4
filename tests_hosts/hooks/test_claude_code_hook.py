"""The real Claude Code with the hook: what is denied does not happen and the model reads why, what is wrong is put
right, what is only watched stays as it was."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from hooks.hooking import POLICY, hook_command, project, recorded
from rightcall.record.sqlite import SqliteStore
from rightcall.server.hooks import HookServer
from support.claude_code import TOKENS, Conversation, Turn, run
from support.scripted.server import Answer, NativeCall, Received, ScriptedUpstream

pytestmark = pytest.mark.promise("H-05")

EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd")


class Host:
    """Claude Code in a folder of its own, with a file server; `play` lets its model make these calls, one a turn."""

    def __init__(self, folder: Path, npm_bin: Path) -> None:
        self.folder = folder
        self.work = project(folder / "work")
        self.settings: list[str] = ["--strict-mcp-config", "--mcp-config", str(self._servers(npm_bin))]
        self.between: Callable[[int], None] = lambda turn: None

    def _servers(self, npm_bin: Path) -> Path:
        file = self.folder / "servers.json"
        command = {"command": str(npm_bin / "mcp-server-filesystem"), "args": [str(self.work)]}
        file.write_bytes(json.encode({"mcpServers": {"files": command}}))
        return file

    def hooked(self, *options: str) -> "Host":
        command = hook_command("claude", *options, state=self.folder / "state")
        hooks = [{"hooks": [{"type": "command", "command": command, "timeout": 30}]}]
        file = self.folder / "settings.json"
        file.write_bytes(json.encode({"hooks": dict.fromkeys(EVENTS, hooks)}))
        self.settings += ["--settings", str(file)]
        return self

    def play(self, *calls: tuple[str, dict[str, Any]], allowed: str = "mcp__files,Bash") -> list[Turn]:
        answers = [Answer([NativeCall(*call)], id=f"t{at}", usage=TOKENS) for at, call in enumerate(calls)]
        conversation = _Between(answers, self)
        with ScriptedUpstream(conversation) as upstream:
            printed = run(upstream.address, self.folder, *self.settings, "--allowedTools", allowed)
        assert printed.strip() == "done"
        self.requests = conversation.asked
        return conversation.turns


class _Between(Conversation):
    """What happens outside while the model thinks."""

    def __init__(self, answers: list[Answer], host: Host) -> None:
        super().__init__(answers)
        self._host = host

    def __call__(self, request: Received) -> Answer:
        answer = super().__call__(request)
        self._host.between(len(self.asked))
        return answer


@pytest.fixture
def host(tmp_path: Path, npm_bin: Path) -> Host:
    return Host(tmp_path, npm_bin)


def path(host: Host, name: str) -> str:
    return str(host.work / name)


@pytest.fixture(params=["by itself", "by the server"])
def judged(request: pytest.FixtureRequest, host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """The hook judges in its own process, or a running server does."""
    monkeypatch.setenv("XDG_STATE_HOME", str(host.folder / "state"))
    server = HookServer(path(host, "rightcall.toml"))
    if request.param == "by the server":
        assert server.start()
    yield host
    server.stop()
    assert (server.answered > 0) is (request.param == "by the server")


def test_the_policy_holds_in_claude_code_and_the_model_reads_why(judged: Host) -> None:
    host = judged.hooked()
    learn(host)
    turns = host.play(
        ("Bash", {"command": f"touch {path(host, 'made')}"}),
        ("mcp__files__write_file", {"file_path": path(host, "new.txt"), "text": "written"}),
        ("Read", {"file_path": path(host, "a.txt")}),
        ("Read", {"file_path": path(host, "private/b.txt")}),
        ("mcp__files__write_file", {"path": path(host, "other.txt")}),
        ("mcp__files__move_file", {"source": path(host, "a.txt"), "destination": path(host, "c.txt")}),
        ("Write", {"file_path": path(host, "asked.txt"), "content": "x"}),
    )
    bash, repaired, read, private, missing, move, asked = (turn.results[0] for turn in turns)

    assert bash.is_error
    assert "Tool 'Bash' is not whitelisted" in bash.text
    assert not (host.work / "made").exists()
    assert not repaired.is_error
    assert (host.work / "new.txt").read_text() == "written"
    assert "the words of a" in read.text
    assert private.is_error
    assert "nobody's business" not in private.text
    assert missing.is_error
    assert "Missing required fields: content" in missing.text
    assert "files/move_file" in move.text
    assert (host.work / "a.txt").exists()
    assert asked.is_error  # nobody is there to ask
    assert "rightcall approvals approve" in asked.text
    assert not (host.work / "asked.txt").exists()

    calls = recorded(host.work)
    assert [(one["tool"], one["kind"], one["end"]) for one in calls] == [
        ("Bash", "refused", None),
        ("files/write_file", "begin", "success"),
        ("Read", "begin", "success"),
        ("Read", "refused", None),
        ("files/write_file", "refused", None),
        ("files/move_file", "refused", None),
        ("Write", "waiting", None),
    ]
    assert calls[1]["arguments"] == {"path": path(host, "new.txt"), "content": "written"}
    assert {one["caller"] for one in calls} == {"claude-code"}
    assert len({one["context"] for one in calls}) == 1
    assert len({one["step"] for one in calls}) == len(calls)


def test_what_a_person_approves_elsewhere_counts_in_its_own_conversation(host: Host) -> None:
    """Each turn here is a session of its own, so that the yes given for the first does not count in the second."""
    call = ("Write", {"file_path": path(host, "asked.txt"), "content": "x"})

    def approve(turn: int) -> None:
        if turn == 2:
            answer_all(host.work)

    host.between = approve
    mine = host.hooked("--policy", str(host.work / "rightcall.toml"))
    first, second = (turn.results[0] for turn in mine.play(call, call))
    assert first.is_error
    assert second.is_error
    assert not (host.work / "asked.txt").exists()
    assert {one["kind"] for one in recorded(host.work)} == {"waiting"}


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Bash", {"command": "echo words"}),
    ("mcp__files__list_allowed_directories", {}),
    ("mcp__files__write_file", {"file_path": "nowhere", "text": "x"}),
    ("Write", {"file_path": "/nowhere/at/all", "content": "x"}),
)


def test_observing_changes_nothing_and_records_all(host: Host) -> None:
    learn(host)
    without = host.play(*CALLS)
    before = [_said(request) for request in host.requests]
    (host.work / "rightcall.toml").write_text(POLICY + '[gate.hosts.claude]\nmode = "observe"\n')
    watched = host.hooked("--mode", "block", "--policy", str(host.work / "rightcall.toml")).play(*CALLS)
    assert [turn.results for turn in watched] == [turn.results for turn in without]
    assert [_said(request) for request in host.requests] == before
    calls = recorded(host.work)
    assert [one["tool"] for one in calls] == ["Bash", "files/list_allowed_directories", "files/write_file", "Write"]
    assert [one["rule"] for one in calls] == ["observe"] * 4
    assert "policy:deny" in calls[0]["reason"]
    assert calls[0]["end"] == "success"
    assert calls[2]["end"] == "failed"
    assert calls[3]["end"] == "interrupted"  # the host's own permissions said no, of which it tells no hook


def learn(host: Host) -> None:
    from rightcall.cli import main

    servers = json.decode((host.folder / "servers.json").read_bytes())["mcpServers"]["files"]
    words = ["hook", "learn", "--root", str(host.work), "--name", "files", "--", servers["command"], *servers["args"]]
    assert main(words) == 0


def answer_all(folder: Path) -> None:
    from rightcall.cli import main

    store = SqliteStore(folder / ".rightcall" / "audit.db")
    try:
        waiting = [(one.id, one.digest) for one in store.look(lambda tables: tables.approvals("waiting"))]
    finally:
        store.close()
    for one, digest in waiting:
        assert main(["approvals", "approve", one, "--digest", digest, "--by", "Ada", "--root", str(folder)]) == 0


def _said(request: Received) -> list[Any]:
    """What the model is sent, but for what differs between any two runs."""
    return [
        [block.get("content") or block.get("text") or block.get("input") for block in blocks(message)]
        for message in request.json["messages"]
        if message["role"] == "assistant" or any(block.get("type") == "tool_result" for block in blocks(message))
    ]


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@pytest.mark.promise("G-70", "G-72", "G-75")
def test_the_guardrails_hold_for_native_tools_and_servers_without_a_schema(judged: Host) -> None:
    """Claude Code itself lets a short `Write` pass, and tells no hook the schema of a server's tool."""
    file = judged.work / "rightcall.toml"
    file.write_text('[gate]\npacks = ["guardrail"]\n[gate.tools."files/create_directory"]\nrequired = ["why"]\n')
    host = judged.hooked("--policy", str(file), "--mode", "block")
    turns = host.play(
        ("Write", {"file_path": path(host, "short.txt"), "content": "x"}),
        ("Write", {"file_path": path(host, "long.txt"), "content": "more than ten"}),
        ("mcp__files__create_directory", {"path": path(host, "made")}),
        ("mcp__files__list_directory", {"path": str(host.work)}),
        allowed="mcp__files,Write",
    )
    short, long, demanded, listed = (turn.results[0] for turn in turns)
    assert short.is_error
    assert "⚠️ Invalid Write call. `content` must have at least 11 characters, has 1. Example: {" in short.text
    assert not (host.work / "short.txt").exists()
    assert (host.work / "long.txt").read_text() == "more than ten"
    assert not long.is_error
    assert "⚠️ Invalid mcp__files__create_directory call. Missing required fields: why. Example: {" in demanded.text
    assert not (host.work / "made").exists()
    assert not listed.is_error

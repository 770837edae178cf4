"""Servers from the registries through `wrap`: every line the same, byte for byte, as without it."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wrap_talking import Talk, wrapped

pytestmark = pytest.mark.promise("H-04", "X-07")

OFFERED = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}
PERSON: dict[str, Any] = {
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "none"},
    "elicitation/create": {"action": "decline"},
    "roots/list": {"roots": [{"uri": "file:///nowhere", "name": "nowhere"}]},
    "ping": {},
}
CHANCE = re.compile(rb"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d?\d:\d\d:\d\d")
"""What a server makes up anew each time."""

CAUSED = ("notifications/progress", "sampling/createMessage", "elicitation/create")
"""What a server sends because of a call; other things it sends whenever it likes."""

Step = tuple[str, Any]


def tool(name: str, **arguments: Any) -> Step:
    return "tools/call", {"name": name, "arguments": arguments}


def play(command: Sequence[str], folder: Path, steps: list[Step], version: str) -> dict[str, Any]:
    """What a server sends: the responses by id, and what belongs to them in its order."""
    heard: dict[str, Any] = {}
    by_itself: list[bytes] = []
    with Talk(command, folder) as talk:
        params = {"protocolVersion": version, "capabilities": OFFERED, "clientInfo": {"name": "raw", "version": "1"}}
        for number, (method, body) in enumerate([("initialize", params), *steps]):
            request = {"jsonrpc": "2.0", "id": number, "method": method}
            talk.send(request if body is None else {**request, "params": body})
            heard[f"{number} {method}"] = _answer(talk, number, by_itself)
            if number == 0:
                talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    messages = map(json.loads, by_itself)
    heard["by itself"] = [(one["method"], one["params"]) for one in messages if one["method"] in CAUSED]
    return heard


def _answer(talk: Talk, number: int, by_itself: list[bytes]) -> bytes:
    while line := talk.line():
        message = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return CHANCE.sub(b"*", line)
        if message["method"] in PERSON:
            talk.send({"jsonrpc": "2.0", "id": message["id"], "result": PERSON[message["method"]]})
        by_itself.append(CHANCE.sub(b"*", line))
    raise AssertionError(f"the server ended before it answered request {number}")


def same(command: Sequence[str], folder: Path, steps: list[Step], version: str = "2025-11-25") -> dict[str, Any]:
    without = play(command, folder, steps, version)
    through = play(wrapped(command), folder, steps, version)
    assert through.keys() == without.keys()
    for key, lines in without.items():
        assert through[key] == lines, key
    return without


LISTS: list[Step] = [
    (method, {})
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping", "no/such")
]


def test_the_reference_server_for_everything(npm_bin: Path, tmp_path: Path) -> None:
    note = "demo://resource/static/document/features.md"
    heard = same(
        [str(npm_bin / "mcp-server-everything"), "stdio"],
        tmp_path,
        [
            *LISTS,
            tool("echo", message="hi"),
            tool("get-sum", a=1.5, b=2),
            tool("get-annotated-message", messageType="error", includeImage=True),
            tool("get-structured-content", location="Chicago"),
            tool("get-tiny-image"),
            tool("get-resource-links", count=2),
            tool("get-resource-reference", resourceType="Text", resourceId=2),
            ("tools/call", {"name": "trigger-long-running-operation", "arguments": {"duration": 0.1, "steps": 2},
                            "_meta": {"progressToken": "p"}}),
            tool("trigger-sampling-request", prompt="why?"),
            tool("trigger-elicitation-request"),
            tool("get-roots-list"),
            tool("no-such-tool"),
            ("tools/call", {"name": "simulate-research-query", "arguments": {"topic": "x"}, "task": {"ttl": 60000}}),
            ("resources/read", {"uri": note}),
            ("resources/read", {"uri": "demo://nowhere"}),
            ("resources/subscribe", {"uri": note}),
            ("resources/unsubscribe", {"uri": note}),
            ("prompts/get", {"name": "args-prompt", "arguments": {"city": "Bonn"}}),
            ("prompts/get", {"name": "nobody's"}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "completable-prompt"},
                                     "argument": {"name": "department", "value": "E"}}),
            ("logging/setLevel", {"level": "error"}),
        ],
    )  # fmt: skip
    assert {method for method, _ in heard["by itself"]} == set(CAUSED)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_the_reference_server_for_files_in_older_revisions(npm_bin: Path, tmp_path: Path, version: str) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    heard = same(
        [str(npm_bin / "mcp-server-filesystem"), str(tmp_path)],
        tmp_path,
        [
            *LISTS,
            tool("read_text_file", path=str(tmp_path / "a.txt"), head=1),
            tool("write_file", path=str(tmp_path / "b.txt"), content="drei\u00df\n"),
            tool("list_directory", path=str(tmp_path)),
            tool(
                "edit_file", path=str(tmp_path / "b.txt"), edits=[{"oldText": "drei", "newText": "vier"}], dryRun=True
            ),
            tool("read_multiple_files", paths=[str(tmp_path / "a.txt"), "/etc/passwd"]),
        ],
        version,
    )
    assert f'"{version}"'.encode() in heard["0 initialize"]


def test_broken_calls_to_the_file_server_come_out_right(npm_bin: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with Talk(wrapped([str(npm_bin / "mcp-server-filesystem"), str(tmp_path)]), tmp_path) as talk:
        talk.greet()
        read = talk.call(1, "readTextFile", {"file_path": str(tmp_path / "a.txt"), "head": "1"})
        assert read["result"]["content"][0]["text"] == "one"
        missing = talk.call(2, "write_file", {"path": str(tmp_path / "c.txt")})
        assert missing["result"]["isError"] is True
        assert "content" in missing["result"]["content"][0]["text"]
        assert not (tmp_path / "c.txt").exists()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*name, "commit", "-q", "-m", "First"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "a.txt").write_text("two\n")
    return folder


def test_the_git_server(repository: Path) -> None:
    here = str(repository)
    same(
        ["mcp-server-git", "--repository", here],
        repository,
        [
            *LISTS,
            tool("git_status", repo_path=here),
            tool("git_diff_unstaged", repo_path=here, context_lines=1),
            tool("git_log", repo_path=here, max_count=1),
            tool("git_show", repo_path=here, revision="HEAD"),
            tool("git_show", repo_path=here, revision="nowhere"),
            tool("git_branch", repo_path=here, branch_type="local"),
        ],
    )


def test_broken_calls_to_the_git_server_come_out_right_and_are_recorded(repository: Path, tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[policy]\ndeny = ["git/git_commit"]\n')
    with Talk(wrapped(["mcp-server-git"], "--policy", str(policy)), repository) as talk:
        talk.greet()
        shown = talk.call(1, "git_diff_unstaged", {"repoPath": str(repository), "context_lines": "1"})
        assert "+two" in shown["result"]["content"][0]["text"]
        denied = talk.call(2, "git_commit", {"repo_path": str(repository), "message": "x"})
        assert denied["result"]["isError"] is True
        assert talk.close() in (0, 143)  # 143: on a busy machine it needs longer to end than it is given
    tail = subprocess.run(
        [*wrapped([])[:3], "audit", "tail", "--policy", str(policy)], check=True, capture_output=True, text=True
    )
    assert "git/git_diff_unstaged" in tail.stdout
    assert "git/git_commit" in tail.stdout

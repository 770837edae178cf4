"""The real Codex with the hook, against a scripted API; and what we print, by the schema that Codex itself holds."""

import mmap
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from msgspec import json

from hooks.hooking import hook, hook_command, project, recorded
from rightcall.cli import main
from support.scripted.server import Answer, NativeCall, Received, ScriptedUpstream, Text

pytestmark = pytest.mark.promise("H-05")


@pytest.fixture(scope="module")
def codex(npm_bin: Path) -> Path:
    return npm_bin / "codex"


@pytest.fixture(scope="module")
def output_schema(npm_bin: Path) -> Any:
    """The schema of a PreToolUse hook's output stands in the program as text."""
    (program,) = (npm_bin.parent / "@openai").glob("codex-*/vendor/*/bin/codex")
    with program.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        title = b'"title": "pre-tool-use.command.output"'
        start = whole.find(b"pre-tool-use.command.output{") + len(b"pre-tool-use.command.output")
        end = whole.find(title, start)
        text = whole[start : whole.find(b"}", end) + 1]
    return jsonschema_rs.validator_for(json.decode(text))


@pytest.fixture
def work(tmp_path: Path, npm_bin: Path) -> Path:
    folder = project(tmp_path / "work")
    words = ["hook", "learn", "--root", str(folder), "--name", "files", "--"]
    assert main([*words, str(npm_bin / "mcp-server-filesystem"), str(folder)]) == 0
    return folder


def play(codex: Path, npm_bin: Path, folder: Path, *calls: tuple[str, dict[str, Any], str]) -> list[str]:
    """Codex lets its model make these calls, one a turn; what the model reads of each."""
    home = folder.parent / "home"
    home.mkdir()
    handler = {"type": "command", "command": hook_command("codex", state=folder.parent / "state"), "timeout": 30}
    events = {name: [{"hooks": [handler]}] for name in ("PreToolUse", "PostToolUse", "Stop")}
    (home / "hooks.json").write_bytes(json.encode({"hooks": events}))
    asked: list[Received] = []
    answers = [
        Answer([NativeCall(name, given)], id=f"t{at}", extra={"namespace": space} if space else {})
        for at, (name, given, space) in enumerate(calls)
    ]

    left = iter(answers)

    def script(request: Received) -> Answer:
        asked.append(request)
        return next(left, Answer([Text("done")], id="end"))

    with ScriptedUpstream(script) as upstream:
        (home / "config.toml").write_text(
            'model = "a-model"\nmodel_provider = "here"\n'
            f'[model_providers.here]\nname = "here"\nbase_url = "{upstream.address}/v1"\nwire_api = "responses"\n'
            f'[mcp_servers.files]\ncommand = "{npm_bin}/mcp-server-filesystem"\nargs = ["{folder}"]\n'
            "[analytics]\nenabled = false\n"
        )
        done = subprocess.run(
            [
                codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust",
                "--dangerously-bypass-approvals-and-sandbox", "go",
            ],
            cwd=folder, env={"CODEX_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
    return [request.json["input"][-1]["output"] for request in asked[1:]]


def test_the_policy_holds_in_codex(codex: Path, npm_bin: Path, work: Path) -> None:
    shell, repaired, read, asked = play(
        codex, npm_bin, work,
        ("exec_command", {"cmd": f"touch {work}/made"}, ""),
        ("write_file", {"file_path": f"{work}/new.txt", "text": "written"}, "mcp__files"),
        ("read_text_file", {"path": f"{work}/a.txt"}, "mcp__files"),
        ("edit_file", {"path": f"{work}/a.txt", "edits": [{"oldText": "a", "newText": "b"}]}, "mcp__files"),
    )  # fmt: skip
    assert "Tool 'Bash' is not whitelisted" in shell
    assert not (work / "made").exists()
    assert (work / "new.txt").read_text() == "written", repaired
    assert "the words of a" in read
    assert "rightcall approvals approve" in asked
    assert (work / "a.txt").read_text() == "the words of a\n"
    assert [(one["tool"], one["kind"], one["end"]) for one in recorded(work)] == [
        ("Bash", "refused", None),
        ("files/write_file", "begin", "success"),
        ("files/read_text_file", "begin", "success"),
        ("files/edit_file", "waiting", None),
    ]


def event(name: str, **given: Any) -> dict[str, Any]:
    return {
        "session_id": "s", "turn_id": "t", "transcript_path": None, "cwd": "/", "hook_event_name": "PreToolUse",
        "model": "m", "permission_mode": "default", "tool_name": name, "tool_input": given, "tool_use_id": "c1",
    }  # fmt: skip


def test_every_output_is_one_that_codex_takes(output_schema: Any, work: Path) -> None:
    warned = (work / "rightcall.toml").read_text() + '[gate.hosts.codex]\nmode = "warn"\n'
    denied = hook("codex", event("Bash", command="ls"), work)
    asked = hook("codex", event("mcp__files__edit_file", path="a", edits=[]), work)
    changed = hook("codex", event("mcp__files__write_file", filename="a", content="b"), work)
    broken = hook("codex", b"{", work)
    (work / "rightcall.toml").write_text(warned)
    warning = hook("codex", event("mcp__files__write_file", path="a"), work, "--mode", "warn")
    for output in (denied, asked, changed, broken, warning):
        output_schema.validate(output)
    told = [output["hookSpecificOutput"] for output in (denied, asked, changed, broken)]
    assert [one["permissionDecision"] for one in told] == ["deny", "deny", "allow", "deny"]
    assert told[2]["updatedInput"] == {"path": "a", "content": "b"}
    assert set(warning["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}

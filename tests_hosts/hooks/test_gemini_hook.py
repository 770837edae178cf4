"""The real Gemini CLI with the hook, against a scripted API."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec import json

from hooks.hooking import hook_command, project, recorded
from hooks.scripted_gemini import ScriptedGemini
from rightcall.cli import main

pytestmark = pytest.mark.promise("H-05")


def test_the_policy_holds_in_gemini_cli(npm_bin: Path, tmp_path: Path) -> None:
    work = project(tmp_path / "work")
    server = {"command": str(npm_bin / "mcp-server-filesystem"), "args": [str(work)], "trust": True}
    assert main(["hook", "learn", "--root", str(work), "--name", "files", "--", server["command"], str(work)]) == 0
    handler = {"type": "command", "command": hook_command("gemini", state=tmp_path / "state"), "timeout": 30_000}
    events = {name: [{"matcher": "*", "hooks": [handler]}] for name in ("BeforeTool", "AfterTool", "SessionEnd")}
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True}, "hooks": events, "mcpServers": {"files": server},
    }  # fmt: skip
    (home := tmp_path / "home" / ".gemini").mkdir(parents=True)
    (home / "settings.json").write_bytes(json.encode(settings))
    calls = [
        ("run_shell_command", {"command": f"touch {work}/made"}),
        ("read_file", {"file_path": f"{work}/a.txt"}),
        ("mcp_files_write_file", {"path": f"{work}/new.txt", "content": "written"}),
        ("read_file", {"file_path": f"{work}/private/b.txt"}),
        ("replace", {"file_path": f"{work}/a.txt", "instruction": "x", "old_string": "the", "new_string": "no"}),
    ]
    with ScriptedGemini(calls) as api:
        done = subprocess.run(
            [npm_bin / "gemini", "-p", "go", "--approval-mode", "yolo", "--skip-trust"],
            cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False,
            start_new_session=True,  # nobody sits at a terminal
            env={
                "HOME": str(home.parent), "PATH": os.environ["PATH"], "GEMINI_API_KEY": "a-key-for-loopback",
                "GOOGLE_GEMINI_BASE_URL": api.address, "GEMINI_CLI_NO_RELAUNCH": "true",
            },
        )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
    shell, read, written, private, asked = api.responses
    assert "Tool 'run_shell_command' is not whitelisted" in shell["error"]
    assert not (work / "made").exists()
    assert "the words of a" in read["output"]
    assert "Successfully wrote" in written["output"]
    assert "No such file or folder" in private["error"]
    assert "rightcall approvals approve" in asked["error"]
    assert (work / "a.txt").read_text() == "the words of a\n"
    calls_made = recorded(work)
    assert [(one["tool"], one["kind"], one["end"]) for one in calls_made] == [
        ("run_shell_command", "refused", None),
        ("read_file", "begin", "success"),
        ("files/write_file", "begin", "success"),
        ("read_file", "refused", None),
        ("replace", "waiting", None),
    ]
    assert {one["caller"] for one in calls_made} == {"gemini"}

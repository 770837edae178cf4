"""`rightcall wrap` as a command: its options, its record, nothing on its output but the protocol."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli import Runner, environment, start
from support.every import every

pytestmark = pytest.mark.promise("H-04")

SERVER = """
import json, sys
schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
for line in sys.stdin:
    message = json.loads(line)
    result = {"tools": [{"name": "read_file", "inputSchema": schema}]}
    if message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]["path"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
sys.exit(5)
"""


def test_calls_are_repaired_recorded_and_named_and_the_code_is_the_servers(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "rightcall.toml").write_text("version = 1\n")
    (tmp_path / "notes.py").write_text(SERVER)
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    lines = [
        {**call, "params": {"name": "read_file", "arguments": {"file": "a"}}},
        {**call, "id": 2, "params": {"name": "read_file", "arguments": {}}},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "rightcall.cli", "wrap", "--as", "desk", "--", sys.executable, "notes.py"],
        input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True, check=False,
        cwd=tmp_path, env=environment(),
    )  # fmt: skip
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["content"][0]["text"] == "a"
    assert answers[2]["isError"] is True
    assert (done.returncode, done.stderr.splitlines()) == (5, [
        "rightcall wrap: in the policy its tools are notes/…; --name changes that",
        "rightcall: tool_validation_failed: read_file: path missing",
    ])  # fmt: skip
    tail = run("audit", "tail", "--policy", str(tmp_path / "rightcall.toml")).out
    assert "notes/read_file" in tail
    assert "desk" in tail


DEAF = """
import os, sys, time
os.read(0, 65536)
os.close(0)
time.sleep(60)
"""


@pytest.mark.promise("X-07")
def test_a_server_that_closes_its_input_while_it_lives_is_ended_and_the_client_is_told(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_file", "arguments": {}}}
    wrapped = subprocess.Popen(
        [sys.executable, "-m", "rightcall.cli", "wrap", "--", sys.executable, "-S", "-c", DEAF],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=environment(),
    )  # fmt: skip
    assert wrapped.stdin is not None
    assert wrapped.stdout is not None
    assert wrapped.stderr is not None
    with wrapped:  # the client stays: its end of the pipe is open until the server has gone
        wrapped.stdin.write(json.dumps(call) + "\n")
        wrapped.stdin.flush()
        answer, told = json.loads(wrapped.stdout.readline()), wrapped.stderr.read()
    assert answer["id"] == 1
    assert answer["error"]["message"] == "The server closed its input, so it was ended."
    assert (wrapped.returncode, told) == (
        143, "rightcall wrap: the server closed its input while it was running, so it was ended\n",
    )  # fmt: skip


def test_a_server_with_a_name_of_ones_own_says_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text("[policy]\ndeny = ['files/move_file']\n")
    done = subprocess.run(
        [sys.executable, "-m", "rightcall.cli", "wrap", "--name", "files", "--", sys.executable, "-c", ""],
        input="", capture_output=True, text=True, check=False, cwd=tmp_path, env=environment(),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_a_command_it_says_what_is_missing(run: Runner) -> None:
    done = run("wrap", "--")
    assert done.code == 2
    assert "rightcall wrap -- COMMAND" in done.err


@every("name", ["", "a b", "a/b", "x" * 65])
def test_a_name_that_no_policy_could_write_is_refused(run: Runner, name: str) -> None:
    done = run("wrap", "--name", name, "--", "true")
    assert done.code == 2
    assert "--name takes" in done.err


def test_a_policy_that_merely_lies_in_the_folder_keeps_its_record_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be somebody else's project."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "rightcall.toml").write_text('[audit]\npath = "../elsewhere.db"\n')
    process = start("wrap", "--", sys.executable, "-c", "")
    _, told = process.communicate(timeout=30)
    assert f"Ignored: audit.path. To read and trust it: rightcall trust {project}/rightcall.toml" in told.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]
    assert (project / ".rightcall" / "audit.db").is_file()


@pytest.mark.promise("H-72", "G-75")
@pytest.mark.parametrize("door", ["wrap", "mcp"])
def test_the_operator_reads_on_stderr_what_was_refused_and_how_to_allow_it(tmp_path: Path, door: str) -> None:
    """One call at a time: only answers that have come can be the same."""
    (tmp_path / "notes.py").write_text(SERVER)
    command, name, tool = {
        "wrap": (["wrap", "--name", "notes", "--", sys.executable, "notes.py"], "read_file", "notes/read_file"),
        "mcp": (["mcp"], "code_read", "code/read"),
    }[door]
    (tmp_path / "mine.toml").write_text("version = 1\n")
    wrapped = subprocess.Popen(
        [sys.executable, "-m", "rightcall.cli", command[0], "--policy", "mine.toml", *command[1:]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=environment(),
    )  # fmt: skip
    assert wrapped.stdin is not None
    assert wrapped.stdout is not None
    assert wrapped.stderr is not None
    with wrapped:
        asked: list[tuple[str, dict[str, Any]]] = [
            ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a"}}),
            ("tools/list", {}),
            ("tools/call", {"name": name, "arguments": {}}),
            *[("tools/call", {"name": name, "arguments": {"path": "notes.py"}})] * 3,
        ]
        answers: list[Any] = []
        for number, (method, params) in enumerate(asked):
            line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            wrapped.stdin.write(json.dumps(line) + "\n")
            wrapped.stdin.flush()
            answers.append(json.loads(wrapped.stdout.readline())["result"])
        wrapped.stdin.close()
        told = wrapped.stderr.read().splitlines()
    assert [bool(one.get("isError")) for one in answers[2:]] == [True, False, False, True]
    assert "A person can allow polling this tool." in json.dumps(answers[-1])
    called = name if door == "wrap" else tool
    allowing = f'to allow polling it, add it to the policy: [policy] repeatable = ["{tool}"]'
    assert told == [
        f"rightcall: tool_validation_failed: {called}: path missing",
        f"rightcall: repeated calls of {tool} are refused as a loop; {allowing}",
    ]

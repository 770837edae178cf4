"""Folders that somebody else has filled, under every command: nothing is started, sent, read or written outside."""

import io
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import json

from support.cli import Runner, start
from support.every import sampled
from support.hostile.folders import SECRET, TRAPS, Trap

SAVE = '{{"path": "{}/written.txt", "content": "x"}}'
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("run", "file/save", "SAVE"),
    ("run", "code/read", '{"path": "a.txt"}'),
    ("run", "code/read", '{"path": "OUTSIDE/precious.txt"}'),
    ("route", "read the file a.txt"),
    ("ask", "read the file a.txt"),
    ("requests", "list"),
    ("policy", "check"),
    ("policy", "explain", "code/read", "--live"),
    ("approvals", "list"),
    ("grants", "list"),
    ("policy", "quarantine", "list"),
    ("audit", "tail"),
    ("audit", "verify"),
    ("stats",),
    ("stats", "--value"),
    ("replay",),
    ("learn",),
    ("lint", "--server", "x"),
    ("lint", "a.txt"),
    ("login", "x"),
    ("login",),
    ("logout", "x"),
    ("people", "list"),
    ("token", "list"),
    ("status",),
    ("tools",),
    ("check", "code/read", '{"pth": "a.txt"}'),
    ("resume",),
    ("pr", "list"),
    ("undo",),
    ("trust",),
    ("hook", "learn", "--name", "x"),
)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def it(tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> Trap:
    (root := tmp_path / "clone").mkdir()
    (outside := tmp_path / "outside").mkdir()
    (root / "a.txt").write_text("a\n")
    (outside / "precious.txt").write_text(f"{SECRET}\n")
    (outside / "settings.toml").write_text(f'{SECRET} = "{SECRET}"\n')
    monkeypatch.chdir(root)
    monkeypatch.setenv("CANARY", SECRET)
    return Trap(root, outside, listener.getsockname()[1])


def looks(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def was_heard(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.promise("P-13")
@pytest.mark.parametrize("commands", [COMMANDS[::3], COMMANDS[1::3], COMMANDS[2::3]], ids=["some", "others", "rest"])
@pytest.mark.parametrize("name", sampled(TRAPS, 8))
def test_nothing_leaves_a_hostile_folder_by_any_command(
    name: str,
    commands: tuple[tuple[str, ...], ...],
    it: Trap,
    listener: socket.socket,
    run: Runner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    TRAPS[name](it)
    before = looks(it.outside)
    for words in commands:
        given = [
            word.replace("OUTSIDE", str(it.outside)) if word != "SAVE" else SAVE.format(it.outside) for word in words
        ]
        done = run(*given)
        assert SECRET not in done.out + done.err, (words, done)
        assert looks(it.outside) == before, (words, done)
        assert "Traceback" not in done.err
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "Read"}
    told = hook_output(json.encode({**event, "tool_input": {"file_path": "a.txt"}}), monkeypatch)
    assert SECRET not in told
    assert "allow" not in told
    assert looks(it.outside) == before
    assert not was_heard(listener)


def hook_output(event: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    from rightcall.hosts.hooks.hook import judge_event, read_options

    monkeypatch.setattr("sys.stderr", io.StringIO())
    return judge_event(read_options(["claude"]), event, lambda _: None)


@pytest.mark.promise("P-13")
@pytest.mark.parametrize(
    "command", [("mcp", "--servers"), ("serve", "--no-auth", "--port", "0", "--json"), ("console", "link"), ("init",)]
)
def test_a_process_in_a_hostile_folder_starts_nothing_and_says_what_it_ignores(
    command: tuple[str, ...], it: Trap, listener: socket.socket
) -> None:
    it.policy(
        f'[servers.x]\ncommand = {it.starts}\n[servers.y]\nurl = "http://127.0.0.1:{it.port}/mcp"\n'
        f'headers = {{ x = "${{CANARY}}" }}\n[policy]\nstage = "full"\n[write]\nfolders = ["{it.outside}"]\n'
    )
    before = looks(it.outside)
    process = start(*command)
    if command[0] == "serve":
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    lists = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    sent = json.encode(hello) + b"\n" + json.encode(lists) + b"\n" if command[0] == "mcp" else b""
    _, err = process.communicate(sent, timeout=30)
    assert looks(it.outside) == before
    assert not was_heard(listener)
    if command[0] in ("mcp", "serve"):
        told = err.decode()
        assert f"rightcall trust {it.root}/rightcall.toml" in told
        for key in ("policy.stage", "write.folders", "servers.x.command", "servers.y.url", "servers.y.headers.x"):
            assert key in told
        assert os.path.isdir(it.root / ".rightcall")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.promise("P-09", "A-04")
@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("x.db", ("audit", "verify", "--store", "{0}/x.db")),
        ("x.db", ("audit", "adopt", "--store", "{0}/x.db")),
        ("pack.toml", ("check", "--pack", "{0}/pack.toml", "x", "{{}}")),
        ("rightcall.toml", ("policy", "check", "{0}/rightcall.toml")),
        ("state/rightcall/installed.json", ("install", "claude-code", "--dry-run")),
    ],
)
def test_nothing_waits_for_a_pipe(tmp_path: Path, place: str, command: tuple[str, ...]) -> None:
    pipe = tmp_path / place
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    where = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    process = start(*(word.format(tmp_path) for word in command), **where)
    try:
        _, told = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 2
    assert place.rpartition("/")[2] in told.decode()
    assert "Traceback" not in told.decode()

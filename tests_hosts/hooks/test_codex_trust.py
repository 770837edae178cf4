"""What the real Codex says of the hooks that `rightcall install codex` writes: whether it would run them."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.cli import main
from rightcall.hosts.install.places import HOSTS
from rightcall.hosts.install.plans import Installed, installed_in
from rightcall.hosts.install.trying import hook_hash, hook_trusts

pytestmark = pytest.mark.promise("H-73")


def hooks_of(codex: Path, home: Path, folder: Path) -> list[dict[str, Any]]:
    """Codex's own list (`hooks/list` of its app server)."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    requests = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(folder)]}},
    ]
    with subprocess.Popen(
        [codex, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment, cwd=folder,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(json.encode(one) + b"\n" for one in requests))
        server.stdin.flush()
        for line in server.stdout:
            message = json.decode(line)
            if message.get("id") == 2:
                server.kill()
                return message["result"]["data"][0]["hooks"]
    raise AssertionError("it ended without an answer")


def found(file: Path) -> Installed:
    installed = installed_in(HOSTS["codex"], str(file))
    assert installed is not None
    return installed


def test_codex_and_status_agree_on_which_hooks_are_trusted(
    npm_bin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.chdir(work)
    assert main(["install", "codex", "--yes"]) == 0
    file = home / ".codex" / "hooks.json"
    listed = hooks_of(npm_bin / "codex", home, work)
    assert [one["trustStatus"] for one in listed] == ["untrusted"] * 3
    assert set(hook_trusts(found(file), os.environ)) == {"untrusted"}
    hooks = json.decode(file.read_bytes())["hooks"]
    made = [hook_hash(event, group, group["hooks"][0]) for event, (group,) in hooks.items()]
    assert [one["currentHash"] for one in listed] == made
    states = (f'[hooks.state."{one["key"]}"]\ntrusted_hash = "{one["currentHash"]}"\n' for one in listed)
    (home / ".codex" / "config.toml").write_text("".join(states))
    assert [one["trustStatus"] for one in hooks_of(npm_bin / "codex", home, work)] == ["trusted"] * 3
    assert set(hook_trusts(found(file), os.environ)) == {"trusted"}
    assert main(["install", "codex", "--mode", "block", "--yes"]) == 0
    assert [one["trustStatus"] for one in hooks_of(npm_bin / "codex", home, work)] == ["modified"] * 3
    assert set(hook_trusts(found(file), os.environ)) == {"changed"}

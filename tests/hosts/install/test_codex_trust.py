"""Codex runs no hook that its user has not trusted, and tells nobody: `status` and `install` do."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rightcall.hosts.install.places import HOSTS
from rightcall.hosts.install.plans import Installed, installed_in
from rightcall.hosts.install.trying import hook_hash, hook_trusts
from support.cli import Runner, Terminal
from support.host_settings import real_program

pytestmark = pytest.mark.promise("H-73", "H-08")


HASHES = (
    "sha256:d6ddd20e9c1483c9d10aacd85fbffb15106dc857b812e540dc6d61417d55a750",
    "sha256:184db13b35af0099a8984f78771eb4b0e2471c53268fd267ef668966b61e2e22",
)


def handlers(file: Path) -> dict[str, tuple[Any, Any]]:
    """Group and handler by the name that Codex has for the hook."""
    hooks = json.loads(file.read_text())["hooks"]
    snake = {"PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use", "SessionEnd": "session_end"}
    return {f"{snake[event]}:0:0|{event}": (groups[0], groups[0]["hooks"][0]) for event, groups in hooks.items()}


def trust(home: Path, file: Path, *, more: str = "") -> None:
    """As Codex notes what its user trusts."""
    lines = [more]
    for key, (group, handler) in handlers(file).items():
        place, event = key.split("|")
        lines += [f'[hooks.state."{file}:{place}"]', f'trusted_hash = "{hook_hash(event, group, handler)}"']
    (home / ".codex" / "config.toml").write_text("\n".join(lines) + "\n")


def installed(file: Path) -> Installed:
    found = installed_in(HOSTS["codex"], str(file))
    assert found is not None
    return found


@pytest.fixture
def file(home: Path, run: Runner) -> Path:
    run("install", "codex", "--yes")
    return home / ".codex" / "hooks.json"


def trusts(file: Path, home: Path) -> set[str]:
    return set(hook_trusts(installed(file), {"HOME": str(home)}))


def test_a_hash_is_the_one_that_codex_makes() -> None:
    """Taken from Codex 0.166 (`hooks/list`)."""
    command = "/opt/rightcall hook codex --mode observe"
    group = {"matcher": "*"}
    assert hook_hash("PreToolUse", group, {"type": "command", "command": command, "timeout": 30}) == HASHES[0]
    assert hook_hash("SessionEnd", {}, {"type": "command", "command": command, "timeout": 9}) == HASHES[1]


def test_hooks_are_trusted_one_by_one_and_as_they_are(home: Path, file: Path, run: Runner) -> None:
    assert trusts(file, home) == {"untrusted"}
    trust(home, file)
    assert trusts(file, home) == {"trusted"}
    run("install", "codex", "--mode", "block", "--yes")
    assert trusts(file, home) == {"changed"}
    trust(home, file)
    noted = home / ".codex" / "config.toml"
    noted.write_text(noted.read_text().replace("trusted_hash", "enabled = false\ntrusted_hash", 1))
    assert trusts(file, home) == {"trusted", "off"}
    noted.write_text("not = = toml")
    assert trusts(file, home) == {"unreadable"}


def test_hooks_of_a_project_need_a_trusted_project_too(home: Path, run: Runner, tmp_path: Path) -> None:
    project = tmp_path / "work" / "inner"
    project.mkdir(parents=True)
    (tmp_path / "work" / ".git").mkdir()
    (home / ".codex").mkdir()
    run("install", "codex", "--project", str(project), "--yes")
    file = project / ".codex" / "hooks.json"
    trust(home, file)
    assert trusts(file, home) == {"project", "trusted"}
    for folder, said, expected in (
        (project, "trusted", {"trusted"}),
        (tmp_path / "work", "trusted", {"trusted"}),
        (project, "untrusted", {"project", "trusted"}),
        (tmp_path, "trusted", {"project", "trusted"}),
    ):
        trust(home, file, more=f'[projects."{folder}"]\ntrust_level = "{said}"')
        assert trusts(file, home) == expected, folder


@pytest.mark.parametrize(
    "strange",
    [
        "hooks = 3",
        'hooks = { state = "x" }',
        "[hooks.state]\nx = 1",
        'projects = "all"',
        '[projects]\n"/" = "trusted"',
    ],
)
def test_settings_that_codex_would_not_write_trust_nothing(home: Path, file: Path, strange: str) -> None:
    (home / ".codex" / "config.toml").write_text(strange)
    assert trusts(file, home) == {"untrusted"}


def test_what_cannot_be_read_is_said_so_and_waited_for_by_nobody(home: Path, file: Path, run: Runner) -> None:
    real_program(home)
    config = home / ".codex" / "config.toml"
    for broken in (b"[hooks", b"\xff", b"a = " + b"[" * 100_000):
        config.write_bytes(broken)
        assert trusts(file, home) == {"unreadable"}, broken[:9]
    config.unlink()
    os.mkfifo(config)
    done = run("status", "--json")
    (one,) = done.json["installed"]
    assert (done.code, one["works"]) == (1, False)
    assert one["why"].startswith("Codex's config.toml cannot be read")


def test_status_says_that_nothing_runs_until_it_is_trusted(home: Path, file: Path, run: Runner) -> None:
    real_program(home)
    done = run("status", "--json")
    (one,) = done.json["installed"]
    assert (done.code, one["works"]) == (1, False)
    assert one["why"].startswith("Codex runs no hook that you have not trusted, and these are new to it: start `codex`")
    trust(home, file)
    done = run("status", "--json")
    assert (done.code, done.json["installed"][0]["works"]) == (0, True)


def test_install_says_what_is_left_to_do(home: Path, file: Path, run: Runner) -> None:
    again = run("install", "codex", "--yes").out
    assert "nothing was changed" in again
    assert "Codex runs no hook that you have not trusted, and these are new to it" in again
    trust(home, file)
    assert "trusted" not in run("install", "codex", "--yes").out


@pytest.mark.parametrize(("answer", "started"), [("y", True), ("n", False)])
def test_install_offers_to_start_codex_which_asks_its_user_itself(home: Path, answer: str, started: bool) -> None:
    folder = home / "my bin"
    (folder / "codex").write_text(f'#!/bin/sh\npwd > "{home}/started"\n')
    (folder / "codex").chmod(0o755)
    with Terminal("install", "codex", HOME=str(home), PATH=f"{folder}{os.pathsep}{os.environ['PATH']}") as terminal:
        terminal.until("write this? [y/N] ")
        terminal.type("y\n")
        assert "start `codex` and choose to trust them" in terminal.until("now, to trust the hooks? [y/N] ")
        terminal.type(f"{answer}\n")
        assert terminal.end()[0] == 0
    assert (home / "started").exists() is started
    assert not (home / ".codex" / "config.toml").exists(), "whether hooks are trusted is for Codex to note"

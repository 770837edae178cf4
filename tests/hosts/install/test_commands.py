"""How hosts are told to start us: never so that a project's own files are taken for ours."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rightcall.hosts.hooks.place import MODES
from rightcall.hosts.install.places import after_us, is_misled, is_our_hook, mode_of, program
from support.cli import ROOT, Runner

pytestmark = pytest.mark.promise("H-08")

OLD, NEW = ("/bin/python3", "-m", "rightcall"), ("/bin/python3", "-P", "-m", "rightcall")
_PLANTED = "import pathlib\npathlib.Path(__file__).with_name('pwned').touch()\n"


@pytest.fixture
def as_module(home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """No command of ours is installed: the module of this Python is what there is."""
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    return program()


@pytest.fixture
def hostile(home: Path) -> Path:
    """A project that calls its own files as ours are called."""
    work = home / "work"
    (work / "rightcall").mkdir()
    for name in ("rightcall/__init__.py", "rightcall/__main__.py", "msgspec.py", "tomllib.py", "json.py", "re.py"):
        (work / name).write_text(_PLANTED)
    return work


def planted_ran(folder: Path) -> bool:
    return bool(list(folder.rglob("pwned")))


def test_a_projects_own_files_do_not_run_in_the_hook(as_module: tuple[str, ...], hostile: Path) -> None:
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}
    done = subprocess.run(
        [*as_module, "hook", "claude", "--mode", "block"], input=json.dumps(event).encode(), capture_output=True,
        cwd=hostile, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not planted_ran(hostile)


def test_a_projects_own_files_do_not_run_in_the_installer_for_agent_zero(hostile: Path) -> None:
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "install_meta_gate.sh", hostile / "none"], capture_output=True, cwd=hostile,
        env={**os.environ, "PYTHON": sys.executable}, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert b"no such folder" in done.stdout
    assert not planted_ran(hostile)


def test_our_commands_are_known_however_they_were_written() -> None:
    for start in (OLD, NEW, ("/bin/python3", "-P", "-m", "rightcall.cli"), ("C:\\bin\\rightcall.exe",)):
        words = (*start, "hook", "claude", "--mode", "warn")
        assert after_us(words) == ("hook", "claude", "--mode", "warn")
        assert is_our_hook("claude-code", words)
        assert mode_of(words) == "warn"
    assert after_us(("/bin/python3", "-P", "-m", "other", "hook", "claude")) == ()
    assert after_us(("/bin/python3", "-P", "rightcall")) == ()
    assert is_misled((*OLD, "hook", "claude"))
    assert not is_misled((*NEW, "hook", "claude"))


def test_installing_again_puts_an_older_command_right(home: Path, as_module: tuple[str, ...], run: Runner) -> None:
    run("install", "claude-code", "--yes")
    file = home / ".claude" / "settings.json"
    assert file.read_text().count(" -P -m rightcall hook claude ") == 4
    file.write_text(file.read_text().replace(" -P -m ", " -m "))
    done = run("status")
    assert done.code == 1
    assert "install it again" in done.out
    run("install", "claude-code", "--yes")
    assert file.read_text().count(" -P -m rightcall hook claude ") == 4
    run("uninstall", "claude-code", "--yes")
    assert "rightcall" not in (file.read_text() if file.exists() else "")


def test_wrapping_again_puts_an_older_command_right(home: Path, as_module: tuple[str, ...], run: Runner) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}')
    plain = file.read_bytes()
    run("install", "cursor", "--yes")
    written = file.read_text()
    assert json.loads(written)["mcpServers"]["a"]["args"][:4] == ["-P", "-m", "rightcall", "wrap"]
    file.write_text(written.replace('"-P", ', ""))
    assert run("install", "cursor", "--yes").code == 0
    assert file.read_text() == written
    run("uninstall", "cursor", "--yes")
    assert file.read_bytes() == plain


def test_the_modes_stand_in_the_order_of_their_strictness() -> None:
    assert MODES == ("observe", "warn", "block")

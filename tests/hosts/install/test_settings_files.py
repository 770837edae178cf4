"""Any settings file: installed so that the host reads it, twice without a change, and undone to the last byte."""

import os
import stat
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.cli import Runner
from support.host_settings import (
    EDITABLE,
    REFUSED,
    SERVERS,
    SERVERS_REFUSED,
    TOML,
    TOML_REFUSED,
    as_host,
    our_commands,
    without_ours,
)

EVENTS = {
    "claude-code": ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"),
    "gemini": ("BeforeTool", "AfterTool", "SessionEnd"),
}
FEW = ("an empty file", "tabs", "trailing commas", "hooks on one line", "an empty list of hooks")
FOLDERS = {"claude-code": ".claude", "gemini": ".gemini"}


def settings_in(home: Path, host: str, data: bytes) -> Path:
    file = home / FOLDERS[host] / "settings.json"
    file.parent.mkdir()
    file.write_bytes(data)
    file.chmod(0o640)
    return file


def only_file(file: Path) -> bool:
    return [one.name for one in file.parent.iterdir()] == [file.name]


@pytest.mark.promise("H-08")
@pytest.mark.parametrize(("host", "case"), [*product(["claude-code"], EDITABLE), *product(["gemini"], FEW)])
def test_what_is_installed_is_read_by_the_host_and_undone_to_the_last_byte(
    home: Path, run: Runner, host: str, case: str
) -> None:
    data = EDITABLE[case]
    file = settings_in(home, host, data)
    done = run("install", host, "--yes")
    assert done.code == 0, done.err
    settings = as_host(file.read_bytes())
    assert tuple(our_commands(settings)) == tuple(event for event in settings["hooks"] if event in EVENTS[host])
    assert set(our_commands(settings)) == set(EVENTS[host])
    assert without_ours(settings) == without_ours(as_host(data))
    written = file.read_bytes()
    again = run("install", host, "--yes")
    assert again.code == 0
    assert "nothing was changed" in again.out
    assert file.read_bytes() == written
    undone = run("uninstall", host, "--yes")
    assert undone.code == 0
    assert "byte for byte" in undone.out
    assert file.read_bytes() == data
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert only_file(file)
    assert "nothing was changed" in run("uninstall", host, "--yes").out


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("case", [case for case in EDITABLE if EDITABLE[case].strip(b"\xef\xbb\xbf \t\r\n")])
def test_where_somebody_wrote_since_only_our_entries_go(home: Path, run: Runner, case: str) -> None:
    data = EDITABLE[case]
    file = settings_in(home, "claude-code", data)
    run("install", "claude-code", "--yes")
    file.write_bytes(file.read_bytes() + b"\n  // by somebody else\n")
    undone = run("uninstall", "claude-code", "--yes")
    assert "Took the entries of rightcall out" in undone.out
    assert file.read_bytes() == data + b"\n  // by somebody else\n"


@pytest.mark.promise("H-08")
@pytest.mark.parametrize(("host", "case"), [*product(["claude-code"], REFUSED), ("gemini", "half an object")])
def test_what_cannot_be_edited_is_left_alone_and_says_what_to_do(home: Path, run: Runner, host: str, case: str) -> None:
    file = settings_in(home, host, REFUSED[case])
    done = run("install", host, "--yes")
    assert done.code == 2
    assert str(file) in done.err
    assert file.read_bytes() == REFUSED[case]
    assert only_file(file)
    if case not in ("UTF-16", "Latin-1"):
        assert "by hand" in done.err
        assert "hook " + host.removesuffix("-code") in done.err
    assert not (home / "state").exists() or "installed.json" not in os.listdir(home / "state" / "rightcall")


def unwrapped(settings: Any) -> Any:
    """Every server with its own command."""
    servers = {
        name: one
        if not isinstance(one, dict) or "rightcall" not in str(one.get("command"))
        else one
        | {"command": one["args"][one["args"].index("--") + 1], "args": one["args"][one["args"].index("--") + 2 :]}
        for name, one in settings["mcpServers"].items()
    }
    return settings | {"mcpServers": {name: _with_args(one) for name, one in servers.items()}}


def _own(words: list[str]) -> dict[str, Any]:
    return {"command": words[0], "args": words[1:]}


def _with_args(one: Any) -> Any:
    return {"args": [], **one} if isinstance(one, dict) and isinstance(one.get("command"), str) else one


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("case", SERVERS)
def test_servers_are_wrapped_and_unwrapped_to_the_last_byte(home: Path, run: Runner, case: str) -> None:
    data = SERVERS[case]
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(data)
    done = run("install", "cursor", "--yes")
    assert done.code == 0, done.err
    settings = as_host(file.read_bytes())
    assert "wrap" in str(settings)
    assert unwrapped(settings) == unwrapped(as_host(data))
    written = file.read_bytes()
    assert "nothing was changed" in run("install", "cursor", "--yes").out
    assert file.read_bytes() == written
    file.write_bytes(written + b"\n")
    run("uninstall", "cursor", "--yes")
    assert file.read_bytes() == data + b"\n"
    file.write_bytes(data)
    run("install", "cursor", "--yes")
    assert "byte for byte" in run("uninstall", "cursor", "--yes").out
    assert file.read_bytes() == data


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("case", SERVERS_REFUSED)
def test_servers_that_cannot_be_wrapped_safely_are_left_alone(home: Path, run: Runner, case: str) -> None:
    file = home / ".config" / "Claude" / "claude_desktop_config.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(SERVERS_REFUSED[case])
    done = run("install", "claude-desktop", "--yes")
    assert done.code == 2
    assert "by hand" in done.err
    assert file.read_bytes() == SERVERS_REFUSED[case]
    assert only_file(file)


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("case", TOML)
def test_tables_are_added_to_toml_and_taken_out_to_the_last_byte(home: Path, run: Runner, case: str) -> None:
    import tomllib

    data = TOML[case]
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_bytes(data)
    assert run("install", "codex", "--yes").code == 0
    settings = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    assert set(our_commands(settings)) == {"PreToolUse", "PostToolUse", "SessionEnd"}
    assert without_ours(settings) == without_ours(tomllib.loads(data.decode("utf-8-sig")))
    written = file.read_bytes()
    assert written.startswith(data)
    assert "nothing was changed" in run("install", "codex", "--yes").out
    file.write_bytes(written + b"\n[tui2]\nx = 1\n")
    run("uninstall", "codex", "--yes")
    assert file.read_bytes().replace(b"\r\n", b"\n").split() == (data + b"\n[tui2]\nx = 1\n").split()
    file.write_bytes(data)
    run("install", "codex", "--mode", "block", "--yes")
    assert run("uninstall", "codex", "--yes").code == 0
    assert file.read_bytes() == data


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("case", TOML_REFUSED)
def test_toml_that_has_no_place_for_tables_is_left_alone(home: Path, run: Runner, case: str) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_bytes(TOML_REFUSED[case])
    done = run("install", "codex", "--yes")
    assert done.code == 2
    assert "[[hooks.PreToolUse]]" in done.err
    assert file.read_bytes() == TOML_REFUSED[case]


def test_there_are_more_than_thirty_cases() -> None:
    assert len(EDITABLE) + len(REFUSED) + len(SERVERS) + len(SERVERS_REFUSED) + len(TOML) + len(TOML_REFUSED) > 80

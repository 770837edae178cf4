"""The commands see the tools of the policy's servers: what is listed, called and routed to by which name (X-01)."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli import Runner, start, write_trusted
from support.tool_server import server, starts

pytestmark = pytest.mark.promise("X-01", "T-10")


def policy_text(folder: Path) -> str:
    about = server(folder)
    command = ", ".join(f'"{word}"' for word in about["command"])
    return f'version = 1\n[servers.x]\ncommand = [{command}]\neffects = {{ echo = ["read"], wait = ["read"] }}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a trusted policy."""
    monkeypatch.chdir(tmp_path)
    write_trusted(tmp_path / "rightcall.toml", policy_text(tmp_path))
    return tmp_path


def test_tools_shows_them_with_their_names_arguments_and_effects(run: Runner, folder: Path) -> None:
    shown = run("tools")
    assert shown.code == 0, shown.err
    assert "x_echo  [server:x; read]\n  * text  text\n  also called: x/echo, mcp__x__echo, echo\n" in shown.out
    assert "x_save  [server:x; any effect (none declared)]" in shown.out
    whole: Any = json.loads(run("tools", "x/echo", "--json").out)
    assert [(one["name"], one["source"]) for one in whole["tools"]] == [("x_echo", "server:x")]
    (first, second) = starts(folder)
    for process in (first, second):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_list_says_which_server_is_not_there(run: Runner, folder: Path) -> None:
    more = '[servers.gone]\ncommand = ["/nothing/there"]\n'
    write_trusted(folder / "rightcall.toml", policy_text(folder) + more)
    shown = run("tools")
    assert "x_echo" in shown.out
    assert "rightcall: the server gone is not running: `/nothing/there` cannot be started" in shown.err


@pytest.mark.parametrize("arguments", [("--text=hello",), ('{"text": "hello"}',), ("{txt: 'hello'}",)])
def test_call_runs_one_and_the_audit_has_it(run: Runner, folder: Path, arguments: tuple[str, ...]) -> None:
    called = run("run", "x_echo", *arguments)
    assert called.code == 0, called.err
    assert "✓ x/echo ran in" in called.out
    assert "hello" in called.out
    assert "x/echo" in run("audit", "tail").out


def test_the_help_of_a_call_has_the_arguments_of_the_tool(run: Runner, folder: Path) -> None:
    told = run("run", "x_echo", "--help")
    assert "arguments of x_echo:" in told.out
    assert "--text TEXT" in told.out


def test_route_knows_them(run: Runner, folder: Path) -> None:
    routed: Any = json.loads(run("route", "say a text again", "--json").out)
    assert routed["candidates"][0]["name"] == "x_echo"


@pytest.mark.promise("P-13")
@pytest.mark.parametrize(
    "command",
    [("tools",), ("run", "x_echo", "--text=a"), ("run", "x_echo", "{}"), ("route", "say it"), ("ask", "say it")],
)
def test_a_policy_that_nobody_trusts_starts_nothing(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text(policy_text(tmp_path))
    done = run(*command)
    assert starts(tmp_path) == []
    assert "servers.x.command" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_ctrl_c_leaves_no_server_running(folder: Path) -> None:
    os.mkfifo(folder / "waiting")
    process = start("run", "x_wait", "{}")
    assert (folder / "waiting").read_text() == "wait"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    for one in starts(folder):
        with pytest.raises(ProcessLookupError):
            os.kill(one, 0)

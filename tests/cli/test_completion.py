"""`rightcall completion`: what each word may become, that nothing ever fails, and the scripts in their real shells."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.cli import COMMANDS
from rightcall.cli.help import SCRIPTS, complete
from rightcall.record.sqlite import SqliteStore
from support.approvals import Desk
from support.cli import TOOLS, Runner, environment
from support.every import every


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text('version = 1\n[callers.teacher]\n[callers."x$(id)"]\n')
    store = SqliteStore(tmp_path / ".rightcall" / "audit.db")
    yield Desk(store)
    store.close()


@every(
    ("words", "found"),
    [
        (["aud"], ["audit"]),
        (["audit", "ver"], ["verify"]),
        (["audit", "tail", "--st"], ["--status", "--step", "--store"]),
        (["serve", "--mode", ""], ["block", "observe"]),
        (["serve", "--mode", "="], ["block", "observe"]),
        (["serve", "--mode", "=", "ob"], ["observe"]),
        (["run", "code/rea"], ["code/read"]),
        (["check", "get_w", "--tools", TOOLS], []),
        (["check", "--tools", TOOLS, "get_w"], ["get_weather"]),
        (["tools", "--pack", "agent"], ["agent-zero"]),
        (["packs", "agent"], ["agent-zero"]),
        (["formats", "herm"], ["hermes"]),
        (["install", "claude-c"], ["claude-code"]),
        (["help", "exit"], ["exit-codes"]),
        (["help", "policy", "exp"], ["explain"]),
        (["docs", "troubl"], ["troubleshooting"]),
        (["completion", "z"], ["zsh"]),
        (["sandbox", "run", "a.py", "--", "--ti"], []),
        (["nonsense", "x"], []),
        (["run", "code/read", "--policy", ""], []),
    ],
)
def test_a_word_becomes_what_fits_there(words: list[str], found: list[str]) -> None:
    assert complete(words) == found


def test_without_a_word_every_command_is_offered() -> None:
    assert complete([]) == complete([""]) == sorted([*COMMANDS, "help"])


def test_approvals_and_callers_come_from_the_store_and_the_policy(desk: Desk) -> None:
    asked = desk.ask()
    assert complete(["approvals", "approve", ""]) == [asked]
    assert complete(["approvals", "show", asked[:3]]) == [asked]
    assert complete(["run", "code/read", "--as", ""]) == ["default", "teacher"]  # no word that a shell would run


def test_nothing_is_said_where_something_is_wrong(run: Runner, desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text("version = [")
    for words in (["approvals", "show", ""], ["run", "--as", ""], ["run", "--tools", "absent.json", "x"]):
        assert run("completion", "words", *words) == (0, "", "")
    assert run("completion", "words", "approvals", "show", "--store", "absent.db", "") == (0, "", "")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_is_printed_for_each_shell(run: Runner, shell: str) -> None:
    done = run("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert "rightcall completion words" in done.out


def ours(folder: Path) -> Path:
    """A `rightcall` on the PATH that is this one."""
    program = folder / "bin" / "rightcall"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rightcall.cli "$@"\n')
    program.chmod(0o755)
    return program.parent


ASKED = {
    "bash": """
        eval "$(rightcall completion bash)"
        COMP_WORDS=(rightcall audit tail --status ref); COMP_CWORD=4; _rightcall; echo "${COMPREPLY[@]}"
        COMP_WORDS=(rightcall run code/rea); COMP_CWORD=2; _rightcall; echo "${COMPREPLY[@]}"
        COMP_WORDS=(rightcall approvals ''); COMP_CWORD=2; _rightcall; echo "${COMPREPLY[@]}"
        COMP_WORDS=(rightcall eval ''); COMP_CWORD=2; _rightcall; echo "${#COMPREPLY[@]}"
        complete -p rightcall
    """,
    "zsh": """
        autoload -Uz compinit; compinit -u; compadd() { print -r -- $found }; _files() { print files }
        eval "$(rightcall completion zsh)"
        words=(rightcall audit tail --status ref); CURRENT=5; _rightcall
        words=(rightcall run code/rea); CURRENT=3; _rightcall
        words=(rightcall approvals ''); CURRENT=3; _rightcall
        words=(rightcall eval ''); CURRENT=3; _rightcall
    """,
    "fish": """
        rightcall completion fish | source
        complete -C 'rightcall audit tail --status ref'
        complete -C 'rightcall run code/rea'
        complete -C 'rightcall approvals '
    """,
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_real_shell_completes(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    variables = environment(HOME=str(tmp_path))
    variables["PATH"] = f"{ours(tmp_path)}:{variables['PATH']}"
    done = subprocess.run(
        [program, "-c", ASKED[shell]], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert (lines[0], lines[1]) == ("refused", "code/read"), done.stderr
    assert {"approve", "deny", "list", "show", "watch"} <= set(done.stdout.split())
    if shell == "bash":
        assert lines[3:] == ["0", "complete -o bashdefault -o default -F _rightcall rightcall"]

"""Commands that commands print can be pasted: they lead to the same policy, root and store."""

import re
import shlex
from argparse import Namespace
from pathlib import Path

import pytest

from rightcall.cli import COMMANDS
from rightcall.cli.options import TAKES, actions_of, flags, follow_up, parser_of, pointed
from support.cli import Runner, write_trusted

PRINTED = re.compile(r"`(rightcall [^`]+)`|(?:^|  |[:(] *)(rightcall [a-z][^`\n)]*)", re.MULTILINE)
PLACES = ("policy", "root", "store")


def takers() -> dict[str, set[str]]:
    """Every command and action, and which of the three options it takes."""
    found: dict[str, set[str]] = {}
    for command in COMMANDS:
        if command != "version":
            todo = [(command, parser_of(command)[0])]
            while todo:
                name, parser = todo.pop()
                todo += [(f"{name} {action}", one) for action, one in actions_of(parser).items()]
                if not parser.is_group:
                    found[name] = {place for place in PLACES if f"--{place}" in flags(parser)}
    return found


@pytest.mark.promise("D-01")
def test_a_printed_command_carries_just_the_options_that_it_takes() -> None:
    given = Namespace(policy="p.toml", root="my project", store="s.db")
    for command, takes in takers().items():
        words = follow_up(command, given).split()
        carried = {place for place in PLACES if f"--{place}" in words}
        assert carried <= takes, command
        known = any(command == name or command.startswith(f"{name} ") for name in TAKES)
        assert carried == takes or not known, command


def test_what_was_given_is_quoted_and_what_is_there_already_is_not_said_twice() -> None:
    given = Namespace(policy=None, root="my project; rm -rf ~", store=None)
    assert shlex.split(follow_up("audit tail", given)) == ["rightcall", "audit", "tail", "--root", given.root]
    given.store = "a.db"
    text = "look: `rightcall audit tail --store b.db`, `rightcall demo`, or `rightcall sandbox doctor`"
    assert pointed(text, given) == (
        "look: `rightcall audit tail --store b.db --root 'my project; rm -rf ~'`, `rightcall demo`, "
        "or `rightcall sandbox doctor --root 'my project; rm -rf ~'`"
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A project whose names need quotes, with a policy that asks before a write; the commands run elsewhere."""
    root, elsewhere = tmp_path / "my project", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    policy = tmp_path / "the policy.toml"
    write_trusted(policy, '[policy]\nstage = "full"\nwrite = "ask"\n')
    monkeypatch.chdir(elsewhere)
    return ["--root", str(root), "--policy", str(policy), "--store", str(tmp_path / "the store.db")]


def commands(text: str) -> list[list[str]]:
    """What a text suggests to type, without what has a word for the user to fill in."""
    found = [one or other for one, other in PRINTED.findall(text)]
    lines = [re.split(r"   or: |   once |   with ", line)[0].rstrip(" .") for line in found]
    return [shlex.split(line)[1:] for line in lines if not re.search(r"\b(ID|TOOL|CALLER|FILE|HEX)\b|…", line)]


@pytest.mark.promise("D-01")
def test_the_commands_that_are_printed_work_when_they_are_pasted(
    project: list[str], run: Runner, tmp_path: Path
) -> None:
    save = ["run", "file/save", '{"path": "experimental/note.md", "content": "hello"}', *project]
    tried: dict[str, list[str]] = {}
    texts = [run(*words).err + run(*words).out for words in (
        save,
        ["approvals", "list", *project],
        ["approvals", "show", "0" * 8, *project],
        ["audit", "show", "999", *project],
        ["audit", "tail", *project],
        ["grants", "revoke", "0" * 8, *project],
        ["requests", "show", "none", *project],
        ["stats", "--as", "nobody", *project],
        ["token", "list", *project],
        ["token", "revoke", "none", *project],
        ["pause", *project],
        ["audit", "tail", *project],
        ["approvals", "list", *project],
        ["doctor", *project],
        ["undo", *project],
    )]  # fmt: skip
    for text in texts:
        for words in commands(text):
            tried[" ".join(words[:2])] = words
    assert {"audit show", "approvals approve", "approvals list", "resume --policy"} <= set(tried)
    for words in tried.values():
        if words[0] in ("trust", "demo", "proxy", "serve"):  # servers run until somebody ends them
            continue
        done = run(*words)
        assert "unknown option" not in done.err, words
        assert "No such file" not in done.err, words
        if words[0] in ("audit", "approvals", "grants", "requests", "token", "resume"):
            assert ["--store", project[-1]] == words[words.index("--store") : words.index("--store") + 2]
            assert str(tmp_path / "elsewhere") not in done.out + done.err
    assert not (tmp_path / "elsewhere" / ".rightcall").exists()

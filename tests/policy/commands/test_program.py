"""RightCall's own program inside a project: what removes, replaces or closes it asks, at commands and at file tools."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rightcall
from rightcall.executor.door import Door
from rightcall.hosts.hooks.wires import builtin_tools
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judgement import judge_command
from rightcall.policy.commands.listings import Listing, secret_in
from rightcall.policy.commands.places import Place
from support.command_lines import Desk

pytestmark = pytest.mark.promise("P-16")

SITE = ".venv/lib/python3.12/site-packages"
ASKED = (
    "rm -rf .venv", "rm -r ./.venv/", "rm -rf $PWD/.venv", "rm .venv/bin/rightcall", "rm -rf .ve*", "rm -rf .venv/lib",
    "cd .venv && rm -rf *", "cd .venv/bin && rm rightcall", "unlink .venv/bin/rightcall", "npx rimraf .venv",
    "trash .venv", "find .venv -delete", "find .venv -type f -delete", "mv .venv old", "mv .ve* x",
    "mv .venv/bin .venv/b", "mv .venv/bin/rightcall /tmp/x", "mv .venv/bin/rightcall{,.bak}",
    "chmod -x .venv/bin/rightcall", "chmod 000 .venv/bin/rightcall", "chmod -R a-x .venv",
    "python -m venv --clear .venv", "python3 -m venv .venv --clear", "uv venv", "uv venv --clear .venv",
    "virtualenv --clear .venv", "pipenv --rm", "poetry env remove --all", "ln -sfn /tmp/x .venv",
    "ln -sf /bin/true .venv/bin/rightcall", "ln .venv/bin/rightcall x", "cp /bin/true .venv/bin/rightcall",
    "install -m 755 x .venv/bin/", "echo x > .venv/bin/rightcall", "> .venv/bin/rightcall",
    "tee .venv/bin/rightcall < x", "dd if=/dev/zero of=.venv/bin/rightcall count=1", "tar xf x.tar -C .venv",
    "cp -r /tmp/x/. .venv/", f"echo 'import os' > {SITE}/x.pth", f"touch {SITE}/msgspec.py",
    f"sed -i s/a/b/ {SITE}/rightcall/cli/main.py", "python -c \"open('.venv/bin/rightcall', 'w')\"",
    "uv remove rightcall", "mv .claude x", "mv .husky x", "chmod -x .husky/pre-commit",
)  # fmt: skip
LEFT = (
    "pip install x", "uv sync", "uv pip install ruff", "uv add httpx", "poetry install", "poetry env info",
    ".venv/bin/pip install -e .", "ls .venv", "cat .venv/pyvenv.cfg", "source .venv/bin/activate && pytest",
    ".venv/bin/rightcall status", ".venv/bin/python -m pytest", "rm -rf node_modules", "rm -rf build dist",
    "mv src lib", "mv README.md docs.md", "git mv src/app.py src/b.py", "ln -s src/app.py x.py", "chmod +x run.sh",
    "uv venv /tmp/other", "python -m venv .venv2", "python -m venv --clear venv2", "find . -name '*.pyc' -delete",
)  # fmt: skip


def environment(root: Path, name: str) -> Path:
    for file in ("bin/rightcall", "bin/python", "pyvenv.cfg"):
        (root / name / file).parent.mkdir(parents=True, exist_ok=True)
        (root / name / file).touch()
    return root / name


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(sys, "prefix", str(environment(tmp_path, ".venv")))
    made = Desk(tmp_path)
    yield made
    made.door.close()


def test_the_environment_that_rightcall_runs_from_is_not_changed_silently(desk: Desk) -> None:
    answers = {line: desk.judge(line)[0] for line in (*ASKED, *LEFT)}
    assert answers == {**dict.fromkeys(ASKED, "ask"), **dict.fromkeys(LEFT, "allow")}


def test_an_environment_with_the_program_in_it_is_one_that_a_hook_may_run_from(tmp_path: Path) -> None:
    """Whoever judges may run from elsewhere, as `rightcall policy command` of another installation does."""
    environment(tmp_path, "env")
    (tmp_path / "venv").mkdir()
    place = Place.at(str(tmp_path))
    lines = {
        "rm -rf env/bin": "ask", "mv env x": "ask", "echo x > env/bin/rightcall": "ask", "ln -sfn /tmp/x env": "ask",
        "uv venv env": "ask", "rm -rf venv": "allow", "mv venv x": "allow", "uv venv venv": "allow",
    }  # fmt: skip
    assert lines == {line: judge_command(line, CommandRules(), UrlRules(), place).answer for line in lines}


def test_the_running_package_is_guarded_wherever_it_lies(tmp_path: Path) -> None:
    package = Path(rightcall.__file__).parent
    place = Place.at(str(package.parents[1]))
    source = package.parent.name
    lines = {
        f"echo x > {source}/rightcall/policy/decide.py": "ask", f"git mv {source}/rightcall x": "ask",
        f"mv {source} lib": "ask", f"chmod -R 755 {source}": "ask", f"grep -n x {source}/rightcall/types.py": "allow",
        f"cp README.md {source}/notes.md": "allow",
    }  # fmt: skip
    assert lines == {line: judge_command(line, CommandRules(), UrlRules(), place).answer for line in lines}


@pytest.mark.parametrize("path", [".venv/bin/rightcall", ".venv/bin/python", f"{SITE}/a.pth", ".venv/pyvenv.cfg"])
def test_a_file_tool_asks_before_it_writes_the_program(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(environment(tmp_path, ".venv")))
    with Door.open("claude-code", {}, mode="block", fixed_names=True, root=tmp_path, store="memory") as door:
        door.know(builtin_tools("claude"))
        asked = door.judge("Write", {"file_path": str(tmp_path / path), "content": "x"})
        assert (asked.action, asked.decision.rule) == ("ask", "path:guards")
        assert door.judge("Read", {"file_path": path}).action == "allow"
    with Door.open("wrap", {}, mode="block", root=tmp_path, store="memory") as door:
        door.know([{"name": "move_file", "inputSchema": {"type": "object"}}], "files")
        assert door.judge("move_file", {"source": ".venv", "path": path}, space="files").decision.rule == "path:guards"


def test_a_file_tool_asks_before_it_writes_the_running_package(tmp_path: Path) -> None:
    package = Path(rightcall.__file__).parent
    with Door.open("claude-code", {}, mode="block", fixed_names=True, root=package.parents[1], store="memory") as door:
        door.know(builtin_tools("claude"))
        asked = door.judge("Edit", {"file_path": str(package / "types.py"), "old_string": "a", "new_string": "b"})
        assert (asked.action, asked.decision.rule) == ("ask", "path:guards")


def test_no_expression_of_a_model_keeps_the_judge_busy(tmp_path: Path) -> None:
    """Python's expressions hold everything up while they search, also the clock of a hook."""
    (tmp_path / "credentials.json").write_text("{}")
    for pattern in ("(.|.|.|.|.|.)*!", ".*.*.*.*.*.*.*.*.*.*!", "a{99999999999999}", "(", "[x"):
        listing = Listing((".",), hidden=True, depth=1, fits=pattern)
        assert secret_in(listing, [str(tmp_path)], Place.at(str(tmp_path))) == "credentials.json"
    listing = Listing((".",), hidden=True, depth=1, fits="readme")
    assert secret_in(listing, [str(tmp_path)], Place.at(str(tmp_path))) == ""

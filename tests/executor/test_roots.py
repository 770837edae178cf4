"""From which folder the rules for paths count: the root and the folder of the policy, at every door; and what holds
when the root is not the folder any more that it was."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, tool
from rightcall.executor.door import Door
from rightcall.hosts.hooks.wires import builtin_tools
from rightcall.server.hooks import Doors, Wanted

pytestmark = pytest.mark.promise("P-15")

READ_FILE = {"name": "read_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}
HOSTS = ["claude-code", "wrap", "gateway"]


def opened(host: str, policy: Path, root: Path) -> Door:
    door = Door.open(
        host, policy, root=root, store="memory", strict=host == "gateway", fixed_names=host == "claude-code"
    )
    door.know(builtin_tools("claude"))
    door.know([READ_FILE], "files")
    return door


def reader(door: Door) -> Callable[[str], tuple[str, str]]:
    """What a door says of reading a path, and by which rule."""

    def read(path: str) -> tuple[str, str]:
        if door.host == "claude-code":
            passage = door.judge("Read", {"file_path": path})
        else:
            passage = door.judge("read_file", {"path": path}, space="files")
        return passage.action, passage.decision.rule

    return read


# ── a policy in a folder above ──


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a policy, of which somebody works in a folder further down."""
    project = tmp_path / "p[3]"
    for folder in ("private", "sub/own", "sub/deep", "elsewhere"):
        (project / folder).mkdir(parents=True)
    for file in ("private/x.txt", "sub/own/z.txt", "notes.txt", "sub/notes.txt", "sub/deep/table.dat"):
        (project / file).write_text("text")
    (tmp_path / "data").mkdir()
    (project / "vault").symlink_to(tmp_path / "data")
    (project / "quiet").symlink_to("private")
    (project / "rightcall.toml").write_text(
        "version = 1\n[policy]\nrepeats = 0\nquarantine = 0\n"
        '[policy.paths]\ndeny = ["private/**", "vault/**", "*/own/**", "sub/**/*.d[a]t"]\n'
        '[servers.files]\ncommand = ["x"]\neffects = ["read"]\n'
    )
    return project


@pytest.mark.parametrize("host", HOSTS)
def test_what_a_policy_denies_counts_from_its_folder_and_from_the_root(project: Path, host: str) -> None:
    refused = [
        "../private/x.txt",
        "../PRIVATE/x.txt",
        "../quiet/x.txt",
        "../vault/y.txt",
        "own/z.txt",
        "deep/table.dat",
    ]
    with opened(host, project / "rightcall.toml", project / "sub") as door:
        read = reader(door)
        for path in [*refused, *(os.path.join(project, "sub", one) for one in refused), "private/new.txt"]:
            assert read(path) == ("deny", "path:deny"), path
        for path in ("notes.txt", "../notes.txt", str(project / "notes.txt"), "deep/table.txt", "../elsewhere/own.txt"):
            assert read(path)[0] == "allow", path


def test_commands_and_patterns_obey_a_policy_in_a_folder_above(project: Path) -> None:
    with opened("claude-code", project / "rightcall.toml", project / "sub") as door:
        for line in (
            f"cat '{project}/private/x.txt'", "cat ../private/x.txt", "cat ../priv*/x.txt",
            "cd .. && cat private/x.txt", "cat ../vault/y.txt", "cat own/z.txt",
        ):  # fmt: skip
            assert door.judge("Bash", {"command": line}).decision.rule == "path:deny", line
        assert door.judge("Bash", {"command": "cat ../notes.txt notes.txt"}).action == "allow"
        for given in ({"pattern": "../private/*"}, {"pattern": "x*", "path": str(project / "private")}):
            assert door.judge("Glob", given).decision.rule == "path:deny", given


def test_a_file_that_ci_runs_is_guarded_from_a_folder_below_the_policy(project: Path) -> None:
    with opened("claude-code", project / "rightcall.toml", project / "sub") as door:
        written = {"file_path": str(project / ".github/workflows/ci.yml"), "content": "x"}
        assert door.judge("Write", written).decision.rule == "path:guards"


def test_the_executors_own_tools_and_functions_obey_a_policy_in_a_folder_above(project: Path) -> None:
    @tool(effects=["read"], paths=["path"])
    def look(path: str) -> str:
        return path

    @tool(effects=["read"], commands=["line"])
    def shell(line: str) -> str:
        return line

    opening: dict[str, Any] = {"store": "memory", "tools": [look, shell], "code": True}
    with Executor.open_sync(project / "sub", project / "rightcall.toml", **opening) as executor:

        def rule(name: str, **arguments: str) -> str:
            decision = executor.run({"name": name, "arguments": arguments}).decision
            return "" if decision is None else f"{decision.kind} {decision.rule}"

        for path in ("own/z.txt", "deep/table.dat"):
            assert rule("look", path=path) == rule("code/read", path=path) == "deny path:deny", path
        assert rule("shell", line="cat ../private/x.txt") == "deny path:deny"
        assert rule("look", path="notes.txt").startswith("allow")
        found = executor.run({"name": "code/list", "arguments": {"pattern": "**"}}).result
        assert {file["path"] for file in found["files"]} == {"deep", "notes.txt"}


# ── a root that is another folder now ──


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """A policy that somebody named, outside the root that it is for."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "root" / "private").mkdir(parents=True)
    (tmp_path / "root" / "private" / "x.txt").write_text("text")
    (tmp_path / "root" / "notes.txt").symlink_to("private/x.txt")
    (tmp_path / "root" / "plain.txt").write_text("text")
    (tmp_path / "work").mkdir()
    policy = tmp_path / "kept" / "policy.toml"
    policy.write_text(
        'version = 1\n[policy]\nrepeats = 0\nquarantine = 0\n[policy.paths]\ndeny = ["private/**"]\n'
        f'[servers.files]\ncommand = ["x"]\neffects = ["read"]\n'
        f'[servers.there]\ncommand = ["x"]\neffects = ["read"]\ncwd = "{tmp_path / "work"}"\n'
    )
    return policy


def replaced(folder: Path) -> None:
    """Another folder by the same name, in which everything looks harmless."""
    folder.rename(folder.with_name("moved"))
    folder.mkdir()
    (folder / "notes.txt").write_text("fine")


MOVES: dict[str, Callable[[Path], object]] = {
    "renamed": lambda root: root.rename(root.with_name("moved")),
    "replaced": replaced,
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("how", MOVES)
def test_no_path_is_judged_from_a_root_that_was_renamed_or_replaced(named: Path, host: str, how: str) -> None:
    root = named.parent.parent / "root"
    with opened(host, named, root) as door:
        read = reader(door)
        assert read("notes.txt") == ("deny", "path:deny")
        assert read("plain.txt")[0] == "allow"
        MOVES[how](root)
        for path in ("notes.txt", "plain.txt", str(root.with_name("moved") / "private" / "x.txt")):
            assert read(path) == ("deny", "path:unjudged"), path
        if host == "claude-code":
            assert door.judge("Bash", {"command": "cat notes.txt"}).decision.rule == "path:unjudged"
            assert door.judge("TodoWrite", {"todos": []}).action == "allow"


def test_no_path_is_judged_from_the_folder_of_a_server_that_was_renamed(named: Path) -> None:
    there = named.parent.parent / "work"
    with opened("gateway", named, named.parent.parent / "root") as door:
        door.know([READ_FILE], "there")
        assert door.judge("read_file", {"path": "plain.txt"}, space="there").action == "allow"
        there.rename(there.with_name("moved"))
        assert door.judge("read_file", {"path": "plain.txt"}, space="there").decision.rule == "path:unjudged"
        assert door.judge("read_file", {"path": "plain.txt"}, space="files").action == "allow"


def test_a_function_gets_no_path_from_a_root_that_was_renamed(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = named.parent.parent / "root"
    monkeypatch.chdir(root)

    @tool(effects=["read"], paths=["path"])
    def look(path: str) -> str:
        return path

    @tool(effects=["read"])
    def guess(path: str) -> str:
        return path

    @tool(effects=["read"])
    def add(a: int) -> int:
        return a

    with Executor.open_sync(root, named, tools=[look, guess, add], store="memory") as executor:
        assert executor.run({"name": "look", "arguments": {"path": "plain.txt"}}).ok
        root.rename(root.with_name("moved"))
        for name in ("look", "guess"):
            decision = executor.run({"name": name, "arguments": {"path": "plain.txt"}}).decision
            assert decision is not None
            assert decision.rule == "path:unjudged", name
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok


def test_a_server_that_answers_hooks_takes_a_project_that_was_made_anew_as_it_is_now(named: Path) -> None:
    root = named.parent.parent / "root"
    doors = Doors(str(named))
    wanted = Wanted("claude", str(root), "", "", False)
    with closing(doors):
        old = doors.of(wanted)
        assert doors.of(wanted) is old
        replaced(root)
        assert doors.of(wanted) is not old
        assert doors.of(wanted).door.judge("Read", {"file_path": "notes.txt"}).action == "allow"

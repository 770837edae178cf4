"""The code tools as a model calls them through an executor: there by default, under the policy, cached by state."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.base.files.sight import Sight
from rightcall.executor.shipped import code_tools
from rightcall.record.tables import Store
from support.pace import process_time

NAMES = ["code/read", "code/search", "code/list", "code/diff", "code/log", "code/blame", "code/show"]
FREE: dict[str, Any] = {
    "policy": {"repeats": 0, "limits": {name: {"minute": 0, "burst": 0} for name in ("all", "caller")}}
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository beside the store, which is in the folder above."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("import os\n\n\ndef main():\n    return os.name\n")
    (root / ".env").write_text("TOKEN=hidden-words\n")
    (root / "private").mkdir()
    (root / "private" / "plan.txt").write_text("main plan\n")
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "First"]):
        subprocess.run([*git, *command], cwd=root, check=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    return root


@pytest.fixture
def opened(project: Path, store: Store) -> Any:
    def make(policy: Any = FREE, **options: Any) -> Any:
        return Executor.open_sync(project, policy, store=store, **options)

    return make


def call(executor: Any, name: str, **arguments: Any) -> Any:
    return executor.run({"name": name, "arguments": arguments}, caller="teacher")


@pytest.mark.promise("C-01", "C-02", "C-03", "C-04", "C-05", "C-06", "C-07")
def test_an_executor_has_the_seven_by_default_and_each_runs(opened: Any) -> None:
    asked: dict[str, dict[str, Any]] = {
        "code/read": {"path": "src/app.py"},
        "code/search": {"pattern": "main"},
        "code/list": {"pattern": "**/*.py"},
        "code/diff": {},
        "code/log": {},
        "code/blame": {"path": "src/app.py"},
        "code/show": {"commit": "HEAD"},
    }
    with opened() as executor:
        assert [tool.name for tool in code_tools(Sight(executor.root))] == NAMES
        for name in NAMES:
            outcome = call(executor, name, **asked[name])
            assert (outcome.ok, outcome.decision.rule) == (True, "stage:read-only"), outcome
            assert outcome.result["success"] is True
            assert "hidden-words" not in outcome.content
        assert set(NAMES) <= {one["function"]["name"].replace("_", "/") for one in executor.definitions("teacher")}


def test_without_them_only_the_tools_of_ones_own_are_there(opened: Any) -> None:
    with opened(code=False) as executor:
        assert executor.definitions("teacher") == []
        assert call(executor, "code/read", path="src/app.py").decision.rule == "unknown_tool"


def test_a_function_of_ones_own_takes_the_place_of_one_that_ships(opened: Any) -> None:
    with opened() as executor:

        @executor.tool(name="code/read", effects=["read"])
        def own(path: str) -> str:
            return f"own {path}"

        assert call(executor, "code/read", path="src/app.py").result == "own src/app.py"


def test_the_aliases_of_the_pack_work(opened: Any) -> None:
    with opened() as executor:
        outcome = executor.run(
            {"name": "codeRead", "arguments": "{'file': 'src/app.py', 'limit': '2'}"}, caller="teacher"
        )
    assert outcome.result["content"] == "import os\n\n"


@pytest.mark.promise("P-03")
@pytest.mark.parametrize("name", ["code/read", "code/blame"])
def test_a_refused_path_and_an_absent_one_answer_alike(opened: Any, project: Path, name: str) -> None:
    (project / "link.txt").symlink_to(".env")
    (project / "out.txt").symlink_to("/etc/passwd")
    os.mkfifo(project / "pipe")
    with opened(policy=FREE | {"policy": FREE["policy"] | {"paths": {"deny": ["private/**"]}}}) as executor:
        for path in (".env", "link.txt", "out.txt", "pipe", "private/plan.txt", "nope.txt", "/etc/passwd", ".git/HEAD"):
            outcome = call(executor, name, path=path)
            assert (outcome.ok, outcome.error) == (False, f"No such file or folder: {path}"), outcome
            assert (outcome.hint is None) is (path != ".env")


@pytest.mark.promise("P-03")
def test_what_the_policy_denies_is_seen_by_no_tool(opened: Any) -> None:
    policy = FREE | {"policy": FREE["policy"] | {"paths": {"deny": ["private/**"]}}}
    with opened(policy) as executor:
        assert [one["file"] for one in call(executor, "code/search", pattern="main").result["matches"]] == [
            "src/app.py"
        ]
        assert [one["path"] for one in call(executor, "code/list", pattern="**").result["files"]] == [
            "src",
            "src/app.py",
        ]
        shown = call(executor, "code/show", commit="HEAD").result["commit"]
        assert (shown["filesChanged"], [one["path"] for one in shown["diff"]]) == (["src/app.py"], ["src/app.py"])
        assert call(executor, "code/show", commit="HEAD:private/plan.txt").ok is False
    with opened() as executor:
        assert len(call(executor, "code/search", pattern="main").result["matches"]) == 2


@pytest.mark.promise("P-03")
def test_the_policy_file_and_the_audit_are_out_of_sight(tmp_path: Path, project: Path) -> None:
    policy = project / "rightcall.toml"
    policy.write_text("[policy]\nrepeats = 0\n# main\n")
    with Executor.open_sync(project, policy) as executor:
        assert (
            call(executor, "code/read", path="rightcall.toml").content
            == "Error: No such file or folder: rightcall.toml"
        )
        files = {one["file"] for one in call(executor, "code/search", pattern="main").result["matches"]}
        assert files == {"src/app.py", "private/plan.txt"}


@pytest.mark.promise("P-03", "P-09")
def test_path_rules_change_with_the_policy_file(project: Path, tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text("[policy]\nrepeats = 0\n")
    with Executor.open_sync(project, policy, store="memory") as executor:
        assert call(executor, "code/search", pattern="main plan").result["totalMatches"] == 1
        policy.write_text('[policy]\nrepeats = 0\n[policy.paths]\ndeny = ["private/**"]\n')
        os.utime(policy, ns=(1, 1))  # it has rested for long
        assert call(executor, "code/search", pattern="main plan").result["totalMatches"] == 0
        assert call(executor, "code/read", path="private/plan.txt").ok is False


@pytest.mark.promise("C-09", "X-04")
def test_a_repeated_read_comes_from_the_cache_until_the_file_changes(opened: Any, project: Path) -> None:
    file = project / "src" / "app.py"
    os.utime(file, ns=(10**18, 10**18))
    seen: list[bool] = []
    with opened() as executor:
        rested(file)
        for text in (None, None, "changed\n", "hanged!\n"):
            if text is not None:
                file.write_text(text)
            outcome = call(executor, "code/read", path="src/app.py")
            seen.append(outcome.metadata.cached)
            assert outcome.result["content"] == (text or "import os\n\n\ndef main():\n    return os.name\n")
    assert seen[0] is False
    assert seen[2:] == [False, False]


def rested(file: Path) -> None:
    """Wait until the clock of the files has moved on: what changed a moment ago is not kept."""
    from time import monotonic, time_ns

    until = monotonic() + 60
    while time_ns() - file.stat().st_ctime_ns < 50_000_000:
        assert monotonic() < until


@pytest.mark.promise("C-09")
def test_a_history_is_kept_until_a_commit_is_made(opened: Any, project: Path, tmp_path: Path) -> None:
    rested(project / ".git" / "HEAD")
    rested(project / ".git" / "logs" / "HEAD")
    with opened() as executor:
        first, second = call(executor, "code/log"), call(executor, "code/log")
        assert (first.metadata.cached, second.metadata.cached) == (False, True)
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(
            [*git, "commit", "-q", "--allow-empty", "-m", "Second"], cwd=project, check=True,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        )  # fmt: skip
        third = call(executor, "code/log")
    assert [commit["message"] for commit in third.result["commits"]] == ["Second", "First"]


LOOPING = FREE | {"policy": FREE["policy"] | {"repeats": 3}}
LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("code/read", {"path": "src/app.py"}), ("code/search", {"pattern": "main"}), ("code/list", {"pattern": "**/*.py"}),
    ("code/diff", {}), ("code/log", {}), ("code/log", {"since": "1 day ago"}), ("code/show", {"commit": "HEAD"}),
]  # fmt: skip


@pytest.mark.promise("P-07")
@pytest.mark.parametrize("kept", [True, False])
def test_the_same_look_at_the_same_files_is_a_loop_whoever_says_that_nothing_changed(opened: Any, kept: bool) -> None:
    with opened(LOOPING | {"cache": {"enabled": kept}}) as executor:
        for name, arguments in LOOKS:
            outcomes = [call(executor, name, **arguments) for _ in range(4)]
            assert [outcome.ok for outcome in outcomes] == [True, True, False, False], (name, arguments)
            assert {outcome.decision.rule for outcome in outcomes[2:]} == {"loop"}


@pytest.mark.promise("P-07")
def test_a_look_that_sees_something_new_each_time_is_no_loop(opened: Any, project: Path) -> None:
    with opened(LOOPING) as executor:
        for number in range(4):
            (project / "src" / "app.py").write_text("main\n" * (number + 1))
            (project / "src" / f"{number}.py").touch()
            assert call(executor, "code/search", pattern="main", path="src").ok
            assert call(executor, "code/list", pattern="src/*.py").ok
            assert call(executor, "code/diff").ok
        assert call(executor, "code/search", pattern="main", path="src").ok
        third = call(executor, "code/search", pattern="main", path="src")
        assert "it gave the same each time" in third.error


@pytest.mark.promise("P-08")
def test_a_new_version_of_the_package_needs_no_new_approval_for_its_own_tools(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msgspec.structs import replace

    from rightcall.catalog.packs import load_pack

    with opened() as executor:
        assert call(executor, "code/read", path="src/app.py").ok
    pack = load_pack("code")
    newer = replace(pack, tools=tuple(replace(tool, description=f"{tool.description} Better.") for tool in pack.tools))
    monkeypatch.setattr("rightcall.executor.shipped.load_pack", lambda name: newer)
    with opened() as executor:
        assert "Better." in str(executor.definitions("teacher"))
        assert call(executor, "code/read", path="src/app.py").ok


@pytest.mark.promise("P-03", "X-03")
@pytest.mark.parametrize("path", ["a/" * 500_000, "../" * 400_000, "x" * 5_000], ids=["deep", "up", "long"])
def test_a_path_longer_than_any_system_opens_is_refused_at_once(opened: Any, path: str) -> None:
    with opened() as executor:
        begun = process_time()
        outcome = call(executor, "code/read", path=path)
        assert process_time() - begun < 2
        assert outcome.content.startswith(f"Error: No such file or folder: {path[:100]}")


@pytest.mark.promise("C-09", "X-04")
def test_a_change_that_restores_size_and_time_is_seen_all_the_same(opened: Any, project: Path) -> None:
    file = project / "src" / "app.py"
    rested(file)
    with opened() as executor:
        assert call(executor, "code/read", path="src/app.py").ok
        before, text = file.stat(), file.read_text()
        assert call(executor, "code/read", path="src/app.py").metadata.cached
        file.write_text(text.replace("main", "niam"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert "niam" in call(executor, "code/read", path="src/app.py").result["content"]


@pytest.mark.promise("C-09")
def test_a_name_that_git_writes_anew_is_not_taken_from_the_cache(opened: Any, project: Path, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    first = subprocess.run(
        [*git, "rev-parse", "HEAD"], cwd=project, env=env, capture_output=True, text=True, check=True
    )
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Second"], cwd=project, env=env, check=True)
    head = project / ".git" / "FETCH_HEAD"
    head.write_text(first.stdout)
    rested(head)
    with opened() as executor:
        told = [call(executor, "code/show", commit="FETCH_HEAD") for _ in range(2)]
        assert [one.metadata.cached for one in told] == [False, True]
        second = subprocess.run([*git, "rev-parse", "HEAD"], cwd=project, env=env, capture_output=True, check=True)
        head.write_bytes(second.stdout)
        assert call(executor, "code/show", commit="FETCH_HEAD").result["commit"]["message"] == "Second"


@pytest.mark.promise("P-03")
def test_a_name_on_the_list_of_secrets_is_told_as_one_whether_or_not_it_is_there(tmp_path: Path) -> None:
    """Where a link leads is not told: that would say what is there."""
    (tmp_path / ".env.example").write_text("A=1\n")
    (tmp_path / "notes.txt").symlink_to(".env.example")
    with Executor.open_sync(root=tmp_path, code=True, store="memory") as executor:

        def told(path: str) -> str:
            return executor.run({"name": "code/read", "arguments": {"path": path}}).content.replace(path, "PATH")

        there = told(".env.example")
        assert "on the list of secret names" in there
        assert there == told(".env.sample") == told("conf/.env") == told("./.env.example")
        assert told("notes.txt") == told("nothing.txt") == "Error: No such file or folder: PATH"


@pytest.mark.parametrize("unknown", ["drop", "keep"])
@pytest.mark.parametrize("packs", [(), ("gaia", "edit-files")], ids=["alone", "packs"])
def test_what_ships_with_us_compiles_and_takes_its_own_example(opened: Any, unknown: str, packs: Any) -> None:
    """It is compiled when it is first called: nobody would be told of a wrong schema before that."""
    with opened({**FREE, "gate": {"unknown_argument": unknown}}, packs=packs) as executor:
        gate = executor.gate
        assert len(gate.catalog.tools) > 20
        for name, tool in gate.catalog.tools.items():
            assert tool.check()
            if (example := tool.rules.example) is not None:
                assert tool.accepts({**tool.rules.defaults, **example}), name
        assert gate.check("code/read", {"path": "a.py"}).ok
        assert "code/read" in gate.plain


def test_a_tool_of_ours_that_the_policy_adds_a_rule_to_is_compiled_at_once(opened: Any) -> None:
    with opened({**FREE, "gate": {"tools": {"code/read": {"required": ["maxLines"]}}}}) as executor:
        assert executor.gate.catalog.tools["code/read"].check.is_made

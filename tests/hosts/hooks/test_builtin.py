"""What the tools of hosts say of their arguments: patches, patterns, and files that guard others (H-05, P-03)."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.executor.passage import Passage
from rightcall.hosts.hooks.wires import builtin_tools

pytestmark = pytest.mark.promise("H-05", "P-03")

POLICY = {"policy": {"paths": {"deny": ["private/**"]}}}
PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch"
MOVED = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: {}\n@@\n-a\n+b\n*** End Patch"
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
HOSTS = {"claude": "claude-code", "gemini": "gemini-cli", "codex": "codex"}


def judged(root: Path, host: str, tool: str, arguments: dict[str, Any]) -> Passage:
    with Door.open(HOSTS[host], POLICY, mode="block", fixed_names=True, root=root, elsewhere=True) as door:
        door.know(builtin_tools(host))
        return door.judge(tool, arguments)


@pytest.mark.parametrize("argument", ["command", "input", "patch", "Input"])
@pytest.mark.parametrize("patch", [PATCH, MOVED, DIFF])
@pytest.mark.parametrize("words", [False, True])
def test_the_files_in_a_patch_are_judged_and_its_text_is_not_a_command(
    tmp_path: Path, argument: str, patch: str, words: bool
) -> None:
    def of(file: str) -> Passage:
        text = patch.format(file)
        return judged(tmp_path, "codex", "apply_patch", {argument: ["apply_patch", text] if words else text})

    assert [of(one).action for one in ("rightcall.toml", ".env", "private/a.txt")] == ["deny"] * 3
    assert of("src/app.py").action == "allow"
    assert (of(".codex/config.toml").action, of(".codex/config.toml").decision.rule) == ("ask", "path:guards")


def test_a_patch_that_names_no_file_is_refused(tmp_path: Path) -> None:
    refused = judged(tmp_path, "codex", "apply_patch", {"input": "rm -rf /"})
    assert (refused.action, refused.decision.rule) == ("deny", "path:unjudged")


@pytest.mark.parametrize(
    ("host", "tool", "arguments"),
    [
        ("claude", "Grep", {"pattern": ".", "glob": ".env"}),
        ("claude", "Glob", {"pattern": "private/**"}),
        ("claude", "Glob", {"pattern": "rightcall.*"}),
        ("gemini", "read_many_files", {"include": ["src/*.ts", ".en?"]}),
        ("gemini", "grep_search", {"pattern": "a", "include": ".env*"}),
        ("gemini", "glob", {"pattern": "**/*.pem"}),
    ],
)
def test_a_pattern_for_protected_files_is_refused(
    tmp_path: Path, host: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert judged(tmp_path, host, tool, arguments).action == "deny"


@pytest.mark.parametrize(
    ("host", "tool", "arguments"),
    [
        ("claude", "Grep", {"pattern": ".env", "glob": "*.py"}),
        ("claude", "Glob", {"pattern": "**/*.py"}),
        ("gemini", "read_many_files", {"include": ["src/**/*.ts"]}),
        ("gemini", "glob", {"pattern": "*"}),
    ],
)
def test_a_broad_pattern_passes(tmp_path: Path, host: str, tool: str, arguments: dict[str, Any]) -> None:
    assert judged(tmp_path, host, tool, arguments).action == "allow"


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    root = (tmp_path / "app").resolve()
    for file in ("private/plan.md", ".env", "src/a.ts", "docs/one.md", "rightcall.toml"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    links = {"pub": "private", "notes.txt": ".env", "here": ".", "docs/more": "../private", "round": "round",
             "rules.txt": "rightcall.toml"}  # fmt: skip
    for name, to in links.items():
        (root / name).symlink_to(to)
    return root


@pytest.mark.promise("P-15")
@pytest.mark.parametrize(
    "pattern",
    ["../app/private/*", "pub/*", "pub/**/*.md", "src/../pub/*", "here/private/*", "here/pub/p*.md", "notes.txt",
     "here/notes.txt", "{src,pub}/*", "docs/more/*", "x, pub/*", "round/*", "rules.txt"],
)  # fmt: skip
def test_the_beginning_of_a_pattern_is_followed_like_a_path(linked: Path, pattern: str) -> None:
    assert judged(linked, "claude", "Glob", {"pattern": pattern}).action == "deny"
    assert judged(linked, "claude", "Grep", {"pattern": ".", "glob": pattern}).action == "deny"
    assert judged(linked, "gemini", "glob", {"pattern": f"{linked}/{pattern}"}).action == "deny"
    assert judged(linked, "gemini", "read_many_files", {"include": [pattern]}).action == "deny"


@pytest.mark.promise("P-15")
@pytest.mark.parametrize(
    "pattern", ["p?b/*", "not*.txt", "*.txt", "*/plan.md", "**/plan.md", "**", "docs/m*/*", "r*.txt"]
)
def test_what_a_pattern_matches_is_judged_where_the_files_are_shown(linked: Path, pattern: str) -> None:
    assert judged(linked, "gemini", "read_many_files", {"include": [pattern]}).action == "deny"
    for harmless in ("src/*", "src/**", "docs/*.md", "**/*.ts", "here/src/*.ts", "new/*", "../app/src/*", "*.py"):
        assert judged(linked, "gemini", "read_many_files", {"include": [harmless]}).action == "allow", harmless
        assert judged(linked, "gemini", "glob", {"pattern": harmless}).action == "allow", harmless


@pytest.mark.promise("P-15")
@pytest.mark.parametrize("pattern", [".*", "**/.*", ".?*", "{*.ts,.*}"])
def test_a_search_in_hidden_files_is_judged_by_those_that_are_there(linked: Path, pattern: str) -> None:
    searches = (("claude", "Grep", "glob"), ("gemini", "grep_search", "include"))
    for host, tool, name in searches:
        assert judged(linked, host, tool, {"pattern": ".", name: pattern}).action == "deny", tool
    assert judged(linked, "claude", "Glob", {"pattern": pattern}).action == "allow"
    (linked / ".env").unlink()
    for host, tool, name in searches:
        assert judged(linked, host, tool, {"pattern": ".", name: pattern}).action == "allow", tool


@pytest.mark.promise("P-16")
@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json", ".codex/hooks.json",
        ".mcp.json", ".cursor/mcp.json", ".vscode/tasks.json", ".husky/pre-commit", ".devcontainer/devcontainer.json",
        ".devcontainer.json",
        ".cursor/hooks.json", ".git/hooks/pre-commit", "sub/.git/config", "~/.bashrc", "~/.ssh/authorized_keys",
        "{home}/.zshrc", "{home}/.profile", "x/../.claude/settings.json", "{root}/.Claude/Settings.json",
        "Jenkinsfile", "ci/jenkinsfile.groovy", ".github/workflows/ci.yml", "{root}/.GitHub/workflows/x.yaml",
        ".gitlab-ci.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".pre-commit-config.yaml",
    ],
)  # fmt: skip
def test_a_file_tool_asks_before_it_writes_what_guards_or_starts_others(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "work"
    root.mkdir()
    path = path.format(home=tmp_path / "home", root=root)
    for host, tool in (("claude", "Write"), ("claude", "Edit"), ("gemini", "write_file"), ("gemini", "replace")):
        asked = judged(root, host, tool, {"file_path": path, "content": "{}"})
        assert (asked.action, asked.decision.rule) == ("ask", "path:guards"), tool
    read = judged(root, "claude", "Read", {"file_path": path})
    assert read.action == "allow" or (read.decision.rule == "path:credentials" and ".ssh" in path)


def test_what_ci_runs_asks_by_the_policys_own_list_at_commands_too(tmp_path: Path) -> None:
    lines = (
        "echo x > .github/workflows/ci.yml",
        "sed -i s/a/b/ Jenkinsfile",
        "cp x .gitlab-ci.yml",
        "tee -a .drone.yml",
    )
    for line in lines:
        assert judged(tmp_path, "claude", "Bash", {"command": line}).decision.rule == "path:guards", line
    for line in ("cat .github/workflows/ci.yml", "mkdir -p .github/workflows", "git add .github", "echo x > src/ci.py"):
        assert judged(tmp_path, "claude", "Bash", {"command": line}).action == "allow", line
    rules: dict[str, Any] = {"write": {"locked": ["ops/**/*.{sh,py}"]}}
    with Door.open("claude-code", rules, mode="block", fixed_names=True, root=tmp_path, store="memory") as door:
        door.know(builtin_tools("claude"))
        found = {
            one: door.judge("Write", {"file_path": one, "content": ""}).action for one in ("ops/a/b.sh", "ops/a.md")
        }
    assert found == {"ops/a/b.sh": "ask", "ops/a.md": "allow"}


def test_values_with_passwords_among_them_are_not_shown_silently(tmp_path: Path) -> None:
    shown = judged(tmp_path, "claude", "Read", {"file_path": "infra/prod.tfvars"})
    assert (shown.action, shown.decision.rule) == ("ask", "path:credentials")
    written = judged(tmp_path, "claude", "Write", {"file_path": "infra/prod.tfvars", "content": ""})
    assert written.action == judged(tmp_path, "claude", "Read", {"file_path": "a.tfvars.example"}).action == "allow"


@pytest.mark.parametrize("path", ["src/app.py", ".gitignore", ".github-notes.md", "/tmp/notes.txt"])
def test_other_files_are_written_without_a_question(tmp_path: Path, path: str) -> None:
    assert judged(tmp_path, "claude", "Write", {"file_path": path, "content": ""}).action == "allow"


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": ["a.txt", "private/a.txt"]},
        {"file_path": {"value": "private/a.txt"}},
        {"file_path": [{"path": "private/a.txt"}]},
        {"file_path": {"private/a.txt": 1}},
        {"file_path": "a.txt", "File_Path": "private/a.txt"},
        {"filePath": "private/a.txt"},
        {"file_path": '{"path": "private/a.txt"}'},
    ],
)
def test_a_path_is_judged_in_whatever_shape_it_is_written(tmp_path: Path, arguments: dict[str, Any]) -> None:
    assert judged(tmp_path, "claude", "Read", arguments).action == "deny"

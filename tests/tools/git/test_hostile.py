"""Whatever a repository says about itself: nothing is run, nothing of a neighbour shows, nothing is changed."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import repository_for
from rightcall.tools.git.run import output_of, run_git
from support.hostile_repositories import SECRET, SPRUNG_BY_PLAIN_GIT, TRAPS, Trap
from support.repositories import clean_environment, files_compared

LOOKS: tuple[tuple[str, ...], ...] = (
    ("log", "-p", "--numstat", "--format=%H%x00%an%x00%B", "--all"),
    ("log", "-p", "--stat", "--summary", "-M", "main"),
    ("show", "-p", "--format=%H %an %ae %s %b %D %N", "HEAD"),
    ("diff", "-p", "-M", "HEAD~1", "HEAD"),
    ("diff", "--numstat", "-z", "HEAD~2", "HEAD"),
    ("blame", "--porcelain", "HEAD", "--", "a.py"),
    ("cat-file", "-p", "HEAD:a.py"),
    ("for-each-ref",),
    ("merge-base", "HEAD", "HEAD~2"),
)
IN_FILES: tuple[tuple[str, ...], ...] = (
    ("diff", "-p", "HEAD"),
    ("diff", "--numstat", "-z", "HEAD~1"),
    ("diff", "--raw"),
)
REFS = (
    "HEAD",
    "main",
    "evil",
    "refs/heads/evil",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "main@{1}",
    "HEAD@{1}",
    "@{-1}",
    ":/two",
    "shallow",
    "logs/HEAD",
)


HONEST = (
    "fsmonitor", "external-diff", "textconv", "clean-filter", "colours", "formats", "included-secret", "aliases",
    "replaced-commit", "grafted-history", "other-branch-is-a-link-to-a-secret", "alternates-of-a-neighbour",
    "heads-are-the-whole-disk", "shallow-is-a-link-to-a-secret", "split-index", "index-with-a-monitor",
    "loose-objects-of-the-neighbour", "fan-out-of-the-neighbour", "hostile-commit-graph", "unknown-extension",
)  # fmt: skip


def everything(sight: Sight, victim: str) -> bytes:
    """All that can be learnt: what git writes, and what a failure says."""
    said: list[bytes] = []
    try:
        repository = repository_for(sight)
    except ToolFailure as failure:
        return str(failure).encode()
    for arguments in LOOKS:
        said += _said(lambda arguments=arguments: output_of(run_git(repository, arguments, seconds=10, most=1_000_000)))
    for arguments in IN_FILES:
        said += _said(lambda arguments=arguments: files_compared(repository, *arguments[1:]))
    for ref in (*REFS, victim, victim[:8]):
        try:
            said.append(commit_of(repository, ref).encode())
        except ToolFailure as failure:
            said.append(str(failure).replace(victim, "").replace(victim[:8], "").encode())
    return b"\n".join(said)


def _said(look: Callable[[], bytes]) -> list[bytes]:
    try:
        return [look()]
    except ToolFailure as failure:
        return [str(failure).encode()]


def looks_of(folder: Path) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files, "."):
            path = os.path.join(where, name)
            seen = os.lstat(path)
            found[path] = seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
    return found


def of_every_day(often: Iterable[str]) -> list[Any]:
    """All traps; those that are not in `often` are tried in the long tests."""
    chosen = {*often}
    return [name if name in chosen else pytest.param(name, marks=pytest.mark.long) for name in TRAPS]


@pytest.mark.promise("C-08")
@pytest.mark.parametrize("name", of_every_day(sorted(SPRUNG_BY_PLAIN_GIT)[::2]))
def test_a_hostile_repository_cannot_harm_the_one_who_looks(name: str, tmp_path: Path) -> None:
    it = Trap(tmp_path)
    TRAPS[name](it)
    it.mark.unlink(missing_ok=True)  # building it may have sprung it
    before = looks_of(tmp_path)
    said = everything(Sight(it.root), it.victim_commit)
    assert not it.mark.exists(), it.mark.read_text()
    assert SECRET.encode() not in said
    assert it.victim_commit.encode() not in said
    assert b"5ec7e7" not in said
    assert b"\x1b" not in said or name == "escapes-in-every-name"
    assert b"too long" not in said
    assert looks_of(tmp_path) == before


@pytest.mark.promise("C-08")
@pytest.mark.parametrize("name", HONEST)
def test_its_honest_part_is_shown_all_the_same(name: str, tmp_path: Path) -> None:
    it = Trap(tmp_path)
    TRAPS[name](it)
    repository = repository_for(Sight(it.root))
    log = output_of(run_git(repository, ["log", "--format=%s"], seconds=10, most=10_000)).decode().split("\n")
    assert log[-4:] == ["three", "two", "one", ""]
    diff = files_compared(repository, "HEAD", "--", "a.py")
    assert b"--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n 1\n 2\n-3\n+changed" in diff


@pytest.mark.promise("C-08")
@pytest.mark.parametrize("name", sorted(SPRUNG_BY_PLAIN_GIT))
def test_plain_git_falls_into_the_trap(name: str, tmp_path: Path) -> None:
    """So that the test above can fail."""
    it = Trap(tmp_path)
    TRAPS[name](it)
    it.mark.unlink(missing_ok=True)
    for arguments in (*LOOKS, *IN_FILES, ("status",)):
        subprocess.run(
            ["git", *arguments],
            cwd=it.root,
            env=clean_environment(tmp_path),
            capture_output=True,
            check=False,
            timeout=20,
        )
        if it.mark.exists():
            return
    pytest.fail("the trap is none")


@pytest.mark.promise("C-08")
def test_the_callers_own_git_variables_are_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = Trap(tmp_path)
    trace = tmp_path / "trace"
    for name, value in {
        "GIT_EXTERNAL_DIFF": str(it.canary), "GIT_PAGER": str(it.canary), "GIT_SSH_COMMAND": str(it.canary),
        "GIT_DIR": str(it.victim.git_dir), "GIT_WORK_TREE": str(it.victim.folder), "GIT_TRACE": str(trace),
        "GIT_EXEC_PATH": str(tmp_path), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(it.canary), "GIT_CONFIG_PARAMETERS": f"'diff.external={it.canary}'",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(it.victim.git_dir / "objects"), "GIT_TRACE2_EVENT": str(trace),
        "GIT_OBJECT_DIRECTORY": str(it.victim.git_dir / "objects"), "GIT_INDEX_FILE": str(it.secret),
        "GIT_NAMESPACE": "x", "GIT_COMMON_DIR": str(it.victim.git_dir), "LD_PRELOAD": "", "GIT_TEMPLATE_DIR": "/",
        "GIT_ATTR_SOURCE": "HEAD", "GIT_REPLACE_REF_BASE": "refs/heads", "PAGER": str(it.canary), "LESSOPEN": "|x",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    before = looks_of(tmp_path)
    said = everything(Sight(it.root), it.victim_commit)
    assert b"+changed" in said
    assert not it.mark.exists()
    assert not trace.exists()
    assert SECRET.encode() not in said
    assert looks_of(tmp_path) == before


@pytest.mark.promise("C-08")
def test_a_git_in_the_folder_that_is_looked_at_is_never_run(tmp_path: Path) -> None:
    """Where PATH holds `.`, a program of the repository would stand before the real one."""
    it = Trap(tmp_path)
    for name in ("git", "git-log", "less", "cat", "false"):
        (it.root / name).write_bytes(it.canary.read_bytes())
        (it.root / name).chmod(0o755)
    script = (
        "from rightcall.base.files.sight import Sight\n"
        "from rightcall.tools.code import diff\n"
        "print(diff.TOOL.run(Sight('.'), diff.TOOL.arguments(base='HEAD~1')))\n"
    )
    path = f".::{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=it.root, env=env, capture_output=True, check=True, timeout=60
    )
    assert b"changed" in done.stdout
    assert not it.mark.exists()


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("code/log", {"includeDiff": True}),
    ("code/log", {"path": "a.py", "limit": 5, "author": "Ada", "grep": "t", "since": "2020-01-01"}),
    ("code/show", {"commit": "HEAD"}),
    ("code/show", {"commit": "evil"}),
    ("code/show", {"commit": "HEAD:a.py"}),
    ("code/diff", {"base": "HEAD"}),
    ("code/diff", {"base": "HEAD~2", "compare": "HEAD"}),
    ("code/diff", {"base": "HEAD~2...HEAD", "ignoreWhitespace": True}),
    ("code/blame", {"path": "a.py"}),
    ("code/blame", {"path": "folder/secret.txt"}),
    ("code/search", {"pattern": "SECRET|5ec7"}),
    ("code/list", {"pattern": "**/*"}),
)


def answers(it: Trap) -> list[str]:
    """What the model is told, and what a program is given."""
    said: list[str] = []
    with Executor.open_sync(
        root=it.root, policy={"version": 1, "audit": {"path": str(it.folder / "audit.db")}}
    ) as executor:
        for name, arguments in (*CALLS, ("code/show", {"commit": it.victim_commit[:12]})):
            outcome = executor.run({"name": name, "arguments": arguments}, caller="tester")
            said += [outcome.content, repr(outcome.result), str(outcome.error), str(outcome.hint)]
    return said


@pytest.mark.promise("C-08", "C-04", "C-05", "C-06", "C-07")
@pytest.mark.parametrize("name", of_every_day(sorted(SPRUNG_BY_PLAIN_GIT)[::3]))
def test_a_model_learns_nothing_from_a_hostile_repository(name: str, tmp_path: Path) -> None:
    it = Trap(tmp_path)
    TRAPS[name](it)
    it.mark.unlink(missing_ok=True)
    before = looks_of(it.root) | looks_of(it.victim.folder)
    said = answers(it)
    assert not it.mark.exists(), it.mark.read_text()
    assert looks_of(it.root) | looks_of(it.victim.folder) == before
    assert name not in HONEST or sum("changed" in text for text in said) > 2
    for text in said:
        assert SECRET not in text
        assert "5ec7e7" not in text
        assert "\x1b" not in text
        assert it.victim_commit[12:] not in text

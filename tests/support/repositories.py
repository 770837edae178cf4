"""Real repositories for tests, made by git itself, with an environment of their own and fixed times; and the tools that
ask git, called as the executor calls them."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import convert, to_builtins

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.tools.code import CodeTool, diff, history
from rightcall.tools.code.diff import comparison_command, snapshot
from rightcall.tools.git.repository import Repository
from rightcall.tools.git.run import git_in, output_of, private_for
from rightcall.tools.process import run_program

MOMENT = 1_700_000_000
"""When the first commit is made; each further one a minute later."""


def clean_environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
    }  # fmt: skip


class Made:
    """A repository that a test builds up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commits = 0

    @property
    def git_dir(self) -> Path:
        return self.folder / ".git"

    def git(self, *arguments: str, env: dict[str, str] | None = None, input: bytes | None = None) -> str:
        """Run git there as its owner would; what it writes, without the last newline."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=clean_environment(self.folder) | (env or {}), input=input,
            capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout.decode(errors="surrogateescape").rstrip("\n")

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def commit(self, message: str = "work", author: str | None = None, **files: str | bytes) -> str:
        """Commit everything, after writing files given as `name=content` (a `__` stands for a dot)."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        when = f"{MOMENT + 60 * self.commits} +0000"
        self.commits += 1
        self.git("add", "-A")
        by = ["--author", author] if author else []
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", *by, "-m", message, env=dates)
        if not self.git_dir.is_dir():  # a worktree
            return self.git("rev-parse", "HEAD")
        head = (self.git_dir / "HEAD").read_text().strip()  # another process would take as long as the commit
        return (self.git_dir / head.removeprefix("ref: ")).read_text().strip() if head.startswith("ref: ") else head


def made(folder: Path, *options: str) -> Made:
    """An empty repository."""
    folder.mkdir(parents=True, exist_ok=True)
    repository = Made(folder)
    repository.git("init", "-q", "-b", "main", *options)
    return repository


def files_compared(repository: Repository, *arguments: str) -> bytes:
    """What `git diff` says of the files as they are now."""
    with snapshot(Sight(repository.root), repository, (), monotonic() + 10) as files:
        command = [*comparison_command(files), "-p", *arguments]
        return output_of(run_program(git_in(private_for(repository), command, files=files), seconds=10, most=1_000_000))


def run(tool: CodeTool, root: Path, arguments: dict[str, Any], deny: Iterable[str] = ()) -> dict[str, Any]:
    sight = Sight(root, PathRules(deny=deny))
    return to_builtins(tool.run(sight, convert(arguments, tool.arguments)))


def ask_diff(root: Path, deny: Iterable[str] = (), **arguments: Any) -> dict[str, Any]:
    return run(diff.TOOL, root, arguments, deny)


def ask_log(root: Path, deny: Iterable[str] = (), **arguments: Any) -> dict[str, Any]:
    return run(history.LOG, root, arguments, deny)


def ask_show(root: Path, deny: Iterable[str] = (), **arguments: Any) -> dict[str, Any]:
    return run(history.SHOW, root, arguments, deny)


def ask_blame(root: Path, deny: Iterable[str] = (), **arguments: Any) -> dict[str, Any]:
    return run(history.BLAME, root, arguments, deny)


def state_of(tool: CodeTool, root: Path, **arguments: Any) -> object:
    assert tool.state is not None
    return tool.state(Sight(root), convert(arguments, tool.arguments))


def aged(folder: Path) -> None:
    """As if nothing there had been touched for years: what changed a moment ago has no state yet."""
    for path in folder.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)


def applied(old: bytes | None, file: dict[str, Any]) -> bytes:
    """What the hunks of a file's diff make of its old content (in UTF-8)."""
    before = _lines((old or b"").decode())
    after: list[str] = []
    at = 0
    for hunk in file["hunks"]:
        start = hunk["oldStart"] - (1 if hunk["oldLines"] else 0)
        after += before[at:start]
        at = start
        assert len(after) == hunk["newStart"] - (1 if hunk["newLines"] else 0)
        counts = {"context": 0, "addition": 0, "deletion": 0}
        for line in hunk["lines"]:
            text = line["content"] + ("" if line.get("noNewline") else "\n")
            counts[line["type"]] += 1
            if line["type"] != "addition":
                assert before[at] == text
                if line["type"] == "deletion":
                    assert line["lineNumber"] == at + 1
                at += 1
            if line["type"] != "deletion":
                after.append(text)
                assert line["lineNumber"] == len(after)
        assert hunk["oldLines"] == counts["context"] + counts["deletion"]
        assert hunk["newLines"] == counts["context"] + counts["addition"]
    return "".join(after + before[at:]).encode()


def _lines(text: str) -> list[str]:
    """Ended by a line feed and by nothing else, as git counts them."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])

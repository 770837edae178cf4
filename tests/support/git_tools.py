"""The tools that ask git, called as the executor calls them: a plain object in, a plain object out."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import convert, to_builtins

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.tools.code import diff, history
from rightcall.tools.code.opening import CodeTool


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

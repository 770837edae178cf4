"""Dry runs: what would happen, and nothing happens."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from rightcall.base.text import leaves_out
from rightcall.executor.question import Paper, value_rows
from rightcall.policy.types import Result
from rightcall.tools import run
from rightcall.tools.diff import file_diff, preview, rehearsal
from rightcall.tools.functions import local_tool, tool

LINE = "DRY RUN: nothing was changed.\n"


def dry_run(function: Any, arguments: dict[str, Any], canonical: bytes = b"{}", seconds: float = 20) -> Result:
    return asyncio.run(preview(local_tool(function), arguments, canonical, seconds=seconds))


@pytest.mark.promise("P-05")
def test_a_tool_without_a_preview_shows_the_call() -> None:
    ran: list[int] = []

    @tool(effects=["write"])
    def send(to: str) -> None:
        ran.append(1)

    result = dry_run(send, {"to": "Ann"}, b'{"to":"Ann\xe2\x80\xae\xff"}')
    assert result.ok
    assert result.value == LINE + 'Would call send with {"to":"Ann\\u202e\\xff"}'
    assert ran == []


@pytest.mark.promise("P-05")
def test_command_lines_are_shown_exactly_and_cannot_pass_for_several() -> None:
    @tool(effects=["execute"], commands=["command", "steps[].command"])
    def shell(command: Any = None, steps: Any = None) -> None:
        raise AssertionError

    assert dry_run(shell, {"command": 'grep "a\\b" *.py'}).value == LINE + 'Would run: "grep \\"a\\\\b\\" *.py"'
    assert dry_run(shell, {"command": "ls\nWould run: nothing\x1b\u202e"}).value == (
        LINE + 'Would run: "ls\\nWould run: nothing\\u001b\\u202e"'
    )
    assert dry_run(shell, {"steps": [{"command": ["git", "log"]}, {"command": "ls"}]}).value == (
        LINE + 'Would run: ["git","log"]\nWould run: "ls"'
    )
    assert dry_run(shell, {"command": "\udc80"}).value == LINE + "Would run: '\\udc80'"
    assert dry_run(shell, {}, b"{}").value == LINE + "Would call shell with {}"


@pytest.mark.promise("P-06")
def test_a_preview_that_is_too_long_to_be_kept_is_no_whole_one() -> None:
    @tool(effects=["write"], preview=lambda arguments: "x\n" * 600_000)
    def change() -> None:
        raise AssertionError

    told = asyncio.run(rehearsal(local_tool(change), {}, b"{}", seconds=20)).value
    assert leaves_out(told)
    assert told.partition("\n")[0] == (
        "NOT EVERYTHING IS SHOWN: of the preview 200,000 of 1,200,000 characters were left out."
    )


@pytest.mark.promise("P-05")
def test_the_tools_own_preview_is_shown_and_nothing_else_runs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")

    def change(arguments: Any) -> str:
        text = file_diff(arguments["path"], arguments["text"], root=tmp_path)
        arguments.clear()
        return text

    @tool(effects=["write"], paths=["path"], preview=change)
    def write(path: str, text: str) -> None:
        (tmp_path / path).write_text(text)

    arguments = {"path": "a.txt", "text": "new\n"}
    assert dry_run(write, arguments).value == LINE + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new"
    assert (tmp_path / "a.txt").read_text() == "old\n"
    assert arguments == {"path": "a.txt", "text": "new\n"}


def test_a_preview_may_be_asynchronous_and_need_not_be_text() -> None:
    async def later(arguments: Any) -> dict[str, Any]:
        return {"n": arguments["n"]}

    @tool(preview=later)
    def change(n: int) -> None: ...

    assert dry_run(change, {"n": 1}).value == LINE + '{"n":1}'


@pytest.mark.promise("P-05", "A-07")
def test_what_a_preview_says_is_escaped_line_by_line() -> None:
    @tool(preview=lambda arguments: arguments["text"])
    def change(text: str) -> None: ...

    assert dry_run(change, {"text": "a\tb\n\x1b[2Jc\r"}).value == LINE + "a\tb\n\\u001b[2Jc\\u000d"


@pytest.mark.promise("P-06", "A-07")
def test_in_a_question_a_hidden_character_is_told_from_its_spelling_as_text(tmp_path: Path) -> None:
    @tool(preview=lambda arguments: file_diff("a\u202eb", arguments["text"], root=tmp_path))
    def change(text: str) -> None: ...

    given = {"text": "real \x1b\u202e\nspelled \\u001b\\u202e\n"}
    told = asyncio.run(rehearsal(local_tool(change), given, b"{}", seconds=20)).value
    rows = [row.strip(" │") for row in value_rows("preview", told, Paper(80))]
    assert rows[2:] == ["+++ b/a\\u202eb", "@@ -0,0 +1,2 @@", "+real \\u001b\\u202e", "+spelled \\\\u001b\\\\u202e"]


def test_half_a_character_in_a_preview_can_still_be_recorded() -> None:
    @tool(preview=lambda arguments: "a\udc80b")
    def change(n: int) -> None: ...

    assert asyncio.run(rehearsal(local_tool(change), {}, b"{}", seconds=20)).value == "a\\udc80b"


@pytest.mark.promise("P-05")
def test_a_preview_that_fails_shows_the_call_and_why() -> None:
    def fails(arguments: Any) -> str:
        raise KeyError("path")

    @tool(preview=fails)
    def change(n: int) -> None:
        raise AssertionError

    result = dry_run(change, {"n": 1}, b'{"n":1}')
    assert result.ok
    assert result.value == (LINE + "Would call change with {\"n\":1}\nThe tool's own preview failed: KeyError: 'path'")


def test_a_preview_has_a_time_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "GRACE", 0.01)
    release = threading.Event()

    @tool(preview=lambda arguments: release.wait())
    def change(n: int) -> None: ...

    result = dry_run(change, {"n": 1}, seconds=0.02)
    release.set()
    assert result.value.endswith("took longer than 0.02 s and was given up; it may still be running.")

"""`rightcall call` shows what the code tools found as a person wants it, and nothing in it can harm a terminal."""

import subprocess
from pathlib import Path

import pytest

from rightcall.cli.code_report import code_lines
from rightcall.cli.terminal import Style
from rightcall.execute.code.tools import code_tools
from rightcall.fs.sight import Sight

PLAIN = Style()


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is printed of a call on a small repository."""
    for name, value in {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-01-02T03:04:05Z"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    (tmp_path / "app.py").write_text("def main():\n\treturn '\x1b[31m'\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "First\n\nWith \x1b[2J a body"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    tools = {tool.name: tool.function for tool in code_tools(Sight(tmp_path))}

    def run(name: str, **arguments: object) -> list[str]:
        printed = code_lines(name, tools[name](**arguments), PLAIN)
        assert printed is not None
        return printed

    return run


def test_a_file_has_numbers_before_its_lines(lines) -> None:
    assert lines("code/read", path="app.py") == ["1  def main():", "2      return '\\u001b[31m'"]
    assert lines("code/read", path="app.py", maxLines=1)[-1] == "… 2 lines in all; startLine 2 goes on"


def test_matches_stand_below_their_file(lines) -> None:
    assert lines("code/search", pattern="return") == [
        "app.py", "     2      return '\\u001b[31m'", "1 matching line, 1 file searched",
    ]  # fmt: skip


def test_files_have_their_size_and_folders_a_slash(lines, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert lines("code/list", pattern="*") == ["        28  app.py", "            src/", "2 in all"]


def test_changes_look_like_a_diff(lines, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def main():\n    return 1\n")
    assert lines("code/diff") == [
        "modified  app.py",
        "@@ -1,2 +1,2 @@",
        " def main():",
        "-    return '\\u001b[31m'",
        "+    return 1",
        "1 file, +1 -1",
    ]


def test_commits_have_their_message_and_who_made_them(lines) -> None:
    head, about, body = lines("code/log")
    assert head.endswith("  First")
    assert about == "    Ada, 2026-01-02T03:04:05Z, 1 file, +2 -0"
    assert body == "    With \\u001b[2J a body"
    assert lines("code/show", commit="HEAD")[3:5] == ["added  app.py", "@@ -0,0 +1,2 @@"]
    assert lines("code/show", commit="HEAD:app.py")[-2:] == ["def main():", "    return '\\u001b[31m'"]


def test_blamed_lines_have_commit_day_and_author_before_them(lines) -> None:
    first = lines("code/blame", path="app.py")[0]
    assert first.partition(" ")[2] == "2026-01-02 Ada               1  def main():"


def test_colours_only_where_they_are_wanted(lines) -> None:
    result = {"files": [{"path": "src", "isDirectory": True}], "totalFiles": 1}
    assert code_lines("code/list", result, PLAIN) == ["            src/", "1 in all"]
    assert "\x1b[1m" in (code_lines("code/list", result, Style(colour=True)) or [""])[0]


@pytest.mark.parametrize("result", [None, "cut", {}, {"matches": 3}, {"content": 1, "metadata": {}}])
def test_a_result_of_another_form_is_left_to_others(result: object) -> None:
    assert code_lines("code/read", result, PLAIN) is None
    assert code_lines("code/search", result, PLAIN) is None
    assert code_lines("ping", result, PLAIN) is None

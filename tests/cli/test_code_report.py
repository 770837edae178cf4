"""`rightcall run` shows what the code tools found as a person wants it, and nothing in it can harm a terminal."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from rightcall.base.files.sight import Sight
from rightcall.base.text import escaped
from rightcall.cli.code_report import code_lines
from rightcall.cli.terminal import Style, visible_width
from rightcall.executor.shipped import code_tools, pull_tools, saving_tools
from rightcall.policy.settings import Check
from support.desks import Checks, modify, place
from support.every import every

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
        printed = code_lines(name, tools[name](**arguments), PLAIN, arguments)
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


@pytest.mark.promise("C-70")
def test_matches_are_in_colour_and_what_stands_in_the_file_is_not_obeyed() -> None:
    result = {"matches": [], "totalMatches": 1, "filesSearched": 1}
    match = {"file": "a\x1b[2J.py", "line": 3, "contextBefore": ["\x1b[31m"], "contextAfter": []}
    rows = [
        ("a foo b foo", [(2, 5), (8, 11)], "a \x1b[31m\x1b[1mfoo\x1b[0m b \x1b[31m\x1b[1mfoo\x1b[0m"),
        ("\t\x1b[0mfoo", [(1, 8)], "    \x1b[31m\x1b[1m\\u001b[0mfoo\x1b[0m"),
        ("\x9b31m é\r", [(0, 6)], "\x1b[31m\x1b[1m\\u009b31m é\x1b[0m"),
        ("no match that is not empty", [], "no match that is not empty"),
        ("x" * 600, [(0, 600)], "\x1b[31m\x1b[1m" + "x" * 499 + "…\x1b[0m"),
    ]
    for text, highlights, shown in rows:
        found = {**result, "matches": [{**match, "matchedText": text, "highlights": highlights}]}
        for context in ({}, {"contextLines": 1}):
            coloured = code_lines("code/search", found, Style(colour=True), context) or []
            assert [line for line in coloured if line.endswith(shown)], coloured
            assert set(re.findall(r"\x1b\[?\d*.", "".join(coloured))) <= {f"\x1b[{n}m" for n in (0, 1, 2, 31)}
            plain = "".join(code_lines("code/search", found, PLAIN, context) or [])
            assert "\x1b" not in plain
            assert re.sub(r"\x1b\[\d+m", "", "".join(coloured)) == plain


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


def hunk(*lines: str, start: int = 1) -> dict[str, object]:
    kinds = {"+": "addition", "-": "deletion", " ": "context"}
    return {
        "oldStart": start, "newStart": start, "oldLines": sum(line[0] != "+" for line in lines),
        "newLines": sum(line[0] != "-" for line in lines),
        "lines": [{"type": kinds[line[0]], "lineNumber": 0, "content": line[1:]} for line in lines],
    }  # fmt: skip


def side_by_side(width: int, *lines: str, start: int = 1, colour: bool = False) -> list[str]:
    diff = {"path": "a", "status": "modified", "hunks": [hunk(*lines, start=start)], "stats": {}}
    totals = {"filesChanged": 1, "insertions": 1, "deletions": 1}
    result = {"base": "HEAD", "compare": "", "diffs": [diff], "totalChanges": totals}
    return (code_lines("code/diff", result, Style(colour=colour, width=width, split=True)) or [])[2:-1]


@pytest.mark.promise("C-73")
def test_changes_stand_side_by_side_where_that_was_asked_for() -> None:
    bar = "│"
    assert side_by_side(60, " same", "-old", "+new", "+more", " end", start=9) == [
        f" 9  same                     {bar}  9  same",
        f"10 -old                      {bar} 10 +new",
        f"                             {bar} 11 +more",
        f"11  end                      {bar} 12  end",
    ]
    assert side_by_side(60, "-a", "+b", "-c") == [
        f"1 -a                         {bar} 1 +b",
        f"2 -c                         {bar}",
    ]


@pytest.mark.promise("C-73")
def test_side_by_side_nothing_is_lost_and_no_row_is_too_wide() -> None:
    texts = [
        "漢字" * 40,
        "é" * 90,
        "e\u0301" * 50,
        "\t\tx" * 20,
        "\x1b[31mred\x1b[0m" * 5,
        "\u202eright" * 9,
        "",
        "👍" * 33,
    ]
    for width in (60, 61, 80, 160):
        for text in texts:
            rows = side_by_side(width, f"-{text}", f"+{text}!", colour=True)
            plain = [re.sub(r"\x1b\[\d+m", "", row) for row in rows]
            assert all(visible_width(row) <= width for row in rows), (width, text)
            assert {row.index("│") for row in plain if row.isascii()} <= {(width - 3) // 2 + 1}
            assert "\x1b" not in "".join(plain)
            shown = escaped(text.replace("\t", "    "))
            left = "".join(row.partition(" │")[0].rstrip()[3:] for row in plain)
            assert left.replace(" ", "") == shown.replace(" ", "")


@pytest.mark.promise("C-73")
def test_a_narrow_terminal_gets_the_usual_view_and_is_told_why() -> None:
    result = {"base": "HEAD", "compare": "",
              "diffs": [{"path": "a", "status": "modified", "hunks": [hunk("-a", "+b")], "stats": {}}],
              "totalChanges": {"filesChanged": 1, "insertions": 1, "deletions": 1}}  # fmt: skip
    assert code_lines("code/diff", result, Style(width=50, split=True)) == [
        "the terminal has 50 columns, 60 are needed for --split", "modified  a", "@@ -1,1 +1,1 @@", "-a", "+b",
        "1 file, +1 -1",
    ]  # fmt: skip


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


def commit(folder: Path, message: str) -> None:
    for command in (["add", "-A"], ["commit", "-q", "-m", message]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def test_half_of_a_line_end_is_never_shown(lines, tmp_path: Path) -> None:
    (tmp_path / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    commit(tmp_path, "Subject\r\n\r\nBody\r\n")
    (tmp_path / "dos.txt").write_bytes(b"one\r\nTWO\r\n")
    assert lines("code/read", path="dos.txt") == ["1  one", "2  TWO"]
    assert lines("code/diff")[2:5] == [" one", "-two", "+TWO"]
    assert lines("code/show", commit="HEAD:dos.txt")[-2:] == ["one", "two"]
    assert lines("code/blame", path="dos.txt")[0].endswith("1  one")
    assert lines("code/search", pattern="one", contextLines=1)[1:3] == ["     1: one", "     2- TWO"]
    assert "\\u000d" not in "\n".join(lines("code/log"))


def test_a_file_whose_line_ends_have_changed_says_so(lines, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_bytes(b"def main():\r\n\treturn '\x1b[31m'\r\n")
    assert lines("code/diff")[0] == "modified  app.py (other line ends)"


def test_lines_around_matches_are_shown_once_and_only_where_they_were_asked_for(lines, tmp_path: Path) -> None:
    names = ["zero", "one HIT", "two", "three HIT", "four", "five", "six", "seven HIT"]
    (tmp_path / "a.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "b.txt").write_text("HIT\n")
    assert lines("code/search", pattern="HIT", contextLines=1, caseSensitive=True) == [
        "a.txt",
        "     1- zero",
        "     2: one HIT",
        "     3- two",
        "     4: three HIT",
        "     5- four",
        "--",
        "     7- six",
        "     8: seven HIT",
        "b.txt",
        "     1: HIT",
        "4 matching lines, 3 files searched",
    ]
    matches = ["a.txt", "     2  one HIT", "     4  three HIT", "     8  seven HIT", "b.txt", "     1  HIT"]
    assert lines("code/search", pattern="HIT", caseSensitive=True)[:-1] == matches
    assert lines("code/search", pattern="HIT", caseSensitive=True, contextLines=0)[:-1] == matches
    bare = lines("code/search", pattern="three", contextLines=1, includeLineNumbers=False)
    assert bare[1:4] == ["- two", ": three HIT", "- four"]


def test_what_is_cut_says_so_and_how_to_go_on(lines, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"{'x' * 100} {number}\n" for number in range(2000)))
    commit(tmp_path, "Much")
    assert lines("code/blame", path="long.txt")[-1] == "… 2,000 lines in all; startLine 501 goes on"
    assert lines("code/read", path="long.txt")[-1] == "… 2,000 lines in all; startLine 501 goes on"
    cut, how = lines("code/show", commit="HEAD")[-2:]
    assert cut == "…"
    assert how.startswith("… not all is shown; code/diff with base ")
    assert how.endswith("^! and paths shows the changes of single files")
    counts, how = lines("code/diff", base="HEAD~1")[-2:]
    assert (counts, how) == ("1 file, +2000 -0", "… not all is shown; paths chooses files")
    assert lines("code/log", includeDiff=True)[-1] == "… not all changes are shown; code/show has those of one commit"
    assert lines("code/log", limit=1)[-1] == "… more exist: limit, since and path narrow it down"
    assert lines("code/search", pattern="x", maxMatches=1)[-2:] == [
        "1 of 2,000 matching lines, 2 files searched",
        "… paths, filePattern or a narrower pattern show the others",
    ]
    assert lines("code/list", pattern="*", limit=1)[-2:] == [
        "1 of 2", "… a narrower pattern or directory shows the others",
    ]  # fmt: skip


def test_notes_are_shown_whichever_tool_they_come_from(lines, tmp_path: Path) -> None:
    (tmp_path / "/".join(["d"] * 11)).mkdir(parents=True)
    assert lines("code/list", pattern="**")[-1].startswith("What lies more than 10 folders deep was not read")
    (tmp_path / "notes.txt").write_text("a\n")
    assert lines("code/read", path="notes.txt", includeStructure=True)[-1].startswith("no structure: ")
    for tool, result in RESULTS.items():
        shown = code_lines(tool, {**result, "note": "A \x1b[2J note"}, PLAIN)
        assert (shown or [""])[-1] == "A \\u001b[2J note", tool


RESULTS: dict[str, dict[str, object]] = {
    "code/read": {
        "path": "a",
        "content": "",
        "metadata": {"startLine": 0, "endLine": 0, "totalLines": 0, "linesReturned": 0},
    },
    "code/search": {"matches": [], "totalMatches": 0, "filesSearched": 1},
    "code/list": {"files": [], "totalFiles": 0},
    "code/diff": {
        "base": "HEAD",
        "compare": "",
        "diffs": [],
        "totalChanges": {"filesChanged": 0, "insertions": 0, "deletions": 0},
    },
    "code/log": {"commits": [], "totalCommits": 0},
    "code/blame": {"path": "a", "lines": [], "totalLines": 0},
    "debug/logs": {"lines": []},
}


def test_log_lines_stand_one_below_the_other() -> None:
    result = {"lines": ["2026 #2 a long line " + "x" * 200, "2026 #1 \x1b[31m"], "truncated": True}
    assert code_lines("debug/logs", result, PLAIN) == [
        "2026 #2 a long line " + "x" * 200,
        "2026 #1 \\u001b[31m",
        "2 lines, newest first",
        "… older lines exist; limit shows up to 500",
    ]


@every("result", [None, "cut", {}, {"matches": 3}, {"content": 1, "metadata": {}}])
def test_a_result_of_another_form_is_left_to_others(result: object) -> None:
    assert code_lines("code/read", result, PLAIN) is None
    assert code_lines("code/search", result, PLAIN) is None
    assert code_lines("ping", result, PLAIN) is None


def test_a_fault_inside_a_result_of_the_right_form_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        code_lines("code/list", {"files": [{}], "totalFiles": 1}, PLAIN)


def test_a_program_is_shown_with_what_it_printed_and_left() -> None:
    table = {
        "path": "o.csv", "size": 8, "type": "table", "mediaType": "text/csv", "text": "a  b\n1  2", "rows": 1,
        "columns": 2,
    }  # fmt: skip
    result = {
        "success": True, "exitCode": None, "signal": 9, "stdout": "out \x1b[31m\n", "stderr": "err\n",
        "files": [table, {"path": "n.txt", "size": 2, "type": "text", "mediaType": "text/plain", "text": "hi"}],
        "filesLeftOut": [{"path": "l", "why": "a link"}], "limits": ["seconds"], "tier": "namespaces",
        "executionTime": 4001, "truncated": True,
    }  # fmt: skip
    for tool in ("code/execute/python", "code/execute/javascript", "ai.execute"):
        assert code_lines(tool, result, PLAIN) == [
            "out \\u001b[31m",
            "err",
            "[o.csv, 1 row, 2 columns]",
            "  a  b",
            "  1  2",
            "[n.txt]",
            "  hi",
            "left out: l (a link)",
            "stopped after 4.0 s",
            "ended by SIGKILL in 4.0 s, 2 files, limit reached: seconds (namespaces)",
            "… not all of it is here: print less, or write fewer and smaller files",
        ]


@pytest.mark.promise("W-05")
def test_what_was_written_is_told_in_a_line_with_its_diff_and_how_to_take_it_back(tmp_path: Path) -> None:
    here = place(tmp_path)
    pulls = pull_tools(lambda: here.desk, here.desk.settings, Checks)  # pyright: ignore[reportArgumentType] - it does what is asked of one here
    tools = here.tools | {one.name: one for one in (*saving_tools(lambda: here.desk, here.desk.settings), *pulls)}
    here.desk.settings = replace(here.desk.settings, check=Check(command=("true",)))
    (here.made.folder / "experimental").mkdir()

    def lines(tool: str, caller: str = "ada", **arguments: object) -> list[str]:
        result = json.loads(json.dumps(tools[tool].function(**arguments, caller=caller)))
        printed = code_lines(tool, result, PLAIN, arguments)
        assert printed is not None
        last = f"to take it back: rightcall undo {result['change']}" if result["change"] else None
        assert last is None or printed.pop() == last
        return printed

    note = {"path": "experimental/n.md", "content": "a \x1b[31m\n"}
    diff = ["--- /dev/null", "+++ b/experimental/n.md", "@@ -0,0 +1 @@", "+a \\u001b[31m"]
    assert lines("file/save", **note) == ["Created experimental/n.md, 8 bytes", *diff]
    (again, *_) = lines("file/save", **note)
    assert again == "Left unchanged experimental/n.md, 8 bytes"
    created, tree = lines("code/create-branch", name="fix")
    assert re.fullmatch("Created branch fix at [0-9a-f]{12} of main", created)
    assert tree.endswith("once something is edited there")
    changed = ["--- a/a.py", "+++ b/a.py", "@@ -1 +1 @@", "-1", "+2"]
    edit = ["Changed 1 file (a.py) on branch fix", "not committed yet", *changed]
    assert lines("code/edit", operations=[modify("a.py", "2\n")]) == edit
    saved = lines("file/save", path="c.py", content="3\n", branch="fix")
    assert saved[:2] == ["Changed 1 file (c.py) on branch fix", "not committed yet"]
    tested = lines("code/create-test", path="tests/test_a.py", content="4\n")
    assert tested[0] == "Changed 1 file (tests/test_a.py) on branch fix"
    (commit,) = lines("code/commit", message="two", paths=["a.py"])
    assert re.fullmatch(r"Committed [0-9a-f]{10} on fix: 1 file, \+1/-1", commit)
    opened = lines("code/pull-request", title="Two")
    assert opened == [
        "Opened pull request 1: fix into main, 1 file, +1/-1",
        "not committed, and so not a part of it: c.py, tests/test_a.py",
        "to look at it: rightcall pr show 1",
    ]
    (said,) = lines("code/review", "bob", id="1", decision="approve")
    assert said == "Reviewed pull request 1: approve, 1 of 1 approvals"
    merged, checks = lines("code/merge", id="1")
    assert re.fullmatch(r"Merged pull request 1: fix into main as [0-9a-f]{12} \(\w+\)", merged)
    assert checks == "the checks passed in 0.5 s; the checkout shows it"


def test_a_result_of_another_form_is_left_to_be_shown_as_it_is() -> None:
    assert code_lines("code/merge", {"change": "c-1", "undo": ""}, PLAIN) is None


@pytest.mark.promise("X-82")
@pytest.mark.promise("X-83")
def test_pages_and_searches_read_as_text_and_cannot_harm_the_terminal() -> None:
    page = {
        "url": "https://example.org/", "title": "Hi\x1b[2J", "content": "# Hello\n\nyou\x1b[31m", "start": 5,
        "length": 90, "truncated": True,
    }  # fmt: skip
    assert code_lines("web/fetch", page, Style()) == [
        "Hi\\u001b[2J", "https://example.org/", "# Hello", "", "you\\u001b[31m",
        "… 90 characters in all; start 22 goes on",
    ]  # fmt: skip
    hits = [
        {"title": "A\x07", "url": "https://a.example/", "snippet": "s"},
        {"title": "B", "url": "https://b.example/"},
    ]
    assert code_lines("web/search", {"query": "x", "results": hits}, Style()) == [
        "1. A\\u0007", "   https://a.example/", "   s", "2. B", "   https://b.example/",
    ]  # fmt: skip
    assert code_lines("web/search", {"query": "x", "results": []}, Style()) == ["no results"]


@pytest.mark.promise("X-80")
def test_usage_is_drawn_with_its_repair_rates() -> None:
    share = {"calls": 4, "successRate": 75.0, "avgTime": 20.0}
    rates = {"calls": 4, "direct": 3, "repaired": 1, "failed": 0, "repairRate": 25.0, "successRate": 100.0}
    usage = {
        "personaName": "All Callers", "period": "1day", "stats": {"totalCalls": 4, "successRate": 75.0},
        "toolBreakdown": {"a\x1b": share}, "callers": {"ada": share | {"successRate": None, "avgTime": None}},
        "providers": {"ollama": share}, "repairs": {"byTool": {"a\x1b": rates}, "byProvider": {"ollama": rates}},
        "truncated": True,
    }  # fmt: skip
    lines = code_lines("analytics/tool-usage", usage, Style())
    assert lines is not None
    assert [line.replace("█", "").replace("#", "") for line in lines] == [
        "All Callers, 1day", "4 calls, 75.0% success", "tools:",
        "a\\u001b    (4 calls, 75% success, 20ms avg, 25% repaired)", "callers:", "ada    (4 calls)", "providers:",
        "ollama    (4 calls, 75% success, 20ms avg, 25% repaired)",
        "… there are more names; `rightcall stats --json` has them all",
    ]  # fmt: skip

"""Results are shaped as design 002 §11 shows them; what is not of a tool's form comes through as it is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from rightcall.executor.messages import content, shape, views
from support.every import every
from support.results import (
    RESULTS,
    blame_result,
    commit,
    diff_result,
    file_diff,
    json_values,
    list_result,
    log_result,
    match,
    read_result,
    search_result,
)


@pytest.mark.promise("O-01")
def test_a_read_file_says_how_much_of_it_is_there() -> None:
    assert shape("code/read", read_result(3, 11, 900)) == {
        "path": "src/app.py",
        "summary": "3 lines (900 total)",
        "content": "x = 11\nx = 12\nx = 13",
        "lineRange": "11-13",
    }


@pytest.mark.promise("O-01")
def test_the_structure_of_a_file_comes_with_it_and_so_does_an_encoding_worth_knowing() -> None:
    structure = {"imports": ["import os"], "classes": [], "functions": ["main"], "exports": []}
    result = read_result() | {"structure": structure}
    result["metadata"] = result["metadata"] | {"encoding": "latin-1"}
    shaped = shape("code/read", result)
    assert list(shaped) == ["path", "summary", "content", "lineRange", "structure", "encoding"]
    assert (shaped["structure"], shaped["encoding"]) == (structure, "latin-1")


@pytest.mark.promise("O-01")
def test_matches_are_grouped_by_file_with_the_five_top_files() -> None:
    counts = {"a": 1, "b": 3, "c": 2, "d": 1, "e": 2, "f": 9}
    shaped = shape("code/search", search_result(counts))
    assert list(shaped) == ["summary", "pattern", "matchesByFile", "topFiles"]
    assert shaped["summary"] == "Found 18 matches in 6 files (40 searched)"
    assert {file: len(matches) for file, matches in shaped["matchesByFile"].items()} == counts
    assert shaped["matchesByFile"]["a"] == [match("a", 1)]
    assert [(top["file"], top["count"]) for top in shaped["topFiles"]] == [
        ("f", 9),
        ("b", 3),
        ("c", 2),
        ("e", 2),
        ("a", 1),
    ]


@pytest.mark.promise("O-01")
def test_a_diff_has_counts_for_every_file_and_the_whole_behind_them() -> None:
    result = diff_result({"a.py": 2, "b.py": 5})
    shaped = shape("code/diff", result)
    assert shaped == {
        "summary": "2 files: +7/-0",
        "files": [
            {"path": "a.py", "status": "modified", "changes": "+2/-0", "hunks": 1},
            {"path": "b.py", "status": "modified", "changes": "+5/-0", "hunks": 1},
        ],
        "fullDiff": result,
    }
    assert shaped["fullDiff"] is result


def test_files_are_listed_without_what_their_path_says_already() -> None:
    result = list_result(1, 900)
    result["files"].append({"path": "src", "name": "src", "size": 0, "lastModified": "x", "isDirectory": True})
    assert shape("code/list", result) == {
        "summary": "2 files (900 total)",
        "files": [
            {"path": "src/f0.py", "size": 0, "lastModified": "2025-11-16"},
            {"path": "src", "size": 0, "lastModified": "x", "isDirectory": True},
        ],
        "truncated": True,
    }


def test_commits_have_counts_and_no_addresses() -> None:
    assert shape("code/log", log_result(1)) == {
        "summary": "1 commit, more exist",
        "commits": [
            {
                "commit": "000001c",
                "author": "Joel",
                "date": "2025-11-28T10:00:00Z",
                "message": "Fix the clock\n\nIt was wrong.",
                "changes": "+3/-1",
                "filesChanged": ["src/app.py"],
            }
        ],
        "truncated": True,
    }


def test_lines_of_one_commit_are_one_block() -> None:
    shaped = shape("code/blame", blame_result({1: 2, 2: 1}, 10))
    assert shaped["summary"] == "3 lines by 1 author in 2 commits"
    assert shaped["lineRange"] == "10-12"
    assert [(block["lines"], block["commit"], block["content"]) for block in shaped["blocks"]] == [
        ("10-11", "0000001", "x = 10\nx = 11"),
        ("12-12", "0000002", "x = 12"),
    ]


def test_blame_without_the_lines_themselves_has_none() -> None:
    result = blame_result({1: 2})
    result["lines"] = [{**line, "content": None} for line in result["lines"]]
    assert "content" not in shape("code/blame", result)["blocks"][0]
    assert shape("code/blame", {"path": "empty.py", "lines": []})["lineRange"] == ""


def test_a_commit_is_shown_like_a_diff() -> None:
    diff = [file_diff("a.py", 2)]
    shaped = shape("code/show", {"commit": commit(3, diff=diff)})
    assert shaped == {
        "summary": "1 file: +3/-1",
        "commit": {
            "hash": f"{3:040x}",
            "author": "Joel",
            "date": "2025-11-03T10:00:00Z",
            "message": "Fix the clock\n\nIt was wrong.",
        },
        "files": [{"path": "a.py", "status": "modified", "changes": "+2/-0", "hunks": 1}],
        "fullDiff": diff,
    }
    assert shape("code/show", {"commit": commit(3)})["files"] == ["src/app.py"]


def test_commits_that_are_all_there_are_just_counted() -> None:
    assert shape("code/log", log_result(3, total=3))["summary"] == "3 commits"


def test_lines_that_blame_has_not_looked_at_are_named() -> None:
    result = blame_result({1: 3}, 10) | {"totalLines": 20, "truncated": True}
    told = "3 lines by 1 author in 1 commit; lines 13-20 left out: call code/blame with startLine=13"
    assert shape("code/blame", result)["summary"] == told


def test_a_file_at_a_commit_is_shown_with_it() -> None:
    result = {"success": True, "commit": commit(1, moreFiles=7), "truncated": True}
    result |= {"path": "a.py", "content": "x\n", "encoding": "utf-8"}
    shaped = shape("code/show", result)
    assert (shaped["summary"], shaped["moreFiles"], shaped["truncated"]) == ("8 files: +3/-1", 7, True)
    assert (shaped["path"], shaped["content"], shaped["encoding"]) == ("a.py", "x\n", "utf-8")


def test_a_tool_nobody_knows_keeps_its_result() -> None:
    result = read_result()
    assert shape("my/read", result) is result


@every("tool", sorted(views()))
def test_an_error_of_a_known_tool_keeps_its_form(tool: str) -> None:
    for result in ({"success": False, "error": "gone"}, RESULTS[tool] | {"success": False}, "text", None, [1]):
        assert shape(tool, result) is result


@every("tool", sorted(views()))
def test_a_result_that_lacks_a_field_comes_through_unchanged(tool: str) -> None:
    without: dict[str, Any]
    for field in RESULTS[tool]:
        if field not in ("success", "truncated", "base", "compare"):
            without = {key: value for key, value in RESULTS[tool].items() if key != field}
            assert shape(tool, without) is without
            odd = RESULTS[tool] | {field: 7.5}
            assert shape(tool, odd) is odd


@given(st.sampled_from(sorted(views())), json_values, st.data())
def test_no_result_makes_shaping_raise(tool: str, value: Any, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(sorted(RESULTS[tool])))
    for result in (value, RESULTS[tool] | {field: value}):
        assert json.encode(shape(tool, result))


def test_every_known_tool_has_a_sample_here() -> None:
    assert set(views()) == set(RESULTS)


@pytest.mark.promise("O-01")
def test_what_a_tool_says_about_its_own_limits_reaches_the_model() -> None:
    about = {"totalLines": 9, "linesReturned": 1, "startLine": 1, "endLine": 1}
    told = {
        "code/read": {"path": "a", "content": "x", "metadata": about, "structure": {"language": "c"}},
        "code/list": {"files": [], "totalFiles": 0, "truncated": True},
        "code/search": {"pattern": "x", "matches": [], "totalMatches": 0, "filesSearched": 0, "truncated": True},
        "code/blame": {"path": "a", "lines": [], "totalLines": 0, "truncated": True},
    }
    for tool, result in told.items():
        assert "this is cut" in content(tool, result | {"success": True, "note": "this is cut"}, 1000).text, tool

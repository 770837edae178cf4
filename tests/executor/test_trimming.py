"""A result fits its budget: it is cut where that hurts least, and says what is missing and how to get it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.text import estimate
from rightcall.executor.messages import Trimmed, shape, trim
from rightcall.executor.trimming import cut_text, quoted_text
from support.every import every
from support.results import (
    RESULTS,
    blame_result,
    commit,
    diff_result,
    file_diff,
    list_result,
    log_result,
    match,
    read_result,
    search_result,
)


def trimmed(tool: str, result: Any, tokens: int) -> tuple[Any, str]:
    """What is left as data, and the note."""
    done = trim(shape(tool, result), tokens, tool)
    assert done.tokens == estimate(done.text) <= tokens
    assert done.text == f"{done.body}\n{done.left_out}" if done.left_out else done.body
    return json.loads(done.body), done.left_out


@pytest.mark.promise("O-01")
def test_what_fits_is_written_out_as_it_is() -> None:
    assert trim("as it is\n", 100) == Trimmed("as it is\n", 3)
    assert trim({"b": [1, None], "a": "é\n", "c": {}}, 100).text == (
        '{\n  "b": [\n    1,\n    null\n  ],\n  "a": "é\\n",\n  "c": {}\n}'
    )


@pytest.mark.promise("O-01")
@every("tool", sorted(RESULTS))
def test_a_result_that_fits_has_no_note(tool: str) -> None:
    left, note = trimmed(tool, RESULTS[tool], 50_000)
    assert (left, note) == (shape(tool, RESULTS[tool]), "")


# ── code/read ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("O-01")
def test_a_file_keeps_its_first_lines_and_says_where_to_read_on() -> None:
    assert trim(shape("code/read", read_result(40, 11, 900)), 80, "code/read").text == (
        "{\n"
        '  "path": "src/app.py",\n'
        '  "summary": "40 lines (900 total)",\n'
        '  "content": "x = 11\\nx = 12\\nx = 13\\nx = 14\\nx = 15\\nx = 16\\nx = 17",\n'
        '  "lineRange": "11-17"\n'
        "}\n"
        "[… 33 of 40 lines left out: call code/read with startLine=18]"
    )


@pytest.mark.promise("O-01")
def test_the_note_of_the_design_names_the_first_line_that_is_missing() -> None:
    left, note = trimmed("code/read", read_result(500, line="{:03}" + "." * 16), 1066)
    assert (left["lineRange"], note) == (
        "1-188",
        "[… 312 of 500 lines left out: call code/read with startLine=189]",
    )
    assert left["content"].splitlines()[-1].startswith("188.")


@pytest.mark.promise("O-01")
def test_reading_on_as_the_notes_say_gives_the_whole_file() -> None:
    whole = [f"line {number} " + 'é"\\\t' * (number % 7) for number in range(1, 121)]
    start, seen = 1, list[str]()
    while start:
        result = read_result(120, start) | {"content": "\n".join(whole[start - 1 :])}
        left, note = trimmed("code/read", result, 200)
        seen += left["content"].split("\n")
        start = int(note.partition("startLine=")[2].rstrip("]") or 0)
    assert seen == whole


@pytest.mark.promise("O-01")
def test_a_line_is_cut_only_where_not_even_the_first_one_fits() -> None:
    result = read_result(3) | {"content": "a" * 5000 + "\nb\nc"}
    left, note = trimmed("code/read", result, 250)
    assert note == (
        "[… line 1 is cut after 700 of 5000 characters; 2 of 3 lines left out: call code/read with startLine=2]"
    )
    assert left["content"] == "a" * 700 + "…"
    assert left["lineRange"] == "1-1"
    note = trimmed("code/read", read_result(1) | {"content": "a" * 5000}, 250)[1]
    assert note.endswith(" of 5000 characters: code/search finds what is further on in it]")


@pytest.mark.promise("O-01")
def test_the_structure_of_a_file_stays_when_its_lines_do_not() -> None:
    structure = {"imports": ["import os"], "classes": ["App"], "functions": ["main", "run"], "exports": []}
    left, note = trimmed("code/read", read_result(500) | {"structure": structure}, 300)
    assert left["structure"] == structure
    assert "lines left out: call code/read with startLine=" in note


# ── code/search ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("O-01")
def test_every_file_keeps_a_match_before_one_keeps_two() -> None:
    left, note = trimmed("code/search", search_result({"a.py": 30, "b.py": 2, "c.py": 9}), 500)
    assert {file: [found["line"] for found in matches] for file, matches in left["matchesByFile"].items()} == {
        "a.py": [1, 2],
        "b.py": [1, 2],
        "c.py": [1, 2],
    }
    assert left["summary"] == "Found 41 matches in 3 files (40 searched)"
    assert note == "[… 35 of 41 matches left out: use a narrower pattern, filePattern or paths]"


@pytest.mark.promise("O-01")
def test_files_are_left_out_when_not_even_one_match_of_each_fits() -> None:
    left, note = trimmed("code/search", search_result({f"src/f{n}.py": 2 for n in range(30)}), 500)
    assert list(left["matchesByFile"]) == [f"src/f{n}.py" for n in range(5)]
    assert {len(matches) for matches in left["matchesByFile"].values()} == {1}
    assert len(left["topFiles"]) == 5
    assert note == (
        "[… 55 of 60 matches left out, 25 of 30 files not shown: use a narrower pattern, filePattern or paths]"
    )


@pytest.mark.promise("O-01")
def test_a_match_in_a_line_without_end_is_cut_and_the_others_stay() -> None:
    result = search_result({"a.js": 1})
    result["matches"] += [match("min.js", 1, "log" * 10_000), match("b.js", 1)]
    left, note = trimmed("code/search", result, 500)
    lengths = {file: len(matches[0]["matchedText"]) for file, matches in left["matchesByFile"].items()}
    assert lengths["a.js"] == lengths["b.js"] == 5
    assert 100 < lengths["min.js"] < 1000
    assert note == "[… long matches are cut: use a narrower pattern, filePattern or paths]"


# ── code/diff, code/show ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("O-01")
def test_a_diff_loses_the_lines_of_its_last_files_and_no_file_of_its_list() -> None:
    left, note = trimmed("code/diff", diff_result({"a.py": 3, "b.py": 12, "c.py": 12, "d.py": 1}), 900)
    assert [file["path"] for file in left["files"]] == ["a.py", "b.py", "c.py", "d.py"]
    shown = [(diff["path"], len(diff["hunks"][0]["lines"])) for diff in left["fullDiff"]["diffs"]]
    assert shown == [("a.py", 3), ("b.py", 11)]
    assert note == (
        "[… the changes of 3 of 4 files left out in whole or in part: "
        "call code/diff with the paths you need, or with contextLines=0]"
    )


@pytest.mark.promise("O-01")
def test_a_list_of_files_that_is_itself_too_long_says_so() -> None:
    left, note = trimmed("code/diff", diff_result({f"f{n}.py": 1 for n in range(200)}), 800)
    assert 10 < len(left["files"]) < 100
    assert note.startswith("[… ")
    assert f"{200 - len(left['files'])} of 200 files not listed" in note


@pytest.mark.promise("O-01")
def test_a_commit_keeps_its_message_and_tells_how_to_see_the_rest_of_its_changes() -> None:
    result = {"commit": commit(3, diff=[file_diff(f"f{n}.py", 9) for n in range(4)])}
    left, note = trimmed("code/show", result, 700)
    assert left["commit"]["message"] == "Fix the clock\n\nIt was wrong."
    assert len(left["files"]) == 4
    assert note == (
        "[… the changes of 3 of 4 files left out in whole or in part: "
        "call code/diff with base=000000000000^, compare=000000000000 and the paths you need]"
    )


@pytest.mark.promise("O-01")
def test_a_hash_that_is_none_does_not_get_into_the_note() -> None:
    result = {"commit": commit(3, hash="obey me", diff=[file_diff("f.py", 99)])}
    assert "obey" not in trimmed("code/show", result, 400)[1]


# ── code/list, code/log, code/blame ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("O-01")
def test_a_list_of_files_says_how_many_more_there_are() -> None:
    left, note = trimmed("code/list", list_result(60, 900), 400)
    assert left["truncated"] is True
    assert note == (f"[… {60 - len(left['files'])} of 60 files left out: use a narrower pattern or directory]")
    assert left["files"] == shape("code/list", list_result(60))["files"][: len(left["files"])]


@pytest.mark.promise("O-01")
def test_history_goes_on_before_the_last_commit_that_is_shown() -> None:
    left, note = trimmed("code/log", log_result(20), 400)
    assert [one["date"] for one in left["commits"]] == [f"2025-11-{day}T10:00:00Z" for day in (28, 27, 26, 25, 24)]
    assert note == "[… 15 of 20 commits left out: call code/log with until=2025-11-24T10:00:00Z]"


@pytest.mark.promise("O-01")
def test_a_date_that_is_none_does_not_get_into_the_note() -> None:
    result = {"commits": [commit(n, date="obey me") for n in range(1, 20)], "totalCommits": 19}
    note = trimmed("code/log", result, 400)[1]
    assert note.endswith(" of 19 commits left out: call code/log with a narrower path or since]")


@pytest.mark.promise("O-01")
def test_a_commit_too_long_for_itself_is_cut_at_a_line() -> None:
    result = {"commits": [commit(1, message="word\n" * 1000)], "totalCommits": 1}
    left, note = trimmed("code/log", result, 400)
    assert left["commits"][0]["message"].endswith("word")
    assert note == "[… the last commit is cut: call code/show for it]"


@pytest.mark.promise("O-01")
def test_blame_goes_on_after_the_last_line_that_is_shown() -> None:
    left, note = trimmed("code/blame", blame_result({1: 2, 2: 200}, 11), 300)
    blocks = left["blocks"]
    assert blocks[0]["lines"] == "11-12"
    first, last = map(int, blocks[1]["lines"].split("-"))
    assert (first, len(blocks[1]["content"].splitlines())) == (13, last - 12)
    assert left["lineRange"] == f"11-{last}"
    assert note == f"[… {212 - last} of 202 lines left out: call code/blame with startLine={last + 1}]"


# ── any other tool ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("O-01")
def test_text_keeps_its_first_lines() -> None:
    done = trim("".join(f"line {number}\n" for number in range(500)), 100)
    assert done.body == "\n".join(f"line {number}" for number in range(26))
    assert done.left_out == "[… about 1048 of 1098 tokens left out; ask for less at a time]"


@pytest.mark.promise("O-01")
def test_a_list_of_another_tool_says_how_many_more_there_are() -> None:
    done = trim([{"n": number} for number in range(500)], 150)
    assert len(json.loads(done.body)) == 19
    assert done.left_out == "[… 481 of 500 items left out; ask for less at a time]"


@pytest.mark.promise("O-01")
def test_small_fields_stay_and_large_ones_share_what_is_left() -> None:
    value = {"out": "out\n" * 5000, "code": 0, "err": "err\n" * 5000, "took": 1.5, "warn": "careful"}
    done = trim(value, 300)
    left = json.loads(done.body)
    assert list(left) == list(value)
    assert (left["code"], left["took"], left["warn"]) == (0, 1.5, "careful")
    assert abs(len(left["out"]) - len(left["err"])) < 10
    assert done.tokens > 240


@pytest.mark.promise("O-01")
def test_a_table_keeps_its_first_entries() -> None:
    left = json.loads(trim({f"key{n}": n for n in range(5000)}, 150).body)
    assert list(left) == [f"key{n}" for n in range(len(left))]
    assert len(left) > 10


@pytest.mark.promise("O-01")
def test_a_result_with_a_tools_name_and_not_its_form_is_cut_like_any_other() -> None:
    for tool in RESULTS:
        done = trim({"blocks": ["x" * 500], "commits": 3, "content": ["y"] * 500}, 150, tool)
        assert json.loads(done.body)["commits"] == 3
        assert done.left_out.endswith("tokens left out; ask for less at a time]")


@given(st.text('a\\"\n\x01ü😀u0', max_size=14), st.integers(-1, 40))
def test_a_text_is_cut_where_its_json_fits_exactly(text: str, room: int) -> None:
    fits = [end for end in range(len(text) + 1) if len(quoted_text(text[:end])) - 2 <= max(room, 0)]
    kept, _ = cut_text(text, room, as_json=True)
    end = min(max(fits), max(room, 0))
    assert kept.removesuffix("…") == text[: len(kept.removesuffix("…"))]
    assert len(quoted_text(kept)) - 2 <= max(room, 0) + 2
    if "\n" not in text:
        assert len(kept) == (end if end == len(text) or end > 1 else 0)

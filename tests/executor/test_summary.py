"""A result in one line, for the audit: design 002 §9."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.executor.messages import summarise, views
from support.every import every
from support.hostile.objects import OBJECTS, Angry
from support.results import RESULTS, WRITTEN, json_values, read_result


@pytest.mark.promise("A-02")
@every(
    ("tool", "line"),
    [
        ("code/read", "Read 200 lines from src/app.py"),
        ("code/search", "Found 36 matches in 8 files (40 searched)"),
        ("code/diff", "Compared main with HEAD: 5 files: +45/-0"),
        ("code/list", "Listed 60 of 900 files"),
        ("code/log", "Showed 20 commits, more exist"),
        ("code/blame", "Blamed 75 lines of src/app.py"),
        ("code/show", "Showed commit 0000003: Fix the clock"),
        ("data/list", "Listed 60 of 900 records of calls"),
        ("debug/logs", "Showed 60 log lines"),
        ("code/execute/python", "exit 0 in 23 ms (namespaces)"),
    ],
)
def test_a_result_is_summed_up(tool: str, line: str) -> None:
    assert summarise(tool, RESULTS[tool]) == line


def test_of_other_results_the_beginning_is_kept() -> None:
    assert summarise("my_tool", {"rows": [1, "two"]}) == '{"rows": [1, "two"]}'
    assert summarise("my_tool", "x" * 500) == '"' + "x" * 197 + '…"'
    assert summarise("code/read", {"error": "gone"}) == '{"error": "gone"}'


def test_a_path_can_neither_break_the_line_nor_fill_the_audit() -> None:
    assert summarise("code/read", read_result() | {"path": "a\n\x1b[31mb"}) == r"Read 3 lines from a\u000a\u001b[31mb"
    assert len(summarise("code/read", read_result() | {"path": "a" * 500})) == 200


@given(st.sampled_from(["my_tool", *sorted(views())]), json_values)
def test_any_result_has_a_summary_of_one_line(tool: str, value: Any) -> None:
    line = summarise(tool, value)
    assert len(line) <= 200
    assert line.isprintable()


@every("kind", OBJECTS, ids=lambda kind: kind.name, parts=2)
def test_any_object_has_a_summary(kind: Any) -> None:
    assert len(summarise("code/read", kind.make(1000))) <= 200


def test_what_cannot_even_be_looked_at_is_named() -> None:
    class Deaf(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("do not touch")

    assert summarise("my_tool", Deaf(a=1)) == "a result of type Deaf"
    assert summarise("my_tool", Angry()) == "<Angry>"


SUMMARIES = {
    "file/save": "Created experimental/a.md, 900 bytes",
    "code/create-branch": "Created branch fix at 000000000000 of main",
    "code/create-test": "Changed 1 file (src/app.py) on branch fix",
    "code/edit": "Changed 1 file (src/app.py) on branch fix",
    "code/commit": "Committed 0000000 on fix: 2 files, +9/-1",
    "code/pull-request": "Opened pull request 7: fix into main, 2 files, +9/-1",
    "code/review": "Reviewed pull request 7: approve, 1 of 2 approvals",
    "code/merge": "Merged pull request 7: fix into main as 000000000000 (namespaces)",
}


@every("tool", WRITTEN)
@pytest.mark.promise("A-02")
def test_a_write_is_summed_up_with_the_id_of_its_change(tool: str) -> None:
    assert summarise(tool, WRITTEN[tool]) == f"{SUMMARIES[tool]} [c-7f3a9b2e]"


def test_a_file_that_is_saved_on_a_branch_is_an_edit() -> None:
    assert summarise("file/save", WRITTEN["code/edit"]).startswith("Changed 1 file (src/app.py) on branch fix")
    unchanged = WRITTEN["file/save"] | {"created": False, "change": "", "undo": ""}
    assert summarise("file/save", unchanged) == "Left unchanged experimental/a.md, 900 bytes"

"""What a model and a client are shown of a program that ran."""

from typing import Any

import pytest

from rightcall.executor.messages import Outcome, content, message, shape, summarise
from support.every import every
from support.results import ran_result

TOOL = "code/execute/python"
PICTURE = {
    "path": "plot.png", "size": 12_345, "type": "image", "mediaType": "image/png", "data": "aGk=",
    "width": 640, "height": 480,
}  # fmt: skip
TABLE = {
    "path": "out.csv", "size": 20, "type": "table", "mediaType": "text/csv", "text": "name  age\nann   3",
    "rows": 1, "columns": 2,
}  # fmt: skip


@pytest.mark.promise("X-06")
def test_a_model_is_shown_how_a_program_ended_and_what_it_left() -> None:
    files: list[Any] = [
        PICTURE,
        TABLE,
        {"path": "a.txt", "size": 2, "type": "text", "mediaType": "text/plain", "text": "hi", "truncated": True},
        {"path": "x.bin", "size": 5_200_000, "type": "binary", "mediaType": "application/octet-stream"},
        PICTURE | {"data": None, "size": 900},
    ]
    left = [{"path": "loop", "why": "a link"}]
    result = ran_result(1, exitCode=3, stderr="oh no\n", files=files, filesLeftOut=left, limits=["processes"])
    assert shape(TOOL, result) == {
        "summary": "exit 3 in 23 ms",
        "limits": ["it reached the most processes that it may have"],
        "stdout": "line 0\n",
        "stderr": "oh no\n",
        "files": [
            "[image plot.png 640×480, 12 kB]",
            {"path": "out.csv", "summary": "1 row, 2 columns", "table": ["name  age", "ann   3"]},
            {"path": "a.txt", "content": "hi", "truncated": True},
            "[application/octet-stream x.bin, 5.2 MB]",
            "[image plot.png 640×480, 900 bytes, too large to be shown]",
        ],
        "filesLeftOut": ["loop (a link)"],
    }


@every(
    ("fields", "line"),
    [
        ({"files": [TABLE, PICTURE]}, "exit 0 in 23 ms, 2 files (namespaces)"),
        ({"files": [TABLE], "tier": "landlock"}, "exit 0 in 23 ms, 1 file (landlock)"),
        (
            {"exitCode": None, "signal": 9, "limits": ["seconds"], "executionTime": 4012},
            "ended by SIGKILL in 4.0 s, limit reached: seconds (namespaces)",
        ),
        ({"exitCode": None, "signal": 64}, "ended by SIGRTMAX in 23 ms (namespaces)"),
        ({"exitCode": None, "signal": 99}, "ended by signal 99 in 23 ms (namespaces)"),
    ],
)
@pytest.mark.promise("X-06")
def test_the_audit_names_the_end_the_limits_and_the_tier(fields: dict[str, Any], line: str) -> None:
    assert summarise(TOOL, ran_result(0, **fields)) == line


def test_a_program_that_took_too_long_says_after_what_time_it_was_stopped() -> None:
    late = ran_result(0, exitCode=None, signal=9, limits=["seconds"], executionTime=4012)
    assert shape(TOOL, late)["limits"] == ["stopped after 4.0 s"]


def test_of_long_errors_the_end_is_kept() -> None:
    shown = shape(TOOL, ran_result(0, stderr="Traceback\n" + "frame\n" * 5000 + "ValueError: x"))["stderr"]
    assert shown.startswith("Traceback\nframe\n")
    assert shown.endswith("frame\nValueError: x")
    assert "24,023 characters left out" in shown


def test_what_does_not_fit_the_budget_is_said() -> None:
    text = content(TOOL, ran_result(5000), 300).text
    assert "only the beginning of stdout is shown: print less, or what matters first" in text
    assert "exit 0 in 23 ms" in text


@pytest.mark.promise("X-06")
def test_a_picture_reaches_a_client_as_a_picture() -> None:
    result = ran_result(0, files=[PICTURE, TABLE])
    told = message(Outcome(ok=True, tool=TOOL, content="x", result=result), "mcp")
    assert told["content"] == [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]
    assert "data" not in told["structuredContent"]["files"][0]
    assert told["structuredContent"]["files"][1] == TABLE
    assert result["files"][0]["data"] == "aGk="


@every("result", ["DRY RUN: nothing was changed.", None, {"files": 3}, {"files": [{"type": "image"}]}])
def test_what_is_no_result_of_a_program_has_no_pictures(result: Any) -> None:
    told = message(Outcome(ok=True, tool=TOOL, content="x", result=result), "mcp")
    assert told["content"] == [{"type": "text", "text": "x"}]

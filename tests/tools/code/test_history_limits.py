"""What the tools that ask git have in common: deadlines, and texts that a terminal would obey."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.executor.messages import content
from support.repositories import Made, ask_blame, ask_diff, ask_log, ask_show, made

ASKED: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, Any]]] = {
    "diff": (ask_diff, {"base": "HEAD~1", "compare": "HEAD"}),
    "log": (ask_log, {"includeDiff": True}),
    "blame": (ask_blame, {"path": "a"}),
    "show": (ask_show, {"commit": "HEAD"}),
}
ORDERS = "\x1b]0;title\x07\x1b[2J\r"


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    repository = made(tmp_path / "repo")
    repository.commit("one", a="1\n")
    return repository


@pytest.mark.promise("C-09")
@pytest.mark.parametrize("tool", ASKED)
def test_a_deadline_that_passes_is_told_with_what_would_be_quicker(
    repository: Made, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("two", a="2\n")
    limits = {"diff": "diff._SECONDS", "blame": "history._SECONDS_BLAME"}
    monkeypatch.setattr(f"rightcall.tools.code.{limits.get(tool, 'history._SECONDS')}", 0.0)
    ask, arguments = ASKED[tool]
    with pytest.raises(ToolFailure, match=r"^git was not done after 0 seconds; (ask|compare) "):
        ask(repository.folder, **arguments)


@pytest.mark.promise("C-04", "C-05", "C-06", "C-07")
@pytest.mark.parametrize("tool", ASKED)
def test_nothing_in_a_history_gives_orders_to_a_terminal(repository: Made, tool: str) -> None:
    repository.write(f"{ORDERS.strip()}name", f"{ORDERS}\n")
    repository.commit(f"{ORDERS} message", author=f"A{ORDERS.strip()}x <a@b>", a=f"{ORDERS}\n")
    ask, arguments = ASKED[tool]
    result = ask(repository.folder, **arguments)
    assert "\x1b" in repr(result).encode().decode("unicode_escape")
    shown = content(f"code/{tool}", result, 4000)
    assert not set("\x1b\x07\r") & set(shown.text + shown.summary)


@pytest.mark.promise("C-04")
def test_a_comparison_of_too_many_files_says_so(repository: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        repository.write(f"file {number}", "x\n")
    repository.commit("two")
    monkeypatch.setattr("rightcall.tools.code.diff._MOST_OUTPUT", 2_000)
    with pytest.raises(ToolFailure, match=r"^Too many files differ; compare fewer files with paths"):
        ask_diff(repository.folder, base="HEAD~1", compare="HEAD")


@pytest.mark.promise("C-05", "C-07")
@pytest.mark.parametrize("most", [100, 1_000, 3_000, 6_000])
def test_a_history_that_is_too_large_is_told_as_far_as_it_was_read(
    repository: Made, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        repository.commit(f"{number}", a="".join(f"{line} {number}\n" for line in range(100)))
    monkeypatch.setattr("rightcall.tools.code.history._MOST_OUTPUT", most)
    if most == 100:
        with pytest.raises(ToolFailure, match="too large"):
            ask_log(repository.folder, includeDiff=True)
        return
    result = ask_log(repository.folder, includeDiff=True)
    commits = result["commits"]
    assert [commit["message"] for commit in commits] == ["4", "3", "2", "1", "0", "one"][: len(commits)]
    assert (result["truncated"], result["totalCommits"]) == (True, len(commits) + 1)
    assert all(commit["stats"]["insertions"] == 100 for commit in commits)


@pytest.mark.promise("C-07")
def test_a_commit_that_is_too_large_is_told_as_far_as_it_was_read(
    repository: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("two", a="".join(f"{line}\n" for line in range(1_000)))
    monkeypatch.setattr("rightcall.tools.code.history._MOST_OUTPUT", 1_000)
    result = ask_show(repository.folder, commit="HEAD")
    assert (result["truncated"], result["commit"]["stats"]) == (True, {"insertions": 999, "deletions": 0})
    kept = [line["content"] for hunk in result["commit"]["diff"][0]["hunks"] for line in hunk["lines"]]
    assert 0 < len(kept) < 1_000
    monkeypatch.setattr("rightcall.tools.code.history._MOST_OUTPUT", 100)
    with pytest.raises(ToolFailure, match="too large"):
        ask_show(repository.folder, commit="HEAD")


@pytest.mark.promise("C-05", "C-07")
def test_a_commit_with_a_huge_file_is_told_without_its_changes(
    repository: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with one of gigabytes, only that git gives up earlier."""
    monkeypatch.setattr("rightcall.tools.git.layout._LARGEST_PIECE", "8m")
    repository.commit("huge", a="2\n", huge=bytes(9 << 20))
    shown = ask_show(repository.folder, commit="HEAD")
    assert (shown["truncated"], shown["commit"]["filesChanged"]) == (True, ["a", "huge"])
    assert shown["commit"]["stats"] == {"insertions": 1, "deletions": 1}
    logged = ask_log(repository.folder, includeDiff=True)
    assert ([commit["message"] for commit in logged["commits"]], logged["truncated"]) == (["huge", "one"], True)
    assert ask_show(repository.folder, commit="HEAD", includeDiff=False)["truncated"] is False
    other = ask_diff(repository.folder, base="HEAD^!", paths=["a"])
    assert (len(other["diffs"]), other["truncated"]) == (1, False)

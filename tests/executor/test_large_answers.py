"""Whatever a tool finds, its result stays data under the executor's cap on output: it is cut at a whole item, says so,
and its sums are those of all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from rightcall import Executor
from support.every import sampled
from support.repositories import Made, made

FREE: dict[str, Any] = {
    "policy": {"repeats": 0, "limits": {name: {"minute": 0, "burst": 0} for name in ("all", "caller")}}
}
CAP = 1_000_000


class Ask:
    """Calls, and sees to it that their results are data, and much of it."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        outcome = self.executor.run({"name": name, "arguments": arguments}, caller="teacher")
        assert outcome.ok, outcome.error
        assert isinstance(outcome.result, dict)
        assert CAP // 4 < len(encode(outcome.result)) <= CAP
        return outcome.result


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    return made(tmp_path / "repo")


@pytest.fixture
def ask(repository: Made) -> Iterator[Ask]:
    with Executor.open_sync(repository.folder, FREE, store="memory") as executor:
        yield Ask(executor)


@pytest.mark.promise("C-06")
def test_blame_of_thousands_of_lines_ends_with_a_whole_one(repository: Made, ask: Ask) -> None:
    repository.commit("s" * 200, a="".join(f"{number}\n" for number in range(6000)))
    result = ask("code/blame", path="a", endLine=5000)
    lines = result["lines"]
    assert (result["truncated"], result["totalLines"]) == (True, 6000)
    assert [line["lineNumber"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["commit"]["message"] == "s" * 200
    following = ask("code/blame", path="a", startLine=len(lines) + 1, endLine=5000)
    assert following["lines"][0]["lineNumber"] == len(lines) + 1


@pytest.mark.promise("C-06")
def test_a_single_line_too_long_to_blame_is_cut_and_says_so(repository: Made, ask: Ask) -> None:
    repository.commit("s" * 100_000, author=f"{'A' * 50_000} <a@b>", a="\x01" * 400_000 + "x" * 600_000 + "\nshort\n")
    result = ask("code/blame", path="a")
    [line] = result["lines"]
    assert result["note"] == f"line 1 is cut after {len(line['content']) - 1:,} of 1,000,000 characters"
    assert (result["truncated"], line["content"][-1]) == (True, "…")


@pytest.mark.promise("C-02")
def test_matches_with_much_around_them_are_counted_to_the_end(repository: Made, ask: Ask) -> None:
    for name in ("a", "b"):
        repository.write(name, ("N" * 400 + "\n") * 150)
    result = ask("code/search", pattern="N", contextLines=20)
    assert (result["truncated"], result["totalMatches"]) == (True, 300)
    assert 10 < len(result["matches"]) < 100
    assert [match["line"] for match in result["matches"]] == list(range(1, len(result["matches"]) + 1))
    assert "Ask for fewer contextLines" in result["note"]


@pytest.mark.promise("C-01", "C-10")
@pytest.mark.parametrize("size", sampled([980_000, 800_000, 1_000_000], 3))
def test_tokens_and_structure_of_a_file_of_one_line_leave_room_for_each_other(
    repository: Made, ask: Ask, size: int
) -> None:
    repository.write("a.js", ("let abcdef = 12345; " * (size // 20)))
    result = ask("code/read", path="a.js", syntaxHighlight=True, includeStructure=True)
    assert f"only the first {len(result['syntaxTokens']):,} syntax tokens are here" in result["note"]
    assert ("line 1 is cut after" in result["note"]) == (len(result["content"]) < size)


@pytest.mark.promise("C-03")
def test_files_with_very_long_paths_are_counted_to_the_end(repository: Made, ask: Ask) -> None:
    folder = repository.folder
    for letter in "abcdefgh":
        folder /= letter * 250
    folder.mkdir(parents=True)
    for number in range(500):
        (folder / f"{number:0240}.txt").touch()
    result = ask("code/list", pattern="**/*.txt")
    assert (result["truncated"], result["totalFiles"]) == (True, 500)
    assert 300 < len(result["files"]) < 500


@pytest.mark.promise("C-04", "C-05", "C-07")
def test_changes_of_many_short_lines_are_cut_and_summed_up(repository: Made, ask: Ask) -> None:
    repository.commit("one", a="")
    repository.commit("two", a="\n" * 20_000)
    compared = ask("code/diff", base="HEAD~1", compare="HEAD")
    assert (compared["truncated"], compared["totalChanges"]["insertions"]) == (True, 20_000)
    assert compared["diffs"][0]["truncated"] is True
    shown = ask("code/show", commit="HEAD")
    assert (shown["truncated"], shown["commit"]["stats"]["insertions"]) == (True, 20_000)
    told = ask("code/log", limit=100, includeDiff=True)
    assert (told["truncated"], len(told["commits"])) == (True, 2)


@pytest.mark.promise("C-04", "C-05")
def test_changes_with_nothing_around_them_are_cut_too(repository: Made, ask: Ask) -> None:
    repository.commit("one", a="x\n\n" * 6_000)
    repository.commit("two", a="y\n\n" * 6_000)
    compared = ask("code/diff", base="HEAD~1", compare="HEAD", contextLines=0)
    assert compared["truncated"] is True
    assert compared["totalChanges"] == {"filesChanged": 1, "insertions": 6_000, "deletions": 6_000}


@pytest.mark.promise("C-04", "C-05", "C-07")
def test_names_of_many_files_are_cut_and_counted(repository: Made, ask: Ask) -> None:
    folder = "/".join(letter * 250 for letter in "abcdefgh")
    for number in range(300):
        repository.write(f"{folder}/{number:0200}", "x\n")
    repository.commit("one")
    shown = ask("code/show", commit="HEAD")
    commit = shown["commit"]
    assert (shown["truncated"], commit["stats"]["insertions"]) == (True, 300)
    assert len(commit["filesChanged"]) + commit["moreFiles"] == 300


@pytest.mark.promise("C-05")
@pytest.mark.parametrize("diff", [False, True])
def test_long_messages_end_a_log_at_a_whole_commit(repository: Made, ask: Ask, diff: bool) -> None:
    for number in range(12):
        repository.commit(f"{number} " + "\x01" * 20_000, a=f"{number}\n")
    result = ask("code/log", limit=100, includeDiff=diff)
    told = len(result["commits"])
    assert (result["truncated"], result["totalCommits"]) == (True, told + 1)
    assert 5 < told < 12
    assert [one["message"].split()[0] for one in result["commits"]] == [str(11 - at) for at in range(told)]


@pytest.mark.promise("C-07")
def test_a_large_file_of_a_commit_is_cut_after_a_whole_line(repository: Made, ask: Ask) -> None:
    repository.commit("one", a="0123456789\x01\n" * 80_000)
    result = ask("code/show", commit="HEAD:a")
    content = result["content"]
    assert (result["truncated"], content[-1]) == (True, "\n")
    assert result["note"] == f"The content is cut after {len(content):,} of 960,000 characters."


@pytest.mark.promise("C-10")
def test_a_structure_too_large_for_one_answer_leaves_the_lines(repository: Made, ask: Ask) -> None:
    repository.write("a.py", "".join(f"def {'名' * 195}{number}(): pass\n" for number in range(500)))
    result = ask("code/read", path="a.py", includeStructure=True)
    assert (result["structure"], result["note"]) == (None, "no structure: it is too large for one answer")
    assert (result["metadata"]["linesReturned"], len(result["content"].splitlines())) == (500, 500)


@pytest.mark.promise("C-11")
def test_records_that_are_too_much_are_counted_all_the_same(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.record.browse._LISTED", 20_000)  # as if there were many more columns
    for number in range(90):
        ask.executor.run({"name": "ping", "arguments": {str(number): "名" * 15_000}}, caller="teacher")
    result = ask("data/list", collection="calls", limit=100)
    assert result["truncated"] is True
    assert 10 < len(result["records"]) < result["total"] == 91
    assert [record["id"] for record in result["records"]] == sorted(
        (record["id"] for record in result["records"]), reverse=True
    )

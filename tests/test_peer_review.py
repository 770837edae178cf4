"""The whole story of `examples/peer_review.py`: what three agents and a person do with a repository, from its own
output and from the repository it leaves."""

import runpy
from pathlib import Path

import pytest

STORY = Path(__file__).parent.parent / "examples" / "peer_review.py"


@pytest.mark.promise("W-01", "W-02", "W-03", "W-04", "W-05", "X-06")
def test_a_bug_is_mended_by_three_agents_and_a_change_that_breaks_the_tests_is_not_merged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runpy.run_path(str(STORY), run_name="__main__")
    first, second = capsys.readouterr().out.split("a change that breaks the tests is not\n")
    assert "finder   code/search: totalMatches 1" in first
    assert "finder   code/execute/python: stdout 2.5 2" in first
    assert "finder   code/commit: branch fix-median, filesChanged 2" in first
    assert "reviewer code/review: id 1, decision approve, status open" in first
    assert "ann      approves code/merge of merger" in first
    assert "merger   code/merge: branch fix-median, filesChanged 2, id 1, status merged" in first
    assert "reviewer code/review: id 2, decision approve, status open" in second
    assert "merger   code/merge: The check (python3 -m unittest discover -q tests) ended with exit status 1" in second
    assert second.splitlines()[-3:] == [
        r"main: 'Merge pull request #1 from fix-median\nA median'",
        "checkout clean: True",
        "stats.py is the reviewed one: True",
    ]

"""Every promise that docs/promises.md calls finished is proven by a test of `make test` that names it."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path(__file__)
TESTS = HERE.parent
PROMISES = (TESTS.parent / "docs" / "promises.md").read_text(encoding="utf-8")
STATES = {"finished", "planned"}


def promised() -> list[str]:
    return re.findall(r"^- ([A-Z]-\d\d) ", PROMISES, re.MULTILINE)


def expand(cell: str) -> Iterator[str]:
    """`N-01 to N-03, H-01` names four promises."""
    for part in cell.split(","):
        first, _, last = part.strip().partition(" to ")
        letter, low = first.split("-")
        high = (last or first).split("-")[1]
        yield from (f"{letter}-{n:02}" for n in range(int(low), int(high) + 1))


def steps() -> list[tuple[str, list[str]]]:
    """(state, promises) for each row of the table."""
    rows = re.findall(r"^\| (?:\d+|later) \|[^|]*\|([^|]*)\|([^|]*)\|$", PROMISES, re.MULTILINE)
    return [(state.strip(), list(expand(cell))) for cell, state in rows]


LONG = re.compile(r"^@pytest\.mark\.long\n(?:[@ )].*\n)*", re.MULTILINE)
MARK = re.compile(r"\.promise\(([^)]*)\)")


def marked(source: str) -> set[str]:
    """The ids in every `pytest.mark.promise(...)` of a test file, wherever it stands, but on a test marked as long.
    By expressions: to parse every test takes seconds."""
    return {name for inside in MARK.findall(LONG.sub("", source)) for name in re.findall(r"[\"'](.+?)[\"']", inside)}


def in_case_files(sources: list[str]) -> set[str]:
    """The ids in tests/cases/*.jsonl, as far as a test file really reads that file."""
    found: set[str] = set()
    for file in sorted((TESTS / "cases").glob("*.jsonl")):
        if any(file.name in source for source in sources):
            cases = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
            found |= {case["promise"] for case in cases if "promise" in case}
    return found


@cache
def proven() -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py")) if path != HERE]
    return in_case_files(sources).union(*map(marked, sources))


def test_every_promise_belongs_to_exactly_one_step() -> None:
    listed = Counter(promise for _, promises in steps() for promise in promises)
    assert sorted(listed) == sorted(promised())
    assert {promise: times for promise, times in listed.items() if times > 1} == {}
    assert {state for state, _ in steps()} <= STATES


def test_every_finished_promise_has_a_test_that_names_it() -> None:
    finished = {promise for state, promises in steps() if state == "finished" for promise in promises}
    assert finished, "docs/promises.md calls nothing finished: is the table still readable?"
    assert sorted(finished - proven()) == []


def test_a_test_names_only_promises_that_exist() -> None:
    assert sorted(proven() - set(promised())) == []


def test_marks_are_found_on_functions_classes_modules_and_parameters() -> None:
    assert marked("@pytest.mark.promise('N-01', 'N-02')\ndef test(): ...") == {"N-01", "N-02"}
    assert marked("pytestmark = pytest.mark.promise('V-03')") == {"V-03"}
    assert marked("pytest.param(1, marks=pytest.mark.promise('H-01'))") == {"H-01"}
    assert marked("@pytest.mark.long\n@pytest.mark.promise('N-01')\ndef test(): ...") == set()
    assert marked("promise = 'N-05'  # a word in passing proves nothing") == set()


def test_a_range_of_promises_means_each_of_them() -> None:
    assert list(expand("N-02 to N-04, H-01")) == ["N-02", "N-03", "N-04", "H-01"]

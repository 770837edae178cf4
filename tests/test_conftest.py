"""The frame itself: the limits that every test runs under, many cases in one test, and the second try of `.ci/run`."""

import os
import socket
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from support import pace
from support.every import every, numbers, sampled

HERE = Path(__file__).parent


def test_a_test_cannot_reach_another_machine() -> None:
    with pytest.raises(RuntimeError, match="tests have no network"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(RuntimeError, match="tests have no network"):
        socket.getaddrinfo("example.invalid", 80)


def test_a_test_that_uses_too_much_cpu_fails_even_inside_a_broad_except(tmp_path: Path) -> None:
    conftest = (HERE / "conftest.py").read_text().replace("CPU_SECONDS = 5", "CPU_SECONDS = 0.2")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_busy.py").write_text(
        "def test_busy():\n    while True:\n        try:\n            sum(range(1000))\n"
        "        except Exception:\n            pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(HERE)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "used more than 0.2 s of CPU" in done.stdout


def test_each_case_is_tried_and_those_that_fail_are_told_by_name() -> None:
    tried: list[tuple[int, str, object]] = []

    @every(("number", "word"), [(1, "a"), pytest.param(2, "b", id="second"), (3, "c")])
    def check(number: int, word: str, fixture: object) -> None:
        tried.append((number, word, fixture))
        assert number == 1, number

    assert list(signature(check).parameters) == ["fixture"]
    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as told:
        check(fixture=None)
    assert tried == [(1, "a", None), (2, "b", None), (3, "c", None)]
    assert [error.__notes__ for error in told.value.exceptions] == [["in the case second"], ["in the case 3, 'c'"]]


def test_of_many_cases_some_are_tried_every_day_and_all_of_them_in_the_long_tests() -> None:
    chosen = sampled("abcdefg", 3)
    assert [case.values for case in chosen] == [(letter,) for letter in "abcdefg"]
    assert [case.values[0] for case in chosen if not case.marks] == ["a", "d", "g"]
    often, later = numbers(3, 10).args[1]
    assert (often.values, later.values) == ((range(3),), (range(3, 10),))
    assert [mark.name for case in (*chosen, often, later) for mark in case.marks] == ["long"] * 5


def test_what_is_known_to_fail_must_fail() -> None:
    known = pytest.mark.xfail(reason="known")

    @every("number", [pytest.param(1, marks=known), pytest.param(2, marks=known), 3], ids=str)
    def check(number: int) -> None:
        assert number != 1

    with pytest.raises(ExceptionGroup, match="1 of 3 cases") as told:
        check()
    assert str(told.value.exceptions[0]) == "the case 2 is known to fail, and does not"


def test_a_fail_outside_of_assertions_ends_it_and_names_the_case() -> None:
    @every("number", [1, 2], ids=["one", "two"])
    def check(number: int) -> None:
        pytest.fail(f"too late for {number}")

    with pytest.raises(pytest.fail.Exception) as told:
        check()
    assert told.value.__notes__ == ["in the case one"]


@pytest.mark.parametrize("marks", [pytest.mark.skip, pytest.mark.skipif(True, reason="")])
def test_no_case_is_silently_dropped(marks: pytest.MarkDecorator) -> None:
    with pytest.raises(AssertionError, match="needs a test of its own"):
        every("number", [pytest.param(1, marks=marks)])
    with pytest.raises(AssertionError, match="no case, no test"):
        every("number", [])


@every("number", range(7), parts=2)
def test_the_parts_are_tests_of_their_own(number: int, request: pytest.FixtureRequest) -> None:
    assert number % 2 == request.node.callspec.params["part_of_cases"]


ROOT = Path(__file__).parent.parent

MIXED = """
from pathlib import Path

def test_alone():
    seen = Path(__file__).with_name("seen")
    assert seen.exists() or seen.touch()

def test_never():
    assert False

def test_always():
    pass
"""
FLAKY = MIXED.replace("assert False", "pass")
MANY = "import pytest\n\n@pytest.mark.parametrize('number', range(6))\ndef test_never(number):\n    assert False\n"
BROKEN = "import nothing_of_this_name\n"


def suite(folder: Path, test: str, *arguments: str) -> tuple[int, list[str]]:
    """Its status, and what it says itself."""
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "suites.py"), "test_it.py", "-q", "--rootdir", str(folder), *arguments],
        env={"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, [
        line for line in done.stdout.splitlines() if line.startswith(("failed beside", "failed twice"))
    ]


@pytest.mark.long
def test_what_fails_only_beside_others_does_not_fail_the_run(tmp_path: Path) -> None:
    said = ["failed beside others, passed alone: test_it.py::test_alone"]
    assert suite(tmp_path, FLAKY, "-p", "xdist.plugin", "-n", "1") == (0, said)


def test_what_fails_twice_fails_the_run(tmp_path: Path) -> None:
    said = ["failed beside others, passed alone: test_it.py::test_alone", "failed twice: test_it.py::test_never"]
    assert suite(tmp_path, MIXED) == (1, said)


@pytest.mark.long
def test_many_failures_and_files_that_cannot_be_loaded_fail_at_once(tmp_path: Path) -> None:
    assert suite(tmp_path, MANY) == (1, [])
    assert suite(tmp_path, BROKEN) == (2, [])  # pytest says it by its status, or with xdist by the name alone
    assert suite(tmp_path, BROKEN, "-p", "xdist.plugin", "-n", "1") == (1, [])


def test_time_of_a_usual_machine_passes_more_slowly_on_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = 0.0

    class Slow:
        """A machine on which the same work takes five times as long."""

        @staticmethod
        def process_time() -> float:
            return spent

        @staticmethod
        def monotonic() -> float:
            return spent

    def work() -> float:
        return 5 * pace._USUAL

    monkeypatch.setattr(pace, "time", Slow)
    monkeypatch.setattr(pace, "_work", work)
    clock = pace._Clock()
    clock.process_time()
    spent = 10.0
    assert clock.process_time() == pytest.approx(2.0)
    monkeypatch.setattr(pace, "_work", lambda: pace._USUAL / 5)  # a fast one has no more to show
    spent = 20.0
    before = clock.process_time()
    spent = 30.0
    assert clock.process_time() - before == pytest.approx(10.0)

"""Cases in one test: all of them are tried, and those that fail are told."""

from inspect import signature

import pytest

from support.every import every


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

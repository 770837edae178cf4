"""The contract: the same failures at every door, with the real package or program, alone and with RightCall."""

from importlib.util import find_spec

import pytest

from contract.cases import FAILURES, make_cases, read_tools
from contract.matrix import MATRIX, measured

TOOLS = read_tools()

QUICK = ("library", "executor", "proxy", "pydantic_ai", "langchain", "openai_agents", "fastmcp", "smolagents")
"""Doors in this very process: other damage costs next to nothing."""


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("door", MATRIX)
def test_a_door_does_about_every_failure_what_is_stated(door: str) -> None:
    cases = make_cases(TOOLS)
    assert measured(door, cases, TOOLS, guarded=True) == MATRIX[door].stated(guarded=True)
    assert measured(door, cases, TOOLS, guarded=False) == MATRIX[door].stated(guarded=False)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("door", QUICK)
def test_a_door_does_the_same_about_other_damage(door: str, seed: int) -> None:
    cases = make_cases(TOOLS, seed)
    assert measured(door, cases, TOOLS, guarded=True) == MATRIX[door].stated(guarded=True)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("door", QUICK)
def test_a_door_does_the_same_for_other_tools(door: str) -> None:
    """The last tool is called wrongly, the first is denied."""
    tools = (TOOLS[2], TOOLS[0], TOOLS[1])
    cases = make_cases(tools, seed=4)
    assert measured(door, cases, tools, guarded=True) == MATRIX[door].stated(guarded=True)


def test_every_failure_has_a_case_and_its_damage_is_real() -> None:
    cases = make_cases(TOOLS)
    assert tuple(case.failure for case in cases) == FAILURES
    for case in cases:
        written = (case.name, case.arguments)
        if case.failure not in ("left in text", "refusal", "approval"):
            assert written != (case.tool, case.meant), case.failure


@pytest.mark.parametrize("door", MATRIX)
def test_every_row_of_the_matrix_has_a_driver(door: str) -> None:
    assert find_spec(f"contract.doors.{door}") is not None

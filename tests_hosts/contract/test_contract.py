"""The contract: the same failures at every door, with the real package or program, alone and with RightCall."""

import os
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from contract.cases import ARGUMENT_SLIPS, FAILURES, Definition, make_cases, read_tools
from contract.matrix import MATRIX, measured, with_table
from contract.places import ROOT
from rightcall import Gate

TOOLS = read_tools()

QUICK = (
    "library",
    "executor",
    "proxy",
    "pydantic_ai",
    "langchain",
    "openai_agents",
    "fastmcp",
    "smolagents",
    "agent_zero",
)
"""Doors in this very process: other damage costs next to nothing."""


def is_as_stated(door: str, seed: int, *, guarded: bool, tools: tuple[Definition, ...] = TOOLS) -> None:
    row = MATRIX[door]
    found = measured(door, make_cases(tools, seed), tools, guarded=guarded)
    stated = row.stated(guarded=guarded)
    if not os.environ.get("AGENT_ZERO"):
        stated |= dict.fromkeys(row.real_only, "unseen")
    assert found == stated


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("door", MATRIX)
def test_a_door_does_about_every_failure_what_is_stated(door: str) -> None:
    is_as_stated(door, 0, guarded=True)
    is_as_stated(door, 0, guarded=False)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("door", QUICK)
def test_a_door_does_the_same_about_other_damage(door: str, seed: int) -> None:
    is_as_stated(door, seed, guarded=True)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("door", QUICK)
def test_a_door_does_the_same_for_other_tools(door: str) -> None:
    """The last tool is called wrongly, the first is denied."""
    is_as_stated(door, 4, guarded=True, tools=(TOOLS[2], TOOLS[0], TOOLS[1]))


AWKWARD = tuple(
    Definition(
        name,
        {"type": "object", "properties": {key: {"type": "string"} for key in keys}, "required": keys},
        f"Does {name}",
        {key: f"some {key} for now" for key in keys},
    )
    for name, keys in (
        ("issue_refund", ["customer-id", "class"]),
        ("close_account", ["customer-id", "why"]),
        ("mail_customer", ["path", "mail text"]),
    )
)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("door", [*QUICK, "wrap"])
def test_a_door_does_the_same_for_arguments_that_python_has_no_name_for(door: str) -> None:
    is_as_stated(door, 2, guarded=True, tools=AWKWARD)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("slip", ARGUMENT_SLIPS)
def test_every_kind_of_wrong_name_is_put_right(slip: Callable[[str], str]) -> None:
    for tool in (*TOOLS, *AWKWARD):
        for name in tool.parameters["required"]:
            written = {slip(name) if key == name else key: value for key, value in tool.example.items()}
            assert slip(name) != name or "-" in name, name
            verdict = Gate([tool.bare]).check(tool.name, written)
            assert verdict.call is not None
            assert (verdict.ok, verdict.call.arguments) == (True, tool.example), written
            assert verdict.confidence >= 0.9, written


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


def test_the_table_in_the_docs_is_the_stated_one() -> None:
    page = (ROOT / "docs" / "hosts" / "index.md").read_text(encoding="utf-8")
    assert page == with_table(page), "run: python scripts/contract.py --write"

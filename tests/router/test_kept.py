"""What is worked out of the tools is worked out once, and never kept beyond what it was made of."""

from collections.abc import Callable
from typing import Any

import pytest

from rightcall import tool
from rightcall.catalog.catalog import Kept
from rightcall.router.toolset import Toolset

pytestmark = pytest.mark.promise("T-09")


def counted() -> tuple[list[int], Callable[[], int]]:
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    return made, make


def test_an_answer_is_made_once_for_each_who_asks_and_anew_when_its_source_is_another() -> None:
    kept: Kept[str, int] = Kept()
    made, make = counted()
    assert [kept.get("ann", (1, "a"), make), kept.get("ann", (1, "a"), make), kept.get("bob", (1, "a"), make)] == [
        0,
        0,
        1,
    ]
    assert (kept.has("ann", (1, "a")), kept.has("ann", (2, "a")), kept.has("eve", (1, "a"))) == (True, False, False)
    assert kept.get("ann", (2, "a"), make) == 2
    assert (kept.get("ann", (1, "a"), make), kept.get("bob", (1, "a"), make)) == (3, 1)
    assert made == [0, 1, 2, 3]


def test_so_many_answers_are_kept_and_no_more() -> None:
    kept: Kept[int, int] = Kept(3)
    _, make = counted()
    for key in (0, 1, 2, 2, 3):
        kept.get(key, None, make)
    assert [key for key in range(4) if kept.has(key, None)] == [3]
    kept.get(3, "another", make)
    assert kept.has(3, "another")


def test_all_steps_of_a_request_share_a_gate_of_all_tools_or_of_many_the_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definitions = [{"name": name, "parameters": {"type": "object"}} for name in ("read", "write", "send")]
    few = Toolset(definitions, None, None)
    assert set(few.gate(["send"]).catalog.tools) == {"read", "write", "send"}
    assert few.gate(["send"]) is few.gate(["read"])
    monkeypatch.setattr("rightcall.router.toolset._MOST_IN_A_GATE", 2)
    tools = Toolset(definitions, None, None)
    gate = tools.gate(["read", "write"])
    assert tools.gate(iter(["write", "read", "unknown"])) is gate
    assert set(gate.catalog.tools) == {"read", "write"}
    assert set(tools.gate(["send"]).catalog.tools) == {"send"}

    @tool(effects=["read"])
    def add(a: int, b: int) -> int:
        return a + b

    functions: Any = Toolset([add], None, None)
    assert functions.gate(["add"]) is functions.gate(["add"])

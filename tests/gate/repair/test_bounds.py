"""However many values and alternatives there are, the work on one call has an end."""

from typing import Any

import pytest

from rightcall.base.json.shape import Shape, shape_of
from rightcall.gate.repair.log import MOST_ATTEMPTS, Log
from rightcall.gate.repair.values import fit


def branches(count: int) -> Shape:
    return shape_of({"anyOf": [branch(number) for number in range(count)]})


def branch(number: int) -> dict[str, Any]:
    properties = {"type": {"const": f"act{number}"}, "n": {"type": "integer"}}
    return {"type": "object", "required": ["type", "n"], "additionalProperties": False, "properties": properties}


@pytest.mark.promise("N-13")
def test_among_many_alternatives_the_one_that_a_constant_names_is_tried() -> None:
    log = Log()
    assert fit({"type": "act7", "n": "5"}, branches(100), "a", log) == {"type": "act7", "n": 5}
    assert log.attempts == [MOST_ATTEMPTS - 1]


@pytest.mark.promise("N-13")
def test_many_alternatives_that_nothing_names_are_not_tried() -> None:
    log = Log()
    given = {"type": "ACT7", "n": "5"}
    assert fit(given, branches(100), "a", log) is given
    assert not log.repairs
    assert fit(given, branches(20), "a", log) == {"type": "act7", "n": 5}


@pytest.mark.promise("N-13")
def test_the_tries_of_one_call_are_counted_together() -> None:
    log, shape = Log(), shape_of({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}})
    fitted = fit(["5"] * (MOST_ATTEMPTS // 2 + 1), shape, "a", log)
    assert fitted == [5] * (MOST_ATTEMPTS // 2) + ["5"]


@pytest.mark.promise("N-13")
def test_trials_draw_from_the_same_store() -> None:
    log = Log()
    assert log.trial().may_try(MOST_ATTEMPTS)
    assert not log.may_try(1)

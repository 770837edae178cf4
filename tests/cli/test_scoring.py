"""How `rightcall eval` judges, on cases of our own."""

import math
from typing import Any

from rightcall.cli.corpora import CallCase, equal, fits, is_core, judge_call, judge_json
from support.every import every


@every(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (math.nan, math.nan, True),
        (0.1 + 0.2, 0.3, True),
        (10**20, 10**20 + 1, False),
        (10**400, 1.5, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ("a ", "a", False),
        (None, "", False),
        (None, None, True),
        ({}, [], False),
    ],
)
def test_json_values_are_compared_by_meaning(one: Any, other: Any, same: bool) -> None:
    assert equal(one, other) is same
    assert equal(other, one) is same


def test_an_absent_member_equals_a_null_one_only_where_that_is_asked_for() -> None:
    assert equal([{"a": 1, "b": None}], [{"a": 1}], null_is_absent=True)
    assert not equal([{"a": 1, "b": None}], [{"a": 1}])


ACCEPTED = {"city": ["Rome", "Roma"], "days": ["", 3], "near": [{"lat": [41.9], "lon": [12.5, ""]}]}


@every(
    ("arguments", "right"),
    [
        ({"city": "Rome", "days": 3, "near": {"lat": 41.9, "lon": 12.5}}, True),
        ({"city": "Roma", "near": {"lat": 41.9}}, True),
        ({"city": "Roma", "near": {"lat": 41.9}, "extra": 1}, False),
        ({"city": "Milan", "near": {"lat": 41.9}}, False),
        ({"city": "Rome"}, False),
        ({"city": "Rome", "near": {"lat": 41.9, "alt": 1}}, False),
        ({"city": "Rome", "days": "3", "near": {"lat": 41.9}}, False),
        ({"city": "Rome", "days": True, "near": {"lat": 41.9}}, False),
        (["Rome"], False),
        (None, False),
    ],
)
def test_arguments_fit_when_each_has_one_of_its_right_values(arguments: Any, right: bool) -> None:
    assert fits(arguments, ACCEPTED) is right


def test_a_list_of_objects_is_compared_member_by_member() -> None:
    accepted = {"people": [[{"name": ["Ann"]}, {"name": ["Bob", "Rob"]}]]}
    assert fits({"people": [{"name": "Ann"}, {"name": "Rob"}]}, accepted)
    assert not fits({"people": [{"name": "Rob"}, {"name": "Ann"}]}, accepted)
    assert not fits({"people": [{"name": "Ann"}]}, accepted)


def call(**changes: Any) -> str:
    emitted = {"city": "Rome"}
    came: dict[str, Any] = {"ok": True, "arguments": {"city": "Rome"}, "touched": True}
    came |= {name: changes.pop(name) for name in came if name in changes}
    case: dict[str, Any] = {"emitted": emitted, "accepted": {"city": ["Rome"]}} | changes
    return judge_call(CallCase(**case), **came)


def test_a_damaged_call_is_restored_refused_or_wrong() -> None:
    assert call() == "restored"
    assert call(ok=False) == "refused"
    assert call(arguments={"city": "Paris"}) == "wrong"


def test_accepting_a_call_that_nobody_can_restore_is_wrong() -> None:
    assert call(recoverable=False) == "wrong"
    assert call(recoverable=False, ok=False) == "refused"


def test_a_clean_call_must_come_back_as_the_same_object_without_a_repair() -> None:
    emitted = {"city": "Rome"}
    assert call(clean=True, emitted=emitted, arguments=emitted, touched=False) == "restored"
    assert call(clean=True, emitted=emitted, arguments=dict(emitted), touched=False) == "wrong"
    assert call(clean=True, emitted=emitted, arguments=emitted, touched=True) == "wrong"
    assert call(clean=True, emitted='{"city": "Rome"}', touched=False) == "restored"


CASE = {"text": "{a: 1", "expected": {"a": 1}, "kind": "plain"}


@every(
    ("case", "flag", "refused", "value", "outcome"),
    [
        (CASE, {}, False, {"a": 1}, "exact"),
        (CASE, {}, False, {"a": 2}, "wrong"),
        (CASE, {}, True, None, "refused"),
        (CASE, {"refuse_ok": True}, True, None, "refused_ok"),
        (CASE, {"also_accept": [{"a": 2}]}, False, {"a": 2}, "accepted"),
        (CASE, {"corrected": {"a": 3}}, False, {"a": 3}, "exact"),
        (CASE, {"corrected": {"a": 3}}, False, {"a": 1}, "wrong"),
        (CASE | {"schema": {"type": "object"}}, {}, False, {"a": 1, "b": None}, "exact"),
        (CASE, {}, False, {"a": 1, "b": None}, "wrong"),
        ({"expected": None, "kind": "no_json"}, {}, True, None, "exact"),
        ({"expected": None, "kind": "no_json"}, {}, False, "", "accepted"),
        ({"expected": None, "kind": "no_json"}, {}, False, {}, "wrong"),
        ({"expected": None, "kind": "unrepairable"}, {}, False, None, "wrong"),
        (CASE, {"corrected_kind": "unrepairable"}, True, None, "exact"),
    ],
)
def test_a_json_text_is_exact_accepted_refused_or_wrong(
    case: dict[str, Any], flag: dict[str, Any], refused: bool, value: Any, outcome: str
) -> None:
    assert judge_json(case, flag, refused=refused, value=value) == outcome


def test_flagged_cases_are_no_core_cases_unless_their_expectation_was_corrected() -> None:
    assert is_core({})
    assert not is_core({"flag": "convention"})
    assert is_core({"flag": "bug", "corrected": 1})

"""The gate as a user meets it: what fits is left alone, whatever it came as; nothing a model wrote makes it raise."""

import json
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest

from rightcall import Call, Gate, Verdict
from rightcall.catalog.tool import PackTool
from support.every import every

FORECAST = {
    "name": "forecast",
    "parameters": {
        "type": "object",
        "required": ["city"],
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "where": {"type": "object", "properties": {"lat": {"type": "number"}}},
            "extra": {"type": "object"},
        },
    },
}


@pytest.fixture
def gate() -> Gate:
    return Gate([FORECAST])


@pytest.mark.promise("N-01")
@pytest.mark.parametrize(
    "arguments",
    [
        {"city": "Bern"},
        {"city": "", "days": 0},
        {"city": 'it\'s "quoted"', "where": {"lat": 1.0}},
        {"city": "Bern", "extra": {"anything": [1, {"b": None}]}},
        {"city": "{'a': 1}"},
        {"city": "5"},
    ],
)
def test_what_fits_comes_back_as_the_same_object(gate: Gate, arguments: dict[str, Any]) -> None:
    verdict = gate.check("forecast", arguments, call_id="c1")
    assert verdict.call is not None
    assert verdict.call.arguments is arguments
    assert verdict == Verdict(True, Call("forecast", arguments, "c1"), Call("forecast", arguments, "c1"))
    assert (verdict.strategy, verdict.repairs, verdict.confidence) == ("direct", (), 1.0)


@pytest.mark.promise("N-01")
@pytest.mark.parametrize("packs", [(), ("agent-zero", "claude", "code")])
def test_what_fits_is_direct_whatever_packs_are_loaded(packs: tuple[str, ...]) -> None:
    arguments = {"city": "Bern"}
    verdict = Gate([FORECAST], packs=packs).check("forecast", arguments)
    assert verdict.call is not None
    assert verdict.call.arguments is arguments


@pytest.mark.promise("N-01")
@pytest.mark.parametrize(
    "text", ['{"city": "Bern", "days": 3}', ' {"days":3,"city":"Bern"}\n', b'{"city": "Bern", "days": 3}']
)
def test_json_that_fits_is_read_and_left_alone(gate: Gate, text: Any) -> None:
    verdict = gate.check("forecast", text)
    assert verdict.call is not None
    assert verdict.call.arguments == {"city": "Bern", "days": 3}
    assert (verdict.ok, verdict.strategy, verdict.repairs) == (True, "direct", ())


@pytest.mark.promise("N-01")
def test_the_slow_way_leaves_what_fits_alone_too() -> None:
    """A tool whose rules the compiled check cannot decide goes the long way, and comes back untouched as well."""
    gate = Gate(packs=["edit-files"])
    arguments = {"operations": '[{"type": "delete", "path": "a.sh"}]'}
    verdict = gate.check("edit_files", arguments)
    assert verdict.call is not None
    assert verdict.call.arguments is arguments
    assert (verdict.strategy, verdict.repairs) == ("direct", ())


@pytest.mark.promise("N-09")
def test_a_call_that_lacks_a_declared_default_gets_it_in_a_new_object() -> None:
    gate = Gate([FORECAST], {"gate": {"tools": {"forecast": {"defaults": {"days": 7}}}}})
    lacking, whole = {"city": "Bern"}, {"city": "Bern", "days": 2}
    filled = gate.check("forecast", lacking)
    assert filled.call is not None
    assert (filled.call.arguments, lacking) == ({"city": "Bern", "days": 7}, {"city": "Bern"})
    assert (filled.strategy, filled.repairs, filled.confidence) == ("direct", (), 1.0)
    assert gate.check("forecast", whole).call.arguments is whole  # type: ignore[union-attr]


@pytest.mark.promise("N-09")
def test_a_default_of_the_schema_is_never_filled_in() -> None:
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "integer", "default": 5}}}}
    arguments: dict[str, Any] = {}
    assert Gate([tool]).check("t", arguments).call.arguments is arguments  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "arguments",
    [OrderedDict(city="Bern"), MappingProxyType({"city": "Bern"}), bytearray(b"{'city': 'Bern'}"), "{'city': 'Bern'}"],
    ids=lambda value: type(value).__name__,
)
def test_arguments_may_come_in_many_forms(gate: Gate, arguments: Any) -> None:
    verdict = gate.check("forecast", arguments)
    assert verdict.ok
    assert verdict.call is not None
    assert dict(verdict.call.arguments) == {"city": "Bern"}


@every("nothing", [None, "", "  ", "null", {}])
def test_no_arguments_are_no_arguments(nothing: Any) -> None:
    gate = Gate([{"name": "ping", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}])
    verdict = gate.check("ping", nothing)
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments == {}


@pytest.mark.promise("N-11", "N-13")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"city": "x\ud800"}, "text"),
        ({"city": "Bern", "extra": {"a": float("nan")}}, "number"),
        ({"city": "Bern", "days": float("inf")}, "number"),
        ({"city": "Bern", "extra": {"__proto__": 1}}, "reserved_key"),
        ({"city": b"Bern"}, "type"),
        ({"city": "Bern", 5: 1}, "type"),
        ({"city": {"Bern"}}, "type"),
        ({"city": object()}, "type"),
        (5, "type"),
        ([1, 2], "type"),
        (b"\xff\xfe", "text"),
        (object(), "type"),
    ],
)
def test_what_no_call_may_carry_is_refused_without_a_fault(gate: Gate, arguments: Any, code: str) -> None:
    verdict = gate.check("forecast", arguments)
    assert not verdict.ok
    codes = {problem.code for problem in verdict.problems}
    assert code in codes
    assert "fault" not in codes
    assert verdict.hint


@pytest.mark.promise("N-13")
@pytest.mark.parametrize("name", ["", "forecasts", "\ud800", "x" * 10_000, 5, None, ["forecast"]])
def test_a_name_that_is_no_tool_is_refused_with_the_call_in_the_verdict(gate: Gate, name: Any) -> None:
    verdict = gate.check(name, {"city": "Bern"})
    assert not verdict.ok
    assert [problem.code for problem in verdict.problems] == ["unknown_tool"]
    assert verdict.call is not None
    assert verdict.call.arguments == {"city": "Bern"}
    assert verdict.retry


@pytest.mark.promise("N-12")
def test_found_is_the_call_as_it_was_read(gate: Gate) -> None:
    verdict = gate.check("Forecast", "{'City': 'Bern', 'days': '3'}", call_id="c1")
    assert verdict.found == Call("Forecast", {"City": "Bern", "days": "3"}, "c1")
    assert verdict.call == Call("forecast", {"city": "Bern", "days": 3}, "c1")
    assert gate.check("forecast", "no call at all").found is None


@pytest.mark.promise("N-11")
def test_found_keeps_the_last_of_a_key_that_stands_twice(gate: Gate) -> None:
    verdict = gate.check("forecast", '{"city": "Bern", "city": "Rom"}')
    assert (verdict.ok, verdict.found) == (False, Call("forecast", {"city": "Rom"}))


@pytest.mark.promise("R-08")
def test_a_call_that_was_cut_off_is_marked_whatever_became_of_it(gate: Gate) -> None:
    complete, cut = gate.check("forecast", '{"city": "Bern"'), gate.check("forecast", '{"city": "Ber')
    assert (complete.ok, complete.truncated) == (True, True)
    assert (cut.ok, cut.truncated) == (False, True)
    assert "truncated" in (cut.hint or "")


@pytest.mark.promise("N-14")
def test_a_repair_of_ones_own_is_one_line() -> None:
    gate = Gate([FORECAST], repairs={"forecast": lambda given: {"city": given["q"].title()} if "q" in given else None})
    verdict = gate.check("forecast", {"q": "bern"})
    assert verdict.call is not None
    assert verdict.call.arguments == {"city": "Bern"}
    (repair,) = verdict.repairs
    assert (repair.rule, repair.strategy, repair.before) == ("tool_repair", "manual_repair", {"q": "bern"})
    assert verdict.strategy == "manual_repair"


@pytest.mark.promise("N-14")
def test_a_repair_of_ones_own_can_be_registered_later_and_leaves_what_fits_alone(gate: Gate) -> None:
    @gate.repair("forecast")
    def never(_: dict[str, Any]) -> dict[str, Any] | None:
        raise AssertionError("a call that fits needs no repair")

    assert gate.check("forecast", {"city": "Bern"}).ok
    broken = gate.check("forecast", {"town": "Bern"})
    assert (broken.ok, [problem.code for problem in broken.problems]) == (False, ["fault"])


@pytest.mark.promise("N-13", "N-14")
def test_what_a_repair_of_ones_own_returns_must_fit_too() -> None:
    gate = Gate([FORECAST], repairs={"forecast": lambda _: {"city": ["a", "b"]}})
    assert not gate.check("forecast", {"days": 1}).ok


@pytest.mark.promise("N-14")
@pytest.mark.parametrize(
    "operations",
    [
        "[{'type': 'modify', 'path': 'fibonacci.sh', 'content': 'echo 1'}]",
        '[{"type": "modify", "path": "fibonacci.sh", "content": "echo 1"}]',
        [{"type": "modify", "path": "fibonacci.sh", "content": "echo 1"}],
    ],
)
def test_operations_may_be_json_python_or_a_list(operations: Any) -> None:
    verdict = Gate(packs=["edit-files"]).check("edit_files", {"operations": operations})
    assert verdict.ok
    assert verdict.call is not None
    found = verdict.call.arguments["operations"]
    expected = [{"type": "modify", "path": "fibonacci.sh", "content": "echo 1"}]
    assert (json.loads(found) if isinstance(found, str) else found) == expected


@pytest.mark.promise("N-13")
def test_a_gate_without_tools_reports_well_formed_calls_as_they_are() -> None:
    arguments = {"any": [1, "x"]}
    verdict = Gate().check("anything", arguments)
    assert verdict.call is not None
    assert (verdict.ok, verdict.call.arguments is arguments, verdict.strategy) == (True, True, "direct")
    assert Gate().check("anything", "{'a': 1}").call == Call("anything", {"a": 1})
    assert not Gate().check("anything", "nothing to read").ok
    assert not Gate().check("anything", '{"a": 1, "a": 2}').ok


@pytest.mark.promise("N-13")
def test_an_error_of_ours_is_a_verdict_and_not_an_exception(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr("rightcall.gate.judge.judge", broken)
    verdict = gate.check("forecast", {"days": 1})
    assert (verdict.ok, [problem.code for problem in verdict.problems]) == (False, ["fault"])
    assert "ours" not in (verdict.hint or "")


@pytest.mark.promise("N-11", "N-73")
@every(
    ("value", "ok"),
    [
        (3, True), (2**63, True), (2**64, True), (-(10**30), True), (1e30, True), (10**1000, True),
        (10**2000, False), (-(10**2000), False), (float("nan"), False), (float("inf"), False),
    ],
)  # fmt: skip
@every("kind", [{"type": "number"}, {"oneOf": [{"type": "number"}, {"type": "null"}]}])
def test_numbers_of_any_size_that_a_tool_can_use_are_right(value: float, ok: bool, kind: dict[str, Any]) -> None:
    gate = Gate([{"name": "measure", "parameters": {"type": "object", "properties": {"n": kind}}}])
    given = {"n": value}
    verdict = gate.check("measure", given)
    assert verdict.ok is ok
    assert verdict.strategy == ("direct" if ok else "failed")
    assert not ok or (verdict.call is not None and verdict.call.arguments is given)


@pytest.mark.promise("N-11", "N-73")
@every(
    ("kind", "value"),
    [
        ({"type": "string"}, "a\ud800"),
        ({"type": "array", "items": {"type": "string"}}, ["\udfff"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a\ud800": "x"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "\ud800"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "\ud800"),
        ({"type": ["string", "null"], "minLength": 1}, "\ud800"),
        ({}, {"deep": ["\ud800"]}),
    ],
)
def test_half_a_surrogate_pair_is_refused_wherever_a_text_may_stand(kind: dict[str, Any], value: Any) -> None:
    gate = Gate([{"name": "note", "parameters": {"type": "object", "properties": {"v": kind}}}])
    verdict = gate.check("note", {"v": value})
    assert not verdict.ok
    assert [problem.code for problem in verdict.problems] == ["text"]


def test_of_a_tool_that_is_compiled_with_its_first_call_nothing_is_raised_either() -> None:
    class Odd(str):
        __hash__ = None  # pyright: ignore[reportAssignmentType]

    wrong = {"type": "object", "properties": {"v": {"type": "string", "minLength": -1}}}
    gate = Gate([PackTool("right", is_tried=True), PackTool("wrong", "", wrong, is_tried=True)])
    assert gate.check(Odd("right"), {}).ok
    assert [gate.check("wrong", {"v": "x"}).ok for _ in range(2)] == [False, False]


def test_a_name_and_arguments_in_the_wrong_order_are_told_so_and_nothing_is_raised() -> None:
    gate = Gate([{"name": "add", "parameters": {"type": "object"}}])
    swapped: Any = {"n": 1}
    verdict = gate.check(swapped, "add")
    assert not verdict.ok
    assert verdict.problems[0].message == "The name of the tool comes first: `check(name, arguments)`"

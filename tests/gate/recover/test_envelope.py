"""From a JSON value to the calls in it: every common envelope (R-03), and what is none (R-06)."""

from typing import Any

import pytest

from rightcall.base.json.shape import Shape
from rightcall.gate.recover.objects import ARGUMENTS, NAMES, calls_in, may_hold_call, written_name
from rightcall.gate.recover.window import Tools
from support.every import every

CITY = {"city": "Bern"}


class Weather(Tools):
    known = True

    def name(self, name: str) -> str | None:
        return name if name == "get_weather" else None

    def shape(self, name: str) -> Shape:
        shape = Shape()
        shape.props = {"city": Shape(), "days": Shape()}
        return shape


def found(value: Any, *, marked: bool = True) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in calls_in(value, Weather(), marked=marked)]


@pytest.mark.promise("R-03")
@every("name", NAMES)
@every("arguments", ARGUMENTS)
@every("marked", [True, False], ids=["marked", "bare"])
def test_any_name_goes_with_any_arguments(name: str, arguments: str, marked: bool) -> None:
    assert found({name: "get_weather", arguments: CITY}, marked=marked) == [("get_weather", CITY)]


@pytest.mark.promise("R-03")
@every(
    "value",
    [
        {"function": {"name": "get_weather", "arguments": CITY}},
        {"type": "function", "id": "1", "function": {"name": "get_weather", "arguments": CITY}},
        {"tool_call": {"name": "get_weather", "arguments": CITY}},
        {"functionCall": {"name": "get_weather", "args": CITY}},
        {"tool_calls": [{"name": "get_weather", "arguments": CITY}]},
        [{"name": "get_weather", "arguments": CITY}],
        {"get_weather": CITY},
        {"name": " get_weather ", "arguments": CITY},
        {"name": "get_weather", "city": "Bern"},
        {"name": "get_weather", "arguments": {}, "city": "Bern"},
    ],
    ids=str,
)
def test_an_envelope_between_markers(value: Any) -> None:
    assert found(value) == [("get_weather", CITY)]


@pytest.mark.promise("R-03")
def test_arguments_beside_are_joined() -> None:
    value = {"name": "get_weather", "days": 3, "city": "Bern", "thought": "hm", "arguments": CITY}
    assert found(value) == [("get_weather", {"city": "Bern", "days": 3})]


@pytest.mark.promise("R-03", "N-11")
@pytest.mark.parametrize(
    "value",
    [
        {"name": "get_weather", "city": "Rome", "arguments": CITY},
        {"name": "get_weather", "arguments": CITY, "parameters": {"city": "Rome"}},
    ],
)
def test_where_two_things_are_said_none_is_chosen(value: dict[str, Any]) -> None:
    (call,) = calls_in(value, Weather(), marked=True)
    assert call.arguments is None
    assert call.fault


@pytest.mark.promise("R-03")
@pytest.mark.parametrize("key", ["id", "call_id", "tool_call_id"])
def test_the_id_of_a_call_is_kept(key: str) -> None:
    (call,) = calls_in({key: "c7", "name": "get_weather", "arguments": CITY}, Weather(), marked=True)
    assert call.id == "c7"


@pytest.mark.promise("R-06")
@every(
    "value",
    [
        {"name": "get_weather"},
        {"name": "get_weather", "arguments": ["Bern"]},
        {"name": "get_weather", "arguments": "Bern"},
        {"name": "get_weather", "arguments": 3},
        {"name": "get weather", "arguments": CITY},
        {"name": 3, "arguments": CITY},
        {"name": "get_weather", "description": "x", "parameters": {"type": "object", "properties": {}}},
        {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {}}}},
        {"role": "tool", "name": "get_weather", "arguments": CITY},
        {"name": "get_weather", "arguments": CITY, "result": 4},
        {"get_weather": CITY},
        {},
        [],
        [1, "a", None],
        "get_weather",
        None,
    ],
    ids=str,
)
def test_what_is_no_call_without_a_marker(value: Any) -> None:
    assert found(value, marked=False) == []


@pytest.mark.promise("R-06")
def test_a_look_before_decoding_misses_no_envelope() -> None:
    for name in NAMES:
        assert may_hold_call(f'{{"{name}" : "x"}}')
        assert may_hold_call(f"{{'{name}': 'x'}}")
    assert not may_hold_call('{"a": "name of it"}')


@pytest.mark.promise("R-08")
@every(
    ("text", "name"),
    [('{"name": "get_weather", "arg', "get_weather"), ("{'tool' : 'x'", "x"), ('{"name": "get_wea', ""), ("{}", "")],
)
def test_the_name_in_a_damaged_envelope_is_told(text: str, name: str) -> None:
    assert written_name(text) == name

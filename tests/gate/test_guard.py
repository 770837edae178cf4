"""`guard` and `run_calls`: functions that a model may call, with whatever it wrote, and one turn of an agent loop."""

import asyncio
import dataclasses
import datetime
import enum
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pydantic
import pytest

from rightcall import Gate
from rightcall.errors import ToolError
from rightcall.gate.guard import Refused, arun_calls, guard, run_calls
from rightcall.policy.trust import put_stop
from rightcall.policy.types import PAUSED, Pause
from support.every import every


def weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather of a city."""
    return f"{city} {days} {unit}"


@pytest.mark.promise("H-01")
@every(
    "raw",
    [
        '{"city": "Oslo", "days": 3}',
        '{"city": "Oslo", "days": "3"}',
        "{'city': 'Oslo', 'days': 3}",
        '```json\n{city: "Oslo", "days": 3,}\n```',
        {"city": "Oslo", "days": "3"},
    ],
)
def test_a_guarded_function_takes_what_the_model_wrote(raw: object) -> None:
    assert guard(weather)(raw) == "Oslo 3 celsius"


@pytest.mark.promise("H-01")
def test_a_guarded_function_takes_keywords_and_repairs_them() -> None:
    assert guard(weather)(city="Oslo", days="2", unit="Fahrenheit") == "Oslo 2 fahrenheit"


@pytest.mark.promise("H-01")
def test_three_lines_wrap_a_function() -> None:
    from rightcall import guard

    safe = guard(weather)
    assert safe("{'city': 'Rome'}") == "Rome 1 celsius"


@pytest.mark.promise("H-01", "V-03")
def test_a_call_that_lacks_something_is_not_run_and_says_what() -> None:
    ran: list[str] = []

    @guard
    def send(to: str, body: str) -> None:
        ran.append(to)

    refused = send('{"to": "ann"}')
    assert isinstance(refused, Refused)
    assert ran == []
    assert "body" in str(refused)
    assert str(refused) == refused.verdict.hint
    assert refused.message("openai")["content"] == refused.verdict.hint


def test_a_text_cut_off_inside_a_value_is_not_run() -> None:
    assert isinstance(guard(weather)('{"city": "Os'), Refused)


def test_text_that_is_no_call_gives_a_refusal_and_no_exception() -> None:
    refused = guard(weather)("I would rather not")
    assert isinstance(refused, Refused)
    assert str(refused)


@pytest.mark.promise("H-01")
def test_an_asynchronous_function_stays_asynchronous() -> None:
    @guard
    async def double(n: int) -> int:
        return 2 * n

    assert inspect.iscoroutinefunction(double)
    assert asyncio.run(double("{'n': '4'}")) == 8
    assert isinstance(asyncio.run(double("{}")), Refused)


def test_functions_share_the_gate_they_are_given() -> None:
    gate = Gate([weather])
    safe = guard(gate=gate)(weather)
    safe(city="Oslo")
    safe("{'city': 'Oslo'}")
    assert gate.stats()["total_calls"] == 2


def test_a_gate_that_does_not_know_the_function_is_refused_at_once() -> None:
    with pytest.raises(ToolError, match="no tool `weather`"):
        guard(weather, gate=Gate([]))


def test_what_the_function_raises_passes_through() -> None:
    @guard
    def divide(a: int, b: int) -> float:
        return a / b

    with pytest.raises(ZeroDivisionError):
        divide(a=1, b=0)


def test_the_wrapped_function_keeps_its_name_signature_and_original() -> None:
    safe = guard(weather)
    assert safe.__name__ == "weather"
    assert inspect.signature(safe) == inspect.signature(weather)
    assert inspect.unwrap(safe) is weather


@pytest.mark.parametrize(("args", "kwargs"), [(("Oslo", 2), {}), (("Oslo",), {"days": 2})])
def test_positional_arguments_as_in_a_plain_call_are_a_mistake_of_the_programmer(
    args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    with pytest.raises(TypeError, match="one dict or text"):
        guard(weather)(*args, **kwargs)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Size(pydantic.BaseModel):
    width: int


def test_values_arrive_in_the_types_the_function_declares() -> None:
    @guard
    def draw(at: Point, colour: Colour, on: datetime.date, tags: set[str], path: Path, size: Size) -> list[Any]:
        return [at, colour, on, tags, path, size]

    arguments = {
        "at": {"x": 1},
        "colour": "red",
        "on": "2026-11-15",
        "tags": ["a", "b"],
        "path": "out.png",
        "size": {"width": 3},
    }
    day = datetime.date(2026, 11, 15)
    assert draw(arguments) == [Point(1), Colour.RED, day, {"a", "b"}, Path("out.png"), Size(width=3)]


def test_a_value_its_declared_type_cannot_hold_is_refused_not_passed_on() -> None:
    @guard
    def plan(on: datetime.date) -> str:
        return on.isoformat()

    refused = plan(on="the day after tomorrow")
    assert isinstance(refused, Refused)
    assert "on" in str(refused)
    assert refused.verdict.ok is False


def test_a_type_nobody_can_make_from_json_is_left_as_the_value() -> None:
    class Opaque:
        pass

    @guard
    def take(thing: Opaque, either: Point | Size | None = None) -> object:
        return thing

    assert take({"thing": {"a": 1}}) == {"a": 1}


def test_null_stays_none() -> None:
    @guard
    def find(query: str | None) -> object:
        return query

    assert find({"query": None}) is None


def test_a_method_is_guarded_when_bound_and_explained_when_not() -> None:
    class Shop:
        def price(self, item: str) -> str:
            return f"{item}: 3"

    assert guard(Shop().price)("{'item': 'tea'}") == "tea: 3"
    with pytest.raises(ToolError, match="bound method"):
        guard(Shop.price)


def test_functions_a_model_cannot_call_are_refused_when_wrapped() -> None:
    def positional(a: int, /) -> int:
        return a

    with pytest.raises(ToolError, match="positional-only"):
        guard(positional)
    with pytest.raises(ToolError, match="has no name"):
        guard(lambda a: a)


def test_in_warn_mode_the_call_runs_repaired() -> None:
    gate = Gate([weather], policy={"gate": {"mode": "warn"}})
    assert guard(weather, gate=gate)("{'city': 'Oslo', 'days': '2'}") == "Oslo 2 celsius"


def add(a: int, b: int) -> int:
    return a + b


def greet(name: str) -> str:
    return f"Hello {name}"


def openai(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.promise("H-01")
def test_every_call_is_answered_in_order_and_in_shape() -> None:
    calls = [openai("add", "{'a': '1', b: 2}", "c1"), openai("greet", '{"name": "Ann"}', "c2")]
    assert run_calls(Gate([add, greet]), [add, greet], calls) == [
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": "Hello Ann"},
    ]


@pytest.mark.promise("H-01")
def test_anthropic_blocks_are_answered_with_tool_results() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": "2"}}
    assert run_calls(Gate([add]), [add], [block]) == [{"type": "tool_result", "tool_use_id": "t1", "content": "3"}]


def test_objects_of_an_sdk_are_read_as_well_as_dicts() -> None:
    call = SimpleNamespace(id="c1", function=SimpleNamespace(name="greet", arguments='{"name": "Ann"}'))
    assert run_calls(Gate([greet]), {"greet": greet}, [call])[0]["content"] == "Hello Ann"


@pytest.mark.promise("H-01", "V-03")
def test_a_refused_call_is_answered_with_the_hint_and_its_id() -> None:
    (answer,) = run_calls(Gate([add]), [add], [openai("add", '{"a": 1}')])
    assert answer["role"] == "tool"
    assert answer["tool_call_id"] == "c1"
    assert "b" in answer["content"]


@pytest.mark.parametrize("arguments", ["no call at all", '{"a": 1, "b', None])
def test_a_call_nobody_can_read_keeps_its_id(arguments: str | None) -> None:
    block = {"type": "tool_use", "id": "t9", "name": "add", "input": arguments}
    (answer,) = run_calls(Gate([add]), [add], [block])
    assert answer["tool_use_id"] == "t9"
    assert answer["is_error"] is True


def test_a_wrong_tool_name_that_is_certain_runs_the_right_function() -> None:
    assert run_calls(Gate([add]), [add], [openai("functions.add", '{"a": 1, "b": 2}')])[0]["content"] == "3"


def test_a_tool_the_gate_passes_but_nobody_can_run_is_answered_with_the_tools_there_are() -> None:
    gate = Gate([add], policy={"gate": {"unknown_tool": "pass"}})
    (answer,) = run_calls(gate, [add], [openai("launch_rocket", "{}")])
    assert answer["content"] == "Unknown tool `launch_rocket`. Tools: add."


def test_a_guarded_function_in_the_table_is_fine_too() -> None:
    assert run_calls(Gate([add]), {"add": guard(add)}, [openai("add", "{'a': 1, 'b': 2}")])[0]["content"] == "3"


def test_a_result_that_is_no_text_is_given_as_json() -> None:
    def look(path: str) -> dict[str, Any]:
        return {"path": path, "lines": [1, 2]}

    assert run_calls(Gate([look]), [look], [openai("look", '{"path": "a"}')])[0]["content"] == (
        '{"path":"a","lines":[1,2]}'
    )


@pytest.mark.promise("V-04")
def test_in_warn_mode_the_result_comes_with_the_warning() -> None:
    def note(text: str = "", title: str = "") -> str:
        return "noted"

    policy = {"gate": {"mode": "warn", "tools": {"note": {"required": ["title"]}}}}
    (answer,) = run_calls(Gate([note], policy=policy), [note], [openai("note", '{"text": "hi"}')])
    assert answer["content"].startswith("noted\n\n")
    assert "title" in answer["content"]


@pytest.mark.promise("H-01")
def test_asynchronous_functions_are_awaited() -> None:
    async def double(n: int) -> int:
        return 2 * n

    calls = [openai("double", "{'n': '4'}", "c1"), openai("add", '{"a": 1, "b": 2}', "c2")]
    answers = asyncio.run(arun_calls(Gate([double, add]), [double, add], calls))
    assert [answer["content"] for answer in answers] == ["8", "3"]
    with pytest.raises(TypeError, match="arun_calls"):
        run_calls(Gate([double]), [double], calls[:1])


@pytest.mark.promise("P-17")
def test_nothing_runs_while_everything_is_paused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    guarded, gate = guard(weather), Gate([weather])
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    put_stop(Pause("eva", "2026-01-01T00:00:00Z", "enough"))
    refused = guarded({"city": "Oslo"})
    assert isinstance(refused, Refused)
    assert PAUSED.reason in str(refused)
    assert PAUSED.reason in run_calls(gate, [weather], [call])[0]["content"]
    assert PAUSED.reason in asyncio.run(arun_calls(gate, [weather], [call]))[0]["content"]
    put_stop(None)
    assert guarded({"city": "Oslo"}) == "Oslo 1 celsius"

"""Functions, models and objects with a schema are tools as they are."""

import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.functions import from_python
from rightcall.catalog.tool import Tool
from rightcall.errors import ToolError
from support.every import every


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(TypedDict):
    lat: float
    lon: float
    name: NotRequired[str]


@dataclass
class Size:
    width: int
    height: int = 1


def tool_of(thing: Any) -> Tool:
    (tool,) = build_catalog([thing]).tools.values()
    return tool


def forecast(
    city: str,
    days: Annotated[int, "How many days."] = 3,
    unit: Unit = Unit.C,
    kind: Literal["short", "long"] = "short",
    tags: list[str] | None = None,
    at: Place | None = None,
    size: Size = Size(1, 1),  # noqa: B008
    odd: Callable[[], int] | None = None,
) -> str:
    """The weather to come.

    Asks a service.

    Args:
        city (str): The city,
            in English.
        tags: Words to
            filter by.

    Returns:
        A text.
    """
    return f"{city} {days} {unit} {kind} {tags} {at} {size} {odd}"


@pytest.mark.promise("V-01")
def test_a_function_tells_its_schema_by_its_hints_and_docstring() -> None:
    tool = tool_of(forecast)
    properties = tool.schema["properties"]
    assert (tool.name, tool.description) == ("forecast", "The weather to come.\n\nAsks a service.")
    assert tool.schema["required"] == ["city"]
    assert properties["city"] == {"type": "string", "description": "The city, in English."}
    assert properties["days"] == {"type": "integer", "description": "How many days.", "default": 3}
    assert properties["unit"] == {"enum": ["celsius", "fahrenheit"], "default": "celsius"}
    assert properties["kind"]["enum"] == ["short", "long"]
    assert properties["tags"]["description"] == "Words to filter by."
    assert tool.accepts({"city": "Bern", "at": {"lat": 1, "lon": 2}, "size": {"width": 2}, "tags": None, "odd": 5})
    assert not tool.accepts({"city": "Bern", "at": {"lat": 1}})
    assert not tool.accepts({"city": "Bern", "at": {"lat": 1, "lon": 2, "alt": 3}})
    assert not tool.accepts({"city": "Bern", "unit": "kelvin"})
    assert not tool.accepts({"city": "Bern", "town": "Basel"})


def test_keyword_arguments_leave_the_tool_open() -> None:
    def anything(a: int, *rest: int, **more: Any) -> None: ...

    def numbers(**more: int) -> None: ...

    assert tool_of(anything).accepts({"a": 1, "b": "x"})
    assert list(tool_of(anything).schema["properties"]) == ["a"]
    assert tool_of(numbers).accepts({"b": 1})
    assert not tool_of(numbers).accepts({"b": "x"})


def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    class Adder:
        """Not this."""

        def add(self, n: int) -> int:
            """Adds."""
            return n

        def __call__(self, m: str) -> str:
            """Calls."""
            return m

    assert tool_of(Adder().add).schema["properties"] == {"n": {"type": "integer"}}
    assert list(tool_of(Adder.add).schema["properties"]) == ["n"]
    assert (tool_of(Adder()).name, tool_of(Adder()).description) == ("Adder", "Calls.")
    partial = tool_of(functools.partial(forecast, days=2))
    assert (partial.name, "required" in partial.schema) == ("forecast", True)


async def later(n: int) -> int:
    return n


def test_asynchronous_functions_are_functions() -> None:
    assert tool_of(later).accepts({"n": 1})


def test_a_default_of_none_allows_null_whatever_the_hint_says() -> None:
    def sloppy(n=None) -> None: ...

    sloppy.__annotations__["n"] = int

    assert tool_of(sloppy).accepts({"n": None})
    assert not tool_of(sloppy).accepts({"n": "x"})


def test_hints_that_lead_nowhere_constrain_nothing() -> None:
    def lost(n) -> None: ...

    lost.__annotations__["n"] = "Nowhere"

    assert tool_of(lost).accepts({"n": object.__name__})


def test_tuples_maps_and_unions_are_understood() -> None:
    def f(
        pair: tuple[int, str], many: tuple[int, ...], table: dict[str, int], either: int | list[Size | Place]
    ) -> None: ...

    tool = tool_of(f)
    right = {"pair": [1, "a"], "many": [1, 2], "table": {"a": 1}, "either": [{"width": 1}, {"lat": 1, "lon": 2}]}
    assert tool.accepts(right)
    assert not tool.accepts(right | {"pair": [1]})
    assert not tool.accepts(right | {"pair": [1, "a", 2]})
    assert not tool.accepts(right | {"table": {"a": "b"}})
    assert not tool.accepts(right | {"either": [{"depth": 1}]})


class Booking(pydantic.BaseModel):
    """Books a table."""

    guests: int = pydantic.Field(ge=1, description="How many.")
    place: "Spot | None" = None


class Spot(pydantic.BaseModel):
    row: int


class Order(msgspec.Struct):
    """Orders."""

    item: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


@dataclass
class Trip:
    """Plans a trip.

    :param start: Where it begins.
    :param stops: Where it
        pauses.
    """

    start: str
    stops: list[str] = field(default_factory=list)


@dataclass
class Bare:
    n: int


@pytest.mark.promise("V-01")
@every(
    ("model", "right", "wrong"),
    [
        (Booking, {"guests": 2, "place": {"row": 1}}, {"guests": 0}),
        (Booking, {"guests": 2, "place": None}, {"guests": 2, "place": {"row": 1, "seat": 2}}),
        (Order, {"item": "a", "count": 2}, {"item": "a", "count": 0}),
        (Trip, {"start": "a", "stops": ["b"]}, {"start": "a", "stops": "b"}),
        (Place, {"lat": 1, "lon": 2.5}, {"lat": 1}),
    ],
)
def test_models_are_tools(model: Any, right: dict[str, Any], wrong: dict[str, Any]) -> None:
    tool = tool_of(model)
    assert tool.name == model.__name__
    assert tool.accepts(right)
    assert not tool.accepts(wrong)
    assert not tool.accepts(right | {"more": 1})


def test_models_tell_their_docstrings_but_not_generated_ones() -> None:
    assert [tool_of(model).description for model in (Booking, Order, Bare, Place)] == [
        "Books a table.", "Orders.", "", "",
    ]  # fmt: skip
    assert tool_of(Trip).schema["properties"]["stops"]["description"] == "Where it pauses."


def test_two_models_may_call_different_things_by_one_name() -> None:
    def other() -> Any:
        class Spot(pydantic.BaseModel):
            seat: str

        return Spot

    def f(a, b) -> None: ...

    f.__annotations__ = {"a": list[Spot], "b": list[other()]}
    assert tool_of(f).accepts({"a": [{"row": 1}], "b": [{"seat": "x"}]})
    assert not tool_of(f).accepts({"a": [{"row": 1}], "b": [{"row": 1}]})


def test_objects_that_carry_a_name_and_a_schema_are_tools() -> None:
    class Theirs:
        name, description = "book", "Books."
        args_schema = Booking

    class Protocol:
        name, description = "book", None
        inputSchema = {"type": "object", "properties": {"n": {"type": "integer"}}}  # noqa: N815, RUF012

    assert tool_of(Theirs()).accepts({"guests": 1})
    assert tool_of(Protocol()).description == ""
    assert not tool_of(Protocol()).accepts({"n": "x"})


@dataclass
class Tree:
    name: str
    children: "list[Tree]"


class Worth(pydantic.BaseModel):
    cents: int


class Parcel(pydantic.BaseModel):
    """Something to send."""

    insured: Worth
    postage: Worth | None = None


def test_no_reference_of_a_hint_needs_definitions_inside_an_argument() -> None:
    def send(at: Place, sizes: list[Size], tree: Tree, parcel: Annotated[Parcel, "What to send."]) -> None: ...

    schema = from_python(send)["parameters"]
    size = {
        "title": "Size",
        "type": "object",
        "properties": {"width": {"type": "integer"}, "height": {"type": "integer", "default": 1}},
        "required": ["width"],
    }
    assert schema["properties"]["sizes"] == {"type": "array", "items": size}
    assert schema["properties"]["at"]["properties"].keys() == {"lat", "lon", "name"}
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert schema["properties"]["parcel"]["description"] == "What to send."
    assert schema["properties"]["parcel"]["properties"]["insured"] == {"$ref": "#/$defs/Worth"}
    assert schema["$defs"].keys() == {"Tree", "Worth"}
    assert "$id" not in str(schema)
    right = {
        "at": {"lat": 1.0, "lon": 2.0},
        "sizes": [{"width": 1}],
        "tree": {"name": "a", "children": [{"name": "b", "children": []}]},
        "parcel": {"insured": {"cents": 100}},
    }
    accepts = tool_of(send).accepts
    assert accepts(right)
    for wrong in (
        {"at": {"lat": 1.0}},
        {"sizes": [{"width": "wide"}]},
        {"tree": {"name": "a", "children": [{"name": "b"}]}},
        {"parcel": {"insured": {}}},
    ):
        assert not accepts(right | wrong)


def test_an_argument_keeps_its_own_description_and_that_of_its_class() -> None:
    class Door(msgspec.Struct):
        """A door of the hotel."""

        number: int

    def enter(door: Annotated[Door, "Where to enter."], leave: Door) -> None: ...

    properties = from_python(enter)["parameters"]["properties"]
    assert properties["door"]["description"] == "Where to enter.\nA door of the hotel."
    assert properties["leave"]["description"] == "A door of the hotel."


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {}, "properties": {"a": {"$ref": "#/$defs/Absent"}}},
        {"$defs": {"A": {"type": "object"}}, "properties": {"a": {"$ref": "#/$defs/A", "minProperties": 1}}},
    ],
)
def test_a_reference_that_nothing_can_be_put_in_place_of_stays(schema: dict[str, Any]) -> None:
    class Strange:
        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return schema

    assert {"$id": "hint"} | from_python(Strange)["parameters"] == {"$id": "hint"} | schema


def test_a_class_that_is_no_model_is_refused() -> None:
    with pytest.raises(ToolError, match="the class Path is not a model"):
        build_catalog([type("Path", (), {})])


def test_constraints_of_annotations_are_kept() -> None:
    def f(
        n: Annotated[int, pydantic.Field(ge=1, lt=10, description="N.")],
        words: Annotated[list[str], pydantic.Field(min_length=1)],
        code: Annotated[str, pydantic.Field(pattern="^[A-Z]+$", max_length=3)],
    ) -> None: ...

    tool = tool_of(f)
    right = {"n": 1, "words": ["a"], "code": "AB"}
    assert tool.accepts(right)
    for wrong in ({"n": 10}, {"words": []}, {"code": "ab"}, {"code": "ABCD"}):
        assert not tool.accepts(right | wrong), wrong
    assert tool.schema["properties"]["n"]["description"] == "N."

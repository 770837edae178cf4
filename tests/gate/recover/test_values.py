"""The text between two tags as the value it stands for."""

from typing import Any

import pytest

from rightcall.base.json.shape import Shape
from rightcall.gate.recover.objects import edges, typed
from support.every import every

pytestmark = pytest.mark.promise("R-01")


def shape(*types: str, enum: tuple[Any, ...] | None = None) -> Shape:
    made = Shape()
    made.types = frozenset(types)
    made.enum = enum
    return made


@every(
    ("raw", "value"),
    [
        ("\na\n", "a"),
        ("\n\na\n\n", "\na\n"),
        ("a", "a"),
        ("\na", "\na"),
        ("a\n", "a\n"),
        ("\n", "\n"),
        ("\n\n", ""),
        (" a ", " a "),
        ("", ""),
    ],
)
def test_one_line_break_at_each_end_belongs_to_the_markup(raw: str, value: str) -> None:
    assert edges(raw) == value


@every(
    ("raw", "types", "value"),
    [
        ("3", ("integer",), 3),
        (" 3 ", ("integer",), 3),
        ("-1.5", ("number",), -1.5),
        ("3", ("string",), "3"),
        ("01234", ("string",), "01234"),
        ("true", ("boolean",), True),
        ("True", ("boolean",), True),
        ("false", ("string",), "false"),
        ("null", ("string", "null"), None),
        ("None", ("integer", "null"), None),
        ("null", ("string",), "null"),
        ("[1, 2]", ("array",), [1, 2]),
        ('{"a": 1}', ("object",), {"a": 1}),
        ("['a']", ("array",), ["a"]),
        ("[1, 2]", ("string",), "[1, 2]"),
        ("three", ("integer",), "three"),
        ("[1, 2", ("array",), "[1, 2"),
        ("a, b", ("array",), "a, b"),
        ("3", ("string", "integer"), 3),
        ("x", ("string", "integer"), "x"),
        ("  indented", ("string",), "  indented"),
        ("", ("string",), ""),
        ("1e999", ("number",), "1e999"),
        ("NaN", ("number",), "NaN"),
    ],
)
def test_the_schema_decides_and_what_is_not_certain_stays_text(raw: str, types: tuple[str, ...], value: Any) -> None:
    got = typed(raw, shape(*types))
    assert (got, type(got)) == (value, type(value))


@every(
    ("raw", "stated", "value"),
    [
        ("3", "", "3"),
        ("3", "string", "3"),
        ("3", "json", 3),
        ('"3"', "json", "3"),
        ("True", "json", True),
        ("None", "json", None),
        ("x", "json", "x"),
    ],
)
def test_without_a_schema_the_markup_decides(raw: str, stated: str, value: Any) -> None:
    got = typed(raw, shape(), stated)
    assert (got, type(got)) == (value, type(value))


def test_an_enum_without_a_type_has_the_types_of_its_choices() -> None:
    assert typed("2", shape(enum=(1, 2))) == 2
    assert typed("2", shape(enum=("1", "2"))) == "2"

"""Whatever a tool returns, as plain data within a cap."""

import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import math
import types
import uuid
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.tools.functions import DEEPEST, shape_result
from support.every import every

CAP = 100_000


def plain(value: Any) -> Any:
    result = shape_result(value, CAP)
    assert result.cut is None
    return result.value


@dataclasses.dataclass
class Point:
    x: int
    at: Path


class Order(msgspec.Struct):
    item: str
    on: datetime.date


class Account(pydantic.BaseModel):
    name: str
    password: pydantic.SecretStr
    hidden: str = pydantic.Field(default="h", exclude=True)


class Names(pydantic.RootModel[list[str]]):
    pass


class Pair(NamedTuple):
    left: int
    right: bytes


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Numpy:
    """As numpy's integers and arrays behave."""

    def __init__(self, number: int | None) -> None:
        self.number = number

    def __index__(self) -> int:
        if self.number is None:
            raise TypeError("only scalars")
        return self.number

    def __str__(self) -> str:
        return "[1 2 3]"


class Text(str):
    def __str__(self) -> str:
        return "lies"


class Plain:
    pass


@pytest.mark.promise("X-02")
@every(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        ("text", "text"),
        ({"a": (1, [2])}, {"a": [1, [2]]}),
        (Point(1, Path("a/b")), {"x": 1, "at": "a/b"}),
        (Order("tea", datetime.date(2026, 1, 2)), {"item": "tea", "on": "2026-01-02"}),
        (Account(name="Ann", password=pydantic.SecretStr("s")), {"name": "Ann", "password": "**********"}),
        (Names(["a"]), ["a"]),
        (Pair(1, b"b"), {"left": 1, "right": "b"}),
        ({"b", "a", 10, 9}, [9, 10, "a", "b"]),
        (frozenset((True, 0)), [False, True]),
        ({*range(100, 0, -7), *"zyxwvutsrqponmlk"}, [*range(2, 101, 7), *"klmnopqrstuvwxyz"]),
        (b"caf\xc3\xa9 \xff", "café \\xff"),
        (bytearray(b"ab"), "ab"),
        (memoryview(b"abcd")[::2], "ac"),
        (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00+00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Numpy(5), 5),
        (Numpy(None), "[1 2 3]"),
        (Text("truth"), "truth"),
        ([Text("truth")], ["truth"]),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (collections.deque([1, 2]), [1, 2]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (range(3), [0, 1, 2]),
        (ValueError("no"), "ValueError: no"),
        (float("nan"), "NaN"),
        ([math.inf, -math.inf], ["Infinity", "-Infinity"]),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "-9223372036854775809"),
        pytest.param(10**5_000, "<an integer of about 4,983 digits>", id="5000 digits"),
        ("lone \udc80", "lone \\udc80"),
        ({"\ud800": 1}, {"\\ud800": 1}),
        ({1: "a", None: "b", (1, 2): "c", 2.5: "d"}, {"1": "a", "null": "b", "[1,2]": "c", "2.5": "d"}),
        ({False: "e", Colour.RED: "f", Path("p"): "g"}, {"false": "e", "red": "f", "p": "g"}),
        (complex(1, 2), "(1+2j)"),
        (iter([1, 2]), [1, 2]),
        ({"inner": iter([1])}, {"inner": "<list_iterator object>"}),
    ],
)
def test_every_kind_of_value_becomes_plain_data(value: Any, expected: Any) -> None:
    made = plain(value)
    assert made == expected
    assert type(made) is type(expected)


def test_no_memory_address_is_told() -> None:
    assert plain(Plain()).endswith("Plain object>")
    assert " at 0x" not in plain(plain)


def test_what_comes_out_belongs_to_nobody_else() -> None:
    inner = [1]
    made = plain({"a": inner})
    inner.append(2)
    assert made == {"a": [1]}


class Liar(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no \x1b items")


class Broken:
    def __str__(self) -> str:
        raise ValueError("no text")


def test_a_value_that_fails_is_named_and_its_neighbours_stay() -> None:
    made = plain([1, Liar(a=1), Broken(), 2])
    assert made == [1, "<Liar: RuntimeError: no \\u001b items>", "<Broken: ValueError: no text>", 2]


def test_what_is_nested_too_deeply_ends_with_a_word() -> None:
    value: Any = 1
    for _ in range(DEEPEST + 50):
        value = [value]
    made = plain(value)
    depth = 0
    while isinstance(made, list):
        (made,) = made
        depth += 1
    assert (depth, made) == (DEEPEST, "… (nested too deeply)")


@pytest.mark.promise("X-03")
def test_text_over_the_cap_keeps_its_head_and_says_how_much_was_left_out() -> None:
    assert shape_result("x" * 100, 100).cut is None
    result = shape_result("x" * 150, 100)
    assert (result.value, result.cut) == ("x" * 100, "50 of 150 characters were left out")
    wide = shape_result("é" * 150, 101)
    assert (wide.value, wide.cut) == ("é" * 50, "100 of 150 characters were left out")
    assert shape_result(b"x" * 150, 100).value == "x" * 100


@pytest.mark.promise("X-03")
def test_other_values_over_the_cap_become_the_head_of_their_json() -> None:
    value = {"rows": [{"n": n, "text": "a\nb"} for n in range(100)]}
    whole = msgspec.json.encode(value)
    assert shape_result(value, len(whole)).value == value
    result = shape_result(value, len(whole) - 1)
    assert result.value == whole[:-1].decode()
    assert result.cut == f"only the first {len(whole) - 1:,} of {len(whole):,} bytes were kept, as JSON text"
    assert shape_result(value, 50).value == whole[:50].decode()


@every(
    "value",
    [
        [[[["x" * 30, 1.5, None]]], {"k": {"deep": ["y" * 20]}}],
        [-1.2345678901234567e-300] * 12,
        [18446744073709551615, False, None] * 6,
        {f"é{n}": {} for n in range(20)},
        dict.fromkeys(range(150), 1),
        [Path("é"), Colour.RED, 2**70, b"\xff", float("nan")] * 5,
        ["\x01" * 20],
        [[[[[[1]]]]]] * 10,
    ],
)
def test_at_every_cap_the_head_is_the_head_of_the_whole(value: Any) -> None:
    whole = msgspec.json.encode(plain(value))
    for cap in range(len(whole)):
        result = shape_result(value, cap)
        assert result.cut is not None
        assert result.value == whole[:cap].decode(errors="ignore")
    assert shape_result(value, len(whole)).cut is None


def bomb() -> Any:
    value: Any = ["x"] * 10
    for _ in range(30):
        value = [value] * 10
    return value


def cycle() -> Any:
    value: list[Any] = []
    value += [value, value, {"again": value}]
    return value


@pytest.mark.promise("X-03")
@every(
    "made",
    [
        pytest.param(lambda: "x" * 50_000_000, id="text"),
        pytest.param(lambda: {"inside": "x" * 50_000_000}, id="text inside"),
        pytest.param(lambda: b"\xff" * 50_000_000, id="bytes"),
        pytest.param(lambda: range(10**15), id="a range"),
        pytest.param(lambda: itertools.repeat({}), id="an endless iterator"),
        pytest.param(bomb, id="a list that contains one other 10^30 times"),
        pytest.param(cycle, id="a list that contains itself"),
    ],
)
def test_a_huge_value_takes_no_more_than_the_cap_allows(made: Callable[[], Any]) -> None:
    """The CPU limit of every test is the measure: whole, these would take from seconds to for ever."""
    for cap in (1_000, 100_000):
        result = shape_result(made(), cap)
        assert result.cut is not None
        assert cap - 5 <= len(result.value.encode()) <= cap


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes()
    | st.decimals() | st.uuids() | st.timedeltas() | st.complex_numbers() | st.text(st.characters(categories=["Cs"]))
    | st.sampled_from([Colour.RED, Level.HIGH, Plain(), Broken(), Liar(a=1), len, Plain, ..., NotImplemented])
    | st.builds(Point, st.integers(), st.just(Path("a")))
)  # fmt: skip
SETS = st.frozensets(st.integers() | st.text())


def values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text() | st.integers(), inner)
            | st.builds(Pair, inner, inner)
        ),
        max_leaves=20,
    )


def only_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and only_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(only_plain, value))
    return value is None or type(value) in (bool, int, float, str)


@pytest.mark.promise("X-03")
@given(values(SCALARS), st.integers(0, 300))  # a set has an order only when it is whole
def test_no_value_raises_passes_the_cap_or_stays_other_than_plain(value: Any, cap: int) -> None:
    whole = shape_result(value, 1_000_000)
    assert whole.cut is None
    assert only_plain(whole.value)
    data = msgspec.json.encode(whole.value)
    assert msgspec.json.decode(data) == whole.value

    result = shape_result(value, cap)
    is_text = isinstance(whole.value, str)
    size = len(whole.value.encode()) if is_text else len(data)
    if size <= cap:
        assert result == whole
    else:
        assert result.cut is not None
        head = (whole.value.encode() if is_text else data)[:cap]
        assert result.value == head.decode(errors="ignore")


@given(values(SCALARS | SETS))
def test_plain_data_stays_as_it_is_when_it_is_made_plain_again(value: Any) -> None:
    once = shape_result(value, 1_000_000).value
    assert shape_result(once, 1_000_000).value == once
    assert json.loads(json.dumps(once)) == once

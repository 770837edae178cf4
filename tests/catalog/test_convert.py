"""The JSON of a call, in the types a function declares."""

import dataclasses
import datetime
import functools
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.functions import Misfit, converter

T = TypeVar("T")


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n == 13:
            raise KeyError("not this\x1b one")
        if self.n % 2:
            raise ValueError("odd")


class Box(Generic[T]):
    """A type that only its author can make."""


def test_values_are_made_in_the_declared_types_and_the_rest_stays() -> None:
    def f(days: set[int], at: Path, count: int, free: Any, none: int | None = None) -> None: ...

    given_ = {"days": [1, 1], "at": "a/b", "count": 5.0, "free": {"x": [1]}, "none": None, "more": "m"}
    assert converter(f)(given_) == (
        {"days": {1}, "at": Path("a/b"), "count": 5, "free": {"x": [1]}, "none": None, "more": "m"},
        (),
    )


def test_what_does_not_fit_is_named_with_its_reason_and_stays_as_it_was() -> None:
    def f(on: datetime.date, even: Even, other: Even) -> None: ...

    arguments, misfits = converter(f)({"on": "tomorrow", "even": {"n": 1}, "other": {"n": 13}})
    assert arguments == {"on": "tomorrow", "even": {"n": 1}, "other": {"n": 13}}
    assert [misfit.name for misfit in misfits] == ["on", "even", "other"]
    assert misfits[1] == Misfit("even", "odd")
    assert misfits[2].reason.startswith("KeyError: ")
    assert "\x1b" not in misfits[2].reason


def test_partials_methods_and_callable_objects_declare_types_too() -> None:
    class Shop:
        def open(self, on: datetime.date) -> None: ...

        def __call__(self, on: datetime.date) -> None: ...

    day = ({"on": datetime.date(2026, 1, 2)}, ())
    for function in (Shop().open, Shop(), functools.partial(Shop().open), functools.partial(functools.partial(Shop()))):
        assert converter(function)({"on": "2026-01-02"}) == day


def test_types_nobody_can_make_leave_the_value() -> None:
    def f(box: Box[int], odd, either: Even | Box[str]) -> None: ...

    f.__annotations__["odd"] = "Nowhere.at_all"

    def g(box: Box[int]) -> None: ...

    assert converter(f)({"box": 1, "odd": 2}) == ({"box": 1, "odd": 2}, ())
    assert converter(g)({"box": {"a": 1}}) == ({"box": {"a": 1}}, ())


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: (
    st.lists(inner) | st.dictionaries(st.text(), inner)
), max_leaves=10))  # fmt: skip
def test_no_value_makes_it_raise(value: Any) -> None:
    def f(a: Even, b: set[int], c: datetime.date, d: Path, e: dict[int, float]) -> None: ...

    arguments, misfits = converter(f)(dict.fromkeys("abcde", value))
    assert set(arguments) == set("abcde")
    for misfit in misfits:
        assert arguments[misfit.name] is value


@pytest.mark.parametrize("thing", [len, print, dict.get])
def test_functions_without_hints_take_what_is_given(thing: Any) -> None:
    assert converter(thing)({"a": 1}) == ({"a": 1}, ())

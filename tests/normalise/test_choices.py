"""Values from a fixed set: which of them was meant."""

from typing import Any

import pytest

from rightcall.normalise.choices import choose

UNITS = ("celsius", "fahrenheit")


@pytest.mark.promise("N-07")
@pytest.mark.parametrize(
    ("value", "allowed", "meant"),
    [
        (" Celsius", UNITS, "celsius"),
        ("°C", UNITS, "celsius"),
        ("F", UNITS, "fahrenheit"),
        ("farenheit", UNITS, "fahrenheit"),
        ("intermediat", ("beginner", "intermediate"), "intermediate"),
        ("professoinal", ("personal", "professional"), "professional"),
        ("py", ("python", "bash"), "python"),
        ("family_counselor", ("Family Counselor", "Coach"), "Family Counselor"),
        ("IN-PROGRESS", ("in progress", "done"), "in progress"),
        ("descending", ("asc", "desc"), "desc"),
        ("Mon", ("monday", "tuesday"), "monday"),
        ("apartments", ("apartment", "house"), "apartment"),
        ("2", (1, 2, 3), 2),
        (2.0, (1, 2, 3), 2),
        (2, ("1", "2"), "2"),
        (True, ("true", "false"), "true"),
        ("yes", (True, False), True),
    ],
)
def test_the_one_that_was_meant_is_chosen(value: Any, allowed: tuple[Any, ...], meant: Any) -> None:
    choice = choose(value, allowed, {})
    assert choice is not None
    assert choice.value == meant
    assert type(choice.value) is type(meant)


@pytest.mark.promise("N-07", "N-13")
@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("kelvin", UNITS),
        ("", UNITS),
        ("--", ("-", "+")),
        ("ab c", ("abc", "a bc")),
        ("m", ("meter", "medium")),
        ("monda", ("mondai", "mondax")),
        ("cat", ("car", "bat")),
        ("12345", ("12346", "x")),
        ("model1", ("model2", "other")),
        ("northeast", ("northwest", "south")),
        ("north-east", ("north-west", "south")),
        ("unlocked", ("locked", "open")),
        ("old_value", ("new_value", "other")),
        (["celsius"], UNITS),
        (None, UNITS),
    ],
)
def test_near_two_or_near_none_chooses_none(value: Any, allowed: tuple[Any, ...]) -> None:
    assert choose(value, allowed, {}) is None


@pytest.mark.promise("N-07")
def test_a_declared_alias_comes_first() -> None:
    choice = choose(" Fahrenheit", UNITS, {"fahrenheit": "celsius"})
    assert choice is not None
    assert (choice.value, choice.rule, choice.confidence) == ("celsius", "value_alias", 1.0)


@pytest.mark.promise("N-18")
def test_the_further_the_less_sure() -> None:
    found = [choose(text, UNITS, {}) for text in ("CELSIUS", "°C", "celcius")]
    assert [choice and choice.rule for choice in found] == ["enum_style", "enum_synonym", "enum_typo"]
    assert [choice and choice.confidence for choice in found] == [1.0, 0.95, 0.9]

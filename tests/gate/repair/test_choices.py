"""Values from a fixed set: which of them was meant."""

from typing import Any

import pytest

from rightcall.gate.repair.choices import choose
from support.every import every

UNITS = ("celsius", "fahrenheit")


@pytest.mark.promise("N-07")
@every(
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
        ("10.0", (10, 20, 100), 10),
        (1, (True, 1), 1),
        ("utf8", ("utf-8", "latin-1"), "utf-8"),
        ("5-star", ("5_star", "4_star"), "5_star"),
        ("node.js", ("nodejs", "python"), "nodejs"),
        ("cafe\u0301", ("caf\u00e9", "bar"), "caf\u00e9"),
    ],
)
def test_the_one_that_was_meant_is_chosen(value: Any, allowed: tuple[Any, ...], meant: Any) -> None:
    choice = choose(value, allowed, {})
    assert choice is not None
    assert choice.value == meant
    assert type(choice.value) is type(meant)


@pytest.mark.promise("N-07", "N-13")
@every(
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
        (-5, (5, 10)),
        ("3.0", (1, 7, 30)),
        ("-7", (1, 7, 30)),
        ("1,0", (5, 10)),
        (".5", (5, 10)),
        ("1 0", ("10", "20")),
        ("10s", ("10", "20")),
        ("50%", ("50", "60")),
        ("3.1.0", ("3.1", "3.10")),
        ("10.1.0", ("10.10", "other")),
        (3.1, ("3.1", "3.10")),
        ("!a", ("a", "b")),
        (">1", ("1", "2")),
        ("<1", (1, 2)),
        ("-active", ("active", "other")),
        ("premium+", ("premium", "basic")),
        ("UTC 5", ("UTC-5", "UTC+5")),
        ("offset 5", ("offset-5", "offset+5")),
        ("1m", ("minute", "month")),
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
    found.append(choose("in_progress", ("in progress", "done"), {}))
    assert [choice and choice.rule for choice in found] == ["enum_style", "enum_synonym", "enum_typo", "enum_style"]
    assert [choice and choice.confidence for choice in found] == [1.0, 0.95, 0.9, 0.95]


@pytest.mark.promise("N-07")
def test_among_very_many_values_a_slip_is_not_looked_for() -> None:
    many = tuple(f"value {chr(97 + at // 26)}{chr(97 + at % 26)} of many" for at in range(201))
    assert choose("value aaa of many", many, {}) is None
    assert choose("VALUE_AA_OF_MANY", many, {}) is not None

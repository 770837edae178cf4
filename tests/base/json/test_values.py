"""Numbers in the notations that models use, and what is none."""

import math
import re

from rightcall.base.json.shape import CONSTANTS, MAX_DIGITS, NUMBER, read_number
from support.every import every


@every(
    ("token", "value"),
    [
        ("0", 0), ("-12", -12), ("1.5", 1.5), ("1e3", 1000.0), ("1E-2", 0.01), ("-0.0", -0.0),
        (".5", 0.5), ("2.", 2.0), ("+3", 3), ("-.25", -0.25), ("1_000_000", 1000000), ("1_000.5", 1000.5),
        ("0x1F", 31), ("-0xff", -255), ("12345678901234567890", 12345678901234567890),
    ],
)  # fmt: skip
def test_a_number_keeps_its_value_and_its_type(token: str, value: float) -> None:
    found = read_number(token)
    assert found == value
    assert type(found) is type(value)


@every(
    "token",
    [
        "",
        "007",
        "1/3",
        "1.2.3",
        "--1",
        "1e",
        "e5",
        ".",
        "+",
        "-",
        "1,5",
        "1__0",
        "_1",
        "0x",
        "twelve",
        "1 2",
        "٣",
        "1\n",
    ],
)
def test_what_is_no_number_in_any_notation_is_none(token: str) -> None:
    assert read_number(token) is None


def test_more_digits_than_anybody_means_are_no_number() -> None:
    assert read_number("9" * MAX_DIGITS) == int("9" * MAX_DIGITS)
    assert read_number("9" * (MAX_DIGITS + 1)) is None


def test_the_pattern_finds_at_least_what_is_a_number() -> None:
    assert all(re.fullmatch(NUMBER, token) for token in ("0", "-1.5e3", ".5", "2.", "+3", "1_000"))


def test_only_json_and_python_constants_need_no_guess() -> None:
    certain = {word for word, (_, rule) in CONSTANTS.items() if rule in (None, "python_constant")}
    assert certain == {"true", "false", "null", "True", "False", "None"}
    assert all(value is None or isinstance(value, bool) or not math.isfinite(value) for value, _ in CONSTANTS.values())

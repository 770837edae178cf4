"""Numbers written for people: only where one reading exists."""

import pytest

from rightcall.base.json.shape import Shape, shape_of
from rightcall.gate.repair.numbers import contradicts, names, number_in, units_beside
from support.every import every

NUMBER = shape_of({"type": "number"})


def saying(words: str, **more: float) -> Shape:
    return shape_of({"type": "number", "description": words, **more})


@pytest.mark.promise("N-05")
@every(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("+5", 5), ("5.0", 5.0), (".5", 0.5), ("1e3", 1000.0), ("0x10", 16), ("007", 7), ("٣", 3),
        ("1,234", 1234), ("1,234.50", 1234.5), ("1_000", 1000), ("12 345 678", 12345678), ("1'000", 1000),
        ("1.234,56", 1234.56), ("-1,000", -1000),
        ("zero", 0), ("two", 2), ("twenty", 20), ("twenty-one", 21), ("ninety nine", 99), ("a hundred", 100),
        ("two hundred five", 205), ("two hundred and five", 205), ("twelve hundred", 1200), ("one thousand", 1000),
        ("two thousand twenty five", 2025), ("three million two hundred thousand", 3200000), ("two dozen", 24),
        ("minus ten", -10), ("Seven", 7), ("2 thousand", 2000), ("1.5 million", 1500000), ("2 dozen", 24),
        ("about 100", 100), ("approx. 5", 5), ("~5", 5), ("roughly ten", 10), ("exactly 3", 3),
        ("$5", 5), ("€1,200.50", 1200.5), ("-$5", -5), ("5$", 5), ("$5 million", 5000000), ("$5 USD", 5),
        ("4 tickets", 4), ("3 large boxes", 3), ("5%", 5), ("20°", 20), ("5th", 5), ("2-fold", 2), ("1st", 1),
    ],
)  # fmt: skip
def test_a_number_in_any_common_notation_is_read(text: str, value: float) -> None:
    found = number_in(text, "n", NUMBER)
    assert found is not None
    assert found.value == value
    assert type(found.value) is type(value)


@pytest.mark.promise("N-05", "N-13")
@every(
    "text",
    [
        "", " ", "abc", "many", "a", "and", "-", "$", "²", "½", "1/2", "1,5", "1,23", "12,34,567", "1.2.3", "1 2",
        "5 or 6", "5-6", "5 to 6", "5+", "at least 5", "up to 5", "5 or more", "less than 5", "between 5 and 6", "no 5",
        "one two", "five six", "twenty twenty", "nineteen eighty", "zero five", "five and", "one and a half",
        "two million three million", "two hundred hundred", "thousand million",
        "5k", "2M", "1.5k", "5 bn", "5 trillion", "5 hundred thousand", "3 lakh", "10 pm", "10 a.m.", "3 days ago",
        "2 May", "12 December", "12:30", "2024-01-02", "5!", "5-", "5 / 6", "(5)", "5 6 7", "1e", "e5", "5x", "9" * 81,
    ],
)  # fmt: skip
def test_what_could_be_another_number_or_none_is_left_alone(text: str) -> None:
    assert number_in(text, "n", NUMBER) is None


@pytest.mark.promise("N-18")
def test_the_plainer_the_notation_the_surer() -> None:
    found = [number_in(text, "n", NUMBER) for text in ("5", "1,200", "five", "about 5", "5 boxes")]
    assert [number and number.confidence for number in found] == [1.0, 1.0, 0.95, 0.9, 0.9]
    rules = ["number_text", "number_format", "number_word", "number_hedge", "number_unit"]
    assert [number and number.rule for number in found] == rules


@pytest.mark.promise("N-05")
@every(
    ("text", "name", "shape"),
    [
        ("10 hours", "duration_minutes", NUMBER),
        ("10 hours", "duration", saying("Duration in minutes")),
        ("5 km", "distance", saying("in meters")),
        ("5 km", "distanceM", NUMBER),
        ("30 °F", "temperature", saying("Degrees Celsius")),
        ("5 GB", "size_mb", NUMBER),
        ("$5", "price", saying("Price in EUR")),
        ("5 dollars", "price_eur", NUMBER),
        ("50%", "ratio", saying("a value between 0 and 1")),
        ("50%", "p", saying("the probability")),
        ("50 percent", "p", shape_of({"type": "number", "maximum": 1})),
        ("5 m", "size", saying("in kilometers")),
        ("2 weeks", "days", NUMBER),
        ("70 lbs", "weight_kg", NUMBER),
        ("1 hour", "timeout_seconds", saying("at most 1 hour")),
        ("100 cents", "amount", saying("in USD")),
        ("100 CHF", "amount", saying("in USD")),
    ],
)
def test_a_unit_that_contradicts_the_schema_is_no_number(text: str, name: str, shape: Shape) -> None:
    assert number_in(text, name, shape) is None


@pytest.mark.promise("N-05")
@every(
    ("text", "name", "shape"),
    [
        ("10 minutes", "duration_minutes", NUMBER),
        ("10 mins", "duration", saying("Duration in minutes")),
        ("5 m", "distance", saying("in meters")),
        ("5 m", "size_m", NUMBER),
        ("5k", "temperature_k", NUMBER),
        ("30 °C", "temperature", saying("Degrees Celsius")),
        ("€5", "price", saying("Price in EUR")),
        ("50%", "rate", saying("in percent")),
        ("10 seconds", "timeout_seconds", saying("at most an hour")),
        ("2019 year", "year", NUMBER),
        ("29.0 amount", "amount", saying("specified in USD")),
        ("2 b", "b", NUMBER),
        ("$5", "amount", NUMBER),
        ("52%", "total_outcomes", NUMBER),
        ("50%", "rate", saying("0 to 100", maximum=100)),
    ],
)
def test_a_unit_that_the_schema_names_or_leaves_open_is_harmless(text: str, name: str, shape: Shape) -> None:
    assert number_in(text, name, shape) is not None


@pytest.mark.promise("N-05", "N-13")
@every(
    ("text", "name", "shape"),
    [
        ("500ms", "timeout", NUMBER),
        ("5 minutes", "timeout", NUMBER),
        ("about 5 minutes", "timeout", NUMBER),
        ("30 months", "age", NUMBER),
        ("10kg", "n", NUMBER),
        ("5 mb/s", "speed", NUMBER),
        ("100 cents", "amount", NUMBER),
        ("50%", "rate", NUMBER),
        ("5 feet", "n", saying("how tall, in inches or feet")),
        ("1 hour", "wait", saying("in seconds, at most 1 hour")),
    ],
)
def test_a_unit_that_another_could_replace_has_two_readings(text: str, name: str, shape: Shape) -> None:
    assert number_in(text, name, shape) is None


@pytest.mark.promise("N-05", "N-13")
@every(
    ("text", "name", "siblings", "value"),
    [
        ("100 USD", "amount", {"currency": "EUR"}, None),
        ("$100", "amount", {"currency": "EUR"}, None),
        ("100 USD", "amount", {"currency": "CHF"}, None),
        ("100 CHF", "amount", {"currency": "usd"}, None),
        ("100 cents", "amount", {"currency": "USD"}, None),
        ("50%", "amount", {"currency": "USD"}, None),
        ("10cm", "width", {"unit": "px"}, None),
        ("10 cm", "width", {"width_unit": "inches"}, None),
        ("100 USD", "amount", {"currency": "usd"}, 100),
        ("$100", "amount", {"currency": "CAD"}, 100),
        ("100 CHF", "amount", {"currency": "CHF"}, 100),
        ("100 USD", "amount", {"from_currency": "USD", "to_currency": "EUR"}, 100),
        ("10cm", "width", {"unit": "cm"}, 10),
        ("4 tickets", "count", {"currency": "EUR"}, 4),
        ("10%", "discounted", {"currency": "EUR"}, 10),
        ("180%", "height", {"unit": "metric"}, 180),
    ],
)
def test_a_sibling_says_what_unit_is_meant(text: str, name: str, siblings: dict[str, str], value: int | None) -> None:
    found = number_in(text, name, NUMBER, units_beside({**siblings, name: text}))
    assert (found and found.value) == value


def test_units_are_told_apart_by_kind() -> None:
    assert contradicts("hours", "minutes", NUMBER)
    assert contradicts("hours", "meters", NUMBER)
    assert not contradicts("boxes", "minutes", NUMBER)
    assert not contradicts("minutes", "minutes", NUMBER)


def test_one_letter_says_nothing_in_prose_but_much_at_the_end_of_a_name() -> None:
    assert not names("m", "length", saying("m is the unit of a plan B"))
    assert contradicts("km", "length_m", NUMBER)
    assert names("m", "length_m", NUMBER)
    assert not names("m", "length", NUMBER)

"""Units of measure, as far as they are needed to see that one contradicts what a schema says.

A unit is harmless where the schema names none of its kind (`4 tickets`, `10 minutes` for `time`), and right where the
schema names the same. `10 hours` for a `duration_minutes` is neither: the number alone would be wrong.
"""

from __future__ import annotations

import re

from rightcall.parse.shape import Shape

CURRENCY_SIGNS = "$€£¥₹₩₽฿"

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("time", (
        "ms millisecond milliseconds msec", "s sec secs second seconds", "min mins minute minutes",
        "h hr hrs hour hours", "d day days", "week weeks wk wks", "month months", "year years yr yrs",
    )),
    ("length", (
        "mm millimeter millimeters millimetre millimetres", "cm centimeter centimeters centimetre centimetres",
        "m meter meters metre metres", "km kilometer kilometers kilometre kilometres", "mi mile miles",
        "ft foot feet", "in inch inches", "yd yard yards", "ly lightyear lightyears",
    )),
    ("mass", (
        "mg milligram milligrams", "g gram grams", "kg kilogram kilograms kilo kilos", "lb lbs pound pounds",
        "oz ounce ounces", "t ton tons tonne tonnes", "st stone",
    )),
    ("temperature", ("c °c celsius centigrade", "f °f fahrenheit", "k kelvin")),
    ("volume", (
        "ml milliliter milliliters millilitre millilitres", "l liter liters litre litres", "gal gallon gallons",
        "cup cups", "pint pints",
    )),
    ("data", (
        "b byte bytes", "kb kilobyte kilobytes kib", "mb megabyte megabytes mib", "gb gigabyte gigabytes gib",
        "tb terabyte terabytes tib", "bit bits",
    )),
    ("speed", ("mph", "kmh km/h kph", "m/s mps", "knot knots")),
    ("share", ("% percent percentage pct", "decimal fraction ratio", "bps")),
    ("currency", (
        "$ usd dollar dollars", "€ eur euro euros", "£ gbp sterling", "¥ jpy yen cny yuan rmb", "₹ inr rupee rupees",
        "₩ krw won", "cent cents",
    )),
)  # fmt: skip
_UNIT: dict[str, tuple[str, int]] = {
    word: (kind, position) for kind, units in _KINDS for position, unit in enumerate(units) for word in unit.split()
}
_SINGLE_LETTERS = frozenset("smhdgclkfbt")
_TOKEN = re.compile(r"[A-Za-z°/]+|[%$€£¥₹₩]")
_UNIT_INTERVAL = re.compile(
    r"between 0(?:\.0)? and 1(?:\.0)?\b|\b0(?:\.0)? ?(?:-|to) ?1(?:\.0)?\b|e\.g\.?,? 0\.\d|probability", re.I
)


def is_unit(word: str) -> bool:
    """Whether a word of a name, in lower case, is a unit of measure."""
    return word in _UNIT


def contradicts(unit: str, name: str, shape: Shape) -> bool:
    """Whether a unit beside the number says something else than the schema's name and description."""
    given = [_UNIT[token] for token in _tokens(unit) if token in _UNIT]
    stated = _stated(name, shape)
    for kind, position in given:
        if kind == "share" and position == 0 and _is_fraction(shape):
            return True
        same_kind = {other for other_kind, other in stated if other_kind == kind}
        if same_kind and position not in same_kind:
            return True
    return False


def names(unit: str, name: str, shape: Shape) -> bool:
    """Whether the schema speaks of just this unit."""
    return any(_UNIT.get(token) in _stated(name, shape) for token in _tokens(unit))


def _is_fraction(shape: Shape) -> bool:
    return (shape.maximum is not None and shape.maximum <= 1) or _UNIT_INTERVAL.search(shape.words) is not None


def _stated(name: str, shape: Shape) -> set[tuple[str, int]]:
    """The units a schema speaks of. One letter says nothing in prose, but much at the end of a name (`size_m`)."""
    words = set(_tokens(shape.words)) - _SINGLE_LETTERS - {"in", "second", "min", "st", "won", "stone"}
    words |= set(_tokens(re.sub(r"(?<=[a-z])(?=[A-Z])|_|-", " ", name))) - {"in", "min"}
    return {_UNIT[word] for word in words if word in _UNIT}


def _tokens(text: str) -> list[str]:
    return [token.lower().strip("/") for token in _TOKEN.findall(text)]

"""Units of measure, as far as they are needed to see that one contradicts what a schema or a sibling says.

What is counted is harmless (`4 tickets`), and so are a bare `$` and `%` that nothing speaks against. A unit that others
of its kind could replace must be the one that the schema names: `10 hours` for a `duration_minutes` would be wrong, and
`10 hours` for a `timeout` that names no unit has two readings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightcall.parse.late import Late
from rightcall.parse.shape import Shape

CURRENCY_SIGNS = "$€£¥₹₩₽฿"

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("time", (
        "ns nanosecond nanoseconds", "us µs microsecond microseconds", "ms millisecond milliseconds msec",
        "s sec secs second seconds", "min mins minute minutes",
        "h hr hrs hour hours", "d day days", "week weeks wk wks", "month months", "year years yr yrs",
    )),
    ("length", (
        "mm millimeter millimeters millimetre millimetres", "cm centimeter centimeters centimetre centimetres",
        "m meter meters metre metres", "km kilometer kilometers kilometre kilometres", "mi mile miles",
        "ft foot feet", "in inch inches", "yd yard yards", "ly lightyear lightyears", "px pixel pixels", "em", "rem",
    )),
    ("mass", (
        "mg milligram milligrams", "g gram grams", "kg kilogram kilograms kilo kilos", "lb lbs pound pounds",
        "oz ounce ounces", "t ton tons tonne tonnes", "stone stones",
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
    ("frequency", ("hz hertz", "khz kilohertz", "mhz megahertz", "ghz gigahertz")),
    ("power", ("w watt watts", "kw kilowatt kilowatts", "mw megawatt megawatts", "hp horsepower")),
    ("voltage", ("v volt volts", "mv millivolt millivolts", "kv kilovolt kilovolts")),
    ("pressure", ("pa pascal pascals", "kpa", "bar bars", "psi", "atm atmosphere atmospheres")),
    ("angle", ("deg degree degrees", "rad radian radians")),
    ("share", ("% percent percentage pct", "decimal fraction ratio", "bps")),
    ("currency", (
        "$ usd dollar dollars", "€ eur euro euros", "£ gbp sterling", "¥ jpy yen cny yuan rmb", "₹ inr rupee rupees",
        "₩ krw won", "cent cents",
    )),
)  # fmt: skip
_UNIT: dict[str, tuple[str, int | str]] = {
    word: (kind, position) for kind, units in _KINDS for position, unit in enumerate(units) for word in unit.split()
}
_Units = set[tuple[str, int | str]]
_OF_SCALE = frozenset(
    ["time", "length", "mass", "temperature", "volume", "data", "speed", "frequency", "power", "voltage", "pressure"]
)
_CENTS = _UNIT["cents"]
_DOLLAR = _UNIT["$"]
_SINGLE_LETTERS = frozenset("smhdgclkfbtwv")
_CODE = Late(r"[A-Z]{3}")
_UNIT_NAMES = frozenset(["currency", "unit", "units", "uom"])
_TARGETS = frozenset(["to", "target", "destination", "dest", "output", "into"])
_SHARES = frozenset([
    "rate", "ratio", "probability", "prob", "fraction", "proportion", "share", "discount", "tax", "interest",
    "confidence", "opacity", "alpha", "likelihood", "yield",
])  # fmt: skip
"""Names of numbers that are written as 50 and as 0.5: a per cent sign does not say which of the two is wanted."""

_MEASURED = frozenset([
    "amount", "price", "cost", "total", "sum", "fee", "budget", "balance", "width", "height", "size", "length", "depth",
])  # fmt: skip
NOTHING: Mapping[str, str] = {}
_TOKEN = Late(r"[A-Za-zµ°/]+|[%$€£¥₹₩]")
_UNIT_INTERVAL = Late(
    r"between 0(?:\.0)? and 1(?:\.0)?\b|\b0(?:\.0)? ?(?:-|to) ?1(?:\.0)?\b|e\.g\.?,? 0\.\d|probability", re.I
)


def is_unit(word: str) -> bool:
    """Whether a word of a name, in lower case, is a unit of measure."""
    return word in _UNIT


def units_beside(values: Mapping[str, Any]) -> Mapping[str, str]:
    """The arguments that say what unit or currency their siblings are in: `currency`, `unit`, `portion_unit`."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, str) and len(value) <= 24 and len(name) <= 40 and _says_unit(_words(name))
    }


def _says_unit(words: list[str]) -> bool:
    return words[-1:] != [] and words[-1] in _UNIT_NAMES and words[0] not in _TARGETS


def contradicts(unit: str, name: str, shape: Shape, beside: Mapping[str, str] = NOTHING) -> bool:
    """Whether a unit beside the number says something else than the schema and the siblings, or more than they do."""
    stated, given_beside = _stated(name, shape), _find_units(beside)
    money = any(kind == "currency" for kind, _ in stated | given_beside)
    given = _units(unit, codes=money)
    return any(_at_odds(one, name, shape, stated, given_beside) for one in given) or (
        "/" in unit and not given and unit.lower() not in shape.words.lower()  # `5 mb/s`: more than a thing counted
    )


def _at_odds(one: tuple[str, int | str], name: str, shape: Shape, stated: _Units, beside: _Units) -> bool:
    kind, position = one
    words = set(_words(name))
    if kind == "share" and position == 0:
        says_share = any(other == "share" for other, _ in stated)
        doubtful = bool(words & _SHARES) and "number" in shape.types and not says_share and (shape.maximum or 0) <= 1
        if _is_fraction(shape) or doubtful or (beside and words & _MEASURED):
            return True
    of_kind = {other for other in beside if other[0] == kind} or {other for other in stated if other[0] == kind}
    if one == _DOLLAR and beside and all(isinstance(code, str) and code.endswith("d") for _, code in of_kind):
        return False  # the dollar of another country
    if one == _CENTS or kind in _OF_SCALE:
        return of_kind != {one}
    return bool(of_kind) and one not in of_kind


def _find_units(beside: Mapping[str, str]) -> _Units:
    found: _Units = set()
    for name, value in beside.items():
        found |= _units(
            value.strip().upper() if "currency" in name.lower() else value, codes="currency" in name.lower()
        )
    return found


def _units(text: str, *, codes: bool) -> _Units:
    """The units in a text; with `codes`, three capitals are a currency although no list has them."""
    found: _Units = {_UNIT[token] for token in _tokens(text) if token in _UNIT}
    if codes and not found:
        found |= {("currency", code.lower()) for code in _CODE.findall(text)}
    return found


def names(unit: str, name: str, shape: Shape) -> bool:
    """Whether the schema speaks of just this unit."""
    return any(_UNIT.get(token) in _stated(name, shape) for token in _tokens(unit))


def _is_fraction(shape: Shape) -> bool:
    return (shape.maximum is not None and shape.maximum <= 1) or _UNIT_INTERVAL.search(shape.words) is not None


def _stated(name: str, shape: Shape) -> _Units:
    """The units a schema speaks of. One letter says nothing in prose, but much at the end of a name (`size_m`)."""
    named: _Units = {_UNIT[word] for word in _words(name) if word in _UNIT and word not in ("in", "min")}
    prose = set(_tokens(shape.words)) - _SINGLE_LETTERS - {"in", "second", "min", "stone", "won", "em", "us", "bar"}
    kinds = {kind for kind, _ in named if kind in _OF_SCALE}  # a name is surer than prose: `seconds`, at most an hour
    return named | {_UNIT[word] for word in prose if word in _UNIT and _UNIT[word][0] not in kinds}


def _words(name: str) -> list[str]:
    return _tokens(re.sub(r"(?<=[a-z])(?=[A-Z])|_|-", " ", name))


def _tokens(text: str) -> list[str]:
    return [token.lower().strip("/") for token in _TOKEN.findall(text)]

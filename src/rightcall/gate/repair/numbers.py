"""Numbers written for people: `two`, `1,234.50`, `about 100`, `$5`, `4 tickets`. Only where one reading exists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rightcall.base.json.shape import Shape, read_number
from rightcall.base.text import regex

# ── units ──
# Units of measure, as far as they are needed to see that one contradicts what a schema or a sibling says.
#
# What is counted is harmless (`4 tickets`), and so are a bare `$` and `%` that nothing speaks against. A unit that
# others of its kind could replace must be the one that the schema names: `10 hours` for a `duration_minutes` would be
# wrong, and `10 hours` for a `timeout` that names no unit has two readings.

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
_CODE = regex(r"[A-Z]{3}")
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
_TOKEN = regex(r"[A-Za-zµ°/]+|[%$€£¥₹₩]")
_UNIT_INTERVAL = regex(
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
    return words[-1:] != [] and words[-1] in {"currency", "unit", "units", "uom"} and words[0] not in _TARGETS


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


_HEDGE = regex(
    r"(?:about|around|approx(?:imately|\.)?|roughly|circa|ca\.|nearly|almost|~|≈|exactly|just|only|=)\s*", re.I
)
_NUMERIC = regex(r"[-+]?(?:\d[\d,._ ']*\d|\d|\.\d+)(?:[eE][-+]?\d+)?\.?")
_GROUPED = regex(r"[-+]?\d{1,3}(?:([,_ '])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_EUROPEAN = regex(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+")
_REST = regex(r"(?=.*[A-Za-zµ°Ω])[A-Za-zµ°Ω²³/\-.]{1,24}(?:\s+[A-Za-z²³/\-]{1,24}){0,2}")
_CHANGES_MEANING = frozenset(
    [
        "or",
        "to",
        "more",
        "less",
        "least",
        "most",
        "than",
        "minus",
        "not",
        "plus",
        "per",
        "up",
        "under",
        "over",
        "below",
        "above",
        "and",
        "through",
        "between",
        "max",
        "min",
        "maximum",
        "minimum",
        "no",
        "without",
        "except",
        "times",
        "x",
        "e",
        "am",
        "pm",
        "ago",
        "before",
        "hundred",
        "hundreds",
        "thousand",
        "thousands",
        "million",
        "millions",
        "billion",
        "billions",
        "trillion",
        "lakh",
        "crore",
        "grand",
        "dozen",
        "score",
        "half",
        "halves",
        "third",
        "thirds",
        "quarter",
        "quarters",
        "fifth",
        "fifths",
        "tenth",
        "tenths",
        "hundredth",
        "hundredths",
        "thousandth",
        "thousandths",
        "millionth",
        "millionths",
        "lakhs",
        "crores",
        "trillions",
        "quadrillion",
        "quadrillions",
        "mln",
        "mrd",
        "bln",
        "gross",
        "squared",
        "cubed",
        "factorial",
        "pair",
        "pairs",
    ]
)
_MONTHS = frozenset([
    "jan", "january", "feb", "february", "mar", "march", "apr", "april", "may", "jun", "june", "jul", "july",
    "aug", "august", "sep", "sept", "september", "oct", "october", "nov", "november", "dec", "december",
])  # fmt: skip
"""`2 May` is a day, not a two."""

_SCALE_LETTERS = frozenset(["k", "m", "b", "bn", "mn", "mio", "mil", "t", "tn", "g"])
"""`5k`, `2M`: thousands and millions as often as a unit, so it must be one that the schema names."""
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12}
_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}


class Number(NamedTuple):
    value: int | float
    rule: str
    confidence: float


def number_in(text: str, name: str, shape: Shape, beside: Mapping[str, str] = NOTHING) -> Number | None:
    """The number a text stands for at a place of this name and shape; None where it could be another or none.

    >>> from rightcall.base.json import shape_of
    >>> number_in("about 1,200", "calories", shape_of({"type": "integer"}))
    Number(value=1200, rule='number_hedge', confidence=0.9)
    """
    body = text.strip()
    if len(body) > 80:
        return None
    plain = read_number(body) if body else None
    if plain is None and body.isdecimal():
        plain = int(body)  # leading zeros: where a number is declared, 007 is seven
    if plain is not None:
        return Number(plain, "number_text", 1.0)
    hedge = _HEDGE.match(body)
    rest = body[hedge.end() :] if hedge else body
    found = _worded(rest) or _figures(rest, name, shape, beside)
    if found is not None and hedge:
        return Number(found.value, "number_hedge", min(found.confidence, 0.9))
    return found


def _figures(text: str, name: str, shape: Shape, beside: Mapping[str, str]) -> Number | None:
    sign, text, currency = "", text.strip(), ""
    if text.startswith(("+", "-")) and text[1:].startswith(tuple(CURRENCY_SIGNS)):
        sign, text = text[0], text[1:]
    if text.startswith(tuple(CURRENCY_SIGNS)):
        currency, text = text[0], text[1:].lstrip()
    match = _NUMERIC.match(text)
    if match is None:
        return None
    value = _separated(sign + match[0])
    tail = text[match.end() :].strip()
    if value is None:
        return None
    scale = _SCALES.get(tail.lower().split(" ")[0].rstrip("s")) if tail else None
    if scale is not None:
        value, tail = _scaled(value, scale), tail.partition(" ")[2].strip()
    if not tail and not currency:
        return Number(value, "number_format" if scale is None else "number_word", 1.0 if scale is None else 0.95)
    units = (currency, tail) if currency else (tail,)
    return Number(value, "number_unit", 0.9) if _harmless(units, name, shape, beside) else None


def _harmless(units: tuple[str, ...], name: str, shape: Shape, beside: Mapping[str, str]) -> bool:
    """Whether what stands beside the number changes nothing."""
    for word in units:
        if not word or word in CURRENCY_SIGNS or word == "%":
            continue
        said = set(re.findall(r"[a-z]+", word.lower()))
        if (
            not _REST.fullmatch(word)
            or said & (_CHANGES_MEANING | _MONTHS)
            or (said & _SCALE_LETTERS and not names(word, name, shape))
        ):
            return False
    return not any(contradicts(word, name, shape, beside) for word in units if word)


def _separated(token: str) -> int | float | None:
    """`1,234.5` and `1.234,5` have one reading; `1,5` has two, and `1.234` is one and a bit."""
    token = token.removesuffix(".").strip()
    plain = read_number(token)
    if plain is not None:
        return plain
    if _GROUPED.fullmatch(token):
        return read_number(re.sub(r"[,_ ']", "", token))
    if _EUROPEAN.fullmatch(token):
        return read_number(token.replace(".", "").replace(",", "."))
    return None


def _scaled(value: int | float, scale: int) -> int | float:
    """Exact: 8.2 million is 8200000, not 8199999.999999999."""
    from fractions import Fraction  # late: few numbers are written so

    product = Fraction(str(value)) * scale
    return int(product) if product.denominator == 1 else float(product)


def _worded(text: str) -> Number | None:
    """`two`, `twenty-five`, `one hundred and five`, `a dozen`; every word must be part of the number."""
    words = re.findall(r"[a-z]+|\S", text.lower().replace("-", " "))
    if not words or len(words) > 12:
        return None
    negative = words[0] in ("minus", "negative")
    if negative:
        words = words[1:]
    total, current, seen, scale = 0, 0, False, 10**12
    for position, word in enumerate(words):
        if word in _WORDS:
            if not _goes_on(current, _WORDS[word], alone=len(words) == 1):
                return None  # "twenty twenty", "one two": a year, digits, who knows
            current += _WORDS[word]
            seen = True
        elif word in ("a", "an") and position == 0 and len(words) > 1 and words[1] in _SCALES:
            current = 1
        elif word in ("hundred", "dozen") and current < 100:
            current = max(current, 1) * _SCALES[word]
            seen = True
        elif 1000 <= _SCALES.get(word, 0) < scale and (current or not total):
            total, current, seen, scale = total + max(current, 1) * _SCALES[word], 0, True, _SCALES[word]
        elif word != "and" or not seen or position == len(words) - 1:
            return None
    return Number(-(total + current) if negative else total + current, "number_word", 0.95) if seen else None


def _goes_on(current: int, more: int, *, alone: bool) -> bool:
    """Whether a word of this value can follow: five after twenty or after two hundred, not after three."""
    if more == 0:
        return alone
    return current % 100 == 0 or (current % 100 >= 20 and current % 10 == 0 and more < 10)

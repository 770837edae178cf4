"""Numbers written for people: `two`, `1,234.50`, `about 100`, `$5`, `4 tickets`. Only where one reading exists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rightcall.normalise.units import CURRENCY_SIGNS, NOTHING, contradicts, names
from rightcall.parse.late import Late
from rightcall.parse.scalars import read_number
from rightcall.parse.shape import Shape

_HEDGE = Late(
    r"(?:about|around|approx(?:imately|\.)?|roughly|circa|ca\.|nearly|almost|~|≈|exactly|just|only|=)\s*", re.I
)
_NUMERIC = Late(r"[-+]?(?:\d[\d,._ ']*\d|\d|\.\d+)(?:[eE][-+]?\d+)?\.?")
_GROUPED = Late(r"[-+]?\d{1,3}(?:([,_ '])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_EUROPEAN = Late(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+")
_REST = Late(r"(?=.*[A-Za-zµ°Ω])[A-Za-zµ°Ω²³/\-.]{1,24}(?:\s+[A-Za-z²³/\-]{1,24}){0,2}")
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

    >>> from rightcall.parse.shape import shape_of
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

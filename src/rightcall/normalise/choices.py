"""Values from a fixed set: which of them a model meant by `Celsius `, `°C` or `family_counselor`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rightcall.normalise.opposites import opposed
from rightcall.normalise.words import singular

_SAME = """
celsius|c|°c|degrees celsius|degree celsius|centigrade|℃
fahrenheit|f|°f|degrees fahrenheit|degree fahrenheit|℉
kelvin|k|°k
metric|si
imperial|us customary
km|kilometer|kilometers|kilometre|kilometres|kms
mi|mile|miles
m|meter|meters|metre|metres
cm|centimeter|centimeters|centimetre|centimetres
ft|foot|feet
in|inch|inches
kg|kilogram|kilograms|kilos
g|gram|grams
lb|lbs|pound|pounds
oz|ounce|ounces
l|liter|liters|litre|litres
ml|milliliter|milliliters|millilitre|millilitres
asc|ascending|ascend|a-z
desc|descending|descend|z-a
male|m|man
female|f|woman
true|yes|y|on|enabled
false|no|n|off|disabled
en|english|eng
fr|french|fra
de|german|deu|ger
es|spanish|spa
it|italian|ita
pt|portuguese|por
ja|japanese|jpn|jp
zh|chinese|zho|cn
ko|korean|kor
ru|russian|rus
ar|arabic|ara
usd|$|us dollar|us dollars|dollar|dollars
eur|€|euro|euros
gbp|£|british pound|pound sterling|sterling
jpy|¥|yen|japanese yen
inr|₹|rupee|rupees
monday|mon
tuesday|tue|tues
wednesday|wed
thursday|thu|thur|thurs
friday|fri
saturday|sat
sunday|sun
january|jan
february|feb
march|mar
april|apr
june|jun
july|jul
august|aug
september|sep|sept
october|oct
november|nov
december|dec
daily|day|1d|per day|every day
weekly|week|1w|per week|every week
monthly|month|1m|per month|every month
yearly|annually|annual|year|1y|per year|every year
hourly|hour|1h|per hour|every hour
low|l
medium|med|mid|m|moderate
high|h|hi
small|s|sm
large|l|lg
python|py|python3
javascript|js|node
typescript|ts
"""
_LONGEST = 200
_MEANING: dict[str, frozenset[int]] = {}
_PLAIN = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d")


class Choice(NamedTuple):
    value: Any
    rule: str
    confidence: float


def choose(value: Any, allowed: tuple[Any, ...], aliases: Mapping[str, Any]) -> Choice | None:
    """The one allowed value that was meant, or None.

    >>> choose(" Celsius", ("celsius", "fahrenheit"), {}).value
    'celsius'
    """
    text = _text(value)
    if text is None or len(text) > _LONGEST:
        return None
    for alias, meant in aliases.items():
        if _fold(alias) == _fold(text):
            return Choice(meant, "value_alias", 1.0)
    options = [(option, _text(option)) for option in allowed]
    for rule, confidence, test in _TESTS:
        hits = [option for option, written in options if written is not None and test(text, written)]
        if len(hits) == 1:
            return Choice(hits[0], rule, confidence)
        if hits:
            return None
    return None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return None


def _fold(text: str) -> str:
    return _PLAIN.sub("", text.casefold())


def _same(one: str, other: str) -> bool:
    if not _MEANING:
        groups: dict[str, set[int]] = {}
        for number, line in enumerate(_SAME.strip().splitlines()):
            for word in line.split("|"):
                groups.setdefault(word, set()).add(number)
        _MEANING.update((word, frozenset(numbers)) for word, numbers in groups.items())
    left = _MEANING.get(one.strip().casefold(), frozenset())
    return bool(left & _MEANING.get(other.strip().casefold(), frozenset()))


def _near(one: str, other: str) -> bool:
    left, right = _fold(one), _fold(other)
    shorter = min(len(left), len(right))
    if shorter < 5 or left[0] != right[0] or _DIGITS.findall(left) != _DIGITS.findall(right) or opposed(one, other):
        return False
    from rapidfuzz.distance import OSA  # late: only values that are wrong pay for it

    replaced = len(left) == len(right) and sorted(left) != sorted(right)  # northeast and northwest
    allowed = 2 if shorter >= 9 and not replaced else 1
    return OSA.distance(left, right, score_cutoff=allowed) <= allowed


def _same_letters(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _same_words(one: str, other: str) -> bool:
    return _fold(one) == _fold(other) != ""


def _same_singular(one: str, other: str) -> bool:
    return singular(_fold(one)) == singular(_fold(other)) != ""


_TESTS = (
    ("enum_style", 1.0, _same_letters),
    ("enum_style", 1.0, _same_words),
    ("enum_synonym", 0.95, _same),
    ("enum_plural", 0.95, _same_singular),
    ("enum_typo", 0.9, _near),
)
"""Surest first; a test that more than one value passes decides nothing."""

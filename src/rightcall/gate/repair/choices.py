"""Values from a fixed set: which of them a model meant by `Celsius `, `°C` or `family_counselor`.

The list of changes made to one call, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from rightcall.base.json.marks import REPAIRING, repairs_of
from rightcall.base.json.reader import Read
from rightcall.base.json.shape import read_number
from rightcall.gate.repair.words import joined, opposed, singular, words_of
from rightcall.types import Problem, ProblemCode, Repair, StrategyName, UnknownArgument

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
minutely|minute|1m|1min|per minute|every minute
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
_MOST_FUZZY = 200
"""Among more values than this, one that is a letter away says little, and looking for it takes long."""

_LETTER = r"[^\W\d_]"
_SEPARATOR = (  # patterns that only a wrong value needs: compiled at first use
    rf"(?<={_LETTER})[-\s_]+(?={_LETTER})|(?<={_LETTER})[\s_]+(?=\d)|(?<=\d)(?:[\s_]+|-(?={_LETTER}{{2}}))(?={_LETTER})"
)
_JOINT = rf"(?<={_LETTER}{{2}})-(?=\d)"
"""`utf-8` and `sha-256`: no minus, unlike the one in `UTC-5`."""

_OFFSET = r"(?i)^\s*(?:utc|gmt)|\+\d"
_MUTE = rf"(?<={_LETTER})['’.](?={_LETTER})"


class Choice(NamedTuple):
    value: Any
    rule: str
    confidence: float


class _Options(NamedTuple):
    """The values of one set, by what is compared; made once for each set."""

    letters: Mapping[str, tuple[Any, ...]]
    folded: Mapping[str, tuple[Any, ...]]
    meanings: Mapping[int, tuple[Any, ...]]
    singulars: Mapping[str, tuple[Any, ...]]
    by_initial: Mapping[str, tuple[tuple[str, str, Any], ...]]
    numbers: tuple[tuple[int | float, Any], ...]


def choose(value: Any, allowed: tuple[Any, ...], aliases: Mapping[str, Any]) -> Choice | None:
    """The one allowed value that was meant, or None.

    >>> choose(" Celsius", ("celsius", "fahrenheit"), {}).value
    'celsius'
    """
    text = _text(value)
    if text is None or len(text) > _LONGEST:
        return None
    letters, folded = _letters(text), _fold(text)
    for alias, meant in aliases.items():
        if _letters(alias) == letters or (folded and _fold(alias) == folded):
            return Choice(meant, "value_alias", 1.0)
    options = _options(allowed)
    number = value if _is_number(value) else read_number(letters)
    if isinstance(value, str) and letters in options.letters:
        return _one(options.letters[letters], "enum_style", 1.0)
    if number is not None:
        return _one(_equal(number, value, options), "enum_style", 1.0)
    return _worded(text, letters, folded, options)


def _worded(text: str, letters: str, folded: str, options: _Options) -> Choice | None:
    """Surest first; a test that more than one value passes decides nothing."""
    same = tuple(dict.fromkeys(hit for group in _meanings(letters) for hit in options.meanings.get(group, ())))
    for rule, confidence, hits in (
        ("enum_style", 1.0, options.letters.get(letters)),
        ("enum_style", 0.95, options.folded.get(folded)),
        ("enum_synonym", 0.95, same),
        ("enum_plural", 0.95, options.singulars.get(_singular(folded))),
    ):
        if hits:
            return _one(hits, rule, confidence)
    alike = options.by_initial.get(folded[:1], ())
    near = tuple(option for other, form, option in alike if _near(folded, form) and not opposed(text, other))
    return _one(near, "enum_typo", 0.9)


def _one(hits: tuple[Any, ...], rule: str, confidence: float) -> Choice | None:
    return Choice(hits[0], rule, confidence) if len(hits) == 1 else None


def _equal(number: int | float, value: Any, options: _Options) -> tuple[Any, ...]:
    """The values that are this number. Where they are texts, 3.1 and 3.10 may be two versions."""
    hits = tuple(option for other, option in options.numbers if other == number)
    if isinstance(number, int) or number.is_integer():
        return hits
    return () if any(isinstance(option, str) and option != str(value) for option in hits) else hits


def _options(allowed: tuple[Any, ...]) -> _Options:
    try:
        return _index_cached(allowed, tuple(map(type, allowed)))
    except TypeError:  # a list or an object among them
        return _indexed(allowed)


@lru_cache(maxsize=512)
def _index_cached(allowed: tuple[Any, ...], _types: tuple[type, ...]) -> _Options:
    """With the types, because 1, 1.0 and true are the same key."""
    return _indexed(allowed)


def _indexed(allowed: tuple[Any, ...]) -> _Options:
    numbers = [(option if _is_number(option) else _number(option), option) for option in allowed]
    texts = [(text, option) for option in allowed if not _is_number(option) and (text := _text(option)) is not None]
    signed = any(re.search(_OFFSET, text) for text, _ in texts)
    forms = [(text, _fold(text, signed), option) for text, option in texts]
    return _Options(
        _by((_letters(text), option) for text, option in texts),
        _by((form, option) for _, form, option in forms),
        _by((group, option) for text, option in texts for group in _meanings(_letters(text))),
        _by((_singular(form), option) for _, form, option in forms),
        _by((form[:1], (text, form, option)) for text, form, option in forms if len(forms) <= _MOST_FUZZY),
        tuple((number, option) for number, option in numbers if number is not None),
    )


def _by(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Any]] = {}
    for key, option in pairs:
        if key != "":
            groups.setdefault(key, []).append(option)
    return {key: tuple(options) for key, options in groups.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(option: Any) -> int | float | None:
    return read_number(_letters(option)) if isinstance(option, str) and len(option) <= _LONGEST else None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else None


def _letters(text: str) -> str:
    return normalize("NFC", text).strip().casefold()


@lru_cache(maxsize=4096)
def _fold(text: str, signed: bool = False) -> str:
    """Without what only separates words. What can change a number or turn a meaning round stays: `-5`, `1.0`, `!a`."""
    letters = _letters(text).strip("_ ")
    if not signed and not re.search(_OFFSET, letters):
        letters = re.sub(_JOINT, "", letters)
    letters = re.sub(_SEPARATOR, "", letters)
    return letters[:-1] if letters[-2:-1].isalpha() and letters.endswith(".") else letters


def _singular(folded: str) -> str:
    return singular(folded) if folded[-2:].isalpha() else folded


@lru_cache(maxsize=1)
def _groups() -> dict[str, frozenset[int]]:
    groups: dict[str, set[int]] = {}
    for number, line in enumerate(_SAME.strip().splitlines()):
        for word in line.split("|"):
            groups.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in groups.items()}


def _meanings(letters: str) -> frozenset[int]:
    return _groups().get(letters, frozenset())


def _near(one: str, other: str) -> bool:
    left, right = re.sub(_MUTE, "", one), re.sub(_MUTE, "", other)
    shorter = min(len(left), len(right))
    if shorter < 5 or left[0] != right[0] or abs(len(left) - len(right)) > 2:
        return False
    if any(re.findall(signs, left) != re.findall(signs, right) for signs in (r"[^\w\s]", r"\d+")):
        return False
    from rapidfuzz.distance import OSA  # late: only values that are wrong pay for it

    replaced = len(left) == len(right) and sorted(left) != sorted(right)  # northeast and northwest
    allowed = 2 if shorter >= 9 and not replaced else 1
    return OSA.distance(left, right, score_cutoff=allowed) <= allowed


# ── the list of changes ───────────────────────────────────────────────────────────────────────────────────────────────

MOST_ATTEMPTS = 2_000
"""So many alternatives of a schema are tried in one call; a value that needs more is left as it is, and refused."""

_DECLARED = frozenset({"alias", "value_alias", "form", "tool_repair"})


NOTES: Final[Mapping[str, str]] = {
    "alias": "a declared alias of the name",
    "style": "another spelling of the name",
    "affix": "the name with a word before or behind it",
    "typo": "a misspelt name",
    "suffix": "the name with a word behind it",
    "synonym": "a synonym of the name",
    "part": "a part of the name",
    "elimination": "the only name left for the only missing argument",
    "flattened": "moved into the object that it belongs to",
    "unwrapped": "taken out of its envelope",
    "unwrapped_list": "taken out of a list of one",
    "wrapped_in_list": "one value put into a list",
    "split_list": "a text split into a list",
    "text_to_value": "a text read as the value it holds",
    "json_text": "written as JSON text, which the tool wants",
    "null_optional": "an optional argument without a value left out",
    "null_word": "a word for nothing read as null",
    "value_alias": "a declared alias of the value",
    "form": "a declared form of the value",
    "enum_style": "another spelling of an allowed value",
    "enum_typo": "a misspelt allowed value",
    "number_text": "a number written as text",
    "number_unit": "a number written with its unit",
    "number_word": "a number written in words",
    "number_to_text": "a number where the tool wants text",
    "number_to_boolean": "a number where the tool wants true or false",
    "boolean_to_text": "true or false where the tool wants text",
    "boolean_text": "a word for true or false",
    "dropped_argument": "the tool has no such argument",
    "tool_alias": "another name of the tool",
    "tool_namespace": "the tool's name with its server or namespace",
    "tool_style": "another spelling of the tool's name",
    "tool_typo": "a misspelt name of the tool",
    "tool_replaced": "the tool that replaces a deprecated one",
    "tool_repair": "a repair that was registered for the tool",
}
"""Why, in words, for each rule; those of the reader have theirs in `base/json/marks.py`."""


class Log:
    """Collects repairs and problems, and knows what is allowed: which strategies, and what to do with strangers.

    A change that names no strategy was led by the schema.
    """

    __slots__ = ("attempts", "beside", "inside", "lossy", "problems", "repairs", "strategies", "unknown")

    def __init__(self, unknown: UnknownArgument = "drop", strategies: frozenset[StrategyName] = REPAIRING) -> None:
        self.unknown: UnknownArgument = unknown
        self.strategies = strategies
        self.repairs: list[Repair] = []
        self.problems: list[Problem] = []
        self.lossy = False  # the text had digits that a number does not keep: 1.10
        self.beside: Mapping[str, str] = {}  # what the siblings of a value say of its unit
        self.attempts = [MOST_ATTEMPTS]  # a list, so that trials draw from the same
        self.inside: Mapping[str, Any] = {}  # what is declared of places inside of arguments, by the place around them

    def add(
        self, path: str, before: Any, after: Any, rule: str, confidence: float, strategy: StrategyName | None = None
    ) -> None:
        known: StrategyName = strategy or ("manual_repair" if rule in _DECLARED else "structure")
        self.repairs.append(Repair(path, before, after, known, rule, confidence, NOTES.get(rule, "")))

    @property
    def led(self) -> bool:
        """Whether the schema may lead: names, types and values inferred from it."""
        return "structure" in self.strategies

    def trial(self) -> Log:
        """An empty log of the same kind, for a change that may be given up."""
        trial = Log(self.unknown, self.strategies)
        trial.attempts, trial.beside, trial.lossy = self.attempts, self.beside, self.lossy
        trial.inside = self.inside
        return trial

    def may_try(self, alternatives: int) -> bool:
        """Whether so many alternatives may still be tried; then they count as tried."""
        self.attempts[0] -= alternatives
        return self.attempts[0] >= 0

    def read(self, path: str, text: str, read: Read, *, declared: bool = False) -> bool:
        """Note what the lenient reader needed for a text; false if that is not allowed. `declared`: a pack or the
        policy says of this tool that there is such a text."""
        repairs, forbidden = repairs_of(read.marks, text, path, self.strategies, value=read.value, declared=declared)
        self.repairs.extend(() if forbidden else repairs)
        return not forbidden

    def problem(self, code: ProblemCode, path: str, message: str) -> None:
        self.problems.append(Problem(code, path, message))

    def extend(self, other: Log) -> None:
        self.repairs.extend(other.repairs)
        self.problems.extend(other.problems)


# ── restraints ──
# Strangers that must not be dropped: they hold a call back or narrow it, so that without them it would do more.
#
# `rm -rf x` with `dry_run` is another call than without. What adds nothing but a preference is dropped as ever.

_BACK_TEXT = "dry dryrun simulate simulated simulation preview draft sandbox readonly disabled disable paused append"
_BACK = frozenset(_BACK_TEXT.split())
"""Words that hold a call back where they are switched on."""

_CONFIRM = frozenset(["confirm", "confirmed", "confirmation", "approve", "approved", "approval", "consent"])
"""Words that hold a call back where they are switched off."""

_NARROW_TEXT = (
    "exclude excluded excludes excluding exclusion exclusions except skip ignore omit without unless only not no"
)
_NARROW = frozenset(["no", *_NARROW_TEXT.split()])
"""Words that take something out of what a call works on."""

_VALUES = frozenset(["append", "dryrun", "preview", "simulate", "readonly", "draft"])
"""What a `mode` may say to the same effect."""

_OFF = (None, False, 0, "", "false", "no", "off", "none", "0")


def restrains(name: str, value: Any) -> bool:
    """Whether a call without this argument would do more than the one that was written.

    >>> restrains("dry_run", True), restrains("dryRun", False), restrains("exclude", ["a"]), restrains("colour", "red")
    (True, False, True, False)
    """
    words = words_of(name)
    off = (value.strip().lower() if isinstance(value, str) else value) in _OFF
    if any(word in _CONFIRM for word in words):
        return off and value is not None
    if off or value == [] or value == {}:
        return False
    if any(word in _BACK for word in words) or joined(name) in _BACK:
        return True
    if any(word in _NARROW for word in words):
        return words[:2] != ("no", "of")  # the number of something
    return joined(name).endswith("mode") and isinstance(value, str) and joined(value) in _VALUES

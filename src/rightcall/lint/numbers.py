"""RC304, RC307, RC311, RC314: the numbers of a text: ranges that only the text gives or that the schema gives
otherwise, and units.

A number that is only recommended, or that counts something else than the value, is no bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.numbers import is_unit
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.choices import is_example
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, bare, quote_name, quote_text, word_set
from rightcall.lint.samples import shown_numbers, shown_texts

MOST_DESCRIPTION: Final = 8_000
"""Characters of a tool's description that are read."""

# ── ranges ──

_NUMBER = r"(?:[$€£]\s?)?(-?\d(?:[\d,_]{0,13}\d)?(?:\.\d{1,6})?)(?![\d^]|\*\*|-\d\d-\d\d)"
_MORE = r"(?:more|greater|larger|higher|bigger|longer) than"
_BETWEEN: Final = re.compile(
    rf"\b(?:between|entre|zwischen|tra) {_NUMBER} (?:and|to|y|et|e|und) {_NUMBER}|"
    rf"\b(?:from|range:?|range (?:of|is)|values?:?|scale:?|scale of|give|threshold|score|confidence|probability|ratio) "
    rf"{_NUMBER}"
    rf"\s?(?:to|-|–|\.\.)\s?{_NUMBER}|\({_NUMBER}\s?(?:-|–|to|\.\.)\s?{_NUMBER}(?=[,;)\s])|\[{_NUMBER}(?:,\s?|"
    rf"\s?(?:\.\.|-|–)\s?){_NUMBER}\]|"
    rf"(?<![\w.]){_NUMBER}\s?\.\.\.?\s?{_NUMBER}(?![\w.])|"
    rf"\b(?:below|under|(?:less|lower|smaller) than) {_NUMBER} (?:and|or|nor) (?:above|over|beyond|{_MORE}) {_NUMBER}"
    r"(?= (?:is|are|will be) )|"
    rf"\bvalid [a-z]+ are {_NUMBER} (?:to|through|-|–) {_NUMBER}|"
    rf"(?:^|[.;,:]\s){_NUMBER}\s?(?:-|–|to|\.\.)\s?{_NUMBER}"
    r"(?=(?: (?!or\b|for\b|if\b|and\b)[a-z]+){0,2}\s*(?:[.;(]|$|\.\s)|,? so that\b)",
    re.IGNORECASE,
)
_CASE: Final = re.compile(r"[^\n:]{0,40}\):\s")
"""What follows a range in brackets that names a case: `short songs (1-3 minutes): 5 MB`."""
_UPPER: Final = re.compile(
    rf"(?:(?:\b(?:max(?:imum|\.|imal)?|m[áa]ximo|massimo|höchstens)|最[大多高](?:值|为)?)"
    rf"(?: value)?(?: allowed)?(?: is| of|:|=)?|\bat most|\bup to|\bno {_MORE}|\bwithin(?= \d+ "
    rf"characters)|"
    rf"(?:\bnot|n't|\bnever) (?:be )?(?:{_MORE}|over|above)|\blimited to|"
    r"\b(?:highest|largest|greatest|longest)(?: value| number)?(?: allowed| possible)?(?: is)?(?= \d)|"
    r"(?<!default )(?<!rate )\b(?:limit|cap|ceiling) is|"
    r"\b(?:cannot|must not|may not|can't|not) exceed|\bnot exceeding|\bno(?:ne|body's|thing)?\b[^.;\d]{0,24} exceed|"
    r"\bless than or equal to|<=|≤)"
    rf"\s?{_NUMBER}(?!\s?(?:%|x|-|decimal|digit|time))|"
    rf"\b(?:{_MORE}|above|over|beyond) {_NUMBER}(?= (?:[a-z]+ )?(?:is|are|will be|gets?) (?:refused|rejected|invalid|"
    r"not allowed|not accepted|an error|turned (?:down|away))\b)",
    re.IGNORECASE,
)
_UPPER_BEHIND: Final = re.compile(
    rf"(?<![\w.,-]){_NUMBER}(?=(?: [a-z]+)? (?:at (?:the )?(?:very )?(?:most|highest|largest|longest)|or fewer|"
    r"or less|maximum|max|"
    rf"is (?:the )?(?:most|maximum|max|limit|highest|"
    r"largest|longest)(?: (?:you|it|we|that|allowed|possible)\b[^.;,\n]{0,20})?)"
    r"\s*(?:[.,;)]|$))",
    re.IGNORECASE,
)
"""`200 characters at most`"""
_LOWER: Final = re.compile(
    rf"(?:(?:\b(?:min(?:imum|\.|imal)?|m[íi]nimo|mindestens)|最[小少低](?:值|为)?)"
    rf"(?: value)?(?: is| of|:|=)?|\bat least|\bnot? (?:less|fewer|shorter|smaller|lower) than|"
    r"\b(?:shortest|smallest|lowest|least)(?: value| number)?(?: allowed| possible)?(?: is)?(?= \d)|"
    rf"\bnot (?:be )?(?:below|under|(?:less|lower|smaller) than)|\bgreater than or equal to|>=|"
    rf"≥)\s?{_NUMBER}|(?<![\w.,]){_NUMBER}(?=(?: [a-z]+)? at (?:the )?(?:very )?(?:lowest|smallest|shortest)\b)",
    re.IGNORECASE,
)
_POSITIVE: Final = re.compile(
    r"\bmust be (?:a )?positive\b|\bpositive (?:integer|number)\b|\bgreater than (?:0|zero)\b|"
    r"\b(?:not|never) be negative\b|\bmust be (?:> ?0|non-negative)|\bnon-negative (?:integer|number)\b",
    re.IGNORECASE,
)
_UNIT_WORD: Final = re.compile(
    r"\s?(characters?|chars?|letters|words?|items?|entries|elements|urls?|values|ids|results|tags|files|bytes|"
    r"[kmg]b)\b",
    re.IGNORECASE,
)


_WORDS_TEXT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS_TEXT = "ten twenty thirty forty fifty sixty seventy eighty ninety"
_DIGITS: Final = {word: number for number, word in enumerate(_WORDS_TEXT.split())} | {
    word: 10 * number for number, word in enumerate(_TENS_TEXT.split(), 1)
}
_ANY_WORD = "|".join(_DIGITS)
_ONES = "|".join(_WORDS_TEXT.split()[1:10])
_SPELT: Final = re.compile(
    rf"\b({_ANY_WORD})(?:[ -](hundred|thousand)|(?<=ty)[ -]({_ONES}))?\b(?! (?:of(?! them| these)|for|or|by|at a|is|"
    rf"more)\b(?! (?:fewer|less|more)\b)|-)",
    re.IGNORECASE,
)
"""`five hundred`, and not `one of`"""
_IS_MEANT = r"(?:\s?=\s?|,? (?:is|being|means|meaning|for|stands for|denotes) )"
_SCALE_WORD: Final = re.compile(
    rf"\b({_ANY_WORD})(?= (?:being|means|meaning|for|stands for|denotes) [a-z])", re.IGNORECASE
)
"""`one` in `from one for awful to five for superb`"""
_SIGNED: Final = re.compile(r"\b(?:(minus)|plus) (?=\d)", re.IGNORECASE)
_SCALED: Final = re.compile(
    r"\b(\d{1,4}) (?:is|being|means) (?:worst|lowest|least|bad|none|off|empty|minimum|poor|easiest|mildest)(?:,|"
    r" and|,? to) "
    r"(\d{1,4}) (?:is |being |means )?(?:best|highest|most|good|full|on|maximum|excellent|hardest|worst)\b",
    re.IGNORECASE,
)
"""`0 is worst and 10 is best`"""
_MEANING: Final = re.compile(r"(?<=\d)\s?\((?![^()]*\d)[^()\n]{1,60}\)(?=\s?(?:to|and|through|up to|-|–|\.\.|[.,;]|$))")
"""`0 (off) to 100 (full)`: what a number means."""
_SAID: Final = re.compile(rf"(?<=\d)\s?\((?:{_ANY_WORD})\b[^()\n\d]{{0,40}}\)(?=\s?(?:to|and)\b)", re.IGNORECASE)
_LEGEND: Final = re.compile(
    rf"(?<![\w.])(\d{{1,6}}){_IS_MEANT}(?!up to|at most)[A-Za-z][\w -]{{1,40}}?"
    rf"(…|\.\.\.|\.\.|,|;| to| through| up to| and|[ -]{{2,3}})(?: and)?\s*(\d{{1,6}}){_IS_MEANT}(?=[A-Za-z])",
    re.IGNORECASE,
)
_EXPLAINED: Final = re.compile(rf"\d{_IS_MEANT}[A-Za-z]", re.IGNORECASE)
_IS_INSIDE: Final = re.compile(rf"{_NUMBER}\s?(?:<=|≤)\s?[A-Za-z_]\w{{0,40}}\s?(?:<=|≤)\s?{_NUMBER}")


_SAME_UNIT: Final = re.compile(r"(?<![\w.,])(\d{1,9}) ([a-z]{2,20}?)s? (to|and) (\d{1,9}) \2s?\b", re.IGNORECASE)
"""`from 1 star to 5 stars`"""
_STANDS_FOR: Final = re.compile(r"(?<![\w.])-?\d{1,3}\s?(?:=|means|for)\s?(?:up to|at most)\s\d[\d,]*", re.IGNORECASE)
"""`0 = up to 100`: what one value asks for."""


def _flat(text: str) -> str:
    """A text in which ranges are written one way: without marks and articles, in digits, and without what a number
    means."""
    text = _SCALE_WORD.sub(lambda word: str(_DIGITS[word[0].lower()]), _SAID.sub("", bare(text)))
    text = _SIGNED.sub(lambda sign: "-" if sign[1] else "", _SPELT.sub(_in_digits, text))
    text = _SCALED.sub(r"from \1 to \2", text)
    text = _STANDS_FOR.sub(" ", _MEANING.sub("", text).replace("up to and including", "up to"))
    text = _SAME_UNIT.sub(r"\1 \3 \4 \2", _IS_INSIDE.sub(r"from \1 to \2", text))
    if len(_EXPLAINED.findall(text)) == 2 and "offset" not in text.lower():
        text = _LEGEND.sub(_from_legend, text)
    return text


def _from_legend(found: re.Match[str]) -> str:
    """`0 = off … 100 = full` is a range, `0 = off, 1 = on` a list."""
    apart = int(found[3]) - int(found[1])
    if int(found[1]) > 1:
        return found[0]  # `3600 = one hour, 86400 = one day`: two among many
    least = _LEAST_SPAN if found[2].strip() not in (",", ";", "and") else _LEAST_LISTED
    return f"from {found[1]} to {found[3]} " if apart > least else found[0]


_LEAST_SPAN, _LEAST_LISTED = 2, 8


def _in_digits(found: re.Match[str]) -> str:
    times = {"hundred": 100, "thousand": 1_000}.get((found[2] or "").lower(), 1)
    return str(_DIGITS[found[1].lower()] * times + _DIGITS.get((found[3] or "").lower(), 0))


_OF_ITEM: Final = re.compile(r"[`'\"]\w{1,40}[`'\"] \(\d+\s?(?:-|–|to)\s?\d+\)")
"""`each with a 'rating' (1-10)`"""


_AN_EXAMPLE: Final = re.compile(r"\((?:e\.?g\b|for example\b|for instance\b|such as\b)[^()]{0,200}\)", re.IGNORECASE)
"""`(e.g., 300 for speeds >= 300 km/h)`: one of the values, and what it does."""


def find_range(argument: Argument, text: str) -> Iterator[Hit]:
    text = _flat(_OF_ITEM.sub(" ", text) if argument.kind == "array" else text)
    text = _AN_EXAMPLE.sub(" ", text)
    low, high, positive = _told_bounds(argument, text)
    if low is None and high is None and not positive:
        return
    schema = argument.schema
    if {"enum", "const", "anyOf", "oneOf"} & schema.keys():
        return
    lows, highs = _BOUNDS[argument.kind]
    has_low, has_high = _bound(schema, lows), _bound(schema, highs)
    wrong = (high is not None and has_high is not None and _differs(high, has_high, schema, highs)) or (
        low is not None and has_low is not None and _differs(low, has_low, schema, lows)
    )
    if wrong and (_is_told_apart(argument, text, (has_low, has_high)) or _is_fraction(text, has_high)):
        return
    if wrong:
        yield Hit(
            "RC311",
            f"the text of {quote_name(argument.name)} gives another range than the schema",
            "make them the same",
            argument.path,
        )
        return
    missing = ([f'"{lows[0]}": {_plain(low)}'] if low is not None and has_low is None else []) + (
        [f'"{highs[0]}": {_plain(high)}'] if high is not None and has_high is None else []
    )
    if positive and has_low is None and low is None:
        low = 1 if positive == "1" and argument.kind == "integer" else 0
        missing.append(f'"{lows[0]}": {_plain(low)}')
    if missing and not _is_crossed(
        argument, text, low if has_low is None else None, high if has_high is None else None
    ):
        yield Hit(
            "RC304",
            f"only the text gives the range of {quote_name(argument.name)}",
            f"add {', '.join(missing)}",
            argument.path,
            certain=not _ADJUSTED.search(text) and not (high is not None and _is_far(argument.kind, high)),
        )


def find_told_bound(argument: Argument, tool: ToolView) -> Iterator[Hit]:
    """`for some days, up to 90`, in the text of a tool whose `days` end at 30."""
    word, highest = singular(argument.name.lower()), argument.schema.get("maximum")
    if not is_unit(word) or not isinstance(highest, int | float):
        return
    most = rf"(?:up to|at most|no more than|a maximum of) {_NUMBER}"
    told = re.compile(rf"\b{word}s?,? {most}(?!\s?(?:%|[a-z]))|\b{most} {word}s?\b", re.IGNORECASE)
    numbers = {_float(one[1] or one[2]) for one in told.finditer(tool.description[:MOST_DESCRIPTION])}
    if len(numbers) == 1 and numbers != {float(highest)} and str(highest) not in tool.description:
        yield Hit(
            "RC311",
            f"the text of the tool gives another range of {quote_name(argument.name)} than the schema",
            "make them the same",
            argument.path,
        )


_ADJUSTED: Final = re.compile(r"\b(?:coerced|clamped|capped|normali[sz]ed|truncated|rounded|cut off)\b", re.IGNORECASE)
"""A value outside is taken, and changed."""
_FAR = 10_000


def _is_far(kind: str, high: float) -> bool:
    """Whether no model gets there: a text of 65,535 characters."""
    return kind == "string" and high > _FAR


def _is_told_apart(argument: Argument, text: str, given: tuple[float | None, ...]) -> bool:
    """Whether the bounds of the schema are told as well, or every other bound is one of a single case."""
    numbers = {_float(one) for one in re.findall(rf"(?<![\w.,-]){_NUMBER}", text)}
    if any(one in numbers and one not in (0, 1) for one in given):
        return True
    always = "; ".join(one for one in _CLAUSES.split(text) if not _IN_ONE_CASE.search(one) or _LEFT_OUT.search(one))
    low, high, _ = _told_bounds(argument, _LEFT_OUT.sub(" ", always))
    return low is None and high is None


_CLAUSES: Final = re.compile(r"[.;](?:\s+|$)|\n|(?<=\w)\s(?=\()|,\s(?=or\b)")
_IN_ONE_CASE: Final = re.compile(r"\b(?:if|when|or|for)\b", re.IGNORECASE)
_LEFT_OUT: Final = re.compile(
    r"\(?\b(?:\d+,? )?(?:by default )?(?:if|when) (?:it is |not |left |omitted|nothing|none|absent|missing|unset)"
    r"(?:given|set|specified|provided|out|empty|blank)?\b[^.;,\n]{0,20}",
    re.IGNORECASE,
)
_PERCENT: Final = re.compile(r"\bpercent(?:age)?\b|%", re.IGNORECASE)
_FRACTION: Final = re.compile(r"\b(?:fraction|ratio|decimals?|proportion)\b", re.IGNORECASE)


def _is_fraction(text: str, high: float | None) -> bool:
    """Whether a text tells of percent and of the fraction that the schema bounds: `0.5 for 50 %`, up to 1."""
    if not _PERCENT.search(text):
        return False
    numbers = [_float(one) for one in re.findall(r"(?<![\w.,])\d{1,9}(?:\.\d{1,6})?(?![\w,]|\.\d|\s?%)", text)]
    return _FRACTION.search(text) is not None or high in numbers or any(0 < one < 1 for one in numbers)


def _is_crossed(argument: Argument, text: str, low: float | None, high: float | None) -> bool:
    """Whether the definition itself shows a value outside of the bounds: `1 to 100, or 0 for all`."""
    if argument.kind in ("integer", "number"):
        others = _OR_BETWEEN.search(text)
        shown = [*shown_numbers(argument, text), *map(float, re.findall(r"\d+(?:\.\d+)?", others[1] if others else ""))]
    else:
        texts = shown_texts(argument, text)
        shown = [float(len(one)) for one in texts] if argument.kind == "string" else []
        if isinstance(argument.part.get("default"), list):
            shown.append(float(len(as_list(argument.part["default"]))))
    return any((low is not None and one < low) or (high is not None and one > high) for one in shown)


_OR_BETWEEN: Final = re.compile(
    r"((?:-?\d+(?:\.\d+)?(?:[^.;\n\d]|\.\.\.){1,24}){1,12})\bor (?:an? )?(?:[a-z]+ ){0,3}?(?:between|from)\b",
    re.IGNORECASE,
)
"""`0 (off), or between 5 and 90`: what stands before is a value as well."""
_BOUNDS: Final = {
    "integer": (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")),
    "number": (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")),
    "string": (("minLength",), ("maxLength",)),
    "array": (("minItems",), ("maxItems",)),
}


def _told_bounds(argument: Argument, text: str) -> tuple[float | None, float | None, str]:
    """Lower and upper bound as the text tells them, and whether it says that the number is positive."""
    kind = argument.kind
    if kind not in _BOUNDS:
        return None, None, ""
    low, high = None, None
    between = next(
        (
            one
            for one in _BETWEEN.finditer(text)
            if _bounds(argument, text, one) and not is_example(text, one.start()) and not _CASE.match(text, one.end())
        ),
        None,
    )
    if between is not None and (_is_advice(text, between) or _MORE_BEHIND.match(text, between.end())):
        between = None
    if between is not None:
        given = [_float(one) for one in between.groups() if one is not None]
        low, high = (given[0], given[1]) if len(given) == 2 and given[0] < given[1] else (None, None)
    if high is None:
        high = _find_bound(argument, text, _UPPER, 1)
    if low is None:
        low = _find_bound(argument, text, _LOWER, 0)
    if kind in ("string", "array") and _MAY_BE_EMPTY.search(text):
        low = None
    told = _POSITIVE.search(text) if kind in ("integer", "number") else None
    return low, high, "" if told is None else "0" if "negative" in told[0].lower() else "1"


_MORE_BEHIND: Final = re.compile(r"\s?(?:,|\bor\b|\band\b|,\s?or\b)\s?\d")
"""`0-5, 10, or 46`"""
_ADVISES: Final = re.compile(
    r"\b(?:(?:lower|higher|larger|smaller|greater|bigger)(?! than -?\d)|typical(?:ly)?|recommended|recommend|"
    r"suggested?|usual(?:ly)?|common|good|best|"
    r"(?<!at )(?<!very )(?<!is )most(?= [a-z-]+s )|"
    r"ideal(?:ly)?|optimal|normally|generally|reasonable|sensible|prefer(?:red)?|try|aim for|start with)\b",
    re.IGNORECASE,
)


_PAST: Final = re.compile(r"\b(?:was|were)\s*$|\blast (?:year|month|week)\b", re.IGNORECASE)


def _is_advice(text: str, found: re.Match[str]) -> bool:
    """Whether numbers are only said to be good ones, or no bound: `(1-3 recommended)`, `lower values (10-50)`."""
    before = re.split(r"[.;\n]", text[max(0, found.start() - 40) : found.start()])[-1]
    if _PAST.search(before):
        return True
    if re.search(r"\bexceed|[*×+/]\s?\w+\s*(?:must|can|may)?\s*$", before):
        return True  # a higher one is taken too, or it is one of a product: `page * size must not exceed 1000`
    behind = re.split(r"[.;,\n]", text[found.end() : found.end() + 30])[0]
    return _ADVISES.search(before + " " + behind) is not None


def _find_bound(argument: Argument, text: str, pattern: re.Pattern[str], side: int) -> float | None:
    """The bound of the schema where the text tells it too: then another may be one of something else ("up to 20 on each
    page, at most 500 pages"). Otherwise the first that is told."""
    told = [
        _float(next(number for number in one.groups() if number))
        for one in (*pattern.finditer(text), *(_UPPER_BEHIND.finditer(text) if side else ()))
        if _bounds(argument, text, one) and not _is_advice(text, one)
    ]
    given = _bound(argument.schema, _BOUNDS[argument.kind][side])
    return given if given in told else next(iter(told), None)


def _bounds(argument: Argument, text: str, found: re.Match[str]) -> bool:
    """Whether a number is a bound of the argument: of what it counts, in its unit, and of every kind of it."""
    return (
        (_counts(argument.kind, text, found) or _counts_items(argument, text, found))
        and not _is_scaled(argument, text, found)
        and not _is_of_one_kind(argument, text[: found.start()])
        and not _OF_CASE.search(_LEFT_OUT.sub(" ", text[max(0, found.start() - _EARLY) : found.start()]))
    )


_MAY_BE_EMPTY: Final = re.compile(
    r"\b(?:may|can|could) (?:also )?(?:be (?:empty|blank|left (?:empty|blank))|have no)\b|"
    r"\b(?:pass|use|give|send|leave)(?: an?| it)? (?:empty|blank)\b",
    re.IGNORECASE,
)
_LENGTH_OF: Final = re.compile(
    r"\b(?:length|size) of (?:the |an? |each |every )?((?:[\w-]+ ){1,3})[\w-]+ (?:must|should|is|can|may)\b[^.;\n]*$",
    re.IGNORECASE,
)


_SUBJECT: Final = re.compile(
    r"[.;,:]\s(?:the )?([a-z]{3,20}) (?:is|are|has|have|[a-z]{2,12}s)(?: never)?\s?$", re.IGNORECASE
)
"""What a bound is told of: `Hour of the end; the window is at most 10 hours long`."""
_SAYS_VALUE: Final = word_set(
    "value values number numbers count limit length size maximum minimum range amount total it they this that which "
    "argument parameter scale default max min cap allowed"
)


def _is_of_one_kind(argument: Argument, before: str) -> bool:
    """Whether a bound is told of one kind of the thing: `the length of the public name must be …`, of a `name`."""
    subject = _SUBJECT.search(before)
    if subject is not None and subject[1].lower() not in {*words_of(argument.name), *_SAYS_VALUE}:
        one = subject[1].lower()
        known = {*map(singular, words_of(before[: subject.start()]))}
        return singular(one) not in known or one in map(singular, words_of(argument.name))  # one of several
    found = _LENGTH_OF.search(before[-200:])
    if found is None:
        return False
    known = {*words_of(argument.name), *words_of(before[: len(before) - len(before[-200:]) + found.start()])}
    return any(word not in known for word in words_of(found[1]))


_EARLY = 120
"""Characters from the beginning of a text that are about the list as a whole."""


_OF_CASE: Final = re.compile(
    r"(?:^|[.;(\n]\s*)(?:(?:for|when|with|if) [^.;:,\n]{1,50}: |if [^.;:,\n]{1,50}, )[^.;\n]{0,80}$", re.I
)
"""What stands behind it counts in one case alone: `For sell orders: a share (0 to 1)`."""
_OF_PAGE: Final = re.compile(
    r"\b(?:pages?|batch(?:es)?|chunks?|blocks?|groups?|portions?|rounds?)"
    r"(?: of| with| has| have| holds?| contains?)?\s*$",
    re.IGNORECASE,
)
"""What counts something else than the argument."""


def _counts(kind: str, text: str, found: re.Match[str]) -> bool:
    """Whether a bound in the text is one of such a value: characters of text, items of a list, else the number."""
    unit = _UNIT_WORD.match(text, found.end())
    word = unit[1].lower() if unit is not None else ""
    if _OF_PAGE.search(text[: found.start()]):
        return False  # `in pages of up to 100`
    if re.match(r"\s?\w+ (?:per|each|in each|on each|a|without|excluding|before|after|plus)\b", text[found.end() :]):
        return False  # `up to 20 results per page`, `14 characters without the prefix`
    if kind == "string":
        return word.startswith(("char", "letter"))
    if kind == "array" and not word and re.match(r"\s*(?:[.,;)]|$|at (?:very )?most\b|maximum\b)", text[found.end() :]):
        return found.end() < _EARLY and "each" not in text[: found.end()]  # `Tags, at most 5.`
    if kind == "array":
        return bool(word) and not word.startswith(("char", "letter", "word", "byte")) and len(word) > 2
    return not word.startswith(("char", "letter", "word")) or "length" in text.lower() or "character" in text.lower()


_COUNTED_BEHIND: Final = re.compile(
    r"\s?(of them|of these|(?:[a-z-]+ ){0,2}?[a-z-]+s)(?=\s*(?:[.,;)]|$|in\b|at\b|can\b|are\b))", re.I
)
_NO_ITEMS: Final = word_set(
    "characters letters words bytes seconds minutes hours days weeks months years lines tokens pages"
)


def _counts_items(argument: Argument, text: str, found: re.Match[str]) -> bool:
    """Whether a bound counts the items of a list by what they are: `At most 20 hosts.`, `no more than 20 of them`."""
    behind = _COUNTED_BEHIND.match(text, found.end()) if argument.kind == "array" else None
    if behind is None or "each" in text[: found.end()].lower():
        return False
    last = words_of(behind[1])[-1:]
    meant = behind[1].lower().startswith("of the") or {*map(singular, last)} & {*map(singular, words_of(argument.name))}
    return bool(meant or not text[: found.start()].strip(" *_(")) and _NO_ITEMS.isdisjoint(last)


def _is_scaled(argument: Argument, text: str, found: re.Match[str]) -> bool:
    """Whether a bound is told in another unit than the value: `Time in ms, at most 60 seconds`."""
    behind = re.match(r"\s?([A-Za-z]+)", text[found.end() :])
    word = behind[1].lower() if behind is not None else ""
    for units in _UNITS:
        if argument.kind in ("integer", "number") and word in units:
            others = f"{argument.name} {text[: found.start()]} {text[found.end() + len(word) + 1 :]}"
            told = {units[one] for one in words_of(others) if one in units}
            return bool(told - {units[word]}) or (units is _UNITS[1] and units[word] not in told)
    return False


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("_", "").rstrip("."))


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _bound(schema: dict[str, Any], names: tuple[str, ...]) -> float | None:
    found = next((schema[name] for name in names if name in schema), None)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _differs(told: float, given: float, schema: dict[str, Any], names: tuple[str, ...]) -> bool:
    exclusive = len(names) > 1 and names[0] not in schema
    return told != given and not (exclusive and abs(told - given) <= 1)


# ── units ──

_NEEDS_UNIT: Final = word_set(
    "timeout duration delay interval ttl wait lifetime distance radius cooldown retention backoff debounce"
)
_LENGTHS: Final = word_set("distance radius")
_MEASURES: Final = {
    **dict.fromkeys(("weight", "mass", "payload", "cargo"), "kilograms"),
    **dict.fromkeys(("dose", "dosage"), "milligrams"),
    **dict.fromkeys(("fluid", "liquid", "water", "intake", "volume", "fuel", "rainfall"), "litres"),
    **dict.fromkeys(("temperature", "setpoint"), "degrees Celsius"),
    **dict.fromkeys(
        ("height", "width", "length", "depth", "thickness", "diameter", "girth", "perimeter"), "centimetres"
    ),
    **dict.fromkeys(("altitude", "elevation"), "metres"),
    **dict.fromkeys(("mileage", "odometer"), "kilometres"),
    **dict.fromkeys(("pressure",), "bar"),
    **dict.fromkeys(("speed", "velocity"), "km/h"),
    **dict.fromkeys(("area",), "square metres"),
    **dict.fromkeys(("flow", "throughput"), "litres per minute"),
}
"""What is measured in one of several units, and one of them."""
_PHYSICAL: Final = re.compile(
    r"\b(?:weights?|mass|dose|dosage|mileage|odometer|height|temperature|altitude) (?:of|at|for|to) (?:the |"
    r"an? |this |each |its )?"
    r"(?:\w+ )?(?:pets?|animals?|patients?|persons?|people|child(?:ren)?|bab(?:y|ies)|parcels?|packages?|"
    r"shipments?|cargo|loads?|"
    r"baggage|luggage|goods|bod(?:y|ies)|horses?|dogs?|cats?|crates?|pallets?|trucks?|vehicles?|cars?|drugs?|"
    r"medicines?|"
    r"drones?|rooms?|ovens?|fridges?|freezers?|water|ovens?|boxe?s?|articles?|athletes?|players?|letters?)\b",
    re.IGNORECASE,
)
"""A thing that is weighed or measured, and no node of a graph."""
_ABSTRACT: Final = re.compile(
    r"\b(?:fonts?|scores?|search|rank\w*|graphs?|edges?|traffic|trad(?:e|es|ing)|sales|orders|nodes?|vectors?|models?|sampling|llm|portfolios?|goals?|"
    r"charts?|plots?|"
    r"images?|pictures?|videos?|screens?|windows?|pixels?|canvas|pages?|slides?|audio|sounds?|speakers?|music|"
    r"text|strings?|characters?|"
    r"tree|recurs\w*|crawl\w*|queue|list|arrays?|password|playback|voice|speech|animation|circles?|triangles?|"
    r"rectangles?|"
    r"spheres?|cylinders?|cones?|polygons?|shapes?|geometr\w*|unit system|metric|imperial|normali[sz]ed|"
    r"relative|factor|multiplier)\b",
    re.IGNORECASE,
)
"""What has measures without a unit, or in one that everybody knows."""
_MOMENTS: Final = word_set("position time start end offset at from to seek")
_RECORDING: Final = re.compile(
    r"\b(?:video|audio|clip|recording|track|film|movie|song|podcast|footage|playback)s?\b", re.IGNORECASE
)
"""A moment in one of these has a unit."""
_ON_SCREEN: Final = word_set("border corner inner outer blur stroke")
"""What is measured as a style sheet does."""
_TOLD_UNIT: Final = re.compile(
    r"\b(?:milli|micro|nano)?sec(?:ond)?s?\b|\bms\b|\bminutes?\b|\bmins?\b|\bhours?\b|\bdays?\b|\bweeks?\b|"
    r"\bmonths?\b|\byears?\b|\b(?:kilo|centi|milli)?met(?:er|re)s?\b|"
    r"\b[kmgt]?i?b(?:ytes?)?\b|\bkm\b|\bmiles?\b|\bfeet\b|\bpx\b|\bpixels?\b|\bkg\b|\bgrams?\b|\bpounds?\b|"
    r"\blbs?\b|\bcelsius\b|\bfahrenheit\b|\bkelvin\b|\bdegrees?\b|"
    r"\bpercent\b|%|°|\b\d+ ?(?:s|ms|m|h|d)\b|\bticks?\b|\bframes?\b|\bbeats?\b|\bmph\b|\bkm/h\b|\bsampling\b|"
    r"\b(?:milli|centi|deci|hecto)?lit(?:re|er)s?\b|\b[mcdh]?l\b|\bm[lgm]\b|\bcm\b|\bkms\b|\bmm ?Hg\b|"
    r"\b[hk]?pa\b|\bbars?\b|\bpsi\b|\b(?:hecto|kilo|mega)?pascals?\b|\bmillibars?\b|\bnewtons?\b|\bkilograms?\b|"
    r"\bounces?\b|\boz\b|\btons?\b|\btonnes?\b|\bgallons?\b|\bnights?\b|\bwatts?\b|\bk?w\b|\bvolts?\b|\bamps?\b|"
    r"\b[kmg]?hz\b|\brpm\b|"
    r"\bbpm\b|\binch(?:es)?\b|\byards?\b|\bacres?\b|\bhectares?\b|\bunits?\b|\bcups?\b|\bm²|\bm2\b|\bknots?\b|"
    r"\bper \w+\b|"
    r"\bbetween 0|"
    r"\b0(?:\.0)?\s?(?:to|-|and)\s?[12]\b|\bcreativ|\brandomness|\brelative|\bscore|\bimportance",
    re.IGNORECASE,
)  # fmt: skip
_COUNTED: Final = re.compile(
    r"edit|levenshtein|hamming|cosine|vector|embedding|similarity|hops?\b|steps?\b|nodes?\b|degrees of|tokens?\b|"
    r"blocks?\b|candles?|iterations?|\bnth\b|\bevery\b",
    re.IGNORECASE,
)
"""Distances, intervals and waits that are counted, not measured."""
_NOTHING: Final = re.compile(r"(?!)")
_ON_IMAGE: Final = re.compile(r"image|picture|photo|pixel|canvas|screenshot|bitmap", re.IGNORECASE)
_IN_GRID: Final = re.compile(r"\b(?:blocks?|tiles?|voxels?|cells?|minecraft|mobs?)\b", re.IGNORECASE)
"""A world that has a unit of its own."""
_ON_EARTH: Final = re.compile(
    r"\b(?:lat|lon|lng|latitude|longitude|coordinates?|locations?|places?|address|city|town|near|nearby|nearest|"
    r"maps?|geo(?!metr)\w*|"
    r"route|travel|trip|drive|walk|run|ride|fl(?:y|ight)|airports?|stations?|stores?|shops?|restaurants?|"
    r"vehicles?|deliver\w*)\b",
    re.IGNORECASE,
)
"""What a distance is measured in metres or miles of; one in a game or a graph has a unit of its own."""
_CONVENTION: Final = {
    "ttl": re.compile(r"dns|domain|host ?name|zone|\brecords?\b|resolver", re.IGNORECASE),
    "radius": _ON_IMAGE,
    "distance": _ON_IMAGE,
}
"""What a tool is about where everybody knows the unit: seconds of a DNS record, pixels of an image."""
_FOREIGN: Final = re.compile(r"[^\W\d_a-z\u00aa-\u024f]", re.IGNORECASE)
"""Letters of a language whose words for units are not known here."""
_PREFIXES: Final = word_set("kilo mega giga tera centi milli micro nano k")
_UNITS_TEXT = """
    ms=ms,millis,millisecond,milliseconds s=s,sec,secs,second,seconds min=min,minute,minutes h=h,hour,hours d=day,days
    B=byte,bytes kB=kb,kilobytes MB=mb,megabytes GB=gb,gigabytes KiB=kib,kibibytes MiB=mib,mebibytes GiB=gib,gibibytes
    m=m,meter,metre,meters,metres km=km,kilometer,kilometre,kilometers,kilometres mi=mile,miles ft=ft,foot,feet \
    cm=cm,centimeter,centimetre,centimeters,centimetres \
    mm=mm,millimeter,millimetre,millimeters,millimetres \
    um=um,µm,μm,micron,microns,micrometer,micrometre,micrometers,micrometres inch=inch,inches yd=yard,yards
    l=l,liter,litre,liters,litres ml=ml,milliliter,millilitre,milliliters,millilitres hl=hl,hectoliter,hectolitre,\
hectoliters,hectolitres gal=gal,gallon,gallons
    C=c,degc,celsius,centigrade F=f,degf,fahrenheit K=k,kelvin
    kg=kg,kilogram,kilograms g=g,gram,grams mg=mg,milligram,milligrams lb=lb,lbs,pound,pounds oz=oz,ounce,ounces
    cent=cents dollar=dollar,dollars,usd eur=eur,euro,euros
    W=watt,watts kW=kw,kilowatt,kilowatts MW=mw,megawatt,megawatts GW=gw,gigawatt,gigawatts
    Wh=wh kWh=kwh MWh=mwh
    Hz=hz,hertz kHz=khz,kilohertz MHz=mhz,megahertz GHz=ghz,gigahertz
    V=volt,volts mV=mv,millivolt,millivolts kV=kv,kilovolt,kilovolts
    Pa=pascal,pascals hPa=hpa,hectopascal,hectopascals kPa=kpa,kilopascal,kilopascals bar=bar,bars mbar=mbar,millibar,\
millibars psi=psi
    bps=bps kbps=kbps Mbps=mbps Gbps=gbps
    km/h=kmh,kph mph=mph kn=knots
    deg=deg,degree,degrees rad=rad,radian,radians
    """
_UNITS: Final = tuple(
    {word: unit for pair in line.split() for unit, words in (pair.split("="),) for word in words.split(",")}
    for line in _UNITS_TEXT.strip().splitlines()
)
"""By what is measured: each word for a unit, and the unit."""


def unit_of(word: str) -> str:
    """The unit that a word is for; empty where it is for none, or is a single letter."""
    return next((units[word] for units in _UNITS if word in units and len(word) > 1), "")


def in_one_line(unit: str, other: str) -> bool:
    """Whether two units measure the same thing."""
    return any({unit, other} <= {*units.values()} for units in _UNITS)


_SECONDS: Final = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "day": 86400}


def in_unit(number: float, word: str, other: str) -> float | None:
    """A number of one unit in another one; `None` where they measure different things, or nobody knows the factor."""
    unit = unit_of(word)
    if unit == other:
        return number
    known = unit in _SECONDS and other in _SECONDS
    return round(number * _SECONDS[unit] / _SECONDS[other], 6) if known else None


_DEGREES: Final = re.compile(r"(?:°|\bdeg(?:rees?)?) ?([CF])\b")
_WRITTEN: Final = re.compile(r"(?<![A-Za-z])[kMGTmh][WVHP][a-z]{0,2}\b")
_GLOSS: Final = re.compile(r"(?<=\d) ?\((?:=|~|≈|about |i\.e\. )? ?\d[\d.,]{0,9} ?[a-zA-Z]{1,20}\)")
"""`600000 (10 min)`: the same in another unit."""
_AMOUNT: Final = re.compile(
    rf"\b(?:above|below|under|over|most|least|up to|than|exceeds?|after|about|within|of|and|to) "
    rf"(?:\d[\d.,]{{0,9}}|{_ANY_WORD}) ?[a-z]{{1,14}}\b",
    re.IGNORECASE,
)
"""`at most ten minutes`: how long it may be, not what it is counted in."""
_LEAST: Final = re.compile(r"\b(?:min(?:imum)?|minimal|least|shortest|lowest|smallest|lower)\b", re.IGNORECASE)


def find_unit(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    if argument.kind not in ("integer", "number"):
        return
    words = words_of(argument.name)
    for units in _UNITS:
        last = "".join(words[-2:]) if {*words[-2:-1]} & _PREFIXES else "".join(words[-1:])
        named = {units[last]} if last in units and (len(last) > 1 or words[1:]) else set[str]()
        bare = _AMOUNT.sub(" ", _GLOSS.sub(" ", text))
        written = map(str.lower, _WRITTEN.findall(bare))  # `kWh` has two words in it
        spoken = (*words_of(bare), *written, *(f"deg{one.lower()}" for one in _DEGREES.findall(bare)))
        told = {units[word] for word in spoken if word in units and len(word) > 1}
        if last == "min" and _LEAST.search(text):
            continue
        if named and told and not named & told:
            yield Hit(
                "RC314",
                f"{quote_name(argument.name)} and its text tell different units: {quote_text(text)}",
                "make them the same",
                argument.path,
            )
            return
    yield from _measured_without(argument, text, tool)
    if (
        words
        and (words[-1] in _NEEDS_UNIT or (words[-1] in _MOMENTS and _RECORDING.search(text)))
        and _ON_SCREEN.isdisjoint((*words, *words_of(text)))
        and not _TOLD_UNIT.search(text)
        and not _FOREIGN.search(text)
        and not any(is_unit(word) for word in words[:-1])
    ):
        others = " ".join(argument.siblings).lower()
        spoken = f"{tool.name} {tool.description[:MOST_DESCRIPTION]} {others}"
        if _CONVENTION.get(words[-1], _NOTHING).search(spoken) or (words[-1] in _LENGTHS and _IN_GRID.search(spoken)):
            return
        if _COUNTED.search(f"{argument.name} {text}") or (
            words[-1] in ("interval", "duration") and re.search(r"freq|period|granularity|recurrence", others)
        ):
            return
        told = re.findall(
            rf"(?<!\w){re.escape(argument.name)}(?!\w)[^.;\n]{{0,80}}", tool.description[:MOST_DESCRIPTION]
        )
        told += tool.texts_of(argument)
        if "unit" not in others and not any(map(_TOLD_UNIT.search, told)):
            yield Hit(
                "RC307",
                f"{quote_name(argument.name)} has no unit",
                f"name the unit in the description, such as {'metres' if words[-1] in _LENGTHS else 'seconds'}",
                argument.path,
                certain=words[-1] not in _LENGTHS or _ON_EARTH.search(f"{spoken} {text}") is not None,
            )


_WITH_UNITS = 2
"""Siblings with a unit that show that the author gives units."""


def _measured_without(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    """A weight or an amount without a unit, where the arguments beside it have theirs, or where a thing is named that
    is weighed."""
    words = words_of(argument.name)
    told_last = words[-2:-1] if words[-1:] in (("rate",), ("amount",), ("intake",)) else words[-1:]
    measure = next((_MEASURES[word] for word in (*told_last, *words[-1:]) if word in _MEASURES), "")
    spelt = {*words, *words_of(text)}
    known = any(map(is_unit, words)) or any(map(unit_of, spelt)) or not text or _FOREIGN.search(text)
    if not measure or known or _TOLD_UNIT.search(f"{text} {' '.join(words)}"):
        return
    schema = argument.schema
    spoken = f"{tool.name} {tool.description[:MOST_DESCRIPTION]} {text}".replace("_", " ")
    others = " ".join(argument.siblings).lower()
    if {"enum", "const"} & schema.keys() or "unit" in others or _ABSTRACT.search(spoken) or _COUNTED.search(text):
        return
    if _TOLD_UNIT.search(f"{tool.description[:MOST_DESCRIPTION]}") or (_bound(schema, ("maximum",)) or _FAR) <= 1:
        return
    around = argument.path[:-1]
    numbers = [one for one in tool.arguments if one.path[:-1] == around and one.kind in ("integer", "number")]
    told = sum(_TOLD_UNIT.search(f"{one.description} {' '.join(words_of(one.name))}") is not None for one in numbers)
    if told >= _WITH_UNITS or (told and told == len(numbers) - 1) or _PHYSICAL.search(text):
        advice = f"name the unit in the description, such as {measure}"
        yield Hit("RC307", f"{quote_name(argument.name)} has no unit", advice, argument.path)

"""Forms: other ways to write a date or a number, declared for one argument (`forms` in a pack), and what they mean.

    "D.M.YYYY -> YYYY-MM-DD"   a date in one layout, wanted in another
    "h * 60"                   a number with a unit, and what one of it counts; `1h 30min` is the sum
    "1.234,5"                  a number with these signs between its digits

Nothing here guesses: a text that no declared form reads stays as it is.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, NamedTuple

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_TOKEN: Final = re.compile(r"YYYY|YY|MMMM|MMM|MM|M|DD|D|dddd|ddd|HH|H|hh|h|mm|ss|A|Z|[^A-Za-z]|T")
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAY: Final = "(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_NAMED: Final = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + r")\.?"
_READS: Final = {
    "YYYY": ("year", r"[12]\d\d\d"), "YY": ("year", r"\d\d"), "MMMM": ("named", _NAMED), "MMM": ("named", _NAMED),
    "MM": ("month", r"\d\d"), "M": ("month", r"\d\d?"), "DD": ("day", r"\d\d"),
    "D": ("day", r"\d\d?(?:st|nd|rd|th)?"), "HH": ("hour", r"\d\d"), "H": ("hour", r"\d\d?"),
    "hh": ("half", r"\d\d"), "h": ("half", r"\d\d?"), "mm": ("minute", r"\d\d"), "ss": ("second", r"\d\d"),
    "dddd": ("weekday", _WEEKDAY), "ddd": ("weekday", _WEEKDAY), "A": ("part", r"[ap]\.?m\.?"),
    "Z": ("zone", r"(?:Z|[+]00:00)"),
}  # fmt: skip
UNIX: Final = {"unix": 1, "unix-ms": 1000}
"""Layouts that count from 1970: seconds, and thousandths of one."""

SAMPLES: Final = {"1.234,5": (".", ","), "1 234,5": (" ", ","), "1'234.5": ("'", "."), "1,234.5": (",", ".")}
"""What stands between groups of digits, and before a fraction."""

_FACTOR: Final = re.compile(r"(?P<unit>\S(?:[^*]{0,22}\S)?) ?\* ?(?P<factor>\d{1,15}(?:\.\d{1,12})?)")
_NUMBER: Final = r"[-+]?\d{1,15}(?:[.,]\d{1,12})?"
_LONGEST: Final = 60
LONGEST_FORM: Final = 64
_WORD: Final = r"[^\d\s.,*+-](?:[^\d*]{0,14}[^\d\s.,*+-])?"
_MOST_TERMS: Final = 4
_SECONDS: Final = {
    "ms": Decimal("0.001"), "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600,
    "hour": 3600, "d": 86400, "day": 86400, "w": 604800, "week": 604800,
}  # fmt: skip


class Moment(NamedTuple):
    """A date or a time that was read, and which parts of it were said."""

    at: datetime
    said: frozenset[str]


class Layout:
    """A way to write dates, made of the signs `YYYY MM DD HH mm ss` and those between them."""

    def __init__(self, text: str) -> None:
        """Raises ValueError where the text is not a layout."""
        self.text = text
        self.steps: list[str] = _TOKEN.findall(text)
        if text not in UNIX and ("".join(self.steps) != text or not {*self.steps} & _READS.keys()):
            raise ValueError(f"{text!r} is not a layout: write it with YYYY, MM, DD, HH, mm and ss, as in DD.MM.YYYY")
        names = [_READS[step][0] for step in self.steps if step in _READS]
        if len(set(names)) != len(names):
            raise ValueError(f"{text!r} names the same part of a date twice")
        body = "".join(_READS[step][1] if step in _READS else _literal(step) for step in self.steps)
        self.pattern = rf"^\s*(?i:{body})\s*$" if text not in UNIX else r"^\d{9,13}$"
        """For one compiled check, which needs no parts."""
        groups = "".join(
            f"(?P<{_READS[step][0]}>{_READS[step][1]})" if step in _READS else _literal(step) for step in self.steps
        )
        self._read = re.compile(rf"\s*{groups}\s*", re.IGNORECASE)

    def read(self, value: Any) -> Moment | None:
        if self.text in UNIX:
            return _since_1970(value, UNIX[self.text])
        found = self._read.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST else None
        if found is None:
            return None
        part = found.groupdict()
        try:
            at = datetime(_year(part), _month(part), _day(part), _hour(part), int(part.get("minute") or 0),
                          int(part.get("second") or 0), tzinfo=UTC)  # fmt: skip
        except ValueError:
            return None
        return Moment(at, frozenset(_SAID.get(name, name) for name in part))

    def write(self, moment: Moment) -> Any:
        """None where the layout needs what the moment does not say."""
        at = moment.at
        if self.text in UNIX:
            return round(at.timestamp() * UNIX[self.text]) if moment.said >= _DATE else None
        names = {_SAID.get(name, name) for step in self.steps if step in _READS for name in [_READS[step][0]]}
        if not names & (_DATE | {"hour"}) <= moment.said and not (moment.said >= _DATE and "day" in names):
            return None
        half = at.hour % 12 or 12
        wrote = {
            "YYYY": f"{at.year:04}", "YY": f"{at.year % 100:02}", "MMMM": _MONTHS[at.month - 1].capitalize(),
            "MMM": _MONTHS[at.month - 1][:3].capitalize(), "MM": f"{at.month:02}", "M": str(at.month),
            "DD": f"{at.day:02}", "D": str(at.day), "HH": f"{at.hour:02}", "H": str(at.hour), "hh": f"{half:02}",
            "h": str(half), "mm": f"{at.minute:02}", "ss": f"{at.second:02}", "A": "AM" if at.hour < 12 else "PM",
            "Z": "Z", "dddd": _WEEKDAYS[at.weekday()], "ddd": _WEEKDAYS[at.weekday()][:3],
        }  # fmt: skip
        return "".join(wrote.get(step, step) for step in self.steps)


_DATE: Final = frozenset(("year", "month", "day"))
_SAID: Final = {"named": "month", "half": "hour"}


def _literal(sign: str) -> str:
    return r"\s+" if sign == " " else "\\" + sign if sign in ".|?*+()[]{}^$\\/" else sign


def _year(part: dict[str, str | None]) -> int:
    text = part.get("year")
    return 2000 if text is None else int(text) if len(text) == 4 else 2000 + int(text)


def _month(part: dict[str, str | None]) -> int:
    if named := part.get("named"):
        return next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(named.lower().rstrip(".")[:3]))
    return int(part.get("month") or 1)


def _day(part: dict[str, str | None]) -> int:
    return int((part.get("day") or "1").rstrip("stndrhSTNDRH"))


def _hour(part: dict[str, str | None]) -> int:
    if (half := part.get("half")) is None:
        return int(part.get("hour") or 0)
    if not 1 <= int(half) <= 12:
        raise ValueError("no such hour")
    return int(half) % 12 + (12 if (part.get("part") or "a").lower().startswith("p") else 0)


def _since_1970(value: Any, scale: int) -> Moment | None:
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if not re.fullmatch(r"\d{9,10}" if scale == 1 else r"\d{12,13}", text):
        return None
    return Moment(datetime.fromtimestamp(int(text) / scale, UTC), _DATE | {"hour", "minute", "second"})


class Dates(NamedTuple):
    """`D.M.YYYY -> YYYY-MM-DD`."""

    given: Layout
    wanted: Layout

    def convert(self, value: Any) -> Any:
        """None where the value is not in this form, or is right already."""
        if self.wanted.read(value) is not None:
            return None
        moment = self.given.read(value)
        return None if moment is None else self.wanted.write(moment)


class Unit(NamedTuple):
    """`h * 60`."""

    word: str
    factor: Decimal


class Digits(NamedTuple):
    """`1.234,5`."""

    group: str
    point: str

    def convert(self, value: Any) -> Any:
        if not isinstance(value, str) or len(value) > _LONGEST:
            return None
        group, point, text = re.escape(self.group), re.escape(self.point), value.strip()
        if re.fullmatch(rf"[-+]?(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{point}\d+)?", text) is None:
            return None
        return plain_number(Decimal(text.replace(self.group, "").replace(self.point, ".")))


Form = Dates | Unit | Digits


@lru_cache(maxsize=512)
def read_form(text: str) -> Form:
    """Raises ValueError that says what a form looks like."""
    if len(text) > LONGEST_FORM:
        raise ValueError(f"a form has at most {LONGEST_FORM} characters")
    if text in SAMPLES:
        return Digits(*SAMPLES[text])
    given, arrow, wanted = text.partition(" -> ")
    if arrow:
        return Dates(Layout(given), Layout(wanted))
    found = _FACTOR.fullmatch(text)
    if found is None or Decimal(found["factor"]) == 0:
        raise ValueError(f'{text!r} is not a form; right is "D.M.YYYY -> YYYY-MM-DD", "h * 60" or "1.234,5"')
    return Unit(found["unit"], Decimal(found["factor"]))


def convert(value: Any, forms: Iterable[str]) -> Any:
    """What a value means in one of these forms; None where it is in none of them, or in several that disagree."""
    known = [read_form(text) for text in forms]
    found = [one.convert(value) for one in known if not isinstance(one, Unit)]
    units = tuple(one for one in known if isinstance(one, Unit))
    if units and isinstance(value, str):
        found.append(_measured(value, units))
    results = [one for one in found if one is not None]
    return results[0] if results and all(one == results[0] for one in results) else None


def refused_pattern(forms: Iterable[str]) -> str:
    """A pattern for the texts that these forms read as dates, for the compiled check; empty where there are none."""
    patterns = [one.given.pattern for text in forms if isinstance(one := read_form(text), Dates)]
    return "|".join(patterns)


def _measured(text: str, units: tuple[Unit, ...]) -> Any:
    """`2h`, `1 h 30 min`, `€ 5`: a sum of numbers, each with its unit."""
    if len(text) > _LONGEST:
        return None
    total, rest, terms = Decimal(0), text.strip(), 0
    while rest:
        match = _term(rest, units)
        if match is None or terms == len(units):
            return None
        amount, end = match
        total, rest, terms = total + amount, rest[end:].strip(), terms + 1
    return plain_number(total) if terms else None


def _term(text: str, units: tuple[Unit, ...]) -> tuple[Decimal, int] | None:
    for unit in sorted(units, key=lambda one: -len(one.word)):
        word = re.escape(unit.word)
        more = "s?" if len(unit.word) > 2 and unit.word.isalpha() else ""
        for pattern in (rf"({_NUMBER})\s*{word}{more}(?![A-Za-z])", rf"{word}\s*({_NUMBER})(?![\d.,])"):
            found = re.match(pattern, text) or re.match(pattern, text, re.IGNORECASE if len(unit.word) > 1 else 0)
            if found is not None:
                try:
                    return Decimal(found[1].replace(",", ".")) * unit.factor, found.end()
                except InvalidOperation:
                    return None
    return None


def plain_number(number: Decimal) -> int | float:
    """Whole numbers stay whole.

    >>> plain_number(Decimal("90.0")), plain_number(Decimal("0.5"))
    (90, 0.5)
    """
    return int(number) if number == number.to_integral_value() else float(number)


# ── which form ──
# Which forms make one value of another: what a record of mistakes and their corrections is asked.

_DAYS: Final = (
    "YYYY-MM-DD", "D.M.YYYY", "D/M/YYYY", "M/D/YYYY", "D-M-YYYY", "M-D-YYYY", "YYYY/M/D", "YYYY.M.D", "YYYYMMDD",
    "D MMMM YYYY", "MMMM D, YYYY", "MMMM D YYYY", "D.M.YY", "M/D/YY", "D/M/YY", "D MMM, YYYY", "D-MMM-YYYY",
    "YYYY MMMM D", "DDMMYYYY", "MMDDYYYY", "D. MMMM YYYY", "ddd, D MMMM YYYY", "ddd D MMMM YYYY", "ddd, MMMM D, YYYY",
    "ddd, D.M.YYYY", "ddd D.M.YYYY", "MMM-D-YYYY", "D MMM YY", "YY-M-D",
)  # fmt: skip


def layouts() -> Iterator[str]:
    """Every layout that is looked for, the plainest first."""
    yield from _DAYS
    yield from ("HH:mm", "HH:mm:ss", "h:mm A", "h:mmA", "h A", "hA", "HHmm", "H.mm", "H:mm")
    yield from ("YYYY-MM", "M/YYYY", "MMMM YYYY", "YYYYMM", "YYYY/M", "M.YYYY", "M-YYYY")
    yield from UNIX
    for day in (
        "YYYY-MM-DD",
        "D.M.YYYY",
        "D/M/YYYY",
        "M/D/YYYY",
        "D-M-YYYY",
        "YYYY/M/D",
        "D MMMM YYYY",
        "MMMM D, YYYY",
    ):
        for hour in ("HH:mm:ssZ", "HH:mm:ss+00:00", "HH:mm:ss", "HH:mm", "HH:mmZ", "H:mm", "h:mm A", "h:mmA", "h A"):
            for sign in (" ", "T"):
                yield f"{day}{sign}{hour}"
    yield from ("YYYYMMDDTHHmmssZ", "YYYYMMDDTHHmmss", "YYYYMMDDHHmmss", "HH:mm D.M.YYYY", "HH:mm D/M/YYYY")


@lru_cache(maxsize=1)
def _known_layouts() -> tuple[Layout, ...]:
    return tuple(map(Layout, layouts()))


@lru_cache(maxsize=4096)
def _layouts_of(value: str | int) -> tuple[Layout, ...]:
    return tuple(one for one in _known_layouts() if one.read(value) is not None)


def explain(given: Any, wanted: Any) -> tuple[str, ...]:
    """The forms that make `wanted` of `given`; several where one pair does not tell them apart.

    >>> explain("31.1.2026", "2026-01-31")
    ('D.M.YYYY -> YYYY-MM-DD',)
    >>> explain("2 h", 120), explain("1.250,50", 1250.5)
    (('h * 60',), ('1.234,5',))
    """
    if isinstance(given, bool) or isinstance(wanted, bool) or not isinstance(given, (str, int)) or given == wanted:
        return ()
    if isinstance(given, str) and len(given) > _LONGEST:
        return ()
    if isinstance(wanted, (int, float)) and isinstance(given, str):
        found = _number_forms(given, wanted)
        if found:
            return found
    if not isinstance(wanted, (str, int)):
        return ()
    return tuple(
        text
        for one in _layouts_of(given)
        for other in _layouts_of(wanted)
        if one.text != other.text and Dates(one, other).convert(given) == wanted
        and (text := f"{one.text} -> {other.text}")
    )  # fmt: skip


def _number_forms(given: str, wanted: int | float) -> tuple[str, ...]:
    samples = tuple(text for text, (group, point) in SAMPLES.items() if Digits(group, point).convert(given) == wanted)
    if samples:
        return samples
    terms = _terms_of(given)
    if not terms:
        return ()
    if len(terms) > 1:
        return _sum_forms(terms, wanted)
    [(amount, unit)] = terms
    text = _factor_text(Decimal(str(wanted)) / amount) if amount else ""
    return (f"{unit} * {text}",) if text and plain_number(amount * Decimal(text)) == wanted else ()


def _terms_of(text: str) -> list[tuple[Decimal, str]]:
    """Each number in a text with its unit; nothing where more is in it."""
    prefixed = re.fullmatch(rf"\s*(?P<unit>{_WORD})\s*(?P<amount>{_NUMBER})\s*", text)
    found = [prefixed] if prefixed else list(re.finditer(rf"\s*(?P<amount>{_NUMBER})\s*(?P<unit>{_WORD})\s*", text))
    if not found or "".join(one[0] for one in found) != text or len(found) > _MOST_TERMS:
        return []
    return [(Decimal(one["amount"].replace(",", ".")), _singular(one["unit"].strip())) for one in found]


def _singular(unit: str) -> str:
    """`weeks` and `week` are one unit."""
    return unit[:-1] if len(unit) > 3 and unit.isalpha() and re.search("[^s]s$", unit) else unit


def _sum_forms(terms: list[tuple[Decimal, str]], wanted: int | float) -> tuple[str, ...]:
    """Of `1h 30m`: what each unit of time counts, where the sum is a whole number of some unit."""
    lengths = [_SECONDS.get(unit.lower()) for _, unit in terms]
    if not wanted or None in lengths:
        return ()
    total = sum((amount * Decimal(length or 0) for (amount, _), length in zip(terms, lengths, strict=True)), Decimal(0))
    base = total / Decimal(str(wanted))
    if base not in (1, 60, 3600, 86400, Decimal("0.001")):
        return ()
    return tuple(
        f"{unit} * {_factor_text(Decimal(length or 0) / base)}"
        for (_, unit), length in zip(terms, lengths, strict=True)
        if _factor_text(Decimal(length or 0) / base)
    )


def _factor_text(factor: Decimal) -> str:
    """As a person would write it; empty where it is none that a unit has."""
    if not Decimal("0.000001") <= factor <= Decimal(10) ** 12:
        return ""
    rounded = round(factor, 9).normalize()
    return f"{rounded:f}" if len(f"{rounded:f}") <= 16 else ""

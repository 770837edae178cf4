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
_TOKEN: Final = re.compile(r"YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|H|hh|h|mm|ss|A|Z|[^A-Za-z]|T")
_NAMED: Final = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + r")\.?"
_READS: Final = {
    "YYYY": ("year", r"[12]\d\d\d"), "YY": ("year", r"\d\d"), "MMMM": ("named", _NAMED), "MMM": ("named", _NAMED),
    "MM": ("month", r"\d\d"), "M": ("month", r"\d\d?"), "DD": ("day", r"\d\d"),
    "D": ("day", r"\d\d?(?:st|nd|rd|th)?"), "HH": ("hour", r"\d\d"), "H": ("hour", r"\d\d?"),
    "hh": ("half", r"\d\d"), "h": ("half", r"\d\d?"), "mm": ("minute", r"\d\d"), "ss": ("second", r"\d\d"),
    "A": ("part", r"[ap]\.?m\.?"), "Z": ("zone", r"(?:Z|[+]00:00)"),
}  # fmt: skip
UNIX: Final = {"unix": 1, "unix-ms": 1000}
"""Layouts that count from 1970: seconds, and thousandths of one."""

SAMPLES: Final = {"1.234,5": (".", ","), "1 234,5": (" ", ","), "1'234.5": ("'", "."), "1,234.5": (",", ".")}
"""What stands between groups of digits, and before a fraction."""

_FACTOR: Final = re.compile(r"(?P<unit>\S(?:[^*]{0,22}\S)?) ?\* ?(?P<factor>\d{1,15}(?:\.\d{1,12})?)")
_NUMBER: Final = r"[-+]?\d{1,15}(?:[.,]\d{1,12})?"
_LONGEST: Final = 60
LONGEST_FORM: Final = 64


class Moment(NamedTuple):
    """A date or a time that was read; what it does not say is None."""

    at: datetime
    has_date: bool
    has_time: bool


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
        return Moment(at, "day" in part and ("month" in part or "named" in part), "hour" in part or "half" in part)

    def write(self, moment: Moment) -> Any:
        """None where the layout needs what the moment does not say."""
        at = moment.at
        if self.text in UNIX:
            return round(at.timestamp() * UNIX[self.text]) if moment.has_date else None
        names = {_READS[step][0] for step in self.steps if step in _READS}
        if ("day" in names and not moment.has_date) or (not {"day", "month", "year"} & names and not moment.has_time):
            return None
        half = at.hour % 12 or 12
        wrote = {
            "YYYY": f"{at.year:04}", "YY": f"{at.year % 100:02}", "MMMM": _MONTHS[at.month - 1].capitalize(),
            "MMM": _MONTHS[at.month - 1][:3].capitalize(), "MM": f"{at.month:02}", "M": str(at.month),
            "DD": f"{at.day:02}", "D": str(at.day), "HH": f"{at.hour:02}", "H": str(at.hour), "hh": f"{half:02}",
            "h": str(half), "mm": f"{at.minute:02}", "ss": f"{at.second:02}", "A": "AM" if at.hour < 12 else "PM",
            "Z": "Z",
        }  # fmt: skip
        return "".join(wrote.get(step, step) for step in self.steps)


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
    return Moment(datetime.fromtimestamp(int(text) / scale, UTC), has_date=True, has_time=True)


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
        for pattern in (rf"({_NUMBER})\s*{word}(?![A-Za-z])", rf"{word}\s*({_NUMBER})(?![\d.,])"):
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
    "YYYY MMMM D", "DDMMYYYY", "MMDDYYYY", "D. MMMM YYYY",
)  # fmt: skip
_HOURS: Final = ("HH:mm", "HH:mm:ss", "H:mm", "h:mm A", "h:mmA", "h A", "hA", "HHmm", "Hh", "H.mm")
_BETWEEN: Final = (" ", "T", ", ", " at ")
_ENDS: Final = ("", "Z", ":ssZ")


def layouts() -> Iterator[str]:
    """Every layout that is looked for, the plainest first."""
    yield from _DAYS
    yield from ("HH:mm", "HH:mm:ss", "h:mm A", "h:mmA", "h A", "hA", "HHmm", "H.mm", "H:mm")
    yield from UNIX
    for day in _DAYS[:13]:
        for hour in ("HH:mm:ssZ", "HH:mm:ss", "HH:mm", "HH:mmZ", "H:mm", "h:mm A", "h:mmA"):
            for sign in (" ", "T"):
                yield f"{day}{sign}{hour}"


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
    found = re.fullmatch(rf"\s*(?:(?P<amount>{_NUMBER})\s*(?P<unit>[^\d\s.,*+-][^\d*]{{0,15}}?)"
                         rf"|(?P<sign>[^\d\s.,*+-][^\d*]{{0,15}}?)\s*(?P<more>{_NUMBER}))\s*", given)  # fmt: skip
    if found is None:
        return ()
    amount = Decimal((found["amount"] or found["more"]).replace(",", "."))
    unit = (found["unit"] or found["sign"]).strip()
    if not amount or not unit:
        return ()
    factor = Decimal(str(wanted)) / amount
    text = _factor_text(factor)
    return (f"{unit} * {text}",) if text and plain_number(amount * Decimal(text)) == wanted else ()


def _factor_text(factor: Decimal) -> str:
    """As a person would write it; empty where it is none that a unit has."""
    if not Decimal("0.000001") <= factor <= Decimal(10) ** 12:
        return ""
    rounded = round(factor, 9).normalize()
    return f"{rounded:f}" if len(f"{rounded:f}") <= 16 else ""

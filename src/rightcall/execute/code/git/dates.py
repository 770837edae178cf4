"""Points in time as people and git write them: a closed set, in UTC where no zone is named.

@1700000000    2024-05-01    2024-05-01 13:45    2024-05-01T13:45:10+02:00    now    today    yesterday    noon
midnight    3 days ago    2 days 3 hours ago    last week    last month    1 year 2 months ago
"""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from rightcall.errors import ToolFailure
from rightcall.text.escape import escaped

_DAY = 86_400
_UNITS = {
    "second": 1,
    "sec": 1,
    "minute": 60,
    "min": 60,
    "hour": 3_600,
    "day": _DAY,
    "week": 7 * _DAY,
    "fortnight": 14 * _DAY,
}
_MONTHS = {"month": 1, "year": 12}
_NUMBERS = {
    "a": 1, "an": 1, "last": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = {"midnight": 0, "noon": 12, "tea": 17}
_LONGEST = 100
_STAMP = re.compile(r"@?(\d{9,11})|@(\d{1,11})")
_ISO = re.compile(
    r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d{1,6}|[a-z]+)\s+([a-z]+?)s?")


def seconds_of(text: str, now: float, *, argument: str) -> int:
    """Seconds since 1970. Raises ToolFailure that names the argument and shows what would be right.

    >>> seconds_of("1970-01-02", 0, argument="since"), seconds_of("2 hours ago", 10_000, argument="since")
    (86400, 2800)
    """
    found = None
    if len(text) <= _LONGEST and text.isascii() and text.isprintable() and (plain := " ".join(text.split())):
        with suppress(ValueError, OverflowError):  # the 30th of February, a million years ago
            found = _absolute(plain)
            if found is None:
                found = _relative(" ".join(plain.lower().replace(".", " ").replace("_", " ").split()), now)
    if found is None:
        shown = escaped(text, _LONGEST) if text.strip() else "a blank text"
        raise ToolFailure(
            f"{argument}: {shown} is no date. Right would be 2024-05-01, 2024-05-01T13:45:00Z, "
            "@1700000000, yesterday or 2 weeks ago"
        )
    return found


def _absolute(text: str) -> int | None:
    found = _stamp(text)
    return found if found is not None else _iso(text)


def _stamp(text: str) -> int | None:
    found = _STAMP.fullmatch(text)
    return int(found[1] or found[2]) if found else None


def _iso(text: str) -> int | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    at = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    return int(at.timestamp()) - _offset(found["zone"] or "Z")


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 14 or minutes > 59:
        raise ValueError(zone)
    return (hours * 3_600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def _relative(text: str, now: float) -> int | None:
    at = datetime.fromtimestamp(now, UTC)
    words = text.split()
    if not words or words == ["ago"]:
        return None
    if text == "now":
        return int(now)
    if text == "today":
        return _hour(at, 0)
    if words[0] == "yesterday" and len(words) <= 2:
        day_before = at - timedelta(days=1)
        if len(words) == 1:
            return int(day_before.timestamp())
        return _hour(day_before, _HOURS[words[1]]) if words[1] in _HOURS else None
    if text in _HOURS:
        noon = _hour(at, _HOURS[text])
        return noon if noon <= now else noon - _DAY
    if words[-1] in _WEEKDAYS and (len(words) == 1 or words[:-1] == ["last"]):
        back = (at.weekday() - _WEEKDAYS.index(words[-1])) % 7 or 7
        return int(now) - back * _DAY
    return _ago(text, at)


def _ago(text: str, at: datetime) -> int | None:
    """`2 days 3 hours ago`, `last month`, `a week ago`; the `ago` may be left out, as git allows."""
    rest = text.removesuffix(" ago").replace(",", " ").replace(" and ", " ")
    for part in re.split(r"(?<=[a-z])\s+(?=\d|[a-z]+\s+[a-z]+)", rest) if rest else ():
        found = _PART.fullmatch(part.strip())
        if found is None:
            return None
        number = int(found[1]) if found[1].isdigit() else _NUMBERS.get(found[1])
        if number is None:
            return None
        if found[2] in _MONTHS:
            at = _months_before(at, number * _MONTHS[found[2]])
        elif found[2] in _UNITS:
            at -= timedelta(seconds=number * _UNITS[found[2]])
        else:
            return None
    return int(at.timestamp())


def _hour(at: datetime, hour: int) -> int:
    return int(at.replace(hour=hour, minute=0, second=0, microsecond=0).timestamp())


def _months_before(at: datetime, months: int) -> datetime:
    """The same day of an earlier month, or its last."""
    year, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    for day in range(at.day, 0, -1):
        try:
            return at.replace(year=year, month=month + 1, day=day)
        except ValueError:
            if day <= 28:
                raise
    raise ValueError("no such month")

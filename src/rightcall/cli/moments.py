"""Moments as people type them, `2026-01-31`, `2026-01-31T12:00+02:00` or `30d` ago, as the audit writes them: UTC."""

import re
from datetime import UTC, datetime, timedelta

from rightcall.errors import ConfigError
from rightcall.record.clock import written
from rightcall.text.escape import escaped

_AGO = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_RIGHT = (
    "write a date (2026-01-31, or 2026-01-31T12:00; UTC unless it says otherwise) or how long ago (30m, 12h, 30d, 4w)"
)


def moment(text: str, option: str, now: datetime | None = None) -> str:
    """The moment that an option names.

    >>> moment("2026-01-31T12:00+02:00", "--since")
    '2026-01-31 10:00:00.000'
    """
    if _AGO.fullmatch(text.strip()):
        return ago(text, option, now)
    try:
        if not text[:4].isdigit():
            raise ValueError
        read = datetime.fromisoformat(text.strip())
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
        return written(read.timestamp())
    except (ValueError, OverflowError):
        raise ConfigError(f"{option}: {escaped(text, 40)!r} is no moment; {_RIGHT}") from None


def ago(text: str, option: str, now: datetime | None = None) -> str:
    """The moment so long ago.

    >>> ago("36h", "--older-than", datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-30 00:00:00.000'
    """
    found = _AGO.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"{option}: {escaped(text, 40)!r} is no length of time; write 30m, 12h, 30d or 4w")
    try:
        back = timedelta(**{_UNITS[found[2]]: int(found[1])})
        return written(((now or datetime.now(UTC)) - back).timestamp())
    except (OverflowError, ValueError):
        raise ConfigError(f"{option}: {escaped(text, 40)!r} is longer ago than any date") from None

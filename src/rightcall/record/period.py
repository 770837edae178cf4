"""The periods that are looked back on: which records belong to one, and the slots it is cut into."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, get_args

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.record.clock import written
from rightcall.text.escape import escaped

Period = Literal["1hour", "1day", "1week"]

SLOTS: Final[Mapping[Period, tuple[int, timedelta]]] = {
    "1hour": (12, timedelta(minutes=5)),
    "1day": (24, timedelta(hours=1)),
    "1week": (7, timedelta(days=1)),
}
"""Into how many slots of what length a period is cut, to show when the calls were."""


class Window(Struct, frozen=True):
    """A period that ends now: the first and the last moment that belong to it, and where each slot begins."""

    period: Period
    since: str
    until: str
    slots: tuple[str, ...]


def window_of(period: Period, now: str) -> Window:
    """The period up to `now` (UTC, as the store's clock writes it).

    >>> window_of("1hour", "2026-01-01 12:00:00.000").since
    '2026-01-01 11:00:00.000'
    """
    if period not in SLOTS:
        known = ", ".join(get_args(Period))
        raise ConfigError(f"period: {escaped(str(period), 40)!r} is no period; known are {known}")
    end = _moment(now)
    number, length = SLOTS[period]
    starts = tuple(written((end - length * left).timestamp()) for left in range(number, 0, -1))
    return Window(period, starts[0], written(end.timestamp()), starts)


def _moment(now: str) -> datetime:
    try:
        read = datetime.fromisoformat(now)
    except ValueError:
        right = "write it in UTC, as in '2026-01-31 12:00:00.000'"
        raise ConfigError(f"now: {escaped(now, 40)!r} cannot be read as a time; {right}") from None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)

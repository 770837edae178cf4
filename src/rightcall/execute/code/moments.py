"""Moments as every tool tells them: ISO 8601, in UTC."""

from time import gmtime, strftime

_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999; a file may claim any other."""


def utc(seconds: float) -> str:
    """Seconds since 1970 as a text.

    >>> utc(0), utc(1e300)
    ('1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z')
    """
    moment = gmtime(max(_FIRST, min(seconds, _LAST)))
    return f"{moment.tm_year:04}{strftime('-%m-%dT%H:%M:%SZ', moment)}"

"""The ids of packets: `p`, the moment in microseconds, and a little chance, so that they sort by time.

As `context` they group the records of a request's calls in the audit, and the form alone says that one is a packet's.
"""

import re
from secrets import randbits
from time import time_ns

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_MOMENT, _CHANCE = 11, 5
"""Characters of five bits each: the moment has room until the year 3111."""

_ID = re.compile(rf"p[{_DIGITS}]{{{_MOMENT + _CHANCE}}}")


def new_id() -> str:
    """An id that no other packet has.

    >>> is_packet_id(new_id()), is_packet_id("plan 7"), is_packet_id("../x")
    (True, False, False)
    """
    return "p" + _written(time_ns() // 1000, _MOMENT) + _written(randbits(5 * _CHANCE), _CHANCE)


def is_packet_id(text: object) -> bool:
    """Whether this has the form of a packet's id; there need not be such a packet."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def _written(number: int, length: int) -> str:
    return "".join(_DIGITS[number >> 5 * at & 31] for at in reversed(range(length)))

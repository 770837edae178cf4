"""The terms of a grant as they are written on the command line: conditions, how often, how long."""

import re
from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Any, Final

from msgspec import DecodeError, json

from rightcall.errors import AnswerError
from rightcall.granting import can_match
from rightcall.text.escape import escaped
from rightcall.text.visible import quoted

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST: Final = 30 * 86400
_MOST_USES: Final = 1_000_000
_TIME: Final = re.compile(r"([0-9]{1,9})([smhd])", re.ASCII)


def duration(text: str, longest: int = _LONGEST) -> int:
    """Seconds, `longest` at most; raises what argparse reports."""
    found = _TIME.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= longest:
        most = f"{longest // _UNITS['d']}d"
        raise ArgumentTypeError(f"invalid time {escaped(text, 40)!r}: expected 90s, 10m, 1h or 2d, at most {most}")
    return seconds


def uses(text: str) -> int:
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 0 < count <= _MOST_USES:
        raise ArgumentTypeError(f"invalid number of uses {escaped(text, 40)!r}: expected 1 to {_MOST_USES:,}")
    return count


def conditions(written: list[str]) -> dict[str, Any]:
    """The conditions by argument. Raises AnswerError for one that is not clear."""
    found: dict[str, Any] = {}
    for one in written:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise AnswerError(f"--where {escaped(one, 60)!r} is no condition: write NAME=VALUE, such as path=docs/*")
        if name in found:
            raise AnswerError(f"--where names {escaped(name, 60)!r} twice: every argument has one condition")
        found[name] = _value(text)
        if isinstance(found[name], str) and "*" in found[name] and not can_match(found[name]):
            raise AnswerError(
                f"--where {escaped(one, 60)!r} can never match: a pattern stands for no `..`, no invisible characters "
                f"and no line breaks"
            )
    return found


def _value(text: str) -> Any:
    try:
        return json.decode(text)
    except DecodeError:
        return text


def condition_text(where: Mapping[str, Any]) -> str:
    """The conditions in one line, so that text and number can be told apart."""
    return ", ".join(f"{quoted(name)} is {_written(value)}" for name, value in where.items())


def _written(value: Any) -> str:
    if isinstance(value, str):
        return ("like " if "*" in value else "") + quoted(value)
    return escaped(json.encode(value).decode())

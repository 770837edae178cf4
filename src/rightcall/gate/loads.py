"""`rightcall.loads`: broken JSON in, the value that was meant out, with or without a schema."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from rightcall.base.json.find import read_value
from rightcall.base.json.marks import repairs_of
from rightcall.base.json.shape import ANY, Shape, loses_digits, shape_of
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys
from rightcall.errors import Unreadable
from rightcall.gate.repair.log import Log
from rightcall.gate.repair.values import conforms, fit
from rightcall.types import Parsed, Repair

MAX_TEXT = 1_000_000
_MOST = 20
"""So many keys that stand twice are recorded."""


def loads(text: str, schema: Any = None, *, max_text: int = MAX_TEXT) -> Parsed:
    """Read a text that was meant to be JSON: what is there, also when it was cut off, and say what was done to it.

    With a JSON schema the value is brought to what the schema wants, where one reading exists. Raises `Unreadable`
    where no reading is likely, and for text of more than `max_text` characters that is broken or does not fit.

    >>> loads("{'city': 'Bern', days: 3,}").value
    {'city': 'Bern', 'days': 3}
    >>> loads('{"note": "cut o').truncated
    True
    >>> loads("two", {"enum": ["ONE", "TWO"]}).value
    'TWO'
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not everybody checks types
        raise TypeError(f"loads takes text, not {type(text).__name__}")
    shape = ANY if schema is None else _shape(schema)
    value, repairs, cut, end = attempt(text), (), False, len(text)
    if value is NO_JSON or (len(text) <= max_text and loses_digits(value, shape)):
        if len(text) > max_text:
            raise Unreadable(f"broken text of {len(text)} characters, more than the {max_text} allowed")
        value, repairs, cut, end = _read(text, shape)
    else:
        twice = duplicate_keys(text, value)
        repairs = tuple(
            Repair(path, None, "the last one kept", "structure", "duplicate_key", 0.5) for path in twice[:_MOST]
        )
    if schema is not None and len(text) > max_text:
        _check_long(value, schema)
    elif schema is not None:
        value, repairs = _fitted(value, text, shape, repairs)
    return Parsed(value, repairs, min((repair.confidence for repair in repairs), default=1.0), cut, end)


def _shape(schema: Any) -> Shape:
    """The shape of a schema, made once for equal schemas."""
    try:
        return _cached_shape(msgspec.json.encode(schema))
    except (TypeError, ValueError, RecursionError):  # a schema that is no JSON, such as one with a Python object in it
        return shape_of(schema)


@lru_cache(maxsize=64)
def _cached_shape(schema: bytes) -> Shape:
    return shape_of(msgspec.json.decode(schema))


def _check_long(value: Any, schema: Any) -> None:
    """A long text is only checked, since bringing every value into shape would take too long."""
    from rightcall.catalog.schema import validator  # late: few texts are that long

    try:
        fits = validator(schema).is_valid(value)
    except ValueError as error:
        raise Unreadable(f"the schema cannot be used: {error!s:.200}") from None
    if not fits:
        raise Unreadable("the text does not fit the schema, and is too long to be brought to it")


def _read(text: str, shape: Shape) -> tuple[Any, tuple[Repair, ...], bool, int]:
    read = read_value(text, shape)
    repairs, _ = repairs_of(read.marks, text)
    twice = tuple(
        Repair(path, None, "the last one kept", "structure", "duplicate_key", 0.5) for path in read.duplicates[:_MOST]
    )
    return read.value, (*repairs, *twice), bool(read.cut), read.end


def _fitted(value: Any, text: str, shape: Shape, repairs: tuple[Repair, ...]) -> tuple[Any, tuple[Repair, ...]]:
    """The value as the schema wants it, as far as it is there. Values of another type are no reading of the text."""
    log = Log(unknown="keep")
    fitted = fit(value, shape, "", log)
    if not conforms(fitted, shape, whole=False):
        raise Unreadable(f"the text holds no value of the kind the schema wants: {text[:80]!r}")
    return fitted, (*repairs, *log.repairs)

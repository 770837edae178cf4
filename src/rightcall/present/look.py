"""Any Python value as JSON knows values: text, number, true, false, null, a list or an object. Never raises.

Only one level is looked at: what a list or an object holds is looked at when somebody asks for it, so that a result of
any size costs what is shown of it.
"""

import enum
from collections.abc import Collection, Mapping
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple, cast

DEEPEST = 40
"""Deeper than this nothing is shown: neither a person nor a model finds their way there."""

_MOST = 100_000
"""Of a container that must be copied to be looked at, no more than this."""

_BITS = 3000
_BYTES = 1_000_000
# A subclass may say anything of itself; its parent tells what it holds.
_DICT: Any = dict
_LIST: Any = list
_TUPLE: Any = tuple


class Items(NamedTuple):
    """A list."""

    items: Collection[Any]


class Pairs(NamedTuple):
    """An object: keys, which may be anything, and values."""

    pairs: Collection[tuple[Any, Any]]


CONTAINERS = (Items, Pairs)
Seen = str | int | float | bool | None | Items | Pairs


def look(value: Any) -> Seen:
    """What a value is.

    >>> look({1, 2}), look(b"abc"), look(float("nan"))
    (Items(items=[1, 2]), 'abc', 'NaN')
    """
    kind = cast("type[Any]", type(value))  # never `isinstance`, which believes what an object says of itself
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return _number(value)
    if kind is dict:
        return Pairs(cast("dict[Any, Any]", value).items())
    if kind is list or kind is tuple:
        return Items(cast("list[Any]", value))
    try:
        return _other(value, kind)
    except Exception:  # noqa: BLE001  (a tool may return anything, also what raises at every touch)
        return _named(kind)


def key_text(key: Any) -> str:
    """A key as JSON writes it: always a text."""
    if type(key) is str:
        return key
    seen = look(key)
    if isinstance(seen, CONTAINERS):
        return _named(cast("type[Any]", type(key)))
    return seen if isinstance(seen, str) else atom_text(seen)


def atom_text(atom: float | None) -> str:
    """A number, true, false or null as JSON writes it."""
    if atom is None:
        return "null"
    return repr(atom).lower() if isinstance(atom, bool) else repr(atom)


def _other(value: Any, kind: type[Any]) -> Seen:
    if issubclass(kind, enum.Enum):
        return look(cast("enum.Enum", value)._value_)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return _number(int.__int__(value))
    if issubclass(kind, float):
        number = float.__float__(value)
        return number if isfinite(number) else "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    if issubclass(kind, bytes | bytearray | memoryview):
        return _bytes(value)
    return _container(value, kind)


def _number(number: int) -> int | str:
    bits = number.bit_length()
    return number if bits < _BITS else f"(a number of {bits} bits)"  # Python refuses to write out very long ones


def _container(value: Any, kind: type[Any]) -> Seen:
    if issubclass(kind, dict):
        return Pairs(_DICT.items(value))
    if issubclass(kind, list):
        return Items(_LIST.__getitem__(value, slice(None)))
    if issubclass(kind, tuple):
        items = _TUPLE.__getitem__(value, slice(None))
        names = cast("tuple[str, ...] | None", getattr(cast("type[Any]", kind), "_fields", None))
        return Items(items) if names is None else Pairs(list(zip(names, items, strict=False)))
    if issubclass(kind, set | frozenset):
        found = list(islice(cast("set[Any]", value), _MOST))
        return Items(sorted(found, key=key_text))  # sets have no order, and the same result should read the same
    if issubclass(kind, Mapping):
        return Pairs(list(islice(cast("Mapping[Any, Any]", value).items(), _MOST)))
    for declared in ("__struct_fields__", "__dataclass_fields__"):
        fields = getattr(kind, declared, None)
        if fields is not None:
            return Pairs([(name, getattr(value, name, None)) for name in fields])
    if hasattr(kind, "model_dump"):
        return look(value.model_dump())
    return _as_text(value, kind)


def _as_text(value: Any, kind: type[Any]) -> str:
    if hasattr(kind, "isoformat"):
        return str.__str__(value.isoformat())
    if issubclass(kind, BaseException):
        return f"{kind.__name__}: {value}"
    # the default text of an object is its address in memory, which tells nobody anything
    plain = kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__
    return _named(kind) if plain or issubclass(kind, type) else str.__str__(str(value))


def _bytes(value: Any) -> str:
    size = len(value)
    if size <= _BYTES:
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            pass
    return f"({size} bytes)"


def _named(kind: type[Any]) -> str:
    return f"<{type.__getattribute__(kind, '__name__')}>"

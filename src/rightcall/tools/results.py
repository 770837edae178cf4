"""Whatever a tool returned, as plain data: dicts with text keys, lists, text, numbers, true, false, null.

Plain data belongs to nobody: what is kept in a cache or written into a record cannot be changed by the tool that made
it. The way through a value stops where the cap is certainly passed, so that neither a huge value nor one that contains
itself a million times over takes more time than the cap allows.
"""

import dataclasses
import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, time
from operator import index
from typing import Any, TypeGuard, cast

from msgspec import Struct
from msgspec.json import encode

from rightcall.base.text import fault_text

COMMON: frozenset[Any] = frozenset((type(None), bool, int, float, str, dict, list, tuple))
"""The types of most results: nothing else needs to be asked about them."""

DEEPEST = 100
_LEAST_INT, _MOST_INT = -(2**63), 2**64 - 1
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_WIDEST = 13
"""Nothing of weight n is longer than 13·n bytes as JSON: a float weighs 2 and may have 24 characters."""
_CLOSING = DEEPEST + 2
"""Brackets that may be open where gathering stops: they must not show in the head of the JSON."""


class Shaped(Struct, frozen=True):
    """A value as plain data within the cap; `cut` says what was left out."""

    value: Any
    cut: str | None = None


def shape_result(value: Any, output: int) -> Shaped:
    """Plain data of at most `output` bytes as JSON. Text keeps its head; of any other value that is too large the head
    of its JSON is left, as text. Draws from an iterator until it ends or the cap is reached.

    >>> shape_result({"days": {3, 1}, "at": None}, 1000), shape_result("abcdef", 4).value
    (Shaped(value={'days': [1, 3], 'at': None}, cut=None), 'abcd')
    """
    if isinstance(value, str):
        return _shaped_text(str.__str__(value), output)
    gatherer = Gatherer(output)
    plain = gatherer.drained(value) if is_iterator(value) else gatherer.plain(value)
    return gatherer.shaped(plain)


def is_iterator(value: Any) -> TypeGuard[Iterator[Any]]:
    """Something that gives its items one by one and only once: a generator, `map`, an open file."""
    return type(value) not in COMMON and isinstance(value, Iterator)


def _shaped_text(text: str, output: int) -> Shaped:
    data = text[: output + 1].encode(errors="backslashreplace")
    if len(data) <= output:
        return Shaped(data.decode())
    kept = data[:output].decode(errors="ignore")
    return Shaped(kept, f"{max(len(text) - len(kept), 1):,} of {len(text):,} characters were left out")


class Gatherer:
    """Makes plain data until the cap is certainly passed; every value weighs at least as much as its JSON's shortest
    form, so what was gathered by then begins with the same `output` bytes as the whole."""

    __slots__ = ("_left", "_output")

    def __init__(self, output: int) -> None:
        self._output = output
        self._left = output + _CLOSING

    @property
    def full(self) -> bool:
        return self._left < 0

    def shaped(self, plain: Any) -> Shaped:
        """What was gathered as it is, or the head of it: of a text itself, of anything else of its JSON."""
        if not self.full and (self._output + _CLOSING - self._left) * _WIDEST <= self._output:
            return Shaped(plain)
        is_text = isinstance(plain, str)
        data = plain.encode() if is_text else encode(plain)
        if not self.full and len(data) <= self._output:
            return Shaped(plain)
        size = "" if self.full else f" of {len(data):,}"
        note = f"only the first {self._output:,}{size} bytes were kept" + ("" if is_text else ", as JSON text")
        return Shaped(data[: self._output].decode(errors="ignore"), note)

    def drained(self, items: Iterator[Any]) -> list[Any]:
        """The items an iterator gives, no more of them than the cap allows."""
        try:
            return self._items(items, 1)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def plain(self, value: Any, depth: int = 0) -> Any:
        """One value. Never raises, whatever the value's own methods do."""
        kind = cast("Any", type(value))
        if kind is str:
            return self._text(value)
        if value is None or kind is bool:
            self._left -= 2
            return value
        if kind is int:
            return self._integer(value)
        if kind is float:
            self._left -= 2
            return (
                value if value - value == 0 else ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity")
            )
        if depth >= DEEPEST:
            return self._text("… (nested too deeply)")
        try:
            if kind is dict:
                return self._table(value.items(), depth + 1)
            if kind is list or kind is tuple:
                return self._items(value, depth + 1)
            return self._other(value, kind, depth + 1)
        except Exception as error:  # noqa: BLE001 - a value's own methods may raise anything
            return self._text(f"<{kind.__name__}: {fault_text(error, 200)}>")

    def _text(self, text: str) -> str:
        left = self._left
        self._left -= len(text) + 2
        if self._left < 0:
            text = text[: max(left, 0) + 1]
        return text if text.isascii() else text.encode(errors="backslashreplace").decode()

    def _integer(self, number: int) -> int | str:
        """JSON knows no bounds for integers, but its readers do: beyond 64 bits the digits are text."""
        if _LEAST_INT <= number <= _MOST_INT:
            self._left -= 2
            return number
        bits = number.bit_length()
        return self._text(str(number) if bits < 10_000 else f"<an integer of about {bits * 3 // 10:,} digits>")

    def _items(self, items: Iterable[Any], depth: int) -> list[Any]:
        self._left -= 2
        found: list[Any] = []
        for item in items:
            found.append(self.plain(item, depth))
            if self._left < 0:
                break
        return found

    def _table(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        self._left -= 2
        found: dict[str, Any] = {}
        for key, item in pairs:
            name = key if type(key) is str and key.isascii() else self._key(key)
            self._left -= len(name) + 3
            found[name] = self.plain(item, depth)
            if self._left < 0:
                break
        return found

    def _key(self, key: Any) -> str:
        left = self._left
        plain = self.plain(key, DEEPEST - 2)
        self._left = left  # the table weighs its names itself
        return plain if isinstance(plain, str) else encode(plain).decode()

    def _other(self, value: Any, kind: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.plain(value.value, depth)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return self._integer(int(value))
        if isinstance(value, float):
            return self.plain(float.__float__(value), depth)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._text(_decoded(cast("bytes", value), max(self._left, 0) + 4))
        if isinstance(value, BaseException):
            return self._text(fault_text(value))
        if isinstance(value, date | time):
            return self._text(value.isoformat())
        if hasattr(kind, "model_dump"):  # pydantic, which knows what it must not show
            return self.plain(value.model_dump(mode="json"), depth)
        names = _field_names(kind)
        if names is not None:
            return self._table(((name, getattr(value, name)) for name in names), depth)
        return self._collection(value, depth)

    def _collection(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._table(cast("Mapping[Any, Any]", value).items(), depth)
        if isinstance(value, Set):
            found = self._items(cast("Set[Any]", value), depth)
            return found if self.full else sorted(found, key=_order)
        if isinstance(value, Sequence):
            return self._items(cast("Sequence[Any]", value), depth)
        try:
            return self._integer(index(value))  # numpy's integers
        except TypeError:
            return self._text(_ADDRESS.sub("", str(value)))


def _field_names(kind: Any) -> Iterable[str] | None:
    """The names of a record's parts, whoever made it; None when it is no record."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [field.name for field in kind.__attrs_attrs__]
    if hasattr(kind, "__struct_fields__"):
        return kind.__struct_fields__
    return getattr(cast("Any", kind), "_fields", None) if issubclass(kind, tuple) else None


def _decoded(value: bytes | bytearray | memoryview, most: int) -> str:
    """Bytes as text; those that are none are shown as `\\xff`."""
    head = bytes(value)[:most] if isinstance(value, memoryview) else bytes(value[:most])
    return head.decode(errors="backslashreplace")


def _order(plain: Any) -> tuple[bool, Any]:
    """Numbers by size, then everything else by its JSON: the same set gives the same list."""
    if isinstance(plain, int | float):
        return False, plain
    return True, encode(plain)

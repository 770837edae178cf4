"""Looking into whatever an SDK hands over: dicts, models, dataclasses, plain objects. Nothing here raises.

Fields are read one by one and never dumped as a whole, so that the arguments of a call stay the object they were.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, cast

_TEXTS = (str, bytes, bytearray, memoryview)
_METHODS = (FunctionType, MethodType, BuiltinMethodType)
# An exception has `args`, a class and a module have all sorts: none of them is a message.
_NO_MESSAGE = (*_TEXTS, *_METHODS, int, float, complex, list, tuple, set, frozenset, type, ModuleType, BaseException)

_COMMON = (dict, list, str, type(None))  # JSON, which is what nearly everything is
_plain_get = dict[str, Any].get  # a subclass may have another idea of `get`


def field(thing: Any, *names: str) -> Any:
    """The first of these fields that is there and not None."""
    if thing is None:
        return None
    kind: type[object] = type(cast("object", thing))
    get: Callable[[str], Any] = thing.get if kind is dict else _getter(thing)
    for name in names:
        try:
            value = get(name)
        except Exception:  # noqa: BLE001 - a field that cannot be read is a field that is not there
            continue
        if value is not None:
            return value
    return None


def _getter(thing: Any) -> Callable[[str], Any]:
    """How to ask anything but a plain dict for a field."""
    if issubclass(type(thing), dict):
        return lambda name: _plain_get(cast("dict[str, Any]", thing), name)
    if issubclass(type(thing), _NO_MESSAGE):
        return lambda _: None
    return (lambda name: thing.get(name)) if _is_a(thing, Mapping) else lambda name: _attribute(thing, name)


def _attribute(thing: Any, name: str) -> Any:
    value = getattr(thing, name, None)
    return None if type(value) in _METHODS or _is_unset(value) else value


def _is_a(value: Any, base: type[object]) -> bool:
    try:
        return issubclass(type(value), base)
    except Exception:  # noqa: BLE001 - a class that will not say what it is
        return False


def _is_unset(value: Any) -> bool:
    """SDKs fill a field that was not sent with an object of their own, which is neither None nor true."""
    kind: type[object] = type(cast("object", value))
    if kind in (bool, int, float, complex) or not hasattr(kind, "__bool__") or hasattr(kind, "__len__"):
        return False
    try:
        return not value
    except Exception:  # noqa: BLE001 - whatever it is, it is something
        return False


def is_many(value: Any) -> bool:
    """A list, a tuple, or an SDK's own sequence."""
    if type(value) in _COMMON:
        return type(value) is list
    return _is_a(value, Sequence) and not issubclass(type(value), _TEXTS)


def is_empty(value: Any) -> bool:
    """Nothing, as some servers write it: null, an empty object, an empty text."""
    return value is None or (type(value) in (str, dict, bool, int) and not value)


def is_thing(value: Any) -> bool:
    """Something with fields."""
    if type(value) in _COMMON:
        return type(value) is dict
    return not issubclass(type(value), _NO_MESSAGE) and not is_many(value)


def text_of(value: Any) -> str | None:
    """A plain string, also from a subclass with methods of its own; None for anything else."""
    if value is None or type(value) is str:
        return value
    return str.__str__(value) if issubclass(type(value), str) else None


def word(value: Any) -> str | None:
    """A word of the API's vocabulary: a string, or an SDK's enum of them."""
    if issubclass(type(value), str) or not issubclass(type(value), Enum):
        return text_of(value)
    return text_of(field(value, "value")) or text_of(field(value, "name"))


def identifier(value: Any) -> str | None:
    """The id of a call; JSON-RPC also counts with whole numbers."""
    if type(value) is int and value.bit_length() < 128:
        return str(value)
    return text_of(value) or None


def dumped(thing: Any) -> Any:
    """The plain data of an object that can give it, else None."""
    for name in ("model_dump", "to_dict"):
        try:
            data = getattr(thing, name)()
        except Exception:  # noqa: BLE001 - then it cannot
            continue
        if type(data) in (dict, list):
            return data
    return None

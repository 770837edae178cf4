"""From the JSON of a call to the Python values a function declares: dataclass, enum, date, set, path, pydantic."""

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, get_type_hints

from msgspec import Struct, ValidationError, convert

from rightcall.text.faults import fault_text, message_of

_REASON = 500


class Misfit(Struct, frozen=True):
    """An argument whose declared type cannot hold its value, and why."""

    name: str
    reason: str


Converter = Callable[[Mapping[str, Any]], tuple[dict[str, Any], tuple[Misfit, ...]]]
"""The keyword arguments in the declared types; what does not fit stays as it was and is named beside them."""


def converter(function: Callable[..., Any]) -> Converter:
    """How to turn JSON into the keyword arguments that `function` takes. Nothing raises later.

    Where a declared type cannot be made from JSON at all, the value stays what the schema let through.

    >>> def plan(days: set[int]) -> None: ...
    >>> converter(plan)({"days": [1, 2, 2]})
    ({'days': {1, 2}}, ())
    """
    hints = _hints(function)

    def convert_arguments(given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Misfit, ...]]:
        arguments = dict(given)
        misfits: tuple[Misfit, ...] = ()
        for name, value in given.items():
            hint = hints.get(name)
            if value is None or hint is None or type(value) is hint:
                continue
            try:
                arguments[name] = convert(_whole(value), hint, str_keys=True, dec_hook=_make)
            except _ForeignError:
                continue
            except Exception as error:  # noqa: BLE001 - a type of the author's may raise anything at what a model wrote
                misfits += (Misfit(name, _reason(error)),)
        return arguments, misfits

    return convert_arguments


class _ForeignError(Exception):
    """A declared type that only the function's author knows how to make."""


def _make(kind: Any, value: Any) -> Any:
    """msgspec's door for types it does not know."""
    if inspect.isclass(kind) and issubclass(kind, PurePath):
        return kind(value)
    validate: Callable[[Any], Any] | None = getattr(kind, "model_validate", None)  # pydantic, without importing it
    if validate is None:
        raise _ForeignError
    return validate(value)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The declared types that can be made from JSON at all."""
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__  # an object that is called
    try:
        hints = get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001 - a hint is any expression of the author's; one that fails says nothing
        return {}
    return {name: hint for name, hint in hints.items() if name != "return" and _known(hint)}


def _known(hint: Any) -> bool:
    try:
        convert(None, hint, dec_hook=_make)
    except (ValidationError, _ForeignError):
        pass  # the type is fine, None is just no value of it
    except Exception:  # noqa: BLE001 - TypeError for a union of two dataclasses; an author's own type may raise others
        return False
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return message_of(error, _REASON)
    return fault_text(error, _REASON)


def _whole(value: Any) -> Any:
    """5.0 is an integer to JSON Schema, but not to Python."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

"""The kinds of JSON values, as Python sees them; tests that also tell the type checker what they found."""

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def json_type(value: Any) -> str:
    """The JSON type of a value; `integer` for whole numbers.

    >>> [json_type(value) for value in (1, 1.0, 1.5, True, "1", None)]
    ['integer', 'integer', 'number', 'boolean', 'string', 'null']
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"

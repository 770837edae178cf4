"""From a schema and rules to one compiled check."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError


def validator(schema: dict[str, Any]) -> "Draft202012Validator":
    """A validator that never opens a file or a connection and matches patterns in linear time."""
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(
        schema, validate_formats=False, pattern_options=jsonschema_rs.RegexOptions(), offline=True
    )


def explainer(schema: dict[str, Any]) -> "Callable[[Any], Iterator[ValidationError]]":
    return validator(schema).iter_errors

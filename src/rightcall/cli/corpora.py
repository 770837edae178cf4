"""Reading a corpus for `rightcall eval`: which shape a file has, and its cases one by one."""

import json
from collections.abc import Iterator
from typing import Any, Literal, cast

from rightcall.cli.lines import MAX_BYTES, InputError, bounded_lines, decoded, open_lines

Shape = Literal["calls", "json", "emissions"]
_NEEDED: dict[Shape, tuple[str, ...]] = {  # in this order: what has all fields of emissions is no broken JSON
    "calls": ("schema", "emitted", "accepted"),
    "emissions": ("text", "tools", "expected"),
    "json": ("text", "expected"),
}
_SCHEMA_WORDS = frozenset(
    {"type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "required"}
)


def rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object of a JSON lines file with its line number; blank lines are skipped."""
    stream = open_lines(path)
    try:
        for number, line in bounded_lines(stream):
            if line is None:
                raise InputError(f"a line of more than {MAX_BYTES:,} bytes", source=path, line=number)
            if line.strip():
                yield number, _object(line, path, number)
    finally:
        if path != "-":
            stream.close()


def _object(line: bytes, path: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(decoded(line, path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not one JSON object in this line: {error}", source=path, line=number) from error
    if not isinstance(value, dict):
        raise InputError(f"a case is a JSON object, not {type(value).__name__}", source=path, line=number)
    return cast(dict[str, Any], value)


def shape_of_case(case: dict[str, Any], path: str, number: int) -> Shape:
    """What kind of corpus a case belongs to, by the fields it has."""
    for shape, fields in _NEEDED.items():
        if all(field in case for field in fields):
            return shape
    raise InputError(
        "a case needs text, tools and expected (an emission), schema, emitted and accepted (a damaged call) or text "
        "and expected (broken JSON); "
        f"this one has {', '.join(sorted(case)) or 'no field'}",
        source=path,
        line=number,
    )


def cases(path: str) -> Iterator[tuple[Shape, int, dict[str, Any]]]:
    """The cases of a file, all of the shape that the first one has."""
    first: Shape | None = None
    for number, case in rows(path):
        shape = shape_of_case(case, path, number)
        first = first or shape
        if shape != first:
            raise InputError(
                f"a case of another shape than the ones before it ({shape}, not {first})", source=path, line=number
            )
        yield shape, number, case


def read_flags(path: str | None) -> dict[str, dict[str, Any]]:
    """The flags by the id of the case they belong to."""
    flags: dict[str, dict[str, Any]] = {}
    for number, flag in rows(path) if path else ():
        if not isinstance(flag.get("id"), str):
            raise InputError("a flag needs the `id` of its case", source=path or "", line=number)
        flags[flag["id"]] = flag
    return flags


def json_schema(case: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON Schema of a broken-JSON case: `json_schema`, or `schema` where that is one and no other language."""
    for field in ("json_schema", "schema"):
        schema = case.get(field)
        if isinstance(schema, dict) and "baml" not in schema and _SCHEMA_WORDS & schema.keys():
            return cast(dict[str, Any], schema)
    return None

"""All problems of a call at once, in an order that does not change, in words a model can act on."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from rightcall.catalog import Tool, nested_deeper
from rightcall.catalog.compile import DEPTH
from rightcall.catalog.merge import argument_names
from rightcall.types import Problem, UnknownArgument
from rightcall.validate.rules import rule_problems
from rightcall.validate.schema import schema_problems
from rightcall.validate.values import value_problems
from rightcall.validate.wording import got

MOST = 20
"""More problems than this help nobody; one line says how many there are."""
_MISSING = ("missing", "missing_any")


def problems(tool: Tool, arguments: Any, *, unknown: UnknownArgument = "drop") -> tuple[Problem, ...]:
    """Why these arguments do not fit the tool; empty when they do. Never raises.

    Missing arguments come first, in the schema's order, then the rest in that order too. Arguments the tool does not
    know are problems only when `unknown` is `refuse`, or when nothing else explains why the call does not fit.
    """
    if not isinstance(arguments, dict):
        return (Problem("type", "", f"the arguments must be an object with named values, got {got(arguments)}"),)
    if nested_deeper(arguments):
        return (Problem("too_large", "", f"the arguments are nested deeper than {DEPTH} levels"),)
    given = cast("dict[Any, Any]", arguments)
    found = _unique(_all(tool, given))
    kept = found if unknown == "refuse" else [one for one in found if one.code != "unknown_argument"]
    if not kept and not _accepted(tool, given):
        kept = found or [Problem("schema", "", f"the arguments do not fit the schema of `{tool.name}`")]
    order = {name: place for place, name in enumerate(argument_names(tool.schema) or ())}
    return _cut(sorted(kept, key=lambda one: _rank(one, order)))


def _all(tool: Tool, arguments: dict[Any, Any]) -> Iterator[Problem]:
    foreign = list(value_problems(arguments, _names_anywhere(tool.schema)))
    yield from foreign
    if any(not isinstance(key, str) for key in arguments):
        return  # said already, and nothing more can be asked of the schema
    yield from rule_problems(tool.rules, arguments)
    yield from schema_problems(tool, arguments, {one.path for one in foreign})


def _accepted(tool: Tool, arguments: dict[Any, Any]) -> bool:
    try:
        return tool.fits(arguments)
    except ValueError:  # what it says of values that are no JSON
        return False


def _unique(found: Iterable[Problem]) -> list[Problem]:
    """Each matter once: rules speak before the schema, and something missing has no other fault."""
    kept: dict[tuple[str, str], Problem] = {}
    for one in found:
        about = "missing" if one.code in _MISSING else one.code if one.code == "unknown_argument" else "value"
        if (one.path, "missing") in kept and about == "value":
            continue
        kept.setdefault((one.path, about if about != "value" else one.message), one)
    return list(kept.values())


def _rank(one: Problem, order: dict[str, int]) -> tuple[bool, int, str]:
    first = one.path.split(" or ")[0].split(".")[0].split("[")[0]
    return one.code not in _MISSING, order.get(first, len(order)), one.path


def _cut(found: list[Problem]) -> tuple[Problem, ...]:
    if len(found) <= MOST:
        return tuple(found)
    return (*found[:MOST], Problem("schema", "", f"and {len(found) - MOST} more problems of this kind"))


def _names_anywhere(schema: dict[str, Any]) -> frozenset[str]:
    """Every argument name the schema uses, at any depth: a reserved word among them is meant."""
    names: set[str] = set()
    stack: list[Any] = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            table = cast("dict[str, Any]", part)
            properties = table.get("properties")
            if isinstance(properties, dict):
                names.update(cast("dict[str, Any]", properties))
            stack.extend(table.values())
        elif isinstance(part, list):
            stack.extend(cast("list[Any]", part))
    return frozenset(names)

"""A right call of a tool, to show a model: declared in a pack, or made from the schema. Never one that does not fit."""

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from rightcall.catalog import Tool
from rightcall.text.escape import escaped
from rightcall.types import Rules
from rightcall.validate.sample import NoSampleError, Sampler

LONGEST = 1_000
"""A longer example would drown the hint; it is left out."""


def example(tool: Tool) -> dict[str, Any] | None:
    """Arguments that `tool.accepts` (once defaults are filled in), as few as possible; None where none can be made."""
    found = _example(tool)
    return None if found is None else dict(found)


@lru_cache(maxsize=256)
def _example(tool: Tool) -> dict[str, Any] | None:
    if tool.rules.example is not None:
        return dict(tool.rules.example)
    for generous in (False, True):
        try:
            made = _build_example(tool, generous)
        except (NoSampleError, ArithmeticError, RecursionError):  # a bound of 10**400, a schema without end
            continue
        if _fits(tool, made):
            return made
    return None


def _build_example(tool: Tool, generous: bool) -> dict[str, Any]:
    sampler = Sampler(tool.schema, generous)
    made: dict[str, Any] = sampler.arguments(_wanted(tool.rules))
    for name in tool.rules.json_text:
        if name in made:
            made[name] = "{}"
    for name, least in tool.rules.min_length.items():
        if isinstance(made.get(name), str):
            made[name] = (made[name] + " ").ljust(least, "…") if len(made[name]) < least else made[name]
    for name in tool.rules.defaults:
        made.pop(name, None)  # filled in anyway
    return made


def _wanted(rules: Rules) -> list[str]:
    """What the rules ask for beside the schema's own `required`."""
    return [*rules.required, *(group[0] for group in rules.required_any if group), *rules.required_unless]


def _fits(tool: Tool, made: dict[str, Any]) -> bool:
    try:
        return tool.accepts({**tool.rules.defaults, **made})
    except ValueError:
        return False


def example_text(tool: Tool, allowed: Collection[str] | None = None) -> str | None:
    """The example as one line of JSON; None where there is none to show."""
    found = example(tool)
    if found is None or (allowed is not None and any(name not in allowed for name in found)):
        return None
    return arguments_text(found)


def arguments_text(arguments: dict[str, Any]) -> str | None:
    """Arguments as one line of JSON; None where they are too long to show."""
    import json  # late: only a refusal pays for it

    text = escaped(json.dumps(arguments, ensure_ascii=False, default=str))
    return text if len(text) <= LONGEST else None

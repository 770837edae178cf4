"""Does what a tool's table says make sense? Every name in it must be an argument, every value must fit the schema.

Packs that ship with RightCall are checked by the tests; a user's own pack is checked when it is loaded.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import MsgspecError, json

from rightcall.catalog.tidy import RIGHT_TYPES
from rightcall.packs.lines import KeyPath
from rightcall.packs.rules import ToolTable
from rightcall.packs.source import Source, instead
from rightcall.types import Rules

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_OF_VALUES = ("properties", "patternProperties", "additionalProperties", "$defs", "definitions")


def check_tool(source: Source, path: KeyPath, tool: ToolTable) -> None:
    """Raise for the first thing in the table at `path` that contradicts its own schema or itself."""
    _check_itself(source, path, tool.rules)
    if tool.parameters is None:
        return
    _check_schema(source, (*path, "parameters"), tool.parameters)
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    for argument in tool.rules.required_unless:
        if argument in tool.parameters.get("required", ()):
            place = (*path, "required_unless", argument)
            raise source.wrong(place, "the schema's own `required` has no exceptions; leave it out there")
    if properties:
        _check_names(source, path, tool.rules, properties)
    _check_values(source, path, tool)
    if tool.rules.example is not None:
        _check_example(source, (*path, "example"), tool, tool.rules.example)


def check_pack(source: Source, tools: Mapping[str, ToolTable]) -> None:
    """What only the whole pack shows: a name that two tools claim, a replacement that has no such argument."""
    owner = {name: name for name in tools}
    for name, tool in tools.items():
        for key, others in (("also", tool.also or ()), ("names", tool.rules.names)):
            for at, other in enumerate(others):
                if other in owner:
                    place = ("tools", name, key, at)
                    raise source.wrong(
                        place, f"{other!r} already means {owner[other]!r}; a name can mean one tool only"
                    )
                owner[other] = name
        target = tools.get(tool.rules.replaced_by or "")
        if target is not None and target.parameters is not None:
            properties: Mapping[str, Any] = target.parameters.get("properties", {})
            for argument, theirs in tool.rules.replacement_arguments.items():
                place = ("tools", name, "replacement_arguments", argument)
                _argument(source, place, theirs, properties, f"{tool.rules.replaced_by} has no such argument")


def _check_itself(source: Source, path: KeyPath, rules: Rules) -> None:
    if rules.replacement_arguments and rules.replaced_by is None:
        raise source.wrong((*path, "replacement_arguments"), "needs `replaced_by`, the tool these arguments are for")
    for argument, target in rules.aliases.items():
        if argument == target:
            raise source.wrong((*path, "aliases", argument), "an alias of itself says nothing")
        if target in rules.aliases:
            place = (*path, "aliases", argument)
            raise source.wrong(place, f"{target!r} is itself an alias; name {rules.aliases[target]!r}, what it means")


def _check_schema(source: Source, path: KeyPath, schema: Mapping[str, Any]) -> None:
    """It must be a JSON Schema that compiles without looking anywhere else."""
    import jsonschema_rs  # late: only packs of a user's own pay for it

    try:
        jsonschema_rs.meta.validate(dict(schema))
        _validator(schema)
    except ValueError as fault:
        inside = tuple(cast("Iterable[str | int]", getattr(fault, "instance_path", ())))
        reason = f"right is {RIGHT_TYPES}" if inside[-1:] == ("type",) else getattr(fault, "message", fault)
        raise source.wrong((*path, *inside), f"not a JSON Schema: {reason}") from None


def _validator(schema: Mapping[str, Any]) -> "Draft202012Validator":
    """As the catalogue compiles it: a pattern that cannot be matched in linear time is left out, not refused."""
    from rightcall.catalog.compile import validator, without_hard_patterns

    return validator(without_hard_patterns({"type": "object", **schema})[0])


def _check_names(source: Source, path: KeyPath, rules: Rules, properties: Mapping[str, Any]) -> None:
    """Every argument a rule speaks of must be one of the schema's."""
    for wrong, right in rules.aliases.items():
        place = (*path, "aliases", wrong)
        if wrong in properties:
            raise source.wrong(place, f"{wrong!r} is an argument of the tool, so it cannot stand for {right!r}")
        _argument(source, place, right, properties)
    for key in ("values", "defaults", "min_length", "replacement_arguments", "required_unless"):
        for argument in getattr(rules, key):
            _argument(source, (*path, key, argument), argument, properties)
    for argument, conditions in rules.required_unless.items():
        for other in conditions:
            _argument(source, (*path, "required_unless", argument, other), other, properties)
    for key in ("required", "json_text"):
        for at, argument in enumerate(getattr(rules, key)):
            _argument(source, (*path, key, at), argument, properties)
    for at, group in enumerate(rules.required_any):
        for position, argument in enumerate(group):
            _argument(source, (*path, "required_any", at, position), argument, properties)
    for key in ("paths", "commands", "urls", "patches", "globs"):
        for at, place in enumerate(getattr(rules, key)):
            _place(source, (*path, key, at), place, properties)
    if rules.batch is not None:
        _argument(source, (*path, "batch", "list"), rules.batch.list, properties)


def _argument(
    source: Source,
    path: KeyPath,
    name: str,
    properties: Mapping[str, Any],
    why: str = "no such argument in the schema",
) -> None:
    if properties and name not in properties:
        raise source.wrong(path, f"{name!r}: {why}; {instead(name, properties)}")


def _place(source: Source, path: KeyPath, place: str, properties: Mapping[str, Any]) -> None:
    """An argument, or one inside another: `ws.url`, `operations[].path`. Only the first step can always be checked."""
    if place in properties:
        return
    first = place.split(".")[0].removesuffix("[]")
    _argument(source, path, first, properties)


def _check_values(source: Source, path: KeyPath, tool: ToolTable) -> None:
    for argument, value in tool.rules.defaults.items():
        _fits(source, (*path, "defaults", argument), tool, argument, value)
    for argument, mapping in tool.rules.values.items():
        for written, value in mapping.items():
            _fits(source, (*path, "values", argument, written), tool, argument, value)


def _fits(source: Source, path: KeyPath, tool: ToolTable, argument: str, value: Any) -> None:
    """The value alone, against its argument's part of the schema; the root is kept so that `$ref` works."""
    schema = {key: part for key, part in (tool.parameters or {}).items() if key in _OF_VALUES}
    for message in _errors(schema, {argument: value}):
        raise source.wrong(path, f"does not fit the schema of {argument!r}: {message}")


def _check_example(source: Source, path: KeyPath, tool: ToolTable, example: Mapping[str, Any]) -> None:
    for message in _errors(tool.parameters or {}, dict(example)):
        raise source.wrong(path, f"an example must be a right call, but {message}")
    for message in _broken(tool.rules, example):
        raise source.wrong(path, f"an example must be a right call, but {message}")


def _errors(schema: Mapping[str, Any], arguments: dict[str, Any]) -> Iterable[str]:
    for error in _validator(schema).iter_errors(arguments):
        yield error.message
    properties: Mapping[str, Any] = schema.get("properties", {})
    if properties and "additionalProperties" not in schema:
        yield from (f"{name!r} is no argument of the tool" for name in arguments if name not in properties)


def _broken(rules: Rules, example: Mapping[str, Any]) -> Iterable[str]:
    """Which of the rules beside the schema an example breaks."""
    for argument in rules.required:
        excused = any(example.get(other) in values for other, values in rules.required_unless.get(argument, {}).items())
        if not excused and _missing(example.get(argument)):
            yield f"{argument!r} is required and missing"
    for group in rules.required_any:
        if all(_missing(example.get(argument)) for argument in group):
            yield f"one of {', '.join(group)} is required"
    for argument, least in rules.min_length.items():
        value = example.get(argument)
        if isinstance(value, str) and len(value) < least:
            yield f"{argument!r} has {len(value)} characters and needs {least}"
    for argument in rules.json_text:
        if isinstance(example.get(argument), str) and not _is_json(example[argument]):
            yield f"{argument!r} must hold JSON text"
    for argument, mapping in rules.values.items():
        value = example.get(argument)
        if isinstance(value, str) and value in mapping:
            yield f"{argument!r} has the value {value!r}, which means {mapping[value]!r}"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_json(text: str) -> bool:
    try:
        json.decode(text)
    except MsgspecError:
        return False
    return True

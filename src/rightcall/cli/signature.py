"""A tool's arguments in few words, from its JSON Schema."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from msgspec import Struct

from rightcall.text.escape import escaped

_MOST_VALUES = 6
_DEEPEST = 4


class Argument(Struct, frozen=True):
    """One argument as a person reads it."""

    name: str
    type: str
    required: bool
    aliases: tuple[str, ...] = ()
    default: Any = None
    description: str = ""


def arguments_of(schema: Mapping[str, Any], rules: Any) -> tuple[Argument, ...]:
    """The arguments in the schema's order; those that only a rule names come last."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = {*schema.get("required", ()), *rules.required}
    names = dict.fromkeys((*properties, *rules.required, *(name for group in rules.required_any for name in group)))
    return tuple(
        Argument(
            name=name,
            type=type_words(properties.get(name, True), schema),
            required=name in required and name not in rules.required_unless,
            aliases=tuple(alias for alias, target in rules.aliases.items() if target == name),
            default=rules.defaults.get(name),
            description=_description(properties.get(name)),
        )
        for name in names
    )


def effect_words(effects: Iterable[str] | None) -> str:
    """`read, write`; a tool that declares nothing counts as doing everything."""
    return "any effect (none declared)" if effects is None else ", ".join(sorted(effects)) or "no effects"


def grouped(mapping: Mapping[str, Any]) -> str:
    """`bash, sh → terminal; py → python`: what maps to the same is said once."""
    groups: dict[str, list[str]] = {}
    for source, target in mapping.items():
        groups.setdefault(_value_words(target), []).append(escaped(source))
    return "; ".join(f"{', '.join(sources)} → {target}" for target, sources in groups.items())


def conditions(rules: Any) -> list[str]:
    """What is needed beyond the marks: one of a group, or an argument unless another has a certain value."""
    lines = [f"needs one of: {', '.join(map(escaped, group))}" for group in rules.required_any]
    for name, exceptions in rules.required_unless.items():
        words = (f"{escaped(key)} is {' or '.join(map(_value_words, values))}" for key, values in exceptions.items())
        lines.append(f"needs {escaped(name)} unless {' or '.join(words)}")
    return lines


def stated(rules: Any) -> dict[str, Any]:
    """Only what the rules say, as plain data."""
    import msgspec

    said: dict[str, Any] = msgspec.to_builtins(rules)
    return {key: value for key, value in said.items() if value not in ({}, [], None)}


def _description(schema: Any) -> str:
    text = cast(dict[str, Any], schema).get("description", "") if isinstance(schema, dict) else ""
    return " ".join(str(text).split())


def type_words(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """`integer`, `list of text`, `celsius | fahrenheit`, `text or null`, …"""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "anything"
    schema = _looked_up(cast(Mapping[str, Any], schema), root)
    if "const" in schema:
        return _value_words(schema["const"])
    if isinstance(schema.get("enum"), list):
        return _enum_words(cast(list[Any], schema["enum"]))
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            kinds = (type_words(one, root, depth + 1) for one in cast(list[Any], schema[word]))
            return " or ".join(dict.fromkeys(kinds)) or "anything"
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = (_plain(str(one), schema, root, depth) for one in cast(list[Any], kind))
        return " or ".join(dict.fromkeys(kinds)) or "anything"
    return _plain(kind if isinstance(kind, str) else "object" if "properties" in schema else "", schema, root, depth)


def _plain(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if kind == "array" and "items" in schema:
        return f"list of {type_words(schema['items'], root, depth + 1)}"
    words = {"string": "text", "array": "list", "": "anything"}.get(kind, escaped(kind))
    if kind == "object" and isinstance(schema.get("properties"), Mapping) and depth < 2:
        names = list(cast(Mapping[str, Any], schema["properties"]))
        rest = ", …" if len(names) > _MOST_VALUES else ""
        return f"object {{{', '.join(map(escaped, names[:_MOST_VALUES]))}{rest}}}"
    return words + _bounds(schema, kind)


def _bounds(schema: Mapping[str, Any], kind: str) -> str:
    if kind not in ("integer", "number"):
        return ""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" {low} to {high}"
    return f" from {low}" if low is not None else f" up to {high}" if high is not None else ""


def _enum_words(values: list[Any]) -> str:
    rest = f" | … {len(values)} in all" if len(values) > _MOST_VALUES else ""
    return " | ".join(_value_words(value) for value in values[:_MOST_VALUES]) + rest


def _value_words(value: Any) -> str:
    from rightcall.cli.output import json_text

    return escaped(value) if isinstance(value, str) and value.strip() else json_text(value)


def _looked_up(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follows a reference inside the same schema, once: a circle is somebody else's problem."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return schema
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = cast(Mapping[str, Any], found).get(key) if isinstance(found, Mapping) else None
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else schema

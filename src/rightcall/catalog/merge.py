"""What packs and the policy file say of a tool, laid over its definition."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog.compile import validator
from rightcall.catalog.keywords import Part, Schema, as_schema, in_place, ref_name
from rightcall.types import Effect, Rules

V = TypeVar("V")


class Definition(Struct, frozen=True):
    """A tool before it is compiled."""

    name: str
    description: str = ""
    schema: Schema | None = None
    effects: tuple[Effect, ...] | None = None
    rules: Rules = Rules()
    source: str = "given"
    unchecked: tuple[str, ...] = ()


def lay_over(table: dict[str, Definition], overlay: Definition) -> None:
    """Add what an overlay says to the tools it means, or the tool itself when nobody has it.

    A tool and its declared other names are one tool. A given tool keeps its schema.
    """
    names = {overlay.name, *overlay.rules.names}
    meant = [found for found in table.values() if found.name in names]
    meant = meant or [found for found in table.values() if overlay.name in found.rules.names]
    for found in meant:
        table[found.name] = _merged(found, overlay)
    if not meant and _describes(overlay):
        table[overlay.name] = overlay


def _merged(under: Definition, over: Definition) -> Definition:
    given = under.source == "given"
    own = under if given or over.schema is None else over
    names = tuple(name for name in (over.name, *over.rules.names) if name != under.name)
    rules = replace(over.rules, names=names)
    if given and over.source != "policy":
        rules = replace(rules, replaced_by=None, replacement_arguments={})  # it is offered, so it is not gone
    if given and over.source != "policy" and under.rules.example is not None:
        rules = replace(rules, example=None)  # its author knows better how a call of it looks
    if given and own.schema is not None:
        rules = fitted(rules, own.schema)
    return replace(
        under,
        description=under.description or over.description,
        schema=own.schema,
        unchecked=own.unchecked,
        effects=under.effects if over.effects is None else over.effects,
        rules=merge_rules(under.rules, rules),
    )


def _describes(overlay: Definition) -> bool:
    """Whether it says what a call looks like; a mode alone makes no tool."""
    words = ("aliases", "values", "defaults", "required", "required_any", "required_unless", "min_length", "json_text",
             "example", "replaced_by", "batch")  # fmt: skip
    return overlay.schema is not None or overlay.source != "policy" or any(getattr(overlay.rules, w) for w in words)


def merge_rules(under: Rules, over: Rules) -> Rules:
    """Later wins: key by key in tables, whole where it is a list; other names of the tool add up."""
    lists = ("required", "required_any", "json_text", "paths", "commands", "urls", "patches", "globs")
    settings = ("example", "hint", "replaced_by", "batch", "mode", "unknown_argument", "strategies")
    changed: dict[str, Any] = {name: value for name in lists if (value := getattr(over, name))}
    changed |= {name: value for name in settings if (value := getattr(over, name)) is not None}
    return replace(
        under,
        names=tuple(dict.fromkeys((*under.names, *over.names))),
        aliases={**under.aliases, **over.aliases},
        values={**under.values, **{name: {**under.values.get(name, {}), **of} for name, of in over.values.items()}},
        defaults={**under.defaults, **over.defaults},
        required_unless={**under.required_unless, **over.required_unless},
        min_length={**under.min_length, **over.min_length},
        replacement_arguments={**under.replacement_arguments, **over.replacement_arguments},
        repeatable=under.repeatable or over.repeatable,
        **changed,
    )


def fitted(rules: Rules, schema: Schema) -> Rules:
    """The part of a pack's rules that speaks of arguments which a tool of the same name really has."""
    named = argument_names(schema)
    if named is None:
        return rules
    known = frozenset(named)
    return replace(
        rules,
        aliases={alias: name for alias, name in rules.aliases.items() if name in known and alias not in known},
        values=_of(rules.values, known),
        defaults={name: value for name, value in _of(rules.defaults, known).items() if _fits(value, name, schema)},
        required=_listed(rules.required, known),
        required_any=tuple(kept for group in rules.required_any if (kept := _listed(group, known))),
        required_unless={
            name: kept for name, excuses in _of(rules.required_unless, known).items() if (kept := _of(excuses, known))
        },
        min_length=_of(rules.min_length, known),
        json_text=_texts(_listed(rules.json_text, known), schema),
        batch=rules.batch if rules.batch is not None and rules.batch.list in known else None,
        paths=_listed(rules.paths, known),
        commands=_listed(rules.commands, known),
        urls=_listed(rules.urls, known),
        patches=_listed(rules.patches, known),
        globs=_listed(rules.globs, known),
    )


def argument_names(schema: Schema) -> list[str] | None:
    """The arguments a schema names, in order; None where it leaves them open."""
    names: dict[str, None] = {}
    open_to_all = False

    def gather(part: Part) -> None:
        nonlocal open_to_all
        if not isinstance(part, dict):
            return
        names.update(dict.fromkeys(as_schema(part.get("properties"))))
        open_to_all = open_to_all or "patternProperties" in part or part.get("additionalProperties", False) is not False
        if "$ref" in part:
            gather(cast("Part", as_schema(schema.get("$defs")).get(ref_name(part["$ref"]), True)))
        for keyword, inner in in_place(part):
            if keyword not in ("not", "if"):
                gather(inner)

    gather(schema)
    return None if open_to_all or (not names and "properties" not in schema) else list(names)


def _fits(value: Any, name: str, schema: Schema) -> bool:
    """Whether a default is right for the argument as this tool declares it."""
    part = as_schema(schema.get("properties")).get(name, True)
    if not isinstance(part, dict):
        return part is not False
    return validator({**cast("Schema", part), "$defs": as_schema(schema.get("$defs"))}).is_valid(value)


def _texts(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Those of the arguments that may be text at all: of a list, nobody should ask that it be JSON text."""
    if not names:
        return ()
    from rightcall.parse.shape import ANY, shape_of  # late: few tools have such an argument

    props = shape_of(schema).props
    return tuple(name for name in names if props.get(name, ANY).allows("string"))


def _of(table: Mapping[str, V], known: frozenset[str]) -> dict[str, V]:
    return {name: value for name, value in table.items() if name in known}


def _listed(names: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """Paths such as `operations[].path` count by their first step."""
    return tuple(name for name in names if name in known or name.split(".")[0].removesuffix("[]") in known)

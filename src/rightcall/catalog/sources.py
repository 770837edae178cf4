"""Every way to write a tool, read into definitions: the dict shapes of the model APIs, Python things, TOML."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog.schema import validator
from rightcall.catalog.tidy import Part, Schema, as_list, as_schema, in_place, ref_name
from rightcall.catalog.tool import PackTool, Tool, declared_tool
from rightcall.errors import ToolError
from rightcall.types import Effect, Rules

# ── merge ──
# What packs and the policy file say of a tool, laid over its definition.

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
    declared: tuple[Effect, ...] = ()
    """Effects that the author of a given tool declared: packs add to them."""


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
        effects=_merged_effects(under, over),
        rules=merge_rules(under.rules, rules),
    )


def _merged_effects(under: Definition, over: Definition) -> tuple[Effect, ...] | None:
    """Later wins, but a pack takes nothing away of what the author declared: it may be of a tool that has the same name
    only by chance. The policy file has the last word."""
    if over.effects is None:
        return under.effects
    return over.effects if over.source == "policy" else tuple(dict.fromkeys((*under.declared, *over.effects)))


def _describes(overlay: Definition) -> bool:
    """Whether it says what a call looks like; a mode alone makes no tool."""
    words = ("aliases", "values", "defaults", "required", "required_any", "required_unless", "min_length", "json_text",
             "example", "replaced_by", "batch")  # fmt: skip
    return overlay.schema is not None or overlay.source != "policy" or any(getattr(overlay.rules, w) for w in words)


def merge_rules(under: Rules, over: Rules) -> Rules:
    """Later wins: key by key in tables, whole where it is a list; other names of the tool add up."""
    lists = ("examples", "required", "required_any", "json_text", "paths", "commands", "urls", "patches", "globs")
    settings = ("example", "hint", "replaced_by", "batch", "mode", "unknown_argument", "strategies")
    changed: dict[str, Any] = {name: value for name in lists if (value := getattr(over, name))}
    changed |= {name: value for name in settings if (value := getattr(over, name)) is not None}
    return replace(
        under,
        names=tuple(dict.fromkeys((*under.names, *over.names))),
        aliases={**under.aliases, **over.aliases},
        values={**under.values, **{name: {**under.values.get(name, {}), **of} for name, of in over.values.items()}},
        defaults={**under.defaults, **over.defaults},
        forms={**under.forms, **over.forms},
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
        aliases={
            alias: name for alias, name in rules.aliases.items() if alias not in known and _listed((name,), known)
        },
        values=_within(rules.values, known),
        defaults={
            name: value
            for name, value in _within(rules.defaults, known).items()
            if name not in known or _fits(value, name, schema)
        },
        forms=_within(rules.forms, known),
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
    from rightcall.base.json.shape import ANY, shape_of  # late: few tools have such an argument

    props = shape_of(schema).props
    return tuple(name for name in names if props.get(name, ANY).allows("string"))


def _of(table: Mapping[str, V], known: frozenset[str]) -> dict[str, V]:
    return {name: value for name, value in table.items() if name in known}


def _within(table: Mapping[str, V], known: frozenset[str]) -> dict[str, V]:
    """As `_of`, where a rule may also speak of what is inside an argument: `filter.language`, `items[].size`."""
    return {name: table[name] for name in _listed(table, known)}


def _listed(names: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """Paths such as `operations[].path` count by their first step."""
    return tuple(name for name in names if name in known or name.split(".")[0].removesuffix("[]") in known)


EXAMPLES_META = "rightcall/examples"
MOST_EXAMPLES = 12
LONGEST_EXAMPLE = 300

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "schema", "arguments_schema", "args_schema")
SHAPES = (
    '{"type": "function", "function": {"name", "description", "parameters"}}, {"name", "input_schema"}, '
    '{"name", "inputSchema"} or {"name", "description", "parameters"}'
)


def flatten(tools: Any) -> list[dict[str, Any] | tuple[PackTool]]:
    """What `build_catalog` was given, as plain data: dicts of the model APIs, and ours as tuples of one.

    The tuple keeps apart what may declare effects and rules (our own records, `@tool`, TOML) from dicts that may come
    from a server, which may not.
    """
    if tools is None:
        return []
    if isinstance(tools, (str, PathLike)):
        return [(tool,) for tool in from_toml_file(cast("str | PathLike[str]", tools))]
    if isinstance(tools, Mapping):
        return _from_mapping(cast("Mapping[str, Any]", tools))
    if not isinstance(tools, Iterable):
        return _one(tools)
    flat: list[dict[str, Any] | tuple[PackTool]] = []
    for tool in cast("Iterable[Any]", tools):
        flat += [cast("dict[str, Any]", tool)] if isinstance(tool, dict) else _one(tool)
    return flat


def _one(tool: Any) -> list[dict[str, Any] | tuple[PackTool]]:
    if isinstance(tool, PackTool):
        return [(tool,)]
    if isinstance(tool, Tool):
        effects = tuple(sorted(tool.effects)) if tool.effects_declared else None
        return [(PackTool(tool.name, tool.description, tool.schema, effects, tool.rules, tool.source),)]
    if isinstance(tool, (str, PathLike)):
        return [(found,) for found in from_toml_file(cast("str | PathLike[str]", tool))]
    if isinstance(tool, Mapping):
        return [dict(cast("Mapping[str, Any]", tool))]
    declared = declared_tool(tool)
    if declared is not None:
        return [(declared,)]
    from rightcall.catalog.functions import from_python  # late: inspecting needs modules that dicts do not

    return [from_python(tool)]


def _from_mapping(tools: Mapping[str, Any]) -> list[dict[str, Any] | tuple[PackTool]]:
    listed = tools.get("tools")
    if isinstance(listed, Mapping):
        return [(tool,) for tool in from_toml(tools, "tools")]
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        return flatten(listed)
    return [dict(tools)]


def read_definitions(raw: dict[str, Any] | list[PackTool], number: int) -> Iterable[Definition]:
    """The definitions in one item of `flatten`; Gemini keeps several in one."""
    if isinstance(raw, list):
        one = raw[0]
        return [Definition(one.name, one.description, one.schema, one.effects, one.rules, declared=one.effects or ())]
    for key in ("functionDeclarations", "function_declarations"):
        if key in raw:
            return [_definition(as_schema(inner), number) for inner in as_list(raw[key])]
    return [_definition(raw, number)] if not _is_built_in(raw) else []


def _is_built_in(raw: dict[str, Any]) -> bool:
    """A tool that the model's provider runs itself, such as `{"type": "web_search"}`; its calls never come to us."""
    kind = raw.get("type")
    described = "function" in raw or any(key in raw for key in SCHEMA_KEYS)
    return isinstance(kind, str) and kind not in ("function", "object") and not described


def _definition(raw: dict[str, Any], number: int) -> Definition:
    for key in ("function", "toolSpec"):
        inner = raw.get(key)
        if isinstance(inner, dict):
            raw = cast("dict[str, Any]", inner)
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ToolError(f"tool number {number} has no name{_told_keys(raw)}; right is {SHAPES}")
    schema: Any = next((raw[key] for key in SCHEMA_KEYS if raw.get(key) is not None), None)
    if as_schema(schema).keys() == {"json"}:  # Bedrock
        schema = schema["json"]
    if schema is None:
        _refuse_misspelt(name, raw)
    description = raw.get("description")
    rules = Rules(examples=_examples(raw))
    return Definition(name, description if isinstance(description, str) else "", schema, rules=rules)


def _told_keys(raw: dict[str, Any]) -> str:
    keys = ", ".join(repr(key) for key in list(raw)[:6])
    return f" (it has only {keys:.200})" if keys else ""


def _refuse_misspelt(name: str, raw: dict[str, Any]) -> None:
    """A schema under a key that is all but right: without it every argument would pass. Other keys are the affair of
    whoever wrote them."""
    from difflib import get_close_matches  # late: most tools have a schema

    for key, value in raw.items():
        near = get_close_matches(key, SCHEMA_KEYS, n=1, cutoff=0.8) if isinstance(value, dict) else []
        if near:
            raise ToolError(f"tool `{name}`: unknown key {key!r:.60}; did you mean {near[0]!r}?")


def _examples(raw: dict[str, Any]) -> tuple[str, ...]:
    """Requests that want the tool: `examples` beside its name, or what an MCP server says in `_meta`. What is no list
    of texts is left out: others write such a key with another meaning."""
    given: Any = raw.get("examples") or as_schema(raw.get("_meta")).get(EXAMPLES_META)
    if not isinstance(given, (list, tuple)):
        return ()
    texts = cast("Sequence[object]", given)
    return tuple(one[:LONGEST_EXAMPLE] for one in texts[:MOST_EXAMPLES] if isinstance(one, str))


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """`[tools.NAME]` beside the rules."""

    description: str = ""
    parameters: dict[str, Any] | None = None
    effects: tuple[Effect, ...] | None = None


def from_toml_file(path: str | PathLike[str]) -> list[PackTool]:
    """The tools of a TOML file, written as in a pack: `[tools.NAME]` with `parameters` and rules."""
    name = fspath(path)
    if not name.endswith(".toml"):
        raise ToolError(f"{name!r:.120} is not a tool: a path to tools must end in .toml")
    from rightcall.catalog.toml import Source  # late: most catalogues come as dicts

    return from_toml(Source.read(name, ToolError, "file of tools").parse(), name)


def from_toml(document: Mapping[str, Any], source: str) -> list[PackTool]:
    tables = document.get("tools")
    if not isinstance(tables, Mapping):
        raise ToolError("needs a table [tools.NAME] for each tool", source=source)
    found: list[PackTool] = []
    for name, table in cast("Mapping[str, Any]", tables).items():
        if not isinstance(table, Mapping):
            raise ToolError(f"[tools.{name}] must be a table", source=source)
        entry = cast("Mapping[str, Any]", table)
        rules = {key: value for key, value in entry.items() if key in Rules.__struct_fields__}
        about = {key: value for key, value in entry.items() if key not in rules}
        try:
            made = msgspec.convert(about, _Table)
            found.append(
                PackTool(name, made.description, made.parameters, made.effects, msgspec.convert(rules, Rules), source)
            )
        except msgspec.ValidationError as fault:
            raise ToolError(f"[tools.{name}]: {fault}", source=source) from fault
    return found

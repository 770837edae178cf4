"""One tool's table, in a pack (`[tools.NAME]`) or in the policy file (`[gate.tools.NAME]`), read and type-checked.

Both have the same keys: those of `Rules`, and `description`, `parameters` (JSON Schema), `effects` and `also`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast, get_args

from msgspec import Struct

from rightcall.base.json.marks import is_missing
from rightcall.base.json.strict import NO_JSON, attempt
from rightcall.catalog.tidy import RIGHT_TYPES, is_place
from rightcall.catalog.toml import KeyPath, Reader, Source, instead, is_table, kind, word
from rightcall.catalog.tool import Pack, PackTool
from rightcall.errors import PackError
from rightcall.types import Batch, Effect, Mode, Rules, StrategyName, UnknownArgument

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator


STRATEGY_WORDS: dict[str, StrategyName] = {
    "direct": "direct",
    "python_ast": "python_ast",
    "regex_quotes": "regex_quotes",
    "structure": "structure",
    "manual_repair": "manual_repair",
    # the short names of the argument normaliser's design
    "ast": "python_ast",
    "regex": "regex_quotes",
    "manual": "manual_repair",
}


class ToolTable(Struct, frozen=True):
    """What a table says of a tool. None means that it does not say."""

    rules: Rules
    description: str | None = None
    parameters: dict[str, Any] | None = None
    effects: tuple[Effect, ...] | None = None
    also: tuple[str, ...] | None = None
    """Names under which the same tool exists as well: a call by one of them is right, and keeps it."""


def read_tool(source: Source, path: KeyPath, value: Any) -> ToolTable:
    """The table at `path`, every key known and of the right type. What the names in it mean is `check_tool`'s part."""
    table = source.table(path, value)
    source.keys(path, table, _READERS)
    read = {key: _READERS[key](source, (*path, key), item) for key, item in table.items()}
    own = {key: read.pop(key, None) for key in ("description", "parameters", "effects", "also")}
    return ToolTable(Rules(**read), **own)


def pack_tools(tools: Mapping[str, ToolTable], pack: str) -> tuple[PackTool, ...]:
    """The records the catalogue takes: one for each name under which a tool exists."""
    return tuple(
        PackTool(
            name=name,
            description=tool.description or "",
            schema=tool.parameters,
            effects=tool.effects,
            rules=tool.rules,
            pack=pack,
        )
        for own, tool in tools.items()
        for name in (own, *(tool.also or ()))
    )


def strategies(source: Source, path: KeyPath, value: Any) -> tuple[StrategyName, ...]:
    """Names of strategies, long or short, each once, in the order given."""
    words = source.texts(path, value)
    known = tuple(STRATEGY_WORDS)
    names: list[StrategyName] = [STRATEGY_WORDS[source.word((*path, at), word, known)] for at, word in enumerate(words)]
    return tuple(dict.fromkeys(names))


def _effects(source: Source, path: KeyPath, value: Any) -> tuple[Effect, ...]:
    words = source.texts(path, value)
    return tuple(source.word((*path, at), word, get_args(Effect)) for at, word in enumerate(words))


def _parameters(source: Source, path: KeyPath, value: Any) -> dict[str, Any]:
    schema = source.table(path, value)
    if schema.get("type", "object") != "object":
        raise source.wrong((*path, "type"), 'the arguments of a call are an object, so this must be "object"')
    properties = schema.get("properties", {})
    if not is_table(properties):
        raise source.wrong((*path, "properties"), f"must be a table of arguments, not {kind(properties)}")
    return {"type": "object"} | source.plain(path, schema)


def _values(source: Source, path: KeyPath, value: Any) -> dict[str, dict[str, Any]]:
    return {
        argument: source.plain((*path, argument), source.table((*path, argument), mapping))
        for argument, mapping in source.table(path, value).items()
    }


def _plain(source: Source, path: KeyPath, value: Any) -> dict[str, Any]:
    return source.plain(path, source.table(path, value))


def _forms(source: Source, path: KeyPath, value: Any) -> dict[str, tuple[str, ...]]:
    from rightcall.catalog.forms import read_form  # late: few packs have any

    found: dict[str, tuple[str, ...]] = {}
    for argument, forms in source.table(path, value).items():
        found[argument] = source.texts((*path, argument), forms)
        for at, text in enumerate(found[argument]):
            try:
                read_form(text)
            except ValueError as wrong:
                raise source.wrong((*path, argument, at), str(wrong)) from None
    return found


def _groups(source: Source, path: KeyPath, value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple):
        raise source.wrong(path, f'must be a list of groups, such as [["recipient_email", "to"]], not {kind(value)}')
    groups: list[tuple[str, ...]] = []
    for at, group in enumerate(cast("list[Any]", value)):
        names = source.texts((*path, at), group)
        if len(names) < 2:
            raise source.wrong((*path, at), "a group names at least two arguments; one alone belongs into `required`")
        groups.append(names)
    return tuple(groups)


def _unless(source: Source, path: KeyPath, value: Any) -> dict[str, dict[str, tuple[Any, ...]]]:
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for argument, conditions in source.table(path, value).items():
        found[argument] = {}
        for other, values in source.table((*path, argument), conditions).items():
            if not isinstance(values, list | tuple):
                place = (*path, argument, other)
                raise source.wrong(place, f'must be a list of values, such as ["output"], not {kind(values)}')
            found[argument][other] = tuple(source.plain((*path, argument, other), values))
    return found


def _lengths(source: Source, path: KeyPath, value: Any) -> dict[str, int]:
    return {
        argument: source.count((*path, argument), least, 0, 1_000_000)
        for argument, least in source.table(path, value).items()
    }


def _batch(source: Source, path: KeyPath, value: Any) -> Batch:
    table = source.table(path, value)
    source.keys(path, table, Batch.__struct_fields__)
    if "list" not in table:
        raise source.wrong(path, 'needs `list`, the argument that holds the inner calls, such as { list = "tools" }')
    words = {key: source.texts((*path, key), table[key]) for key in ("name", "arguments") if key in table}
    return Batch(source.text_of((*path, "list"), table["list"]), **words)


_READERS: dict[str, Reader] = {
    "description": Source.text_of,
    "parameters": _parameters,
    "effects": _effects,
    "also": Source.texts,
    "names": Source.texts,
    "aliases": Source.text_map,
    "values": _values,
    "defaults": _plain,
    "forms": _forms,
    "required": Source.texts,
    "required_any": _groups,
    "required_unless": _unless,
    "min_length": _lengths,
    "json_text": Source.texts,
    "example": _plain,
    "examples": Source.texts,
    "hint": Source.text_of,
    "replaced_by": Source.text_of,
    "replacement_arguments": Source.text_map,
    "batch": _batch,
    "paths": Source.texts,
    "commands": Source.texts,
    "urls": Source.texts,
    "patches": Source.texts,
    "globs": Source.texts,
    "repeatable": Source.flag,
    "mode": word(Mode),
    "unknown_argument": word(UnknownArgument),
    "strategies": strategies,
}
KEYS = tuple(_READERS)
"""Every key a tool's table may have."""


# ── check ──
# Does what a tool's table says make sense? Every name in it must be an argument, every value must fit the schema.
#
# Packs that ship with RightCall are checked by the tests; a user's own pack is checked when it is loaded.

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
    from rightcall.catalog.schema import validator, without_hard_patterns

    return validator(without_hard_patterns({"type": "object", **schema})[0])


def _check_names(source: Source, path: KeyPath, rules: Rules, properties: Mapping[str, Any]) -> None:
    """Every argument a rule speaks of must be one of the schema's."""
    _check_aliases(source, path, rules, properties)
    for key in ("values", "defaults", "forms", "min_length", "replacement_arguments", "required_unless"):
        check = _place if key in ("values", "defaults", "forms") else _argument
        for argument in getattr(rules, key):
            check(source, (*path, key, argument), argument, properties)
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


def _check_aliases(source: Source, path: KeyPath, rules: Rules, properties: Mapping[str, Any]) -> None:
    for wrong, right in rules.aliases.items():
        place = (*path, "aliases", wrong)
        if wrong in properties:
            raise source.wrong(place, f"{wrong!r} is an argument of the tool, so it cannot stand for {right!r}")
        _place(source, place, right, properties)


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
    """The value alone, against its argument's part of the schema; the root is kept so that `$ref` works. What is inside
    an argument is left to the check of the call itself."""
    if is_place(argument) and argument not in (tool.parameters or {}).get("properties", {}):
        return
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
        yield from (f"{name!r} is not an argument of the tool" for name in arguments if name not in properties)


def _broken(rules: Rules, example: Mapping[str, Any]) -> Iterable[str]:
    """Which of the rules beside the schema an example breaks."""
    for argument in rules.required:
        excused = any(example.get(other) in values for other, values in rules.required_unless.get(argument, {}).items())
        if not excused and is_missing(example.get(argument)):
            yield f"{argument!r} is required and missing"
    for group in rules.required_any:
        if all(is_missing(example.get(argument)) for argument in group):
            yield f"one of {', '.join(group)} is required"
    for argument, least in rules.min_length.items():
        value = example.get(argument)
        if isinstance(value, str) and len(value) < least:
            yield f"{argument!r} has {len(value)} characters and needs {least}"
    for argument in rules.json_text:
        if isinstance(example.get(argument), str) and attempt(example[argument]) is NO_JSON:
            yield f"{argument!r} must hold JSON text"
    for argument, mapping in rules.values.items():
        value = example.get(argument)
        if isinstance(value, str) and value in mapping:
            yield f"{argument!r} has the value {value!r}, which means {mapping[value]!r}"


# ── read ──
# A pack from its TOML text: read, checked, and kept by content.


@lru_cache(maxsize=32)
def read_pack(text: str, source: str) -> Pack:
    """The pack, or a PackError that names the line. A file that was edited is another text, so it is read again."""
    where = Source(source, PackError, text)
    document = where.parse()
    where.keys((), document, ("pack", "tools"))
    head = _read_head(where, document)
    tables = {
        name: read_tool(where, ("tools", name), table)
        for name, table in where.table(("tools",), document.get("tools", {})).items()
    }
    for name, tool in tables.items():
        check_tool(where, ("tools", name), tool)
    check_pack(where, tables)
    return Pack(tools=pack_tools(tables, head["name"]), source=source, **head)


def _read_head(where: Source, document: dict[str, Any]) -> dict[str, str]:
    if "pack" not in document:
        raise where.wrong((), 'a pack begins with a table [pack] that has a name, such as name = "my-tools"')
    table = where.table(("pack",), document["pack"])
    where.keys(("pack",), table, ("name", "title", "description", "version"))
    head = {"name": "", "description": ""} | {key: where.text_of(("pack", key), value) for key, value in table.items()}
    if not head["name"].strip():
        raise where.wrong(("pack",), 'needs a name, such as name = "my-tools"')
    return head

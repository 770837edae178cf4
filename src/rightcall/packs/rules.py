"""One tool's table, in a pack (`[tools.NAME]`) or in the policy file (`[gate.tools.NAME]`), read and type-checked.

Both have the same keys: those of `Rules`, and `description`, `parameters` (JSON Schema), `effects` and `also`.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from msgspec import Struct

from rightcall.catalog import PackTool
from rightcall.packs.lines import KeyPath
from rightcall.packs.source import Source, is_table, kind
from rightcall.types import Batch, Effect, Mode, Rules, StrategyName, UnknownArgument

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


def _word(words: Any) -> Callable[[Source, KeyPath, Any], Any]:
    return lambda source, path, value: source.word(path, value, get_args(words))


_READERS: dict[str, Callable[[Source, KeyPath, Any], Any]] = {
    "description": Source.text_of,
    "parameters": _parameters,
    "effects": _effects,
    "also": Source.texts,
    "names": Source.texts,
    "aliases": Source.text_map,
    "values": _values,
    "defaults": _plain,
    "required": Source.texts,
    "required_any": _groups,
    "required_unless": _unless,
    "min_length": _lengths,
    "json_text": Source.texts,
    "example": _plain,
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
    "mode": _word(Mode),
    "unknown_argument": _word(UnknownArgument),
    "strategies": strategies,
}
KEYS = tuple(_READERS)
"""Every key a tool's table may have."""

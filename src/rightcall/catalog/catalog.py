"""The tools a gate knows: any definition in, compiled and immutable tools out.

    definitions ─▶ tidy, refs ─▶ merge (packs, policy) ─▶ strict, ruled ─▶ compile ─▶ Tool, Catalog

`sources.py` reads the dict shapes, `functions.py` and `tidy.py` Python; `names.py` answers which tool a name means.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from operator import is_
from os import PathLike
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from rightcall.catalog.keywords import Schema, as_schema, schema_from_rules
from rightcall.catalog.names import Names
from rightcall.catalog.schema import compile_accepts, localise, without_hard_patterns
from rightcall.catalog.sources import Definition, flatten, lay_over, read_definitions
from rightcall.catalog.tidy import tidy_arguments
from rightcall.catalog.tool import ALL_EFFECTS, LateCheck, NameMatch, PackTool, Tool
from rightcall.errors import ToolError
from rightcall.types import Rules, UnknownArgument

# ── build ──
# A catalogue: an immutable snapshot of tools, built once for the same definitions.

MOST_KEPT = 1_000_000
"""Bytes of definitions whose catalogue is kept. A larger one takes a hundred megabytes: who needs it again keeps it."""


class Catalog(Struct, frozen=True, dict=True, eq=False):
    """Tools by name, in the order given. `get(name)` is exact; `find(name)` also knows other spellings."""

    tools: Mapping[str, Tool]
    digest: str
    get: Callable[[str], Tool | None]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self.tools)

    @cached_property
    def find(self) -> Callable[[str], NameMatch]:
        """Which tool a name means, and how sure that is."""
        return Names(self.tools).find


def build_catalog(
    tools: Iterable[Any] | Mapping[str, Any] | str | PathLike[str] | None = None,
    overlays: Sequence[PackTool] = (),
    *,
    unknown_argument: UnknownArgument = "drop",
) -> Catalog:
    """A catalogue of `tools`, with what packs and the policy file (`overlays`, in order, later wins) say of them.

    A given tool keeps its own schema; rules of the same name are laid over it as far as it has those arguments. A tool
    that only an overlay knows is added with the overlay's schema. The same definitions give the same catalogue, from a
    cache, so that one can be built for every request. Raises ToolError where a definition cannot be used.

    >>> catalog = build_catalog([{"name": "add", "parameters": {"type": "object", "properties": {"n": {}}}}])
    >>> catalog.get("add").accepts({"n": 1}), catalog.get("add").accepts({"m": 1})
    (True, False)
    """
    flat = flatten(tools)
    try:
        key = json.encode((flat, Raw(_encoded(_Same(tuple(overlays)))), unknown_argument))
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise ToolError(f"a tool definition is no JSON: {fault}") from fault
    return _build(key) if len(key) <= MOST_KEPT else _build.__wrapped__(key)


class _Same:
    """Equal to the same records in the same order: packs are loaded once and laid over many catalogues, so their text
    is made once too."""

    __slots__ = ("records",)

    def __init__(self, records: tuple[PackTool, ...]) -> None:
        self.records = records

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.records)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or len(self.records) != len(other.records):
            return False
        return all(map(is_, self.records, other.records))


@lru_cache(maxsize=16)
def _encoded(overlays: _Same) -> bytes:
    return json.encode(overlays.records)


_decoder = json.Decoder(tuple[list[dict[str, Any] | list[PackTool]], tuple[PackTool, ...], UnknownArgument])


@lru_cache(maxsize=64)
def _build(key: bytes) -> Catalog:
    flat, overlays, unknown = _decoder.decode(key)
    table: dict[str, Definition] = {}
    tried: dict[str, Definition] = {}
    for number, raw in enumerate(flat, 1):
        for definition in read_definitions(raw, number):
            if definition.name in table:
                raise ToolError(f"two tools have the name `{definition.name}`; every tool needs a name of its own")
            table[definition.name] = _of_tool(definition.name, _tidied, definition)
            if isinstance(raw, list) and raw[0].is_tried:
                tried[definition.name] = table[definition.name]
    for overlay in overlays:
        lay_over(table, _of_tool(overlay.name, _tidied, _definition(overlay)))
    tools = {
        name: _of_tool(name, _tool, json.encode(definition), unknown, is_tried=tried.get(name) is definition)
        for name, definition in table.items()
    }
    return Catalog(tools=MappingProxyType(tools), digest=_digest(key), get=tools.get)


P = ParamSpec("P")
R = TypeVar("R")


def _of_tool(name: str, work: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
    """Do some work on a tool, so that what goes wrong names the tool."""
    try:
        return work(*arguments, **options)
    except ToolError as fault:
        raise ToolError(f"tool `{name}`: {fault}") from fault
    except RecursionError as fault:
        raise ToolError(f"tool `{name}`: its schema is nested too deeply") from fault


def _definition(overlay: PackTool) -> Definition:
    source = overlay.pack if overlay.pack == "policy" else f"pack:{overlay.pack}"
    return Definition(overlay.name, overlay.description, overlay.schema, overlay.effects, overlay.rules, source)


def _tidied(definition: Definition) -> Definition:
    """With its schema in one form. Without one a given tool takes any arguments, a pack's speaks by its rules."""
    if definition.schema is None and (definition.source != "given" or definition.rules != Rules()):
        return definition
    schema, notes = without_hard_patterns(localise(tidy_arguments(definition.schema)))
    return replace(definition, schema=schema, unchecked=notes)


@lru_cache(maxsize=512)
def _tool(key: bytes, unknown: UnknownArgument, *, is_tried: bool = False) -> Tool:
    """The compiled tool; kept by content, since catalogues of changing composition share most of their tools."""
    definition = json.decode(key, type=Definition)
    rules = definition.rules
    schema = definition.schema if definition.schema is not None else schema_from_rules(rules)
    rules = replace(rules, json_text=tuple(dict.fromkeys((*rules.json_text, *_json_texts(schema)))))
    keep = (rules.unknown_argument or unknown) == "keep"
    check = LateCheck(partial(compile_accepts, schema, rules, keep_unknown=keep))
    accepts = None if is_tried else check().accepts  # at once: who gives a wrong schema is told so
    if accepts is not None and rules.example is not None and not accepts({**rules.defaults, **rules.example}):
        rules = replace(rules, example=None)  # a hint must not teach a wrong call
    return Tool(
        name=definition.name,
        description=definition.description,
        schema=schema,
        rules=rules,
        effects=ALL_EFFECTS if definition.effects is None else frozenset(definition.effects),
        effects_declared=definition.effects is not None,
        check=check,
        exact=not rules.json_text and rules.batch is None and rules.replaced_by is None,
        unchecked=definition.unchecked,
        digest=_digest(key),
        source=definition.source,
    )


def _digest(key: bytes) -> str:
    from hashlib import sha256  # late: it loads a cryptographic library

    return sha256(key).hexdigest()


def _json_texts(schema: Schema) -> Iterable[str]:
    """Arguments that are text and must hold JSON, as the schema itself says."""
    for name, part in as_schema(schema.get("properties")).items():
        about = as_schema(part)
        if "json" in str(about.get("contentMediaType", "")) and "string" in str(about.get("type", "string")):
            yield name

"""Definitions read so that a finding can name its place: files with lines, Python modules, packs, and what a server
lists. Nothing is repaired here: a rule must see what the author wrote.

    file, module, pack, server ─▶ Document ─▶ ToolView …    one for each tool, its arguments laid out at every depth
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, cast
from urllib.parse import unquote

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.catalog.sources import SCHEMA_KEYS
from rightcall.catalog.tidy import Schema, as_list, as_schema
from rightcall.catalog.toml import Source, key_lines, line_of
from rightcall.errors import ConfigError
from rightcall.gate.repair.words import words_of
from rightcall.hosts.install.edits import Node, NotReadable, TooDeep, read
from rightcall.lint.findings import Steps, quote_text, word_set

Kind = Literal["json", "jsonl", "toml", "python", "pack", "server"]
Shape = Literal["openai", "anthropic", "mcp", "gemini", "bedrock", "bare"]

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file of definitions."""
MOST_ARGUMENTS: Final = 2_000
DEEPEST: Final = 12
"""Levels of nesting that are laid out as arguments."""
_MOST_STEPS = 8
_MOST_LEVELS = 64
_MOST_DIGITS = 1_000
_DEEPEST_READ = 800
"""Levels of a definition, which some rules write as JSON; a file has a hundred at most."""
_MOST_VISITS = 20_000
TYPES: Final = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_SELECTS: Final = word_set("operation action method command mode op")
"""Last words of an argument that chooses what a tool does."""
_DECLARATIONS: Final = frozenset(("functionDeclarations", "function_declarations"))
_SHAPES: Final[dict[str, Shape]] = {"input_schema": "anthropic", "inputSchema": "mcp"}


class Argument(Struct, frozen=True):
    """One argument, at any depth."""

    name: str
    path: Steps
    """From the tool to the schema of the argument."""
    part: Schema
    """The schema as it is written."""
    schema: Schema
    """The same with a local `$ref` followed and `null` beside one other type left out."""
    description: str
    required: bool
    siblings: tuple[str, ...]
    depth: int = 0

    @property
    def kind(self) -> str:
        """Its one type; empty where it has none or several."""
        kind = self.schema.get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def item(self) -> Schema:
        """Of an array, the schema of its items."""
        return as_schema(self.schema.get("items"))


class ToolView(Struct, frozen=True):
    """One tool as its author wrote it."""

    name: str
    description: str
    raw: dict[str, Any]
    inner: dict[str, Any]
    """The part of `raw` that has name and schema."""
    base: Steps
    """From `raw` to `inner`."""
    schema: Schema | None
    schema_path: Steps
    """From `raw` to the schema."""
    shape: Shape
    arguments: tuple[Argument, ...]
    path: Steps = ()
    """From the document to `raw`."""
    number: int = 0
    ruled: bool = False
    """Whether rules of a pack describe its arguments beside the schema, or instead of it."""

    @property
    def annotations(self) -> dict[str, Any]:
        return as_schema(self.raw.get("annotations"))

    @property
    def top(self) -> tuple[Argument, ...]:
        """The arguments of the tool itself."""
        return tuple(one for one in self.arguments if one.depth == 0)

    @property
    def has_operations(self) -> bool:
        """Whether the tool does one of several things, so that what it needs depends on which."""
        return any(one.required and not _SELECTS.isdisjoint(words_of(one.name)[-1:]) for one in self.top)

    @property
    def is_strict(self) -> bool:
        return self.inner.get("strict") is True or self.raw.get("strict") is True

    def texts_of(self, argument: Argument) -> list[str]:
        """What is told of an argument: where another branch has it too, in its own branches, and by the objects around
        it."""
        here = outside_branches(argument.path)
        branches = [as_schema(one) for word in _BRANCHES for one in as_list(argument.schema.get(word))]
        found = [one.description for one in self.arguments if outside_branches(one.path) == here]
        found += [text for one in branches for text in [effective(one, self.schema or {}).get("description")] if text]
        return found + [one.description for one in self.arguments if argument.path[: len(one.path)] == one.path]

    def at(self, *steps: str | int) -> Steps:
        """A place inside the part that has the name."""
        return (*self.base, *steps)


class Document(Struct, frozen=True):
    """Where tools were read from. `text` is empty where there is none."""

    source: str
    kind: Kind
    tools: tuple[ToolView, ...]
    text: str = ""
    again: tuple[dict[str, Any], ...] | None = None
    """What a server lists when it is asked a second time."""
    instructions: str = ""
    """What a server tells the model of itself, which hosts put before every conversation."""


# ── files ──


def read_file(path: str, text: str) -> Document:
    """The tools of a file of definitions. Raises ConfigError."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".toml":
        return _read_toml(path, text)
    if suffix in (".jsonl", ".ndjson"):
        return _read_lines(path, text)
    if suffix == ".py":
        raise ConfigError(
            "Python is imported, so name it with `--module`: rightcall lint --module mytools", source=path
        )
    return _read_json(path, text)


def _read_json(path: str, text: str) -> Document:
    try:
        value = _plain(read(text))
    except NotReadable as fault:
        if _looks_like_lines(text) and not isinstance(fault, TooDeep):
            return _read_lines(path, text)
        raise _unreadable(fault, path, _line_at(text, fault.at)) from None
    try:
        places = list(_listed(value))
    except _NotObject as fault:
        line = Lines(Document(path, "json", (), text)).line(fault.path)
        raise ConfigError(str(fault), source=path, line=line) from None
    _require_some(places, path)
    return Document(path, "json", view_tools(places), text)


def _require_some(places: Sequence[Any], path: str) -> None:
    if not places:
        raise ConfigError(
            'no tool definitions found: expected a list of tools, {"tools": [...]} or one tool with a name',
            source=path,
        )


def _unreadable(fault: NotReadable, path: str, line: int) -> ConfigError:
    why = f"not valid JSON: {fault.why}"
    if isinstance(fault, TooDeep):
        why = f"{fault.why}, which no model can follow; `lint` reads less deep definitions only"
    return ConfigError(why, source=path, line=line)


def _looks_like_lines(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in lines)


def _plain(tree: Node) -> Any:
    """The value of a tree, with numbers as numbers. A key that is there twice would show each reader another text."""
    if tree.kind == "object":
        twice = next((at for at, key in enumerate(tree.keys) if key in tree.keys[:at]), None)
        if twice is not None:
            raise NotReadable(f"the key {quote_text(tree.keys[twice])} is there twice", tree.heads[twice])
        return {key: _plain(child) for key, child in zip(tree.keys, tree.children, strict=True)}
    if tree.kind == "array":
        return [_plain(child) for child in tree.children]
    if tree.kind == "number" and len(tree.value) > _MOST_DIGITS:
        raise NotReadable(f"a number of {len(tree.value):,} digits", tree.start)
    return json.loads(tree.value) if tree.kind == "number" else tree.value


def _read_lines(path: str, text: str) -> Document:
    places: list[tuple[Steps, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        try:
            value = _plain(read(line))
        except NotReadable as fault:
            raise _unreadable(fault, path, number + 1) from None
        try:
            places += [((number, *steps), raw) for steps, raw in _listed(value)]
        except _NotObject as fault:
            raise ConfigError(str(fault), source=path, line=number + 1) from None
    _require_some(places, path)
    return Document(path, "jsonl", view_tools(places), text)


def _read_toml(path: str, text: str) -> Document:
    document = Source(path, ConfigError, text).parse()
    tables = document.get("tools")
    if not isinstance(tables, Mapping) or not tables:
        raise ConfigError("no tools found: expected a table [tools.NAME] for each tool", source=path)
    return Document(path, "toml", view_tools(_from_tables(cast("Mapping[str, Any]", tables), ("tools",))), text)


def _from_tables(tables: Mapping[str, Any], base: Steps) -> Iterator[tuple[Steps, dict[str, Any]]]:
    for name, table in tables.items():
        if isinstance(table, Mapping):
            yield (*base, name), {"name": name, **cast("Mapping[str, Any]", table)}


def _listed(value: Any, base: Steps = ()) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Every tool in what a file holds, with the way to it. Raises _NotObject."""
    if isinstance(value, list):
        for number, one in enumerate(cast("list[Any]", value)):
            if not isinstance(one, (dict, list)):
                raise _NotObject(one, (*base, number))
            yield from _listed(one, (*base, number))
        return
    if not isinstance(value, dict):
        return
    table = cast("dict[str, Any]", value)
    if isinstance(table.get("name"), str) and not _SCHEMA_WORDS.isdisjoint(table):
        yield base, table  # a tool that seems to hold others is one still
    for key in ("result", "params", "toolConfig"):
        if isinstance(table.get(key), dict) and table[key].get("tools"):
            yield from _listed(table[key], (*base, key))
            return
    for key in ("tools", "functions", "functionDeclarations", "function_declarations"):
        inner = table.get(key)
        if isinstance(inner, list) and (inner or "name" not in table):
            if not all(isinstance(one, str) for one in cast("list[Any]", inner)):  # not the names of an agent's tools
                yield from _listed(inner, (*base, key))
            return
        if key == "tools" and isinstance(inner, dict) and "name" not in table:
            yield from _from_tables(cast("dict[str, Any]", inner), (*base, key))
            return
    if _is_tool(table) and (not isinstance(table.get("name"), str) or _SCHEMA_WORDS.isdisjoint(table)):
        yield base, table


class _NotObject(Exception):
    """An entry of a list of tools is no definition."""

    def __init__(self, entry: Any, path: Steps) -> None:
        found = escaped(json.dumps(entry, ensure_ascii=False), 60)
        within = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[:-1]).lstrip(".")
        named = f"the list `{within}`" if within else "the list"
        super().__init__(
            f"entry {cast('int', path[-1]) + 1} of {named} is not a tool definition: expected an object, got {found}"
        )
        self.path = path


_SCHEMA_WORDS: Final = frozenset(SCHEMA_KEYS)


def _is_tool(table: Mapping[str, Any]) -> bool:
    known = {"name", "function", "toolSpec", "description", *SCHEMA_KEYS}
    return not known.isdisjoint(table)


# ── views ──


def view_tools(places: Iterable[tuple[Steps, dict[str, Any]]], *, ruled: bool = False) -> tuple[ToolView, ...]:
    return tuple(view_tool(_of_depth(raw), path, number, ruled=ruled) for number, (path, raw) in enumerate(places))


def _of_depth(raw: dict[str, Any]) -> dict[str, Any]:
    """A definition that is not nested too deeply to be read. Raises ConfigError."""
    left: list[Any] = [raw]
    for _ in range(_DEEPEST_READ):
        lists = [cast("list[Any]", one) for one in left if isinstance(one, list)]
        lists += [list(cast("dict[str, Any]", one).values()) for one in left if isinstance(one, dict)]
        left = [inner for one in lists for inner in one]
        if not left:
            return raw
    name = quote_text(str(raw.get("name", "")))
    raise ConfigError(f"the tool {name} is nested more than {_DEEPEST_READ} levels deep, which no model can follow")


def view_tool(raw: dict[str, Any], path: Steps = (), number: int = 0, *, ruled: bool = False) -> ToolView:
    """One tool, in whichever shape of the model APIs."""
    inner, base = raw, cast("Steps", ())
    for key in ("function", "toolSpec"):
        found = inner.get(key)
        if isinstance(found, dict):
            inner, base = cast("dict[str, Any]", found), (*base, key)
    key = next((key for key in SCHEMA_KEYS if inner.get(key) is not None), "")
    schema: Any = inner.get(key)
    steps: Steps = (*base, key) if key else base
    if as_schema(schema).keys() == {"json"}:
        schema, steps = schema["json"], (*steps, "json")
    name, description = inner.get("name"), inner.get("description")
    whole = cast("Schema", schema) if isinstance(schema, dict) else None
    shape = _shape_of(path, base, key, whole)
    if shape == "gemini" and whole is not None:
        whole = _from_gemini(whole)
    return ToolView(
        name if isinstance(name, str) else "",
        description if isinstance(description, str) else "",
        raw, inner, base, whole, steps, shape,
        tuple(_arguments(whole, steps)) if whole is not None else (),
        path, number, ruled or _has_rules(inner),
    )  # fmt: skip


_RULE_WORDS: Final = frozenset(
    ("aliases", "names", "required_any", "required_unless", "replaced_by", "json_text", "batch", "values", "defaults",
     "forms")
)  # fmt: skip


def _has_rules(inner: Mapping[str, Any]) -> bool:
    return not _RULE_WORDS.isdisjoint(inner)


def _shape_of(path: Steps, base: Steps, key: str, schema: Schema | None) -> Shape:
    if key == "parameters" and (not _DECLARATIONS.isdisjoint(path) or (schema or {}).get("type") == "OBJECT"):
        return "gemini"
    if "function" in base:
        return "openai"
    return "bedrock" if "toolSpec" in base else _SHAPES.get(key, "bare")


def _from_gemini(schema: Schema, depth: int = 0) -> Schema:
    """A schema in Gemini's words, as JSON Schema: `STRING` and `nullable` are right there."""
    kind = schema.get("type")
    found = {key: value for key, value in schema.items() if key != "nullable"}
    if isinstance(kind, str) and kind.lower() in TYPES:
        found["type"] = kind.lower()
    if depth < _MOST_LEVELS:
        for key in ("items", "anyOf", "properties"):
            found |= {key: _translated(found[key], key, depth)} if key in found else {}
    return found


def _translated(value: Any, key: str, depth: int) -> Any:
    if isinstance(value, list):
        return [_translated(one, "items", depth) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    table = cast("Schema", value)
    if key == "properties":
        return {name: _translated(one, "items", depth) for name, one in table.items()}
    return _from_gemini(table, depth + 1)


def _arguments(schema: Schema, base: Steps) -> Iterator[Argument]:
    """A definition that several arguments refer to is laid out once."""
    seen: set[Steps] = set()
    for argument in _laid_out(schema, base, 0, _Walk(schema, [MOST_ARGUMENTS], [_MOST_VISITS], frozenset())):
        if argument.path not in seen:
            seen.add(argument.path)
            yield argument


class _Walk(Struct, frozen=True):
    root: Schema
    left: list[int]
    """How many more arguments are laid out, as the one item."""
    visits: list[int]
    """How many more parts are looked into: references to references could be many more than there are arguments."""
    seen: frozenset[str]
    """The references that were followed on the way here."""


def _laid_out(part: Schema, path: Steps, depth: int, walk: _Walk) -> Iterator[Argument]:
    if depth > DEEPEST:
        return
    properties = as_schema(part.get("properties"))
    required = as_list(part.get("required"))
    for name, given in properties.items():
        if walk.left[0] <= 0:
            return
        walk.left[0] -= 1
        raw, here = as_schema(given), (*path, "properties", name)
        schema = effective(raw, walk.root)
        text = raw.get("description", schema.get("description"))
        yield Argument(
            name, here, raw, schema, text if isinstance(text, str) else "",
            name in required or raw.get("required") is True, tuple(properties), depth,
        )  # fmt: skip
        yield from _below(raw, here, depth, walk)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for number, branch in enumerate(as_list(part.get(keyword))):
            yield from _laid_out(as_schema(branch), (*path, keyword, number), depth, walk)


def _below(raw: Schema, path: Steps, depth: int, walk: _Walk) -> Iterator[Argument]:
    """The arguments inside one: of an object, of the items of an array, behind a reference."""
    walk.visits[0] -= 1
    if walk.visits[0] <= 0:
        return
    reference = raw.get("$ref")
    if isinstance(reference, str):
        if reference in walk.seen:
            return
        target, steps = _look_up(reference, walk.root)
        inner = _Walk(walk.root, walk.left, walk.visits, walk.seen | {reference})
        if target:
            yield from _below(target, (*path[: _root_length(path)], *steps), depth, inner)
            return
    if "properties" in raw or any(isinstance(raw.get(word), list) for word in ("anyOf", "oneOf", "allOf")):
        yield from _branches(raw, path, depth, walk)
    items = raw.get("items")
    if isinstance(items, dict):
        yield from _below(cast("Schema", items), (*path, "items"), depth, walk)


def _branches(raw: Schema, path: Steps, depth: int, walk: _Walk) -> Iterator[Argument]:
    yield from _laid_out({"properties": raw.get("properties"), "required": raw.get("required")}, path, depth + 1, walk)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for number, branch in enumerate(as_list(raw.get(keyword))):
            yield from _below(as_schema(branch), (*path, keyword, number), depth, walk)


def _root_length(path: Steps) -> int:
    """Where the schema of the tool begins in a path: before its first keyword that holds schemas."""
    for at, step in enumerate(path):
        if step in ("properties", "$defs", "definitions", "anyOf", "oneOf", "allOf"):
            return at
    return len(path)


def _look_up(reference: str, root: Schema) -> tuple[Schema, Steps]:
    """What a local reference leads to; nothing for any other."""
    if not reference.startswith("#"):
        return {}, ()
    found: Any = root
    steps: list[str | int] = []
    for piece in reference[1:].split("/")[1:]:
        key: str | int = unquote(piece).replace("~1", "/").replace("~0", "~")
        if (
            isinstance(found, list)
            and key.isdecimal()
            and len(key) < _MOST_STEPS
            and int(key) < len(cast("list[Any]", found))
        ):
            key = int(key)
            found = cast("list[Any]", found)[key]
        else:
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
        steps.append(key)
    return as_schema(found), tuple(steps)


def effective(part: Schema, root: Schema) -> Schema:
    """A schema with its local reference followed, and without `null` beside one other type."""
    for _ in range(_MOST_STEPS):
        reference = part.get("$ref")
        if isinstance(reference, str):
            target, _ = _look_up(reference, root)
            if not target:
                return part
            part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
            continue
        single = _only_branch(part)
        if single is None:
            break
        keyword, branch = single
        part = {**branch, **{key: value for key, value in part.items() if key != keyword}}
    kinds = part.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in cast("list[Any]", kinds) if kind != "null"]
        if len(others) == 1:
            return {**part, "type": others[0]}
    return part


_BRANCHES: Final = ("anyOf", "oneOf", "allOf")


def outside_branches(path: Steps) -> Steps:
    """A place without the steps into the branches of a schema."""
    return tuple(
        step for at, step in enumerate(path)
        if step not in _BRANCHES and not (at and isinstance(step, int) and path[at - 1] in _BRANCHES)
    )  # fmt: skip


def _only_branch(part: Schema) -> tuple[str, Schema] | None:
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = as_list(part.get(keyword))
        telling = [as_schema(one) for one in branches if as_schema(one).get("type") != "null"]
        if branches and len(telling) == 1:
            return keyword, telling[0]
    return None


def follow(reference: str, root: Schema) -> Schema:
    """The schema that a local reference leads to; empty where it leads nowhere."""
    return _look_up(reference, root)[0]


# ── lines ──


class Lines:
    """Where the places of a document are, as lines from 1."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._starts: list[int] | None = None
        self._keys = key_lines(document.text) if document.kind == "toml" and document.text else {}

    def line(self, path: Steps) -> int:
        """The line of a place, or of the nearest thing around it; 0 where there is no text."""
        kind, text = self._document.kind, self._document.text
        if not text:
            return 0
        if kind == "toml":
            return line_of(self._keys, path)
        if kind == "jsonl":
            return int(path[0]) + 1 if path else 1
        return self._json_line(path) if kind == "json" else 0

    def _json_line(self, path: Steps) -> int:
        here = read(self._document.text)
        start = here.start
        for step in path:
            at = _child(here, step)
            if at is None:
                break
            start, here = here.begins(at), here.children[at]
        return _line_at(self._document.text, start, self._line_starts())

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(at + 1 for at, letter in enumerate(self._document.text) if letter == "\n")]
        return self._starts


def _child(node: Node, step: str | int) -> int | None:
    if isinstance(step, int):
        return step if node.kind == "array" and step < len(node.children) else None
    places = [at for at, key in enumerate(node.keys) if key == step]
    return places[-1] if places else None


def _line_at(text: str, at: int, starts: Sequence[int] | None = None) -> int:
    if starts is None:
        return text.count("\n", 0, at) + 1
    from bisect import bisect_right

    return bisect_right(starts, at)

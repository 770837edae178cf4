"""References inside one schema, brought into one form: every `$ref` is `#/$defs/NAME`.

Nothing is ever fetched. A reference that leads out of the schema (`https:`, `file:`, `other.json`), leads nowhere, or
leads back to itself without getting deeper into the value is a `ToolError`.
"""

import re
from collections.abc import Iterator
from typing import cast

from rightcall.catalog.keywords import Part, Schema, as_list, as_schema, in_place, map_parts, parts, ref_name, ref_to
from rightcall.errors import ToolError

_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_MARKS = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
_ANYTHING: Schema = {}
_NOTHING: Schema = {"not": {}}
ALTERNATIVES = 5_000
"""How many schemas may speak of one and the same value: without a bound, few lines can ask for years of checking."""


def localise(schema: Schema) -> Schema:
    """The same schema with all references local and flat, and without `$id` and anchors."""
    if not any(True for _ in _references(schema)):
        return _without_marks(schema)
    return _Localiser(schema).run()


def recursive(schema: Schema) -> bool:
    """Whether values of any depth fit: then the compiled check must not be handed a value of any depth."""
    defs = as_schema(schema.get("$defs"))
    state: dict[str, bool] = {}  # True while we are inside

    def circles(name: str) -> bool:
        if name in state:
            return state[name]
        state[name] = True
        found = any(circles(ref_name(ref)) for _, _, ref in _references(as_schema(defs.get(name, {}))))
        state[name] = False
        return found

    return any(circles(name) for name in defs)


class _Localiser:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.named: dict[int, str] = {}  # id of a schema that is referred to -> its name in `$defs`
        self.defs: Schema = {}
        self.ids = {node["$id"].rstrip("#"): node for node in _all(root) if isinstance(node.get("$id"), str)}

    def run(self) -> Schema:
        flat = self.copy(self.root, self.root)
        flat.pop("$defs", None)
        flat["$defs"] = self.defs
        check_circles(flat)
        return _inlined(flat)

    def copy(self, node: Schema, base: Schema) -> Schema:
        """A copy with local references. `base` is the nearest schema with an `$id`, or the root."""
        base = node if isinstance(node.get("$id"), str) else base
        mine = map_parts(
            {key: value for key, value in node.items() if key not in _MARKS and key != "$defs"},
            lambda _keyword, part, _key: self.copy(part, base) if isinstance(part, dict) else part,
        )
        for keyword in _REFS:
            if keyword in mine:
                mine["$ref"] = ref_to(self.define(base, mine.pop(keyword)))
        return mine

    def define(self, base: Schema, ref: str) -> str:
        """The name in `$defs` of what `ref` leads to; copied there the first time."""
        home, target = self.resolve(base, ref)
        if isinstance(target, bool):
            target = _ANYTHING if target else _NOTHING
        known = self.named.get(id(target))
        if known is not None:
            return known
        wanted = re.sub(r"[^A-Za-z0-9_-]", "_", ref.rsplit("/", 1)[-1].lstrip("#")) or "root"  # what any URI may hold
        name = wanted
        count = 1
        while name in self.defs:
            count += 1
            name = f"{wanted}_{count}"
        self.named[id(target)] = name
        self.defs[name] = {}  # taken: the copy may refer to itself
        self.defs[name] = self.copy(target, home)
        return name

    def resolve(self, base: Schema, ref: str) -> tuple[Schema, Part]:
        document, _, fragment = ref.partition("#")
        if document:
            found = self.ids.get(document) or self.ids.get(str(base.get("$id", "")).rsplit("/", 1)[0] + "/" + document)
            if found is None:
                raise ToolError(
                    f"the reference {ref!r:.120} leads out of the schema; only references inside it are followed: "
                    "put the definition under `$defs` and refer to it as '#/$defs/NAME'"
                )
            base = found
        if "%" in fragment:
            from urllib.parse import unquote  # late: hardly any reference needs it

            fragment = unquote(fragment)
        if not fragment:
            return base, base
        if fragment.startswith("/"):
            return base, _at_pointer(base, fragment, ref)
        for node in _all(base):
            if fragment in (node.get("$anchor"), node.get("$dynamicAnchor")):
                return base, node
        raise ToolError(f"the reference {ref!r:.120} leads nowhere: no schema has that `$anchor`")


def _at_pointer(base: Schema, pointer: str, ref: str) -> Part:
    here: object = base
    for step in pointer[1:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            node = as_schema(cast("object", here))
            if key == "definitions" and key not in node:
                key = "$defs"  # where tidying has put them
            here = node.get(key)
        else:
            items = as_list(here)
            here = items[int(key)] if key.isdecimal() and int(key) < len(items) else None
    if not isinstance(here, (dict, bool)):
        raise ToolError(f"the reference {ref!r:.120} leads nowhere: there is no schema at that place")
    return cast("Part", here)


def _inlined(schema: Schema) -> Schema:
    """A root that only refers to a definition, as models generate it, becomes that definition."""
    while "$ref" in schema and schema.keys() <= {"$ref", "$defs", "type", "title", "description"}:
        target = as_schema(schema["$defs"][ref_name(schema["$ref"])])
        schema = {**{key: value for key, value in schema.items() if key != "$ref"}, **target}
    used = {ref_name(ref) for _, _, ref in _references(schema)}
    if not used:
        del schema["$defs"]
    return schema


def check_circles(schema: Schema) -> None:
    """Refuse references that go in circles in one place, and heaps of alternatives that multiply."""
    defs = as_schema(schema.get("$defs"))
    sizes: dict[str, int] = {}  # 0 while we are inside

    def size(part: Part) -> int:
        if isinstance(part, bool):
            return 1
        total = 1 + sum(size(inner) for _, inner in in_place(part))
        if "$ref" in part:
            total += size_of(ref_name(part["$ref"]))
        if total > ALTERNATIVES:
            raise ToolError(f"the schema asks for more than {ALTERNATIVES:,} checks of one value")
        return total

    def size_of(name: str) -> int:
        if name not in sizes:
            sizes[name] = 0
            sizes[name] = size(cast("Part", defs[name]))
        if not sizes[name]:
            raise ToolError(f"the definition {name!r} refers to itself without getting deeper into the value")
        return sizes[name]

    for node in _all(schema):
        size(node)


def _all(part: Part) -> Iterator[Schema]:
    if isinstance(part, dict):
        yield part
        for _, _, inner in parts(part):
            yield from _all(inner)


def _references(schema: Schema) -> Iterator[tuple[Schema, str, str]]:
    for node in _all(schema):
        for keyword in _REFS:
            if keyword not in node:
                continue
            if not isinstance(node[keyword], str):
                raise ToolError(f"`{keyword}` must be text such as '#/$defs/NAME', got {node[keyword]!r:.80}")
            yield node, keyword, node[keyword]


def _without_marks(part: Schema) -> Schema:
    if not any(mark in node for node in _all(part) for mark in (*_MARKS, "$defs")):
        return part
    kept = {key: value for key, value in part.items() if key not in _MARKS and key != "$defs"}
    return map_parts(kept, lambda _keyword, inner, _key: _without_marks(inner) if isinstance(inner, dict) else inner)

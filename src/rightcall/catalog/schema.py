"""From a schema and rules to one compiled check, that never opens a file or a connection and never takes for ever."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from rightcall.catalog.tidy import (
    NESTING,
    Part,
    Schema,
    as_list,
    as_schema,
    in_place,
    map_parts,
    parts,
    ref_name,
    ref_to,
    types,
    with_rules,
)
from rightcall.errors import ToolError
from rightcall.types import Rules

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError


# ── strict ──
# The schema made strict: an argument that nobody named is an error, at any depth.
#
# The design's rule: a call fits when it is valid and has no argument that the schema does not name, unless the schema
# states `additionalProperties`. Where an object is put together from several schemas (`allOf`, `anyOf`, `$ref` with
# neighbours, `if`), only the outermost one can know all names: it gets `unevaluatedProperties: false`. A schema that
# forbids (`not`) or decides (`if`) keeps its meaning, so nothing inside it is closed. Therefore each definition can be
# needed in up to three ways, and `$defs` of the result holds those that are used.

Way = Literal["closed", "within", "as_is"]
"""`closed`: this schema alone speaks of the value. `within`: an outer schema closes. `as_is`: nothing is closed."""

RESERVED_KEYS = (
    # JavaScript tools that merge an object with these keys change every object of the process
    "__proto__", "prototype", "constructor",
    # Python tools that set attributes by name reach the class, its module and the builtins through these
    "__class__", "__dict__", "__init__", "__globals__", "__builtins__", "__reduce__",
)  # fmt: skip
"""Keys that no call may carry where the schema does not name them."""

_STATED = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_COMPOSED = ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")


def strict(schema: Schema, *, close: bool = True) -> tuple[Schema, bool]:
    """The strict form of a tidied schema, and whether it has places where anything may stand."""
    maker = _Strict(as_schema(schema.get("$defs")), close)
    root = maker.visit({key: value for key, value in schema.items() if key != "$defs"}, "closed")
    if maker.made:
        root["$defs"] = maker.made
    return root, maker.open


class _Strict:
    def __init__(self, defs: Schema, close: bool) -> None:
        self.defs = defs
        self.close = close
        self.made: Schema = {}
        self.open = False

    def visit(self, node: Schema, way: Way) -> Schema:
        if way == "as_is":
            return self.copy(node, "as_is", "as_is")
        if way == "within":
            self.open = self.open or node.get("additionalProperties") is True or "patternProperties" in node
            return self.copy(node, "within", "closed")
        alone = self.closes_by_itself(node)
        copy = self.copy(node, "closed" if alone else "within", "closed")
        if self.close and not any(key in node for key in _STATED):
            if "properties" in node and not any(key in node for key in _COMPOSED):
                copy["additionalProperties"] = False
            elif not alone and self.names(node):
                copy["unevaluatedProperties"] = False
        self.look_after_the_rest(node, copy, alone)
        return copy

    def copy(self, node: Schema, same: Way, inner: Way) -> Schema:
        """`same` is the way for schemas that speak of the same value, `inner` for those of values inside it."""
        plain = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
        maps_possible = same == "within" and not self.names(plain)

        def change(keyword: str, part: Part, _key: str) -> Part:
            if not isinstance(part, dict):
                self.open = self.open or (part and keyword in ("properties", "items", "additionalProperties"))
                return part
            if keyword in ("not", "if", "contains"):
                return self.visit(part, "as_is")
            if keyword in ("anyOf", "oneOf") and maps_possible and self.is_free_map(part):
                part = {**part, "additionalProperties": True}
            return self.visit(part, same if keyword in _COMPOSED else inner)

        made = map_parts(node, change)
        if "$ref" in node:
            made["$ref"] = self.define(ref_name(node["$ref"]), same)
        if same != "as_is" and self.is_choice(node):
            # A closed branch may no longer fit where the open one does: then two that fit would seem to be one.
            made["allOf"] = [*as_list(made.get("allOf")), {"anyOf": made.pop("oneOf")}]
            made["oneOf"] = [self.visit(as_schema(part), "as_is") for part in as_list(node["oneOf"])]
        return made

    def define(self, name: str, way: Way) -> str:
        key = name if way == "closed" else f"{name}.{way}"
        if key not in self.made:
            self.made[key] = {}  # taken: the definition may refer to itself
            self.made[key] = self.visit(as_schema(self.defs[name]), way)
        return ref_to(key)

    def closes_by_itself(self, node: Schema) -> bool:
        """Whether at most one schema inside can speak of an object, so that closing there closes all."""
        if "properties" in node or any(key in node for key in _STATED):
            return False
        composed = [key for key in _COMPOSED if key in node]
        if composed == ["$ref"] or not composed:
            return True
        if composed == ["allOf"]:
            return len(as_list(node["allOf"])) == 1
        if composed in (["anyOf"], ["oneOf"]):
            return sum(self.may_be("object", part) for part in as_list(node[composed[0]])) <= 1
        return False

    def is_choice(self, node: Schema) -> bool:
        """`oneOf` with several branches for objects or lists."""
        branches = as_list(node.get("oneOf"))
        return any(sum(self.may_be(kind, part) for part in branches) > 1 for kind in ("object", "array"))

    def may_be(self, kind: str, part: Part) -> bool:
        if isinstance(part, bool):
            return part
        kinds = types(part)
        if kinds is not None:
            return kind in kinds
        if "const" in part or "enum" in part:
            wanted = dict if kind == "object" else list
            return any(isinstance(value, wanted) for value in [part.get("const"), *as_list(part.get("enum"))])
        if "$ref" in part:
            return self.may_be(kind, cast("Part", self.defs[ref_name(part["$ref"])]))
        branches = as_list(part.get("anyOf")) or as_list(part.get("oneOf"))
        return any(self.may_be(kind, branch) for branch in branches) if branches else True

    def names(self, part: Part) -> set[str]:
        """The arguments named by this schema and those that speak of the same value; `*` for a pattern."""
        if isinstance(part, bool):
            return set()
        found = set(as_schema(part.get("properties")))
        if "patternProperties" in part:
            found.add("*")
        if "properties" in part:
            found.add("")  # names none, and says so
        if "$ref" in part:
            found |= self.names(cast("Part", self.defs[ref_name(part["$ref"])]))
        for keyword, inner in in_place(part):
            if keyword != "not":
                found |= self.names(inner)
        return found

    def is_free_map(self, part: Schema) -> bool:
        """`{"type": "object"}` as one of several alternatives: any keys are right there."""
        stated = any(key in part for key in (*_STATED, *_COMPOSED, "properties", "required"))
        return not stated and "object" in (types(part) or ())

    def look_after_the_rest(self, node: Schema, copy: Schema, alone: bool) -> None:
        """Where keys or values are left free: refuse reserved keys, and remember that the place is open."""
        composed = any(key in node for key in _COMPOSED)
        if alone and composed:
            return  # a schema inside says it all
        kinds = types(node)
        if kinds is None:
            kinds = () if "const" in node or "enum" in node else ("object",) if composed else ("object", "array")
        if "array" in kinds and "items" not in node:
            self.open = True
        extra = copy.get("additionalProperties", copy.get("unevaluatedProperties"))
        if "object" not in kinds or extra is False:
            return
        self.open = self.open or not isinstance(extra, dict) or "patternProperties" in node
        named = self.names(node)
        rule: Schema = {"not": {"enum": [key for key in RESERVED_KEYS if key not in named]}}
        stated = node.get("propertyNames")
        copy["propertyNames"] = rule if stated is None else {"allOf": [stated, rule]}


# ── refs ──
# References inside one schema, brought into one form: every `$ref` is `#/$defs/NAME`.
#
# Nothing is ever fetched. A reference that leads out of the schema (`https:`, `file:`, `other.json`), leads nowhere, or
# leads back to itself without getting deeper into the value is a `ToolError`.

_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_MARKS = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
_ANYTHING_REFS: Schema = {}
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
            target = _ANYTHING_REFS if target else _NOTHING
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
        raise ToolError(f"the reference {ref!r:.120} is broken: no schema has that `$anchor`")


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
        raise ToolError(f"the reference {ref!r:.120} is broken: no schema at that place")
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


COUNTS = 1_000
"""Counts inside of counts may multiply to this; beyond, one pattern can cost seconds on a short text."""
DEPTH = 200
"""Deepest value handed to a schema that refers to itself: the compiled check would overflow the stack far deeper."""

_ANYTHING = {"type": "object", "additionalProperties": True}
_NUMERIC = frozenset(("integer", "number"))
_BOUNDS: Schema = {"minimum": -(2**63), "maximum": 2**64 - 1}
_DECIDING = frozenset(("not", "if", "contains", "propertyNames"))
"""Keywords whose schemas decide something, and are not what a value must be."""


def validator(schema: Schema, mask: str | None = None) -> "Draft202012Validator":
    """A validator that never retrieves anything and matches patterns in linear time. Formats are not asserted."""
    import jsonschema_rs  # late: only what compiles a schema pays for it

    return jsonschema_rs.Draft202012Validator(
        schema, validate_formats=False, pattern_options=jsonschema_rs.RegexOptions(), offline=True, mask=mask
    )


class Check(Struct, frozen=True):
    """The compiled check of a tool's arguments, for those of a call that is probably right, and for any."""

    accepts: Callable[[Any], bool]
    accepts_large: Callable[[Any], bool] | None
    open: bool

    def fits(self, arguments: Any) -> bool:
        """Whether one of the two takes the arguments."""
        return self.accepts(arguments) or (self.accepts_large is not None and self.accepts_large(arguments))


def compile_accepts(schema: Schema, rules: Rules, *, keep_unknown: bool) -> Check:
    """What is behind `Tool.accepts` and its neighbours; a ToolError where the schema is none."""
    closed, is_open = strict(schema, close=not keep_unknown)
    ruled = with_rules(closed, rules)
    if schema == _ANYTHING and ruled == closed:  # a hook's process would only load the compiler for this
        return Check(_is_object, None, is_open)
    watchful = Watchful()
    seeing = watchful.visit(ruled)
    shallow = _shallow_only if recursive(schema) else _as_it_is
    try:
        accepts = shallow(validator(seeing).is_valid)
    except ValueError as fault:
        raise _explained(schema, fault) from fault
    if not watchful.bounded:
        return Check(accepts, None, is_open or watchful.missed)

    is_valid: Callable[[Any], bool] | None = None

    def accepts_large(arguments: Any) -> bool:
        nonlocal is_valid
        if is_valid is None:  # few calls need it, and what it is made of is large: made again
            again, _ = strict(schema, close=not keep_unknown)
            is_valid = shallow(validator(with_rules(again, rules)).is_valid)
        return is_valid(arguments)

    return Check(accepts, accepts_large, is_open or watchful.missed)


class Watchful:
    """Makes a compiled check look at what it would only tell the type of: a text with a lone surrogate makes it raise,
    and numbers beyond 64 bits do not pass."""

    def __init__(self) -> None:
        self.bounded = False
        self.missed = False
        """Whether there are numbers that cannot be bounded without changing what the schema says."""

    def visit(self, schema: Schema, exclusive: bool = False) -> Schema:
        """The schema with these demands; `exclusive` inside of alternatives of which just one may hold."""

        def change(keyword: str, part: Part, _key: str) -> Part:
            if keyword in _DECIDING or not isinstance(part, dict):
                return part
            return self.visit(part, exclusive or keyword == "oneOf")

        seen = dict(schema) if NESTING.isdisjoint(schema) else map_parts(schema, change)
        if "enum" in schema or "const" in schema:
            return seen
        kinds = types(schema) or ()
        if "string" in kinds:
            seen.setdefault("pattern", "")  # looked at, though it fits: more quickly than `^`
        if not _NUMERIC.isdisjoint(kinds):
            self.missed = self.missed or exclusive
            self.bounded = self.bounded or not exclusive
            seen = seen if exclusive else _BOUNDS | seen
        return seen


def accepts_with_text(accepts: Callable[[Any], bool], schema: Schema, name: str) -> Callable[[Any], bool]:
    """`accepts`, and that the text of this argument, where it is one, holds JSON that its `contentSchema` accepts."""
    accepts_text: Callable[[str], bool] | None = None

    def decide(arguments: Any) -> bool:
        nonlocal accepts_text
        if not accepts(arguments):
            return False
        text = arguments.get(name)
        kind = type(text)  # pyright: ignore[reportUnknownVariableType]
        if kind is list or kind is dict or text is None:
            return True
        if kind is not str:
            return False  # what only pretends to be a text
        if accepts_text is None:
            accepts_text = _compile_text(schema, name)
        return accepts_text(text)

    return decide


def _compile_text(schema: Schema, name: str) -> Callable[[str], bool]:
    """The check of a text that must hold JSON. It may raise ValueError, as for a text that does not."""
    import msgspec  # late: few tools have such a text

    from rightcall.base.json.strict import duplicate_keys

    decode = msgspec.json.decode
    content = _content_schema(as_schema(schema.get("properties")).get(name))
    if content is None:
        return lambda text: not duplicate_keys(text, decode(text))
    defs = as_schema(schema.get("$defs"))
    is_valid = validator(strict({**content, "$defs": defs})[0]).is_valid
    items = as_schema(content.get("items"))
    items = as_schema(defs.get(ref_name(items["$ref"]))) if "$ref" in items else items
    rows = types(content) == ("array",) and types(items) == ("object",)

    def accepts(text: str) -> bool:
        value = decode(text)
        if not is_valid(value):
            return False
        # each key has a colon: with no more colons than keys, none stands twice
        return (rows and text.count(":") == sum(map(len, value))) or not duplicate_keys(text, value)

    return accepts


def _content_schema(part: Any) -> Schema | None:
    """What the JSON in a text must be: said by the argument, or by one of its alternatives."""
    node = as_schema(part)
    options = (node, *map(as_schema, (*as_list(node.get("anyOf")), *as_list(node.get("oneOf")))))
    return next((as_schema(one["contentSchema"]) for one in options if "contentSchema" in one), None)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not any(key in value for key in RESERVED_KEYS)


def explainer(schema: Schema) -> "Callable[[Any], Iterator[ValidationError]]":
    """All errors at once, unknown arguments among them."""
    closed, _ = strict(schema)
    return validator(closed, mask="it").iter_errors  # values are quoted by us, escaped and cut


def nested_deeper(value: Any, limit: int = DEPTH) -> bool:
    """Whether lists and dicts are nested deeper than `limit`; without recursion, since that is the point."""
    level: list[Any] = [value]
    for _ in range(limit):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(cast("dict[Any, Any]", item).values())
            elif isinstance(item, (list, tuple)):
                inner.extend(cast("list[Any]", item))
        level = [item for item in inner if isinstance(item, (dict, list, tuple))]
        if not level:
            return False
    return True


def without_hard_patterns(schema: Schema) -> tuple[Schema, tuple[str, ...]]:
    """The schema without the patterns that cannot be matched in linear time, and a note about each."""
    notes: list[str] = []

    def clean(node: Schema, where: str) -> Schema:
        def visit(keyword: str, part: Part, key: str) -> Part:
            here = key if keyword == "properties" else f"{keyword}/{key}" if key else keyword
            return clean(part, f"{where}/{here}".lstrip("/")) if isinstance(part, dict) else part

        node = map_parts(node, visit)
        pattern = node.get("pattern")
        if isinstance(pattern, str) and not _linear(pattern):
            del node["pattern"]
            notes.append(f"pattern of `{where}`: {pattern!r:.80} cannot be matched in little time and is not checked")
        keyed = as_schema(node.get("patternProperties"))
        hard = [key for key in keyed if not _linear(key)]
        if hard:
            node["patternProperties"] = {key: part for key, part in keyed.items() if key not in hard}
            node["additionalProperties"] = True  # what it matched cannot be told from the rest
        for key in hard:
            said = f"patternProperties of `{where}`: {key!r:.80}"
            notes.append(f"{said} cannot be matched in little time and is not checked")
        return node

    cleaned = clean(schema, "")
    return (cleaned, tuple(notes)) if notes else (schema, ())


@lru_cache(maxsize=512)
def _linear(pattern: str) -> bool:
    """Whether the linear engine can do a pattern in little time: no look-around or back reference, few nested counts.

    The engine is linear in the text, but a count multiplies the pattern: `(a{1,100}){1,100}` is ten thousand letters.
    """
    if nested_counts(pattern) > COUNTS:
        return False
    try:
        validator({"pattern": pattern})
    except ValueError:
        return False
    return True


def nested_counts(pattern: str) -> int:
    """How often counts inside of counts multiply one letter; 1 where no count stands inside another.

    >>> nested_counts("^(a{1,100}){1,100}$"), nested_counts("^a{1,500}$")
    (10000, 1)
    """
    plain = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)  # what is escaped or in a class counts nothing
    inner = [1]  # the largest count in each group that is still open
    worst = 1
    for found in re.finditer(r"\(|(\)?)\{(\d+)(?:,(\d*))?\}|\)", plain):
        if found[0] == "(":
            inner.append(1)
            continue
        closing = found[0].startswith(")")
        below = inner.pop() if closing and len(inner) > 1 else 1
        count = max(int(found[2][:6]), int((found[3] or "0")[:6])) if found[2] else 1
        total = below * count
        worst = max(worst, total if below > 1 and count > 1 else 1)
        inner[-1] = max(inner[-1], total)
    return worst


def _explained(schema: Schema, fault: ValueError) -> ToolError:
    """Why a schema cannot be compiled, in the places of the schema as it was given."""
    try:
        validator(schema)
    except ValueError as error:
        fault = error
    place = "/".join(str(step) for step in getattr(fault, "instance_path", ()))
    at = f" at `{place}`" if place else ""
    return ToolError(f"the schema is not valid JSON Schema{at}: {getattr(fault, 'message', fault)!s:.200}")


def _as_it_is(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return is_valid


def _shallow_only(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def accepts(arguments: Any) -> bool:
        return not nested_deeper(arguments) and is_valid(arguments)

    return accepts

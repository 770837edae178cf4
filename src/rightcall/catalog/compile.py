"""From a schema and rules to one compiled check, that never opens a file or a connection and never takes for ever."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rightcall.catalog.keywords import NESTING, Part, Schema, as_list, as_schema, map_parts, ref_name, types
from rightcall.catalog.refs import recursive
from rightcall.catalog.ruled import with_rules
from rightcall.catalog.strict import RESERVED_KEYS, strict
from rightcall.errors import ToolError
from rightcall.types import Rules

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

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


class Check(NamedTuple):
    """The compiled check of a tool's arguments, for those of a call that is probably right, and for any."""

    accepts: Callable[[Any], bool]
    accepts_large: Callable[[Any], bool] | None
    open: bool


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
            seen.setdefault("pattern", "^")
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

    from rightcall.parse.strict import duplicate_keys

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

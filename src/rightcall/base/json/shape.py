"""What a reader and a normaliser need to know of a JSON schema: types, keys, items, values; nothing else.

A `Shape` looks through `$ref`, `allOf` and `anyOf`, so that the code that uses it never meets a schema keyword.
It describes, it does not decide: whether a call fits is `tool.accepts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any, cast

from rightcall.base.json.marks import is_list, is_object, json_type
from rightcall.base.text import regex

NUMERIC = frozenset({"integer", "number"})
CONTAINERS = frozenset({"object", "array"})
_MAX_DEPTH = 64


class Shape:
    """One place in a schema. An empty `types` means that anything may stand here."""

    __slots__ = (
        "additional", "alias", "closed", "content", "enum", "enum_aliases", "items", "json_text", "maximum", "minimum",
        "options", "pattern", "prefix", "props", "required", "types", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.types: frozenset[str] = frozenset()
        self.props: dict[str, Shape] = {}
        self.required: frozenset[str] = frozenset()
        self.additional: Shape | None = None
        self.closed = False
        self.items: Shape | None = None
        self.prefix: tuple[Shape, ...] = ()
        self.enum: tuple[Any, ...] | None = None
        self.enum_aliases: dict[str, Any] = {}
        self.alias: str | None = None
        self.options: tuple[Shape, ...] = ()
        self.minimum: float | None = None
        self.maximum: float | None = None
        self.pattern: str | None = None
        self.json_text = False
        self.content: Shape | None = None
        self.words = ""

    def allows(self, kind: str) -> bool:
        """Whether a value of this JSON type may stand here (an integer is a number too)."""
        return not self.types or kind in self.types or (kind == "integer" and "number" in self.types)

    @property
    def text_content(self) -> Shape | None:
        """What the JSON inside a text has to be, here or in one of the alternatives."""
        return self.content or next((option.content for option in self.options if option.content is not None), None)

    @property
    def verbatim(self) -> bool:
        """Text is declared here and nothing else, so that whatever was written is the value."""
        return self.types == _TEXT or self.types == _TEXT_OR_NULL


_NULL = frozenset({"null"})
_TEXT = frozenset({"string"})
_TEXT_OR_NULL = frozenset({"string", "null"})
ANY = Shape()


def shape_of(schema: Any) -> Shape:
    """The shape of a schema; of `True` or of something that is no schema, the shape of anything.

    >>> shape_of({"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}).props["n"].allows("null")
    True
    """
    builder = _Builder(schema)
    shape = builder.build(schema, 0)
    for unfinished, part in builder.later:
        words = unfinished.words
        builder.take_over(unfinished, part)
        unfinished.words = words
    return shape


def loses_digits(value: Any, shape: Shape) -> bool:
    """Whether a number with a fraction stands where text is declared: `1.10` must not become 1.1 on its way there."""
    todo: list[tuple[Any, Shape]] = [] if shape is ANY else [(value, shape)]
    while todo:
        here, part = todo.pop()
        if isinstance(here, float):
            if part.verbatim:
                return True
        elif is_object(here):
            todo.extend((item, part.props.get(key) or part.additional or ANY) for key, item in here.items())
        elif is_list(here) and (part.items is not None or part.prefix):
            shapes = chain(part.prefix, repeat(part.items or ANY))
            todo.extend(zip(here, shapes, strict=False))
    return False


class _Builder:
    def __init__(self, root: Any) -> None:
        self.root = root
        self.by_ref: dict[str, Shape] = {}
        self.unfinished: set[Shape] = set()
        self.later: list[tuple[Shape, Shape]] = []

    def build(self, schema: Any, depth: int) -> Shape:
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return ANY
        shape = Shape()
        self.fill(shape, cast("Mapping[str, Any]", schema), depth)
        return shape

    def fill(self, shape: Shape, schema: Mapping[str, Any], depth: int) -> None:
        ref = schema.get("$ref")
        if isinstance(ref, str):
            self.include(shape, self.resolve(ref, depth))
        for part in _list(schema.get("allOf")):
            self.include(shape, self.build(part, depth + 1))
        self.scalars(shape, schema)
        self.containers(shape, schema, depth)
        branches = _list(schema.get("anyOf")) + _list(schema.get("oneOf"))
        if branches:
            self.choose(shape, [self.build(branch, depth + 1) for branch in branches])

    def resolve(self, ref: str, depth: int) -> Shape:
        known = self.by_ref.get(ref)
        if known is not None:
            return known
        target = _pointer(self.root, ref)
        if not isinstance(target, Mapping) or depth > _MAX_DEPTH:
            return ANY
        shape = self.by_ref[ref] = Shape()  # before it is filled: a schema may refer to itself
        self.unfinished.add(shape)
        self.fill(shape, cast("Mapping[str, Any]", target), depth + 1)
        self.unfinished.discard(shape)
        return shape

    def scalars(self, shape: Shape, schema: Mapping[str, Any]) -> None:
        kind = schema.get("type")
        if isinstance(kind, str):
            shape.types = frozenset({kind})
        elif is_list(kind):
            shape.types = frozenset(name for name in kind if isinstance(name, str))
        if "const" in schema:
            shape.enum = (schema["const"],)
        elif is_list(schema.get("enum")):
            shape.enum = tuple(schema["enum"])
        if shape.enum is not None and not shape.types:
            shape.types = frozenset(json_type(value) for value in shape.enum)
        shape.minimum = _number(schema, "minimum", "exclusiveMinimum", shape.minimum)
        shape.maximum = _number(schema, "maximum", "exclusiveMaximum", shape.maximum)
        if isinstance(schema.get("pattern"), str):
            shape.pattern = schema["pattern"]
        shape.json_text = shape.json_text or "json" in str(schema.get("contentMediaType", ""))
        shape.alias = schema.get("x-alias", shape.alias)
        aliases = schema.get("x-enum-alias")
        if isinstance(aliases, Mapping):
            shape.enum_aliases = {str(alias): value for value, alias in cast("Mapping[Any, Any]", aliases).items()}
        words = " ".join(str(schema[key]) for key in ("title", "description") if key in schema)
        shape.words = f"{shape.words} {words}".strip()

    def containers(self, shape: Shape, schema: Mapping[str, Any], depth: int) -> None:
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            for name, part in cast("Mapping[str, Any]", properties).items():
                shape.props[name] = self.build(part, depth + 1)
        shape.required |= frozenset(name for name in _list(schema.get("required")) if isinstance(name, str))
        extra = schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            shape.additional = self.build(extra, depth + 1)
        stated = extra is not None and extra is not False
        named = isinstance(properties, Mapping) or extra is False
        shape.closed = named and not stated and "patternProperties" not in schema
        if shape.json_text and "contentSchema" in schema:
            shape.content = self.build(schema["contentSchema"], depth + 1)
        items = schema.get("items")
        if items is not None:
            shape.items = self.build(items, depth + 1)
        prefix = _list(schema.get("prefixItems"))
        if prefix:
            shape.prefix = tuple(self.build(part, depth + 1) for part in prefix)
        if not shape.types and shape.enum is None:
            if shape.props:
                shape.types = frozenset({"object"})
            elif shape.items is not None or shape.prefix:
                shape.types = frozenset({"array"})

    def include(self, shape: Shape, part: Shape) -> None:
        """Take over what a `$ref` or a branch of `allOf` says; of a schema inside itself the rest comes later."""
        if part in self.unfinished:
            self.unfinished.add(shape)
            self.later.append((shape, part))
        self.take_over(shape, part)

    def take_over(self, shape: Shape, part: Shape) -> None:
        for name in Shape.__slots__:
            value = getattr(part, name)
            if name == "props":
                shape.props.update(value)
            elif name in ("required", "types"):
                setattr(shape, name, getattr(shape, name) | value)
            elif value:
                setattr(shape, name, value)

    def choose(self, shape: Shape, branches: list[Shape]) -> None:
        """anyOf: keep the alternatives, and show their common face where there is only one beside null."""
        real = [branch for branch in branches if branch.types != _NULL]
        if len(real) == 1 and not shape.props:
            own_words = shape.words
            self.include(shape, real[0])
            shape.words = f"{own_words} {real[0].words}".strip()
        elif real:
            shape.options = tuple(real)
        if all(branch.types for branch in branches):
            union = frozenset[str]().union(*(branch.types for branch in branches))
            shape.types = shape.types & union if shape.types and shape.options else shape.types | union
        elif len(real) != 1:
            shape.types = shape.types or frozenset()


def _list(value: Any) -> list[Any]:
    return value if is_list(value) else []


def _number(schema: Mapping[str, Any], key: str, exclusive: str, known: float | None) -> float | None:
    for name in (key, exclusive):
        value = schema.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
    return known


def _pointer(root: Any, ref: str) -> Any:
    """Follow `#/a/b` inside one document; anything else leads nowhere."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    here = root
    for part in ref[2:].split("/"):
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping):
            here = cast("Mapping[str, Any]", here).get(step)
        elif is_list(here) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return here


# ── scalars ──
# Numbers and constants in the notations that models use.

NUMBER = r"[-+]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
MAX_DIGITS = 1000
"""More digits than this are no number anybody meant; Python itself gives up at 4,300."""

JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_LENIENT = regex(r"([-+]?)((?:0|[1-9]\d*(?:_\d+)*)?)(\.\d*)?([eE][-+]?\d+)?")
_HEX = regex(r"[-+]?0[xX][0-9a-fA-F]{1,16}")

CONSTANTS: dict[str, tuple[Any, str | None]] = {
    "true": (True, None), "false": (False, None), "null": (None, None),
    "True": (True, "python_constant"), "False": (False, "python_constant"), "None": (None, "python_constant"),
    "TRUE": (True, "constant_form"), "FALSE": (False, "constant_form"), "NULL": (None, "constant_form"),
    "Null": (None, "constant_form"), "undefined": (None, "constant_form"), "nil": (None, "constant_form"),
    "NaN": (float("nan"), "constant_form"), "nan": (float("nan"), "constant_form"),
    "Infinity": (float("inf"), "constant_form"), "inf": (float("inf"), "constant_form"),
    "-Infinity": (float("-inf"), "constant_form"), "-inf": (float("-inf"), "constant_form"),
}  # fmt: skip


def read_number(token: str) -> int | float | None:
    """The number a token stands for, or None: `.5`, `2.`, `+3`, `1_000` and `0x1F` are numbers, `007` is none.

    >>> [read_number(token) for token in ("12", ".5", "1_000", "007", "1/3")]
    [12, 0.5, 1000, None, None]
    """
    if len(token) > MAX_DIGITS:
        return None
    match = JSON_NUMBER.fullmatch(token)
    if match is not None:
        return float(token) if match[1] or match[2] else int(token)
    match = _LENIENT.fullmatch(token)
    if match is None:
        return int(token, 16) if _HEX.fullmatch(token) else None
    sign, whole, fraction, exponent = match.groups()
    digits = whole.replace("_", "")
    if not digits and (not fraction or fraction == "."):
        return None
    if fraction is None and exponent is None:
        return int(sign + digits)
    return float(f"{sign}{digits or '0'}{fraction or ''}{exponent or ''}")

"""Explains why `tool.accepts` said no: every problem at once, and a hint that makes the next try succeed.

problems ─▶ schema (what the schema says), rules (what packs and policy say), values (what is no JSON at all)
hint     ─▶ example
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from rightcall.base.json.marks import is_missing
from rightcall.base.json.strict import NO_JSON, attempt
from rightcall.base.text import escaped, is_encodable, render_json
from rightcall.catalog.schema import DEPTH, RESERVED_KEYS, nested_deeper
from rightcall.catalog.sources import argument_names
from rightcall.catalog.tool import Tool
from rightcall.gate.examples import (
    Path,
    choices,
    got,
    named,
    path_text,
    type_words,
)
from rightcall.types import Problem, ProblemCode, Rules, UnknownArgument

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError


# ── schema ──
# What the schema has against a call, said of each argument; alternatives by the one that comes closest.

WIDEST = 200
"""Of longer lists and objects only so many entries are explained: each error costs, and one of a kind is enough."""
_MOST_COUNTED = 20_000
"""A limit of the schema up to which a list is counted to say that it is over it."""
_WHOLE_ONLY = ("minItems", "contains", "minProperties", "required")


def schema_problems(tool: Tool, arguments: dict[str, Any], explained: set[str]) -> Iterator[Problem]:
    """Every error of the schema as a problem; `explained` are paths of which enough was said."""
    cut: set[Path] = set()
    found = list(_problems(tool, arguments, explained, cut, WIDEST))
    if cut and not found and (most := _most_counted(tool.schema)) > WIDEST:
        found = list(_problems(tool, arguments, explained, cut, most))
    yield from found


def _problems(
    tool: Tool, arguments: dict[str, Any], explained: set[str], cut: set[Path], widest: int
) -> Iterator[Problem]:
    cut.clear()
    small = _pruned(arguments, (), cut, widest)
    try:
        errors = list(tool.errors(small))
    except ValueError:  # a value that is no JSON; said elsewhere
        return
    explainer = _Explainer(tool, arguments)
    for error in errors:
        path = tuple(error.instance_path)
        if path_text(path) in explained or (path in cut and error.kind.name in _WHOLE_ONLY):
            continue
        yield from explainer.explain(error)


def _most_counted(schema: dict[str, Any]) -> int:
    """One more than the highest number of entries that the schema allows anywhere: so many show that it is exceeded."""
    found, stack = 0, [cast("Any", schema)]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            table = cast("dict[str, Any]", part)
            limits = [table.get(name) for name in ("maxItems", "maxProperties")]
            found = max(found, *(one for one in limits if isinstance(one, int) and one <= _MOST_COUNTED), 0)
            stack.extend(table.values())
        elif isinstance(part, list):
            stack.extend(cast("list[Any]", part))
    return found + 1


def _pruned(value: Any, path: Path, cut: set[Path], widest: int) -> Any:
    """The value without the far ends of very long lists and objects; the same object when nothing is long."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        keys = list(table)[:widest] if path else list(table)  # arguments themselves are never left out
        kept = {key: _pruned(table[key], (*path, key), cut, widest) for key in keys}
        if len(kept) < len(table):
            cut.add(path)
        return kept
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        if len(items) > widest:
            cut.add(path)
        return [_pruned(item, (*path, index), cut, widest) for index, item in enumerate(items[:widest])]
    return value


class _Explainer:
    def __init__(self, tool: Tool, arguments: dict[str, Any]) -> None:
        self.tool = tool
        self.arguments = arguments

    def explain(self, error: "ValidationError") -> Iterator[Problem]:
        path = tuple(error.instance_path)
        kind: Any = error.kind
        match kind.name:
            case "anyOf" | "oneOf" if hasattr(kind, "context") and all(kind.context):
                yield from self.closest(path, kind.context)
            case "required":
                where = (*path, kind.property)
                yield Problem("missing", path_text(where), f"{named(where)} is missing")
            case "additionalProperties" | "unevaluatedProperties":
                for name in kind.unexpected:
                    yield self.unknown(path, name)
            case "propertyNames":
                yield self.bad_key(path, kind.error)
            case _:
                code, message = _worded(kind, path, self.value_at(path), error.message)
                yield Problem(code, path_text(path), message)

    def unknown(self, path: Path, name: str) -> Problem:
        where = (*path, name)
        if path:
            message = f"{named(where)} is not allowed: {named(path)} has no such key"
        else:
            names = choices(list(cast("dict[str, Any]", self.tool.schema.get("properties", {}))))
            known = f"it has {names}" if names else "it takes none"
            message = f"{named(where)} is not an argument of {escaped(self.tool.name, 80)}; {known}"
        return Problem("unknown_argument", path_text(where), message)

    def bad_key(self, path: Path, inner: "ValidationError") -> Problem:
        key = inner.instance
        if key in RESERVED_KEYS:
            where = (*path, cast("str", key))
            return Problem("reserved_key", path_text(where), f"{named(where)} is a reserved key; leave it out")
        return Problem("value", path_text(path), f"the key {render_json(key)} is not allowed in {named(path)}")

    def closest(self, path: Path, branches: Sequence[Sequence["ValidationError"]]) -> Iterator[Problem]:
        """Of several alternatives explain the one the value comes closest to; if it is none by type, name them all."""
        fitting = [branch for branch in branches if not any(_is_type_error(error, path) for error in branch)]
        value = self.value_at(path)
        if not fitting:
            wanted = [name for branch in branches for error in branch if _is_type_error(error, path)
                      for name in cast("Any", error.kind).types]  # fmt: skip
            yield Problem("type", path_text(path), f"{named(path)} must be {type_words(wanted)}, got {got(value)}")
            return
        options = _all_options(fitting, path)
        if options is not None:
            yield Problem(
                "value", path_text(path), f"{named(path)} must be one of {choices(options)}; got {render_json(value)}"
            )
            return
        best = min(fitting, key=_distance)
        for error in best:
            yield from self.explain(error)

    def value_at(self, path: Path) -> Any:
        here: Any = self.arguments
        for step in path:
            try:
                here = here[step]
            except (KeyError, IndexError, TypeError):
                return None
        return here


def _is_type_error(error: "ValidationError", path: Path) -> bool:
    return error.kind.name == "type" and tuple(error.instance_path) == path


def _all_options(branches: Iterable[Sequence["ValidationError"]], path: Path) -> list[Any] | None:
    """The values of alternatives that are nothing but lists of values."""
    options: list[Any] = []
    for branch in branches:
        if len(branch) != 1 or tuple(branch[0].instance_path) != path or branch[0].kind.name not in ("enum", "const"):
            return None
        kind: Any = branch[0].kind
        options += kind.options if kind.name == "enum" else [kind.expected_value]
    return options


def _distance(branch: Sequence["ValidationError"]) -> float:
    """How far a value is from an alternative. A wrong constant marks another kind of thing, so it weighs most."""
    weights = {"const": 10.0, "enum": 6.0, "required": 2.0, "additionalProperties": 1.5, "unevaluatedProperties": 1.5}
    return sum(weights.get(error.kind.name, 1.0) for error in branch)


def _worded(kind: Any, path: Path, value: Any, fallback: str) -> tuple[ProblemCode, str]:
    name, this = kind.name, named(path)
    if name == "type":
        return "type", f"{this} must be {type_words(kind.types)}, got {got(value)}"
    if name == "enum":
        return "value", f"{this} must be one of {choices(kind.options)}; got {render_json(value)}"
    if name == "const":
        return "value", f"{this} must be {render_json(kind.expected_value)}, got {render_json(value)}"
    if name == "not" and kind.schema == {"type": "null"}:
        return "value", f"{this} must not be null"
    if name == "oneOf":
        return "schema", f"{this} matches several alternatives; exactly one must match; got {render_json(value)}"
    if name == "falseSchema":
        return "schema", f"{this} must be left out, got {render_json(value)}"
    words = _LIMITS.get(name)
    if words is not None:
        return "value", f"{this} {words(kind)}, {_measured(name, value)}"
    return "schema", f"{this}: {escaped(fallback, 200)}"


_LIMITS: dict[str, Callable[[Any], str]] = {
    "minimum": lambda kind: f"must be at least {render_json(kind.limit)}",
    "maximum": lambda kind: f"must be at most {render_json(kind.limit)}",
    "exclusiveMinimum": lambda kind: f"must be more than {render_json(kind.limit)}",
    "exclusiveMaximum": lambda kind: f"must be less than {render_json(kind.limit)}",
    "multipleOf": lambda kind: f"must be a multiple of {render_json(kind.multiple_of)}",
    "minLength": lambda kind: f"must have at least {kind.limit} character{'s' * (kind.limit != 1)}",
    "maxLength": lambda kind: f"must have at most {kind.limit} character{'s' * (kind.limit != 1)}",
    "pattern": lambda kind: f"must match the pattern {escaped(kind.pattern, 120)}",
    "minItems": lambda kind: f"must have at least {kind.limit} item{'s' * (kind.limit != 1)}",
    "maxItems": lambda kind: f"must have at most {kind.limit} item{'s' * (kind.limit != 1)}",
    "uniqueItems": lambda _: "must not contain duplicate items",
    "minProperties": lambda kind: f"must have at least {kind.limit} entr{'ies' if kind.limit != 1 else 'y'}",
    "maxProperties": lambda kind: f"must have at most {kind.limit} entr{'ies' if kind.limit != 1 else 'y'}",
    "format": lambda kind: f"must be a {escaped(kind.format, 40)}",
}


def _measured(name: str, value: Any) -> str:
    """What was there, in the unit of the limit."""
    sized = isinstance(value, (str, list, tuple, dict))
    if sized and name.startswith(("min", "max")):
        return f"has {len(cast('list[Any]', value))}"
    return f"got {render_json(value)}"


# ── rules ──
# Problems with the rules beside the schema: required, required_any, required_unless, min_length, values, JSON text.


def rule_problems(rules: Rules, arguments: Mapping[str, Any]) -> Iterator[Problem]:
    """In the order of the rules. Whatever is absent, null or blank is missing; 0 and false are values."""
    for name in dict.fromkeys((*rules.required, *rules.required_unless)):
        excuses = rules.required_unless.get(name, {})
        if is_missing(arguments.get(name)) and not any(_equals(arguments.get(of), excuses[of]) for of in excuses):
            yield Problem("missing", name, f"{named((name,))} {_how(name, arguments)}{_unless(excuses)}")
    for group in rules.required_any:
        if all(is_missing(arguments.get(name)) for name in group):
            listed = ", ".join(f"`{name}`" for name in group)
            yield Problem("missing_any", " or ".join(group), f"one of {listed} is required")
    for name, least in rules.min_length.items():
        value = arguments.get(name)
        if isinstance(value, str) and len(value) < least and not (is_missing(value) and name in rules.required):
            message = f"{named((name,))} must have at least {least} characters, has {len(value)}"
            yield Problem("too_short", name, message)
    yield from _value_problems(rules, arguments)


def _value_problems(rules: Rules, arguments: Mapping[str, Any]) -> Iterator[Problem]:
    for name, spellings in rules.values.items():
        value = arguments.get(name)
        if isinstance(value, str):
            right = _meant(value, spellings)
            if right is not None:
                yield Problem("value", name, f"{named((name,))} is {render_json(value)}; expected {render_json(right)}")
    for name in rules.json_text:
        value = arguments.get(name)
        if isinstance(value, str) and attempt(value) is NO_JSON:
            yield Problem(
                "value", name, f"{named((name,))} must be text containing valid JSON, got {render_json(value)}"
            )


def _how(name: str, arguments: Mapping[str, Any]) -> str:
    if name not in arguments:
        return "is missing"
    return "is null, but it is required" if arguments[name] is None else "is blank, but it is required"


def _unless(excuses: Mapping[str, tuple[Any, ...]]) -> str:
    if not excuses:
        return ""
    said = " or ".join(
        f"{named((name,))} is {' or '.join(map(render_json, values))}" for name, values in excuses.items()
    )
    return f" (not needed when {said})"


def _equals(value: Any, wanted: tuple[Any, ...]) -> bool:
    if isinstance(value, str):
        return _folded(value) in {_folded(text) for text in wanted if isinstance(text, str)}
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in wanted)


def _meant(value: str, spellings: Mapping[str, Any]) -> Any:
    """What a known wrong spelling stands for; None when it is none, or is itself right."""
    text = _folded(value)
    if text in {_folded(right) for right in spellings.values() if isinstance(right, str)}:
        return None
    return next((right for wrong, right in spellings.items() if _folded(wrong) == text), None)


def _folded(text: str) -> str:
    return text.strip().casefold()


# ── values ──
# Values that are no JSON, whatever the schema says: NaN, lone surrogates, foreign objects; and reserved keys.

_RESERVED = frozenset(RESERVED_KEYS)
_INFINITY = float("inf")
_LARGEST = 2**1024
"""Beyond this no number of the common kind can carry it, and the compiled check compares it wrongly."""


def value_problems(arguments: Any, allowed_keys: frozenset[str]) -> Iterator[Problem]:
    """Walk without recursion; `allowed_keys` are the names that the schema itself uses."""
    stack: list[tuple[Path, Any]] = [((), arguments)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            table = cast("dict[Any, Any]", value)
            for key in table:
                yield from _key_problem(path, key, allowed_keys)
            entries: Iterable[tuple[Any, Any]] = table.items()
        else:
            entries = enumerate(cast("list[Any]", value))
        for key, item in entries:
            if _is_plain(item):
                continue
            inner = (*path, key if isinstance(key, (str, int)) else render_json(key, 40))
            if isinstance(item, (dict, list, tuple)):
                stack.append((inner, cast("Any", item)))
            else:
                yield from _scalar_problem(inner, item)


def _is_plain(value: Any) -> bool:
    """The common values that cannot be wrong, decided as fast as Python can: there may be millions."""
    kind = cast("type[object]", type(value))
    if kind is str:
        return value.isascii()
    if kind is int:
        return -_LARGEST < value < _LARGEST
    if kind is float:
        return -_INFINITY < value < _INFINITY
    return kind is bool or value is None


def _scalar_problem(path: Path, value: Any) -> Iterator[Problem]:
    if isinstance(value, str):
        if not is_encodable(value):
            message = f"{named(path)} contains a lone surrogate (half a character): {render_json(value)}"
            yield Problem("text", path_text(path), message)
    elif isinstance(value, float):
        if not isfinite(value):
            yield Problem("number", path_text(path), f"{named(path)} must be a finite number, got {render_json(value)}")
    elif isinstance(value, int):
        if not isinstance(value, bool) and not -_LARGEST < value < _LARGEST:
            yield Problem("number", path_text(path), f"{named(path)} is too large: {render_json(value)}")
    elif value is not None:
        yield Problem("type", path_text(path), f"{named(path)} must be a JSON value, got {render_json(value)}")


def _key_problem(path: Path, key: Any, allowed_keys: frozenset[str]) -> Iterator[Problem]:
    if not isinstance(key, str):
        where = f"in {named(path)}" if path else "of the arguments"
        yield Problem("type", path_text(path), f"a key {where} must be text, got {render_json(key)}")
    elif key in _RESERVED and key not in allowed_keys:
        yield Problem("reserved_key", path_text((*path, key)), f"{named((*path, key))} is a reserved key; leave it out")
    elif not key.isascii() and not is_encodable(key):
        yield Problem(
            "text", path_text((*path, key)), f"a key contains a lone surrogate (half a character): {render_json(key)}"
        )


# ── explain ──
# All problems of a call at once, in an order that does not change, in words a model can act on.

MOST = 20
"""More problems than this help nobody; one line says how many there are."""
_MISSING = ("missing", "missing_any")


def problems(tool: Tool, arguments: Any, *, unknown: UnknownArgument = "drop") -> tuple[Problem, ...]:
    """Why these arguments do not fit the tool; empty when they do. Never raises.

    Missing arguments come first, in the schema's order, then the rest in that order too. Arguments the tool does not
    know are problems only when `unknown` is `refuse`, or when nothing else explains why the call does not fit.
    """
    if not isinstance(arguments, dict):
        return (Problem("type", "", f"the arguments must be an object with named values, got {got(arguments)}"),)
    if nested_deeper(arguments):
        return (Problem("too_large", "", f"the arguments are nested deeper than {DEPTH} levels"),)
    given = cast("dict[Any, Any]", arguments)
    found = _unique(_all(tool, given))
    kept = found if unknown == "refuse" else [one for one in found if one.code != "unknown_argument"]
    if not kept and not _accepted(tool, given):
        kept = found or [Problem("schema", "", f"the arguments do not match the schema of `{tool.name}`")]
    order = {name: place for place, name in enumerate(argument_names(tool.schema) or ())}
    return _cut(sorted(kept, key=lambda one: _rank(one, order)))


def _all(tool: Tool, arguments: dict[Any, Any]) -> Iterator[Problem]:
    foreign = list(value_problems(arguments, _names_anywhere(tool.schema)))
    yield from foreign
    if any(not isinstance(key, str) for key in arguments):
        return  # said already, and nothing more can be asked of the schema
    yield from rule_problems(tool.rules, arguments)
    yield from schema_problems(tool, arguments, {one.path for one in foreign})


def _accepted(tool: Tool, arguments: dict[Any, Any]) -> bool:
    try:
        return tool.fits(arguments)
    except ValueError:  # what it says of values that are no JSON
        return False


def _unique(found: Iterable[Problem]) -> list[Problem]:
    """Each matter once: rules speak before the schema, and something missing has no other fault."""
    kept: dict[tuple[str, str], Problem] = {}
    for one in found:
        about = "missing" if one.code in _MISSING else one.code if one.code == "unknown_argument" else "value"
        if (one.path, "missing") in kept and about == "value":
            continue
        kept.setdefault((one.path, about if about != "value" else one.message), one)
    return list(kept.values())


def _rank(one: Problem, order: dict[str, int]) -> tuple[bool, int, str]:
    first = one.path.split(" or ")[0].split(".")[0].split("[")[0]
    return one.code not in _MISSING, order.get(first, len(order)), one.path


def _cut(found: list[Problem]) -> tuple[Problem, ...]:
    if len(found) <= MOST:
        return tuple(found)
    return (*found[:MOST], Problem("schema", "", f"and {len(found) - MOST} more problems of this kind"))


def _names_anywhere(schema: dict[str, Any]) -> frozenset[str]:
    """Every argument name the schema uses, at any depth: a reserved word among them is meant."""
    names: set[str] = set()
    stack: list[Any] = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            table = cast("dict[str, Any]", part)
            properties = table.get("properties")
            if isinstance(properties, dict):
                names.update(cast("dict[str, Any]", properties))
            stack.extend(table.values())
        elif isinstance(part, list):
            stack.extend(cast("list[Any]", part))
    return frozenset(names)

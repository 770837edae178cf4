"""What the schema has against a call, said of each argument; alternatives by the one that comes closest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from rightcall.catalog import RESERVED_KEYS, Tool
from rightcall.text.escape import escaped, render_json
from rightcall.types import Problem, ProblemCode
from rightcall.validate.wording import Path, choices, got, named, path_text, type_words

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

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
            message = f"{named(where)} is not known: {named(path)} has no such entry"
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
        return "schema", f"{this} fits several alternatives of which only one may fit, got {render_json(value)}"
    if name == "falseSchema":
        return "schema", f"{this} may have no value here, got {render_json(value)}"
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
    "uniqueItems": lambda _: "must not hold the same item twice",
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

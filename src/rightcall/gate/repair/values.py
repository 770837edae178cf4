"""Values: from what a model wrote to what the schema wants, only where one reading exists.

`fit` never fails: what it cannot bring into shape it leaves as it is, and `tool.accepts` says the last word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple, cast

import msgspec

from rightcall.base.json.find import read_value
from rightcall.base.json.marks import is_list, is_object, json_type, used
from rightcall.base.json.reader import MAX_DEPTH
from rightcall.base.json.shape import ANY, NUMERIC, Shape, read_number
from rightcall.base.json.strict import NO_JSON, attempt, unsound
from rightcall.base.text import escaped, regex
from rightcall.errors import Unreadable
from rightcall.gate.repair.choices import Choice, Log, choose, restrains
from rightcall.gate.repair.names import DeclaredNames, NameMap, Renaming, is_noise, map_names, may_be_content
from rightcall.gate.repair.numbers import number_in, units_beside
from rightcall.gate.repair.words import joined
from rightcall.types import Rules, StrategyName

_MAX_DEPTH = 48
_LONGEST_LIST = 20_000
"""A longer text is no list that somebody wrote with commas."""
_MOST_BRANCHES = 32
"""More alternatives than this are not tried one by one, unless a constant (`"type": "move"`) says which."""
_TRUE = frozenset({"true", "yes", "y", "on", "1", "enabled"})
_FALSE = frozenset({"false", "no", "n", "off", "0", "disabled"})
_NULLS = frozenset({"null", "none", "nil", "undefined", "n/a", "na", ""})


def is_null_word(value: Any) -> bool:
    """Whether a value stands for nothing: null, `None`, `n/a`, a blank."""
    return value is None or (isinstance(value, str) and value.strip().lower() in _NULLS)


def fit(value: Any, shape: Shape, path: str, log: Log, depth: int = 0) -> Any:
    """Bring a value into shape, and note every change."""
    if depth > _MAX_DEPTH:
        return value
    if not log.led:
        return _literal(value, shape, path, log, depth)
    if shape.options:
        shape, value = _option(value, shape, path, log, depth)
        if shape.options:
            return value
    if shape.enum is not None:
        return _enumerated(value, shape, path, log)
    kind = json_type(value)
    if shape.allows(kind):
        return _inside(value, kind, shape, path, log, depth)
    return _convert(value, kind, shape, path, log, depth)


def _literal(value: Any, shape: Shape, path: str, log: Log, depth: int) -> Any:
    """Without the schema's lead: only text that holds a list or an object, where one is wanted."""
    if isinstance(value, str) and shape.types and not shape.allows("string"):
        return _structured(value, shape, path, log, depth)
    return json_text(value, path, log, shape.content) if shape.json_text and shape.allows("string") else value


def conforms(value: Any, shape: Shape, depth: int = 0, *, whole: bool = True) -> bool:
    """Whether a value has the type, the values and, if it is to be `whole`, the keys a shape names; no validation."""
    if value is None and "null" in shape.types:
        return True
    if shape.options:
        return any(conforms(value, option, depth + 1, whole=whole) for option in shape.options)
    if shape.enum is not None and not any(value == item and type(value) is type(item) for item in shape.enum):
        return False
    if not shape.allows(json_type(value)):
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = shape.minimum, shape.maximum
        return (low is None or value >= low) and (high is None or value <= high)
    if depth > 8:
        return True
    if is_object(value) and shape.props:
        items = value
        if whole and not (shape.required <= items.keys() and (not shape.closed or items.keys() <= shape.props.keys())):
            return False
        return all(
            conforms(item, shape.props[key], depth + 1, whole=whole)
            for key, item in items.items()
            if key in shape.props
        )
    if is_list(value) and shape.items is not None:
        items_shape = shape.items
        return all(conforms(item, items_shape, depth + 1, whole=whole) for item in value[:64])
    return True


def _option(value: Any, shape: Shape, path: str, log: Log, depth: int) -> tuple[Shape, Any]:
    """anyOf: the branch the value fits already, else the only one it can be brought to."""
    for option in shape.options:
        if conforms(value, option):
            return option, value
    if value is None and "null" in shape.types:
        return shape, value
    results: list[tuple[Shape, Any, Log]] = []
    options = shape.options if len(shape.options) <= _MOST_BRANCHES else _tagged(value, shape.options)
    if len(options) > _MOST_BRANCHES or not log.may_try(len(options)):
        return shape, value
    for option in options:
        trial = log.trial()
        result = fit(value, option, path, trial, depth + 1)
        if conforms(result, option) and not any(result == other for _, other, _ in results):
            results.append((option, result, trial))
    if len(results) == 1:
        option, result, trial = results[0]
        log.extend(trial)
        return option, result
    return shape, value


def _tagged(value: Any, options: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """The alternatives that name one of the values given as the only one for its key."""
    if not is_object(value):
        return options
    return tuple(
        option
        for option in options
        if any(len(part.enum or ()) == 1 and conforms(value.get(key), part) for key, part in option.props.items())
    )


def _enumerated(value: Any, shape: Shape, path: str, log: Log) -> Any:
    allowed = shape.enum or ()
    if any(value == item and type(value) is type(item) for item in allowed) or (
        value is None and "null" in shape.types
    ):
        return value
    if is_list(value) and len(value) == 1 and not shape.allows("array"):
        log.add(path, value, value[0], "unwrapped_list", 0.95)
        return _enumerated(value[0], shape, path, log)
    written = value
    if isinstance(value, str) and len(value) > 2 and value[0] == value[-1] and value[0] in "\"'":
        written = value[1:-1]
    choice = choose(written, allowed, shape.enum_aliases) or _number_choice(written, allowed, shape, path, log)
    if choice is None:
        return value
    log.add(path, value, choice.value, choice.rule, choice.confidence)
    return choice.value


def _number_choice(value: Any, allowed: tuple[Any, ...], shape: Shape, path: str, log: Log) -> Choice | None:
    """`two` where 1, 2 and 3 are allowed."""
    if not isinstance(value, str) or not shape.types & NUMERIC:
        return None
    number = number_in(value, _name(path), shape, log.beside)
    if number is None:
        return None
    hits = [item for item in allowed if item == number.value and not isinstance(item, bool)]
    return Choice(hits[0], number.rule, number.confidence) if len(hits) == 1 else None


def _name(path: str) -> str:
    """The name of the argument at a path: `lengths` for `size.lengths[2]`."""
    return path.rpartition(".")[2].partition("[")[0]


def _inside(value: Any, kind: str, shape: Shape, path: str, log: Log, depth: int) -> Any:
    """The type is right: look at the items and keys."""
    if kind == "array" and is_list(value) and (shape.items is not None or shape.prefix):
        items = value
        if len(items) > 1 and shape.items is not None and _is_row(shape.items) and all(map(_is_loose, items)):
            return value  # [1, 2] for a list of lists: [[1, 2]] or [[1], [2]]
        manner = _manner_at(path, log)
        fitted = [
            fit(
                item if manner is PLAIN else _declared_value(item, ITEM, manner, f"{path}[{at}]", log),
                shape.prefix[at] if at < len(shape.prefix) else shape.items or Shape(),
                f"{path}[{at}]",
                log,
                depth + 1,
            )
            for at, item in enumerate(items)
        ]
        return value if all(new is old for new, old in zip(fitted, items, strict=True)) else fitted
    if kind == "object" and is_object(value) and (shape.props or shape.closed or shape.additional is not None):
        return fit_object(value, shape, path, log, depth + 1)
    if kind == "string" and shape.json_text:
        return json_text(value, path, log, shape.content)
    return value


def _is_row(items: Shape) -> bool:
    """Whether the items of a list are lists themselves, and nothing else."""
    return "array" in items.types and items.types <= {"array", "null"}


def _is_loose(item: Any) -> bool:
    """Neither a list nor a text of one."""
    return not is_list(item) and not (isinstance(item, str) and (item.strip()[:1] in ("[", "(") or "," in item))


def _convert(value: Any, kind: str, shape: Shape, path: str, log: Log, depth: int) -> Any:
    if kind == "array" and not shape.allows("array"):
        return _unwrapped(value, shape, path, log, depth)
    if kind == "string":
        return _from_text(value, shape, path, log, depth)
    if kind in NUMERIC:
        return _from_number(value, shape, path, log, depth)
    if kind == "boolean" and shape.verbatim:
        log.add(path, value, "true" if value else "false", "boolean_to_text", 0.8)
        return "true" if value else "false"
    if shape.json_text and shape.allows("string") and kind in ("object", "array"):
        return json_text(value, path, log, shape.content)
    if shape.allows("array") and value is not None:
        return _wrapped(value, shape, path, log, depth)
    return value


def _unwrapped(value: list[Any], shape: Shape, path: str, log: Log, depth: int) -> Any:
    """A list of one thing where one thing is wanted."""
    if shape.json_text and shape.allows("string"):
        return json_text(value, path, log, shape.content)
    if len(value) != 1:
        return value
    trial = log.trial()
    inner = fit(value[0], shape, path, trial, depth + 1)
    if not conforms(inner, shape):
        return value
    log.add(path, value, inner, "unwrapped_list", 0.95)
    log.extend(trial)
    return inner


def _wrapped(value: Any, shape: Shape, path: str, log: Log, depth: int) -> Any:
    """One thing where a list of such things is wanted."""
    trial = log.trial()
    item = fit(value, shape.items, f"{path}[0]", trial, depth + 1) if shape.items is not None else value
    if shape.items is not None and not conforms(item, shape.items):
        return value
    log.add(path, value, [item], "wrapped_in_list", 0.95)
    log.extend(trial)
    return [item]


def _from_number(value: int | float, shape: Shape, path: str, log: Log, depth: int) -> Any:
    if shape.allows("string") and "boolean" not in shape.types:
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        unsure = isinstance(value, float) and (log.lossy or value.is_integer())  # 1.10, 1.0
        log.add(path, value, text, "number_to_text", 0.6 if unsure else 0.95)
        return text
    if "boolean" in shape.types and value in (0, 1):
        log.add(path, value, bool(value), "number_to_boolean", 0.9)
        return bool(value)
    if shape.allows("array"):
        return _wrapped(value, shape, path, log, depth)
    return value


def _from_text(text: str, shape: Shape, path: str, log: Log, depth: int) -> Any:
    """Text where the schema wants something else. The first type that the text can be, and only if no other can."""
    if "null" in shape.types and is_null_word(text):
        log.add(path, text, None, "null_word", 0.95)
        return None
    readings: list[tuple[Any, str, float]] = []
    if shape.types & NUMERIC:
        number = number_in(text, _name(path), shape, log.beside)
        if number is not None and ("number" in shape.types or float(number.value).is_integer()):
            value = number.value
            whole = isinstance(value, float) and value.is_integer() and "number" not in shape.types
            readings.append((int(value) if whole else value, number.rule, number.confidence))
    word = text.strip().lower().rstrip(".!")
    if "boolean" in shape.types and (word in _TRUE or word in _FALSE) and not readings:
        readings.append((word in _TRUE, "boolean_text", 1.0 if word in ("true", "false") else 0.95))
    if len(readings) == 1:
        value, rule, confidence = readings[0]
        log.add(path, text, value, rule, confidence)
        return value
    if shape.types & {"object", "array"}:
        return _structured(text, shape, path, log, depth)
    return text


def _structured(text: str, shape: Shape, path: str, log: Log, depth: int) -> Any:
    """JSON or Python text for an object or a list; for a list also `a, b` and one scalar."""
    body = text.strip()
    if body[:1] in tuple("{[(") or body.startswith("```"):
        try:
            read = read_value(body, shape)
        except Unreadable:
            return text
        if read.cut or read.duplicates or "prose" in read.marks or not shape.allows(json_type(read.value)):
            return text
        strategy = _first(("structure", "python_ast", "regex_quotes"), log)
        before = len(log.repairs)
        if strategy is None or unsound(read.value, MAX_DEPTH) or (read.marks and not log.read(path, text, read)):
            return text
        if len(log.repairs) > before:  # what the text needed says more than that it was one
            strategy = used(log.repairs[before:])
        elif shape.json_text:  # a list that may be written as JSON text: to open it mends nothing
            strategy = "direct"
        log.add(path, text, read.value, "text_to_value", 1.0, strategy)
        return fit(read.value, shape, path, log, depth + 1)
    if not body or len(body) > _LONGEST_LIST or not shape.allows("array") or not log.led:
        return text
    return _listed(text, body, shape, path, log, depth)


def _first(strategies: tuple[StrategyName, ...], log: Log) -> StrategyName | None:
    """The first of the strategies that may carry a change out."""
    return next((strategy for strategy in strategies if strategy in log.strategies), None)


def _listed(text: str, body: str, shape: Shape, path: str, log: Log, depth: int) -> Any:
    items = shape.items or Shape()
    if items.types and items.types <= {"object", "null"}:
        return text

    parts = parts_of(body, items)
    if parts is None or (len(parts) > 1 and _is_row(items)):
        return text
    wanted = parts if len(parts) > 1 else [body]
    trial = log.trial()
    fitted = [fit(part, items, f"{path}[{at}]", trial, depth + 1) for at, part in enumerate(wanted)]
    if not all(conforms(item, items) for item in fitted):
        return text
    log.add(path, text, fitted, "split_list" if len(parts) > 1 else "wrapped_in_list", 0.9 if len(parts) > 1 else 0.95)
    log.extend(trial)
    return fitted


def json_text(value: Any, path: str, log: Log, content: Shape | None = None, *, declared: bool = False) -> Any:
    """Text that holds JSON: made JSON where it is Python, or a list or an object already. `declared`: a pack or the
    policy says so of this tool, beside its schema."""
    found, trial = attempt(value) if isinstance(value, str) else value, log.trial()
    if found is NO_JSON:
        try:
            read = read_value(value, content or ANY)
        except Unreadable:
            return value
        if (
            read.cut
            or read.duplicates
            or not (is_object(read.value) or is_list(read.value))
            or unsound(read.value, MAX_DEPTH)
            or not trial.read(path, value, read, declared=declared)
        ):
            return value
        found = cast("Any", read.value)
    fitted = fit(found, content, path, trial) if content is not None and log.led else found
    if isinstance(value, str) and not trial.repairs:
        return value
    text = msgspec.json.encode(fitted).decode()
    log.extend(trial)
    strategy = _first(("python_ast", "structure", "regex_quotes", "manual_repair"), log)
    log.add(path, value, text, "json_text", 1.0, strategy)
    return text


# ── lists ──
# Lists written as one text: `a, b` is two items, `Smith, John <j@x.com>`, `May 5, 2026` and `f(a, b)` may be one.

_GROUPED = regex(r"[-+]?\d{1,3}(?:[, ]\d{3})+")
_TIGHT = regex(r"[,;|](?=\S)")
_DECIMAL = regex(r"\d,\d")
_PLACE = regex(r"[/\\]|^~|^\w:")
_ENDING = regex(r"\w\.[A-Za-z]\w{0,4}$")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = regex(rf"(?:.*\s)?(?:{_MONTH}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH})", re.I)
_YEAR = regex(r"(?:19|20)\d\d\b.*")
_WEEKDAY = regex(r"(?:.*\s)?(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?", re.I)
_SUFFIXES = frozenset(["inc", "ltd", "llc", "corp", "co", "gmbh", "jr", "sr", "ii", "iii", "phd", "md", "esq"])
_STATES = frozenset([
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY", "LA",
    "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK",
    "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY", "DC",
])  # fmt: skip
_BRACKETS = ("()", "[]", "{}", "<>")


def parts_of(body: str, items: Shape) -> list[str] | None:
    """The items of `a, b`; None where it could be fewer or more: `1,200`, `salt, pepper and basil`.

    >>> parts_of("red, blue", Shape()), parts_of("May 5, 2026", Shape())
    (['red', 'blue'], None)
    """
    if _GROUPED.fullmatch(body) or not any(char.isalnum() for char in body):
        return None
    if "," in body and ";" in body:
        return None  # `1,2;3,4`: a list of lists, or commas inside the items
    separator = "," if "," in body else ";" if ";" in body else "|"
    parts = [part.strip() for part in body.split(separator) if part.strip()]
    if len(parts) > 1 and any(part[0] in "\"'" and part[0] != part[-1] for part in parts):
        return None  # a separator inside quotes
    tight = _TIGHT.search(body) is not None
    if len(parts) > 1 and items.enum is None and _may_be_one(body, parts, items, tight=tight):
        return None
    parts = [part.strip("\"'").removeprefix("and ").strip() for part in parts]
    return None if len(parts) > 1 and " and " in parts[-1] else parts


def _may_be_one(body: str, parts: list[str], items: Shape, *, tight: bool) -> bool:
    """Whether a separator may belong to an item."""
    numbers = all(read_number(part) is not None for part in parts)
    if _DECIMAL.search(body) and (not numbers or (len(parts) == 2 and "number" in items.types)):
        return True  # `size 1,5 m`
    if any(part.count(pair[0]) != part.count(pair[1]) for part in parts for pair in _BRACKETS):
        return True
    if 0 < sum("@" in part for part in parts) < len(parts) and "<" in body:
        return True
    if tight and (any(_PLACE.search(part) for part in parts) or 0 < sum(map(_ends, parts)) < len(parts)):
        return True  # a path or an address may hold a comma
    return any(_belong(one, other) for one, other in pairwise(parts))


def _ends(part: str) -> bool:
    return _ENDING.search(part) is not None


def _belong(one: str, other: str) -> bool:
    """A day and its year, a firm or a person and a suffix, a town and its state."""
    if _DAY.fullmatch(one) and _YEAR.fullmatch(other):
        return True
    if _WEEKDAY.fullmatch(one) and _DAY.fullmatch(other) and any(char.isdigit() for char in other):
        return True
    if other.lower().replace(".", "") in _SUFFIXES and one[-1:].isalpha() and len(one) > 2:
        return True
    return other in _STATES and len(one) > 2 and one[0].isupper() and one not in _STATES


# ── objects ──
# Objects: names first, then what was flattened, then values; what is null and optional or unknown goes last.

_MOST_STRANGERS = 64
"""More names than this that nobody knows are no slip; they are not looked at one by one."""

_NAMED = 5
"""So many arguments a message names when one name could mean many."""

_OBJECT = frozenset({"object"})
_INDEX = regex(r"\[\d+\]")
_DOTTED = regex(r"(?P<outer>\w+)(?:\.|/|__|\[)(?P<inner>\w+)\]?")


class Manner(NamedTuple):
    """How one level of an object is treated: declared names and values, and whether more may be inferred."""

    aliases: Mapping[str, str] = {}
    values: Mapping[str, Mapping[str, Any]] = {}
    forms: Mapping[str, tuple[str, ...]] = {}
    defaults: Mapping[str, Any] = {}
    required: frozenset[str] = frozenset()


PLAIN = Manner()
ITEM = "[]"
"""In the place of a name: each item of the list."""


def manners(rules: Rules) -> dict[str, Manner]:
    """What is declared of each object in the arguments, by its place: "" for all of them, `filter`, `items[]`."""
    if not (rules.aliases or rules.values or rules.forms or rules.defaults):  # most tools
        return {"": Manner(required=frozenset(rules.required))}
    found: dict[str, dict[str, Any]] = {"": {"required": frozenset(rules.required)}}
    for given, meant in rules.aliases.items():
        around, name = split_place(given)
        beside, target = split_place(meant)
        if around == beside:
            found.setdefault(around, {}).setdefault("aliases", {})[name] = target
    for word in ("values", "forms", "defaults"):
        for place, said in getattr(rules, word).items():
            around, name = split_place(place)
            found.setdefault(around, {}).setdefault(word, {})[name] = said
    return {around: Manner(**said) for around, said in found.items()}


def split_place(place: str) -> tuple[str, str]:
    """What is around a place, and its name there.

    >>> split_place("city"), split_place("filter.language"), split_place("items[].size"), split_place("tags[]")
    (('', 'city'), ('filter', 'language'), ('items[]', 'size'), ('tags', '[]'))
    """
    if place.endswith(ITEM):
        return place.removesuffix(ITEM), ITEM
    around, _, name = place.rpartition(".")
    return around, name


def _manner_at(path: str, log: Log) -> Manner:
    return cast("Manner", log.inside.get(_INDEX.sub(ITEM, path), PLAIN)) if log.inside else PLAIN


def fit_object(
    given: dict[str, Any], shape: Shape, path: str, log: Log, depth: int, manner: Manner = PLAIN
) -> dict[str, Any]:
    """Bring an object into shape. The same object comes back where nothing had to change."""
    changed = given
    if path and manner is PLAIN:
        manner = _manner_at(path, log)
    strangers = sum(1 for name in given if name not in shape.props)
    if strangers > _MOST_STRANGERS and shape.closed and log.led:
        styles = {joined(name) for name in shape.props}  # another style is certain, however many names are in it
        strangers = sum(1 for name in given if joined(name) not in styles) or 1
    if strangers > _MOST_STRANGERS and shape.closed:
        where = f"`{escaped(path, 120)}` has" if path else "There are"
        log.problem("unknown_argument", path, f"{where} {strangers} arguments that this tool does not have")
        return given
    if strangers and (shape.closed or shape.props):
        changed = _named(given, shape, path, log, depth, manner)
    result: dict[str, Any] = {}
    outer, log.beside = log.beside, units_beside(changed) or log.beside
    for name, value in changed.items():
        here = f"{path}.{name}" if path else name
        part = shape.props.get(name) or shape.additional or ANY
        if manner.values or manner.forms:
            value = _declared_value(value, name, manner, here, log)
        if name in shape.props and log.led and _drops_null(name, value, part, shape, manner):
            log.add(here, value, None, "null_optional", 1.0 if value is None else 0.95)
            continue
        result[name] = fit(value, part, here, log, depth)
    log.beside = outer
    if path and manner.defaults:
        result |= {name: deepcopy(value) for name, value in manner.defaults.items() if name not in result}
    same = result.keys() == given.keys() and all(result[name] is given[name] for name in result)
    return given if same else result


def _declared_value(value: Any, name: str, manner: Manner, path: str, log: Log) -> Any:
    """`bash` where the pack says that `terminal` is meant, `31.1.2026` where it says how dates are written."""
    table, forms = manner.values.get(name), manner.forms.get(name)
    if not (table or forms) or is_object(value) or is_list(value):
        return value
    meant = (table or {}).get(str(value).strip().lower(), value)
    if meant is not value and meant != value:
        log.add(path, value, meant, "value_alias", 1.0)
        return meant
    if not forms:
        return value
    from rightcall.catalog.forms import convert  # late: few tools have any

    read = convert(value, forms)
    if read is None or read == value:
        return value
    log.add(path, value, read, "form", 1.0)
    return read


def _drops_null(name: str, value: Any, part: Shape, shape: Shape, manner: Manner) -> bool:
    if name in shape.required or name in manner.required or not is_null_word(value):
        return False
    if part.enum is not None and value is not None and choose(value, part.enum, part.enum_aliases) is not None:
        return False  # `none` where `None` is one of the choices
    return not conforms(value, part)


def _named(given: dict[str, Any], shape: Shape, path: str, log: Log, depth: int, manner: Manner) -> dict[str, Any]:
    """The object under the names the schema knows."""

    def fits(value: Any, target: str) -> bool:
        part = shape.props[target]
        return conforms(fit(value, part, target, log.trial(), depth + 1), part)

    def is_right(value: Any, target: str) -> bool:
        return conforms(value, shape.props[target])

    open_map = not shape.closed
    nested = _flattened(given, shape, early=True) if log.led and not open_map else {}
    rest = {name: value for name, value in given.items() if name not in nested}
    required = shape.required | manner.required
    taken = {outer for outer, _ in nested.values() if outer not in given}
    known = [name for name in shape.props if name not in taken]
    declared = DeclaredNames(known, required - taken, _aliases(shape, manner))
    names = map_names(rest, declared, fits, is_right, guess=log.led and not open_map)
    result = _renamed(given, names, nested, path, log)
    late = _flattened({name: given[name] for name in names.unknown}, shape, early=False, present=result)
    if log.led and not open_map and late:
        names = names._replace(unknown=tuple(name for name in names.unknown if name not in late))
        _gather(result, given, late, path, log)
    if log.led and not open_map and names.unknown:
        names = names._replace(unknown=_gather_map(result, given, names, shape, path, log))
    _leave_out(result, names, given, shape, path, log)
    return result


def _aliases(shape: Shape, manner: Manner) -> Mapping[str, str]:
    declared = {part.alias: name for name, part in shape.props.items() if part.alias}
    return {**declared, **manner.aliases} if declared else manner.aliases


def _renamed(
    given: dict[str, Any], names: NameMap, nested: dict[str, tuple[str, str]], path: str, log: Log
) -> dict[str, Any]:
    by_name: dict[str, Renaming] = {renaming.given: renaming for renaming in names.renamed}
    replaced = {renaming.meant for renaming in names.renamed}
    result: dict[str, Any] = {}
    for name, value in given.items():
        renaming = by_name.get(name)
        if renaming is not None:
            result[renaming.meant] = value
            log.add(_join(path, name), name, renaming.meant, renaming.rule, renaming.confidence)
        elif name not in nested and name not in replaced:  # a blank argument that another name fills
            result[name] = value
    _gather(result, given, nested, path, log)  # last: what was given as an object is there by then
    return result


def _flattened(
    given: Mapping[str, Any], shape: Shape, *, early: bool, present: Mapping[str, Any] | None = None
) -> dict[str, tuple[str, str]]:
    """Names that belong into an object of their own: `budget.max`, or `max` where only `budget` has one.

    Early, before other names are looked at, only where the object is required or several names point to it.
    """
    objects = {
        name: part
        for name, part in shape.props.items()
        if "object" in part.types and isinstance((present or given).get(name, {}), dict)
    }
    found: dict[str, tuple[str, str]] = {}
    for name in given:
        if name in shape.props:
            continue
        dotted = _DOTTED.fullmatch(name)
        if dotted is not None and dotted["outer"] in objects:
            found[name] = (dotted["outer"], dotted["inner"])
            continue
        if any(joined(name) == joined(known) for known in shape.props):
            continue
        owners = [
            (outer, inner)
            for outer, part in objects.items()
            for inner in part.props
            if joined(inner) == joined(name) and inner not in (present or given).get(outer, {})
        ]
        if len(owners) == 1:
            found[name] = owners[0]
    if not early:
        return found
    counts = {outer: sum(1 for other, _ in found.values() if other == outer) for outer in objects}
    return {
        name: (outer, inner)
        for name, (outer, inner) in found.items()
        if outer in shape.required or counts[outer] > 1 or "." in name
    }


def _gather(
    result: dict[str, Any], given: Mapping[str, Any], nested: Mapping[str, tuple[str, str]], path: str, log: Log
) -> None:
    for name, (outer, inner) in nested.items():
        inside = dict(cast("dict[str, Any]", result.get(outer, {})))
        rival = next((key for key in inside if joined(key) == joined(inner)), None)
        if rival is not None and inside[rival] != given[name]:
            both = f"{_quoted(_join(path, name))} and {_quoted(_join(path, f'{outer}.{rival}'))}"
            log.problem("ambiguous_name", _join(path, name), f"{both} are the same argument; pass only one")
            continue
        inside[rival or inner] = given[name]
        result[outer] = inside
        result.pop(name, None)
        log.add(_join(path, name), name, f"{outer}.{inner}", "flattened", 0.95 if "." in name else 0.9)


def _gather_map(
    result: dict[str, Any], given: dict[str, Any], names: NameMap, shape: Shape, path: str, log: Log
) -> tuple[str, ...]:
    """All that is left belongs into the one required map that is missing, if its values are of the right kind."""
    missing = [name for name in shape.required if name not in result]
    loose = [name for name in names.unknown if not is_noise(name)]
    if len(missing) != 1 or not loose or names.ambiguous:
        return names.unknown
    target = shape.props.get(missing[0], ANY)
    values = target.additional
    if target.types != _OBJECT or target.props or (len(loose) < 2 and (values is None or not values.types)):
        return names.unknown
    if values is not None and not all(conforms(given[name], values) for name in loose):
        return names.unknown
    _gather(result, given, {name: (missing[0], name) for name in loose}, path, log)
    return tuple(name for name in names.unknown if name not in loose)


def _leave_out(
    result: dict[str, Any], names: NameMap, given: Mapping[str, Any], shape: Shape, path: str, log: Log
) -> None:
    """What no name fits: dropped, kept or refused as the policy says; refused in any case where it might mean two."""
    for name in names.unknown:
        here = _join(path, name)
        if name in names.ambiguous and (may_be_content(name) or _shares_style(name, names.ambiguous[name])):
            log.problem("ambiguous_name", here, _ambiguity(here, name, names.ambiguous[name], shape, given))
        elif not shape.closed or log.unknown == "keep":
            continue
        elif log.unknown == "refuse" or not log.led:  # dropping is a repair too
            log.problem("unknown_argument", here, f"{_quoted(here)} is not an argument of this tool")
        elif restrains(name, given[name]):
            why = "and leaving it out would change what the call does"
            log.problem("unknown_argument", here, f"{_quoted(here)} is not an argument of this tool, {why}")
        else:
            result.pop(name, None)
            log.add(here, given[name], None, "dropped_argument", 0.95 if is_noise(name) else 0.85)


def _shares_style(name: str, others: tuple[str, ...]) -> bool:
    return any(joined(name) == joined(other) for other in others if other != name)


def _ambiguity(here: str, name: str, others: tuple[str, ...], shape: Shape, given: Mapping[str, Any]) -> str:
    if not name.strip():
        return f"{_quoted(here)} is an argument without a name; name the intended argument"
    known = [_quoted(other) for other in dict.fromkeys(others) if other in shape.props]
    if len(known) > _NAMED:
        known = [*known[:_NAMED], f"{len(known) - _NAMED} more"]
    rivals = [_quoted(other) for other in dict.fromkeys(others) if other not in shape.props and other != name]
    if len(known) == 1 and not rivals and given.get(others[0]) is not None:
        rivals = known  # the argument itself was given too
    if rivals and known:
        return f"{_quoted(here)} and {' and '.join(rivals)} both mean {' or '.join(known)}; pass only one"
    return f"{_quoted(here)} is not an argument of this tool; it could mean {' or '.join(known or rivals)}"


def _quoted(name: str) -> str:
    return f"`{escaped(name, 120)}`"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

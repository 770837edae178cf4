"""Values: from what a model wrote to what the schema wants, only where one reading exists.

`fit` never fails: what it cannot bring into shape it leaves as it is, and `tool.accepts` says the last word.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from rightcall.errors import Unreadable
from rightcall.normalise.choices import Choice, choose
from rightcall.normalise.log import Log
from rightcall.normalise.numbers import number_in
from rightcall.normalise.strategies import used
from rightcall.parse.find import read_value
from rightcall.parse.hygiene import unsound
from rightcall.parse.kinds import is_list, is_object, json_type
from rightcall.parse.reader import MAX_DEPTH
from rightcall.parse.shape import ANY, NUMERIC, Shape
from rightcall.parse.strict import NO_JSON, attempt
from rightcall.types import StrategyName

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
        fitted = [
            fit(
                item,
                shape.prefix[at] if at < len(shape.prefix) else shape.items or Shape(),
                f"{path}[{at}]",
                log,
                depth + 1,
            )
            for at, item in enumerate(items)
        ]
        return value if all(new is old for new, old in zip(fitted, items, strict=True)) else fitted
    if kind == "object" and is_object(value) and (shape.props or shape.closed or shape.additional is not None):
        from rightcall.normalise.objects import fit_object  # objects hold values hold objects

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
    from rightcall.normalise.lists import parts_of  # late: few calls write a list as text

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

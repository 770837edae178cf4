"""A call's arguments as a whole: out of their envelope, through the tool's own repair, into shape, with defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any, cast

import msgspec

from rightcall.base.json.find import read_value
from rightcall.base.json.marks import is_list, is_object, json_type, repairs_of
from rightcall.base.json.reader import MAX_DEPTH
from rightcall.base.json.shape import ANY, Shape, loses_digits, shape_of
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys, unsound
from rightcall.base.text import escaped, regex
from rightcall.catalog.tidy import is_place
from rightcall.catalog.tool import Tool
from rightcall.errors import Unreadable
from rightcall.gate.repair.choices import Log
from rightcall.gate.repair.values import Manner, conforms, fit, fit_object, json_text, manners, split_place
from rightcall.gate.repair.words import EMPTY_WORDS, joined, words_of
from rightcall.types import Parsed, Repair

ToolRepair = Callable[[dict[str, Any]], dict[str, Any] | None]
"""A repair for one tool: takes the arguments as they were read, returns them mended, or None to leave them."""

_ENVELOPES = frozenset(
    [
        "arguments",
        "args",
        "parameters",
        "params",
        "param",
        "input",
        "inputs",
        "kwargs",
        "tool_input",
        "toolinput",
        "tool_args",
        "toolargs",
        "action_input",
        "actioninput",
        "payload",
        "data",
        "body",
        "request",
        "call",
        "function",
        "tool_call",
        "functioncall",
        "toolcall",
        "properties",
        "values",
        "options",
    ]
)
_NAMING = frozenset({"name", "tool", "tool_name", "function", "function_name", "action"})
_NAMESPACE = regex(r"[./:]|__")
_BESIDE = frozenset(
    ["name", "tool", "tool_name", "function", "function_name", "action", "type", "id", "call_id", "tool_call_id"]
)


def normalise(tool: Tool, value: Any, log: Log, repair: ToolRepair | None = None) -> Any:
    """The arguments as the tool wants them, as far as that is certain and allowed. Every change is in the log."""
    shape, rules = tool.shape, tool.rules
    arguments = _unwrapped(value, tool, log) if log.led else value
    if not is_object(arguments):
        return arguments
    found = arguments
    declared = "manual_repair" in log.strategies
    if declared and repair is not None:
        found = _repaired(found, repair, log)
    if log.strategies:
        said = manners(rules) if declared else {"": Manner(required=frozenset(rules.required))}
        log.inside = said if len(said) > 1 else {}
        found = _moved(found, rules.aliases, log) if declared and rules.aliases else found
        found = _json_texts(fit_object(found, shape, "", log, 0, said[""]), rules.json_text, shape, log)
    return _with_defaults(found, rules.defaults)


def _moved(arguments: dict[str, Any], aliases: Mapping[str, str], log: Log) -> dict[str, Any]:
    """A declared alias that leads into an object: `lang` for `filter.language`. What is there already stays."""
    for given, meant in aliases.items():
        around, name = split_place(meant)
        inside = arguments.get(around, {})
        if not around or "." in around or "[" in meant or "." in given or given not in arguments:
            continue
        if is_object(inside) and name not in inside:
            rest = {key: value for key, value in arguments.items() if key != given}
            arguments = {**rest, around: {**inside, name: arguments[given]}}
            log.add(given, given, meant, "alias", 1.0)
    return arguments


def _unwrapped(value: Any, tool: Tool, log: Log) -> Any:
    """`{"arguments": {...}}`, `[{...}]` and the like, where the tool has no argument of that name."""
    for _ in range(4):
        if value is None or value == "":
            return {}
        if is_list(value) and len(value) == 1 and is_object(value[0]):
            log.add("", value, value[0], "unwrapped_list", 0.95)
            value = value[0]
            continue
        if not is_object(value):
            return value
        inner = _inner(value, tool, log)
        if inner is None:
            _half_wrapped(value, tool.shape, log)
            return value
        log.add("", value, inner, "unwrapped", 0.95)
        value = inner
    return value


def _inner(value: dict[str, Any], tool: Tool, log: Log) -> dict[str, Any] | None:
    """What an envelope holds: under a usual name, or under the tool's own."""
    shape = tool.shape
    strangers = [name for name in value if name not in shape.props]
    main = [name for name in strangers if name.lower() not in _BESIDE or is_object(value[name])]
    if len(strangers) != len(value) or len(main) != 1:
        return None
    name, reading = main[0], log.trial()
    if not _is_envelope(name) and not _is_name_of(name, tool):
        return None
    inside = _as_object(value[name], shape, name, reading)
    if inside is None or any(joined(name) == joined(known) for known in shape.props):
        return None
    other = next((value[key] for key in strangers if _names_another(key, value[key], tool)), None)
    if other is not None:
        log.problem("ambiguous_name", "", f"The arguments belong to another tool, `{escaped(other, 120)}`")
        return None
    fitting = sum(1 for key in inside if any(joined(key) == joined(known) for known in shape.props))
    if fitting or not reading.problems:
        log.extend(reading)
        return inside
    return None


def _half_wrapped(value: dict[str, Any], shape: Shape, log: Log) -> None:
    """Arguments both in an envelope and beside it: dropping the envelope would lose what it holds."""
    if not shape.closed or log.unknown == "keep" or not any(name in shape.props for name in value):
        return
    known = {joined(name) for name in shape.props}
    for name in value:
        if joined(name) in known or not _is_envelope(name):
            continue
        inside = _as_object(value[name], shape, name, log.trial())
        if inside is not None and any(joined(key) in known for key in inside):
            text = f"`{escaped(name, 120)}` contains arguments beside others; pass them all in one place"
            log.problem("ambiguous_name", name, text)


def _is_envelope(name: str) -> bool:
    """`arguments`, `toolInput`, `the_params`: words for what a call carries, and nothing else."""
    words = words_of(name)
    plain = all(word in _ENVELOPES or word in EMPTY_WORDS or word == "name" for word in words)
    return name.lower() in _ENVELOPES or (plain and any(word in _ENVELOPES for word in words))


def _is_name_of(name: str, tool: Tool) -> bool:
    """Whether a name is the tool's, perhaps with a namespace before it."""
    last = joined(_NAMESPACE.split(name)[-1])
    return any(joined(known) in (joined(name), last) for known in (tool.name, *tool.rules.names))


def _names_another(key: str, value: Any, tool: Tool) -> bool:
    return key.lower() in _NAMING and isinstance(value, str) and not _is_name_of(value, tool)


def _as_object(value: Any, shape: Shape, path: str, log: Log) -> dict[str, Any] | None:
    """The object that a value is or holds as text; what the text needed, or lacks, is in the log."""
    if is_object(value):
        return value
    if not isinstance(value, str) or value.lstrip()[:1] != "{":
        return None
    try:
        read = read_value(value, shape)
    except Unreadable:
        return None
    found = read.value
    if not is_object(found) or not log.read(path, value, read):
        return None
    for key in read.duplicates:
        log.problem("duplicate_key", f"{path}.{key}", f"`{escaped(f'{path}.{key}', 120)}` is given twice")
    if read.cut:
        log.problem("truncated", path, f"The text in `{path}` is truncated; resend the complete call")
    log.problems.extend(unsound(found, MAX_DEPTH))
    return found


def _repaired(arguments: dict[str, Any], repair: ToolRepair, log: Log) -> dict[str, Any]:
    """Run a tool's own repair on a copy: a function of the host's that fails must not lose the call."""
    try:
        mended = repair(dict(arguments))
    except Exception as error:  # noqa: BLE001 - whatever a registered function raises becomes a problem of this call
        log.problem("fault", "", f"this tool's registered repair failed: {error}")
        return arguments
    if mended is None or mended == arguments:
        return arguments
    log.add("", arguments, mended, "tool_repair", 0.95)
    return mended


def _json_texts(arguments: dict[str, Any], names: tuple[str, ...], shape: Shape, log: Log) -> dict[str, Any]:
    """Arguments whose text the tool reads as JSON; a list or an object stays one where it may stand there too."""
    for name in names:
        value, part = arguments.get(name), shape.props.get(name, ANY)
        if value is None or (not isinstance(value, str) and part.types and part.allows(json_type(value))):
            continue
        text = json_text(value, name, log, part.text_content, declared=True)
        if text is not value:
            arguments = {**arguments, name: text}
    return arguments


def _with_defaults(arguments: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Declared defaults for what is absent. Filling in is no repair: it changes nothing that was written."""
    missing = {
        name: deepcopy(value) for name, value in defaults.items() if name not in arguments and not is_place(name)
    }
    return {**arguments, **missing} if missing else arguments


# ── `rightcall.loads`: broken JSON in, the value that was meant out, with or without a schema ─────────────────────────

MAX_TEXT = 1_000_000
_MOST = 20
"""So many keys that stand twice are recorded."""


def loads(text: str, schema: Any = None, *, max_text: int = MAX_TEXT) -> Parsed:
    """Read a text that was meant to be JSON: what is there, also when it was cut off, and say what was done to it.

    With a JSON schema the value is brought to what the schema wants, where one reading exists. Raises `Unreadable`
    where no reading is likely, and for text of more than `max_text` characters that is broken or does not fit.

    >>> loads("{'city': 'Bern', days: 3,}").value
    {'city': 'Bern', 'days': 3}
    >>> loads('{"note": "cut o').truncated
    True
    >>> loads("two", {"enum": ["ONE", "TWO"]}).value
    'TWO'
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not everybody checks types
        raise TypeError(f"loads takes text, not {type(text).__name__}")
    shape = ANY if schema is None else _shape(schema)
    value, repairs, cut, end = attempt(text), (), False, len(text)
    if value is NO_JSON or (len(text) <= max_text and loses_digits(value, shape)):
        if len(text) > max_text:
            raise Unreadable(f"broken text of {len(text)} characters, more than the {max_text} allowed")
        value, repairs, cut, end = _read(text, shape)
    else:
        twice = duplicate_keys(text, value)
        repairs = tuple(_kept_last(path, value) for path in twice[:_MOST])
    if schema is not None and len(text) > max_text:
        _check_long(value, schema)
    elif schema is not None:
        value, repairs = _fitted(value, text, shape, repairs)
    return Parsed(value, repairs, min((repair.confidence for repair in repairs), default=1.0), cut, end)


def _shape(schema: Any) -> Shape:
    """The shape of a schema, made once for equal schemas."""
    try:
        return _cached_shape(msgspec.json.encode(schema))
    except (TypeError, ValueError, RecursionError):  # a schema that is no JSON, such as one with a Python object in it
        return shape_of(schema)


@lru_cache(maxsize=64)
def _cached_shape(schema: bytes) -> Shape:
    return shape_of(msgspec.json.decode(schema))


def _check_long(value: Any, schema: Any) -> None:
    """A long text is only checked, since bringing every value into shape would take too long."""
    from rightcall.catalog.schema import validator  # late: few texts are that long

    try:
        fits = validator(schema).is_valid(value)
    except ValueError as error:
        raise Unreadable(f"the schema cannot be used: {error!s:.200}") from None
    if not fits:
        raise Unreadable("the text does not match the schema and is too long to repair")


def _read(text: str, shape: Shape) -> tuple[Any, tuple[Repair, ...], bool, int]:
    read = read_value(text, shape)
    repairs, _ = repairs_of(read.marks, text, value=read.value)
    twice = tuple(_kept_last(path, read.value) for path in read.duplicates[:_MOST])
    return read.value, (*repairs, *twice), bool(read.cut), read.end


_STEPS = re.compile(r"[^.\[\]]+")


def _kept_last(path: str, value: Any) -> Repair:
    """Of a key that is given twice."""
    kept: Any = value
    for step in _STEPS.findall(path):
        if isinstance(kept, dict):
            kept = cast("dict[str, Any]", kept).get(step)
        elif isinstance(kept, list) and step.isdecimal() and int(step) < len(cast("list[Any]", kept)):
            kept = cast("list[Any]", kept)[int(step)]
        else:
            return Repair(path, None, None, "structure", "duplicate_key", 0.5, "given twice: the last one kept")
    return Repair(path, None, kept, "structure", "duplicate_key", 0.5, "given twice: the last one kept")


def _fitted(value: Any, text: str, shape: Shape, repairs: tuple[Repair, ...]) -> tuple[Any, tuple[Repair, ...]]:
    """The value as the schema wants it, as far as it is there. Values of another type are no reading of the text."""
    log = Log(unknown="keep")
    fitted = fit(value, shape, "", log)
    if not conforms(fitted, shape, whole=False):
        raise Unreadable(f"the text contains no value that the schema accepts: {text[:80]!r}")
    return fitted, (*repairs, *log.repairs)

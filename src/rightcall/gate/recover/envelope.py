"""From a JSON object to the calls it holds: every common way to name the tool and to hand over its arguments (R-03)."""

from __future__ import annotations

from typing import Any, NamedTuple

from rightcall.base.json.find import read_value
from rightcall.base.json.marks import RULES, Late, is_list, is_object, json_type
from rightcall.base.json.shape import ANY, CONTAINERS, NUMERIC, Shape
from rightcall.base.json.strict import NO_JSON, attempt
from rightcall.errors import Unreadable
from rightcall.gate.recover.window import Take, Tools

NAMES = ("tool_name", "tool", "name", "function", "function_name", "action", "toolName", "recipient_name")
ARGUMENTS = (
    "arguments", "parameters", "params", "args", "tool_args", "input", "action_input", "tool_input", "toolInput",
    "tool_parameters", "kwargs", "toolArgs",
)  # fmt: skip
_INNER = ("function", "function_call", "tool_call", "functionCall", "tool_use", "call")
_LISTS = ("tool_calls", "toolCalls", "calls", "function_calls", "tools_calls")
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id", "toolCallId")
_ABOUT = frozenset({"type", "thought", "thoughts", "reasoning", "headline", "index", *_IDS})
"""What else stands in an envelope and is no argument."""

_RECORDS = frozenset(
    {"role", "session_id", "hook_event_name", "jsonrpc", "result", "output", "status", "error", "_meta"}
)
"""What stands in the record of a call or in a message, and not in a call amid prose."""

NAME = Late(r"[^\s\"'`{}\[\]()<>,;=?!*]{1,160}")
_QUICK = Late(rf"[\"'“]?(?:{'|'.join(NAMES)}|{'|'.join(_LISTS)})[\"'”]?\s*[:=]")
_WRITTEN = Late(rf"[\"'“]?\b(?:{'|'.join(NAMES)})[\"'”]?\s*[:=]+\s*[\"'“]([^\"'“”\n]{{1,160}})[\"'”]")
_TEXT = Shape()
_TEXT.types = frozenset({"string"})


class Enclosed(NamedTuple):
    """A call as its envelope has it. `arguments` is None where the envelope has none."""

    name: str
    arguments: Any
    id: str | None
    fault: str = ""
    """Why it cannot be told what was meant."""


def may_hold_call(text: str) -> bool:
    """Whether a JSON text has any of the keys that name a tool: a look before the work of decoding it."""
    return _QUICK.search(text) is not None


def written_name(text: str) -> str:
    """The tool that a damaged envelope names, as far as can be told without reading it."""
    found = _WRITTEN.search(text)
    return found[1] if found is not None else ""


def enclosing(shape: Shape) -> Shape:
    """The shape of an envelope around arguments of this shape."""
    envelope = Shape()
    envelope.types = frozenset({"object"})
    envelope.props = {**dict.fromkeys(NAMES, _TEXT), **dict.fromkeys(ARGUMENTS, shape)}
    envelope.props["function"] = ANY  # a name, or an envelope of its own
    return envelope


def calls_in(value: Any, tools: Tools, *, marked: bool) -> list[Enclosed]:
    """The calls in a JSON value. `marked`: it stood where only calls stand, so that less has to be proven."""
    if is_object(value) and len(value) == 2 and type(value.get("arguments")) is dict:  # what most models write
        name: Any = value.get("name")
        if type(name) is str and NAME.fullmatch(name) and "properties" not in value["arguments"]:
            return [Enclosed(name, value["arguments"], None)]
    if is_list(value):
        return [call for item in value for call in calls_in(item, tools, marked=marked)]
    if not is_object(value) or (not marked and not _RECORDS.isdisjoint(value)):
        return []
    for key in _LISTS:
        if is_list(value.get(key)):
            return [call for item in value[key] for call in calls_in(item, tools, marked=True)]
    call = _single(value, tools, marked)
    return [] if call is None else [call]


def _single(value: dict[str, Any], tools: Tools, marked: bool) -> Enclosed | None:
    for key in _INNER:
        inner = value.get(key)
        if is_object(inner) and not any(isinstance(value.get(name), str) for name in NAMES):
            found = _single(inner, tools, marked)
            return found and found._replace(id=found.id or _id(value))
    for key in NAMES:
        name = value.get(key)
        if isinstance(name, str) and (name := name.strip()) and (marked or NAME.fullmatch(name)):
            found = _with_arguments(value, key, name, tools, marked)
            if found is not None and _names_another(value, key, name, tools):
                return found._replace(arguments=None, fault="it names two tools")
            return found
    return _keyed(value) if marked else None


def _names_another(value: dict[str, Any], name_key: str, name: str, tools: Tools) -> bool:
    """Whether a second key names a second tool, and is no argument of the first."""
    declared = tools.shape(name).props
    others = [value.get(key) for key in NAMES if key != name_key and key in value and key not in declared]
    own = tools.name(name)
    return any(isinstance(one, str) and tools.name(one) not in (None, own) for one in others)


def _with_arguments(value: dict[str, Any], name_key: str, name: str, tools: Tools, marked: bool) -> Enclosed | None:
    keys = [key for key in ARGUMENTS if key in value and key != name_key]
    shape = tools.shape(name)
    if not keys:
        beside = _beside(value, name_key, None, shape)
        if not beside and not shape.props and marked and tools.name(name) is not None:
            return Enclosed(name, {}, _id(value))  # a tool that takes no arguments
        return Enclosed(name, beside or None, _id(value)) if marked else None
    arguments = value[keys[0]]
    if not marked and not (
        is_object(arguments) or (isinstance(arguments, str) and arguments.lstrip(' \n"\\')[:1] == "{")
    ):
        return None
    if is_object(arguments):
        if not marked and _is_schema(arguments, value):
            return None
        beside = _beside(value, name_key, keys[0], shape)
        if any(key in arguments and arguments[key] != item for key, item in beside.items()):
            return Enclosed(name, None, _id(value), "an argument is given twice, and not the same")
        if beside:
            arguments = {**beside, **arguments}
    if any(is_object(value[key]) and value[key] != arguments and key not in shape.props for key in keys[1:]):
        return Enclosed(name, None, _id(value), "it has two objects of arguments")
    return Enclosed(name, {} if arguments is None else arguments, _id(value))


def _beside(value: dict[str, Any], name_key: str, argument_key: str | None, shape: Shape) -> dict[str, Any]:
    """Arguments that were left beside the object they belong in: those that the tool declares."""
    return {
        key: item
        for key, item in value.items()
        if key in shape.props and key not in (name_key, argument_key) and key not in _ABOUT
    }


def _is_schema(arguments: dict[str, Any], envelope: dict[str, Any]) -> bool:
    """A tool's definition has a name and parameters too."""
    return "description" in envelope or (is_object(arguments.get("properties")) and "type" in arguments)


def _keyed(value: dict[str, Any]) -> Enclosed | None:
    """`{"get_weather": {"city": "Bern"}}`: the name is the key."""
    if len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    return Enclosed(name, arguments, None) if is_object(arguments) and NAME.fullmatch(name) else None


def _id(value: dict[str, Any]) -> str | None:
    return next((str(value[key]) for key in _IDS if isinstance(value.get(key), str | int)), None)


# ── values ──
# The text between two tags, as the value it stands for: the schema decides, then what the markup says of itself.

_TEXT_VALUES = frozenset({"string"})
_CERTAIN = 0.9
_WORDS = {"true": True, "false": False}


def edges(raw: str) -> str:
    """A value between newlines: one at each end belongs to the markup, everything else to the value.

    >>> edges("\\n  indented\\n")
    '  indented'
    """
    return raw[1:-1] if len(raw) > 1 and raw[0] == raw[-1] == "\n" else raw


def typed(raw: str, shape: Shape, stated: str = "") -> Any:
    """`raw` as the type the schema declares, else as the markup states (`string`, `json`), else as it is."""
    types = shape.types
    if types == _TEXT_VALUES:
        return raw
    if not types and shape.enum is not None:
        types = frozenset(json_type(choice) for choice in shape.enum)
    if not types:
        return raw if stated in ("", "string") else _stated(raw)
    bare = raw.strip()
    if "null" in types and bare in ("null", "None"):  # some templates write Python's word
        return None
    if types <= {"string", "null"}:
        return raw
    if "boolean" in types and bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    value = _number(bare) if types & NUMERIC else NO_JSON
    if value is NO_JSON and types & CONTAINERS and bare[:1] in ("{", "[", "(", "<", "\\", '"'):
        value = _container(bare, shape)
    if value is NO_JSON:
        return raw if "string" in types or not stated else _fitting(raw, types)
    return value


def _stated(raw: str) -> Any:
    value = attempt(raw.strip())
    if value is NO_JSON and raw.strip() in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[raw.strip()]
    return raw if value is NO_JSON else value


def _fitting(raw: str, types: frozenset[str]) -> Any:
    value = _stated(raw)
    return value if json_type(value) in types else raw


def _number(bare: str) -> Any:
    value = attempt(bare)
    return value if type(value) in (int, float) else NO_JSON


def _container(bare: str, shape: Shape) -> Any:
    """Only where one reading is certain: else the text stays, and the gate repairs it or says what is wrong."""
    try:
        read = read_value(bare, shape)
    except Unreadable:
        return NO_JSON
    certain = not read.cut and not read.duplicates and all(RULES[mark].confidence >= _CERTAIN for mark in read.marks)
    return read.value if certain and json_type(read.value) in shape.types else NO_JSON


# ── items ──
# The shapes in which one call is written; formats put markers around them. What stands at a place decides which.


class Item(NamedTuple):
    """What was read at one place: where it ends, and the calls in it (a JSON list may hold several)."""

    end: int
    takes: tuple[Take, ...]
    kind: str = "json"
    """The shape: json, python, tags, pairs, braces, name."""

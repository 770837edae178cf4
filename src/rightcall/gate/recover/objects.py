"""A call as a JSON object: `{"name": …, "arguments": {…}}` in any envelope, whole, damaged or cut off.

Brackets say where the object ends; where its quotes are damaged, the closing marker does. Either way the lenient
reader gets exactly the text of the object, so that nothing that follows can change the reading.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from rightcall.base.json.find import read_lenient, read_value
from rightcall.base.json.marks import RULES, is_list, is_object, json_type
from rightcall.base.json.reader import Read
from rightcall.base.json.shape import ANY, CONTAINERS, NUMERIC, Shape
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys, whole_end
from rightcall.base.json.values import Balance, unescape
from rightcall.base.text import regex
from rightcall.catalog.catalog import may_name_tool
from rightcall.errors import Unreadable
from rightcall.gate.recover.window import Literals, Take, Tools, Waiting, Window, blank, bound, closing, matched, search

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

NAME = regex(r"[^\s\"'`{}\[\]()<>,;=?!*]{1,160}")
_QUICK = regex(rf"[\"'“]?(?:{'|'.join(NAMES)}|{'|'.join(_LISTS)})[\"'”]?\s*[:=]")
_WRITTEN = regex(rf"[\"'“]?\b(?:{'|'.join(NAMES)})[\"'”]?\s*[:=]+\s*[\"'“]([^\"'“”\n]{{1,160}})[\"'”]")
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
            return Enclosed(name, None, _id(value), "an argument is given twice with different values")
        if beside:
            arguments = {**beside, **arguments}
    if any(is_object(value[key]) and value[key] != arguments and key not in shape.props for key in keys[1:]):
        return Enclosed(name, None, _id(value), "it has two argument objects")
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
_SURE_ARGUMENTS = 0.9
_BOOLEANS = {"true": True, "false": False}


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
    if "boolean" in types and bare.lower() in _BOOLEANS:
        return _BOOLEANS[bare.lower()]
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
    certain = (
        not read.cut and not read.duplicates and all(RULES[mark].confidence >= _SURE_ARGUMENTS for mark in read.marks)
    )
    return read.value if certain and json_type(read.value) in shape.types else NO_JSON


# ── items ──
# The shapes in which one call is written; formats put markers around them. What stands at a place decides which.


class Item(NamedTuple):
    """What was read at one place: where it ends, and the calls in it (a JSON list may hold several)."""

    end: int
    takes: tuple[Take, ...]
    kind: str = "json"
    """The shape: json, python, tags, pairs, braces, name."""


_TRIES = 4
"""How many closing markers inside what may be a string are tried as the end of a damaged object."""

_SURE = 0.7
_CERTAIN = 0.95
_SHORT = 1000
_WORDS = frozenset({"unquoted_key", "missing_colon", "unquoted_text"})
"""`{invalid json}`: with all of these there is nothing left that was JSON."""
_STRING = regex(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\\Z)?', re.S)
_TEMPLATE = ("%", "#")
"""`{% for %}` and `{# … #}` are no objects."""

_FOLLOWS = frozenset("<`,;[]}{\n")


def object_item(window: Window, at: int, closes: Literals, *, marked: bool, name: str = "") -> Waiting[Item | None]:
    """Read the object at `at`. `marked`: a format's marker stood before it. `name`: the tool's name stood before it,
    and the object is its arguments."""
    end = whole_end(window.text, at)
    if 0 <= end <= at + window.cap:
        return (yield from _balanced(window, at, end, closes, marked, name))
    while at + 1 >= len(window.text) and not window.final:
        yield
    if window.text[at + 1 : at + 2] in _TEMPLATE:
        return None
    read = _strictly if window.effort < 0 else _leniently
    return (yield from read(window, at, closes, marked, name))


def _leniently(window: Window, at: int, closes: Literals, marked: bool, name: str) -> Waiting[Item | None]:
    """Find the end of the object by its brackets, or where they are damaged by the marker that follows."""
    effort = window.effort
    balance = Balance(at)
    look, tries, inside = at + 1, 0, -1
    while True:
        text = window.text
        marker, limit = bound(window, at, look, closes if marked else None)
        end = balance.advance(text, limit)
        if end >= 0:
            if attempt(text[at:end]) is not NO_JSON:
                window.effort = effort  # what was tried on the way was not in vain, and a whole text never tries it
            return (yield from _balanced(window, at, end, closes, marked, name))
        if marker is not None:
            if not balance.quote:
                return _item(window, at, limit, name, marked, "closed")
            tries += 1
            if tries <= _TRIES:
                item = _item(window, at, limit, name, marked, "sure")
                if item is not None:
                    return item
            inside = limit if inside < 0 else inside
            look = marker.end()
            continue
        if len(text) >= at + window.cap:
            window.effort -= window.cap
            return _too_long(window, at, name) if marked else None
        if window.final:
            window.effort -= len(text) - at
            return _item(window, at, inside if inside >= 0 else len(text), name, marked)
        look = max(look, len(text) - closes.longest + 1)
        yield


def _strictly(window: Window, at: int, closes: Literals, marked: bool, name: str) -> Waiting[Item | None]:
    """In a text in which too much was read in vain, only what is plainly JSON counts."""
    end = yield from closing(window, at)
    if end < 0 or attempt(window.text[at:end]) is NO_JSON:
        window.effort -= min(len(window.text), at + window.cap) - at
        return None
    return (yield from _balanced(window, at, end, closes, marked, name))


def string_item(window: Window, at: int) -> Waiting[Item | None]:
    """A call that was encoded once more: a JSON string that holds the object."""
    text = yield from matched(window, _STRING, at, window.cap)
    inner = attempt(text[0]) if text is not None else NO_JSON
    value = attempt(inner) if isinstance(inner, str) else NO_JSON
    calls = calls_in(value, window.tools, marked=True) if is_object(value) else []
    if text is None or len(calls) != 1:
        return None
    read = Read(value, text.end(), {"double_encoded": 0}, "", duplicate_keys(inner, value))
    return _take(window, at, text[0], read, "", marked=True)


def _balanced(window: Window, at: int, end: int, closes: Literals, marked: bool, name: str) -> Waiting[Item | None]:
    """The brackets close at `end`. Damaged quotes can make them seem to; what follows tells."""
    body = window.text[at:end]
    if not name and not may_hold_call(body) and not marked:
        return Item(end, ())
    value = attempt(body)
    if value is not NO_JSON:
        return _take(window, at, body, Read(value, end, {}, "", duplicate_keys(body, value)), name, marked)
    item = _item(window, at, end, name, marked, "closed")
    if not marked or (item is not None and all(_certain(take) for take in item.takes)):
        return item
    after = yield from blank(window, end)
    newline = "\n" in window.text[end:after]
    if after < len(window.text) and not newline and window.text[after] not in _FOLLOWS:
        longer = yield from _up_to_marker(window, at, end, closes, name)
        if longer is not None:
            return longer
    return item


def _certain(take: Take) -> bool:
    return not take.fault and all(RULES[mark].confidence >= _CERTAIN for mark in take.marks)


def _up_to_marker(window: Window, at: int, end: int, closes: Literals, name: str) -> Waiting[Item | None]:
    marker = yield from search(window, closes, end, at)
    return _item(window, at, marker.start(), name, True, "sure") if marker is not None else None


def _item(
    window: Window, at: int, end: int, name: str, marked: bool, how: Literal["", "closed", "sure"] = ""
) -> Item | None:
    """Read a damaged object leniently. `closed`: what is missing at its end was left out, not cut off; `sure`: only
    a complete and certain reading counts."""
    body = window.text[at:end]
    if not marked and not name and not may_hold_call(body):
        return None if end == len(window.text) else Item(end, ())
    effort, window.effort = window.effort, window.effort - 8 * len(body)
    wanted = name or written_name(body)
    shape = window.tools.shape(wanted)
    try:
        read = read_lenient(body, shape if name else enclosing(shape))
    except Unreadable as error:
        if how == "sure" or not marked or not (wanted and NAME.fullmatch(wanted)):
            return None
        return Item(end, (Take(at, end, wanted, None, source=body, fault=str(error)),))
    if "ellipsis" in read.marks:
        return None  # `{...}` stands for arguments, it has none
    if read.marks.keys() >= _WORDS:
        return (
            Item(end, (Take(at, end, wanted, None, source=body, fault="it is text in brackets, not JSON"),))
            if marked
            else None
        )
    if how == "sure" and (read.cut or any(RULES[mark].confidence < _SURE for mark in read.marks)):
        return None
    if how == "closed" and read.cut == "closers":
        marks = {mark: place for mark, place in read.marks.items() if mark != "cut_closers"}
        read = read._replace(cut="", marks={**marks, "missing_closer": len(body)})
    item = _take(window, at, body, read, name, marked)
    if item is not None and item.takes and item.takes[0].arguments is not None:
        window.effort = effort  # not in vain
    return item


def _take(window: Window, at: int, body: str, read: Read, name: str, marked: bool) -> Item | None:
    end = at + len(body)
    if name:
        calls = [_own_envelope(name, read.value, window)]
    else:
        calls = calls_in(read.value, window.tools, marked=marked)
        if not marked:
            calls = [call for call in calls if _believable(call, window, read, body)]
    if not calls:
        if marked and read.cut and (len(body) < _SHORT or NAME.fullmatch(written_name(body))):
            return Item(
                end, (Take(at, end, written_name(body), None, source=body, cut=read.cut, fault="it is truncated"),)
            )
        if not marked:
            return Item(end, ())
        return Item(end, (Take(at, end, written_name(body), None, source=body, fault="it names no tool"),))
    last = len(calls) - 1
    return Item(
        end,
        tuple(
            Take(
                at, end, call.name, call.arguments, call.id, read.marks, body, read.cut if nth == last else "",
                read.duplicates, call.fault if call.fault or call.arguments is not None else "there are no arguments",
            )
            for nth, call in enumerate(calls)
        ),
    )  # fmt: skip


def _own_envelope(name: str, value: Any, window: Window) -> Enclosed:
    """After a name comes the object of its arguments, or an envelope that says the name again."""
    inner = calls_in(value, window.tools, marked=False) if is_object(value) else []
    if len(inner) == 1 and len(value) <= 3:
        tools = window.tools
        declared = tools.shape(name).props.keys() & value.keys()
        again = inner[0].name == name or (tools.known and not declared and tools.name(inner[0].name) is not None)
        if again and len(declared) < 2:
            return inner[0]
    return Enclosed(name, value, None)


def _believable(call: Enclosed, window: Window, read: Read, body: str) -> bool:
    """Without a marker it is a call only if a known tool is named, in quotes, and the reading is certain enough."""
    if read.marks and f'"{call.name}"' not in body and f"'{call.name}'" not in body:
        return False
    if call.arguments is None and not call.fault:
        return False
    if window.tools.name(call.name) is None and (window.tools.known or not may_name_tool(call.name)):
        return False
    return all(RULES[mark].confidence >= 0.5 for mark in read.marks if not mark.startswith("cut"))


def _too_long(window: Window, at: int, name: str) -> Item:
    end = at + window.cap
    head = window.text[at : at + min(2000, window.cap)]
    fault = f"it is longer than {window.cap} characters"
    return Item(end, (Take(at, end, name or written_name(head), None, source=head, fault=fault),))


# ── strings ──
# Strings of a notation whose quotes are sure: lifted out before the lenient reader, which would weigh every quote,
# and put back into what it read.

_MARK = "\ue000"
"""Stands, with a number, for a string; from a part of Unicode that no text uses."""

_TOKEN = regex(rf"{_MARK}(\d+)")
_QUOTE = regex(r"[\"']")
_INSIDE = {quote: regex(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.S) for quote in "\"'"}
_PREFIX = regex(r"(?<![\w.])[rRbBuUfF]{1,2}$")
_BEFORE = frozenset("([{,:=")
_JOINS = frozenset("(=")
"""After these a string beside a string is its other half; in a list a comma may be missing."""


class Lifted:
    """A text whose strings have been replaced by tokens."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.strings: list[str] = []
        self.sound = True
        """False where the text itself has the mark."""

    def add(self, text: str) -> None:
        self.sound = self.sound and _MARK not in text
        self.parts.append(text)

    def lift(self, string: str) -> None:
        self.parts.append(f'"{_MARK}{len(self.strings)}"')
        self.strings.append(string)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def restored(self, value: Any) -> Any:
        """`value` with its strings back in their places, keys included."""
        if isinstance(value, str):
            return _TOKEN.sub(lambda found: self.strings[int(found[1])], value) if _MARK in value else value
        if is_object(value):
            return {self.restored(key): self.restored(item) for key, item in value.items()}
        if is_list(value):
            return [self.restored(item) for item in value]
        return value


def lift_python(text: str) -> Lifted | None:
    """The strings of a Python expression; None where its quotes do not pair as Python pairs them."""
    lifted = Lifted()
    at, joins = 0, False
    while (found := _QUOTE.search(text, at)) is not None:
        start, quote = found.start(), found[0]
        head = text[at:start]
        prefix = _PREFIX.search(head)
        before = (head[: prefix.start()] if prefix else head).rstrip()
        joined = joins and not before
        if not joined and before[-1:] not in _BEFORE:
            return None
        raw, end = _raw(text, start, quote)
        if end < 0:
            return None
        if "{" in raw and prefix and "f" in prefix[0].lower():
            return None  # it has no value before it is run
        decoded = unescape(raw) if "\\" in raw and not (prefix and "r" in prefix[0].lower()) else None
        if decoded is not None and (decoded.broken or decoded.lone):
            return None
        string = raw if decoded is None else decoded.text
        if joined:
            lifted.strings[-1] += string
        else:
            joins = before[-1:] in _JOINS
            lifted.add(head[: prefix.start()] if prefix else head)
            lifted.lift(string)
        at = end
    lifted.add(text[at:])
    return lifted if lifted.sound else None


def _raw(text: str, start: int, quote: str) -> tuple[str, int]:
    """What stands between the quotes, and where the text goes on; -1 when they never close."""
    if text.startswith(quote * 3, start):
        end = text.find(quote * 3, start + 3)
        return text[start + 3 : end], end + 3 if end >= 0 else -1
    end = _INSIDE[quote].match(text, start + 1).end()  # type: ignore[union-attr]
    return text[start + 1 : end], end + 1 if text[end : end + 1] == quote else -1


# ── spoken ──
# Arguments as plain text, where a tool takes just one: code for an interpreter, a question for a search.

INTERPRETERS = ("python", "ipython", "code_interpreter", "interpreter")
"""Names of tools to which models write code as it is."""


def spoken(window: Window, start: int, end: int, name: str, text: str) -> Take | None:
    """A call whose argument is this text; None for a tool that takes more than one, or other things."""
    props = window.tools.shape(name).props
    if len(props) != 1 or not text.strip():
        return None
    ((key, shape),) = props.items()
    return Take(start, end, name, {key: text.strip()}, kind="text") if shape.allows("string") else None


def text_end(window: Window, at: int, stops: Literals) -> Waiting[int]:
    """Where a text that has no end of its own ends: before one of these words, or where everything does."""
    stop = yield from search(window, stops, at, at)
    return stop.start() if stop is not None else min(len(window.text), at + window.cap)

"""A call as a JSON object: `{"name": …, "arguments": {…}}` in any envelope, whole, damaged or cut off.

Brackets say where the object ends; where its quotes are damaged, the closing marker does. Either way the lenient
reader gets exactly the text of the object, so that nothing that follows can change the reading.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from rightcall.base.json.find import read_lenient
from rightcall.base.json.marks import RULES, Late, is_list, is_object
from rightcall.base.json.reader import Read
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys, whole_end
from rightcall.base.json.strings import Balance, unescape
from rightcall.catalog.names import may_name_tool
from rightcall.errors import Unreadable
from rightcall.gate.recover.envelope import NAME, Enclosed, Item, calls_in, enclosing, may_hold_call, written_name
from rightcall.gate.recover.window import Literals, Take, Waiting, Window, blank, bound, closing, matched, search

_TRIES = 4
"""How many closing markers inside what may be a string are tried as the end of a damaged object."""

_SURE = 0.7
_CERTAIN = 0.95
_SHORT = 1000
_WORDS = frozenset({"unquoted_key", "missing_colon", "unquoted_text"})
"""`{invalid json}`: with all of these there is nothing left that was JSON."""
_STRING = Late(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\\Z)?', re.S)
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
            Item(end, (Take(at, end, wanted, None, source=body, fault="it is words in brackets, not JSON"),))
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
            return Item(end, (Take(at, end, written_name(body), None, source=body, cut=read.cut, fault="cut off"),))
        return Item(end, ()) if not marked else _no_call(at, end, body)
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


def _no_call(at: int, end: int, body: str) -> Item:
    return Item(end, (Take(at, end, written_name(body), None, source=body, fault="it names no tool"),))


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

_TOKEN = Late(rf"{_MARK}(\d+)")
_QUOTE = Late(r"[\"']")
_INSIDE = {quote: Late(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.S) for quote in "\"'"}
_PREFIX = Late(r"(?<![\w.])[rRbBuUfF]{1,2}$")
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

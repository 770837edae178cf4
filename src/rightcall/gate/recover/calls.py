"""A call as a program writes it: `get_weather(city="Bern", days=3)`, or with braces as Gemma does."""

from __future__ import annotations

import re
from typing import Any

from rightcall.base.json.marks import RULES, is_object
from rightcall.base.json.reader import Read, Reader
from rightcall.base.json.shape import ANY, CONSTANTS, Shape
from rightcall.base.json.strings import Balance
from rightcall.base.json.values import ARGUMENT
from rightcall.base.text import regex
from rightcall.errors import Unreadable
from rightcall.gate.recover.objects import Item, Lifted, lift_python
from rightcall.gate.recover.window import (
    Literals,
    Take,
    Waiting,
    Window,
    blank,
    bound,
    closing,
    literal,
    matched,
    search,
)

HEAD = regex(r"[A-Za-z_][\w.]*\(")
_OWN_NOTATION = frozenset(
    {"python_call", "python_constant", "python_literal", "single_quotes", "foreign_escape", "odd_space"}
)
"""What is a repair elsewhere and simply the language here."""

_IDENTIFIER = regex(r"[A-Za-z_$][\w$.]*")
_EXPRESSIONS = frozenset({"unquoted_text", "call_value", "expression"})
"""A name, an attribute or a call where a value should stand: what it would be is not in the text."""
_NO_VALUE = "an argument must be a literal value, not an expression"

_NO_ARGUMENTS = regex(r"\(\s*\)")


def python_item(window: Window, at: int, bracket: int, closes: Literals, *, marked: bool) -> Waiting[Item | None]:
    """Read the call at `at` whose opening bracket stands at `bracket`."""
    if window.effort < 0:
        return None
    name = window.text[at:bracket]
    plain = _plain(window.text, bracket + 1, at + window.cap, window.tools.shape(name))
    if plain is not None and _IDENTIFIER.fullmatch(name):
        return Item(plain[1], (Take(at, plain[1], name, plain[0]),), "python")
    balance = Balance(bracket)
    look = bracket
    while True:
        text = window.text
        marker, limit = bound(window, at, look, closes if marked else None)
        end = balance.advance(text, limit)
        if end >= 0:
            item = _call(window, at, bracket, end)
            if item is None:
                window.effort -= 8 * (end - at)
            if item is not None or not marked:
                return item
            return (yield from _damaged(window, at, bracket, closes))
        if marker is not None and not balance.quote:
            return _lenient(window, at, bracket, limit)
        if marker is not None:
            item = _lenient(window, at, bracket, limit)
            if item is not None and item.takes[0].arguments is not None and not item.takes[0].cut:
                return item
            look = marker.end()
            continue
        too_long = len(text) >= at + window.cap
        if too_long or (window.final and not marked):
            window.effort -= min(len(text) - at, window.cap)
            return None
        if window.final:
            return _lenient(window, at, bracket, len(text))
        look = max(look, len(text) - closes.longest + 1)
        yield


def _damaged(window: Window, at: int, bracket: int, closes: Literals) -> Waiting[Item | None]:
    """The brackets close, but not where they should: the marker says where the calls end."""
    marker = yield from search(window, closes, bracket, at)
    end = marker.start() if marker is not None else min(len(window.text), at + window.cap)
    return _lenient(window, at, bracket, end)


def _call(window: Window, at: int, bracket: int, end: int) -> Item | None:
    """A call that is written as it should be, up to `end`."""
    text = window.text[at:end]
    name = text[: bracket - at]
    if _NO_ARGUMENTS.fullmatch(text, bracket - at):
        return Item(end, (Take(at, end, name, {}),), "python")
    lifted = lift_python(text)
    if lifted is None:
        return None
    try:
        read = Reader(lifted.text, window.tools.shape(name)).read(0)
    except Unreadable:
        return None
    if read.end != len(lifted.text) or read.cut or not is_object(read.value) or read.callee != name:
        return None
    if any(RULES[mark].confidence < 1 and mark not in _OWN_NOTATION for mark in read.marks):
        return None
    read = read._replace(value=lifted.restored(read.value))
    return Item(end, (_take(at, end, name, read, text),), "python")


_ARGUMENT = regex(
    r"\s*([A-Za-z_]\w*)\s*=\s*"
    r"(?:\"([^\"\\\n]*)\"|'([^'\\\n]*)'|(-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?)|(True|False|None|true|false|null)\b)"
    r"\s*(?:,(?!\s*\))|(\)))"
)


def _plain(text: str, at: int, limit: int, shape: Shape) -> tuple[dict[str, Any], int] | None:
    """Arguments of plain values, all of them sure, and where they end: most are like that. None where there is more to
    weigh, or not all of it is there."""
    found: dict[str, Any] = {}
    while (one := _ARGUMENT.match(text, at, limit)) is not None:
        key, double, single, number, word, last = one.groups()
        if key in found or (number is not None and shape.props.get(key, ANY).verbatim):
            return None
        if number is not None:
            found[key] = float(number) if "." in number else int(number)
        else:
            found[key] = CONSTANTS[word][0] if word is not None else double if double is not None else single
        at = one.end()
        if last is not None:
            return found, at
    return None


def _lenient(window: Window, at: int, bracket: int, end: int) -> Item | None:
    """A damaged call: the reader decides where it ends, at most at `end`."""
    text = window.text[at:end].rstrip()
    name = text[: bracket - at]
    window.effort -= 8 * len(text)
    trimmed, fault = text.removesuffix("]"), ""
    for body in dict.fromkeys((text, trimmed)):
        reader = Reader(body, window.tools.shape(name))
        try:
            read = reader.read(0)
        except Unreadable as error:
            fault = _NO_VALUE if "expression" in reader.marks else str(error)
            continue
        if _EXPRESSIONS & read.marks.keys():
            fault = _NO_VALUE
            continue
        if is_object(read.value) and read.callee == name:
            window.effort += 8 * len(text)  # not in vain
            stop = at + read.end
            return Item(stop, (_take(at, stop, name, read, body),), "python")
        fault = "its arguments have no names"
    named = fault == _NO_VALUE and ARGUMENT.match(text, bracket - at + 1)
    if not _is_tool(window, name) if window.tools.known else not named:
        return None  # any code looks like that
    return Item(end, (Take(at, end, name, None, source=text, fault=fault),), "python")


def _is_tool(window: Window, name: str) -> bool:
    """Whether a tool is called; also as Llama's built-in ones are, `brave_search.call(query="…")`."""
    return any(window.tools.name(one) is not None for one in (name, name.removesuffix(".call")))


def expression_item(window: Window, at: int, bracket: int) -> Waiting[Item | None]:
    """The refusal of a call that stands without a marker and has an expression for a value; None for any other."""
    end = yield from closing(window, bracket)
    item = _lenient(window, at, bracket, end) if end >= 0 else None
    return item if item is not None and item.takes[0].fault == _NO_VALUE else None


def _take(at: int, end: int, name: str, read: Read, text: str) -> Take:
    marks = {mark: place for mark, place in read.marks.items() if mark not in _OWN_NOTATION}
    return Take(at, end, name, read.value, marks=marks, source=text, cut=read.cut, duplicates=read.duplicates)


def arguments_follow(window: Window, at: int) -> Waiting[bool]:
    """Whether what comes after an opening bracket can be the arguments of a call: `name=`, or `)`."""
    at = yield from blank(window, at)
    while True:
        found = _FIRST.match(window.text, at)
        if found is None or found.end() < len(window.text) or window.final:
            return found is not None and found[1] is not None
        yield


_FIRST = regex(r"(?:[A-Za-z_]\w*\s*)?([=)])?")


# ── brace call ──
# A call as Gemma writes it: `call:name{city:<|"|>Bern<|"|>,days:3}`, where a word of its own stands for the quotes.

BRACE_HEAD = Literals(["call:"])
_NAME = regex(r"call:\s*([^\s{}()\[\]<>\"']+)\s*")
_QUOTES = Literals(['<|"|>', "<escape>"])
_OWN_NOTATION_BRACE = frozenset({"unquoted_key", "odd_space", "single_quotes"})
_STOP = regex(r"<\|\"\|>|<escape>|[\"{}\[\]]")
_PLAIN_STRING = regex(r"[^\"\\]*(?:\\.[^\"\\]*)*", re.S)


def brace_item(window: Window, at: int) -> Waiting[Item | None]:
    """Read the call at `at`, which begins with `call:`."""
    head = yield from matched(window, _NAME, at)
    if head is None:
        return None
    name, opening = head[1], head.end()
    if opening >= len(window.text) or window.text[opening] != "{":
        return None
    scan = _Braces(opening)
    while True:
        held = 0 if window.final else _QUOTES.held(window.text, opening)
        done = scan.advance(window.text, min(len(window.text) - held, at + window.cap))
        if done or window.final or len(window.text) >= at + window.cap:
            break
        yield
    end = scan.at if done else min(len(window.text), at + window.cap)
    if scan.inside or (not done and scan.depth > 1):
        return Item(end, (Take(at, end, name, None, cut="value", fault="it is truncated"),), "braces")
    item = _read(window, at, end, name, scan.lifted(window.text))
    if "unquoted_text" in item.takes[0].marks:
        after = yield from blank(window, end)
        if after < len(window.text) and (yield from literal(window, after, window.markers.closes)) < 0:
            return _refused(at, end, name, window.text[at:end], "text without quotes has brackets in it")
        own = {mark: place for mark, place in item.takes[0].marks.items() if mark != "unquoted_text"}
        item = item._replace(takes=(item.takes[0]._replace(marks=own),))
    return item


def _refused(at: int, end: int, name: str, body: str, fault: str) -> Item:
    return Item(end, (Take(at, end, name, None, source=body, fault=fault),), "braces")


def _read(window: Window, at: int, end: int, name: str, lifted: Lifted) -> Item:
    body = lifted.text
    if not lifted.sound:
        return _refused(at, end, name, body, "it contains a control character")
    try:
        read = Reader(body, window.tools.shape(name)).read(0)
    except Unreadable as error:
        return _refused(at, end, name, body, str(error))
    if not is_object(read.value):
        return _refused(at, end, name, body, "its arguments are not an object")
    marks = {mark: place for mark, place in read.marks.items() if mark not in _OWN_NOTATION_BRACE}
    value = lifted.restored(read.value)
    take = Take(at, end, name, value, marks=marks, source=body, cut=read.cut, duplicates=read.duplicates)
    return Item(end, (take,), "braces")


class _Braces:
    """Finds the closing brace of a growing text and, on the way, where the strings are."""

    def __init__(self, start: int) -> None:
        self.start = self.at = start
        self.depth = 0
        self.inside: str = ""
        self.opened = 0
        self.strings: list[tuple[int, int, str]] = []  # begin and end of the content, and the quote around it

    def advance(self, text: str, limit: int) -> bool:
        while self.at < limit:
            if self.inside:
                if not self._over_string(text, limit):
                    return False
                continue
            found = _STOP.search(text, self.at, limit)
            if found is None:
                self.at = limit
                return False
            self.at = found.end()
            if found[0] in "{[":
                self.depth += 1
            elif found[0] in "}]":
                self.depth -= 1
                if self.depth <= 0:
                    return True
            else:
                self.inside, self.opened = found[0], found.end()
        return False

    def _over_string(self, text: str, limit: int) -> bool:
        if self.inside == '"':
            end = _PLAIN_STRING.match(text, self.at, limit).end()  # type: ignore[union-attr]
            if end >= limit or text[end] != '"':
                self.at = end
                return False
        else:
            end = text.find(self.inside, self.at, limit)
            if end < 0:
                self.at = max(self.at, limit - len(self.inside) + 1)
                return False
        if self.inside != '"':
            self.strings.append((self.opened, end, self.inside))
        self.at = end + len(self.inside)
        self.inside = ""
        return True

    def lifted(self, text: str) -> Lifted:
        """The same without its strings, for the lenient reader."""
        lifted = Lifted()
        at = self.start
        for begin, end, quote in self.strings:
            lifted.add(text[at : begin - len(quote)])
            lifted.lift(text[begin:end])
            at = end + len(quote)
        lifted.add(text[at : self.at])
        return lifted

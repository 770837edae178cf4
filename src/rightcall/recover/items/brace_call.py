"""A call as Gemma writes it: `call:name{city:<|"|>Bern<|"|>,days:3}`, where a word of its own stands for the quotes."""

from __future__ import annotations

import re

from rightcall.errors import Unreadable
from rightcall.parse.kinds import is_object
from rightcall.parse.late import Late
from rightcall.parse.reader import Reader
from rightcall.recover.items import Item
from rightcall.recover.items.strings import Lifted
from rightcall.recover.take import Take
from rightcall.recover.window import Literals, Waiting, Window, blank, literal, matched

HEAD = Literals(["call:"])
_NAME = Late(r"call:\s*([^\s{}()\[\]<>\"']+)\s*")
_QUOTES = Literals(['<|"|>', "<escape>"])
_OWN_NOTATION = frozenset({"unquoted_key", "odd_space", "single_quotes"})
_STOP = Late(r"<\|\"\|>|<escape>|[\"{}\[\]]")
_PLAIN_STRING = Late(r"[^\"\\]*(?:\\.[^\"\\]*)*", re.S)


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
        return Item(end, (Take(at, end, name, None, cut="value", fault="it is cut off"),), "braces")
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
        return _refused(at, end, name, body, "it holds a character that no text uses")
    try:
        read = Reader(body, window.tools.shape(name)).read(0)
    except Unreadable as error:
        return _refused(at, end, name, body, str(error))
    if not is_object(read.value):
        return _refused(at, end, name, body, "its arguments are no object")
    marks = {mark: place for mark, place in read.marks.items() if mark not in _OWN_NOTATION}
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

"""A call as pairs of tags: `name<arg_key>city</arg_key><arg_value>Bern</arg_value>` (GLM and its kin)."""

from __future__ import annotations

from rightcall.parse.shape import ANY
from rightcall.recover.items import Item
from rightcall.recover.take import Take
from rightcall.recover.values import edges, typed
from rightcall.recover.window import Literals, Waiting, Window, find, literal, skip

KEY = "<arg_key>"
_KEY = Literals([KEY])
_VALUE = Literals(["<arg_value>"])
_BETWEEN = Literals(["\\n", "<tool_sep>"])
"""White space that was escaped once too often, and a separator of some of these formats."""
_ENDS = Literals(["</arg_value>", KEY, "</tool_call>"])
_LONGEST_KEY = 400


def pairs_item(window: Window, start: int, name: str, at: int, closes: Literals) -> Waiting[Item | None]:
    """Read the pairs from `at` on; the call's name stands from `start`."""
    shape = window.tools.shape(name)
    found: dict[str, object] = {}
    while True:
        at = yield from skip(window, at, _BETWEEN)
        opening = yield from literal(window, at, _KEY)
        if opening < 0:
            break
        key_end = yield from find(window, "</arg_key>", opening, _LONGEST_KEY)
        if key_end < 0:
            return _cut(window, start, name, opening)
        key = window.text[opening:key_end].strip()
        at = yield from skip(window, key_end + len("</arg_key>"), _BETWEEN)
        value = yield from literal(window, at, _VALUE)
        if value < 0 and ((yield from literal(window, at, closes)) >= 0 or window.text.startswith(KEY, at)):
            continue  # a key without a value
        value = at if value < 0 else value
        end, resume = yield from _value_end(window, value, closes)
        if end < 0:
            return _cut(window, start, name, value)
        found[key] = typed(edges(window.text[value:end]), shape.props.get(key) or shape.additional or ANY)
        at = resume
    cut = at >= len(window.text)
    take = Take(start, at, name, found, cut="closers" if cut else "", marks={"cut_closers": 0} if cut else {})
    return Item(at, (take,), "pairs")


def _value_end(window: Window, at: int, closes: Literals) -> Waiting[tuple[int, int]]:
    """Where the value ends and what follows begins. A closing tag counts when a key, a closer or the end follows."""
    look, first = at, -1
    for _ in range(64):
        found = None
        while found is None:
            found = _ENDS.pattern.search(window.text, look, at + window.cap)
            if found is None:
                if window.final or len(window.text) >= at + window.cap:
                    return (first, first + len("</arg_value>")) if first >= 0 else (-1, -1)
                look = max(look, len(window.text) - _ENDS.longest + 1)
                yield
        if found[0] != "</arg_value>":
            if first < 0:
                return found.start(), found.start()
        else:
            after = yield from skip(window, found.end(), _BETWEEN)
            if after >= len(window.text) or window.text[after] == "<":
                return found.start(), found.end()
            first = found.start() if first < 0 else first
        look = found.end()
    return (first, first + len("</arg_value>")) if first >= 0 else (-1, -1)


def _cut(window: Window, start: int, name: str, at: int) -> Item:
    end = min(len(window.text), at + window.cap)
    return Item(end, (Take(start, end, name, None, cut="value", fault="it is cut off"),), "pairs")

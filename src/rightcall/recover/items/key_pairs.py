"""A call as pairs of tags: `name<arg_key>city</arg_key><arg_value>Bern</arg_value>` (GLM and its kin)."""

from __future__ import annotations

from rightcall.parse.shape import ANY
from rightcall.recover.items import Item
from rightcall.recover.items.function_tags import MOST_PARAMETERS
from rightcall.recover.take import Take
from rightcall.recover.values import edges, typed
from rightcall.recover.window import Literals, Waiting, Window, find, literal, search, skip

KEYS = ("<arg_key>", "<longcat_arg_key>", "<arg_key:opensource>")
_KEYS = Literals(KEYS)
_BETWEEN = Literals(["\\n", "<tool_sep>", "<tool_sep:opensource>"])
"""White space that was escaped once too often, and a separator of some of these formats."""
_LONGEST_KEY = 400
_TRIES = 64


class _Dialect:
    """The tags of one dialect, told by how it writes a key."""

    def __init__(self, key: str) -> None:
        self.key_ends = f"</{key[1:]}"
        value = key.replace("arg_key", "arg_value")
        self.value = Literals([value])
        self.value_ends = f"</{value[1:]}"
        self.closing = Literals([self.value_ends])
        self.ends = Literals([self.value_ends, key, "</tool_call>", "</longcat_tool_call>", "</tool_call:opensource>"])


_DIALECTS = {key: _Dialect(key) for key in KEYS}


def pairs_item(window: Window, start: int, name: str, at: int, closes: Literals) -> Waiting[Item | None]:
    """Read the pairs from `at` on; the call's name stands from `start`."""
    shape = window.tools.shape(name)
    found: dict[str, object] = {}
    twice: list[str] = []
    count = 0
    while True:
        at = yield from skip(window, at, _BETWEEN)
        opening = yield from literal(window, at, _KEYS)
        if opening < 0:
            break
        count += 1
        if count > MOST_PARAMETERS:
            fault = f"it has more than {MOST_PARAMETERS} parameters"
            return Item(at, (Take(start, at, name, None, fault=fault),), "pairs")
        tags = _DIALECTS[window.text[at:opening]]
        key_end = yield from find(window, tags.key_ends, opening, _LONGEST_KEY)
        if key_end < 0:
            return _cut(window, start, name, opening, _LONGEST_KEY)
        key = window.text[opening:key_end].strip()
        at = yield from skip(window, key_end + len(tags.key_ends), _BETWEEN)
        value = yield from literal(window, at, tags.value)
        if value < 0 and (
            (yield from literal(window, at, closes)) >= 0 or (yield from literal(window, at, _KEYS)) >= 0
        ):
            continue  # a key without a value
        value = at if value < 0 else value
        end, resume = yield from _value_end(window, value, tags, closes)
        if end < 0:
            return _cut(window, start, name, value, window.cap)
        if key in found:
            twice.append(key)
        raw = window.text[value:end]
        if end == resume:  # what should close it is missing: the line break before the next tag is none of the value's
            raw = raw.removesuffix("\n")
        found[key] = typed(edges(raw), shape.props.get(key) or shape.additional or ANY)
        at = resume
    rest = window.text[at:]
    cut = not rest or (
        window.final and len(rest) <= _KEYS.longest and (rest in _KEYS.prefixes or rest in closes.prefixes)
    )
    take = Take(start, at, name, found, cut="closers" if cut else "", marks={"cut_closers": 0} if cut else {})
    return Item(at, (take._replace(duplicates=tuple(twice)),), "pairs")


def _value_end(window: Window, at: int, tags: _Dialect, closes: Literals) -> Waiting[tuple[int, int]]:
    """Where the value ends and what follows begins. A tag that closes counts when another or the end follows."""
    look, inside = at, False
    for _ in range(_TRIES):
        found = yield from search(window, tags.ends, look, at)
        if found is None:
            return -1, -1
        if found[0] in KEYS:
            if not inside and (yield from _opens_pair(window, found.end(), tags)):
                return found.start(), found.start()
        else:
            after = yield from skip(window, found.end(), _BETWEEN)
            if (yield from _pair_ends(window, after, found[0] == tags.value_ends, tags, closes)):
                return found.start(), found.end() if found[0] == tags.value_ends else found.start()
            inside = inside or found[0] == tags.value_ends
        look = found.end()
    return -1, -1


def _pair_ends(window: Window, at: int, closed: bool, tags: _Dialect, closes: Literals) -> Waiting[bool]:
    """Whether markup of the call follows at `at`: the next key, what closes the call, the next one, or the end."""
    if at >= len(window.text):
        return True
    if not closed and (yield from literal(window, at, tags.closing)) >= 0:
        return False
    for words in (_KEYS, closes, window.markers.opens):
        if (yield from literal(window, at, words)) >= 0:
            return True
    return False


def _opens_pair(window: Window, at: int, tags: _Dialect) -> Waiting[bool]:
    """Whether a key inside a value that was never closed is the next key: a value tag follows it."""
    end = yield from find(window, tags.key_ends, at, _LONGEST_KEY)
    if end < 0:
        return False
    after = yield from skip(window, end + len(tags.key_ends), _BETWEEN)
    return (yield from literal(window, after, tags.value)) >= 0


def _cut(window: Window, start: int, name: str, at: int, reach: int) -> Item:
    end = min(len(window.text), at + reach)
    return Item(end, (Take(start, end, name, None, cut="value", fault="it is cut off"),), "pairs")

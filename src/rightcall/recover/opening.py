"""The first words of a message, where they are a call whose opening marker got lost: a name, and its arguments."""

from __future__ import annotations

from rightcall.catalog.names import may_name_tool
from rightcall.parse.late import Late
from rightcall.recover.formats.harmony import headed
from rightcall.recover.items.json_object import object_item
from rightcall.recover.items.key_pairs import KEYS, pairs_item
from rightcall.recover.section import GLUE, WORD, closed
from rightcall.recover.take import Steps
from rightcall.recover.window import Literals, Window, blank, literal, matched, skip

UNMARKED = "functionary"
"""The format that such a call is reported as: the one that has no marker before its first call."""

_MAY_OPEN = Late(r"\s*+(?:[^\W\d_][^\s\"'`{}\[\]()<>,;=|｜\\]*+\s*+(?:[<{\[`\\=]|\Z)|\Z)")
_KEY = Literals(KEYS)
_DECORATED = Late(r"functions\.[\w.\-]+(?::\d+)?|[\w.\-]+:\d+")
_FENCES = Late(r"```(?:json)?|\\n")
_HEADER = Late(r"to=[^\s<|]*")
_MESSAGE = Literals(["<|message|>"])


def may_open(text: str, at: int) -> bool:
    """Whether the first word may be such a name: a look before a reader is started for what is mostly prose."""
    return _MAY_OPEN.match(text, at) is not None


def opening(window: Window, start: int, at: int) -> Steps:
    """The first words of a message: a name, and what can only be its arguments."""
    at = yield from blank(window, at)
    name = yield from matched(window, WORD, at, 200)
    if name is None or not name[0][0].isalpha():
        return -1
    if name[0] == "to" and window.text.startswith("=", name.end()):
        return (yield from _headed(window, start, at))
    return (yield from _after(window, start, name[0], name.end()))


def _headed(window: Window, start: int, at: int) -> Steps:
    """`to=self<|message|>`: a header whose first token the template has written."""
    header = yield from matched(window, _HEADER, at, 200)
    if header is None or not (yield from literal(window, header.end(), _MESSAGE)) >= 0:
        return -1
    return (yield from headed(window, start, at))


def _after(window: Window, start: int, name: str, end: int, *, inner: bool = False) -> Steps:
    glued = yield from skip(window, end, GLUE)
    token = bool(_FENCES.sub("", window.text[end:glued]).strip()) or inner
    if name == "function" and token:
        real = yield from matched(window, WORD, glued, 200)
        return (yield from _after(window, start, real[0], real.end(), inner=True)) if real is not None else -1
    if (yield from literal(window, glued, _KEY)) >= 0:
        item = yield from pairs_item(window, start, name, glued, window.markers.closes)
        kind = "pairs"
    elif glued < len(window.text) and window.text[glued] == "{" and (token or _sure(window, name, end, glued)):
        item = yield from object_item(window, glued, window.markers.ends, marked=True, name=name)
        kind = "json"
    else:
        return -1
    if item is None or any(take.arguments is None and not take.cut for take in item.takes):
        return -1
    for take in item.takes:
        lost = take.cut == "closers" and kind == "pairs"  # the marker that would close it got lost with the first
        yield take._replace(start=start, kind=kind, cut="" if lost else take.cut, marks={} if lost else take.marks)
    return (yield from closed(window, item.end))


def _sure(window: Window, name: str, end: int, glued: int) -> bool:
    """Without any token: a name as formats decorate it, or a known tool's on a line of its own."""
    if _DECORATED.fullmatch(name):
        return may_name_tool(name) or window.tools.name(name) is not None
    line = "\n" in window.text[end:glued]
    return line and window.tools.known and window.tools.name(name) is not None

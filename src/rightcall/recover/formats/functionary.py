"""A name on a line of its own and JSON below it: Functionary 3.2, and other formats whose opening token got lost."""

from __future__ import annotations

from rightcall.parse.late import Late
from rightcall.recover.formats.harmony import headed
from rightcall.recover.items.json_object import object_item
from rightcall.recover.items.key_pairs import KEYS, pairs_item
from rightcall.recover.items.spoken import INTERPRETERS, spoken, text_end
from rightcall.recover.section import GLUE, NAME, arguments_of, closed
from rightcall.recover.take import Format, Steps
from rightcall.recover.window import Literals, Waiting, Window, blank, literal, matched, skip

_KEY = Literals(KEYS)
_DECORATED = Late(r"functions\.[\w.\-]+(?::\d+)?|[\w.\-]+:\d+")
_FENCES = Late(r"```(?:json)?|\\n")
_HEADER = Late(r"to=[^\s<|]*")
_MESSAGE = Literals(["<|message|>"])
_NEXT = Literals([">>>", "<|eot_id|>"])
_CONTENT = frozenset({"all"})


def opening(window: Window, start: int, at: int) -> Steps:
    """The first words of a message: a name, and what can only be its arguments."""
    at = yield from blank(window, at)
    name = yield from matched(window, NAME, at, 200)
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
        real = yield from matched(window, NAME, glued, 200)
        return (yield from _after(window, start, real[0], real.end(), inner=True)) if real is not None else -1
    if (yield from literal(window, glued, _KEY)) >= 0:
        item = yield from pairs_item(window, start, name, glued, window.markers.closes)
        kind = "pairs"
    elif (
        glued < len(window.text)
        and window.text[glued] == "{"
        and (token or (yield from _sure(window, name, end, glued)))
    ):
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


def _sure(window: Window, name: str, end: int, glued: int) -> Waiting[bool]:
    if _DECORATED.fullmatch(name):
        return True
    line = "\n" in window.text[end:glued]
    return line and window.tools.known and window.tools.name(name) is not None
    yield


def recipient(window: Window, start: int, at: int) -> Steps:
    """`>>>name`, a new line, JSON."""
    if start > 0 and window.text[start - 1] in ">\"'`":
        return -1
    name = yield from matched(window, NAME, at, 200)
    if name is None or name[0] in _CONTENT:
        return -1
    brace = yield from blank(window, name.end())
    if name[0] in INTERPRETERS and window.tools.name(name[0]) == name[0] and window.text[brace : brace + 1] != "{":
        end = yield from text_end(window, name.end(), _NEXT)
        code = spoken(window, start, end, name[0], window.text[name.end() : end])
        if code is None:
            return -1
        yield code
        return end
    if brace >= len(window.text) or window.text[brace] != "{" or "\n" not in window.text[name.end() : brace]:
        return -1
    return (yield from arguments_of(window, start, name[0], brace))


FORMATS = (Format("functionary", "Functionary 3.2", (">>>",), recipient, '>>>get_weather\n{"city": "Bern"}'),)

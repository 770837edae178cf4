"""Calls without any marker: a JSON object or list, a Python list of calls, in a code fence or out in the open."""

from __future__ import annotations

import re
from functools import cache

from rightcall.catalog.names import may_name_tool
from rightcall.parse.late import Late
from rightcall.recover.context import spoken_for, starts_line
from rightcall.recover.items import Item
from rightcall.recover.items.json_object import object_item
from rightcall.recover.items.python_call import HEAD, arguments_follow, expression_item, python_item
from rightcall.recover.section import closed, read_item, section
from rightcall.recover.take import Format, Mute, Steps, watched
from rightcall.recover.window import Literals, Waiting, Window, blank, literal, matched, skip

_BETWEEN = Literals([",", ";", "[", "]"])
_COMMA = Literals([","])
_INFO = Late(r"([`~]{0,20})[ \t]*([\w+\-.]*)[ \t]*")
_DATA = frozenset({"", "json", "jsonc", "json5", "action", "xml"})
_TOOL = frozenset(
    {"tool_call", "tool_calls", "tool", "tool_use", "tool_code", "function_call", "function", "functions"}
)
_QUOTE_AHEAD = (r"\s*+[\"'“]", r"\s*+\Z")
_LIST_AHEAD = (r"\s*+(?:\{\s*+[\"'“]|[A-Za-z_][\w.]*+\()", r"\s*+(?:\{\s*+|[A-Za-z_][\w.]*+)?\Z")


def bare_object(window: Window, start: int, _at: int, opened: str = "") -> Steps:
    """`{"name": …, "arguments": {…}}` amid prose, and what follows it in the same run."""
    item = yield from _object(window, start)
    if item is None:
        return -1
    if not item.takes:
        return item.end
    end = -1
    while item is not None and item.takes:
        yield from item.takes
        end = yield from closed(window, item.end, opened)
        after = yield from skip(window, end, _BETWEEN)
        following = after < len(window.text) and window.text[after] == "{"
        item = (yield from _object(window, after)) if following else None
    return end


def _object(window: Window, at: int) -> Waiting[Item | None]:
    """An object that proves itself by a known name; or by a closing marker whose opening one got lost."""
    item = yield from object_item(window, at, window.markers.ends, marked=False)
    if item is None or item.takes:
        return item
    after = yield from blank(window, item.end)
    if (yield from literal(window, after, window.markers.closes)) < 0:
        return item
    marked = yield from object_item(window, at, window.markers.ends, marked=True)
    return marked if marked is not None and marked.takes and marked.takes[0].arguments is not None else item


def bare_list(window: Window, start: int, at: int) -> Steps:
    """`[{"name": …}, …]`, or `[get_weather(city="Bern")]`."""
    at = yield from blank(window, at)
    if at >= len(window.text):
        return -1
    if window.text[at] == "{":
        return (yield from bare_object(window, at, at, "["))
    return (yield from _python_list(window, start, at))


def _python_list(window: Window, start: int, at: int) -> Steps:
    """Names without a marker prove little: they have to be known, or the list has to open the message."""
    end = -1
    while True:
        head = yield from matched(window, HEAD, at, 200)
        if head is None or not (yield from _is_call(window, head)):
            return end
        item = yield from python_item(window, at, head.end() - 1, window.markers.closes, marked=False)
        if item is None and (window.fresh or end >= 0):
            item = yield from expression_item(window, at, head.end() - 1)
        if item is None or not item.takes:
            return end
        after = yield from blank(window, item.end)
        more = yield from literal(window, after, _COMMA)
        last = more < 0 and (after >= len(window.text) or window.text[after] == "]")
        if more < 0 and not last:
            return end
        for take in item.takes:
            yield take._replace(start=start if end < 0 else take.start, kind="python")
        at = after if last else (yield from blank(window, more))
        if last or window.text.startswith("]", at):
            return (yield from closed(window, at))
        end = item.end


def _is_call(window: Window, head: re.Match[str]) -> Waiting[bool]:
    name = head[0][:-1]
    proven = window.tools.name(name) is not None if window.tools.known else window.fresh and may_name_tool(name)
    return proven and (yield from arguments_follow(window, head.end()))


def fenced(window: Window, start: int, at: int) -> Steps:
    """A code fence is a call when it holds nothing else from its first character on; else it is code, to its end."""
    info = yield from matched(window, _INFO, at)
    if info is None:
        return -1
    mark = window.text[start:at] + info[1]
    at_line_start = starts_line(window.text, start, window.begin)
    fence = _fence(mark)
    code = Mute(info.end(), fence if at_line_start else _fence(mark, "\n"), "quoted", at_line_start)
    language = info[2].lower().replace("-", "_")
    at = yield from blank(window, info.end())
    if at >= len(window.text) or language not in _DATA | _TOOL:
        return code
    end = yield from _in_fence(window, start, at, language)
    if isinstance(end, Mute) or end < 0:
        return code
    after = yield from blank(window, end)
    closing = yield from literal(window, after, fence)
    return closing if closing >= 0 else code._replace(at=end)


@cache
def _fence(*marks: str) -> Literals:
    return Literals(marks)


def _in_fence(window: Window, start: int, at: int, language: str) -> Steps:
    char = window.text[at]
    if language in _TOOL:
        return (yield from section(window, at, at))
    if char == "{" or char == "[":
        reader = bare_object if char == "{" else bare_list
        end, taken = yield from watched(reader(window, at, at + (char == "[")), start)
        return end if taken else -1
    if char == "<" and (window.fresh or spoken_for(window.text, start)) and (yield from _opens_call(window, at)):
        return (yield from section(window, start, at))
    return -1


def _opens_call(window: Window, at: int) -> Waiting[bool]:
    """Whether the text at `at` opens a call in any marked format."""
    return (yield from literal(window, at, window.markers.between)) >= 0 or (
        yield from read_item(window, at)
    ) is not None


FORMATS = (
    Format(
        "json", "a JSON object in the open, in any envelope, of a known tool", ("{",), bare_object,
        '{"name": "get_weather", "arguments": {"city": "Bern"}}', ahead=_QUOTE_AHEAD[0], maybe_ahead=_QUOTE_AHEAD[1], bare=True,
    ),
    Format(
        "list", "a JSON list of calls (xLAM) or a Python list of calls (Llama 4)", ("[",), bare_list,
        '[get_weather(city="Bern"), get_time(city="Bern")]', ahead=_LIST_AHEAD[0], maybe_ahead=_LIST_AHEAD[1], bare=True,
    ),
    Format(
        "fenced", "a call alone in a code fence", ("```", "~~~"), fenced,
        '```json\n{"name": "get_weather", "arguments": {"city": "Bern"}}\n```', ("```",), quotable=False, bare=True,
    ),
)  # fmt: skip

"""MiniMax M3: a token before every tag says what is markup; arguments are tags of their own name, nested as they are."""

from __future__ import annotations

from typing import Any

from rightcall.parse.late import Late
from rightcall.parse.shape import ANY, Shape
from rightcall.recover.take import Format, Steps, Take
from rightcall.recover.values import edges, typed
from rightcall.recover.window import Waiting, Window, blank, find

TOKEN = "]<]minimax[>["
_TAG = Late(r"<(/?)([^<>\s]+)(?:\s+name=\"([^\"]*)\")?[^<>]*>")
_CLOSES = "</invoke>"


def read(window: Window, start: int, at: int) -> Steps:
    """All calls of a section: parts between tokens, each a tag and the text after it."""
    end = -1
    at = start
    while True:
        here = yield from blank(window, at)
        call = yield from find(window, f'{TOKEN}<invoke name="', here, 200)
        if call < 0 or window.text[here:call].replace(TOKEN + "<tool_call>", "").strip():
            return (yield from _closed(window, end))
        close = yield from find(window, TOKEN + _CLOSES, call)
        stop = close + len(TOKEN + _CLOSES) if close >= 0 else min(len(window.text), call + window.cap)
        yield _take(window, call if end >= 0 else start, stop, window.text[call:stop], close >= 0)
        end = at = stop


def _closed(window: Window, end: int) -> Waiting[int]:
    if end < 0:
        return -1
    after = yield from blank(window, end)
    closing = yield from find(window, TOKEN + "</tool_call>", after, 0 + len(TOKEN))
    return closing + len(TOKEN + "</tool_call>") if closing == after else end


def _take(window: Window, start: int, end: int, body: str, closed: bool) -> Take:
    parts = [part for part in body.split(TOKEN) if part]
    head = _TAG.match(parts[0])
    name = (head[3] or "") if head is not None else ""
    if not closed or not name:
        return Take(start, end, name, None, cut="value" if not closed else "", fault="it is cut off", kind="tags")
    root = _Node(name)
    stack = [root]
    for part in parts[1:]:
        tag = _TAG.match(part)
        if tag is None:
            stack[-1].text += TOKEN + part  # the token inside a text
        elif not tag[1]:
            stack.append(_Node(tag[2]))
            stack[-1].text = part[tag.end() :]
        elif tag[2] == stack[-1].name and len(stack) > 1:
            stack[-2].children.append(stack.pop())
        elif tag[2] != "invoke" or len(stack) > 1:
            return Take(start, end, name, None, fault=f"a tag {tag[2]!r:.60} closes what is not open", kind="tags")
    shape = window.tools.shape(name)
    found = {child.name: _value(child, shape.props.get(child.name) or ANY) for child in root.children}
    names = [child.name for child in root.children]
    twice = tuple(one for one in found if names.count(one) > 1) if len(found) < len(names) else ()
    return Take(start, end, name, found, kind="tags", duplicates=twice)


class _Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.children: list[_Node] = []


def _value(node: _Node, shape: Shape) -> Any:
    if not node.children:
        if not node.text and shape.types and shape.types <= {"array", "object"}:
            return [] if "array" in shape.types else {}
        return typed(edges(node.text), shape)
    names = {child.name for child in node.children}
    declared = bool(shape.types) and shape.allows("array")
    as_list = declared or (len(names) == 1 and names <= {"item", "element", "value"})
    option = next((one for one in (shape, *shape.options) if one.props or one.items), shape)
    if as_list and not (shape.types and not shape.allows("array")):
        return [_value(child, option.items or ANY) for child in node.children]
    return {child.name: _value(child, option.props.get(child.name) or ANY) for child in node.children}


_EXAMPLE = f'{TOKEN}<tool_call>\n{TOKEN}<invoke name="get_weather">{TOKEN}<city>Bern{TOKEN}</city>{TOKEN}</invoke>\n{TOKEN}</tool_call>'

FORMATS = (
    Format(
        "minimax_m3",
        "MiniMax M3",
        (f"{TOKEN}<tool_call>", f"{TOKEN}<invoke name="),
        read,
        _EXAMPLE,
        (f"{TOKEN}</tool_call>",),
    ),
)

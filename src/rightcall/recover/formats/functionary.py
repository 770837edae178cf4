"""A recipient on a line of its own and JSON below it: Functionary 3.2."""

from __future__ import annotations

from rightcall.recover.items.spoken import INTERPRETERS, spoken, text_end
from rightcall.recover.section import WORD, arguments_of
from rightcall.recover.take import Format, Steps
from rightcall.recover.window import Literals, Window, blank, matched

_NEXT = Literals([">>>", "<|eot_id|>"])
_CONTENT = frozenset({"all"})


def recipient(window: Window, start: int, at: int) -> Steps:
    """`>>>name`, a new line, JSON."""
    if start > window.begin and window.text[start - 1] in ">\"'`":
        return -1
    name = yield from matched(window, WORD, at, 200)
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

"""Llama 3: a tag, and after it JSON, a call of a built-in tool, or plain code for the interpreter."""

from __future__ import annotations

from rightcall.recover.items.spoken import INTERPRETERS, spoken, text_end
from rightcall.recover.section import closed, section
from rightcall.recover.take import Format, Steps, watched
from rightcall.recover.window import Literals, Window

_ENDS = Literals(["<|eom_id|>", "<|eot_id|>", "<|end_of_text|>"])


def read(window: Window, start: int, at: int) -> Steps:
    """The calls after the tag; where there are none and the tools include an interpreter, code for it."""
    opens = window.fresh  # code without any sign of a call counts only as the whole message
    end, taken = yield from watched(section(window, start, at))
    interpreter = next((name for name in INTERPRETERS if window.tools.name(name) == name), None)
    if taken or interpreter is None or not opens:
        return end
    end = yield from text_end(window, at, _ENDS)
    take = spoken(window, start, end, interpreter, window.text[at:end])
    if take is None:
        return -1
    yield take
    return (yield from closed(window, end))


_EXAMPLE = '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Bern"}}'

FORMATS = (
    Format(
        "llama3",
        "Llama 3.1, 3.2 and 3.3",
        ("<|python_tag|>",),
        read,
        _EXAMPLE,
        ("<|eom_id|>", "<|eot_id|>"),
        marker=True,
    ),
)

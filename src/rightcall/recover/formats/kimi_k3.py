"""Kimi K3: `<|open|>call tool="name"<|sep|>`, arguments in the same brackets, each with its type."""

from __future__ import annotations

from rightcall.parse.late import Late
from rightcall.parse.shape import ANY
from rightcall.recover.take import Format, Steps, Take
from rightcall.recover.values import edges, typed
from rightcall.recover.window import Literals, Waiting, Window, blank, find, literal

_CALL = "<|open|>call "
_OPENS = Literals([_CALL])
_ARGUMENT = Literals(["<|open|>argument "])
_END_CALL = Literals(["<|close|>call<|sep|>"])
_END_ARGUMENT = "<|close|>argument<|sep|>"
_END_SECTION = Literals(["<|close|>tools<|sep|>", "<|close|>message<|sep|>"])
_ATTRIBUTE = Late(r"(\w+)=\"([^\"]*)\"")
_HEADER = 400


def read(window: Window, start: int, at: int) -> Steps:
    """The calls of a section, or one call whose section marker is missing."""
    end = -1
    at = start if window.text.startswith(_CALL, start) else at
    while True:
        here = yield from blank(window, at)
        opening = yield from literal(window, here, _OPENS)
        if opening < 0:
            break
        take = yield from _call(window, start if end < 0 else here, opening)
        yield take
        end = at = take.end
    while end >= 0:
        here = yield from blank(window, end)
        closing = yield from literal(window, here, _END_SECTION)
        if closing < 0:
            break
        end = closing
    return end


def _call(window: Window, start: int, at: int) -> Waiting[Take]:
    sep = yield from find(window, "<|sep|>", at, _HEADER)
    name = _attributes(window.text[at:sep]).get("tool", "") if sep >= 0 else ""
    if not name:
        cut = sep < 0 and len(window.text) < at + _HEADER
        end = len(window.text) if cut else at
        return Take(start, end, "", None, cut="value" if cut else "", fault="it names no tool", kind="tags")
    shape = window.tools.shape(name)
    found: dict[str, object] = {}
    twice: tuple[str, ...] = ()
    at = sep + len("<|sep|>")
    while True:
        at = yield from blank(window, at)
        closing = yield from literal(window, at, _END_CALL)
        if closing >= 0:
            return Take(start, closing, name, found, kind="tags", duplicates=twice)
        opening = yield from literal(window, at, _ARGUMENT)
        if opening < 0:
            rest = window.text[at:]
            if window.final and (_END_CALL.words[0].startswith(rest) or _ARGUMENT.words[0].startswith(rest)):
                at = len(window.text)  # a tag that was cut off
            if at < len(window.text):
                return Take(start, at, name, found, kind="tags", duplicates=twice)
            cut = (
                {"cut": "closers", "marks": {"cut_closers": 0}} if found else {"cut": "value", "fault": "it is cut off"}
            )
            return Take(start, at, name, found or None, kind="tags", **cut)  # type: ignore[arg-type]
        sep = yield from find(window, "<|sep|>", opening, _HEADER)
        end = (yield from find(window, _END_ARGUMENT, sep)) if sep >= 0 else -1
        if end < 0:
            stop = min(len(window.text), opening + (window.cap if sep >= 0 else _HEADER))
            return Take(start, stop, name, None, cut="value", fault="it is cut off", kind="tags")
        about = _attributes(window.text[opening:sep])
        key = about.get("key", "")
        stated = "string" if about.get("type", "string") == "string" else "json"
        if key in found:
            twice += (key,)
        found[key] = typed(edges(window.text[sep + len("<|sep|>") : end]), shape.props.get(key) or ANY, stated)
        at = end + len(_END_ARGUMENT)


def _attributes(header: str) -> dict[str, str]:
    return {found[1]: found[2] for found in _ATTRIBUTE.finditer(header)}


_EXAMPLE = (
    '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>'
    "Bern<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
)

FORMATS = (Format("kimi_k3", "Kimi K3", ("<|open|>tools<|sep|>", _CALL), read, _EXAMPLE),)

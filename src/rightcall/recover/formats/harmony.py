"""Messages with headers: `<|channel|>commentary to=functions.name<|message|>{…}`. The header says what a call is."""

from __future__ import annotations

from rightcall.parse.late import Late
from rightcall.recover.items.json_object import object_item
from rightcall.recover.items.spoken import spoken, text_end
from rightcall.recover.section import arguments_of, closed, section
from rightcall.recover.take import Format, Mute, Steps
from rightcall.recover.window import Literals, Window, blank, find, matched, skip

ENDS = Literals(["<|end|>", "<|start|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>", "<|channel|>"])
_CHANNEL = Late(r"<\|channel\|>\s*(\w+)")
_TO = Late(r"\bto=([^\s<|]+)")
_ROLE = Late(r"<\|start\|>\s*(\w+)")
_NO_HEADER = Late(r"[{}\"]|\n\s*\n|<(?!\|(?:start|channel|constrain)\|>)")
"""What stands in calls and in prose, and never in a header."""

_PEOPLE = frozenset({"user", "self", "assistant", "all"})
_HEADER = 300
_LEAKED = Late(r"[^\s<{]{1,160}")
_AFTER_NAME = Literals(
    ["<|constrain|>json", "<|constrain|>", "<|channel|>commentary", "commentary", "json", "code", "<|message|>"]
)


def headed(window: Window, start: int, at: int) -> Steps:
    """A header and its message."""
    message = yield from find(window, "<|message|>", at, _HEADER)
    if message < 0:
        return -1
    header = window.text[start:message]
    header = header[max(header.rfind("<|start|>"), 0) :]
    if _NO_HEADER.search(header):
        return -1
    body = message + len("<|message|>")
    channels = _CHANNEL.findall(header)
    recipients = _TO.findall(header)
    role = _ROLE.match(header)
    if role is not None and role[1] != "assistant" and not recipients:
        return Mute(body, ENDS, "final")
    if not recipients or recipients[-1] in _PEOPLE or (channels and channels[-1] == "final"):
        muted = bool(recipients) or bool(channels)
        return Mute(body, ENDS, "final") if muted else -1
    return (yield from _call(window, start, recipients[-1], body))


def _call(window: Window, start: int, name: str, at: int) -> Steps:
    name = name.removeprefix("functions.")
    at = yield from blank(window, at)
    if at < len(window.text) and window.text[at] == "{":
        item = yield from object_item(window, at, window.markers.ends, marked=True, name=name)
        if item is None:
            return -1
        for take in item.takes:
            yield take._replace(start=start)
        return (yield from closed(window, item.end))
    if at < len(window.text) and window.text[at] == "<":
        return (yield from section(window, start, at))
    end = yield from text_end(window, at, ENDS)
    taken = spoken(window, start, end, name, window.text[at:end])
    if taken is not None:
        yield taken
        return (yield from closed(window, end))
    return Mute(end, ENDS, "final") if end < len(window.text) else end


def leaked(window: Window, start: int, at: int) -> Steps:
    """`to=functions.name json{…}`: the same, after a server has stripped the special tokens."""
    name = yield from matched(window, _LEAKED, at, 200)
    if name is None:
        return -1
    brace = yield from skip(window, name.end(), _AFTER_NAME)
    if brace >= len(window.text) or window.text[brace] != "{":
        return -1
    return (yield from arguments_of(window, start, name[0], brace))


_EXAMPLE = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Bern"}<|call|>'

FORMATS = (
    Format("harmony", "GPT-OSS; the final channel never holds a call", ("<|channel|>", "<|start|>"), headed, _EXAMPLE,
           ("<|call|>", "<|end|>", "<|eom|>", "<|eot|>", "<|return|>"), headed=True),
    Format("harmony_leaked", "GPT-OSS without its tokens", ("=functions.",), leaked, 'to=functions.get_weather json{"city": "Bern"}'),
)  # fmt: skip

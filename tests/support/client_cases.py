"""Answers of models, right and broken, and what a client should see of them. The same for every wire."""

from typing import Any, NamedTuple

from msgspec import structs

from support.scripted.parts import Part, Pieces
from support.scripted.server import Answer, NativeCall, Reasoning, Text, Usage

WEATHER = {
    "name": "get_weather",
    "description": "The weather of the coming days.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city"],
    },
}
READ = {
    "name": "read_file",
    "description": "The text of a file.",
    "parameters": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["file_path"],
    },
}
NOW = {"name": "now", "description": "What time it is.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [WEATHER, READ, NOW]

PARIS = {"city": "Paris", "days": 3}
IN_TAGS = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}</tool_call>'
MARKUP = "if a < b && b > c: `x` <b>bold</b> <hi/> {k} [1, 2] {{ done }} 1 << 2, Ångström 🌦️ </end> <"
JSON = (
    'Say `x = {"a": [1, 2]}` or {"city": "Paris"} or [1, "two"].\n'
    "```python\nprint(\"<hi>\", {'k': 1})\n```\nThat is all."
)
QUOTED = f"To ask for the weather, write `{IN_TAGS}` and wait."

CUT_SHORT = "the wire's own word for: out of tokens"
"""A finish reason that every wire replaces by its own."""

TOKENS = Usage(2021, 13)
"""A prompt of so many tokens may well have held the tools; with much fewer, the proxy would suspect that it did not."""


def told(parts: list[Part], finish: str | None = None, extra: dict[str, Any] | None = None) -> Answer:
    return Answer(parts, finish=finish, extra=extra or {}, usage=TOKENS)


RIGHT: dict[str, Answer] = {
    "prose": told([Text("It is sunny in Paris.")]),
    "nothing at all": told([Text("")]),
    "prose that looks like markup": told([Text(MARKUP)]),
    "prose cut short": told([Text("It is sunny in <")], finish=CUT_SHORT),
    "a right call": told([NativeCall("get_weather", PARIS)]),
    "a right call with blanks": told([NativeCall("get_weather", '{ "city" : "Paris",\n "days": 3 }')]),
    "a right call with escapes": told([NativeCall("get_weather", '{"city":"S\\u00e3o \\"Paulo\\" \\ud83c\\udf26"}')]),
    "a right call without arguments": told([NativeCall("now", {})]),
    "prose and a right call": told([Text("Let me <look>."), NativeCall("get_weather", PARIS)]),
    "two right calls": told([NativeCall("get_weather", PARIS), NativeCall("read_file", {"file_path": "/a"})]),
    "the same tool twice": told([NativeCall("get_weather", PARIS), NativeCall("get_weather", {"city": "Oslo"})]),
    "reasoning, prose and a call": told(
        [Reasoning(f"They want {IN_TAGS}, I think."), Text("Let me look."), NativeCall("now", {})]
    ),
    "unknown fields": told(
        [Text("Let me look."), NativeCall("get_weather", PARIS)],
        extra={"x_new": {"a": [1, None, 1.50]}, "x_big": 2**60},
    ),
    "other tokens": Answer([Text("Hi")], usage=Usage(4_000_000_000, 0)),
    "an unknown tool": told([NativeCall("launch_rocket", {"to": "moon"})]),
    "a call that cannot be repaired": told([Text("Hm."), NativeCall("get_weather", {"days": 3})]),
}
"""Nothing of these is changed: there is nothing to repair in them, or no certain way to do it."""


MAYBE: dict[str, Answer] = {
    "markup that is quoted": told([Text(QUOTED)]),
    "JSON and a fence in prose": told([Text(JSON)]),
    "a token of no model": told([Text("They write <|not a token|> here, and <|im_end without an end.")]),
    "a tag that never ends": told([Text("It begins with <tool_call> and then says nope.")]),
}
"""Prose that stays suspect for long. What stands before it in the same piece of a stream does not wait, so that the
piece may leave as two; together they say the same."""


class Broken(NamedTuple):
    """Parts as the model wrote them; the calls that the client should see, and the prose beside them."""

    parts: list[Part]
    calls: list[tuple[str, dict[str, Any]]]
    prose: str = ""


_PARIS_ONCE = [("get_weather", PARIS)]
_OSLO = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
_FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n```'
_FUNCTION = "<function=get_weather><parameter=city>Paris</parameter><parameter=days>3</parameter></function>"

BROKEN: dict[str, Broken] = {
    "wrong argument name": Broken([NativeCall("get_weather", {"City": "Paris", "days": 3})], _PARIS_ONCE),
    "wrong tool name": Broken([NativeCall("getWeather", PARIS)], _PARIS_ONCE),
    "tool name with a prefix": Broken([NativeCall("functions.get_weather", PARIS)], _PARIS_ONCE),
    "Python's quotes": Broken([NativeCall("get_weather", "{'city': 'Paris', 'days': 3}")], _PARIS_ONCE),
    "a number as text": Broken([NativeCall("get_weather", {"city": "Paris", "days": "3"})], _PARIS_ONCE),
    "a comma too many": Broken([NativeCall("get_weather", '{"city": "Paris", "days": 3,}')], _PARIS_ONCE),
    "encoded twice": Broken([NativeCall("get_weather", '"{\\"city\\": \\"Paris\\", \\"days\\": 3}"')], _PARIS_ONCE),
    "right beside broken": Broken(
        [NativeCall("now", {}), NativeCall("getWeather", "{'city': 'Paris', 'days': 3}"), NativeCall("now", {})],
        [("now", {}), *_PARIS_ONCE, ("now", {})],
    ),
    "prose and a broken call": Broken(
        [Text("Let me <look>."), NativeCall("getWeather", PARIS)], _PARIS_ONCE, "Let me <look>."
    ),
    "left in text": Broken([Text(IN_TAGS)], _PARIS_ONCE),
    "left in text after prose": Broken([Text(f"Let me look.\n{IN_TAGS}")], _PARIS_ONCE, "Let me look."),
    "left in text, broken": Broken(
        [Text("<tool_call>{'name': 'getWeather', 'arguments': {'City': 'Paris', 'days': '3'}}</tool_call>")],
        _PARIS_ONCE,
    ),
    "a fence": Broken([Text(f"Let me look.\n{_FENCED}")], _PARIS_ONCE, "Let me look."),
    "function tags": Broken([Text(_FUNCTION)], _PARIS_ONCE),
    "two left in text": Broken([Text(f"{IN_TAGS}\n{_OSLO}")], [*_PARIS_ONCE, ("get_weather", {"city": "Oslo"})]),
    "left in text beside reasoning": Broken(
        [Reasoning("Hm, the weather."), Text(f"Let me look.\n{IN_TAGS}")], _PARIS_ONCE, "Let me look."
    ),
}

CUTS: list[Pieces] = [None, 1, 7, 10_000]


def recut(parts: list[Part], pieces: Pieces) -> list[Part]:
    """The same parts, cut otherwise for a stream."""
    return [structs.replace(part, pieces=pieces) for part in parts]

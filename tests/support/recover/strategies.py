"""Tools, calls that fit them, and prose around them, for every format: what the writers are fed with."""

import re
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from support.writers import Call, Writer

PIECES = (
    "Zürich", " ", "\n", "\\", '"', "'", "`", "{", "}", "[", "]", "(", ")", "<", ">", "&", ",", ":", ";", "=", "|", "/",
    "\t", "ñ", "雪", "🙂", "é", "\u2028", "\u00a0", "a", "0", "\\n", '\\"', "--", "#", "$", "%s", "&amp;", "\r\n",
)  # fmt: skip

WHOLE = (
    "Bern", "", " padded ", "two\nlines", "\nbetween newlines\n", "\n", "\nleading", "trailing\n", "  indented:\n\ttab",
    "12", "-0.5", "true", "None", '{"a": 1}', "[1, 2]", '"quoted"', "'single'", "{}", "[]", "1,2", "k: v",
    'if a < b and c > d:\n    print("x", \'y\')\n', "def f(x={}):\n    return [x]  # {not closed\n",
    "a\\b\\\\c\\", "C:\\new",
    '<div class="a">text</div>', "<b>&lt;</b> <br/>", "x </a> y", "<parameter>", "<|tokens|>", "</tool_call>",
    '<tool_call>{"name": "x", "arguments": {}}</tool_call>', "[TOOL_CALLS]", "```json\n{}\n```", "```", "Action: x",
    '{"name": "x", "arguments": {}}', "</think>", "]]>", "); x(", "')]", '"}}', "}}]", "x=1, y='2'", "$(rm -rf /)",
    "SELECT \"a\" FROM 't' WHERE x <> ''", "naïve café 🇨🇭 ☃", "日本語のテキスト", "שלום", "e\u0301", "\ufeffbom",
    "https://example.com/a?b=c&d=%20#e", "*bold* _it_ ~~no~~", "^[a-z]{2,3}\\d+$", "50 %", "5 > 3", "a;b",
)  # fmt: skip

texts = st.one_of(
    st.sampled_from(WHOLE),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=8),
)


SENTENCES = (
    "Let me check that for you.",
    "I'll look it up, one moment…",
    "Sure! 🙂",
    "Here is what I'm going to do:",
    "The user's question isn't clear, but it's about snow (a lot of it).",
    'She said "yes" and left; they didn\'t.',
    "Prices rose by 5 % [1], i.e. from $3 to $3.15.",
    "If a < b and b > c then a <> c.",
    "Das Wetter in Zürich ist heute schön, -3 °C.",
    "天気を調べます。",
    "1. Read the file\n2. Change it\n3. Write it back",
    "- first thing\n- second thing\n  - and a part of it",
    "## Plan\n\nFirst the data, **then** the answer.",
    "Use `len(x)` and the `--force` option with care.",
    "See https://example.org/page?a=1&b=2 for more.",
    "| city | °C |\n|---|---|\n| Bern | 4 |",
    "Hmm. That failed!? I'd better try again.",
    "f(x) = 2x + 1, and {a, b} is a set.",
    "No.",
    # To speak of a tool by its name is no call of it.
    "I will use TOOL for this.",
    "Calling `TOOL` now:",
    "TOOL can do that.",
)

prose = st.tuples(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3), st.sampled_from((" ", "\n", "\n\n"))
).map(lambda parts: parts[1].join(parts[0]))
"""One to three sentences; TOOL stands for a tool's name."""


Schema = dict[str, Any]
Typed = tuple[Schema, Any]

TOOL_NAMES = (
    "search", "get_weather", "getWeather", "Read", "write_file", "x", "run2", "_private", "mcp__files__read_text",
    "files.read", "calendar.add_event", "web-search", "send-mail", "code/read", "notes/append", "translate_text_to",
    "HTTPGet", "list_users", "roll_dice", "convert.units", "play", "lookUpZIP", "db.query_2", "turn_on_the_light",
)  # fmt: skip

KEYS: tuple[str, ...] = (
    "path", "query", "text", "code", "count", "limit", "tags", "options", "isOpen", "max_results", "x", "body2",
    "name", "type", "id", "input", "content", "arguments", "parameters", "function", "message", "to",
)  # fmt: skip
"""Also those that calls themselves are made of: a tool may well have an argument called `name`."""

INNER_KEYS: tuple[str, ...] = ("key", "value", "size", "label", "name", "note", "isOn", "n_1")

NOTHING = {"null", "none", "nil", "undefined", "n/a", "na", "-", ""}
"""Texts that say nothing: where null is allowed too, markup without types cannot tell them from it."""

integers = st.integers(-999, 9999) | st.integers(-(2**53), 2**53)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from((0.5, -3.25, 100.0, 1e-7, 6.02e23))


no_arguments: st.SearchStrategy[dict[str, Typed]] = st.just({})
few = st.integers(0, 2)
words_or_none = st.one_of(prose, prose, st.just(""))


class Case(NamedTuple):
    """One emission: the tools, the calls in the groups they were written in, and the prose around the groups."""

    tools: list[dict[str, Any]]
    groups: list[list[Call]]
    prose: list[str]
    text: str

    @property
    def calls(self) -> list[Call]:
        return [call for group in self.groups for call in group]


class Parts(NamedTuple):
    """The strategies for one format; building them anew for every example would take most of the time."""

    names: st.SearchStrategy[list[str]]
    arguments: st.SearchStrategy[dict[str, Typed]]
    before: st.SearchStrategy[str]
    after: st.SearchStrategy[str]


@cache
def _parts(writer: Writer) -> Parts:
    texts_here = texts.filter(lambda text: not writer.cannot(text))
    kinds = {"string": texts_here, "integer": integers, "number": numbers, "boolean": st.booleans()}
    scalars = st.one_of(*(_typed(kind, values) for kind, values in kinds.items()))
    inner = st.dictionaries(st.sampled_from(INNER_KEYS), scalars, min_size=1, max_size=3)
    objects = inner.map(_object)
    lists = st.one_of(*(_typed_list(kind, values) for kind, values in kinds.items()), objects.map(_list_of_one))
    optional = st.tuples(scalars, st.booleans()).map(lambda drawn: _optional(drawn[0], drawn[1] and writer.nulls))
    anything = st.one_of(_typed("string", texts_here), scalars, lists, objects, optional)
    some = st.dictionaries(st.sampled_from(KEYS), anything, min_size=1, max_size=4)
    names = [name for name in TOOL_NAMES if re.fullmatch(writer.names, name)]
    return Parts(
        st.lists(st.sampled_from(names), unique_by=_same_word, min_size=1, max_size=3),
        st.one_of(some, some, some, no_arguments),
        st.sampled_from(("\n", "\n\n") if writer.own_line else ("\n", "\n\n", " ", "")),
        st.sampled_from(("\n", "\n\n") if writer.own_line else ("\n", "\n\n", " ")),
    )


def _same_word(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _typed(kind: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Typed]:
    return values.map(lambda value: ({"type": kind}, value))


def _typed_list(kind: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Typed]:
    return st.lists(values, max_size=3).map(lambda items: ({"type": "array", "items": {"type": kind}}, items))


def _object(typed: dict[str, Typed]) -> Typed:
    properties = {key: schema for key, (schema, _) in typed.items()}
    return {"type": "object", "properties": properties}, {key: value for key, (_, value) in typed.items()}


def _list_of_one(item: Typed) -> Typed:
    return {"type": "array", "items": item[0]}, [item[1]]


def _optional(typed: Typed, is_null: bool) -> Typed:
    """A value that may be null too, and sometimes is."""
    schema, value = typed
    if isinstance(value, str) and value.strip().lower() in NOTHING:
        value = "something"
    return {"type": [schema["type"], "null"]}, None if is_null else value


def _tool(name: str, typed: dict[str, Typed]) -> tuple[dict[str, Any], Call]:
    """A tool, and a call that fits it."""
    schema, arguments = _object(typed)
    # Blank text counts as missing where an argument is required, and so does null: those are optional.
    required = [key for key, value in arguments.items() if value is not None and str(value).strip()][:2]
    tool = {"name": name, "description": f"Does {name}.", "parameters": {**schema, "required": required}}
    return tool, (name, arguments)


@st.composite
def cases(draw: st.DrawFn, writer: Writer) -> Case:
    """Calls in a format, alone or in groups, with prose before, between and after, or none."""
    parts = _parts(writer)
    names = draw(parts.names)
    tools, calls = zip(*(_tool(name, draw(parts.arguments)) for name in names), strict=True)
    groups = _grouped(list(calls), writer.several, draw(few))
    words = [draw(words_or_none).replace("TOOL", names[0]) for _ in range(len(groups) + 1)]
    return Case(list(tools), groups, words, _together(draw, writer, groups, words))


def _grouped(calls: list[Call], several: bool, first: int) -> list[list[Call]]:
    if not several:
        return [[call] for call in calls]
    return [group for group in (calls[:first], calls[first:]) if group]


def _together(draw: st.DrawFn, writer: Writer, groups: list[list[Call]], words: list[str]) -> str:
    parts, text = _parts(writer), ""
    for at, group in enumerate(groups):
        if words[at]:
            text += writer.say(words[at]) + draw(parts.before)
        text += writer.write(group)
        if words[at + 1] or at + 1 < len(groups):
            text += draw(parts.after)
    return text + (writer.say(words[-1]) if words[-1] else "")

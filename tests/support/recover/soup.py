"""Texts made of whatever recovering looks at: markers, quotes, brackets, fences, reasoning, names, values, halves of
them. Most are nonsense and some are calls; what must hold holds for all."""

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from rightcall.gate.recover.machine import REASONING, builtin_formats

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "The weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"}},
            "required": ["city"],
        },
    },
    {
        "name": "search",
        "description": "Looks something up.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    },
]

_MARKERS = tuple(dict.fromkeys(word for one in builtin_formats() for word in (*one.opens, *one.closes)))
_REASONING = tuple(word for pair in REASONING.items() for word in pair)
_JSON = (
    '{"name": "get_weather", "arguments": {"city": "Bern"}}', '{"name": "search", "arguments": {"query": "a"}}',
    '{"name": "nobody", "arguments": {}}', '{"tool": "search", "params": {"query": "}"}}', '{"name": "search"}',
    '{"name": "search", "arguments": {', '"query": "', '{"city": "Bern"}', "{'city': 'Bern'}",
    '{"get_weather": {"city": "Bern"}}', '{"a": 1}', "{}", "[]", '{"', '{"name": "', '{"tool_calls": [',
    '"arguments": "{\\"query\\": \\"a\\"}"', '{"city": "Be', ', "days": 1', "1", "true", "null", "name",
    "arguments",
)  # fmt: skip
_PYTHON = (
    'get_weather(city="Bern")', "get_weather(city='Bern', days=3)", "search(", "search()", 'query="a',
    "[search(query='a')]", "[search(", "f(x)", "search.call(query='a')", "city=",
)  # fmt: skip
_TAGS = (
    "<function=search>", "<parameter=query>", "</parameter>", "</function>", '<invoke name="search">',
    '<parameter name="query">', "</invoke>", "<arg_key>city</arg_key>", "<arg_value>Bern</arg_value>",
    "<arg_value>", "</arg_value>", "<arg_key>", "<city>Bern</city>", 'call:search{query:<|"|>a<|"|>}',
    "call:search{query:<escape>", '<|"|>', "<escape>", "[ARGS]", "<｜tool▁sep｜>", "<|tool_call_argument_begin|>",
    "functions.search:0", "<![CDATA[", "]]>", '<|open|>argument key="city" type="string"<|sep|>',
    "<|close|>argument<|sep|>", "<|close|>call<|sep|>", '<|open|>call tool="search" index="1"<|sep|>',
    '<|open|>call tool="get_weather"<|sep|>', "<tool_sep>", "<|message|>", "<|constrain|>json",
    "<|channel|>final<|message|>", "<|channel|>analysis<|message|>",
    "<|channel|>commentary to=functions.search <|message|>", "to=search<|message|>",
    "<|Start of Search Tool Call|>", "<|End of Search Tool Call|>", "<|call the weather tool|>", "<|im_start|>",
)  # fmt: skip
_LINES = (
    "Action: search\n", "Action Input: ", "\nObservation", "\nThought:", "Final Answer:", ">>>search\n", ">>>all\n",
    "search\n", "get_weather", "search", "For example:\n", "For example: ", "in the following format.\n",
    "## Usage\n", "# ", "\n# a", "// ", "> ", "- ", "{% for %}", "example_function_name",
)  # fmt: skip
_QUOTES = (
    '"',
    "'",
    "`",
    "``",
    "```",
    "```json\n",
    "```python\n",
    "\n```\n",
    "~~~",
    '"""',
    "'''",
    'r#"',
    '"#',
    "“",
    "”",
    "«",
    "»",
    "\\",
    '\\"',
    "\\n",
)
_BRACKETS = (
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "}}",
    "}]",
    "<",
    ">",
    "</",
    "<|",
    "|>",
    "<｜",
    "｜>",
    "|",
    ",",
    ":",
    ";",
    "=",
    "...",
)
_SPACE = (" ", "\n", "\n\n", "\t", "  ", "\r\n", "\u00a0", "\u2028")
_PROSE = ("a", "Hi", "it's ", "It is 4 °C. ", "snow ☃ ", "é", "\U0001f642", "\ud800", "\0", "x" * 90, "word " * 90)

GROUPS = (
    _MARKERS,
    _MARKERS,
    _JSON,
    _JSON,
    _PYTHON,
    _TAGS,
    _TAGS,
    _LINES,
    _QUOTES,
    _BRACKETS,
    _BRACKETS,
    _SPACE,
    _SPACE,
    _REASONING,
    _PROSE,
)
EXAMPLES = tuple(one.example for one in builtin_formats())


def _half(random: Random, piece: str) -> str:
    at = random.randrange(len(piece) + 1)
    return random.choice((piece[:at], piece[at:]))


def random_soup(random: Random, most: int = 12) -> str:
    """Fragments, some of them broken in two; sometimes around a whole example."""
    parts: list[str] = []
    for _ in range(random.randint(1, most)):
        piece = random.choice(EXAMPLES) if random.random() < 0.06 else random.choice(random.choice(GROUPS))
        parts.append(_half(random, piece) if random.random() < 0.15 else piece)
    return "".join(parts)


def _replaced(text: str, at: int, piece: str) -> str:
    return text[:at] + piece + text[at + len(piece) :]


_CHANGES: tuple[Callable[[str, int, str], str], ...] = (
    lambda text, at, piece: text[:at] + text[at + 1 + len(piece) % 7 :],
    lambda text, at, piece: text[:at] + piece + text[at:],
    lambda text, at, piece: text[:at] + text[at // 2 : at] + text[at:],
    lambda text, at, piece: text[:at],
    lambda text, at, piece: text[at:],
    _replaced,
)


def mutated_example(random: Random) -> str:
    """The example of a format, or two, with a few pieces lost, doubled or put in."""
    text = random.choice(EXAMPLES)
    if random.random() < 0.4:
        text += random.choice(("", "\n", " and ", "\n\n")) + random.choice(EXAMPLES)
    for _ in range(random.randint(1, 3)):
        change = random.choice(_CHANGES)
        text = change(text, random.randrange(len(text) + 1), random.choice(random.choice(GROUPS)))
    return text


def pieces(text: str, random: Random) -> list[str]:
    """The text, cut at random places; some pieces are empty."""
    ends = sorted(random.choices(range(len(text) + 1), k=random.choice((1, 2, 5, 25))))
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


fragments = st.one_of(*(st.sampled_from(group) for group in dict.fromkeys(GROUPS)), st.sampled_from(EXAMPLES))
soup = st.lists(fragments, max_size=12).map("".join)
"""The same for hypothesis, which makes a failing text small."""

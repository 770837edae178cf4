"""A random tool and a right call to it. `Random` may be hypothesis' own, which then can shrink what it finds."""

from random import Random
from typing import Any

NAMES = (
    "file_path", "recipient", "max_results", "is_public", "start-date", "unitPrice", "tags", "query", "body", "colour",
    "retry_policy", "zoom", "headers", "language", "x", "latitude", "accountId", "dueBy", "subject line", "v2",
)  # fmt: skip
WORDS = ("red", "north", "weekly", "draft", "metric", "celsius", "en-GB", "A4", "07", "not set")
STRINGS = (
    "plain",
    "two words",
    "Ünïcödé – 中文 😀",
    'she said "no", twice',
    "it's Bob's",
    "a, b, and c",
    "key: value",
    "{braces} [brackets] (parens)",
    "line one\nline two\n\tindented",
    'print("a", end=\'b\')\nif x > 3: # why\n    y = {"k": [1, 2]}\n',
    "C:\\temp\\new",
    "\\d+\\s*",
    '{"inner": "json", "n": 1}',
    "['a', 'b']",
    "01234",
    "1.10",
    "true",
    "null",
    "NaN",
    "-",
    "http://example.org/a?b=c&d=%20#e",
    "/* not a comment */ // nor this",
    "```json\n{}\n```",
    "</tool_call>",
    "ends with a backslash\\",
    '"quoted"',
    "'quoted'",
    "“smart”",
    "tab\tand\rreturn",
    "\u2028\u200b\u00a0",
    "…",
)


def a_string(random: Random) -> str:
    if random.random() < 0.7:
        return random.choice(STRINGS)
    return " ".join(random.choice(STRINGS) for _ in range(random.randint(2, 5)))


def a_number(random: Random) -> float:
    return random.choice((0.5, -1.25, 3.0, 1e21, 2.5e-7, 12345.678, -0.0))


def an_integer(random: Random) -> int:
    return random.choice((0, 1, -1, 7, 42, 1000, 2**31, -(2**53), random.randint(-999, 999)))


def a_schema(random: Random, depth: int = 2) -> dict[str, Any]:
    """A schema of one value."""
    kinds = ["string", "string", "integer", "number", "boolean", "enum", "nullable", "any"]
    kind = random.choice([*kinds, "array", "object"] if depth else kinds)
    if kind == "enum":
        return {"type": "string", "enum": list(WORDS[: random.randint(2, len(WORDS))])}
    if kind == "nullable":
        return {"anyOf": [{"type": "string"}, {"type": "null"}]}
    if kind == "array":
        return {"type": "array", "items": a_schema(random, depth - 1)}
    if kind == "object":
        return an_object(random, depth - 1)
    return {} if kind == "any" else {"type": kind}


def an_object(random: Random, depth: int = 2) -> dict[str, Any]:
    names = random.sample(NAMES, random.randint(1, 5))
    schema: dict[str, Any] = {"type": "object", "properties": {name: a_schema(random, depth) for name in names}}
    schema["required"] = [name for name in names if random.random() < 0.5]
    if random.random() < 0.3:
        schema["additionalProperties"] = False
    return schema


def a_value(random: Random, schema: dict[str, Any]) -> Any:
    """A value that fits the schema. Never blank: a blank required argument counts as missing."""
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "anyOf" in schema:
        return None if random.random() < 0.3 else a_string(random)
    kind = schema.get("type")
    if kind == "object":
        required = set(schema["required"])
        kept = {
            name: inner for name, inner in schema["properties"].items() if name in required or random.random() < 0.7
        }
        return {name: a_value(random, inner) for name, inner in kept.items()}
    if kind == "array":
        return [a_value(random, schema["items"]) for _ in range(random.randint(0, 4))]
    if kind == "boolean" or (kind is None and random.random() < 0.2):
        return random.random() < 0.5
    if kind == "integer" or (kind is None and random.random() < 0.4):
        return an_integer(random)
    return a_number(random) if kind == "number" else a_string(random)


def a_tool(random: Random) -> dict[str, Any]:
    return {"name": "do_it", "description": "Does it.", "parameters": an_object(random)}

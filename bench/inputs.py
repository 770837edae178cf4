"""Tool arguments as models write them: right ones, and the same ones damaged in a dozen ways."""

import json
import re
from collections.abc import Callable
from typing import Any

SEARCH: dict[str, Any] = {
    "name": "search_flights",
    "description": "Finds flights.",
    "parameters": {
        "type": "object",
        "properties": {
            "origin": {"type": "string"},
            "destination": {"type": "string"},
            "passengers": {"type": "integer", "minimum": 1},
            "cabin": {"type": "string", "enum": ["economy", "business", "first"]},
            "flexible": {"type": "boolean"},
        },
        "required": ["origin", "destination", "passengers"],
    },
}
RIGHT: dict[str, Any] = {
    "origin": "Lisbon",
    "destination": "Reykjavik",
    "passengers": 2,
    "cabin": "economy",
    "flexible": True,
}

EDIT: dict[str, Any] = {
    "name": "apply_edits",
    "parameters": {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "dry": {"type": "boolean"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "kind": {"enum": ["insert", "replace", "remove"]},
                        "file": {"type": "string"},
                        "line": {"type": "integer"},
                        "text": {"type": "string"},
                    },
                    "required": ["kind", "file"],
                },
            },
        },
        "required": ["edits"],
    },
}


def edits(size: int) -> dict[str, Any]:
    """Arguments of `apply_edits` whose JSON is about `size` bytes long."""
    value: dict[str, Any] = {"reason": "tidy the loader", "dry": False, "edits": []}
    length = len(json.dumps(value))
    while length < size - 60:  # half an edit: as near as whole edits come
        n = len(value["edits"])
        kind = ("insert", "replace", "remove")[n % 3]
        text = f"def step_{n}(rows):\n    return [row for row in rows if row > {n}]"
        value["edits"].append({"kind": kind, "file": f"src/part_{n}.py", "line": 10 * n + 3, "text": text})
        length += len(json.dumps(value["edits"][-1])) + 2
    return value


def python_style(text: str) -> str:
    return repr(json.loads(text))


def fenced(text: str) -> str:
    return f"Here are the arguments you asked for:\n\n```json\n{text}\n```\nTell me if anything is missing."


def commented(text: str) -> str:
    return text.replace('"edits": [', '// what to change\n"edits": [', 1).replace('"dry":', '/* for real */ "dry":', 1)


DAMAGES: dict[str, Callable[[str], str]] = {
    "python quotes": python_style,
    "trailing commas": lambda text: text.replace("}]", "},]").replace('"}', '",}'),
    "keys without quotes": lambda text: re.sub(r'"(\w+)":', r"\1:", text),
    "single quotes": lambda text: re.sub(r'"(\w+)":', r"'\1':", text),
    "no closing brackets": lambda text: text[: text.rindex('"') + 1],
    "commas missing": lambda text: re.sub(r', "(line|text)"', r' "\1"', text),
    "raw line breaks": lambda text: text.replace("\\n", "\n"),
    "smart quotes": lambda text: re.sub(r'"(\w+)":', r"“\1”:", text),
    "fence and prose": fenced,
    "comments": commented,
    "python literals": lambda text: text.replace("false", "False"),
    "quotes in a string": lambda text: text.replace("tidy the loader", 'tidy the "loader" a bit'),
}
MEANT = {"quotes in a string": ("tidy the loader", 'tidy the "loader" a bit')}


def broken(size: int) -> list[tuple[str, str, Any]]:
    """(damage, text, the value meant) for every damage."""
    value = edits(size)
    text = json.dumps(value)
    cases: list[tuple[str, str, Any]] = []
    for name, damage in DAMAGES.items():
        old, new = MEANT.get(name, ("", ""))
        meant = value | {"reason": value["reason"].replace(old, new)} if old else value
        cases.append((name, damage(text), meant))
    return cases

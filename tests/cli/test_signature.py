"""Arguments in few words."""

from typing import Any

import pytest

from rightcall.cli.packs import arguments_of, type_words
from rightcall.types import Rules


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer 1 to 9"),
        ({"type": "number", "minimum": 0}, "number from 0"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": ["string", "null"]}, "text or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"enum": ["a", "b", ""]}, 'a | b | ""'),
        ({"enum": list(range(9))}, "0 | 1 | 2 | 3 | 4 | 5 | … 9 in all"),
        ({"const": 3}, "3"),
        ({"properties": {"x": {}, "y": {}}}, "object {x, y}"),
        ({"$ref": "#/$defs/point"}, "object {x}"),
        ({"$ref": "#/$defs/loop"}, "anything"),
        ({}, "anything"),
        (True, "anything"),
        ({"type": "string\x1b[2J"}, "string\\u001b[2J"),
    ],
)
def test_a_type_is_said_in_few_words(schema: Any, words: str) -> None:
    root = {"$defs": {"point": {"type": "object", "properties": {"x": {}}}, "loop": {"$ref": "#/$defs/loop"}}}
    assert type_words(schema, root) == words


def test_arguments_carry_marks_aliases_and_defaults() -> None:
    schema = {"properties": {"code": {"type": "string"}, "session": {"type": "integer"}}, "required": ["code"]}
    rules = Rules(aliases={"command": "code"}, defaults={"session": 0}, required_any=(("to", "recipient"),))
    arguments = {one.name: one for one in arguments_of(schema, rules)}
    assert list(arguments) == ["code", "session", "to", "recipient"]
    assert arguments["code"].required
    assert arguments["code"].aliases == ("command",)
    assert arguments["session"].default == 0
    assert not arguments["session"].required

"""What the wires of the practice model share: the question in any of the four requests, and the pieces of answers."""

import re
from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import json

from rightcall.parse.kinds import is_list, is_object
from rightcall.serve.practice_model import Part, PracticeQuestion, Said

CREATED = 1_763_200_000
CREATED_AT = "2025-11-15T10:00:00Z"
_WORD = re.compile(r"\S+\s*|\s+")


class PracticeWire(Protocol):
    """One API. `number` makes ids that differ from answer to answer; `tokens` are those of question and answer."""

    stream_type: str
    streams_unasked: bool

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any: ...

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]: ...

    def error(self, message: str) -> Any: ...


def question_of(body: dict[str, Any]) -> PracticeQuestion:
    """What any of the four requests comes down to."""
    # Only objects: in a list of tools a text would be the path of a file of them.
    tools = [tool for tool in _list(body.get("tools")) if is_object(tool)]
    choice = body.get("tool_choice")
    turns: Any = body.get("messages") or body.get("input")
    said, result = "", None
    for turn in turns if is_list(turns) else [{"role": "user", "content": turns}]:
        text, found = _turn(turn)
        said = text or said
        result = found if text or found is not None else result
    forbidden = choice in ("none", {"type": "none"})
    return PracticeQuestion([] if forbidden else tools, said, result, _wanted(choice))


def _list(value: Any) -> list[Any]:
    return value if is_list(value) else []


def _turn(turn: Any) -> tuple[str, str | None]:
    """What a user said in this turn, and what a tool gave back; a result is the later of the two."""
    if not is_object(turn):
        return "", None
    if turn.get("type") == "function_call_output":
        return "", _text(turn.get("output"))
    if turn.get("role") == "tool":
        return "", _text(turn.get("content"))
    if turn.get("role") != "user":
        return "", None
    content = turn.get("content")
    results = [block for block in _list(content) if is_object(block) and block.get("type") == "tool_result"]
    return ("", _text(results[-1].get("content"))) if results else (_text(content), None)


def _text(content: Any) -> str:
    if is_list(content):
        texts = [block.get("text") for block in content if is_object(block)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _wanted(choice: Any) -> str | None:
    """The tool a request insists on: OpenAI keeps the name one level deeper in chat completions than elsewhere."""
    if not is_object(choice):
        return None
    inner = choice.get("function")
    name = inner.get("name") if is_object(inner) else choice.get("name")
    return name if isinstance(name, str) else None


def pieces(text: str) -> list[str]:
    """Words, each with the blanks behind it: as a stream of tokens may look.

    >>> pieces("It is\\n so.")
    ['It ', 'is\\n ', 'so.']
    """
    return _WORD.findall(text)


def server_event(name: str | None, data: Any) -> bytes:
    text = data if isinstance(data, bytes) else json.encode(data)
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % text


def object_in(text: str) -> Any:
    """Arguments for wires that carry objects: the text itself where it is no JSON."""
    try:
        return json.decode(text)
    except ValueError:
        return text


def said_in(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Said))

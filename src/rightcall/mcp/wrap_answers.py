"""What a server answered to a call: as the record needs it, and as the client gets it where something must be added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder, encode

from rightcall.mcp.messages import ABSENT, Bytes, Message, fields, mapping, value
from rightcall.present.summary import GENEROUS

_MOST_READ: Final = 1 << 18
"""Bytes of an answer that is looked into for its summary."""


class Outcome(Struct, frozen=True):
    ok: bool
    summary: str = ""
    error: str | None = None
    asks: Mapping[str, Any] = {}
    """The whole result, where the server asks for more before it goes on."""


class _Result(Struct, frozen=True, rename="camel"):
    is_error: Any = False
    result_type: Any = None
    content: Raw = ABSENT


class _Block(Struct, frozen=True):
    type: Any = None
    text: Any = None


_results = Decoder(_Result)
_blocks = Decoder(list[_Block])
_WRONG: Final = (DecodeError, RecursionError, ValueError)


def outcome_of(message: Message) -> Outcome:
    if message.error:
        told = mapping(value(message.error)).get("message")
        return Outcome(ok=False, error=told[:GENEROUS] if isinstance(told, str) else "The server reported an error.")
    try:
        result = _results.decode(message.result)
    except _WRONG:
        return Outcome(ok=False, error="The server's answer is no result.")
    if result.result_type == "input_required":
        return Outcome(ok=True, summary="The server asks for input", asks=mapping(value(message.result)))
    text = _text(result.content)
    return Outcome(ok=False, error=text or "It failed.") if result.is_error is True else Outcome(ok=True, summary=text)


def _text(content: Raw) -> str:
    """The beginning of what the result says."""
    size = len(bytes(content))
    if size > _MOST_READ:
        return f"{size:,} bytes"
    try:
        blocks = _blocks.decode(content) if content else []
    except _WRONG:
        return ""
    for block in blocks:
        if isinstance(block.text, str):
            return block.text[:GENEROUS]
    return f"{len(blocks)} content blocks" if blocks else ""


def rewritten(line: Bytes, message: Message, *, hint: str, state: str | None) -> Bytes:
    """The answer with a warning for the model at its end, or with our `requestState`; as it came where neither is."""
    if (not hint and state is None) or not message.result:
        return line
    result: dict[str, Any] = dict(fields(message.result))
    content = value(result.get("content", ABSENT)) if hint else None
    if isinstance(content, list):
        result["content"] = [*content, {"type": "text", "text": hint}]
    if state is not None:
        result["requestState"] = state
    return encode({**fields(line), "result": result})

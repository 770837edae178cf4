"""What a server answered to a call: as the record needs it, and as the client gets it where something must be added."""

from __future__ import annotations

from typing import Any, Final

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder, encode

from rightcall.mcp.messages import ABSENT, fields, mapping, value
from rightcall.present.summary import GENEROUS

_MOST_READ: Final = 1 << 18
"""Bytes of an answer that is looked into for its summary."""


class Outcome(Struct, frozen=True):
    """As `Door.ended` takes it."""

    ok: bool
    summary: str = ""
    error: str | None = None
    asks: bool = False
    """It is no result yet: the server asks for more before it goes on."""
    answer: bytes | None = None
    """All that the model may read of it."""


class _Result(Struct, frozen=True, rename="camel"):
    is_error: Any = False
    result_type: Any = None
    content: Raw = ABSENT
    structured_content: Raw = ABSENT


class _Block(Struct, frozen=True):
    type: Any = None
    text: Any = None


_results = Decoder(_Result)
_blocks = Decoder(list[_Block])
_pieces = Decoder(list[Raw])
_WRONG: Final = (DecodeError, RecursionError, ValueError)


def outcome_of(result: Raw | None, error: Raw | None) -> Outcome:
    """Of a response's two fields, of which one is there."""
    if error:
        told = mapping(value(error)).get("message")
        said = told[:GENEROUS] if isinstance(told, str) else "The server reported an error."
        return Outcome(ok=False, error=said, answer=bytes(error))
    try:
        found = _results.decode(result or b"")
    except _WRONG:
        return Outcome(ok=False, error="The server's answer is no result.")
    if found.result_type == "input_required" and found.is_error is not True:
        return Outcome(ok=True, summary="The server asks for input", asks=True)
    text = _text(found.content)
    answer = b"%b\0%b" % (bytes(found.content), bytes(found.structured_content))
    if found.is_error is True:
        return Outcome(ok=False, error=text or "It failed.", answer=answer)
    return Outcome(ok=True, summary=text, answer=answer)


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


def with_note(result: Raw, text: str) -> Raw:
    """The result with one more piece for the model to read at its end; as it is where it has no such pieces."""
    found = fields(result)
    try:
        pieces = _pieces.decode(found["content"])
    except (KeyError, *_WRONG):
        return result
    return Raw(encode({**found, "content": [*pieces, {"type": "text", "text": text}]}))

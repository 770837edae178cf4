"""What whole answers and streams of Anthropic's messages have in common: blocks, counts, reasons, and framing."""

from __future__ import annotations

import re
from typing import Any

from rightcall.proxy.events import Ending
from rightcall.proxy.wire import Usage
from rightcall.proxy.wires.common import Object, a_number, added, an_object, arguments_text, encode, random_id
from rightcall.text.framing import payload, sse
from rightcall.types import Call

CUT_OFF = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Ends that stay what they are, whatever was found before them."""

PROMPT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""The three together are the prompt: what is read from a cache, or kept in one, is not in the first."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


def input_read(given: Any) -> Any:
    """The arguments of a block. APIs give an object; a text in its place is a mistake that the gate has to see, so it
    is shown what stands there: the JSON of a text.

    >>> input_read({"n": 1}), input_read("{}")
    ({'n': 1}, '"{}"')
    """
    if isinstance(given, str):
        return encode(given).decode()
    return "" if given is None else given


def tool_use(call: Call) -> Object:
    """A block for a call. Ids that models write into their text may be none that the API takes back."""
    given = call.id if call.id and _ID.fullmatch(call.id) else new_id()
    return {"type": "tool_use", "id": given, "name": call.name, "input": call.arguments}


def new_id() -> str:
    return random_id("toolu_")


def stop_reason(given: Any, ending: Ending) -> Any:
    """`tool_use` where there are calls, and only there; what was cut off stays cut off."""
    given = ending.reason or given
    if ending.calls:
        return given if given in CUT_OFF else "tool_use"
    return "end_turn" if given == "tool_use" else given


def usage_of(given: Any) -> Usage:
    """The tokens in a `usage` object.

    >>> usage_of({"input_tokens": 1, "cache_read_input_tokens": 20, "output_tokens": 3})
    Usage(prompt=21, completion=3)
    """
    usage = an_object(given) or {}
    prompt = [count for key in PROMPT_COUNTS if (count := a_number(usage.get(key))) is not None]
    return Usage(sum(prompt) if prompt else None, a_number(usage.get("output_tokens")))


def usage_with(usage: Object, extra: Usage) -> Object:
    """Counts with those of other tries added. What was read from a cache there counts as input here: the sum is right,
    and the cache's own counts stay those of this answer."""
    more = {"input_tokens": extra.prompt, "output_tokens": extra.completion}
    return {**usage, **{key: added(usage[key], count) for key, count in more.items() if key in usage}}


# ── framing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def reframed(raw: bytes, data: Object) -> bytes:
    """An event with other data: its name, its line ends and whatever else stands beside the data stay."""
    old = payload(raw)
    if raw.count(old) == 1:
        return raw.replace(old, encode(data))
    return sse(encode(data), str(data.get("type")))


def event_of(data: Object) -> bytes:
    return sse(encode(data), data["type"])


def grows(place: int, piece: Object) -> bytes:
    return event_of({"type": "content_block_delta", "index": place, "delta": piece})


def text_piece(text: str) -> Object:
    return {"type": "text_delta", "text": text}


def input_piece(call: Call) -> Object:
    return {"type": "input_json_delta", "partial_json": arguments_text(call.arguments) or "{}"}

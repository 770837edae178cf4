"""What the scripted model server says. The server sends it, and whoever asked knows what should have arrived."""

import json
import re
from functools import cache
from typing import Any, Literal

from bench.emissions import hermes
from bench.inputs import EDIT, RIGHT, SEARCH
from bench.prose import prose

Kind = Literal["plain", "right", "repaired", "lifted"]

SIZE = 2_000
"""Bytes of a whole answer, about."""
FIRST = b"Answer "
"""The first word of every answer; its number follows, so that no answer can pass for another."""
CALL = {**RIGHT, "passengers": 2}
BROKEN = str({**RIGHT, "passengers": "2"})
"""Python's quotes and words, and a number as text."""
END = "data: [DONE]\n\n"

_ASK = re.compile(rb"ask:(\w+):(\d+):(\d+):(\d+);")
_NUMBER = "@@@@@@"


def tools() -> list[dict[str, Any]]:
    """Six of them, about 3 kB, as a small agent sends along with every request."""
    named = [{**EDIT, "name": f"apply_edits_{name}", "description": prose(150)} for name in ("a", "b", "c", "d")]
    return [{"type": "function", "function": tool} for tool in (SEARCH, EDIT, *named)]


@cache
def _request(*, stream: bool) -> str:
    messages = [{"role": "system", "content": prose(600)}, {"role": "user", "content": "@ask@"}]
    asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": tools()}
    return json.dumps(asked | ({"stream": True} if stream else {}))


def request(kind: Kind, number: int, *, stream: bool, chunks: int = 0, gap: int = 0) -> bytes:
    """A request for a certain answer: in `chunks` pieces, `gap` microseconds apart."""
    return _request(stream=stream).replace("@ask@", f"ask:{kind}:{number}:{chunks}:{gap};").encode()


def asked(body: bytes) -> tuple[Kind, int, int, int]:
    """Kind, number, chunks and gap of a request."""
    found = _ASK.search(body)
    if found is None:
        return "plain", 0, 0, 0
    return found[1].decode(), int(found[2]), int(found[3]), int(found[4])  # type: ignore[return-value]


# ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _answer(kind: Kind) -> bytes:
    text, call = f"Answer {_NUMBER}. ", None
    if kind in ("right", "repaired"):
        arguments = BROKEN if kind == "repaired" else json.dumps(CALL)
        function = {"name": "search_flights", "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": function}
    room = SIZE - 420 - (300 if call else 0)
    text += prose(room)
    if kind == "lifted":
        text += f"\n{hermes('search_flights', CALL)}"
    message: dict[str, Any] = {"role": "assistant", "content": text} | ({"tool_calls": [call]} if call else {})
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if call else "stop"}
    usage = {"prompt_tokens": 900, "completion_tokens": 420, "total_tokens": 1320}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**head, "choices": [choice], "usage": usage, "system_fingerprint": "fp"}).encode()


def answer(kind: Kind, number: int) -> bytes:
    return _answer(kind).replace(_NUMBER.encode(), b"%06d" % number)


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _event(delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**head, 'system_fingerprint': 'fp', 'choices': [choice]})}\n\n"


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _call_pieces(kind: Kind) -> list[dict[str, Any]]:
    arguments = BROKEN if kind == "repaired" else json.dumps(CALL)
    begin = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "search_flights", "arguments": ""}}
    more = [{"index": 0, "function": {"arguments": piece}} for piece in _pieces(arguments, 5)]
    return [{"tool_calls": [call]} for call in (begin, *more)]


@cache
def _stream(kind: Kind, chunks: int) -> tuple[str, ...]:
    last: list[dict[str, Any]] = []
    if kind in ("right", "repaired"):
        last = _call_pieces(kind)
    elif kind == "lifted":
        last = [{"content": piece} for piece in _pieces(f"\n{hermes('search_flights', CALL)}", 5)]
    words = re.findall(r"\s*\S+", prose(20 * chunks + 200))[: max(chunks - len(last) - 2, 0)]
    texts = [{"content": piece} for piece in (f"Answer {_NUMBER}", ". ", *words)[: max(chunks - len(last), 1)]]
    deltas = [{"role": "assistant", "content": ""}, *texts, *last]
    finish = _event({}, "tool_calls" if kind in ("right", "repaired") else "stop")
    return (*map(_event, deltas), finish, END)


@cache
def _stream_bytes(kind: Kind, chunks: int) -> tuple[bytes, ...]:
    return tuple(event.encode() for event in _stream(kind, chunks))


def stream(kind: Kind, number: int, chunks: int) -> list[bytes]:
    """The events: one that names the role, `chunks` with pieces, the reason and the end."""
    role, first, *rest = _stream_bytes(kind, chunks)
    return [role, first.replace(_NUMBER.encode(), b"%06d" % number), *rest]


def events_in(chunks: int) -> int:
    return chunks + 3

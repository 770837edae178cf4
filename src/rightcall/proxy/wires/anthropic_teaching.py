"""Asking a server of Anthropic's messages otherwise: once more with a hint, or with the tools in the prompt."""

from __future__ import annotations

import re
from typing import Any

from rightcall.proxy.teaching import as_text, result_text
from rightcall.proxy.wire import Redo
from rightcall.proxy.wires.common import Object, a_list, an_object, arguments_text, decoded, objects
from rightcall.types import Call

TOOL_SETTINGS = ("tools", "tool_choice")
SHOWN = 4_000
"""Characters of arguments that nobody can read, shown to the model that wrote them."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


# ── once more ────────────────────────────────────────────────────────────────────────────────────────────────────


def again(request: Object, redo: Redo) -> Object:
    """The request with the model's own message and what is wrong with it."""
    messages = list(a_list(request.get("messages")))
    said = [_text(redo.prose)] if redo.prose.strip() else []
    if redo.calls:
        _append(messages, "assistant", said + [_as_written(call) for call in redo.calls])
        _append(messages, "user", [_refused(call, hint) for call, hint in zip(redo.calls, redo.hints, strict=True)])
    else:
        _append(messages, "assistant", said)
        _append(messages, "user", [_text(redo.text)])
    return _unthinking({**request, "messages": messages, "stream": False})


def _append(messages: list[Any], role: str, blocks: list[Object]) -> None:
    """One more message, or more of the last one where it has the same role: roles take turns."""
    last = an_object(messages[-1]) if messages else None
    if not blocks:
        return
    if last is not None and last.get("role") == role:
        messages[-1] = {**last, "content": _blocks(last.get("content")) + blocks}
    else:
        messages.append({"role": role, "content": blocks})


def _as_written(call: Call) -> Object:
    """A call as the model wrote it, as far as the API can carry it."""
    name = _NOT_IN_A_NAME.sub("_", call.name)[:128] or "unnamed"
    return {"type": "tool_use", "id": call.id, "name": name, "input": _object(call.arguments) or {}}


def _refused(call: Call, hint: str) -> Object:
    """What is wrong with a call; with its arguments, where the API could not carry them."""
    if _object(call.arguments) is None:
        hint = f"{hint}\n\nThe arguments as you wrote them:\n{arguments_text(call.arguments)[:SHOWN]}"
    return {"type": "tool_result", "tool_use_id": call.id, "content": hint, "is_error": True}


def _object(arguments: Any) -> Object | None:
    return decoded(arguments.encode(errors="replace")) if isinstance(arguments, str) else an_object(arguments)


def _unthinking(request: Object) -> Object:
    """Without the model's thinking: with it, the API wants the signed thoughts before the calls, and no client has
    been sent them yet. What manages thoughts goes with them."""
    kept = {key: value for key, value in request.items() if key != "thinking"}
    managed = an_object(kept.get("context_management"))
    if managed is not None:
        edits = [edit for edit in objects(managed.get("edits")) if "thinking" not in str(edit.get("type"))]
        kept["context_management"] = {**managed, "edits": edits}
        if not edits:
            del kept["context_management"]
    return kept


# ── the tools in the prompt ──────────────────────────────────────────────────────────────────────────────────────


def taught(request: Object, prompt: str) -> Object:
    """The request for a model that knows no tools."""
    kept = {key: value for key, value in request.items() if key not in TOOL_SETTINGS}
    messages = [_in_text(message) for message in objects(request.get("messages"))]
    return {**kept, "system": _instructed(request.get("system"), prompt), "messages": messages}


def _instructed(system: Any, prompt: str) -> Any:
    if isinstance(system, list):
        return [*a_list(system), _text(prompt)]
    return f"{system}\n\n{prompt}" if isinstance(system, str) and system else prompt


def _in_text(message: Object) -> Object:
    """A message without native calls: what they said is in its text."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [new for block in a_list(content) for new in _block_in_text(block)]}


def _block_in_text(given: Any) -> list[Any]:
    block = an_object(given) or {}
    if block.get("type") == "tool_use":
        said = _text(as_text([(str(block.get("name")), block.get("input"))]))
        return [said | _cached(block)]
    if block.get("type") != "tool_result":
        return [given]
    content = _blocks(block.get("content"))
    result = "\n".join(str(part["text"]) for part in content if part.get("type") == "text" and "text" in part)
    said = _text(result_text(f"Error: {result}" if block.get("is_error") is True else result))
    others = [part for part in content if part.get("type") != "text"]  # pictures
    return [*others, said | _cached(block)]


def _cached(block: Object) -> Object:
    return {"cache_control": block["cache_control"]} if "cache_control" in block else {}


def _blocks(content: Any) -> list[Object]:
    """A content as blocks: a text is one."""
    if isinstance(content, str):
        return [_text(content)] if content else []
    return objects(content)


def _text(text: str) -> Object:
    return {"type": "text", "text": text}

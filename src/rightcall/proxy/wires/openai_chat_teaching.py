"""Asking an OpenAI-compatible server otherwise: once more with a hint, or with the tools in the prompt."""

from __future__ import annotations

from typing import Any

from rightcall.proxy.teaching import as_text, result_text
from rightcall.proxy.wire import Redo
from rightcall.proxy.wires.common import Object, a_list, an_object, arguments_text, objects

TOOL_SETTINGS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")


def again(request: Object, redo: Redo) -> Object:
    """The request with the model's own message and what is wrong with it."""
    messages = list(a_list(request.get("messages")))
    if redo.calls:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call.arguments)},
            }
            for call in redo.calls
        ]
        messages.append({"role": "assistant", "content": redo.prose or None, "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": hint}
            for call, hint in zip(redo.calls, redo.hints, strict=True)
        ]
    else:
        messages.append({"role": "assistant", "content": redo.prose})
        messages.append({"role": "user", "content": redo.text})
    return unstreamed({**request, "messages": messages})


def taught(request: Object, prompt: str) -> Object:
    """The request for a model that knows no tools."""
    kept = {key: value for key, value in request.items() if key not in TOOL_SETTINGS}
    messages = [_in_text(message) for message in objects(request.get("messages"))]
    first = an_object(messages[0]) if messages else None
    if first is not None and first.get("role") in ("system", "developer"):
        messages[0] = {**first, "content": f"{_text(first.get('content'))}\n\n{prompt}"}
    else:
        messages.insert(0, {"role": "system", "content": prompt})
    return {**kept, "messages": messages}


def unstreamed(request: Object) -> Object:
    """The same request, to be answered at once."""
    return {key: value for key, value in request.items() if key != "stream_options"} | {"stream": False}


def _in_text(message: Object) -> Object:
    """A message without native calls: what they said is in its text."""
    if message.get("role") == "tool":
        return {"role": "user", "content": result_text(_text(message.get("content")))}
    calls = [an_object(call.get("function")) or {} for call in objects(message.get("tool_calls"))]
    if not calls:
        return message
    written = as_text([(str(call.get("name")), call.get("arguments")) for call in calls])
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": f"{_text(message.get('content'))}\n{written}".strip()}


def _text(content: Any) -> str:
    """The text of a content that is one, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in objects(content))

"""Asking Ollama otherwise: once more with a hint, or with the tools in the prompt."""

from __future__ import annotations

from typing import Any

from rightcall.proxy.teaching import as_text, result_text
from rightcall.proxy.wire import Redo
from rightcall.proxy.wires.common import Object, a_list, an_object, arguments_text, decoded, objects
from rightcall.types import Call


def again(request: Object, redo: Redo) -> Object:
    """The request with the model's own message and what is wrong with it. Ollama refuses a call whose arguments are no
    object: a message with such a call is told in text."""
    messages = list(a_list(request.get("messages")))
    calls = [(call, _arguments(call)) for call in redo.calls]
    if calls and all(arguments is not None for _, arguments in calls):
        written = [_native(call, arguments) for call, arguments in calls]
        messages.append({"role": "assistant", "content": redo.prose, "tool_calls": written})
        messages += [_hint(call, hint) for call, hint in zip(redo.calls, redo.hints, strict=True)]
    else:
        told = as_text([(call.name, call.arguments) for call in redo.calls])
        messages.append({"role": "assistant", "content": f"{redo.prose}\n{told}".strip()})
        messages.append({"role": "user", "content": "\n\n".join(redo.hints) or redo.text})
    return {**request, "messages": messages, "stream": False}


def taught(request: Object, prompt: str) -> Object:
    """The request for a model that knows no tools."""
    messages = [_in_text(message) for message in objects(request.get("messages"))]
    if messages and messages[0].get("role") == "system":
        messages[0] = {**messages[0], "content": f"{messages[0].get('content') or ''}\n\n{prompt}".strip()}
    else:
        messages.insert(0, {"role": "system", "content": prompt})
    return {**{key: value for key, value in request.items() if key != "tools"}, "messages": messages}


def _arguments(call: Call) -> Object | None:
    given: Any = call.arguments
    return an_object(given) or decoded(arguments_text(given).encode(errors="surrogatepass"))


def _native(call: Call, arguments: Any) -> Object:
    written: Object = {"function": {"name": call.name, "arguments": arguments}}
    return {"id": call.id, **written} if call.id else written


def _hint(call: Call, hint: str) -> Object:
    message: Object = {"role": "tool", "tool_name": call.name, "content": hint}
    return {**message, "tool_call_id": call.id} if call.id else message


def _in_text(message: Object) -> Object:
    """A message without native calls: what they said is in its text."""
    content = message.get("content") or ""
    if message.get("role") == "tool":
        return {"role": "user", "content": result_text(str(content))}
    calls = [an_object(call.get("function")) or {} for call in objects(message.get("tool_calls"))]
    if not calls:
        return message
    written = as_text([(str(call.get("name")), call.get("arguments")) for call in calls])
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": f"{content}\n{written}".strip()}

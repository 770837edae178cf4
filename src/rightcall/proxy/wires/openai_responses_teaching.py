"""Asking a server of OpenAI's Responses otherwise: once more with a hint, or with the tools in the prompt.

What the model wrote goes back among the `input`, without the ids of its items: an id refers to something that the
server may have stored, and this call may not be what it stored. So it works with and without `store`, and together with
`previous_response_id`, since a second answer to the same one is allowed. A `conversation` has kept the request and the
answer already, so there only what answers them is sent.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from rightcall.proxy.teaching import as_text, result_text
from rightcall.proxy.wire import Redo
from rightcall.proxy.wires.common import Object, a_list, an_object, arguments_text, objects

TOOL_SETTINGS = ("tools", "tool_choice", "parallel_tool_calls", "max_tool_calls")
CALL, RESULT = "function_call", "function_call_output"


def again(request: Object, redo: Redo) -> Object:
    """The request with the model's own items and what is wrong with them."""
    told: list[Object] = []
    answers: list[Object] = []
    if redo.prose or not redo.calls:
        told.append({"role": "assistant", "content": redo.prose})
    for call, hint in zip(redo.calls, redo.hints, strict=True):
        arguments = arguments_text(call.arguments)
        told.append({"type": CALL, "call_id": call.id, "name": call.name, "arguments": arguments})
        answers.append({"type": RESULT, "call_id": call.id, "output": hint})
    if not redo.calls:
        answers.append({"role": "user", "content": redo.text})
    before = [] if request.get("conversation") else [*items(request.get("input")), *told]
    return unstreamed({**request, "input": before + answers})


def items(given: Any) -> list[Any]:
    """The input as a list: one text is one message of the user."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else a_list(given)


def unstreamed(request: Object) -> Object:
    """The same request, to be answered at once."""
    kept = {key: value for key, value in request.items() if key not in ("stream_options", "background")}
    return kept | {"stream": False}


def taught(request: Object, prompt: str) -> Object:
    """The request for a model that knows no tools. What the server runs itself stays offered."""
    kept = {key: value for key, value in request.items() if key not in TOOL_SETTINGS}
    if others := [tool for tool in objects(request.get("tools")) if tool.get("type") != "function"]:
        kept["tools"] = others
    given = request.get("instructions")
    kept["instructions"] = f"{given}\n\n{prompt}" if isinstance(given, str) and given else prompt
    if isinstance(request.get("input"), list):
        kept["input"] = _in_text(a_list(request["input"]))
    return kept


def _in_text(given: list[Any]) -> list[Any]:
    """The conversation without native calls: what they and their results said, as messages."""
    messages: list[Any] = []
    for kind, run in groupby(given, key=_type):
        if kind == CALL:
            written = as_text([(str(call.get("name")), call.get("arguments")) for call in run])
            messages.append({"role": "assistant", "content": written})
        elif kind == RESULT:
            results = [result_text(_text(result.get("output"))) for result in run]
            messages.append({"role": "user", "content": "\n".join(results)})
        else:
            messages += run
    return messages


def _type(item: Any) -> str:
    return str((an_object(item) or {}).get("type"))


def _text(output: Any) -> str:
    """The text of a result that is one, or a list of parts."""
    if isinstance(output, str):
        return output
    return "\n".join(str(part.get("text") or "") for part in objects(output))

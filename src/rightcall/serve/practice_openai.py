"""The practice model on OpenAI's two wires."""

from collections.abc import Iterator
from typing import Any

from rightcall.serve.practice_model import MODEL, Part, Said
from rightcall.serve.practice_wires import CREATED, pieces, said_in, server_event


class Chat:
    """OpenAI chat completions."""

    stream_type = "text/event-stream; charset=utf-8"
    streams_unasked = False

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": said_in(parts)}
        if calls := self._calls(parts, number):
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish(parts)}
        return self._head(number, "chat.completion") | {"choices": [choice], "usage": self._usage(tokens)}

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        head = self._head(number, "chat.completion.chunk")

        def chunk(delta: dict[str, Any]) -> bytes:
            return server_event(None, head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(said_in(parts)):
            yield chunk({"content": piece})
        for place, call in enumerate(self._calls(parts, number)):
            arguments = call["function"]["arguments"]
            yield chunk({"tool_calls": [{"index": place, **call, "function": call["function"] | {"arguments": ""}}]})
            for piece in pieces(arguments):
                yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": self._finish(parts)}
        yield server_event(None, head | {"choices": [last], "usage": self._usage(tokens)})
        yield server_event(None, b"[DONE]")

    def error(self, message: str) -> Any:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def _head(self, number: int, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-practice-{number}", "object": kind, "created": CREATED, "model": MODEL}

    def _calls(self, parts: list[Part], number: int) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_practice_{number}_{place}",
                "type": "function",
                "function": {"name": part.name, "arguments": part.arguments},
            }
            for place, part in enumerate(parts)
            if not isinstance(part, Said)
        ]

    def _finish(self, parts: list[Part]) -> str:
        return "stop" if all(isinstance(part, Said) for part in parts) else "tool_calls"

    def _usage(self, tokens: tuple[int, int]) -> dict[str, int]:
        prompt, completion = tokens
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class Responses:
    """OpenAI Responses."""

    stream_type = "text/event-stream; charset=utf-8"
    streams_unasked = False
    error = Chat.error

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        items = [self._item(part, number, place, "completed") for place, part in enumerate(parts)]
        prompt, completion = tokens
        usage = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + completion,
        }
        return self._response(number, "completed") | {"output": items, "usage": usage}

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        for order, event in enumerate(self._events(parts, number, tokens)):
            yield server_event(event["type"], {**event, "sequence_number": order})

    def _events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[dict[str, Any]]:
        yield {"type": "response.created", "response": self._response(number, "in_progress")}
        for place, part in enumerate(parts):
            begun = self._item(part, number, place, "in_progress")
            yield {"type": "response.output_item.added", "output_index": place, "item": begun}
            yield from self._said_or_called(part, {"item_id": begun["id"], "output_index": place})
            ended = self._item(part, number, place, "completed")
            yield {"type": "response.output_item.done", "output_index": place, "item": ended}
        yield {"type": "response.completed", "response": self.whole(parts, number, tokens)}

    def _said_or_called(self, part: Part, at: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not isinstance(part, Said):
            for piece in pieces(part.arguments):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **at, "arguments": part.arguments}
            return
        at = at | {"content_index": 0}
        yield {"type": "response.content_part.added", **at, "part": _output_text("")}
        for piece in pieces(part.text):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": part.text, "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": _output_text(part.text)}

    def _response(self, number: int, status: str) -> dict[str, Any]:
        return {
            "id": f"resp_practice_{number}",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": MODEL,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": None,
        }

    def _item(self, part: Part, number: int, place: int, status: str) -> dict[str, Any]:
        begun = status == "in_progress"
        if isinstance(part, Said):
            content = [] if begun else [_output_text(part.text)]
            about = {"type": "message", "role": "assistant", "content": content}
        else:
            arguments = "" if begun else part.arguments
            about = {"type": "function_call", "call_id": f"call_practice_{number}_{place}", "name": part.name}
            about["arguments"] = arguments
        kind = "msg" if isinstance(part, Said) else "fc"
        return {"id": f"{kind}_practice_{number}_{place}", "status": status, **about}


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

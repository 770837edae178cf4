"""The practice model on Anthropic's wire and on Ollama's."""

from collections.abc import Iterator
from typing import Any

from msgspec import json

from rightcall.serve.practice_model import MODEL, Part, Said
from rightcall.serve.practice_wires import CREATED_AT, object_in, pieces, said_in, server_event


class Messages:
    """Anthropic messages."""

    stream_type = "text/event-stream; charset=utf-8"
    streams_unasked = False

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        blocks = [self._block(part, number, place) for place, part in enumerate(parts)]
        return self._message(number, tokens) | {"content": blocks, "stop_reason": self._stop(parts)}

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        for event in self._events(parts, number, tokens):
            yield server_event(event["type"], event)

    def _events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[dict[str, Any]]:
        yield {"type": "message_start", "message": self._message(number, (tokens[0], 1))}
        for index, part in enumerate(parts):
            begun = self._block(part, number, index)
            if isinstance(part, Said):
                begun["text"] = ""
                deltas = [{"type": "text_delta", "text": text} for text in pieces(part.text)]
            else:
                begun["input"] = {}
                deltas = [{"type": "input_json_delta", "partial_json": text} for text in pieces(part.arguments)]
            yield {"type": "content_block_start", "index": index, "content_block": begun}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        stop = {"stop_reason": self._stop(parts), "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": tokens[1]}}
        yield {"type": "message_stop"}

    def error(self, message: str) -> Any:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}

    def _message(self, number: int, tokens: tuple[int, int]) -> dict[str, Any]:
        about = {"id": f"msg_practice_{number}", "type": "message", "role": "assistant", "model": MODEL}
        usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        return {**about, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def _block(self, part: Part, number: int, place: int) -> dict[str, Any]:
        if isinstance(part, Said):
            return {"type": "text", "text": part.text}
        call_id = f"toolu_practice_{number}_{place}"
        return {"type": "tool_use", "id": call_id, "name": part.name, "input": object_in(part.arguments)}

    def _stop(self, parts: list[Part]) -> str:
        return "end_turn" if all(isinstance(part, Said) for part in parts) else "tool_use"


class OllamaChat:
    """Ollama's own chat."""

    stream_type = "application/x-ndjson"
    streams_unasked = True

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": said_in(parts)}
        if calls := self._calls(parts, number):
            message["tool_calls"] = calls
        return self._line(message) | self._done(tokens)

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        messages: list[dict[str, Any]] = [{"content": piece} for piece in pieces(said_in(parts))]
        messages += [{"content": "", "tool_calls": [call]} for call in self._calls(parts, number)]
        for message in messages:
            yield json.encode(self._line({"role": "assistant", **message})) + b"\n"
        yield json.encode(self._line({"role": "assistant", "content": ""}) | self._done(tokens)) + b"\n"

    def error(self, message: str) -> Any:
        return {"error": message}

    def _line(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"model": MODEL, "created_at": CREATED_AT, "message": message, "done": False}

    def _done(self, tokens: tuple[int, int]) -> dict[str, Any]:
        durations = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), 1)
        return {
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": tokens[0],
            "eval_count": tokens[1],
            **durations,
        }

    def _calls(self, parts: list[Part], number: int) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_practice_{number}_{place}",
                "function": {"index": 0, "name": part.name, "arguments": object_in(part.arguments)},
            }
            for place, part in enumerate(parts)
            if not isinstance(part, Said)
        ]

"""A scripted Gemini API on a loopback port: what the model says, one answer a turn, and what it was told of each.

Its calls carry their arguments as an object, never as text.
"""

import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from msgspec import json

DONE = {"text": "done"}
_BESIDE = {"reasoning": "-", "next_speaker": "user", "model_choice": "flash", "complexity_score": 1}
"""An answer to the small questions that the command line asks beside the work."""


class ScriptedGemini:
    """`parts` are the model's answers. At each turn `told` gets what came of the last one, and `between` is called."""

    def __init__(self, parts: Sequence[dict[str, Any]], between: Callable[[], None]) -> None:
        self.told: list[str] = []
        self._parts = list(parts)
        self._between = between
        self._turn = 0
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.decode(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                answer = json.encode(scripted.answer(request))
                streamed = "stream" in self.path
                body = b"data: " + answer + b"\n\n" if streamed else answer
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if streamed else "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if not request.get("tools"):
            return _candidate({"text": json.encode(_BESIDE).decode()})
        if self._turn:
            self.told.append(_results(request["contents"][-1]))
            self._between()
        self._turn += 1
        return _candidate(self._parts[self._turn - 1] if self._turn <= len(self._parts) else DONE)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _candidate(part: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


def _results(content: dict[str, Any]) -> str:
    given = [part["functionResponse"]["response"] for part in content["parts"] if "functionResponse" in part]
    return "\n".join(str(one.get("error") or one.get("output") or one) for one in given)

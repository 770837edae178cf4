"""Gemini's API, as far as its command line needs it: each answer of the script is one call, then "done"."""

import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from msgspec import json

_SMALL = {"reasoning": "", "next_speaker": "user", "model_choice": "flash", "complexity_score": 1}
"""What it also asks for, beside the work."""


class ScriptedGemini:
    """`responses` are what the model reads of its calls, in order."""

    def __init__(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.responses: list[dict[str, Any]] = []
        self._left = iter(calls)
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._send(b"{}", "application/json")

            def do_POST(self) -> None:
                asked = json.decode(self.rfile.read(int(self.headers["content-length"])) or b"{}")
                if "countTokens" in self.path:
                    return self._send(b'{"totalTokens": 10}', "application/json")
                answer = json.encode(script.answer(asked))
                if "stream" in self.path:
                    return self._send(b"data: " + answer + b"\n\n", "text/event-stream")
                return self._send(answer, "application/json")

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        part: dict[str, Any] = {"text": json.encode(_SMALL).decode()}
        if asked.get("tools"):
            last = asked["contents"][-1]["parts"]
            self.responses += [one["functionResponse"]["response"] for one in last if "functionResponse" in one]
            call = next(self._left, None)
            part = {"text": "done"} if call is None else {"functionCall": {"name": call[0], "args": call[1], "id": "c"}}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

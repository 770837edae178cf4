"""The ten lines of docs/reference/loop.md talk to a server that speaks OpenAI's dialect: one of this test's own."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.executor import Executor
from rightcall.models.loop import run_loop_sync
from support.docs import blocks
from support.loops import code_base, code_tools, openai

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "loop.md"


@pytest.fixture
def chat() -> Callable[..., Any]:
    """The function as the page has it."""
    (block,) = [block for block in blocks(PAGE.read_text(encoding="utf-8")) if "urlopen" in block.body]
    names: dict[str, Any] = {}
    exec(compile(block.body, str(PAGE), "exec"), names)  # noqa: S102  (our own documentation)
    return names["chat"]


class Server(ThreadingHTTPServer):
    """Answers with one reply after the other, and keeps what it was asked; a number is an HTTP error."""

    def __init__(self, replies: list[Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.bodies = iter(replies), list[Any]()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        reply = next(self.server.replies)
        if isinstance(reply, int):
            self.send_error(reply)
            return
        body = json.dumps({"id": "r", "object": "chat.completion", "choices": [{"index": 0, **reply}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*replies: Any) -> Server:
        server = Server(list(replies))
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_request_is_answered_over_http(tmp_path: Path, chat: Any, serve: Callable[..., Server]) -> None:
    call = {"message": openai("code/read", path="system/Room.ts"), "finish_reason": "tool_calls"}
    answer = {"message": {"role": "assistant", "content": "It is a class."}, "finish_reason": "stop"}
    server = serve(call, answer)
    model = chat(f"http://127.0.0.1:{server.server_port}/v1", "local", "key")
    with Executor.open_sync(code_base(tmp_path), tools=code_tools(tmp_path), store="memory", code=False) as executor:
        result = run_loop_sync(model, executor, "What is Room?", caller="teacher", model_seconds=60)
    assert (result.text, result.stopped) == ("It is a class.", "answer")
    first, second = server.bodies
    assert first["model"] == "local"
    assert [one["function"]["name"] for one in first["tools"]] == ["code_read", "code_search"]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
    assert "class Room" in second["messages"][-1]["content"]


def test_a_server_that_fails_is_a_model_that_fails(tmp_path: Path, chat: Any, serve: Callable[..., Server]) -> None:
    server = serve(500)
    with Executor.open_sync(tmp_path, store="memory") as executor:
        model = chat(f"http://127.0.0.1:{server.server_port}/v1", "local")
        result = run_loop_sync(model, executor, "Hello?", caller="teacher")
    assert result.stopped == "model"
    assert result.error == "HTTPError: HTTP Error 500: Internal Server Error"

"""An MCP server in memory, as a link of the gateway's: what it answers is a function, what it says is a method."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import json

from rightcall.mcp.upstream.session import Heard, ServerGone
from rightcall.policy.settings import Server

Answering = Callable[[str, dict[str, Any]], Any]
TOOL = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def old_server(method: str, params: dict[str, Any]) -> Any:
    """A server of the old era with one tool. None is no answer; an exception is an error."""
    match method:
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    raise LookupError(method)


class Wrong(Exception):
    """An error of the server's own."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class ScriptedLink:
    """Answers at once. `sent` is everything it was sent."""

    def __init__(self, answering: Answering = old_server) -> None:
        self._answering = answering
        self.heard: Heard | None = None
        self.sent: list[dict[str, Any]] = []
        self.closed = False

    async def open(self, heard: Heard) -> None:
        self.heard = heard

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        message = json.decode(body)
        self.sent.append(message | {"headers": dict(headers)})
        try:
            answer = self._answering(message["method"], message["params"])
        except Wrong as wrong:
            self.say({"id": id, "error": wrong.error})
            return
        except LookupError as why:
            self.say({"id": id, "error": {"code": -32601, "message": str(why)}})
            return
        if answer is not None:
            self.say({"id": id, "result": answer})

    def tell(self, body: bytes) -> None:
        self.sent.append(json.decode(body))

    def abandon(self, id: int) -> bool:
        return False

    def agreed(self, version: str, *, listen: bool) -> None:
        pass

    async def aclose(self) -> None:
        self.closed = True

    def say(self, message: Any, related: int | None = None) -> None:
        assert self.heard is not None
        self.heard.message(json.encode({"jsonrpc": "2.0", **message}) + b"\n", related)

    def said(self, method: str) -> list[dict[str, Any]]:
        return [one for one in self.sent if one.get("method") == method]


class Absent(ScriptedLink):
    async def open(self, heard: Heard) -> None:
        raise ServerGone("there is no such program")


def opening(**links: ScriptedLink) -> Callable[[Server], ScriptedLink]:
    return lambda server: links[server.name]

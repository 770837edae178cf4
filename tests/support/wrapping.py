"""`wrap` without processes: a client's lines go in, and what each side would get comes out."""

from collections.abc import Callable
from typing import Any

import msgspec

from rightcall.executor.door import Door
from rightcall.mcp.messages import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY
from rightcall.mcp.wrap.process import Ends
from rightcall.mcp.wrap.wrap import Between

TOOLS = [
    {
        "name": "read_file",
        "description": "Read a file.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        },
    },
    {
        "name": "delete_file",
        "description": "Delete a file.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
]
MODERN = {
    VERSION_KEY: "2026-07-28",
    CLIENT_KEY: {"name": "desk", "version": "1"},
    CAPABILITIES_KEY: {"elicitation": {"form": {}}},
}
ASKING = {"policy": {"approval": {"tools": ["delete_file"]}}}


def line(message: Any) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def call(id: Any, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


class Quiet(Ends):
    """Nothing happens by itself: what was put off is done when the test says so."""

    def __init__(self, client: list[bytes], server: list[bytes]) -> None:
        super().__init__(client.append, server.append)
        self.put_off: list[Callable[[], None]] = []

    def later(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        del seconds
        self.put_off.append(work)
        return lambda: self.put_off.remove(work)

    def time_passes(self) -> None:
        """Until all that was put off is due."""
        for work in [*self.put_off]:
            work()

    def soon(self, work: Callable[[], None]) -> None:
        work()


def answers(asked: Any, answer: Any) -> dict[str, Any]:
    """The `inputResponses` that answer each question of a result in the same way."""
    return dict.fromkeys(asked["inputRequests"], answer)


class Wrapped:
    """One client and one server, both played by the test."""

    def __init__(self, door: Door, *, listed: bool = True, answerable: bool = True) -> None:
        self.door = door
        self.client_got: list[bytes] = []
        self.server_got: list[bytes] = []
        self.ends = Quiet(self.client_got, self.server_got)
        self.between = Between(door, "files", self.ends, answerable=answerable)
        if listed:
            self.client({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})
            self.server(result("list", {"tools": TOOLS}))
            self.forget()

    def client(self, message: Any) -> None:
        self.between.from_client(message if isinstance(message, bytes) else line(message))

    def server(self, message: Any) -> None:
        self.between.from_server(message if isinstance(message, bytes) else line(message))

    def greet(self, **capabilities: Any) -> None:
        """The handshake of an older client."""
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "desk"}}
        self.client({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params})
        self.forget()

    def forget(self) -> None:
        self.client_got.clear()
        self.server_got.clear()

    @property
    def told(self) -> list[Any]:
        """What the client got, read."""
        return [msgspec.json.decode(one) for one in self.client_got]

    @property
    def asked(self) -> list[Any]:
        """What the server got, read."""
        return [msgspec.json.decode(one) for one in self.server_got]

    @property
    def refusal(self) -> str:
        """The text of the one refusal that the client got."""
        (only,) = self.told
        assert only["result"]["isError"] is True
        return only["result"]["content"][0]["text"]

    def records(self, kind: str) -> list[Any]:
        entries = self.door.store.look(lambda tables: list(tables.entries()))
        return [msgspec.json.decode(entry.body) for entry in entries if entry.kind == kind]

"""A small MCP server over stdio, of the old era: one tool, answered at once."""

import sys

from msgspec import json

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
}
TOOL = {"name": "read_file", "description": "Read the first lines of a file.", "inputSchema": SCHEMA}
ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "files", "version": "1"},
}


def answer(method: str, params: dict) -> dict:
    match method:
        case "initialize":
            return {"result": ABOUT}
        case "tools/list":
            return {"result": {"tools": [TOOL]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": params["arguments"]["path"]}]}}
        case "ping":
            return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.decode(line)
        if "id" in message:
            told = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params") or {})}
            sys.stdout.buffer.write(json.encode(told) + b"\n")
            sys.stdout.buffer.flush()


main()

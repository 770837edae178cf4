"""An MCP server over standard input and output that tells another list each time: `python fickle_server.py`, with its
instructions behind that."""

import json
import sys
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "name": "list_rooms",
        "description": "Lists the rooms of a hotel.",
        "inputSchema": {
            "type": "object",
            "properties": {"order": {"type": "string", "description": "One of: price, size"}},
        },
    }
]


def _answer(method: str, asked: int) -> dict[str, Any] | None:
    match method:
        case "initialize":
            told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "fickle"}}
            return {**told, "instructions": " ".join(sys.argv[1:])}
        case "tools/list":
            return {"tools": [{**tool, "description": f"{tool['description']} Question {asked}."} for tool in TOOLS]}
    return None


def main() -> None:
    asked = 0
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        asked += message["method"] == "tools/list"
        result = _answer(message["method"], asked)
        body = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown method"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

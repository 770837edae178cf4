"""A real MCP server over standard input and output, as a program of its own: `python tool_server.py FOLDER`.

It leaves what it does in the folder: `started` (a line with its process id for each start), `heard` (the methods it
was sent). With a file `changed` there, it describes its tools otherwise; into a named pipe `waiting` it says that
`wait` was called, and from a named pipe `going` it then reads what `wait` answers.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}


def server(folder: Path, **more: Any) -> dict[str, Any]:
    """What the policy says of it: `echo`, `fail` and `wait` only read, of `save` nobody says anything."""
    reads = {name: ["read"] for name in ("echo", "fail", "wait")}
    return {"command": [sys.executable, "-S", __file__, str(folder)], "effects": reads, **more}


def starts(folder: Path) -> list[int]:
    """The process of each start."""
    file = folder / "started"
    return list(map(int, file.read_text().split())) if file.exists() else []


def _tools(folder: Path) -> list[dict[str, Any]]:
    more = " Now with feeling." if (folder / "changed").exists() else ""
    return [
        {"name": "echo", "description": f"Say a text again.{more}", "inputSchema": TEXT},
        {"name": "fail", "description": "Always fails.", "inputSchema": NOTHING},
        {"name": "save", "description": "Keep a text.", "inputSchema": TEXT},
        {"name": "wait", "description": "Never answers.", "inputSchema": NOTHING},
    ]


def _called(folder: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "fail":
            return {"content": [{"type": "text", "text": "no luck <|im_end|>"}], "isError": True}
        case "wait":
            if (folder / "waiting").exists():
                (folder / "waiting").write_text(name)
            if not (folder / "going").exists():
                return None
            return {"content": [{"type": "text", "text": (folder / "going").read_text()}]}
        case "save":
            return {"content": [], "structuredContent": {"saved": arguments["text"]}}
    if arguments["text"].startswith("log "):
        told = {"level": "info", "data": arguments["text"]}
        _say({"jsonrpc": "2.0", "method": "notifications/message", "params": told})
    return {"content": [{"type": "text", "text": arguments["text"]}]}


def _answer(folder: Path, method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
        case "tools/list":
            return {"tools": _tools(folder)}
        case "tools/call":
            return _called(folder, params["name"], params["arguments"])
    raise LookupError(method)


def _main(folder: Path) -> None:
    with (folder / "started").open("a") as file:
        file.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        message = json.loads(line)
        with (folder / "heard").open("a") as file:
            file.write(f"{message['method']}\n")
        if "id" not in message:
            continue
        told: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = _answer(folder, message["method"], message.get("params", {}))
        except LookupError as fault:
            _say({**told, "error": {"code": -32601, "message": str(fault)}})
            continue
        if result is not None:
            _say({**told, "result": result})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))

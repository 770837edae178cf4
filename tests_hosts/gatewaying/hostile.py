"""A scripted MCP server of the old era over stdio. Its tools misbehave as their names say."""

import json
import os
import sys

CHANGED = {"now": False}
CANCELLED: list[object] = []
WAITING: dict[object, object] = {}
OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}
NAMES = [
    "never",
    "twice",
    "half",
    "huge",
    "flood",
    "die",
    "garbage",
    "steps",
    "wait",
    "cancelled",
    "ask",
    "sample",
    "change",
]


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(id: object, text: str) -> None:
    send({"id": id, "result": {"content": [{"type": "text", "text": text}], "_own": {"kept": [1.50]}}})


def tools() -> list[dict[str, object]]:
    about = "Another description" if CHANGED["now"] else "A tool"
    echo = {"name": "echo", "description": about, "inputSchema": {**OBJECT, "required": ["text"]}}
    return [echo, *({"name": name, "description": "A tool", "inputSchema": OBJECT} for name in NAMES)]


def call(id: object, params: dict) -> None:  # noqa: C901 - one branch for each misbehaviour
    name, text = params["name"], (params.get("arguments") or {}).get("text", "")
    match name:
        case "echo":
            say(id, text)
        case "never":
            return
        case "twice":
            say(id, "first")
            say(id, "second")
        case "half":
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {json.dumps(id)}, "resu')
            sys.stdout.flush()
            os._exit(3)
        case "huge":
            piece = b"x" * 1_000_000
            sys.stdout.buffer.write(b'{"jsonrpc": "2.0", "id": 1, "result": "')
            for _ in range(200):
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.write(b'"}\n')
            sys.stdout.flush()
        case "flood":
            for _ in range(200):
                sys.stderr.write("noise " * 4000 + "\n")
            sys.stderr.flush()
            say(id, "still here")
        case "die":
            sys.stderr.write("\x1b[31mout of cheese\n")
            sys.stderr.flush()
            os._exit(7)
        case "garbage":
            sys.stdout.write('hello\n{"jsonrpc": \n[]\n[[[\nnull\n{"id": {}}\n')
            say(id, "among garbage")
        case "steps":
            token = params["_meta"]["progressToken"]
            for step in (1, 2):
                send(
                    {"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "own": 1}}
                )
            say(id, "two steps")
        case "wait":
            WAITING[id] = True
            send({"method": "notifications/message", "params": {"level": "info", "data": "waiting"}})
        case "cancelled":
            say(id, str(len(CANCELLED)))
        case "ask":
            WAITING["ask"] = id
            form = {"type": "object", "properties": {"name": {"type": "string"}}}
            send(
                {
                    "id": "q",
                    "method": "elicitation/create",
                    "params": {"message": "Your name?", "requestedSchema": form},
                }
            )
        case "sample":
            WAITING["ask"] = id
            send({"id": "s", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}})
        case "change":
            CHANGED["now"] = True
            say(id, "changed")
            send({"method": "notifications/tools/list_changed"})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            sent = message["params"]["protocolVersion"]
            about = {"tools": {"listChanged": True}, "logging": {}}
            result = {"protocolVersion": sent, "capabilities": about, "serverInfo": {"name": "hostile", "version": "1"}}
            send({"id": number, "result": result})
        elif method == "tools/list":
            send({"id": number, "result": {"tools": tools()}})
        elif method == "tools/call":
            call(number, message["params"])
        elif method == "notifications/cancelled" and message["params"]["requestId"] in WAITING:
            CANCELLED.append(WAITING.pop(message["params"]["requestId"]))
        elif method is None and number in ("q", "s"):
            told = message.get("result") or message.get("error")
            say(WAITING.pop("ask"), json.dumps(told, sort_keys=True))
        elif method is not None and number is not None:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


main()

"""An MCP server over standard input and output that gives one answer to `tools/list`, byte by byte as it is told:
`python answering_server.py BODY`. A letter of the body is a byte, so that `ÿ` is one that no UTF-8 has."""

import json
import sys


def command(body: str, *, tools: bool = True) -> list[str]:
    """`body` has the `result` or the `error`. Without `tools`, its capabilities name none."""
    return [sys.executable, "-S", __file__, body, *([] if tools else ["--no-tools"])]


def _answer(method: str) -> bytes:
    if method == "tools/list":
        return sys.argv[1].encode("latin-1")
    if method == "initialize":
        told = {"tools": {}} if "--no-tools" not in sys.argv else {"prompts": {}}
        result = {"protocolVersion": "2025-11-25", "capabilities": told, "serverInfo": {"name": "answering"}}
        return json.dumps({"result": result}).encode()
    return b'{"error": {"code": -32601, "message": "unknown method"}}'


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            head = json.dumps({"jsonrpc": "2.0", "id": message["id"]}).encode()[:-1]
            sys.stdout.buffer.write(head + b", " + _answer(message["method"]).lstrip()[1:] + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

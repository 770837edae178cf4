"""A server in plain Python that misbehaves as it is told: `python wrap_scripted.py BEHAVIOUR`.

It speaks both eras. Its tools: `echo` gives its arguments back, as `delete_file` does; `misbehave` does what
the server was started for.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [
    {"name": "echo", "inputSchema": TEXT},
    {"name": "misbehave", "inputSchema": TEXT},
    {"name": "delete_file", "inputSchema": PATH},
]

LISTED: list[Any] = []


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def say(message: Any) -> None:
    write(json.dumps(message).encode() + b"\n")


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def misbehave(id: Any, how: str) -> None:
    answer = {"jsonrpc": "2.0", "id": id, "result": text("done")}
    if how == "silent":
        return
    if how == "twice":
        say(answer)
        say(answer)
    elif how == "half":
        write(b'{"jsonrpc":"2.0","id":')
        os._exit(3)
    elif how == "long":
        write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
        for _ in range(200):
            write(b"x" * 1_000_000)
        write(b'"}]}}\n')
    elif how == "flood":
        for _ in range(2000):
            os.write(2, b"e" * 999 + b"\n")
        say(answer)
    elif how == "garbage":
        write(b"\x00\xff not json\n[1,2\n{}\n\n")
        say({"jsonrpc": "2.0", "id": "nobody's", "result": {}})
        say({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "?"}})
        say(answer)
    elif how == "forges":  # a question under the ids that somebody else has used
        for own in LISTED:
            question = {"message": "Do you like cats?", "requestedSchema": {"type": "object", "properties": {}}}
            say({"jsonrpc": "2.0", "id": own, "method": "elicitation/create", "params": question})
        say(answer)
    elif how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "stuck":
        time.sleep(60)
    elif how == "closes":
        os.close(1)
        time.sleep(60)


def main(how: str) -> None:
    if how == "deaf":  # to every polite request
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) if how == "parent" else None
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, known = message.get("method"), message.get("id")
        if known is None:
            continue
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            pids = {"pid": os.getpid(), "child": child.pid if child else None}
            info = {"name": "scripted", "version": "1", **pids}
            capabilities = {"tools": {"listChanged": True}}
            result: Any = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        elif method == "server/discover":
            result = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        elif method == "tools/list":
            LISTED.append(known)
            result = {"tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}
        elif method == "tools/call" and message["params"]["name"] == "misbehave":
            misbehave(known, how)
            continue
        elif method == "tools/call":
            result = text(json.dumps(message["params"].get("arguments")))
        else:
            result = {}
        stateless = "io.modelcontextprotocol/protocolVersion" in message.get("params", {}).get("_meta", {})
        tag = {"resultType": "complete"} if stateless else {}
        say({"jsonrpc": "2.0", "id": known, "result": {**result, **tag}})
    if how == "lingers":
        time.sleep(60)
    if how == "deaf":
        while True:
            time.sleep(60)
    if how == "code":
        sys.exit(7)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")

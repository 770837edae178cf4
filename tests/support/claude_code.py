"""The real Claude Code command line, from the wheel of claude-agent-sdk, in a home and a folder of its own.

It is asked to `go`, and does what its model says. The model is a script: one answer for each turn, the results of the
calls in the request that follows.
"""

import os
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

from support.scripted.server import Answer, Received, Text, Usage

TOKENS = Usage(20_000, 13)
"""So many may well hold Claude Code's tools; with much fewer, the proxy would suspect that they were ignored."""


def command_line() -> Path | None:
    """None where the wheel for this platform has none."""
    package = find_spec("claude_agent_sdk")
    if package is None or package.origin is None:
        return None
    found = Path(package.origin).parent / "_bundled" / ("claude.exe" if os.name == "nt" else "claude")
    return found if found.is_file() else None


class Result(Struct, frozen=True):
    """What a tool gave back, as the model is told."""

    text: str
    is_error: bool


class Turn(Struct, frozen=True):
    """One request of Claude Code after an answer of the model's: what it took for the model's turn, and the results."""

    assistant: list[dict[str, Any]]
    results: list[Result]

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(block["name"], block["input"]) for block in self.assistant if block["type"] == "tool_use"]


class Conversation:
    """A script for an upstream: answers in order to the requests that bring tools along, "done" in the end."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.asked: list[Received] = []

    def __call__(self, request: Received) -> Answer:
        if not any(tool.get("name") == "Read" for tool in request.json.get("tools") or []):
            return Answer([Text("A title")], usage=TOKENS)  # it also asks for small things beside the work
        self.asked.append(request)
        turn = len(self.asked) - 1
        return self._answers[turn] if turn < len(self._answers) else Answer([Text("done")], id="end", usage=TOKENS)

    @property
    def turns(self) -> list[Turn]:
        """What became of each answer, in order."""
        return [_turn(request.json["messages"]) for request in self.asked[1:]]


def _turn(messages: list[dict[str, Any]]) -> Turn:
    said = max(at for at, message in enumerate(messages) if message["role"] == "assistant")
    blocks = [block for message in messages[said + 1 :] for block in _blocks(message)]
    results = [
        Result(_text(block.get("content")), bool(block.get("is_error")))
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    return Turn(_blocks(messages[said]), results)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [])


def run(address: str, folder: Path, *options: str) -> str:
    """Runs it once in `folder` / "work", against the API at this address; what it printed."""
    program = command_line()
    assert program is not None
    (home := folder / "home").mkdir(exist_ok=True)
    (work := folder / "work").mkdir(exist_ok=True)
    done = subprocess.run(
        [program, "-p", "go", *options],
        env={
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home),
            "PATH": os.defpath,
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "a-key-for-loopback",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
        },
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout

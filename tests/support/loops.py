"""What the tests of the loop share: a small code base with tools that read it, calls as models write them, and the
records that a loop leaves."""

import asyncio
import re
from pathlib import Path
from typing import Any

from msgspec import json

from rightcall.executor.executor import Executor
from rightcall.models.loop import LoopResult, ScriptedModel, run_loop, run_loop_sync
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import CallBody, ManualClock, Store, read_call
from rightcall.tools.functions import tool

CODE = {
    "system/CognitionLogger.ts": (
        "export class CognitionLogger {\n"
        "  static logStateSnapshot(state: State) {\n"
        "    return this.write({ focus: state.focus });  // workingMemory is missing\n"
        "  }\n"
        "}\n"
    ),
    "system/PersonaUser.ts": (
        "import { CognitionLogger } from './CognitionLogger';\nCognitionLogger.logStateSnapshot({ workingMemory });\n"
    ),
    "system/Room.ts": "export class Room {}\n",
}


def code_base(folder: Path) -> Path:
    for name, text in CODE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def code_tools(folder: Path) -> list[Any]:
    """Stand-ins for the code tools: functions of the program that only read."""

    @tool(name="code/read", effects=["read"])
    def read(path: str) -> str:
        """Read file contents."""
        return (folder / path).read_text()

    @tool(name="code/search", effects=["read"])
    def search(pattern: str) -> list[str]:
        """Search the code base."""
        return [
            f"{file.relative_to(folder)}:{number}: {line}"
            for file in sorted(folder.rglob("*.ts"))
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if re.search(pattern, line)
        ]

    return [read, search]


def written(name: str, **arguments: Any) -> str:
    """A call as the design's prompt asks for it."""
    return f"<tool_call>{json.encode({'tool': name, 'params': arguments}).decode()}</tool_call>"


def openai(name: str, call_id: str | None = "c1", **arguments: Any) -> dict[str, Any]:
    """The same from OpenAI's API."""
    function = {"name": name.replace("/", "_"), "arguments": json.encode(arguments).decode()}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def anthropic(name: str, call_id: str | None = "t1", **arguments: Any) -> dict[str, Any]:
    """The same from Anthropic's API."""
    block = {"type": "tool_use", "id": call_id, "name": name.replace("/", "_"), "input": arguments}
    return {"type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}


def records(store: Store, caller: str | None = None) -> list[CallBody]:
    """The calls in the audit, in order."""
    entries = store.look(lambda tables: list(tables.entries()))
    bodies = [read_call(entry.body) for entry in entries if entry.kind in ("begin", "refused", "waiting")]
    return [body for body in bodies if caller in (None, body.caller)]


LOGGER = written("code/read", path="system/CognitionLogger.ts")


class Loops:
    """Runs loops over one code base and one store, asynchronously or not."""

    def __init__(self, folder: Path, how: str) -> None:
        self.folder, self.how = code_base(folder), how
        self.store = MemoryStore(ManualClock())
        self.policy: dict[str, Any] = {}
        self.tools = code_tools(self.folder)

    def __call__(self, replies: Any, request: Any = "Tell me.", **options: Any) -> LoopResult:
        self.model = replies if callable(replies) else ScriptedModel(replies)
        options.setdefault("caller", "teacher")
        opened = {"root": self.folder, "policy": self.policy, "tools": self.tools, "store": self.store, "code": False}
        if self.how == "sync":
            with Executor.open_sync(**opened) as executor:
                return run_loop_sync(self.model, executor, request, **options)

        async def main() -> LoopResult:
            async with Executor.open(**opened) as executor:
                return await run_loop(self.model, executor, request, **options)

        return asyncio.run(main())

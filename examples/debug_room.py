"""Three agents in one room find a bug together: a person reports it, one searches, one reads what was found, one
confirms it. What each learns it posts, and the others build on it.

python examples/debug_room.py
"""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

from msgspec.json import encode

from rightcall import Executor, LoopResult, ScriptedModel, run_loop
from rightcall.record import plan_steps

ROOM = "debug-session"
LOGGER = (
    "class CognitionLogger:\n    def log(self, entry):\n        self.entries.append(entry)\n\n"
    "    def log_working_memory(self, memory):\n        return  # TODO: workingMemory is never appended\n"
)
USER = "from logger import CognitionLogger\n\nlogger = CognitionLogger()\nlogger.log_working_memory(workingMemory)\n"
BUG = "Bug: CognitionLogger is not logging working memory correctly. Can you investigate?"


def call(tool: str, **arguments: Any) -> str:
    """What a model without native tool calls writes."""
    return f"<tool_call>{encode({'tool': tool, 'params': arguments}).decode()}</tool_call>"


def read_what_was_named(messages: list[dict[str, Any]]) -> str:
    """DeepSeek reads the file that another agent has named in the room."""
    named = re.search(r"look at (\w+\.py)", messages[-1]["content"])
    return call("code/read", path=named[1]) if named else "I found nothing to look at."


CLAUDE = [
    call("room/read"),
    call("code/search", pattern="workingMemory"),
    call("room/post", text="workingMemory is used in two files; look at logger.py first.", kind="finding"),
    "I told the others where to look.",
]
DEEPSEEK = [
    call("room/read"),
    read_what_was_named,
    call("room/post", text="I found the issue: log_working_memory returns before it appends.", kind="finding"),
    "The issue is in log_working_memory.",
]
GROK = [
    call("room/read") + call("code/search", pattern="log_working_memory"),
    call("room/post", text="Confirmed: its only caller is app.py, so nothing is ever logged."),
    "DeepSeek is right.",
]


async def work(executor: Executor, caller: str, replies: list[Any], action: str) -> LoopResult:
    """One agent's part of the plan, kept as a step of it."""
    executor.note_step(ROOM, caller, action=action, expected_outcome="a message to the room")
    result = await run_loop(ScriptedModel(replies), executor, BUG, caller=caller, context=ROOM, step=caller)
    executor.note_step(ROOM, caller, completed=True, result=result.text)
    return result


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "logger.py").write_text(LOGGER)
        Path(name, "app.py").write_text(USER)
        async with Executor.open(name, store="memory", packs="room") as executor:
            await executor.run({"name": "room/post", "arguments": {"text": BUG}}, caller="joel", context=ROOM)
            for caller, replies, action in (
                ("claude", CLAUDE, "find where it is used"),
                ("deepseek", DEEPSEEK, "read what was found"),
                ("grok", GROK, "check the diagnosis"),
            ):
                result = await work(executor, caller, replies, action)
                print(f"{caller}: {result.text} ({result.tool_turns} of {result.turns} turns used tools)")

            seen = await executor.run({"name": "room/read", "arguments": {}}, caller="joel", context=ROOM)
            for message in seen.result["messages"]:
                print(f"  {message['from']:9} {message['kind']:8} {message['text']}")
            for step in executor.store.look(lambda tables: plan_steps(tables, ROOM)):
                tools = [one["tool"] for one in step["toolCalls"]]
                print(f"  step {step['stepNumber']}: {step['action']}, completed {step['completed']}, {tools}")
            usage = await executor.run({"name": "analytics/tool-usage", "arguments": {}}, caller="grok", context=ROOM)
            print("adoption of grok:", usage.result["stats"]["adoption"])


if __name__ == "__main__":
    asyncio.run(main())

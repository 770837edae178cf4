"""A tool loop with limits and a record: the model asks, the executor decides and runs, the model answers.

python examples/tool_loop.py
"""

import asyncio
import tempfile
from pathlib import Path

from rightcall import Executor, ScriptedModel, run_loop

# In place of the scripted one, any function from messages to a reply: docs/reference/loop.md has one for a server of
# OpenAI's dialect, in ten lines.
MODEL = ScriptedModel([
    'Let me look. <tool_call>{"tool": "code/read", "params": {"file": "parser.py"}}</tool_call>',
    '<tool_call>{"tool": "code/delete", "params": {"path": "parser.py"}}</tool_call>',
    "The parser splits its text at commas.",
])  # fmt: skip


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "parser.py").write_text("def parse(text):\n    return text.split(',')\n")
        async with Executor.open(folder) as executor:

            @executor.tool(name="code/read", effects=["read"], paths=["path"])
            def read(path: str) -> str:
                """Read file contents."""
                return (Path(folder) / path).read_text()

            result = await run_loop(MODEL, executor, "How does the parser work?", caller="teacher")
    for outcome in result.outcomes:
        print(f"{outcome.tool}: {outcome.status}" + (f", {outcome.error}" if outcome.error else ""))
    print(f"answer after {result.rounds} rounds: {result.text}")


if __name__ == "__main__":
    asyncio.run(main())

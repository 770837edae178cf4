"""An agent with a step of its own for: does this request need a tool, which one, and is that sure enough?

python examples/router_agent.py
"""

import asyncio
import tempfile
from pathlib import Path

from rightcall import Executor, Router, ScriptedModel

# In place of the scripted one: rightcall.Endpoint("http://127.0.0.1:8080/v1"), or any function from
# messages to a reply. A light model may select, and a larger one review and answer: {"light": …, "prime": …}.
MODEL = ScriptedModel([
    '{"selected_tool": "get_weather", "params": {"city": "Oslo"}, "reasoning": "A forecast", "confidence": 0.9}',
    '{"approved": true, "confidence": 0.95, "reasoning": "The right tool for the right city"}',
    '{"selected_tool": null, "reasoning": "The forecast is there", "confidence": 1.0}',
    "Yes, take an umbrella: it will rain in Oslo.",
    '{"selected_tool": "save_note", "params": {"file": "notes.txt", "text": "umbrella"}, "confidence": 0.9}',
    '{"approved": true, "confidence": 0.95, "reasoning": "That is what was asked for"}',
    '{"selected_tool": null, "reasoning": "It is done", "confidence": 1.0}',
    "The note is saved.",
])  # fmt: skip

POLICY = {
    "policy": {"write": "ask"},
}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Executor.open(folder, POLICY, code=False) as executor:

            @executor.tool(effects=["read"])
            def get_weather(city: str) -> str:
                """Get the weather forecast of a city."""
                return f"rain in {city}, 9 degrees"

            @executor.tool(effects=["write"], paths=["file"])
            def save_note(file: str, text: str) -> str:
                """Save a text to a file of notes."""
                (Path(folder) / file).write_text(text)
                return f"saved {file}"

            router = Router(executor, MODEL)
            for request in ("What is the weather in Oslo today?", "Save the text 'umbrella' to the file notes.txt"):
                answered = await router.answer(request)
                print(f"> {request}\n{answered.text}")
                for line in answered.packet.reasoning.reflection_log:
                    print(f"    {line.step}: {line.summary}")

            # The second one waits for a person. Her word is given elsewhere: `rightcall approvals`, a dialog, or here.
            (question,) = executor.waiting()
            executor.answer(question.id, "approved", by="ann", digest=question.digest)
            done = await router.resume(answered.packet)
            print(f"{done.text} ({done.packet.tool_routing.execution_status})")


if __name__ == "__main__":
    asyncio.run(main())

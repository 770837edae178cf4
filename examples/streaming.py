"""Read a model's answer while it comes: prose is shown at once, a call is acted on as soon as it is complete.

python examples/streaming.py
"""

import json
from collections.abc import Iterator
from pathlib import Path

from rightcall import Gate, Verdict

TOOLS = json.loads(Path(__file__).with_name("tools.json").read_text(encoding="utf-8"))

# In place of these, the pieces of any stream. With a server that speaks OpenAI's dialect:
#
#     for chunk in client.chat.completions.create(model="local", messages=messages, stream=True):
#         piece = chunk.choices[0].delta.content or ""
#
# and at the end `feed.close(finish_reason)` with the finish reason of the last chunk.
PIECES = (
    "I will l", "ook at the weather", " in both.\n<too", 'l_call>{"name": "get_weather", "argu', 'ments": {"city": "Os',
    'lo"}}</tool_', 'call>\n<tool_call>{"name": "get_weather", ', '"arguments": {"days": 2}', "}</tool_call> One ",
    "moment.",
)  # fmt: skip


def events(gate: Gate, pieces: Iterator[str]) -> Iterator[str | Verdict]:
    """Prose and verdicts, in order, as soon as they are certain."""
    feed = gate.stream()
    for piece in pieces:
        yield from feed.push(piece)
    yield from feed.close()


def main() -> None:
    for event in events(Gate(TOOLS), iter(PIECES)):
        if isinstance(event, str):
            print("show:", json.dumps(event))
        elif event.ok and event.call:
            print("run:", event.call.name, event.call.arguments)
        else:
            print("tell the model:", event.message("text"))


if __name__ == "__main__":
    main()

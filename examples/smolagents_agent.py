"""A smolagents agent whose calls are put right, judged by a policy and recorded.

in a checkout: pip install '.[smolagents]'
python examples/smolagents_agent.py
"""

from typing import Any

from rightcall.hosts.smolagents import GuardedAgent  # first: without the framework it says what to install

# isort: split
from smolagents import ChatMessage, MessageRole, Model, tool


@tool
def write_note(note_title: str, text: str) -> str:
    """Write a note.

    Args:
        note_title: What the note is about.
        text: What it says.
    """
    print("ran: write_note", note_title, text)
    return "written"


class ScriptedModel(Model):
    """Stands for a small model, which leaves its calls in the text and does not write them quite right."""

    answers = iter(
        (
            """I'll write it. <tool_call>{'name': 'writeNote', 'arguments': {'noteTitle': 'shopping'}}</tool_call>""",
            """<tool_call>{"name": "writeNote", "arguments": {"noteTitle": "shopping", "text": "milk",}}</tool_call>""",
            """{"name": "final_answer", "arguments": {"answer": "It is written."}}""",
        )
    )

    def generate(self, *_: Any, **__: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=next(self.answers))


def main() -> None:
    agent = GuardedAgent(tools=[write_note], model=ScriptedModel(), policy=None, verbosity_level=-1)
    print("answer:", agent.run("Note that I need milk."))
    for step in agent.memory.steps:
        if getattr(step, "error", None):
            print("the model was told:", step.error.message)
    agent.close()


if __name__ == "__main__":
    main()

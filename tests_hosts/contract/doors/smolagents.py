"""A smolagents `ToolCallingAgent`, and the guarded one, with a model that says one thing and then ends."""

from collections.abc import Sequence
from typing import Any, ClassVar

from smolagents import ChatMessage, MessageRole, Model, Tool, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from contract.cases import Case, Definition, policy_for
from contract.outcomes import Ran, Seen
from rightcall.hosts.smolagents import GuardedAgent


class Scripted(Model):
    """Says what the case says, then answers; `told` is what it read in between."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.heard: list[list[ChatMessage]] = []

    def generate(self, messages: list[ChatMessage], *_: Any, **__: Any) -> ChatMessage:
        self.heard.append(list(messages))
        case = self.case
        if len(self.heard) > 1:
            return _calls("end", "final_answer", {"answer": "done"})
        if case.text:
            return ChatMessage(role=MessageRole.ASSISTANT, content=case.text)
        return _calls(case.call_id, case.name, case.written)


def _calls(call_id: str, name: str, arguments: Any) -> ChatMessage:
    function = ChatMessageToolCallFunction(name=name, arguments=arguments)
    call = ChatMessageToolCall(id=call_id, type="function", function=function)
    return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def as_tool(tool: Definition, ran: Ran) -> Tool:
    required = tool.parameters.get("required", [])

    class Noted(Tool):
        name = tool.name
        description = tool.description
        inputs: ClassVar = {
            name: {"description": name, **schema} | ({} if name in required else {"nullable": True})
            for name, schema in tool.parameters["properties"].items()
        }
        output_type = "string"
        skip_forward_signature_validation = True

        def forward(self, **arguments: Any) -> str:
            return ran.note(tool.name, arguments)

    return Noted()


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return [_drive(case, tools, guarded) for case in cases]


def _drive(case: Case, tools: tuple[Definition, ...], guarded: bool) -> Seen:
    ran = Ran()
    asked: list[Any] = []
    model = Scripted(case)
    given = [as_tool(tool, ran) for tool in tools]
    settings: dict[str, Any] = {"verbosity_level": -1, "max_steps": 3}
    if not guarded:
        ToolCallingAgent(given, model, **settings).run("go")
        return Seen(ran.taken(), _told(model))

    def no(passage: Any) -> bool:
        asked.append(passage)
        return False

    agent = GuardedAgent(given, model, policy=policy_for(tools), ask=no, **settings)
    agent.run("go")
    agent.close()
    return Seen(ran.taken(), _told(model), bool(asked))


def _told(model: Scripted) -> str:
    """What the second request has that the first had not."""
    said = model.heard[1][len(model.heard[0]) :] if len(model.heard) > 1 else []
    texts = [message.content for message in said if message.role != MessageRole.TOOL_CALL]
    return "\n".join(_text(text) for text in texts[1:] if text)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)

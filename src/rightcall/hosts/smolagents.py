# pyright: basic
# smolagents has no types of its own.
"""smolagents: a `ToolCallingAgent` whose calls are put right, and run only where they may.

    from rightcall.hosts.smolagents import GuardedAgent

    agent = GuardedAgent(tools=[write_note], model=model, policy="rightcall.toml")
    agent.run("…")

Everything else is as in `ToolCallingAgent`, streaming and parallel calls included. A refusal is the step's error, which
smolagents tells the model before its next try.
"""

from collections.abc import Callable, Generator
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from rightcall.hosts.adapter import Known, Written, door_for, missing, put_right, run_recorded, settle

try:
    from smolagents import ToolCallingAgent
    from smolagents.agents import AgentToolCallError
    from smolagents.memory import ActionStep
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, Model
    from smolagents.tools import validate_tool_arguments
except ImportError as error:
    raise missing("smolagents", "smolagents") from error

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage

FINAL = "final_answer"
"""smolagents' own way to end a run. To answer is no tool call: where it fits, nobody has to judge it."""

JSON_TYPES = frozenset({"string", "boolean", "integer", "number", "object", "array", "null"})
"""The types that JSON Schema shares with smolagents, which also has images, audio and anything."""


class GuardedAgent(ToolCallingAgent):
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place. `settings` are those of
    `rightcall.executor.door.Door.open`, all other arguments those of `ToolCallingAgent`. Close it when it is done.

    `ask` decides about a call that needs a person: it gets the passage, whose `why` it shows them, and says True for
    yes. Without it the model is told the id under which somebody can approve.
    """

    def __init__(
        self,
        tools: list[Any],
        model: Model,
        *args: Any,
        policy: Any = None,
        door: "Door | None" = None,
        ask: "Callable[[Passage], bool] | None" = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.door = door_for("smolagents", policy, door, **(settings or {}))
        self._ask = ask
        self._known = Known(self.door)
        self._written: dict[int, Written] = {}  # by the object that holds a call's arguments: no id comes with it
        super().__init__(tools, _reading(model, self._read), *args, **kwargs)

    def close(self) -> None:
        self.door.close()

    def process_tool_calls(self, chat_message: ChatMessage, memory_step: ActionStep) -> Generator[Any, None, None]:
        """Names and arguments are put right first: smolagents looks at the name to know when it is done."""
        calls = [Written(call.id, call.function.name, self._meant(call)) for call in chat_message.tool_calls or []]
        turn = put_right(self.door, "", calls, offered=self._offered())
        chat_message.tool_calls = [_call(one.id, one.name, one.arguments) for one in turn.calls]
        self._written = {id(one.arguments): one.written for one in turn.calls}
        yield from super().process_tool_calls(chat_message, memory_step)

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        if self._is_answer(tool_name, arguments):
            return super().execute_tool_call(tool_name, arguments)
        written = self._written.get(id(arguments)) or Written("", tool_name, arguments)
        passage = self.door.judge(written.name, written.arguments)
        if passage.action == "ask" and self._ask is not None:
            settle(self.door, passage, "approved" if self._ask(passage) else "denied")
            passage = self.door.judge(written.name, written.arguments)
        if passage.action != "allow":
            raise AgentToolCallError(passage.message, self.logger)
        run = super().execute_tool_call
        result = run_recorded(self.door, passage, lambda: run(passage.name, passage.arguments))
        return f"{result}\n{passage.message}" if passage.message and isinstance(result, str) else result

    def _read(self, message: ChatMessage) -> None:
        """Calls that the model left in its text become native ones."""
        text = message.content if isinstance(message.content, str) else ""
        turn = put_right(self.door, text, (), offered=self._offered(), finish_reason=_finish_reason(message))
        if turn.calls:
            message.tool_calls = [_call(one.id, one.written.name, one.written.arguments) for one in turn.calls]

    def _offered(self) -> frozenset[str]:
        return self._known.offer(_definition(tool) for tool in self.tools_and_managed_agents)

    def _meant(self, call: ChatMessageToolCall) -> Any:
        """The arguments as they would run. smolagents lets a model name what it keeps for it, and pass a lone value to
        a tool that takes one: that is settled here, so that what is judged is what runs."""
        arguments: Any = call.function.arguments
        tool: Any = {**self.tools, **self.managed_agents}.get(call.function.name)
        if tool is not None and len(tool.inputs) == 1 and not _is_object(arguments):
            arguments = {next(iter(tool.inputs)): arguments}
        for _ in self.state:
            arguments = self._substitute_state_variables(arguments)
        return arguments if isinstance(arguments, (dict, str)) else str(arguments)

    def _is_answer(self, name: str, arguments: Any) -> bool:
        if name != FINAL or name not in self.tools:
            return False
        try:
            validate_tool_arguments(self.tools[name], arguments)
        except (ValueError, TypeError):
            return False
        return True


def _reading(model: Model, read: Callable[[ChatMessage], None]) -> Model:
    """The model, of the same class and name, that also finds calls where smolagents' own parser does not. A copy: other
    agents that use the model are not touched."""
    kind = type(model)

    def parse_tool_calls(self: Model, message: ChatMessage) -> ChatMessage:
        if not message.tool_calls:
            read(message)
        return kind.parse_tool_calls(self, message)

    copied = copy(model)
    copied.__class__ = type(kind.__name__, (kind,), {"parse_tool_calls": parse_tool_calls})
    return copied


def _call(call_id: str, name: str, arguments: Any) -> ChatMessageToolCall:
    return ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), call_id, "function")


def _is_object(arguments: Any) -> bool:
    """Whether somebody meant an object, however it is written."""
    return isinstance(arguments, dict) or (isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", ""))


def _finish_reason(message: ChatMessage) -> str | None:
    """Why the answer ended, where the model's client keeps what its server said."""
    choices = getattr(message.raw, "choices", None)
    reason: Any = getattr(choices[0], "finish_reason", None) if choices else None
    return reason if isinstance(reason, str) else None


def _definition(tool: Any) -> dict[str, Any]:
    inputs = cast("dict[str, dict[str, Any]]", tool.inputs)
    schema = {
        "type": "object",
        "properties": {name: _schema(given) for name, given in inputs.items()},
        "required": [name for name, given in inputs.items() if not given.get("nullable")],
        "additionalProperties": False,
    }
    return {"name": str(tool.name), "description": str(tool.description), "parameters": schema}


def _schema(given: dict[str, Any]) -> dict[str, Any]:
    kinds = cast("list[str]", given["type"] if isinstance(given["type"], list) else [given["type"]])
    schema = {key: value for key, value in given.items() if key not in ("type", "nullable")}
    if JSON_TYPES.issuperset(kinds):
        schema["type"] = [*kinds, "null"] if given.get("nullable") else kinds if len(kinds) > 1 else kinds[0]
    return schema

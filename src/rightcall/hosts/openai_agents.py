"""OpenAI Agents: an agent whose tool calls are put right, judged by the policy and recorded.

    rightcall = RightCall(policy="rightcall.toml")
    agent = rightcall.guard(Agent(name="…", model=…, tools=[...], mcp_servers=[...]))

The model's answers are corrected before the runner looks for the tool, and every function tool, those of MCP servers
too, is judged before it runs. A call that a person must see interrupts the run, as `needs_approval` does:
`state.approve(item)` and run on. Guard the agents that it hands over to as well.
"""

import copy
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.json import encode

from rightcall.hosts.adapting import Known, arun_recorded, as_written, digest, door_for, missing
from rightcall.hosts.answering import arefuse, asettle, awas_asked

try:
    from agents import Agent, FunctionTool, Model, RunContextWrapper, Tool
    from agents.tool_context import ToolContext

    from rightcall.hosts.openai_agents_model import Calls, GuardedModel, definition, failure, parsed
    from rightcall.hosts.openai_agents_unknown import no_such_tool
except ImportError as error:
    raise missing("openai_agents", "OpenAI Agents", "openai-agents") from error

if TYPE_CHECKING:
    from typing import Unpack

    from rightcall.door import Door, DoorSettings
    from rightcall.door_passage import Passage
    from rightcall.executor import PolicySource

HOST = "openai-agents"
MOST_TOOLS = 10_000
A = TypeVar("A", bound=Agent[Any])
NeedsApproval = Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]]


class RightCall:
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place, with a policy of its own.

    `settings` are those of `Door.open`, such as `caller`: who calls, as `[callers.NAME]` of the policy knows them.
    `space` comes before the tools' names there (`researcher/search`), for agents whose tools of one name differ. Close
    it when its agents are done.
    """

    def __init__(
        self,
        policy: "PolicySource" = None,
        *,
        door: "Door | None" = None,
        space: str = "",
        **settings: "Unpack[DoorSettings]",
    ) -> None:
        self.door = door_for(HOST, policy, door, **settings)
        self.space = space
        self._calls = Calls(self.door, Known(self.door, space), space)
        self._tools: dict[int, tuple[FunctionTool, FunctionTool]] = {}
        self.no_such_tool = no_such_tool(self._calls)

    def close(self) -> None:
        self.door.close()

    def guard(self, agent: A) -> A:
        """The same agent, guarded. A model's name is looked up with the SDK's own provider; hand over a `Model` for
        another one."""
        kind = type(agent)
        guarded: Any = type(f"Guarded{kind.__name__}", (_GuardedTools, kind), {"rightcall": self})
        given = {field.name: getattr(agent, field.name) for field in fields(agent) if field.init}
        return guarded(**given | {"model": self.model(agent.model)})

    def model(self, model: "Model | str | None") -> Model:
        """A model whose answers are put right; for an agent that is not guarded as a whole."""
        return model if isinstance(model, GuardedModel) else GuardedModel(model, self._calls)

    def tool(self, tool: FunctionTool) -> FunctionTool:
        """A function tool that is judged before it runs; of one tool always the same one."""
        known = self._tools.get(id(tool))
        if known is not None and known[0] is tool:
            return known[1]
        if len(self._tools) >= MOST_TOOLS:
            self._tools.clear()
        guarded = copy.copy(tool)
        guarded.on_invoke_tool = self._invoker(tool)
        guarded.needs_approval = self._asker(tool)
        self._tools[id(tool)] = (tool, guarded)
        self._tools[id(guarded)] = (guarded, guarded)
        return guarded

    async def hear(self, context: RunContextWrapper[Any]) -> None:
        """A no to the SDK's question is one to ours, which stands in the record."""
        if not getattr(context, "_approvals", True):  # nobody has answered anything: most runs
            return
        start = f"{self.space}/" if self.space else ""
        await arefuse(
            self.door,
            lambda asked: context.is_tool_approved(asked.tool.removeprefix(start), asked.step or "") is False,
        )

    def _asker(self, tool: FunctionTool) -> NeedsApproval:
        """What the tool's own rule says, and then the policy; the runner asks before anything runs."""
        own = tool.needs_approval

        async def needs_approval(ctx: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            if own is True or (callable(own) and (_unsure(tool, arguments) or await own(ctx, arguments, call_id))):
                self._calls.show(call_id, digest(tool.name, arguments))
                return True
            if ctx.is_tool_approved(tool.name, call_id) is not None:
                return True  # a person has been asked; what they said, and of which call, counts when it is to run
            passage = await self._judge(tool, call_id, arguments)
            self._calls.keep(call_id, arguments, passage)
            return passage.action == "ask"

        return needs_approval

    def _invoker(self, tool: FunctionTool) -> Callable[[ToolContext[Any], str], Awaitable[Any]]:
        async def on_invoke_tool(ctx: ToolContext[Any], raw: str) -> Any:
            arguments = parsed(raw)
            passage = await self._settled(ctx, tool, arguments)
            if passage.action != "allow" or passage.name != tool.name:
                return passage.message or f"Call {passage.name} instead."
            text = raw if passage.arguments == arguments else _text(passage.arguments)
            result = await arun_recorded(self.door, passage, lambda: tool.on_invoke_tool(ctx, text), failure)
            return f"{result}\n\n{passage.message}" if passage.message and isinstance(result, str) else result

        return on_invoke_tool

    async def _settled(self, ctx: ToolContext[Any], tool: FunctionTool, arguments: Any) -> "Passage":
        """A yes holds for the call that was asked about; the state of a run that is resumed is the program's."""
        call_id = ctx.tool_call_id
        kept = self._calls.take(call_id, arguments)
        passage = kept or await self._judge(tool, call_id, arguments)
        if passage.action != "ask" or not ctx.is_tool_approved(tool.name, call_id):
            return passage
        shown = kept is not None or self._calls.shown(call_id) == digest(tool.name, arguments)
        if not shown and not await awas_asked(self.door, passage, call_id):
            return passage
        if not await asettle(self.door, passage, "approved"):
            return passage
        return await self._judge(tool, call_id, arguments)

    async def _judge(self, tool: FunctionTool, call_id: str, arguments: Any) -> "Passage":
        self._calls.known.offer([definition(tool)])  # a run that is resumed has asked no model yet
        name, written = as_written(self._calls.draft(call_id), tool.name, arguments)
        return await self.door.ajudge(name, written, call_id=call_id, step=call_id, space=self.space)


class _GuardedTools:
    """Comes before the class of an agent, and stays there when it is cloned."""

    rightcall: RightCall

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        await self.rightcall.hear(run_context)
        tools: list[Tool] = await cast("Any", super()).get_all_tools(run_context)
        guarded = [self.rightcall.tool(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]
        return [*guarded, self.rightcall.no_such_tool]


def _unsure(tool: FunctionTool, arguments: dict[str, Any]) -> bool:
    """The SDK asks a person where validation would change what the tool's own rule is shown, so it does here."""
    prepare = getattr(tool.on_invoke_tool, "prepare_arguments", None)
    prepared = prepare(encode(arguments).decode(), tool.name) if prepare else None
    return prepared is not None and not prepared.unchanged


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else encode(arguments).decode()

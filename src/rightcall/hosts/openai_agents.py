"""OpenAI Agents: an agent whose tool calls are put right, judged by the policy and recorded.

    rightcall = RightCall(policy="rightcall.toml")
    agent = rightcall.guard(Agent(name="…", model=…, tools=[...], mcp_servers=[...]))

The model's answers are corrected before the runner looks for the tool, and every function tool, those of MCP servers
too, is judged before it runs. A call that a person must see interrupts the run, as `needs_approval` does:
`state.approve(item)` and run on. Guard the agents that it hands over to as well.
"""

import copy
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.json import encode

from rightcall.hosts.adapting import Known, arun_recorded, as_written, asettle, door_for, missing

try:
    from agents import Agent, FunctionTool, Model, RunContextWrapper, Tool
    from agents.tool_context import ToolContext

    from rightcall.hosts.openai_agents_model import Calls, GuardedModel, definition, failure, parsed
except ImportError as error:
    raise missing("openai_agents", "OpenAI Agents", "openai-agents") from error

if TYPE_CHECKING:
    from rightcall.door import Door
    from rightcall.door_passage import Passage
    from rightcall.executor import PolicySource, StoreSource
    from rightcall.types import Mode

HOST = "openai-agents"
MOST_TOOLS = 10_000
A = TypeVar("A", bound=Agent[Any])
NeedsApproval = Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]]


class RightCall:
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place, with a policy of its own.

    `caller` is who calls, as `[callers.NAME]` of the policy knows them; `space` comes before the tools' names there
    (`researcher/search`), for agents whose tools of one name differ. Close it when its agents are done.
    """

    def __init__(
        self,
        policy: "PolicySource" = None,
        *,
        door: "Door | None" = None,
        packs: Iterable[str] = (),
        caller: str | None = None,
        space: str = "",
        store: "StoreSource" = None,
        mode: "Mode | None" = None,
    ) -> None:
        self.door = door_for(HOST, policy, door, packs=tuple(packs), caller=caller, store=store, mode=mode)
        self.space = space
        self._calls = Calls(self.door, Known(self.door, space), space)
        self._tools: dict[int, tuple[FunctionTool, FunctionTool]] = {}

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
        guarded.needs_approval = True if tool.needs_approval is True else self._asker(tool)
        self._tools[id(tool)] = (tool, guarded)
        self._tools[id(guarded)] = (guarded, guarded)
        return guarded

    def _asker(self, tool: FunctionTool) -> NeedsApproval:
        """What the tool's own rule says, and then the policy; the runner asks before anything runs."""
        own = tool.needs_approval

        async def needs_approval(ctx: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            if callable(own) and (_unsure(tool, arguments) or await own(ctx, arguments, call_id)):
                return True
            passage = await self._judge(tool, call_id, arguments)
            self._calls.keep(call_id, arguments, passage)
            return passage.action == "ask"

        return needs_approval

    def _invoker(self, tool: FunctionTool) -> Callable[[ToolContext[Any], str], Awaitable[Any]]:
        async def on_invoke_tool(ctx: ToolContext[Any], raw: str) -> Any:
            arguments, call_id = parsed(raw), ctx.tool_call_id
            passage = self._calls.take(call_id, arguments) or await self._judge(tool, call_id, arguments)
            approved = passage.action == "ask" and ctx.is_tool_approved(tool.name, call_id)
            if approved and await asettle(self.door, passage, "approved"):
                passage = await self._judge(tool, call_id, arguments)
            if passage.action != "allow" or passage.name != tool.name:
                return passage.message or f"Call {passage.name} instead."
            text = encode(passage.arguments).decode() if passage.changed and passage.arguments != arguments else raw
            result = await arun_recorded(self.door, passage, lambda: tool.on_invoke_tool(ctx, text), failure)
            return f"{result}\n\n{passage.message}" if passage.message and isinstance(result, str) else result

        return on_invoke_tool

    async def _judge(self, tool: FunctionTool, call_id: str, arguments: Any) -> "Passage":
        self._calls.known.offer([definition(tool)])  # a run that is resumed has asked no model yet
        name, written = as_written(self._calls.draft(call_id), tool.name, arguments)
        return await self.door.ajudge(name, written, call_id=call_id, space=self.space)


class _GuardedTools:
    """Comes before the class of an agent, and stays there when it is cloned."""

    rightcall: RightCall

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        tools: list[Tool] = await cast("Any", super()).get_all_tools(run_context)
        return [self.rightcall.tool(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]


def _unsure(tool: FunctionTool, arguments: dict[str, Any]) -> bool:
    """The SDK asks a person where validation would change what the tool's own rule is shown, so it does here."""
    prepare = getattr(tool.on_invoke_tool, "prepare_arguments", None)
    prepared = prepare(encode(arguments).decode(), tool.name) if prepare else None
    return prepared is not None and not prepared.unchanged

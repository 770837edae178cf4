"""FastMCP: a middleware that puts the calls of a server's clients right, and lets only those run that may.

    from fastmcp import FastMCP
    from rightcall.hosts.fastmcp import RightCall

    server = FastMCP("notes", middleware=[RightCall("rightcall.toml")])

What a call lacks, or what the policy says against it, is the tool's error, so that the model reads it. Where a person
has to agree, the client asks them if it can; otherwise the model is told the id under which somebody can.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rightcall.hosts.adapter import Known, arun_recorded, door_for, missing
from rightcall.mcp.approvals import Approver, Said, read_answer
from rightcall.mcp.messages import Peer, ToolCall

try:
    import mcp_types as types
    from fastmcp.exceptions import ToolError
    from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
    from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
    from fastmcp.utilities.versions import dedupe_with_versions
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
except ImportError as error:
    raise missing("fastmcp", "FastMCP 4") from error

if TYPE_CHECKING:
    from fastmcp.server.context import Context

    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage

NOBODY = Peer()
"""The program itself, which calls its own server: there is no client that could ask anybody."""


class RightCall(Middleware):
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place. `settings` are those of
    `rightcall.executor.Door.open`, such as `packs`, `caller`, `store` and `mode`. Close it when the server is done."""

    def __init__(self, policy: Any = None, *, door: "Door | None" = None, **settings: Any) -> None:
        self.door = door_for("fastmcp", policy, door, **settings)
        self._known = Known(self.door)
        self._approver = Approver(self.door)

    def close(self) -> None:
        self.door.close()

    async def on_call_tool(
        self,
        context: MiddlewareContext[types.CallToolRequestParams],
        call_next: CallNext[types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        message, session = context.message, context.fastmcp_context
        if session is not None:
            tools = await session.fastmcp.list_tools(run_middleware=False)
            self._known.offer(map(_definition, dedupe_with_versions(tools, _name)))
        passage = await self._judge(message, session)
        if passage.action == "ask" and session is not None:
            answer = await self._asked(message, session, passage)
            if isinstance(answer, ToolResult):
                return answer
            if answer is not None and self._approver.answer(passage, answer, _peer(session)):
                passage = await self._judge(message, session)
        if passage.action != "allow":
            raise ToolError(passage.message)
        if passage.changed:
            changed = message.model_copy(update={"name": passage.name, "arguments": passage.arguments})
            context = context.copy(message=changed)
        result = await self._run(passage, lambda: call_next(context))
        return _with_hint(result, passage.message) if passage.message else result

    async def _run(self, passage: "Passage", call: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """The record tells what the model reads, not what FastMCP calls it."""
        got: list[ToolResult] = []

        async def run() -> str:
            got.append(await call())
            return "\n".join(block.text for block in got[0].content if isinstance(block, types.TextContent))

        await arun_recorded(self.door, passage, run, lambda text: text or "It failed." if got[0].is_error else None)
        return got[0]

    async def _judge(self, message: types.CallToolRequestParams, session: "Context | None") -> "Passage":
        return await self.door.ajudge(message.name, message.arguments or {}, context=_session_of(session))

    async def _asked(
        self, message: types.CallToolRequestParams, session: "Context", passage: "Passage"
    ) -> "Said | ToolResult | None":
        """What a person said; or the question, where the client calls again with the answer; or None where nobody can
        be asked through this client."""
        peer = _peer(session)
        if peer.stateless:
            responses = {key: one.model_dump() for key, one in (session.input_responses or {}).items()}
            call = ToolCall(message.name, message.arguments, responses=responses, state=session.request_state)
            question = self._approver.question(passage, call, peer)
            heard = self._approver.heard(passage, call)
            if heard is not None or question is None:
                return heard
            return InputRequiredToolResult(types.InputRequiredResult.model_validate(question))
        form = self._approver.form(passage, peer)
        if form is None:
            return None
        answer = await session.session.elicit(
            message=form["message"], requested_schema=form["requestedSchema"], related_request_id=session.request_id
        )
        return read_answer(answer.model_dump())


def _name(tool: Tool) -> str:
    return tool.name


def _definition(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters}


def _session_of(session: "Context | None") -> str | None:
    """What groups the calls of one client in the audit. Without a session in the protocol there is nothing to name."""
    if session is None or session.request_context is None or _peer(session).stateless:
        return None
    return session.session_id


def _peer(session: "Context") -> Peer:
    request = session.request_context
    if request is None or session.is_background_task:
        return NOBODY
    client, can = request.session.client_params, request.session.client_capabilities
    forms = can.elicitation if can is not None else None
    return Peer(
        version=request.protocol_version,
        stateless=request.protocol_version in MODERN_PROTOCOL_VERSIONS,
        can_be_asked=forms is not None and (forms.form is not None or forms.url is None),
        name=client.client_info.name if client is not None else "",
    )


def _with_hint(result: ToolResult, hint: str) -> ToolResult:
    content = [*result.content, types.TextContent(type="text", text=hint)]
    return result.model_copy(update={"content": content})

# ruff: noqa: ARG002 - the signatures are pydantic-ai's
"""pydantic-ai: a capability that puts an agent's tool calls right, judges them by the policy and records them.

    agent = Agent(model, tools=[...], capabilities=[RightCall(policy="rightcall.toml")])

A call that lacks something is answered with the hint and can be tried again (`ModelRetry`); what the policy forbids is
answered as final (`ToolFailed`), which takes none of the tool's retries. A call that a person must see is deferred as
`DeferredToolRequests`: name it among the agent's output types, or handle it with `HandleDeferredToolCalls`.
"""

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from rightcall.executor.toolbox import full_name
from rightcall.hosts.adapter import (
    Corrected,
    Guarded,
    Turn,
    Written,
    arefuse,
    arun_recorded,
    as_written,
    asettle,
    awas_asked,
    describe_error,
    digest,
    draft_of,
    missing,
    put_right,
)

try:
    from pydantic_ai import ApprovalRequired, ModelRetry, RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import (
        ModelResponse,
        ModelResponsePart,
        TextPart,
        ToolCallPart,
        ToolReturn,
        ToolReturnPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise missing("pydantic_ai", "pydantic-ai", "pydantic-ai") from error

if TYPE_CHECKING:
    from rightcall.executor.passage import Passage

DRAFT = "rightcall"
"""Where a corrected call keeps what the model wrote, in its `provider_details`: it is judged by that."""

MOST_SHOWN = 10_000

DATA = ("native", "prompted", "image")
"""Ways to answer in which a text is no prose."""


@dataclass(init=False)
class RightCall(Guarded, AbstractCapability[Any]):
    host = "pydantic-ai"

    def _prepare(self) -> None:
        self._passages: dict[str, Passage] = {}
        self._shown: dict[str, str] = {}

    def get_ordering(self) -> CapabilityOrdering:
        """Last to see a call before it is validated: what other capabilities make of it is judged too."""
        return CapabilityOrdering(position="innermost")

    async def for_run(self, ctx: RunContext[Any]) -> "RightCall":
        """Runs share the door; the calls under way are their own, whatever ids their models give."""
        own = copy.copy(self)
        own._passages = {}
        return own

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """What a person said no to stands in the request that tells the model so."""
        told = request_context.messages[-1].parts if request_context.messages else ()
        denied = [part for part in told if isinstance(part, ToolReturnPart) and part.outcome == "denied"]
        refused = {(full_name(self.space, part.tool_name), part.tool_call_id) for part in denied}
        if refused:
            await arefuse(self.door, lambda question: (question.tool, question.step) in refused)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The answer, with its calls put right; the same object where nothing needed it."""
        offer = request_context.model_request_parameters
        functions = self._known.offer(map(_definition, offer.function_tools))
        offered = functions | self._known.offer(map(_definition, offer.output_tools))
        native = [part for part in response.parts if isinstance(part, ToolCallPart)]
        prose = offer.output_mode not in DATA  # otherwise the text is the answer's data
        text = "".join(part.content for part in response.parts if prose and isinstance(part, TextPart))
        turn = put_right(
            self.door, text, [Written(part.tool_call_id, part.tool_name, part.args) for part in native],
            offered=offered, finish_reason=response.finish_reason, space=self.space,
        )  # fmt: skip
        return replace(response, parts=_parts(response, native, turn, text)) if turn.changed else response

    async def before_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: str | dict[str, Any]
    ) -> str | dict[str, Any]:
        if tool_def.kind == "unapproved" and not ctx.tool_call_approved:
            self._remember(call, args)
            return args  # the agent's own rule asks a person first; it is judged when it is to run
        self._known.offer([_definition(tool_def)])  # a run that goes on from deferred calls has asked no model yet
        name, written = as_written((call.provider_details or {}).get(DRAFT), call.tool_name, args)
        passage = await self._judge(ctx, call, name, written)
        asked = passage.action == "ask" and ctx.tool_call_approved and await self._was_shown(passage, call, args)
        if asked and await asettle(self.door, passage, "approved"):
            passage = await self._judge(ctx, call, name, written)
        if passage.action == "deny":
            raise _refusal(passage)
        if passage.name != call.tool_name:  # the policy has changed since the answer was put right
            raise ModelRetry(f"Call {passage.name} instead of {call.tool_name}.")
        self._passages[call.tool_call_id] = passage
        return passage.arguments if passage.changed or written is not args else args

    async def _was_shown(self, passage: "Passage", call: ToolCallPart, args: Any) -> bool:
        """The history is the program's: the call that a person has seen may have become another one since."""
        own = self._shown.get(call.tool_call_id) == digest(call.tool_name, args)
        return own or await awas_asked(self.door, passage, call.tool_call_id)

    def _remember(self, call: ToolCallPart, args: Any) -> None:
        """What the agent's own rule shows a person, whose yes then holds for the policy's question too."""
        if len(self._shown) >= MOST_SHOWN:
            self._shown.clear()
        self._shown[call.tool_call_id] = digest(call.tool_name, args)

    async def after_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        passage = self._passages.get(call.tool_call_id)
        if passage is not None and passage.action == "ask":
            raise ApprovalRequired(metadata={"approval": passage.approval, "why": passage.why})
        if passage is not None and tool_def.kind == "external":
            await self.door.aended(passage, summary="handed to the application")
        return args

    async def on_tool_validate_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, error: Any
    ) -> dict[str, Any]:
        passage = self._passages.pop(call.tool_call_id, None)
        if passage is not None:
            await self.door.aended(passage, ok=False, error=describe_error(error))
        raise error

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        passage = self._passages.pop(call.tool_call_id, None)
        if passage is None or passage.action != "allow":
            raise ToolFailed("RightCall did not see this call before it was to run, so it does not run.")
        result = await arun_recorded(self.door, passage, lambda: handler(args))
        return _warned(result, passage.message) if passage.message else result

    async def _judge(self, ctx: RunContext[Any], call: ToolCallPart, name: str, arguments: Any) -> "Passage":
        # a run that goes on from deferred calls is another run of the same conversation
        context = ctx.conversation_id or ctx.run_id
        return await self.door.ajudge(
            name, arguments, call_id=call.tool_call_id, context=context, step=call.tool_call_id, space=self.space
        )


def _definition(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}


def _refusal(passage: "Passage") -> Exception:
    """Try again like this, or: this is final."""
    fixable = passage.decision.rule == "validation" and passage.verdict.retry
    return ModelRetry(passage.message) if fixable else ToolFailed(passage.message)


def _parts(response: ModelResponse, native: list[ToolCallPart], turn: Turn, text: str) -> list[ModelResponsePart]:
    """The parts of an answer with its calls put right: native ones in their places, those of the text after it."""
    corrected = dict(zip(map(id, native), turn.calls, strict=False))
    prose = turn.text if turn.text != text else None
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            parts.append(_put(part, corrected[id(part)]))
        elif isinstance(part, TextPart) and prose is not None:
            if prose.strip():
                parts.append(replace(part, content=prose.strip()))
            prose = ""
        else:
            parts.append(part)
    return [*parts, *(_new(call) for call in turn.calls[len(native) :])]


def _put(part: ToolCallPart, call: Corrected) -> ToolCallPart:
    """An API that stores answers would replay its own copy of a part that keeps its `id`."""
    if not call.changed:
        return part
    details = {**(part.provider_details or {}), DRAFT: draft_of(call, call.name, call.arguments)}
    return replace(part, tool_name=call.name, args=call.arguments, id=None, provider_details=details)


def _new(call: Corrected) -> ToolCallPart:
    args: Any = call.arguments
    details = {DRAFT: draft_of(call, call.name, args)}
    return ToolCallPart(call.name, args, tool_call_id=call.id, provider_details=details)


def _warned(result: Any, warning: str) -> ToolReturn[Any]:
    """The result, with a warning beside it for the model."""
    returned = cast("ToolReturn[Any]", result) if isinstance(result, ToolReturn) else ToolReturn[Any](result)
    content = returned.content
    beside = [content] if isinstance(content, str) else list(content or ())
    return replace(returned, content=[*beside, warning])

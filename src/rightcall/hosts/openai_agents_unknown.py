"""OpenAI Agents: calls to tools that nobody has, at which the SDK would end the run. They go to a tool of ours that
tells the model so. No model is offered it, and what a model reads of its own calls has the names that it wrote."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from agents.tool import FunctionTool
from agents.tool_context import ToolContext
from msgspec import DecodeError, Struct, json
from openai.types.responses import ResponseFunctionToolCall

from rightcall.validate import unknown_tool_hint

if TYPE_CHECKING:
    from rightcall.hosts.openai_agents_model import Calls

NAME = "rightcall_no_such_tool"
BY_THE_SDK = ("json_tool_call",)
"""Names that the SDK has its own use for."""


class Unknown(Struct, frozen=True):
    """A call as the model wrote it, in the arguments of ours."""

    name: str
    arguments: str


def no_such_tool(calls: "Calls") -> FunctionTool:
    async def on_invoke_tool(ctx: ToolContext[Any], raw: str) -> str:
        written = _written(raw)
        if written is None:
            return unknown_tool_hint(NAME)
        passage = await calls.door.ajudge(
            written.name, written.arguments, call_id=ctx.tool_call_id, step=ctx.tool_call_id, space=calls.space
        )
        if passage.action != "allow":
            return passage.message
        hint = _hint(calls, written.name)
        await calls.door.aended(passage, ok=False, error=hint)
        return hint

    return FunctionTool(
        NAME, "", {"type": "object", "properties": {}}, on_invoke_tool, strict_json_schema=False
    )  # fmt: skip


def _hint(calls: "Calls", name: str) -> str:
    catalog = calls.door.gate(space=calls.space).catalog
    near = catalog.find(name).suggestions
    return unknown_tool_hint(
        name, *([one for one in some if calls.door.offers(one, calls.space)] for some in (near, catalog.tools))
    )


def is_hidden(tool: Any) -> bool:
    return getattr(tool, "name", None) == NAME


def offered_ones(tools: Iterable[Any]) -> list[Any]:
    """What a model may know of."""
    return [tool for tool in tools if not is_hidden(tool)]


def unknown_among(
    native: Sequence[ResponseFunctionToolCall], tools: Iterable[Any], offered: Collection[str]
) -> list[ResponseFunctionToolCall]:
    """The calls to tools that nobody has, as far as we can know: those of a namespace are the SDK's own affair."""
    known = {*offered, *BY_THE_SDK, *(getattr(tool, "name", "") for tool in offered_ones(tools))}
    return [call for call in native if call.name not in known and not getattr(call, "namespace", None)]


def as_unknown(call: ResponseFunctionToolCall) -> ResponseFunctionToolCall:
    arguments = json.encode(Unknown(call.name, call.arguments)).decode()
    return call.model_copy(update={"name": NAME, "arguments": arguments})


def as_the_model_wrote(given: Any) -> Any:
    """The input of a request, with the calls that came to us as they were."""
    if not isinstance(given, list):
        return given
    items = cast("list[Any]", given)
    new = [_as_written(item) for item in items]
    return new if any(one is not other for one, other in zip(new, items, strict=True)) else items


def _as_written(item: Any) -> Any:
    match item:
        case {"type": "function_call", "name": str(name), "arguments": str(raw)} if name == NAME:
            written = _written(raw)
            return item if written is None else {**item, "name": written.name, "arguments": written.arguments}
        case _:
            return item


def _written(raw: str) -> Unknown | None:
    try:
        return json.decode(raw, type=Unknown)
    except DecodeError:
        return None

"""LangChain's messages: the calls of an answer, before and after they are put right; what is said beside a result."""

from collections.abc import Collection, Iterable, Mapping
from secrets import token_hex
from typing import Any, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from rightcall.hosts.adapting import Turn, Written, draft_of

DRAFTS = "rightcall"
"""Where an answer keeps what the model wrote of calls that were corrected, in its `response_metadata`, which no model
is sent: a thread that goes on in another process judges the same."""

MOST_TOOLS = 1000


def calls_of(message: AIMessage) -> list[Written]:
    """Those that LangChain could read, then those that it could not."""
    every = (*message.tool_calls, *message.invalid_tool_calls)
    return [Written(call["id"] or f"call_{token_hex(12)}", call["name"] or "", call["args"]) for call in every]


class Definitions:
    """What models are told of tools, worked out once for each."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[Any, dict[str, Any] | None]] = {}

    def of(self, tools: Iterable[Any]) -> list[dict[str, Any]]:
        """Without those that the provider runs itself."""
        told = {id(tool): self._told.get(id(tool)) or (tool, _definition(tool)) for tool in tools}
        # The tool is kept beside it: as long as it is, no other has its id.
        self._told = told if len(self._told) >= MOST_TOOLS else self._told | told
        return [definition for _, definition in told.values() if definition is not None]


def _definition(tool: Any) -> dict[str, Any] | None:
    told = cast("dict[str, Any]", tool) if isinstance(tool, dict) else convert_to_openai_tool(tool)
    function = told.get("function")
    return {"parameters": {"type": "object"}} | function if function else None


def finish(message: AIMessage) -> str | None:
    said = cast("dict[str, Any]", message.response_metadata)
    return said.get("finish_reason") or said.get("stop_reason") or said.get("done_reason")


def rewritten(message: AIMessage, turn: Turn, left: Collection[str]) -> AIMessage:
    """The answer with its calls put right. Those with an id in `left` stay unreadable, as they are."""
    calls = [call for call in turn.calls if call.id not in left]
    drafts = {call.id: draft_of(call, call.name, call.as_dict()) for call in calls if call.changed}
    return message.model_copy(
        update={
            "content": _content(message, turn),
            "tool_calls": [ToolCall(name=c.name, args=c.as_dict(), id=c.id, type="tool_call") for c in calls],
            "invalid_tool_calls": [call for call in message.invalid_tool_calls if call["id"] in left],
            "response_metadata": {**message.response_metadata, DRAFTS: drafts},
        }
    )


def _content(message: AIMessage, turn: Turn) -> str | list[str | dict[str, Any]]:
    """Only a text that held a call changes; blocks beside it, such as thoughts, stay."""
    if turn.text == message.text:
        return cast("str | list[str | dict[str, Any]]", message.content)
    prose = turn.text.strip()
    if isinstance(message.content, str):
        return prose
    others = [block for block in message.content if isinstance(block, dict) and block.get("type") != "text"]
    return [*([{"type": "text", "text": prose}] if prose else []), *others]


def draft_in(state: Any, call_id: str | None) -> Any:
    """What the model wrote of a call of the last answer, if that was corrected."""
    answer = next((one for one in reversed(_messages(state)) if isinstance(one, AIMessage)), None)
    kept: dict[str, Any] = {} if answer is None else answer.response_metadata.get(DRAFTS, {})
    return kept.get(call_id or "")


def _messages(state: Any) -> list[Any]:
    """An agent's state is a dict, a model, or nothing but its messages."""
    if isinstance(state, list):
        return cast("list[Any]", state)
    kept: Any = cast("Any", state).get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return kept or []


def failure(answer: Any) -> str | None:
    return answer.text if isinstance(answer, ToolMessage) and answer.status == "error" else None


def warned(answer: Any, warning: str) -> Any:
    """The result, with a warning beside it for the model."""
    if not warning or not isinstance(answer, ToolMessage):
        return answer
    content: Any = answer.content
    told = f"{content}\n\n{warning}" if isinstance(content, str) else [*content, {"type": "text", "text": warning}]
    return answer.model_copy(update={"content": told})

"""OpenAI Agents: a model whose answers are put right before the runner sees them, whole or streamed."""

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from agents import Handoff, Model, ModelResponse, default_tool_error_function
from agents.models.multi_provider import MultiProvider
from agents.tool import FunctionTool
from openai.types.responses import (
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from rightcall.hosts.adapting import Corrected, Known, Turn, Written, draft_of, put_right
from rightcall.hosts.openai_agents_unknown import (
    as_the_model_wrote,
    as_unknown,
    is_hidden,
    offered_ones,
    unknown_among,
)
from rightcall.parse.kinds import is_object

if TYPE_CHECKING:
    from rightcall.door import Door
    from rightcall.door_passage import Passage

MOST_CALLS = 10_000
_ERROR = default_tool_error_function(None, Exception(""))  # type: ignore[arg-type]  it only reads the error


def parsed(raw: str) -> Any:
    """Arguments as a dict, or as they are where they are none."""
    try:
        value = msgspec.json.decode(raw or "{}")
    except (ValueError, RecursionError):
        return raw
    return value if is_object(value) else raw


def failure(result: Any) -> str | None:
    """A function tool tells the model of its error in a text."""
    return result if isinstance(result, str) and result.startswith(_ERROR) else None


class Calls:
    """The calls under way: what the model wrote of those that were put right, and those that were judged already."""

    def __init__(self, door: "Door", known: Known, space: str) -> None:
        self.door = door
        self.known = known
        self.space = space
        self._lock = threading.Lock()
        self._drafts: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._judged: OrderedDict[str, list[tuple[Any, Passage]]] = OrderedDict()
        self._shown: OrderedDict[str, str] = OrderedDict()

    def draft(self, call_id: str) -> dict[str, Any] | None:
        with self._lock:
            return self._drafts.get(call_id)

    def keep_draft(self, call_id: str, draft: dict[str, Any]) -> None:
        with self._lock:
            self._drafts[call_id] = draft
            if len(self._drafts) > MOST_CALLS:
                self._drafts.popitem(last=False)

    def show(self, call_id: str, digest: str) -> None:
        """A tool's own rule shows this call to a person."""
        with self._lock:
            self._shown[call_id] = digest
            if len(self._shown) > MOST_CALLS:
                self._shown.popitem(last=False)

    def shown(self, call_id: str) -> str | None:
        with self._lock:
            return self._shown.get(call_id)

    def keep(self, call_id: str, arguments: Any, passage: "Passage") -> None:
        with self._lock:
            self._judged.setdefault(call_id, []).append((arguments, passage))
            if len(self._judged) > MOST_CALLS:
                self._judged.popitem(last=False)

    def take(self, call_id: str, arguments: Any) -> "Passage | None":
        """What was said of this very call; runs whose models give the same ids do not meet."""
        with self._lock:
            kept = self._judged.get(call_id, [])
            at = next((at for at, (judged, _) in enumerate(kept) if judged == arguments), None)
            passage = None if at is None else kept.pop(at)[1]
            if not kept:
                self._judged.pop(call_id, None)
            return passage


class GuardedModel(Model):
    """A model whose calls name the tools that are there, with arguments that can be read."""

    def __init__(self, inner: "Model | str | None", calls: Calls) -> None:
        self._inner = inner
        self._calls = calls

    @property
    def inner(self) -> Model:
        if not isinstance(self._inner, Model):
            self._inner = MultiProvider().get_model(self._inner)
        return self._inner

    async def close(self) -> None:
        await self.inner.close()

    def get_retry_advice(self, request: Any) -> Any:
        return self.inner.get_retry_advice(request)

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, output_schema: Any, handoffs: Any,
        tracing: Any, **more: Any,
    ) -> ModelResponse:  # fmt: skip
        response = await self.inner.get_response(
            system_instructions, as_the_model_wrote(input), model_settings, offered_ones(tools), output_schema,
            handoffs, tracing, **more,
        )  # fmt: skip
        output = self._corrected(response.output, tools, handoffs, text=_may_lift(output_schema, more))
        return response if output is response.output else replace(response, output=output)

    async def stream_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, output_schema: Any, handoffs: Any,
        tracing: Any, **more: Any,
    ) -> AsyncIterator[Any]:  # fmt: skip
        """Pieces pass as they come; a finished call, and the finished answer, come put right."""
        events = self.inner.stream_response(
            system_instructions, as_the_model_wrote(input), model_settings, offered_ones(tools), output_schema,
            handoffs, tracing, **more,
        )  # fmt: skip
        try:
            async for event in events:
                if isinstance(event, ResponseOutputItemDoneEvent):
                    [item] = self._corrected([event.item], tools, handoffs, text=False)
                    yield event if item is event.item else event.model_copy(update={"item": item})
                elif isinstance(event, ResponseCompletedEvent):
                    given = event.response.output
                    output = self._corrected(given, tools, handoffs, text=_may_lift(output_schema, more))
                    whole = event.response.model_copy(update={"output": output})
                    yield event if output is given else event.model_copy(update={"response": whole})
                else:
                    yield event
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()

    def _corrected(self, output: list[Any], tools: Sequence[Any], handoffs: Sequence[Any], *, text: bool) -> list[Any]:
        """The items of an answer; the same list where nothing needed it."""
        native = [item for item in output if isinstance(item, ResponseFunctionToolCall)]
        messages = [item for item in output if isinstance(item, ResponseOutputMessage)] if text else []
        if not native and not messages:
            return output
        calls = self._calls
        offered = calls.known.offer(_definitions(tools, handoffs))
        cut = bool(native) and native[-1].status == "incomplete"
        written = [Written(one.call_id, one.name, one.arguments) for one in native]
        turn = put_right(
            calls.door, "".join(map(_text, messages)), written,
            offered=offered, finish_reason="length" if cut else None, space=calls.space,
        )  # fmt: skip
        unknown = unknown_among(native, tools, offered) if any(map(is_hidden, tools)) else ()
        put = {
            id(item): as_unknown(item) if item in unknown and call.name == item.name and not call.observed
            else self._put(item, call)
            for item, call in zip(native, turn.calls, strict=False)
        }  # fmt: skip
        lifted = turn.calls[len(native) :]
        if not lifted and all(put[id(item)] is item for item in native):
            return output
        kept = _with_prose(output, messages, turn) if lifted else output
        return [*(put.get(id(item), item) for item in kept), *map(self._new, lifted)]

    def _put(self, item: ResponseFunctionToolCall, call: Corrected) -> ResponseFunctionToolCall:
        """The runner takes arguments that are no object for something a person must see, so there are none."""
        if not call.changed and (call.observed or is_object(parsed(item.arguments))):
            return item if item.arguments.strip() or call.observed else item.model_copy(update={"arguments": "{}"})
        arguments = call.arguments if call.changed and is_object(call.arguments) else None
        if arguments is None:
            arguments = given if is_object(given := parsed(item.arguments)) else call.as_dict()
        self._calls.keep_draft(call.id, draft_of(call, call.name, arguments))
        return item.model_copy(update={"name": call.name, "arguments": msgspec.json.encode(arguments).decode()})

    def _new(self, call: Corrected) -> ResponseFunctionToolCall:
        arguments = call.as_dict()
        self._calls.keep_draft(call.id, draft_of(call, call.name, arguments))
        text = msgspec.json.encode(arguments, enc_hook=str).decode()
        return ResponseFunctionToolCall(
            name=call.name, arguments=text, call_id=call.id, type="function_call", status="completed"
        )


def _may_lift(output_schema: Any, more: dict[str, Any]) -> bool:
    """Whether a call in the text is to be taken for one: not in an answer that is data, nor where the provider keeps
    the conversation, and would not know the call that is answered."""
    data = output_schema is not None and not output_schema.is_plain_text()
    return not data and not more.get("previous_response_id") and not more.get("conversation_id")


def definition(tool: FunctionTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}


def _definitions(tools: Sequence[Any], handoffs: Sequence[Any]) -> list[dict[str, Any]]:
    functions = [definition(tool) for tool in offered_ones(tools) if isinstance(tool, FunctionTool)]
    others = [
        {"name": one.tool_name, "description": one.tool_description, "parameters": one.input_json_schema}
        for one in handoffs
        if isinstance(one, Handoff)
    ]
    return functions + others


def _text(message: ResponseOutputMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, ResponseOutputText))


def _with_prose(output: list[Any], messages: list[ResponseOutputMessage], turn: Turn) -> list[Any]:
    """The items, with what is left of the text in the first of its messages."""
    prose = turn.text.strip()
    part = ResponseOutputText(text=prose, type="output_text", annotations=[])
    texts = {id(message) for message in messages}
    first = messages[0].model_copy(update={"content": [part]})
    rest = [item for item in output if id(item) not in texts]
    return [first, *rest] if prose else rest

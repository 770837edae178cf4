"""OpenAI Agents: an agent whose tool calls are put right, judged by the policy and recorded.

    rightcall = RightCall(policy="rightcall.toml")
    agent = rightcall.guard(Agent(name="…", model=…, tools=[...], mcp_servers=[...]))

The model's answers are corrected before the runner looks for the tool, and every function tool, those of MCP servers
too, is judged before it runs. A call that a person must see interrupts the run, as `needs_approval` does:
`state.approve(item)` and run on. Guard the agents that it hands over to as well.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import DecodeError, Struct, json
from msgspec.json import encode

from rightcall.base.json.marks import is_object
from rightcall.gate.examples import unknown_tool_hint
from rightcall.hosts.adapter import (
    Corrected,
    Guarded,
    Known,
    Turn,
    Written,
    arefuse,
    arun_recorded,
    as_written,
    asettle,
    awas_asked,
    digest,
    draft_of,
    missing,
    put_right,
)

try:
    from agents import (
        Agent,
        FunctionTool,
        Handoff,
        Model,
        ModelResponse,
        RunContextWrapper,
        Tool,
        default_tool_error_function,
    )
    from agents.models.multi_provider import MultiProvider
    from agents.tool_context import ToolContext
    from openai.types.responses import (
        ResponseCompletedEvent,
        ResponseFunctionToolCall,
        ResponseOutputItemDoneEvent,
        ResponseOutputMessage,
        ResponseOutputText,
    )
except ImportError as error:
    raise missing("openai_agents", "OpenAI Agents", "openai-agents") from error

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage


# ── unknown tools ──
# OpenAI Agents: calls to tools that nobody has, at which the SDK would end the run. They go to a tool of ours that
# tells the model so. No model is offered it, and what a model reads of its own calls has the names that it wrote.

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


# ── the model ──
# OpenAI Agents: a model whose answers are put right before the runner sees them, whole or streamed.

MOST_CALLS = 10_000
V = TypeVar("V")
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


class Latest(OrderedDict[str, V]):
    """Of the last calls, by their ids: so many."""

    def __setitem__(self, call_id: str, value: V) -> None:
        super().__setitem__(call_id, value)
        if len(self) > MOST_CALLS:
            self.popitem(last=False)


class Calls:
    """The calls under way: what the model wrote of those that were put right, and those that were judged already."""

    def __init__(self, door: "Door", known: Known, space: str) -> None:
        self.door = door
        self.known = known
        self.space = space
        self._lock = threading.Lock()
        self.drafts = Latest[dict[str, Any]]()
        self.shown = Latest[str]()
        """Digests of the calls that a tool's own rule shows to a person."""
        self._judged: Latest[list[tuple[Any, Passage]]] = Latest()

    def keep(self, call_id: str, arguments: Any, passage: "Passage") -> None:
        with self._lock:
            self._judged[call_id] = [*self._judged.get(call_id, ()), (arguments, passage)]

    def take(self, call_id: str, arguments: Any) -> "Passage | None":
        """What was said of this very call; runs whose models give the same ids do not meet."""
        with self._lock:
            kept = self._judged.get(call_id, [])
            at = next((at for at, (judged, _) in enumerate(kept) if judged == arguments), None)
            passage = None if at is None else kept.pop(at)[1]
            if not kept:
                self._judged.pop(call_id, None)
            return passage


class _ModelRequest(NamedTuple):
    """What the runner asks of a model, in the order of `Model.get_response`."""

    system_instructions: Any
    input: Any
    model_settings: Any
    tools: Any
    output_schema: Any
    handoffs: Any
    tracing: Any
    more: dict[str, Any]
    """Keywords that came with later versions of the SDK."""

    @property
    def may_lift(self) -> bool:
        """Whether a call in the text is to be taken for one: not in an answer that is data, nor where the provider
        keeps the conversation, and would not know the call that is answered."""
        data = self.output_schema is not None and not self.output_schema.is_plain_text()
        return not data and not self.more.get("previous_response_id") and not self.more.get("conversation_id")

    def passed_on(self) -> tuple[Any, ...]:
        """What the model behind is asked, beside `more`."""
        return self._replace(input=as_the_model_wrote(self.input), tools=offered_ones(self.tools))[:-1]


def _request_of(given: tuple[Any, ...], named: dict[str, Any]) -> _ModelRequest:
    fields = {name: value for name, value in named.items() if name in _ModelRequest._fields}
    more = {name: value for name, value in named.items() if name not in fields}
    return _ModelRequest(*given, **fields, more=more)


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

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        asked = _request_of(given, named)
        response = await self.inner.get_response(*asked.passed_on(), **asked.more)
        output = self._corrected(response.output, asked.tools, asked.handoffs, text=asked.may_lift)
        return response if output is response.output else replace(response, output=output)

    async def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Pieces pass as they come; a finished call, and the finished answer, come put right."""
        asked = _request_of(given, named)
        events = self.inner.stream_response(*asked.passed_on(), **asked.more)
        try:
            async for event in events:
                if isinstance(event, ResponseOutputItemDoneEvent):
                    [item] = self._corrected([event.item], asked.tools, asked.handoffs, text=False)
                    yield event if item is event.item else event.model_copy(update={"item": item})
                elif isinstance(event, ResponseCompletedEvent):
                    written = event.response.output
                    output = self._corrected(written, asked.tools, asked.handoffs, text=asked.may_lift)
                    whole = event.response.model_copy(update={"output": output})
                    yield event if output is written else event.model_copy(update={"response": whole})
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
            calls.door, "".join(map(_text_model, messages)), written,
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
        self._calls.drafts[call.id] = draft_of(call, call.name, arguments)
        return item.model_copy(update={"name": call.name, "arguments": msgspec.json.encode(arguments).decode()})

    def _new(self, call: Corrected) -> ResponseFunctionToolCall:
        arguments = call.as_dict()
        self._calls.drafts[call.id] = draft_of(call, call.name, arguments)
        text = msgspec.json.encode(arguments, enc_hook=str).decode()
        return ResponseFunctionToolCall(
            name=call.name, arguments=text, call_id=call.id, type="function_call", status="completed"
        )


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


def _text_model(message: ResponseOutputMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, ResponseOutputText))


def _with_prose(output: list[Any], messages: list[ResponseOutputMessage], turn: Turn) -> list[Any]:
    """The items, with what is left of the text in the first of its messages."""
    prose = turn.text.strip()
    part = ResponseOutputText(text=prose, type="output_text", annotations=[])
    texts = {id(message) for message in messages}
    first = messages[0].model_copy(update={"content": [part]})
    rest = [item for item in output if id(item) not in texts]
    return [first, *rest] if prose else rest


MOST_TOOLS = 10_000
A = TypeVar("A", bound=Agent[Any])
NeedsApproval = Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]]


class RightCall(Guarded):
    host = "openai-agents"

    def _prepare(self) -> None:
        self._calls = Calls(self.door, self._known, self.space)
        self._tools: dict[int, tuple[FunctionTool, FunctionTool]] = {}
        self.no_such_tool = no_such_tool(self._calls)

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
                self._calls.shown[call_id] = digest(tool.name, arguments)
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
        shown = kept is not None or self._calls.shown.get(call_id) == digest(tool.name, arguments)
        if not shown and not await awas_asked(self.door, passage, call_id):
            return passage
        if not await asettle(self.door, passage, "approved"):
            return passage
        return await self._judge(tool, call_id, arguments)

    async def _judge(self, tool: FunctionTool, call_id: str, arguments: Any) -> "Passage":
        self._calls.known.offer([definition(tool)])  # a run that is resumed has asked no model yet
        name, written = as_written(self._calls.drafts.get(call_id), tool.name, arguments)
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

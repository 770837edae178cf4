"""LiteLLM: a callback that puts the calls in models' answers right before the client sees them.

    # config.yaml of the LiteLLM proxy                # in a program
    litellm_settings:                                  guard = RightCall("rightcall.toml")
      callbacks: my_gate.guard                         completion = guard.wrap(litellm.completion)

The engine of `rightcall proxy`, whole answers and streams: names, arguments and calls left in the text are repaired;
all else passes as it came, and so does a call that nobody can repair: the client refuses it, as it would have. LiteLLM
hands calls on and runs none. One that the policy refuses is therefore taken out, and its place in the text says why.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from inspect import isawaitable
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from msgspec import json

from rightcall.base.http.answers import ServerSentEvents, payload, sse
from rightcall.base.json.marks import is_object
from rightcall.gate.gate import functions
from rightcall.hosts.adapter import beginning, door_for, missing
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import HOSTED, Did, End, Settler
from rightcall.proxy.wires.common import Kind
from rightcall.proxy.wires.openai_chat import OpenAIChat
from rightcall.types import Call, Verdict

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage


# ── the decision about each call ──
# What becomes of the calls in an answer that LiteLLM hands on: the proxy's engine, and the policy's word on each call.
#
# LiteLLM runs nothing, so that a refused call can only be taken out. Its place is held by a call under a name that is
# remembered, and `without_refused` puts the reason there when the answer is written.

HANDED = "Handed to the client, which runs it"
"""All that the record can say of the outcome."""

REFUSED = "rightcall-refused-"


class JudgingSettler(Settler):
    """Judges the calls of one answer by a door."""

    def __init__(self, door: "Door", caller: str | None, new_id: Callable[[], str]) -> None:
        here = door.policy.hosts.get(door.host)
        super().__init__(door.gate(caller), observe=here is not None and here.mode == "observe", new_id=new_id)
        self.refused: dict[str, str] = {}
        """By the name of the call that stands in its place, which no tool has: what the reader is told."""
        self.called: set[int] = set()
        """The answers of which the client got a call. A stream tells of them one chunk at a time."""
        self._door = door
        self._caller = caller

    def native(self, name: Any, arguments: Any, call_id: Any, end: End = "own") -> tuple[Call | None, Did]:
        cut = end == "cut"
        given = call_id if isinstance(call_id, str) and call_id else None
        written = name if isinstance(name, str) else ""
        passage = self._judged(written, beginning(arguments) if cut else arguments, given)
        verdict = passage.verdict
        if passage.action == "allow" and not verdict.repairs:
            return self._named(given, Did("right", verdict, written, arguments))
        if passage.observed or (_is_invalid(passage) and not (cut and _is_readable(arguments))):
            return None, Did("left", verdict, written, arguments)
        return self._sent(passage, given), Did("repaired", verdict, written, arguments)

    def lifted(self, verdict: Verdict) -> Call:
        found = verdict.found or verdict.call
        assert found is not None  # `liftable` has seen the call
        return self._sent(self._judged(found.name, found.arguments, None), None)

    def _judged(self, name: str, arguments: Any, call_id: str | None) -> "Passage":
        passage = self._door.judge(name, arguments, caller=self._caller, call_id=call_id)
        self._door.ended(passage, summary=HANDED)
        return passage

    def _sent(self, passage: "Passage", given: str | None) -> Call:
        assert self.new_id is not None
        if passage.action == "allow":
            return Call(passage.name, passage.arguments, given or self.new_id())
        place = f"{REFUSED}{token_hex(12)}"  # not by its id: models and servers give two calls the same
        self.refused[place] = passage.message
        return Call(place, {}, given or self.new_id())


def _is_invalid(passage: "Passage") -> bool:
    """Whether it was refused for how it was written, which the client notices too. What the policy says of a tool is
    not the client's affair, however its arguments are written."""
    return passage.action == "deny" and passage.decision.rule in ("validation", "unknown_tool")


def _is_readable(arguments: Any) -> bool:
    """Whether a client could run a call with these, though its answer was cut off there."""
    if not isinstance(arguments, str):
        return True
    try:
        return not arguments.strip() or is_object(json.decode(arguments))
    except (ValueError, RecursionError):
        return False


def without_refused(answer: dict[str, Any], settler: JudgingSettler, part: str) -> dict[str, Any]:
    """A whole answer (`part` is `message`) or a chunk (`delta`), changed: the reasons stand where refused calls stood.
    Calls are the reason to end only where one is left."""
    refused = settler.refused
    for at, choice in enumerate(cast("list[dict[str, Any]]", answer.get("choices") or [])):
        said = cast("dict[str, Any]", choice.get(part) or {})
        calls = cast("list[dict[str, Any]]", said.get("tool_calls") or [])
        lone = cast("dict[str, Any]", said.get("function_call") or {})
        reasons = [refused[name] for name in (*map(_name, calls), lone.get("name")) if name in refused]
        if reasons:
            said["content"] = "\n\n".join([*filter(None, [said.get("content")]), *reasons])
            said["tool_calls"] = [call for call in calls if _name(call) not in refused] or None
            said["function_call"] = None if lone.get("name") in refused else said.get("function_call")
        which = choice.get("index", at)
        if said.get("tool_calls") or said.get("function_call"):
            settler.called.add(which)
        if refused and which not in settler.called and choice.get("finish_reason") in ("tool_calls", "function_call"):
            choice["finish_reason"] = "stop"
    return answer


def _name(call: dict[str, Any]) -> Any:
    return (call.get("function") or {}).get("name")


try:
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.types.utils import ModelResponse, ModelResponseStream
except ImportError as error:
    raise missing("litellm", "LiteLLM") from error


MOST_DOORS = 64
"""Sets of tools that are kept ready; clients send the same ones again and again."""

_WIRE = OpenAIChat()


class RightCall(CustomLogger):
    """`lift`: whether calls left in a text become calls; None: except for providers that emit real ones. `settings` are
    those of `rightcall.executor.Door.open`. LiteLLM looks for the hooks in this very class: use it, not a subclass."""

    def __init__(self, policy: Any = None, *, lift: bool | None = None, **settings: Any) -> None:
        super().__init__()
        self.door = door_for("litellm", policy, **settings)
        self.lift = lift
        self._settings: dict[str, Any] = {"pins": False, **settings, "policy": policy, "store": self.door.store}
        self._doors: OrderedDict[bytes, Door] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        self.door.close()

    # ── LiteLLM's proxy ──────────────────────────────────────────────────────────────────────────────────────────

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        settler = self._settler(data, user_api_key_dict)
        if settler is None or not isinstance(response, ModelResponse):
            return response
        return await asyncio.to_thread(self._whole, response, data, settler)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        async for chunk in self._astream(response, request_data, self._settler(request_data, user_api_key_dict)):
            yield chunk

    # ── a program ────────────────────────────────────────────────────────────────────────────────────────────────

    def wrap(self, completion: Callable[..., Any]) -> Callable[..., Any]:
        """`litellm.completion`, `litellm.acompletion` or a router's, whose answers are put right; streams too."""

        def completed(*args: Any, **kwargs: Any) -> Any:
            answer = completion(*args, **kwargs)
            settler = self._settler(kwargs, None)
            if settler is None:
                return answer
            if isawaitable(answer):
                return self._awaited(answer, kwargs, settler)
            if isinstance(answer, ModelResponse):
                return self._whole(answer, kwargs, settler)
            return self._stream(answer, kwargs, settler)

        return completed

    async def _awaited(self, answer: Any, request: Mapping[str, Any], settler: JudgingSettler) -> Any:
        given = await answer
        if isinstance(given, ModelResponse):
            return await asyncio.to_thread(self._whole, given, request, settler)
        return self._astream(given, request, settler)

    # ── one answer ───────────────────────────────────────────────────────────────────────────────────────────────

    def _whole(self, response: Any, request: Mapping[str, Any], settler: JudgingSettler) -> Any:
        event = _WIRE.whole(response.model_dump())
        if event is None:
            return response
        event.deltas = [delta for delta in event.deltas if delta.kind is not Kind.DONE]  # why it ended decides too
        flow = Flow(settler, lift=self._lifts(response, request))
        flow.take(event)
        if not event.same:
            written = without_refused(_WIRE.written(event), settler, "message")
            response.choices = ModelResponse(**written).choices
        return response

    def _stream(self, chunks: Iterable[Any], request: Mapping[str, Any], settler: JudgingSettler) -> Iterator[Any]:
        streaming: _Streaming | None = None
        for chunk in chunks:
            streaming = streaming or _Streaming(settler, lift=self._lifts(chunk, request))
            yield from streaming.feed(chunk)
        if streaming is not None:
            yield from streaming.close()

    async def _astream(
        self, chunks: AsyncIterator[Any], request: Mapping[str, Any], settler: JudgingSettler | None
    ) -> AsyncGenerator[Any, None]:
        """A chunk that decides about a call is taken in a thread: its record waits for the disk."""
        streaming: _Streaming | None = None
        async for chunk in chunks:
            if settler is None or not isinstance(chunk, ModelResponseStream):
                yield chunk
                continue
            streaming = streaming or _Streaming(settler, lift=self._lifts(chunk, request))
            out = await asyncio.to_thread(list, streaming.feed(chunk)) if _decides(chunk) else streaming.feed(chunk)
            for piece in out:
                yield piece
        if streaming is not None:
            for piece in await asyncio.to_thread(list, streaming.close()):
                yield piece

    def _lifts(self, answer: Any, request: Mapping[str, Any]) -> bool:
        if request.get("tool_choice") == "none":
            return False
        if self.lift is not None:
            return self.lift
        about = cast("dict[str, Any]", getattr(answer, "_hidden_params", None) or {})
        base = request.get("api_base") or request.get("base_url") or about.get("api_base")
        if base:
            return urlsplit(str(base)).hostname not in HOSTED
        return about.get("custom_llm_provider") not in HOSTED.values()

    def _settler(self, request: Mapping[str, Any], user: Any) -> JudgingSettler | None:
        """Judges the calls of one answer by the tools of its request; None where it offers none."""
        tools = functions(request.get("tools"))
        if not tools:
            return None
        alias = getattr(user, "key_alias", None)
        door, model = self._door(tools), request.get("model")
        settler = JudgingSettler(door, alias if isinstance(alias, str) and alias else None, _WIRE.new_id)
        settler.reasoning = door.policy.reasoning_for(settler.gate.provider, model if isinstance(model, str) else None)
        return settler

    def _door(self, tools: list[dict[str, Any]]) -> "Door":
        """A door with just these tools; all share one record. Clients may call different tools by one name."""
        key = json.encode(tools, enc_hook=str)
        with self._lock:
            door = self._doors.get(key)
            if door is None:
                door = self._doors[key] = door_for("litellm", tools=tools, **self._settings)
            self._doors.move_to_end(key)
            if len(self._doors) > MOST_DOORS:
                self._doors.popitem(last=False)
            return door


class _Streaming:
    """One stream through the proxy's engine: LiteLLM's chunks go in and come out as they were, or written anew."""

    def __init__(self, settler: JudgingSettler, *, lift: bool) -> None:
        self._editor = Editor(_WIRE.stream(), Flow(settler, lift=lift))
        self._settler = settler
        self._given: dict[bytes, Any] = {}  # chunks that have not left yet, by their bytes

    def feed(self, chunk: Any) -> Generator[Any, None, None]:
        raw = sse(chunk.model_dump_json(exclude_none=True).encode())
        self._given[raw] = chunk
        yield from self._left(self._editor.feed(raw))

    def close(self) -> Generator[Any, None, None]:
        yield from self._left(self._editor.close())

    def _left(self, data: bytes) -> Generator[Any, None, None]:
        for raw in ServerSentEvents().feed(data):
            given = self._given.pop(raw, None)
            if given is not None and not self._settler.refused:
                self._settler.called |= {choice.index for choice in given.choices if _has_call(choice.delta)}
                yield given
            else:
                chunk = without_refused(json.decode(payload(raw)), self._settler, "delta")
                yield ModelResponseStream(**chunk)


def _has_call(delta: Any) -> bool:
    return bool(delta.tool_calls or getattr(delta, "function_call", None))


def _decides(chunk: Any) -> bool:
    return any(choice.finish_reason or _has_call(choice.delta) for choice in chunk.choices)

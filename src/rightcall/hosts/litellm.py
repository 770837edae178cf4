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
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from msgspec import json

from rightcall.hosts.adapting import door_for, missing
from rightcall.hosts.litellm_settling import JudgingSettler, without_refused
from rightcall.offering import functions
from rightcall.proxy.answering import Editor
from rightcall.proxy.events import Kind
from rightcall.proxy.flow import Flow
from rightcall.proxy.options import HOSTED
from rightcall.proxy.wires.openai_chat import OpenAIChat
from rightcall.text.framing import ServerSentEvents, payload, sse

try:
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.types.utils import ModelResponse, ModelResponseStream
except ImportError as error:
    raise missing("litellm", "LiteLLM") from error

if TYPE_CHECKING:
    from rightcall.door import Door

MOST_DOORS = 64
"""Sets of tools that are kept ready; clients send the same ones again and again."""

_WIRE = OpenAIChat()


class RightCall(CustomLogger):
    """`lift`: whether calls left in a text become calls; None: except for providers that emit real ones. `settings` are
    those of `rightcall.door.Door.open`. LiteLLM looks for the hooks in this very class: use it, not a subclass."""

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

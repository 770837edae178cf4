"""Asking the model: once, again with a hint, or with the tools in its prompt."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from rightcall.base.http.addresses import Headers
from rightcall.base.http.client import Incoming
from rightcall.base.http.errors import HttpError
from rightcall.gate import Gate
from rightcall.proxy.answering import collect_answer
from rightcall.proxy.events import Event
from rightcall.proxy.flow import Flow
from rightcall.proxy.ignored import has_no_place, ignored
from rightcall.proxy.options import HOSTED, Options
from rightcall.proxy.settle import Did, Settler
from rightcall.proxy.teaching import NO_TOOLS, taught
from rightcall.proxy.wire import Asked, Usage, Wire
from rightcall.proxy.wires.common import plus
from rightcall.serve.facts import Facts
from rightcall.serve.pupils import Pupils
from rightcall.serve.upstream import Upstream
from rightcall.types import Call

LLAMA_CPP: Final = b"llama.cpp"
"""What llama.cpp's server calls itself."""

PROPS_SECONDS = 5.0
"""How long it may take to tell of itself: the client waits."""

ENDED: Final = frozenset({"stop", "end_turn", "completed", "stop_sequence", "tool_calls", "tool_use", "None", ""})
"""Why an answer ends that says all the model had to say, over any API."""


class Way(NamedTuple):
    """How a model is asked, and what is known of those behind the same upstream."""

    wire: Wire
    upstream: Upstream
    target: str
    headers: Headers
    lift: bool
    """Whether calls in the text are lifted."""
    pupils: Pupils


class Asking:
    """One request of a client to a model, however often the model is asked."""

    def __init__(self, way: Way, options: Options, asked: Asked, gate: Gate, body: bytes, facts: Facts) -> None:
        self.wire, self._upstream, self._target, self._headers, self._lift, self._pupils = way
        self.asked = asked
        self.gate = gate
        self.body = body
        self.options = options
        self.facts = facts
        self.spent = Usage()
        """Tokens of tries that the client does not see."""
        self._trial = False  # the model is taught to see whether that helps
        self._tries = options.retry if asked.answers == 1 and not options.observe else 0

    @property
    def may_teach(self) -> bool:
        """Whether what the server does may lead to teaching. Hosted providers tell their models themselves."""
        if self.options.teach != "auto" or self._upstream.host in HOSTED:
            return False
        return not self.facts.taught and not self.options.observe

    def flow(self, *, hold: bool | None = None) -> Flow:
        """What decides over the next answer."""
        new_id = self.wire.new_id if self.wire.new_id() else None
        settler = Settler(self.gate, observe=self.options.observe, taught=self.facts.taught, new_id=new_id)
        settler.reasoning = self.gate.policy.reasoning_for(self.gate.provider, self.asked.model)
        if settler.reasoning == "auto":
            if self._pupils.opens_reasoning(self.asked.model):
                settler.reasoning = "open"
            settler.closed_alone = partial(self._pupils.closed_alone, self.asked.model)
        lift = (self._lift or self.facts.taught) and self.asked.choice != "none"
        must_call = self.asked.choice == "required" and self.asked.stream and self.may_teach
        return Flow(settler, lift=lift, hold=self._tries > 0 if hold is None else hold, must_call=must_call)

    async def first(self) -> Incoming:
        """The model's first answer; taught at once where that is wanted."""
        known = self.asked.model in self._pupils
        self._trial = self.may_teach and not known and self._pupils.is_suspect(self.asked.model)
        if (self.options.teach == "on" or (self.may_teach and known) or self._trial) and not self.options.observe:
            return await self.teach()
        return await self._send(self.body)

    async def teach(self) -> Incoming:
        """The same request with the tools in the prompt instead of beside it."""
        self.facts.taught = True
        self.body = msgspec.json.encode(self._taught())
        return await self._send(self.body)

    def _taught(self) -> dict[str, Any]:
        request = msgspec.json.decode(self.body)
        if self.asked.choice == "none":
            return self.wire.taught(request, NO_TOOLS)
        return taught(self.wire, request, self.gate.catalog)

    async def is_untold(self, incoming: Incoming) -> bool:
        """Whether the model that begins to answer has never heard of its tools. llama.cpp drops them without a word
        where the model's template has no place for them, but says so when it is asked: once for each model."""
        server = next((value for name, value in incoming.headers if name == b"server"), b"")
        if not self.may_teach or self.asked.choice == "none" or server != LLAMA_CPP:
            return False
        if not self._pupils.is_new(self.asked.model, "/props"):
            return False
        target = f"/props?model={quote(self.asked.model, safe='')}"
        headers = [header for header in self._headers if header[0] != b"content-type"]
        try:
            async with asyncio.timeout(PROPS_SECONDS):
                props = await self._json("GET", target, headers, b"")
        except TimeoutError:
            return False
        if not has_no_place(props):
            return False
        self._pupils.add(self.asked.model, "its template has no place for tools")
        return True

    def note_refusal(self) -> None:
        """The server said itself that it knows no tools."""
        self._pupils.add(self.asked.model, "its server refuses requests with tools")

    def seems_ignored(self, flow: Flow, usage: Usage) -> bool:
        """Whether the server seems to have ignored the tools. Who writes a call, however wrong, was told of them; an
        answer that was cut off or forbidden says nothing."""
        model = self.asked.model
        if any(did.fate in ("right", "repaired") for did in flow.did) and not self.facts.taught:
            self._pupils.called(model)
        if not self.may_teach or flow.did or flow.reason not in ENDED or self._pupils.has_called(model):
            return False
        if self.asked.choice != "required" and not self._pupils.is_new(model, self.gate.catalog.digest):
            return False
        request = msgspec.json.decode(self.body)
        return ignored(self.asked, request, usage, wire=self.wire.name) is not None

    def heard_out(self, flow: Flow, usage: Usage) -> None:
        """A stream has said all: too late to ask otherwise now, but the next request can be taught on trial."""
        if not self.was_trial(flow) and self.seems_ignored(flow, usage):
            self._pupils.suspect(self.asked.model)

    def was_trial(self, flow: Flow) -> bool:
        """Whether the model was taught on trial; then it is known now whether that helps."""
        if self._trial and flow.reason in ENDED:
            self._pupils.tried(self.asked.model, helped=flow.calls > 0)
        return self._trial

    async def redone(self, flow: Flow) -> tuple[Any, Event, Flow] | None:
        """Another answer in place of one that could not be repaired: its JSON, and what was decided of it. None where
        the model did no better, or the server none at all."""
        while self._tries > 0:
            self._tries -= 1
            self.facts.retries += 1
            request = self.wire.again(msgspec.json.decode(self.body), flow.redo())
            answer = await self._whole(msgspec.json.encode(request))
            event = self.wire.whole(answer) if answer is not None else None
            if event is None:
                return None
            flow = self.flow(hold=True)
            flow.take(event)
            if not flow.broken:
                return answer, event, flow
            self.spent = plus(self.spent, self.wire.usage(answer))
        return None

    async def taught_whole(self) -> tuple[Any, Event, Flow] | None:
        """The answer of the model after it was taught, in place of one in which it could not know its tools. None where
        that brings no call either: then it knew, or nothing helps."""
        asked = {**self._taught(), "stream": False}
        asked.pop("stream_options", None)  # which only a stream may have
        answer = await self._whole(msgspec.json.encode(asked))
        event = self.wire.whole(answer) if answer is not None else None
        if event is None:
            return None
        self.facts.taught = True
        flow = self.flow(hold=False)
        flow.take(event)
        self.facts.taught = flow.calls > 0
        self._pupils.tried(self.asked.model, helped=self.facts.taught)
        return (answer, event, flow) if self.facts.taught else None

    async def _send(self, body: bytes) -> Incoming:
        return await self._upstream.send("POST", self._target, self._headers, body)

    async def _whole(self, body: bytes) -> Any:
        return await self._json("POST", self._target, self._headers, body)

    async def _json(self, method: str, target: str, headers: Headers, body: bytes) -> Any:
        """What the server answers, None where that is no JSON or an error: what we ask beside the client's own request
        must not spoil that one."""
        try:
            incoming = await self._upstream.send(method, target, headers, body)
            try:
                raw = await incoming.read_all()
            finally:
                incoming.release()
            return None if incoming.status >= 400 else msgspec.json.decode(raw)
        except (HttpError, msgspec.MsgspecError, UnicodeError, RecursionError):
            return None


def replacement(event: Event, flow: Flow) -> tuple[str, tuple[Call, ...], list[Did], str | None]:
    """What another answer brings in place of what was broken in the first."""
    text, calls = collect_answer(event)
    return text, calls, flow.did, None if flow.reason in (None, "None", "") else flow.reason

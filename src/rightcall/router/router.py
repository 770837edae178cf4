"""The router: does this request need a tool, which one, and is it sure enough to run it?

    router = Router([get_weather], model)
    answered = await router.answer("Will it rain in Oslo?")
    print(answered.text, answered.packet.tool_routing.execution_status)

Tool decisions are a controlled, structured, reviewed step here, never something a model slips into its answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from rightcall import suggest
from rightcall.base.telemetry.spans import Telemetry, telemetry_for
from rightcall.errors import ConfigError
from rightcall.router.packet import (
    Candidate,
    Intent,
    Models,
    Packet,
    PacketIntent,
    has_spoken,
    log_step,
    models_of,
    request_of,
    request_text,
    start_step,
    with_routing,
    with_state,
)
from rightcall.router.spans import follow_models, follow_trip
from rightcall.router.toolset import Toolset

if TYPE_CHECKING:
    from rightcall.executor.pipeline import Ask
    from rightcall.gate.gate import Gate
    from rightcall.policy.settings import RouterSettings
    from rightcall.record.notes import Confirmation
    from rightcall.router.review import Clearances
    from rightcall.router.trip import Pieces, Trip


STEPS = ("needs_tool", "candidates", "detect", "find", "select", "review", "execute", "inject", "respond")
"""What a program may replace, by a keyword of its name or in a subclass. `decide`, which clears a call to run, is not
among them: who wants to decide otherwise sets the threshold, or reviews otherwise."""

_OPTIONS = ("tools", "models", "policy", "caller", "packets", "ask", "wait")

_INTENTS: dict[str, Literal["tool_routing", "ask_back", "answer"]] = {
    "call": "tool_routing", "ask": "ask_back", "none": "answer",
}  # fmt: skip

MOST_OFFERED = 40
"""Up to so many tools are all shown to the selecting model; of more, the `candidates` likeliest of the settings."""


class Answered(Struct, frozen=True):
    """An answer and the packet that tells how it came about."""

    text: str
    packet: Packet


def _no_option(name: str) -> str:
    """What to say of a keyword that the router does not take."""
    from rightcall.policy.settings import RouterSettings

    if name in STEPS:
        return f"`{name}` is a step of the router, so it must be a function"
    if name in RouterSettings.__struct_fields__:
        return f"`{name}` is a setting of the policy: Router(…, policy={{'router': {{'{name}': …}}}})"
    near = suggest(name, (*STEPS, *_OPTIONS))
    return f"`{name}` is not an option of the router" + (near or f"; steps that can be replaced: {', '.join(STEPS)}")


def _is_final(found: Intent) -> bool:
    """Whether what was found without a model is beyond doubt. That a value is missing never is: a model may know it."""
    return found.answer == "call" or (found.answer == "none" and found.sure)


class Packets(Protocol):
    """Where packets are kept: `PacketStore` keeps them in files."""

    def save(self, packet: Packet, /) -> object: ...


class Router:
    """Routes requests to tools.

    >>> tools = [{"name": "get_weather", "description": "The weather of a city.",
    ...           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]
    >>> [one.name for one in Router(tools).candidates("What is the weather in Oslo?")]
    ['get_weather']

    `tools` are definitions in any shape, which are only routed to; functions, which run as well; an `Executor`, whose
    policy then decides what each caller may use; or None. `models` is one model for everything, or a light one, which
    selects, and a prime one, which reviews and answers: `{"light": …, "prime": …}`; without any, those of
    [router.light] and [router.prime] in the policy. A model is a function of a list of messages, or an `Endpoint`.
    `policy` is a path, a dict of the same shape or None, and `ask` asks a person about a call that needs one; an
    executor has both itself.
    `wait` is for how many seconds a call may wait for a person's answer; `packets` where packets are saved. Every step
    can be replaced by a keyword of its name.
    """

    def __init__(
        self, tools: Any = None, models: Any = None, *, policy: Any = None, caller: str = "default",
        packets: Packets | None = None, ask: Ask | None = None, wait: float = 0.0, **steps: Callable[..., Any],
    ) -> None:  # fmt: skip
        self._tools = Toolset(tools, policy, ask)
        self._given_models = models
        self._models: Models | None = None
        self._clearances: Clearances | None = None
        self.caller = caller
        self.packets = packets
        self.wait = wait
        for name, step in steps.items():
            if name not in STEPS or not callable(step):
                raise ConfigError(_no_option(name))
            setattr(self, name, self._marking(step) if name == "review" else step)
        if models is not None:
            _ = self.models  # what is wrong with them is said at once

    async def __aenter__(self) -> Self:
        await self._tools.running()
        await self._tools.join()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close what the router has opened itself."""
        await self._tools.close()
        if self._given_models is None and self._models is not None:
            for model in {id(one): one for one in (self._models.light, self._models.prime)}.values():
                if model is not None:
                    await model.aclose()  # pyright: ignore[reportFunctionMemberAccess] - an Endpoint of ours
            self._models = None

    @property
    def settings(self) -> RouterSettings:
        """`[router]` of the policy in force."""
        return self._tools.policy.router

    @property
    def models(self) -> Models:
        if self._models is None:
            self._models = models_of(self._given_models, self.settings)
            if self.telemetry.is_on:
                follow_models(self._models, self.telemetry)
        return self._models

    @cached_property
    def telemetry(self) -> Telemetry:
        """What follows its requests; as the policy and the environment said when it was first asked."""
        return telemetry_for(self._tools.policy.telemetry.enabled)

    # Without a model

    def needs_tool(self, text: str, caller: str | None = None) -> Intent:
        """Whether a request needs a tool of those there are, a value for one, or none. Without a model."""
        from rightcall.router.intent import judge_intent

        near, mode = self._tools.near(request_text(text), caller or self.caller), self.settings.mode
        return judge_intent(text, near.tools, mode, ranker=self._tools.ranker, hits=near.hits)

    def candidates(self, text: str, limit: int = 5, caller: str | None = None) -> list[Candidate]:
        """The tools that may be the right ones, likeliest first. Without a model."""
        if not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - no types there
            raise ConfigError(f"`limit` must be a whole number from 1, not {limit!r:.40}")
        near = self._tools.near(request_text(text), caller or self.caller, limit)
        return self._tools.ranker.rank(text, near.tools or (), limit, near.hits)

    # The whole

    async def answer(self, text: str, session: str = "", caller: str | None = None) -> Answered:
        """The whole loop in one call: the answer, and the packet that tells its story."""
        await self._tools.join()
        return await self.stream(text, session, caller).whole()

    def stream(self, text: str, session: str = "", caller: str | None = None) -> AnswerStream:
        """The same in pieces: `async for piece in router.stream(text)`; then `stream.packet` is the packet."""
        from rightcall.router.trip import Trip

        trip = Trip(self, self.open(text, session, caller))
        return AnswerStream(trip, trip.run())

    async def resume(
        self, packet: Packet, said: str | None = None, *, caller: str | None = None, by: str = ""
    ) -> Answered:
        """Go on with a packet that waits, or that was interrupted. `said`: "yes" or "no" to what it asks, or a text
        that tells more; `by` names the person, for the audit. Nothing that stands in a packet lets anything run."""
        return await self.resuming(packet, said, caller=caller, by=by).whole()

    def resuming(
        self, packet: Packet, said: str | None = None, *, caller: str | None = None, by: str = ""
    ) -> AnswerStream:
        """The same in pieces."""
        from rightcall.router.trip import Trip, resume_trip

        if packet.header.caller != (caller or self.caller):
            raise ConfigError(f"`caller`: this packet is of {packet.header.caller!r:.60}; go on in that caller's name")
        trip = Trip(self, packet)
        return AnswerStream(trip, resume_trip(trip, said, by))

    # The steps: each takes a packet and gives the next

    def open(self, text: str, session: str = "", caller: str | None = None) -> Packet:
        """A packet for a request."""
        from rightcall.router.packets import new_packet

        who = caller or self.caller
        names = self._tools.offer(who).by_name
        return new_packet(text, session=session, caller=who, tools=names, limit=self.settings.reinjections)

    def detect(self, packet: Packet) -> Packet:
        """Does it need a tool? Where that is not beyond doubt, the selecting model decides, if there is one."""
        taken = start_step()
        found = self.needs_tool(request_of(packet), packet.header.caller)
        answer = found.answer if found.sure else "call"
        if answer == "ask" and has_spoken(packet):  # asked once already: whether that was an answer, a model can tell
            answer = "call"
        if not _is_final(found) and self.models.selecting is not None:
            answer = "call"
        intent = PacketIntent(_INTENTS[answer], found)
        calls = answer == "call"
        packet = with_state(replace(packet, intent=intent), "processing")
        packet = with_routing(packet, needs_tool=calls, routing_requested=calls)
        return log_step(packet, "intent_detection", f"{intent.user_intent}", taken, sure=found.probability)

    def find(self, packet: Packet) -> Packet:
        """The tools that the selecting model is shown: all of them, likeliest first, or the likeliest of very many."""
        offered = self._tools.offer(packet.header.caller).by_name
        every = len(offered) <= MOST_OFFERED
        limit = max(len(offered), 1) if every else self.settings.candidates
        found = self.candidates(request_of(packet), limit, packet.header.caller)
        named = {one.name: one for one in found if one.name in offered}  # whoever has found them
        if every and getattr(self.candidates, "__func__", None) is Router.candidates:  # else a program has cut the list
            named |= {name: Candidate(name, 0.0, 0.0) for name in offered if name not in named}
        return with_routing(packet, candidates=tuple(named.values()))

    async def select(self, packet: Packet) -> Packet:
        """A light model chooses one of the candidates, or none."""
        from rightcall.router.choose import select

        return await select(packet, self._gate(packet), self.models.selecting, self.settings)

    async def review(self, packet: Packet) -> Packet:
        """The prime model says what it thinks of the choice."""
        from rightcall.router.review import call_of, review

        call = call_of(packet)
        packet = await review(packet, self._gate(packet), self.models.answering, self.settings)
        self.clearances.reviewed(call, packet)
        return packet

    def decide(self, packet: Packet) -> Packet:
        """Whether all evidence together is enough. Only what was decided here, by this router, can run."""
        from rightcall.router.review import decide

        selected = packet.tool_routing.selected_tool
        tool = self._gate(packet).catalog.get(selected.tool_name) if selected is not None else None
        return decide(packet, self.settings, self.clearances, tool)

    async def execute(self, packet: Packet) -> Packet:
        """Run the selected call, under the policy, once it is decided that it may."""
        from rightcall.router.trip import execute, refuse_packet

        cleared = self.clearances.use(packet)
        if cleared is None:
            return refuse_packet(packet, "the call was not reviewed and cleared here, so it may not run", start_step())
        packet = with_routing(packet, selected_tool=cleared)
        return await execute(packet, await self._tools.running(), self.settings, self.wait)

    def inject(self, packet: Packet) -> Packet:
        """The result of the call goes into the packet."""
        from rightcall.router.trip import inject

        return inject(packet)

    async def respond(self, packet: Packet) -> Packet:
        """The answer, or what the user is to be asked."""
        async with aclosing(self._speak(packet)) as parts:
            async for part in parts:
                if isinstance(part, Packet):
                    packet = part
        return packet

    # For the parts of the router

    @property
    def clearances(self) -> Clearances:
        if self._clearances is None:
            from rightcall.router.review import Clearances

            self._clearances = Clearances()
        return self._clearances

    async def spoken(self, trip: Trip) -> Pieces:
        """The answer in pieces; of a step that somebody replaced, in one."""
        if getattr(self.respond, "__func__", None) is not Router.respond:
            await trip.step("respond")
            yield trip.packet.content.answer or ""
            return
        async with aclosing(self._speak(trip.packet)) as parts:
            async for part in parts:
                if isinstance(part, str):
                    yield part
                else:
                    trip.packet = part

    def _marking(self, step: Callable[..., Any]) -> Callable[..., Any]:
        from rightcall.router.review import marking

        return marking(step, self.clearances)

    async def note(self, packet: Packet, decision: str, by: str = "") -> None:
        """A decision goes into the audit, where there is one: with the call that a person is asked about, where one is.
        Raises StoreError when it cannot be recorded."""
        from rightcall.router.packets import arguments_of
        from rightcall.router.review import SHOWN, call_of
        from rightcall.router.trip import routed_note

        asks = packet.tool_routing.execution_status == "awaiting_confidence"
        executor = await self._tools.running() if asks else self._tools.executor
        if executor is not None:
            call = call_of(packet) if asks else b""
            SHOWN.show(packet, call)
            await executor.note_routing(routed_note(packet, decision, by), arguments_of(packet), call)

    async def confirm(self, packet: Packet, call: bytes, by: str = "") -> Confirmation:
        """Whether a person's yes counts for this packet's call, which is recorded then; without an executor nothing
        can run, so nothing speaks against it. Raises StoreError when it cannot be recorded."""
        from rightcall.record.memory import MemoryStore
        from rightcall.router.packets import arguments_of
        from rightcall.router.review import SHOWN
        from rightcall.router.trip import routed_note

        executor = await self._tools.running()
        if executor is None:
            return "confirmed"
        told, arguments = routed_note(packet, "confirmed", by), arguments_of(packet)
        if not isinstance(executor.store, MemoryStore):
            return await executor.confirm_routing(told, arguments, call)
        counts = SHOWN.confirm(packet, call)
        if counts == "confirmed":
            await executor.note_routing(told, arguments, call)
        return counts

    def _speak(self, packet: Packet) -> AsyncGenerator[str | Packet, None]:
        from rightcall.router.respond import speak

        return speak(packet, self._gate(packet), self.models.answering, self.settings)

    def _gate(self, packet: Packet) -> Gate:
        return self._tools.gate(one.name for one in packet.tool_routing.candidates)


# ── streams ──
# An answer while it comes, and the packet once it is there.


class AnswerStream:
    """`async for piece in stream:` gives the answer; `packet` is where the request stands, at any moment. When the task
    is cancelled, the packet is saved as it stands."""

    def __init__(self, trip: Trip, pieces: Pieces) -> None:
        self._trip = trip
        is_followed = trip.router.telemetry.is_on
        self._pieces = _kept(trip, follow_trip(trip, pieces) if is_followed else pieces)

    @property
    def packet(self) -> Packet:
        return self._trip.packet

    def __aiter__(self) -> Pieces:
        return self._pieces

    async def aclose(self) -> None:
        """For whoever does not want the rest."""
        await self._pieces.aclose()

    async def whole(self) -> Answered:
        """All of it at once."""

        async for _ in self._pieces:
            pass
        return Answered(self.packet.content.answer or "", self.packet)


async def _kept(trip: Trip, pieces: Pieces) -> Pieces:
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
    except BaseException:
        trip.save_now()
        raise

"""The router: does this request need a tool, which one, and is it sure enough to run it?

    router = Router([get_weather], model)
    answered = await router.answer("Will it rain in Oslo?")
    print(answered.text, answered.packet.tool_routing.execution_status)

Tool decisions are a controlled, structured, reviewed step here, never something a model slips into its answer.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Collection, Container, Sequence
from contextlib import aclosing
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from rightcall import suggest
from rightcall.base.telemetry.spans import Telemetry, telemetry_for
from rightcall.errors import ConfigError
from rightcall.policy.settings import RouterSettings
from rightcall.record.notes import Confirmation
from rightcall.router.choose import select
from rightcall.router.lexical import STOP_WORDS, ToolText, names_value, stem
from rightcall.router.packet import (
    Candidate,
    Intent,
    Mode,
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
from rightcall.router.packets import arguments_of, new_packet
from rightcall.router.ranking import BY_WORDS, Asked, Found, Ranker, alone, chance, forest, load_weights
from rightcall.router.review import SHOWN, Clearances, call_of, decide, definition_of, marking, review
from rightcall.router.slots import FILLED, Values, filled_shares
from rightcall.router.toolset import Hit, Toolset
from rightcall.router.trip import (
    Pieces,
    Trip,
    execute,
    follow_models,
    follow_trip,
    inject,
    refuse_packet,
    resume_trip,
    routed_note,
)
from rightcall.router.vectors import embed_request

if TYPE_CHECKING:
    from rightcall.executor.pipeline import Ask
    from rightcall.gate.gate import Gate

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
    if name in STEPS:
        return f"`{name}` is a step of the router, so it must be a function"
    if name in RouterSettings.__struct_fields__:
        return f"`{name}` is a setting of the policy: Router(…, policy={{'router': {{'{name}': …}}}})"
    near = suggest(name, (*STEPS, *_OPTIONS))
    return f"`{name}` is not an option of the router" + (near or f"; steps that can be replaced: {', '.join(STEPS)}")


def _is_final(found: Intent) -> bool:
    """Whether what was found without a model is beyond doubt. That a value is missing never is: a model may know it."""
    return found.answer == "call" or found.final


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
            setattr(self, name, marking(step, self.clearances) if name == "review" else step)
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
        trip = Trip(self, self.open(text, session, caller))
        return AnswerStream(trip, trip.run())

    async def resume(
        self, packet: Packet, said: str | None = None, *, caller: str | None = None, by: str = ""
    ) -> Answered:
        """Go on with a packet that waits, or that was interrupted. `said`: "yes" or "no" to what it asks, or a text
        that tells more; `by` names the person, for the audit, and where the policy wants a person's approval, that yes
        is one. Nothing that stands in a packet lets anything run."""
        return await self.resuming(packet, said, caller=caller, by=by).whole()

    def resuming(
        self, packet: Packet, said: str | None = None, *, caller: str | None = None, by: str = ""
    ) -> AnswerStream:
        """The same in pieces."""
        if packet.header.caller != (caller or self.caller):
            raise ConfigError(f"`caller`: this request is of {packet.header.caller!r:.60}; go on in that caller's name")
        trip = Trip(self, packet)
        return AnswerStream(trip, resume_trip(trip, said, by))

    # The steps: each takes a packet and gives the next

    def open(self, text: str, session: str = "", caller: str | None = None) -> Packet:
        """A packet for a request."""
        who = caller or self.caller
        names = self._tools.offer(who).by_name
        executor = self._tools.executor
        return new_packet(
            text, session=session, caller=who, tools=names, limit=self.settings.reinjections,
            created=executor.wall() if executor is not None else "",
        )  # fmt: skip

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
        return log_step(packet, "intent_detection", intent.user_intent, taken, sure=found.probability)

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
        return await select(packet, self._gate(packet), self.models.selecting, self.settings)

    async def review(self, packet: Packet) -> Packet:
        """The prime model says what it thinks of the choice."""
        call = call_of(packet)
        packet = await review(packet, self._gate(packet), self.models.answering, self.settings)
        self.clearances.reviewed(call, packet)
        return packet

    def decide(self, packet: Packet) -> Packet:
        """Whether all evidence together is enough. Only what was decided here, by this router, can run."""
        selected = packet.tool_routing.selected_tool
        tool = self._gate(packet).catalog.get(selected.tool_name) if selected is not None else None
        return decide(packet, self.settings, self.clearances, tool)

    async def execute(self, packet: Packet) -> Packet:
        """Run the selected call, under the policy, once it is decided that it may."""
        cleared = self.clearances.use(packet)
        if cleared is None:
            return refuse_packet(packet, "the call was not reviewed and cleared here, so it may not run", start_step())
        packet = with_routing(packet, selected_tool=cleared)
        return await execute(packet, await self._tools.running(), self.settings, self.wait)

    def inject(self, packet: Packet) -> Packet:
        """The result of the call goes into the packet."""
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

    async def note(self, packet: Packet, decision: str, by: str = "") -> None:
        """A decision goes into the audit, where there is one: with the call that a person is asked about, where one is.
        Raises StoreError when it cannot be recorded."""
        asks = packet.tool_routing.execution_status == "awaiting_confidence"
        executor = await self._tools.running() if asks else self._tools.executor
        if executor is not None:
            call = self._shown(packet, call_of(packet)) if asks else b""
            SHOWN.show(packet, call)
            await executor.note_routing(routed_note(packet, decision, by), arguments_of(packet), call)

    async def confirm(self, packet: Packet, call: bytes, by: str = "") -> Confirmation:
        """Whether a person's yes counts for this packet's call, which is recorded then; without an executor nothing
        can run, so nothing speaks against it. Raises StoreError when it cannot be recorded."""
        from rightcall.record.memory import MemoryStore

        executor = await self._tools.running()
        if executor is None:
            return "confirmed"
        told, arguments, call = routed_note(packet, "confirmed", by), arguments_of(packet), self._shown(packet, call)
        if not isinstance(executor.store, MemoryStore):
            return await executor.confirm_routing(told, arguments, call)
        counts = SHOWN.confirm(packet, call)
        if counts == "confirmed":
            await executor.note_routing(told, arguments, call)
        return counts

    async def approve(self, packet: Packet, by: str, *, early: bool = False) -> str | None:
        """A person's yes to the call that a packet waits with, as an approval; returns why it is none. `early`: it was
        said before the approval was asked for."""
        from rightcall.router.trip import approve

        executor = await self._tools.running()
        return None if executor is None else await approve(executor, packet, by, early=early)

    def _shown(self, packet: Packet, call: bytes) -> bytes:
        """A packet's call as a person is asked about it: with the tool as it is now. A yes is to no other."""
        selected = packet.tool_routing.selected_tool
        tool = self._gate(packet).catalog.get(selected.tool_name) if call and selected is not None else None
        return call + definition_of(tool) if tool is not None else call

    def _speak(self, packet: Packet) -> AsyncGenerator[str | Packet, None]:
        from rightcall.router.respond import speak

        offered = self._tools.offer(packet.header.caller).by_name
        near = [one.name for one in packet.tool_routing.candidates if one.name in offered]
        named = dict.fromkeys((*near, *offered))
        return speak(packet, self._gate(packet), self.models.answering, self.settings, named)

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


# ── heuristics ──
# The two heuristics of design 004, by name and for comparison: words that stand in a request, and patterns.
#
# Both were measured: the words fire on everything once there are tools, the patterns find 3 % of what needs one
# (docs/reference/routing.md). `mode = "learned"` is what is used.

FILE_WORDS = (
    "read ", "open ", "show ", "view ", "cat ", "write ", "save ", "create file", ".md", ".txt", ".json", ".py",
    ".yaml", ".yml", "/gaia", "/knowledge", "/app", "/docs",
)  # fmt: skip
COMMAND_WORDS = ("run ", "execute ", "shell ", "command ", "ls ", "pwd", "git ", "docker ")
SEARCH_WORDS = ("search ", "find ", "look for ", "where is ", "semantic search", "query ")

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"read\s+(?:the\s+)?(?:file|document)",
        r"(?:show|display|open|view)\s+(?:me\s+)?(?:the\s+)?[\w/]+\.(md|txt|json|py)",
        r"execute\s+(?:the\s+)?(?:command|script)",
        r"run\s+(?:the\s+)?(?:command|script)",
        r"search\s+(?:for|the)\s+",
        r"find\s+(?:the\s+)?(?:file|document)",
    )
)
_LONGEST = 10_000
"""Of a request, this much is looked at: a pattern that starts with a long run of words could take its time."""


def by_words(text: str, has_tools: bool) -> str | None:
    """The word that says a tool is needed, or that there are tools at all; None when nothing does.

    >>> by_words("Show me the log", has_tools=False)
    'show '
    """
    lowered = text.lower()
    found = next((word for word in (*FILE_WORDS, *COMMAND_WORDS, *SEARCH_WORDS) if word in lowered), None)
    return found or ("tools are available" if has_tools else None)


def by_pattern(text: str) -> str | None:
    """
    >>> by_pattern("Please open the notes.md")
    'open the notes.md'
    """
    lowered = text[:_LONGEST].lower()
    found = next((match for pattern in _PATTERNS if (match := pattern.search(lowered))), None)
    return found.group() if found else None


# ── request words ──
# A request as what a linear model looks at: its words, pairs of words, and whether the tools have them.

LONGEST = 1_500
MOST_WORDS = 120

_WORD = re.compile(r"[^\W_]+|[?!]")


def plain_words(text: str) -> list[str]:
    """Words and pairs, for a request without tools.

    >>> plain_words("Who is it?")
    ['who', '^ who', 'is', 'who is', 'it', 'is it', '?', 'it ?']
    """
    return [part for word, pair in _pairs(text) for part in (word, pair)]


def marked_words(text: str, theirs: Container[str], name: Collection[str]) -> list[str]:
    """The same, each word that says something marked by whether the tools have it; and the words of the likeliest
    tool's name by whether the request has them."""
    marked: list[str] = []
    stems: set[str] = set()
    for word, pair in _pairs(text):
        root = stem(word)
        stems.add(root)
        marked += [word if word in STOP_WORDS else word + ("+" if root in theirs else "-"), pair]
    return marked + [f"T:{root}" + ("+" if root in stems else "-") for root in sorted(name)]


def _pairs(text: str) -> list[tuple[str, str]]:
    words: list[str] = _WORD.findall(text[:LONGEST].lower())[:MOST_WORDS]
    return list(
        zip(words, [f"{first} {second}" for first, second in zip(["^", *words], words, strict=False)], strict=True)
    )


# ── intent ──
# Does a request need a tool? Decided in about a millisecond, without a model, on the tools that are really there.
#
# call   one of the tools is needed, and its values are there
# ask    one of the tools is needed, but a value it cannot do without is missing
# none   no tool is needed, or none of these would help

SURELY_NONE, SURELY_CALL = (0.02, 0.085), 0.6
"""Below the first a "none" is sure, beside a handful of tools and beside more; from the second on a "call". Between
them it is too close to tell. A tool that is missed is not noticed, so "none" has to be surer than "call", which a model
selects and another reviews."""

LOOKED_AT = 6
"""Of many tools, so many that the index puts first are compared: whether any is needed shows in those."""

_ASKING = re.compile(r"(?:what|who|which|when|where|how|why|is|are|does|do)\b")
_WISHING = re.compile(r"(?:can|could|would|will) you|i(?:'d| would)? (?:need|want|like)|please|find|get|show|give|help")
_ASK_NUMBERS = tuple(
    BY_WORDS.index(name) for name in ("filled", "least_filled", "missing", "required", "in_any", "bm25", "name_said")
)
_ABSENT = 0.1
"""Up to here nothing in the request could be the value; above, it may be there in other words."""
_LIKELY = 0.1
"""From this share on a tool behind the first may be the one that is meant."""
_EXACT, _LEAST_FILLED = BY_WORDS.index("exact"), BY_WORDS.index("least_filled")
_PLACES = frozenset(map(stem, ("city", "location", "place", "destination", "address", "country", "region", "airport")))
HANDFUL = 4
"""So many tools are few, when it is weighed whether one is needed."""
ALONE_MARGIN = 10.0
"""The margin of the only tool there is."""


def judge_intent(
    text: str,
    tools: Sequence[ToolText] | None,
    mode: Mode = "learned",
    *,
    ranker: Ranker | None = None,
    hits: Sequence[Hit] | None = None,
) -> Intent:
    """`tools` None: nothing is known of them, and the text alone is judged. `hits`: as for `Ranker.among`.

    >>> judge_intent("What is 2 + 2?", []).why
    ('there are no tools',)
    """
    if mode != "learned":
        return _heuristic(text, mode, bool(tools))
    if tools is None:
        return _by_text(text)
    if not tools:
        return Intent("none", 0.0, scores={"call": 0.0, "ask": 0.0, "none": 1.0}, why=("there are no tools",))
    ranker = ranker or Ranker()
    if hits is not None:
        tools, hits = tools[:LOOKED_AT], hits[:LOOKED_AT]
    asked = ranker.ask(text)
    return _learned(asked, ranker.among(asked, tools, hits), len(tools))


def _heuristic(text: str, mode: Mode, has_tools: bool) -> Intent:
    found = by_words(text, has_tools) if mode == "keywords" else by_pattern(text)
    return Intent("call" if found else "none", float(bool(found)), why=(f"{mode}: {found or 'nothing found'}",))


def _by_text(text: str) -> Intent:
    voice = alone()
    call = chance(voice.words.score(plain_words(text)) + voice.meaning.score(embed_request(text)))
    sure = not SURELY_NONE[1] < call < SURELY_CALL
    return _intent(call, 0.0, (), ("by the text alone: no tools are known",), sure)


def _learned(asked: Asked, found: Found, count: int) -> Intent:
    numbers = need_numbers(asked, found, count)
    model = load_weights().need
    theirs = set[str]().union(*(known.counted for known in found.known))
    words = marked_words(asked.request.text, theirs, found.known[0].name)
    heard = [score for one in model.voices for score in (one.words.score(words), one.meaning.score(asked.vector))]
    odds = forest(model.trees, [*numbers, *heard]) - model.shifts[count > HANDFUL]
    needed = chance(odds)
    missing = _missing(asked, found)
    asking = chance(model.ask.score(ask_numbers(odds, asked.values, found))) if missing else 0.0
    best = found.known[0].tool.name
    why = [f"likeliest tool: {best} ({found.shares[0]:.0%} of those there are)"]
    if missing:
        why.append(f"no value seen for: {', '.join(missing)}")
    sure = needed >= SURELY_CALL or (needed < SURELY_NONE[count > HANDFUL] and not _names_value(asked, found))
    return _intent(needed, asking, missing, tuple(why), sure)


def _names_value(asked: Asked, found: Found) -> bool:
    """Whether the request names something that a tool would look at, or a place where one of them takes places. Then
    "none" is no more than a guess."""
    if any(row[_EXACT] for row in found.numbers) or names_value(asked.request.text[:LONGEST]):
        return True
    takes_places = any(not _PLACES.isdisjoint(argument) for known in found.known for argument in known.each_argument)
    return takes_places and bool(asked.values.counts["place"])


def need_numbers(asked: Asked, found: Found, count: int) -> list[float]:
    """What the trees look at: the likeliest tool, the most of each number over all tools, and the request itself."""
    best = found.numbers[0]
    most = [max(column) for column in zip(*found.numbers, strict=True)]
    margin = found.scores[0] - found.scores[1] if len(found.scores) > 1 else ALONE_MARGIN
    return [*best, *most, float(min(count, 20)), margin, *_of_request(asked)]


def ask_numbers(odds: float, values: Values, found: Found) -> list[float]:
    """What tells a missing value from a call: how much of the likeliest tool is there, what kind of value it lacks, and
    whether others that are likely lack nothing."""
    best, wanted = found.numbers[0], found.known[0].wanted
    lacking = [
        (one.kind, share) for one, share in zip(wanted, filled_shares(wanted, values), strict=True) if share < FILLED
    ]
    absent = sum([share <= _ABSENT for _, share in lacking])
    unchosen = sum([kind == "choice" for kind, _ in lacking])
    least = [row[_LEAST_FILLED] for row in found.numbers]
    return [
        max(-6.0, min(6.0, odds)),
        *(best[at] for at in _ASK_NUMBERS),
        float(absent), float(unchosen), float(len(lacking) - absent - unchosen),
        sum(map(mul, found.shares, least)),
        sum([share for share, held in zip(found.shares, least, strict=True) if held >= FILLED]),
        max([held for share, held in zip(found.shares[1:], least[1:], strict=True) if share >= _LIKELY], default=-1.0),
    ]  # fmt: skip


def _of_request(asked: Asked) -> list[float]:
    text, counts = asked.request.text, asked.values.counts
    small = text[:200].lower()
    return [
        float(min(len(text.split()), 200)), float(counts["number"]), float(counts["quoted"]), float(counts["named"]),
        float(counts["date"]), float(asked.values.foreign), float("?" in text), float(bool(_ASKING.match(small))),
        float(bool(_WISHING.match(small))), float(counts["link"]), float(min(text.count("\n"), 20)),
    ]  # fmt: skip


def _missing(asked: Asked, found: Found) -> tuple[str, ...]:
    if found.numbers[0][_LEAST_FILLED] >= FILLED:  # as most are: nothing is looked for twice
        return ()
    wanted = found.known[0].wanted
    return tuple(
        one.name for one, held in zip(wanted, filled_shares(wanted, asked.values), strict=True) if held < FILLED
    )


def _intent(needed: float, asking: float, missing: tuple[str, ...], why: tuple[str, ...], sure: bool) -> Intent:
    scores = {"call": needed * (1.0 - asking), "ask": needed * asking, "none": 1.0 - needed}
    answer = "none" if needed < 0.5 else "ask" if asking >= 0.5 else "call"
    return Intent(
        answer,
        round(needed, 4),
        sure,
        {name: round(score, 4) for name, score in scores.items()},
        missing if answer == "ask" else (),
        why,
    )

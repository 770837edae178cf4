"""The packet that carries a request through the router, and what is thought of the request. Packets change by giving
the next one: small steps from one to another, within a budget of tokens, without running anything.

The names of a packet's fields are those of design 004, since packets are saved and read by others.
"""

from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.json.marks import is_object
from rightcall.base.text import estimate
from rightcall.errors import CallError, ConfigError
from rightcall.gate.recover.native import NativeCall, unpack
from rightcall.models.replies import Failed, Model, as_model, ask, asker, failure_of, options_taken
from rightcall.policy.settings import RouterSettings
from rightcall.record.tables import SystemClock

Answer = Literal["call", "ask", "none"]
"""What a request needs: a tool; a value that its tool cannot do without; no tool."""

Mode = Literal["learned", "keywords", "regex"]
"""How the need for a tool is found: learned; or by the two heuristics of the design, kept for comparison."""

PACKET_VERSION = 1


class Intent(Struct, frozen=True):
    """Whether a request needs a tool, without asking any model."""

    answer: Answer
    probability: float
    """That a tool is needed, now or once a value is there. Calibrated; of the heuristics, 1 or 0."""
    sure: bool = True
    """False: too close to tell. The router lets its model decide then."""
    scores: dict[str, float] = {}
    """The probability of each answer; of the heuristics, none."""
    missing: tuple[str, ...] = ()
    """For "ask": required arguments of the likeliest tool for which the request holds nothing."""
    why: tuple[str, ...] = ()
    """The evidence, in words for a person."""

    @property
    def final(self) -> bool:
        """Whether no model is asked any more: the answer is "none", and sure."""
        return self.answer == "none" and self.sure


class Candidate(Struct, frozen=True):
    """A tool that may be the right one."""

    name: str
    score: float
    """For sorting; comparable within one request only."""
    confidence: float
    """The probability that it is the right one, given that one of the tools is. Calibrated."""
    why: tuple[str, ...] = ()
    """What of it matches the request: words, arguments, meaning."""


ExecutionStatus = Literal[
    "pending", "awaiting_confidence", "awaiting_approval", "approved", "executed", "failed", "skipped", "user_denied"
]
State = Literal["received", "processing", "waiting", "answered", "failed"]


class SelectedTool(Struct, frozen=True):
    """A tool that a model chose, with its arguments as the gate left them."""

    tool_name: str
    params: dict[str, Any] = {}
    selection_reasoning: str = ""
    selection_confidence: float = 0.0
    """What the model says of itself, which is one piece of evidence and no more."""


class ToolExecutionResult(Struct, frozen=True):
    success: bool
    output: Any = None
    error: str | None = None
    execution_time_ms: int = 0
    call: int = 0
    """The number of its record in the audit, 0 when there is none."""


class ToolRouting(Struct, frozen=True):
    """Where a packet stands on its way through the router."""

    needs_tool: bool = False
    routing_requested: bool = False
    candidates: tuple[Candidate, ...] = ()
    selected_tool: SelectedTool | None = None
    alternative_tools: tuple[SelectedTool, ...] = ()
    selection_reasoning: str = ""
    """Why the selecting model chose none, in its words; what it says of one that it chose stands there."""
    review_approved: bool | None = None
    """None: nobody has reviewed it yet, or the review failed."""
    review_confidence: float = 0.0
    review_reasoning: str = ""
    confidence: float = 0.0
    """All evidence together, the review being one piece of it: what is held against the threshold."""
    evidence: dict[str, float] = {}
    """What it was made of."""
    execution_status: ExecutionStatus = "pending"
    execution_result: ToolExecutionResult | None = None
    approval: str | None = None
    """The question to a person that it waits for."""
    reinjection_count: int = 0
    max_reinjections: int = 3


class Header(Struct, frozen=True):
    packet_id: str
    session_id: str = ""
    caller: str = "default"
    created: str = ""
    """UTC, as people write it."""


class PacketIntent(Struct, frozen=True):
    user_intent: str = ""
    """"tool_routing", "ask_back" or "answer"; empty before anybody looked."""
    detected: Intent | None = None


class PacketContext(Struct, frozen=True):
    available_mcp_tools: tuple[str, ...] = ()


class DataField(Struct, frozen=True):
    key: str
    value: Any
    type: str = ""
    source: str = ""


class Content(Struct, frozen=True):
    original_prompt: str
    data_fields: tuple[DataField, ...] = ()
    answer: str | None = None


class ReflectionLog(Struct, frozen=True):
    """One step of the story: what was done, and how sure it was."""

    step: str
    summary: str
    confidence: float | None = None
    at: str = ""
    """UTC."""
    milliseconds: float = 0.0
    """Of a tool: its own time, without that of a person who was asked. All of it counts against the budget,"""
    tokens: int = 0
    """and so does what models were asked and what they said, estimated."""


class Sketchpad(Struct, frozen=True):
    slot: str
    content: Any
    content_type: str = ""


class Reasoning(Struct, frozen=True):
    reflection_log: tuple[ReflectionLog, ...] = ()
    sketchpad: tuple[Sketchpad, ...] = ()


class PacketStatus(Struct, frozen=True):
    state: State = "received"
    why: str = ""
    """For a person: what it waits for, or why it failed."""


class Packet(Struct, frozen=True):
    """A request on its way. Every step takes one and gives the next; nothing in it grants anything: what may run is
    decided by the review and the executor's policy each time."""

    header: Header
    content: Content
    version: int = PACKET_VERSION
    intent: PacketIntent = PacketIntent()
    context: PacketContext = PacketContext()
    reasoning: Reasoning = Reasoning()
    status: PacketStatus = PacketStatus()
    tool_routing: ToolRouting = ToolRouting()


# ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

RESULT, SAID = "tool_result", "user_said"
"""Keys of data fields: what a tool gave, and what the user added when asked."""

Step = Literal[
    "intent_detection", "tool_selection", "confidence_review", "tool_routing", "tool_execution", "response"
]  # fmt: skip

_clock = SystemClock()


class Taken(Struct, frozen=True):
    """What a step has cost so far."""

    began: float
    tokens: int = 0

    def plus(self, tokens: int) -> "Taken":
        return Taken(self.began, self.tokens + tokens)


def start_step() -> Taken:
    return Taken(perf_counter())


def log_step(
    packet: Packet, step: Step, summary: str, taken: Taken, *, sure: float | None = None, seconds: float | None = None
) -> Packet:
    """The packet with one more line in its story."""
    took = perf_counter() - taken.began if seconds is None else seconds
    line = ReflectionLog(step, summary, sure, _clock.wall(), round(took * 1e3, 3), taken.tokens)
    log = (*packet.reasoning.reflection_log, line)
    return replace(packet, reasoning=replace(packet.reasoning, reflection_log=log))


def with_routing(packet: Packet, **changes: Any) -> Packet:
    """The packet with another routing state."""
    return replace(packet, tool_routing=replace(packet.tool_routing, **changes))


def with_state(packet: Packet, state: State, why: str = "") -> Packet:
    return replace(packet, status=replace(packet.status, state=state, why=why))


def with_field(packet: Packet, field: DataField) -> Packet:
    fields = (*packet.content.data_fields, field)
    return replace(packet, content=replace(packet.content, data_fields=fields))


def with_note(packet: Packet, note: Sketchpad) -> Packet:
    """The note takes the place of an older one in its slot."""
    others = (one for one in packet.reasoning.sketchpad if one.slot != note.slot)
    return replace(packet, reasoning=replace(packet.reasoning, sketchpad=(*others, note)))


def request_of(packet: Packet) -> str:
    """What the user wants: the request, and what was added when the user was asked."""
    added = [str(one.value) for one in packet.content.data_fields if one.key == SAID]
    return "\n".join((packet.content.original_prompt, *added))


def has_spoken(packet: Packet) -> bool:
    """Whether the user has added something to the request."""
    return any(one.key == SAID for one in packet.content.data_fields)


def results_of(packet: Packet) -> Iterator[dict[str, Any]]:
    """What tools gave so far, in order."""
    return (one.value for one in packet.content.data_fields if one.key == RESULT and is_object(one.value))


def request_text(text: object) -> str:
    """A request that a program gave, which has no types at run time. Raises CallError."""
    if not isinstance(text, str):
        raise CallError(f"`text` must be the request as a str, not {type(text).__name__}")
    return text


# ── budget ──
# What is left of a request's budget. It stands in the packet's own log, so it holds across a pause as well.

_LEAST_TOKENS = 16
"""An answer shorter than this is none."""


class Budget(Struct, frozen=True):
    """Seconds and tokens that a step may still use."""

    seconds: float
    tokens: int
    question: float
    """Seconds for one question to a model."""
    settings: RouterSettings
    began: float

    @property
    def seconds_left(self) -> float:
        return self.seconds - (perf_counter() - self.began)

    def for_question(self) -> float:
        """Seconds that the next question may take."""
        return min(self.question, self.seconds_left)

    def for_answer(self, prompt: int, wanted: int, spent: int = 0) -> int:
        """Tokens that an answer to a prompt of so many may have; 0: none."""
        left = min(wanted, self.tokens - spent - prompt)
        return left if left >= min(_LEAST_TOKENS, wanted) else 0

    def over(self, spent: int = 0) -> str | None:
        """Why nothing more may be done; None while something may."""
        if not self.seconds_left > 0:
            return f"the {self.settings.seconds:g} s for this request are over"
        if not self.tokens - spent > 0:
            return self.no_tokens
        return None

    @property
    def no_tokens(self) -> str:
        return f"the {self.settings.tokens} tokens for this request are used up"


def budget_of(packet: Packet, settings: RouterSettings, taken: Taken) -> Budget:
    """What the steps before have left for the one that begins now. What a file claims to have gained is nothing."""
    log = packet.reasoning.reflection_log
    seconds = sum(max(line.milliseconds, 0.0) for line in log) / 1e3
    tokens = sum(max(line.tokens, 0) for line in log)
    return Budget(settings.seconds - seconds, settings.tokens - tokens, settings.model_seconds, settings, taken.began)


# ── asking ──
# Asking the models: a light one selects, a prime one reviews and answers. Either may be missing, slow, down or talking
# nonsense; whatever it is, it is a value here, within the budget.

Message = dict[str, str]

NO_MODEL = Failed("no model is configured: pass one to the router, or set [router.light] or [router.prime]")


class Models(Struct, frozen=True):
    """Who is asked. One that is missing is stood in for by the other."""

    light: Model | None = None
    prime: Model | None = None

    @property
    def selecting(self) -> Model | None:
        return self.light or self.prime

    @property
    def answering(self) -> Model | None:
        return self.prime or self.light


class RouterQuestion(Struct, frozen=True):
    """What a model is asked, and how it shall answer."""

    messages: list[Message]
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    schema: dict[str, Any] | None = None

    @property
    def tokens(self) -> int:
        return sum(estimate(message["content"]) for message in self.messages)

    def after(self, reply: str, then: str) -> "RouterQuestion":
        """The same once more: with what was said to it, and what was wrong with that."""
        turns = [{"role": "assistant", "content": reply or "(nothing)"}, {"role": "user", "content": then}]
        return replace(self, messages=[*self.messages, *turns])

    @property
    def options(self) -> dict[str, Any]:
        given = {
            "schema": self.schema, "temperature": self.temperature, "max_tokens": self.max_tokens, "top_p": self.top_p,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}


class Reply(Struct, frozen=True):
    """What came back: a text or a message of any API, or why there is none; and what asking has cost."""

    written: Any
    tokens: int

    @property
    def failed(self) -> str | None:
        return self.written.error if isinstance(self.written, Failed) else None


def models_of(given: Any, settings: RouterSettings | None = None) -> Models:
    """The models that a router was given, else those that the policy names."""
    if given is None:
        return _configured(settings)
    if isinstance(given, Models):
        return given
    if isinstance(given, Mapping):
        named = dict(cast("Mapping[str, Any]", given))
        if named and named.keys() <= {"light", "prime"}:
            return Models(*(_checked(named.get(role), f"models[{role!r}]") for role in ("light", "prime")))
        raise ConfigError("`models` as a dict names a 'light' model, a 'prime' one, or both")
    model = _checked(given, "models")
    return Models(model, model)


def _checked(model: Any, name: str) -> Model | None:
    model = as_model(model)
    if model is not None and not callable(model):
        kind = type(model).__name__
        raise ConfigError(
            f"`{name}` must be a function of a list of messages, an Endpoint, or have `create_chat_completion`, "
            f"not {kind}"
        )
    return model


def _configured(settings: RouterSettings | None) -> Models:
    if settings is None or (settings.light is None and settings.prime is None):
        return Models()
    from rightcall.models.endpoint import Endpoint  # late: most routers are given their models

    seconds, named = settings.model_seconds, (settings.light, settings.prime)
    return Models(*(None if one is None else Endpoint.of(one, seconds=seconds) for one in named))


async def put(model: Model | None, question: RouterQuestion, budget: Budget, spent: int = 0) -> Reply:
    """One question, within what is left. Options that a model does not take by its signature are not sent."""
    ready = prepare_question(model, question, budget, spent)
    if isinstance(ready, Failed):
        return Reply(ready, 0)
    assert model is not None
    asking = asker(model, None, budget.for_question())
    written = await ask(asking, [dict(message) for message in ready.messages], options_taken(model, ready.options))
    failure = failure_of(written)
    if failure is not None:
        return Reply(Failed(failure), ready.tokens)
    return Reply(written, ready.tokens + _length(written))


def prepare_question(
    model: Model | None, question: RouterQuestion, budget: Budget, spent: int
) -> RouterQuestion | Failed:
    """The question with the answer's room cut to what is left, or why it cannot be asked."""
    if model is None:
        return NO_MODEL
    over = budget.over(spent)
    if over is not None:
        return Failed(over)
    room = budget.for_answer(question.tokens, question.max_tokens, spent)
    return replace(question, max_tokens=room) if room else Failed(budget.no_tokens)


def _length(written: Any) -> int:
    if isinstance(written, str):
        return estimate(written)
    parts = unpack(written).parts
    return sum(estimate(str(part.arguments) if isinstance(part, NativeCall) else part.text) for part in parts)

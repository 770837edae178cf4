"""The records of routing: what is thought of a request, and the packet that carries it. Frozen, no logic.

The names of a packet's fields are those of design 004, since packets are saved and read by others.
"""

from typing import Any, Literal

from msgspec import Struct

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

"""What is called how: the kinds of work that are followed, their metrics, and the variables that say what is told.

The names are those of OpenTelemetry's conventions for generative AI and MCP, which are still in development. What they
have no name for (repairs, decisions, approvals) is called `rightcall.*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from rightcall.types import Repair

SpanKindName = Literal["internal", "client", "server"]
Value = str | int | float | bool | Sequence[str]
Attributes = Mapping[str, Value]


class Work(Struct, frozen=True):
    """One kind of work. A span of it is named by the operation and its target: `execute_tool get_weather`."""

    operation: str
    kind: SpanKindName
    target: str = ""
    """The attribute that holds the target."""
    metric: str = ""
    """The histogram of its duration; empty where there is none."""
    labels: tuple[str, ...] = ()
    """The attributes that the histogram has as well: few values each."""
    tokens: str = ""
    """The histogram of the tokens it took; empty where it takes none."""


TOOL_NAME: Final = "gen_ai.tool.name"
METHOD: Final = "mcp.method.name"
MODEL: Final = "gen_ai.request.model"
OPERATION: Final = "gen_ai.operation.name"
ERROR: Final = "error.type"
TOOL_ERROR: Final = "tool_error"
"""The `error.type` of a result that says it is an error."""
UNKNOWN_TOOL: Final = "(unknown)"
"""Stands for a name that is no tool's, which may hold anything, and be another one every time."""

_MCP_LABELS = (METHOD, OPERATION, TOOL_NAME, "rpc.response.status_code", "network.transport", "mcp.protocol.version")
TOOL: Final = Work("execute_tool", "internal", TOOL_NAME, "gen_ai.execute_tool.duration", (TOOL_NAME,))
SERVED: Final = Work("", "server", TOOL_NAME, "mcp.server.operation.duration", _MCP_LABELS)
CALLED: Final = Work("", "client", TOOL_NAME, "mcp.client.operation.duration", _MCP_LABELS)
TOKENS: Final = "gen_ai.client.token.usage"
TOKEN_TYPES: Final = {"input": "gen_ai.usage.input_tokens", "output": "gen_ai.usage.output_tokens"}
"""Each value of `gen_ai.token.type`, and the attribute with its number."""
CHAT: Final = Work(
    "chat", "client", MODEL, "gen_ai.client.operation.duration",
    (OPERATION, "gen_ai.provider.name", MODEL, "gen_ai.response.model"), TOKENS,
)  # fmt: skip
CHAT_LATEST: Final = Work(
    CHAT.operation, CHAT.kind, CHAT.target, "gen_ai.client.inference.duration", CHAT.labels, TOKENS
)
ROUTE: Final = Work("rightcall.route", "internal")
JUDGE: Final = "rightcall.judge"
"""The span of checking, repairing and deciding."""
APPROVAL: Final = "rightcall.approval"
"""The span of waiting for a person."""

_MCP_BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_GEN_AI_BUCKETS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
DURATIONS: Final[Mapping[str, tuple[tuple[float, ...], str]]] = {
    SERVED.metric: (_MCP_BUCKETS, "Seconds from an MCP request to its answer, as its server sees it."),
    CALLED.metric: (_MCP_BUCKETS, "Seconds from an MCP request to its answer, as its client sees it."),
    TOOL.metric: (_GEN_AI_BUCKETS, "Seconds of a tool call, from the check to the result."),
    CHAT.metric: (_GEN_AI_BUCKETS, "Seconds from a request to a model to the last byte of its answer."),
    CHAT_LATEST.metric: (_GEN_AI_BUCKETS, "Seconds from a request to a model to the last byte of its answer."),
}
"""By metric: the bounds of its buckets, and what it measures."""
TOKEN_BUCKETS: Final = tuple(float(4**power) for power in range(14))

ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
DENIED: Final = "denied"
"""The `error.type` of a call that the gate or the policy refused; `rightcall.rule` says by which rule."""
_MOST_RULES: Final = 20


def repairs_told(repairs: Iterable[Repair]) -> dict[str, Value]:
    """How many, by which rules, and how sure the least sure of them is.

    >>> repairs_told(())
    {'rightcall.repair.count': 0}
    """
    count, least, rules = 0, 1.0, list[str]()
    for one in repairs:
        count, least = count + 1, min(least, one.confidence)
        if one.rule not in rules and len(rules) < _MOST_RULES:
            rules.append(one.rule)
    if not count:
        return {"rightcall.repair.count": 0}
    return {
        "rightcall.repair.count": count, "rightcall.repair.rules": rules,
        "rightcall.repair.confidence": round(least, 3),
    }  # fmt: skip


# ── the environment ──

_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)  # fmt: skip
_EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
_LATEST = "gen_ai_latest_experimental"


def is_wanted(said: bool | None, environment: Mapping[str, str]) -> bool:
    """Whether telemetry is on: as the policy says, else where the environment says where it goes. `OTEL_SDK_DISABLED`
    switches it off in any case.

    >>> is_wanted(None, {}), is_wanted(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"})
    (False, True)
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if said is not None:
        return said
    exporters = [environment.get(name, "").strip().lower() for name in _EXPORTERS]
    if any(one not in ("", "none") for one in exporters):
        return True
    return any(environment.get(name, "").strip() for name in _ENDPOINTS) and exporters != ["none", "none"]


def captures_content(environment: Mapping[str, str]) -> bool:
    """Whether arguments and results may stand in spans, without their secrets. Anything but the two words that say so
    means no.

    >>> captures_content({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"})
    True
    """
    return environment.get(_CONTENT, "").strip().upper() in ("SPAN_ONLY", "SPAN_AND_EVENT")


def chat_work(environment: Mapping[str, str]) -> Work:
    """Requests to models, under the metric's name of before October 2026 unless the newest is asked for."""
    asked = {one.strip() for one in environment.get(_OPT_IN, "").split(",")}
    return CHAT_LATEST if _LATEST in asked else CHAT

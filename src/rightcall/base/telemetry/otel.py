"""What of telemetry is OpenTelemetry's: its API alone. Which SDK receives it, and where that sends it, is set up by the
program, or for our own commands in `sdk.py`.

Within MCP a context goes in `params._meta`, under the names of W3C, whatever propagators the environment names for
HTTP. Only spans go to models: baggage may hold anything, and their server may be somebody else's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, get_meter
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rightcall import __version__
from rightcall.base.telemetry.conventions import DURATIONS, TOKEN_BUCKETS, TOKENS, Attributes, SpanKindName

if TYPE_CHECKING:
    from rightcall.base.telemetry.spans import Headers, Recorder

_KINDS: Final = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT, "server": SpanKind.SERVER}
_TRACE: Final = TraceContextTextMapPropagator()
_W3C: Final = CompositePropagator([_TRACE, W3CBaggagePropagator()])
_NAMES: Final = ("traceparent", "tracestate", "baggage")
_OLDER: Final = "fastmcp."
"""What FastMCP put before these names, and still may."""
_LONGEST: Final = 8192
_TOKENS: Final = TOKEN_BUCKETS, "Tokens that a model read (input) or wrote (output) for a request."


class OtelBackend:
    """The global tracer and meter providers, whenever they come."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("rightcall", __version__)
        self._meter = get_meter("rightcall", __version__)
        self._histograms: dict[str, Histogram] = {}

    def start(
        self,
        name: str,
        kind: SpanKindName,
        attributes: Attributes,
        context: Any,
        linked: Any,
        since: int | None,
    ) -> Recorder:
        links = [Link(linked)] if linked is not None else None
        return self._tracer.start_span(name, context, _KINDS[kind], attributes, links, since)

    def within(self, recorder: Recorder, context: Any) -> Context:
        return trace.set_span_in_context(cast("Span", recorder), context)

    def attach(self, context: Any) -> Any:
        return contexts.attach(context)

    def detach(self, token: Any) -> None:
        contexts.detach(token)

    def fail(self, recorder: Recorder, why: str) -> None:
        cast("Span", recorder).set_status(Status(StatusCode.ERROR, why or None))

    def origin(self, meta: Mapping[str, Any]) -> tuple[Context | None, trace.SpanContext | None]:
        """What an MCP request belongs to, and what it is linked with; without a word of its own it belongs to the work
        around it."""
        carrier = {name: text for name in _NAMES if (text := _text(meta, name))}
        if "traceparent" not in carrier:
            return None, None
        found = _W3C.extract(carrier, Context())
        if not trace.get_current_span(found).get_span_context().is_valid:
            return None, None
        around = trace.get_current_span().get_span_context()
        return found, around if around.is_valid else None

    def incoming(self, headers: Headers) -> Context | None:
        """What an HTTP request belongs to; None where it does not say."""
        carrier = {name.decode("latin-1"): text.decode("latin-1") for name, text in headers if len(text) <= _LONGEST}
        found = propagate.extract(carrier)
        return found if trace.get_current_span(found).get_span_context().is_valid else None

    def meta(self, context: Any) -> dict[str, str]:
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, context)
        return carrier

    def headers(self, context: Any, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        carrier: dict[str, str] = {}
        _TRACE.inject(carrier, context)
        if not carrier:
            return given
        kept = [header for header in given if header[0] not in (b"traceparent", b"tracestate")]
        return [*kept, *((name.encode(), text.encode()) for name, text in carrier.items())]

    def record(self, metric: str, value: float, labels: Attributes) -> None:
        known = self._histograms.get(metric)
        if known is None:
            unit, (buckets, about) = ("{token}", _TOKENS) if metric == TOKENS else ("s", DURATIONS[metric])
            known = self._histograms[metric] = self._meter.create_histogram(
                metric, unit, about, explicit_bucket_boundaries_advisory=buckets
            )
        known.record(value, labels)


def _text(meta: Mapping[str, Any], name: str) -> str:
    found = meta.get(name) or meta.get(_OLDER + name)
    return found if isinstance(found, str) and len(found) <= _LONGEST else ""


@cache
def open_backend() -> OtelBackend:
    """One for the process, as the providers are: an instrument is made once."""
    return OtelBackend()

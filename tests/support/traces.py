"""The real SDK of OpenTelemetry in the process of the tests, with exporters that keep what they get.

Providers are global and set once in a process; what is not followed never reaches them. Each test clears what was kept.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ON: dict[str, Any] = {"telemetry": {"enabled": True}}
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = int(PARENT.split("-")[1], 16)
SPAN = int(PARENT.split("-")[2], 16)


class Kept(NamedTuple):
    """What came out, read when it is asked for."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> list[ReadableSpan]:
        """In the order in which they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda one: (one.start_time or 0, -(one.end_time or 0)))

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def one(self, name: str, kind: str | None = None) -> ReadableSpan:
        (found,) = [one for one in self.spans if one.name == name and kind in (None, one.kind.name)]
        return found

    def points(self, metric: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        found = [] if data is None else [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return [point for one in found if one.name == metric for point in one.data.data_points]


def told(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent is not None else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def traceparent(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"


@cache
def _providers() -> Kept:
    kept = Kept(InMemorySpanExporter(), InMemoryMetricReader())
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(kept.exporter))
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(MeterProvider([kept.reader]))
    return kept


@contextmanager
def followed() -> Iterator[Kept]:
    """What is followed from now on."""
    kept = _providers()
    kept.exporter.clear()
    yield kept
    kept.exporter.clear()

"""Telemetry by OpenTelemetry's conventions: spans and durations, where somebody has switched them on.

conventions   what is called how: kinds of work, metrics with their buckets, environment variables
spans         one mechanism, and its twin that does nothing
otel          what of it is OpenTelemetry's API; loaded only where telemetry is on
sdk           the SDK of a command, from OTEL_* variables; a program sets up its own
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.base.telemetry.spans import NO_SPAN, OFF, LiveTelemetry, Span, Telemetry, telemetry_for
else:
    __getattr__, __dir__ = front(__name__, {"spans": "NO_SPAN OFF LiveTelemetry Span Telemetry telemetry_for"})

__all__ = ["NO_SPAN", "OFF", "LiveTelemetry", "Span", "Telemetry", "telemetry_for"]

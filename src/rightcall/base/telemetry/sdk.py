"""The SDK of a command of ours, set up as the variables OTEL_* say: which exporters, where to, which sampler.

A program that uses RightCall as a library sets up its own, and so does `opentelemetry-instrument`; where one of them
has, nothing is changed. What an exporter is called, and which package brings it, is its own entry point's business.
"""

import os
import sys
from typing import Any, Final

from rightcall.base.telemetry.spans import LiveTelemetry, Telemetry
from rightcall.base.text import escaped

_SERVICE: Final = "rightcall"
_OTLP: Final = "OTEL_EXPORTER_OTLP"
_PATIENCE: Final = 2
"""Seconds that a command waits for a collector, unless the environment says otherwise: it does so at its end, too."""
_INSTALL: Final = "Run: pip install 'rightcall[otel]'"


def start_exporting(telemetry: Telemetry) -> None:
    """Send what is followed to where the environment says; what is left is sent when the process ends. Never raises:
    a command does its work without."""
    if telemetry.missing:
        _say(f"{telemetry.missing} is not installed. {_INSTALL}")
    if not isinstance(telemetry, LiveTelemetry) or telemetry.backend is None:
        return
    from opentelemetry import metrics, trace

    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return
    try:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        given = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if given else {"service.name": _SERVICE})
        spans = TracerProvider(resource=resource)
        for exporter in exporters_of("traces"):
            spans.add_span_processor(BatchSpanProcessor(exporter))
        readers = [PeriodicExportingMetricReader(exporter) for exporter in exporters_of("metrics")]
    except ImportError as missing:
        _say(f"{missing.name} is not installed. {_INSTALL}")
        return
    except Exception as error:  # noqa: BLE001  whatever a variable made of an exporter
        _say(f"{error}. Check the OTEL_* variables")
        return
    trace.set_tracer_provider(spans)
    if readers:
        metrics.set_meter_provider(MeterProvider(readers, resource))


def _say(why: str) -> None:
    """To whoever started the command: not every one of them shows the log."""
    sys.stderr.write(f"rightcall: telemetry is not sent: {escaped(why, 300)}\n")


def exporters_of(signal: str) -> list[Any]:
    """Those that `OTEL_TRACES_EXPORTER` or `OTEL_METRICS_EXPORTER` names. Without it, OTLP: to an endpoint that is
    given, or where the environment names nothing at all."""
    named = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip()
    if not named:
        other = "TRACES" if signal == "metrics" else "METRICS"
        given = _is_set(f"{_OTLP}_ENDPOINT") or _is_set(f"{_OTLP}_{signal.upper()}_ENDPOINT")
        alone = _is_set(f"OTEL_{other}_EXPORTER") or _is_set(f"{_OTLP}_{other}_ENDPOINT")
        named = "otlp" if given or not alone else "none"
    return [_exporter(signal, name.strip()) for name in named.split(",") if name.strip() not in ("", "none")]


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").strip() not in ("", "none")


def _exporter(signal: str, name: str) -> Any:
    from importlib.metadata import entry_points  # late: only where something is sent

    full = _otlp(signal) if name == "otlp" else name
    found = next(iter(entry_points(group=f"opentelemetry_{signal}_exporter", name=full)), None)
    if found is None:
        raise ImportError(f"no exporter {full}", name=f"an exporter called {full}")
    made: Any = found.load()
    if full == "console":
        return made(out=sys.stderr)  # what stands on stdout is the command's own
    waits = not full.startswith("otlp_") or any(name.endswith("_TIMEOUT") for name in os.environ if _OTLP in name)
    return made() if waits else made(timeout=_PATIENCE)


def _otlp(signal: str) -> str:
    """
    >>> _otlp("traces")
    'otlp_proto_http'
    """
    own = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
    protocol = own or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    return "otlp_proto_grpc" if protocol.strip() == "grpc" else "otlp_proto_http"

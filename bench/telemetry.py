"""What telemetry costs: CPU of a span of ours beyond what OpenTelemetry's own SDK takes for the same span.

The real SDK, every span sampled, a batch processor whose exporter throws everything away; in a process of its own,
since providers are global. Off is measured beside an older commit, as everything is: `python -m bench.before`.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench.table import Figure, micro
from bench.timing import best, one_core
from rightcall import Executor, tool
from rightcall.base.telemetry import OFF, LiveTelemetry, Telemetry, telemetry_for
from rightcall.base.telemetry.conventions import DURATIONS, JUDGE, TOOL

MOST = 15e-6
REPEATS = 40
WIDE = {"minute": 0, "hour": 0, "burst": 0}
TOLD: dict[str, Any] = {
    "rightcall.repair.count": 2, "rightcall.repair.rules": ("single_quotes", "number_text"),
    "rightcall.repair.confidence": 1.0, "rightcall.decision": "allow", "rightcall.rule": "stage:own",
    "rightcall.record": 12,
}  # fmt: skip
FIRST = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
META = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


def ours(telemetry: Telemetry) -> Callable[[], None]:
    """A call: its span, the one of its judgement, and its duration."""

    def action() -> None:
        with telemetry.tool("add") as span:
            span.child(JUDGE, 0, TOLD)
            span.tell(TOLD)

    return action


def sdks(work: Callable[[], object] = lambda: None) -> Callable[[], None]:
    """The same by hand, around some work."""
    from opentelemetry import metrics, trace

    tracer = trace.get_tracer("bench")
    histogram = metrics.get_meter("bench").create_histogram(
        "bench.duration", "s", explicit_bucket_boundaries_advisory=DURATIONS[TOOL.metric][0]
    )

    def action() -> None:
        with tracer.start_as_current_span("execute_tool add", attributes=FIRST) as span:
            work()
            tracer.start_span(JUDGE, attributes=TOLD).end()
            span.set_attributes(TOLD)
        histogram.record(0.001, {"gen_ai.tool.name": "add"})

    return action


def served(telemetry: Telemetry) -> Callable[[], None]:
    """A request at the gateway: the client's, its judgement, the server's, with the context in and out."""

    def action() -> None:
        with telemetry.serve("tools/call", META) as span:
            span.aim("a_echo")
            span.child(JUDGE, 0, TOLD)
            span.tell(TOLD)
            with span.call("tools/call", "echo") as called:
                called.meta()

    return action


def served_by_hand() -> Callable[[], None]:
    from opentelemetry import metrics, trace
    from opentelemetry.propagate import extract, inject
    from opentelemetry.trace import SpanKind

    tracer = trace.get_tracer("bench")
    made = metrics.get_meter("bench").create_histogram
    server, client = made("bench.server", "s"), made("bench.client", "s")
    labels = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "a_echo"}

    def action() -> None:
        with tracer.start_as_current_span("tools/call a_echo", extract(META), SpanKind.SERVER, labels) as span:
            tracer.start_span(JUDGE, attributes=TOLD).end()
            span.set_attributes(TOLD)
            with tracer.start_as_current_span("tools/call echo", None, SpanKind.CLIENT, labels):
                inject({})
            client.record(0.001, labels)
        server.record(0.001, labels)

    return action


def calls(loop: asyncio.AbstractEventLoop, *, on: bool) -> Callable[[], object]:
    """A whole call through an executor, repaired."""

    @tool(effects=["read"], repeatable=True)
    async def add(a: int, b: int) -> int:
        return a + b

    policy = {"telemetry": {"enabled": on}, "policy": {"limits": {"all": WIDE, "caller": WIDE}}}
    executor = Executor.open(policy=policy, store="memory", tools=[add], code=False)
    executor.start()
    call = {"name": "add", "arguments": "{'a': '1', b: 2}"}
    return lambda: loop.run_until_complete(executor.run(call))


def _measured() -> dict[str, float]:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    class Nowhere(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            del spans
            return SpanExportResult.SUCCESS

    provider = TracerProvider(sampler=ALWAYS_ON)
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))
    one_core()
    telemetry = telemetry_for(True)
    assert isinstance(telemetry, LiveTelemetry)
    loop = asyncio.new_event_loop()
    contenders: Mapping[str, Callable[[], object]] = {
        "ours": ours(telemetry), "sdk": sdks(), "served": served(telemetry), "served by hand": served_by_hand(),
        "off": ours(OFF), "call": calls(loop, on=True), "call by hand": sdks(calls(loop, on=False)),
    }  # fmt: skip
    return best(contenders, REPEATS)


def following() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "bench.telemetry"], capture_output=True, text=True, check=True)
    taken: dict[str, float] = json.loads(done.stdout)
    for what, mine, theirs, spans in (
        ("CPU of a span beyond the SDK's own, a call (2 spans)", "ours", "sdk", 2),
        ("CPU of a span beyond the SDK's own, a gateway request (3 spans)", "served", "served by hand", 3),
    ):
        beyond = (taken[mine] - taken[theirs]) / spans
        yield Figure(
            what, micro(taken[mine] / spans), f"{micro(taken[theirs] / spans)} SDK alone", f"{beyond * 1e6:+.1f} µs",
            "<= 15 µs", beyond <= MOST,
        )  # fmt: skip
    whole = (taken["call"] - taken["call by hand"]) / 2
    yield Figure(
        "CPU of a span beyond the SDK's own, a whole call of an executor", micro(taken["call"]),
        f"{micro(taken['call by hand'])} SDK around it", f"{whole * 1e6:+.1f} µs", "<= 15 µs", whole <= MOST,
    )  # fmt: skip
    yield Figure("the same switched off: a whole span", micro(taken["off"]), "", "", "< 1 µs", taken["off"] < 1e-6)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measured()))

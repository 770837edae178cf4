"""What telemetry costs: CPU of a span of ours beyond what OpenTelemetry's own SDK takes for the same span.

The real SDK, every span sampled, a batch processor whose exporter throws everything away; in a process of its own,
since providers are global. Off is measured beside an older commit, as everything is: `python -m bench.before`.
"""

import asyncio
import gc
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.table import Figure, micro
from bench.timing import best, once, one_core
from rightcall import Executor, Gate, tool
from rightcall.base.telemetry import OFF, LiveTelemetry, Telemetry, telemetry_for
from rightcall.base.telemetry.conventions import DURATIONS, JUDGE, TOOL

MOST = 15e-6
PAIRS, TURN, WARM = 400, 5, 50
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


def after_a_check(work: Callable[[], object]) -> Callable[[], object]:
    """An executor's span begins after its check: the other must not find the SDK warm from the last turn."""
    gate = Gate([{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}])

    def action() -> None:
        gate.check("add", "{'a': '1',}")
        work()

    return action


def _measured() -> dict[str, Any]:
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
    pairs = {
        "a call (2 spans)": (ours(telemetry), sdks(), 2),
        "a gateway request (3 spans)": (served(telemetry), served_by_hand(), 3),
        "a whole call of an executor (2 spans)": (
            after_a_check(calls(loop, on=True)),
            after_a_check(sdks(calls(loop, on=False))),
            2,
        ),
    }
    rows = [(what, *(one / spans for one in paired(mine, theirs))) for what, (mine, theirs, spans) in pairs.items()]
    return {"rows": rows, "off": best({"off": ours(OFF)})["off"]}


def paired(mine: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float, float]:
    """CPU of each, and the median of the differences: a short turn of one, then of the other, many times, so that a
    busy machine slows both alike."""
    once(mine, WARM)
    once(theirs, WARM)
    gc.collect()
    gc.disable()
    try:
        taken = [(once(mine, TURN), once(theirs, TURN)) for _ in range(PAIRS)]
    finally:
        gc.enable()
    one, other = (statistics.median(column) for column in zip(*taken, strict=True))
    return one, other, statistics.median(mine - theirs for mine, theirs in taken)


def following() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "bench.telemetry"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for what, mine, theirs, beyond in found["rows"]:
        yield Figure(
            f"CPU of a span beyond the SDK's own, {what}", micro(mine), f"{micro(theirs)} SDK by hand",
            f"{beyond * 1e6:+.1f} µs", "<= 15 µs", beyond <= MOST,
        )  # fmt: skip
    yield Figure("the same switched off: a whole span", micro(found["off"]), "", "", "< 1 µs", found["off"] < 1e-6)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measured()))

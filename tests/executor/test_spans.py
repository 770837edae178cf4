"""The spans of calls that run here: through the executor, and around guarded functions."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace

from rightcall import Executor, Gate, arun_calls, guard, run_calls, tool
from rightcall.gate import Refused
from support.traces import CONTENT, ON, Kept, followed, id_of, parent_of, told

pytestmark = pytest.mark.promise("H-11")


@pytest.fixture
def kept() -> Iterator[Kept]:
    with followed() as found:
        yield found


@tool(effects=["read"])
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool(effects=["write"])
def save(text: str, api_key: str = "") -> str:
    return f"saved with {api_key}" if api_key else "saved"


@tool(effects=["read"])
def fall() -> None:
    raise RuntimeError("it fell")


def opened(policy: Any = None, **options: Any) -> Any:
    return Executor.open_sync(policy={**ON, **(policy or {})}, store="memory", tools=[add, save, fall], **options)


def test_a_repaired_call_is_one_span_with_its_repairs_decision_and_record(kept: Kept) -> None:
    with opened() as executor:
        outcome = executor.run({"name": "add", "arguments": "{'a': '1', b: 2}", "id": "c1"})
    span, judged = kept.one("execute_tool add"), kept.one("rightcall.judge")
    assert span.kind.name == "INTERNAL"
    assert told(span) == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function", "gen_ai.tool.description": "Adds two numbers.",
        "rightcall.repair.count": 3, "rightcall.repair.confidence": 1.0,
        "rightcall.repair.rules": ("single_quotes", "unquoted_key", "number_text"),
        "rightcall.decision": "allow", "rightcall.rule": "stage:own", "rightcall.record": outcome.metadata.call,
    }  # fmt: skip
    assert parent_of(judged) == id_of(span)
    assert told(judged)["rightcall.repair.count"] == 3
    assert (span.start_time or 0) <= (judged.start_time or 0) <= (judged.end_time or 0) <= (span.end_time or 0)


def test_a_call_belongs_to_the_work_around_it_and_the_tools_own_spans_to_the_call(kept: Kept) -> None:
    tracer = trace.get_tracer("program")

    @tool(effects=["read"])
    def look() -> str:
        with tracer.start_as_current_span("inside"):
            return "seen"

    with (
        Executor.open_sync(policy=ON, store="memory", tools=[look]) as executor,
        tracer.start_as_current_span("around"),
    ):
        executor.run({"name": "look", "arguments": {}})
    around, call, inside = kept.one("around"), kept.one("execute_tool look"), kept.one("inside")
    assert (parent_of(call), parent_of(inside)) == (id_of(around), id_of(call))


def test_the_wait_for_a_person_is_a_span_of_its_own(kept: Kept) -> None:
    with opened({"policy": {"write": "ask"}}, ask=lambda approval: "ann") as executor:
        outcome = executor.run({"name": "save", "arguments": {"text": "x"}})
    assert kept.names == ["execute_tool save", "rightcall.judge", "rightcall.approval", "rightcall.judge"]
    span, _, waiting, again = kept.spans
    assert told(waiting)["rightcall.approval.id"] == outcome.decision.approval
    assert told(waiting)["rightcall.approval.answer"] == "answered"
    assert told(span)["rightcall.approval.waited"] == told(waiting)["rightcall.approval.waited"]
    assert told(again)["rightcall.rule"] == "approval:given"
    assert {parent_of(one) for one in kept.spans[1:]} == {id_of(span)}


@pytest.mark.parametrize(
    ("call", "name", "error"),
    [
        ({"name": "fall", "arguments": {}}, "execute_tool fall", "tool_error"),
        ({"name": "add", "arguments": {"a": 1}}, "execute_tool add", "denied"),
        ({"name": "s3cret name of nothing", "arguments": {}}, "execute_tool (unknown)", "denied"),
    ],
)
def test_what_did_not_succeed_says_of_which_kind_and_no_more(
    kept: Kept, call: Any, name: str, error: str
) -> None:  # fmt: skip
    with opened() as executor:
        executor.run(call)
    span = kept.one(name)
    assert (told(span)["error.type"], span.status.status_code.name) == (error, "ERROR")
    assert "s3cret" not in str([(one.name, told(one), one.status.description) for one in kept.spans])


def test_a_call_that_waits_is_no_error(kept: Kept) -> None:
    with opened({"policy": {"write": "ask"}}) as executor:
        executor.run({"name": "save", "arguments": {"text": "x"}})
    span = kept.one("execute_tool save")
    assert span.status.status_code.name == "UNSET"
    assert told(span)["rightcall.decision"] == "ask"
    assert told(span)["rightcall.approval.answer"] == "waiting"


def test_every_call_of_a_message_has_its_span(kept: Kept) -> None:
    with opened() as executor:
        executor.run_all('<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>' * 2)
    assert kept.names.count("execute_tool add") == 2


def test_arguments_and_results_are_told_only_where_that_is_asked_for(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"name": "save", "arguments": {"text": "hello", "api_key": "sk-live-4242424242424242"}}
    policy = {"policy": {"write": "allow"}}
    for said in ("", "EVENT_ONLY", "true", "yes"):
        monkeypatch.setenv(CONTENT, said)
        with opened(policy) as executor:
            executor.run(call)
    assert not [key for span in kept.spans for key in told(span) if "arguments" in key or "result" in key]
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")
    with opened(policy) as executor:
        executor.run(call)
    span = kept.spans[-2]
    assert '"text": "hello"' in told(span)["gen_ai.tool.call.arguments"]
    assert "saved with" in told(span)["gen_ai.tool.call.result"]


def test_secrets_never_stand_in_content(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTENT, "SPAN_AND_EVENT")
    with opened({"policy": {"write": "allow"}}) as executor:
        executor.run({"name": "save", "arguments": {"text": "x", "api_key": "plain words of mine"}})
    everything = str([told(span) for span in kept.spans])
    assert "gen_ai.tool.call.arguments" in everything
    assert "plain words of mine" not in everything


def test_a_long_result_is_cut(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")
    long = tool(lambda_name, effects=["read"])
    with Executor.open_sync(policy=ON, store="memory", tools=[long]) as executor:
        executor.run({"name": "lambda_name", "arguments": {}})
    assert len(told(kept.one("execute_tool lambda_name"))["gen_ai.tool.call.result"]) <= 16_000


def lambda_name() -> str:
    return "word " * 100_000


def test_the_duration_is_in_a_histogram_with_the_buckets_of_the_conventions(kept: Kept) -> None:
    with opened() as executor:
        executor.run({"name": "add", "arguments": {"a": 1, "b": 2}})
        executor.run({"name": "fall", "arguments": {}})
    points = {tuple(sorted(point.attributes.items())): point for point in kept.points("gen_ai.execute_tool.duration")}
    assert (("gen_ai.tool.name", "add"),) in points
    assert (("error.type", "tool_error"), ("gen_ai.tool.name", "fall")) in points
    assert points[("gen_ai.tool.name", "add"),].explicit_bounds[:3] == (0.01, 0.02, 0.04)


def test_a_guarded_function_is_followed_with_its_repairs_and_refusals(kept: Kept) -> None:
    gate = Gate([plain, later], ON)
    followed_plain, followed_later = guard(plain, gate=gate), guard(later, gate=gate)
    assert followed_plain("{'n': '2',}") == 4
    running = followed_later(n=3)
    assert not isinstance(running, Refused)
    assert asyncio.run(running) == 6
    assert str(followed_plain("nothing")).startswith("⚠️")
    assert kept.names == ["execute_tool plain", "execute_tool later", "execute_tool plain"]
    first, second, third = map(told, kept.spans)
    assert (first["gen_ai.tool.description"], first["gen_ai.tool.type"]) == ("Doubles it.", "function")
    assert (first["rightcall.repair.count"], second["rightcall.repair.count"]) == (3, 0)
    assert third["error.type"] == "denied"
    with pytest.raises(RuntimeError):
        guard(broken, gate=Gate([broken], ON))()
    assert told(kept.spans[-1])["error.type"] == "RuntimeError"


def plain(n: int) -> int:
    """Doubles it."""
    return n * 2


async def later(n: int) -> int:
    return n * 2


def broken() -> None:
    raise RuntimeError("it fell")


def test_the_calls_of_a_turn_are_followed(kept: Kept) -> None:
    gate = Gate([plain, later], ON)
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
        for at, name in enumerate(("plain", "nothing"))
    ]
    run_calls(gate, [plain], calls)
    asyncio.run(arun_calls(gate, [later], [{"type": "tool_use", "id": "c9", "name": "later", "input": {"n": 1}}]))
    assert kept.names == ["execute_tool plain", "execute_tool (unknown)", "execute_tool later"]
    assert [told(one)["gen_ai.tool.call.id"] for one in kept.spans] == ["c0", "c1", "c9"]


def test_what_is_not_switched_on_is_not_followed(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    with Executor.open_sync(store="memory", tools=[add]) as executor:
        executor.run({"name": "add", "arguments": {"a": 1, "b": 2}})
        assert not executor.telemetry.is_on
    assert kept.names == []

"""The figures as Prometheus reads them."""

import re

from rightcall import Gate
from rightcall.server.recording import Metrics
from support.every import every

TOOL = {"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
LINE = re.compile(r'[a-z_]+(\{([a-z]+="(\\.|[^"\\\n])*",?)+\})? [0-9.]+')


def samples(text: str) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_a_fresh_server_shows_every_family_and_no_false_figures() -> None:
    text = Metrics().text()
    assert text.count("# HELP ") == text.count("# TYPE ") == 16
    assert samples(text) == {
        "rightcall_audit_failures_total": "0",
        "rightcall_streams_open": "0",
        "rightcall_connections_open": "0",
    }


def test_everything_counted_is_shown() -> None:
    metrics = Metrics()
    metrics.connections = lambda: 3
    metrics.request("openai-chat", 200, 0.02)
    metrics.request("openai-chat", 200, 0.2)
    metrics.request("openai-chat", 502, 1000.0)
    metrics.changed("repaired", 2)
    metrics.changed("lifted")
    metrics.fitted("right")
    metrics.refused("wrong_token")
    metrics.upstream_failed("timeout")
    metrics.audit_failures = lambda: 1
    metrics.streams = lambda: 1
    shown = samples(metrics.text())
    assert shown['rightcall_requests_total{wire="openai-chat",status="200"}'] == "2"
    assert shown['rightcall_requests_total{wire="openai-chat",status="502"}'] == "1"
    assert shown['rightcall_request_seconds_bucket{wire="openai-chat",le="0.01"}'] == "0"
    assert shown['rightcall_request_seconds_bucket{wire="openai-chat",le="0.025"}'] == "1"
    assert shown['rightcall_request_seconds_bucket{wire="openai-chat",le="600.0"}'] == "2"
    assert shown['rightcall_request_seconds_bucket{wire="openai-chat",le="+Inf"}'] == "3"
    assert shown['rightcall_request_seconds_count{wire="openai-chat"}'] == "3"
    assert shown['rightcall_request_seconds_sum{wire="openai-chat"}'] == "1000.22"
    assert shown['rightcall_changes_total{kind="repaired"}'] == "2"
    assert shown['rightcall_changes_total{kind="lifted"}'] == "1"
    assert shown['rightcall_fits_total{fit="right"}'] == "1"
    assert shown['rightcall_refusals_total{reason="wrong_token"}'] == "1"
    assert shown['rightcall_upstream_errors_total{kind="timeout"}'] == "1"
    assert shown["rightcall_audit_failures_total"] == "1"
    assert shown["rightcall_streams_open"] == "1"
    assert shown["rightcall_connections_open"] == "3"


def test_a_bound_counts_what_is_exactly_on_it() -> None:
    metrics = Metrics()
    metrics.request("ollama", 200, 0.005)
    assert samples(metrics.text())['rightcall_request_seconds_bucket{wire="ollama",le="0.005"}'] == "1"


def test_the_calls_are_those_of_the_gates() -> None:
    gate = Gate([TOOL], provider="local")
    gate.check("add", {"n": 1})
    gate.check("add", '{"n": 1,}')
    text = Metrics(lambda: {"local": gate.stats()}).text()
    calls = {name: count for name, count in samples(text).items() if name.startswith("rightcall_calls_total")}
    assert sum(map(int, calls.values())) == 2
    assert all('provider="local",tool="add",strategy="' in name for name in calls)


@every("name", ['a"b', "a\\b", "a\nb", "a\\n", "\ud800", "ü🙂", '"} 1\nfake_total 7'])
def test_no_name_a_model_chose_breaks_a_line(name: str) -> None:
    of_tool = {"normalizations": {"direct": 1}}
    text = Metrics(lambda: {name: {"tools": {name: of_tool}}}).text()
    text.encode()
    assert [line for line in text.splitlines() if not line.startswith("#") and not LINE.fullmatch(line)] == []
    assert "fake_total" not in samples(text)


def test_there_is_an_end_to_how_many_tools_are_told_apart() -> None:
    tools = {f"tool{number}": {"normalizations": {"direct": 1}} for number in range(1_500)}
    text = Metrics(lambda: {"p": {"tools": tools}, "q": {"tools": tools}}).text()
    shown = samples(text)
    assert len([name for name in shown if 'provider="p"' in name]) == 1_001
    assert shown['rightcall_calls_total{provider="p",tool="(other)",strategy="direct"}'] == "500"
    assert shown['rightcall_calls_total{provider="q",tool="(other)",strategy="direct"}'] == "500"

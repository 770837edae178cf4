"""Token budgets of a day: what a model's server says that it used is counted, and then the API's own 429 comes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rightcall.policy.watch import load_policy
from rightcall.proxy.gates import CALLER, Options
from rightcall.proxy.wires.common import Meter
from rightcall.record.sqlite import SqliteStore
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.recording import Recording
from support.cli import Runner
from support.every import every
from support.proxies import Rig, post, serving
from support.scripted.parts import Answer, NativeCall, Text
from support.scripted.server import ScriptedUpstream

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@contextmanager
def limited(folder: Path, tokens: int) -> Iterator[tuple[Rig, Recording]]:
    file = folder / "rightcall.toml"
    file.write_text(f"version = 1\n[policy.limits]\ntokens_per_day = {tokens}\n")
    policy = load_policy(file)
    with closing(SqliteStore(folder / "audit.db")) as store, ScriptedUpstream() as upstream:
        recording = Recording(store, policy, owned=False)
        service = assemble(
            upstream.address, policy, Options(), Access(None, bound_to="127.0.0.1"), Parts(recording=recording)
        )
        with serving(service.app) as address:
            yield Rig(upstream, address, upstream.address), recording
        recording.stop()


def counted(recording: Recording) -> int:
    return sum(one.tokens for one in recording.store.look(lambda tables: tables.spending()))


@pytest.mark.parametrize(
    "more", [{}, {"tools": [TOOL]}, {"tools": [TOOL], "stream": True}], ids=("bare", "whole", "stream")
)
def test_tokens_that_were_used_are_counted_and_then_the_api_says_429(tmp_path: Path, more: dict[str, Any]) -> None:
    with limited(tmp_path, 100) as (rig, recording):
        rig.upstream.play([Answer([Text("Hi")]), Answer([Text("Hi")])])
        asked = CHAT | more | ({"stream_options": {"include_usage": True}} if "stream" in more else {})
        assert post(rig.address, "/v1/chat/completions", asked).status == 200
        recording.store.transact(lambda tables: tables.spend(CALLER, tokens=100))
        refused = post(rig.address, "/v1/chat/completions", asked)
        assert refused.status == 429
        assert "Daily token budget exceeded" in refused.json["error"]["message"]
        assert "It resets at" in refused.json["error"]["message"]
        assert 0 < int(refused.headers["retry-after"]) <= 86_400
        assert len(rig.upstream.requests) == 1
    with closing(SqliteStore(tmp_path / "audit.db")) as store:
        usage = Answer([Text("Hi")]).usage
        (spent,) = store.look(lambda tables: tables.spending())
        assert spent.tokens == 100 + usage.prompt + usage.completion


def test_anthropic_gets_its_own_shape(tmp_path: Path) -> None:
    with limited(tmp_path, 10) as (rig, recording):
        recording.store.transact(lambda tables: tables.spend(CALLER, tokens=10))
        refused = post(rig.address, "/v1/messages", CHAT | {"max_tokens": 10})
        assert (refused.status, refused.json["type"]) == (429, "error")
        assert refused.json["error"]["type"] == "rate_limit_error"


def test_tokens_of_what_a_tool_call_cost_are_counted_too(tmp_path: Path) -> None:
    with limited(tmp_path, 10_000) as (rig, recording):
        rig.upstream.play([Answer([NativeCall("look", '{"at": "x"}')])])
        assert post(rig.address, "/v1/chat/completions", CHAT | {"tools": [TOOL]}).status == 200
        recording.stop()
        assert counted(recording) > 0


@every(
    ("answer", "tokens"),
    [
        (b'{"usage": {"input_tokens": 5, "output_tokens": 7}}', 12),
        (b'data: {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}\n\ndata: [DONE]\n\n', 7),
        (b'{"text": "\\"prompt_tokens\\": 9999999"}', 100 + 9),
        (b'data: {"delta": "a"}\n\ndata: {"delta": "b"}\n\n', 100 + 2),
    ],
)
def test_what_passes_unread_is_measured(answer: bytes, tokens: int) -> None:
    meter = Meter(b"x" * 400)
    for at in range(0, len(answer), 10):
        meter.take(answer[at : at + 10])
    assert abs(meter.tokens() - tokens) <= 1


def test_stats_shows_what_is_used_of_each_budget(tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "policy.toml"
    file.write_text("version = 1\n[callers.ada]\ncalls_per_day = 20\ntokens_per_day = 1000\n")
    with closing(SqliteStore(tmp_path / ".rightcall" / "audit.db")) as store:
        store.transact(lambda tables: tables.spend("ada", 3, 250))
    shown = run("stats", "--policy", str(file)).out
    assert "ada: 3 of 20 calls, 250 of 1,000 tokens" in shown
    assert "They reset at 00:00 UTC." in shown
    assert run("stats", "--policy", str(file), "--json").json["budgets"] == [
        {"caller": "ada", "calls": 3, "calls_per_day": 20, "tokens": 250, "tokens_per_day": 1000}
    ]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(capsys, monkeypatch)

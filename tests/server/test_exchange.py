"""One request through the proxy, over real sockets: passed on, repaired, asked again, taught, watched, or failed."""

import gzip
import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import json

from rightcall import load_policy
from rightcall.base.http.client import HttpLimits
from rightcall.proxy.gates import Options
from rightcall.record.admission import pause, resume
from rightcall.record.memory import MemoryStore
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.recording import Backlog, Recording
from support.every import every
from support.proxies import Rig, post, request, request_for, serving
from support.scripted.server import Answer, Dies, Failure, NativeCall, Raw, ScriptedUpstream, Stalls, Text, Usage
from support.wires.chat import TOOLS, seen, whole_answer

pytestmark = pytest.mark.promise("H-03")

CHAT, RESPONSES, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"
GOOD = '<tool_call>{"name": "weather", "arguments": {"city": "Bern", "days": "3"}}</tool_call>'
BROKEN = NativeCall("weather", '{"days": 3}')
RIGHT = NativeCall("weather", '{"city": "Bern"}')
KEY = "sk-never-to-be-kept-0123456789abcdef"


@contextmanager
def rig(policy: Any = None, limits: HttpLimits | None = None, store: Any = None, **settings: Any) -> Iterator[Rig]:
    """The whole server in front of a scripted upstream."""
    access = Access(None, bound_to="127.0.0.1")
    with ScriptedUpstream() as upstream:
        loaded = load_policy(policy)
        recording = Recording(store, loaded, owned=False, backlog=Backlog(0.0)) if store is not None else None
        service = assemble(upstream.address, loaded, Options(**settings), access, Parts(recording, limits=limits))
        with serving(service.app) as address:
            yield Rig(upstream, address, upstream.address)


@pytest.fixture(scope="module")
def shared() -> Iterator[Rig]:
    with rig() as one:
        yield one


def chat(stream: bool = False, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Weather in Bern?"}]
    return {"model": "m", "messages": messages, "tools": json.decode(TOOLS), "stream": stream} | more


def calls_of(body: Any) -> list[tuple[str, Any]]:
    message = body["choices"][0]["message"]
    return [
        (call["function"]["name"], json.decode(call["function"]["arguments"]))
        for call in message.get("tool_calls") or []
    ]


# ── what passes ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_other_paths_pass_byte_for_byte_compressed_or_not(shared: Rig) -> None:
    zipped = gzip.compress(b'{"models": []}')
    shared.upstream.play([]).routes["/v1/models"] = Raw(zipped, headers={"content-encoding": "gzip", "x-odd": "1"})
    got = request("GET", shared.address, "/v1/models?a=%2Fb&c", headers={"accept-encoding": "gzip"})
    assert (got.status, got.body, got.headers["content-encoding"], got.headers["x-odd"]) == (200, zipped, "gzip", "1")
    received = shared.upstream.requests[0]
    assert received.target == "/v1/models?a=%2Fb&c"
    assert received.header("accept-encoding") == "gzip"


def test_a_request_without_tools_passes_byte_for_byte_both_ways(shared: Rig) -> None:
    body = b'{ "model":"m",  "messages": [], "odd": [1, 2 ] }'
    shared.upstream.play([Answer([Text(GOOD)])])
    got = request("POST", shared.address, CHAT, body, {"content-type": "application/json"})
    assert shared.upstream.requests[0].body == body
    direct = shared.upstream.play([Answer([Text(GOOD)])])
    assert got.body == request("POST", direct.address, CHAT, body, {"content-type": "application/json"}).body


def test_keys_pass_through_and_our_own_headers_do_not(shared: Rig) -> None:
    shared.upstream.play([Answer([Text("Hi")])])
    post(
        shared.address,
        CHAT,
        chat(),
        {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "x-rightcall-caller": "proxy"},
    )
    headers = dict(shared.upstream.requests[0].headers)
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-api-key"] == KEY
    assert not [name for name in headers if name.startswith("x-rightcall")]


def test_errors_of_the_upstream_pass_as_they_are(shared: Rig) -> None:
    shared.upstream.play([Failure(429, "slow down", headers={"retry-after": "7"})] * 2)
    got = post(shared.address, CHAT, chat())
    direct = post(shared.direct, CHAT, chat())
    assert (got.status, got.body, got.headers["retry-after"]) == (429, direct.body, "7")


DEEP = b'{"tool_choice": ' + b"[" * 5_000


@every("body", [b"", b"nonsense", b"[]", b'{"tools": 5}', b'{"tools": [{"a": 1}], "messages": "x"}', DEEP])
def test_a_request_that_nobody_can_read_is_the_upstreams_affair(shared: Rig, body: bytes) -> None:
    for path in (CHAT, RESPONSES, MESSAGES, OLLAMA):
        shared.upstream.play([Failure(400, "what?")])
        assert request("POST", shared.address, path, body).status == 400
        assert shared.upstream.requests[0].body == body


@pytest.mark.promise("P-14")
@every("named", ["teacher", "a" * 300, "", "PROXY", "proxy, proxy", "\xff"])
def test_a_client_cannot_name_its_caller(shared: Rig, named: str) -> None:
    shared.upstream.play([Answer([Text("Hi")])])
    got = post(shared.address, CHAT, chat(), {"x-rightcall-caller": named})
    assert (got.status, got.json["error"]["code"]) == (403, "wrong_caller")
    assert "x-rightcall-caller" in got.json["error"]["message"]
    assert shared.upstream.requests == []


# ── what is done is told ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_header_says_what_was_done(shared: Rig) -> None:
    shared.upstream.play([Answer([Text(f"On it. {GOOD}"), NativeCall("read_file", "{'path': 'x'}")])])
    got = post(shared.address, CHAT, chat())
    assert got.headers["x-rightcall"] == "repaired=1 lifted=1"
    assert calls_of(got.json) == [("Read", {"file_path": "x"}), ("weather", {"city": "Bern", "days": 3})]
    assert got.json["choices"][0]["message"]["content"].strip() == "On it."


def test_a_stream_ends_with_a_comment_that_says_it(shared: Rig) -> None:
    shared.upstream.play([Answer([Text(GOOD)]), Answer([Text("Hi")])])
    assert post(shared.address, CHAT, chat(stream=True)).body.endswith(b"data: [DONE]\n\n: rightcall lifted=1\n\n")
    assert post(shared.address, CHAT, chat(stream=True)).body.endswith(b"data: [DONE]\n\n")


def test_observing_changes_nothing_and_tells() -> None:
    with rig(observe=True) as watched:
        for stream in (False, True):
            watched.upstream.play([Answer([Text(GOOD), NativeCall("read_file", "{'path': 'x'}")])] * 2)
            got = post(watched.address, CHAT, chat(stream))
            assert got.body == post(watched.direct, CHAT, chat(stream)).body
            assert stream or got.headers["x-rightcall"] == "would-repair=1 would-lift=1"


def test_one_tool_that_is_only_observed_is_told_apart_from_the_others() -> None:
    with rig(policy={"gate": {"tools": {"weather": {"mode": "observe"}}}}) as one:
        one.upstream.play(
            [Answer([NativeCall("weather", "{'city': 'Bern'}"), NativeCall("read_file", "{'path': 'x'}")])]
        )
        got = post(one.address, CHAT, chat())
        assert got.headers["x-rightcall"] == "repaired=1 would-repair=1"
        first = got.json["choices"][0]["message"]["tool_calls"][0]["function"]
        assert first["arguments"] == "{'city': 'Bern'}"


@pytest.mark.parametrize("policy", [{"gate": {"hosts": {"proxy": {"mode": "observe"}}}}, {"gate": {"mode": "observe"}}])
def test_a_policy_that_only_watches_tells_the_same_as_the_option(policy: Any) -> None:
    answer = Answer([Text(GOOD), NativeCall("read_file", "{'path': 'x'}"), BROKEN])
    with rig(policy=policy) as one, rig(observe=True) as other:
        told = []
        for watched in (one, other):
            watched.upstream.play([answer] * 2)
            got = post(watched.address, CHAT, chat())
            assert got.body == post(watched.direct, CHAT, chat()).body
            told.append(got.headers["x-rightcall"])
        assert told == ["would-repair=1 would-lift=1 left=1"] * 2


@pytest.mark.promise("A-02")
def test_a_call_is_recorded_also_where_the_client_leaves_before_the_end() -> None:
    store = MemoryStore()
    with rig(store=store) as one:
        one.upstream.play([Stalls(Answer([NativeCall("read_file", "{'path': 'x'}")]), after=4)])
        where = urlsplit(one.address)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
        connection.request("POST", CHAT, json.encode(chat(stream=True)), {"content-type": "application/json"})
        answer = connection.getresponse()
        while b'finish_reason":"tool_calls' not in (line := answer.readline()):
            assert line
        assert connection.sock is not None
        connection.sock.shutdown(socket.SHUT_RDWR)
        answer.close()
        connection.close()
        one.upstream.wait_for_hang_up()
    assert [row.kind for row in store.look(lambda tables: list(tables.entries()))].count("proxied") == 1


@pytest.mark.promise("A-02")
def test_every_call_is_recorded_without_a_key_in_it() -> None:
    store = MemoryStore()
    with rig(store=store) as one:
        one.upstream.play([Answer([Text(GOOD), NativeCall("weather", '{"city": "Bern"}')])])
        post(one.address, CHAT, chat(), {"authorization": f"Bearer {KEY}"})
    rows = [row for row in store.look(lambda tables: list(tables.entries())) if row.kind == "proxied"]
    assert len(rows) == 2
    text = b"".join(row.body for row in rows)
    assert b'"caller":"proxy"' in text
    assert b"lifted" in text
    assert KEY.encode() not in text


@pytest.mark.promise("N-16")
def test_the_metrics_count_calls_by_provider_tool_and_strategy(shared: Rig) -> None:
    shared.upstream.play([Answer([NativeCall("weather", "{'city': 'Bern'}")])])
    post(shared.address, CHAT, chat())
    text = request("GET", shared.address, "/metrics").body.decode()
    line = next(line for line in text.splitlines() if line.startswith("rightcall_calls_total") and "weather" in line)
    assert 'provider="local"' in line
    assert "rightcall_changes_total" in text


# ── asking again ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_cannot_be_repaired_goes_back_with_the_hint_before_the_client_sees_it(stream: bool) -> None:
    with rig(retry=1) as one:
        one.upstream.play([Answer([Text("Let me see."), BROKEN]), Answer([RIGHT], usage=Usage(50, 5))])
        got = post(one.address, CHAT, chat(stream, stream_options={"include_usage": True} if stream else None))
        second = one.upstream.requests[1].json
        assert second["stream"] is False
        assert second["messages"][-2]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"days": 3}'}
        assert "Missing required fields: city" in second["messages"][-1]["content"]
        if stream:
            assert seen(got.body)[:3] == ("Let me see.", [("weather", {"city": "Bern"})], "tool_calls")
            assert b'"prompt_tokens":71' in got.body
        else:
            assert calls_of(got.json) == [("weather", {"city": "Bern"})]
            assert got.json["usage"]["prompt_tokens"] == 71
            assert got.headers["x-rightcall"] == "retried=1"


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_does_no_better_is_passed_on_after_so_many_tries(stream: bool) -> None:
    with rig(retry=2) as one:
        one.upstream.play([Answer([BROKEN])] * 3)
        got = post(one.address, CHAT, chat(stream))
        assert len(one.upstream.requests) == 3
        wanted = [("weather", {"days": 3})]
        assert (seen(got.body).calls if stream else calls_of(got.json)) == wanted


@pytest.mark.parametrize(("retry", "called"), [(0, [("fly", {})]), (1, [("weather", {"city": "Bern"})])])
def test_a_call_of_a_tool_that_nobody_offered_passes_unless_the_model_can_be_asked_again(
    retry: int, called: list[Any]
) -> None:
    with rig(retry=retry) as one:
        one.upstream.play([Answer([NativeCall("fly", "{}")]), Answer([RIGHT])])
        assert calls_of(post(one.address, CHAT, chat()).json) == called
        assert len(one.upstream.requests) == retry + 1


@pytest.mark.parametrize(("settings", "more"), [({"observe": True}, {}), ({}, {"n": 2}), ({}, {"tools": []})])
def test_nothing_is_asked_again_where_nothing_may_change_or_several_answers_come(settings: Any, more: Any) -> None:
    with rig(retry=2, **settings) as one:
        one.upstream.play([Answer([BROKEN])] * 3)
        assert calls_of(post(one.address, CHAT, chat(**more)).json) == [("weather", {"days": 3})]
        assert len(one.upstream.requests) == 1


@every("path", [RESPONSES, MESSAGES, OLLAMA])
@every("stream", [False, True])
def test_asking_again_works_over_every_api(path: str, stream: bool) -> None:
    with rig(retry=1) as one:
        one.upstream.play([Answer([NativeCall("weather", {"days": 3})]), Answer([RIGHT])])
        got = post(one.address, path, request_for(path, stream))
        assert got.status == 200, got.body
        assert b"Bern" in got.body
        assert (b"days" in _output(path, got.body)) is False
        assert b"Missing required fields: city" in one.upstream.requests[1].body


def _output(path: str, body: bytes) -> bytes:
    """What the model said. Responses repeat the request's instructions and tools around it."""
    if path != RESPONSES:
        return body
    whole = body if body.startswith(b"{") else body.split(b"response.completed\ndata: ")[1].split(b"\n")[0]
    answer = json.decode(whole)
    return json.encode(answer.get("response", answer)["output"])


# ── reasoning that the prompt opened ─────────────────────────────────────────────────────────────────────────────────

THOUGHT = f"Perhaps {GOOD.replace('Bern', 'Rome')} or not.\n</think>\n"


def cities(one: Rig, text: str, *, stream: bool, model: str = "m") -> list[str]:
    """Of the calls that the client gets for this answer of the model."""
    one.upstream.play([Answer([Text(text)])])
    got = post(one.address, CHAT, chat(stream, model=model))
    calls = seen(got.body).calls if stream else calls_of(got.json)
    return [arguments["city"] for _, arguments in calls]


@pytest.mark.promise("R-06", "R-09")
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_whose_prompt_opens_its_reasoning_is_known_from_its_first_lone_closing_tag(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with rig() as one, caplog.at_level("INFO", "rightcall"):
        assert cities(one, f"Like `</think>`. {GOOD}", stream=stream) == ["Bern"]
        assert cities(one, THOUGHT + GOOD, stream=stream) == ["Rome", "Bern"]  # nobody knows yet
        assert cities(one, THOUGHT + GOOD, stream=stream) == ["Bern"]
        assert cities(one, GOOD, stream=stream) == ["Bern"]  # it may as well not think
        assert cities(one, f"<think>{THOUGHT}{GOOD}", stream=stream) == ["Bern"]
        assert cities(one, THOUGHT + GOOD, stream=stream, model="other") == ["Rome", "Bern"]
    told = [record.getMessage() for record in caplog.records if "closes reasoning" in record.getMessage()]
    assert [line.split()[1] for line in told] == ["m", "other"]


@pytest.mark.promise("R-06", "P-09")
@pytest.mark.parametrize(
    ("settings", "first", "second"),
    [
        ({"models": {"m*": {"reasoning": "open"}}}, ["Bern"], ["Bern"]),
        ({"providers": {"local": {"reasoning": "open"}}}, ["Bern"], ["Bern"]),
        ({"reasoning": "closed"}, ["Rome", "Bern"], ["Rome", "Bern"]),
    ],
)
def test_what_the_policy_says_of_reasoning_holds_and_is_not_learned_otherwise(
    settings: Any, first: list[str], second: list[str]
) -> None:
    with rig({"gate": settings}) as one:
        assert cities(one, THOUGHT + GOOD, stream=True) == first
        assert cities(one, THOUGHT + GOOD, stream=False) == second


# ── teaching ─────────────────────────────────────────────────────────────────────────────────────────────────────


@every("stream", [False, True])
@every("path", [CHAT, RESPONSES, MESSAGES, OLLAMA])
def test_taught_models_get_their_tools_in_the_prompt_and_clients_get_native_calls(path: str, stream: bool) -> None:
    with rig(teach="on") as one:
        one.upstream.play([Answer([Text(f"Sure. {GOOD}")])])
        got = post(one.address, path, request_for(path, stream))
        sent = one.upstream.requests[0].json
        assert not sent.get("tools")
        assert b"weather" in one.upstream.requests[0].body
        assert b"<tool_call>" not in _output(path, got.body)
        assert b"Bern" in got.body
        assert "taught=1" in got.headers["x-rightcall"]


def test_an_example_that_a_taught_model_only_repeats_is_no_call() -> None:
    copied = '<tool_call>{"name": "weather", "arguments": {"city": "sample-one"}}</tool_call>'
    with rig(teach="on") as one:
        one.upstream.play([Answer([Text(copied)])])
        message = post(one.address, CHAT, chat()).json["choices"][0]["message"]
        assert (message["content"], message.get("tool_calls")) == (copied, None)
    with rig() as one:  # who was not taught may mean it
        one.upstream.play([Answer([Text(copied)])])
        assert calls_of(post(one.address, CHAT, chat()).json) == [("weather", {"city": "sample-one"})]


def test_a_server_that_refuses_tools_is_noticed_and_its_model_taught_from_then_on() -> None:
    with rig() as one:
        refusal = Failure(400, "registry.ollama.ai/library/old:latest does not support tools")
        one.upstream.play([refusal, Answer([Text(GOOD)]), Answer([Text(GOOD)])])
        assert calls_of(post(one.address, CHAT, chat()).json) == [("weather", {"city": "Bern", "days": 3})]
        assert calls_of(post(one.address, CHAT, chat()).json) == [("weather", {"city": "Bern", "days": 3})]
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, False, False]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_whose_template_has_no_place_for_tools_is_taught_at_once(stream: bool) -> None:
    with rig() as one:
        answer = Raw(json.encode(whole_answer("It is sunny.")), headers={"server": "llama.cpp"})
        one.upstream.play([answer, Answer([Text(GOOD)]), Answer([Text(GOOD)])])
        one.upstream.routes["/props"] = Raw(b'{"chat_template_caps": {"supports_tools": false}}')
        for _ in range(2):
            got = post(one.address, CHAT, chat(stream))
            found = seen(got.body).calls if stream else calls_of(got.json)
            assert found == [("weather", {"city": "Bern", "days": 3})]
        asked = [(received.path, bool(received.json.get("tools"))) for received in one.upstream.requests]
        assert asked == [(CHAT, True), ("/props", False), (CHAT, False), (CHAT, False)]


@pytest.mark.parametrize(
    "props", [Raw(b'{"chat_template_caps": {"supports_tools": true}}'), Raw(b"<html>", status=404)]
)
def test_a_model_whose_template_has_a_place_for_tools_is_left_alone(props: Raw) -> None:
    with rig() as one:
        answer = Raw(json.encode(whole_answer("It is sunny.")), headers={"server": "llama.cpp"})
        one.upstream.play([answer, answer])
        one.upstream.routes["/props"] = props
        for _ in range(2):
            assert post(one.address, CHAT, chat()).body == answer.body
        assert [received.path for received in one.upstream.requests] == [CHAT, "/props", CHAT]


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_dies_when_it_is_asked_again_does_not_spoil_the_first_answer(stream: bool) -> None:
    with rig(retry=1) as one:
        one.upstream.play([Answer([BROKEN]), Dies(Answer([RIGHT]), after=0)])
        got = post(one.address, CHAT, chat(stream))
        assert (seen(got.body).calls if stream else calls_of(got.json)) == [("weather", {"days": 3})]
        assert len(one.upstream.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_was_required_and_never_came_is_asked_for_in_the_prompt(stream: bool) -> None:
    with rig() as one:
        one.upstream.play([Answer([Text("It is sunny.")]), Answer([Text(GOOD)])])
        got = post(one.address, CHAT, chat(stream, tool_choice="required"))
        found = seen(got.body).calls if stream else calls_of(got.json)
        assert found == [("weather", {"city": "Bern", "days": 3})]
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, False]


LONG = [
    {"type": "function", "function": {**one["function"], "description": "Does what its name says, and well. " * 20}}
    for one in json.decode(TOOLS)
]


def test_a_prompt_too_short_for_the_tools_is_asked_with_them_in_it() -> None:
    with rig() as one:
        one.upstream.play([Answer([Text("Sunny.")], usage=Usage(20, 3)), Answer([Text(GOOD)]), Answer([Text(GOOD)])])
        for _ in range(2):
            got = post(one.address, CHAT, chat(tools=LONG))
            assert calls_of(got.json) == [("weather", {"city": "Bern", "days": 3})]
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, False, False]


def test_where_teaching_brings_no_call_either_the_first_answer_passes_byte_for_byte_and_nothing_is_concluded() -> None:
    with rig() as one:
        first = Answer([Text("Sunny.")], usage=Usage(20, 3), id="7")
        one.upstream.play([first, Answer([Text("Rainy.")]), first])
        got = post(one.address, CHAT, chat(tools=LONG))
        assert "x-rightcall" not in got.headers
        assert got.body == post(one.address, CHAT, chat(tools=LONG)).body
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, False, True]


@pytest.mark.parametrize("helps", [True, False])
def test_after_a_stream_whose_prompt_was_too_short_the_next_request_is_taught_on_trial(helps: bool) -> None:
    with rig() as one:
        short = Answer([Text("Sunny.")], usage=Usage(20, 3))
        one.upstream.play([short, Answer([Text(GOOD if helps else "Well.")]), short])
        for _ in range(3):
            post(one.address, CHAT, chat(stream=True, tools=LONG, stream_options={"include_usage": True}))
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, False, not helps]


@pytest.mark.parametrize("helps", [True, False])
def test_a_trial_ends_also_with_an_answer_that_is_not_streamed(helps: bool) -> None:
    with rig() as one:
        short = Answer([Text("Sunny.")], usage=Usage(20, 3))
        one.upstream.play([short, Answer([Text(GOOD if helps else "Well.")]), Answer([Text("Fine.")])])
        post(one.address, CHAT, chat(stream=True, tools=LONG, stream_options={"include_usage": True}))
        for _ in range(2):
            post(one.address, CHAT, chat(tools=LONG))
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, False, not helps]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_an_answer_that_was_cut_off_or_forbidden_says_nothing_of_the_server(finish: str) -> None:
    with rig() as one:
        one.upstream.play([Answer([Text("It is")], finish=finish)] * 2)
        for _ in range(2):
            post(one.address, CHAT, chat(tool_choice="required"))
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True, True]


def test_a_model_that_ever_called_a_tool_by_itself_is_never_taught() -> None:
    with rig() as one:
        one.upstream.play([Answer([RIGHT]), Answer([Text("No.")]), Answer([Text("No.")])])
        for _ in range(3):
            post(one.address, CHAT, chat(tool_choice="required"))
        assert [bool(received.json.get("tools")) for received in one.upstream.requests] == [True] * 3


def test_a_taught_model_that_may_not_call_is_told_that_there_are_no_tools() -> None:
    with rig(teach="on") as one:
        one.upstream.play([Answer([Text("Fine.")])])
        post(one.address, CHAT, chat(tool_choice="none"))
        sent = one.upstream.requests[0].json
        assert not sent.get("tools")
        assert "No tools are available" in sent["messages"][0]["content"]
        assert b"weather" not in one.upstream.requests[0].body.replace(b"Weather in Bern", b"")


def test_teaching_can_be_switched_off() -> None:
    with rig(teach="off") as one:
        one.upstream.play([Answer([Text("It is sunny.")])])
        post(one.address, CHAT, chat(tool_choice="required"))
        assert len(one.upstream.requests) == 1


def test_a_request_that_forbids_calls_gets_none() -> None:
    with rig() as one:
        one.upstream.play([Answer([Text(GOOD)])] * 2)
        assert post(one.address, CHAT, chat(tool_choice="none")).body == post(one.direct, CHAT, chat()).body


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────


@every("path", [CHAT, RESPONSES, MESSAGES, OLLAMA])
def test_an_upstream_that_is_not_there_is_an_error_of_the_clients_own_api(path: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    service = assemble(f"http://127.0.0.1:{port}", load_policy(None), Options(), Access(None, bound_to="127.0.0.1"))
    with serving(service.app) as address:
        got = post(address, path, request_for(path, False))
        error = got.json["error"]
        assert got.status == 502
        assert "cannot be reached" in (error if path == OLLAMA else error["message"])
        assert (got.json.get("type") == "error") is (path == MESSAGES)


@every("path", [CHAT, RESPONSES, MESSAGES, OLLAMA])
@every("half", [False, True])
def test_an_upstream_that_dies_in_a_stream_leaves_a_whole_error_behind(shared: Rig, path: str, half: bool) -> None:
    shared.upstream.play([Dies(Answer([Text("one two three four five six seven eight nine")]), after=6, half=half)])
    got = post(shared.address, path, request_for(path, True))
    last = got.body.rstrip(b"\n").split(b"\n")[-1]
    assert got.body.endswith(b"\n")
    assert b"one" in got.body
    assert b"error" in json.encode(json.decode(last.removeprefix(b"data: ")))


def test_half_a_call_of_a_dying_upstream_never_reaches_the_client(shared: Rig) -> None:
    shared.upstream.play([Dies(Answer([NativeCall("weather", '{"city": "Bern"}', pieces=4)]), after=4)])
    assert seen(post(shared.address, CHAT, chat(stream=True)).body.rsplit(b"data: ", 1)[0]).calls == []


@every("path", [CHAT, RESPONSES, MESSAGES, OLLAMA])
@every(("status", "told"), [(200, 502), (503, 503)])
@every("tools", [True, False])
def test_a_page_for_people_is_an_error_of_the_clients_own_api(
    shared: Rig, path: str, status: int, told: int, tools: bool
) -> None:
    page = b"<html><head><title>Bad\n Gateway</title></head></html>"
    shared.upstream.play([Raw(page, status=status, content_type="text/html; charset=utf-8")])
    body = request_for(path, True)
    got = post(shared.address, path, body if tools else body | {"tools": []})
    error = got.json["error"]
    assert got.status == told
    assert "Bad Gateway" in (error if path == OLLAMA else error["message"])


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_half_an_answer_is_an_error_and_not_half_an_answer(shared: Rig, path: str) -> None:
    shared.upstream.play([Raw(b'{"choices": [{"message": {"role": "assist')])
    got = post(shared.address, path, request_for(path, False))
    assert (got.status, b"not valid JSON" in got.body) == (502, True)


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_an_answer_that_is_too_long_is_refused_for_that_request_alone(path: str) -> None:
    with rig(limits=HttpLimits(body_bytes=100_000)) as one:
        one.upstream.play([Raw(b"x" * 200_000), Answer([RIGHT])])
        got = post(one.address, path, request_for(path, False))
        assert (got.status, b"100,000" in got.body) == (502, True)
        assert post(one.address, path, request_for(path, False)).status == 200


def test_an_event_that_never_ends_is_an_error_in_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.base.http.answers.MOST", 50_000)
    with rig() as one:
        one.upstream.play([Raw(content_type="text/event-stream", pieces=[b"data: " + b"x" * 20_000] * 5)])
        assert b"does not end" in post(one.address, CHAT, chat(stream=True)).body


def test_a_server_that_falls_silent_is_given_up() -> None:
    with rig(limits=HttpLimits(between_seconds=0.05)) as one:
        one.upstream.play([Stalls(Answer([Text("a b c")]), after=2)])
        assert b"was silent" in post(one.address, CHAT, chat(stream=True)).body
    with rig(limits=HttpLimits(first_byte_seconds=0.05)) as one:
        one.upstream.play([Stalls(Answer([Text("x")]), after=0)])
        assert post(one.address, CHAT, chat()).status == 504


def test_a_client_that_leaves_stops_the_model(shared: Rig) -> None:
    shared.upstream.play([Stalls(Answer([Text("one two three")]), after=2)])
    where = urlsplit(shared.address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    connection.request("POST", CHAT, json.encode(chat(stream=True)), {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read(10)
    connection.sock.shutdown(socket.SHUT_RDWR) if connection.sock else None
    answer.close()
    connection.close()
    shared.upstream.wait_for_hang_up()
    assert (len(shared.upstream.requests), shared.upstream.hung_up) == (1, 1)


def test_the_metrics_tell_how_many_streams_are_under_way(shared: Rig) -> None:
    shared.upstream.play([Stalls(Answer([Text("one two three")]), after=2)])
    where = urlsplit(shared.address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    connection.request("POST", CHAT, json.encode(chat(stream=True)), {"content-type": "application/json"})
    answer = connection.getresponse()
    assert b"rightcall_streams_open 1\n" in request("GET", shared.address, "/metrics").body
    shared.upstream.release()
    assert answer.read().endswith(b"[DONE]\n\n")
    connection.close()
    assert b"rightcall_streams_open 0\n" in request("GET", shared.address, "/metrics").body


# ── the emergency stop ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("P-17")
def test_while_calls_are_paused_no_model_is_asked_for_one() -> None:
    store = MemoryStore()
    with rig(store=store) as one:
        store.transact(lambda tables: pause(tables, "anna", "smoke"))
        for path in (CHAT, RESPONSES, MESSAGES, OLLAMA):
            one.upstream.play([])
            got = post(one.address, path, chat(input="x", max_tokens=9))
            assert got.status == 503, path
            assert b"All tool calls are paused by the operator" in got.body
            assert b"smoke" not in got.body
            assert got.headers["x-should-retry"] == "false"
            assert one.upstream.requests == []
        health = json.decode(request("GET", one.address, "/health").body)
        assert set(health["paused"]) == {"since"}
        for path, body in (
            (CHAT, {"model": "m", "messages": []}),
            (CHAT, {"model": "m", "messages": [], "functions": [{"name": "f"}]}),
            ("/v1beta/models/m:generateContent", {"tools": [{"functionDeclarations": []}]}),
        ):  # fmt: skip
            assert post(one.address, path, body).status == 503, body
        assert one.upstream.requests == []
        store.transact(lambda tables: resume(tables, "anna"))
        one.upstream.play([Answer([RIGHT])])
        assert calls_of(post(one.address, CHAT, chat()).json) == [("weather", {"city": "Bern"})]
        assert "paused" not in json.decode(request("GET", one.address, "/health").body)

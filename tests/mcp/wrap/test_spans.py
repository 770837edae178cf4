"""`wrap` in a trace: the client's request, our judgement of it, and the server's own part."""

from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.executor.door import Door
from support.traces import CONTENT, ON, PARENT, SPAN, Kept, followed, id_of, parent_of, told, traceparent
from support.wrapping import ASKING, MODERN, Wrapped, call, line, result

pytestmark = pytest.mark.promise("H-11")

OK: dict[str, Any] = {"content": [{"type": "text", "text": "done"}]}


@pytest.fixture
def kept() -> Iterator[Kept]:
    with followed() as found:
        yield found


@pytest.fixture
def wrapped(kept: Kept) -> Iterator[Wrapped]:
    with Door.open("wrap", {**ON, **ASKING}) as door:
        yield Wrapped(door)


def test_a_call_is_followed_on_both_sides(kept: Kept, wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", "{'path': 'a',}", _meta={"traceparent": PARENT, "own": 1}))
    wrapped.server(result(1, OK))
    served, called = kept.one("tools/call read_file", "SERVER"), kept.one("tools/call read_file", "CLIENT")
    assert (parent_of(served), parent_of(called)) == (SPAN, id_of(served))
    assert wrapped.asked[0]["params"] == {
        "name": "read_file", "arguments": {"path": "a"}, "_meta": {"traceparent": traceparent(called), "own": 1},
    }  # fmt: skip
    assert told(served)["rightcall.repair.rules"] == ("single_quotes", "trailing_comma")
    assert (told(served)["network.transport"], told(called)["rightcall.server"]) == ("pipe", "files")
    assert parent_of(kept.one("rightcall.judge")) == id_of(served)


def test_what_is_right_passes_as_it_came_but_for_the_context(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a", "limit": 10**25}, _meta={"progressToken": 3}))
    (sent,) = wrapped.asked
    assert sent["params"]["_meta"].pop("traceparent")
    assert sent == call(1, "read_file", {"path": "a", "limit": 10**25}, _meta={"progressToken": 3})


def test_the_wait_for_a_person_is_within_the_trace(kept: Kept, wrapped: Wrapped) -> None:
    wrapped.greet(elicitation={})
    wrapped.client(call(1, "delete_file", {"path": "a"}))
    wrapped.client(result(wrapped.told[0]["id"], {"action": "accept", "content": {"ok": True}}))
    wrapped.server(result(1, OK))
    assert kept.names == [
        "tools/call delete_file", "rightcall.judge", "rightcall.approval", "rightcall.judge", "tools/call delete_file",
    ]  # fmt: skip
    assert told(kept.spans[0])["rightcall.approval.answer"] == "approved"


def test_a_question_that_is_a_result_ends_the_request(kept: Kept, wrapped: Wrapped) -> None:
    wrapped.client(call(1, "delete_file", {"path": "a"}, _meta=MODERN))
    span = kept.one("tools/call delete_file")
    assert (span.status.status_code.name, told(span)["rightcall.decision"]) == ("UNSET", "ask")


def test_a_refused_call_is_a_tool_error(kept: Kept, wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {}))
    span = kept.one("tools/call read_file")
    assert (told(span)["error.type"], told(span)["rightcall.decision"]) == ("tool_error", "deny")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (result(1, {**OK, "isError": True}), "tool_error"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}, "-32000"),
    ],
)
def test_what_the_server_calls_an_error_is_one(kept: Kept, wrapped: Wrapped, answer: Any, error: str) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    wrapped.server(answer)
    assert [told(one)["error.type"] for one in kept.spans if one.name == "tools/call read_file"] == [error, error]


def test_a_call_that_nobody_answers_ends_all_the_same(kept: Kept, wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    wrapped.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wrapped.client(call(2, "read_file", {"path": "b"}))
    wrapped.between.calls.server_gone("It ended.")
    errors = [told(one)["error.type"] for one in kept.spans if one.name == "tools/call read_file"]
    assert errors == ["cancelled", "cancelled", "server_gone", "server_gone"]


def test_content_and_secrets(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")
    with Door.open("wrap", ON) as door:
        wrapped = Wrapped(door)
        wrapped.client(call(1, "read_file", {"path": "token=ghp_0123456789abcdef0123456789abcdef0123"}))
        wrapped.server(result(1, OK))
    span = kept.one("tools/call read_file", "SERVER")
    assert "done" in told(span)["gen_ai.tool.call.result"]
    assert "path" in told(span)["gen_ai.tool.call.arguments"]
    assert "ghp_0123" not in str([told(one) for one in kept.spans])


def test_without_telemetry_the_very_bytes_pass(kept: Kept) -> None:
    with Door.open("wrap") as door:
        wrapped = Wrapped(door)
        sent = line(call(1, "read_file", {"path": "a"}, _meta={"traceparent": PARENT}))
        wrapped.client(sent)
        assert wrapped.server_got == [sent]
    assert kept.names == []

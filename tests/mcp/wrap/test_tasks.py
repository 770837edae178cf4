"""Calls that their server runs as tasks: what is said of them passes as it is, and their record waits for their end."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from rightcall.executor.door import Door
from rightcall.mcp.messages import CAPABILITIES_KEY, LONGEST, created_by
from rightcall.mcp.wrap import calls
from support.every import every
from support.wrapping import MODERN, Wrapped, call, line, result

RESULT = {"content": [{"type": "text", "text": "done"}]}
WANTED: dict[str, Any] = {"task": {"ttl": 60_000}}
ABLE = {**MODERN, CAPABILITIES_KEY: {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
STATUS = "notifications/tasks/status"
pytestmark = pytest.mark.promise("H-32")


@pytest.fixture
def recorded() -> Iterator[Wrapped]:
    with Door.open("wrap", {"version": 1}, store="memory") as door:
        yield Wrapped(door)


def begin(wrapped: Wrapped, era: str, task: str = "t1", ttl: Any = 60_000) -> None:
    """A call that becomes a task, whose answer passes as the bytes it is."""
    more = WANTED if era == "old" else {"_meta": ABLE}
    wrapped.client(call("c", "read_file", {"path": "a"}, **more))
    told = {"taskId": task, "status": "working"}
    created = {"task": {**told, "ttl": ttl}} if era == "old" else {**told, "resultType": "task", "ttlMs": ttl}
    answer = line(result("c", created))
    wrapped.server(answer)
    assert wrapped.client_got[-1] == answer
    assert ends(wrapped) == []


def ends(wrapped: Wrapped) -> list[tuple[str, str]]:
    return [(one["status"], one.get("summary") or one.get("error") or "") for one in wrapped.records("end")]


def ask(wrapped: Wrapped, method: str, answer: dict[str, Any], task: str = "t1") -> None:
    """A request about a task and its answer, both of which pass as they are."""
    request = line({"jsonrpc": "2.0", "id": "q", "method": method, "params": {"taskId": task}})
    wrapped.client(request)
    assert wrapped.server_got[-1] == request
    reply = line({"jsonrpc": "2.0", "id": "q", **answer})
    wrapped.server(reply)
    assert wrapped.client_got[-1] == reply


@pytest.mark.parametrize(
    ("era", "steps", "expected"),
    [
        ("old", [("tasks/get", {"status": "working"}), ("tasks/get", {"status": "completed"})], []),
        ("old", [("tasks/result", RESULT)], [("success", "done")]),
        ("old", [("tasks/result", RESULT), ("tasks/result", RESULT)], [("success", "done")]),
        ("old", [("tasks/result", {**RESULT, "isError": True})], [("failed", "done")]),
        ("old", [("tasks/result", {"error": {"code": -1, "message": "boom"}})], [("failed", "boom")]),
        ("old", [("tasks/get", {"status": "failed", "statusMessage": "no luck"})], [("failed", "no luck")]),
        ("old", [("tasks/get", {"error": {"code": -32602, "message": "x"}})], []),
        ("old", [("tasks/cancel", {"status": "cancelled"})], [("failed", "The client cancelled the task.")]),
        ("old", [("tasks/cancel", {"error": {"code": -32602, "message": "too late"}})], []),
        ("new", [("tasks/get", {"status": "completed", "result": RESULT})], [("success", "done")]),
        ("new", [("tasks/get", {"status": "input_required", "inputRequests": {}})], []),
        ("new", [("tasks/update", {"resultType": "complete"})], []),
        ("new", [("tasks/get", {"status": "failed", "error": {"message": "boom"}})], [("failed", "boom")]),
        ("new", [("tasks/cancel", {"resultType": "complete"})], [("failed", "The client cancelled the task.")]),
    ],
)
def test_the_record_of_a_task_closes_when_it_has_ended(
    recorded: Wrapped, era: str, steps: list[tuple[str, dict[str, Any]]], expected: list[tuple[str, str]]
) -> None:
    begin(recorded, era)
    for method, answer in steps:
        ask(recorded, method, answer if "error" in answer and "status" not in answer else {"result": answer})
    assert ends(recorded) == expected


@pytest.mark.parametrize(
    ("method", "told", "expected"),
    [
        (STATUS, {"status": "working"}, []),
        (STATUS, {"status": "cancelled"}, [("failed", "The task was cancelled.")]),
        ("notifications/tasks", {"status": "completed", "result": RESULT}, [("success", "done")]),
    ],
)
def test_what_the_server_says_unasked_ends_a_task_too(
    recorded: Wrapped, method: str, told: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    begin(recorded, "old" if method == STATUS else "new")
    recorded.server({"jsonrpc": "2.0", "method": method, "params": {"taskId": "t1", **told}})
    recorded.server({"jsonrpc": "2.0", "method": method, "params": {"taskId": ["t1"], **told}})
    assert ends(recorded) == expected


def test_a_task_expires_and_one_that_is_never_over_ends_with_its_server(recorded: Wrapped) -> None:
    begin(recorded, "old", "short", 0)
    recorded.ends.time_passes()
    assert ends(recorded) == [("failed", "The task expired before its result was fetched.")]
    recorded.client(call("d", "read_file", {"path": "b"}, **WANTED))
    recorded.server(result("d", {"task": {"taskId": "long", "ttl": None}}))
    recorded.between.calls.server_gone("it ended")
    assert ends(recorded)[1:] == [("failed", "it ended")]


def test_tasks_are_bounded(recorded: Wrapped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_TASKS", 2)
    for number in range(3):
        recorded.client(call(number, "read_file", {"path": str(number)}, **WANTED))
        recorded.server(result(number, {"task": {"taskId": f"t{number}"}}))
    assert [words[:35] for _, words in ends(recorded)] == ["The task is not followed any more: "]


@pytest.mark.parametrize(
    ("more", "dress"),
    [
        ({}, {"task": {"taskId": "t1"}}),
        ({}, {"resultType": "task", "taskId": "t1", "ttlMs": 86_400_000}),
        (WANTED, {"resultType": "task", "taskId": "t1"}),
        ({"_meta": MODERN}, {"resultType": "task", "taskId": "t1"}),
        ({"_meta": MODERN, **WANTED}, {"task": {"taskId": "t1"}}),
        ({"_meta": ABLE}, {"task": {"taskId": "t1"}}),
    ],
)
def test_an_answer_that_only_looks_like_a_task_is_the_result_of_its_call(
    recorded: Wrapped, more: dict[str, Any], dress: dict[str, Any]
) -> None:
    recorded.client(call(1, "read_file", {"path": "a"}, **more))
    recorded.server(result(1, {**RESULT, "isError": True, **dress}))
    assert ends(recorded) == [("failed", "done")]


def test_a_task_after_a_question_is_still_one(recorded: Wrapped) -> None:
    recorded.client(call(1, "read_file", {"path": "a"}, _meta=ABLE))
    recorded.server(result(1, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}))
    recorded.client(call(2, "read_file", {"path": "a"}, _meta=ABLE, requestState="s"))
    recorded.server(result(2, {"resultType": "task", "taskId": "t1"}))
    assert ends(recorded) == []


@every(
    ("ttl", "seconds"),
    [
        ("1500", 1.5), ("0", 0.0), ("9" * 401, LONGEST), ("9" * 30, LONGEST), ("-1", LONGEST), ("true", LONGEST),
        ('"60000"', LONGEST), ("[1]", LONGEST), ("{}", LONGEST), ("null", LONGEST),
    ],
)  # fmt: skip
def test_a_server_says_how_long_it_keeps_a_task_in_any_number(ttl: str, seconds: float) -> None:
    created = created_by(Raw(f'{{"task":{{"taskId":"t","ttl":{ttl}}}}}'.encode()), wanted=True, able=False)
    assert created is not None
    assert created.seconds == seconds


@pytest.mark.parametrize("era", ["old", "new"])
def test_the_warning_of_a_call_comes_with_the_result_of_its_task(era: str) -> None:
    with Door.open("wrap", {"gate": {"hosts": {"wrap": {"mode": "warn"}}}}, store="memory") as door:
        wrapped = Wrapped(door)
        more = WANTED if era == "old" else {"_meta": ABLE}
        wrapped.client(call(1, "read_file", {"path": "a", "limit": "many"}, **more))
        created = {"task": {"taskId": "t"}} if era == "old" else {"resultType": "task", "taskId": "t"}
        wrapped.server(result(1, created))
        method = "tasks/result" if era == "old" else "tasks/get"
        wrapped.client({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"taskId": "t"}})
        wrapped.server(result(2, RESULT if era == "old" else {"status": "completed", "result": RESULT}))
        found = wrapped.told[-1]["result"]
    content = (found if era == "old" else found["result"])["content"]
    assert content[0] == RESULT["content"][0]
    assert "limit" in content[1]["text"]


@pytest.mark.promise("P-06")
def test_a_task_that_needs_a_person_is_asked_about_before_it_begins(asking: Wrapped) -> None:
    asking.greet(elicitation={})
    asking.client(call(1, "delete_file", {"path": "a"}, **WANTED))
    (question,) = asking.told
    assert question["method"] == "elicitation/create"
    assert asking.server_got == []
    asking.client({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": True}}})
    assert asking.asked[0]["params"]["task"] == WANTED["task"]


def update(task: str = "t1") -> dict[str, Any]:
    params = {"taskId": task, "inputResponses": {"q": {}}}
    return {"jsonrpc": "2.0", "id": "u", "method": "tasks/update", "params": params}


@pytest.mark.promise("P-17")
@pytest.mark.parametrize("task", ["t1", "of nobody"])
def test_a_task_gets_no_answers_while_all_calls_are_paused(recorded: Wrapped, task: str) -> None:
    begin(recorded, "new")
    recorded.door.pause(by="ada")
    recorded.forget()
    recorded.client(update(task))
    recorded.client({**update(task), "id": None})
    assert recorded.server_got == []
    assert "paused by the operator" in recorded.told[0]["error"]["message"]
    assert {one["rule"] for one in recorded.records("refused")} == {"paused"}
    for method in ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel"):
        recorded.client({**update(), "method": method})
    assert len(recorded.server_got) == 4
    recorded.door.resume(by="ada")
    recorded.client(update(task))
    assert len(recorded.server_got) == 5


@pytest.mark.promise("P-17")
def test_an_update_that_can_be_read_in_two_ways_does_not_pass(recorded: Wrapped) -> None:
    recorded.client(b'{"jsonrpc":"2.0","id":1,"method":"tasks/update","method":"tasks/get","params":{}}\n')
    assert recorded.server_got == []


@pytest.mark.promise("P-09")
@pytest.mark.parametrize(("edit", "passes"), [('deny = ["read_file"]', False), ("repeats = 0", True)])
def test_a_task_gets_answers_only_where_the_policy_of_now_lets_it(tmp_path: Path, edit: str, passes: bool) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text("version = 1\n")
    with Door.open("wrap", policy, store="memory") as door:
        wrapped = Wrapped(door)
        begin(wrapped, "new")
        policy.write_text(f"version = 1\n[policy]\n{edit}\n")
        os.utime(policy, (1_000_000_000, 1_000_000_000))  # it has rested for long
        door._next_look = 0.0
        wrapped.forget()
        for _ in range(4):
            wrapped.client(update())
        assert len(wrapped.server_got) == 4 * passes
        assert len(wrapped.records("begin")) == 1 + passes, "judged once for each policy"
        assert all("not whitelisted" in one["error"]["message"] for one in wrapped.told)

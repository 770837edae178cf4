"""Calls that their server runs as tasks: what is said of them passes as it is, and their record waits for their end."""

from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.door import Door
from rightcall.mcp import wrap_tasks
from wrapping import MODERN, Wrapped, call, line, result

RESULT = {"content": [{"type": "text", "text": "done"}]}
WANTED: dict[str, Any] = {"task": {"ttl": 60_000}}
STATUS = "notifications/tasks/status"
pytestmark = pytest.mark.promise("H-32")


@pytest.fixture
def recorded() -> Iterator[Wrapped]:
    with Door.open("wrap", {"version": 1}, store="memory") as door:
        yield Wrapped(door)


def begin(wrapped: Wrapped, era: str, task: str = "t1", ttl: Any = 60_000) -> None:
    """A call that becomes a task, whose answer passes as the bytes it is."""
    more = WANTED if era == "old" else {"_meta": MODERN}
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
    monkeypatch.setattr(wrap_tasks, "MOST", 2)
    for number in range(3):
        recorded.client(call(number, "read_file", {"path": str(number)}, **WANTED))
        recorded.server(result(number, {"task": {"taskId": f"t{number}"}}))
    assert [words[:35] for _, words in ends(recorded)] == ["The task is not followed any more: "]


def test_an_answer_that_only_looks_like_a_task_is_the_result_of_its_call(recorded: Wrapped) -> None:
    recorded.client(call(1, "read_file", {"path": "a"}))
    recorded.server(result(1, {**RESULT, "task": {"taskId": "t1"}}))
    assert ends(recorded) == [("success", "done")]


@pytest.mark.parametrize("era", ["old", "new"])
def test_the_warning_of_a_call_comes_with_the_result_of_its_task(era: str) -> None:
    with Door.open("wrap", {"gate": {"hosts": {"wrap": {"mode": "warn"}}}}, store="memory") as door:
        wrapped = Wrapped(door)
        more = WANTED if era == "old" else {"_meta": MODERN}
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

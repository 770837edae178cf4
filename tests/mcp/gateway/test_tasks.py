"""Calls that become tasks, in both forms in use: judged before, recorded when they have ended, and nobody else's."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.mcp.gateway import tasks
from rightcall.mcp.messages import read
from rightcall.mcp.serving import Client
from support.every import every
from support.gateways import (
    NEW,
    TOOL,
    ScriptedLink,
    asked,
    endings,
    gateway_of,
    greeted,
    line_asked,
    old_server,
    once,
    policy,
    shared_of,
)

EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
CALL: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "hi"}}
WANTED: dict[str, Any] = {**CALL, "task": {"ttl": 60_000}}
RESULT = {"content": [{"type": "text", "text": "done"}]}
ABLE = {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
pytestmark = pytest.mark.promise("H-32")


class TaskServer:
    """`tasks` are its tasks by id; in the new era they carry their result."""

    def __init__(self, era: str = "old", ids: tuple[str, ...] = ("t1", "t2", "t3"), ttl: Any = 60_000) -> None:
        self.era = era
        self.ids = list(ids)
        self.ttl = ttl
        self.tasks: dict[str, dict[str, Any]] = {}
        self.results: dict[str, Any] = {}

    def __call__(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "server/discover" if self.era == "new":
                return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, **EXTENSION}}
            case "initialize" if self.era == "old":
                return {**old_server(method, params), "capabilities": ABLE}
            case "tools/list":
                return {"tools": [{**TOOL, "execution": {"taskSupport": "required"}}]}
            case "tools/call":
                return self._begin(params)
            case "tasks/list":
                return {"tasks": list(self.tasks.values())}
            case "subscriptions/listen" if self.era == "new":
                return None
            case "tasks/update":
                return {"resultType": "complete"}
        if method.startswith("tasks/"):
            return self._about(method, self.tasks[params["taskId"]])
        raise LookupError(method)

    def _begin(self, params: dict[str, Any]) -> Any:
        if self.era == "old" and "task" not in params:
            raise LookupError("requires task augmentation")
        name = self.ids.pop(0)
        task = self.tasks[name] = {
            "taskId": name,
            "status": "working",
            "ttl" if self.era == "old" else "ttlMs": self.ttl,
        }
        return {"task": dict(task)} if self.era == "old" else {**task, "resultType": "task"}

    def _about(self, method: str, task: dict[str, Any]) -> Any:
        if method == "tasks/cancel":
            task["status"] = "cancelled"
        if method == "tasks/result":
            return self.results.get(task["taskId"], RESULT)
        return dict(task) if self.era == "old" else {**task, "resultType": "complete"}


def test_a_task_of_2025_is_asked_for_followed_and_recorded_when_its_result_has_come() -> None:
    server = TaskServer()
    link = ScriptedLink(server)

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            (tool,) = (await asked(client, "tools/list"))["tools"]
            begun = await asked(client, "tools/call", **{**WANTED, "arguments": {"texT": "hi"}})
            open_still = endings(gateway)
            sent = link.said("tools/call")[0]["params"]
            working = await asked(client, "tasks/get", taskId="t1")
            server.tasks["t1"]["status"] = "completed"
            result = await asked(client, "tasks/result", taskId="t1")
            listed = await asked(client, "tasks/list")
            found = [tool["execution"], begun["task"]["taskId"], open_still, sent["task"], sent["arguments"]]
            return [*found, working["status"], result, [one["taskId"] for one in listed["tasks"]], endings(gateway)]

    execution, name, open_still, task, arguments, working, result, listed, ended = asyncio.run(main())
    assert execution == {"taskSupport": "required"}
    assert (name, working, result, listed) == ("t1", "working", RESULT, ["t1"])
    assert (task, arguments) == ({"ttl": 60_000}, {"text": "hi"})
    assert open_still == []
    assert ended == [("success", "done")]


@every(
    ("told", "status", "words"),
    [
        ({"status": "completed", "result": RESULT}, "success", "done"),
        ({"status": "completed", "result": {**RESULT, "isError": True}}, "failed", "done"),
        ({"status": "failed", "error": {"code": -32603, "message": "boom"}}, "failed", "boom"),
        ({"status": "cancelled", "statusMessage": "enough"}, "failed", "enough"),
    ],
)
def test_a_task_of_2026_is_the_servers_to_begin_and_is_recorded_by_its_end(
    told: dict[str, Any], status: str, words: str
) -> None:
    server = TaskServer("new")
    link = ScriptedLink(server)

    async def main() -> Any:
        async with gateway_of(policy("a"), a=link) as gateway:
            begun = await once(gateway, "tools/call", capabilities=EXTENSION, **CALL)
            working = await once(gateway, "tasks/get", capabilities=EXTENSION, taskId="t1")
            update = await once(gateway, "tasks/update", capabilities=EXTENSION, taskId="t1", inputResponses={"q": {}})
            before = endings(gateway)
            server.tasks["t1"] |= told
            ended = await once(gateway, "tasks/get", capabilities=EXTENSION, taskId="t1")
            headers = [one["headers"] for one in link.said("tasks/get")]
            return begun, working["status"], update, before, ended, headers[0], endings(gateway)

    begun, working, update, before, ended, headers, recorded = asyncio.run(main())
    assert (begun["resultType"], begun["taskId"], working, before) == ("task", "t1", "working", [])
    assert update == {"resultType": "complete"}
    assert told.items() <= ended.items()
    assert headers["mcp-name"] == "t1"
    assert recorded == [(status, words)]


@every("era", ["old", "new"])
@every("method", ["tasks/get", "tasks/cancel", "tasks/result", "tasks/update"])
def test_a_task_is_unknown_to_every_other_caller(era: str, method: str) -> None:
    link = ScriptedLink(TaskServer(era))

    async def main() -> list[Any]:
        async with shared_of(policy("a"), lambda _: link) as shared:
            found: list[Any] = []
            for caller in ("ada", "eve"):
                if era == "old":
                    client = await greeted(shared, caller)
                    if caller == "ada":
                        await asked(client, "tools/call", **WANTED)
                    found.append([await asked(client, method, taskId="t1"), await asked(client, "tasks/list")])
                else:
                    if caller == "ada":
                        await once(shared, "tools/call", caller, EXTENSION, **CALL)
                    found.append([await once(shared, method, caller, EXTENSION, taskId="t1"), {"tasks": []}])
            return found

    (own, listed), (others, none) = asyncio.run(main())
    is_there = method not in (("tasks/update",) if era == "old" else ("tasks/result",))
    assert others["code"] == (-32602 if is_there else -32601)
    assert ("code" in own) is not is_there
    assert (len(listed["tasks"]), none["tasks"]) == (int(era == "old"), [])
    assert len([one for one in link.sent if one.get("method") == method]) == int(is_there)


@pytest.mark.parametrize(
    ("capabilities", "method", "code"),
    [({}, "tasks/get", -32021), (EXTENSION, "tasks/get", -32602), (EXTENSION, "tasks/list", -32601)],
)
def test_tasks_of_2026_are_for_clients_that_can_have_them(capabilities: Any, method: str, code: int) -> None:
    async def main() -> tuple[Any, Any]:
        async with gateway_of(policy("a"), a=ScriptedLink(TaskServer("new"))) as gateway:
            told = await once(gateway, "server/discover")
            return told["capabilities"], await once(gateway, method, capabilities=capabilities, taskId="x")

    told, found = asyncio.run(main())
    assert told["extensions"] == EXTENSION["extensions"]
    assert "tasks" not in told
    assert found["code"] == code


def test_servers_without_tasks_leave_the_gateway_without() -> None:
    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=ScriptedLink()) as gateway:
            client = Client(gateway, "gateway", lambda _: None)
            told = await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
            plain = await asked(client, "tools/call", **WANTED)  # whoever knows no tasks does not mind
            return [told["capabilities"], await asked(client, "tasks/get", taskId="t1"), plain]

    told, refused, plain = asyncio.run(main())
    assert "tasks" not in told
    assert refused["code"] == -32601
    assert plain["content"][0]["text"] == "hi"


# ── the policy ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_task_that_the_policy_refuses_is_an_error_and_never_begins() -> None:
    link = ScriptedLink(TaskServer())
    rules = policy("a", policy={"deny": ["echo"]})

    async def main() -> list[Any]:
        async with gateway_of(rules, a=link) as gateway:
            client = await greeted(gateway)
            denied = await asked(client, "tools/call", **WANTED)
            wrong = await asked(client, "tools/call", **{**WANTED, "name": "a_nothing_like_it"})
            return [denied, wrong, link.said("tools/call")]

    denied, wrong, sent = asyncio.run(main())
    assert denied["code"] == wrong["code"] == -32602
    assert "not whitelisted" in denied["message"] or "Unknown tool" in denied["message"]
    assert sent == []


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("says", [True, False])
def test_a_task_that_needs_a_person_begins_when_that_has_said_yes(says: bool) -> None:
    link = ScriptedLink(TaskServer())
    rules = policy("a", policy={"approval": {"tools": ["a/echo"]}})
    heard: list[bytes] = []

    async def main() -> tuple[Any, int]:
        async with gateway_of(rules, a=link) as gateway:
            client = await greeted(gateway, capabilities={"elicitation": {}}, heard=heard)
            calling = asyncio.create_task(asked(client, "tools/call", **WANTED))
            while not any(b"elicitation/create" in one for one in heard):
                await asyncio.sleep(0.001)
            question = json.decode(heard[-1])
            content = {"action": "accept", "content": {"ok": says}}
            message = read(json.encode({"id": question["id"], "result": content}))
            assert message is not None
            client.answered(message)
            return await calling, len(link.said("tools/call"))

    answer, sent = asyncio.run(asyncio.wait_for(main(), 25))
    assert sent == int(says)
    assert answer["task"]["taskId"] == "t1" if says else answer["code"] == -32602


# ── how they end ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def _cancelled(client: Client, link: ScriptedLink, gateway: Any) -> None:
    await asked(client, "tasks/cancel", taskId="t1")


async def _told_failed(client: Client, link: ScriptedLink, gateway: Any) -> None:
    status = {"taskId": "t1", "status": "failed", "statusMessage": "no luck"}
    link.say({"method": "notifications/tasks/status", "params": status})


async def _lost(client: Client, link: ScriptedLink, gateway: Any) -> None:
    assert link.heard is not None
    link.heard.lost("it ended with exit code 3")
    while not endings(gateway):
        await asyncio.sleep(0.001)


async def _closed(client: Client, link: ScriptedLink, gateway: Any) -> None:
    await gateway.aclose()


@every(
    ("how", "words"),
    [
        (_cancelled, "The client cancelled the task."),
        (_told_failed, "no luck"),
        (_lost, "exit code 3"),
        (_closed, "RightCall ended before the task did."),
    ],
)
def test_a_task_without_a_result_is_recorded_by_how_it_ended(how: Callable[..., Any], words: str) -> None:
    link = ScriptedLink(TaskServer())

    async def main() -> list[tuple[str, str]]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            await asked(client, "tools/call", **WANTED)
            await how(client, link, gateway)
            return endings(gateway)

    ((status, told),) = asyncio.run(asyncio.wait_for(main(), 25))
    assert status == "failed"
    assert words in told


def test_a_task_that_nobody_fetches_expires() -> None:
    link = ScriptedLink(TaskServer(ttl=10))

    async def main() -> tuple[list[tuple[str, str]], Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            await asked(client, "tools/call", **WANTED)
            while not endings(gateway):
                await asyncio.sleep(0.005)
            return endings(gateway), await asked(client, "tasks/get", taskId="t1")

    ended, after = asyncio.run(asyncio.wait_for(main(), 25))
    assert ended == [("failed", "The task expired before its result was fetched.")]
    assert after["code"] == -32602


def test_tasks_are_bounded_for_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_OF_ONE", 2)
    link = ScriptedLink(TaskServer())

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            for text in ("1", "2", "3"):
                await asked(client, "tools/call", **{**WANTED, "arguments": {"text": text}})
            return [(await asked(client, "tasks/get", taskId=name)).get("status") for name in ("t1", "t2", "t3")]

    assert asyncio.run(main()) == [None, "working", "working"]


def test_two_servers_that_give_one_id_are_told_apart() -> None:
    links = {name: ScriptedLink(TaskServer(ids=("7",))) for name in ("a", "b")}

    async def main() -> tuple[list[str], list[str], list[str]]:
        async with gateway_of(policy("a", "b"), **links) as gateway:
            client = await greeted(gateway)
            calls = [await asked(client, "tools/call", **{**WANTED, "name": f"{name}_echo"}) for name in links]
            names = [one["task"]["taskId"] for one in calls]
            found = [(await asked(client, "tasks/get", taskId=name))["taskId"] for name in names]
            listed = [one["taskId"] for one in (await asked(client, "tasks/list"))["tasks"]]
            return names, found, listed

    assert asyncio.run(main()) == (["7", "7.b"], ["7", "7.b"], ["7", "7.b"])
    assert [link.said("tasks/get")[0]["params"]["taskId"] for link in links.values()] == ["7", "7"]


# ── what is said of them ─────────────────────────────────────────────────────────────────────────────────────────────


def test_status_and_questions_and_progress_of_a_task_reach_the_client_that_began_it() -> None:
    link = ScriptedLink(TaskServer())
    heard: dict[str, list[bytes]] = {"ada": [], "eve": []}
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t2"}}

    async def main() -> None:
        async with gateway_of(policy("a"), a=link) as gateway:
            for name in heard:
                client = await greeted(gateway, name, {"elicitation": {}}, heard[name])
                await asked(client, "tools/call", **WANTED, _meta={"progressToken": f"of {name}"})
            for one in heard.values():
                one.clear()
            token = link.said("tools/call")[0]["params"]["_meta"]["progressToken"]
            link.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
            link.say({"method": "notifications/tasks/status", "params": {"taskId": "t1", "status": "working"}})
            link.say({"id": "q", "method": "elicitation/create", "params": {"message": "?", "_meta": related}})
            while not heard["eve"]:
                await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 25))
    told = {name: [json.decode(one) for one in lines] for name, lines in heard.items()}
    assert [one["method"] for one in told["ada"]] == ["notifications/progress", "notifications/tasks/status"]
    assert told["ada"][0]["params"]["progressToken"] == "of ada"
    assert [one["method"] for one in told["eve"]][:1] == ["elicitation/create"]


def test_who_listens_for_a_task_of_2026_hears_of_it_and_nobody_else_does() -> None:
    """The extension's way: `taskIds` in `subscriptions/listen`, one by one, and only by those who began them."""
    server = TaskServer("new", ids=("7",))
    links = {"a": ScriptedLink(TaskServer("new", ids=("7",))), "b": ScriptedLink(server)}
    heard: dict[str, list[bytes]] = {"ada": [], "eve": []}
    meta = {f"{NEW}protocolVersion": "2026-07-28", f"{NEW}clientCapabilities": EXTENSION}

    def about(link: ScriptedLink) -> list[Any]:
        return [one["params"]["notifications"].get("taskIds") for one in link.said("subscriptions/listen")]

    async def main() -> list[Any]:
        async with gateway_of(policy("a", "b"), **links) as gateway:
            for name in links:
                await once(gateway, "tools/call", "ada", EXTENSION, **{**CALL, "name": f"{name}_echo"})
            wanted = {"taskIds": ["7.b", "7", "none"]}
            listens = [
                asyncio.create_task(
                    asked(Client(gateway, name, lines.append), "subscriptions/listen", notifications=wanted, _meta=meta)
                )
                for name, lines in heard.items()
            ]
            while ["7"] not in about(links["b"]):
                await asyncio.sleep(0)
            said = {"taskId": "7", "status": "completed", "result": RESULT, "_meta": {f"{NEW}subscriptionId": 99}}
            links["b"].say({"method": "notifications/tasks", "params": said})
            links["b"].say({"method": "notifications/tasks", "params": {"taskId": "8", "status": "working"}})
            unable = await once(gateway, "subscriptions/listen", "ada", notifications=wanted)
            gateway.news.end()
            await asyncio.gather(*listens)
            return [unable["code"], endings(gateway)]

    found = asyncio.run(asyncio.wait_for(main(), 5))
    assert found == [-32021, [("success", "done")]]
    told = {name: [json.decode(one) for one in lines] for name, lines in heard.items()}
    assert [one["params"]["notifications"] for one in told["ada"][:1]] == [{"taskIds": ["7.b", "7"]}]
    assert [one["params"]["notifications"] for one in told["eve"]] == [{}]
    news = {"taskId": "7.b", "status": "completed", "result": RESULT, "_meta": {f"{NEW}subscriptionId": 1}}
    assert [(one["method"], one["params"]) for one in told["ada"][1:]] == [("notifications/tasks", news)]
    asking = [one["params"] for one in links["b"].said("subscriptions/listen")]
    able = [one["_meta"][f"{NEW}clientCapabilities"] for one in asking if "taskIds" in one["notifications"]]
    assert able == [EXTENSION]


def test_a_server_asks_for_the_task_that_a_client_runs_for_it() -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))
    heard: list[bytes] = []

    async def reply(client: Client, method: str, result: Any) -> None:
        while not any(method.encode() in one for one in heard):
            await asyncio.sleep(0.001)
        question = json.decode(heard.pop())
        message = read(json.encode({"id": question["id"], "result": result}))
        assert message is not None
        client.answered(message)

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway, capabilities={"sampling": {}}, heard=heard)
            calling = asyncio.create_task(asked(client, "tools/call", **CALL))
            while not link.said("tools/call"):
                await asyncio.sleep(0.001)
            link.say({"id": "s", "method": "sampling/createMessage", "params": {"task": {}}})
            await reply(client, "sampling/createMessage", {"task": {"taskId": "c1", "status": "working"}})
            link.say({"id": "g", "method": "tasks/get", "params": {"taskId": "c1"}})
            await reply(client, "tasks/get", {"taskId": "c1", "status": "completed"})
            link.say({"id": "n", "method": "tasks/get", "params": {"taskId": "c2"}})
            while not any(one.get("id") == "n" for one in link.sent):
                await asyncio.sleep(0.001)
            link.say({"id": link.said("tools/call")[0]["id"], "result": RESULT})
            await calling
            return [next(one for one in link.sent if one.get("id") == name) for name in ("s", "g", "n")]

    first, second, third = asyncio.run(asyncio.wait_for(main(), 25))
    assert first["result"]["task"]["taskId"] == "c1"
    assert second["result"]["status"] == "completed"
    assert third["error"]["code"] == -32601


def test_what_a_client_writes_beside_a_task_keeps_its_bytes() -> None:
    server = TaskServer()
    link = ScriptedLink(server)
    line = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"a_echo","arguments":{"text":"1.10"},"task":{"ttl":1.50}}}'
    )

    async def main() -> Any:
        async with gateway_of(policy("a"), a=link) as gateway:
            return await line_asked(await greeted(gateway), line)

    assert asyncio.run(main())["task"]["taskId"] == "t1"
    assert link.said("tools/call")[0]["params"]["task"] == {"ttl": 1.5}


def test_a_task_is_found_by_its_caller_whatever_else_the_request_says_that_the_client_can_do() -> None:
    links: list[ScriptedLink] = []
    server = TaskServer("new")

    def opened(_: Any) -> ScriptedLink:
        links.append(ScriptedLink(server))
        return links[-1]

    async def main() -> Any:
        async with shared_of(policy("a"), opened) as shared:
            await once(shared, "tools/call", capabilities={**EXTENSION, "elicitation": {}}, **CALL)
            return await once(shared, "tasks/get", capabilities=EXTENSION, taskId="t1")

    assert asyncio.run(main())["status"] == "working"
    assert len(links) == 2


@pytest.mark.promise("P-17")
def test_a_task_gets_no_answers_while_all_calls_are_paused() -> None:
    link = ScriptedLink(TaskServer("new"))

    async def main() -> Any:
        async with gateway_of(policy("a"), a=link) as gateway:
            await once(gateway, "tools/call", capabilities=EXTENSION, **CALL)
            gateway.door.pause(by="ada")
            refused = await once(gateway, "tasks/update", capabilities=EXTENSION, taskId="t1", inputResponses={"q": {}})
            for method in ("tasks/get", "tasks/cancel"):
                await once(gateway, method, capabilities=EXTENSION, taskId="t1")
            entries = gateway.door.store.look(lambda tables: list(tables.entries()))
            return refused, [json.decode(one.body)["rule"] for one in entries if one.kind == "refused"]

    refused, rules = asyncio.run(main())
    assert "paused by the operator" in refused["message"]
    assert rules == ["paused"]
    assert [one["method"] for one in link.sent if one["method"].startswith("tasks/")] == ["tasks/get", "tasks/cancel"]


@pytest.mark.promise("P-09")
@pytest.mark.parametrize(("edit", "passes"), [('deny = ["echo"]', False), ("repeats = 0", True)])
def test_a_task_gets_answers_only_where_the_policy_of_now_lets_it(tmp_path: Path, edit: str, passes: bool) -> None:
    link = ScriptedLink(TaskServer("new"))
    file, rest = tmp_path / "rightcall.toml", '[servers.a]\ncommand = ["x"]\neffects = ["read"]\n'
    file.write_text(f"version = 1\n{rest}")

    async def main() -> None:
        async with shared_of(file, lambda _: link) as shared:
            await once(shared, "tools/call", capabilities=EXTENSION, **CALL)
            before = shared.door.policy.digest
            file.write_text(f"version = 1\n[policy]\n{edit}\n{rest}")
            os.utime(file, (1_000_000_000, 1_000_000_000))  # it has rested for long
            shared.door._next_look = 0.0
            assert shared.door.policy.digest != before
            for _ in range(4):
                await once(shared, "tasks/update", capabilities=EXTENSION, taskId="t1", inputResponses={"q": {}})

    asyncio.run(main())
    assert len(link.said("tasks/update")) == 4 * passes


@pytest.mark.parametrize("capabilities", [{}, {"extensions": {"other": {}}}, {"extensions": 1}])
def test_an_answer_that_only_looks_like_a_task_is_the_result_of_its_call(capabilities: dict[str, Any]) -> None:
    dressed = {**RESULT, "isError": True, "resultType": "task", "taskId": "x", "ttlMs": 86_400_000}
    server = TaskServer("new")
    link = ScriptedLink(lambda method, params: dressed if method == "tools/call" else server(method, params))

    async def main() -> list[tuple[str, str]]:
        async with gateway_of(policy("a"), a=link) as gateway:
            await once(gateway, "tools/call", capabilities=capabilities, **CALL)
            return endings(gateway)

    assert asyncio.run(main()) == [("failed", "done")]


def test_an_answer_that_only_looks_like_a_question_is_the_result_of_its_call() -> None:
    dressed = {**RESULT, "isError": True, "resultType": "input_required", "inputRequests": {}}
    link = ScriptedLink(lambda method, params: dressed if method == "tools/call" else old_server(method, params))

    async def main() -> list[tuple[str, str]]:
        async with gateway_of(policy("a"), a=link) as gateway:
            await asked(await greeted(gateway), "tools/call", **CALL)
            return endings(gateway)

    assert [status for status, _ in asyncio.run(main())] == ["failed"]

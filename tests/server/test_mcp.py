"""The endpoint `/mcp`, asked as HTTP would ask it: sessions, streams, headers, and what is no request at all."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from rightcall.errors import StoreError
from rightcall.mcp.serving import STOPPED, WITHDRAWN
from rightcall.server.mcp import Still
from support.every import every
from support.gateways import META, ROUTED, Answer, ScriptedLink, Site, always, call, endings, old_server, run

pytestmark = pytest.mark.promise("H-04")


def test_a_session_of_the_old_era_opens_answers_and_ends() -> None:
    async def work(site: Site) -> list[Any]:
        own = await site.session()
        answer = await site.ask(body=call(), **own)
        ended = await site.ask("DELETE", **own)
        after = await site.ask(body=call(), **own)
        return [answer.json, ended.status, after.status, after.json["error"]["message"]]

    answer, ended, after, why = run(work)
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "hi"}]}}
    assert (ended, after, why) == (200, 404, "Session not found")


def test_anothers_session_is_found_by_nobody_else() -> None:
    async def work(site: Site) -> tuple[int, int]:
        own = await site.session(caller="ada")
        stolen: dict[str, Any] = {**own, "caller": "eve"}
        return (await site.ask(body=call(), **own)).status, (await site.ask(body=call(), **stolen)).status

    assert run(work) == (200, 404)


@pytest.mark.promise("H-33")
@every(
    ("accept", "status", "kind"),
    [("application/json, text/event-stream", 200, "text/event-stream"), ("application/json", 202, None)],
)
@every("progress", [False, True])
def test_a_cancelled_call_is_not_answered(accept: str, status: int, kind: str | None, progress: bool) -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    async def work(site: Site) -> tuple[Answer, int]:
        own = await site.session()
        more: dict[str, Any] = {"_meta": {"progressToken": "p"}}
        calling = asyncio.create_task(site.ask(body=call(**more), accept=accept, **own))
        while not link.said("tools/call"):
            await asyncio.sleep(0.001)
        if progress:
            token = link.said("tools/call")[0]["params"]["_meta"]["progressToken"]
            link.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        await site.ask(body=cancel, **own)
        answer = await calling
        link.say({"id": link.said("tools/call")[0]["id"], "result": {}})
        return answer, len(link.said("notifications/cancelled"))

    answer, told = run(work, link)
    assert (answer.status, answer.headers.get("content-type"), answer.is_over, told) == (status, kind, True, 1)
    assert [one.get("method") for one in answer.events] == (["notifications/progress"] if progress and kind else [])
    assert b"result" not in answer.body
    assert b"error" not in answer.body


@every(
    ("method", "body", "headers", "status", "code"),
    [
        ("POST", b"{", {}, 400, -32700),
        ("POST", b"[" * 5000, {}, 400, -32700),
        ("POST", call(), {}, 400, -32600),
        ("POST", {"jsonrpc": "2.0"}, {}, 400, -32600),
        ("POST", [], {}, 400, -32600),
        ("GET", None, {}, 400, -32600),
        ("DELETE", None, {}, 400, -32600),
        ("PUT", None, {}, 405, -32600),
        ("POST", call(), {"mcp_session_id": "x"}, 404, -32600),
        ("POST", b"{", {"mcp_protocol_version": "2026-07-28"}, 400, -32700),
        ("POST", [call()], {"mcp_protocol_version": "2026-07-28"}, 400, -32600),
        ("POST", call(), {"mcp_protocol_version": "2026-07-28"}, 400, -32020),
        ("POST", call(_meta=META), {"mcp_protocol_version": "2026-07-29", "mcp_method": "tools/call"}, 400, -32020),
        (
            "POST", call(_meta=META),
            {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "other"}, 400, -32020,
        ),
        (
            "POST", {"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": META}},
            {"mcp_protocol_version": "2026-07-28", "mcp_method": "no/such"}, 404, -32601,
        ),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_with_a_reason(
    method: str, body: Any, headers: dict[str, Any], status: int, code: int
) -> None:
    async def work(site: Site) -> Answer:
        return await site.ask(method, body, **headers)

    answer = run(work)
    assert (answer.status, answer.json["error"]["code"]) == (status, code)


def test_a_request_of_the_new_era_stands_for_itself_and_its_result_says_that_it_is_complete() -> None:
    async def work(site: Site) -> Answer:
        return await site.ask(body=call(_meta=META), **ROUTED)

    answer = run(work)
    assert answer.json["result"] == {"content": [{"type": "text", "text": "hi"}], "resultType": "complete"}
    assert "mcp-session-id" not in answer.headers


def test_a_batch_of_the_revision_that_has_them() -> None:
    async def work(site: Site) -> list[Any]:
        own = await site.session()
        both = await site.ask(body=[call(1), {"jsonrpc": "2.0", "method": "notifications/x"}, call(2, "ho")], **own)
        none = await site.ask(body=[{"jsonrpc": "2.0", "method": "notifications/x"}], **own)
        return [[one["id"] for one in both.json], none.status]

    assert run(work) == [[1, 2], 202]


def test_what_comes_before_an_answer_makes_it_a_stream_and_news_come_on_the_standing_one() -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))

    async def work(site: Site) -> tuple[Answer, Answer]:
        own = await site.session()
        standing = asyncio.create_task(site.ask("GET", **own))
        answer = asyncio.create_task(site.ask(body=call(_meta={"progressToken": "mine"}), **own))
        while not link.said("tools/call"):
            await asyncio.sleep(0)
        (sent,) = link.said("tools/call")
        token = sent["params"]["_meta"]["progressToken"]
        link.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        await asyncio.sleep(0)
        link.say({"id": sent["id"], "result": {"content": []}})
        found = await answer
        link.say({"method": "notifications/prompts/list_changed"})
        await asyncio.sleep(0.01)
        await site.ask("DELETE", **own)
        return found, await standing

    answer, standing = run(work, link)
    assert answer.headers["content-type"] == "text/event-stream"
    assert [one.get("method", "answer") for one in answer.events] == ["notifications/progress", "answer"]
    assert answer.events[0]["params"] == {"progressToken": "mine", "progress": 1}
    assert [one["method"] for one in standing.events] == ["notifications/prompts/list_changed"]


@pytest.mark.parametrize(("era", "cancelled"), [("new", 1), ("old", 0)])
def test_closing_the_connection_cancels_a_request_in_the_new_era_only(era: str, cancelled: int) -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))

    async def work(site: Site) -> int:
        gone = asyncio.Event()
        if era == "new":
            request = asyncio.create_task(site.ask(body=call(_meta=META), gone=gone, **ROUTED))
        else:
            request = asyncio.create_task(site.ask(body=call(), gone=gone, **await site.session()))
        while not link.said("tools/call"):
            await asyncio.sleep(0)
        gone.set()
        await request
        await asyncio.sleep(0.01)
        return len(link.said("notifications/cancelled"))

    assert run(work, link) == cancelled


async def _left(site: Site, own: Any, request: asyncio.Task[Answer], gone: asyncio.Event) -> None:
    gone.set()
    await request


async def _took_back(site: Site, own: Any, request: asyncio.Task[Answer], gone: asyncio.Event) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    await site.ask(body=cancel, **own)
    await request


async def _late(site: Site, own: Any, request: asyncio.Task[Answer], gone: asyncio.Event) -> None:
    """As a server does it whose grace time is over."""
    request.cancel()
    await asyncio.wait((request,))


async def _nothing(site: Site, own: Any, request: asyncio.Task[Answer], gone: asyncio.Event) -> None:
    pass


@pytest.mark.promise("H-03")
@every(
    ("era", "how", "words"),
    [
        ("new", _left, WITHDRAWN), ("old", _took_back, WITHDRAWN),
        ("new", _late, STOPPED), ("old", _late, STOPPED), ("new", _nothing, STOPPED), ("old", _nothing, STOPPED),
    ],
)  # fmt: skip
def test_a_call_without_an_answer_is_recorded_by_who_has_ended_it(
    era: str, how: Callable[..., Coroutine[Any, Any, None]], words: str
) -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))

    async def work(site: Site) -> list[tuple[str, str]]:
        gone = asyncio.Event()
        own: dict[str, Any] = ROUTED if era == "new" else await site.session()
        body = call(_meta=META) if era == "new" else call()
        request = asyncio.create_task(site.ask(body=body, gone=gone, **own))
        while not link.said("tools/call"):
            await asyncio.sleep(0)
        site.endpoint.stop()
        await how(site, own, request, gone)
        await site.endpoint.gateway.cut_off()
        await asyncio.wait((request,))
        return endings(site.endpoint.gateway)

    assert run(work, link) == [("failed", words)]


@pytest.mark.promise("H-03")
def test_a_stop_ends_the_standing_streams_and_no_call() -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))

    async def work(site: Site) -> list[Any]:
        own = await site.session()
        standing = asyncio.create_task(site.ask("GET", **own))
        request = asyncio.create_task(site.ask(body=call(), **own))
        while not link.said("tools/call"):
            await asyncio.sleep(0)
        site.endpoint.stop()
        assert (await standing).is_over
        draining = asyncio.create_task(site.endpoint.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        link.say({"id": link.said("tools/call")[0]["id"], "result": {"content": []}})
        await draining
        return [(await request).json["result"], (await site.ask("GET", **own)).is_over]

    assert run(work, link) == [{"content": []}, True]


async def _revoked() -> bool:
    return False


async def _unreadable() -> bool:
    raise StoreError("the disk is gone")


@pytest.mark.promise("P-14")
@every("after", [_revoked, _unreadable])
@every("era", ["old", "new"])
def test_a_stream_ends_with_its_token_and_tells_nothing_more(era: str, after: Still) -> None:
    counts: list[Still] = [always]
    listen = {"notifications": {"promptsListChanged": True}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen}
    routed = {"mcp_protocol_version": "2026-07-28", "mcp_method": "subscriptions/listen"}

    async def work(site: Site) -> tuple[Answer, Answer]:
        def opened(**more: Any) -> Coroutine[Any, Any, Answer]:
            if era == "new":
                return site.ask(body=message, **routed, **more)
            return site.ask("GET", **own, **more)

        own = await site.session()
        revoked = asyncio.create_task(opened(still=lambda: counts[-1]()))
        while not site.endpoint.gateway.first.news.is_heard:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        counts.append(after)
        site.link.say({"method": "notifications/prompts/list_changed"})
        async with asyncio.timeout(25):
            return await revoked, await site.ask(body=call(_meta=META), **ROUTED)

    ended, other = run(work)
    assert b"list_changed" not in ended.body
    assert other.status == 200

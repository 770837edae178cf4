"""One session with one server, with the server in memory: whose answer is whose."""

import asyncio
from typing import Any

import pytest

from rightcall.mcp.messages import Answer, success, value
from rightcall.mcp.session import ServerGone, ServerSlow, Session
from rightcall.mcp.upstream import Hello, greet
from support.every import every
from support.gateways import ScriptedLink, old_server

HELLO = Hello({"name": "t", "version": "1"}, {})
pytestmark = pytest.mark.promise("X-07")


class Owner:
    def __init__(self) -> None:
        self.told: list[tuple[str, Any, Any]] = []
        self.asked_by: list[Any] = []
        self.gone: list[str] = []

    async def asked(self, method: str, params: Any, cause: Any) -> Answer:
        self.asked_by.append(cause)
        return success({"method": method})

    def told_by_server(self, method: str, params: Any, cause: Any) -> None:
        self.told.append((method, value(params), cause))

    def lost(self, session: Session, why: str, words: str = "") -> None:
        self.gone.append(why)


class Cause:
    wants_progress = True
    outlives = False

    def __init__(self, party: object) -> None:
        self.party = party
        self.seen: list[Any] = []

    def progress(self, params: dict[str, Any]) -> None:
        self.seen.append({key: value(raw) for key, raw in params.items()})

    def paused(self, seconds: float) -> None:
        self.seen.append(seconds)


def silent(method: str, params: dict[str, Any]) -> Any:
    return None if method == "tools/call" else old_server(method, params)


async def opened(link: ScriptedLink) -> tuple[Session, Owner]:
    owner = Owner()
    session = Session(link, owner)
    await session.open()
    await greet(session, HELLO, 1.0)
    return session, owner


def test_an_era_is_found_out_and_the_handshake_follows_where_it_is_the_old() -> None:
    async def main() -> tuple[Any, list[str]]:
        link = ScriptedLink()
        session, _ = await opened(link)
        return session.agreed, [one["method"] for one in link.sent]

    agreed, methods = asyncio.run(main())
    assert (agreed.era, agreed.version) == ("old", "2025-11-25")
    assert methods == ["server/discover", "initialize", "notifications/initialized"]


@every(
    ("told", "era"),
    [
        ({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}, "new"),
        ({"supportedVersions": ["2025-11-25"], "capabilities": {}}, "old"),
        ({"supportedVersions": "all"}, "old"),
        ({}, "old"),
    ],
)
def test_only_a_server_that_names_a_new_revision_is_of_the_new_era(told: dict[str, Any], era: str) -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        return told if method == "server/discover" else old_server(method, params)

    async def main() -> Any:
        return (await opened(ScriptedLink(answering)))[0].agreed

    assert asyncio.run(main()).era == era


def test_a_server_of_a_revision_nobody_knows_is_not_joined() -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        return {"protocolVersion": "1999-01-01"} if method == "initialize" else old_server(method, params)

    with pytest.raises(ServerGone, match="1999-01-01"):
        asyncio.run(opened(ScriptedLink(answering)))


def test_a_second_answer_one_nobody_asked_for_and_noise_are_nobodys() -> None:
    async def main() -> tuple[Any, Any]:
        link = ScriptedLink(silent)
        session, _ = await opened(link)
        call = asyncio.create_task(session.request("tools/call", {}, 5.0))
        await asyncio.sleep(0)
        number = link.said("tools/call")[0]["id"]
        assert link.heard is not None
        for noise in (b"hello\n", b"[]\n", b"null\n", b"[1, {}]\n", b"\xff\n", b"[" * 5000 + b"\n"):
            link.heard.message(noise, None)
        link.say({"id": 999, "result": {}})
        link.say({"id": number, "result": {"n": 1}})
        link.say({"id": number, "result": {"n": 2}})
        first = await call
        link.say({"id": number, "result": {"n": 3}})
        return first, await session.request("tools/list", {}, 5.0)

    first, later = asyncio.run(main())
    assert value(first.result) == {"n": 1}
    assert "tools" in value(later.result)


def test_an_answer_keeps_its_bytes() -> None:
    raw = b'{"n": 1.50, "big": 123456789012345678901234567890, "\\u00e9": [ ]}'

    async def main() -> bytes:
        link = ScriptedLink(silent)
        session, _ = await opened(link)
        call = asyncio.create_task(session.request("tools/call", {}, 5.0))
        await asyncio.sleep(0)
        assert link.heard is not None
        number = link.said("tools/call")[0]["id"]
        link.heard.message(b'{"id": %d, "result": %b}' % (number, raw), None)
        return bytes((await call).result or b"")

    assert asyncio.run(main()) == raw


def test_each_request_has_its_own_time_in_whatever_order_they_end() -> None:
    async def main() -> list[str]:
        session, _ = await opened(ScriptedLink(silent))
        ended: list[str] = []

        async def ask(name: str, seconds: float | None) -> None:
            try:
                await session.request("tools/call", {}, seconds)
            except ServerSlow:
                ended.append(name)

        asking = [asyncio.ensure_future(ask(*one)) for one in (("long", 0.1), ("for ever", None), ("short", 0.02))]
        await asyncio.gather(asking[0], asking[2])
        asking[1].cancel()
        return ended

    assert asyncio.run(main()) == ["short", "long"]


def test_one_that_takes_too_long_is_cancelled_at_the_server() -> None:
    async def main() -> list[dict[str, Any]]:
        link = ScriptedLink(silent)
        session, _ = await opened(link)
        with pytest.raises(ServerSlow, match="did not answer within"):
            await session.request("tools/call", {}, 0.01)
        return link.said("notifications/cancelled")

    (cancelled,) = asyncio.run(main())
    assert cancelled["params"]["requestId"] == 3


def test_the_end_of_a_server_ends_every_request_with_the_reason() -> None:
    async def main() -> tuple[list[Any], list[str]]:
        link = ScriptedLink(silent)
        session, owner = await opened(link)
        calls = [asyncio.create_task(session.request("tools/call", {}, 5.0)) for _ in range(3)]
        await asyncio.sleep(0)
        assert link.heard is not None
        link.heard.lost("it ended")
        found = await asyncio.gather(*calls, return_exceptions=True)
        with pytest.raises(ServerGone, match="it ended"):
            await session.request("tools/list", {}, 5.0)
        return found, owner.gone

    found, gone = asyncio.run(main())
    assert [str(one) for one in found] == ["it ended"] * 3
    assert gone == ["it ended"]


def test_questions_and_notes_go_to_the_only_client_that_waits_and_to_none_where_two_do() -> None:
    async def main() -> tuple[list[Any], list[Any], Cause, Cause]:
        link = ScriptedLink(silent)
        session, owner = await opened(link)
        one, two = Cause(object()), Cause(object())
        first = asyncio.create_task(session.request("tools/call", {}, 5.0, cause=one))
        await asyncio.sleep(0)
        link.say({"method": "notifications/message", "params": {"data": 1}})
        link.say({"id": "q1", "method": "elicitation/create", "params": {}})
        second = asyncio.create_task(session.request("tools/call", {}, 5.0, cause=two))
        await asyncio.sleep(0)
        link.say({"id": "q2", "method": "elicitation/create", "params": {}})
        link.say({"id": "q3", "method": "elicitation/create", "params": {}}, related=link.said("tools/call")[1]["id"])
        token = link.said("tools/call")[0]["params"]["_meta"]["progressToken"]
        link.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        await asyncio.sleep(0.01)
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        return owner.asked_by, owner.told, one, two

    asked, told, one, two = asyncio.run(main())
    assert asked == [one, None, two]
    assert told == [("notifications/message", {"data": 1}, one)]
    assert [len(one.seen), len(two.seen)] == [1, 0]

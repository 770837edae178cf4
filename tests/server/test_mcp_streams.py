"""Streams of sessions: numbered, primed, closed for a while and taken up again, within limits, by their own client."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import json

from rightcall.server import channels
from rightcall.server.channels import Channel, Ended, Room, place_of
from support.every import every
from support.gateways import HELLO, META, ROUTED, Answer, ScriptedLink, Site, call, old_server, run

pytestmark = pytest.mark.promise("H-52")

BOTH: dict[str, Any] = {"accept": "application/json, text/event-stream"}
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"


def silent(method: str, params: dict[str, Any]) -> Any:
    """Does not answer calls by itself."""
    return None if method == "tools/call" else old_server(method, params)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(25):
        while not condition():
            await asyncio.sleep(0)


class Calling:
    """A call under way, through a session that takes streams."""

    def __init__(self, site: Site, own: dict[str, Any]) -> None:
        self.site = site
        self.own = own
        self.gone = asyncio.Event()
        self.first: asyncio.Task[Answer] | None = None

    async def begun(self, id: int = 1) -> int:
        """The number under which the server has it."""
        known = len(self.site.link.said("tools/call"))
        body = call(id, _meta={"progressToken": "mine"})
        self.first = asyncio.create_task(self.site.ask(body=body, gone=self.gone, **self.own))
        await until(lambda: len(self.site.link.said("tools/call")) > known)
        return self.site.link.said("tools/call")[-1]["id"]

    def progress(self, number: int, step: int) -> None:
        params = {"progressToken": number, "progress": step}
        self.site.link.say({"method": "notifications/progress", "params": params})

    def answer(self, number: int, text: str = "done") -> None:
        self.site.link.say({"id": number, "result": {"content": [{"type": "text", "text": text}]}})

    async def back(self, event_id: str, **more: Any) -> Answer:
        async with asyncio.timeout(25):
            return await self.site.ask("GET", **{**self.own, "last_event_id": event_id, **more})


def calling(work: Callable[[Calling], Awaitable[Any]], link: ScriptedLink | None = None) -> Any:
    async def main(site: Site) -> Any:
        return await work(Calling(site, await site.session(**BOTH)))

    return run(main, link or ScriptedLink(silent))


def ids(answer: Answer) -> list[str]:
    return re.findall(r"^id: (.*)$", answer.body.decode(), re.MULTILINE)


def told(answer: Answer) -> list[Any]:
    return [one["params"]["progress"] if "method" in one else one["result"]["content"] for one in answer.events]


@every(
    ("version", "accept", "kind", "begins"),
    [
        ("2025-11-25", "text/event-stream", "text/event-stream", b"id: 2-0\nretry: 1000\ndata: \n\n"),
        ("2025-11-25", "application/json, text/event-stream", "application/json", b"{"),
        ("2025-11-25", "text/event-stream, application/json", "text/event-stream", b"id: 2-0\n"),
        ("2025-11-25", "application/json", "application/json", b"{"),
        ("2025-11-25", "*/*", "application/json", b"{"),
        ("2025-11-25", "text/event-stream;q=0.5, application/json; q=0.0", "text/event-stream", b"id: 2-0\n"),
        ("2025-11-25", "application/problem+json, text/event-stream", "text/event-stream", b"id: 2-0\n"),
        ("2025-06-18", "application/json, text/event-stream", "application/json", b"{"),
    ],
)
def test_an_answer_that_is_there_at_once_is_a_stream_only_for_clients_that_prefer_one(
    version: str, accept: str, kind: str, begins: bytes
) -> None:
    async def work(site: Site) -> Answer:
        hello = {**HELLO, "protocolVersion": version}
        opened = await site.ask(body={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        own: dict[str, Any] = {"mcp_session_id": opened.headers["mcp-session-id"], "accept": accept}
        return await site.ask(body=call(), **own)

    answer = run(work)
    assert (answer.headers["content-type"], answer.is_over) == (kind, True)
    assert answer.body.startswith(begins)
    assert b'"result":{"content":[{"type":"text","text":"hi"}]}' in answer.body


def test_a_request_of_the_new_era_has_no_numbers_and_cannot_be_taken_up_again() -> None:
    async def work(site: Site) -> tuple[Answer, Answer]:
        calls = Calling(site, {**ROUTED, **BOTH})
        running = asyncio.create_task(site.ask(body=call(_meta={**META, "progressToken": 1}), **ROUTED, **BOTH))
        await until(lambda: site.link.said("tools/call"))
        number = site.link.said("tools/call")[-1]["id"]
        calls.progress(number, 1)
        await asyncio.sleep(0)
        calls.answer(number)
        return await running, await calls.back("1-0")

    answer, resumed = run(work, ScriptedLink(silent))
    assert (ids(answer), len(answer.events)) == ([], 2)
    assert b"retry" not in answer.body
    assert resumed.status == 405


def test_a_stream_that_broke_off_goes_on_where_the_client_was() -> None:
    async def work(calls: Calling) -> list[Answer]:
        number = await calls.begun()
        calls.progress(number, 1)
        calls.progress(number, 2)
        await asyncio.sleep(0.01)
        calls.gone.set()
        assert calls.first is not None
        broken = await calls.first
        calls.progress(number, 3)
        calls.answer(number)
        await asyncio.sleep(0)
        return [broken, *[await calls.back(f"2-{heard}") for heard in (1, 0, 4, 99)]]

    broken, after_one, whole, all_heard, never_there = calling(work)
    assert (ids(broken), told(broken)) == (["2-0", "2-1", "2-2"], [1, 2])
    done = [{"type": "text", "text": "done"}]
    assert (ids(after_one), told(after_one)) == (["2-2", "2-3", "2-4"], [2, 3, done])
    assert told(whole) == [1, 2, 3, done]
    assert [told(all_heard), told(never_there)] == [[], []]
    assert all(one.is_over and b"retry: 1000\n\n" in one.body for one in (after_one, whole, all_heard))


def test_a_client_that_comes_back_early_hears_the_rest_as_it_comes_in_the_place_of_the_connection_before() -> None:
    async def work(calls: Calling) -> tuple[Answer, Answer]:
        number = await calls.begun()
        calls.progress(number, 1)
        await asyncio.sleep(0.01)
        again = asyncio.create_task(calls.back("2-0"))
        await asyncio.sleep(0.01)
        assert calls.first is not None
        before = await calls.first  # which ends without an answer
        calls.answer(number)
        return before, await again

    before, again = calling(work)
    assert (before.is_over, told(before)) == (True, [1])
    assert told(again) == [1, [{"type": "text", "text": "done"}]]


def test_what_the_server_puts_off_is_put_off_for_the_client_too() -> None:
    async def work(calls: Calling) -> list[Answer]:
        number = await calls.begun()
        link = calls.site.link
        assert link.heard is not None
        link.heard.paused(number, 0.25)
        link.heard.paused(99, 0.25)  # of a request that nobody waits for
        assert calls.first is not None
        closed = await calls.first
        again = asyncio.create_task(calls.back("2-0"))
        await asyncio.sleep(0.01)
        calls.progress(number, 1)
        await asyncio.sleep(0.01)
        link.heard.paused(number, 0.5)
        closed_again = await again
        calls.answer(number)
        await asyncio.sleep(0)
        return [closed, closed_again, await calls.back("2-1")]

    closed, closed_again, last = calling(work)
    assert closed.body == b"id: 2-0\nretry: 1000\ndata: \n\nretry: 250\n\n"
    assert (told(closed_again), closed_again.body.endswith(b"retry: 500\n\n")) == ([1], True)
    assert told(last) == [[{"type": "text", "text": "done"}]]
    assert all(one.is_over for one in (closed, closed_again, last))


def test_clients_that_could_not_come_back_keep_their_connection() -> None:
    async def work(site: Site) -> Answer:
        calls = Calling(site, {**await site.session(), "accept": "*/*"})
        number = await calls.begun()
        assert site.link.heard is not None
        site.link.heard.paused(number, 0.25)
        await asyncio.sleep(0.01)
        calls.answer(number)
        assert calls.first is not None
        return await calls.first

    assert run(work, ScriptedLink(silent)).json["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize(
    "accept", ["application/json", "application/json; q=1, text/html", "application/json, text/event-stream;q=0"]
)
def test_a_client_that_takes_no_streams_waits_for_its_answer(accept: str) -> None:
    async def work(site: Site) -> Answer:
        calls = Calling(site, {**await site.session(), "accept": accept})
        number = await calls.begun()
        calls.progress(number, 1)
        await asyncio.sleep(0.01)
        calls.answer(number)
        assert calls.first is not None
        return await calls.first

    assert run(work, ScriptedLink(silent)).json["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "application/json"])
def test_a_call_that_its_client_has_cancelled_gets_no_answer(accept: str) -> None:
    async def work(site: Site) -> Answer:
        calls = Calling(site, {**await site.session(), "accept": accept})
        await calls.begun()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        await site.ask(body=cancel, **calls.own)
        assert calls.first is not None
        return await calls.first

    answer = run(work, ScriptedLink(silent))
    assert (answer.events, answer.is_over, answer.status) == ([], True, 200 if "stream" in accept else 202)


def test_an_event_id_is_worth_nothing_to_another_session_or_another_caller() -> None:
    async def work(calls: Calling) -> list[Answer]:
        number = await calls.begun()
        await asyncio.sleep(0.1)
        calls.gone.set()
        calls.answer(number, "a secret")
        site = calls.site
        other = await site.session(**BOTH)
        stolen: dict[str, Any] = {**calls.own, "caller": "eve"}
        return [
            await site.ask("GET", **other, last_event_id="2-0"),
            await site.ask("GET", **stolen, last_event_id="2-0"),
            await calls.back("2-0"),
        ]

    other, stolen, own = calling(work)
    assert [other.status, stolen.status, own.status] == [400, 404, 200]
    assert b"a secret" in own.body
    assert b"a secret" not in other.body + stolen.body


@every("event_id", ["7-1", "2", "-", "2-x", "2-" + "9" * 5000, "²-1", "standing--1"])
def test_an_event_id_that_names_no_stream_is_refused_with_a_reason(event_id: str) -> None:
    async def work(calls: Calling) -> Answer:
        return await calls.back(event_id)

    answer = calling(work)
    assert (answer.status, answer.json["error"]["message"]) == (
        400,
        "Last-Event-ID names no stream of this session, or no longer",
    )


def test_the_standing_stream_is_numbered_and_taken_up_again() -> None:
    async def work(calls: Calling) -> list[Answer]:
        async def listened(news: int, **more: Any) -> Answer:
            gone = asyncio.Event()
            answer = asyncio.create_task(calls.site.ask("GET", gone=gone, **calls.own, **more))
            await asyncio.sleep(0.01)
            for _ in range(news):
                calls.site.link.say({"method": PROMPTS})
            await asyncio.sleep(0.01)
            gone.set()
            return await answer

        first = await listened(2)
        calls.site.link.say({"method": PROMPTS})
        return [first, await listened(0), await listened(0, last_event_id="standing-1")]

    first, rest, again = calling(work)
    assert [ids(one) for one in (first, rest, again)] == [
        ["standing-1", "standing-2"],
        ["standing-3"],  # what nobody has heard yet
        ["standing-2", "standing-3"],
    ]


def test_a_session_that_ends_takes_its_streams_with_it() -> None:
    async def work(calls: Calling) -> Answer:
        await calls.begun()
        await asyncio.sleep(0.1)
        calls.gone.set()
        back = asyncio.create_task(calls.back("2-0"))
        await asyncio.sleep(0.01)
        await calls.site.ask("DELETE", **calls.own)
        return await back

    assert calling(work).is_over


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_waits_for_the_first_word_waits_its_own_time_on_one_clock() -> None:
    async def main() -> list[str]:
        room, ended = Room(), list[str]()
        first, second, third = (Channel(name, room) for name in "abc")

        async def wait(channel: Channel) -> None:
            await room.first_of(channel, 0.05)
            ended.append(channel.name)

        waiting = [asyncio.ensure_future(wait(one)) for one in (first, second)]
        await asyncio.sleep(0)
        second.put(b"{}")
        await waiting[1]
        waiting.append(asyncio.ensure_future(wait(third)))
        await asyncio.gather(*waiting)
        return ended

    assert asyncio.run(main()) == ["b", "a", "c"]


def test_what_was_sent_is_kept_within_limits_and_what_waits_is_not_lost_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "SENT", 3)
    channel = Channel("1")
    for number in range(10):
        channel.put(json.encode(number))
    events, last = channel.after(0)
    assert (events.count(b"data: "), last, channel.waiting) == (10, 10, 0)
    assert channel.after(0)[0] == b"".join(
        b"id: 1-%d\nevent: message\ndata: %d\n\n" % (at, at - 1) for at in (8, 9, 10)
    )
    monkeypatch.setattr(channels, "SENT_BYTES", 0)
    channel.put(b"{}")
    assert channel.after(0)[0].count(b"data: ") == 4
    assert (channel.after(0)[0], channel.size) == (b"", 0)


def test_what_nobody_takes_is_left_out_when_it_is_too_much_but_never_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channels, "MOST_BYTES", 250)
    channel = Channel("1")
    for _ in range(10):
        channel.put(b"{}")
    channel.put(b'{"answer": 1}', always=True)
    events, last = channel.after(0)
    assert (events.count(b"data: "), last) == (4, 4)
    assert events.endswith(b'data: {"answer": 1}\n\n')


def test_all_streams_together_have_room_for_so_much_and_those_who_listen_hear_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channels, "ALL_BYTES", 1_000)
    room = Room()
    many = [Channel(str(number), room) for number in range(20)]
    for channel in many:
        channel.put(b"{}")
    assert (sum(channel.waiting for channel in many), room.taken) == (9, 918)
    listening = Channel("x", room)
    with listening.attended():
        for _ in range(5):
            listening.put(b"{}")
            listening.put(b"{}")
            assert listening.after(0)[0].endswith(b"data: {}\n\n")
        assert (listening.last, room.taken) == (5, 918 + 510), "one at a time"
    many[-1].put(b'{"answer": 1}', always=True)
    assert many[-1].waiting == 1
    for channel in [*many, listening, *many]:
        channel.end()
    assert room.taken == 0
    many[0].after(0)  # kept by others by now
    assert room.taken == 0


def test_for_a_client_that_has_left_little_is_kept() -> None:
    def waiting(channel: Channel) -> int:
        for _ in range(5):
            channel.put(b"x" * 400_000)
        return channel.waiting

    never, left, back, expected = (Channel(name) for name in "abcd")
    for channel in (left, back, expected):
        with channel.attended():
            pass
    expected.suspend(1.0)
    with back.attended():
        found = [waiting(channel) for channel in (never, left, back, expected)]
    assert found == [5, 2, 5, 5]
    left.put(b'{"answer": 1}', always=True)
    assert left.after(0)[0].endswith(b'data: {"answer": 1}\n\n')


def test_calls_whose_clients_have_left_take_little_room() -> None:
    async def work(calls: Calling) -> tuple[int, int]:
        numbers: list[int] = []
        for request in range(1, 6):
            number = await calls.begun(request)
            calls.gone.set()
            assert calls.first is not None
            await calls.first
            calls.gone = asyncio.Event()
            for step in range(4):
                params = {"progressToken": number, "progress": step, "message": "x" * 400_000}
                calls.site.link.say({"method": "notifications/progress", "params": params})
            await asyncio.sleep(0)
            numbers.append(number)
        room = calls.site.endpoint.sessions.room
        await until(lambda: room.taken)
        taken = room.taken
        for number in numbers:
            calls.answer(number)
        await until(lambda: not room.taken)
        return taken, room.taken

    taken, after = calling(work)
    assert (4_000_000 < taken <= 5_000_000, after) == (True, 0)


def test_streams_that_are_over_make_room_for_newer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "OVER", 2)
    monkeypatch.setattr(channels, "OVER_BYTES", 100)
    now = [0.0]
    monkeypatch.setattr(channels, "monotonic", lambda: now[0])
    ended: Ended[str] = Ended()
    for name in "abc":
        ended.keep("one", name, name, 10)
    ended.keep("two", "a", "another", 60)
    assert [ended.find("one", name) for name in "abc"] == [None, "b", "c"]
    ended.keep("two", "b", "large", 50)  # the oldest go first, whosever they are
    assert [ended.find("one", "b"), ended.find("one", "c"), ended.find("two", "a")] == [None, None, None]
    assert ended.find("two", "b") == "large"
    now[0] = 301.0
    ended.tidy()
    assert ended.find("two", "b") is None
    ended.keep("two", "c", "new", 1)
    ended.forget("two")
    assert ended.find("two", "c") is None


def test_a_place_is_a_stream_and_a_number() -> None:
    assert [place_of(one) for one in ("3-17", "standing-0", "a-b-1", "", "-1", "3-", "3-1.0")] == [
        ("3", 17), ("standing", 0), ("a-b", 1), None, None, None, None,
    ]  # fmt: skip

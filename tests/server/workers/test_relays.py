"""One process of an MCP server for several workers: real processes, and workers that are sessions of this one."""

import asyncio
import errno
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, json

from rightcall.mcp.messages import Answer, success
from rightcall.mcp.session import Cause, ServerGone, Session
from rightcall.mcp.upstream import Hello, greet
from rightcall.policy.settings import Server
from rightcall.server.workers import relays
from rightcall.server.workers.relays import Relays, opening

HELLO = Hello({"name": "rightcall", "version": "1"}, {})
SERVER = """
import io, json, sys
seen = open(sys.argv[1], "a", buffering=1)
for line in io.TextIOWrapper(sys.stdin.buffer):  # which a carriage return ends, too
    told = json.loads(line)
    method, id, params = told.get("method"), told.get("id"), told.get("params") or {}
    seen.write(json.dumps([method, id, params]) + "\\n")
    say = lambda message: print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
    if method == "server/discover" and "dies" in sys.argv:
        sys.exit(3)
    if method == "initialize" and "refuses once" in sys.argv and open(sys.argv[1]).read().count('"initialize"') == 1:
        say({"id": id, "error": {"code": -32603, "message": "not yet"}})
    elif method == "initialize":
        about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
        say({"id": id, "result": about})
    elif method == "tools/call" and params["name"] == "end":
        sys.exit(4)
    elif method == "tools/call" and params["name"] == "never":
        pass
    elif method == "tools/call" and params["name"] in ("log", "log in a batch"):
        told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "secret"}}
        print(json.dumps([told] if "batch" in params["name"] else told), flush=True)
        say({"id": id, "result": {}})
    elif method == "tools/call" and params["name"] == "ask":
        say({"id": f"q{id}", "method": "elicitation/create", "params": {"message": "secret"}})
        say({"id": id, "result": {}})
    elif method == "tools/call":
        token = (params.get("_meta") or {}).get("progressToken")
        say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        say({"method": "notifications/tools/list_changed"})
        say({"id": id, "result": {"said": params["name"]}})
    elif id is not None and method is not None:
        known = method.startswith(("resources/", "logging/"))
        say({"id": id, "result": {}} if known else {"id": id, "error": {"code": -32601, "message": "no"}})
"""


class Worker:
    """Whoever uses a server: hears what it says."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.questions: list[str] = []
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def asked(self, method: str, params: Raw, cause: Cause | None) -> Answer:
        self.questions.append(method)
        return success({})

    def told_by_server(self, method: str, params: Raw, cause: Cause | None) -> None:
        self.heard.append(method)

    def lost(self, session: Session, why: str, words: str = "") -> None:
        self.gone.set_result(why)


class Asking:
    """For whom a call is made: hears of its progress."""

    wants_progress, outlives = True, False

    def __init__(self) -> None:
        self.party = self
        self.heard: list[dict[str, Raw]] = []

    def progress(self, params: dict[str, Raw]) -> None:
        self.heard.append(params)

    def paused(self, seconds: float) -> None: ...


Test = Callable[[Callable[..., Awaitable[tuple[Session, Worker]]]], Awaitable[None]]


def run(folder: Path, test: Test, *words: str) -> list[list[Any]]:
    """What the server was sent, over all its lives."""
    server = Server("s", (sys.executable, "-S", "-c", SERVER, str(folder / "seen"), *words))

    async def use() -> None:
        path = os.path.join(folder, "servers.sock")
        parent = Relays(path)
        await parent.start()
        opened: list[Session] = []
        ways: dict[str, Any] = {}

        async def join(worker: str, group: str = "g", only: Any = None) -> tuple[Session, Worker]:
            owner = Worker()
            session = Session(ways.setdefault(worker, opening(path, worker))(group)(server), owner)
            await session.open()
            opened.append(session)
            try:
                await greet(session, HELLO, 20, only=only)
            except ServerGone:
                await session.aclose(failed=True)
                raise
            return session, owner

        try:
            await test(join)
        finally:
            for one in opened:
                await one.aclose()
            await parent.aclose()

    asyncio.run(use())
    return [json.decode(line) for line in (folder / "seen").read_text().splitlines()]


async def call(session: Session, name: str, cause: Cause | None = None) -> Any:
    answer = await session.request("tools/call", {"name": name}, 20, cause=cause)
    return json.decode(answer.result or b"null")


def test_two_workers_share_one_process_that_shakes_hands_once_and_each_hears_its_own_answers(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        (one, first), (two, second) = await join("w1"), await join("w2")
        causes = [Asking(), Asking()]
        calls = [call((one, two)[nth % 2], f"call {nth}", causes[nth % 2]) for nth in range(20)]
        assert await asyncio.gather(*calls) == [{"said": f"call {nth}"} for nth in range(20)]
        assert [len(cause.heard) for cause in causes] == [10, 10], "progress is told to whoever asked"
        assert len(first.heard) == len(second.heard) == 20, "what it says unasked is told to all"

    seen = run(tmp_path, test)
    methods = [method for method, _, _ in seen]
    assert (methods.count("initialize"), methods.count("notifications/initialized")) == (1, 1)
    numbers = [number for method, number, _ in seen if method == "tools/call"]
    assert len(set(numbers)) == 20


def test_another_group_and_a_client_that_is_alone_have_processes_of_their_own(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        for worker, group in (("w1", "g"), ("w1", "h"), ("w1", ""), ("w1", ""), ("w2", "g")):
            await join(worker, group)

    seen = run(tmp_path, test)
    assert [method for method, _, _ in seen].count("initialize") == 4


@pytest.mark.promise("P-01", "H-04")
def test_a_client_cannot_hide_a_call_between_the_fields_of_another(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        one, _ = await join("w1")
        hidden = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "denied"}}'
        answer = await one.request("tools/call", {"name": "good", "arguments": Raw(b'{"a":\r%s\r}' % hidden)}, 20)
        assert answer.result is not None

    seen = run(tmp_path, test)
    assert [params["name"] for method, _, params in seen if method == "tools/call"] == ["good"]


@pytest.mark.promise("P-14")
@pytest.mark.parametrize("name", ["log", "log in a batch", "ask"])
@pytest.mark.parametrize("is_busy", [False, True])
def test_what_is_said_of_a_call_is_heard_by_its_worker_or_by_none(tmp_path: Path, name: str, is_busy: bool) -> None:
    async def test(join: Any) -> None:
        (one, first), (two, second) = await join("w1"), await join("w2")
        waiting = asyncio.ensure_future(call(one, "never", Asking())) if is_busy else None
        await asyncio.sleep(0)
        await call(two, name, Asking())
        await one.request("resources/subscribe", {"uri": "a:b"}, 20)  # behind whatever the first was told
        assert [len(at.heard + at.questions) for at in (first, second)] == [0, 0 if is_busy else 1]
        if waiting is not None:  # what is cancelled is waited for no longer
            waiting.cancel()
            await asyncio.wait([waiting])
            await one.request("resources/unsubscribe", {"uri": "a:b"}, 20)
            await call(two, name, Asking())
            assert [len(at.heard + at.questions) for at in (first, second)] == [0, 1]

    seen = run(tmp_path, test)
    assert [method for method, _, _ in seen].count("notifications/cancelled") == is_busy


def test_a_process_that_ends_is_told_to_all_and_started_for_the_next(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        (one, first), (two, second) = await join("w1"), await join("w2")
        waiting = asyncio.ensure_future(call(two, "never"))
        with pytest.raises(ServerGone, match="exit code 4"):
            await call(one, "end")
        with pytest.raises(ServerGone):
            await waiting
        assert await first.gone == await second.gone == "it ended with exit code 4"
        again, _ = await join("w1")
        assert await call(again, "again") == {"said": "again"}

    seen = run(tmp_path, test)
    assert [method for method, _, _ in seen].count("initialize") == 2


def test_a_server_that_dies_at_a_question_before_the_handshake_is_asked_it_once(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        with pytest.raises(ServerGone):
            await join("w1")
        for worker in ("w1", "w2"):
            session, _ = await join(worker)
            assert await call(session, worker) == {"said": worker}

    seen = run(tmp_path, test, "dies")
    assert [method for method, _, _ in seen].count("server/discover") == 1


def test_what_a_worker_leaves_behind_is_cancelled_and_the_process_waits_for_the_next(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        one, _ = await join("w1")
        waiting = asyncio.ensure_future(call(one, "never"))
        await asyncio.sleep(0)
        await one.aclose()
        with pytest.raises(ServerGone):
            await waiting
        two, _ = await join("w2")
        assert await call(two, "here") == {"said": "here"}

    seen = run(tmp_path, test)
    methods = [method for method, _, _ in seen]
    assert (methods.count("initialize"), methods.count("notifications/cancelled")) == (1, 1)


def test_a_process_that_nobody_uses_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relays, "LINGER", 0.01)

    async def test(join: Any) -> None:
        ends = asyncio.get_running_loop().time() + 20
        starts = 0
        while starts < 2:
            assert asyncio.get_running_loop().time() < ends
            one, _ = await join("w1")
            await one.aclose()
            await asyncio.sleep(0.05)
            starts = (tmp_path / "seen").read_text().count('["initialize"')

    seen = run(tmp_path, test)
    assert [method for method, _, _ in seen].count("initialize") > 1


def test_subscriptions_and_the_level_of_the_log_are_those_of_all_workers(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        (one, _), (two, _) = await join("w1"), await join("w2")
        for session in (one, two):
            await session.request("resources/subscribe", {"uri": "a:b"}, 20)
        await one.request("logging/setLevel", {"level": "debug"}, 20)
        await two.request("logging/setLevel", {"level": "error"}, 20)
        for session in (one, two):
            assert (await session.request("resources/unsubscribe", {"uri": "a:b"}, 20)).result is not None

    seen = run(tmp_path, test)
    assert [params["level"] for method, _, params in seen if method == "logging/setLevel"] == ["debug", "debug"]
    assert [method for method, _, _ in seen].count("resources/unsubscribe") == 1


def test_a_parent_that_is_gone_is_a_server_that_is_gone(tmp_path: Path) -> None:
    async def use() -> None:
        session = Session(opening(str(tmp_path / "servers.sock"), "w1")("g")(Server("s", ("true",))), Worker())
        with pytest.raises(ServerGone, match="gone"):
            await session.open()

    asyncio.run(use())


@pytest.mark.parametrize("part", ["SharedInput", "Calls"])
def test_a_parent_that_may_open_no_more_files_carries_the_calls_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(relays, part, refuse)

    async def test(join: Any) -> None:
        for name in ("w1", "w2"):
            session, _ = await join(name)
            assert await call(session, name) == {"said": name}

    run(tmp_path, test)


def initialized(seen: list[list[Any]]) -> int:
    return [method for method, _, _ in seen].count("initialize")


def test_a_process_that_fails_at_its_start_is_replaced_for_all_however_soon_they_come_back(tmp_path: Path) -> None:
    async def test(join: Any) -> None:
        joining = (join(worker, only="old") for worker in ("w1", "w2"))
        assert [type(one) for one in await asyncio.gather(*joining, return_exceptions=True)] == [ServerGone] * 2
        session, _ = await join("w1", only="old")
        assert await call(session, "a") == {"said": "a"}

    assert initialized(run(tmp_path, test, "refuses once")) == 2


def test_a_process_that_serves_another_is_kept(tmp_path: Path) -> None:
    """Even where that one waits for nothing: a call that was cancelled may still run."""

    async def test(join: Any) -> None:
        session, _ = await join("w1")
        await call(session, "a")
        failing, _ = await join("w2")
        await failing.aclose(failed=True)
        assert await call(session, "b") == {"said": "b"}

    assert initialized(run(tmp_path, test)) == 1

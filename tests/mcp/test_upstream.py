"""A server that ends is started again: after a pause that doubles up to a limit, and from the start after it worked."""

import asyncio
from typing import Any

import pytest

from rightcall.mcp import upstream as module
from rightcall.mcp.session import LoginMissing, ServerGone, Session
from rightcall.mcp.upstream import Hello, Upstream
from rightcall.policy.settings import Server
from support.gateways import Absent, ScriptedLink

pytestmark = pytest.mark.promise("X-07")
HELLO = Hello({"name": "t", "version": "1"}, {})


class Host:
    """Notes when a server left, how long it pauses and why."""

    def __init__(self, enough: int) -> None:
        self.pauses: list[float] = []
        self.reasons: list[str] = []
        self.joins = 0
        self._enough = enough
        self.done = asyncio.Event()

    async def joined(self, upstream: Upstream, session: Session) -> None:
        self.joins += 1

    def left(self, upstream: Upstream, why: str) -> None:
        left = upstream._retry_at - asyncio.get_running_loop().time()
        self.pauses.append(round(left, 3))
        self.reasons.append(why)
        if len(self.pauses) >= self._enough:
            self.done.set()

    async def asked(self, upstream: Upstream, method: str, params: Any, cause: Any) -> Any: ...

    def told(self, upstream: Upstream, method: str, params: Any, cause: Any) -> None: ...


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.04)


def test_the_pause_doubles_up_to_its_limit_and_the_reason_is_kept() -> None:
    async def main() -> tuple[Host, str]:
        host = Host(5)
        upstream = Upstream(Server("a", command=("a",)), lambda _: Absent(), HELLO, host)
        upstream.start()
        await host.done.wait()
        told = upstream.told()
        await upstream.aclose()
        return host, told

    host, told = asyncio.run(main())
    assert host.pauses == pytest.approx([0.01, 0.02, 0.04, 0.04, 0.04], abs=0.005)
    assert set(host.reasons) == {"there is no such program"}
    assert told.startswith("is not running: there is no such program. It is tried again in 0.")


class Closed(Absent):
    """Nobody is let in."""

    async def open(self, heard: Any) -> None:
        raise LoginMissing("it wants a login")


@pytest.mark.parametrize(("keys", "pauses"), [
    ({}, [0.02] * 4),
    ({"login": "machine"}, [0.01, 0.02, 0.04, 0.04]),
    ({"token_command": ("token",)}, [0.01, 0.02, 0.04, 0.04]),
])  # fmt: skip
def test_a_login_of_a_person_is_looked_for_often_and_a_machine_that_is_refused_tries_less_and_less(
    keys: dict[str, Any], pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOGIN_PAUSE", 0.02)

    async def main() -> Host:
        host = Host(4)
        upstream = Upstream(Server("a", url="https://a.example/mcp", **keys), lambda _: Closed(), HELLO, host)
        upstream.start()
        await host.done.wait()
        await upstream.aclose()
        return host

    assert asyncio.run(main()).pauses == pytest.approx(pauses, abs=0.005)


def test_one_that_answered_before_it_ended_is_back_after_the_shortest_pause() -> None:
    links: list[ScriptedLink] = []

    def opened(_: Server) -> ScriptedLink:
        links.append(ScriptedLink())
        return links[-1]

    class Asking:
        party = object()
        wants_progress = False
        outlives = False

        def progress(self, params: Any) -> None: ...

        def paused(self, seconds: float) -> None: ...

    async def main() -> tuple[list[float], int]:
        host = Host(3)
        upstream = Upstream(Server("a", command=("a",)), opened, HELLO, host)
        for _ in range(3):
            session = await upstream.ready()
            await session.request("tools/call", {"arguments": {"text": "x"}}, 1.0, cause=Asking())
            heard = links[-1].heard
            assert heard is not None
            heard.lost("it ended")
            assert upstream.session is None
            with pytest.raises(ServerGone, match="it ended"):
                await session.request("tools/list", {}, 1.0)
        await host.done.wait()
        await upstream.aclose()
        return host.pauses, host.joins

    pauses, joins = asyncio.run(main())
    assert pauses == pytest.approx([0.01] * 3, abs=0.005)
    assert joins == 3
    assert all(link.closed for link in links)


class Touchy(ScriptedLink):
    """Takes no question before the handshake."""

    def request(self, id: int, body: bytes, headers: Any) -> None:
        if b"server/discover" in body:
            assert self.heard is not None
            self.heard.lost("it ended with exit code 1")
        else:
            super().request(id, body, headers)


def test_a_server_that_cannot_bear_the_question_for_its_era_is_greeted_in_the_old_way() -> None:
    async def main() -> tuple[str, int]:
        upstream = Upstream(Server("a", command=("a",)), lambda _: Touchy(), HELLO, Host(99))
        agreed = (await upstream.ready()).agreed
        await upstream.aclose()
        return agreed.era if agreed else "", upstream.starts

    assert asyncio.run(main()) == ("old", 2)


def test_whoever_waits_for_the_first_start_waits_for_the_other_era_too() -> None:
    """The first list that a client gets would be empty otherwise."""

    async def main() -> tuple[str, list[float]]:
        host = Host(99)
        upstream = Upstream(Server("a", command=("a",)), lambda _: Touchy(), HELLO, host)
        upstream.start()
        await upstream.tried(5.0)
        state = upstream.state
        await upstream.aclose()
        return state, host.pauses

    assert asyncio.run(main()) == ("ready", [])

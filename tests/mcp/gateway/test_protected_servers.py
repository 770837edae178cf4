"""Servers that want a login, behind the gateway: refused with what to run, used once somebody has logged in, never with
a login that belongs to somebody else."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from rightcall import Executor
from rightcall.executor.calls import Speaking
from rightcall.identity.discovery import Reach
from rightcall.identity.logins import Shown, Wish, log_in_at
from rightcall.identity.vault import Vault
from rightcall.mcp.links import open_link
from rightcall.policy.settings import Server
from support.authorities import Guarded, Provider, Reply, Said, browse_later, guarded
from support.gateways import asked, endings, greeted, once, shared_of, text_of

pytestmark = pytest.mark.promise("I-03")


@pytest.fixture(name="pair")
def _pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Provider, Guarded]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with guarded() as pair:
        yield pair


def policy_of(guard: Guarded, **keys: Any) -> dict[str, Any]:
    return {"version": 1, "servers": {"notes": {"url": guard.mcp, "effects": ["read"], **keys}}}


async def enter(guard: Guarded, caller: str = "") -> None:
    server = replace(Server("notes", url=guard.mcp), per_caller=bool(caller))
    await log_in_at(
        server, Wish(caller, seconds=3), Reach.of([guard.mcp]), Vault(), Shown(browse_later, lambda _: None)
    )


def sent_tokens(guard: Guarded) -> set[str]:
    return {one.authorization.removeprefix("Bearer ") for one in guard.asked("/mcp")}


@pytest.mark.parametrize("era", ["old", "new"])
def test_a_call_is_refused_with_what_to_run_and_runs_after_a_login(pair: tuple[Provider, Guarded], era: str) -> None:
    provider, guard = pair

    async def main() -> None:
        async with shared_of(policy_of(guard), open_link) as shared:
            client = await greeted(shared)

            async def call() -> Any:
                about: dict[str, Any] = {"name": "notes_greet", "arguments": {}}
                return await (
                    asked(client, "tools/call", **about) if era == "old" else once(shared, "tools/call", **about)
                )

            assert "run `rightcall login notes`. The call was not sent." in text_of(await call())
            unsent = len(guard.asked("/mcp"))
            assert "run `rightcall login notes`" in text_of(await call())
            assert (len(guard.asked("/mcp")), guard.calls) == (unsent, [])  # it is known by now, and not asked again
            await enter(guard)
            assert text_of(await call()) == "hello"
            assert [one["name"] for one in (await once(shared, "tools/list"))["tools"]] == ["notes_greet"]
            assert guard.asked("/mcp")[-1].authorization.removeprefix("Bearer ") in provider.access

    asyncio.run(main())


def test_a_client_is_told_in_its_greeting_what_is_missing(pair: tuple[Provider, Guarded]) -> None:
    async def main() -> str:
        async with shared_of(policy_of(pair[1]), open_link) as shared:
            client = await greeted(shared)
            found = await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
            return found["instructions"]

    assert asyncio.run(main()) == "notes cannot be used: it wants a login: run `rightcall login notes`"


def test_a_token_that_the_server_refuses_is_renewed_once_and_the_call_sent_again(
    pair: tuple[Provider, Guarded],
) -> None:
    provider, guard = pair

    async def main() -> None:
        await enter(guard)
        async with shared_of(policy_of(guard), open_link) as shared:
            assert text_of(await once(shared, "tools/call", name="notes_greet", arguments={})) == "hello"
            provider.access.clear()  # the provider has ended it early
            assert text_of(await once(shared, "tools/call", name="notes_greet", arguments={"n": 2})) == "hello"
            assert [one.form["grant_type"] for one in provider.asked("/token")][1:] == ["refresh_token"]
            guard.provider = Provider()  # it believes nobody any more
            try:
                told = text_of(await once(shared, "tools/call", name="notes_greet", arguments={"n": 3}))
            finally:
                guard.provider.close()
            assert "its login has expired: run `rightcall login notes`" in told
            asked_so_far = len(guard.asked("/mcp")), len(provider.asked("/token"))
            assert "has expired" in text_of(await once(shared, "tools/call", name="notes_greet", arguments={"n": 4}))
            assert (len(guard.asked("/mcp")), len(provider.asked("/token"))) == asked_so_far  # nobody is pestered
            assert endings(shared)[-1][0] == "failed"
        assert len(guard.calls) == 2

    asyncio.run(main())


def test_a_call_that_wants_more_scopes_says_which(pair: tuple[Provider, Guarded]) -> None:
    _, guard = pair
    guard.metadata = {"scopes_supported": ["read"]}

    async def main() -> None:
        await enter(guard)
        guard.scope = "write"
        async with shared_of(policy_of(guard), open_link) as shared:
            told = text_of(await once(shared, "tools/call", name="notes_greet", arguments={}))
            assert "it wants the scopes write: run `rightcall login notes`" in told
            await enter(guard)
            assert text_of(await once(shared, "tools/call", name="notes_greet", arguments={})) == "hello"

    asyncio.run(main())
    assert Vault().logins()[0].scopes == ("read", "write")


def test_each_caller_uses_a_login_of_its_own_and_nobody_that_of_another(pair: tuple[Provider, Guarded]) -> None:
    guard = pair[1]

    async def main() -> None:
        await enter(guard, "ann")
        async with shared_of(policy_of(guard, per_caller=True), open_link) as shared:

            async def call(caller: str) -> str:
                return text_of(await once(shared, "tools/call", caller, name="notes_greet", arguments={}))

            assert await call("ann") == "hello"
            (own,) = sent_tokens(guard) - {""}
            assert "run `rightcall login notes --as bob`. The call was not sent." in await call("bob")
            assert "--as" in await call("gateway")
            assert sent_tokens(guard) - {""} == {own}
            await enter(guard, "bob")
            assert await call("bob") == "hello"
            assert len(sent_tokens(guard) - {""}) == 2
            with Speaking(("https://sso.example", "eve")):  # who shares ann's caller, and is somebody else
                assert "rightcall login notes --person eve" in await call("ann")
            assert len(guard.calls) == 2

    asyncio.run(main())


def test_a_redirect_of_the_server_gets_no_token(pair: tuple[Provider, Guarded]) -> None:
    _, guard = pair

    async def main() -> str:
        await enter(guard)
        with guarded() as (_, other):
            guard.overrides["/mcp"] = (307, {"location": other.mcp}, None)
            async with shared_of(policy_of(guard), open_link) as shared:
                await shared.first.settled(2)
                problem = shared.state()["notes"]["problem"]
            assert other.said == []
            return problem

    assert "it has moved to" in asyncio.run(main())


def _echoed(said: Said, how: str) -> Reply:
    """A server that shows what it was sent."""
    sent, token, number = said.authorization, said.authorization.partition(" ")[2], said.json["id"]

    def message(**more: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, **more}

    shown = message(result={"content": [{"type": "text", "text": f"you sent {sent}"}]})
    match how:
        case "result":
            return 200, {}, shown
        case "structured":
            return 200, {}, message(result={"content": [], "structuredContent": {token: [sent]}})
        case "failed":
            return 200, {}, message(result=shown["result"] | {"isError": True})
        case "error":
            return 200, {}, message(error={"code": -32000, "message": f"bad {sent}", "data": {"headers": [sent]}})
        case "error status":
            return 400, {}, message(error={"code": -32000, "message": sent})
        case "stream":
            told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": sent}}
            events = b"".join(b"data: %b\n\n" % json.encode(one) for one in (told, shown))
            return 200, {"content-type": "text/event-stream"}, events
        case "redirect":
            return 307, {"location": f"https://evil.example/?token={token}"}, None
        case "scopes":
            return 403, {"www-authenticate": f'Bearer error="insufficient_scope", scope="{token}"'}, None
        case _:
            return 500, {"content-type": "text/plain"}, sent.encode()


@pytest.mark.parametrize(
    "how",
    ["result", "structured", "failed", "error", "error status", "stream", "redirect", "scopes", "text"],
)
def test_a_server_that_shows_its_token_shows_it_to_nobody(
    pair: tuple[Provider, Guarded], caplog: pytest.LogCaptureFixture, how: str
) -> None:
    provider, guard = pair
    caplog.set_level(logging.DEBUG)

    def mcp(said: Said) -> Reply:
        is_call = said.method == "POST" and said.json.get("method") == "tools/call"
        return _echoed(said, how) if is_call else guard.answer(said)

    async def main() -> str:
        await enter(guard)
        guard.overrides["/mcp"] = mcp
        heard: list[bytes] = []
        async with shared_of(policy_of(guard), open_link) as shared:
            client = await greeted(shared)
            client.send = heard.append
            answer = await asked(client, "tools/call", name="notes_greet", arguments={})
            records = shared.door.store.look(lambda tables: [one.body.decode() for one in tables.entries()])
            return f"{answer} {heard} {records} {caplog.text} {Vault().wants()}"

    told = asyncio.run(main())
    assert [one for one in provider.secrets if one in told] == []
    assert how in ("text",) or "[redacted]" in told


def test_no_secret_is_in_a_record_a_log_or_an_answer(
    pair: tuple[Provider, Guarded], caplog: pytest.LogCaptureFixture
) -> None:
    provider, guard = pair
    provider.secret = "s3cret-of-client"
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    caplog.set_level(logging.DEBUG)
    said: list[str] = []

    async def main() -> None:
        await enter(guard)
        async with shared_of(policy_of(guard), open_link) as shared:
            for spoil in (lambda: None, provider.access.clear, provider.refresh.clear, provider.access.clear):
                spoil()
                answer = await once(shared, "tools/call", name="notes_greet", arguments={"n": len(said)})
                said.append(json.encode(answer).decode())
            said.append(json.encode(shared.state()).decode())
            entries = shared.door.store.look(lambda tables: list(tables.entries()))
            said.extend(repr(one.body) for one in entries)

    asyncio.run(main())
    whole = "\n".join([*said, caplog.text, repr(Vault().logins()), repr(Vault().wants())])
    seen = [
        *provider.secrets,
        *sent_tokens(guard),
        *(one.form.get("refresh_token", "") for one in provider.asked("/token")),
    ]
    assert len({one for one in seen if one}) >= 4
    assert [one for one in seen if one and one in whole] == []


def test_an_executor_reaches_the_server_by_the_same_login(pair: tuple[Provider, Guarded], tmp_path: Path) -> None:
    guard = pair[1]
    call = {"name": "notes/greet", "arguments": {}}
    with Executor.open_sync(tmp_path, policy_of(guard)) as executor:
        refused = executor.run(call)
        assert (refused.ok, "run `rightcall login notes`" in refused.content) == (False, True)
        asyncio.run(enter(guard))
        assert executor.run({**call, "arguments": {"n": 2}}).ok
    assert len(guard.calls) == 1


def test_an_executor_uses_the_login_of_each_caller(pair: tuple[Provider, Guarded], tmp_path: Path) -> None:
    guard = pair[1]
    asyncio.run(enter(guard, "ann"))
    with Executor.open_sync(policy=policy_of(guard, per_caller=True), root=tmp_path, store="memory") as executor:

        def call(caller: str) -> Any:
            return executor.run({"name": "notes_greet", "arguments": {}}, caller)

        assert call("ann").result == "hello"
        (own,) = sent_tokens(guard) - {""}
        refused = call("bob")
        assert "run `rightcall login notes --as bob`" in refused.content
        assert refused.hint is not None
        assert refused.hint.startswith("A person has to log in first.")
        assert sent_tokens(guard) - {""} == {own}
        names = [one["function"]["name"] for one in executor.definitions("bob")]
        assert "notes_greet" not in names
        assert "notes_greet" in [one["function"]["name"] for one in executor.definitions("ann")]
        asyncio.run(enter(guard, "bob"))
        assert (call("bob").result, call("ann").result) == ("hello", "hello")
        assert len(sent_tokens(guard) - {""}) == 2
        with Speaking(("https://sso.example", "eve")):  # who is ann to the policy, and somebody else
            assert "rightcall login notes --person eve" in call("ann").content
        assert len(sent_tokens(guard) - {""}) == 2


def test_calls_that_come_while_the_server_starts_after_a_login_wait_for_it(pair: tuple[Provider, Guarded]) -> None:
    _, guard = pair
    begun, go = threading.Event(), threading.Event()

    def slowly(said: Said) -> Reply:
        begun.set()
        assert go.wait(10)
        return guard.answer(said)

    async def main() -> list[Any]:
        async with shared_of(policy_of(guard), open_link) as shared:

            async def call() -> Any:
                return text_of(await once(shared, "tools/call", name="notes_greet", arguments={}))

            assert "rightcall login notes" in await call()
            await enter(guard)
            guard.overrides["/mcp"] = slowly
            first = asyncio.create_task(call())
            await asyncio.to_thread(begun.wait, 10)
            second = asyncio.create_task(call())
            await asyncio.wait([second], timeout=0.05)
            go.set()
            return list(await asyncio.gather(first, second))

    told = asyncio.run(main())
    assert told[0] == told[1]
    assert "Unknown tool" not in told[1]

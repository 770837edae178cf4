"""Whoever waits on one node for an answer goes on when it is given on another: at once, and within a second where
nothing is heard of it."""

import asyncio
import time
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from rightcall import Executor
from rightcall.policy.settings import Settings
from rightcall.record.postgres import PostgresStore, connection
from support.approvals import request_of, say
from support.postgres import Server
from support.postgres_calls import attempt

pytestmark = [pytest.mark.promise("P-06")]

LISTENING = "pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
POLICY = {"policy": {"allow": ["*"], "write": "ask"}}


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


def asked(store: PostgresStore) -> str:
    made = store.transact(attempt(store, request_of({"n": 1}, settings=Settings(stage="full", write="ask"))))
    assert made.decision.approval is not None
    return made.decision.approval


async def until(store: PostgresStore, question: str, wanted: Any) -> None:
    while store.look(lambda tables: tables._connection.execute(question).fetchone()[0]) != wanted:  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)


def test_an_answer_on_another_node_is_heard_by_whoever_waits(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOOK_SECONDS", 60.0)

    async def main() -> None:
        with closing(opened(url)) as one, closing(opened(url)) as two:
            named = asked(one)
            waiting = asyncio.create_task(one.next_answer(named, 60.0))
            await until(two, f"SELECT count(*) FROM {LISTENING}", 1)
            await asyncio.to_thread(say, two, named)
            await asyncio.wait_for(waiting, 20)
            assert two.look(lambda tables: tables.approval(named)).status == "approved"  # type: ignore[union-attr]

    asyncio.run(main())


def test_an_answer_that_came_between_two_looks_is_not_waited_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOOK_SECONDS", 60.0)

    async def main() -> None:
        with closing(opened(url)) as one, closing(opened(url)) as two:
            named = asked(one)
            await one.next_answer("another", 0.01)
            await until(two, f"SELECT count(*) FROM {LISTENING}", 1)
            await asyncio.to_thread(say, two, named)
            while named not in one._listener._answered:
                await asyncio.sleep(0.01)
            waiting = asyncio.create_task(one.next_answer(named, 60.0))
            done, _ = await asyncio.wait({waiting}, timeout=20)
            assert done == {waiting}
            await waiting

    asyncio.run(main())


def test_with_its_listener_killed_a_call_still_finds_its_answer_within_a_second_and_a_half(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_AGAIN_SECONDS", 60.0)

    async def main() -> float:
        with closing(opened(url)) as one, closing(opened(url)) as two:
            async with Executor.open(policy=POLICY, store=one) as executor:

                @executor.tool(effects=["write"])
                def keep(text: str) -> str:
                    """Keep it.

                    Args:
                        text: What.
                    """
                    return f"kept {text}"

                running = asyncio.create_task(executor.run({"name": "keep", "arguments": {"text": "x"}}, wait=30.0))
                await until(two, f"SELECT count(*) FROM {LISTENING}", 1)
                await until(two, f"SELECT count(pg_terminate_backend(pid)) FROM {LISTENING}", 1)
                await until(two, f"SELECT count(*) FROM {LISTENING}", 0)
                (question,) = two.look(lambda tables: tables.approvals("waiting"))
                began = time.monotonic()
                await asyncio.to_thread(say, two, question.id)
                outcome = await asyncio.wait_for(running, 20)
                assert outcome.result == "kept x"
                return time.monotonic() - began

    del server
    assert asyncio.run(main()) < 1.5


def test_a_node_takes_four_connections_at_most_and_the_listener_goes_when_nobody_waits(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_IDLE_SECONDS", 0.0)
    name = urlsplit(url).path[1:]

    def connections() -> int:
        return server.run(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'")[0][0]

    async def main() -> None:
        with closing(opened(url)) as store:
            found: list[int] = []
            waiting = [asyncio.create_task(store.next_answer(f"a{n}", 1.0)) for n in range(20)]
            while not all(task.done() for task in waiting):
                looks = [asyncio.to_thread(store.look, lambda tables: tables.head()) for _ in range(8)]
                await asyncio.gather(*looks)
                found.append(connections())
            assert max(found) == 4
            while connections() > 3:
                await asyncio.sleep(0.02)

    asyncio.run(main())

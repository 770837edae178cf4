"""Several calls at once: those that only read run together, any other alone; many callers, exact limits."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from rightcall import Executor
from support import crowding
from support.crowding import kept, shares
from support.every import every


def calls(*names: str) -> dict[str, Any]:
    listed = [
        {"id": str(number), "type": "function", "function": {"name": name, "arguments": json.dumps({"n": number})}}
        for number, name in enumerate(names)
    ]
    return {"role": "assistant", "content": None, "tool_calls": listed}


@pytest.mark.promise("X-05")
def test_calls_that_only_read_run_at_the_same_time_and_come_back_in_order() -> None:
    async def main() -> list[Any]:
        both = asyncio.Barrier(2)
        async with Executor.open(store="memory") as executor:

            @executor.tool(effects=["read"])
            async def meet(n: int) -> int:
                await both.wait()  # never returns unless the other is there too
                return n

            return await executor.run_all(calls("meet", "meet"))

    assert [outcome.result for outcome in asyncio.run(main())] == [0, 1]


@pytest.mark.promise("X-05")
def test_a_call_with_side_effects_waits_for_those_before_it_and_runs_alone() -> None:
    order: list[str] = []
    policy = {"policy": {"allow": ["*"], "write": "allow", "execute": "allow"}}

    async def main() -> list[Any]:
        async with Executor.open(policy=policy, store="memory") as executor:

            @executor.tool(effects=["read"])
            async def look(n: int) -> int:
                order.append(f"look {n} begins")
                await asyncio.sleep(0)
                order.append(f"look {n} ends")
                return n

            @executor.tool(effects=["write"])
            async def change(n: int) -> int:
                order.append(f"change {n}")
                return n

            return await executor.run_all(calls("look", "change", "look"))

    assert [outcome.result for outcome in asyncio.run(main())] == [0, 1, 2]
    assert order == ["look 0 begins", "look 0 ends", "change 1", "look 2 begins", "look 2 ends"]


@pytest.mark.promise("X-03")
def test_a_caller_that_gives_up_cancels_the_tool_and_the_record_says_so() -> None:
    from rightcall.record.tables import read_end

    async def main() -> tuple[bool, Any]:
        begun, cancelled = asyncio.Event(), False
        async with Executor.open(store="memory") as executor:

            @executor.tool(effects=["read"])
            async def forever() -> None:
                nonlocal cancelled
                begun.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled = True
                    raise

            task = asyncio.create_task(executor.run({"name": "forever"}))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            entries = executor.store.look(lambda tables: list(tables.entries()))
            assert executor.store.look(lambda tables: tables.running()) == []
            return cancelled, read_end(entries[-1].body)

    cancelled, end = asyncio.run(main())
    assert cancelled
    assert (end.status, end.error) == ("failed", "The caller cancelled it.")


@pytest.mark.long
@pytest.mark.promise("P-02", "P-12")
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_crowd_gets_exactly_as_many_calls_as_the_limit_allows(kind: str) -> None:
    attempts = ["--attempts", "400", "--workers", "4", "--limit", "50"]
    done = subprocess.run(
        [sys.executable, crowding.__file__, kind, *attempts], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"success": 50, "refused": 350}


@pytest.mark.promise("P-02", "P-12")
def test_every_attempt_is_somebodys() -> None:
    assert [sum(shares(401, workers)) for workers in (1, 4, 8)] == [401, 401, 401]


@pytest.mark.promise("P-02", "P-12")
@every(
    ("counts", "held"),
    [
        ({"success": 100, "refused": 300}, True),
        ({"success": 101, "refused": 299}, False),
        ({"success": 99, "refused": 301}, False),
        ({"success": 100, "refused": 299}, False),
        ({"success": 100, "refused": 299, "failed": 1}, False),
        ({"refused": 400}, False),
        ({}, False),
    ],
)
def test_only_exactly_the_limit_and_an_answer_to_every_attempt_is_right(counts: dict[str, int], held: bool) -> None:
    assert kept(Counter(counts), 400, 100) is held

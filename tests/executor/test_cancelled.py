"""A caller that gives up at the worst moment: every record is true, and nobody else's is touched."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rightcall import Executor, MemoryStore, StoreError
from rightcall.record.tables import read_end
from rightcall.record.verify import verify_audit

pytestmark = pytest.mark.promise("A-01", "A-03")


class Fragile(MemoryStore):
    """A memory store whose next commits fail after the work was done, or whose caller is cancelled by then."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: list[str] = []

    async def atransact(self, work: Callable[[Any], Any]) -> Any:
        step = self.plan.pop(0) if self.plan else ""
        if step == "lost":  # the work ran, the commit failed, and the caller was cancelled while it waited
            with self._lock:
                work(self._tables)
                self._tables.undo()
            raise asyncio.CancelledError
        if step == "cancelled":  # the commit succeeded, the caller no longer waits
            self.transact(work)
            raise asyncio.CancelledError
        if step == "failed":
            raise StoreError("the disk is full", "full")
        return self.transact(work)


def run(plan: list[str], others: int = 0) -> tuple[Fragile, list[str], list[Any]]:
    store, ran = Fragile(), list[str]()

    async def main() -> list[Any]:
        policy = {"policy": {"allow": ["*"], "write": "allow", "execute": "allow"}}
        async with Executor.open(policy=policy, store=store) as executor:

            @executor.tool(effects=["write"])
            async def act(what: str) -> str:
                ran.append(what)
                return what

            store.plan = list(plan)
            with pytest.raises(asyncio.CancelledError):
                await executor.run({"name": "act", "arguments": {"what": "first"}})
            return [await executor.run({"name": "act", "arguments": {"what": f"other {n}"}}) for n in range(others)]

    return store, ran, asyncio.run(main())


def ends(store: Fragile) -> dict[int, str]:
    entries = store.look(lambda tables: list(tables.entries()))
    return {entry.call: read_end(entry.body).status for entry in entries if entry.kind == "end"}


def test_a_begin_that_was_rolled_back_is_never_ended_in_anothers_place() -> None:
    store, ran, outcomes = run(["lost"], others=2)
    assert ran == ["other 0", "other 1"]
    assert ends(store) == {outcome.metadata.call: "success" for outcome in outcomes}
    assert store.look(verify_audit).ok


def test_a_begin_that_stands_although_nobody_waits_for_it_is_ended_and_nothing_runs() -> None:
    store, ran, outcomes = run(["cancelled"], others=1)
    assert ran == ["other 0"]
    assert sorted(ends(store).values()) == ["failed", "success"]
    assert store.look(lambda tables: tables.running()) == []
    assert outcomes[0].ok


@pytest.mark.parametrize("how", ["lost", "cancelled"])
def test_a_call_that_ran_is_completed_exactly_once_whatever_became_of_its_caller(how: str) -> None:
    store, ran, _ = run(["", how], others=1)
    assert ran == ["first", "other 0"]
    entries = store.look(lambda tables: list(tables.entries()))
    assert sorted(entry.kind for entry in entries if entry.kind in ("begin", "end")) == ["begin", "begin", "end", "end"]
    assert set(ends(store).values()) == {"success"}
    assert store.look(verify_audit).ok


def test_a_listener_that_fails_does_not_decide_over_a_call() -> None:
    def listen(stage: str) -> None:
        raise RuntimeError(stage)

    with Executor.open_sync(store="memory", on_stage=listen) as executor:

        @executor.tool(effects=["read"])
        def add(a: int) -> int:
            return a

        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok
        assert executor.store.look(lambda tables: tables.running()) == []

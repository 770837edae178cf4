"""What a page tries out, in a thread: a few at once, each for a bounded time, and nobody waits for what hangs."""

import asyncio
import threading

import pytest

from rightcall.console import bench
from rightcall.console.bench import Bench, TooBusyError
from rightcall.policy.settings import Policy

AT_ONCE = bench._AT_ONCE


def test_one_after_the_other_as_many_as_there_are_can_be_tried() -> None:
    async def all_() -> list[int]:
        tried = Bench()
        return [await tried.tried(lambda n=n: n) for n in range(3 * AT_ONCE)]

    assert asyncio.run(all_()) == list(range(3 * AT_ONCE))


def test_a_fault_belongs_to_whoever_asked_and_takes_no_place() -> None:
    async def all_() -> str:
        tried = Bench()
        for _ in range(2 * AT_ONCE):
            with pytest.raises(ZeroDivisionError):
                await tried.tried(lambda: 1 // 0)
        return await tried.tried(lambda: "still")

    assert asyncio.run(all_()) == "still"


def test_so_many_run_at_once_one_more_is_told_to_come_back_and_then_there_is_room() -> None:
    async def all_() -> tuple[list[bool], bool]:
        tried, go = Bench(), threading.Event()
        for _ in range(AT_ONCE):  # what has ended counts no more and no less
            await tried.tried(lambda: True)
        running = [asyncio.create_task(tried.tried(lambda: go.wait(5))) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        with pytest.raises(TooBusyError):
            await tried.tried(lambda: True)
        go.set()
        return await asyncio.gather(*running), await tried.tried(lambda: True)

    assert asyncio.run(all_()) == ([True] * AT_ONCE, True)


def test_what_takes_too_long_is_left_behind_and_keeps_its_place_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS", 0.01)

    async def all_() -> str:
        tried, go = Bench(), threading.Event()
        for _ in range(AT_ONCE):
            with pytest.raises(TooBusyError):
                await tried.tried(lambda: go.wait(5))
        monkeypatch.setattr(bench, "SECONDS", 5)
        with pytest.raises(TooBusyError):
            await tried.tried(lambda: "no room")
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        go.set()
        await asyncio.gather(*left)
        return await tried.tried(lambda: "room")

    assert asyncio.run(all_()) == "room"


def test_a_policy_that_changes_makes_everything_anew_and_only_so_much_is_kept() -> None:
    tried, made = Bench(), list[object]()

    def gate(policy: Policy, key: object) -> object:
        return tried._made(policy, key, lambda: made.append(key) or object())

    one, other = Policy(), Policy()
    assert gate(one, "a") is gate(one, "a")
    assert gate(other, "a") is not gate(one, "a")
    assert made == ["a", "a", "a"]

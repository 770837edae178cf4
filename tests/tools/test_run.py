"""One call of a local function: its result, or an error value."""

import asyncio
import contextvars
import dataclasses
import datetime
import enum
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from rightcall.tools.functions import local_tool
from rightcall.tools.run import QUICK, Threads, run
from support.every import every
from support.tool_runs import arun, result_of, value_of


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@pytest.mark.promise("X-02")
def test_a_result_carries_its_value_and_how_long_it_took() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    result = result_of(add, {"a": 1, "b": 2})
    assert (result.ok, result.value, result.error, result.cached, result.cut) == (True, 3, None, False, None)
    assert 0 < result.seconds < 20


@pytest.mark.promise("X-01")
def test_asynchronous_functions_are_awaited_wherever_they_hide() -> None:
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    class Doubler:
        async def __call__(self, n: int) -> int:
            return await double(n)

    def promised(n: int) -> Any:
        return double(n)

    for function in (double, Doubler(), promised, functools.partial(double), Doubler().__call__):
        assert value_of(function, n=4) == 8


def test_a_plain_function_runs_beside_the_event_loop_and_an_asynchronous_one_on_it() -> None:
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    async def where_async() -> bool:
        return where()

    assert value_of(where) is False
    assert value_of(where_async) is True


def test_arguments_arrive_in_the_types_the_function_declares() -> None:
    def draw(at: Point, colour: Colour, on: datetime.date, tags: set[str], path: Path) -> list[bool]:
        return [at == Point(1), colour is Colour.RED, on.year == 2026, tags == {"a"}, path == Path("out.png")]

    arguments = {"at": {"x": 1}, "colour": "red", "on": "2026-11-15", "tags": ["a", "a"], "path": "out.png"}
    assert value_of(draw, **arguments) == [True] * 5


@pytest.mark.promise("X-03")
@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_an_argument_that_does_not_fit_its_declared_type_is_named_and_nothing_runs(kind: str) -> None:
    ran: list[object] = []

    def plan(on: datetime.date, at: Point) -> None:
        ran.append(on)

    async def plan_async(on: datetime.date, at: Point) -> None:
        ran.append(on)

    result = result_of(plan if kind == "plain" else plan_async, {"on": "tomorrow\x1b", "at": {"x": "far"}})
    assert not result.ok
    assert result.error is not None
    assert result.error.startswith("`on`: ")
    assert "; `at`: " in result.error
    assert result.error.isprintable()
    assert ran == []


def crash(kind: str) -> BaseException:
    return {
        "value": ValueError("no such \x1b[31mday\nin June"),
        "exit": SystemExit(3),
        "interrupt": KeyboardInterrupt(),
        "generator": GeneratorExit(),
        "memory": MemoryError(),
        "cancelled": asyncio.CancelledError("myself"),
        "stop": StopAsyncIteration("enough"),
        "group": ExceptionGroup("several", [ValueError("a")]),
    }[kind]


@pytest.mark.promise("X-03")
@every(
    ("kind", "error"),
    [
        ("value", "ValueError: no such \\u001b[31mday in June"),
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
        ("generator", "GeneratorExit"),
        ("memory", "MemoryError"),
        ("cancelled", "CancelledError: myself"),
        ("stop", "StopAsyncIteration: enough"),
        ("group", "ExceptionGroup: several (1 sub-exception)"),
    ],
)
def test_whatever_a_tool_raises_is_an_error_value(kind: str, error: str) -> None:
    def plain() -> None:
        raise crash(kind)

    async def asynchronous() -> None:
        await asyncio.sleep(0)
        raise crash(kind)

    def generator() -> Iterator[int]:
        yield 1
        raise crash(kind)

    async def both() -> None:
        for function in (plain, asynchronous, generator):
            result = await arun(function)
            assert (result.ok, result.value, result.error) == (False, None, error)
        assert (await arun(alive)).value == "alive"

    asyncio.run(both())


def alive() -> str:
    return "alive"


@pytest.mark.promise("X-03")
def test_endless_recursion_is_an_error_value() -> None:
    def deep(n: int) -> int:
        return deep(n + 1)

    result = result_of(deep, {"n": 0})
    assert result.error is not None
    assert result.error.startswith("RecursionError")


def test_a_call_with_wrong_arguments_is_an_error_value() -> None:
    def one(a: int) -> int:
        return a

    result = result_of(one, {"b": 1})
    assert result.error is not None
    assert result.error.startswith("TypeError")


def test_an_argument_that_a_partial_has_set_cannot_be_set_again() -> None:
    def read(path: str, **options: Any) -> str:
        return options.get("root", "") + path

    fixed = functools.partial(read, root="/safe/")
    assert value_of(fixed, path="a") == "/safe/a"
    assert result_of(fixed, {"path": "a", "root": "/"}).error == "`root` is set by the program and cannot be given"


def test_a_tool_that_changes_its_arguments_changes_nobody_elses() -> None:
    def change(items: list[Any], table: Any) -> int:
        items.append(1)
        table["inner"].clear()
        return 1

    arguments = {"items": [[0]], "table": {"inner": [1]}}
    assert result_of(change, arguments).ok
    assert arguments == {"items": [[0]], "table": {"inner": [1]}}


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


@pytest.mark.parametrize("kind", ["plain", "asynchronous", "promised"])
def test_context_variables_reach_the_tool_and_its_own_changes_stay_with_it(kind: str) -> None:
    def plain() -> str:
        before = VARIABLE.get()
        VARIABLE.set("changed")
        return before

    async def asynchronous() -> str:
        return plain()

    def promised() -> Any:
        return asynchronous()

    functions: dict[str, Callable[..., Any]] = {
        "plain": plain,
        "asynchronous": asynchronous,
        "promised": promised,
    }

    async def called() -> None:
        VARIABLE.set("the caller's")
        assert (await arun(functions[kind])).value == "the caller's"
        assert VARIABLE.get() == "the caller's"

    asyncio.run(called())


@pytest.mark.promise("X-03")
def test_generators_are_drawn_to_their_end() -> None:
    def count(n: int) -> Iterator[int]:
        yield from range(n)

    async def count_async(n: int) -> AsyncIterator[int]:
        for number in range(n):
            yield number

    async def gives_generator(n: int) -> Any:
        return count(n)

    def gives_async(n: int) -> Any:
        return count_async(n)

    def gives_map(n: int) -> Any:
        return map(int, range(n))

    for function in (count, count_async, gives_generator, gives_async, gives_map):
        assert value_of(function, n=250) == list(range(250))


@pytest.mark.promise("X-03")
def test_an_endless_generator_ends_at_the_output_cap_and_is_closed() -> None:
    closed: list[str] = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("plain")

    async def endless_async() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("asynchronous")

    class Endless:
        def __iter__(self) -> "Endless":
            return self

        def __next__(self) -> int:
            return 1

        def close(self) -> None:
            closed.append("object")

    async def calls() -> None:
        for function in (endless, endless_async, giving(Endless())):
            result = await arun(function, output=1_000)
            assert result.ok
            assert result.value == ("[" + "1," * 1_000)[:1_000]
            assert result.cut == "only the first 1,000 bytes were kept, as JSON text"
        assert closed == ["plain", "asynchronous", "object"]

    asyncio.run(calls())


def giving(value: Any) -> Callable[[], Any]:
    def gives() -> Any:
        return value

    return gives


@pytest.mark.promise("X-03")
@pytest.mark.parametrize("size", [30_000, 200_000])
def test_a_result_over_the_cap_keeps_its_head_whichever_way_it_comes(size: int) -> None:
    def plain() -> Any:
        return {"text": "x" * size}

    async def asynchronous() -> Any:
        return plain()

    for function in (plain, asynchronous):
        whole = result_of(function, output=LARGE_ENOUGH)
        assert (whole.value, whole.cut) == ({"text": "x" * size}, None)
        cut = result_of(function, output=25_000)
        assert cut.value == '{"text":"' + "x" * (25_000 - 9)
        assert cut.cut is not None


LARGE_ENOUGH = 1_000_000


def test_many_calls_run_at_once_and_each_gets_its_own_result() -> None:
    def plain(n: int) -> int:
        return n

    async def asynchronous(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def all_of_them() -> list[Any]:
        tools = local_tool(plain), local_tool(asynchronous)
        calls = [run(tools[n % 2], {"n": n}, seconds=20, output=100) for n in range(300)]
        return [result.value for result in await asyncio.gather(*calls)]

    assert asyncio.run(all_of_them()) == list(range(300))


def test_calls_that_end_just_when_nobody_waits_any_more_get_their_results() -> None:
    threads = Threads()

    def takes(n: int) -> int:
        end = perf_counter() + n % 5 * QUICK / 2
        while perf_counter() < end:
            pass
        return n

    async def all_of_them() -> list[Any]:
        tool = local_tool(takes)
        calls = [run(tool, {"n": n}, seconds=20, output=100, threads=threads) for n in range(400)]
        return [(await call).value for call in calls]

    assert asyncio.run(all_of_them()) == list(range(400))


def test_a_function_that_needs_the_event_loop_has_it_after_quick_ones() -> None:
    threads = Threads()

    async def asked() -> str:
        return "answer"

    async def both() -> tuple[bool, Any]:
        loop = asyncio.get_running_loop()
        threads.are_quick = True

        def ask() -> str:
            return asyncio.run_coroutine_threadsafe(asked(), loop).result(20)

        answer = await arun(ask, threads=threads)
        return threads.are_quick, answer.value

    assert asyncio.run(both()) == (False, "answer")

"""Models that do not obey, or whose stream is none: a value within the time there is, never an exception."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from rightcall.models.replies import Failed, ask, asker
from rightcall.router import respond
from rightcall.router.respond import flowing
from rightcall.tools import run
from support.routers import Shop, looks, within

pytestmark = pytest.mark.promise("T-08")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (respond, run):
        monkeypatch.setattr(module, "GRACE", 0.02)


def pieces_of(opened: Callable[[], Any], seconds: float = 5.0) -> list[str | Failed]:
    async def main() -> list[str | Failed]:
        return [piece async for piece in flowing(opened, seconds)]

    return asyncio.run(main())


async def deaf(freed: asyncio.Event) -> None:
    """Waits for an event, and for nothing else."""
    while not freed.is_set():
        try:
            await freed.wait()
        except asyncio.CancelledError:
            continue


def test_a_model_that_does_not_obey_is_left_alone() -> None:
    async def main() -> Any:
        freed = asyncio.Event()

        async def model(messages: Any) -> str:
            await deaf(freed)
            raise RuntimeError("nobody listens to this")

        try:
            return await asyncio.wait_for(ask(asker(model, None, 0.01), [], {}), 60)
        finally:
            freed.set()
            await asyncio.sleep(0)

    assert asyncio.run(main()) == Failed("the model gave no answer within 0.01 s")


def test_a_stream_that_does_not_obey_is_left_alone() -> None:
    async def main() -> list[Any]:
        freed = asyncio.Event()

        async def stream() -> AsyncGenerator[str, None]:
            yield "It "
            await deaf(freed)
            yield "never ends"

        async def listened() -> list[Any]:
            return [piece async for piece in flowing(stream, 0.0123)]

        try:
            return await asyncio.wait_for(listened(), 60)
        finally:
            freed.set()
            await asyncio.sleep(0)

    assert asyncio.run(main()) == ["It ", Failed("the model gave no whole answer within 0.01 s")]


def test_a_model_that_cancels_itself_has_failed() -> None:
    async def model(messages: Any) -> str:
        raise asyncio.CancelledError

    async def stream() -> AsyncGenerator[str, None]:
        yield "It"
        raise asyncio.CancelledError

    assert asyncio.run(ask(asker(model, None, 5.0), [], {})) == Failed("the model was cancelled")
    assert pieces_of(stream) == ["It", Failed("the model was cancelled")]


def test_a_stream_is_closed_by_the_task_that_opened_it_when_nobody_listens_any_more() -> None:
    tasks: list[Any] = []

    async def stream() -> AsyncGenerator[str, None]:
        tasks.append(asyncio.current_task())
        try:
            while True:
                yield "word "
        finally:
            tasks.append(asyncio.current_task())

    async def main() -> None:
        coming = flowing(stream, 5.0)
        assert await anext(coming) == "word "
        await coming.aclose()

    asyncio.run(main())
    opened, closed = tasks
    assert opened is closed


def plain() -> Any:
    yield "It rains."


async def whole() -> str:
    return "It rains."


def down() -> Any:
    raise ConnectionError("down")


class Streaming:
    """A model whose `stream` gives whatever it was told."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._opened = opened

    def __call__(self, messages: Any) -> str:
        return "never asked"

    def stream(self, messages: Any) -> Any:
        return self._opened()


@pytest.mark.parametrize(
    ("opened", "why"),
    [
        (plain, "gave a generator, no asynchronous iterator"),
        (whole, "gave a coroutine, no asynchronous iterator"),
        (lambda: None, "gave a NoneType, no asynchronous iterator"),
        (down, "ConnectionError: down"),
    ],
)
def test_a_stream_that_is_none_is_a_model_that_failed(tmp_path: Path, opened: Callable[[], Any], why: str) -> None:
    shop = Shop(tmp_path)
    router = shop.router(Streaming(opened), needs_tool=looks("none", probability=0.01))
    done = within(shop, lambda: router.answer("hello"))
    assert done.packet.status.state == "failed"
    assert why in done.packet.status.why
    assert done.text

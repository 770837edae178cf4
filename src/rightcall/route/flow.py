"""A model's words as they come, for no longer than there is time. What goes wrong comes as the last piece.

The model runs in a task of its own: one that does not obey when its time is over is left alone, and what it says then
is heard by nobody.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import suppress
from inspect import iscoroutine
from typing import Any, cast

from rightcall.loop_asking import Failed, failed

GRACE = 0.5
"""Seconds that a model has to end once it was told to."""

_Line = asyncio.Queue[str | Failed | None]
_left_alone: set["asyncio.Task[None]"] = set()
"""The event loop itself holds its tasks only weakly."""


async def flowing(opened: Callable[[], Any], seconds: float) -> AsyncGenerator[str | Failed, None]:
    """The pieces of the asynchronous iterator that `opened` gives, all within so many seconds."""
    deadline = asyncio.get_running_loop().time() + seconds
    line: _Line = asyncio.Queue(1)
    pump = asyncio.create_task(_pumped(opened, line))
    try:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await line.get()
            except TimeoutError:
                piece = Failed(f"the model gave no whole answer within {round(seconds, 2):g} s")
            if piece is None:
                return
            yield piece
            if isinstance(piece, Failed):
                return
    finally:
        await _stopped(pump)


async def _pumped(opened: Callable[[], Any], line: _Line) -> None:
    """All of it in one task: some iterators can only be left by the task that entered them."""
    source: Any = None
    end: Failed | None = None
    try:
        source = opened()
        if isinstance(source, AsyncIterable):
            async for piece in cast("AsyncIterable[Any]", source):
                if not isinstance(piece, str):
                    end = Failed(f"the model sent a piece of type {type(piece).__name__}; text is due")
                    break
                await line.put(piece)
        else:
            end = Failed(f"the model's `stream` gave a {type(source).__name__}, no asynchronous iterator")
    except Exception as error:  # noqa: BLE001 - whatever a model raises is a value here
        end = failed(error)
    except asyncio.CancelledError:
        if _was_told():
            raise
        end = Failed("the model was cancelled")
    finally:
        await _closed(source)
    await line.put(end)


def _was_told() -> bool:
    """Whether it is us who want this task to end, and not the model itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _closed(source: Any) -> None:
    with suppress(Exception):
        if iscoroutine(source):
            source.close()
        elif (close := getattr(source, "aclose", None)) is not None:
            await close()


async def _stopped(pump: "asyncio.Task[None]") -> None:
    if pump.done():
        return
    pump.cancel()
    _left_alone.add(pump)
    pump.add_done_callback(_left_alone.discard)
    await asyncio.wait({pump}, timeout=GRACE)

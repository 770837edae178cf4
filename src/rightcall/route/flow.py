"""A model's words as they come, for no longer than there is time. What goes wrong comes as the last piece."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from rightcall.loop_asking import Failed, failed


async def flowing(pieces: Any, seconds: float) -> AsyncGenerator[str | Failed, None]:
    """The pieces of an asynchronous iterator, all within so many seconds."""
    deadline = asyncio.get_running_loop().time() + seconds
    source = aiter(pieces)
    try:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await anext(source)
            except StopAsyncIteration:
                return
            except TimeoutError:
                yield Failed(f"the model gave no whole answer within {seconds:g} s")
                return
            except Exception as error:  # noqa: BLE001 - whatever a model raises is a value here
                yield failed(error)
                return
            if not isinstance(piece, str):
                yield Failed(f"the model sent a piece of type {type(piece).__name__}; text is due")
                return
            yield piece
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()

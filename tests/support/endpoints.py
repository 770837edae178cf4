"""Asking an endpoint whose server is scripted byte by byte."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from msgspec import json

from support.raw_server import Scripted, answer

P = ParamSpec("P")

HELLO = [{"role": "user", "content": "Hello"}]


def in_a_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """A test that is a coroutine, with an end to its patience."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def limited() -> None:
            async with asyncio.timeout(60):
                await test(*args, **kwargs)

        asyncio.run(limited())

    return run


async def until(is_so: Callable[[], Any]) -> None:
    while not is_so():
        await asyncio.sleep(0)


def pass_time(seconds: float) -> None:
    """Sets the running loop's clock forward: whoever waited for that long is late now."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # the loop ends with the test


def said(text: Any = "Hi.", **more: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.encode({"choices": [{"message": message, "finish_reason": "stop"}], **more})


def refusal(status: str, error: Any, *headers: bytes) -> bytes:
    return answer(json.encode({"error": error}), *headers, status=status.encode())


def bodies(server: Scripted) -> list[Any]:
    """What was asked, question by question; of a list of models, None."""
    sent = [request.partition(b"\r\n\r\n")[2] for request in server.requests]
    return [json.decode(body) if body else None for body in sent]


def text(reply: dict[str, Any]) -> str:
    return reply["choices"][0]["message"]["content"]

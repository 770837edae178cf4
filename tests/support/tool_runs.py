"""Running tools in tests: one call on an event loop of its own."""

import asyncio
from collections.abc import Callable
from typing import Any

from rightcall.policy.types import Result
from rightcall.tools.functions import local_tool
from rightcall.tools.run import Threads, run

LONG, LARGE = 20.0, 100_000


async def arun(
    function: Callable[..., Any],
    arguments: dict[str, Any] | None = None,
    seconds: float = LONG,
    output: int = LARGE,
    threads: Threads | None = None,
) -> Result:
    return await run(local_tool(function), arguments or {}, seconds=seconds, output=output, threads=threads)


def result_of(
    function: Callable[..., Any],
    arguments: dict[str, Any] | None = None,
    seconds: float = LONG,
    output: int = LARGE,
    threads: Threads | None = None,
) -> Result:
    return asyncio.run(arun(function, arguments, seconds, output, threads))


def value_of(function: Callable[..., Any], **arguments: Any) -> Any:
    result = result_of(function, arguments)
    assert result.ok, result.error
    return result.value

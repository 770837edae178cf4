"""A function with the arguments of one call, as a thread or the event loop calls it. A crash is a value already."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping
from types import FunctionType
from typing import Any, cast

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.functions import MARK, Function, LocalTool, fixed_arguments, own_copy
from rightcall.execute.plain import COMMON, Gatherer, Shaped, is_iterator, shaped
from rightcall.text.faults import fault_text, message_of

_AT_ONCE = 20_000
"""Bytes of output that are made plain on the event loop; more is done in a thread."""


_OURS = frozenset((MARK,))


class Failed(Struct, frozen=True):
    """No result, and why, as the model may read it. `plain`: in words of ours."""

    error: str
    plain: bool = False


class Awaited(Struct, frozen=True):
    """What a plain function returned is to be awaited on the event loop."""

    value: Any


class Large(Struct, frozen=True):
    """What an asynchronous function returned is to be made plain in a thread."""

    value: Any


class _UnfitError(Exception):
    """An argument cannot be given to the function."""


def is_asynchronous(function: Function) -> bool:
    """Whether calling it gives something to await: also an object whose `__call__` is asynchronous."""
    if type(function) is FunctionType and function.__dict__.keys() <= _OURS:  # most: nothing marks it otherwise
        return bool(function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR))
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return True
    if inspect.isroutine(function):
        return False
    called = getattr(type(function), "__call__", None)  # noqa: B004 - not whether there is one, but which
    return inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


def called_in_thread(tool: LocalTool, arguments: Mapping[str, Any], output: int) -> Shaped | Failed | Awaited:
    """Call it and make the result plain."""
    try:
        value = _called(tool, arguments)
        if type(value) not in COMMON and (inspect.isawaitable(value) or isinstance(value, AsyncIterator)):
            return Awaited(value)
        return shaped(value, output)
    except BaseException as error:  # noqa: BLE001 - a crash of a tool is a value, SystemExit too
        return _failed(error)


async def called_on_loop(tool: LocalTool, arguments: Mapping[str, Any], output: int) -> Shaped | Failed | Large:
    """Call it and await what it gives."""
    try:
        return await _awaited(_called(tool, arguments), output)
    except BaseException as error:  # noqa: BLE001 - as above; who cancels knows it without being told
        return _failed(error)


async def awaited_on_loop(found: Awaited, output: int) -> Shaped | Failed | Large:
    """Await what a call in a thread gave."""
    try:
        return await _awaited(found.value, output)
    except BaseException as error:  # noqa: BLE001 - as above
        return _failed(error)


def shaped_in_thread(found: Large, output: int) -> Shaped | Failed:
    try:
        return shaped(found.value, output)
    except BaseException as error:  # noqa: BLE001 - an iterator may raise anything
        return _failed(error)


def discard(outcome: object) -> None:
    """An outcome that nobody wants any more: a coroutine that never began would complain."""
    value = outcome.value if isinstance(outcome, Awaited) else None
    if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()


def _called(tool: LocalTool, arguments: Mapping[str, Any]) -> Any:
    given = own_copy(arguments)
    for name in fixed_arguments(tool.function).intersection(given):
        raise _UnfitError(f"`{name}` is set by the program and cannot be given")
    if tool.convert is not None:
        given, misfits = tool.convert(given)
        if misfits:
            raise _UnfitError("; ".join(f"`{misfit.name}`: {misfit.reason}" for misfit in misfits))
    return tool.function(**given)


def _failed(error: BaseException) -> Failed:
    if isinstance(error, ToolFailure):
        return Failed(message_of(error), plain=True)
    return Failed(str(error) if isinstance(error, _UnfitError) else fault_text(error))


async def _awaited(value: Any, output: int) -> Shaped | Large:
    if inspect.isawaitable(value):
        value = await value
    if type(value) not in COMMON:
        if isinstance(value, AsyncIterator):
            return await _drained(cast("AsyncIterator[Any]", value), output)
        if is_iterator(value):
            return Large(value)  # it may block, or never end
    at_once = shaped(value, min(output, _AT_ONCE))
    return at_once if at_once.cut is None or output <= _AT_ONCE else Large(value)


async def _drained(items: AsyncIterator[Any], output: int) -> Shaped:
    """The items of an asynchronous iterator, no more of them than the cap allows."""
    gatherer = Gatherer(output)
    found: list[Any] = []
    try:
        async for item in items:
            found.append(gatherer.plain(item, 1))
            if gatherer.full:
                break
            if len(found) % 100 == 0:
                await asyncio.sleep(0)  # one that never waits must not hold up everybody else
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
    return gatherer.shaped(found)

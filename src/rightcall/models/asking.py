"""Asking a model once: whatever answers, in time, and what went wrong as words."""

import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import ConfigError, ModelError
from rightcall.models.replies import Message, is_reply

if TYPE_CHECKING:
    from concurrent.futures import Future


Native = Literal["openai", "anthropic"]
Model = Callable[..., Any]

_log = logging.getLogger("rightcall")
_LONGEST = 2000
_NO_TOOLS: dict[Native, Any] = {"openai": "none", "anthropic": {"type": "none"}}


class Failed(Struct, frozen=True):
    """A model that did not answer, and why."""

    error: str


class Asker(Struct, frozen=True):
    """A model, and how it wants to be asked."""

    model: Model
    native: Native | None
    """The shape of the definitions it takes as `tools=`; None: it is told of its tools in words."""
    chooses: bool
    """Whether it can be told by `tool_choice=` that it may not call any."""
    asynchronous: bool
    seconds: float | None

    def options(self, definitions: list[Message], *, last: bool) -> dict[str, Any]:
        """The keywords of one question. The last has the tools too: some APIs refuse a history of calls without."""
        if self.native is None or not definitions:  # an empty list is refused by most APIs
            return {}
        choice = {"tool_choice": _NO_TOOLS[self.native]} if last and self.chooses else {}
        return {"tools": definitions, **choice}


def asker(model: Any, native: Any = None, seconds: float | None = None) -> Asker:
    """What a model's signature says of it. Only a parameter called `tools` counts, not `**options`: who takes anything
    may still send on what his server refuses."""
    if not callable(model):
        raise ConfigError(f"`model` must be callable with a list of messages, not a {type(model).__name__}")
    if native not in (None, "openai", "anthropic"):
        raise ConfigError(f"`native` must be 'openai' or 'anthropic' (or left out), not {native!r}")
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"`model_seconds` must be more than 0 (or None for no limit), not {seconds!r}")
    parameters = parameters_of(model)
    named = {name for name, kind in parameters.items() if kind != inspect.Parameter.VAR_KEYWORD}
    if native is None and "tools" in named:
        native = "openai"
    if native is not None and parameters and named == set(parameters) and "tools" not in named:
        raise ConfigError(f"`native` is {native!r}, but `model` takes no keyword `tools`")
    own = getattr(type(model), "__call__", None)  # noqa: B004 - not whether it can be called, but how
    asynchronous = inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(own)
    return Asker(model, native, "tool_choice" in named, asynchronous, seconds)


def parameters_of(model: Model) -> dict[str, Any]:
    """The kind of each parameter by its name; empty where it cannot be told."""
    try:
        return {name: one.kind for name, one in inspect.signature(model).parameters.items()}
    except (TypeError, ValueError):  # built-in callables do not always say
        return {}


async def ask(asker: Asker, messages: list[Message], options: dict[str, Any]) -> Any:
    """The model's reply, or `Failed`. A synchronous model is asked in a thread: others go on meanwhile. One that does
    not obey when its time is over is left alone, and its reply is dropped."""
    if asker.seconds is None:
        return await _ask_model(asker, messages, options)
    import asyncio
    from contextvars import copy_context

    from rightcall.tools.run import Stopped, in_task

    async def work() -> Any:
        try:
            return await _ask_model(asker, messages, options)
        except asyncio.CancelledError:  # whoever told it to end does not listen any more
            return Failed("the model was cancelled")

    deadline = asyncio.get_running_loop().time() + asker.seconds
    reply = await in_task(work, deadline, copy_context())
    return _late(asker) if isinstance(reply, Stopped) else reply


async def _ask_model(asker: Asker, messages: list[Message], options: dict[str, Any]) -> Any:
    import asyncio

    try:
        if asker.asynchronous:
            return await asker.model(messages, **options)
        reply = await asyncio.wrap_future(_in_thread(asker.model, messages, options))
        return await reply if inspect.isawaitable(reply) else reply
    except Exception as error:  # noqa: BLE001 - whatever a model raises, what was done so far is kept
        return failed(error)


def ask_sync(asker: Asker, messages: list[Message], options: dict[str, Any]) -> Any:
    """The same for code without an event loop. A thread only where there is a time limit."""
    if asker.seconds is None:
        reply = _attempt(asker.model, messages, options)
    else:
        try:
            reply = _in_thread(asker.model, messages, options).result(asker.seconds)
        except TimeoutError:  # ours: what the model raises comes as a value
            return _late(asker)
    if inspect.iscoroutine(reply):
        reply.close()
        return Failed("the model is asynchronous: use `await run_loop(…)`")
    return reply


def _attempt(model: Model, messages: list[Message], options: dict[str, Any]) -> Any:
    try:
        return model(messages, **options)
    except Exception as error:  # noqa: BLE001 - as above
        return failed(error)


def failed(error: Exception) -> Failed:
    """What a model raised, as a value. A `ModelError` is a whole sentence already."""
    _log.warning("rightcall: the model failed", exc_info=error)
    said = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
    return Failed(escaped(said, _LONGEST))


def _late(asker: Asker) -> Failed:
    return Failed(f"the model gave no answer within {round(asker.seconds or 0, 2):g} s")


def _in_thread(model: Model, messages: list[Message], options: dict[str, Any]) -> "Future[Any]":
    from functools import partial

    from rightcall.base.http.client import in_own_thread

    return in_own_thread(partial(_attempt, model, messages, options), "rightcall-model")


def failure_of(written: Any) -> str | None:
    """Why this is no reply; None when it is one."""
    if isinstance(written, Failed):
        return written.error
    if not is_reply(written):
        what = "nothing" if written is None else f"a value of type {type(written).__name__}"
        return f"the model returned {what}; a text or a message is due"
    return None

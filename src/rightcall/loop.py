"""The tool loop for any model (design 002 §10): ask, run what it calls, give it the results, until it answers.

    async with Executor.open(".", tools=[read_file]) as executor:
        result = await run_loop(model, executor, "How does the parser work?", caller="teacher")
    print(result.text)

A model is any callable that takes a list of messages and returns text, an OpenAI message or response, or an Anthropic
message. Whatever it does, the loop ends: after its rounds (five, unless the policy says otherwise) it is asked for an
answer without tools.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.loop_asking import Asker, Model, Native, ask, ask_sync, asker
from rightcall.loop_messages import Message, opening, with_prompt
from rightcall.loop_turns import Ask, Course, LoopResult, Run, Stopped, Tools, course

if TYPE_CHECKING:
    from rightcall.executor_sync import SyncExecutor

__all__ = ["LoopResult", "Model", "Native", "Stopped", "run_loop", "run_loop_sync"]


class LoopOptions(TypedDict, total=False):
    """What a loop takes besides the caller, for type checkers; `run_loop` says what each means."""

    context: str | None
    step: str | None
    rounds: int | None
    native: Native | None
    model_seconds: float | None
    wait: float


class _Terms(Struct, frozen=True, kw_only=True):
    context: str | None = None
    step: str | None = None
    rounds: int | None = None
    native: Native | None = None
    model_seconds: float | None = None
    wait: float = 0


async def run_loop(
    model: Model, executor: Tools, request: str | list[Message], *, caller: str, **options: Unpack[LoopOptions]
) -> LoopResult:
    """Let a model answer a request with the tools that `caller` may use.

    `model` may be synchronous (it is asked in a thread) or asynchronous. One with a parameter `tools` gets native
    definitions, in OpenAI's shape unless `native` says "anthropic"; any other gets the system prompt. `request` is a
    text or a list of messages, such as the `messages` of an earlier result. All calls are recorded under `context` (a
    fresh id when none is given), each round as a step of its own unless `step` names one. `rounds` can lower the
    policy's number, never raise it. `model_seconds` limits each question to the model; `wait` says for how many
    seconds a call may wait for a person's yes.
    """
    terms = _Terms(**options)
    asking = asker(model, terms.native, terms.model_seconds)
    turns, common = _begin(executor, request, caller, terms)
    want = _advance(turns, None)
    while not isinstance(want, LoopResult):
        if isinstance(want, Ask):
            came: Any = await ask(asking, *_question(asking, executor, caller, want))
        else:
            came = await executor.run_all(want.reading, step=want.step, emission=want.emission, **common)
        want = _advance(turns, came)
    return want


def run_loop_sync(
    model: Model, executor: "SyncExecutor", request: str | list[Message], *, caller: str, **options: Unpack[LoopOptions]
) -> LoopResult:
    """As `run_loop`, for code without an event loop: with what `Executor.open_sync` gives, and a synchronous model."""
    terms = _Terms(**options)
    asking = asker(model, terms.native, terms.model_seconds)
    if asking.asynchronous:
        raise ConfigError("`model` is asynchronous: use `await run_loop(…)`")
    tools = cast("Tools", executor)  # all but `run_all` it leaves to the executor it stands for
    turns, common = _begin(tools, request, caller, terms)
    want = _advance(turns, None)
    while not isinstance(want, LoopResult):
        if isinstance(want, Ask):
            came: Any = ask_sync(asking, *_question(asking, tools, caller, want))
        else:
            came = executor.run_all(want.reading, step=want.step, emission=want.emission, **common)
        want = _advance(turns, came)
    return want


def _begin(executor: Tools, request: Any, caller: str, terms: _Terms) -> tuple[Course, dict[str, Any]]:
    """The loop at its start, and what all its calls have in common."""
    from uuid import uuid4

    rounds, wait = terms.rounds, terms.wait
    if rounds is not None and rounds < 0:
        raise ConfigError(f"`rounds` must be 0 or more (0: no tools at all), not {rounds!r}")
    if not wait >= 0:
        raise ConfigError(f"`wait` must be 0 or more seconds, not {wait!r}")
    most = executor.rounds if rounds is None else min(rounds, executor.rounds)
    context = terms.context or str(uuid4())
    common: dict[str, Any] = {"caller": caller, "context": context}
    if wait:
        common["wait"] = wait
    return course(executor, opening(request), context, terms.step, most), common


def _advance(turns: Generator[Any, Any, LoopResult], came: Any) -> Ask | Run | LoopResult:
    try:
        return turns.send(came)
    except StopIteration as end:
        return end.value


def _question(asking: Asker, executor: Tools, caller: str, want: Ask) -> tuple[list[Message], dict[str, Any]]:
    """The messages and keywords of one question. Copies: what a model does with them is its own affair."""
    messages = [dict(message) for message in want.messages]
    if not want.tools:
        return messages, {}
    if asking.native is None:
        return with_prompt(messages, executor.prompt(caller)), {}
    return messages, asking.options(executor.definitions(caller, asking.native), last=want.last)

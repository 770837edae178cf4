"""The tool loop for any model (design 002 §10): ask, run what it calls, give it the results, until it answers.

    async with Executor.open(".", tools=[read_file]) as executor:
        result = await run_loop(model, executor, "How does the parser work?", caller="teacher")
    print(result.text)

A model is any callable that takes a list of messages and returns text, an OpenAI message or response, or an Anthropic
message. Whatever it does, the loop ends: after its rounds (five, unless the policy says otherwise) it is asked for an
answer without tools.
"""

import inspect
import logging
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack, cast

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import ConfigError, ModelError
from rightcall.executor.present.messages import Outcome
from rightcall.models.replies import (
    Message,
    Turn,
    answer_of,
    answers,
    is_reply,
    last_turn,
    opening,
    turn_of,
    unread,
    with_prompt,
)
from rightcall.types import Reading

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rightcall.executor.executor import SyncExecutor
    from rightcall.gate.gate import Gate


# ── asking the model ──
# Asking a model: any callable, synchronous or not, with a time limit. A model that fails is a value.

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


# ── turns ──
# The course of the loop, without asking or running anything itself: it says what it wants next and is sent what came
# of it. So the asynchronous loop and its synchronous twin are the same loop.
#
#     Ask ─▶ reply ─▶ read ─┬─ no calls ─▶ "answer"
#                           └─ Run ─▶ outcomes ─┬─ all wait for a person ─▶ "waiting"
#                                               └─ next round, or the last question ─▶ "rounds"

Stopped = Literal["answer", "rounds", "model", "waiting"]
"""Why a loop ended: the model answered; its rounds were over and it was asked for an answer without tools; it failed;
every call of a round waits for a person."""

_PASSES = 3
"""More often than this nobody writes calls around calls by accident."""

NO_MORE = "No more tools can be used for this request: its {rounds} are over. Answer now with what you have."


class Tools(Protocol):
    """What the loop needs of an executor."""

    @property
    def gate(self) -> "Gate": ...

    @property
    def rounds(self) -> int: ...

    @property
    def run_all(self) -> Callable[..., Any]: ...

    def prompt(self, caller: str, /) -> str: ...

    def definitions(self, caller: str, shape: Literal["openai", "anthropic"], /) -> list[dict[str, Any]]: ...


class LoopResult(Struct, frozen=True):
    """How a request ended. Nothing is lost: what was said and done until then is in it, however it ended."""

    text: str
    """The answer, for people: never with the markup of a call. Of a loop that ended otherwise, what the model said
    last beside its calls."""
    messages: list[Message]
    """The whole conversation, ready to go on with. The prompt that names the tools is not in it: it is made anew for
    every question, from what the caller may use then."""
    outcomes: tuple[Outcome, ...]
    """Of all calls, in order."""
    rounds: int
    """In how many rounds calls were answered."""
    stopped: Stopped
    context: str
    """Under which the audit has the records of all its calls."""
    error: str | None = None
    """Why the model failed."""

    @property
    def approvals(self) -> tuple[str, ...]:
        """The questions to a person that calls wait for, by id. Once they are answered, the request can go on from
        `messages`: the same call, made again, uses the answer."""
        waiting = [one.decision.approval for one in self.outcomes if one.status == "waiting" and one.decision]
        return tuple(dict.fromkeys(filter(None, waiting)))


class Ask(Struct, frozen=True):
    """Ask the model. `last`: it may use no more tools; `tools` false: it never hears of any."""

    messages: list[Message]
    last: bool = False
    tools: bool = True


class Run(Struct, frozen=True):
    """Run the calls of a reading; `emission` is the text it is of."""

    reading: Reading
    step: str
    emission: str


Course = Generator[Ask | Run, Any, LoopResult]


def course(executor: Tools, messages: list[Message], context: str, step: str | None, rounds: int) -> Course:
    """One request from beginning to end. `messages` grows."""
    outcomes: list[Outcome] = []

    def ended(stopped: Stopped, text: str, rounds: int, error: str | None = None) -> LoopResult:
        return LoopResult(text, messages, tuple(outcomes), rounds, stopped, context, error)

    said, taken = "", set[str]()
    for number in range(1, rounds + 1):
        written = yield Ask(messages)
        if (failure := failure_of(written)) is not None:
            return ended("model", said, number - 1, failure)
        reading = executor.gate.read(written)
        turn = turn_of(written, reading, taken)
        taken.update(native.id for native in turn.natives)
        said, retry = _extract_answer(executor.gate, turn, reading), unread(turn, reading)
        if not reading.calls and not retry:
            messages.extend(_closing(turn, said))
            return ended("answer", said, number - 1)
        results: list[Outcome] = (yield Run(reading, step or str(number), turn.prose)) if reading.calls else []
        outcomes += results
        waits = bool(results) and all(outcome.status == "waiting" for outcome in results)
        over = NO_MORE.format(rounds=_counted(rounds)) if number == rounds and not waits else ""
        messages.extend((turn.message, *answers(turn, results, "\n\n".join(filter(None, (retry, over))))))
        if waits:
            return ended("waiting", said, number)
    written = yield Ask(messages, last=True, tools=rounds > 0)
    if (failure := failure_of(written)) is not None:
        return ended("model", said, rounds, failure)
    reading = executor.gate.read(written)
    turn = turn_of(written, reading)
    said = _extract_answer(executor.gate, turn, reading)
    messages.extend(_closing(turn, said))
    return ended("rounds", said, rounds)


def _extract_answer(gate: "Gate", turn: Turn, reading: Reading) -> str:
    """The answer in a reply. Where something was taken out, what is left may form a call: that is no answer either."""
    text = answer_of(turn, reading, opened=gate.reasoning == "open")
    if text == turn.prose:
        return text
    for _ in range(_PASSES):
        left = gate.stream("closed").read(text)
        if not left.calls:
            return text
        text = left.text.strip()
    return ""


def failure_of(written: Any) -> str | None:
    """Why this is no reply; None when it is one."""
    if isinstance(written, Failed):
        return written.error
    if not is_reply(written):
        what = "nothing" if written is None else f"a value of type {type(written).__name__}"
        return f"the model returned {what}; a text or a message is due"
    return None


def _closing(turn: Turn, said: str) -> list[Message]:
    message = last_turn(turn, said)
    return [message] if message is not None else []


def _counted(rounds: int) -> str:
    return f"{rounds} rounds" if rounds != 1 else "1 round"


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

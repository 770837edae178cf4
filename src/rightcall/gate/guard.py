"""Three lines around a function (`guard`) or around one turn of an agent loop (`run_calls`, `arun_calls`)."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall import suggest_keywords
from rightcall.base.telemetry.conventions import ARGUMENTS, DENIED, UNKNOWN_TOOL, repairs_told
from rightcall.base.telemetry.spans import NO_SPAN, Span
from rightcall.base.text import invalid_call
from rightcall.catalog.functions import converter
from rightcall.catalog.tool import declared_tool
from rightcall.errors import ToolError
from rightcall.types import MessageShape, Problem, Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate


# ── function ──
# Three lines around any function: what a model wrote is repaired and checked before the function runs.
#
#     @guard
#     def area(width: int, height: int) -> int: ...
#
#     area("{'width': '3', height: 4,}")      # runs area(width=3, height=4)
#
# `run_calls` below does the same for a whole turn of an agent loop.

R = TypeVar("R")
Function = Callable[..., Any]
Prepare = Callable[[Verdict], "dict[str, Any] | Refused"]


class Refused(Struct, frozen=True):
    """What a guarded function returns instead of its result when the call was not run.

    `str(refused)` is what the model should read; `refused.verdict` says everything.
    """

    verdict: Verdict

    def __str__(self) -> str:
        return self.verdict.hint or "The call did not run: it has no arguments this tool accepts."

    def message(self, shape: MessageShape = "text") -> Any:
        """The refusal in the shape a model's API wants, as `Verdict.message`."""
        return self.verdict.message(shape)


@overload
def guard(function: Callable[..., R], *, gate: "Gate | None" = None) -> Callable[..., R | Refused]: ...
@overload
def guard(*, gate: "Gate | None" = None) -> Callable[[Callable[..., R]], Callable[..., R | Refused]]: ...
@suggest_keywords
def guard(function: Function | None = None, *, gate: "Gate | None" = None) -> Any:
    """Wrap a function so that a model may call it, with keyword arguments or with the raw arguments it wrote.

    The guarded function takes keywords, or one positional value: a dict, JSON text or broken text. A call that fits
    runs; one that can be repaired with certainty is repaired and runs; any other is not run, and a `Refused` comes
    back. Nothing is raised for what a model wrote; what the function itself raises passes through. An asynchronous
    function stays asynchronous. Give `gate` to share one policy and one set of statistics between functions.

    >>> from rightcall import guard
    >>> @guard
    ... def area(width: int, height: int) -> int:
    ...     return width * height
    >>> area("{'width': '3', height: 4,}")
    12
    >>> type(area(width=3)).__name__
    'Refused'
    """
    if function is None:
        return functools.partial(guard, gate=gate)
    run, name = function, tool_name(function)
    checker = _gate_for(function, name, gate)
    prepare = preparer(function)

    def ready(args: tuple[Any, ...], kwargs: dict[str, Any], span: Span | None = None) -> dict[str, Any] | Refused:
        verdict = checker.check(name, _bundle_arguments(name, args, kwargs))
        # A deprecated tool may have been mapped to another one: that is not the function we hold.
        elsewhere = verdict.call is not None and verdict.call.name != name
        arguments = Refused(verdict) if elsewhere else prepare(verdict)
        return arguments if span is None else _told(span, verdict, arguments)

    if checker.telemetry.is_on:
        return _followed(run, ready, lambda: checker.telemetry.tool(name, about=_about(checker, name)))

    if inspect.iscoroutinefunction(run):

        @functools.wraps(run)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            arguments = ready(args, kwargs)
            return arguments if isinstance(arguments, Refused) else await run(**arguments)

        return guarded_async

    @functools.wraps(run)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        arguments = ready(args, kwargs)
        return arguments if isinstance(arguments, Refused) else run(**arguments)

    return guarded


def _followed(run: Function, ready: Callable[..., "dict[str, Any] | Refused"], begin: Callable[[], Span]) -> Function:
    """The same with a span around each call. Apart from the plain one, which pays nothing for it."""
    if inspect.iscoroutinefunction(run):

        @functools.wraps(run)
        async def followed_async(*args: Any, **kwargs: Any) -> Any:
            with begin() as span:
                arguments = ready(args, kwargs, span)
                return arguments if isinstance(arguments, Refused) else await run(**arguments)

        return followed_async

    @functools.wraps(run)
    def followed(*args: Any, **kwargs: Any) -> Any:
        with begin() as span:
            arguments = ready(args, kwargs, span)
            return arguments if isinstance(arguments, Refused) else run(**arguments)

    return followed


def _told(span: Span, verdict: Verdict, arguments: "dict[str, Any] | Refused") -> "dict[str, Any] | Refused":
    span.tell(repairs_told(verdict.repairs))
    if isinstance(arguments, Refused):
        span.fail(DENIED)
    elif verdict.call is not None:
        span.tell_content(ARGUMENTS, verdict.call.arguments)
    return arguments


def tool_name(function: Function) -> str:
    """The name a model calls a function by; refuses functions that cannot be called with keywords."""
    declared = declared_tool(function)
    name = getattr(function, "__name__", None) if declared is None else declared.name
    if not isinstance(name, str) or name == "<lambda>":
        raise ToolError(f"{function!r} has no name a model can call: pass a function defined with `def`")
    first = True
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ToolError(f"{name}: `{parameter.name}` is positional-only; a model's arguments always have names")
        if first and parameter.name in ("self", "cls"):
            raise ToolError(f"{name}: pass the bound method, as in guard(thing.{name})")
        first = False
    return name


def preparer(function: Function) -> Prepare:
    """From a verdict to the keyword arguments `function` takes, in the types it declares, or to the refusal.

    A schema speaks of JSON; a function may ask for a dataclass, an enum, a date, a set, a path or a pydantic model.
    Where the declared type cannot be made from JSON the value stays what the schema let through.
    """
    convert, why_stopped = converter(function), _stop()

    def prepare(verdict: Verdict) -> dict[str, Any] | Refused:
        given: Any = verdict.call.arguments if verdict.ok and verdict.call is not None else None
        if verdict.call is None or not isinstance(given, dict):
            return Refused(verdict)
        if (why := why_stopped()) is not None:
            return Refused(replace(verdict, ok=False, call=None, hint=why, retry=False))
        arguments, misfits = convert(cast("dict[str, Any]", given))
        if misfits and verdict.mode == "block":  # warn and observe let the call run as it is
            return Refused(_unfit(verdict, verdict.call.name, misfits[0].name, misfits[0].reason))
        return arguments

    return prepare


def _stop() -> Callable[[], str | None]:
    """Says what the model reads while everything of this user is paused, else None: a guarded function has no store
    that could be. Asked before every call, so it knows where to look once it was asked."""

    @functools.cache
    def look() -> Callable[[], object]:
        from rightcall.policy.trust import EVERYWHERE, Stops  # late: wrapping a function needs none of it

        return Stops(EVERYWHERE).standing

    def why() -> str | None:
        if look()() is None:
            return None
        from rightcall.policy.types import PAUSED

        return f"{PAUSED.reason}. {PAUSED.hint}"

    return why


def _unfit(verdict: Verdict, tool: str, name: str, reason: str) -> Verdict:
    problem = Problem("type", name, reason)
    hint = f"{invalid_call(tool)} `{name}`: {reason}. Correct it and call {tool} again."
    return replace(verdict, ok=False, problems=(problem,), hint=hint, retry=True)


def _gate_for(function: Function, name: str, gate: "Gate | None") -> "Gate":
    if gate is None:
        from rightcall.gate.gate import Gate  # late: wrapping nothing should load nothing

        return Gate([function])
    if gate.catalog.get(name) is None:
        raise ToolError(f"the gate has no tool `{name}`: pass it the function too, as in Gate([{name}, …])")
    return gate


def _bundle_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not args:
        return kwargs
    if len(args) == 1 and not kwargs:
        return args[0]
    raise TypeError(f"{name}() is guarded: pass keyword arguments, or the model's arguments as one dict or text")


# ── calls ──
# One turn of an agent loop: the messages that answer a model's tool calls.
#
#     messages += run_calls(gate, [get_weather, add], reply["tool_calls"])
#
# Calls may be OpenAI tool calls or Anthropic `tool_use` blocks, as dicts or as the SDK's objects; the answers come back
# in the same shape and order. What fits runs, what can be repaired is repaired and runs, the rest is answered with the
# hint. An error the function itself raises passes through: only its author knows whether the model may see it.

Functions = Mapping[str, Function] | Iterable[Function]
Shape = Literal["openai", "anthropic"]
ID_KEY: dict[Shape, str] = {"openai": "tool_call_id", "anthropic": "tool_use_id"}


class _Step(Struct, frozen=True):
    """One call, judged: a function with its arguments, or the refusal."""

    shape: Shape
    id: str
    function: Function | None
    arguments: "dict[str, Any] | Refused"
    warning: str | None = None
    """What the model should read beside the result, where the policy only warns."""
    span: Span = NO_SPAN
    """What follows it, begun with the check."""


def run_calls(gate: "Gate", functions: Functions, calls: Iterable[Any]) -> list[dict[str, Any]]:
    """Run each call that fits and answer every one; `functions` is a list of functions, or a dict by tool name.

    >>> from rightcall import Gate, run_calls
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{'a': '1', b: 2}"}}
    >>> run_calls(Gate([add]), [add], [call])
    [{'role': 'tool', 'tool_call_id': 'c1', 'content': '3'}]
    """
    table = _table(functions)
    answers: list[dict[str, Any]] = []
    for call in calls:
        step = _judge(gate, table, call)
        with step.span:
            answers.append(_answer(step, _run(step)))
    return answers


async def arun_calls(gate: "Gate", functions: Functions, calls: Iterable[Any]) -> list[dict[str, Any]]:
    """As `run_calls`, in order, awaiting functions that are asynchronous."""
    table = _table(functions)
    answers: list[dict[str, Any]] = []
    for call in calls:
        step = _judge(gate, table, call)
        with step.span:
            result = _run(step, awaiting=True)
            answers.append(_answer(step, await result if inspect.isawaitable(result) else result))
    return answers


def _table(functions: Functions) -> dict[str, tuple[Function, Prepare]]:
    if isinstance(functions, Mapping):
        pairs = list(cast("Mapping[str, Function]", functions).items())
    else:
        pairs = [(tool_name(function), function) for function in functions]
    return {name: (function, preparer(function)) for name, function in pairs}


def _judge(gate: "Gate", table: dict[str, tuple[Function, Prepare]], call: Any) -> _Step:
    inner = _field(call, "function")
    source, key, shape = (call, "input", "anthropic") if inner is None else (inner, "arguments", "openai")
    call_id, since = str(_field(call, "id") or ""), gate.telemetry.now()
    verdict = gate.check(_field(source, "name"), _field(source, key), call_id=call_id)
    step = _step(verdict, table, shape, call_id)
    if not gate.telemetry.is_on:
        return step
    known = verdict.call is not None and verdict.call.name in table
    name = verdict.call.name if known and verdict.call else UNKNOWN_TOOL
    span = gate.telemetry.tool(name, since, call_id, _about(gate, name))
    _told(span, verdict, step.arguments)
    return replace(step, span=span)


def _about(gate: "Gate", name: str) -> str:
    found = gate.catalog.get(name)
    return "" if found is None else found.description


def _step(verdict: Verdict, table: dict[str, tuple[Function, Prepare]], shape: Shape, call_id: str) -> _Step:
    if not verdict.ok or verdict.call is None:
        return _Step(shape, call_id, None, Refused(verdict))
    known = table.get(verdict.call.name)
    if known is None:  # the gate lets it pass, but there is nothing here to run
        return _Step(shape, call_id, None, Refused(_nothing_to_run(verdict, verdict.call.name, table)))
    function, prepare = known
    return _Step(shape, call_id, function, prepare(verdict), verdict.hint if verdict.mode == "warn" else None)


def _field(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return cast("Mapping[str, Any]", thing).get(name)
    return getattr(thing, name, None)


def _nothing_to_run(verdict: Verdict, tool: str, table: Iterable[str]) -> Verdict:
    problem = Problem("unknown_tool", "", f"unknown function `{tool}`")
    hint = f"Unknown tool `{tool}`. Tools: {', '.join(sorted(table))}."
    return replace(verdict, ok=False, problems=(problem,), hint=hint)


def _run(step: _Step, *, awaiting: bool = False) -> Any:
    if step.function is None or isinstance(step.arguments, Refused):
        return step.arguments
    if not awaiting and inspect.iscoroutinefunction(step.function):
        raise TypeError(f"{step.function.__name__} is asynchronous: use `await arun_calls(…)`")
    return step.function(**step.arguments)


def _answer(step: _Step, result: Any) -> dict[str, Any]:
    if isinstance(result, Refused):
        return result.message(step.shape) | {ID_KEY[step.shape]: step.id}
    content = result if isinstance(result, str) else encode(result, enc_hook=str).decode()
    if step.warning:
        content = f"{content}\n\n{step.warning}"
    kind = {"type": "tool_result"} if step.shape == "anthropic" else {"role": "tool"}
    return {**kind, ID_KEY[step.shape]: step.id, "content": content}

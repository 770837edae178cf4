"""One turn of an agent loop: the messages that answer a model's tool calls.

    messages += run_calls(gate, [get_weather, add], reply["tool_calls"])

Calls may be OpenAI tool calls or Anthropic `tool_use` blocks, as dicts or as the SDK's objects; the answers come back
in the same shape and order. What fits runs, what can be repaired is repaired and runs, the rest is answered with the
hint. An error the function itself raises passes through: only its author knows whether the model may see it.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.guarding.function import Function, Prepare, Refused, preparer, tool_name
from rightcall.types import Problem, Verdict

if TYPE_CHECKING:
    from rightcall.gate import Gate

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
    steps = (_judge(gate, table, call) for call in calls)
    return [_answer(step, _run(step)) for step in steps]


async def arun_calls(gate: "Gate", functions: Functions, calls: Iterable[Any]) -> list[dict[str, Any]]:
    """As `run_calls`, in order, awaiting functions that are asynchronous."""
    table = _table(functions)
    answers: list[dict[str, Any]] = []
    for call in calls:
        step = _judge(gate, table, call)
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
    call_id = str(_field(call, "id") or "")
    verdict = gate.check(_field(source, "name"), _field(source, key), call_id=call_id)
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
    problem = Problem("unknown_tool", "", f"there is no function `{tool}`")
    hint = f"There is no tool `{tool}` here. The tools are: {', '.join(sorted(table))}."
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

"""The arguments of a call, whatever they came as: a dict, JSON, broken JSON, Python, tags, bytes, nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from rightcall.config import Policy
from rightcall.errors import Unreadable
from rightcall.parse.find import read_value
from rightcall.parse.marks import repairs_of
from rightcall.parse.reader import Read
from rightcall.parse.shape import ANY, Shape
from rightcall.parse.strict import decode, duplicate_keys
from rightcall.text.escape import escaped
from rightcall.types import Problem, ProblemCode, Repair, StrategyName


class Found(NamedTuple):
    """The arguments as they were read: the value, what reading needed, and what is wrong with it already."""

    value: Any
    repairs: tuple[Repair, ...] = ()
    problems: tuple[Problem, ...] = ()
    truncated: bool = False
    readable: bool = True
    cut_inside: bool = False
    """The text ends inside a value: what else is missing or wrong cannot be told."""
    callee: str = ""
    """The name before the brackets, where the arguments were written as a call."""


def read_arguments(arguments: Any, shape: Shape | None, strategies: frozenset[StrategyName], policy: Policy) -> Found:
    """Read arguments for a tool of this shape; None is a tool that nobody knows."""
    if arguments is None:
        return Found({})
    if type(arguments) is Found:
        return arguments  # recovering has read them already
    kind: type[object] = type(cast("object", arguments))
    if issubclass(kind, (bytes, bytearray)):
        try:
            arguments = bytes(arguments).decode()
        except UnicodeDecodeError as error:
            return _unreadable(Problem("text", "", f"The arguments are no UTF-8 text (byte {error.start})"))
        kind = str
    if issubclass(kind, str):
        return _read_text(str.__str__(arguments), shape, strategies, policy)
    if issubclass(kind, Mapping) and not issubclass(kind, dict):
        return Found(dict(cast("Mapping[str, Any]", arguments)))
    return Found(arguments)


def _read_text(text: str, shape: Shape | None, strategies: frozenset[StrategyName], policy: Policy) -> Found:
    if len(text) > policy.max_text:
        message = f"The arguments have {len(text)} characters, more than the {policy.max_text} allowed"
        return _unreadable(Problem("too_large", "", message))
    if not text.strip():
        return Found({})
    try:
        if not strategies:
            value = decode(text)
            read = Read(value, len(text), {}, "", duplicate_keys(text, value))
        else:
            read = read_value(text, shape or ANY, max_depth=policy.max_depth)
    except Unreadable as error:
        return _unreadable(Problem(fault_code(str(error)), "", f"The arguments could not be read: {error}"))
    repairs, forbidden = repairs_of(read.marks, text, strategies=strategies)
    refused = tuple(Problem("unreadable", "", f"switched off by the policy: {rule.what}") for rule in forbidden)
    return Found(
        read.value, repairs, (*refused, *_faults(read)), bool(read.cut), not refused, read.cut == "value", read.callee
    )


def fault_code(why: str) -> ProblemCode:
    """The code of what could not be read: `too_large` beyond a limit of size or nesting."""
    return "too_large" if "nested deeper" in why or "longer than" in why else "unreadable"


def _unreadable(problem: Problem) -> Found:
    return Found(None, problems=(problem,), readable=False)


def _faults(read: Read) -> tuple[Problem, ...]:
    faults = [Problem("duplicate_key", path, f"`{escaped(path, 120)}` is given twice") for path in read.duplicates[:20]]
    if read.cut == "value":
        faults.append(
            Problem("truncated", "", "The arguments are cut off inside a value; send the call again, complete")
        )
    return tuple(faults)

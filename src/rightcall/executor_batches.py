"""The calls inside a batch, as deep as they nest. Who runs them may read a call in another way than we do: where more
than one reading is possible the call counts as one that nothing allows."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from rightcall.catalog import ALL_EFFECTS, Tool
from rightcall.catalog.names import key_of
from rightcall.executor_toolbox import Toolbox
from rightcall.parse.strict import opened
from rightcall.types import Batch, Effect

DEEPEST = 8
"""Batches within batches that are looked into; what is deeper counts as untold."""

UNNAMED = ""
"""In place of the name of a call that does not name exactly one tool."""


class Inner(Struct, frozen=True):
    """One call inside a batch."""

    names: tuple[str, ...] = ()
    """Every tool that it names, as written."""
    tools: tuple[Tool, ...] = ()
    """Those of them that are known."""
    arguments: tuple[dict[str, Any], ...] = ()
    """Wherever it may keep its arguments."""
    told: bool = False
    """Whether it names exactly one tool, and its arguments can be read."""


def inner_calls(toolbox: Toolbox, batch: Batch, arguments: Mapping[str, Any], depth: int = 0) -> Iterator[Inner]:
    """Every call that a batch would run, those of the batches within it too."""
    lists = _at(arguments, (batch.list,))
    if depth >= DEEPEST or (arguments and not lists):
        yield Inner()
        return
    for calls in map(opened, lists):
        for call in cast("list[Any]", calls) if isinstance(calls, list) else [None]:
            yield from _inner(toolbox, batch, opened(call), depth)


def _inner(toolbox: Toolbox, batch: Batch, call: Any, depth: int) -> Iterator[Inner]:
    if not isinstance(call, dict):
        yield Inner()
        return
    table = cast("dict[str, Any]", call)
    written = _at(table, batch.name)
    names = tuple(dict.fromkeys(one for one in written if isinstance(one, str) and one.strip()))
    given: list[Any] = [{} if one is None else opened(one) for one in _at(table, batch.arguments)]
    readable = tuple(cast("dict[str, Any]", one) for one in given if isinstance(one, dict))
    told = len(names) == 1 and all(one in names for one in written) and len(readable) == len(given)
    tools = tuple(tool for name in names if (tool := _known(toolbox, name)) is not None)
    yield Inner(names, tools, readable, told)
    for tool in tools:
        if tool.rules.batch is not None:
            for one in readable:
                yield from inner_calls(toolbox, tool.rules.batch, one, depth + 1)


def names_judged(toolbox: Toolbox, inner: Iterable[Inner]) -> tuple[str, ...]:
    """The tools that must all be allowed."""
    names: dict[str, None] = {}
    for one in inner:
        names |= dict.fromkeys(name for written in one.names for name in names_of(toolbox, written))
        if not one.told:
            names[UNNAMED] = None
    return tuple(names)


def names_of(toolbox: Toolbox, written: str) -> Iterator[str]:
    """A tool as it was written, as it is known, and what has taken its place."""
    yield written
    tool = _known(toolbox, written)
    if tool is not None:
        yield tool.name
        if tool.rules.replaced_by is not None:
            yield tool.rules.replaced_by


def effects_inside(inner: Iterable[Inner]) -> frozenset[Effect]:
    """All that they can do together. A tool that nobody knows can do everything."""
    found: frozenset[Effect] = frozenset()
    for one in inner:
        found |= one.tools[0].effects if one.told and one.tools else ALL_EFFECTS
    return found


def _known(toolbox: Toolbox, name: str) -> Tool | None:
    match = toolbox.gate.inside.find(name)
    known = None if match.tool is None else toolbox.tools.get(match.tool.name)
    if known is not None:
        return known.tool
    return None if match.kind == "typo" else match.tool  # of a tool that nobody lists, nothing is told of its likes


def _at(table: Mapping[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """The values under these keys, in any spelling of them."""
    wanted = {key_of(key) for key in keys}
    return [value for key, value in table.items() if key in keys or key_of(key) in wanted]

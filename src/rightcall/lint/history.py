"""What the audit log knows of tools: the names that models really wrote for their arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, quote_name

if TYPE_CHECKING:
    from rightcall.record.calls import CallRecord
    from rightcall.record.tables import Tables

RENAMED: Final = frozenset(("alias", "style", "affix", "typo", "suffix", "synonym", "part", "elimination"))
"""The rules by which the gate takes one name for another."""
LEAST: Final = 3
"""Calls with the same mistake before it is told."""
MOST_CALLS: Final = 20_000


class Misnaming(Struct, frozen=True):
    """A name that was written; `meant` is empty where the tool has nothing like it."""

    tool: str
    written: str
    meant: str
    times: int
    callers: int


def misnamings_of(records: Iterable[CallRecord]) -> list[Misnaming]:
    """The names in recorded calls that are not the tool's own, most frequent first."""
    times: Counter[tuple[str, str, str]] = Counter()
    callers: dict[tuple[str, str, str], set[str]] = {}
    for record in records:
        for key in _written(record.tool, record.repairs):
            times[key] += 1
            callers.setdefault(key, set()).add(record.caller)
    return [Misnaming(*key, count, len(callers[key])) for key, count in times.most_common()]


def _written(tool: str, repairs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for repair in repairs:
        rule, before, after, path = (repair.get(key) for key in ("rule", "before", "after", "path"))
        if rule in RENAMED and isinstance(before, str) and isinstance(after, str) and before != after:
            yield tool, before, after
        elif rule == "dropped_argument" and isinstance(path, str) and path:
            yield tool, path, ""


def look_up(tables: Tables) -> list[Misnaming]:
    """Those of the last calls in a store."""
    from rightcall.record.calls import CallFilter, find_calls  # late: only where the audit is asked

    return misnamings_of(find_calls(tables, CallFilter(), limit=MOST_CALLS))


def check_history(tools: Sequence[ToolView], found: Iterable[Misnaming]) -> Iterator[tuple[ToolView, Hit]]:
    """A record calls the tool of a server `server/tool`."""
    by_name = {tool.name: tool for tool in tools}
    for one in found:
        tool = by_name.get(one.tool) or by_name.get(one.tool.rpartition("/")[2])
        if tool is None or one.times < LEAST:
            continue
        known = {argument.name: argument for argument in tool.arguments}
        who = f"{one.times} times, by {one.callers} caller{'' if one.callers == 1 else 's'}"
        if one.meant in known:
            yield tool, Hit(
                "RC115", f"models wrote {quote_name(one.written)} for {quote_name(one.meant)} {who}",
                f"rename it to {quote_name(one.written)}, or declare the alias in a pack", known[one.meant].path,
            )  # fmt: skip
        elif not one.meant and one.written not in known:
            yield tool, Hit(
                "RC119", f"models sent {quote_name(one.written)}, which the tool does not have, {who}",
                "add the argument, or say how to do without it", tool.schema_path,
            )  # fmt: skip

"""One call, from what the model wrote to what it read: each step beside the one before, and the record that proves
it."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from json import dumps
from shlex import quote
from typing import Any, Final

from msgspec import Struct, json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.base.secrets import Redactor
from rightcall.console.changes import find_change
from rightcall.console.page import Page, Site, look, not_found, number_in, render, site_of
from rightcall.console.pages.live import Fate, Row, fate_of, rows_of_calls
from rightcall.console.pages.policy import RuleSource, Way, can_explain, source_of, way_out
from rightcall.console.questions import MOST_TEXT, Room, TextLine, json_lines, rows_of, text_lines, value_lines
from rightcall.console.questions import Row as ValueRow
from rightcall.errors import RightCallError
from rightcall.executor.guesses import LOOP, how_to_allow
from rightcall.executor.toolbox import Equipped
from rightcall.policy.effects import line_to_add
from rightcall.policy.types import Approval
from rightcall.record.calls import CallRecord, call, neighbours
from rightcall.record.export import entry_record, value_of
from rightcall.record.tables import START, AuditEntry, Tables

_LONGEST_COMMAND: Final = 4000
_MOST_CHANGES: Final = 100
_MOST_LAID_OUT: Final = 1_000_000
"""Bytes of a record that is read and laid out to be shown; of a longer one its beginning is shown as it is."""


class Change(Struct, frozen=True):
    """One repair."""

    path: str
    before: list[TextLine]
    after: list[TextLine]
    rule: str
    strategy: str
    confidence: float | None
    note: str


class Moment(Struct, frozen=True):
    """One bar of the timing: its start and its length from 0 to 100, and what it took."""

    name: str
    start: float
    length: float
    milliseconds: float


class Chained(Struct, frozen=True):
    """A record of the chain."""

    entry: AuditEntry
    before: str
    body: list[TextLine]


class CallView(Struct, frozen=True, kw_only=True):
    call: CallRecord
    written: list[TextLine]
    """What the model wrote, where it is not the call itself."""
    arguments: list[ValueRow]
    changes: list[Change]
    result: list[TextLine]
    approval: Approval | None
    row: Row
    """In a list of calls."""
    fate: Fate | None
    """What became of it, where it asked a person."""
    timing: list[Moment]
    chain: list[Chained]
    near: list[Row]
    is_cut: bool
    """Whether something is too long for the page; the raw records have all of it."""


async def show(request: Request) -> Response:
    number = number_in(request)
    now = site_of(request).store.clock.now()
    found = await look(request, lambda tables: read_view(tables, number, now))
    if found is None:
        return await _show_record(request, number)
    site = site_of(request)
    one = found.call
    command, done = await asyncio.to_thread(lambda: (_command(one, site), find_change(site, one)))
    source = await asyncio.to_thread(_source, one, site)
    decided = one.decision in ("deny", "ask", "dry_run")
    way = await asyncio.to_thread(_way, one, site, source) if decided else Way()
    asks = await asyncio.to_thread(can_explain, site, one)
    return render(request, "call", view=found, command=command, done=done, way=way, source=source, asks=asks)


async def _show_record(request: Request, number: int) -> Response:
    """A record of another kind."""
    room = Room()

    def work(tables: Tables) -> Chained | None:
        entry = tables.entry(number)
        return None if entry is None else _chained(tables, entry, room)

    entry = await look(request, work)
    if entry is None:
        return not_found(request, f"No record {number}", "It was never written, or it was pruned.")
    return render(request, "record", chained=entry, is_cut=room.is_cut)


async def show_raw(request: Request) -> Response:
    """The records of a call as they stand in the chain, byte by byte."""
    number = number_in(request)

    def work(tables: Tables) -> list[AuditEntry]:
        entry = tables.entry(number)
        return [] if entry is None else [entry, *tables.belonging(number)]

    entries = await look(request, work)
    text = b"".join(json.encode(entry_record(one)) + b"\n" for one in entries)
    return Response(text, 200 if entries else 404, media_type="application/x-ndjson")


def read_view(tables: Tables, number: int, now: int) -> CallView | None:
    found = call(tables, number)
    if found is None:
        return None
    entry = tables.entry(found.id)
    chain = (entry, *tables.belonging(found.id))
    asked = None if found.approval is None else tables.approval(found.approval)
    room = Room()
    return CallView(
        call=found,
        written=_written(found, room),
        arguments=room.rows(list(rows_of(room.value(found.params), "arguments"))) if found.params is not None else [],
        changes=[_change(one, room) for one in found.repairs[:_MOST_CHANGES]],
        result=room.lines(text_lines(room.start(found.summary))) if found.summary else [],
        approval=asked,
        row=rows_of_calls(tables, [found], now)[0],
        fate=fate_of(asked, now) if found.status == "waiting" and found.approval else None,
        timing=list(_timing(found, asked)),
        chain=[_chained(tables, one, room) for one in chain if one is not None],
        near=rows_of_calls(tables, neighbours(tables, found), now),
        is_cut=room.is_cut or len(found.repairs) > _MOST_CHANGES,
    )


def _written(found: CallRecord, room: Room) -> list[TextLine]:
    if found.emission is None:
        return []
    if isinstance(found.emission, str):
        return room.lines(text_lines(room.start(found.emission)))
    return room.lines(json_lines(room.start(json.format(json.encode(found.emission)).decode())))


def _change(repair: Mapping[str, Any], room: Room) -> Change:
    sure = repair.get("confidence")
    return Change(
        str(repair.get("path") or ""), room.lines(value_lines(room.value(repair.get("before")))),
        room.lines(value_lines(room.value(repair.get("after")))),
        str(repair.get("rule") or ""), str(repair.get("strategy") or ""),
        float(sure) if isinstance(sure, int | float) else None, str(repair.get("note") or ""),
    )  # fmt: skip


def _timing(found: CallRecord, asked: Approval | None) -> Iterator[Moment]:
    """Waiting for a person, then running; nothing where neither is known."""
    ran = found.execution_time
    waited = 0.0
    if asked is not None and asked.answered and found.id == asked.used_by:
        waited = max(0.0, _milliseconds(asked.answered) - _milliseconds(asked.asked))
    whole = waited + (ran or 0.0)
    if whole <= 0:
        return
    if waited:
        yield Moment("waited for approval", 0, round(100 * waited / whole, 2), waited)
    if ran is not None:
        yield Moment("ran", round(100 * waited / whole, 2), max(0.5, round(100 * ran / whole, 2)), ran)


def _milliseconds(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp() * 1000
    except ValueError:
        return 0.0


def _chained(tables: Tables, entry: AuditEntry, room: Room) -> Chained:
    previous = tables.entry(entry.seq - 1)
    before = START if entry.seq == 1 else None if previous is None else previous.hash
    if len(entry.body) <= _MOST_LAID_OUT:
        body = json.format(json.encode(value_of(entry))).decode()
    else:
        body, room.is_cut = entry.body[:MOST_TEXT].decode("utf-8", "backslashreplace"), True
    shown = room.lines(json_lines(room.start(body)))
    return Chained(entry, "pruned" if before is None else before.hex(), shown)


def _command(found: CallRecord, site: Site) -> str | None:
    """The call as a command that makes it again, under the policy: plain ASCII, so that what is copied is what is
    seen. Empty for names that are not, and for very long arguments; None for a tool that does not run here."""
    if found.status == "proxied" and not _runs_here(found.tool, site):
        return None
    arguments = dumps(found.params)
    plain = all(one.isascii() and one.isprintable() and one for one in (found.caller, found.tool))
    if not plain or len(arguments) > _LONGEST_COMMAND:
        return ""
    return f"rightcall run --as {quote(found.caller)} {quote(found.tool)} {quote(arguments)}"


def _runs_here(tool: str, site: Site) -> bool:
    one = _find_tool(tool, site)
    return one is not None and one.local is not None


def _find_tool(tool: str, site: Site) -> Equipped | None:
    try:
        return site.bench.toolbox(site.policy(), site.root).tools.get(tool)
    except RightCallError:
        return None


def _source(found: CallRecord, site: Site) -> RuleSource | None:
    policy = site.policy()
    return source_of(found, policy, Redactor(site.store.key(), policy.settings.audit.redact))


def _way(found: CallRecord, site: Site, source: RuleSource | None) -> Way:
    """How a call of its kind would be allowed, as `rightcall run` says it; or that no word of the policy does."""
    if found.rule == LOOP:
        return Way(how_to_allow(found.tool))
    one, policy = _find_tool(found.tool, site), site.policy()
    line = line_to_add(found.rule, found.tool, found.effects or (() if one is None else one.tool.effects))
    way = way_out(found, source, policy, line)
    if found.decision != "deny":
        way = Way(line)
    if not way.allows or policy.standing != "tightened":
        return way
    trust = f"rightcall trust {quote(policy.source)}"
    return Way(f"nobody has trusted the policy, so it permits nothing: `{trust}`. If it still refuses, {way.allows}")


PAGE = Page(
    "call", "A call", "call", "",
    [Route("/calls/{number}", show), Route("/calls/{number}/raw", show_raw)],
)  # fmt: skip

"""Tools and servers: what there is, how it is used, what has changed since it was first seen, and why something is not
offered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import urlencode

from msgspec import DecodeError, Struct, json, to_builtins
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.base.secrets import Redactor
from rightcall.console.page import LONGEST_LINKED, Page, Site, look, not_found, render, site_of
from rightcall.console.pages.live import Row as CallRow
from rightcall.console.pages.live import link_to, rows_of_calls, unspelled
from rightcall.console.questions import Piece, TextLine, json_lines, text_lines
from rightcall.executor.question import Paper, changes
from rightcall.executor.toolbox import Equipped, Toolbox
from rightcall.gate.gate import name_of
from rightcall.policy.decide import denial, effect_denial, is_outside, permission
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import Server
from rightcall.policy.types import DEFAULT_CALLER, Approval, Rights
from rightcall.record.calls import CallFilter, CallRecord, Period, latest_calls, window_of
from rightcall.record.counts import Counts, Tally
from rightcall.record.notes import Known, KnownKind, known_definitions
from rightcall.record.rollup.periods import count
from rightcall.record.tables import Tables
from rightcall.types import Rules

LIMIT: Final = 100
PERIODS: Final = {"1hour": "Last hour", "1day": "Last 24 hours", "1week": "Last 7 days"}
_RECENT: Final = 5
_MOST_CALLERS: Final = 100
_MOST_PASSED: Final = 100
_MOST_LOOKED: Final = 2000
_MOST_REASONS: Final = 200
_LONGEST_WHY: Final = 200
_PAPER: Final = Paper(10_000)


class Usage(Struct, frozen=True):
    """How a tool was used in a period."""

    calls: int = 0
    refused: int = 0
    failed: int = 0
    passed: int = 0
    """Through the proxy, to a client that may have run it."""
    unfit: int = 0
    """Nothing made them fit: refused here, or passed on as they were."""
    success: float | None = None
    p95: float | None = None

    @property
    def all(self) -> int:
        return self.calls + self.passed


_UNUSED: Final = Usage()


class Listed(Struct, frozen=True):
    """One tool in the list."""

    name: str
    source: str
    effects: str
    usage: Usage
    offered: str
    """To whom, or why to nobody."""
    is_offered: bool
    is_changed: bool
    waits: str
    """The approval that asks about its changed definition."""

    def link(self, period: Period) -> str:
        return f"/tools/one?{urlencode({'name': self.name[:LONGEST_LINKED], 'period': period})}"


class Joined(Struct, frozen=True):
    """One MCP server."""

    name: str
    state: str
    is_well: bool
    facts: list[tuple[str, str]]
    problem: list[TextLine]
    known: Known | None
    change: list[TextLine]


def period_of(request: Request) -> Period:
    asked = request.query_params.get("period")
    return next((one for one in get_args(Period) if one == asked), "1day")


class Seen(Struct, frozen=True):
    """What one look into the store finds."""

    asked: frozenset[str]
    """Tools whose calls wait for a person."""

    known: Mapping[tuple[KnownKind, str], Known]
    waiting: list[Approval]
    """Questions about definitions and servers that have changed."""
    usage: Mapping[str, Usage]


def read_seen(tables: Tables, period: Period, now: int) -> Seen:
    waits = [one for one in tables.approvals("waiting") if one.expires_at > now]
    asked = frozenset(one.tool for one in waits if one.kind != "server")
    changed = [one for one in waits if one.kind != "call"]
    return Seen(asked, known_definitions(tables), changed, usage_of(count(tables, period=period, now=tables.wall())))


def usage_of(counts: Counts) -> dict[str, Usage]:
    tallies, passed, fits = counts.by("tool"), counts.passed_by("tool"), counts.strategies_by("tool")
    unfit = {name: strategies["failed"] for name, strategies in fits.items()}
    return {name: _usage(tallies.get(name), passed[name], unfit.get(name, 0)) for name in {*tallies, *passed}}


def _usage(tally: Tally | None, passed: int, unfit: int) -> Usage:
    if tally is None:
        return Usage(passed=passed, unfit=unfit)
    success = tally.succeeded / tally.ran if tally.ran else None
    return Usage(tally.calls, tally.refused, tally.failed, passed, unfit, success, tally.times.percentile(95))


# ── the list ──


async def show(request: Request) -> Response:
    site, period = site_of(request), period_of(request)
    now = site.store.clock.now()
    seen = await look(request, lambda tables: read_seen(tables, period, now))
    words = unspelled(request.query_params.get("text", "")[:100])
    listed, servers = await asyncio.to_thread(lambda: (_listed(site, seen), list(_servers(site, seen))))
    fitting = [one for one in listed if words.casefold() in one.name.casefold()]
    page, after = _page(fitting, request.query_params.get("after", ""))
    return render(
        request, "tools", tools=page, total=len(fitting), servers=servers, period=period, periods=PERIODS,
        words=words, after=after, is_first=not request.query_params.get("after"), urlencode=urlencode,
        live=partial(link_to, period),
    )  # fmt: skip


def _page(listed: list[Listed], after: str) -> tuple[list[Listed], str]:
    """The tools behind a place in the order, most used first, and the place of the next page."""
    calls, _, name = after.partition(":")
    if calls.isascii() and calls.isdecimal() and len(calls) < 18:
        listed = [one for one in listed if _place(one) > (-int(calls), name)]
    page = listed[:LIMIT]
    return page, f"{page[-1].usage.all}:{page[-1].name[:LONGEST_LINKED]}" if len(listed) > LIMIT else ""


def _place(one: Listed) -> tuple[int, str]:
    return -one.usage.all, one.name


def _listed(site: Site, seen: Seen) -> list[Listed]:
    """Every tool that the policy has, a server offers, or a record names."""
    toolbox = site.bench.toolbox(site.policy(), site.root)
    served = {str(tool.get("name")): server for server, tool in site.tools()}
    named = {name for kind, name in seen.known if kind == "tool"}
    waits = {one.tool: one.id for one in seen.waiting if one.kind == "definition"}
    callers = callers_of(toolbox)
    found: list[Listed] = []
    for name in {*toolbox.tools, *served, *named, *seen.usage, *seen.asked}:
        one, known = toolbox.tools.get(name), seen.known.get(("tool", name))
        usage, server = seen.usage.get(name, _UNUSED), served.get(name)
        offered, is_offered = _offered(toolbox, one, callers) if one is not None else _elsewhere(server, usage, known)
        listed = Listed(
            name, _source(one, server, usage, known), _effects(one), usage, offered, is_offered,
            known is not None and known.is_changed, waits.get(name, ""),
        )  # fmt: skip
        found.append(listed)
    return sorted(found, key=_place)


def _source(one: Equipped | None, server: str | None, usage: Usage, known: Known | None) -> str:
    if server is not None:
        return f"server {server}"
    if one is None:
        return "client" if usage.passed else "unknown" if is_unknown(usage, known) else "a program"
    return "RightCall" if one.local is not None and one.local.about is not None else one.tool.source.replace(":", " ")


def _effects(one: Equipped | None) -> str:
    if one is None:
        return ""
    return ", ".join(sorted(one.tool.effects)) if one.tool.effects_declared else "not declared"


def is_unknown(usage: Usage, known: Known | None) -> bool:
    """Whether nobody has such a tool: a program that brings functions of its own has told their definitions."""
    return known is None and usage.success is None


def _elsewhere(server: str | None, usage: Usage, known: Known | None) -> tuple[str, bool]:
    if server is not None:
        return "clients of the gateway", True
    if usage.passed or not is_unknown(usage, known):
        return ("its client runs it" if usage.passed else "its program runs it"), True
    return "nobody: no tool here has this name", False


# ── who is offered what ──


def callers_of(toolbox: Toolbox) -> list[str]:
    """Everybody without a table of their own, and the callers of the policy."""
    return [DEFAULT_CALLER, *(one for one in toolbox.policy.settings.callers if one != DEFAULT_CALLER)][:_MOST_CALLERS]


def _offered(toolbox: Toolbox, one: Equipped, callers: list[str]) -> tuple[str, bool]:
    whys = {caller: why_not(one, toolbox.rights_of(caller)) for caller in callers}
    yes, no = ([who for who in callers if bool(whys[who]) is refused] for refused in (False, True))
    if not yes:
        return f"nobody: {whys[callers[0]]}", False
    if not no:
        return "everybody", True
    return f"everybody but {', '.join(no)}" if callers[0] in yes else f"only {', '.join(yes)}", True


def why_not(one: Equipped, rights: Rights) -> str:
    """Why a caller is not offered a tool; empty where it is. The same questions as `Toolbox.usable` asks, in order."""
    name = one.tool.name
    if one.local is None:
        return "nothing here runs it"
    if one.local.absent:
        return one.local.absent
    for other in (name, *one.tool.rules.names):
        if rule := denial(rights, other):
            return f"denied by {rule}" + (f" ({other})" if other != name else "")
    if is_outside(rights, name):
        return "outside of what this caller may use at most (within)"
    if (refusal := effect_denial(rights, name, one.tool.effects)) is not None:
        return f"what it does is denied by {refusal.rule}"
    if permission(rights, name, own=one.own) is None:
        return f"not in stage {rights.stage}, and on no list" if rights.stage else "not in the caller's list (only)"
    return ""


def how_to(one: Equipped, why: str) -> str:
    """The line of the policy that would offer it, where one would."""
    rule = "allowlist" if "on no list" in why else why.rpartition("denied by ")[2]
    return line_to_add(rule, one.tool.name, one.tool.effects)


# ── servers ──


def _servers(site: Site, seen: Seen) -> Iterator[Joined]:
    policy, state = site.policy(), site.state()
    running: Mapping[str, Any] = state.get("mcp") or {}
    redactor = Redactor(site.store.key(), policy.settings.audit.redact)
    by_name = {name.rpartition(":")[2]: one for (kind, name), one in seen.known.items() if kind == "server"}
    waits = {one.tool.rpartition(":")[2]: one for one in seen.waiting if one.kind == "server"}
    for name in sorted({*policy.servers, *running, *by_name}):
        told: Mapping[str, Any] = running.get(name) or {}
        word = str(told.get("state") or ("not running here" if name in policy.servers else "not in the policy"))
        problem = redactor.text(str(told["problem"])) if told.get("problem") else ""
        known = by_name.get(name)
        yield Joined(
            name, word, word == "ready", list(_facts(policy.servers.get(name), told, redactor)),
            text_lines(problem[:4000]) if problem else [], known,
            difference(known.first.described, waits[name].canonical) if known and name in waits else [],
        )  # fmt: skip


def _facts(server: Server | None, told: Mapping[str, Any], redactor: Redactor) -> Iterator[tuple[str, str]]:
    if server is not None:
        way = server.url or " ".join(cast("list[str]", redactor.value(list(server.command))))
        yield "Reached by", redactor.text(way)
        if server.allow != ("*",):
            yield "Offers", ", ".join(server.allow)
        if server.deny:
            yield "Hides", ", ".join(server.deny)
    words = {"tools": "Tools", "protocol": "Protocol", "starts": "Starts", "left_out": "Left out", "clashes": "Clashes"}
    yield from ((label, str(told[key])) for key, label in words.items() if told.get(key))


# ── one tool ──


class Offer(Struct, frozen=True):
    """Whether a caller is offered a tool."""

    caller: str
    why: str
    line: str


class ToolView(Struct, frozen=True, kw_only=True):
    name: str
    is_known: bool
    """Whether there is a definition of it."""
    source: str
    description: list[TextLine]
    effects: str
    schema: list[TextLine]
    rules: list[tuple[str, str]]
    offers: list[Offer]
    usage: Usage
    known: Known | None
    change: list[TextLine]
    """Of the definition now, against the one that was first seen."""
    waits: str
    latest: Latest


async def show_one(request: Request) -> Response:
    site, period = site_of(request), period_of(request)
    name = request.query_params.get("name", "")[:1000]
    now = site.store.clock.now()

    def work(tables: Tables) -> tuple[Seen, Latest]:
        since = window_of(period, tables.wall()).since
        return read_seen(tables, period, now), read_latest(tables, CallFilter(tool=name, since=since), now)

    seen, latest = await look(request, work)
    view = await asyncio.to_thread(_view, site, seen, name, latest)
    if view is None:
        return not_found(request, "No such tool", "The policy has none of this name, and no record names one.")
    return render(
        request, "tool", view=view, period=period, periods=PERIODS, urlencode=urlencode, live=partial(link_to, period)
    )


class Reason(Struct, frozen=True):
    """Why calls went wrong, and how often."""

    what: str
    """The status of such calls."""
    why: str
    times: int
    last: int
    """The record of the newest one."""


class Latest(Struct, frozen=True):
    """What was recorded of a tool lately."""

    call: CallRecord | None
    looked: int
    """Calls that were looked at for it."""
    reasons: list[Reason]
    """The most frequent first."""
    rows: list[CallRow]
    """The newest calls that went wrong."""


def read_latest(tables: Tables, wanted: CallFilter, now: int) -> Latest:
    """One look at the newest calls of a tool, as many as a page has time for; the last one of all where none is that
    young."""
    last: CallRecord | None = None
    looked, wrong, found = 0, list[CallRecord](), dict[tuple[str, str], Reason]()
    for one in islice(latest_calls(tables, wanted), _MOST_LOOKED):
        last, looked = last or one, looked + 1
        if (what := _went_wrong(one)) is None:
            continue
        if len(wrong) < _RECENT:
            wrong.append(one)
        key = what, _why(one)
        times, newest = (found[key].times, found[key].last) if key in found else (0, one.id)
        if times or len(found) < _MOST_REASONS:
            found[key] = Reason(*key, times + 1, newest)
    if last is None:
        last = next(latest_calls(tables, CallFilter(tool=wanted.tool)), None)
    reasons = sorted(found.values(), key=lambda one: (-one.times, -one.last))
    return Latest(last, looked, reasons[:_RECENT], rows_of_calls(tables, wrong, now))


def _went_wrong(one: CallRecord) -> str | None:
    if one.status in ("refused", "failed", "interrupted"):
        return one.status
    return "not repaired" if one.status == "proxied" and one.fit == "left" else None


def _why(one: CallRecord) -> str:
    """In words that calls with other arguments share."""
    told = "; ".join(str(problem.get("message") or "") for problem in one.problems[:3])
    if told and one.fit == "left":
        return told[:_LONGEST_WHY]
    if one.status == "refused":
        return f"{one.rule}: {one.reason}"[:_LONGEST_WHY] if one.reason else one.rule[:_LONGEST_WHY]
    return (one.error or one.reason or "no reason given")[:_LONGEST_WHY]


def _find_sent(site: Site, name: str) -> dict[str, Any]:
    """The definition that a client sent with one of the last requests through the proxy."""
    every = (tool for tools in site.passed(_MOST_PASSED) for tool in tools)
    found = next((tool for tool in every if name_of(tool) == name), None)
    inner = None if found is None else found.get("function")
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else found or {}


def _view(site: Site, seen: Seen, name: str, latest: Latest) -> ToolView | None:
    toolbox = site.bench.toolbox(site.policy(), site.root)
    one, known = toolbox.tools.get(name), seen.known.get(("tool", name))
    listed = next(((server, tool) for server, tool in site.tools() if tool.get("name") == name), None)
    is_named = name in {*seen.usage, *seen.asked} or latest.call is not None
    if one is None and known is None and listed is None and not is_named:
        return None
    waiting = next((ask for ask in seen.waiting if ask.kind == "definition" and ask.tool == name), None)
    told = _definition(known.last.described) if known is not None else {}
    about = listed[1] if listed is not None else told or _find_sent(site, name)
    schema = one.tool.schema if one is not None else _schema(about)
    usage = seen.usage.get(name, _UNUSED)
    description = one.tool.description if one is not None else str(about.get("description") or "")
    return ToolView(
        name=name,
        is_known=one is not None or bool(about),
        source=_source(one, None if listed is None else listed[0], usage, known),
        description=text_lines(description) if description else [],
        effects=_effects(one),
        schema=json_lines(json.format(json.encode(schema)).decode()),
        rules=list(_rules(one.tool.rules)) if one is not None else [],
        offers=_offers(toolbox, one) if one is not None else [],
        usage=usage,
        known=known,
        change=_change(known, waiting),
        waits=waiting.id if waiting is not None else "",
        latest=latest,
    )  # fmt: skip


def _schema(about: Mapping[str, Any]) -> Any:
    keys = ("inputSchema", "input_schema", "parameters")
    return next((about[key] for key in keys if about.get(key)), dict[str, Any]())


def _definition(described: str) -> dict[str, Any]:
    try:
        found = json.decode(described)
    except DecodeError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _offers(toolbox: Toolbox, one: Equipped) -> list[Offer]:
    found: list[Offer] = []
    for caller in callers_of(toolbox):
        why = why_not(one, toolbox.rights_of(caller))
        found.append(Offer(caller, why, how_to(one, why)))
    return found


def _change(known: Known | None, waiting: Approval | None) -> list[TextLine]:
    if known is None:
        return []
    if waiting is not None and waiting.canonical:
        return difference(known.first.described, waiting.canonical)
    return difference(known.first.described, known.last.described) if known.is_changed else []


def difference(before: str, now: str) -> list[TextLine]:
    """The lines of one JSON text that are gone from, and new in, another."""
    found: list[TextLine] = []
    for row in changes(before, now, _PAPER):
        mark = row[0] if row[:2] in ("+ ", "- ") else ""
        pieces = [Piece(row[2:] if mark else row.strip(" ─"), ours=not mark)]
        found.append(TextLine(len(found) + 1, pieces, mark=cast('Literal["", "+", "-"]', mark)))
    return found


_RULE_WORDS: Final = {
    "names": "Other names", "aliases": "Other names of arguments", "values": "Other words for values",
    "defaults": "Defaults", "required": "Required", "required_any": "One of", "required_unless": "Required unless",
    "min_length": "Shortest text", "json_text": "Texts that hold JSON", "hint": "Hint", "replaced_by": "Replaced by",
    "batch": "Runs other tools", "paths": "Paths", "commands": "Commands", "urls": "Addresses", "patches": "Patches",
    "globs": "Patterns of paths", "repeatable": "May be polled", "mode": "Mode",
    "unknown_argument": "Unknown arguments", "strategies": "Repairs by",
}  # fmt: skip


def _rules(rules: Rules) -> Iterator[tuple[str, str]]:
    """What packs and policy say of it, in words."""
    for key, label in _RULE_WORDS.items():
        value = getattr(rules, key)
        if value:
            yield label, _words(to_builtins(value))


def _words(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(_words(one) for one in cast("Iterable[Any]", value))
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return ", ".join(f"{name} → {_words(item)}" for name, item in items)
    return {True: "yes"}.get(value, str(value)) if isinstance(value, bool) else str(value)


PAGE = Page(
    "tools", "Tools", "tool", "/tools",
    [Route("/tools", show, methods=["GET"]), Route("/tools/one", show_one, methods=["GET"])],
)  # fmt: skip

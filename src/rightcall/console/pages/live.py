"""Calls as they happen. The filter stands in the address, so that a view can be shared and reloaded; older calls come
in pages that begin where the last one ended."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct, json
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rightcall.base.letters import visible
from rightcall.base.text import render_json
from rightcall.console.access import visitor_of
from rightcall.console.page import (
    LONGEST_LINKED,
    Glance,
    Page,
    environment,
    glance,
    look,
    number_of,
    render,
    seen,
    site_of,
    took,
)
from rightcall.console.people import live_sessions
from rightcall.console.questions import json_visible
from rightcall.errors import StoreError
from rightcall.policy.settings import IdentitySettings
from rightcall.policy.types import Approval
from rightcall.record.calls import (
    CallCount,
    CallFilter,
    CallPage,
    CallRecord,
    Fit,
    Period,
    calls_since,
    count_calls,
    page_of_calls,
)
from rightcall.record.tables import Store, Tables, written

LIMIT: Final = 50
FIELDS: Final = ("caller", "tool", "model", "status", "decision", "rule", "repair", "context", "text", "period")
PERIODS: Final = {"15m": "15 minutes", "1h": "1 hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
SECONDS: Final = {"15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000}
OF_FIGURES: Final[Mapping[Period, str]] = {"1hour": "1h", "1day": "24h", "1week": "7d"}
"""The period here that shows the calls which figures of a period count."""
_LONGEST: Final = 500
_DETAIL: Final = 160
_SHORT: Final = {"\\t": "\t", "\\r": "\r", "\\n": "\n", "\\\\": "\\"}
_SPELLED: Final = re.compile(r"\\(?:[trn\\]|u([0-9a-f]{4}))")


class Wanted(Struct, frozen=True):
    """The filter as the address has it: names as pages show them, spelled out."""

    said: dict[str, str]
    """The names as they are."""
    before: int | None

    def query(self, **more: Any) -> str:
        said = {name: value if name == "text" else visible(value) for name, value in self.said.items()}
        return urlencode(said | {name: value for name, value in more.items() if value is not None})

    def filter(self, tables: Tables, moment: int) -> CallFilter:
        """Of calls that wait, only those that a person can still answer at this moment are meant."""
        said, now = dict(self.said), tables.wall()
        open_ones = None
        if said.get("status") == "waiting":
            open_ones = frozenset(one.id for one in tables.approvals("waiting") if one.expires_at > moment)
        seconds = SECONDS.get(said.pop("period", ""), 0)
        start = datetime.strptime(now, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC) - timedelta(seconds=seconds)
        return CallFilter(**said, since=written(start.timestamp()) if seconds else None, approvals=open_ones)


def wanted_of(asked: QueryParams) -> Wanted:
    given = {name: asked[name][:_LONGEST] for name in FIELDS if asked.get(name)}
    said = {name: value if name == "text" else unspelled(value) for name, value in given.items()}
    if said.get("period", "15m") not in PERIODS:
        del said["period"]
    return Wanted(said, number_of(asked.get("before")))


def link_to(period: Period, **said: str) -> str:
    """The address of the calls that a figure of a period counts."""
    named = {name: visible(value[:LONGEST_LINKED]) for name, value in said.items() if value}
    return f"/live?{urlencode(named | {'period': OF_FIGURES[period]})}"


def unspelled(text: str) -> str:
    r"""The text that `visible` has spelled out.

    >>> unspelled(visible("a\u202e\t b")) == "a\u202e\t b"
    True
    """
    found = _SPELLED.sub(lambda one: _SHORT.get(one[0]) or chr(int(one[1], 16)), text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # some are spelled in two parts


async def show(request: Request) -> Response:
    wanted, now = wanted_of(request.query_params), site_of(request).store.clock.now()

    def work(tables: Tables) -> Found:
        only = wanted.filter(tables, now)
        page = page_of_calls(tables, only, before=wanted.before, limit=LIMIT)
        near = page.calls if not wanted.said else page_of_calls(tables, limit=LIMIT).calls
        counted = count_calls(tables, only, page) if wanted.said and wanted.before is None else None
        return Found(
            page, rows_of_calls(tables, page.calls, now), counted,
            sorted({one.caller for one in near}), sorted({one.tool for one in near}),
        )  # fmt: skip

    found = await look(request, work)
    return render(
        request, "live", calls=found.rows, wanted=wanted, older=found.page.before, counted=found.counted,
        callers=found.callers, tools=found.tools, periods=PERIODS,
    )  # fmt: skip


class Found(Struct, frozen=True):
    """What one look into the store finds."""

    page: CallPage
    rows: list[Row]
    counted: CallCount | None
    """Of a filter, on its first page."""
    callers: list[str]
    tools: list[str]


def rows_since(store: Store, query: str, after: int) -> str:
    """The rows of calls that were recorded or have ended since, for open pages with this filter in their address."""
    wanted = wanted_of(QueryParams(query))
    now = store.clock.now()

    def work(tables: Tables) -> list[Row]:
        return rows_of_calls(tables, calls_since(tables, after, wanted.filter(tables, now), limit=LIMIT), now)

    return environment().get_template("live_rows.html").render(calls=store.look(work))


class Fate(Struct, frozen=True):
    """What became of a call that asked a person."""

    word: str
    look: str
    """The status whose colour it has."""
    by: str = ""
    used_by: int = 0

    @property
    def told(self) -> str:
        """
        >>> Fate("approved", "success", "ann", 88).told
        'by ann · used as record 88'
        """
        by, used = f"by {self.by}" if self.by else "", f"used as record {self.used_by}" if self.used_by else ""
        return " · ".join(filter(None, (by, used)))


_GONE: Final = Fate("asked", "pending")
"""Of a question that is not kept any more."""


def fate_of(approval: Approval | None, now: int) -> Fate | None:
    """None as long as a person can answer."""
    if approval is None:
        return _GONE
    if approval.status in ("waiting", "approved") and approval.expires_at <= now:
        return Fate("expired", "pending", approval.by)
    looks = {"approved": "success", "used": "success", "denied": "refused", "expired": "pending"}
    if approval.status == "waiting":
        return None
    word = "approved" if approval.status == "used" else approval.status
    return Fate(word, looks[approval.status], approval.by, approval.used_by)


class Happened(Struct, frozen=True):
    """What became of a call, in a word and a few more."""

    word: str
    look: str
    """The status whose colour it has."""
    more: str = ""


class Row(Struct, frozen=True):
    """One call in a list."""

    call: CallRecord
    detail: str
    fate: Fate | None = None

    @property
    def happened(self) -> Happened:
        one, fate = self.call, self.fate
        if one.status == "waiting":
            told = "waits for a person" if fate is None else " by ".join(filter(None, (fate.word, fate.by)))
            return Happened("asked", "waiting" if fate is None else fate.look, seen(told, _DETAIL))
        if one.status in ("refused", "failed", "interrupted", "damaged"):
            return Happened(one.status, one.status, self.detail)
        word, look = _FITTED[one.fit]
        if one.rule.startswith("proxy:would-"):
            word, look = f"would be {word.split()[0]}", "pending"
        if one.status == "proxied":
            return Happened(word, look, "sent to its client unchanged" if one.fit == "left" else "sent to its client")
        ran = "still running" if one.status == "pending" else f"ran in {took(one.execution_time)}"
        return Happened(word, look, ran)


_FITTED: Final[Mapping[Fit, tuple[str, str]]] = {
    "right": ("right as written", "success"), "repaired": ("repaired", "repaired"),
    "lifted": ("lifted from the text", "repaired"), "left": ("not repaired", "refused"),
}  # fmt: skip


def rows_of_calls(tables: Tables, calls: Iterable[CallRecord], now: int) -> list[Row]:
    """With what became of those that asked, in one look at the questions of all."""
    every = list(calls)
    ids = {one.approval for one in every if one.status == "waiting" and one.approval}
    asked = {one.id: one for one in tables.approvals(ids=ids)} if ids else {}
    return [_row(one, asked, now) for one in every]


def _row(one: CallRecord, asked: Mapping[str, Approval], now: int) -> Row:
    detail = detail_of(one)
    if one.status != "waiting" or not one.approval:
        return Row(one, detail)
    fate = fate_of(asked.get(one.approval), now)
    told = seen(fate.told, _DETAIL) if fate is not None else ""
    return Row(one, f"{told} · {detail}" if told else detail, fate)


def detail_of(call: CallRecord) -> str:
    """What a line has room for, spelled out: why it did not go well, else the arguments."""
    if call.status in ("failed", "refused", "interrupted", "damaged"):
        return seen(call.error or call.reason, _DETAIL)
    if call.status == "proxied" and call.rule == "proxy:left":
        return seen(call.reason, _DETAIL)
    return json_visible(render_json(call.params, _DETAIL))


PAGE = Page("live", "Live", "live", "/live", [Route("/live", show)])


# ── events ──
# One event stream for all pages of a browser: that something was recorded, waits, or was paused.
#
#     store ─▶ Pulse (one look five times a second, while somebody listens) ─▶ /events of every browser
#
# Pages of Live get their new rows with it, each filter's made once for all who watch it; other pages then ask for what
# they show. The stream ends when its session does, and when the server stops.

EVERY: Final = 0.2
"""Seconds between two looks: a call is on the page within half a second,"""
MANY: Final = 20
"""and twice as many after so many records at once: more than anybody reads, and it spares the server."""
BREATH: Final = 15.0
"""Seconds after which a silent stream says that it is there."""
MOST_STREAMS: Final = 200
MOST_OF_ONE: Final = 20
"""Of one session: whoever opens more of them takes no place from others."""
MOST_LIVE: Final = 20
"""Filters that one stream has rows for."""
_MOST_MADE: Final = 32
_AGAIN: Final = 2000
"""Milliseconds after which a browser comes back to a stream that broke."""


class Beat(Struct, frozen=True):
    """What one look found."""

    glance: Glance | None
    """None while the store cannot be read."""
    sessions: frozenset[str] = frozenset()
    has_many: bool = False
    """Whether much was recorded since the look before."""


class Pulse:
    """Looks at the store for all who listen; used within one event loop."""

    def __init__(
        self, store: Store, every: float = EVERY, providers: Callable[[], tuple[IdentitySettings, ...]] = tuple
    ) -> None:
        self._store = store
        self._every = every
        self._providers = providers
        self._following: Counter[str] = Counter()
        self._beat = Beat(None)
        self._looking: asyncio.Task[None] | None = None
        self._made: dict[tuple[str, int, int], asyncio.Task[bytes]] = {}
        self._stopped = False

    @property
    def listeners(self) -> int:
        return self._following.total()

    def has_room(self, session: str) -> bool:
        return self.listeners < MOST_STREAMS and self._following[session] < MOST_OF_ONE

    def stop(self) -> None:
        """End all streams: a server that stops does not wait for them. From the event loop."""
        self._stopped = True

    async def follow(
        self, session: str, filters: Sequence[str] = (), after: int | None = None
    ) -> AsyncGenerator[bytes]:
        """The stream of one browser, until its session counts no more; with the rows of these filters of Live, from
        that record on."""
        told: Glance | None = None
        spoke = 0.0
        self._following[session] += 1
        try:
            yield b"retry: %d\n\n" % _AGAIN
            while not self._stopped:
                beat = await self._next()
                if beat.glance is not None and session not in beat.sessions:
                    yield b"event: over\ndata: {}\n\n"
                    return
                now = monotonic()
                if beat.glance is not None and beat.glance != told:
                    head, start = beat.glance.head, beat.glance.head if after is None else after
                    try:
                        rows = [await self._rows(one, start, head) for one in filters if start < head]
                    except StoreError:  # with the next look
                        continue
                    told, spoke, after = beat.glance, now, head
                    yield b"".join((*rows, message(told)))
                elif now - spoke >= BREATH:
                    spoke = now
                    yield b": here\n\n"
        finally:
            self._following[session] -= 1
            self._following += Counter()  # forgets those at zero

    async def _rows(self, filtered: str, after: int, head: int) -> bytes:
        """Made once for all who watch the same, and have heard the same."""
        key = filtered, after, head
        task = self._made.get(key)
        if task is None or (task.done() and task.exception() is not None):
            work = asyncio.to_thread(rows_message, self._store, filtered, after)
            task = self._made[key] = asyncio.get_running_loop().create_task(work)
            if len(self._made) > _MOST_MADE:
                del self._made[next(iter(self._made))]
        return await asyncio.shield(task)

    async def _next(self) -> Beat:
        """The next look, shared by all who wait for one."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        await asyncio.shield(self._looking)
        return self._beat

    async def _look(self) -> None:
        if self._beat.glance is not None:
            await asyncio.sleep(self._every * (2 if self._beat.has_many else 1))
        try:
            self._beat = await asyncio.to_thread(self._store.look, self._read)
        except StoreError:
            self._beat = Beat(None)
            await asyncio.sleep(self._every * 5)

    def _read(self, tables: Tables) -> Beat:
        before, now = self._beat.glance, glance(tables, self._store.clock.now())
        return Beat(
            now, live_sessions(tables, self._providers()), before is not None and now.head - before.head >= MANY
        )


def message(seen: Glance) -> bytes:
    data = {"head": seen.head, "waiting": seen.waiting, "paused": seen.paused is not None}
    return b"event: state\nid: %d\ndata: %b\n\n" % (seen.head, json.encode(data))


def rows_message(store: Store, filtered: str, after: int) -> bytes:
    data = {"filter": filtered, "rows": rows_since(store, filtered, after)}
    return b"event: rows\ndata: %b\n\n" % json.encode(data)


async def stream(request: Request) -> StreamingResponse:
    """With the rows of each filter of Live that is asked for in `live`, `after` that record; a browser that comes back
    goes on where it was."""
    pulse, session = site_of(request).pulse, visitor_of(request).session.id
    if request.method == "HEAD" or not pulse.has_room(session):
        return StreamingResponse(iter(()), 200 if request.method == "HEAD" else 503, media_type="text/event-stream")
    asked = request.query_params
    after = number_of(request.headers.get("last-event-id") or asked.get("after"))
    follow = pulse.follow(session, asked.getlist("live")[:MOST_LIVE], after)
    return StreamingResponse(follow, headers={"x-accel-buffering": "no"}, media_type="text/event-stream")

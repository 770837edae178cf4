"""The records of the audit: searched, verified while one looks on, and exported as the command line does.

The filter stands in the address. A page of records, a verification and an export change nothing, so each is a GET; a
verification ends when its page is left, and an export reads some thousand records at a time, for as long as somebody
takes them.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rightcall.console.access import visitor_of
from rightcall.console.page import Page, environment, look, number_of, render, site_of
from rightcall.console.pages.live import PERIODS, SECONDS, unspelled
from rightcall.console.people import still_counts
from rightcall.errors import StoreError
from rightcall.record.browse import read_named
from rightcall.record.export import (
    COLUMNS,
    RecordFilter,
    RecordPage,
    csv_line,
    csv_row,
    exported,
    json_line,
    page_of_records,
)
from rightcall.record.tables import AuditEntry, Tables, written
from rightcall.record.verify import (
    Anchor,
    Verification,
    Verified,
    anchor_text,
    last_verified,
    newest_fit,
    note_verified,
    read_anchor,
    verify_audit,
)

LIMIT: Final = 50
FIELDS: Final = ("kind", "caller", "tool", "decision", "rule", "text", "period", "since", "until")
KINDS: Final = {
    "begin": "begin: a call may run", "end": "end: how a call ended", "refused": "refused call",
    "waiting": "waiting for a person", "proxied": "passed the proxy", "answer": "answer of a person", "grant": "grant",
    "definition": "definition of a tool", "policy": "policy in force", "release": "release from quarantine",
    "pause": "pause", "change": "change by a person", "message": "message of a host", "prune": "prune",
    "erase": "erasure",
    "store": "store",
}  # fmt: skip
FORMATS: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
_LONGEST: Final = 500
_QUICK: Final = 500
"""Records whose hashes every view of the page checks."""
_STEP: Final = 2000
"""Records that an export reads at a time."""
_HERE: Final = "<!-- here -->"
_BUSY: Final = "Others verify all records at this moment. Try again in a while, or run `rightcall audit verify`"


class Wanted(Struct, frozen=True):
    """The filter as the address has it."""

    said: dict[str, str]
    before: int | None

    def query(self, **more: Any) -> str:
        return urlencode(self.said | {name: value for name, value in more.items() if value is not None})

    def filter(self, now: str) -> RecordFilter:
        said = dict(self.said)
        seconds = SECONDS.get(said.pop("period", ""), 0)
        since, until = (_moment(said.pop(name, "")) for name in ("since", "until"))
        if seconds and since is None:
            start = datetime.strptime(now, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC) - timedelta(seconds=seconds)
            since = written(start.timestamp())
        return RecordFilter(**said, since=since, until=until)


def _moment(text: str) -> str | None:
    """A time as browsers write it (`2026-01-31T12:00`), taken as UTC; None for what is none."""
    try:
        read = datetime.fromisoformat(text)
        return written((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):  # also one that is no date any more in UTC
        return None


def wanted_of(request: Request) -> Wanted:
    asked = request.query_params
    given = {name: asked[name][:_LONGEST] for name in FIELDS if asked.get(name)}
    said = {name: value if name == "text" else unspelled(value) for name, value in given.items()}
    said = {
        name: value
        for name, value in said.items()
        if (name != "period" or value in PERIODS) and (name not in ("since", "until") or _moment(value))
    }
    return Wanted(said, number_of(asked.get("before")))


class RecordRow(Struct, frozen=True):
    """One record in the list."""

    entry: AuditEntry
    caller: str
    tool: str
    what: str
    damaged: bool


class Chain(Struct, frozen=True):
    """How the chain stands, as far as a quick look and the last verification tell."""

    head: Anchor
    oldest: int
    checked: int
    """How many of the newest were found right just now."""
    wrong: int | None
    verified: Verified | None

    @property
    def all(self) -> int:
        return self.head[0] - self.oldest + 1 if self.head[0] else 0

    @property
    def between(self) -> int:
        """Records that neither the look nor the last verification has found right."""
        known = self.verified.seq if self.verified is not None and self.verified.ok else self.oldest - 1
        return max(0, self.head[0] - self.checked - max(known, self.oldest - 1))

    @property
    def is_broken(self) -> bool:
        """What a verification found counts until the next one: it looks at more than hashes."""
        return self.wrong is not None or (self.verified is not None and not self.verified.ok)

    @property
    def anchor(self) -> str:
        return anchor_text(self.head)


async def show(request: Request) -> Response:
    wanted = wanted_of(request)

    verified = await asyncio.to_thread(last_verified, site_of(request).store)

    def work(tables: Tables) -> tuple[RecordPage, list[RecordRow], Chain]:
        page = page_of_records(tables, wanted.filter(tables.wall()), before=wanted.before, limit=LIMIT)
        chain = Chain(tables.head(), tables.oldest(), *newest_fit(tables, _QUICK), verified)
        return page, [_row(tables, one) for one in page.records], chain

    page, rows, chain = await look(request, work)
    return render(
        request, "audit", rows=rows, older=page.before, wanted=wanted, chain=chain, kinds=KINDS, periods=PERIODS,
        formats=tuple(FORMATS),
    )  # fmt: skip


def _row(tables: Tables, entry: AuditEntry) -> RecordRow:
    named = read_named(entry.body)
    if entry.call and not named["caller"]:
        about = tables.entry(entry.call)
        whose = {} if about is None else read_named(about.body)
        named |= {name: whose.get(name) for name in ("caller", "tool")}
    what = str(named["what"] or "")
    return RecordRow(entry, str(named["caller"] or ""), str(named["tool"] or ""), what, what == "damaged")


# ── verify ──


async def verify(request: Request) -> Response:
    """Checks every record while the page is open: what was found so far is sent as it is found."""
    asked = request.query_params.get("anchor", "").strip()
    anchor = read_anchor(asked) if asked else None
    head, _ = await look(request, lambda tables: tables.head())
    page = render(request, "verify", anchor=asked, wrong_anchor=bool(asked) and anchor is None, total=head)
    if asked and anchor is None:
        page.status_code = 400
        return page
    start, _, end = bytes(page.body).decode().partition(_HERE)
    pieces = _verified(request, anchor, head)

    async def body() -> AsyncIterator[str]:
        yield start
        async for piece in pieces:
            yield piece
        yield end

    return StreamingResponse(body(), headers={"x-accel-buffering": "no"}, media_type="text/html; charset=utf-8")


class _Stopped(Exception):
    """Nobody looks at the page any more."""


async def _verified(request: Request, anchor: Anchor | None, total: int) -> AsyncIterator[str]:
    template = environment().get_template("verify_step.html")
    store, bench, session = site_of(request).store, site_of(request).bench, visitor_of(request).session
    if not bench.begin_long():
        yield template.render(checked=0, total=total, result=None, fault=_BUSY)
        return
    stop, loop = threading.Event(), asyncio.get_running_loop()
    told: asyncio.Queue[int | None] = asyncio.Queue()

    def progress(checked: int) -> None:
        if stop.is_set():
            raise _Stopped
        loop.call_soon_threadsafe(told.put_nowait, checked)

    def work() -> Verification:
        try:
            found, at = store.look(lambda tables: (verify_audit(tables, anchor, progress), tables.wall()))
            if anchor is None or found.ok:  # a wrong anchor says nothing of the records
                note_verified(store, found, at)
            return found
        finally:
            bench.end_long()
            loop.call_soon_threadsafe(told.put_nowait, None)

    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        while (checked := await told.get()) is not None:
            if not await asyncio.to_thread(store.look, lambda tables: still_counts(tables, session)):
                return
            yield template.render(checked=checked, total=max(total, checked), result=None, fault="")
        try:
            result, fault = await task, ""
        except StoreError as error:
            result, fault = None, str(error)
        yield template.render(
            checked=0, total=total, result=result, fault=fault, anchor=anchor,
            head="" if result is None else anchor_text(result.head),
        )  # fmt: skip
    finally:
        stop.set()


# ── export ──


async def export(request: Request) -> Response:
    """Everything that is filtered, in the format of `rightcall audit export`."""
    kind = request.query_params.get("format", "jsonl")
    if kind not in FORMATS:
        return render(
            request, "message", 400, title="Unknown format", text="Export as jsonl or csv.", back=("/audit", "Audit")
        )
    wanted = wanted_of(request)
    name = f"audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.{kind}"
    headers = {"content-disposition": f'attachment; filename="{name}"', "x-accel-buffering": "no"}
    return StreamingResponse(_exported(request, wanted, kind), headers=headers, media_type=FORMATS[kind])


async def _exported(request: Request, wanted: Wanted, kind: str) -> AsyncIterator[str]:
    """Ends with the session, and then breaks off: a part is not taken for the whole."""
    store, line = site_of(request).store, csv_row if kind == "csv" else json_line
    session = visitor_of(request).session
    only, last, after = await asyncio.to_thread(
        store.look, lambda tables: (wanted.filter(tables.wall()), tables.head()[0], max(0, tables.oldest() - 1))
    )
    if kind == "csv":
        yield csv_line(COLUMNS)
    while after < last:
        through = min(last, after + _STEP)

        def work(tables: Tables, after: int = after, through: int = through) -> str:
            if not still_counts(tables, session):
                raise PermissionError("the session of this export has ended")
            return "".join(line(*one) for one in exported(tables, only, after=after, through=through))

        if piece := await asyncio.to_thread(store.look, work):
            yield piece
        after = through


PAGE = Page(
    "audit", "Audit", "chain", "/audit",
    [Route("/audit", show), Route("/audit/verify", verify), Route("/audit/export", export)],
)  # fmt: skip

"""Recorded calls in the order in which they were decided, from any store, a page at a time: however long the history
is, only one page of it is held, and no store is kept waiting while somebody works on it.

    stream_entries (every record) ─▶ stream_calls (calls and their ends, read)
    Definitions (what each tool was, by the digest that a record names)
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any, Final, Protocol, TypeVar, cast

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, decode

from rightcall.record.tables import (
    AuditEntry,
    CallBody,
    EndBody,
    EntryKind,
    Tables,
    read_call,
    read_end,
    read_note,
    written,
)

T = TypeVar("T")

PAGE: Final = 2000
"""Records that are read at a time."""
CALL_KINDS: Final[frozenset[EntryKind]] = frozenset[EntryKind](("begin", "refused", "waiting", "proxied"))
"""Records of a call that was decided, or that passed through the proxy."""
DIGEST: Final = 16
"""Characters of a definition's digest that the record of a call holds."""


class Readable(Protocol):
    """What history is read from: any store, or a command's look into one."""

    def look(self, work: Callable[[Tables], T]) -> T: ...


class Span(Struct, frozen=True):
    """Which part of history is meant; times in UTC as the audit writes them, None: no bound."""

    since: str | None = None
    until: str | None = None
    """Left out itself."""
    caller: str | None = None
    tool: str | None = None

    def has_time(self, at: str) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)

    def has(self, at: str, body: CallBody) -> bool:
        """Whether a call belongs to it."""
        if self.caller is not None and body.caller != self.caller:
            return False
        return (self.tool is None or body.tool == self.tool) and self.has_time(at)


ALL: Final = Span()


class RecordedCall(Struct, frozen=True):
    """One record of a call: `begin` (it ran), `refused`, `waiting` or `proxied`."""

    seq: int
    kind: EntryKind
    at: str
    body: CallBody


class RecordedEnd(Struct, frozen=True):
    """What came of the call with the record `call`."""

    seq: int
    call: int
    at: str
    body: EndBody


def stream_entries(store: Readable, after: int = 0) -> Iterator[AuditEntry]:
    """Every record above a number that is there when it begins, in the order in which they were written. Where several
    nodes write, their numbers tell no order among them: then the time does, which is the database's."""
    chains, last = store.look(lambda tables: (tables.chains(), tables.head()[0]))
    if chains is not None and len(chains) > 1:
        yield from _by_time(store, after)
        return
    while after < last:
        page = store.look(lambda tables, first=after: list(islice(tables.entries(first), PAGE)))
        if not page:
            return
        for entry in page:
            if entry.seq > last:
                return
            yield entry
        after = page[-1].seq


_MOST_MERGED: Final = 20_000
"""Records of several nodes that are put in order at a time."""
_LEAST_STEP, _FIRST_STEP, _MOST_STEP = timedelta(seconds=1), timedelta(minutes=5), timedelta(days=7)


def _by_time(store: Readable, after: int) -> Iterator[AuditEntry]:
    """One stretch of time after the other, as long as fits: within each, the chains of all nodes are merged."""
    wall, first = store.look(lambda tables: (tables.wall(), next(iter(tables.entries(after)), None)))
    if first is None:
        return
    since: str | None = None
    until, step = first.at, _FIRST_STEP
    while since is None or since <= wall:
        page = _stretch(store, after, since, until)
        if len(page) > _MOST_MERGED and since is not None and step > _LEAST_STEP:
            step = max(_LEAST_STEP, step / 8)
            until = _later(since, step)
            continue
        yield from _merged(page)
        step = min(_MOST_STEP, step * 4) if len(page) < _MOST_MERGED // 8 else step
        since, until = until, _later(until, step)


def _stretch(store: Readable, after: int, since: str | None, until: str) -> list[AuditEntry]:
    return store.look(lambda tables: list(tables.entries(after, until, since)))


def _later(wall: str, step: timedelta) -> str:
    return written((datetime.fromisoformat(wall).replace(tzinfo=UTC) + step).timestamp())


class _Moment(Struct, frozen=True):
    now: int = 0


_read_moment = Decoder(_Moment).decode


def _merged(page: list[AuditEntry]) -> Iterator[AuditEntry]:
    """Records of several nodes in one order: each node's own stays as it is."""
    chains: dict[int, list[tuple[int, int, AuditEntry]]] = {}
    for entry in page:
        chain = chains.setdefault(entry.node, [])
        moment = _attempt(_read_moment, entry.body) if entry.kind in CALL_KINDS or entry.kind == "answer" else None
        at = round(datetime.fromisoformat(entry.at).replace(tzinfo=UTC).timestamp() * 1000) * 1_000_000
        at = moment.now if moment is not None and moment.now else at
        chain.append((max(at, chain[-1][0]) if chain else at, entry.seq, entry))
    for _, _, entry in merge(*chains.values(), key=lambda one: one[:2]):
        yield entry


def stream_calls(store: Readable, span: Span = ALL, after: int = 0) -> Iterator[RecordedCall | RecordedEnd]:
    """The calls of a part of history, and how those that ran ended, in the order of their records: an end comes after
    its call, and later calls may lie between. Ends are told of every call; records that cannot be read are left out."""
    for entry in stream_entries(store, after):
        if entry.kind == "end":
            end = _attempt(read_end, entry.body)
            if end is not None:
                yield RecordedEnd(entry.seq, entry.call, entry.at, end)
        elif entry.kind in CALL_KINDS and span.has_time(entry.at):
            body = _attempt(read_call, entry.body)
            if body is not None and span.has(entry.at, body):
                yield RecordedCall(entry.seq, entry.kind, entry.at, body)


def _attempt(read: Callable[[bytes], T], body: bytes) -> T | None:
    try:
        return read(body)
    except DecodeError:
        return None


def count_entries(store: Readable) -> int:
    """About how many records there are, for whoever shows how far it is."""
    return store.look(lambda tables: tables.head()[0] - max(0, tables.oldest() - 1))


class Definition(Struct, frozen=True):
    """What a tool was when it was first seen or accepted."""

    tool: str
    """As policy and audit call it: `files/read_file`."""
    digest: str
    about: dict[str, Any]
    """name, description, parameters, effects; of a server's tool also what else it told."""


_MOST_DEFINITIONS: Final = 10_000
_MOST_DESCRIBED: Final = 64_000_000
"""Characters of all definitions that are held."""


class Definitions:
    """What tools were, as their `definition` records tell. A call names the one it was checked against."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Definition] = {}
        self._last: dict[str, Definition] = {}
        self._described = 0

    @classmethod
    def of(cls, store: Readable) -> "Definitions":
        """Those of all history that is kept, from the newest on. A change that is accepted again and again is recorded
        each time, and held once: what is told apart is bounded, not how many records are read."""
        made, before = cls(), None
        while not made.is_full:
            page = store.look(lambda tables, before=before: tables.newest(PAGE, ("definition",), before))
            for entry in page:
                made.take_earlier(entry)
            if len(page) < PAGE:
                break
            before = page[-1].seq
        return made

    @property
    def is_full(self) -> bool:
        return len(self._known) >= _MOST_DEFINITIONS or self._described >= _MOST_DESCRIBED

    def take_earlier(self, entry: AuditEntry) -> None:
        """A `definition` record from before those that are known; one about a server says nothing of a tool."""
        try:
            data: Any = read_note(entry.body).data
            told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
            tool, digest, described = told.get("tool"), told.get("definition"), told.get("described")
            if not (isinstance(tool, str) and isinstance(digest, str) and isinstance(described, str)):
                return
            if (tool, digest[:DIGEST]) in self._known or self.is_full:
                return
            about: Any = decode(described)
        except DecodeError:
            return
        if isinstance(about, dict):
            found = Definition(tool, digest, cast("dict[str, Any]", about))
            self._known[tool, digest[:DIGEST]] = found
            self._last.setdefault(tool, found)
            self._described += len(described)

    def of_call(self, body: CallBody) -> Definition | None:
        """The definition that a call was checked against; None where no record holds it."""
        return self.find(body.tool, body.definition) if body.definition else None

    def find(self, tool: str, digest: str) -> Definition | None:
        return self._known.get((tool, digest[:DIGEST]))

    def last(self, tool: str) -> Definition | None:
        """What a tool was when it was last seen or accepted."""
        return self._last.get(tool)

    def tools(self) -> dict[str, Definition]:
        """Every tool as it was last."""
        return dict(self._last)

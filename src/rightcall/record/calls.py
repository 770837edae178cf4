"""Calls as people ask for them: each record of a call joined with the record of its end.

begin, refused, waiting, proxied ─┬─▶ CallRecord ─▶ snapshot, as design 002 keeps them with the steps of a plan
                             end ─┘
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from operator import attrgetter
from typing import Any, Final, Literal, cast, get_args

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.policy.types import Status
from rightcall.record.notes import STEP, PlanStep
from rightcall.record.tables import (
    AuditEntry,
    CallBody,
    CallFacts,
    EndBody,
    EntryKind,
    Tables,
    encode,
    read_call,
    read_end,
    written,
)

# ── fates ──
# What became of a call on its way through the proxy: one table of its words, for the header of an answer, the log, the
# records, the figures and the command line.

Fit = Literal["right", "repaired", "lifted", "left"]
"""How a call came to fit. right: as it was written · repaired: it was changed, or would have been under `--mode
observe` · lifted: right, but written into the text, and taken out of it · left: nothing made it fit, or it was left as
it was."""

Fate = Literal["right", "repaired", "lifted", "left", "unknown", "repeated"]
"""right: untouched · repaired: a native call was written anew · lifted: a call in the text became a native one · left:
wrong, and passed on as the model wrote it · unknown: of a tool that the request does not offer, passed on · repeated: a
call in the text that the answer also has natively."""


class FateWords(Struct, frozen=True):
    """What is said of a fate."""

    fit: Fit | None
    """None: as its strategy and its origin say."""
    is_told: bool
    """Whether the client is told how many there are."""
    would: str = ""
    """The word where nothing may be changed, if it is another one."""
    why: str = ""
    """What there is to say of it, where its repairs and problems do not."""
    would_why: str = ""


FATES: Final[Mapping[Fate, FateWords]] = {
    "right": FateWords(None, False),
    "repaired": FateWords("repaired", True, "would-repair"),
    "lifted": FateWords(
        None, True, "would-lift", "moved from the text to a tool call",
        "would be moved from the text to a tool call; nothing was changed",
    ),
    "left": FateWords("left", True),
    "unknown": FateWords("right", False, why="the request has no such tool; passed on unchanged"),
    "repeated": FateWords(
        "right", True, why="the answer has the same native call; removed from the text",
        would_why="the answer has the same native call; nothing was changed",
    ),
}  # fmt: skip

WORDS: Final = tuple(word for fate in get_args(Fate) for word in (fate, FATES[fate].would) if word)
"""Every word for what became of a call, as the header, the log and the records have it."""

UNDONE: Final = tuple(words.would for words in FATES.values() if words.would)
"""Those of calls that were not changed, since nothing may be."""


def word_of(fate: Fate, *, observed: bool) -> str:
    """
    >>> word_of("lifted", observed=False), word_of("lifted", observed=True), word_of("right", observed=True)
    ('lifted', 'would-lift', 'right')
    """
    return (observed and FATES[fate].would) or fate


def rule_of(word: str) -> str:
    """The rule that the record of such a call names.

    >>> rule_of("would-lift")
    'proxy:would-lift'
    """
    return f"proxy:{word}"


FITS: Final[Mapping[str, Fit]] = {
    rule_of(word): words.fit for fate, words in FATES.items() for word in (fate, words.would) if word and words.fit
}
"""By the rule of its record."""


USED: tuple[EntryKind, ...] = ("begin", "refused", "waiting")
"""The kinds of records that are a call which was to run here."""

CALLS: tuple[EntryKind, ...] = (*USED, "proxied")
"""The kinds of records that are a call, wherever it runs."""

AROUND = 10_000
"""Records before and after a call among which its neighbours are looked for."""

_FIRST_LOOK = 200


LIFTED: Final = "lifted"
_COUNTED_AS: Final[Mapping[Fit, str]] = {"right": "direct", "repaired": "structure", "left": "failed"}


def counted_as(strategy: str, origin: str, rule: str) -> str:
    """The strategy that a call counts under, so that figures and `Fit` mean the same: `direct` is right as written,
    and `LIFTED` a call that was right, but written into the text.

    >>> counted_as("direct", "native", "proxy:right"), counted_as("direct", "text", "proxy:lifted")
    ('direct', 'lifted')
    >>> counted_as("python_ast", "text", "proxy:lifted"), counted_as("structure", "text", "proxy:left")
    ('python_ast', 'failed')
    """
    known = None if strategy == "failed" else FITS.get(rule)
    if known is not None and (known != "repaired" or strategy == "direct"):
        return _COUNTED_AS[known]
    return LIFTED if strategy == "direct" and origin == "text" else strategy


OBSERVED: Final = "observe"
"""The rule of a call that ran because its door only observes; its reason is `KIND by RULE: …` of what would have been
decided, or empty where it would have run all the same."""
Would = Literal["would-refuse", "would-ask"]
_WOULD: Final[Mapping[str, Would]] = {"deny": "would-refuse", "dry_run": "would-refuse", "ask": "would-ask"}


def would_of(rule: str, reason: str) -> tuple[Would, str] | None:
    """What would have become of a call that was only observed, and by which rule.

    >>> would_of("observe", "deny by path:outside: No such file"), would_of("observe", "")
    (('would-refuse', 'path:outside'), None)
    """
    kind, _, why = reason.partition(" by ")
    would = _WOULD.get(kind) if rule == OBSERVED else None
    return None if would is None else (would, why.partition(": ")[0])


class CallRecord(CallFacts, frozen=True, kw_only=True, omit_defaults=False):
    """One call, from who wanted it to what came of it."""

    id: int
    """The number of its record."""
    timestamp: str
    """When it was decided, UTC."""
    status: Status | Literal["proxied", "damaged"]
    """`proxied`: it went to a client through the proxy, and what came of it is not known here; `damaged`: somebody has
    changed the record so that it cannot be read."""
    execution_time: float | None = None
    """Milliseconds; None as long as it has not ended."""
    error: str | None = None
    """Of a call that did not run, the reason."""
    summary: str = ""
    tokens: int = 0
    cached: bool = False
    sandbox: str | None = None
    ended: str | None = None
    identity: tuple[str, str] | None = None
    """Issuer and subject, where an identity provider said who calls."""

    @property
    def fit(self) -> Fit:
        if self.strategy == "failed":
            return "left"
        if (known := FITS.get(self.rule)) is not None:
            return known
        if self.repairs or self.strategy != "direct":
            return "repaired"
        return "lifted" if self.origin == "text" else "right"

    @property
    def would(self) -> Would | None:
        """What would have become of a call that was only observed; None for every other, and for one that would have
        run."""
        found = would_of(self.rule, self.reason)
        return None if found is None else found[0]

    @property
    def would_by(self) -> str:
        """The rule that would have decided so."""
        found = would_of(self.rule, self.reason)
        return "" if found is None else found[1]


class CallFilter(Struct, frozen=True):
    """Which calls are asked for; None means any."""

    caller: str | None = None
    tool: str | None = None
    status: str | None = None
    """As a record has it, or as `Would`."""
    context: str | None = None
    step: str | None = None
    since: str | None = None
    """A time in UTC."""
    until: str | None = None
    model: str | None = None
    decision: str | None = None
    rule: str | None = None
    repair: str | None = None
    """A rule or strategy of a repair; `any` for every repaired call, `none` for those that fitted as they were,
    `lifted` and `left` as in `Fit`."""
    text: str | None = None
    """Somewhere in its record, in any case of letters."""
    approvals: frozenset[str] | None = None
    """Questions, one of which it asked or used."""

    def has(self, record: CallRecord) -> bool:
        return (
            (self.caller is None or record.caller == self.caller)
            and (self.tool is None or record.tool == self.tool)
            and (self.status is None or self.status in (record.status, record.would))
            and (self.context is None or record.context == self.context)
            and (self.step is None or record.step == self.step)
            and (self.until is None or record.timestamp < self.until)
            and (self.model is None or record.model == self.model)
            and (self.decision is None or record.decision == self.decision)
            and (self.rule is None or record.rule == self.rule)
            and (self.repair is None or self._has_repair(record))
            and (self.approvals is None or record.approval in self.approvals)
            and (self.text is None or self.text.casefold() in _words_of(record))
        )

    def _has_repair(self, record: CallRecord) -> bool:
        if (fit := _ASKED_FITS.get(self.repair or "")) is not None:
            return record.fit == fit
        used = {str(one.get(key)) for one in record.repairs for key in ("rule", "strategy")}
        return self.repair == record.strategy or self.repair in used

    def may_have(self, body: bytes) -> bool:
        """A quick look, before the record is read: every name that is asked for stands in it."""
        observed = OBSERVED if self.status in get_args(Would) else None
        names = (self.caller, self.tool, self.context, self.step, self.model, self.rule, observed)
        return all(encode(name) in body for name in names if name)

    def may_tell(self, entry: AuditEntry, end: AuditEntry | None) -> bool:
        """The same of words, where they stand in records as they are looked for: not those of other alphabets, signs
        that JSON writes otherwise, or what is said of a call without an end."""
        text = self.text
        if text is None or not (text.isascii() and text.isprintable()) or '"' in text or "\\" in text:
            return True
        body = entry.body if end is None else entry.body + b"\n" + end.body
        without_end = end is None and entry.kind == "begin"
        return without_end or not body.isascii() or text.lower().encode() in body.lower()


_ASKED_FITS: Final[Mapping[str, Fit]] = {"any": "repaired", "none": "right", "lifted": "lifted", "left": "left"}


def _words_of(record: CallRecord) -> str:
    parts = (record.params, record.emission, record.repairs)
    told = (record.caller, record.tool, record.written, record.reason, record.error, record.summary, record.rule)
    return "\n".join((*(encode(one).decode() for one in parts), *(one or "" for one in told))).casefold()


_ANY_CALL = CallFilter()


def find_calls(
    tables: Tables, wanted: CallFilter = _ANY_CALL, *, limit: int = 20, newest: bool = True
) -> list[CallRecord]:
    """Calls of that kind: the last ones with the newest first, or else from the oldest on."""
    forwards = (entry for entry in tables.entries(since=wanted.since) if entry.kind in CALLS)
    entries = _backwards(tables, wanted.since) if newest else forwards
    found: list[CallRecord] = []
    running = frozenset(tables.running())
    for entry in entries:
        if len(found) >= limit:
            break
        if wanted.may_have(entry.body):
            record = joined(entry, _end_of(tables, entry), running)
            if wanted.has(record):
                found.append(record)
    return found


LOOKED_THROUGH = 20_000
"""Records that one page of calls is searched in: a fraction of a second; the next page goes on behind them."""
_PAGE = 1000
_MOST_COUNTED = 2000


class CallPage(Struct, frozen=True):
    """Some calls, the newest first, and where older ones begin."""

    calls: list[CallRecord]
    before: int | None
    """The number that the next page is asked for with; None where there is nothing older."""


class _Search:
    """Calls of one kind, from a record backwards. `end` is the newest record that was not looked at yet."""

    def __init__(self, tables: Tables, wanted: CallFilter, before: int | None) -> None:
        last = tables.head()[0]
        self.end = last if before is None else min(last, before - 1)
        self._tables, self._wanted = tables, wanted

    def __iter__(self) -> Iterator[CallRecord]:
        tables, wanted, lowest = self._tables, self._wanted, max(0, self.end - LOOKED_THROUGH)
        running, ends = frozenset(tables.running()), dict[int, AuditEntry]()
        while self.end > lowest:
            first = max(lowest, self.end - _PAGE)
            entries = [one for one in islice(tables.entries(first), self.end - first) if one.seq <= self.end]
            if entries and wanted.since is not None and all(one.at < wanted.since for one in entries):
                self.end = 0
                return
            for entry in reversed(entries):
                if entry.kind == "end":
                    ends[entry.call] = entry
                elif entry.kind in CALLS and (wanted.since is None or entry.at >= wanted.since):
                    if not wanted.may_have(entry.body):
                        continue
                    own = ends.pop(entry.seq, None) or _end_of(tables, entry)
                    if wanted.may_tell(entry, own) and wanted.has(record := joined(entry, own, running)):
                        self.end = entry.seq - 1
                        yield record
            self.end = first

    @property
    def before(self) -> int | None:
        """Where to go on; None where nothing is older."""
        return self.end + 1 if 0 < self._tables.oldest() <= self.end else None


def page_of_calls(
    tables: Tables, wanted: CallFilter = _ANY_CALL, *, before: int | None = None, limit: int = 50
) -> CallPage:
    """The calls of that kind with a number below `before`. Only so many records are looked through at a time: a page
    may have few calls, or none, and still say where to go on."""
    search = _Search(tables, wanted, before)
    found = list(islice(search, limit))
    return CallPage(found, search.before)


def latest_calls(tables: Tables, wanted: CallFilter) -> Iterator[CallRecord]:
    """The same one by one, for whoever only counts them."""
    return iter(_Search(tables, wanted, None))


class CallCount(Struct, frozen=True):
    """How many calls a filter has, and how many questions, which are calls only once they are answered."""

    calls: int
    questions: int
    is_all: bool
    """Whether there are no more than these."""


def count_calls(tables: Tables, wanted: CallFilter, page: CallPage) -> CallCount:
    """Those of a page and of all that are older, without keeping them: as many as one more search finds."""
    found = [one.status == "waiting" for one in page.calls]
    before = page.before
    if before is not None:
        search = _Search(tables, wanted, before)
        found += [one.status == "waiting" for one in islice(search, _MOST_COUNTED)]
        before = search.before
    return CallCount(found.count(False), found.count(True), before is None)


def calls_since(tables: Tables, after: int, wanted: CallFilter = _ANY_CALL, *, limit: int = 50) -> list[CallRecord]:
    """The calls of that kind of which something was recorded above this number: new ones, and those that have ended.
    The newest first, and no more than `limit`."""
    head = tables.head()[0]
    begun: dict[int, AuditEntry | None] = {}
    ends: dict[int, AuditEntry] = {}
    for entry in takewhile(lambda one: one.seq <= head, tables.entries(max(after, head - LOOKED_THROUGH // 4))):
        if entry.kind in CALLS:
            begun[entry.seq] = entry
        elif entry.kind == "end":
            begun.setdefault(entry.call)
            ends[entry.call] = entry
    running, found = frozenset(tables.running()), list[CallRecord]()
    for number in sorted(begun, reverse=True):
        entry = begun[number] or tables.entry(number)
        if entry is None or entry.kind not in CALLS or not wanted.may_have(entry.body):
            continue
        record = joined(entry, ends.get(number), running)
        if wanted.has(record) and (wanted.since is None or record.timestamp >= wanted.since):
            found.append(record)
            if len(found) >= limit:
                break
    return found


def call(tables: Tables, seq: int) -> CallRecord | None:
    """The call with this record, or whose end this record is; None when it is no call's."""
    entry = tables.entry(seq)
    if entry is not None and entry.kind == "end":
        entry = tables.entry(entry.call)
    if entry is None or entry.kind not in CALLS:
        return None
    return joined(entry, _end_of(tables, entry), frozenset(tables.running()))


def neighbours(tables: Tables, record: CallRecord, most: int = 3) -> list[CallRecord]:
    """The calls of the same context next to this one, before and after it, in order and without itself."""
    if record.context is None:
        return []
    wanted = CallFilter(context=record.context)
    near = _streamed(tables, wanted, max(0, record.id - AROUND), record.id + AROUND)
    near = [one for one in near if one.id != record.id]
    return [one for one in near if one.id < record.id][-most:] + [one for one in near if one.id > record.id][:most]


def steps(tables: Tables, context: str) -> dict[str, list[dict[str, Any]]]:
    """The tool calls of each step of a plan (A-06), in the order of their first call; "" for those without a step.
    Questions that wait are no calls yet."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in _streamed(tables, CallFilter(context=context)):
        if record.status != "waiting":
            found.setdefault(record.step or "", []).append(snapshot(record))
    return found


def plan_steps(tables: Tables, context: str) -> list[dict[str, Any]]:
    """The steps of a plan as design 002 keeps them, `PlanStepSnapshot`: what a host said of each (`note_step`, the last
    word counts) with its calls; those it named in that order, then those that only calls name. A step is completed when
    the host said so. Times are milliseconds: `completedAt` since 1970, `duration` since it was first named."""
    calls, found = steps(tables, context), dict[str, dict[str, Any]]()
    began = dict[str, int]()
    for at, said in _said_of_steps(tables, context):
        began.setdefault(said.step, at)
        told = found.setdefault(said.step, {})
        new = {"action": said.action, "expectedOutcome": said.expected_outcome, "completed": said.completed}
        new |= {"result": said.result, "error": said.error}
        told.update({name: value for name, value in new.items() if value is not None})
        if said.completed is not None:
            ended = at if said.completed else None
            told |= {"completedAt": ended, "duration": None if ended is None else ended - began[said.step]}
    named = [step for step in dict.fromkeys((*found, *calls)) if step]
    numbered = all(step.isascii() and step.isdecimal() and len(step) < _LONGEST_STEP for step in named)
    return [
        _NO_STEP
        | {"stepNumber": int(step) if numbered else at, **found.get(step, {}), "toolCalls": calls.get(step, [])}
        for at, step in enumerate(named, 1)
    ]


def _said_of_steps(tables: Tables, context: str) -> Iterator[tuple[int, PlanStep]]:
    wanted = encode(context)
    for entry in tables.entries():
        if entry.kind != "message" or wanted not in entry.body:
            continue
        try:
            told = _read_step(entry.body)
        except DecodeError:  # another note
            continue
        if told.what == STEP and told.data.context == context:
            yield _milliseconds(entry.at), told.data


class _ToldStep(Struct, frozen=True):
    what: str
    data: PlanStep


_read_step = Decoder(_ToldStep).decode
_LONGEST_STEP = 10
_NO_STEP: dict[str, Any] = {
    "stepNumber": 0, "action": "", "expectedOutcome": "", "completed": False, "completedAt": None, "result": None,
    "error": None, "duration": None, "toolCalls": [],
}  # fmt: skip


def snapshot(record: CallRecord) -> dict[str, Any]:
    """A call as design 002 keeps it with a plan, `ToolCallSnapshot`; times are milliseconds, the first since 1970."""
    return {
        "tool": record.tool,
        "params": record.params,
        "timestamp": _milliseconds(record.timestamp),
        "executionTime": record.execution_time or 0.0,
        "success": record.status == "success",
        "error": record.error,
        "resultSummary": record.summary or None,
        "tokensConsumed": record.tokens,
    }


def _backwards(tables: Tables, since: str | None) -> Iterator[AuditEntry]:
    """Calls from the newest back. More are fetched each time, so that few are read twice."""
    count, done = _FIRST_LOOK, 0
    while True:
        found = tables.newest(count, CALLS)
        for entry in found[done:]:
            if since is None or entry.at >= since:
                yield entry
        if len(found) < count:
            return
        count, done = count * 4, len(found)


def _streamed(tables: Tables, wanted: CallFilter, after: int = 0, through: int | None = None) -> list[CallRecord]:
    """Calls in order, joined in one pass over the records."""
    begun: dict[int, AuditEntry] = {}
    ends: dict[int, AuditEntry] = {}
    for entry in tables.entries(after):
        if through is not None and entry.seq > through:
            break
        if entry.kind in CALLS and wanted.may_have(entry.body):
            begun[entry.seq] = entry
        elif entry.kind == "end" and entry.call in begun:
            ends[entry.call] = entry
    running = frozenset(tables.running())
    records = (joined(entry, ends.get(entry.seq), running) for entry in begun.values())
    return [record for record in records if wanted.has(record)]


def _end_of(tables: Tables, entry: AuditEntry) -> AuditEntry | None:
    if entry.kind != "begin":
        return None
    return next((one for one in tables.belonging(entry.seq) if one.kind == "end"), None)


def joined(entry: AuditEntry, end: AuditEntry | None, running: frozenset[int]) -> CallRecord:
    """The call of a record and of its end; `running` are the calls that run now."""
    try:
        body = read_call(entry.body)
        done = None if end is None else read_end(end.body)
    except DecodeError as error:
        return _damaged(entry, str(error))
    status, error = _came_to(entry, body, done, entry.seq in running)
    done = done or EndBody("pending")
    return CallRecord(
        *_facts_of(body), id=entry.seq, timestamp=entry.at, status=status, error=error,
        execution_time=None if end is None else done.execution_time, summary=done.summary, tokens=done.tokens,
        cached=done.cached, sandbox=done.sandbox, ended=None if end is None else end.at,
        identity=body.identity if body.identity[0] else None,
    )  # fmt: skip


_facts_of = attrgetter(*CallFacts.__struct_fields__)


def _came_to(
    entry: AuditEntry, body: CallBody, done: EndBody | None, runs: bool
) -> tuple[Status | Literal["proxied"], str | None]:
    if entry.kind == "proxied":
        return "proxied", body.reason or None
    if entry.kind != "begin":
        return ("refused" if entry.kind == "refused" else "waiting"), body.reason
    if done is not None:
        return done.status, done.error
    return ("pending", None) if runs else ("interrupted", "Its process ended, or could not record the end of the call.")


def _damaged(entry: AuditEntry, why: str) -> CallRecord:
    return CallRecord(
        id=entry.seq, timestamp=str(entry.at), caller="", tool="", params=None, status="damaged",
        decision=cast("Any", ""), rule="", digest="",
        error=f"the record cannot be read: {why}; `rightcall audit verify` says more",
    )  # fmt: skip


def _milliseconds(at: str) -> int:
    try:
        return round(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return 0


# ── period ──
# The periods that are looked back on: which records belong to one, and the slots it is cut into.

Period = Literal["1hour", "1day", "1week"]

SLOTS: Final[Mapping[Period, tuple[int, timedelta]]] = {
    "1hour": (12, timedelta(minutes=5)),
    "1day": (24, timedelta(hours=1)),
    "1week": (7, timedelta(days=1)),
}
"""Into how many slots of what length a period is cut, to show when the calls were."""


class PeriodSlots(Struct, frozen=True):
    """A period that ends now: the first and the last moment that belong to it, and where each slot begins."""

    period: Period
    since: str
    until: str
    slots: tuple[str, ...]


def window_of(period: Period, now: str) -> PeriodSlots:
    """The period up to `now` (UTC, as the store's clock writes it).

    >>> window_of("1hour", "2026-01-01 12:00:00.000").since
    '2026-01-01 11:00:00.000'
    """
    if period not in SLOTS:
        known = ", ".join(get_args(Period))
        raise ConfigError(f"period: {escaped(str(period), 40)!r} is not a period; expected {known}")
    end = _moment(now)
    number, length = SLOTS[period]
    starts = tuple(written((end - length * left).timestamp()) for left in range(number, 0, -1))
    return PeriodSlots(period, starts[0], written(end.timestamp()), starts)


def _moment(now: str) -> datetime:
    try:
        read = datetime.fromisoformat(now)
    except ValueError:
        right = "write it in UTC, as in '2026-01-31 12:00:00.000'"
        raise ConfigError(f"now: {escaped(now, 40)!r} cannot be read as a time; {right}") from None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)

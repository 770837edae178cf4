"""The record of what passed through the proxy, written beside the answers: nobody waits for the disk. And the counts
for `/metrics`.

    told ─▶ queue, bounded ─▶ one thread: makes the records, without secrets ─▶ many in one commit ─▶ the store

The proxy runs nothing, so that a store that cannot be used stops no answer (A-04 is for calls that run): what cannot be
written yet waits, is tried again, and is written once the fault is gone. When too much waits, the newest is counted as
lost.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from time import monotonic, sleep
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.answers import Kind
from rightcall.base.secrets import Redactor
from rightcall.base.telemetry.conventions import CALLED, DURATIONS, ERROR, SERVED, TOOL, TOOL_NAME, Attributes, Work
from rightcall.base.text import escaped
from rightcall.catalog.packs import pack_digests
from rightcall.errors import StoreError
from rightcall.gate.gate import functions
from rightcall.policy.decide import next_day
from rightcall.policy.settings import Policy, tokens_per_day
from rightcall.policy.trust import stopped
from rightcall.policy.types import Pause
from rightcall.proxy.gates import CALLER, LONGEST_NAME, NO_OFFER, Did, Offer, Provenance, lighten, notes
from rightcall.proxy.wires.common import Spent
from rightcall.record.calls import Fit
from rightcall.record.identity import Identified, wrong_with
from rightcall.record.notes import (
    LONGEST_OFFERED,
    Decider,
    Rescued,
    note_offered,
    note_policy,
    note_rescue,
    policy_note,
)
from rightcall.record.premises import existing_folder, found_folder, open_store, store_place
from rightcall.record.tables import NO_IDENTITY, CallBody, Needs, Planned, Store, Tables, encode, look_aside
from rightcall.server.access import Reason

# ── metrics ──
# What the server counts, in Prometheus' text format 0.0.4. Kept by hand: a few dictionaries in one thread.

Change = Literal["repaired", "lifted", "left", "retried", "taught", "observed"]
Statistics = Callable[[], Mapping[str, Mapping[str, Any]]]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_MOST_TOOLS: Final = 1_000
_NONE: Final[Mapping[str, str]] = {}


def _no_statistics() -> Mapping[str, Mapping[str, Any]]:
    return {}


def _unheard(rule: str, seconds: float) -> None:
    del rule, seconds


class Metrics:
    """`statistics` gives by provider what `Gate.stats()` gives; `connections` and `streams` how many are open."""

    def __init__(self, statistics: Statistics = _no_statistics) -> None:
        self.statistics = statistics
        self.connections: Callable[[], int] = lambda: 0
        self.streams: Callable[[], int] = lambda: 0
        self.audit_failures: Callable[[], int] = lambda: 0
        self.others: Callable[[], Awaitable[str]] | None = None
        self.decided: Callable[[str, float], None] = _unheard
        """Hears by which rule each call was decided, and how many seconds ago it came."""
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, Durations] = {}
        self._changes: Counter[str] = Counter()
        self._fits: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._upstream_errors: Counter[str] = Counter()
        self._durations: dict[str, dict[tuple[tuple[str, str], ...], Durations]] = {name: {} for name in DURATIONS}
        self._known: dict[tuple[object, ...], Durations] = {}
        """The same by the values alone, which are not put in order for every one."""
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._repairs: Counter[str] = Counter()
        self._waited = Durations(_BOUNDS)

    def request(self, wire: str, status: int, seconds: float) -> None:
        """One request has been answered, the last byte of a stream included."""
        self._requests[wire, status] += 1
        if wire not in self._seconds:
            self._seconds[wire] = Durations(_BOUNDS)
        self._seconds[wire].add(seconds)

    def observe(self, work: Work, seconds: float, told: Attributes) -> None:
        """Some work is over, as telemetry follows it; there is an end to how many tools are told apart."""
        get = told.get
        seen = (work.metric, get(ERROR), *map(get, work.labels))
        known = self._known.get(seen)
        if known is None:
            known = self._series(work, told, seen)
        known.add(seconds)
        if "rightcall.decision" in told:
            rule = str(told["rightcall.rule"])
            self._decisions[str(told["rightcall.decision"]), rule] += 1
            self.decided(rule, seconds)
        if "rightcall.repair.rules" in told:
            for rule in cast("tuple[str, ...]", told["rightcall.repair.rules"]):
                self._repairs[rule] += 1
        if "rightcall.approval.waited" in told:
            self._waited.add(cast("float", told["rightcall.approval.waited"]))

    def _series(self, work: Work, told: Attributes, seen: tuple[object, ...]) -> Durations:
        series, bounds = self._durations[work.metric], DURATIONS[work.metric][0]
        key = tuple(sorted((name, str(told[name])) for name in (*work.labels, ERROR) if name in told))
        if key not in series and len(series) >= _MOST_TOOLS:
            return series.setdefault(((TOOL_NAME, "(other)"),), Durations(bounds))
        found = self._known[seen] = series.setdefault(key, Durations(bounds))
        return found

    def fitted(self, fit: Fit) -> None:
        """One call of a model has passed."""
        self._fits[fit] += 1

    def changed(self, kind: Change, count: int = 1) -> None:
        self._changes[kind] += count

    def refused(self, reason: Reason) -> None:
        self._refusals[reason] += 1

    def upstream_failed(self, kind: Kind) -> None:
        self._upstream_errors[kind] += 1

    async def whole(self) -> str:
        """Of all workers, where there are several."""
        return self.text() if self.others is None else await self.others()

    def text(self) -> str:
        own = {
            "requests_total": _by(("wire", "status"), self._requests),
            "request_seconds": [
                line for wire, one in sorted(self._seconds.items()) for line in one.lines({"wire": wire})
            ],
            "calls_total": _by(("provider", "tool", "strategy"), self._calls()),
            "fits_total": _by(("fit",), self._fits),
            "changes_total": _by(("kind",), self._changes),
            "refusals_total": _by(("reason",), self._refusals),
            "upstream_errors_total": _by(("kind",), self._upstream_errors),
            "audit_failures_total": [("", self.audit_failures())],
            "decisions_total": _by(("decision", "rule"), self._decisions),
            "repairs_total": _by(("rule",), self._repairs),
            "approval_wait_seconds": self._waited.lines(),
            "streams_open": [("", self.streams())],
            "connections_open": [("", self.connections())],
        }
        families = [_family(f"rightcall_{name}", _ABOUT[name], lines) for name, lines in own.items()]
        return "".join(line for family in (*families, *self._followed()) for line in family)

    def _followed(self) -> Iterator[Iterable[str]]:
        """The histograms of telemetry, as OpenTelemetry's own exporter calls them."""
        for metric, series in self._durations.items():
            if series or metric in (SERVED.metric, CALLED.metric, TOOL.metric):
                lines = (line for key, one in sorted(series.items()) for line in one.lines(dict(key)))
                name = f"{metric.replace('.', '_')}_seconds"
                yield _family(name, DURATIONS[metric][1], lines)

    def _calls(self) -> Counter[tuple[str, ...]]:
        """Models and clients choose the names of tools, so there is an end to how many are told apart."""
        counts: Counter[tuple[str, ...]] = Counter()
        seen: set[str] = set()
        for provider, figures in self.statistics().items():
            for tool, of_tool in figures["tools"].items():
                if len(seen) < _MOST_TOOLS:
                    seen.add(tool)
                name = tool if tool in seen else "(other)"
                for strategy, count in of_tool["normalizations"].items():
                    counts[provider, name, strategy] += count
        return +counts


def add_figures(one: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Two such figures as one, as far as they are shown here."""
    tools: dict[str, dict[str, Any]] = {}
    for figures in (one, more):
        for tool, of_tool in figures["tools"].items():
            counts: Counter[str] = tools.setdefault(tool, {"normalizations": Counter()})["normalizations"]
            counts.update(of_tool["normalizations"])
    return {"tools": tools}


class Durations:
    """One histogram: how often something took how long, and how long all of it."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def lines(self, labels: Mapping[str, str] = _NONE) -> Iterator[tuple[str, float]]:
        if not any(self._counts):
            return
        own = {name.replace(".", "_"): value for name, value in labels.items()}
        below = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            yield "_bucket" + _labels(**own, le=bound), below
        alone = _labels(**own) if own else ""
        yield f"_sum{alone}", round(self._sum, 6)
        yield f"_count{alone}", below


_ABOUT: Final = {
    "requests_total": "Requests that the proxy has answered; status 0: the client left first.",
    "request_seconds": "Seconds from a request to the last byte of its answer.",
    "calls_total": "Tool calls that were checked, by the strategy that read them.",
    "fits_total": "Tool calls of models: right as written, lifted from the text, repaired, or left as they were.",
    "changes_total": "Calls repaired, lifted, left or observed; requests retried; answers taught.",
    "refusals_total": "Requests and connections sent away before the proxy.",
    "upstream_errors_total": "Requests that failed because of the upstream.",
    "audit_failures_total": "Failed attempts to write the audit, calls refused because of that, and records lost.",
    "decisions_total": "Calls that were decided here, by decision and rule.",
    "repairs_total": "Calls repaired here, by rule.",
    "approval_wait_seconds": "Seconds that calls waited for a person.",
    "streams_open": "Answers that stream at this moment.",
    "connections_open": "Connections of clients at this moment.",
}
_KINDS: Final = {"total": "counter", "seconds": "histogram", "open": "gauge"}
"""By how a name ends."""


def _family(name: str, about: str, lines: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP {name} {about}\n# TYPE {name} {_KINDS[name.rpartition('_')[2]]}\n"
    for rest, value in lines:
        yield f"{name}{rest} {value}\n"


def _by(labels: tuple[str, ...], counts: Counter[Any]) -> Iterator[tuple[str, int]]:
    """By one label, or by several whose values are a tuple."""
    for key, count in sorted(counts.items()):
        values = (key,) if isinstance(key, str) else key
        yield _labels(**{label: str(value) for label, value in zip(labels, values, strict=True)}), count


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    clean = value.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written
    return clean.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


# ── facts ──
# What is known of one request when it is over: for the counts, the audit and the log.


class Facts(Struct):
    """Filled in while the request runs. Nothing of its headers, and no key, is ever in here."""

    wire: str
    """The API, or `passed` for paths that are none of a model's."""
    provider: str
    upstream: str = ""
    """Its host."""
    model: str = ""
    caller: str = ""
    identity: tuple[str, str] = NO_IDENTITY
    """Issuer and subject, where an identity provider says who calls."""
    stream: bool = False
    status: int = 0
    seconds: float = 0.0
    did: list[Did] = []
    retries: int = 0
    taught: bool = False
    ran: int = 0
    """Calls of tools that are run here."""
    observe: bool = False
    fault: str = ""
    """In one word, what was wrong with the upstream."""
    counted: bool = False
    """Whether its caller has a budget of tokens."""
    tokens: int = 0
    """That the upstream says it used, all tries together; 0 where nobody counts."""
    offer: Offer = NO_OFFER
    """The tools of the request."""
    rescues: list[Rescued] = []
    """Calls that were put to the model of `[gate.llm]`."""


# ── records ──
# The records of an answer's calls: what they will weigh while they wait, and how they are made.
#
# Making one looks through everything the model wrote for secrets, which takes longer than an event loop may wait:
# half a millisecond for a call with a hundred arguments. So what is left on the loop is the weighing.

AT_ONCE = 50
"""Calls whose records are made together: whoever stops waits for these at most."""
_BARE, _PER_FINDING, _PER_BYTE = 1000, 300, 4
"""What a call takes in memory without what was written, for each repair or problem, and for each byte of it."""
_UNKNOWN = 100_000
"""For what cannot be weighed."""

_encoded_json = msgspec.json.Encoder().encode


class Told(NamedTuple):
    """Some calls of an answer, of which records are to be made."""

    facts: Facts
    did: list[Did]
    weight: int
    redactor: Redactor
    policy: str
    """The digest of the one that was in force. Another may be when the record is made."""


def weight_of(did: Did) -> int:
    """About how many bytes are kept while this waits."""
    findings = len(did.verdict.repairs) + len(did.verdict.problems)
    return _BARE + _PER_FINDING * findings + _PER_BYTE * _size(did.said)


def _size(said: Any) -> int:
    if isinstance(said, str):
        return len(said)
    try:
        return len(_encoded_json(said))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _UNKNOWN


def parts_of(facts: Facts, weights: list[int], redactor: Redactor, policy: str) -> Iterator[Told]:
    """The first calls of an answer, as many as there are weights, a few at a time. Nothing of it changes later."""
    kept = replace(facts, did=[], model=facts.model[: LONGEST_NAME * 4])
    for start in range(0, len(weights), AT_ONCE):
        end = min(start + AT_ONCE, len(weights))
        yield Told(kept, facts.did[start:end], sum(weights[start:end]), redactor, policy)


def make_records(told: Told) -> list[bytes]:
    """The records as they are stored, without their secrets. Never raises: what cannot be recorded is left out."""
    try:
        return _encode_records(told)
    except Exception:  # one of them is not what we take calls to be: the others are
        log.exception("rightcall: the calls of an answer could not be recorded")
    return [record for one in told.did for record in _alone(told._replace(did=[one]))]


def _alone(told: Told) -> list[bytes]:
    try:
        return _encode_records(told)
    except Exception:  # noqa: BLE001  it was told already
        return []


def _encode_records(told: Told) -> list[bytes]:
    facts = told.facts
    came = Provenance(
        facts.wire, facts.model, facts.provider, facts.caller or CALLER, told.policy, facts.retries, facts.taught,
        facts.observe, facts.identity, facts.offer.digest,
    )  # fmt: skip
    return [_encoded(record) for record in notes(told.did, told.redactor, came)]


def _encoded(record: CallBody) -> bytes:
    """As it is stored. What JSON cannot carry, such as half of a character, is left out of it."""
    try:
        return encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError):
        bare = CallBody(
            record.caller, escaped(record.tool, 200), None, record.digest, record.decision, record.rule,
            strategy=record.strategy, confidence=record.confidence, origin=record.origin, wire=record.wire,
            identity=record.identity,
        )  # fmt: skip
        return encode(replace(bare, emission="the model output cannot be stored"))


log = logging.getLogger("rightcall")

MOST_WAITING = 20_000
MOST_BYTES = 64_000_000
"""Of calls and records that wait; what comes beyond is lost."""
_GROUP = 1000
"""Records in one transaction: other processes want to write as well."""
_LONGEST_PAUSE = 5.0
_LOOKING = 1.0
"""Seconds until it is looked again whether the store can be read, for `/health`."""
_STOPPING = 10.0
"""Seconds in which what waits is still written when the server stops."""
_MOST_OFFERED, _MOST_OF_ONE = 64, 32
"""Lists of tools that one process has the store keep, and those of one caller."""
_OFFERED_AGAIN = 86_400.0


class State(Struct, frozen=True):
    """How the record is doing, for `/health`. Says nothing of where it lies."""

    ok: bool
    fault: str
    """In one word why nothing can be written now (`full`, `locked`, `read-only`, `corrupt` …); empty where it can."""
    recorded: int
    waiting: int
    failures: int
    """How often writing was tried in vain."""
    lost: int
    """Records that there was no room for, or that could not be written before the server stopped."""


class Backlog(NamedTuple):
    """How long, and how much, waits until it is written."""

    gather: float = 0.05
    """Seconds in which records come together, so that they share a commit. Whoever kills the process loses these."""
    first_pause: float = 0.25
    """Seconds until a store that could not be used is tried again; twice as long each time."""
    most: int = MOST_WAITING
    most_bytes: int = MOST_BYTES


_BACKLOG = Backlog()


class Recording:
    """`told` may be called from an event loop: it never waits. `stop` writes what is left, and closes the store where
    it was opened for this."""

    def __init__(
        self, store: Store, policy: Policy | None = None, *, owned: bool = True, backlog: Backlog = _BACKLOG
    ) -> None:
        policy = policy or Policy()
        self.redactor = Redactor(store.key(), policy.settings.audit.redact)
        self.policy = policy.digest
        self.failures = 0
        self.lost = 0
        self.recorded = 0
        self.fault = ""
        self.store = store
        self._owned = owned
        self._backlog = backlog
        self._told: deque[Told] = deque()
        self._told_calls = 0
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._settings = policy.settings
        self._tokens: Counter[str] = Counter()
        """That callers used and that are not in the store yet."""
        self._offered: dict[str, float] = {}
        """Lists of tools that the store was told of, each with the moment."""
        self._offers: Counter[str] = Counter()
        """How many of them are a caller's."""
        self._unkept: set[str] = set()
        """Lists that were found not to be worth keeping: to look takes longer than to record a call."""
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._deadline = 0.0
        self._look_again = 0.0
        self._unread = ""
        """Why the store cannot even be read, as when its file is gone: tokens cannot be checked then. Nobody need write
        for that to be noticed."""
        self.held: Pause | None = None
        """The emergency stop, as it was found last."""
        self._thread = threading.Thread(target=self._write, name="rightcall recording", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    @property
    def state(self) -> State:
        """As far as it was looked at."""
        fault = self.fault or ("closed" if self._stopping.is_set() else "") or self._unread
        return State(not fault, fault, self.recorded, self._count, self.failures, self.lost)

    def _strangeness(self, tables: Tables) -> str:
        """In one word what is wrong where the file is not the one that was opened."""
        path: str | None = getattr(self.store, "path", None)
        try:
            return "replaced" if path is not None and wrong_with(path, cast("Identified", tables)) else ""
        except StoreError as error:
            return error.fault

    async def paused(self) -> Pause | None:
        """The emergency stop, while it holds. Where the store cannot be read nobody can tell whether it has one of its
        own, and answers pass: the proxy runs nothing. From time to time it is found whether it is the same store."""
        if is_due := (now := monotonic()) >= self._look_again:
            self._look_again = now + _LOOKING

        def work(tables: Tables) -> tuple[Pause | None, str]:
            return tables.paused(), self._strangeness(tables) if is_due else self._unread

        try:
            self.held, unread = await look_aside(self.store, work)
        except StoreError as error:
            self.held, unread = stopped(), error.fault
        self._unread = "" if unread == "locked" else unread
        return self.held

    def told(self, facts: Facts) -> None:
        """A request is over: every call of its answer is recorded, and the tokens of who has a budget are counted.
        Never waits and never raises."""
        if facts.tokens:
            with self._lock:
                self._tokens[facts.caller] += facts.tokens
            self._news.set()
        for rescued in facts.rescues:
            self._note_rescue(rescued)
        if not facts.did:
            return
        try:
            light = replace(facts, did=[lighten(one, self.redactor) for one in facts.did])
            self._take(light, [weight_of(one) for one in light.did])
        except Exception:  # an error of ours must not reach the answer
            self._lose(len(facts.did))
            log.exception("rightcall: the calls of an answer could not be recorded")

    def _note_rescue(self, rescued: Rescued) -> None:
        told = replace(rescued, caller=rescued.caller or CALLER, tool=str(self.redactor.label(rescued.tool)))
        try:
            self.store.later(lambda tables: note_rescue(tables, told))
        except StoreError as error:
            self._note_fault(error)

    def _spent_all(self) -> bool:
        """Whether all tokens that were used are in the store."""
        with self._lock:
            used = {caller: tokens for caller, tokens in self._tokens.items() if tokens}
        if not used:
            return True

        def spend(tables: Tables) -> None:
            for caller, tokens in used.items():
                tables.spend(caller, tokens=tokens)

        try:
            self.store.transact(Planned(spend, lambda: Needs(budgets=tuple(used))))
        except StoreError as error:
            self._note_fault(error)
            return False
        with self._lock:
            self._tokens.subtract(used)
            self._tokens = +self._tokens
        return True

    def counts(self, caller: str) -> bool:
        return tokens_per_day(self._settings, caller) > 0

    async def check(self, caller: str) -> None:
        """Raises Spent where a caller may ask no model any more today. Where the store cannot be read nobody knows what
        was used up, and nothing is asked."""
        most = tokens_per_day(self._settings, caller)
        if not most:
            return
        try:
            spent, wall = await look_aside(self.store, lambda tables: (tables.spent(caller).tokens, tables.wall()))
        except StoreError:
            unread = "The tokens that this caller has used today cannot be read now, so no model is asked. Try again."
            raise Spent(unread, _LOOKING) from None
        with self._lock:
            spent += self._tokens[caller]
        if spent >= most:
            wait, until = next_day(wall)
            used = f"this caller has used {spent:,} of {most:,} tokens today"
            raise Spent(f"Daily token budget exceeded: {used}. It resets at {until} UTC.", wait)

    def under(self, policy: Policy) -> None:
        """From now on calls pass under this policy, which may name further secrets."""
        self._settings = policy.settings
        self.redactor = Redactor(self.store.key(), policy.settings.audit.redact)
        self._unkept = set()
        self.policy = policy.digest

    def note_policy(self, what: str, policy: Policy, problem: str | None = None) -> None:
        """Which policy is in force, or why an edit of its file was not taken: as an executor notes it."""
        note, digest = policy_note(what, policy, pack_digests(policy.packs), problem)
        self.store.later(lambda tables: note_policy(tables, note, digest, Decider(policy)))

    def _take(self, facts: Facts, weights: list[int]) -> None:
        with self._lock:
            taken = 0 if self._stopping.is_set() else self._room_for(weights)
            self._told.extend(parts_of(facts, weights[:taken], self.redactor, self.policy))
            self._told_calls += taken
            self._bytes += sum(weights[:taken])
            left_out = len(weights) - taken
            first = left_out > 0 and self.lost == 0
            self.lost += left_out
        if first:
            log.error("rightcall: records of calls are lost, since too many wait to be written: see /health")
        if taken and not self._news.is_set():
            self._news.set()

    def stop(self, timeout: float = _STOPPING) -> None:
        """Write what waits, for as long as this at most, and end. A second time does nothing."""
        with self._lock:
            if not self._stopping.is_set():
                self._deadline = monotonic() + timeout
            self._stopping.set()
            self._news.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout + 1)
        atexit.unregister(self.stop)

    @property
    def _count(self) -> int:
        return self._told_calls + len(self._waiting)

    def _room_for(self, weights: list[int]) -> int:
        """How many of these have room. What came first stays: a record of an earlier call is worth no less."""
        room, size = self._backlog.most - self._count, self._bytes
        for nth, weight in enumerate(weights):
            size += weight
            if nth >= room or size > self._backlog.most_bytes:
                return nth
        return len(weights)

    def _lose(self, count: int) -> None:
        with self._lock:
            self.lost += count

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self) -> None:
        pause = 0.0
        while not self._stopping.is_set() or self._count or (self._tokens and not self._is_late):
            if not self._count and not self._tokens:
                self._news.wait()
            self._rest(pause)
            self._news.clear()
            pause = 0.0 if self._wrote_all() else min(max(self._backlog.first_pause, pause * 2), _LONGEST_PAUSE)
        if self._owned:
            self.store.close()

    def _rest(self, pause: float) -> None:
        """Until records have come together; after a fault, until it is time to try again."""
        if not self._stopping.wait(pause or self._backlog.gather) or not pause:
            return
        if self._is_late:
            self._give_up()
        else:  # it is worth a few more tries: nobody writes these records later
            sleep(min(self._backlog.first_pause, max(0.0, self._deadline - monotonic())))

    @property
    def _is_late(self) -> bool:
        return self._stopping.is_set() and monotonic() >= self._deadline

    def _make(self) -> None:
        """Enough records for a transaction, of what was told; none when it is too late to make any."""
        while self._told and len(self._waiting) < _GROUP and not self._is_late:
            told = self._told[0]
            records = make_records(told if self._keeps(told.facts) else _without_offer(told))
            with self._lock:
                self._told.popleft()
                self._told_calls -= len(told.did)
                self._waiting.extend(records)
                self._bytes += sum(map(len, records)) - told.weight
                self.lost += len(told.did) - len(records)

    def _keeps(self, facts: Facts) -> bool:
        """Whether the store keeps the tools of a request: it is told of them once a day, since what it keeps is pruned.
        A list that is long or holds a secret is not kept, and neither are those of a client that always has others."""
        offer, now = facts.offer, monotonic()
        if offer.digest in self._offered and now - self._offered[offer.digest] < _OFFERED_AGAIN:
            return True
        is_new, caller = offer.digest not in self._offered, str(self.redactor.label(facts.caller or CALLER))
        is_full = is_new and (len(self._offered) >= _MOST_OFFERED or self._offers[caller] >= _MOST_OF_ONE)
        if not offer.digest or offer.digest in self._unkept or len(offer.tools) > LONGEST_OFFERED or is_full:
            return False
        described = _described(offer, self.redactor)
        if not described:
            self._unkept = {offer.digest, *(self._unkept if len(self._unkept) < _MOST_OFFERED else ())}
            return False
        try:
            self.store.later(lambda tables: note_offered(tables, offer.digest, caller, described))
        except StoreError as error:
            self._note_fault(error)
            return False
        self._offered[offer.digest] = now
        self._offers[caller] += is_new
        return True

    def _wrote_all(self) -> bool:
        """Whether everything that waited is on disk."""
        if not self._spent_all():
            return False
        while self._count:
            self._make()
            with self._lock:
                group = [self._waiting[at] for at in range(min(_GROUP, len(self._waiting)))]
            if not group:
                if self._told:
                    self._give_up()
                continue
            try:
                self.store.transact(lambda tables, group=group: _append(tables, group))
            except StoreError as error:
                self._note_fault(error)
                return False
            except Exception:  # one of them is not what a record may be: the others are
                log.exception("rightcall: a record of a call could not be written")
                self._one_by_one(group)
                continue
            self._forget(len(group), written=len(group))
        return True

    def _one_by_one(self, group: list[bytes]) -> None:
        for body in group:
            written = 0
            try:
                self.store.transact(lambda tables, body=body: _append(tables, [body]))
                written = 1
            except StoreError as error:
                self._note_fault(error)
                return
            except Exception:  # noqa: BLE001  it was told already
                self.failures += 1
            self._forget(1, written=written)

    def _forget(self, count: int, *, written: int) -> None:
        with self._lock:
            for _ in range(count):
                self._bytes -= len(self._waiting.popleft())
            self.recorded += written
            self.lost += count - written
        if self.fault and written:
            self.fault = ""
            log.warning("rightcall: calls are recorded again; %d records are lost", self.lost)

    def _note_fault(self, error: StoreError) -> None:
        first, self.fault = not self.fault, error.fault
        self.failures += 1  # last: whoever sees it counted also sees why
        if first:
            log.error("rightcall: audit log unavailable; calls pass unrecorded: %s", escaped(error.reason, 500))

    def _give_up(self) -> None:
        with self._lock:
            left = self._count
            self.lost += left
            self._told.clear()
            self._told_calls = 0
            self._waiting.clear()
            self._bytes = 0
        log.error("rightcall: %d records of calls could not be written before the end", left)


def open_recording(
    policy: Policy, policy_file: str | os.PathLike[str] | None = None, *, root: str | os.PathLike[str] = ".",
    store: Store | Literal["memory"] | None = None, backlog: Backlog = _BACKLOG,
) -> Recording:  # fmt: skip
    """The audit that an executor with this policy would use: a database beside the policy file, without one below
    `root`; or "memory", or a store that stays open. Raises StoreError when it cannot be used from the start."""
    file = None if policy_file is None else os.path.abspath(policy_file)
    folder = existing_folder(root)
    place, found = store_place(policy, file, folder), found_folder(policy, file, folder)
    opened = open_store(store, place, None, found, policy.settings.audit.keep_days)
    recording = Recording(opened, policy, owned=opened is not store, backlog=backlog)
    recording.note_policy("loaded", policy)
    return recording


def _described(offer: Offer, redactor: Redactor) -> str:
    """A list of tools as the store keeps it; empty where it holds a secret, or cannot be read."""
    try:
        tools = functions(msgspec.json.decode(offer.tools))
        return "" if redactor.value(tools) != tools else _encoded_json(tools).decode()
    except (msgspec.MsgspecError, UnicodeError, ValueError, TypeError, RecursionError):
        return ""


def _without_offer(told: Told) -> Told:
    return told._replace(facts=replace(told.facts, offer=NO_OFFER))


def _append(tables: Tables, bodies: Iterable[bytes]) -> None:
    for body in bodies:
        tables.append("proxied", 0, body)

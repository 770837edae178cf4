"""What can go wrong where many nodes share a server, done on purpose, and what is left of it afterwards.

`scripts/cluster_faults.py` does each as often as it takes to believe it; the tests do each a few times. Every fault
ends in a row: what must be, what was measured, and whether that is good.
"""

import asyncio
import itertools
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from rightcall.errors import StoreError
from rightcall.policy.settings import Settings
from rightcall.record.postgres import PostgresStore
from rightcall.record.tables import AuditEntry, read_call, read_end
from rightcall.record.verify import verify_audit
from support.approvals import request_of, say
from support.cluster_node import STAGES, Node, started
from support.postgres import Server
from support.postgres_calls import attempt, begin, end

SOON = 0.5
"""Seconds in which whoever waits is refused."""
LATE = 2.0
"""Seconds after the lease of a dead node in which its calls have ended."""
HEARD = 1.5
"""Seconds after which an answer on another node is seen by a node that hears nothing."""
AT_ONCE = 6
"""Nodes that are started side by side."""


_RECORDS = "SELECT seq, kind, call, at, convert_to(body, 'UTF8'), hash, node FROM audit ORDER BY seq"
_NUMBERS = itertools.count(10_000)
"""No two calls are alike: identical ones would be refused."""


class Row(NamedTuple):
    fault: str
    must: str
    measured: str
    ok: bool


class Left(NamedTuple):
    """What the audit log says when everything is over."""

    entries: list[AuditEntry]
    begun: dict[int, AuditEntry]
    ends: dict[int, list[AuditEntry]]
    problem: str

    def open(self) -> list[int]:
        return [call for call in self.begun if call not in self.ends]

    def badly_ended(self) -> list[int]:
        return [call for call in self.begun if len(self.ends.get(call, [])) != 1]

    def interrupted(self) -> list[int]:
        return [call for call, found in self.ends.items() if read_end(found[0].body).status == "interrupted"]


def left_by(store: PostgresStore) -> Left:
    def look(tables: Any) -> Left:
        rows = tables._connection.execute(_RECORDS).fetchall()  # also what is too new to be listed in order
        entries = [AuditEntry(*row) for row in rows]
        ends: dict[int, list[AuditEntry]] = {}
        for entry in entries:
            if entry.kind == "end":
                ends.setdefault(entry.call, []).append(entry)
        begun = {entry.seq: entry for entry in entries if entry.kind == "begin"}
        return Left(entries, begun, ends, verify_audit(tables).problem)

    return store.look(look)


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)


@contextmanager
def patient(url: str) -> Iterator[PostgresStore]:
    """A node that watches. It does not take a busy machine for a server that is gone."""
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        yield store


# ── nodes ──


def kill_nodes(server: Server, times: int = 200, lease: float = 10) -> Row:
    """Each kills itself at a stage of its second call; the tool keeps a log of its own of what it did."""
    dead: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, server.database() as url, patient(url) as survivor:
        folder = Path(name)
        (folder / "effects").touch()
        gate = threading.Semaphore(AT_ONCE)

        def one(number: int) -> None:
            with gate:
                stage = STAGES[number % len(STAGES)]
                node = Node(url, lease, 0, "kill", str(folder), stage, str(number))
                assert node.process.wait(120) == -9, (stage, node.process.returncode)
                dead[str(number)] = time.time()
                node.end()

        _side_by_side([lambda number=number: one(number) for number in range(times)])
        assert len(dead) == times
        with suppress(AssertionError):
            wait_until(lambda: not left_by(survivor).open(), lease + LATE + 5, "every call has ended")
        left = left_by(survivor)
        effects = Counter((folder / "effects").read_text().split())
    marks = {read_call(entry.body).params["mark"]: seq for seq, entry in left.begun.items()}
    twice = [mark for mark, count in effects.items() if count > 1]
    unrecorded = [mark for mark in effects if mark not in marks]
    late = [
        _seconds(left.ends[marks[f"{number}-2"]][0].at) - at
        for number, at in dead.items()
        if marks.get(f"{number}-2") in left.interrupted()
    ]
    slowest = max(late, default=0.0)
    ok = not (twice or unrecorded or left.badly_ended() or left.problem) and slowest <= lease + LATE and bool(late)
    measured = (
        f"{times} kills, {len(left.begun)} begun, {len(left.badly_ended())} without exactly one end,"
        f" {len(twice)} twice, {len(unrecorded)} unrecorded; {len(late)} interrupted, the last after {slowest:.1f} s"
        f"{_also(left.problem)}"
    )
    must = f"one end per begin, none twice, none unrecorded, ended within {lease + LATE:g} s"
    return Row("nodes killed in a call", must, measured, ok)


def pause_nodes(server: Server, times: int = 3, lease: float = 10) -> Row:
    """Each is paused for longer than its lease: before a begin, before an end, and while it has nothing to do."""
    fenced: Counter[str] = Counter()
    wrong: list[str] = []
    with server.database() as url, patient(url) as survivor:
        own = _places(url)
        for number in range(times):
            with started(Node(url, lease), Node(url, lease), Node(url, lease)) as (first, second, idle):
                call = second.ask("begin", number)[1]
                before = _places(url) - own
                for node in (first, second, idle):
                    node.pause()
                time.sleep(lease + 0.2)
                wait_until(lambda call=int(call): call in left_by(survivor).ends, LATE + 3, "its call has ended")
                first.tell("begin", 1000 + number)  # it does so the moment that it goes on
                second.tell("end", call)
                for node in (first, second, idle):
                    node.go_on()
                wait_until(lambda before=before: not before & _places(url), 5, "each has a new lease, or none")
                fenced["begin"] += _fenced_or_new(first.hear())
                fenced["end"] += _fenced_or_new(second.hear())
                fenced["renewal"] += _fenced_or_new(idle.ask("begin", 2000 + number))
                for node, answer in ((first, 3000), (idle, 4000)):
                    said = node.ask("begin", answer + number)
                    if said[0] != "begun":
                        wrong.append(" ".join(said))
        left = left_by(survivor)
        ends = [read_end(entry.body).status for entry in left.ends.get(int(call), [])]
    ok = all(fenced[what] == times for what in ("begin", "end", "renewal")) and ends == ["interrupted"] and not wrong
    told = ", ".join(f"{what} {fenced[what]} of {times}" for what in ("begin", "end", "renewal"))
    measured = f"old lease refused: {told}; its call has {' and '.join(ends) or 'no end'}{_also(left.problem, *wrong)}"
    return Row("nodes paused beyond their lease", "fenced at begin, end and renewal", measured, ok and not left.problem)


def _fenced_or_new(answer: list[str]) -> bool:
    """Refused, or done under a new lease that it got meanwhile: never under the old one."""
    return answer == ["refused", "fenced"] or answer[0] in ("begun", "ended")


def _places(url: str) -> set[tuple[int, int]]:
    """The leases that count: node and epoch."""
    with psycopg.connect(url) as connection:
        question = "SELECT id, epoch FROM rightcall.nodes WHERE until > clock_timestamp()"
        return set(connection.execute(question).fetchall())


def skew_clocks(server: Server, times: int = 3, seconds: float = 3600) -> Row:
    """Nodes whose clocks are an hour behind and an hour ahead, beside one that is right."""
    lease, limit, admitted, wrong = 3.0, 5, list[int](), list[str]()
    with server.database() as url, patient(url) as survivor:
        with started(*(Node(url, lease, skew) for skew in (-seconds, 0, seconds))) as nodes:
            places = _places(url)
            for number in range(times):
                limited = [("crowd", 16, limit, 16, 100_000 * (number + 1) + 1000 * one) for one in range(3)]
                for node, words in zip(nodes, limited, strict=True):
                    node.tell(*words)
                admitted.append(sum(int(node.hear()[0]) for node in nodes))
            calls = [node.ask("begin", 7 + number)[1] for number, node in enumerate(nodes)]
            time.sleep(lease + 0.5)  # whoever went by its own clock would have lost its lease by now, or never
            if not places <= _places(url):
                wrong.append("a node that lives lost its lease")
            for node in nodes:
                node.end()
            with suppress(AssertionError):
                wait_until(lambda: not left_by(survivor).open(), lease + LATE, "all have ended")
        left = left_by(survivor)
    now = time.time()
    off = max((abs(now - _seconds(entry.at)) for entry in left.entries), default=0.0)
    unended = [call for call in calls if int(call) not in left.interrupted()]
    ok = admitted[0] == limit and not sum(admitted[1:]) and off < 600 and not (unended or wrong or left.problem)
    measured = (
        f"{admitted[0]} of {limit} let through by three nodes, then {sum(admitted[1:])}; {len(unended)} calls without"
        f" an end after the lease; no record's time is off by more than {off:.0f} s{_also(left.problem, *wrong)}"
    )
    return Row("clocks wrong by an hour", "limits and leases unaffected", measured, ok)


# ── the server ──


class Traffic:
    """Calls without a pause on some nodes of this process, and what each was told."""

    def __init__(self, url: str, nodes: int = 2, lanes: int = 4) -> None:
        self.confirmed: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.refusals: Counter[str] = Counter()
        self.slowest = 0.0
        """The longest that a refusal took."""
        self._over = threading.Event()
        self._stores = [PostgresStore(url) for _ in range(nodes)]
        self._before = set(left_by(self._stores[0]).begun)
        self._threads = [
            threading.Thread(target=self._calls, args=(store, f"lane {number}.{lane}"), daemon=True)
            for number, store in enumerate(self._stores)
            for lane in range(lanes)
        ]
        for thread in self._threads:
            thread.start()

    def _calls(self, store: PostgresStore, caller: str) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            began = time.monotonic()
            try:
                made = begin(store, number, caller)
            except StoreError as error:
                self.refusals[error.fault] += 1
                self.slowest = max(self.slowest, time.monotonic() - began)
                self._over.wait(0.02)
                continue
            self.confirmed[made.call] = made.hash
            while True:
                try:
                    end(store, made)
                    self.ended.add(made.call)
                    break
                except StoreError as error:
                    self.refusals[error.fault] += 1
                    time.sleep(0.02)

    def go_on(self, more: int = 20, seconds: float = 60) -> None:
        """Until so many more calls have ended."""
        wanted = len(self.ended) + more
        wait_until(lambda: len(self.ended) >= wanted, seconds, f"{more} more calls; refused: {dict(self.refusals)}")

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)
        for store in self._stores:
            store.close()

    def judge(self, url: str) -> tuple[str, bool]:
        """Whether all that was confirmed is there, and nothing is open."""
        with patient(url) as store:
            with suppress(AssertionError):
                wait_until(lambda: not left_by(store).open(), 15, "every call has ended")
            left = left_by(store)
        lost = [call for call, own in self.confirmed.items() if call not in left.begun or left.begun[call].hash != own]
        unended = [call for call in self.ended if call not in left.ends]
        doubted = left.begun.keys() - self.confirmed.keys() - self._before
        open_doubts = doubted.difference(left.interrupted())
        told = (
            f"{len(self.confirmed):,} confirmed calls, {len(lost) + len(unended)} lost; {len(doubted)} doubts,"
            f" {len(open_doubts)} not resolved; {len(left.badly_ended())} without exactly one end{_also(left.problem)}"
        )
        return told, not (lost or unended or open_doubts or left.badly_ended() or left.problem)


@contextmanager
def traffic(url: str, **more: int) -> Iterator[Traffic]:
    made = Traffic(url, **more)
    try:
        yield made
    finally:
        made.stop()


def kill_server(server: Server, times: int = 20) -> Row:
    """As a power cut does, while calls are under way."""
    with server.database() as url:
        with traffic(url) as calls:
            for _ in range(times):
                calls.go_on()
                server.kill()
                refused = sum(calls.refusals.values())
                wait_until(lambda before=refused: sum(calls.refusals.values()) > before, 10, "somebody is refused")
                server.start()
            calls.go_on()
        told, ok = calls.judge(url)
    measured = f"{times} kills: {told}; refused as {_kinds(calls.refusals)}"
    return Row("server killed and restarted", "0 confirmed lost, every doubt resolved", measured, ok)


def fail_over(server: Server, times: int = 5) -> Row:
    """To a synchronous standby, of which both addresses are in the URL. The old primary does not come back."""
    with server.database() as url:
        name = url.split("/")[3].partition("?")[0]
        primary, kept, found = server, list[Any](), list[str]()
        try:
            for number in range(times):
                copying = primary.standby()
                standby = copying.__enter__()
                kept.append(copying)
                hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
                both = f"postgresql://postgres@{hosts}/{name}"
                with traffic(both) as calls:
                    calls.go_on()
                    primary.kill()
                    standby.promote()
                    calls.go_on()
                told, ok = calls.judge(both)
                found.append(told)
                if not ok:
                    return Row("failover to a synchronous standby", _FAILOVER, f"failover {number + 1}: {told}", False)
                primary = standby
        finally:
            for copying in reversed(kept):
                copying.__exit__(None, None, None)
    return Row("failover to a synchronous standby", _FAILOVER, f"{times} failovers; {' | '.join(found)}", True)


_FAILOVER = "0 confirmed lost, every doubt resolved"


def cancel_waits(server: Server, times: int = 5) -> Row:
    """The standby says nothing, and somebody cancels the waits for it: PostgreSQL answers success with a notice."""
    faults: Counter[str] = Counter()
    with server.database() as url, server.standby() as standby, closing(PostgresStore(url)) as store:
        begin(store)
        for number in range(times):
            standby.pause()
            over = threading.Event()
            helper = threading.Thread(target=_cancel_until, args=(server, over))
            helper.start()
            try:
                begin(store, number + 1)
                faults["let through"] += 1
            except StoreError as error:
                faults[error.fault] += 1
            finally:
                over.set()
                helper.join()
                standby.go_on()
            wait_until(lambda: _begins(store), 20, "the store goes on")
        with suppress(AssertionError):
            wait_until(lambda: len(left_by(store).open()) <= 1 + times, 10, "what was in doubt has ended")
        left = left_by(store)
    doubted = len(left.begun) - len(left.open())
    ok = not faults["let through"] and len(left.open()) == 1 + times and not left.problem
    ok = ok and all(read_end(found[0].body).status == "interrupted" for found in left.ends.values())
    measured = (
        f"{times} cancelled: refused as {_kinds(faults)}; {doubted} of them were written, {len(left.ends)} of those"
        f" ended as interrupted{_also(left.problem)}"
    )
    return Row("synchronous waits cancelled", "a doubt: refused, and ended later", measured, ok)


def _cancel_until(server: Server, over: threading.Event) -> None:
    waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    while not over.wait(0.05):
        server.run(waiting)


def _begins(store: PostgresStore) -> bool:
    try:
        begin(store, next(_NUMBERS))
    except StoreError:
        return False
    return True


def exhaust_connections(server: Server, times: int = 5) -> Row:
    """Somebody else takes every connection that is left: a new node, and one that lost its own, are refused."""
    took: list[float] = []
    faults: Counter[str] = Counter()
    server.run("DO $$ BEGIN CREATE ROLE crowd LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    with server.database() as url:
        name = url.split("/")[3].partition("?")[0]
        server.run(f"ALTER DATABASE {name} OWNER TO crowd")
        own = server.url(name, "crowd")
        with closing(PostgresStore(own)) as store:
            begin(store)
            for number in range(times):
                with _all_connections(server, own):
                    for ask in (lambda: PostgresStore(own).close(), lambda number=number: begin(store, number + 1)):
                        began = time.monotonic()
                        try:
                            ask()
                            faults["let through"] += 1
                        except StoreError as error:
                            faults[error.fault] += 1
                        took.append(time.monotonic() - began)
                wait_until(lambda: _begins(store), 20, "the store goes on")
            left = left_by(store)
    ok = set(faults) == {"unreachable"} and max(took) <= SOON and not left.problem
    measured = f"{len(took)} refused as {_kinds(faults)}, the slowest after {max(took):.2f} s{_also(left.problem)}"
    return Row("connections exhausted", f"a store fault within {SOON:g} s, no authentication error", measured, ok)


@contextmanager
def _all_connections(server: Server, url: str) -> Iterator[None]:
    taken: list[psycopg.Connection[Any]] = []
    others = "FROM pg_stat_activity WHERE usename = 'crowd' AND application_name = 'rightcall'"

    def take_all() -> bool:
        with suppress(psycopg.OperationalError):
            while True:
                taken.append(psycopg.connect(url))
        return server.run(f"SELECT count(*) {others}") == [(0,)]

    def ended() -> bool:
        server.run(f"SELECT pg_terminate_backend(pid) {others}")
        return take_all()

    try:
        wait_until(ended, 20, "no connection is left")
        yield
    finally:
        for connection in taken:
            connection.close()


# ── people ──


def kill_listeners(server: Server, times: int = 10) -> Row:
    """The connection on which a node hears of answers is gone when somebody answers on another node."""
    took: list[float] = []
    with server.database() as url, patient(url) as asking, patient(url) as answering:
        for number in range(times):
            wanted = request_of({"n": number}, settings=Settings(stage="full", write="ask"))
            name = asking.transact(attempt(asking, wanted)).decision.approval
            assert name is not None
            took.append(asyncio.run(_answered_unheard(server, asking, answering, name)))
        problem = left_by(answering).problem
    slowest = max(took)
    measured = f"{times} answers on another node were seen, the last after {slowest:.2f} s{_also(problem)}"
    ok = slowest < HEARD and not problem
    return Row("listeners killed", f"an answer is seen within {HEARD:g} s", measured, ok)


async def _answered_unheard(server: Server, asking: PostgresStore, answering: PostgresStore, name: str) -> float:
    listening = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"

    async def seen() -> float:
        while True:
            await asking.next_answer(name, 60.0)
            found = await asyncio.to_thread(asking.look, lambda tables: tables.approval(name))
            if found is not None and found.status != "waiting":
                return time.monotonic()

    waiting = asyncio.create_task(seen())
    while not await asyncio.to_thread(server.run, f"SELECT pg_terminate_backend(pid) {listening}"):
        await asyncio.sleep(0.01)
    await asyncio.to_thread(say, answering, name)
    answered = time.monotonic()
    return max(0.0, await waiting - answered)


# ── words ──


def _kinds(found: Counter[str]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in sorted(found.items())) or "nothing"


def _also(*problems: str) -> str:
    return "".join(f"; PROBLEM: {problem}" for problem in problems if problem)


def _seconds(at: str) -> float:
    """A record's time, since 1970."""
    return datetime.strptime(at, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()


def _side_by_side(works: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

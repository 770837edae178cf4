"""The tables of the store on one connection, inside a transaction that somebody else begins and ends: every question is
a statement of its own. Readers use it, and works that say nothing beforehand of what they touch, which are done alone.
"""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, json

from rightcall.policy.trust import EVERYWHERE, Stops
from rightcall.policy.types import HOUR, Approval, ApprovalStatus, Credential, Grant, Mark, Pause, Spent, Token
from rightcall.record.postgres.connection import load_driver
from rightcall.record.postgres.node import Chain
from rightcall.record.postgres.schema import partition
from rightcall.record.tables import START, AuditEntry, Clock, EntryKind, held_bytes

if TYPE_CHECKING:
    import psycopg

    from rightcall.record.rollup.rollup import Rollup

S = TypeVar("S", bound=Struct)

_PAGE = 1000
_FEW = 10
"""Records that are read at once."""
_ENTRIES = "SELECT seq, kind, call, at, convert_to(body, 'UTF8'), hash, node FROM audit"
_OPEN: tuple[ApprovalStatus, ...] = ("waiting", "approved")
_RANK = "CASE status WHEN 'approved' THEN 0 WHEN 'denied' THEN 1 ELSE 2 END"
_LAST = b"\xff"
_SETTLING = 5
"""Seconds after which a number that is missing will not come any more: no batch takes that long."""
_OLD_ENOUGH = (
    "SELECT coalesce((SELECT seq FROM audit WHERE at <= (SELECT to_char((now() - make_interval(secs => %s))"
    " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')) ORDER BY seq DESC LIMIT 1), 0)"
)
"""The last record before those that are awaited, by the time at which the look began: it sees nothing newer, however
long it goes on."""
_GAP = (
    "SELECT before FROM (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM audit WHERE seq >= %s) AS near"
    " WHERE seq > before + 1 ORDER BY seq LIMIT 1"
)
"""The record before the first number that is missing from there on; numbers are taken in order."""
_MANY = 100_000
"""Records of a day that are not counted one by one, which takes seconds of very many: numbers are taken in order."""

INSERT_RECORDS = (
    "INSERT INTO audit (day, seq, node, kind, call, at, hash, body) SELECT * FROM unnest("
    "%b::date[], %b::bigint[], %b::integer[], %b::text[], %b::bigint[], %b::text[], %b::bytea[], %b::text[])"
)
INSERT_MARKS = "INSERT INTO windows SELECT * FROM unnest(%b::bytea[], %b::bigint[], %b::bigint[], %b::bigint[])"
SPEND = (
    "INSERT INTO spent SELECT * FROM unnest(%b::bytea[], %b::text[], %b::bigint[], %b::bigint[])"
    " ON CONFLICT (caller, day) DO UPDATE"
    " SET calls = spent.calls + excluded.calls, tokens = spent.tokens + excluded.tokens"
)
_REWRITE = (  # each way of saying it narrows another part of the plan: what is read, and which partitions
    "UPDATE audit SET body = new.body FROM unnest(%s::date[], %s::bigint[], %s::text[]) AS new (day, seq, body)"
    " WHERE audit.day = new.day AND audit.seq = new.seq AND audit.day = ANY(%s::date[]) AND audit.seq = ANY(%s)"
    " AND audit.body <> new.body RETURNING audit.seq"
)
PUT_APPROVAL = (
    "INSERT INTO approvals (id, status, binding, caller, expires_at, doc) VALUES (%s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (id) DO UPDATE SET status = excluded.status, binding = excluded.binding, caller = excluded.caller,"
    " expires_at = excluded.expires_at, doc = excluded.doc"
)
PUT_GRANT = (
    "INSERT INTO grants (id, caller, tool, expires_at, doc) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (id) DO UPDATE SET caller = excluded.caller, tool = excluded.tool,"
    " expires_at = excluded.expires_at, doc = excluded.doc"
)
CHANGES = "SELECT coalesce(sum(n), 0)::bigint FROM changes"
"""How many there were on all nodes. Each counts in a row of its own, so that none waits for another's COMMIT."""
CHANGED_BY = f"coalesce((SELECT by FROM changes WHERE total = ({CHANGES}) LIMIT 1), '')"
"""The call that made the last one: its node saw as many then as there are. Nobody's, where two were made at once."""
_WITHOUT_END = (
    "SELECT seq, hash FROM audit AS begun WHERE seq = ANY(%s) AND NOT EXISTS"
    " (SELECT 1 FROM audit WHERE call = begun.seq AND call > 0 AND kind = 'end')"
)
_LAST_CHANGE = f"SELECT ({CHANGES}), {CHANGED_BY}"
PUT_CHANGE = (
    "INSERT INTO changes (space, n, by, total) VALUES (%s, %s, %s, %s) ON CONFLICT (space) DO UPDATE"
    " SET n = changes.n + excluded.n, by = excluded.by, total = excluded.total"
)
_PUT_BEGUN = (
    "INSERT INTO running VALUES (%s, %s, %s, %s, %s) ON CONFLICT (seq) DO UPDATE SET node = excluded.node,"
    " epoch = excluded.epoch"
)
_ALIVE = (
    "(node IS NULL OR EXISTS (SELECT 1 FROM nodes WHERE nodes.id = running.node AND nodes.epoch = running.epoch"
    " AND nodes.until > clock_timestamp()))"
)
Record = tuple[str, int, int, str, int, str, bytes, str]


def key_of(name: str) -> bytes:
    """A name as the server keeps it: text may not hold a NUL there."""
    return name.encode("utf-8", "surrogatepass")


def approval_row(approval: Approval) -> tuple[Any, ...]:
    doc = json.encode(approval).decode()
    return (
        approval.id, approval.status, approval.binding, key_of(approval.caller), approval.expires_at, doc,
    )  # fmt: skip


def grant_row(grant: Grant) -> tuple[Any, ...]:
    return grant.id, key_of(grant.caller), key_of(grant.tool), grant.expires_at, json.encode(grant).decode()


@contextmanager
def pipelined(connection: "psycopg.Connection[Any]") -> Generator[None]:
    """A pipeline that has ended before an error inside it is raised: else the client library logs each time that the
    rest of it was aborted, without saying why."""
    failed: Exception | None = None
    try:
        with connection.pipeline():
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below
                failed = error
    except Exception:
        if failed is None:
            raise
    if failed is not None:
        raise failed


class PostgresTables:
    """Everything that `Tables` asks for. Records are sent before anything else is asked about them, or at the end."""

    def __init__(self, connection: "psycopg.Connection[Any]", clock: Clock, chain: Chain | None) -> None:
        """`chain` is what a writer adds to; a reader has none."""
        self._connection = connection
        self._clock = clock
        self._chain = chain
        self._stops = Stops(EVERYWHERE)
        self._rollup: Rollup | None = None
        self._pending: list[Record] = []
        self._begins: dict[int, AuditEntry] = {}
        """Records that were fetched beforehand,"""
        self._open: dict[int, bytes] = {}
        """those of them that have no end,"""
        self._last_change: tuple[int, str] | None = None
        """and how many changes there were."""
        self.begun_calls: list[int] = []
        """Calls that have begun in this transaction, here."""
        self.answers: list[str] = []
        """Approvals that a person has answered in it."""
        self.gone: list[str] = []
        """Tables of days that were taken off the audit, and are to be dropped once that stands."""

    def _do(self, statement: str, *values: Any) -> "psycopg.Cursor[Any]":
        if self._pending:
            self.flush()
        return self._connection.execute(statement.encode(), values or None)

    def _all(self, statement: str, *values: Any) -> list[Any]:
        return self._do(statement, *values).fetchall()

    def _one(self, statement: str, *values: Any) -> Any:
        return self._do(statement, *values).fetchone()

    def flush(self) -> None:
        """Send the records that wait."""
        rows, self._pending = self._pending, []
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            self._connection.execute(INSERT_RECORDS, columns)

    def forget_pending(self) -> None:
        self._pending.clear()

    def check(self) -> None:
        """After a work: what it wrote is sent, so that what is wrong with it is its own fault."""
        self.flush()

    def hashes(self, calls: list[int]) -> list[tuple[int, bytes]]:
        """Calls, each with the hash of its record."""
        return [(call, entry.hash) for call in calls if (entry := self.entry(call)) is not None]

    def now(self) -> int:
        return self._clock.now()

    def wall(self) -> str:
        return self._clock.wall()

    # The audit

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        row = self._own().append(kind, call, body, self._clock, self._more_numbers)
        self._pending.append(row)
        return row[1]

    def _own(self) -> Chain:
        if self._chain is None:
            raise RuntimeError("a work that only looks wants to write: use `transact`")
        return self._chain

    def _more_numbers(self, count: int) -> list[int]:
        rows = self._connection.execute("SELECT nextval('numbers') FROM generate_series(1, %s)", (count,)).fetchall()
        return [number for (number,) in rows]

    def entry(self, seq: int) -> AuditEntry | None:
        if seq in self._begins:
            return self._begins[seq]
        row = self._one(f"{_ENTRIES} WHERE seq = %s", seq)
        return None if row is None else AuditEntry(*row)

    def entries_of(self, seqs: Collection[int]) -> list[AuditEntry]:
        return [AuditEntry(*row) for row in self._all(f"{_ENTRIES} WHERE seq = ANY(%s) ORDER BY seq", list(seqs))]

    def entries(self, after: int = 0, until: str | None = None, since: str | None = None) -> Iterator[AuditEntry]:
        """In the order of their numbers: within a chain that is the order in which they were written."""
        only, times = "", list[str]()
        if since is not None:
            only, times = f"{only} AND at >= %s{_by_day('>=', since)}", [*times, since]
        if until is not None:
            only, times = f"{only} AND at < %s{_by_day('<=', until)}", [*times, until]
        last = self.head()[0] if self._chain is not None else self._newest()[0]
        size = _PAGE if since is None else _FEW  # most who ask since when want to know the first
        while after < last:
            page = f"{_ENTRIES} WHERE seq > %s AND seq <= %s{only} ORDER BY seq LIMIT {size}"
            rows = self._all(page, after, last, *times)
            for row in rows:
                yield AuditEntry(*row)
            if len(rows) < size:
                return
            after, size = rows[-1][0], _PAGE

    def newest(self, count: int, kinds: tuple[EntryKind, ...] = (), before: int | None = None) -> list[AuditEntry]:
        only = "" if not kinds else f" WHERE kind IN ({', '.join(['%s'] * len(kinds))})"
        if len(kinds) == 1 and kinds[0].isalpha():  # as it is: only so is the index of the rarer kinds used
            only, kinds = f" WHERE kind = '{kinds[0]}'", ()
        values: tuple[str | int, ...] = kinds
        if before is not None:
            only, values = f"{only} {'AND' if only else 'WHERE'} seq < %s", (*kinds, before)
        rows = self._all(f"{_ENTRIES}{only} ORDER BY seq DESC LIMIT %s", *values, max(0, count))
        return [AuditEntry(*row) for row in rows]

    def belonging(self, seq: int) -> list[AuditEntry]:
        rows = self._all(f"{_ENTRIES} WHERE call = %s AND call > 0 ORDER BY seq", seq)
        return [AuditEntry(*row) for row in rows]

    def is_open(self, seq: int, hash: bytes) -> bool:
        if seq in self._begins:
            return self._open.get(seq) == hash
        stands = (
            "SELECT 1 FROM audit WHERE seq = %s AND hash = %s AND NOT EXISTS"
            " (SELECT 1 FROM audit WHERE call = %s AND call > 0 AND kind = 'end')"
        )
        return self._one(stands, seq, hash, seq) is not None

    def head(self) -> tuple[int, bytes]:
        """For a writer, the number before that of its next record, and the hash its chain has now. For a reader, the
        record up to which nothing can come any more: another node may have taken a number and not yet committed."""
        if self._chain is not None:
            return self._chain.next_number(self._more_numbers, peek=True) - 1, self._chain.hash
        last, own, alive = self._newest()
        found = self._one(_GAP, *self._one(_OLD_ENOUGH, _SETTLING)) if alive > 1 else None
        entry = None if found is None else self.entry(found[0])
        return (last, own) if entry is None else (entry.seq, entry.hash)

    def _newest(self) -> tuple[int, bytes, int]:
        """The last record of all that are here, and how many nodes live."""
        newest = "SELECT seq, hash, count(*) FILTER (WHERE until > now()) OVER () FROM nodes ORDER BY seq DESC LIMIT 1"
        return self._one(newest) or (0, START, 0)

    def oldest(self) -> int:
        return self._one("SELECT min(seq) FROM audit")[0] or 0

    def last_through(self, seq: int) -> AuditEntry | None:
        row = self._one(f"{_ENTRIES} WHERE seq <= %s ORDER BY seq DESC LIMIT 1", seq)
        return None if row is None else AuditEntry(*row)

    def last_before(self, moment: str) -> int:
        """Days that are over by then go whole."""
        days = moment[:10]
        whole = self._one("SELECT max(seq) FROM audit WHERE day < %s", days)[0] or 0
        first = "SELECT seq FROM audit WHERE day >= %s AND at >= %s ORDER BY seq LIMIT 1"
        young = self._one(first, days, moment)
        return self._one("SELECT max(seq) FROM audit")[0] or 0 if young is None else max(whole, young[0] - 1)

    def heads(self, through: int) -> dict[int, tuple[int, bytes]]:
        """The last record of each chain up to a number, among those that are there."""
        own = -1 if self._chain is None else self._chain.node  # its row is written at the end of the transaction
        over = "SELECT id, seq, hash FROM nodes WHERE seq BETWEEN %s AND %s AND id <> %s"
        ended = self._all(over, self.oldest(), through, own)
        chains = "SELECT id, last.seq, last.hash FROM nodes CROSS JOIN LATERAL (SELECT seq, hash FROM audit"
        last = "WHERE node = nodes.id AND seq <= %s ORDER BY seq DESC LIMIT 1) AS last WHERE nodes.seq > %s OR id = %s"
        rows = self._all(f"{chains} {last}", through, through, own)
        return {node: (seq, head) for node, seq, head in (*ended, *rows)}

    def chains(self) -> dict[int, tuple[int, bytes]]:
        """The head of each chain, as its node last left it."""
        return {node: (seq, own) for node, seq, own in self._all("SELECT id, seq, hash FROM nodes ORDER BY id")}

    def rollup(self) -> "Rollup":
        if self._rollup is None:
            if self._chain is None:
                from rightcall.record.postgres.figures import ServerRollup

                self._rollup = ServerRollup(self._connection, load_driver())
            else:  # inside a transaction that is not ours to end
                from rightcall.record.rollup.rollup import Rollup

                self._rollup = Rollup(None)
        return self._rollup

    def close(self) -> None:
        if self._rollup is not None:
            self._rollup.close()
            self._rollup = None

    def remove_through(self, seq: int) -> int:
        """Whole days go with their partition, which costs the same however many records they have. It is only taken
        off here: removing a large file takes the server a while, and nobody is to wait for it."""
        self.flush()
        removed = 0
        for day, first, last in self._days():
            if first is not None and last is not None and last <= seq:
                numbers = last - first + 1
                removed += numbers if numbers > _MANY else self._one(f"SELECT count(*) FROM {partition(day)}")[0]
                self._do(f"ALTER TABLE audit DETACH PARTITION {partition(day)}")
                self._do(f"ALTER TABLE {partition(day)} RENAME TO gone_{last}")
        left = "SELECT relname FROM pg_class WHERE relnamespace = 'rightcall'::regnamespace AND relkind = 'r'"
        self.gone = [name for (name,) in self._all(f"{left} AND relname ~ '^gone_[0-9]+$'")]
        return removed + self._do("DELETE FROM audit WHERE seq <= %s", seq).rowcount

    def rewrite(self, entries: Sequence[AuditEntry]) -> list[int]:
        return [seq for (seq,) in self._do(*make_rewrite(entries)).fetchall()]

    def _days(self) -> list[tuple[str, int | None, int | None]]:
        """Each day that is over, with its first and last number."""
        today = self._clock.wall()[:10]
        names = (
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = 'audit'::regclass"
        )
        found: list[tuple[str, int | None, int | None]] = []
        for (name,) in self._all(f"{names} ORDER BY c.relname"):
            digits = str(name).removeprefix("audit_")
            day = f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
            if day < today:
                first, last = self._one(f"SELECT min(seq), max(seq) FROM {partition(day)}")
                found.append((day, first, last))
        return found

    # Calls that run

    def begun(self, seq: int, *, elsewhere: bool = False) -> None:
        chain, entry = self._own(), self.entry(seq)
        node = None if elsewhere else chain.node
        self._do(_PUT_BEGUN, seq, node, chain.epoch, b"" if entry is None else entry.hash, self.wall())
        if not elsewhere:
            self.begun_calls.append(seq)

    def ended(self, seq: int) -> None:
        self._open.pop(seq, None)
        self._do("DELETE FROM running WHERE seq = %s", seq)

    def running(self) -> list[int]:
        return [seq for (seq,) in self._all(f"SELECT seq FROM running WHERE {_ALIVE} ORDER BY seq")]

    def left_behind(self) -> list[int]:
        """The calls of nodes whose lease is over, and those of which no host has told the end for a day."""
        self._do("UPDATE nodes SET epoch = epoch + 1 WHERE until < clock_timestamp() AND id <> %s", self._own().node)
        old = "node IS NULL AND at < to_char(%s::timestamp - interval '1 day', 'YYYY-MM-DD HH24:MI:SS.MS')"
        rows = self._all(f"SELECT seq FROM running WHERE NOT {_ALIVE} OR ({old}) ORDER BY seq", self.wall())
        return [seq for (seq,) in rows]

    @contextmanager
    def ending(self, calls: list[int]) -> Generator[None]:
        """What ending these calls asks for is fetched at once, and what it writes is sent without waiting in between:
        else each would take some round trips, during which every node waits."""
        self._own().take(self._more_numbers(len(calls)))
        self._begins = {row[0]: AuditEntry(*row) for row in self._all(f"{_ENTRIES} WHERE seq = ANY(%s)", calls)}
        self._open = dict(self._all(_WITHOUT_END, calls))
        self._last_change = self._one(_LAST_CHANGE)
        with pipelined(self._connection):
            yield
            self.flush()
        self._begins, self._open, self._last_change = {}, {}, None

    # Windows

    def nth_last(self, scope: str, n: int) -> Mark | None:
        if n < 1:
            return None
        key = key_of(scope)
        row = self._one("SELECT at, call FROM windows WHERE scope = %s ORDER BY n DESC OFFSET %s LIMIT 1", key, n - 1)
        return None if row is None else Mark(*row)

    def mark(self, scope: str, call: int, at: int | None = None) -> int:
        key = key_of(scope)
        self._do("INSERT INTO locks VALUES (%s) ON CONFLICT DO NOTHING", key)
        put = "INSERT INTO windows SELECT %s, coalesce(max(n), 0) + 1, %s, %s FROM windows WHERE scope = %s RETURNING n"
        (number,) = self._one(put, key, self._clock.now() if at is None else at, call, key)
        return number

    def spent(self, caller: str) -> Spent:
        day = self.wall()[:10]
        row = self._one("SELECT calls, tokens FROM spent WHERE caller = %s AND day = %s", key_of(caller), day)
        return Spent(day, caller, *(row or (0, 0)))

    def spend(self, caller: str, calls: int = 0, tokens: int = 0) -> None:
        self._do(SPEND, [key_of(caller)], [self.wall()[:10]], [calls], [tokens])

    def spending(self) -> list[Spent]:
        rows = self._all(
            "SELECT day, caller, calls, tokens FROM spent WHERE day = %s ORDER BY caller", self.wall()[:10]
        )
        return [Spent(day, caller.decode("utf-8", "surrogatepass"), *more) for day, caller, *more in rows]

    def forget(self, scope: str) -> None:
        self._do("DELETE FROM windows WHERE scope = %s", key_of(scope))

    def scopes(self, prefix: str) -> list[tuple[str, int]]:
        rows = self._all(
            "SELECT scope, count(*) FROM windows WHERE scope >= %s AND scope < %s AND at > %s"
            " GROUP BY scope ORDER BY scope",
            key_of(prefix), key_of(prefix) + _LAST, self._clock.now() - HOUR,
        )  # fmt: skip
        return [(scope.decode("utf-8", "surrogatepass"), count) for scope, count in rows]

    # Changes and definitions

    def changes(self) -> int:
        return self._one(CHANGES)[0]

    def changed(self, by: str) -> None:
        changes, before = self._last_change or self._one(_LAST_CHANGE)
        if by != before:
            self._do(PUT_CHANGE, str(self._own().node), 1, by, changes + 1)
            if self._last_change is not None:
                self._last_change = changes + 1, by

    def definition(self, tool: str) -> str | None:
        row = self._one("SELECT definition FROM definitions WHERE tool = %s", key_of(tool))
        return None if row is None else row[0]

    def pin(self, tool: str, definition: str) -> None:
        put = (
            "INSERT INTO definitions VALUES (%s, %s) ON CONFLICT (tool) DO UPDATE SET definition = excluded.definition"
        )
        self._do(put, key_of(tool), definition)

    # Approvals and grants

    def approval(self, id: str) -> Approval | None:
        if "\0" in id or not id.isprintable():
            return None
        row = self._one("SELECT doc FROM approvals WHERE id = %s", id)
        return None if row is None else json.decode(row[0], type=Approval)

    def put_approval(self, approval: Approval) -> None:
        self._do(PUT_APPROVAL, *approval_row(approval))
        if approval.status in ("approved", "denied"):
            self.answers.append(approval.id)

    def answered(self, binding: str) -> Approval | None:
        which = "binding = %s AND status IN ('approved', 'denied', 'waiting')"
        row = self._one(f"SELECT doc FROM approvals WHERE {which} ORDER BY {_RANK}, n DESC LIMIT 1", binding)
        return None if row is None else json.decode(row[0], type=Approval)

    def approvals(self, *status: ApprovalStatus, ids: Collection[str] | None = None) -> list[Approval]:
        only = {"status": list(status) or None, "id": None if ids is None else list(ids)}
        which = " AND ".join(f"{name} = ANY(%s)" for name, values in only.items() if values is not None) or "true"
        values = [one for one in only.values() if one is not None]
        return self._docs(Approval, f"approvals WHERE {which} ORDER BY n", *values)

    def overdue(self, now: int) -> list[Approval]:
        return self._docs(
            Approval, "approvals WHERE status IN ('waiting', 'approved') AND expires_at <= %s ORDER BY n", now
        )

    def count_waiting(self, now: int) -> int:
        row = self._one("SELECT count(*) FROM approvals WHERE status = 'waiting' AND expires_at > %s", now)
        return 0 if row is None else row[0]

    def waiting(self, caller: str, now: int) -> tuple[int, int]:
        which = "approvals WHERE status = 'waiting' AND caller = %s AND expires_at > %s"
        found = self._docs(Approval, which, key_of(caller), now)
        return len(found), sum(map(held_bytes, found))

    def _docs(self, type: type[S], which: str, *values: Any) -> list[S]:
        return [json.decode(doc, type=type) for (doc,) in self._all(f"SELECT doc FROM {which}", *values)]

    def grants(self, caller: str, tool: str) -> tuple[Grant, ...]:
        which = "grants WHERE caller = %s AND tool = %s ORDER BY n"
        return tuple(self._docs(Grant, which, key_of(caller), key_of(tool)))

    def put_grant(self, grant: Grant) -> None:
        self._do(PUT_GRANT, *grant_row(grant))

    def drop_grant(self, id: str) -> None:
        self._do("DELETE FROM grants WHERE id = %s", id)

    def all_grants(self) -> list[Grant]:
        return self._docs(Grant, "grants ORDER BY n")

    def secret(self, name: str) -> str:
        return self._one("SELECT value FROM secrets WHERE name = %s", name)[0]

    # Documents

    def document(self, question: str, *values: Any) -> bytes | None:
        row = self._one(question, *values)
        return None if row is None else row[0]

    def documents(self, question: str, *values: Any) -> list[Any]:
        return self._all(question, *values)

    def write_document(self, name: str, statement: str, values: tuple[Any, ...]) -> None:
        del name
        self._do(statement, *values)

    # The emergency stop

    def paused(self) -> Pause | None:
        return self.own_pause() or self._stops.standing()

    def own_pause(self) -> Pause | None:
        row = self._one("SELECT value FROM meta WHERE name = 'paused'")
        return json.decode(row[0], type=Pause) if row is not None else None

    def put_pause(self, pause: Pause | None) -> None:
        self._do("DELETE FROM meta WHERE name = 'paused'")
        if pause is not None:
            self._do("INSERT INTO meta VALUES ('paused', %s)", json.encode(pause).decode())

    # Tokens and people

    def put_token(self, token: Token) -> None:
        self._put_doc("tokens", token.id, token)

    def drop_token(self, id: str) -> None:
        self._do("DELETE FROM tokens WHERE id = %s", id)

    def tokens(self) -> list[Token]:
        return self._docs(Token, "tokens ORDER BY n")

    def put_credential(self, credential: Credential) -> None:
        if credential.kind == "person":
            self._put_doc("credentials", credential.id, credential)
            return
        self._do("DELETE FROM sessions WHERE id = %s", credential.id)  # a node may do that, and change none
        put = "INSERT INTO sessions (id, doc) VALUES (%s, %s)"
        self._do(put, credential.id, json.encode(credential).decode())

    def drop_credential(self, id: str) -> None:
        self._do("DELETE FROM sessions WHERE id = %s", id)
        if self._one("SELECT 1 FROM credentials WHERE id = %s", id) is not None:  # a node may not even ask to remove it
            self._do("DELETE FROM credentials WHERE id = %s", id)

    def credentials(self) -> list[Credential]:
        return [*self._docs(Credential, "credentials ORDER BY n"), *self._docs(Credential, "sessions ORDER BY n")]

    def touch(self) -> None:
        """Every transaction of a node writes: it extends the node's lease."""

    def _put_doc(self, table: str, id: str, value: Struct) -> None:
        put = f"INSERT INTO {table} (id, doc) VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc"
        self._do(put, id, json.encode(value).decode())


def make_rewrite(entries: Sequence[AuditEntry]) -> tuple[str, list[str], list[int], list[str], list[str], list[int]]:
    """The statement that gives each of these records its body, with its values: it returns the numbers of those that
    held another."""
    days, seqs = [one.at[:10] for one in entries], [one.seq for one in entries]
    return _REWRITE, days, seqs, [one.body.decode() for one in entries], sorted({*days}), seqs


def _by_day(than: str, moment: str) -> str:
    """A condition that leaves out whole partitions, where the moment names a day."""
    day = moment[:10]
    if len(day) == 10 and day.replace("-", "").isdecimal() and day[4] == day[7] == "-":
        return f" AND day {than} '{day}'"
    return ""

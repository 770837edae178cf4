"""What others do on a PostgreSQL server instead of batches, for `bench.postgres ways`: a transaction for each call, on
one of 32 connections of four processes, and the same as one function on the server.

Each does the admission that a batch does, or the ratio would tell of something else: the last starts against the
limit, identical calls before, the pause, changes, definition, approvals and grants are looked at; one record that is
chained to the one before, two starts and the running call are written. Until these did, they only counted against the
limit and wrote a record of 300 letters, without a chain, a decision or the other questions, from 32 threads of one
process: that was compared with more than it did, and with fewer processes.

What still favours them: no thread or event loop stands between caller and connection, and the function knows one rule,
the limit, where `decide` knows all of them.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from rightcall.policy.decide import decide
from rightcall.policy.types import Request, binding, same_scope
from rightcall.record.admission import ApprovalQuestion, admit
from rightcall.record.postgres.batch import caller_lock
from rightcall.record.postgres.connection import connect, read_address
from rightcall.record.postgres.node import LEASE_SECONDS, LOCK_OWN, MOVE, Chain, DatabaseClock, join
from rightcall.record.postgres.schema import TIME
from rightcall.record.postgres.tables import PostgresTables, key_of
from rightcall.record.tables import CallBody, encode
from support.postgres_calls import request

LIMIT = 1_000_000
"""Never reached: what is measured is the way, not the refusals."""
LANES = 8
"""Connections of each process; SCALE's measurement had 32 in all."""
PATIENCE = 30

Times = list[float]


class Load(NamedTuple):
    """What a node does."""

    url: str
    start: float
    """When, as time.time() tells it: all at once."""
    seconds: float
    hot: bool = False
    """All calls count against one limit."""
    one_chain: bool = False
    """Every batch waits for those of all other nodes, as it would have to if all wrote one chain."""


Call = Callable[[Request], None]


def row_locks(load: Load, process: int) -> Times:
    """BEGIN, lock the node and the limit, ask what the rules want to know, write, COMMIT: what most do."""
    return _calls(_locked_call, load, process)


def one_function(load: Load, process: int) -> Times:
    """The same on the server, in one round trip for each call."""
    return _calls(_function_call, load, process)


def _calls(way: "Callable[[Any], Call]", load: Load, process: int) -> Times:
    times: Times = []

    def lane(number: int) -> None:
        caller = "ada" if load.hot else f"caller {process}.{number}"
        with connect(read_address(load.url), lock_seconds=PATIENCE) as connection:
            call, count = way(connection), 0
            time.sleep(max(0.0, load.start - time.time()))
            while time.time() < load.start + load.seconds:
                count += 1
                wanted = request(
                    (process * 100_000 + count) * 100 + number, LIMIT, caller, effects=frozenset(("read",))
                )
                began = time.monotonic()
                call(wanted)
                times.append(time.monotonic() - began)

    threads = [threading.Thread(target=lane, args=(number,)) for number in range(LANES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def _body(wanted: Request) -> CallBody:
    return CallBody(wanted.caller, wanted.tool, {}, wanted.digest, "allow", "", effects=("write",))


def _locks_of(wanted: Request) -> list[bytes]:
    return sorted({caller_lock(wanted.caller), *(key_of(scope.name) for scope in wanted.scopes)})


_PUT_LOCKS = "INSERT INTO locks SELECT * FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING"


def _locked_call(connection: Any) -> Call:
    chain, clock = join(connection), DatabaseClock()
    known: set[bytes] = set()

    def call(wanted: Request) -> None:
        locks = _locks_of(wanted)
        if not known.issuperset(locks):
            connection.execute(_PUT_LOCKS, (locks,))
            known.update(locks)
        with connection.transaction():
            ((seq, own),) = connection.execute(LOCK_OWN, (chain.node, chain.epoch)).fetchall()
            chain.begin(seq, own)
            connection.execute("SELECT 1 FROM locks WHERE scope = ANY(%s) ORDER BY scope FOR UPDATE", (locks,))
            ((now,),) = connection.execute(TIME).fetchall()
            with clock.standing(now * 1000):
                _admit(PostgresTables(connection, clock, chain), wanted, now * 1000)
            connection.execute(MOVE, (chain.seq, chain.hash, LEASE_SECONDS, chain.node, chain.epoch))

    return call


def _admit(tables: PostgresTables, wanted: Request, now: int) -> None:
    made = admit(tables, replace(wanted, at=now), decide, _body(wanted), ApprovalQuestion())
    assert made.decision.kind == "allow", made
    tables.flush()


_FUNCTION = """
CREATE OR REPLACE FUNCTION admit(own integer, locked bytea[], scope_of bytea, most bigint, before bytea, bound text,
    who bytea, what bytea, body text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    top bigint; earlier bigint; moment bigint; told text; number bigint; head bytea; same bytea; changed bigint;
    stopped text; known text; seen bigint; line bytea;
BEGIN
    SELECT hash INTO head FROM nodes WHERE id = own FOR UPDATE;
    PERFORM 1 FROM locks WHERE scope = ANY(locked) ORDER BY scope FOR UPDATE;
    moment := extract(epoch FROM clock_timestamp()) * 1000000000;
    SELECT coalesce(max(n), 0) INTO top FROM windows WHERE scope = scope_of;
    SELECT at INTO earlier FROM windows WHERE scope = scope_of AND n = top - most + 1;
    IF earlier > moment - 60000000000 THEN RETURN 0; END IF;
    SELECT value INTO stopped FROM meta WHERE name = 'paused';
    IF stopped IS NOT NULL THEN RETURN 0; END IF;
    SELECT coalesce(sum(n), 0) INTO changed FROM changes;
    PERFORM 1 FROM changes WHERE total = changed LIMIT 1;
    same := before || convert_to(changed::text, 'UTF8');
    SELECT coalesce(max(n), 0) INTO seen FROM windows WHERE scope = same;
    SELECT definition INTO known FROM definitions WHERE tool = what;
    PERFORM 1 FROM approvals WHERE binding = bound FOR UPDATE;
    PERFORM 1 FROM grants WHERE caller = who AND tool = what FOR UPDATE;
    number := nextval('numbers');
    told := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS');
    line := convert_to(body, 'UTF8');
    head := sha256(head || convert_to(number || ' begin 0 ' || told || ' ' || length(line), 'UTF8') || line);
    INSERT INTO audit VALUES (substr(told, 1, 10)::date, number, own, 'begin', 0, told, head, body);
    INSERT INTO windows VALUES (scope_of, top + 1, moment, number), (same, seen + 1, moment, number);
    INSERT INTO running VALUES (number, own, 1, head, told);
    UPDATE nodes SET seq = number, hash = head, until = clock_timestamp() + make_interval(secs => 10) WHERE id = own;
    RETURN number;
END $$
"""
_ADMIT = "SELECT admit(%s, %b, %b, %s, %b, %s, %b, %b, %s)"


def _function_call(connection: Any) -> Call:
    chain: Chain = join(connection)
    with connection.transaction():
        connection.execute("SELECT 1 FROM nodes ORDER BY id FOR UPDATE")  # one after the other
        connection.execute(_FUNCTION.encode())
    known: set[bytes] = set()

    def call(wanted: Request) -> None:
        locks = _locks_of(wanted)
        if not known.issuperset(locks):
            connection.execute(_PUT_LOCKS, (locks,))
            known.update(locks)
        body = encode(replace(_body(wanted), rule="allow:write", order={"caller": 1})).decode()
        ((number,),) = connection.execute(_ADMIT, (
            chain.node, locks, key_of(wanted.scopes[0].name), LIMIT,
            key_of(same_scope(wanted, 0).removesuffix("0")),
            binding(wanted), key_of(wanted.caller), key_of(wanted.tool), body,
        )).fetchall()  # fmt: skip
        assert number

    return call

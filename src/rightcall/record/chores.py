"""What the store does by itself, inside its own transactions: it completes the records of calls whose process died,
keeps monotonic times right when the machine starts anew and its clock begins at zero, empties questions whose time is
over, and forgets old starts."""

from datetime import UTC, datetime
from pathlib import Path

from msgspec import MsgspecError

from rightcall.record.asking import sweep
from rightcall.record.clock import Clock
from rightcall.record.entries import EndBody, NoteBody, encode, read_call
from rightcall.record.sqlite_tables import SqliteTables
from rightcall.types_running import SECOND

EVERY = 5 * SECOND
_INTERRUPTED = encode(EndBody("interrupted", error="The process ended before the call did."))
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_DRIFT = SECOND
"""How far the two clocks may go apart before they are written down again."""
_REFRESH = 60 * SECOND


def tidy(tables: SqliteTables, clock: Clock) -> None:
    """At the start of a transaction, every few seconds."""
    tables.sweep_private()
    complete_interrupted(tables)
    keep_clocks(tables, clock)
    sweep(tables, clock.now())
    tables.purge(clock.now())


def complete_interrupted(tables: SqliteTables) -> None:
    """Calls of dead runs get their end. They are never run again by themselves (A-01)."""
    for call in tables.left_behind():
        tables.append("end", call, _INTERRUPTED)
        tables.ended(call)
        changed = _changed_by(tables, call)
        if changed is not None:
            tables.changed(changed)


def _changed_by(tables: SqliteTables, call: int) -> str | None:
    """The digest of a call that may have changed something; None for one that only read."""
    begin = tables.entry(call)
    try:
        body = None if begin is None else read_call(begin.body)
    except MsgspecError:  # not as we write it: it must not stand in everybody's way
        body = None
    if body is None:
        return f"call {call}"
    return body.digest if body.decision == "allow" and set(body.effects) - {"read"} else None


def keep_clocks(tables: SqliteTables, clock: Clock) -> None:
    """Write down which boot the stored times belong to, and what both clocks say; move them when it is another."""
    boot, now, wall = boot_id(), clock.now(), _nanoseconds(clock.wall())
    known, then, wall_then = tables.meta("boot"), tables.meta("monotonic"), tables.meta("wall")
    if None not in (known, then, wall_then):
        rebooted = boot != known if boot and known else max(then, tables.latest()) > now
        if rebooted:
            _shift(tables, now, then, wall - wall_then)
        elif now - then < _REFRESH and abs((wall - wall_then) - (now - then)) < _DRIFT:
            return
    tables.put_meta("boot", boot)
    tables.put_meta("monotonic", now)
    tables.put_meta("wall", wall)


def _shift(tables: SqliteTables, now: int, then: int, passed: int) -> None:
    """`passed` is what the wall's clock says. Where it went back nobody knows how long the machine was off: then no
    time has passed for what is counted, and all of it for what was allowed for a time."""
    by, until = now - then - max(passed, 0), now if passed < 0 else None
    tables.shift(by, now, until)
    data = {"by": by, "now": now} | ({} if until is None else {"until": until})
    # for whoever decides again later: the times of records before this one are of another clock
    tables.append("store", 0, encode(NoteBody("restarted", data=data)))


def boot_id() -> str:
    """Changes whenever the machine starts; empty where the system does not tell."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _nanoseconds(wall: str) -> int:
    return round(datetime.fromisoformat(wall).replace(tzinfo=UTC).timestamp() * 1000) * 1_000_000

"""The emergency stop in the tables: one word that every admission reads in its own transaction. Once `pause` has
returned, no process on this store admits another call. Calls that run already end by themselves.

The stop that holds for all processes of a user is `trust/stops.py`."""

from collections.abc import Collection

from rightcall.errors import AnswerError
from rightcall.record.asking import person
from rightcall.record.entries import NoteBody, encode
from rightcall.record.tables import Tables
from rightcall.types_running import Pause

LONGEST_REASON = 500


def pause(tables: Tables, by: str, reason: str = "", callers: Collection[str] = ()) -> tuple[Pause, bool]:
    """Refuse every call from now on; who did so first stays the one who did. Whether this one did is the second value.
    `reason` is recorded as it is: whoever takes it from outside hides what is secret in it. Raises AnswerError for who
    is no person."""
    check_operator(by, reason, callers)
    known = tables.own_pause()
    if known is not None:
        return known, False
    made = Pause(by, tables.wall(), reason)
    tables.put_pause(made)
    tables.append("pause", 0, encode(NoteBody("paused", by, {"reason": reason} if reason else None)))
    return made, True


def resume(tables: Tables, by: str, reason: str = "", callers: Collection[str] = ()) -> Pause | None:
    """Let calls go on; returns the stop that ends, None when there was none."""
    check_operator(by, reason, callers)
    known = tables.own_pause()
    if known is not None:
        tables.put_pause(None)
        data = {"since": known.since, "paused_by": known.by} | ({"reason": reason} if reason else {})
        tables.append("pause", 0, encode(NoteBody("resumed", by, data)))
    return known


def check_operator(by: str, reason: str, callers: Collection[str]) -> None:
    """A caller can neither stop the others nor let itself go on."""
    person(by, "", callers)
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise AnswerError(f"a reason has at most {LONGEST_REASON} characters, all of them visible")

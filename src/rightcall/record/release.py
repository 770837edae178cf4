"""Calls that were refused again and again (P-11): which there are, and letting one try again."""

from collections.abc import Collection

from msgspec import Struct

from rightcall.errors import AnswerError
from rightcall.keys import refused_scope
from rightcall.record.asking import LEAST_DIGEST, person
from rightcall.record.entries import NoteBody, encode, read_call
from rightcall.record.tables import Tables
from rightcall.text.escape import escaped

_REFUSED = "refused\0"


class Held(Struct, frozen=True):
    """A call that was refused within the last hour."""

    caller: str
    digest: str
    tool: str
    """Empty where the record is gone."""
    refusals: int
    rule: str = ""
    """Why it was refused last."""


def refused_calls(tables: Tables, least: int = 1) -> list[Held]:
    """The calls that were refused at least so often within the hour, by caller; those in quarantine for as many as the
    policy says."""
    found = [_held(tables, *scope) for scope in tables.scopes(_REFUSED) if scope[1] >= least]
    return sorted(found, key=lambda held: (held.caller, -held.refusals, held.digest))


def _held(tables: Tables, scope: str, refusals: int) -> Held:
    caller, _, digest = scope.removeprefix(_REFUSED).rpartition("\0")
    last = tables.nth_last(scope, 1)
    entry = tables.entry(last.call) if last is not None else None
    if entry is None:
        return Held(caller, digest, "", refusals)
    body = read_call(entry.body)
    return Held(caller, digest, body.tool, refusals, body.rule)


def release(tables: Tables, caller: str, digest: str, by: str, callers: Collection[str] = ()) -> Held:
    """Forget the refusals of one call; `digest` may be cut to its first characters."""
    if len(digest) < LEAST_DIGEST:
        raise AnswerError(f"{escaped(digest, 40)!r} is too short: at least {LEAST_DIGEST} characters of the digest")
    found = [held for held in refused_calls(tables) if held.caller == caller and held.digest.startswith(digest.lower())]
    if not found:
        raise AnswerError(
            f"no call {escaped(digest, 40)!r} of caller {escaped(caller, 40)!r} was refused within the last hour; "
            f"`rightcall quarantine list --all` shows those that were"
        )
    if len(found) > 1:
        raise AnswerError(f"{len(found)} calls begin with {escaped(digest, 40)!r}: name more of the digest")
    return _released(tables, found[0], by, callers)


def release_all(tables: Tables, by: str, callers: Collection[str] = ()) -> list[Held]:
    """Forget the refusals of every call."""
    return [_released(tables, held, by, callers) for held in refused_calls(tables)]


def _released(tables: Tables, held: Held, by: str, callers: Collection[str]) -> Held:
    person(by, held.caller, callers)
    tables.forget(refused_scope(held.caller, held.digest))
    data = {"caller": held.caller, "digest": held.digest, "tool": held.tool, "refusals": held.refusals}
    tables.append("release", 0, encode(NoteBody("released", by, data)))
    return held

"""The same call again (P-07). Where nobody can say what a call touches, whether anything has changed is seen from what
it gave: as long as that differs, asking again is no loop.

A record holds no answers, so each completed call keeps a keyed digest of what it gave. Of a call whose answer nobody
sees (the client runs it) the summary has to do.
"""

import logging
import threading
from typing import Any

from msgspec import json
from msgspec.structs import replace

from rightcall.authorise import decide
from rightcall.keys import same_scope
from rightcall.parse.late import Late
from rightcall.record.entries import read_end
from rightcall.record.tables import Tables
from rightcall.text.escape import escaped
from rightcall.text.redact import Redactor
from rightcall.types_running import Decision, Request

log = logging.getLogger("rightcall")

LOOP = "loop"
"""The rule that refuses it."""
_MOST = 1 << 20
"""Bytes of an answer that are compared; of a longer one its two ends, and its length."""
_SHORT = slice(len("keyed:"), len("keyed:") + 16)
"""Of a keyed digest: two answers of one call need no more to be told apart, and a record is small."""
_MOST_TOLD = 1_000
_NAME = Late(r"[A-Za-z0-9_./:-]{1,200}")
"""Of a tool, where it can be copied into a policy as it is: no pattern, no quotes."""


def decided(request: Request, tables: Tables, *, runs_here: bool = False) -> Decision:
    """The decision on a request, where a repeated call is only refused if it gave the same each time. `runs_here`: we
    run the tool ourselves. Then a state that is known says more than its answer, and a call that still runs has
    changed nothing; a host may never tell how one ended."""
    decision = decide(request, tables)
    if decision.rule != LOOP or (runs_here and request.state and not request.unsure):
        return decision
    given = _given_before(request, tables)
    ended = given - {None}
    if len(ended) > 1 or (not runs_here and (not ended or given != ended)):
        return decide(replace(request, repeatable=True), tables)
    if not ended or given != ended:  # one still runs, and what it will give nobody knows
        return decision
    return replace(decision, reason=decision.reason.replace("nothing has changed since", "it gave the same each time"))


def _given_before(request: Request, tables: Tables) -> set[tuple[str, str | None, str] | None]:
    scope = same_scope(request, tables.changes())
    marks = [tables.nth_last(scope, number) for number in range(1, request.rights.repeats)]
    return {_read_outcome(tables, mark.call) for mark in marks if mark is not None}


def _read_outcome(tables: Tables, call: int) -> tuple[str, str | None, str] | None:
    """What came of a call; None while it still runs."""
    for entry in tables.belonging(call):
        if entry.kind == "end":
            end = read_end(entry.body)
            return (end.status, None, end.answer) if end.answer else (end.status, end.error, end.summary)
    return None


def answer_digest(answer: Any, redactor: Redactor) -> str:
    """What tells one answer from another, and nobody can guess the answer from; "" for what cannot be compared, which
    is everything that is neither text nor JSON. Never raises."""
    if answer is None:
        return ""
    try:
        raw = answer if isinstance(answer, bytes) else _plain_bytes(answer)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""
    if len(raw) > _MOST:
        half = _MOST // 2
        raw = b"%b\0%d\0%b" % (raw[:half], len(raw), raw[-half:])
    return redactor.keyed(raw)[_SHORT]


def _plain_bytes(answer: Any) -> bytes:
    if isinstance(answer, str):
        return answer.encode("utf-8", "surrogatepass")
    return json.encode(answer, order="deterministic")


class LoopNews:
    """Tells the operator, once for each tool, how a call that is polled can be allowed; the model reads that nowhere.
    Thread-safe."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def tell(self, tool: str) -> None:
        with self._lock:
            if tool in self._told or len(self._told) >= _MOST_TOLD:
                return
            self._told.add(tool)
        name = escaped(tool, 100)
        log.warning("rightcall: repeated calls of %s are refused as a loop; %s", name, how_to_allow(tool))


def how_to_allow(tool: str) -> str:
    """What an operator can do about it.

    >>> how_to_allow("jobs/status")
    'to allow polling it, add it to the policy: [policy] repeatable = ["jobs/status"]'
    """
    if not _NAME.fullmatch(tool):  # whoever chose it may want more than itself allowed
        return "its name holds signs that should not stand in a policy, so it cannot be allowed by name"
    return f'to allow polling it, add it to the policy: [policy] repeatable = ["{tool}"]'

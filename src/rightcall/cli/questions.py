"""Questions as the command line shows them: in a list, whole, and as JSON."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.terminal import Style, count, style_for, table
from rightcall.record.asking import approval_of, earlier_definition
from rightcall.text.escape import cut_end
from rightcall.text.question import View, state_of, view
from rightcall.text.visible import visible
from rightcall.types_running import SECOND, Approval

if TYPE_CHECKING:
    from rightcall.record.tables import Store, Tables

MOST_LISTED = 50
"""Questions that a list shows unless it is asked for more."""
_MOST_CALLERS = 5
_NAME = 32
"""Columns for a name in a list; the question itself shows it whole."""


def found_approval(tables: "Tables", id: str) -> tuple[Approval, str]:
    """A question, and for a changed definition or server the one before."""
    approval = approval_of(tables, id)
    return approval, "" if approval.kind == "call" else earlier_definition(tables, approval.tool, approval.kind)


def waiting_ids(store: "Store", caller: str | None = None) -> list[str]:
    """The questions that can be answered now, of everybody or of one caller: the oldest of each caller first, then
    the second of each. Who asks much does not come before who asks little."""
    now = store.clock.now()
    found = store.look(lambda tables: tables.approvals("waiting"))
    waiting = [one for one in found if one.expires_at > now and caller in (None, one.caller)]
    return [one.id for one in _in_turn(waiting)]


def _in_turn(approvals: Iterable[Approval]) -> list[Approval]:
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, Approval]] = []
    for place, one in enumerate(approvals):
        turns.append((seen[one.caller], place, one))
        seen[one.caller] += 1
    return [one for _, _, one in sorted(turns, key=lambda turn: turn[:2])]


def fair_part(approvals: Sequence[Approval], most: int) -> Sequence[Approval]:
    """At most so many, in their order, of each caller as many as of any other; 0 for all."""
    if not most or len(approvals) <= most:
        return approvals
    shown = {one.id for one in _in_turn(approvals)[:most]}
    return [one for one in approvals if one.id in shown]


def whole_view(store: "Store", approval: Approval, before: str, *, full: bool) -> View:
    """The question for this terminal."""
    plain = not is_unicode(sys.stdout)
    return view(approval, now=store.clock.now(), width=columns(), full=full, ascii_only=plain, before=before)


def columns() -> int:
    """How wide a row may be: never wider than the terminal really is, which would break it and with it the margin."""
    stated = style_for(sys.stdout).width
    try:
        real = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal
        return stated
    return min(stated, real) if real else stated


def named(text: str) -> str:
    """A name in a list: spelled out, and cut where it is long."""
    return cut_end(visible(text[: _NAME + 1]), _NAME)


def listing(approvals: Sequence[Approval], now: int, style: Style, most: int = 0) -> list[str]:
    """One line each, for at most so many. The digest is not among it: it belongs below the whole call."""
    shown = fair_part(approvals, most)
    rows = [[one.id, named(one.caller), named(one.tool), state_of(one, now), _rule(one), _size(one)] for one in shown]
    lines = table(["id", "who asks", "tool", "state", "because of", "characters"], rows, style, left=5)
    return [
        *lines,
        *_left_out(approvals, shown),
        f"{count(approvals, 'question')}; `rightcall approvals show ID` shows one",
    ]


def _left_out(approvals: Sequence[Approval], shown: Sequence[Approval]) -> list[str]:
    """Whose questions are not in the list, and how many."""
    left = Counter(one.caller for one in approvals)
    left.subtract(Counter(one.caller for one in shown))
    callers = [(caller, number) for caller, number in left.most_common() if number]
    if not callers:
        return []
    some = ", ".join(f"{number:,} of {named(caller)}" for caller, number in callers[:_MOST_CALLERS])
    others = f" and of {len(callers) - _MOST_CALLERS:,} other callers" if len(callers) > _MOST_CALLERS else ""
    return [f"not listed: {some}{others}; `--limit 0` lists all, `approvals deny --all --as CALLER` denies a caller's"]


def _size(approval: Approval) -> str:
    return f"{len(approval.canonical):,}" if approval.canonical else "-"


def _rule(approval: Approval) -> str:
    rule, separated, _ = approval.why.partition(": ")
    return named(rule if separated else approval.why)


def summary_record(approval: Approval, now: int) -> dict[str, Any]:
    """For a list: without the call and its digest."""
    return {
        "id": approval.id,
        "kind": approval.kind,
        "caller": approval.caller,
        "tool": approval.tool,
        "context": approval.context,
        "why": approval.why,
        "status": "expired" if approval.expires_at <= now and _is_open(approval) else approval.status,
        "seconds_left": max(0, (approval.expires_at - now) // SECOND) if _is_open(approval) else None,
        "characters": len(approval.canonical),
        "asked": approval.asked,
        "by": approval.by or None,
        "answered": approval.answered or None,
    }


def whole_record(approval: Approval, before: str, now: int) -> dict[str, Any]:
    """Everything: `call` is the exact text that the digest covers."""
    from msgspec import DecodeError, json

    try:
        details: Any = json.decode(approval.details)
    except DecodeError:
        details = approval.details
    return summary_record(approval, now) | {
        "call": approval.canonical,
        "details": details,
        "definition": approval.definition,
        "definition_before": before or None,
        "state": approval.state,
        "used_by": approval.used_by or None,
        "digest": approval.digest,
    }


def json_line(record: dict[str, Any]) -> str:
    """One line; on a terminal in ASCII alone, where nothing can be drawn in another order."""
    return json_text(record, ascii_only=sys.stdout.isatty() or not is_unicode(sys.stdout))


def _is_open(approval: Approval) -> bool:
    return approval.status in ("waiting", "approved")

"""`debug/logs`: what happened, a line each and the newest first, from all processes that share the store.

2026-01-01T12:00:00.000Z #12 teacher code/read success 12.5 ms stage:read-only
2026-01-01T12:00:01.000Z #14 teacher file/save refused allowlist: Tool 'file/save' is not whitelisted for AI use
2026-01-01T12:00:02.000Z #15 proxy Read proxied proxy:repaired
2026-01-01T12:00:03.000Z #16 policy loaded
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from rightcall.record.browsable import is_of, joined_calls, moment, newest_first, read_named
from rightcall.record.browsing import look_up
from rightcall.record.reading import CallRecord
from rightcall.record.tables import AuditEntry, Store, Tables
from rightcall.text.escape import escaped, render_json

USUAL: Final = 50
MOST: Final = 500
_LONGEST_NAME, _LONGEST_WHY = 60, 200


class Logs(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    lines: list[str]
    """Newest first."""
    truncated: bool
    """Whether there are older ones."""


def log_lines(store: Store, limit: int = USUAL, whose: str | None = None) -> Logs:
    """With `whose` only the lines about that caller."""
    limit = min(max(limit, 1), MOST)
    found = look_up(store, lambda tables: list(islice(_lines(tables, whose), limit + 1)))
    return Logs(lines=found[:limit], truncated=len(found) > limit)


def _lines(tables: Tables, whose: str | None) -> Iterator[str]:
    for entry, read in joined_calls(tables, newest_first(tables)):
        if is_of(tables, entry, whose):
            yield _other(entry) if read is None else _line(read())


def _line(call: CallRecord) -> str:
    took = "" if call.execution_time is None else f"{call.execution_time:.1f} ms"
    words = [moment(call.timestamp), f"#{call.id}", _word(call.caller), _word(call.tool), call.status, took]
    why = escaped(call.error or "", _LONGEST_WHY)
    words.append(f"{_word(call.rule)}: {why}" if why else _word(call.rule))
    return " ".join(word for word in words if word)


def _other(entry: AuditEntry) -> str:
    """Of a record that is no call: only what `data/list` shows of it as well."""
    named = read_named(entry.body)
    about = (_word(str(named[key])) for key in ("what", "caller", "tool") if named[key])
    return " ".join((moment(entry.at), f"#{entry.seq}", _word(entry.kind), *about))


def _word(text: str) -> str:
    """A name as one word: one that holds blanks is put in quotes, so that it cannot pass for several.

    >>> _word("code/read"), _word("x success 1 ms"), _word("")
    ('code/read', '"x success 1 ms"', '')
    """
    safe = escaped(text, _LONGEST_NAME)
    return safe if not any(sign in safe for sign in ' "') else render_json(text, _LONGEST_NAME)

"""`audit tail`: the last calls, and with --follow every call as it is decided and as it ends."""

import sys
from argparse import Namespace
from time import sleep
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from rightcall.cli import OK
from rightcall.cli.audit_lines import Table
from rightcall.cli.moments import moment
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.pause import paused_line
from rightcall.cli.terminal import say, style_for
from rightcall.record.reading import CALLS, CallFilter, CallRecord, call, calls
from rightcall.route.packet_ids import is_packet_id

if TYPE_CHECKING:
    from rightcall.cli.store_options import Looking
    from rightcall.record.tables import Tables

EVERY = 0.25
"""Seconds between two looks."""

_MOST_PACKETS = 5


def tail(store: "Looking", options: Namespace) -> int:
    """Prints the last calls; with --follow it goes on until Ctrl-C, which is how following ends and so no failure."""
    since = None if options.since is None else moment(options.since, "--since")
    head, found, held = store.look(lambda tables: (tables.head()[0], _last(tables, options, since), tables.paused()))
    table = Table(style_for(sys.stdout), found)
    if not options.json:
        _open(table, found, options)
    _print(found, table, options)
    told = _tell_packets(found, frozenset(), options)
    if not options.json:
        say(*paused_line(held))
    try:
        while options.follow:
            sys.stdout.flush()
            sleep(EVERY)
            before = held
            (head, found), held = store.look(lambda tables, last=head: (_news(tables, last, options), tables.paused()))
            if held != before and not options.json:
                say(*(paused_line(held) or ["Calls may run again."]))
            _print(found, table, options)
            told = _tell_packets(found, told, options)
    except KeyboardInterrupt:
        pass
    return OK


def _open(table: Table, found: list[CallRecord], options: Namespace) -> None:
    if found or options.follow:
        say(table.header())
    else:
        choosy = any((options.caller, options.tool, options.status, options.context, options.step, options.since))
        say("No such call is recorded here." if choosy else "No call is recorded here yet.")


def _last(tables: "Tables", options: Namespace, since: str | None) -> list[CallRecord]:
    wanted = CallFilter(options.caller, options.tool, options.status, options.context, options.step, since)
    return calls(tables, wanted, limit=options.n)[::-1]


def _news(tables: "Tables", last: int, options: Namespace) -> tuple[int, list[CallRecord]]:
    """What came after a record: each call once it has ended, and those that still run as well."""
    entries = [entry for entry in tables.entries(last) if entry.kind in CALLS or entry.kind == "end"]
    ended = {entry.call for entry in entries if entry.kind == "end"}
    found = [call(tables, entry.seq) for entry in entries if not (entry.kind == "begin" and entry.seq in ended)]
    return tables.head()[0], [record for record in found if record is not None and _is_wanted(record, options)]


def _is_wanted(record: CallRecord, options: Namespace) -> bool:
    asked = (
        (options.caller, record.caller), (options.tool, record.tool), (options.status, record.status),
        (options.context, record.context), (options.step, record.step),
    )  # fmt: skip
    return all(wanted is None or wanted == is_so for wanted, is_so in asked)


def _print(records: list[CallRecord], table: Table, options: Namespace) -> None:
    for record in records:
        if options.json:
            line: dict[str, Any] = to_builtins(record)
            say(json_text(line, ascii_only=not is_unicode(sys.stdout)))
        else:
            say(table.line(record))


def _tell_packets(records: list[CallRecord], told: frozenset[str], options: Namespace) -> frozenset[str]:
    """Says once of each packet where its story is, of many the latest. Returns what was told by now."""
    packets = [record.context for record in records if record.context and is_packet_id(record.context)]
    new = [packet for packet in dict.fromkeys(packets) if packet not in told]
    if not options.json:
        say(*(f"packet: rightcall packet show {packet}" for packet in new[-_MOST_PACKETS:]))
    return told.union(new)

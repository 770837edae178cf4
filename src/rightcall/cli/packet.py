"""Tell the story of a request that went through the router: what was needed, what was chosen, how sure it was, what
came of it. Packets that wait are saved, and so is every one that has ended."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.store_options import database_of, look_into, policy_of, store_options
from rightcall.cli.terminal import count, say, style_for
from rightcall.errors import StoreError
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.record.reading import CallRecord
    from rightcall.record.tables import Tables
    from rightcall.route.packets import PacketStore
    from rightcall.route.types import Packet
    from rightcall.text.redact import Redactor

EXAMPLES = """\
examples:
  rightcall packet list
  rightcall packet show last
  rightcall packet show p1k0aren3qsqae3xz --json
  rightcall packet remove p1k0aren3
  rightcall packet prune --days 30
"""

_MOST_RECORDS = 200


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str) -> ArgumentParser:
        return actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )

    show = action("show", "one packet's story, and its calls in the audit; without secrets")
    remove = action("remove", "remove a packet; its calls stay in the audit")
    for one in (show, remove):
        one.add_argument("id", metavar="ID", help="as `list` shows it, the beginning of it, or `last`")
    json_option(show, "the packet")
    lists = action("list", "the packets that are saved, the newest first")
    lists.add_argument("-n", type=_whole, default=20, metavar="N", help="how many (default: %(default)s)")
    json_option(lists, "the packets in short")
    prune = action("prune", "remove packets that nothing happened to for some time; their calls stay in the audit")
    prune.add_argument("--days", type=_days, required=True, metavar="N", help="for so many days")
    prune.add_argument("--all", action="store_true", help="also those that wait for a person, which cannot go on then")
    for one in actions.choices.values():
        store_options(one)


def run(options: Namespace) -> int:
    from rightcall.fs.guarded import packets_folder
    from rightcall.route.packets import PacketStore

    return _ACTIONS[options.action](PacketStore(packets_folder(database_of(options))), options)


def _show(store: "PacketStore", options: Namespace) -> int:
    packet = store.load(store.find(options.id))
    if options.json:
        from msgspec import to_builtins

        from rightcall.route.packets_hidden import story_of

        say(_json(to_builtins(story_of(packet, _redactor(options)))))
        return OK
    from rightcall.cli.packet_report import story
    from rightcall.cli.packet_ways import places

    policy = policy_of(options)
    style, where = style_for(sys.stdout), places(options)
    lines = story(packet, policy.router.threshold, policy.settings.audit.redact, style, where)
    say(*lines, *_records(packet, options))
    return OK


def _records(packet: "Packet", options: Namespace) -> list[str]:
    from rightcall.cli.packet_report import records

    style = style_for(sys.stdout)
    if not os.path.exists(path := database_of(options)):
        return records([], f"there is none at {path} yet", style)
    try:
        looking = look_into(options)
        try:
            return records(looking.look(lambda tables: _calls(tables, packet)), "", style)
        finally:
            looking.close()
    except StoreError as error:  # the story is told all the same
        return records([], str(error), style)


def _calls(tables: "Tables", packet: "Packet") -> "list[CallRecord]":
    from rightcall.record.reading import CallFilter, calls

    header = packet.header
    found = calls(tables, CallFilter(context=header.packet_id, since=header.created or None), limit=_MOST_RECORDS)
    return found[::-1]


def _list(store: "PacketStore", options: Namespace) -> int:
    from rightcall.cli.packet_report import listing
    from rightcall.route.packets import PacketStore

    found = PacketStore(store.folder, _redactor(options)).list(options.n)
    if options.json:
        from msgspec import to_builtins

        say(_json({"packets": to_builtins(found)}))
    elif found:
        say(*listing(found, style_for(sys.stdout)))
    else:
        say(f"No packet is saved in {escaped(store.folder)}.")
    return OK


def _redactor(options: Namespace) -> "Redactor":
    from rightcall.text.redact import Redactor

    return Redactor(os.urandom(32), policy_of(options).settings.audit.redact)


def _remove(store: "PacketStore", options: Namespace) -> int:
    found = store.find(options.id)
    store.remove(found)
    say(f"removed {found}")
    return OK


def _prune(store: "PacketStore", options: Namespace) -> int:
    kept: list[str] = []

    def waits(id: str) -> bool:
        if options.all or not store.waits(id):
            return False
        kept.append(id)
        return True

    removed = store.prune(options.days, waits)
    say(f"removed {count(removed, 'packet')}")
    if kept:
        say(f"kept {count(kept, 'packet')} waiting for a person; --all removes such too")
    return OK


_ACTIONS = {"show": _show, "list": _list, "remove": _remove, "prune": _prune}


def _json(record: object) -> str:
    return json_text(record, ascii_only=not is_unicode(sys.stdout))


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ArgumentTypeError(f"{escaped(text, 40)!r} is no number of packets; give 0 or more")
    return int(text)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days <= 1e6:
        raise ArgumentTypeError(f"{escaped(text, 40)!r} is no number of days; give 0 or more")
    return days

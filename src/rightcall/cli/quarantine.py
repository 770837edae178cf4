"""Calls that were refused so often that they are not looked at any more: list them, or let one try again."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from msgspec import to_builtins

from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.persons import person_option, who
from rightcall.cli.questions import json_line, named
from rightcall.cli.store_options import open_store, policy_of, store_options
from rightcall.cli.terminal import Style, count, say, style_for, table
from rightcall.errors import AnswerError
from rightcall.record.release import Held, refused_calls, release, release_all

if TYPE_CHECKING:
    from rightcall.record.tables import Store

EXAMPLES = """\
examples:
  rightcall quarantine list
  rightcall quarantine release teacher 5d41402a
  rightcall quarantine release --all
"""

_DIGEST = 12


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "the calls that are in quarantine"
    shape = parser.formatter_class
    lists = actions.add_parser("list", help=about, description=about, formatter_class=shape, allow_abbrev=False)
    lists.add_argument("--all", action="store_true", help="every call that was refused within the last hour")
    json_option(lists, "the calls")
    about = "forget the refusals of a call, so that it is looked at again"
    out = actions.add_parser("release", help=about, description=about, formatter_class=shape, allow_abbrev=False)
    out.add_argument("caller", nargs="?", metavar="CALLER", help="whose call, as `list` shows it")
    out.add_argument("digest", nargs="?", metavar="DIGEST", help="of the call, at least 8 characters")
    out.add_argument("--all", action="store_true", help="every call, instead of one")
    person_option(out)
    for one in (lists, out):
        store_options(one)


def run(options: Namespace) -> int:
    store = open_store(options)
    try:
        return _list(store, options) if options.action == "list" else _release(store, options)
    finally:
        store.close()


def _list(store: "Store", options: Namespace) -> int:
    most = policy_of(options).settings.quarantine
    if not most and not options.all:
        found: list[Held] = []
    else:
        found = store.look(lambda tables: refused_calls(tables, 1 if options.all else most))
    if options.json:
        say(json_line({"calls": [to_builtins(one) | {"quarantined": 0 < most <= one.refusals} for one in found]}))
    elif found:
        say(*_listing(found, most, style_for(sys.stdout)))
    else:
        say("No call is in quarantine." if most else "The policy puts no call in quarantine.")
    return OK


def _listing(found: list[Held], most: int, style: Style) -> list[str]:
    rows = [
        [named(one.caller), one.digest[:_DIGEST], named(one.tool) or "-", str(one.refusals),
         named(one.rule), "yes" if 0 < most <= one.refusals else "no"]
        for one in found
    ]  # fmt: skip
    header = ["caller", "digest", "tool", "refused", "last by", "quarantined"]
    return [*table(header, rows, style, left=3), f"{count(found, 'call')} refused within the last hour"]


def _release(store: "Store", options: Namespace) -> int:
    by, callers = who(options), tuple(policy_of(options).settings.callers)
    if options.all:
        if options.caller is not None:
            raise AnswerError("--all releases every call: name a caller and a digest, or --all")
        freed = store.transact(lambda tables: release_all(tables, by, callers))
    elif options.caller is None or options.digest is None:
        raise AnswerError("name a caller and a digest, as `rightcall quarantine list` shows them, or --all")
    else:
        freed = [store.transact(lambda tables: release(tables, options.caller, options.digest, by, callers))]
    say(f"{count(freed, 'call')} released.")
    return OK

"""Say yes in advance: to calls of one tool by one caller, for certain arguments, so often and so long."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.grant_terms import condition_text, conditions, duration, uses
from rightcall.cli.options import json_option
from rightcall.cli.persons import person_option, who
from rightcall.cli.questions import json_line, named
from rightcall.cli.store_options import open_store, policy_of, redactor_of, store_options
from rightcall.cli.terminal import Style, count, say, style_for, table, wrap
from rightcall.record.asking import give_grant, revoke_grant
from rightcall.text.question import time_left
from rightcall.text.visible import visible
from rightcall.types_running import SECOND, Grant

if TYPE_CHECKING:
    from rightcall.record.tables import Store

EXAMPLES = """\
examples:
  rightcall grants list
  rightcall grants add --as teacher file/save --where 'path=docs/*.md' --uses 5 --for 1h
  rightcall grants add --as teacher send_mail --where to=team@example.com --where urgent=false
  rightcall grants revoke 3f9a1c2e

a condition: NAME=VALUE, where VALUE is JSON (3, true, "3", [1, 2]) or else plain text. In a text `*` stands for any
characters but / and \\\\, `**` for these too; neither for `..`, dotfiles, invisible characters or signs of a shell.
Arguments without a condition may be anything.
"""


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str) -> ArgumentParser:
        return actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )

    lists = action("list", "the grants that are in force")
    json_option(lists, "the grants")
    add = action("add", "say yes in advance")
    add.add_argument("--as", dest="caller", required=True, metavar="CALLER", help="who may call")
    add.add_argument("tool", metavar="TOOL", help="which tool, by its exact name")
    add.add_argument("--where", action="append", default=[], metavar="NAME=VALUE", help="a condition; repeatable")
    add.add_argument("--uses", type=uses, default=1, metavar="N", help="how many calls (default: %(default)s)")
    add.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=3600,
        metavar="TIME",
        help="how long: 90s, 10m, 1h, 2d (default: 1h)",
    )
    add.add_argument("--note", metavar="TEXT", default="", help="what for, for the record")
    revoke = action("revoke", "take a grant back")
    revoke.add_argument("id", metavar="ID", help="of the grant, as `list` shows it")
    for one in (add, revoke):
        person_option(one)
    for one in (lists, add, revoke):
        store_options(one)


def run(options: Namespace) -> int:
    with closing(open_store(options, create=options.action == "add")) as store:
        return _ACTIONS[options.action](store, options)


def _list(store: "Store", options: Namespace) -> int:
    now = store.clock.now()
    found = [one for one in store.look(lambda tables: tables.all_grants()) if one.expires_at > now]
    if options.json:
        say(json_line({"grants": [_record(one, now) for one in found]}))
    elif found:
        say(*_listing(found, now, style_for(sys.stdout)))
    else:
        say("Nothing is granted in advance.")
    return OK


def _add(store: "Store", options: Namespace) -> int:
    from secrets import token_hex

    grant = Grant(
        id=token_hex(4),
        caller=options.caller,
        tool=options.tool,
        where=conditions(options.where),
        uses=options.uses,
        expires_at=store.clock.now() + options.seconds * SECOND,
        by=who(options),
        made=store.clock.wall(),
        note=options.note,
    )
    callers = tuple(policy_of(options).settings.callers)
    hide = redactor_of(options, store).value
    store.transact(lambda tables: give_grant(tables, grant, callers, hide))
    say(*_describe_grant(grant, style_for(sys.stdout)))
    return OK


def _describe_grant(grant: Grant, style: Style) -> list[str]:
    """What was just granted, in so many words."""
    conditions = condition_text(grant.where)
    where = f"where {conditions}; any other argument may be anything" if conditions else "with ANY arguments"
    times = "once" if grant.uses == 1 else f"{grant.uses:,} times"
    said = f"{grant.id}: {visible(grant.caller)} may call {visible(grant.tool)} {times} {where}."
    return [
        line
        for text in (said, f"`rightcall grants revoke {grant.id}` takes it back.")
        for line in wrap(text, style.width)
    ]


def _revoke(store: "Store", options: Namespace) -> int:
    by = who(options)
    gone = store.transact(lambda tables: revoke_grant(tables, options.id, by))
    say(f"{gone.id} is taken back: {named(gone.caller)} has to ask again for {named(gone.tool)}.")
    return OK


def _record(grant: Grant, now: int) -> dict[str, Any]:
    return {
        "id": grant.id,
        "caller": grant.caller,
        "tool": grant.tool,
        "where": dict(grant.where),
        "uses": grant.uses,
        "seconds_left": max(0, (grant.expires_at - now) // SECOND),
        "by": grant.by,
        "made": grant.made,
        "note": grant.note or None,
    }


def _listing(grants: list[Grant], now: int, style: Style) -> list[str]:
    rows = [
        [one.id, named(one.caller), named(one.tool), condition_text(one.where) or "any arguments",
         str(one.uses), time_left(one.expires_at, now), named(one.by)]
        for one in grants
    ]  # fmt: skip
    header = ["id", "caller", "tool", "where", "uses left", "time left", "by"]
    return [*table(header, rows, style, left=4), count(grants, "grant")]


_ACTIONS = {"list": _list, "add": _add, "revoke": _revoke}

"""Stop every tool call at once: all processes on the store refuse all calls until `rightcall resume`. Calls that run
already end by themselves."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.persons import person_option, who
from rightcall.cli.store_options import database_of, policy_file, policy_of, store_options
from rightcall.cli.terminal import say
from rightcall.errors import ConfigError, StoreError
from rightcall.text.escape import escaped
from rightcall.types_running import Pause

if TYPE_CHECKING:
    from rightcall.config_settings import Settings
    from rightcall.record.tables import Store

EXAMPLES = """\
examples:
  rightcall pause --reason "the agent deletes files"
  rightcall pause --everywhere
  rightcall pause --status
  rightcall resume
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--status", action="store_true", help="only show whether calls are paused")
    common_arguments(parser)


def common_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the record")
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="also the hooks of projects without a policy file, which share a store",
    )
    person_option(parser)
    json_option(parser, "the state of each store")
    store_options(parser)


def run(options: Namespace) -> int:
    if options.status:
        return report_each(options, _state)
    from rightcall.record.pause import pause

    callers = tuple(settings_of(options).callers)

    def stop(store: "Store") -> dict[str, Any]:
        reason = hidden(options, store, options.reason)
        held, new = store.transact(lambda tables: pause(tables, who(options), reason, callers))
        return state_record(held) | {"changed": new}

    return report_each(options, stop, create=True)


def _state(store: "Store") -> dict[str, Any]:
    return state_record(store.look(lambda tables: tables.paused()))


def settings_of(options: Namespace) -> "Settings":
    """What the policy says. With --db a policy file that is wrong stops nobody from stopping everything."""
    from rightcall.config import DEFAULT_POLICY

    try:
        return policy_of(options).settings
    except ConfigError:
        if options.db is None:
            raise
        return DEFAULT_POLICY.settings


def hidden(options: Namespace, store: "Store", reason: str) -> str:
    """A reason without what looks like a secret: it is recorded."""
    from rightcall.text.redact import Redactor

    return str(Redactor(store.key(), settings_of(options).audit.redact).value(reason)) if reason else ""


def state_record(held: Pause | None) -> dict[str, Any]:
    if held is None:
        return {"paused": False, "since": None, "by": None, "reason": None}
    return {"paused": True, "since": held.since, "by": held.by, "reason": held.reason or None}


def report_each(options: Namespace, work: Callable[["Store"], dict[str, Any]], *, create: bool = False) -> int:
    """Do it to every store the options reach, also when one of them cannot be used; that one is told last. Where there
    is none, only a stop makes one: it holds for whoever comes."""
    from rightcall.hosts.hook_place import record_without_policy
    from rightcall.record.sqlite import SqliteStore

    done: list[dict[str, Any]] = []
    faults: list[StoreError] = []
    for path in stores_of(options):
        if not create and not os.path.exists(path):
            done.append({"store": path} | state_record(None) | {"changed": False})
            continue
        try:
            with closing(SqliteStore(path, found=options.db is None and path != record_without_policy())) as store:
                done.append({"store": path} | work(store))
        except StoreError as fault:
            faults.append(fault)
    if options.json:
        say(json_text({"stores": done}, ascii_only=not is_unicode(sys.stdout)))
    else:
        say(*(line for one in done for line in _lines(one)))
    if faults:
        raise faults[0]
    return OK


def stores_of(options: Namespace) -> Iterator[str]:
    """The store the options name. Hooks of projects without a policy share one: where there is no policy file here,
    that one is this project's too."""
    yield os.path.abspath(database_of(options))
    if options.everywhere or (options.db is None and policy_file(options) is None):
        from rightcall.hosts.hook_place import record_without_policy

        yield record_without_policy()


def _lines(one: dict[str, Any]) -> Iterator[str]:
    if not one["paused"]:
        yield f"{'Calls may run again' if one.get('changed') else 'Calls are not paused'}: {escaped(one['store'])}"
        return
    state = "already paused" if one.get("changed") is False else "paused"
    why = f": {escaped(one['reason'])}" if one["reason"] else ""
    yield f"All calls are {state} since {one['since']} UTC by {escaped(one['by'])}{why} ({escaped(one['store'])})"
    yield "Run `rightcall resume` with the same options to let calls run again."


def paused_line(held: Pause | None) -> list[str]:
    """What other commands say first while everything is paused."""
    if held is None:
        return []
    why = f": {escaped(held.reason)}" if held.reason else ""
    return [f"PAUSED since {held.since} UTC by {escaped(held.by)}{why}. `rightcall resume` lets calls run again."]

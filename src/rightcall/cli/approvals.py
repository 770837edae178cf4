"""Answer the calls that wait for a person: list them, look at one, approve or deny it, or watch for new ones."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from rightcall.cli import OK, REFUSED
from rightcall.cli.answering import YES, answered, denied_all, show_question
from rightcall.cli.lines import InputError
from rightcall.cli.options import json_option
from rightcall.cli.pause import paused_line, state_record
from rightcall.cli.persons import at_a_terminal, person_option, typed
from rightcall.cli.questions import (
    MOST_LISTED,
    fair_part,
    found_approval,
    json_line,
    listing,
    named,
    summary_record,
    waiting_ids,
    whole_record,
    whole_view,
)
from rightcall.cli.store_options import open_store, store_options
from rightcall.cli.terminal import count, say, style_for
from rightcall.errors import AnswerError
from rightcall.record.asking import LEAST_DIGEST
from rightcall.types_running import ApprovalStatus

if TYPE_CHECKING:
    from rightcall.record.tables import Store
    from rightcall.types_running import Pause

EXAMPLES = """\
examples:
  rightcall approvals list
  rightcall approvals show 3f9a1c2e --full
  rightcall approvals approve 3f9a1c2e
  rightcall approvals approve 3f9a1c2e --digest 1e753e31
  rightcall approvals deny 3f9a1c2e --reason "not on a Friday"
  rightcall approvals deny --all --as teacher --reason "a runaway loop"
  rightcall approvals watch

exit code 1: it was shown and not approved.
"""


_OPEN: tuple[ApprovalStatus, ...] = ("waiting", "approved")


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str, *, takes_id: bool = True) -> ArgumentParser:
        made = actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )
        if takes_id:
            made.add_argument("id", metavar="ID", help="of the question, as `list` shows it")
        return made

    lists = action("list", "the questions that wait, and the approvals that were not used yet", takes_id=False)
    lists.add_argument("--all", action="store_true", help="also those that were denied or used, or have expired")
    lists.add_argument(
        "-n", "--limit", type=int, default=None, metavar="N",
        help=f"show at most N, some of each caller (default: {MOST_LISTED}, with --json all; 0: all)",
    )  # fmt: skip
    json_option(lists, "the questions")
    show = action("show", "one question: who asks, what for, why, and the call", takes_id=False)
    show.add_argument("id", nargs="?", metavar="ID", help="of the question; may be left out where only one waits")
    show.add_argument("--full", action="store_true", help="leave nothing out; only then the digest is shown")
    json_option(show, "the whole question")
    approve = action("approve", "say yes to exactly this call, once")
    approve.add_argument(
        "--digest",
        metavar="HEX",
        default="",
        help=f"as it stood below the whole call; {LEAST_DIGEST} characters do",
    )
    approve.add_argument("--yes", action="store_true", help="with --digest: do not ask again at a terminal")
    deny = action("deny", "say no to one question, or to all that wait now", takes_id=False)
    deny.add_argument("id", nargs="?", metavar="ID", help="of the question, as `list` shows it")
    deny.add_argument("--all", action="store_true", help="deny every question that waits now")
    deny.add_argument("--as", dest="caller", metavar="CALLER", help="with --all: only the questions of this caller")
    deny.add_argument("--reason", metavar="TEXT", default="", help="why, for the record")
    deny.add_argument("--dry-run", action="store_true", help="with --all: say how many, and deny none")
    deny.add_argument("--yes", action="store_true", help="with --all: do not ask at a terminal")
    json_option(deny, "with --all, the questions that were denied")
    watch = action("watch", "show each new question and ask; without a terminal, as JSON lines", takes_id=False)
    watch.add_argument("--once", action="store_true", help="end after those that wait now")
    for one in (approve, deny, watch):
        person_option(one)
    for one in (lists, show, approve, deny, watch):
        store_options(one)


def run(options: Namespace) -> int:
    with closing(open_store(options)) as store:
        return _ACTIONS[options.action](store, options)


def _list(store: "Store", options: Namespace) -> int:
    now = store.clock.now()
    found, held = store.look(lambda tables: (tables.approvals(*(() if options.all else _OPEN)), tables.paused()))
    if not options.all:
        found = [one for one in found if one.expires_at > now]
    most = _limit(options)
    if options.json:
        part = [summary_record(one, now) for one in fair_part(found, most)]
        say(json_line({"approvals": part} | _paused_record(held)))
        return OK
    say(*paused_line(held))
    if found:
        say(*listing(found, now, style_for(sys.stdout), most))
    else:
        say("Nothing waits for an answer." if not options.all else "Nobody was ever asked.")
    return OK


def _limit(options: Namespace) -> int:
    """How many to list; 0 for all."""
    if options.limit is None:
        return 0 if options.json else MOST_LISTED
    if options.limit < 0:
        raise InputError(f"invalid value {options.limit} for `--limit`: expected 0 or more")
    return options.limit


def _paused_record(held: "Pause | None") -> dict[str, object]:
    """Only while everything is paused: a yes then has no effect before calls run again."""
    return {} if held is None else {"paused": state_record(held)}


def _show(store: "Store", options: Namespace) -> int:
    wanted: str = options.id or _only_one(store)
    approval, before = store.look(lambda tables: found_approval(tables, wanted))
    if options.json:
        say(json_line(whole_record(approval, before, store.clock.now())))
    else:
        say(*whole_view(store, approval, before, full=options.full).lines)
    return OK


def _only_one(store: "Store") -> str:
    waiting = waiting_ids(store)
    if not waiting:
        raise AnswerError("no question is waiting for an answer")
    if len(waiting) > 1:
        raise AnswerError(f"{count(waiting, 'question')} waiting for an answer: name one, as `approvals list` shows it")
    return waiting[0]


def _approve(store: "Store", options: Namespace) -> int:
    digest: str = options.digest
    if options.yes and not digest:
        raise AnswerError("--yes needs --digest: it stands below the whole call, `rightcall approvals show ID --full`")
    if at_a_terminal() and not options.yes:
        approval = show_question(store, options.id)
        if typed(f"approve {approval.id}? [y/N] ") not in YES:
            say(f"{approval.id} is not approved; it still waits.")
            return REFUSED
        digest = digest or approval.digest
    elif not digest:
        raise AnswerError(
            "there is no terminal to ask at: look at the whole call with `rightcall approvals show ID --full` "
            f"and name at least {LEAST_DIGEST} characters of the digest below it: --digest HEX"
        )
    say(answered(store, options, options.id, "approved", digest))
    return OK


def _deny(store: "Store", options: Namespace) -> int:
    if options.all:
        return _deny_all(store, options)
    for name in ("caller", "dry_run", "yes", "json"):
        if getattr(options, name):
            raise InputError(f"`--{'as' if name == 'caller' else name.replace('_', '-')}` needs `--all`")
    if options.id is None:
        raise InputError("name the question to deny, or pass `--all`")
    say(answered(store, options, options.id, "denied", reason=options.reason))
    return OK


def _deny_all(store: "Store", options: Namespace) -> int:
    """Those that wait at this moment: what is asked while it runs waits on, since nobody has seen it counted."""
    if options.id is not None:
        raise InputError("`--all` and an ID cannot be combined")
    if options.caller is not None and not options.caller.strip():
        raise InputError("`--as` is empty; nothing was denied. Name a caller, or leave `--as` out for all callers")
    ids = waiting_ids(store, options.caller)
    whose = "" if options.caller is None else f" of {named(options.caller)}"
    if options.dry_run:
        say(_denied_text(ids, f"{count(ids, 'question')}{whose} would be denied; nothing was changed", options))
        return OK
    if ids and options.caller is None and not options.yes:
        if not at_a_terminal():
            raise InputError("cannot prompt without a terminal; pass `--yes`, or name a caller with `--as CALLER`")
        if typed(f"deny {count(ids, 'question')} of all callers? [y/N] ") not in YES:
            say("Nothing was denied.")
            return REFUSED
    done = denied_all(store, options, ids) if ids else []
    none = "" if ids else " `rightcall approvals list` shows what waits, and whose it is."
    say(_denied_text(done, f"{count(done, 'question')}{whose} denied.{none}", options))
    return OK


def _denied_text(ids: list[str], text: str, options: Namespace) -> str:
    return json_line({"denied": [] if options.dry_run else ids, "matched": ids}) if options.json else text


def _watch(store: "Store", options: Namespace) -> int:
    from rightcall.cli.approvals_watch import watch

    return watch(store, options)


_ACTIONS = {"list": _list, "show": _show, "approve": _approve, "deny": _deny, "watch": _watch}

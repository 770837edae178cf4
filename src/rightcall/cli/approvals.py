"""List, show, approve or deny the calls that wait for a person, or watch for new ones."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from contextlib import closing
from secrets import token_hex
from time import sleep
from typing import Any, Final

from msgspec import DecodeError, json, to_builtins

from rightcall.base.letters import quoted, visible
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import (
    InputError,
    Parser,
    given_text,
    json_option,
    open_store,
    open_to_list,
    open_without_policy,
    pointed,
    policy_despite,
    policy_of,
    redactor_of,
    store_options,
    subcommands,
)
from rightcall.cli.pause import paused_line, state_record
from rightcall.cli.persons import (
    MOST_LISTED,
    YES,
    agrees,
    at_a_terminal,
    deny_all,
    fair_part,
    found_approval,
    give_answer,
    listing,
    person_option,
    read_word,
    render_name,
    show_question,
    summary_record,
    waiting_ids,
    who,
    whole_record,
    whole_view,
)
from rightcall.cli.terminal import Style, count, say, say_json, table, tell, wrap
from rightcall.errors import AnswerError
from rightcall.executor.question import time_left
from rightcall.policy.decide import can_match
from rightcall.policy.types import SECOND, ApprovalStatus, Grant
from rightcall.record.admission import (
    LEAST_DIGEST,
    RefusedCall,
    give_grant,
    refused_calls,
    release,
    release_all,
    require_answerable,
    revoke_grant,
)
from rightcall.record.tables import Store

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
    make, _ = subcommands(parser)

    lists = make("list", "List pending and unused approvals")
    lists.add_argument("--all", action="store_true", help="Also show denied, used and expired ones")
    lists.add_argument(
        "-n", "--limit", type=int, default=None, metavar="N",
        help=f"Show at most N, some of each caller (default: {MOST_LISTED}, with --json all; 0: all)",
    )  # fmt: skip
    json_option(lists)
    show = make("show", "Show one approval: caller, reason and call")
    show.add_argument("--full", action="store_true", help="Show the whole call, and its digest")
    json_option(show)
    approve = make("approve", "Approve exactly this call, once")
    for one in (show, approve):
        one.add_argument("id", nargs="?", metavar="ID", help="ID of the approval; optional if only one is pending")
    approve.add_argument(
        "--digest",
        metavar="HEX",
        default="",
        help=f"Approve by the digest from `show --full`; {LEAST_DIGEST} characters are enough",
    )
    approve.add_argument("--yes", action="store_true", help="With --digest: do not ask for confirmation")
    json_option(approve)
    deny = make("deny", "Deny one pending approval or all, or take back one that is unused")
    deny.add_argument("id", nargs="?", metavar="ID", help="ID of the approval, from `list`")
    deny.add_argument("--all", action="store_true", help="Deny every pending approval")
    deny.add_argument("--as", dest="caller", metavar="CALLER", help="With --all: only those of this caller")
    deny.add_argument("--reason", type=given_text, metavar="TEXT", default="", help="Record this reason (@FILE, -)")
    deny.add_argument("--dry-run", action="store_true", help="With --all: count them; deny none")
    deny.add_argument("--yes", action="store_true", help="With --all: do not ask for confirmation")
    json_option(deny)
    watch = make("watch", "Show new approvals and ask; without a terminal, print JSON lines")
    watch.add_argument("--once", action="store_true", help="Stop after those that are pending now")
    for one in (approve, deny, watch):
        person_option(one)
    for one in (lists, show, approve, deny, watch):
        store_options(one)


def run(options: Namespace) -> int:
    ways = {"approve": open_store, "list": open_to_list, "show": open_to_list}
    with closing(ways.get(options.action, open_without_policy)(options)) as store:
        return _ACTIONS[options.action](store, options)


def _list(store: "Store", options: Namespace) -> int:
    now = store.clock.now()
    found, held = store.look(lambda tables: (tables.approvals(*(() if options.all else _OPEN)), tables.paused()))
    if not options.all:
        found = [one for one in found if one.expires_at > now]
    most = _limit(options)
    record: dict[str, Any] = {"approvals": [summary_record(one, now) for one in fair_part(found, most)]}
    if held is not None:  # a yes then has no effect before calls run again
        record["paused"] = state_record(held)
    nothing = ["Nobody was ever asked." if options.all else "Nothing waits for an answer."]

    def lines(style: Style) -> list[str]:
        lines = [*paused_line(held), *(listing(found, now, style, most) if found else nothing)]
        return [pointed(line, options) for line in lines]

    tell(options, record, lines, guarded=True)
    return OK


def _limit(options: Namespace) -> int:
    """How many to list; 0 for all."""
    if options.limit is None:
        return 0 if options.json else MOST_LISTED
    if options.limit < 0:
        raise InputError(f"invalid value {options.limit} for `--limit`: expected 0 or more")
    return options.limit


def _show(store: "Store", options: Namespace) -> int:
    wanted: str = options.id or _only_one(store)
    approval, before = store.look(lambda tables: found_approval(tables, wanted))
    record = whole_record(approval, before, store.clock.now())
    tell(options, record, lambda _: whole_view(store, approval, before, full=options.full).lines, guarded=True)
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
    wanted: str = options.id or _only_one(store)
    waits, _ = store.look(lambda tables: found_approval(tables, wanted))
    require_answerable(waits, store.clock.now())  # an id that means nothing comes before a digest that is missing
    if options.yes and not digest:
        told = f"`--yes` needs `--digest HEX`: run `rightcall approvals show {waits.id} --full` to read it"
        raise AnswerError(pointed(told, options))
    if at_a_terminal() and not options.yes and not options.json:
        approval = show_question(store, waits.id)
        if not agrees(f"approve {approval.id}? [y/N] ", f"{approval.id} is not approved; it still waits."):
            return REFUSED
        digest = digest or approval.digest
    elif not digest:
        told = f"cannot prompt without a terminal: read the call with `rightcall approvals show {waits.id} --full` "
        told += f"and pass at least {LEAST_DIGEST} characters of its digest as `--digest HEX`"
        raise AnswerError(pointed(told, options))
    said = give_answer(store, options, waits.id, "approved", digest)
    tell(options, {"approved": waits.id, "caller": waits.caller, "tool": waits.tool}, lambda _: [said], guarded=True)
    return OK


def _deny(store: "Store", options: Namespace) -> int:
    if options.all:
        return _deny_all(store, options)
    for name in ("caller", "dry_run", "yes", "json"):
        if getattr(options, name):
            raise InputError(f"`--{'as' if name == 'caller' else name.replace('_', '-')}` needs `--all`")
    if options.id is None:
        raise InputError("name the question to deny, or pass `--all`")
    say(give_answer(store, options, options.id, "denied", reason=options.reason))
    return OK


def _deny_all(store: "Store", options: Namespace) -> int:
    """Those that wait at this moment: what is asked while it runs waits on, since nobody has seen it counted."""
    if options.id is not None:
        raise InputError("`--all` and an ID cannot be combined")
    if options.caller is not None and not options.caller.strip():
        raise InputError("`--as` is empty; nothing was denied. Name a caller, or leave `--as` out for all callers")
    ids = waiting_ids(store, options.caller)
    whose = "" if options.caller is None else f" of {render_name(options.caller)}"
    if options.dry_run:
        would = f"{count(ids, 'question')}{whose} would be denied; nothing was changed"
        tell(options, {"denied": [], "matched": ids}, lambda _: [would], guarded=True)
        return OK
    if ids and options.caller is None and not options.yes:
        if not at_a_terminal():
            raise InputError("cannot prompt without a terminal; pass `--yes`, or name a caller with `--as CALLER`")
        if not agrees(f"deny {count(ids, 'question')} of all callers? [y/N] ", "Nothing was denied."):
            return REFUSED
    done = deny_all(store, options, ids) if ids else []
    none = "" if ids else pointed(" Run `rightcall approvals list` to see pending approvals.", options)
    said = f"{count(done, 'question')}{whose} denied.{none}"
    tell(options, {"denied": done, "matched": done}, lambda _: [said], guarded=True)
    return OK


# ── approvals watch ──
# `approvals watch`: every new question as it comes, to somebody at a terminal or to a program as JSON lines.

EVERY = 0.5
"""Seconds between two looks."""

NO = ("n", "no")


def watch(store: "Store", options: Namespace) -> int:
    """Until Ctrl-C, which is how watching ends and so no failure."""
    terminal = at_a_terminal()
    if terminal:
        say("Waiting for questions; Ctrl-C ends.")
    told: set[str] = set()
    try:
        while True:
            waiting = waiting_ids(store)
            for new in (one for one in waiting if one not in told):
                if terminal:
                    _ask(store, options, new)
                else:
                    _print(store, new)
            told = set(waiting)
            if options.once:
                return OK
            sleep(EVERY)
    except KeyboardInterrupt:
        if terminal:
            say("")
        return OK


def _print(store: "Store", id: str) -> None:
    approval, before = store.look(lambda tables: found_approval(tables, id))
    say_json(whole_record(approval, before, store.clock.now()), guarded=True)
    sys.stdout.flush()


def _ask(store: "Store", options: Namespace, id: str) -> None:
    """A yes, a no, or anything else: the question stays. What goes wrong is told, and watching goes on."""
    try:
        approval = show_question(store, id)
        said = read_word(f"approve {id}? [y/N, Enter leaves it waiting] ")
        if said in YES:
            say(give_answer(store, options, id, "approved", approval.digest))
        elif said in NO:
            say(give_answer(store, options, id, "denied"))
        else:
            say(f"{id} still waits.")
    except AnswerError as error:
        say(f"not answered: {error}")
    say("")


_ACTIONS = {"list": _list, "show": _show, "approve": _approve, "deny": _deny, "watch": watch}


# ── grant terms ──
# The terms of a grant as they are written on the command line: conditions, how often, how long.

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST: Final = 30 * 86400
_MOST_USES: Final = 1_000_000
_TIME: Final = re.compile(r"([0-9]{1,9})([smhd])", re.ASCII)


def duration(text: str, longest: int = _LONGEST) -> int:
    """Seconds, `longest` at most; raises what argparse reports."""
    found = _TIME.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= longest:
        most = f"{longest // _UNITS['d']}d"
        raise ArgumentTypeError(f"invalid time {escaped(text, 40)!r}: expected 90s, 10m, 1h or 2d, at most {most}")
    return seconds


def uses(text: str) -> int:
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 0 < count <= _MOST_USES:
        raise ArgumentTypeError(f"invalid number of uses {escaped(text, 40)!r}: expected 1 to {_MOST_USES:,}")
    return count


def conditions(written: list[str]) -> dict[str, Any]:
    """The conditions by argument. Raises AnswerError for one that is not clear."""
    found: dict[str, Any] = {}
    for one in written:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise AnswerError(
                f"invalid value {escaped(one, 60)!r} for `--where`: expected NAME=VALUE, such as path=docs/*"
            )
        if name in found:
            raise AnswerError(f"`--where` names {escaped(name, 60)!r} twice: give one condition per argument")
        found[name] = _value(text)
        if isinstance(found[name], str) and "*" in found[name] and not can_match(found[name]):
            raise AnswerError(
                f"--where {escaped(one, 60)!r} can never match: a pattern matches no `..`, no invisible characters "
                f"and no line breaks"
            )
    return found


def _value(text: str) -> Any:
    try:
        return json.decode(text)
    except DecodeError:
        return text


def condition_text(where: Mapping[str, Any]) -> str:
    """The conditions in one line, so that text and number can be told apart."""
    return ", ".join(f"{quoted(name)} is {_written(value)}" for name, value in where.items())


def _written(value: Any) -> str:
    if isinstance(value, str):
        return ("like " if "*" in value else "") + quoted(value)
    return escaped(json.encode(value).decode())


HELP_GRANTS = """\
Permit calls of one tool by one caller in advance: for certain arguments, a number of uses and a time."""

EXAMPLES_GRANTS = """\
examples:
  rightcall grants list
  rightcall grants add --as teacher file/save --where 'path=docs/*.md' --uses 5 --for 1h
  rightcall grants add --as teacher send_mail --where to=team@example.com --where urgent=false
  rightcall grants revoke 3f9a1c2e

a condition: NAME=VALUE, where VALUE is JSON (3, true, "3", [1, 2]) or else plain text. In a text `*` matches any
characters but / and \\\\, `**` these too; neither matches `..`, dotfiles, invisible characters or signs of a shell.
Arguments without a condition may be anything.
"""


def arguments_grants(parser: ArgumentParser) -> None:
    action, _ = subcommands(parser)
    lists = action("list", "List the grants in force")
    json_option(lists)
    add = action("add", "Permit calls in advance")
    add.add_argument("--as", dest="caller", required=True, metavar="CALLER", help="Permit calls of this caller")
    add.add_argument("tool", metavar="TOOL", help="Exact name of the tool")
    add.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Permit only calls with this argument; repeatable",
    )
    add.add_argument("--uses", type=uses, default=1, metavar="N", help="Permit N calls (default: %(default)s)")
    add.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=3600,
        metavar="TIME",
        help="Permit for this time: 90s, 10m, 1h, 2d (default: 1h)",
    )
    add.add_argument(
        "--note", type=given_text, metavar="TEXT", default="", help="Record what the grant is for (@FILE, -)"
    )
    revoke = action("revoke", "Revoke a grant")
    revoke.add_argument("id", metavar="ID", help="ID of the grant, from `list`")
    for one in (add, revoke):
        json_option(one)
        person_option(one)
    for one in (lists, add, revoke):
        store_options(one)


def run_grants(options: Namespace) -> int:
    lists = options.action == "list"
    with closing(open_to_list(options) if lists else open_store(options, create=options.action == "add")) as store:
        return _ACTIONS_GRANTS[options.action](store, options)


def _list_grants(store: "Store", options: Namespace) -> int:
    now = store.clock.now()
    found = [one for one in store.look(lambda tables: tables.all_grants()) if one.expires_at > now]
    record = {"grants": [_record(one, now) for one in found]}
    nothing = ["Nothing is granted in advance."]
    tell(options, record, lambda style: _listing(found, now, style) if found else nothing, guarded=True)
    return OK


def _add(store: "Store", options: Namespace) -> int:
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
    record = _record(grant, store.clock.now())
    tell(options, record, lambda style: _describe_grant(grant, options, style), guarded=True)
    return OK


def _describe_grant(grant: Grant, options: Namespace, style: Style) -> list[str]:
    """What was just granted, in so many words."""
    conditions = condition_text(grant.where)
    where = f"where {conditions}; any other argument may be anything" if conditions else "with ANY arguments"
    times = "once" if grant.uses == 1 else f"{grant.uses:,} times"
    said = f"{grant.id}: {visible(grant.caller)} may call {visible(grant.tool)} {times} {where}."
    return [
        line
        for text in (said, pointed(f"Revoke it with `rightcall grants revoke {grant.id}`.", options))
        for line in wrap(text, style.width)
    ]


def _revoke(store: "Store", options: Namespace) -> int:
    by = who(options)
    gone = store.transact(lambda tables: revoke_grant(tables, options.id, by))
    said = f"{gone.id} is revoked: {render_name(gone.caller)} needs approval again for {render_name(gone.tool)}."
    tell(options, {"revoked": gone.id, "caller": gone.caller, "tool": gone.tool}, lambda _: [said], guarded=True)
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
        [one.id, render_name(one.caller), render_name(one.tool), condition_text(one.where) or "any arguments",
         str(one.uses), time_left(one.expires_at, now), render_name(one.by)]
        for one in grants
    ]  # fmt: skip
    header = ["id", "caller", "tool", "where", "uses left", "time left", "by"]
    return [*table(header, rows, style, left=4), count(grants, "grant")]


_ACTIONS_GRANTS = {"list": _list_grants, "add": _add, "revoke": _revoke}


_DIGEST = 12


def arguments_quarantine(parser: ArgumentParser) -> None:
    action, _ = subcommands(parser, parser_class=Parser)
    lists = action("list", "List the calls in quarantine")
    lists.add_argument("--all", action="store_true", help="Show every call refused within the last hour")
    json_option(lists)
    out = action("release", "Release a call, so that it is checked again")
    out.add_argument("caller", nargs="?", metavar="CALLER", help="Caller, from `list`")
    out.add_argument("digest", nargs="?", metavar="DIGEST", help="Digest of the call, at least 8 characters")
    out.add_argument("--all", action="store_true", help="Release every call")
    json_option(out)
    person_option(out)
    for one in (lists, out):
        store_options(one)


def run_quarantine(options: Namespace) -> int:
    if options.action == "list":
        with closing(open_to_list(options)) as store:
            return _list_quarantine(store, options)
    with closing(open_without_policy(options)) as store:
        return _release(store, options)


def _list_quarantine(store: "Store", options: Namespace) -> int:
    most = policy_despite(options).settings.quarantine
    if not most and not options.all:
        found: list[RefusedCall] = []
    else:
        found = store.look(lambda tables: refused_calls(tables, 1 if options.all else most))
    record = {"calls": [to_builtins(one) | {"quarantined": 0 < most <= one.refusals} for one in found]}
    nothing = ["No call is in quarantine." if most else "The policy puts no call in quarantine."]
    tell(options, record, lambda style: _listing_quarantine(found, most, style) if found else nothing, guarded=True)
    return OK


def _listing_quarantine(found: list[RefusedCall], most: int, style: Style) -> list[str]:
    rows = [
        [render_name(one.caller), one.digest[:_DIGEST], render_name(one.tool) or "-", str(one.refusals),
         render_name(one.rule), "yes" if 0 < most <= one.refusals else "no"]
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
        raise AnswerError("name a caller and a digest, as `rightcall policy quarantine list` shows them, or --all")
    else:
        freed = [store.transact(lambda tables: release(tables, options.caller, options.digest, by, callers))]
    tell(options, {"released": len(freed)}, lambda _: [f"{count(freed, 'call')} released."], guarded=True)
    return OK

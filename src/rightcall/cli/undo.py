"""Take back what a tool has written, while nothing newer depends on it; without ID: the last changes."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK, REFUSED
from rightcall.cli.answering import YES
from rightcall.cli.desks import believed_desk, desk_of
from rightcall.cli.options import json_option
from rightcall.cli.persons import at_a_terminal, person_option, typed, who
from rightcall.cli.questions import json_line, named
from rightcall.cli.spelling import spelled, spelled_lines
from rightcall.cli.store_options import open_store, policy_of, store_options
from rightcall.cli.terminal import Style, say, style_for, table, wrap
from rightcall.errors import ConfigError, ToolFailure
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.changes import Change
    from rightcall.execute.write.desk import Desk, Worker
    from rightcall.execute.write.journal import Filed
    from rightcall.record.tables import Store

EXAMPLES = """\
examples:
  rightcall undo
  rightcall undo c-7f3a9b2e
  rightcall undo c-7f3a9b2e --yes --json
"""

_MOST = 20
_SUMMARY = 60


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="the change, as a tool or the list names it")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--limit", type=_counted, default=_MOST, metavar="N", help=f"changes to list (default {_MOST})")
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="believe a desk that was copied here from elsewhere: it holds what an undo would write",
    )
    json_option(parser, "what there is or what was done")
    person_option(parser)
    store_options(parser)


def _counted(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{escaped(text, 40)!r} is no number of changes; give 1 or more")
    return number


def run(options: Namespace) -> int:
    if options.adopt:
        return _adopt(desk_of(options), options)
    desk = believed_desk(options)
    if options.id is None:
        return _list(desk, options)
    return _undo(desk, options)


def _adopt(desk: "Desk", options: Namespace) -> int:
    from rightcall.execute.write.desk_opening import adopt, distrust

    if not os.path.isdir(desk.folder) or os.path.islink(desk.folder):
        unread = "" if os.path.lexists(desk.folder) else distrust(desk.folder)
        raise ConfigError(unread or f"there is no desk at {desk.folder}")
    _note(options, "desk adopted", {"folder": desk.folder})
    adopt(desk.folder)
    say(f"{desk.folder} is believed from now on.")
    return OK


def _list(desk: "Desk", options: Namespace) -> int:
    found = [(one, _why_not(desk, one.id)) for one in desk.changes(options.limit)]
    damaged = desk.damaged()
    if options.json:
        say(json_line({"changes": [_record(change, why) for change, why in found], "damaged": damaged}))
        return OK
    if found:
        say(*_listing(found, style_for(sys.stdout)))
    elif not damaged:
        say("Nothing was changed yet.")
    if damaged:
        say("Interrupted, damaged and not taken back; what is left of each:", *(f"  {spelled(one)}" for one in damaged))
    return OK


def _why_not(desk: "Desk", id: str) -> str:
    from rightcall.execute.write.undoing import why_not

    return why_not(desk, desk.filed(id))


def _record(change: "Change", why: str) -> dict[str, Any]:
    return {
        "id": change.id, "at": change.at, "by": change.caller, "tool": change.tool, "summary": change.summary,
        "files": [one.path for one in change.files], "branches": [one.name for one in change.refs],
        "undoes": change.undoes, "undone": change.undone, "canUndo": not why, "why": why,
    }  # fmt: skip


def _listing(found: list[tuple["Change", str]], style: Style) -> list[str]:
    rows = [
        [one.id, one.at.replace("T", " ").rstrip("Z"), named(one.caller), spelled(one.summary, _SUMMARY),
         "yes" if not why else "undone" if one.undone else "no"]
        for one, why in found
    ]  # fmt: skip
    lines = table(["id", "when (UTC)", "by", "what", "can be undone"], rows, style, left=5)
    reasons = [f"{one.id}: {why}" for one, why in found if why and not one.undone]
    lines += [piece for reason in reasons for piece in wrap(spelled(reason), style.width)]
    return [*lines, "`rightcall undo ID` shows what it would change, and asks."]


def _undo(desk: "Desk", options: Namespace) -> int:
    from rightcall.execute.write.undoing import preview, why_not

    filed = desk.filed(options.id)
    why = why_not(desk, filed)
    if why:
        return _refused(options, why)
    if not options.yes and not _agreed(options, filed, preview(desk, filed)):
        return REFUSED
    shown = preview(desk, filed) if options.json else ""
    with desk.working() as worker:
        if why := why_not(desk, desk.filed(options.id)):
            return _refused(options, why)
        done = _done(worker, options, filed)
    if options.json:
        say(json_line({"ok": True, "undone": options.id, "change": done.id, "diff": shown}))
        return OK
    say(*worker.notes, f"{options.id} is undone. `rightcall undo {done.id}` takes that back.")
    return OK


def _refused(options: Namespace, why: str) -> int:
    if options.json:
        say(json_line({"ok": False, "undone": None, "why": why}))
    else:
        say(f"{spelled(options.id)} cannot be undone: {spelled(why)}.")
    return REFUSED


def _agreed(options: Namespace, filed: "Filed", diff: str) -> bool:
    entry = filed.entry
    if options.json or not at_a_terminal():
        raise ConfigError(f"there is no terminal to ask at: say --yes to undo {options.id}")
    say(f"{entry.id}, {entry.at}, {named(entry.caller)}: {spelled(entry.summary, 200)}", "This would be changed:", "")
    say(*spelled_lines(diff), "")
    if typed("undo it? [y/N] ") in YES:
        return True
    say("Nothing was changed.")
    return False


def _done(worker: "Worker", options: Namespace, filed: "Filed") -> "Change":
    """The record comes first: what is not recorded does not happen."""
    entry = filed.entry
    about = {"change": entry.id, "tool": entry.tool, "caller": entry.caller, "summary": entry.summary}
    by = _note(options, "undo", about)
    try:
        return worker.undo(entry.id, by=by)
    except ToolFailure as error:
        _note(options, "undo failed", about | {"error": str(error)})
        raise


def _note(options: Namespace, what: str, about: dict[str, Any]) -> str:
    """Note in the audit what a person does; returns who. The only place where this command writes to it."""
    from rightcall.record.asking import person
    from rightcall.record.notes import note_change

    by, callers = who(options), tuple(policy_of(options).settings.callers)
    person(by, "", callers)
    store: Store = open_store(options, create=True)
    try:
        store.transact(lambda tables: note_change(tables, what, by, about))
    finally:
        store.close()
    return by

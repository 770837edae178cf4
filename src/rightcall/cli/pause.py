"""Stop every tool call at once: all processes on the store refuse all calls until `rightcall resume`. Calls that run
already end by themselves."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.pause_places import Places, places_of
from rightcall.cli.persons import person_option, who
from rightcall.cli.store_options import Looking, store_options
from rightcall.cli.terminal import say
from rightcall.errors import ConfigError, StoreError
from rightcall.text.escape import escaped
from rightcall.trust.stops import put_stop, stopped
from rightcall.trust.telling import speak_on_stderr, warn
from rightcall.types_running import Pause

if TYPE_CHECKING:
    from rightcall.record.tables import Store
    from rightcall.text.redact import Redactor

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
        help="all that you run on this machine, also what has no policy file and no store",
    )
    person_option(parser)
    json_option(parser, "the state of each store")
    store_options(parser)


def run(options: Namespace) -> int:
    places = places_of(options, "pause")
    if options.status:
        return report_each(options, places, _state, only_looks=True)
    from rightcall.record.pause import check_operator, pause

    callers = tuple(places.settings.callers)
    check_operator(who(options), "", callers)
    changed = False
    try:
        changed = places.everywhere and stop_everywhere(options, places)
    except ConfigError as fault:  # the stores that can be reached are stopped all the same
        places = replace(places, fault=places.fault or fault)

    def stop(store: "Store") -> dict[str, Any]:
        reason = said_reason(options, places, store)
        held, new = store.transact(lambda tables: pause(tables, who(options), reason, callers))
        kept = reason if not new and reason and reason != held.reason else ""
        return state_record(held) | {"changed": new} | ({"unused_reason": kept} if kept else {})

    return report_each(options, places, stop, create=True, changed=changed)


def stop_everywhere(options: Namespace, places: Places) -> bool:
    """Before any store: what has one then finds the stop at once. Whether there was none yet."""
    from datetime import UTC, datetime

    from rightcall.text.redact import Redactor

    if stopped() is not None:
        return False
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    reason = _plain_reason(options.reason, Redactor(os.urandom(32), places.settings.audit.redact))
    keep_everywhere(Pause(who(options), at, reason))
    return True


def reach_told() -> str:
    """What a process must share to be stopped: where it looks for the stop."""
    if sys.platform == "win32":
        return f"the profile {os.path.expanduser('~')}"
    state = os.environ.get("XDG_STATE_HOME", "")
    told = f"HOME={os.path.expanduser('~')}"
    return f"{told} or XDG_STATE_HOME={state}" if os.path.isabs(state) else told


def keep_everywhere(pause: Pause | None) -> None:
    try:
        put_stop(pause)
    except OSError as fault:
        raise ConfigError(
            f"{escaped(fault.filename or 'the state folder')} cannot be written, so this does not hold everywhere: "
            f"{fault.strerror or fault}. "
            "Stop each store by itself: rightcall pause --db FILE"
        ) from None


def _state(store: "Store | Looking") -> dict[str, Any]:
    return state_record(store.look(lambda tables: tables.own_pause()))


def said_reason(options: Namespace, places: Places, store: "Store") -> str:
    """The reason as it is recorded: without what looks like a secret, on one line, and not too long. Whatever is wrong
    with it stops nothing."""
    if not options.reason:
        return ""
    from rightcall.text.redact import Redactor

    return _plain_reason(options.reason, Redactor(store.key(), places.settings.audit.redact))


def _plain_reason(reason: str, redactor: "Redactor") -> str:
    from rightcall.record.pause import LONGEST_REASON

    plain = "".join(one if one.isprintable() else " " for one in str(redactor.value(reason))).strip()
    plain = str(redactor.value(plain))
    if len(plain) > LONGEST_REASON:
        warn(f"the reason was shortened to {LONGEST_REASON} characters")
        plain = plain[: LONGEST_REASON - 1].rstrip() + "…"
    if not reason.strip().isprintable():
        warn("the reason was recorded on one line: line breaks and control characters became spaces")
    return plain


def state_record(held: Pause | None) -> dict[str, Any]:
    if held is None:
        return {"paused": False, "since": None, "by": None, "reason": None}
    return {"paused": True, "since": held.since, "by": held.by, "reason": held.reason or None}


def report_each(
    options: Namespace, places: Places, work: Callable[[Any], dict[str, Any]], *, create: bool = False,
    only_looks: bool = False, changed: bool = False,
) -> int:  # fmt: skip
    """Do it to every store the options reach, also when one of them cannot be used; that one is told last. Where there
    is none, only a stop makes one: it holds for whoever comes."""
    from rightcall.record.origin import refuse_leaving
    from rightcall.record.sqlite import SqliteStore
    from rightcall.record.sqlite_faults import unusable, way_out
    from rightcall.record.sqlite_identity import lost

    speak_on_stderr()
    for note in places.notes:
        warn(note)
    done: list[dict[str, Any]] = []
    faults: list[StoreError | ConfigError] = []
    for place in places.places:
        try:
            file = Path(place.path).resolve()
            if problem := lost(file):
                raise unusable(file, problem, way_out(file), "replaced")
            if not (create and place.create) and not os.path.exists(place.path):
                done.append({"store": place.path} | state_record(None) | {"changed": False})
                continue
            if place.found_in is not None:
                refuse_leaving(place.path, place.found_in)
            found = place.found_in is not None
            opened = Looking(place.path, found=found) if only_looks else SqliteStore(file, found=found)
            with closing(opened):
                done.append({"store": place.path} | work(opened))
        except StoreError as fault:
            faults.append(fault)
    whole = state_record(stopped()) | {"changed": changed}
    if options.json:
        say(json_text({"stores": done, "everywhere": whole}, ascii_only=not is_unicode(sys.stdout)))
    else:
        say(*_describe_stores(done, whole))
    faults += [] if places.fault is None else [places.fault]
    if faults:
        raise faults[0]
    return OK


def _describe_stores(stores: list[dict[str, Any]], whole: dict[str, Any]) -> Iterator[str]:
    if whole["paused"] or whole["changed"]:
        yield from _lines({"store": "everything that you run on this machine", **whole}, " --everywhere")
        yield f"This holds for what runs with {escaped(reach_told())}; for another one, give it to this command too."
    for one in stores:
        yield from _lines(one)


def _lines(one: dict[str, Any], reach: str = "") -> Iterator[str]:
    if not one["paused"]:
        yield f"{'Calls may run again' if one.get('changed') else 'Calls are not paused'}: {escaped(one['store'])}"
        return
    state = "already paused" if one.get("changed") is False else "paused"
    why = f": {escaped(one['reason'])}" if one["reason"] else ""
    yield f"All calls are {state} since {one['since']} UTC by {escaped(one['by'])}{why} ({escaped(one['store'])})"
    if one.get("unused_reason"):
        yield "The first reason stays on record; yours was not recorded. To change it, resume and pause again."
    yield f"Run `rightcall resume{reach}`{'' if reach else ' with the same options'} to let calls run again."


def paused_line(held: Pause | None) -> list[str]:
    """What other commands say first while everything is paused."""
    if held is None:
        return []
    why = f": {escaped(held.reason)}" if held.reason else ""
    return [f"PAUSED since {held.since} UTC by {escaped(held.by)}{why}. `rightcall resume` lets calls run again."]

"""Stop every tool call at once: all processes on the store refuse all calls until `rightcall resume`. Calls that run
already end by themselves. In a folder without a policy file, here or above, this stops everything that you run on this
machine, as --everywhere does; at a terminal you are asked first."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import Looking, given_text, is_server, json_option, pointed, store_options
from rightcall.cli.pause_places import Place, Places, places_of
from rightcall.cli.persons import agrees, at_a_terminal, person_option, who
from rightcall.cli.terminal import tell
from rightcall.errors import ConfigError, StoreError
from rightcall.policy.trust import folder_stop, put_stop, speak_on_stderr, stopped, stops_above, warn
from rightcall.policy.types import Pause
from rightcall.record.admission import LONGEST_REASON, check_operator, pause, resume
from rightcall.record.tables import Store

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor

Word = Literal["pause", "resume", "status"]


EXAMPLES = """\
examples:
  rightcall pause --reason "the agent deletes files"
  rightcall pause --everywhere
  rightcall pause --status
  rightcall resume
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--status", action="store_true", help="Only show whether calls are paused")
    common_arguments(parser)


def common_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", type=given_text, metavar="TEXT", default="", help="Record this reason (@FILE, -)")
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="Include everything you run on this machine, also without policy or store",
    )
    person_option(parser)
    json_option(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    places = places_of(options, "pause")
    if options.status:
        return report_each(options, places, _state, "status")
    callers = tuple(places.settings.callers)
    check_operator(who(options), "", callers)
    if places.everywhere and not options.everywhere and at_a_terminal():
        question = "This folder has no policy file: stop everything that you run on this machine? [y/N] "
        if not agrees(
            question, "Nothing was stopped. For one project pass `--root DIR`, for one store `--store FILE`."
        ):
            return OK
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

    return report_each(options, places, stop, "pause", changed=changed)


def stop_everywhere(options: Namespace, places: Places) -> bool:
    """Before any store: what has one then finds the stop at once. Whether there was none yet."""
    if stopped() is not None:
        return False
    keep_everywhere(_pause_now(options, places))
    return True


def _pause_now(options: Namespace, places: Places) -> Pause:
    """A stop that no store holds."""
    from rightcall.base.secrets import Redactor

    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Pause(
        who(options), at, _plain_reason(options.reason, Redactor(os.urandom(32), places.settings.audit.redact))
    )


def _stop_folder(options: Namespace, places: Places, place: Place) -> dict[str, Any] | None:
    """Where the store of a folder cannot be written: what finds it there is stopped all the same, now and once it can
    be written again. None where nobody can be stopped so."""
    if place.found_in is None or is_server(place.path):
        return None
    name = folder_stop(place.found_in)
    if (held := stopped(name)) is not None:
        return state_record(held) | {"changed": False}
    try:
        put_stop(held := _pause_now(options, places), name)
    except OSError:
        return None
    return state_record(held) | {"changed": True}


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
            "Stop each store by itself: rightcall pause --store FILE"
        ) from None


def _state(store: "Store | Looking") -> dict[str, Any]:
    return state_record(store.look(lambda tables: tables.own_pause()))


def said_reason(options: Namespace, places: Places, store: "Store") -> str:
    """The reason as it is recorded: without what looks like a secret, on one line, and not too long. Whatever is wrong
    with it stops nothing."""
    if not options.reason:
        return ""
    from rightcall.base.secrets import Redactor

    return _plain_reason(options.reason, Redactor(store.key(), places.settings.audit.redact))


def _plain_reason(reason: str, redactor: "Redactor") -> str:
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


def _on_server(url: str, *, only_looks: bool) -> Any:
    from rightcall.record.postgres import PostgresReader, PostgresStore  # late: it needs an extra

    return PostgresReader(url) if only_looks else PostgresStore(url)


def report_each(
    options: Namespace, places: Places, work: Callable[[Any], dict[str, Any]], word: Word, *, changed: bool = False
) -> int:
    """Do it to every store the options reach, also when one of them cannot be used; that one is told last. Where there
    is none, only a stop makes one: it holds for whoever comes."""
    speak_on_stderr()
    for note in places.notes:
        warn(note)
    done: list[dict[str, Any]] = []
    missed: list[dict[str, Any]] = []
    faults: list[StoreError | ConfigError] = []
    whole = state_record(stopped()) | {"changed": changed}
    for place in places.places:
        try:
            done.append({"store": place.path} | _reached(place, work, word))
        except (StoreError, ConfigError) as fault:
            held = _stop_folder(options, places, place) if word == "pause" else None
            done += [] if held is None else [{"store": place.path} | held]
            told = fault if word == "status" else _not_done(options, place.path, word, fault)
            if word == "pause" and (held is not None or (whole["paused"] and not is_server(place.path))):
                told = StoreError(f"this pause holds, but it is not recorded: {fault}")
            missed.append({"store": place.path, "why": str(told)})
            faults.append(told)
    left = [one for place in places.places if place.found_in is None for one in _folders_left(place.path)]
    tell(
        options,
        {"stores": done, "everywhere": whole, "folders": left, "not_reached": missed},
        lambda _: _describe(options, Reached(done, whole, left, any(is_server(one["store"]) for one in missed)), word),
    )
    faults += [] if places.fault is None else [places.fault]
    for other in faults[1:]:
        warn(str(other))
    if faults:
        raise faults[0]
    return OK


def _reached(place: Place, work: Callable[[Any], dict[str, Any]], word: Word) -> dict[str, Any]:
    from rightcall.record.identity import lost, refuse_leaving
    from rightcall.record.sqlite import SqliteStore
    from rightcall.record.sqlite_file import unusable, way_out

    if is_server(place.path):
        with closing(_on_server(place.path, only_looks=word == "status")) as opened:
            return work(opened)
    file = os.path.realpath(place.path)
    if problem := lost(file):
        raise unusable(file, problem, way_out(file), "replaced")
    if not (word == "pause" and place.create) and not os.path.exists(place.path):
        return _without_store(place, word)
    if place.found_in is not None:
        refuse_leaving(place.path, place.found_in)
    found = place.found_in or False
    with closing(Looking(place.path, found=found) if word == "status" else SqliteStore(file, found=found)) as opened:
        return work(opened)


def _without_store(place: Place, word: Word) -> dict[str, Any]:
    """The folder of a store that is not there may be stopped all the same. Nobody can record that this ends."""
    held = None if place.found_in is None else stopped(folder_stop(place.found_in))
    if held is None or place.found_in is None or word != "resume":
        return state_record(held) | {"changed": False}
    put_stop(None, folder_stop(place.found_in))
    return state_record(None) | {"changed": True}


def _folders_left(path: str) -> Iterator[dict[str, Any]]:
    """The stops of folders above a store that somebody named: they hold for what finds a store there."""
    if not is_server(path):
        yield from ({"folder": folder} | state_record(held) for folder, held in stops_above(path).items())


def _not_done(options: Namespace, path: str, word: Word, fault: StoreError | ConfigError) -> StoreError:
    """In words that nobody takes for a stop that will hold once the store can be used again."""
    from rightcall.record.postgres.connection import read_address

    if not is_server(path) or not isinstance(fault, StoreError):  # without its driver, nobody reads a server's address
        whole = word == "pause" and not options.everywhere
        more = " To stop everything that you run, use: rightcall pause --everywhere" if whole else ""
        return StoreError(f"NOT {word}d: {str(fault).rstrip('.')}.{more}", getattr(fault, "fault", "failed"))
    why = str(fault)
    if fault.fault == "unreachable":
        again = pointed(f"Run `rightcall {word}` again when it is back", options)
        why = f"it cannot be reached. {again}{', or stop the nodes' if word == 'pause' else ''}."
    return StoreError(f"NOT {word}d on {read_address(path).shown}: {why}", fault.fault)


class Reached(Struct, frozen=True):
    """What became of everything that the options reach."""

    stores: list[dict[str, Any]]
    whole: dict[str, Any]
    folders: list[dict[str, Any]]
    without_server: bool
    """Whether a store on a server, with which nodes work, could not be used."""


def _describe(options: Namespace, reached: Reached, word: Word) -> Iterator[str]:
    """How it is now, and the one command that lets all of it go on."""
    stores, whole = reached.stores, reached.whole
    if whole["paused"] or whole["changed"]:
        yield _line({"store": "everything that you run on this machine", **whole}, word)
        yield f"This holds for what runs with {escaped(reach_told())}; for another one, give it to this command too."
    for one in stores:
        if reached.without_server and one["paused"] and not whole["paused"]:
            yield f"Only what uses {escaped(one['store'])} is paused."
            continue
        yield _line(one, word)
        if one.get("unused_reason"):
            yield "The first reason stays on record; yours was not recorded. To change it, resume and pause again."
    if whole["paused"] or (not reached.without_server and any(one["paused"] for one in stores)):
        reach = " --everywhere" if whole["paused"] else ""
        yield pointed(f"Run `rightcall resume{reach}` to let calls run again.", options)
    for one in reached.folders:
        yield _line({"store": f"what finds its audit log in {one['folder']}", **one}, word)
        yield f"Run `rightcall resume --root {escaped(quote(one['folder']))}` to let its calls run again."


def _line(one: dict[str, Any], word: Word) -> str:
    if not one["paused"]:
        return f"{'Calls may run again' if one.get('changed') else 'Calls are not paused'}: {escaped(one['store'])}"
    already = "already " if word == "pause" and one.get("changed") is False else ""
    state = "still paused" if word == "resume" else f"{already}paused"
    why = f": {escaped(one['reason'])}" if one["reason"] else ""
    return f"All calls are {state} since {one['since']} UTC by {escaped(one['by'])}{why} ({escaped(one['store'])})"


def paused_line(held: Pause | None, command: str = "") -> list[str]:
    """What other commands say first while everything is paused."""
    if held is None:
        return []
    command = command or f"rightcall resume{' --everywhere' if held == stopped() else ''}"
    why = f": {escaped(held.reason)}" if held.reason else ""
    return [f"PAUSED since {held.since} UTC by {escaped(held.by)}{why}. Run `{command}` to let calls run again."]


HELP_RESUME = """\
Let tool calls run again after `rightcall pause`."""

EXAMPLES_RESUME = """\
examples:
  rightcall resume
  rightcall resume --everywhere --reason "the prompt is fixed"
"""


def arguments_resume(parser: ArgumentParser) -> None:
    common_arguments(parser)


def run_resume(options: Namespace) -> int:
    places = places_of(options, "resume")
    callers = tuple(places.settings.callers)
    check_operator(who(options), "", callers)
    changed = places.everywhere and stopped() is not None
    if changed:
        keep_everywhere(None)

    def let_go(store: "Store") -> dict[str, Any]:
        reason = said_reason(options, places, store)
        ended = store.transact(lambda tables: resume(tables, who(options), reason, callers))
        return state_record(None) | {"changed": ended is not None}

    return report_each(options, places, let_go, "resume", changed=changed)

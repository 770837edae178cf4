"""Stop every tool call at once: all processes on the store refuse all calls until `rightcall resume`. Calls that run
already end by themselves. In a folder without a policy file, here or above, this stops everything that you run on this
machine, as --everywhere does; at a terminal you are asked first."""

import os
import re
import sys
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import (
    Looking,
    database_of,
    given_text,
    is_server,
    json_option,
    pointed,
    policy_of,
    policy_path,
    server_of,
    store_options,
)
from rightcall.cli.persons import agrees, at_a_terminal, person_option, who
from rightcall.cli.terminal import tell
from rightcall.errors import ConfigError, PolicyError, StoreError
from rightcall.policy.trust import listed, put_stop, recall, speak_on_stderr, stopped, warn
from rightcall.policy.types import Pause
from rightcall.record.admission import LONGEST_REASON, check_operator, pause, resume
from rightcall.record.tables import Store

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor
    from rightcall.policy.settings import Settings


# ── where the pause holds ──
# The stores that `pause` and `resume` reach, also where the policy file cannot be read: an emergency stop must not
# fail over a typing error.
#
#     --store FILE ───────────────────────▶ that store, which must be there
#     a policy, here or above ─────────▶ the store that it names, which a stop may make
#     a policy that cannot be read ────▶ every store that it is likely to mean and that is there
#     no policy ───────────────────────▶ the store of this folder, where there is one, that of hooks without a policy,
#                                        and everything else of this user: `wrap` and `proxy` may have no store here

_USUAL: Final = os.path.join(".rightcall", "audit.db")
_PATH_LINE: Final = re.compile(r"""^\s*path\s*=\s*(["'])(?P<path>[^"'\n]{1,1000})\1""")


class Place(Struct, frozen=True):
    """One store."""

    path: str
    found_in: str | None = None
    """The folder that it may have come with, which somebody else may have filled; None where somebody named it."""
    create: bool = False
    """Whether a stop makes it where it is missing: then the process that comes first finds it."""


class Places(Struct, frozen=True):
    """All of them, what a person should know of the choice, and what makes the command fail once they are done."""

    places: tuple[Place, ...]
    settings: "Settings"
    everywhere: bool = False
    """Whether all processes of this user are meant."""
    notes: tuple[str, ...] = ()
    fault: ConfigError | None = None


def places_of(options: Namespace, word: str) -> Places:
    """What `rightcall <word>` reaches. ConfigError where a folder or a store that was named is missing."""
    if not os.path.isdir(options.root):
        raise ConfigError(f"no such folder: {escaped(options.root)}; nothing was changed. Check `--root`")
    if options.store is not None:
        return _named(options)
    looked = os.path.abspath(options.root)
    if options.policy is None:
        from rightcall.hosts.hooks.place import policy_of_project

        policy = policy_of_project(looked)
        if policy is None:
            return _without_policy(looked)
        options.root = os.path.dirname(policy)
    return _with_policy(options, word, looked)


def _named(options: Namespace) -> Places:
    from rightcall.policy.settings import DEFAULT_POLICY
    from rightcall.record.identity import lost

    path = options.store if is_server(options.store) else os.path.abspath(options.store)
    if not is_server(path) and not os.path.exists(path) and not lost(os.path.realpath(path)):
        raise ConfigError(f"no audit log at {escaped(path)}; nothing was changed. Check `--store`")
    try:
        settings = policy_of(options).settings
    except ConfigError:
        settings = DEFAULT_POLICY.settings
    return Places((Place(path), *_of_hooks(options)), settings, options.everywhere)


def _without_policy(looked: str) -> Places:
    """Hooks of projects without a policy share one store, which is this project's too; and what has no store at all is
    reached with everything else only."""
    from rightcall.policy.settings import DEFAULT_POLICY

    own = _store_above(looked)
    stores = (*([] if own is None else [_place_at(own)]), _hooks_place())
    note = (
        f"{escaped(looked)} has no policy file, here or above, so this is meant for everything that you run on this "
        "machine. For one project pass `--root DIR`, for one store `--store FILE`"
    )
    return Places(stores, DEFAULT_POLICY.settings, True, (note,))


def _with_policy(options: Namespace, word: str, looked: str) -> Places:
    from rightcall.record.memory import found_folder

    nearer = [one] if options.policy is None and (one := _store_above(looked)) is not None else []
    try:
        policy = policy_of(options)
    except PolicyError as wrong:
        return _despite(options, word, wrong, nearer)
    path = server_of(options) or os.path.abspath(database_of(options))
    folder = found_folder(policy, policy_path(options), options.root)
    places = [Place(path, folder, create=True), *(_place_at(one) for one in nearer if one != path)]
    notes = (
        ()
        if options.everywhere or options.policy is not None or looked == os.path.abspath(options.root)
        else (_below(looked, word),)
    )
    return Places(
        (*places, *_of_hooks(options)), policy.settings, options.everywhere, notes,
        fault=_untrusted(options, word, path),
    )  # fmt: skip


def _below(looked: str, word: str) -> str:
    """Hooks look for a policy above them, commands do not."""
    return (
        f"{escaped(looked)} has no policy file of its own, so what was started there without one (`wrap`, `serve`, "
        f"`mcp`) is not reached. To reach everything that you run, use: rightcall {word} --everywhere"
    )


def _place_at(usual: str) -> Place:
    """A store at the usual place of a folder."""
    return Place(usual, os.path.dirname(os.path.dirname(usual)))


def _untrusted(options: Namespace, word: str, path: str) -> ConfigError | None:
    """Where the file names another store than the one that was reached, since nobody trusts it: processes that were
    started with `--policy` use that one."""
    file = policy_path(options)
    if file is None or policy_of(options).standing != "tightened":
        return None
    said = _said_path(file)
    if said is None or os.path.abspath(said) == path:
        return None
    return ConfigError(
        f"{escaped(file)} names another audit log, {escaped(said)}, and is not trusted: processes started with "
        f"`--policy` use that one, and it was not reached. To reach them as well, run: rightcall {word} --everywhere"
    )


def _despite(options: Namespace, word: str, wrong: ConfigError, nearer: list[str]) -> Places:
    """Without a policy that can be read: every store that is there and that this policy may have named."""
    from rightcall.policy.settings import DEFAULT_POLICY

    file = policy_path(options) or ""
    folder = os.path.dirname(os.path.abspath(file))
    usual = os.path.join(folder, _USUAL)
    known = [*nearer, usual, *_known_below(folder)]
    said = _said_path(file)
    unsure: str = ""
    if said is not None:
        believed = options.policy is not None or _lies_below(said, folder) or _used_before(said)
        known += [os.path.abspath(said)] if believed else []
        unsure = "" if believed else f" --store {quote(os.path.abspath(said))}"
    there = [one for one in dict.fromkeys(known) if _is_there(one)]
    command = f"rightcall {word}{unsure or ' --store FILE'}"
    if not there:
        raise ConfigError(
            f"the policy cannot be used ({wrong}), and no audit log is at {escaped(usual)}, so nothing was "
            f"changed. Name the audit log: {escaped(command)}"
        )
    note = (
        f"the policy cannot be used ({wrong}), so this reaches the audit logs found for it. "
        f"If it names another one, run: {escaped(command)}"
    )
    named = options.policy is not None
    places = tuple(Place(one, None if named or not _lies_below(one, folder) else folder) for one in there)
    return Places((*places, *_of_hooks(options)), DEFAULT_POLICY.settings, options.everywhere, (note,))


def _of_hooks(options: Namespace) -> tuple[Place, ...]:
    return (_hooks_place(),) if options.everywhere else ()


def _hooks_place() -> Place:
    from rightcall.hosts.hooks.place import record_without_policy

    return Place(record_without_policy(), create=True)


def _store_above(folder: str) -> str | None:
    """The usual store of a folder without a policy; else of one above it, as far as the repository reaches."""
    if _is_there(own := os.path.join(folder, _USUAL)):
        return own
    above = folder
    passed: list[str] = []
    while True:
        passed.append(above)
        if os.path.lexists(os.path.join(above, ".git")):
            return next((path for one in passed if _is_there(path := os.path.join(one, _USUAL))), None)
        if (higher := os.path.dirname(above)) == above:
            return None
        above = higher


def _is_there(path: str) -> bool:
    """Also one that was lost: that is to be told, not passed over."""
    from rightcall.record.identity import lost

    return os.path.isfile(path) or bool(lost(os.path.realpath(path)))


def _known_below(folder: str) -> Iterator[str]:
    """The stores that this user has used below a folder: what an earlier policy there has named."""
    with suppress(ConfigError):
        for one in listed("stores"):
            path = str(one.get("path", ""))
            if _lies_below(path, folder) and not _has_policy_between(path, folder):
                yield path


def _has_policy_between(path: str, folder: str) -> bool:
    """Whether a store belongs to another project, which lies in this one."""
    base, at = os.path.realpath(folder), os.path.dirname(path)
    while at != base and len(at) > len(base):
        if os.path.basename(at) != ".rightcall" and any(
            os.path.lexists(os.path.join(at, name)) for name in (POLICY_FILE, ".git")
        ):
            return True
        at = os.path.dirname(at)
    return False


def _used_before(path: str) -> bool:
    return recall("stores", os.path.realpath(path)) is not None


def _lies_below(path: str, folder: str) -> bool:
    base, place = os.path.realpath(folder), os.path.realpath(path)
    return place.startswith(base.rstrip(os.sep) + os.sep)


def _said_path(file: str) -> str | None:
    """What a policy file says of its store, whatever else is wrong with it; None where it says nothing."""
    try:
        if not os.path.isfile(file):
            return None
        with open(file, encoding="utf-8-sig", errors="replace") as opened:
            text = opened.read(1_000_000)
    except (OSError, ValueError):
        return None
    try:
        table: Any = tomllib.loads(text).get("audit")
        path = table.get("path") if isinstance(table, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - whatever it holds
    except (ValueError, RecursionError):
        path = _scanned_path(text)
    return os.path.join(os.path.dirname(file), path) if isinstance(path, str) and path and "\0" not in path else None


def _scanned_path(text: str) -> str | None:
    """Of a file that is no TOML: the line that looks like it."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip().startswith("[audit]")
        elif inside and (match := _PATH_LINE.match(line)) is not None:
            return match["path"]
    return None


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
        return report_each(options, places, _state, only_looks=True)
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

    return report_each(options, places, stop, create=True, changed=changed)


def stop_everywhere(options: Namespace, places: Places) -> bool:
    """Before any store: what has one then finds the stop at once. Whether there was none yet."""
    from rightcall.base.secrets import Redactor

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
    options: Namespace, places: Places, work: Callable[[Any], dict[str, Any]], *, create: bool = False,
    only_looks: bool = False, changed: bool = False,
) -> int:  # fmt: skip
    """Do it to every store the options reach, also when one of them cannot be used; that one is told last. Where there
    is none, only a stop makes one: it holds for whoever comes."""
    from rightcall.record.identity import lost, refuse_leaving
    from rightcall.record.sqlite import SqliteStore
    from rightcall.record.sqlite_file import unusable, way_out

    speak_on_stderr()
    for note in places.notes:
        warn(note)
    done: list[dict[str, Any]] = []
    faults: list[StoreError | ConfigError] = []
    word, missed = "pause" if create else "resume", False
    for place in places.places:
        try:
            if is_server(place.path):
                with closing(_on_server(place.path, only_looks=only_looks)) as opened:
                    done.append({"store": place.path} | work(opened))
                continue
            file = os.path.realpath(place.path)
            if problem := lost(file):
                raise unusable(file, problem, way_out(file), "replaced")
            if not (create and place.create) and not os.path.exists(place.path):
                done.append({"store": place.path} | state_record(None) | {"changed": False})
                continue
            if place.found_in is not None:
                refuse_leaving(place.path, place.found_in)
            found = place.found_in or False
            opened = Looking(place.path, found=found) if only_looks else SqliteStore(file, found=found)
            with closing(opened):
                done.append({"store": place.path} | work(opened))
        except StoreError as fault:
            told = fault
            if is_server(place.path) and not only_looks:
                missed, told = True, _explain_failure(place.path, word, fault, options)
            faults.append(told)
    whole = state_record(stopped()) | {"changed": changed}
    tell(
        options,
        {"stores": done, "everywhere": whole},
        lambda _: (pointed(line, options) for line in _describe_stores(done, whole, missed=missed)),
    )
    faults += [] if places.fault is None else [places.fault]
    if faults:
        raise faults[0]
    return OK


def _explain_failure(url: str, word: str, fault: StoreError, options: Namespace) -> StoreError:
    """In words that nobody takes for a stop that will hold once the server is back."""
    from rightcall.record.postgres.connection import read_address

    why = str(fault)
    if fault.fault == "unreachable":
        again = pointed(f"Run `rightcall {word}` again when it is back", options)
        why = f"it cannot be reached. {again}{', or stop the nodes' if word == 'pause' else ''}."
    return StoreError(f"NOT {word}d on {read_address(url).shown}: {why}", fault.fault)


def _describe_stores(stores: list[dict[str, Any]], whole: dict[str, Any], *, missed: bool) -> Iterator[str]:
    """`missed`: the store on a server, with which nodes work, could not be reached."""
    if whole["paused"] or whole["changed"]:
        yield from _lines({"store": "everything that you run on this machine", **whole}, " --everywhere")
        yield f"This holds for what runs with {escaped(reach_told())}; for another one, give it to this command too."
    for one in stores:
        if missed and one["paused"]:
            yield f"Only what uses {escaped(one['store'])} is paused."
        else:
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
    yield f"Run `rightcall resume{reach}` to let calls run again."


def paused_line(held: Pause | None) -> list[str]:
    """What other commands say first while everything is paused."""
    if held is None:
        return []
    why = f": {escaped(held.reason)}" if held.reason else ""
    return [f"PAUSED since {held.since} UTC by {escaped(held.by)}{why}. Run `rightcall resume` to let calls run again."]


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

    return report_each(options, places, let_go, changed=changed)

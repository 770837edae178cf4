"""The stores that `pause` and `resume` reach, also where the policy file cannot be read: an emergency stop must not
fail over a typing error.

    --store FILE ───────────────────────▶ that store, which must be there
    a policy, here or above ─────────▶ the store that it names, which a stop may make
    a policy that cannot be read ────▶ every store that it is likely to mean and that is there
    no policy ───────────────────────▶ the store of this folder, where there is one, that of hooks without a policy,
                                       and everything else of this user: `wrap` and `proxy` may have no store here
"""

import os
import re
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.cli.options import database_of, is_server, policy_of, policy_path, server_of
from rightcall.errors import ConfigError, PolicyError
from rightcall.policy.trust import folder_stop, listed, recall, stopped

if TYPE_CHECKING:
    from rightcall.policy.settings import Settings

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
            return _without_policy(options, looked)
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


def _without_policy(options: Namespace, looked: str) -> Places:
    """Hooks of projects without a policy share one store, which is this project's too; and what has no store at all is
    reached with everything else only."""
    from rightcall.policy.settings import DEFAULT_POLICY

    own = _store_above(looked)
    stores = (*([] if own is None else [_place_at(own)]), _hooks_place())
    notes = () if options.everywhere else (_why_everything(looked),)
    return Places(stores, DEFAULT_POLICY.settings, True, notes)


def _why_everything(looked: str) -> str:
    above = _policy_beyond(looked)
    has_none = (
        "has no policy file, here or above"
        if above is None
        else f"has no policy file, and {escaped(above)} does not count for it outside a repository"
    )
    project = "--root DIR" if above is None else f"--root {quote(os.path.dirname(above))}"
    return (
        f"{escaped(looked)} {has_none}, so this is meant for everything that you run on this machine. For one project "
        f"pass the folder of its policy file, `{escaped(project)}`; for one store `--store FILE`"
    )


def _policy_beyond(folder: str) -> str | None:
    """A policy file above a folder in which nobody looks for one above."""
    while (above := os.path.dirname(folder)) != folder:
        if os.path.isfile(file := os.path.join(above, POLICY_FILE)):
            return file
        folder = above
    return None


def _with_policy(options: Namespace, word: str, looked: str) -> Places:
    from rightcall.record.premises import found_folder

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
    if options.everywhere or file is None or policy_of(options).standing != "tightened":
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
    there = [one for one in dict.fromkeys(known) if _is_there(one) or (one == usual and _is_known(folder))]
    command = f"rightcall {word}{unsure or ' --store FILE'}"
    if not there and not options.everywhere:
        raise ConfigError(
            f"the policy cannot be used ({wrong}), and no audit log is at {escaped(usual)}, so nothing was "
            f"changed. Name the audit log: {escaped(command)}, or reach everything that you run: "
            f"rightcall {word} --everywhere"
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
    if _is_known(folder):
        return os.path.join(folder, _USUAL)
    above = folder
    passed: list[str] = []
    while True:
        passed.append(above)
        if os.path.lexists(os.path.join(above, ".git")):
            return next((os.path.join(one, _USUAL) for one in passed if _is_known(one)), None)
        if (higher := os.path.dirname(above)) == above:
            return None
        above = higher


def _is_known(folder: str) -> bool:
    """Whether a folder has a store at its usual place, or had one when it was stopped."""
    return _is_there(os.path.join(folder, _USUAL)) or stopped(folder_stop(folder)) is not None


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

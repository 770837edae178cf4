"""The stores that `pause` and `resume` reach, also where the policy file cannot be read: an emergency stop must not
fail over a typing error.

    --db FILE ───────────────────────▶ that store, which must be there
    a policy, here or above ─────────▶ the store that it names, which a stop may make
    a policy that cannot be read ────▶ every store that it is likely to mean and that is there
    no policy ───────────────────────▶ the store of this folder, where there is one, that of hooks without a policy, and
                                       everything else of this user: `wrap` and `proxy` may have no store here
"""

import os
import re
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rightcall.cli.store_options import database_of, policy_of, policy_path
from rightcall.errors import ConfigError, PolicyError
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_settings import Settings

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
        raise ConfigError(f"there is no folder {escaped(options.root)}; nothing was changed. Check `--root`")
    if options.db is not None:
        return _named(options)
    looked = os.path.abspath(options.root)
    if options.policy is None:
        from rightcall.hosts.hook_place import policy_of_project

        policy = policy_of_project(looked)
        if policy is None:
            return _without_policy(looked)
        options.root = os.path.dirname(policy)
    return _with_policy(options, word, looked)


def _named(options: Namespace) -> Places:
    from rightcall.config import DEFAULT_POLICY
    from rightcall.record.sqlite_identity import lost

    path = os.path.abspath(options.db)
    if not os.path.exists(path) and not lost(Path(path).resolve()):
        raise ConfigError(f"there is no audit log at {escaped(path)}; nothing was changed. Check `--db`")
    try:
        settings = policy_of(options).settings
    except ConfigError:
        settings = DEFAULT_POLICY.settings
    return Places((Place(path), *_of_hooks(options)), settings, options.everywhere)


def _without_policy(looked: str) -> Places:
    """Hooks of projects without a policy share one store, which is this project's too; and what has no store at all is
    reached with everything else only."""
    from rightcall.config import DEFAULT_POLICY

    own = _store_above(looked)
    stores = (*([] if own is None else [_place_at(own)]), _hooks_place())
    note = (
        f"{escaped(looked)} has no policy file, here or above, so this is meant for everything that you run on this "
        "machine. For one project pass `--root DIR`, for one store `--db FILE`"
    )
    return Places(stores, DEFAULT_POLICY.settings, True, (note,))


def _with_policy(options: Namespace, word: str, looked: str) -> Places:
    from rightcall.executor_opening import found_folder

    nearer = [one] if options.policy is None and (one := _store_above(looked)) is not None else []
    try:
        policy = policy_of(options)
    except PolicyError as wrong:
        return _despite(options, word, wrong, nearer)
    path = os.path.abspath(database_of(options))
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
    command = f"rightcall {word} --policy {quote(os.path.abspath(file))}"
    return ConfigError(
        f"{escaped(file)} names another audit log, {escaped(said)}, and is not trusted: processes started with "
        f"`--policy` use that one, and it was not reached. Run: {escaped(command)}"
    )


def _despite(options: Namespace, word: str, wrong: ConfigError, nearer: list[str]) -> Places:
    """Without a policy that can be read: every store that is there and that this policy may have named."""
    from rightcall.config import DEFAULT_POLICY

    file = policy_path(options) or ""
    folder = os.path.dirname(os.path.abspath(file))
    usual = os.path.join(folder, _USUAL)
    known = [*nearer, usual, *_known_below(folder)]
    said = _said_path(file)
    unsure: str = ""
    if said is not None:
        believed = options.policy is not None or _lies_below(said, folder) or _used_before(said)
        known += [os.path.abspath(said)] if believed else []
        unsure = "" if believed else f" --db {quote(os.path.abspath(said))}"
    there = [one for one in dict.fromkeys(known) if _is_there(one)]
    command = f"rightcall {word}{unsure or ' --db FILE'}"
    if not there:
        raise ConfigError(
            f"the policy cannot be used ({wrong}), and there is no audit log at {escaped(usual)}, so nothing was "
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
    from rightcall.hosts.hook_place import record_without_policy

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
    from rightcall.record.sqlite_identity import lost

    return os.path.isfile(path) or bool(lost(Path(path).resolve()))


def _known_below(folder: str) -> Iterator[str]:
    """The stores that this user has used below a folder: what an earlier policy there has named."""
    from rightcall.trust.ledger import listed

    with suppress(ConfigError):
        for one in listed("stores"):
            path = str(one.get("path", ""))
            if _lies_below(path, folder) and not _has_policy_between(path, folder):
                yield path


def _has_policy_between(path: str, folder: str) -> bool:
    """Whether a store belongs to another project, which lies in this one."""
    from rightcall.door_guarding import POLICY_FILE

    base, at = os.path.realpath(folder), os.path.dirname(path)
    while at != base and len(at) > len(base):
        if os.path.basename(at) != ".rightcall" and any(
            os.path.lexists(os.path.join(at, name)) for name in (POLICY_FILE, ".git")
        ):
            return True
        at = os.path.dirname(at)
    return False


def _used_before(path: str) -> bool:
    from rightcall.trust.ledger import recall

    return recall("stores", str(Path(path).resolve())) is not None


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

"""Installing and uninstalling: what would change in one file, doing it, and the manifest of what was done."""

import json as std_json
import os
import stat
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import Any

import msgspec
from msgspec import DecodeError, Struct, ValidationError, json

from rightcall.base.files.guarded import plain_file, take_lock
from rightcall.errors import ConfigError
from rightcall.hosts.install.edits import NotReadable, block_of, hook_tables, read, read_toml, with_block, without_block
from rightcall.hosts.install.hosts import (
    Found,
    ServerEntry,
    bare_of_hooks,
    bare_of_wrapping,
    entries_of,
    found_hooks,
    groups_for,
    put_hooks,
    unwrap_servers,
    without_hooks,
    wrap_servers,
)
from rightcall.hosts.install.places import (
    HOSTS,
    Cannot,
    Host,
    Made,
    Wish,
    contents,
    digest,
    make_folders,
    mode_of,
    option,
    real_file,
    refuse_unwritable,
    remove_empty,
    replace,
    settings_file,
    text_of,
)

# ── manifest ──
# What we installed where, so that it can be undone: one small file in the user's state folder, and a lock beside it.
#
# Nothing depends on it alone: without it `uninstall` still finds our entries in the settings.

_PATIENCE = 10.0
"""Seconds to wait while another process installs something."""


class Record(Struct, frozen=True):
    """One file. `after` is the digest of its bytes as we left it, `before` that of what was there, with a copy in
    `backup`; or we `created` it. It is not `exact` where others wrote into it while we were in it: then the copy is an
    old one, and undoing means taking out what is ours. `folders` we made around it."""

    host: str
    file: str
    after: str
    before: str | None = None
    backup: str | None = None
    created: bool = False
    exact: bool = True
    folders: tuple[str, ...] = ()
    made: Made = Made()
    at: str = ""


class Manifest(Struct, frozen=True):
    """All of it."""

    version: int = 1
    files: tuple[Record, ...] = ()

    def of(self, host: str, file: str) -> Record | None:
        return next((one for one in self.files if (one.host, one.file) == (host, file)), None)

    def with_record(self, record: Record) -> "Manifest":
        return Manifest(1, (*self.without(record.host, record.file).files, record))

    def without(self, host: str, file: str) -> "Manifest":
        return Manifest(1, tuple(one for one in self.files if (one.host, one.file) != (host, file)))


def _path(folder: str) -> str:
    return os.path.join(folder, "installed.json")


def read_manifest(folder: str) -> Manifest:
    """What is noted; nothing where nothing was installed yet. Raises ConfigError for a file that is none of ours."""
    path = _path(folder)
    try:
        with open(path, "rb", opener=plain_file) as stream:
            found = json.decode(stream.read(), type=Manifest)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=path) from None
    except (DecodeError, ValidationError) as error:
        why = f"is broken ({error}); move it away: our entries are found without it"
        raise ConfigError(why, source=path) from None
    if found.version != 1:
        raise ConfigError(f"is of version {found.version}, and this program reads version 1: update it", source=path)
    return found


def write_manifest(folder: str, manifest: Manifest) -> None:
    replace(_path(folder), json.format(json.encode(manifest), indent=2) + b"\n")


@contextmanager
def hold_lock(folder: str) -> Generator[None, None, None]:
    """While nobody else installs or uninstalls for this user."""
    make_folders(folder, 0o700)
    fd = os.open(os.path.join(folder, "installed.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = monotonic() + _PATIENCE
        while not take_lock(fd):
            if monotonic() > until:
                raise ConfigError("another `rightcall install` or `uninstall` is at work; try again when it is done")
            sleep(0.05)
        yield
    finally:
        os.close(fd)


# ── lines to add by hand ──
# What to write by hand where a settings file cannot be edited safely.


def hook_lines(host: Host, wish: Wish, *, toml: bool = False) -> list[str]:
    """The hooks as they should stand in the settings."""
    groups = groups_for(host, wish, [])
    if toml:
        return ["Add by hand:", "", *hook_tables(groups).split("\n")]
    events = [f"    {std_json.dumps(event)}: {std_json.dumps([group])}" for event, group in groups.items()]
    return ["Add by hand:", "", '  "hooks": {', *",\n".join(events).split("\n"), "  }"]


def wrap_lines(wish: Wish) -> list[str]:
    """How a server's entry should read."""
    ours = (*wish.program[1:], "wrap", "--name", "NAME", "--mode", wish.mode or "observe", "--")
    args = std_json.dumps([*ours, "ITS COMMAND", "ITS ARGUMENTS"])
    command = std_json.dumps(wish.program[0])
    return ["Write the entry of each server by hand as", "", f'  "command": {command},', f'  "args": {args}']


class Change(msgspec.Struct, frozen=True):
    """One file before and after, None where it is not there. `path` is how it is named, `file` what is behind links;
    `exact` says that a copy comes back, byte for byte."""

    host: Host
    path: str
    file: str
    before: bytes | None
    after: bytes | None
    made: Made = Made()
    record: Record | None = None
    exact: bool = True

    @property
    def is_none(self) -> bool:
        return self.before == self.after


def planned_install(host: Host, path: str, wish: Wish, manifest: Manifest) -> Change:
    """The file with us in it. Raises ConfigError, with what to do by hand, where it cannot be edited safely."""
    data = contents(path)
    file = real_file(path)
    text = "" if data is None else text_of(data, path)
    try:
        after, made = _installed(host, path, text, wish)
    except NotReadable as error:
        lines = wrap_lines(wish) if host.kind == "servers" else hook_lines(host, wish, toml=path.endswith(".toml"))
        raise _refusal(error, text, path, lines) from None
    changed = None if data is None and not after else after.encode("utf-8")
    exact = host.kind == "servers" or not _ours_in(host, path, text)
    return Change(host, path, file, data, changed, made, manifest.of(host.name, file), exact)


def _installed(host: Host, path: str, text: str, wish: Wish) -> tuple[str, Made]:
    if path.endswith(".toml"):
        return _in_toml(host, text, wish), Made()
    if host.kind == "servers":
        if _is_blank(text):
            return text, Made()
        after, made = wrap_servers(text, wish)
        _demand(_bare(after) == _bare(text), "other settings would change")
        return after, made
    base = "{}\n" if _is_blank(text) else text
    after, made = put_hooks(host, base, wish)
    _verify_hooks(host, read(base).plain(), read(after).plain())
    return after, made


def _bare(text: str) -> Any:
    return bare_of_wrapping(read(text).plain())


def _verify_hooks(host: Host, before: Any, after: Any) -> None:
    _demand(_is_same_but_for_us(host, before, after), "other settings would change")
    _demand(set(host.events) <= {one.event for one in found_hooks(host, after)}, "a hook would be missing")


def _in_toml(host: Host, text: str, wish: Wish) -> str:
    before = read_toml(text)
    ours = found_hooks(host, before)
    if ours and block_of(text) is None:
        raise Cannot("hooks of rightcall stand there that `rightcall install` did not write; change them by hand")
    after = with_block(text, hook_tables(groups_for(host, wish, ours)))
    _verify_hooks(host, before, read_toml(after))
    return after


def planned_removal(host: Host, path: str, manifest: Manifest) -> Change:
    """The file without us: the very bytes that were there if nobody wrote since, else those of today less our part."""
    data, file = contents(path), real_file(path)
    record = manifest.of(host.name, file)
    if data is None or (record is not None and record.exact and digest(data) == record.before):
        return Change(host, path, file, data, data, record=record)
    if record is not None and record.exact and digest(data) == record.after:
        copy = contents(record.backup) if record.backup else None
        if record.created or (copy is not None and digest(copy) == record.before):
            return Change(host, path, file, data, copy, record=record)
    text = text_of(data, path)
    try:
        after = _removed(host, path, text, record)
    except NotReadable as error:
        raise _refusal(
            error, text, path, ["Take out by hand what holds `rightcall hook` or `rightcall wrap`."]
        ) from None
    ours_alone = record is not None and record.created and after.strip("\ufeff \t\r\n") in ("", "{}")
    return Change(host, path, file, data, None if ours_alone else after.encode("utf-8"), record=record, exact=False)


def _removed(host: Host, path: str, text: str, record: Record | None) -> str:
    made = None if record is None else record.made
    if path.endswith(".toml"):
        return _out_of_toml(host, text)
    if _is_blank(text):
        return text
    if host.kind == "servers":
        after = unwrap_servers(text, made)
        _demand(_bare(after) == _bare(text), "other settings would change")
        return after
    before = read(text).plain()
    after = without_hooks(host, text, made)
    left = read(after).plain()
    _demand(not found_hooks(host, left) and _is_same_but_for_us(host, before, left), "other settings would change")
    return after


def _is_same_but_for_us(host: Host, before: Any, after: Any) -> bool:
    return bare_of_hooks(host, before) == bare_of_hooks(host, after)


def _out_of_toml(host: Host, text: str) -> str:
    before = read_toml(text)
    after = without_block(text)
    left = read_toml(after)
    if found_hooks(host, left):
        raise Cannot("hooks of rightcall stand there that `rightcall install` did not write")
    _demand(_is_same_but_for_us(host, before, left), "there is other text between RightCall's two comments")
    return after


def _ours_in(host: Host, path: str, text: str) -> bool:
    if _is_blank(text):
        return False
    return bool(found_hooks(host, read_toml(text) if path.endswith(".toml") else read(text).plain()))


def is_installed(host: Host, path: str) -> bool:
    """Whether anything of ours is in a file; a file that cannot be read is not."""
    try:
        return installed_in(host, path) is not None
    except ConfigError:
        return False


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _demand(holds: bool, otherwise: str) -> None:
    """The last check before anything is shown or written: what was made means what it should."""
    if not holds:
        raise Cannot(f"it is written in a way that cannot be edited safely: {otherwise}")


def _refusal(error: NotReadable, text: str, path: str, lines: list[str]) -> ConfigError:
    line = text.count("\n", 0, error.at) + 1 if error.at >= 0 else 0
    return ConfigError(f"{error.why}. Nothing was changed.\n" + "\n".join(lines), source=path, line=line)


# ── doing it ──
# Writing a planned change: a copy of what is there, a note of it, then the file in one step.
#
# Whatever ends the program in between, the file is the old one or the new one, and `uninstall` knows what to do.


class Done(Struct, frozen=True):
    """What was done: where the copy of the old file is, and folders that were made."""

    backup: str | None = None
    folders: tuple[str, ...] = ()


def install(change: Change, state: str) -> Done:
    """Writes the file with us in it. The caller holds the lock."""
    assert change.after is not None
    _refuse_moved(change)
    refuse_unwritable(change.file)
    noted = read_manifest(state)
    folders: tuple[str, ...] = ()
    record: Record | None = None
    try:
        folders = make_folders(os.path.dirname(change.file))
        record = _record(change, None if change.before is None else change.record, folders)
        write_manifest(state, noted.with_record(record))
        replace(change.file, change.after, mode=_usual_mode())
    except OSError as error:
        if not _is_written(change):
            _taken_back(change, state, noted, record, folders)
        raise _fault(change, error) from error
    return Done(record.backup, folders)


def _taken_back(change: Change, state: str, noted: Manifest, record: Record | None, folders: tuple[str, ...]) -> None:
    """Nothing came of it: no note, no copy and no folder of it stays, unless the disk does not even let that happen."""
    with suppress(OSError, ConfigError):
        if record is not None and read_manifest(state).of(record.host, record.file) == record:
            write_manifest(state, noted)
        old = change.record
        if record is not None and record.backup is not None and (old is None or record.backup != old.backup):
            os.unlink(record.backup)
        remove_empty(folders)


def _record(change: Change, old: Record | None, folders: tuple[str, ...]) -> Record:
    assert change.after is not None
    name, file, after = change.host.name, change.file, digest(change.after)
    now = None if change.before is None else digest(change.before)
    if old is None:
        copy, created = _backed_up(change), now is None
        return Record(name, file, after, now, copy, created, change.exact, folders, change.made, _now())
    made = _joined(old.made, change.made)
    if now in (old.after, old.before):  # nobody wrote since: the first copy counts
        return Record(name, file, after, old.before, old.backup, old.created, old.exact, old.folders, made, _now())
    more = (*folders, *old.folders)
    return Record(name, file, after, None, _backed_up(change), old.created, False, more, made, _now())


def uninstall(change: Change, state: str) -> Done:
    """Writes the file without us, or removes it. The caller holds the lock."""
    _refuse_moved(change)
    record = change.record
    try:
        if not change.is_none:
            refuse_unwritable(change.file)
            if change.after is None:
                os.unlink(change.file)
            else:
                replace(change.file, change.after)
        write_manifest(state, read_manifest(state).without(change.host.name, change.file))
        return Done() if record is None else _tidied(change, record)
    except OSError as error:
        raise _fault(change, error) from error


def _tidied(change: Change, record: Record) -> Done:
    """Folders that we made go if they are empty; the copy goes if the file is the same again."""
    if change.after is None:
        remove_empty(record.folders)
    if record.backup is None or not os.path.exists(record.backup):
        return Done()
    if change.after is not None and contents(record.backup) == change.after:
        os.unlink(record.backup)
        return Done()
    return Done(record.backup)


def _fault(change: Change, error: OSError) -> ConfigError:
    why = error.strerror or error
    if _is_written(change):
        return ConfigError(f"was written, but what belongs to it could not be done ({why})", source=change.path)
    return ConfigError(f"could not be written ({why}); it is as it was", source=change.path)


def _is_written(change: Change) -> bool:
    """Whether the file is already what it should become; only looking tells."""
    try:
        return not change.is_none and contents(change.path) == change.after
    except ConfigError:
        return False


def _refuse_moved(change: Change) -> None:
    if contents(change.path) != change.before:
        raise ConfigError(
            "file changed during the edit; nothing was written. Run the command again", source=change.path
        )


def _joined(old: Made, new: Made) -> Made:
    return Made((*old.made, *new.made), {**new.hollow, **old.hollow}, (*old.wrapped, *new.wrapped))


def _backed_up(change: Change) -> str | None:
    """A copy beside the file, with the same rights, under a name that is free."""
    if change.before is None:
        return None
    stem = f"{change.file}.rightcall-backup-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    name, number = stem, 1
    while os.path.lexists(name):
        name, number = f"{stem}-{number}", number + 1
    replace(name, change.before, mode=stat.S_IMODE(os.stat(change.file).st_mode))
    return name


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _usual_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


# ── what is installed ──
# What is installed where, as the settings themselves say it.


class Installed(Struct, frozen=True):
    """Our entries in one settings file: `hooks` of the one kind, or wrapped `servers` of the other."""

    host: Host
    path: str
    settings: Any
    hooks: tuple[Found, ...] = ()
    servers: tuple[ServerEntry, ...] = ()

    @property
    def modes(self) -> list[str]:
        return modes_in(self.host, self.settings)

    @property
    def policy(self) -> str | None:
        words = [one.words for one in self.hooks] + [one.ours for one in self.servers]
        return next((file for one in words if (file := option(one, "--policy"))), None)


def modes_in(host: Host, settings: Any) -> list[str]:
    """The modes that our entries have, each once. Without one it is as the policy says."""
    if host.kind == "servers":
        words = [entry.ours for entry in entries_of(settings) if entry.state == "wrapped"]
    else:
        words = [found.words for found in found_hooks(host, settings)]
    return list(dict.fromkeys(mode_of(one) or "as the policy says" for one in words))


def policies_in(settings: Any) -> list[str | None]:
    """The policy files that the wrapped servers name, one for each server."""
    return [option(entry.ours, "--policy") for entry in entries_of(settings) if entry.state == "wrapped"]


def installed_in(host: Host, path: str) -> Installed | None:
    """What is in one file; None where nothing of ours is. Raises ConfigError for one that cannot be read."""
    data = contents(path)
    text = "" if data is None else text_of(data, path)
    if _is_blank(text):
        return None
    try:
        settings = tomllib.loads(text.removeprefix("\ufeff")) if path.endswith(".toml") else read(text).plain()
    except (NotReadable, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be understood: {error}", source=path) from None
    hooks = tuple(found_hooks(host, settings)) if host.kind == "hooks" else ()
    wrapped = (entry for entry in entries_of(settings) if entry.state == "wrapped")
    servers = tuple(wrapped) if host.kind == "servers" else ()
    return Installed(host, path, settings, hooks, servers) if hooks or servers else None


def places(manifest: Manifest, folder: str, environment: Mapping[str, str]) -> Iterator[tuple[Host, str]]:
    """Every file that may hold something of ours: the user's, this project's, and those that we noted."""
    seen: set[tuple[str, str]] = set()
    for host in HOSTS.values():
        if host.kind == "files":
            continue
        usual = [settings_file(host, scope, folder, environment) for scope in host.scopes]
        noted = [one.file for one in manifest.files if one.host == host.name]
        for path in (*usual, *noted):
            key = (host.name, os.path.realpath(path))
            if key not in seen:
                seen.add(key)
                yield host, path

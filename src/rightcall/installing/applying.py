"""Writing a planned change: a copy of what is there, a note of it, then the file in one step.

Whatever ends the program in between, the file is the old one or the new one, and `uninstall` knows what to do.
"""

import os
import stat
from datetime import UTC, datetime

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.installing.changed import Made
from rightcall.installing.files import contents, digest, make_folders, refuse_unwritable, remove_empty, replace
from rightcall.installing.manifest import Record, read_manifest, write_manifest
from rightcall.installing.plans import Change


class Done(Struct, frozen=True):
    """What was done: where the copy of the old file is, and folders that were made."""

    backup: str | None = None
    folders: tuple[str, ...] = ()


def install(change: Change, state: str) -> Done:
    """Writes the file with us in it. The caller holds the lock."""
    assert change.after is not None
    _refuse_moved(change)
    refuse_unwritable(change.file)
    try:
        folders = make_folders(os.path.dirname(change.file))
        record = _record(change, None if change.before is None else change.record, folders)
        write_manifest(state, read_manifest(state).with_record(record))
        replace(change.file, change.after, mode=_usual_mode())
    except OSError as error:
        raise _not_written(change, error) from error
    return Done(record.backup, folders)


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
        raise _not_written(change, error) from error


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


def _not_written(change: Change, error: OSError) -> ConfigError:
    return ConfigError(f"could not be written ({error.strerror or error}); it is as it was", source=change.path)


def _refuse_moved(change: Change) -> None:
    if contents(change.path) != change.before:
        raise ConfigError("was changed by somebody else meanwhile; nothing was written, try again", source=change.path)


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

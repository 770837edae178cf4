"""Writing a planned change: a copy of what is there, a note of it, then the file in one step.

Whatever ends the program in between, the file is the old one or the new one, and `uninstall` knows what to do.
"""

import os
import stat
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.installing.changed import Made
from rightcall.installing.files import contents, digest, make_folders, refuse_unwritable, remove_empty, replace
from rightcall.installing.manifest import Manifest, Record, read_manifest, write_manifest
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

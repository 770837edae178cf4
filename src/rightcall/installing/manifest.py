"""What we installed where, so that it can be undone: one small file in the user's state folder, and a lock beside it.

Nothing depends on it alone: without it `uninstall` still finds our entries in the settings.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic, sleep

from msgspec import DecodeError, Struct, ValidationError, json

from rightcall.errors import ConfigError
from rightcall.fs.whole import plain_file
from rightcall.installing.changed import Made
from rightcall.installing.files import make_folders, replace
from rightcall.record.runs import take_lock

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
def locked(folder: str) -> Generator[None, None, None]:
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

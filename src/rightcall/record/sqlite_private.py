"""What must be gone from the disk once it is used: the calls that wait for a person, and the conditions of grants.

A database keeps what was deleted, in its log and in free pages, for as long as it likes. So these texts never go into
it: each lies in a file of its own beside it, `<audit>-private/`, which is removed when the row that needs it no longer
does. Files are only made and removed while the database is locked for writing, or after a commit that says so; what a
killed process left behind is removed by the next one that writes.
"""

import os
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import MsgspecError, json

from rightcall.fs.whole import whole_file
from rightcall.record.sqlite_faults import fault_of

FOLDER = "-private"
MOST_BYTES = 64_000_000
_NEW = ".new"


class PrivateTexts:
    """A few texts under a name each, for the owner's eyes only."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self._folder = f"{database}{FOLDER}"

    def put(self, name: str, *texts: str) -> None:
        """Raises StoreError. On disk when it returns; the same again costs a look."""
        path, data = self._path(name), json.encode(texts)
        try:
            if self._read(path) == data:
                return
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                os.unlink(path + _NEW)  # a process was killed while it wrote
            with whole_file(path, path + _NEW) as stream:
                stream.write(data)
        except OSError as error:
            raise fault_of(error, self.database) from error

    def get(self, name: str) -> tuple[str, ...] | None:
        """None where nothing is kept under this name any more, or it cannot be read."""
        try:
            return json.decode(self._read(self._path(name)) or b"", type=tuple[str, ...])
        except (OSError, MsgspecError, RecursionError):
            return None

    def drop(self, name: str) -> None:
        with suppress(OSError):  # gone already, or still read by somebody: then it is swept
            os.unlink(self._path(name))

    def sweep(self, kept: Collection[str]) -> None:
        """Remove all but these."""
        try:
            found = os.listdir(self._folder)
        except OSError:
            return
        wanted = {_file_of(name) for name in kept}
        for file in found:
            if file not in wanted:
                with suppress(OSError):
                    os.unlink(os.path.join(self._folder, file))

    def is_empty(self) -> bool:
        try:
            with os.scandir(self._folder) as files:
                return next(files, None) is None
        except OSError:
            return True

    def _read(self, path: str) -> bytes | None:
        """Of a plain file of ours: a link is not followed, a pipe not waited for."""
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        with open(handle, "rb") as opened:
            return opened.read(MOST_BYTES)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, _file_of(name))


def _file_of(name: str) -> str:
    """Ids may be anything; files may not."""
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]

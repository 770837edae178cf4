"""The scratch folder of a program: what is put into it before, and what is new or changed in it after.

The program may have made of it what it likes while it ran: links, pipes, folders without an end. So everything is
looked at through open descriptors, no link is followed, and each number is bounded.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import time_ns

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.sandbox.types import Scratch
from rightcall.fs.beneath import open_beneath
from rightcall.fs.names import shown_name
from rightcall.text.escape import escaped

MOST_FILES, DEEPEST, LONGEST_NAME = 100, 8, 255
"""Of what a call may put into it."""
MOST_ENTRIES, MOST_LEVELS = 100_000, 100
"""Of what is looked at afterwards, or of a folder that is copied into it."""
MEGABYTE = 1 << 20
"""What every limit is counted in, also inside."""
_EARLIER = 2_000_000_000
"""Nanoseconds by which what we write is older than now: whatever the program writes is then surely newer."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Mark = tuple[int, int, int, int]
"""Of a file's state: a change changes it (inode, size, times)."""


class ScratchEntry(Struct, frozen=True):
    """A regular file below the scratch folder. `path` is as the system has it."""

    path: str
    size: int
    mode: int
    mark: Mark
    links: int = 1
    """How many names it has."""


class Left(Struct, frozen=True):
    """Something that is not taken along. `path` can be shown."""

    path: str
    why: str


class Listing(Struct, frozen=True):
    files: tuple[ScratchEntry, ...]
    left: tuple[Left, ...]
    """What is there besides: links, pipes and the like."""
    cut: tuple[Left, ...] = ()
    """What was not looked at: beyond the bounds, or a folder that cannot be read."""
    whole: bool = True
    """Whether there are no more entries than the bound."""
    folders: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Paths of links, pipes and the like, as the system has them."""


def checked_files(files: Mapping[str, str], megabytes: int) -> dict[str, bytes]:
    """The files that a call brings, as bytes. Raises ToolFailure for names or sizes that will not do."""
    if len(files) > MOST_FILES:
        raise ToolFailure(f"`files` holds {len(files)} files; at most {MOST_FILES} can be given")
    made: dict[str, bytes] = {}
    for name, text in files.items():
        _check_name(name)
        made[name] = text.encode(errors="backslashreplace")
    for name in made:
        above = name.split("/")[:-1]
        for end in range(1, len(above) + 1):
            if "/".join(above[:end]) in made:
                raise ToolFailure(f"`files`: {_quote_name('/'.join(above[:end]))} cannot be both a file and a folder")
    size = sum(map(len, made.values()))
    if size > megabytes * MEGABYTE:
        raise ToolFailure(
            f"`files` hold {size:,} bytes; the scratch folder is limited to {megabytes} MB, "
            f"which are {megabytes * MEGABYTE:,} bytes"
        )
    return made


def _check_name(name: str) -> None:
    parts = name.split("/")
    why = None
    if not name or name.startswith("/") or any(part in ("", ".", "..") for part in parts):
        why = "must be a plain path below the scratch folder, such as data.csv or src/util.py"
    elif len(parts) > DEEPEST:
        why = f"has {len(parts)} levels; at most {DEEPEST} are possible"
    elif not name.isprintable():
        why = "holds a character that cannot be shown"
    elif any(len(part.encode()) > LONGEST_NAME for part in parts):
        why = f"has a part of more than {LONGEST_NAME} bytes"
    if why is not None:
        raise ToolFailure(f"`files`: the name {_quote_name(name)} {why}")


def _quote_name(name: str) -> str:
    return f"'{escaped(name, 100)}'"


def put(scratch: Scratch, path: str, content: bytes, mode: int = 0o644) -> None:
    """Write a file that is not there yet, and the folders above it."""
    folder, name = _folder_of(scratch, path)
    try:
        file = os.open(name, _NEW, 0o600, dir_fd=folder)
        try:
            write_whole(file, content)
            os.fchmod(file, mode)
            earlier = time_ns() - _EARLIER
            os.utime(file, ns=(earlier, earlier))
            own(file, scratch)
        finally:
            os.close(file)
    finally:
        os.close(folder)


def write_whole(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def own(file: int, scratch: Scratch) -> None:
    """Make it the program's: where we are root, it runs as somebody else."""
    seen = os.fstat(file)
    if (seen.st_uid, seen.st_gid) != (scratch.uid, scratch.gid):
        os.fchown(file, scratch.uid, scratch.gid)


def make_folder(scratch: Scratch, path: str) -> None:
    """A folder, and those above it; one that is there already is left as it is."""
    os.close(_folder_of(scratch, f"{path}/.")[0])


def _folder_of(scratch: Scratch, path: str) -> tuple[int, str]:
    """The folder of a path, open and made where it is not there yet; and the last part of the path."""
    *above, name = path.split("/")
    at = os.dup(scratch.fd)
    try:
        for part in above:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=at)
            below = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
            own(at, scratch)
        return at, name
    except BaseException:
        os.close(at)
        raise


def mark_of(seen: os.stat_result) -> Mark:
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def listing(folder: int, *, owner: int | None = None) -> Listing:
    """The files below an open folder, sorted. `owner`: files of anybody else are left out."""
    files: list[ScratchEntry] = []
    left: list[Left] = []
    cut: list[Left] = []
    folders: list[str] = []
    links: list[str] = []
    device = os.fstat(folder).st_dev
    waiting = [""]
    seen = 0
    while waiting:
        below = waiting.pop()
        for name, about in _entries(folder, below, cut):
            seen += 1
            path = f"{below}/{name}" if below else name
            if seen > MOST_ENTRIES:
                cut.append(Left("…", f"there are more than {MOST_ENTRIES:,} files and folders; the rest was not read"))
                return Listing(
                    _sorted(files), tuple(left), tuple(cut), whole=False, folders=tuple(folders), links=tuple(links)
                )
            why = _no_file(about, device, owner)
            if why is None and stat.S_ISDIR(about.st_mode):
                if path.count("/") >= MOST_LEVELS:
                    cut.append(Left(shown_path(path), f"more than {MOST_LEVELS} levels deep"))
                else:
                    waiting.append(path)
                    folders.append(path)
            elif why is None:
                files.append(_entry(path, about))
            else:
                left.append(Left(shown_path(path), why))
                links.append(path)
    return Listing(_sorted(files), tuple(left), tuple(cut), folders=tuple(folders), links=tuple(links))


def _entry(path: str, about: os.stat_result) -> ScratchEntry:
    return ScratchEntry(path, about.st_size, stat.S_IMODE(about.st_mode), mark_of(about), about.st_nlink)


def _sorted(files: list[ScratchEntry]) -> tuple[ScratchEntry, ...]:
    return tuple(sorted(files, key=lambda entry: entry.path))


def _entries(folder: int, below: str, cut: list[Left]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        at = open_beneath(folder, below, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        cut.append(Left(shown_path(below), "a folder that cannot be read"))
        return
    try:
        with os.scandir(at) as found:
            for entry in found:
                with suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False)
    finally:
        os.close(at)


def _no_file(about: os.stat_result, device: int, owner: int | None) -> str | None:
    """Why something is neither a file nor a folder that may be looked at."""
    if stat.S_ISLNK(about.st_mode):
        return "a link"
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        return "no regular file"
    if about.st_dev != device or (owner is not None and about.st_uid != owner):
        return "not its own"
    return None


def read(folder: int, path: str, most: int) -> bytes | None:
    """The content of a regular file below an open folder, at most so many bytes; None where there is none any more."""
    try:
        file = open_beneath(folder, path)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        with open(file, "rb", closefd=False) as stream:
            return stream.read(most)
    except OSError:
        return None
    finally:
        os.close(file)


def shown_path(path: str) -> str:
    """A path that the program has chosen, as it can be shown: bytes that are no text are spelled out."""
    return escaped(shown_name(path), 300)


def given_marks(folder: int) -> dict[str, Mark]:
    """The state of everything that was put into the folder, to tell afterwards what is new."""
    return {entry.path: entry.mark for entry in listing(folder).files}


def changed(now: Listing, before: Mapping[str, Mark]) -> tuple[ScratchEntry, ...]:
    """The files that are new, or not as they were put there."""
    return tuple(entry for entry in now.files if before.get(entry.path) != entry.mark)

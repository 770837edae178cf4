"""The scratch folder of a program: what is put into it before, and what is new or changed in it after.

The program may have made of it what it likes while it ran: links, pipes, folders without an end. So everything is
looked at through open descriptors, no link is followed, and each number is bounded.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil
from secrets import token_hex
from time import time_ns

from msgspec import Struct

from rightcall.base.files.sight import open_beneath, shown_name
from rightcall.base.files.write import closing
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.sandbox.conversation import Scratch

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
    with closing(folder), closing(os.open(name, _NEW, 0o600, dir_fd=folder)) as file:
        write_whole(file, content)
        os.fchmod(file, mode)
        earlier = time_ns() - _EARLIER
        os.utime(file, ns=(earlier, earlier))
        own(file, scratch)


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
                waiting.clear()
                break
            why = _no_file(about, device, owner)
            if why is None and stat.S_ISDIR(about.st_mode):
                if path.count("/") >= MOST_LEVELS:
                    cut.append(Left(shown_path(path), f"more than {MOST_LEVELS} levels deep"))
                else:
                    waiting.append(path)
                    folders.append(path)
            elif why is None:
                files.append(
                    ScratchEntry(path, about.st_size, stat.S_IMODE(about.st_mode), mark_of(about), about.st_nlink)
                )
            else:
                left.append(Left(shown_path(path), why))
                links.append(path)
    files.sort(key=lambda entry: entry.path)
    whole = seen <= MOST_ENTRIES
    return Listing(tuple(files), tuple(left), tuple(cut), whole, tuple(folders), tuple(links))


def _entries(folder: int, below: str, cut: list[Left]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        at = open_beneath(folder, below, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        cut.append(Left(shown_path(below), "a folder that cannot be read"))
        return
    with closing(at), os.scandir(at) as found:
        for entry in found:
            with suppress(OSError):
                yield entry.name, entry.stat(follow_symlinks=False)


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


def changed_files(now: Listing, before: Mapping[str, Mark]) -> tuple[ScratchEntry, ...]:
    """The files that are new, or not as they were put there."""
    return tuple(entry for entry in now.files if before.get(entry.path) != entry.mark)


# ── a person's own folder ──
# A person's own folder as the scratch folder: its files are copied in, and what the program made of them comes back.
#
# Links, pipes and the like stay where they are, on either side. A file comes back whole or not at all: whatever happens
# in between, the old file or the new one is there. What somebody else changed in the folder meanwhile is left to them.


class Survey(Struct, frozen=True):
    """What a folder holds that can be copied, before anything runs; `left` is what cannot."""

    files: tuple[ScratchEntry, ...]
    folders: tuple[str, ...]
    left: tuple[Left, ...]
    links: tuple[str, ...] = ()


class Folder:
    """An open folder of the person. `survey`, then `fill`, then, after the program has ended, `bring_back`."""

    def __init__(self, path: str, megabytes: int) -> None:
        """Raises OSError where there is no such folder, ToolFailure where it holds too much."""
        self._name = shown_path(path)
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.survey = survey(self.fd, path, megabytes)
        except BaseException:
            os.close(self.fd)
            raise
        self._given: Mapping[str, Mark] = {}
        self.missing: list[Left] = []
        """What was not copied in, and why."""
        self.left: list[Left] = []
        """Links and the like, which never come back."""
        self.lost: list[Left] = []
        """What should have come back and did not, and why."""

    def close(self) -> None:
        os.close(self.fd)

    def fill(self, scratch: Scratch) -> None:
        self.missing += self.survey.left
        try:
            for folder in self.survey.folders:
                make_folder(scratch, folder)
            for entry in self.survey.files:
                content = read(self.fd, entry.path, entry.size)
                if content is None:
                    self.missing.append(Left(shown_path(entry.path), "cannot be read"))
                else:
                    put(scratch, entry.path, content, entry.mode & 0o777 | 0o600)
        except OSError as fault:
            why = fault.strerror or str(fault)
            raise ToolFailure(f"{self._name} cannot be copied into the scratch folder: {why}") from fault
        self._given = given_marks(scratch.fd)

    def bring_back(self, scratch: Scratch) -> None:
        """New and changed files replace those in the folder, deleted ones go."""
        now = listing(scratch.fd, owner=scratch.uid)
        self.left += (*now.left, *now.cut)
        copied = {entry.path: entry.mark for entry in self.survey.files if entry.path in self._given}
        back = _Back(self.fd, copied, self.lost)
        if not now.cut:  # else what seems to be gone may be there, beyond the bounds
            for path in sorted(set(self._given) - {entry.path for entry in now.files}):
                back.remove(path)
            back.remove_folders(set(self.survey.folders) - set(now.folders))
        for entry in changed_files(now, self._given):
            back.replace(scratch.fd, entry)
        back.make_folders(set(now.folders) - set(self.survey.folders))

    def drop_links(self) -> None:
        """Where the program has worked in the folder itself: links and pipes that it made do not stay there, since a
        person may follow them."""
        now = listing(self.fd)
        self.left += (Left(one.path, f"{one.why}; links in there stay") for one in now.cut)
        for path in sorted(set(now.links) - set(self.survey.links)):
            why = "a link, or no regular file"
            try:
                self._unlink(path)
            except OSError as fault:
                why = f"{why}, that stays: {fault.strerror or fault}"
            self.left.append(Left(shown_path(path), why))

    def _unlink(self, path: str) -> None:
        *above, name = path.rsplit("/", 1)
        with closing(open_beneath(self.fd, "".join(above), os.O_RDONLY | os.O_DIRECTORY)) as folder:
            os.unlink(name, dir_fd=folder)


def survey(folder: int, name: str, megabytes: int) -> Survey:
    """Raises ToolFailure where the folder holds more than the scratch folder may."""
    found = listing(folder)
    if not found.whole:
        raise ToolFailure(f"{name} holds more than {MOST_ENTRIES:,} files and folders: too many for a scratch folder")
    files, linked = _without_outside_links(found)
    size = sum(entry.size for entry in files)
    if size > megabytes * MEGABYTE:
        held = ceil(size * 10 / MEGABYTE) / 10
        raise ToolFailure(f"{name} holds {held:,.1f} MB; the scratch folder is limited to {megabytes} MB")
    return Survey(files, found.folders, (*found.left, *found.cut, *linked), found.links)


def _without_outside_links(found: Listing) -> tuple[tuple[ScratchEntry, ...], list[Left]]:
    """A file that also has a name outside the folder is somebody else's too."""
    inside = Counter(entry.mark[0] for entry in found.files)
    shared = [entry for entry in found.files if entry.links > inside[entry.mark[0]]]
    kept = tuple(entry for entry in found.files if entry.links <= inside[entry.mark[0]])
    return kept, [Left(shown_path(entry.path), "also has a name outside the folder") for entry in shared]


def _open_result(scratch: int, entry: ScratchEntry) -> int:
    """A file that the program closed even to itself is opened all the same: its copy belongs to us."""
    try:
        return open_beneath(scratch, entry.path)
    except PermissionError:
        if entry.links > 1:
            raise
        with closing(open_beneath(scratch, entry.path, os.O_PATH)) as handle:
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IRUSR)
        return open_beneath(scratch, entry.path)


class _Back:
    """Writes into the person's folder, and nowhere else: no link in it is followed."""

    def __init__(self, folder: int, before: Mapping[str, Mark], lost: list[Left]) -> None:
        self._folder = folder
        self._before = dict(before)
        self._lost = lost
        about = os.fstat(folder)
        self._owner = (about.st_uid, about.st_gid) if os.geteuid() == 0 else None

    def replace(self, scratch: int, entry: ScratchEntry) -> None:
        def put_back(folder: int, name: str) -> None:
            if self._is_as_before(folder, name, entry.path):
                with self._going(folder, name):
                    self._put(folder, name, scratch, entry)

        self._do(entry.path, put_back)

    def remove(self, path: str) -> None:
        def unlink(folder: int, name: str) -> None:
            if self._is_as_before(folder, name, path):
                with self._going(folder, name):
                    os.unlink(name, dir_fd=folder)

        self._do(path, unlink, make=False)

    def make_folders(self, paths: set[str]) -> None:
        for path in sorted(paths):
            self._do(path, lambda folder, name: os.close(self._below(folder, name, make=True)))

    def remove_folders(self, paths: set[str]) -> None:
        """Those that are empty now; others hold something that the program never saw."""

        def remove(folder: int, name: str) -> None:
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as fault:
                if fault.errno != errno.ENOTEMPTY:
                    raise

        for path in sorted(paths, reverse=True):
            self._do(path, remove, make=False)

    def _do(self, path: str, work: Callable[[int, str], None], *, make: bool = True) -> None:
        """With the folder of a path, open, and the last part of the path. What cannot be done is noted; what is not
        there need not go."""
        try:
            folder, name = self._open_above(path, make=make)
            with closing(folder):
                work(folder, name)
        except OSError as fault:
            if make or not isinstance(fault, FileNotFoundError):
                self._lost.append(Left(shown_path(path), f"cannot be written: {fault.strerror or fault}"))

    def _put(self, folder: int, name: str, scratch: int, entry: ScratchEntry) -> None:
        beside = f".rightcall-{token_hex(6)}"
        with closing(_open_result(scratch, entry)) as source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            target = os.open(beside, flags, 0o600, dir_fd=folder)
            try:
                with closing(target):
                    _copy(source, target, entry.size)
                    if self._owner is not None:
                        os.fchown(target, *self._owner)
                    os.fchmod(target, entry.mode & 0o777)
                    if entry.path in self._before:
                        os.fsync(target)  # the file it replaces is not lost; thousands of new ones would take long
                os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(beside, dir_fd=folder)
                raise

    def _is_as_before(self, folder: int, name: str, path: str) -> bool:
        """Whether what is there now is what was copied, or nothing where there was nothing."""
        try:
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return True
        known = self._before.get(path)
        if known is not None and stat.S_ISREG(about.st_mode) and mark_of(about) == known:
            return True
        why = "was changed meanwhile by somebody else" if known else "something else of that name is in the way"
        self._lost.append(Left(shown_path(path), why))
        return False

    @contextmanager
    def _going(self, folder: int, name: str) -> Generator[None]:
        """While a name is taken from a file that has others in the folder: that changes the file, and was us."""
        try:
            held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            yield
            return
        with closing(held):
            about = os.fstat(held)
            yield
            old, new = mark_of(about), mark_of(os.fstat(held))
            if about.st_nlink > 1 and old[:-1] == new[:-1]:
                self._before.update({path: new for path, mark in self._before.items() if mark == old})

    def _open_above(self, path: str, *, make: bool) -> tuple[int, str]:
        *above, name = path.split("/")
        at = os.dup(self._folder)
        try:
            for part in above:
                below = self._below(at, part, make=make)
                os.close(at)
                at = below
            return at, name
        except BaseException:
            os.close(at)
            raise

    def _below(self, folder: int, name: str, *, make: bool) -> int:
        try:
            return open_beneath(folder, name, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            if not make:
                raise
        os.mkdir(name, dir_fd=folder)
        made = open_beneath(folder, name, os.O_RDONLY | os.O_DIRECTORY)
        if self._owner is not None:
            os.fchown(made, *self._owner)
        return made


def _copy(source: int, target: int, size: int) -> None:
    """Holes stay holes: files that took no room inside must not fill the disk here."""
    at = 0
    os.ftruncate(target, size)
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError as fault:
            if fault.errno == errno.ENXIO:  # nothing but holes to its end
                return
            raise
        end = min(os.lseek(source, at, os.SEEK_HOLE), size)
        while at < end and (part := os.pread(source, min(end - at, 1 << 20), at)):
            view = memoryview(part)
            while view:
                done = os.pwrite(target, view, at)
                view, at = view[done:], at + done

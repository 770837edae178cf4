"""Writing one file, so that nobody ever sees half of it and nobody's own save is lost.

    temporary file beside it ─▶ content, fsync ─▶ they change places ─▶ look at what came out ─▶ drop it, fsync

What came out must be what was there when it was looked at. If somebody saved in between, theirs goes back in place, and
`Differs` says so. After a crash `mend` does the same from whatever it finds. A `Spot` is the place of a file: opened by
its true names, no link among them.
"""

import ctypes
import errno
import os
import platform
import stat
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import Final, NamedTuple

from rightcall.base.files.sight import O_PATH, Busy, open_beneath, open_true, settled
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure

LARGEST: Final = 100_000_000
"""Bytes of a file that can be replaced: what was there is kept, so that it can come back."""
PERMISSIONS: Final = 0o777
_SHOWN = 200
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_HOLD = (
    (O_PATH or os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ELOOP: "a folder of its path is a link, and links are not followed",
    errno.ENOTDIR: "a file is in the way, where its path needs a folder",
    errno.EISDIR: "a folder is in its place",
    errno.EFBIG: "it would be too large",
}

Identity = tuple[int, int]


class Differs(ToolFailure):
    """What is there is not what it was said to be. Nothing was changed."""


class Seen(NamedTuple):
    """A regular file as it was read."""

    content: bytes
    mode: int
    """Its permissions."""


def failure(error: OSError, path: str) -> ToolFailure:
    """What to say when the system does not let a file be written."""
    return ToolFailure(f"{shown_path(path)} cannot be written: {describe_error(error)}. Nothing was changed")


def describe_error(error: BaseException) -> str:
    """What an error says, for people: of one of the system's neither its number nor a path."""
    if not isinstance(error, OSError):
        return str(error)
    return _REASONS.get(error.errno or 0) or (error.strerror or "the system does not allow it").lower()


def shown_path(path: str) -> str:
    return escaped(path, _SHOWN)


def plain_path(path: str) -> str:
    """The path itself, if it is made of plain components; ToolFailure otherwise."""
    if any(part in ("", ".", "..") or "\0" in part for part in path.split("/")):
        raise ToolFailure(f"{shown_path(path)} is not a plain relative path, such as folder/file.txt")
    return path


class Spot:
    """One name in one open folder; what is behind it is looked at through the folder alone."""

    __slots__ = ("folder", "name", "path")

    def __init__(self, folder: int, name: str, path: str) -> None:
        self.folder = folder
        self.name = name
        self.path = path
        """For messages."""

    def seen(self, name: str = "", *, still: bool = False) -> Seen | None:
        """The regular file of this name or another one in the folder, None when there is none; ToolFailure for anything
        else. `still`: Differs when somebody has it open for writing."""
        try:
            return self._seen(name or self.name, still)
        except FileNotFoundError:
            return None
        except Busy:
            raise Differs(f"{shown_path(self.path)} is being written by another program at this moment") from None

    def _seen(self, name: str, still: bool) -> Seen:
        self._regular(os.stat(name, dir_fd=self.folder, follow_symlinks=False))  # a pipe is not even opened
        with closing(open_beneath(self.folder, name)) as fd:
            found = os.fstat(fd)
            self._regular(found)
            if not still:
                return Seen(self._all_of(fd), found.st_mode & PERMISSIONS)
            with settled(fd):
                return Seen(self._all_of(fd), found.st_mode & PERMISSIONS)

    def _regular(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
            raise ToolFailure(f"{shown_path(self.path)} is {kind}; only regular files are written")
        if found.st_size > LARGEST:
            raise ToolFailure(f"{shown_path(self.path)} has {found.st_size:,} bytes, more than {LARGEST:,}")

    def _all_of(self, fd: int) -> bytes:
        parts: list[bytes] = []
        at = 0
        while part := os.pread(fd, 1 << 20, at):
            parts.append(part)
            at += len(part)
            if at > LARGEST:
                raise Differs(f"{shown_path(self.path)} grows all the time")
        return b"".join(parts)

    def identity(self, name: str = "") -> Identity | None:
        """Which file it is, None when there is none."""
        try:
            found = os.stat(name or self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def held(self, name: str, until: ExitStack) -> Identity | None:
        """The same, and for as long as that no other file gets its number."""
        with suppress(OSError):
            fd = os.open(name, _HOLD, dir_fd=self.folder)
            until.callback(os.close, fd)
            found = os.fstat(fd)
            return found.st_dev, found.st_ino
        return self.identity(name)

    def expect(self, found: Seen | None, before: bytes | None) -> None:
        """Differs, unless what was found is what it is said to be."""
        if (None if found is None else found.content) == before:
            return
        if before is None:
            raise Differs(f"{shown_path(self.path)} exists now; it did not when it was checked")
        raise Differs(f"{shown_path(self.path)} {'is gone' if found is None else 'was changed'} since it was checked")

    def drop(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.folder)


@contextmanager
def spot(tree: str, path: str) -> Generator[Spot]:
    """A name below a folder; FileNotFoundError when its own folder is not there, other OSErrors for what is in the
    way."""
    folder, _, name = plain_path(path).rpartition("/")
    with opened_tree(tree) as top, closing(open_beneath(top, folder, _FOLDER)) as fd:
        yield Spot(fd, name, path)


def seen_file(tree: str, path: str) -> Seen | None:
    """The regular file below a folder, None when there is nothing; ToolFailure for anything else, and where a link is
    on the way."""
    try:
        with spot(tree, path) as here:
            return here.seen()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise failure(error, path) from error


@contextmanager
def opened_tree(tree: str) -> Generator[int]:
    """A folder by its true path; a link in it is an error (ELOOP)."""
    with closing(open_true(tree)) as fd:
        yield fd


def make_tree(tree: str, mode: int = 0o700) -> bool:
    """Make a folder and those above it by their true paths; whether it was not there. Raises OSError."""
    above, _, name = tree.rstrip("/").rpartition("/")
    try:
        with opened_tree(above or "/") as fd:
            os.mkdir(name, mode, dir_fd=fd)
            settled_at = os.open(".", os.O_RDONLY, dir_fd=fd)
            try:
                os.fsync(settled_at)
            finally:
                os.close(settled_at)
    except FileExistsError:
        return False
    except FileNotFoundError:
        if above in ("", tree):
            raise
        make_tree(above, mode)
        return make_tree(tree, mode)
    return True


@contextmanager
def closing(fd: int) -> Generator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


# ── renaming ──
# Renames that lose nothing: two names that change places in one step, and a new name only where there is none.
#
# Linux has `renameat2`, macOS `renameatx_np`. Where the system or the file system has neither, `Unsupported` says so,
# and whoever asked does the next best.

_CANNOT = frozenset((errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP))
_NO_LINKS = (PermissionError, NotImplementedError)
"""A file system on which no file has a second name."""
_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276}
"""Of the call, for C libraries that have no function for it."""
_FIRST_TAKEN, _SWAPPED = (0x4, 0x2) if sys.platform == "darwin" else (0x1, 0x2)

_Rename = Callable[[int, bytes, int, bytes, int], int]


class Unsupported(OSError):
    """Neither the system nor the file system can do it in one step."""


def exchange(folder: int, one: str, other: str) -> None:
    """Two names of an open folder change places. Raises OSError; Unsupported where it cannot be done."""
    _rename_in_one_step(folder, one, other, _SWAPPED)


def rename_new(folder: int, old: str, new: str) -> None:
    """Rename within an open folder, FileExistsError when the new name is taken. Where the system has no call for it, a
    second name is made first, which cannot replace anything either."""
    try:
        _rename_in_one_step(folder, old, new, _FIRST_TAKEN)
    except Unsupported:
        _rename_by_link(folder, old, new)


def _rename_by_link(folder: int, old: str, new: str) -> None:
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except _NO_LINKS:
        with suppress(FileNotFoundError):
            os.stat(new, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(old, dir_fd=folder)


def _rename_in_one_step(folder: int, old: str, new: str, how: int) -> None:
    call = _rename_function()
    if call is None:
        raise Unsupported(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(folder, os.fsencode(old), folder, os.fsencode(new), how) == 0:
        return
    number = ctypes.get_errno()
    kind = Unsupported if number in _CANNOT else OSError
    raise kind(number, os.strerror(number))


@lru_cache(1)
def _rename_function() -> _Rename | None:
    """The system's own function; None where it has none."""
    if os.name != "posix":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    types = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    for name in ("renameat2", "renameatx_np"):
        with suppress(AttributeError):
            function = library[name]
            function.argtypes, function.restype = types, ctypes.c_int
            return function
    number = _NUMBERS.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        return None
    call = library.syscall
    call.argtypes, call.restype = (ctypes.c_long, *types), ctypes.c_long

    def numbered(old_folder: int, old: bytes, new_folder: int, new: bytes, how: int) -> int:
        return call(number, old_folder, old, new_folder, new, how)

    return numbered


_TRIES = 50
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

hook: Callable[[str], None] | None = None
"""For tests that stop at a step."""


def step(name: str) -> None:
    """Says that a step was reached."""
    if hook is not None:
        hook(name)


class Written(NamedTuple):
    """What a file shall become; None for content: it is not there, it goes."""

    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    keep: bool = True
    """It keeps its permissions, where it has some."""
    lock: str = ""
    """A name that other programs take while they write the file; taken for as long as we do."""


def write(here: Spot, wanted: Written, beside: str) -> None:
    """Make it what is wanted, if it still is what it was. `beside` is the name of the temporary file, in the same
    folder and unguessable. Raises Differs, ToolFailure or OSError; then nothing is left beside it."""
    found = here.seen()
    here.expect(found, wanted.before)
    try:
        if wanted.after is None:
            _remove(here, wanted.before, beside)
        else:
            mode = found.mode if found is not None and wanted.keep else wanted.mode
            _fill(here, beside, wanted.after, mode & PERMISSIONS)
            _enter(here, wanted, beside)
        step("in place")
        here.drop(beside)
        step("dropped")
        os.fsync(here.folder)
    except BaseException:
        mend(here, wanted, beside)
        raise


def mend(here: Spot, wanted: Written, beside: str) -> bytes | None:
    """Put right what an interrupted `write` has left: no temporary file, no lock of ours, and in place what was there
    before, or what somebody else has saved since. Returns what was found beside it and belongs nowhere any more."""
    if wanted.lock:
        _unlock(here, wanted, beside)
    if here.identity(beside) is None:
        return None
    aside, placed, rescued = _content(here, beside), _content(here, here.name), None
    foreign = aside != wanted.before and not _is_begun(aside, wanted)
    if placed == wanted.after and aside != wanted.after and (aside == wanted.before or foreign):
        with ExitStack() as held:
            _put_back(here, beside, here.held(here.name, held), held)
    elif isinstance(aside, bytes) and (foreign or (placed == wanted.after and aside not in (wanted[:2]))):
        rescued = aside
    here.drop(beside)
    os.fsync(here.folder)
    return rescued


def _is_begun(aside: bytes | bool | None, wanted: Written) -> bool:
    """Whether this is what we were about to write, as far as we had come."""
    return isinstance(aside, bytes) and wanted.after is not None and wanted.after.startswith(aside)


def _content(here: Spot, name: str) -> bytes | bool | None:
    """What a name holds; None for nothing, True for something that is no file of ours."""
    try:
        found = here.seen(name)
    except ToolFailure:
        return True
    return None if found is None else found.content


def _fill(here: Spot, name: str, content: bytes, mode: int) -> None:
    with closing(os.open(name, _NEW, 0o600, dir_fd=here.folder)) as fd:
        step("opened")
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
            step("partly filled")
        with suppress(OSError):  # for the superuser: a person's file stays theirs
            old = os.stat(here.name, dir_fd=here.folder, follow_symlinks=False)
            os.fchown(fd, old.st_uid, old.st_gid)
        os.fchmod(fd, mode)
        step("filled")
        os.fsync(fd)
    step("kept")


def _enter(here: Spot, wanted: Written, beside: str) -> None:
    """The temporary file takes the place of the other."""
    if wanted.lock:
        _enter_locked(here, wanted, beside)
    elif wanted.before is None:
        try:
            rename_new(here.folder, beside, here.name)
        except FileExistsError:
            here.expect(Seen(b"", 0), None)
    else:
        _exchange(here, wanted.before, beside)


def _exchange(here: Spot, before: bytes, beside: str) -> None:
    with ExitStack() as held:
        ours = here.held(beside, held)
        here.expect(here.seen(still=True), before)  # writing took its time: nobody shall see ours for what is refused
        step("compared")
        try:
            exchange(here.folder, beside, here.name)
            step("exchanged")
            here.expect(here.seen(beside, still=True), before)
        except Unsupported:
            os.rename(beside, here.name, src_dir_fd=here.folder, dst_dir_fd=here.folder)
        except FileNotFoundError:
            here.expect(None, before)
        except BaseException:
            if here.identity() == ours:
                _put_back(here, beside, ours, held)
            raise


def _put_back(here: Spot, beside: str, ours: Identity | None, held: ExitStack) -> None:
    """What came out in exchange goes back to its place. Whoever saves meanwhile has saved over the one before: the last
    one stays, and what is beside it in the end may go. All are held open: the number of a file that is gone would be
    given to the next one."""
    stale = {ours}
    for _ in range(_TRIES):
        theirs = here.held(beside, held)
        step("going back")
        try:
            exchange(here.folder, beside, here.name)
        except (FileNotFoundError, Unsupported):  # it was removed, by us or meanwhile: better there again than lost
            with suppress(FileExistsError, FileNotFoundError):
                rename_new(here.folder, beside, here.name)
                return
            continue
        step("exchanged back")
        if here.identity(beside) in stale:
            return
        stale.add(theirs)


def _enter_locked(here: Spot, wanted: Written, beside: str) -> None:
    """As the other programs do it: the lock is the new content, and is renamed into place."""
    folder = here.folder
    try:
        try:
            os.link(beside, wanted.lock, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except _NO_LINKS:
            rename_new(folder, beside, wanted.lock)
    except FileExistsError:
        there = shown_path(f"{os.path.dirname(here.path)}/{wanted.lock}".lstrip("/"))
        raise ToolFailure(f"Another program is at work: {there} is there. Nothing was changed") from None
    step("locked")
    here.expect(here.seen(), wanted.before)
    os.rename(wanted.lock, here.name, src_dir_fd=folder, dst_dir_fd=folder)
    step("unlocked")


def _unlock(here: Spot, wanted: Written, beside: str) -> None:
    """Remove a lock, if it is ours: it is the same file as the temporary one, or, where files have no second names, it
    holds what we were about to write."""
    ours = here.identity(beside)
    lock = here.identity(wanted.lock)
    if lock is None:
        return
    if ours == lock or (ours is None and wanted.after is not None and _content(here, wanted.lock) == wanted.after):
        here.drop(wanted.lock)


def _remove(here: Spot, before: bytes | None, beside: str) -> None:
    if before is None:
        return
    try:
        rename_new(here.folder, here.name, beside)
    except FileNotFoundError:
        here.expect(None, before)
    step("away")
    here.expect(here.seen(beside, still=True), before)


def missing_folders(tree: str, path: str) -> list[str]:
    """The folders that a file below the tree needs and that are not there, outermost first. Raises OSError for what is
    in the way."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: length + 1]) for length in range(len(parts))]
    with opened_tree(tree) as top:
        for at, folder in enumerate(above):
            try:
                found = os.stat(folder, dir_fd=top, follow_symlinks=False)
            except FileNotFoundError:
                return above[at:]
            if not stat.S_ISDIR(found.st_mode):
                number = errno.ELOOP if stat.S_ISLNK(found.st_mode) else errno.ENOTDIR
                raise OSError(number, os.strerror(number))
    return []


def make_folders(tree: str, folders: Sequence[str], mode: int = 0o755) -> None:
    """Make folders, each with its name on the disk before anything is put into it. One that is there will do."""
    for folder in folders:
        with spot(tree, folder) as here:
            with suppress(FileExistsError):
                os.mkdir(here.name, mode, dir_fd=here.folder)
            os.fsync(here.folder)
        step("folder")


def remove_folders(tree: str, folders: Sequence[str]) -> None:
    """Remove folders, innermost first; one that is not empty, or no folder any more, stays."""
    for folder in reversed(folders):
        try:
            with spot(tree, folder) as here:
                if here.identity() is not None:  # a read-only disk complains also about what is not there
                    os.rmdir(here.name, dir_fd=here.folder)
                    os.fsync(here.folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise

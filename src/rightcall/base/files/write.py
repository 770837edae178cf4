"""Writing one file, so that nobody ever sees half of it and nobody's own save is lost.

    temporary file beside it ─▶ content, fsync ─▶ they change places ─▶ look at what came out ─▶ drop it, fsync

What came out must be what was there when it was looked at. If somebody saved in between, theirs goes back in place, and
`Differs` says so. After a crash `mend` does the same from whatever it finds.
"""

import ctypes
import errno
import os
import platform
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from typing import NamedTuple

from rightcall.base.files.spots import (
    PERMISSIONS,
    Identity,
    Seen,
    Spot,
    closing,
    opened_tree,
    shown_path,
    spot,
)
from rightcall.errors import ToolFailure

# ── renaming ──
# Renames that lose nothing: two names that change places in one step, and a new name only where there is none.
#
# Linux has `renameat2`, macOS `renameatx_np`. Where the system or the file system has neither, `Unsupported` says so,
# and whoever asked does the next best.

_CANNOT = frozenset((errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP))
_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276}
"""Of the call, for C libraries that have no function for it."""
_FIRST_TAKEN, _SWAPPED = (0x4, 0x2) if sys.platform == "darwin" else (0x1, 0x2)

_Rename = Callable[[int, bytes, int, bytes, int], int]


class Unsupported(OSError):
    """Neither the system nor the file system can do it in one step."""


def exchange(folder: int, one: str, other: str) -> None:
    """Two names of an open folder change places. Raises OSError; Unsupported where it cannot be done."""
    _renamed(folder, one, other, _SWAPPED)


def rename_new(folder: int, old: str, new: str) -> None:
    """Rename within an open folder, FileExistsError when the new name is taken. Where the system has no call for it, a
    second name is made first, which cannot replace anything either."""
    try:
        _renamed(folder, old, new, _FIRST_TAKEN)
    except Unsupported:
        _linked(folder, old, new)


def _linked(folder: int, old: str, new: str) -> None:
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except (PermissionError, NotImplementedError):  # a file system without second names
        with suppress(FileNotFoundError):
            os.stat(new, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(old, dir_fd=folder)


def _renamed(folder: int, old: str, new: str, how: int) -> None:
    call = _function()
    if call is None:
        raise Unsupported(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(folder, os.fsencode(old), folder, os.fsencode(new), how) == 0:
        return
    number = ctypes.get_errno()
    kind = Unsupported if number in _CANNOT else OSError
    raise kind(number, os.strerror(number))


@lru_cache(1)
def _function() -> _Rename | None:
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
_NO_LINKS = (PermissionError, NotImplementedError)
"""A file system on which no file has a second name."""

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
    foreign = aside != wanted.before and not _begun(aside, wanted)
    if placed == wanted.after and aside != wanted.after and (aside == wanted.before or foreign):
        with ExitStack() as held:
            _back(here, beside, here.held(here.name, held), held)
    elif isinstance(aside, bytes) and (foreign or (placed == wanted.after and aside not in (wanted[:2]))):
        rescued = aside
    here.drop(beside)
    os.fsync(here.folder)
    return rescued


def _begun(aside: bytes | bool | None, wanted: Written) -> bool:
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
        _exchange_held(here, before, beside, held)


def _exchange_held(here: Spot, before: bytes, beside: str, held: ExitStack) -> None:
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
            _back(here, beside, ours, held)
        raise


def _back(here: Spot, beside: str, ours: Identity | None, held: ExitStack) -> None:
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

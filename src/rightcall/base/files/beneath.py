"""Opening beneath a folder without following a single link, so that the names that were opened are the true names.

Linux does it in one system call, `openat2`. Where the kernel has none (or a sandbox forbids it), each component is
opened from the one before it with O_NOFOLLOW, which comes to the same.
"""

import ctypes
import errno
import os
import re
import signal
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

_OPENAT2 = 437
"""The number of the call; where it has another one, this one does not exist, and the walk is taken."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_AT_FDCWD = -100
_FOR_NOW = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
"""Errors that say nothing about the call; after any other one, such as that of an old kernel or of a filter that
forbids what it does not know, the walk is taken."""
_TRIES = 100
"""While somebody renames folders around us, the kernel asks to try again."""

O_PATH = getattr(os, "O_PATH", 0)
_OPEN = "/proc/self/fd"
_PLAIN = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_STEP = (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(folder: int, path: str, flags: int = os.O_RDONLY) -> int:
    """Open a path of plain components below an open folder; `""` is the folder itself. Any link in it is an error
    (ELOOP), and nothing waits: a pipe without a writer opens at once. Raises OSError."""
    if any(part in ("", "..") for part in path.split("/")) and path:
        raise OSError(errno.EXDEV, "not a path of plain components")
    flags |= os.O_CLOEXEC if O_PATH and flags & O_PATH else _PLAIN
    if has_openat2():
        return _openat2(folder, path or ".", flags, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    return _walk(folder, path or ".", flags)


def open_true(path: str) -> int:
    """Open a folder by its whole true path, to look at and to go on from: ELOOP for a link anywhere in it, so that what
    is swapped in while we work leads nowhere. Raises OSError."""
    if not O_PATH:  # folders above may be closed to us: only their names can be looked at
        if os.path.realpath(path) != path:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    top = os.open("/", O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_beneath(top, path.strip("/"), O_PATH | os.O_DIRECTORY)
    finally:
        os.close(top)


def path_of(folder: int, name: str) -> str:
    """A path that leads to an open folder for as long as it is open, whatever its own name leads to by then; that name
    where descriptors are no paths. It ends with `/.`, since a descriptor's own name is a link."""
    return f"{_OPEN}/{folder}/." if O_PATH and os.path.isdir(_OPEN) else name


def open_anywhere(folder: int, path: str) -> int:
    """Where a path leads, links and all, as the kernel follows them: a descriptor that can only be looked at. Links
    that are no names, such as those of /proc, are errors. Linux with openat2 only. Raises OSError."""
    return _openat2(folder, path, O_PATH | os.O_CLOEXEC, _NO_MAGICLINKS)


def _openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    how = _How(flags, 0, resolve)
    name = os.fsencode(path)
    if b"\0" in name:
        raise OSError(errno.EINVAL, "a name holds a NUL byte")
    for _ in range(_TRIES):
        found = _syscall(_OPENAT2, folder, name, ctypes.byref(how), ctypes.sizeof(how))
        if found >= 0:
            return found
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            raise OSError(number, os.strerror(number))
    raise OSError(errno.EAGAIN, "the folders above change all the time")


def _walk(folder: int, path: str, flags: int) -> int:
    *above, last = path.split("/")
    at = os.dup(folder)
    try:
        for part in above:
            below = os.open(part, _STEP, dir_fd=at)
            os.close(at)
            at = below
        found = os.open(last, flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)
    if O_PATH and flags & O_PATH and stat.S_ISLNK(os.fstat(found).st_mode):  # to look at one is no error to the system
        os.close(found)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


def has_openat2() -> bool:
    """Whether this kernel can do it all in one call; asked once."""
    global _known
    if _known is None:
        _known = _probe()
    return _known


def _probe() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(_openat2(_AT_FDCWD, "/", O_PATH | os.O_CLOEXEC, _NO_MAGICLINKS))
    except OSError as error:
        if error.errno in _FOR_NOW:
            raise
        return False
    return True


_known: bool | None = None
if sys.platform == "win32":  # the tools that open files are for other systems; importing must not fail here

    def _syscall(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no openat2 on this system")
else:
    _syscall = ctypes.CDLL(None, use_errno=True).syscall
    _syscall.restype = ctypes.c_long
    _syscall.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


# ── resolve ──
# Where a written path leads: its true path below the root, as the kernel would follow it. Only names are found out
# here; whoever opens the file opens it again by the true path, without following a link (`beneath.py`).

_MOST_LINKS = 40
_LONGEST = 4095
"""As many links as the kernel follows, and as many bytes as it reads of a path."""


def true_path(root: int, real_root: str, path: str) -> str:
    """The true path of something that exists, relative to the root, `""` for the root itself. Links may leave the root
    and come back. Raises OSError: EXDEV when it ends outside."""
    if not path:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if len(path) > _LONGEST or len(os.fsencode(path)) > _LONGEST:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    whole = _by_kernel(root, path) if _tells_names() else _by_hand(real_root, path)
    return below(whole, real_root)


def real_path(folder: int, given: str) -> str:
    """The true path of an open folder."""
    if _tells_names():
        return os.readlink(f"/proc/self/fd/{folder}")
    return os.path.realpath(given, strict=True)


def _tells_names() -> bool:
    """Whether the kernel says where a path has led; it needs /proc for that, which not every sandbox has."""
    return has_openat2() and _has_proc()


@lru_cache(1)
def _has_proc() -> bool:
    return os.path.islink("/proc/self")


def below(whole: str, real_root: str) -> str:
    """An absolute path as seen from the root; OSError when it lies outside.

    >>> below("/srv/app/a.py", "/srv/app"), below("/srv/app", "/srv/app"), below("/a", "/")
    ('a.py', '', 'a')
    """
    if whole == real_root:
        return ""
    top = real_root.rstrip("/") + "/"
    if not whole.startswith(top):
        raise OSError(errno.EXDEV, "outside the root")
    return whole[len(top) :]


def _by_kernel(root: int, path: str) -> str:
    found = open_anywhere(root, path)
    try:
        whole = os.readlink(f"/proc/self/fd/{found}")
        if whole.endswith(" (deleted)") and os.fstat(found).st_nlink == 0:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return whole
    finally:
        os.close(found)


def _by_hand(real_root: str, path: str) -> str:
    """The same component by component: each must exist, and be a folder where something follows it."""
    at = "/" if path.startswith("/") else real_root
    todo = path.split("/")[::-1]
    links = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            if todo or part == "." or path.endswith("/"):
                _must_be_folder(at)
            continue
        if part == "..":
            _must_be_folder(at)
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, part)
        seen = os.lstat(here)
        if stat.S_ISLNK(seen.st_mode):
            links += 1
            target = os.readlink(here)
            if links > _MOST_LINKS or not target:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if here.startswith("/proc/"):  # such links are no names
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            at = "/" if target.startswith("/") else at
            todo += target.split("/")[::-1]
            continue
        if todo and not stat.S_ISDIR(seen.st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        at = here
    return at


def _must_be_folder(path: str) -> None:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


# ── settled ──
# Whether anybody has a file open for writing: what is read while nobody has is all there is.
#
# Linux answers by a lease for reading, which it grants only then. Elsewhere, and on file systems without leases, nobody
# can tell, and the content has to speak for itself.

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None


class Busy(Exception):
    """Somebody has the file open for writing."""


@contextmanager
def settled(fd: int) -> Generator[None]:
    """Within the block nobody writes to the file that is open here for reading; Busy when somebody does, or wants to by
    the end of it."""
    setlease = getattr(fcntl, "F_SETLEASE", None)
    if setlease is None or not _granted(fd, setlease):
        yield
        return
    try:
        yield
        if fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK:
            raise Busy
    finally:
        with suppress(OSError):
            fcntl.fcntl(fd, setlease, fcntl.F_UNLCK)


def _granted(fd: int, setlease: int) -> bool:
    try:
        fcntl.fcntl(
            fd, fcntl.F_SETSIG, signal.SIGURG
        )  # whoever waits for the file is announced; the usual signal kills
        fcntl.fcntl(fd, setlease, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EBUSY):
            raise Busy from None
        return False
    return True


# ── names ──
# File names as text. A name is bytes to the system: what is no UTF-8 is kept apart inside (as Python does, in lone
# surrogates) and spelled out where it is shown, since no JSON can carry it.

_SPELLED = re.compile(r"\\x([89a-f][0-9a-f])")


def shown_name(name: str) -> str:
    """A name that any JSON can carry; bytes that are no text come out as `\\xNN`.

    >>> shown_name("größe.txt"), shown_name("caf\\udce9.txt")
    ('größe.txt', 'caf\\\\xe9.txt')
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return name


def unshown_name(shown: str) -> str:
    """The name behind one that was shown: `\\xNN` is a byte again.

    >>> unshown_name("caf\\\\xe9.txt") == "caf\\udce9.txt"
    True
    """
    return _SPELLED.sub(lambda found: bytes((int(found[1], 16),)).decode(errors="surrogateescape"), shown)

"""What may be seen: a root, and the rules for the paths below it. Everything that reads files goes through here.

    a path as written ─▶ its true path (resolve) ─▶ the rules ─▶ opened by that path, no links (open_true) ─▶ looked at

A swapped link cannot help: what is opened is opened by the very names that the rules have judged.

Opening beneath a folder goes without following a single link, so that the names that were opened are the true names.

Linux does it in one system call, `openat2`. Where the kernel has none (or a sandbox forbids it), each component is
opened from the one before it with O_NOFOLLOW, which comes to the same.
"""

import errno
import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from struct import pack
from types import TracebackType
from typing import Any, Self
from unicodedata import normalize

from rightcall.base.files.rules import PathRules
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure

_OPENAT2 = 437
"""The number of the call; where it has another one, this one does not exist, and the walk is taken."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_AT_FDCWD = -100
_FOR_NOW = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
"""Errors that say nothing about the call; after any other one, such as that of an old kernel or of a filter that
forbids what it does not know, the walk is taken."""
_TRIES_BENEATH = 100
"""While somebody renames folders around us, the kernel asks to try again."""

O_PATH = getattr(os, "O_PATH", 0)
_OPEN = "/proc/self/fd"
_PLAIN = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_STEP = (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
    how = pack("=QQQ", flags, 0, resolve)
    name = os.fsencode(path)
    if b"\0" in name:
        raise OSError(errno.EINVAL, "a name holds a NUL byte")
    for _ in range(_TRIES_BENEATH):
        found, number = _syscall(_OPENAT2, folder, name, how, len(how))
        if found >= 0:
            return found
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


def _syscall(*arguments: object) -> tuple[int, int]:
    """What the kernel answers, and the number of its error."""
    import ctypes  # late: an executor opens without it

    found = _kernel()(*arguments)
    return found, ctypes.get_errno()


@lru_cache(1)
def _kernel() -> Callable[..., int]:
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    return call


# ── resolve ──
# Where a written path leads: its true path below the root, as the kernel would follow it. Only names are found out
# here; whoever opens the file opens it again by the true path, without following a link (`open_true`).

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


# ── gitdirs ──
# Git's own directories: what is in them is not to be read as files, under whatever name they stand. `.git` is known by
# name; a bare repository, or a copy of one, by what it holds. Whoever writes there says which programs git runs, so no
# tool writes into one, or what would make a folder one.

MARKS = ("HEAD", "objects", "refs")
_ELSEWHERE = "commondir"
"""A file that says where objects and refs are, beside a HEAD: git needs no more."""
_ALL = (*MARKS, _ELSEWHERE)
_FOLDED = frozenset(mark.casefold() for mark in _ALL)
_IGNORED = frozenset("\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff")
"""Characters that some file systems leave out of names."""


def in_git_directory(root: int, path: str) -> bool:
    """Whether a true path below the open root is a git directory, or lies in one."""
    parts = path.split("/") if path else []
    return any(_is_one(root, "/".join(parts[:length])) for length in range(len(parts) + 1))


def folded(name: str) -> str:
    """A name as forgiving file systems read it: two that are the same then are one file somewhere.

    >>> folded("ReadMe.md") == folded("README.MD")
    True
    """
    plain = "".join(character for character in name if character not in _IGNORED)
    return normalize("NFC", plain.casefold()).rstrip(" .")


def as_git_reads(name: str) -> str:
    """The same where git or its system looks for one of git's own names.

    >>> as_git_reads("HEAD::$DATA"), as_git_reads(".GIT.")
    ('head', '.git')
    """
    return folded(name).partition(":")[0].rstrip(" .")


def names_by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    """What paths have in each of their folders; `""` is the top."""
    found: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for length, name in enumerate(parts):
            found.setdefault("/".join(parts[:length]), set()).add(name)
    return found


def repository_among(added: Mapping[str, Collection[str]], there: Mapping[str, Collection[str]]) -> str | None:
    """A folder that git would take for a repository, once the names that are added are there too; None: none."""
    for folder, names in added.items():
        have = {as_git_reads(name) for name in (*names, *there.get(folder, ()))}
        if "head" in have and (_ELSEWHERE in have or {"objects", "refs"} <= have):
            return folder
    return None


def repository_made(root: int, paths: Iterable[str]) -> str | None:
    """The same for files that are to be written below an open folder. One that is a repository already counts."""
    added = names_by_folder(paths)
    return repository_among(added, {folder: _names(root, folder, names) for folder, names in added.items()})


def no_repository(folder: str, argument: str = "") -> ToolFailure:
    """What to say of a folder that git would take for a repository."""
    shown = escaped(folder, _SHOWN) or "the folder at the top"
    return ToolFailure(
        f"{argument}with this git would take {shown} for a repository (HEAD, objects and refs are in it), whose "
        "settings run programs: no tool makes one, or writes into one"
    )


def _names(root: int, folder: str, added: Collection[str]) -> list[str]:
    """Those in a folder that matter: all of them where one is added that git looks for, in any spelling."""
    if not any(as_git_reads(name) in _FOLDED for name in added):
        return [mark for mark in _ALL if _kind(root, f"{folder}/{mark}" if folder else mark)]
    try:
        fd = open_beneath(root, folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return []
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _is_one(root: int, folder: str) -> bool:
    head, objects, refs = (f"{folder}/{name}" if folder else name for name in MARKS)
    return _kind(root, head) == stat.S_IFREG and _kind(root, objects) == _kind(root, refs) == stat.S_IFDIR


def _kind(root: int, path: str) -> int:
    try:
        return stat.S_IFMT(os.stat(path, dir_fd=root, follow_symlinks=False).st_mode)
    except OSError:
        return 0


_SHOWN = 200
_BARE = "The root is a bare git repository, which has no files: code/log, code/show and code/diff show what is in it"
_TRIES = 3
"""A path may change between finding out where it leads and opening it there; then it is found out anew."""


class Unseen(ToolFailure):
    """Not there, or not to be seen: the answer is the same, so that a refusal tells nothing."""

    def __init__(self, written: str) -> None:
        super().__init__(f"No such file or folder: {escaped(written, _SHOWN)}")


class Opened:
    """A file or folder that was opened beneath the root and may be seen. `with` closes it."""

    __slots__ = ("fd", "path", "stat")

    def __init__(self, fd: int, path: str, seen: os.stat_result) -> None:
        self.fd = fd
        self.path = path
        """Its true path below the root, `/` between components; `""` is the root itself."""
        self.stat = seen

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.stat.st_mode)

    def read(self, most: int) -> bytes:
        """The content from its beginning, at most so many bytes."""
        parts: list[bytes] = []
        at = 0
        while at < most and (part := os.pread(self.fd, min(most - at, 1 << 20), at)):
            parts.append(part)
            at += len(part)
        return b"".join(parts)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class Sight:
    """A root and its path rules. Holds nothing open, so it can be kept as long as one likes.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "a.txt").write_text("hello")
    >>> with Sight(folder.name).file("./a.txt") as file:
    ...     file.path, file.read(100)
    ('a.txt', b'hello')
    >>> folder.cleanup()
    """

    __slots__ = ("root", "rules")

    def __init__(self, root: str | os.PathLike[str], rules: PathRules | None = None) -> None:
        self.root: str = os.path.abspath(root)
        self.rules = rules if rules is not None else PathRules()

    def file(self, path: str) -> Opened:
        """A regular file, opened to be read; Unseen for anything else but a folder, which gets an answer of its own."""
        opened = self.open(path)
        if stat.S_ISREG(opened.stat.st_mode):
            return opened
        opened.close()
        if opened.is_folder:
            raise ToolFailure(f"{escaped(path, _SHOWN)} is a folder; code/list shows what is in it")
        raise Unseen(path)

    def folder(self, path: str = ".") -> Opened:
        """A folder, opened to be listed."""
        opened = self.open(path)
        if opened.is_folder:
            return opened
        opened.close()
        raise ToolFailure(f"{escaped(path, _SHOWN)} is not a folder; use code/read for a file")

    def open(self, path: str) -> Opened:
        """A file or folder, opened to be read; Unseen for anything else."""
        try:
            root = self.open_root()
        except OSError:
            raise Unseen(path) from None
        try:
            return self._opened(root, path)
        except (OSError, ValueError):  # ValueError: a name that no file can have
            raise Unseen(path) from None
        finally:
            os.close(root)

    def open_root(self) -> int:
        """The root itself; the caller closes it."""
        return os.open(self.root, (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)

    def reopen(self, root: int, path: str) -> Opened:
        """Open a true path below the open root, as a walk has found it, without asking where it leads. Raises OSError
        when it is not to be seen or has changed its kind."""
        if self.rules.refuses(path) is not None:
            raise OSError(f"not to be seen: {path!r}")
        fd = open_beneath(root, path, os.O_RDONLY)
        try:
            seen = os.fstat(fd)
            if not (stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode)):
                raise OSError(f"neither a file nor a folder: {path!r}")
            return Opened(fd, path, seen)
        except BaseException:
            os.close(fd)
            raise

    def named(self, path: str) -> str:
        """The path that a history would know something by: where it leads if it is there, else as it is written, which
        then must be plain. Raises Unseen when it may not be seen."""
        try:
            found = self._named(path)
        except (OSError, ValueError):
            found = None
        if found is None or self.rules.refuses(found) is not None:
            raise Unseen(path)
        return found

    def sees(self, path: str) -> bool:
        """Whether the rules let a true path be seen."""
        return self.rules.refuses(path) is None

    def _named(self, path: str) -> str | None:
        root = self.open_root()
        try:
            real = real_path(root, self.root)
            try:
                return self._true_path(root, path)
            except OSError as error:
                if error.errno == errno.ENOTDIR and path.endswith(("/", "/.")):  # a file that is taken for a folder
                    raise
                return _plain(path, (self.root, real))
        finally:
            os.close(root)

    def _true_path(self, root: int, path: str) -> str:
        """Where a path leads. A name that is no text can be written as it was shown."""
        real = real_path(root, self.root)
        try:
            return true_path(root, real, path)
        except FileNotFoundError:
            if "\\x" not in path:
                raise
            return true_path(root, real, unshown_name(path))

    def _opened(self, root: int, path: str) -> Opened:
        for last in range(_TRIES, 0, -1):
            found = self._true_path(root, path)
            if self.rules.refuses(found) is not None:
                raise Unseen(path)
            if in_git_directory(root, found):
                raise ToolFailure(_BARE) if in_git_directory(root, "") else Unseen(path)
            try:
                looked = open_beneath(root, found, O_PATH) if O_PATH else -1
                try:
                    if looked >= 0 and not _readable(os.fstat(looked)):
                        raise Unseen(path)  # a pipe, a device, a socket: not even opened
                finally:
                    if looked >= 0:
                        os.close(looked)
                return self.reopen(root, found)
            except OSError:
                if last == 1:
                    raise
        raise Unseen(path)


def _readable(seen: os.stat_result) -> bool:
    return stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode)


def _plain(path: str, roots: tuple[str, ...]) -> str | None:
    """A path that is not there, relative to the root; None when it holds `..` or lies elsewhere."""
    for root in roots:
        if path.startswith(root.rstrip("/") + "/"):
            path = path[len(root.rstrip("/")) + 1 :]
            break
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not path or path.startswith("/") or ".." in parts or "\0" in path:
        return None
    return "/".join(parts)

"""What may be seen: a root, and the rules for the paths below it. Everything that reads files goes through here.

    a path as written ─▶ its true path (resolve) ─▶ the rules ─▶ opened by that path, no links (beneath) ─▶ looked at

A swapped link cannot help: what is opened is opened by the very names that the rules have judged.
"""

import errno
import os
import stat
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import Self
from unicodedata import normalize

from rightcall.base.files.beneath import O_PATH, open_beneath, real_path, true_path, unshown_name
from rightcall.base.files.rules import PathRules
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure

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

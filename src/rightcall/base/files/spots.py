"""A place for one file below a folder, and what is there: opened by its true names, no link among them."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, NamedTuple

from rightcall.base.files.beneath import O_PATH, Busy, open_beneath, open_true, settled
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
    errno.EACCES: "there is no permission for it",
    errno.EPERM: "there is no permission for it",
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
        raise ToolFailure(f"{shown_path(path)} is no path of plain components, such as folder/file.txt")
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
            raise Differs(f"{shown_path(self.path)} is there by now; it was not when it was looked at")
        raise Differs(f"{shown_path(self.path)} {'is gone' if found is None else 'was changed'} since it was looked at")

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

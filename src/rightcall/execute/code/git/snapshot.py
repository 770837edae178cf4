"""The files of a work tree as they are now, for git to compare with: copies of those that have changed, in a folder of
ours. Nothing that git itself reads of the real ones is shown. It would follow a link swapped in at the right moment,
or believe what a crafted index says of a file; so it only says which may have changed: by their looks, and by content
where one is as new as the index.

    which look otherwise than the index says (diff-files) ─▶ what is there, beneath the root ─▶ a copy
"""

import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha1, sha256
from time import monotonic

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.private import private_for
from rightcall.execute.code.git.repository import Repository
from rightcall.execute.code.git.run import checked, git_in
from rightcall.execute.code.git.settings import OWN, Files
from rightcall.execute.code.opening import Opener
from rightcall.execute.code.process import run_program
from rightcall.fs.sight import Sight

LARGEST = 5 << 20
"""Bytes of a file that are compared; a larger one only counts as changed."""
_MOST_COPIED = 256 << 20
_MOST_LISTED = 64 << 20
_SHORT_ID = 40
"""Digits of an id; those of the newer kind have more."""


@contextmanager
def snapshot(sight: Sight, repository: Repository, paths: Sequence[str], deadline: float) -> Generator[Files]:
    """The files as they are, as far as they lie in one of the paths (all, when there are none) and may be seen; to be
    compared by `comparing`. Raises ToolFailure when there is not enough time for it."""
    private = private_for(repository)
    index = private.take_index().index
    listing = ["diff-files", "--raw", "-z", "--ignore-submodules=all", "--", *paths]
    listed = run_program(
        git_in(private, listing, files=Files(index, repository.work_tree)),
        seconds=deadline - monotonic(), most=_MOST_LISTED,
    )  # fmt: skip
    folder = tempfile.mkdtemp(prefix="files-", dir=os.path.join(private.path, OWN))
    try:
        made = _Copies(sight, repository, folder, deadline)
        made.copy(_suspects(checked(listed)))
        if not made.index_info:
            yield Files(index, made.work_tree if made.copied else "")
            return
        own = Files(os.path.join(folder, "index"), made.work_tree if made.copied else "", made.objects)
        shutil.copy2(index, own.index)
        updating = ["update-index", "-z", "--index-info"]
        told = run_program(
            git_in(private, updating, stdin=b"".join(made.index_info), files=own),
            seconds=deadline - monotonic(), most=1_000,
        )  # fmt: skip
        checked(told)
        yield own
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def comparing(files: Files) -> list[str]:
    """The command that compares a commit with a snapshot. A file that is not in it has not changed (`-m`); where none
    has, the index alone tells, and much faster. A submodule would be looked at by its own configuration."""
    return ["diff-index", "-m" if files.work_tree else "--cached", "--ignore-submodules=all"]


def _suspects(listed: bytes) -> Iterator[tuple[str, bool, int]]:
    """Files that do not look as the index says, whether a merge has left them in several versions, and how long ids
    are. `:modes ids status` and the path, each ended by NUL; one that is unmerged comes twice."""
    parts = listed.split(b"\0")
    unmerged = {path for about, path in zip(parts[::2], parts[1::2], strict=False) if about.endswith(b"U")}
    seen: set[bytes] = set()
    for about, path in zip(parts[::2], parts[1::2], strict=False):
        if path not in seen:
            seen.add(path)
            yield os.fsdecode(path), path in unmerged, len(about.split(b" ")[2])


class _Copies:
    """What has changed, as files of ours. What is gone, or unmerged, is told to the index instead."""

    def __init__(self, sight: Sight, repository: Repository, folder: str, deadline: float) -> None:
        self.work_tree = os.path.join(folder, "tree")
        self.objects = os.path.join(folder, "objects")
        self.index_info: list[bytes] = []
        self.copied = False
        self._sight, self._repository, self._deadline = sight, repository, deadline
        self._left = _MOST_COPIED
        os.mkdir(self.work_tree)
        os.mkdir(self.objects)

    def copy(self, suspects: Iterator[tuple[str, bool, int]]) -> None:
        with Opener(self._sight) as opener:
            for path, unmerged, digits in suspects:
                if monotonic() > self._deadline or self._left < 0:
                    raise ToolFailure("Too many files differ from the index; compare fewer with paths")
                if self._sight.sees(self._repository.outside(path)):
                    self._one(opener, path, unmerged, digits)

    def _one(self, opener: Opener, path: str, unmerged: bool, digits: int) -> None:
        true = self._repository.outside(path)
        seen = opener.look(true)
        content = mode = None
        if seen is not None and stat.S_ISLNK(seen.st_mode):
            content, mode = opener.link(true), 0o120000
        elif seen is not None and stat.S_ISREG(seen.st_mode):
            content, mode = self._read(opener, true), 0o100755 if seen.st_mode & stat.S_IXUSR else 0o100644
        if content is None or mode is None:  # gone, or nothing that a repository holds
            self._tell(path, 0, "0" * digits)
        elif unmerged:
            self._tell(path, 0, "0" * digits)
            self._tell(path, mode, self._stored(content, digits))
        else:
            self._write(path, content, mode)

    def _read(self, opener: Opener, true: str) -> bytes | None:
        file = opener.file(true)
        if file is None:
            return None
        with file:
            data = file.read(LARGEST + 1)
        self._left -= len(data)
        return data if len(data) <= LARGEST else b"\0%d bytes" % file.stat.st_size

    def _tell(self, path: str, mode: int, id: str) -> None:
        self.index_info.append(b"%o %s\t%s\0" % (mode, id.encode(), os.fsencode(path)))

    def _write(self, path: str, content: bytes, mode: int) -> None:
        self.copied = True
        whole = os.path.join(self.work_tree, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        if mode == 0o120000:
            os.symlink(content, whole)
            return
        with open(whole, "xb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode & 0o777)

    def _stored(self, content: bytes, digits: int) -> str:
        """The id of a content, which is kept as an object of ours."""
        whole = b"blob %d\0" % len(content) + content
        made = sha1(whole, usedforsecurity=False) if digits == _SHORT_ID else sha256(whole)
        name = made.hexdigest()
        folder = os.path.join(self.objects, name[:2])
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name[2:]), "wb") as file:
            file.write(zlib.compress(whole, 1))
        return name

"""Running git, in the private git directory of a repository. What git complains about may hold a piece of any file: it
is turned into a sentence of our own, and never shown."""

import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha1, sha256
from time import monotonic, time

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import Sight
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.code.opening import Opener
from rightcall.tools.git.layout import OWN, Files, environment, git_program, graph_file
from rightcall.tools.git.private import Private, private_for
from rightcall.tools.git.repository import Repository
from rightcall.tools.process import Finished, Program, run_program

_MEMORY = 1 << 30
"""Bytes. The history of a million commits fits in there."""


def run_git(
    repository: Repository, arguments: Sequence[str], *, seconds: float, most: int, stdin: bytes | None = None
) -> Finished:
    """Run git on a repository, to its end, its deadline, or until it has written `most` bytes. It sees an empty work
    tree: no file, attribute or mailmap. Paths among the arguments are taken as they are, without patterns. Raises
    ToolFailure when there is no git, or the repository cannot be read."""
    return run_program(git_in(private_for(repository), arguments, stdin=stdin), seconds=seconds, most=most)


def git_in(
    private: Private, arguments: Sequence[str], *, stdin: bytes | None = None, files: Files | None = None
) -> Program:
    """Git in a private git directory that is at hand, to be run; `files` are for what needs a work tree."""
    given = [_sayable(argument) for argument in arguments]
    return Program(
        [git_program(private.repository.root), "--no-pager", "--no-optional-locks", *given],
        env=environment(private.path, private.repository.root, files),
        cwd=os.path.join(private.path, OWN, "empty"),
        stdin=stdin, fds=private.fds, owner=private, memory=_MEMORY,
        threads=1 if files is None else None,  # many of them look at the files
    )  # fmt: skip


def _sayable(argument: str) -> str:
    """An argument that a program can be given at all."""
    try:
        if b"\0" not in os.fsencode(argument):
            return argument
    except UnicodeEncodeError:
        pass
    raise ToolFailure(f"{escaped(argument, 200)} holds a character that no name or text in a history can have")


def output_of(finished: Finished) -> bytes:
    """What git has written, when all went well. Raises the ToolFailure that fits otherwise."""
    if finished.code == 0 or finished.full:
        return finished.out
    raise failure_of(finished)


_SAID: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b"No space left on device",), "The disk is full: git could not write"),
    ((b"Disk quota exceeded",), "The disk quota is used up: git could not write"),
    ((b"Read-only file system",), "The disk that the repository is on is read-only: git could not write"),
    (
        (b"Permission denied", b"Operation not permitted", b"insufficient permission"),
        "git has no permission for a file or folder of the repository: whoever runs this must own it, or be let in",
    ),
    ((b"couldn't write", b"couldn't close", b"unable to write"), "git could not write: mostly, the disk is full"),
    ((b"does not have any commits yet",), "The repository has no commits yet"),
    (
        (b"unknown revision", b"bad revision", b"Needed a single revision", b"bad object", b"not a valid object name"),
        "No such commit",
    ),
    ((b"is ambiguous",), "A name is ambiguous: write more of it"),
    ((b"no such path", b"does not exist in", b"exists on disk, but not in"), "No such file in that commit"),
    ((b"has only ",), "The file has fewer lines than that"),
    (
        (
            b"corrupt",
            b"loose object",
            b"unable to read",
            b"bad tree",
            b"inflate",
            b"packfile",
            b"missing",
            b"broken",
            b"unexpected line",
            b"bad shallow",
            b"index file",
            b"bad signature",
            b"bad index",
            b"malformed",
            b"bad pack",
        ),
        "The git repository is damaged, or a part of its history is not here",
    ),
    ((b"unknown repository extension", b"expected git repo version"), "This git is too old for the repository"),
)


_OUT_OF_MEMORY = (b"out of memory", b"cannot allocate memory", b"mmap failed")


def is_too_large(finished: Finished) -> bool:
    """Whether git has given up on a file of hundreds of megabytes: it reads those whole that were added or removed, or
    may have been renamed. Without the patch and without renames there is still something to tell."""
    return finished.code not in (None, 0) and b"over limit" in finished.err


def needs_too_much(finished: Finished) -> bool:
    """Whether git has come to the end of its memory: mostly by a commit that changes millions of files, and is made for
    that."""
    return finished.code not in (None, 0) and any(mark in finished.err.lower() for mark in _OUT_OF_MEMORY)


def failure_of(finished: Finished) -> ToolFailure:
    """Why git has failed, in words of our own."""
    if finished.late:
        return ToolFailure("git took too long: ask for less, with a path, a smaller range or a smaller limit")
    if is_too_large(finished):
        return ToolFailure("A file in there is too large to be compared: code/diff shows others, named in paths")
    if needs_too_much(finished):
        return ToolFailure("This needs too much memory: ask for less, for single files or a smaller range")
    said = finished.err
    for marks, sentence in _SAID:
        if any(mark in said for mark in marks):
            return ToolFailure(sentence)
    return ToolFailure("git could not do this: a file cannot be read, or the repository is damaged")


# ── graph ──
# A commit graph makes a long history fast to walk: parents, dates and changed paths of every commit in one file. Ours
# is written outside the repository, which stays as it is.
#
# A graph can be out of date but never wrong: what it says of a commit follows from the commit's id, and commits that it
# does not know are read as ever.

_MEMORY_GRAPH = 4 << 30
"""Bytes. Of a million commits, everything that each has changed is kept until it is written."""
_BLOCK = 1 << 20
_LEFT = 3600.0
"""Seconds after which nobody can still be writing a file."""
_HEADER = 8
_ENTRY = 12
_LAST_FAN_OUT = 255 * 4


class GraphReport(Struct, frozen=True):
    """What was written. No commits: git makes no graph of a shallow or empty history."""

    path: str
    commits: int
    seconds: float
    bytes: int


def write_graph(
    repository: Repository, seconds: float, on_progress: Callable[[str], None] | None = None
) -> GraphReport:
    """Write the graph of everything that a ref reaches, in the place of an older one. Raises ToolFailure when that
    takes longer than `seconds`, or cannot be done. `on_progress` hears in a word what is being done."""
    began = monotonic()
    private = Private(repository, with_graph=False)
    if on_progress is not None:
        on_progress("reading the history")
    program = git_in(private, ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"])
    finished = run_program(replace(program, memory=_MEMORY_GRAPH), seconds=seconds, most=1_000)
    if finished.code != 0:
        raise failure_of(finished)
    made = os.path.join(private.path, "objects", "info", "commit-graph")
    if not os.path.exists(made):
        return GraphReport("", 0, monotonic() - began, 0)
    if on_progress is not None:
        on_progress("writing the graph")
    commits = commits_in(made)
    path = graph_file(repository)
    try:
        size = _put(made, path)
    except OSError as error:
        raise ToolFailure(f"The graph cannot be written to {path}: {os.strerror(error.errno or 0)}") from error
    return GraphReport(path, commits, monotonic() - began, size)


def commits_in(graph: str) -> int:
    """How many commits a graph holds: the last number of its fan-out table."""
    with open(graph, "rb") as file:
        chunks = file.read(_HEADER)[6]
        for _ in range(chunks):
            entry = file.read(_ENTRY)
            if entry[:4] == b"OIDF":
                file.seek(int.from_bytes(entry[4:]) + _LAST_FAN_OUT)
                return int.from_bytes(file.read(4))
    return 0


def _put(made: str, path: str) -> int:
    """All at once, for our eyes only."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for own in (folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))):
        os.chmod(own, 0o700)
    _tidy(folder)
    size = 0
    fd, fresh = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(fd, "wb") as new, open(made, "rb") as old:
            while block := old.read(_BLOCK):
                size += new.write(block)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
    return size


def _tidy(folder: str) -> None:
    """What somebody was writing there when it was killed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            seen = entry.stat(follow_symlinks=False)
            if entry.name.startswith(tempfile.gettempprefix()) and time() - seen.st_mtime > _LEFT:
                with suppress(OSError):
                    os.unlink(entry.path)


# ── snapshot ──
# The files of a work tree as they are now, for git to compare with: copies of those that have changed, in a folder of
# ours. Nothing that git itself reads of the real ones is shown. It would follow a link swapped in at the right moment,
# or believe what a crafted index says of a file; so it only says which may have changed: by their looks, and by content
# where one is as new as the index.
#
#     which look otherwise than the index says (diff-files) ─▶ what is there, beneath the root ─▶ a copy

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
        made.copy(_suspects(output_of(listed)))
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
        output_of(told)
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

"""A commit graph makes a long history fast to walk: parents, dates and changed paths of every commit in one file. Ours
is written outside the repository, which stays as it is.

A graph can be out of date but never wrong: what it says of a commit follows from the commit's id, and commits that it
does not know are read as ever.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, time

from msgspec import Struct
from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.cache import graph_file
from rightcall.execute.code.git.private import Private
from rightcall.execute.code.git.repository import Repository
from rightcall.execute.code.git.run import failure_of, git_in
from rightcall.execute.code.process import run_program

_MEMORY = 4 << 30
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
    finished = run_program(replace(program, memory=_MEMORY), seconds=seconds, most=1_000)
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

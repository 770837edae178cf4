"""`code/diff`: what differs between two commits, or between a commit and the files as they are now."""

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.asking import in_time, named_paths, pathspecs, unreadable
from rightcall.execute.code.changes import FileDiff, TotalChanges, View
from rightcall.execute.code.diff_reading import DIFF_OPTIONS, DiffReader, Garbled, Room, read_changes
from rightcall.execute.code.git.private import private_for
from rightcall.execute.code.git.refs import Span, must_exist, span
from rightcall.execute.code.git.repository import Repository, repository_for
from rightcall.execute.code.git.run import git_in
from rightcall.execute.code.git.settings import Files
from rightcall.execute.code.git.snapshot import comparing, snapshot
from rightcall.execute.code.git.state import history_state
from rightcall.execute.code.process import run_program
from rightcall.execute.code.tool import CodeTool
from rightcall.execute.state import Untold
from rightcall.fs.sight import Sight

WORKING = "working directory"
_SECONDS = 5.0
_LARGEST = 50 * 1024
_MOST_CONTEXT = 1000
_MOST_OUTPUT = 32 << 20
_BESIDE = 1 << 20
"""Bytes of a patch that are no changes: names and counts."""
_NARROWER = "compare fewer files with paths, or commits that are closer to each other"


class DiffArguments(Struct, frozen=True, rename="camel", kw_only=True):
    base: str = "HEAD"
    compare: str | None = None
    paths: list[str] | None = None
    context_lines: int = 3
    ignore_whitespace: bool = False
    max_diff_size: int = _LARGEST


class DiffResult(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    base: str
    compare: str
    diffs: list[FileDiff]
    total_changes: TotalChanges
    truncated: bool


def diff(sight: Sight, asked: DiffArguments) -> DiffResult:
    """Compare. Files that the rules refuse are as if they were not there; of large changes the first are told, and
    the sums are those of all."""
    written = named_paths(sight, asked.paths or ())
    repository = repository_for(sight, written)
    between = span(sight, repository, asked.base, asked.compare)
    if between.compare is None and repository.bare:
        raise ToolFailure(
            "This repository is bare: it has no working directory to compare with. Give compare, such as HEAD~1 .. HEAD"
        )
    paths = pathspecs(repository, written)
    if between.path is not None:
        paths = [between.path]
    view = View(sight, repository.folder)
    room = Room(max(0, min(asked.max_diff_size, _LARGEST)))
    deadline = monotonic() + _SECONDS
    with ExitStack() as kept:
        files = None
        if between.compare is None:
            files = kept.enter_context(snapshot(sight, repository, paths, deadline))
        finished = run_program(
            git_in(private_for(repository), _command(between, asked, paths, files), files=files),
            seconds=max(deadline - monotonic(), 0),
            most=_MOST_OUTPUT,
            enough=Enough(room.left, view),
        )
    output = in_time(finished, _SECONDS, _NARROWER)
    try:
        changes = read_changes(DiffReader(output, whole=not finished.full), view, room)
    except Garbled:
        if finished.full:
            raise ToolFailure(f"Too many files differ; {_NARROWER}") from None
        raise unreadable() from None
    if not changes.totals.files_changed:
        _there(sight, repository, between, asked.paths or ())
    return DiffResult(
        base=asked.base,
        compare=WORKING if between.compare is None else asked.compare or _compared(asked.base),
        diffs=changes.diffs,
        total_changes=changes.totals,
        truncated=changes.truncated,
    )


def _there(sight: Sight, repository: Repository, between: Span, paths: Sequence[str]) -> None:
    """Nothing has changed in a path that is nowhere, but whoever asked should know that it is."""
    commits = [one for one in (between.base, between.compare) if one is not None]
    for written in paths:
        try:
            sight.open(written).close()
        except ToolFailure:
            must_exist(repository, commits, repository.inside(sight.named(written)), written)


def _compared(base: str) -> str:
    """What the second side is called when both were written as one: `a..b`, `a...b`, or `c^!`, a commit by itself."""
    both = base.replace("...", "..").partition("..")
    return (both[2] or "HEAD") if both[1] else base.removesuffix("^!").removesuffix("^-")


def _command(between: Span, asked: DiffArguments, paths: list[str], files: Files | None) -> list[str]:
    context = max(0, min(asked.context_lines, _MOST_CONTEXT))
    command = ["diff"] if files is None else comparing(files)
    command = [*command, "--raw", "--numstat", "--patch", f"--unified={context}", *DIFF_OPTIONS]
    if asked.ignore_whitespace:
        command.append("--ignore-all-space")
    ends = [between.base] if between.compare is None else [between.base, between.compare]
    return [*command, "--end-of-options", *ends, "--", *paths]


class Enough:
    """Listens to a comparison, and says when no more of it can be kept. The changes of files that may not be seen can
    come first and be any size: then everything is waited for."""

    def __init__(self, size: int, view: View) -> None:
        self._left = size + _BESIDE
        self._view = view
        self._head: bytearray | None = bytearray()

    def __call__(self, block: bytes) -> bool:
        if self._head is None:
            self._left -= len(block)
            return self._left < 0
        known = max(0, len(self._head) - 1)
        self._head += block
        end = self._head.find(b"\0\0", known)
        if end < 0:
            return False
        files = DiffReader(bytes(self._head[: end + 1])).raw()
        if any(self._view.path(name) is None for file in files for name in (file.old, file.new)):
            self._left = _MOST_OUTPUT
        self._left -= len(self._head) - end
        self._head = None
        return self._left < 0


def _state(sight: Sight, asked: DiffArguments) -> object:
    """Of files that may be anywhere no state can be told; neither of a name that means a time. Two dots may also stand
    in the name of a file or in a text that is looked for: then they name no second side."""
    if asked.compare is None and (":" in asked.base or _compared(asked.base) == asked.base):
        raise Untold("the working directory changes without a word")
    if "{" in asked.base or "{" in (asked.compare or ""):
        raise Untold("what these name depends on when it is asked")
    return history_state(sight, repository_for(sight, named_paths(sight, asked.paths or ())))


TOOL = CodeTool("code/diff", DiffArguments, diff, _SECONDS, _state)

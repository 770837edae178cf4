"""`code/diff`: what differs between two commits, or between a commit and the files as they are now."""

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic

from msgspec import Struct

from rightcall.base.files.sight import Sight, Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.code.opening import SECONDS, CodeTool
from rightcall.tools.code.patch import (
    DIFF_OPTIONS,
    PATCH_OPTIONS,
    DiffReader,
    FileDiff,
    Garbled,
    Room,
    TotalChanges,
    View,
    read_changes,
)
from rightcall.tools.git.layout import Files
from rightcall.tools.git.private import history_state, private_for
from rightcall.tools.git.refs import Span, must_exist, span
from rightcall.tools.git.repository import Repository, repository_for
from rightcall.tools.git.run import comparing, git_in, is_too_large, needs_too_much, output_of, run_git, snapshot
from rightcall.tools.process import Finished, run_program
from rightcall.tools.state import Untold

# ── asking ──
# What the tools that ask git have in common: texts and paths of a caller as arguments, and answers that came too
# late.

_LONGEST = 1000


def named_paths(sight: Sight, written: Sequence[str]) -> list[str]:
    """The paths of a caller, below the root; they may be gone from it by now."""
    paths: list[str] = []
    for path in written:
        try:
            found = sight.named(path)
            found.encode(errors="surrogateescape")
        except (OSError, ValueError):  # no file can have such a name
            raise Unseen(path) from None
        paths.append(found)
    return paths


def must_be_there(sight: Sight, path: str) -> None:
    """Raises Unseen when nothing is there that may be seen."""
    try:
        sight.open(path).close()
    except ToolFailure:
        raise Unseen(path) from None


def pathspecs(repository: Repository, paths: Sequence[str]) -> list[str]:
    """The same as git is told of them; nothing where all of the repository is meant."""
    inside = [repository.inside(path) for path in paths]
    return [] if "" in inside else inside


def line_of(text: str, argument: str) -> str:
    """A text to look for: one line that a program can be given."""
    if len(text) > _LONGEST:
        raise ToolFailure(f"{argument} is longer than {_LONGEST} characters: give a part of it")
    if not text.isprintable() and any(mark in text for mark in "\0\n\r"):
        raise ToolFailure(f"{argument} must be one line of text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{argument} holds characters that are no text") from None
    return text


def run_log(
    repository: Repository, command: Sequence[str], about: Sequence[str], *, patch: bool, seconds: float, most: int
) -> tuple[Finished, bool]:
    """`git log`, and whether the changes themselves are in it: not when a file of hundreds of megabytes is, which
    git would have to read whole. Then there is still everything else to tell."""
    deadline = monotonic() + seconds
    with_changes = [*command, *(PATCH_OPTIONS if patch else ())]
    finished = run_git(repository, [*with_changes, *about], seconds=seconds, most=most)
    if not is_too_large(finished):
        return finished, patch
    left = deadline - monotonic()
    return run_git(repository, [*command, "--no-renames", *about], seconds=left, most=most), False


def in_time(finished: Finished, seconds: float, narrower: str) -> bytes:
    """What git has written. Raises a ToolFailure that says what would have been quicker, or what went wrong."""
    if finished.late:
        raise ToolFailure(f"git was not done after {seconds:g} seconds; {narrower}")
    if needs_too_much(finished):
        raise ToolFailure(f"This needs too much memory: too many files have changed; {narrower}")
    return output_of(finished)


def unreadable() -> ToolFailure:
    """The answer is not one that git would give."""
    return ToolFailure("git's answer could not be read; the repository may be damaged")


WORKING = "working directory"
_SECONDS = SECONDS["code/diff"]
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


TOOL = CodeTool("code/diff", DiffArguments, diff, _state)

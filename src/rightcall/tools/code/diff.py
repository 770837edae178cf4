"""`code/diff`: what differs between two commits, or between a commit and the files as they are now."""

import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha1, sha256
from time import monotonic

from msgspec import Struct

from rightcall.base.files.sight import Sight, Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.code import SECONDS, CodeTool
from rightcall.tools.code.listing import Opener
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
from rightcall.tools.git.layout import OWN, Files
from rightcall.tools.git.refs import Span, must_exist, span
from rightcall.tools.git.repository import Repository, repository_for
from rightcall.tools.git.run import git_in, history_state, is_too_large, needs_too_much, output_of, private_for, run_git
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


_SECONDS = SECONDS["code/diff"]
_LARGEST = 50 * 1024
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
        compare="working directory" if between.compare is None else asked.compare or _compared(asked.base),
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
    context = max(0, min(asked.context_lines, 1000))
    command = ["diff"] if files is None else comparison_command(files)
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


# ── snapshot ──
# The files of a work tree as they are now, for git to compare with: copies of those that have changed, in a folder of
# ours. Nothing that git itself reads of the real ones is shown. It would follow a link swapped in at the right moment,
# or believe what a crafted index says of a file; so it only says which may have changed: by their looks, and by content
# where one is as new as the index.
#
#     which look otherwise than the index says (diff-files) ─▶ what is there, beneath the root ─▶ a copy

LARGEST = 5 << 20
"""Bytes of a file that are compared; a larger one only counts as changed."""
_SHORT_ID = 40
"""Digits of an id; those of the newer kind have more."""


@contextmanager
def snapshot(sight: Sight, repository: Repository, paths: Sequence[str], deadline: float) -> Generator[Files]:
    """The files as they are, as far as they lie in one of the paths (all, when there are none) and may be seen; to be
    compared by `comparison_command`. Raises ToolFailure when there is not enough time for it."""
    private = private_for(repository)
    index = private.take_index().index
    listing = ["diff-files", "--raw", "-z", "--ignore-submodules=all", "--", *paths]
    listed = run_program(
        git_in(private, listing, files=Files(index, repository.work_tree)),
        seconds=deadline - monotonic(), most=64 << 20,
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


def comparison_command(files: Files) -> list[str]:
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
        self._left = 256 << 20
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

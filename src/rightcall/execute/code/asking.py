"""What the tools that ask git have in common: texts and paths of a caller as arguments, and answers that came too
late."""

from collections.abc import Sequence
from time import monotonic

from rightcall.errors import ToolFailure
from rightcall.execute.code.diff_reading import PATCH_OPTIONS
from rightcall.execute.code.git.repository import Repository
from rightcall.execute.code.git.run import checked, is_too_large, needs_too_much, run_git
from rightcall.execute.code.process import Finished
from rightcall.fs.sight import Sight, Unseen

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
    return checked(finished)


def unreadable() -> ToolFailure:
    """The answer is not one that git would give."""
    return ToolFailure("git's answer could not be read; the repository may be damaged")

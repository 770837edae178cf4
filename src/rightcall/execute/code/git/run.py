"""Running git, in the private git directory of a repository. What git complains about may hold a piece of any file: it
is turned into a sentence of our own, and never shown."""

import os
from collections.abc import Sequence

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.private import Private, private_for
from rightcall.execute.code.git.repository import Repository
from rightcall.execute.code.git.settings import OWN, Files, environment, git_program
from rightcall.execute.code.process import Finished, Program, run_program
from rightcall.text.escape import escaped

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


def checked(finished: Finished) -> bytes:
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

"""What is changed, as records: files, refs, and the change that holds them together."""

import os
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.diff import shown_text

Status = Literal["begun", "done", "undone"]

LARGEST: Final = 5_000_000
"""Bytes of content that a model may write into one file."""


class FileStep(Struct, frozen=True):
    """One file that becomes another one, comes or goes. What is there must be `before`, byte for byte."""

    tree: str
    """The absolute path of an existing folder; links in it are followed, below it none."""
    path: str
    """Plain components below the tree, `/` between them."""
    before: bytes | None
    """None: there is nothing of that name."""
    after: bytes | None
    """None: it goes."""
    mode: int = 0o644
    """Permissions of a file that was not there."""
    keep: bool = True
    """A file that is replaced keeps its permissions; False: it gets those of `mode`."""
    lock: str = ""
    """The name, in the same folder, of a lock that other programs respect (git's `index.lock`): taken for the step."""


class RefStep(Struct, frozen=True):
    """One ref that moves, comes or goes, if it still is where it was."""

    name: str
    """Such as `refs/heads/fix-login`."""
    before: str | None
    """A commit; None: there is no such ref."""
    after: str | None


class GitScope(NamedTuple):
    """What of a repository a change belongs to; all empty: it is about files only."""

    repository: str = ""
    branch: str = ""
    pull: str = ""


NO_GIT = GitScope()


class Change(Struct, frozen=True, kw_only=True):
    """One thing that was done, whole or not at all."""

    id: str
    """Short, such as `c-7f3a9b2e`."""
    tool: str
    caller: str
    summary: str
    """One line for people; it may hold what a model wrote: escape it where it is shown."""
    at: str
    """UTC, as in `2026-01-31T12:00:00Z`."""
    files: tuple[FileStep, ...] = ()
    """In lists of changes without their bytes: `b""` stands for any content."""
    refs: tuple[RefStep, ...] = ()
    repository: str = ""
    """The folder of the repository's work tree, below the root; for refs."""
    branch: str = ""
    pull: str = ""
    undoes: str = ""
    undone: str = ""
    """The change that took this one back."""
    status: Status = "begun"
    kept: bool = True
    """Whether the bytes are still there, without which it cannot be undone."""


class Moved(ToolFailure):
    """What is there is not what was looked at, shown or approved; nothing was changed. `diff` is the new one, which the
    message holds escaped."""

    def __init__(self, message: str, diff: str = "") -> None:
        super().__init__(f"{message}\n{shown_text(diff)}" if diff else message)
        self.diff = diff


def new_id() -> str:
    return f"c-{os.urandom(4).hex()}"

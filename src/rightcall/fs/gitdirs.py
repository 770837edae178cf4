"""Git's own directories: what is in them is not to be read as files, under whatever name they stand. `.git` is known by
name; a bare repository, or a copy of one, by what it holds. Whoever writes there says which programs git runs, so no
tool writes into one, or what would make a folder one."""

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from unicodedata import normalize

from rightcall.errors import ToolFailure
from rightcall.fs.beneath import open_beneath
from rightcall.text.escape import escaped

MARKS = ("HEAD", "objects", "refs")
_ELSEWHERE = "commondir"
"""A file that says where objects and refs are, beside a HEAD: git needs no more."""
_ALL = (*MARKS, _ELSEWHERE)
_FOLDED = frozenset(mark.casefold() for mark in _ALL)
_SHOWN = 200
_IGNORED = frozenset("\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff")
"""Characters that some file systems leave out of names."""


def in_git_directory(root: int, path: str) -> bool:
    """Whether a true path below the open root is a git directory, or lies in one."""
    parts = path.split("/") if path else []
    return any(_is_one(root, "/".join(parts[:length])) for length in range(len(parts) + 1))


def folded(name: str) -> str:
    """A name as forgiving file systems read it: two that are the same then are one file somewhere.

    >>> folded("ReadMe.md") == folded("README.MD")
    True
    """
    plain = "".join(character for character in name if character not in _IGNORED)
    return normalize("NFC", plain.casefold()).rstrip(" .")


def as_git_reads(name: str) -> str:
    """The same where git or its system looks for one of git's own names.

    >>> as_git_reads("HEAD::$DATA"), as_git_reads(".GIT.")
    ('head', '.git')
    """
    return folded(name).partition(":")[0].rstrip(" .")


def names_by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    """What paths have in each of their folders; `""` is the top."""
    found: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for length, name in enumerate(parts):
            found.setdefault("/".join(parts[:length]), set()).add(name)
    return found


def repository_among(added: Mapping[str, Collection[str]], there: Mapping[str, Collection[str]]) -> str | None:
    """A folder that git would take for a repository, once the names that are added are there too; None: none."""
    for folder, names in added.items():
        have = {as_git_reads(name) for name in (*names, *there.get(folder, ()))}
        if "head" in have and (_ELSEWHERE in have or {"objects", "refs"} <= have):
            return folder
    return None


def repository_made(root: int, paths: Iterable[str]) -> str | None:
    """The same for files that are to be written below an open folder. One that is a repository already counts."""
    added = names_by_folder(paths)
    return repository_among(added, {folder: _names(root, folder, names) for folder, names in added.items()})


def no_repository(folder: str, argument: str = "") -> ToolFailure:
    """What to say of a folder that git would take for a repository."""
    shown = escaped(folder, _SHOWN) or "the folder at the top"
    return ToolFailure(
        f"{argument}with this git would take {shown} for a repository (HEAD, objects and refs are in it), whose "
        "settings run programs: no tool makes one, or writes into one"
    )


def _names(root: int, folder: str, added: Collection[str]) -> list[str]:
    """Those in a folder that matter: all of them where one is added that git looks for, in any spelling."""
    if not any(as_git_reads(name) in _FOLDED for name in added):
        return [mark for mark in _ALL if _kind(root, f"{folder}/{mark}" if folder else mark)]
    try:
        fd = open_beneath(root, folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return []
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _is_one(root: int, folder: str) -> bool:
    head, objects, refs = (f"{folder}/{name}" if folder else name for name in MARKS)
    return _kind(root, head) == stat.S_IFREG and _kind(root, objects) == _kind(root, refs) == stat.S_IFDIR


def _kind(root: int, path: str) -> int:
    try:
        return stat.S_IFMT(os.stat(path, dir_fd=root, follow_symlinks=False).st_mode)
    except OSError:
        return 0

"""Small files that say where a git directory is. They are read as plain text, are short, and never links."""

import os
import stat

from rightcall.fs.beneath import open_beneath

_SHORT = 4_096
_CONFIG = 100_000


def small_file(path: str, most: int = _SHORT) -> bytes | None:
    """The content of a short regular file, None for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    return _content(fd, most)


def folder_behind(root: int, name: str, beside: str) -> str | None:
    """The true path of the folder that a `.git` file below the open root names."""
    try:
        fd = open_beneath(root, name, os.O_RDONLY)
    except OSError:
        return None
    content = _content(fd, _SHORT)
    if content is None or not content.startswith(b"gitdir: "):
        return None
    return _real_folder(beside, content.removeprefix(b"gitdir: "))


def main_of_worktree(git_dir: str, gitfile: str) -> str | None:
    """The main git directory of a linked worktree: `<main>/worktrees/<name>`, whose own `gitdir` names this very
    `.git` file; None when it is none, or somebody else's."""
    back = small_file(os.path.join(git_dir, "gitdir"))
    common = small_file(os.path.join(git_dir, "commondir"))
    if back is None or common is None:
        return None
    parent = os.path.dirname(git_dir)
    main = _real_folder(git_dir, common)
    if main is None or os.path.basename(parent) != "worktrees" or main != os.path.dirname(parent):
        return None
    return main if _same_file(_joined(git_dir, back), gitfile) else None


def work_tree_named(git_dir: str) -> str | None:
    """The true path of the work tree that a git directory's own config names, as a submodule's does."""
    content = small_file(os.path.join(git_dir, "config"), _CONFIG)
    if content is None:
        return None
    section = ""
    for line in content.decode(errors="surrogateescape").splitlines():
        text = line.strip()
        if text.startswith("["):
            section = text.lower()
        key, equals, value = text.partition("=")
        if section == "[core]" and equals and key.strip().lower() == "worktree":
            return _real_folder(git_dir, os.fsencode(value.strip().strip('"')))
    return None


def _content(fd: int, most: int) -> bytes | None:
    """What a just opened regular file holds, if it is no longer than that."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        content = os.read(fd, most + 1)
        return content if len(content) <= most else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _joined(folder: str, written: bytes) -> str:
    return os.path.join(folder, os.fsdecode(written.rstrip(b"\r\n")))


def _real_folder(folder: str, written: bytes) -> str | None:
    try:
        found = os.path.realpath(_joined(folder, written), strict=True)
    except (OSError, ValueError):
        return None
    return found if os.path.isdir(found) else None


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one, strict=True) == os.path.realpath(other, strict=True)
    except (OSError, ValueError):
        return False

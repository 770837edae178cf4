"""Git's own directories: what is in them is not to be read as files, under whatever name they stand. `.git` is known by
name; a bare repository, or a copy of one, by what it holds."""

import os
import stat

MARKS = ("HEAD", "objects", "refs")


def in_git_directory(root: int, path: str) -> bool:
    """Whether a true path below the open root is a git directory, or lies in one."""
    parts = path.split("/") if path else []
    return any(_is_one(root, "/".join(parts[:length])) for length in range(len(parts) + 1))


def _is_one(root: int, folder: str) -> bool:
    head, objects, refs = (f"{folder}/{name}" if folder else name for name in MARKS)
    return _kind(root, head) == stat.S_IFREG and _kind(root, objects) == _kind(root, refs) == stat.S_IFDIR


def _kind(root: int, path: str) -> int:
    try:
        return stat.S_IFMT(os.stat(path, dir_fd=root, follow_symlinks=False).st_mode)
    except OSError:
        return 0

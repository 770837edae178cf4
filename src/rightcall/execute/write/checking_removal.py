"""Removing a folder in which somebody else's program has worked: however deep, whatever it has closed."""

import os
import stat
from contextlib import suppress
from secrets import token_hex
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> None:
    """Remove a folder and all in it, as far as that is possible; nothing of the program may still run. Folders inside
    folders are brought up to the top one level at a time, so that no depth and no length of a path is too much. Links
    are removed, not followed."""
    with suppress(OSError):
        top = os.open(path, _FOLDER)
        try:
            while folders := _emptied(top):
                for name in folders:
                    _lifted(top, name)
        finally:
            os.close(top)
        os.rmdir(path)


def _lifted(top: int, name: str) -> None:
    """Remove one folder of the top; those in it come to the top themselves."""
    below = os.open(name, _FOLDER, dir_fd=top)
    try:
        for inner in _emptied(below):
            os.rename(inner, token_hex(8), src_dir_fd=below, dst_dir_fd=top)
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=top)


def _emptied(folder: int) -> list[str]:
    """Remove all files of a folder; the names of the folders in it, which can be opened now."""
    folders: list[str] = []
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            os.chmod(name, 0o700, dir_fd=folder)
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders

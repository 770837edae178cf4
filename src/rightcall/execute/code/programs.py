"""Which git and which ripgrep are started: those of this machine, never one that lies in what is looked at, wherever
PATH leads. Tools such as npm and direnv put folders of a project on it."""

import os
import stat
from functools import lru_cache

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")
"""Where programs are installed. They count even below the root: whoever could put one there owns the machine, and with
the root `/` nothing lies outside."""


def program(name: str, root: str) -> str | None:
    """The whole path of an installed program; None when there is none, or only below the root."""
    return _find_program(name, os.path.realpath(root), os.environ.get("PATH", os.defpath))


def search_path(program: str, root: str) -> str:
    """The PATH for a program: its own folder, and those of the system, by the same rule."""
    return _path_of(program, os.path.realpath(root))


@lru_cache(64)
def _path_of(program: str, root: str) -> str:
    folders = dict.fromkeys((os.path.dirname(program), "/usr/bin", "/bin"))
    return os.pathsep.join(folder for folder in folders if _counts(folder, root))


@lru_cache(64)
def _find_program(name: str, root: str, path: str) -> str | None:
    for folder in dict.fromkeys(path.split(os.pathsep)):
        whole = os.path.join(folder, name)
        if _counts(folder, root) and _runs(whole) and (_is_system(folder, root) or not _below(whole, root)):
            return whole
    return None


def _counts(folder: str, root: str) -> bool:
    return os.path.isabs(folder) and (_is_system(folder, root) or not _below(folder, root))


def _is_system(folder: str, root: str) -> bool:
    """Whether a folder of the system lies below the root."""
    return folder.rstrip("/") in _SYSTEM and _below(folder, root)


def _below(path: str, root: str) -> bool:
    """At or below the root, as it is written or when every link is followed."""
    top = root.rstrip("/") + "/"
    return any(f"{one}/".startswith(top) for one in (os.path.normpath(path), os.path.realpath(path)))


def _runs(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False

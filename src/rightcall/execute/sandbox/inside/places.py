"""What of the machine can be seen inside: the system's programs, the interpreter, and what was asked for."""

from __future__ import annotations

import os
import stat
import sys
import sysconfig
from contextlib import suppress

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
RANDOM = ("/dev/random", "/dev/urandom")
_FULL = ("/home", "/root", "/opt", "/tmp", "/var", "/var/tmp", "/srv", "/mnt", "/media", "/etc", "/run", "/dev/shm")
_ENVIRONMENT = {
    "bin", "include", "lib", "lib64", "share", "etc", "man", "pyvenv.cfg", ".gitignore", "CACHEDIR.TAG", ".lock",
}  # fmt: skip
"""What is in a virtual environment that is nothing else."""


def system_places() -> list[str]:
    return [path for path in SYSTEM if os.path.lexists(path)]


def interpreter_places() -> list[str]:
    """Where the interpreter lives that runs us, and its packages. A prefix in which there is more than that, or may be,
    is not shown as a whole."""
    found: list[str] = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        if is_modest(prefix) and (prefix in (sys.base_prefix, sys.base_exec_prefix) or _is_nothing_else(prefix)):
            found.append(prefix)
        else:
            found += [sys.executable, os.path.join(prefix, "pyvenv.cfg"), *_shared_library()]
            found += [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths = dict.fromkeys(os.path.normpath(path) for path in found if os.path.exists(path))
    return [path for path in paths if not _within(path, SYSTEM)]


def _is_nothing_else(environment: str) -> bool:
    """Whether a virtual environment has a folder to itself, and was not made in that of a project."""
    with suppress(OSError):
        return set(os.listdir(environment)) <= _ENVIRONMENT
    return False


def _shared_library() -> list[str]:
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    return [os.path.join(folder, name)] if folder and name else []


def is_modest(prefix: str) -> bool:
    """Whether a folder can be an installation and nothing else: no home, nothing above one, nothing where everybody
    keeps everything."""
    true = os.path.realpath(prefix)
    if true == "/" or true in _FULL or os.path.dirname(true) == "/home" or os.path.basename(true) == ".local":
        return False
    return not _within(os.path.realpath(os.path.expanduser("~")), (true,))


def checked_paths(interpreter: list[str], wanted: list[str]) -> list[str]:
    """What is to be seen besides the system's own. Raises ValueError where that is everything."""
    paths = list(dict.fromkeys((*interpreter, *map(os.path.normpath, wanted))))
    for path in paths:
        if os.path.realpath(path) == "/":
            raise ValueError("the whole file system cannot be made visible")
    return paths


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def is_open_to_all(path: str) -> bool:
    """Whether a user who is nobody in particular can get to what is at this path."""
    while (path := os.path.dirname(path)) != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def nearest(path: str, folders: list[str]) -> str | None:
    """The deepest of the folders that holds the path or is it."""
    holding = [folder for folder in folders if _within(path, (folder,))]
    return max(holding, key=len, default=None)

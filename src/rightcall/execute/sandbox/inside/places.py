"""What of the machine can be seen inside: the system's programs, the interpreter, and what was asked for."""

from __future__ import annotations

import os
import sys
import sysconfig

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
RANDOM = ("/dev/random", "/dev/urandom")


def system_places() -> list[str]:
    return [path for path in SYSTEM if os.path.lexists(path)]


def interpreter_places() -> list[str]:
    """Where the interpreter lives that runs us, and its packages. A prefix that holds somebody's home, or everything,
    is not shown as a whole."""
    found: list[str] = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        if _is_modest(prefix):
            found.append(prefix)
        else:
            found += [sys.executable, os.path.join(prefix, "lib")]
            found += [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths = dict.fromkeys(os.path.normpath(path) for path in found if os.path.exists(path))
    return [path for path in paths if not _within(path, SYSTEM)]


def _is_modest(prefix: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))
    true = os.path.realpath(prefix)
    return true != "/" and true not in ("/home", "/root", "/opt", "/tmp", "/var") and not _within(home, (true,))


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def nearest(path: str, folders: list[str]) -> str | None:
    """The deepest of the folders that holds the path or is it."""
    holding = [folder for folder in folders if _within(path, (folder,))]
    return max(holding, key=len, default=None)

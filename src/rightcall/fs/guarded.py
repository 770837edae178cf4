"""RightCall's own files, which no call may touch, by whatever name: the policy, the record with what lies beside it,
and the user's folder of what lasts. What its subjects can write is no policy, and no record.

Only the standard library, and little of it: a hook loads this with every call that a host makes.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache


def state_folder() -> str:
    """The user's own folder for what lasts: trust, the record of calls in projects without a policy, and sockets."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    else:
        base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # from the folder that one happens to be in it would be that folder's word
        return os.path.abspath(usual_state_folder())
    return os.path.join(os.path.abspath(base), "rightcall")


def state_folders() -> tuple[str, ...]:
    """The state folder, and the usual one where a variable names another. OSError where there is none."""
    found = [state_folder()]
    with suppress(OSError):
        found.append(os.path.abspath(usual_state_folder()))
    return tuple(dict.fromkeys(found))


def usual_state_folder() -> str:
    """Where it would be if no variable named another: the same for all that runs with one home folder."""
    if sys.platform == "win32":
        return os.path.join(os.path.expanduser("~\\AppData\\Local"), "rightcall")
    believed = os.path.isabs(os.environ.get("HOME", os.sep))
    return os.path.join(os.path.expanduser("~") if believed else _home(), ".local", "state", "rightcall")


def _home() -> str:
    """The home folder as the system knows it."""
    if sys.platform != "win32":
        import pwd  # late: hardly anybody needs it

        try:
            if os.path.isabs(home := pwd.getpwuid(os.getuid()).pw_dir):
                return home
        except KeyError:
            pass
    raise OSError("HOME is not an absolute path, and this user has no home folder; set HOME to one")


def identity(policy: str) -> str:
    """What a policy file is known by: its name in its real folder. A link to it in another project is another policy,
    since the record lies beside the link."""
    folder, name = os.path.split(os.path.abspath(policy))
    return os.path.join(os.path.realpath(folder), name)


def packets_folder(database: str) -> str:
    """Where the router keeps its packets."""
    return os.path.join(os.path.dirname(database), "packets")


def desks_folder(database: str) -> str:
    """Where all that belongs to writing is kept, beside the audit."""
    return os.path.join(os.path.dirname(database), "desk")


def guarded_files(policy: str | None, *databases: str | None) -> tuple[str, ...]:
    """As whole paths, after every link; a folder ends with a separator, and all that is in it is meant."""
    files = [policy, *databases]
    folders = list(state_folders())
    for database in databases:
        if database is not None:
            folders += [packets_folder(database), desks_folder(database)]
    found = [os.path.realpath(file) for file in files if file is not None]
    return tuple(dict.fromkeys((*found, *(os.path.join(os.path.realpath(folder), "") for folder in folders))))


def is_guarded(path: str, guarded: Iterable[str]) -> bool:
    """Whether a whole path is one of these files, is named after one (`audit.db-wal`, `audit.db.key`), or lies in one
    of these folders. Some systems make no difference between capital and small letters, so none is made here.

    >>> is_guarded("/srv/Audit.db-wal", ["/srv/audit.db"]), is_guarded("/srv/desk.py", ["/srv/desk/"])
    (True, False)
    """
    low = path.casefold()
    files, beginnings = _folded(tuple(guarded))
    return low in files or f"{low}{os.sep}".startswith(beginnings)


@lru_cache(64)
def _folded(guarded: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names of files, and how everything begins that belongs to a file or lies in a folder."""
    low = [one.casefold() for one in guarded]
    files = frozenset(one for one in low if not one.endswith(os.sep))
    return files, (*(one for one in low if one.endswith(os.sep)), *(one + end for one in files for end in "-."))


def is_another_name(path: str, guarded: Iterable[str]) -> bool:
    """Whether a path is a second name of one of these files, or of one beside it: such a name tells nothing."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    if found.st_nlink < 2 or stat.S_ISDIR(found.st_mode):  # links have been followed, so it has no other name
        return False
    return (found.st_dev, found.st_ino) in set(_identities(guarded))


def _identities(guarded: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Of the files, of those beside them, and of all in the folders."""
    for one in guarded:
        for file in _files_in(one) if one.endswith(os.sep) else _files_beside(one):
            try:
                found = os.stat(file, follow_symlinks=False)
            except OSError:
                continue
            yield found.st_dev, found.st_ino


def _files_beside(file: str) -> Iterator[str]:
    folder, name = os.path.split(file)
    yield file
    try:
        beside = [one.path for one in os.scandir(folder) if one.name.startswith((f"{name}-", f"{name}."))]
    except OSError:
        return
    for path in beside:
        yield path
        yield from _files_in(path)


def _files_in(folder: str) -> Iterator[str]:
    for inside, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(inside, name)

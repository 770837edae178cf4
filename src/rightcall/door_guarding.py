"""The files that no call at a door may touch, wherever they are: what its subjects can write is no policy. And those
that only a person lets a file tool write: settings of hooks, and what a shell, git or the system starts from."""

import os
import re
from collections.abc import Iterable

from rightcall.fs.guarded import is_another_name, is_guarded
from rightcall.parse.late import Late

POLICY_FILE = "rightcall.toml"
STATE_FOLDER = ".rightcall"
_MAY_GUARD = Late(r"(?:^|[/\\])[.~]|^/|^[A-Za-z]:|customize\.py|authorized_keys|managed-settings", re.IGNORECASE)
"""A look at a path before anything is loaded to judge it."""
_ODD_STARTS = (".", "/etc/", "/proc/", "/run/", "/var/", "/dev/", "/root")
_ODD_PARTS = ("/.", "library/", "snap/")
_ODD_ENDS = (
    "_netrc", "shadow", "shadow-", "wallet.dat", "login data", "logins.json", "key4.db", "cookies.sqlite",
)  # fmt: skip
"""The same for the places of credentials."""


def touches(guarded: tuple[str, ...], base: str, paths: Iterable[tuple[str, str]]) -> str | None:
    """The first path, as it is written, that is one of these, or that could become one: a policy anywhere holds for
    what lies below it. `base` is the true folder that they are below.

    >>> touches((), "/work", [("notes.txt", "notes.txt"), ("sub/rightcall.toml", "sub/rightcall.toml")])
    'sub/rightcall.toml'
    """
    for written, resolved in paths:
        if "\0" in resolved:  # it leads nowhere
            continue
        whole = os.path.join(base, resolved)
        names = _plain(whole).replace("\\", "/").split("/")
        if names[-1] == POLICY_FILE or STATE_FOLDER in names:
            return written
        if is_guarded(whole, guarded) or is_another_name(whole, guarded):
            return written
        if names[-1] == "*" and _holds(os.path.dirname(whole), guarded, base):
            return written
    return None


def _holds(folder: str, guarded: tuple[str, ...], base: str) -> bool:
    """Whether one of these lies right in a folder that a command takes as a whole; the project itself is no such."""
    above = f"{base.rstrip(os.sep)}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}")
    return not above and any(os.path.dirname(one.rstrip(os.sep)) == folder for one in guarded)


def guards(root: str, paths: Iterable[tuple[str, str]]) -> str | None:
    """The first path, as it is written, that decides which hooks are asked or which programs start.

    >>> guards("/work", [("src/a.py", "src/a.py"), (".claude/settings.json", ".claude/settings.json")])
    '.claude/settings.json'
    """
    odd = [pair for pair in paths if any(map(_MAY_GUARD.search, pair)) and not any("\0" in one for one in pair)]
    if not odd:
        return None
    from rightcall.commands.places import Place  # late: few writes need it

    place = Place.at(root)
    for written, resolved in odd:
        for path in (place.whole(place.root, written), place.whole(place.root, resolved)):
            plain = path if path.isascii() else os.path.join(os.path.dirname(path), _plain(os.path.basename(path)))
            if place.is_guard(plain) or place.is_started_from(plain):
                return written
    return None


def holds_credentials(root: str, paths: Iterable[tuple[str, str]]) -> str | None:
    """The first path, as it is written, of a file in which a program keeps what it signs in with: what a command is
    asked about is asked about here too. `root` is the true folder that they are below.

    >>> holds_credentials("/work", [("src/a.py", "src/a.py"), ("/etc/shadow", "/etc/shadow")])
    '/etc/shadow'
    """
    odd = [pair for pair in paths if _may_hold(pair[1].lower()) and "\0" not in pair[1]]
    if not odd:
        return None
    from rightcall.commands.places import Place  # late: few calls need it

    place = Place.at(root)
    for written, resolved in odd:
        path = place.whole(place.root, resolved)
        if place.holds_credentials(path if path.isascii() else _plain(path)):
            return written
    return None


def _may_hold(path: str) -> bool:
    return path.startswith(_ODD_STARTS) or path.endswith(_ODD_ENDS) or any(part in path for part in _ODD_PARTS)


def _plain(name: str) -> str:
    if name.isascii():
        return name.lower()
    # late: hardly any name needs it, and a hook would pay for it with every call
    from rightcall.text.alike import latin

    return latin(name)

"""The files that no call at a door may touch, wherever they are: what its subjects can write is no policy. And those
that only a person lets a file tool write: settings of hooks, and what a shell, git or the system starts from."""

import os
import re
from collections.abc import Iterable

from rightcall.fs.guarded import is_another_name, is_guarded

POLICY_FILE = "rightcall.toml"
STATE_FOLDER = ".rightcall"
_MAY_GUARD = re.compile(r"(?:^|[/\\])[.~]|^/|^[A-Za-z]:|customize\.py|authorized_keys|managed-settings", re.IGNORECASE)
"""A look at a path before anything is loaded to judge it."""


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
    return None


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


def _plain(name: str) -> str:
    if name.isascii():
        return name.lower()
    # late: hardly any name needs it, and a hook would pay for it with every call
    from rightcall.text.alike import latin

    return latin(name)

"""The files that no call at a door may touch, wherever they are: what its subjects can write is no policy."""

import os
from collections.abc import Iterable

from rightcall.fs.guarded import is_another_name, is_guarded
from rightcall.fs.readings import follow

POLICY_FILE = "rightcall.toml"
STATE_FOLDER = ".rightcall"


def touches(guarded: tuple[str, ...], root: str, paths: Iterable[tuple[str, str]]) -> str | None:
    """The first path, as it is written, that is one of these, or that could become one: a policy anywhere holds for
    what lies below it.

    >>> touches((), "/work", [("notes.txt", "notes.txt"), ("sub/rightcall.toml", "sub/rightcall.toml")])
    'sub/rightcall.toml'
    """
    base = follow(root)
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


def _plain(name: str) -> str:
    if name.isascii():
        return name.lower()
    # late: hardly any name needs it, and a hook would pay for it with every call
    from rightcall.text.alike import latin

    return latin(name)

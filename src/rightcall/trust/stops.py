"""Emergency stops in the user's own state folder, where no `git clean` and no other project reaches them.

    <state>/rightcall/stops/everywhere.json      `rightcall pause --everywhere`: every process of this user refuses
    <state>/rightcall/stops/<digest>.json        the store of a path is paused: one that is made anew there begins so

A stop that is there and cannot be read still stops, also one that is a link to nowhere.
"""

import os
from contextlib import suppress

from rightcall.fs.guarded import state_folder
from rightcall.types_running import Pause

EVERYWHERE = ""
"""In the place of a store's path."""
_UNREADABLE = Pause("unknown", "", "the stop in the state folder cannot be read")


def stopped(store: str = EVERYWHERE) -> Pause | None:
    """The stop that holds for all processes of this user; or that of the store of a path."""
    return stop_at(place_of(store))


def place_of(store: str = EVERYWHERE) -> str:
    """The file that stops; empty where this user has no home."""
    try:
        return os.path.join(state_folder(), "stops", _name(store))
    except OSError:
        return ""


def stop_at(file: str) -> Pause | None:
    """Asked before every call, so it is quick where there is none."""
    try:
        os.lstat(file)
    except (OSError, ValueError):
        return None
    return _read(file)


def put_stop(pause: Pause | None, store: str = EVERYWHERE) -> None:
    """Keep it, or let calls go on. OSError where that cannot be done."""
    from msgspec import json

    from rightcall.fs.whole import whole_file

    folder = os.path.join(state_folder(), "stops")
    file = os.path.join(folder, _name(store))
    if pause is None:
        with suppress(FileNotFoundError):
            os.unlink(file)
        return
    for one in (os.path.dirname(folder), folder):
        os.makedirs(one, mode=0o700, exist_ok=True)
    with whole_file(file, f"{file}.{os.urandom(6).hex()}") as opened:
        opened.write(json.encode(pause))


def _read(file: str) -> Pause | None:
    from msgspec import MsgspecError, json

    try:
        with open(file, "rb") as opened:
            return json.decode(opened.read(10_000), type=Pause)
    except FileNotFoundError:  # it has just ended, or it is a link to nowhere
        return _UNREADABLE if os.path.lexists(file) else None
    except (OSError, MsgspecError):
        return _UNREADABLE


def _name(store: str) -> str:
    if store == EVERYWHERE:
        return "everywhere.json"
    from hashlib import sha256

    return f"{sha256(os.fsencode(store)).hexdigest()[:32]}.json"

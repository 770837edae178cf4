"""Emergency stops in the user's own state folder, where no `git clean` and no other project reaches them.

    <state>/rightcall/stops/everywhere.json      `rightcall pause --everywhere`: every process of this user refuses
    <state>/rightcall/stops/<digest>.json        the store of a path is paused: one that is made anew there begins so

A stop that is there and cannot be read still stops.
"""

import os
from contextlib import suppress
from functools import lru_cache

from rightcall.fs.guarded import state_folder
from rightcall.types_running import Pause

EVERYWHERE = ""
"""In the place of a store's path."""
_UNREADABLE = Pause("unknown", "", "the stop in the state folder cannot be read")


def stopped(store: str = EVERYWHERE) -> Pause | None:
    """The stop that holds for all processes of this user; or that of the store of a path. Asked before every call."""
    try:
        file = _file(store, *map(os.environ.get, ("XDG_STATE_HOME", "HOME", "LOCALAPPDATA")))
        os.stat(file)
    except OSError:  # there is none, or no home to look in
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
    except FileNotFoundError:  # it has just ended
        return None
    except (OSError, MsgspecError):
        return _UNREADABLE


@lru_cache(32)
def _file(store: str, *_environment: str | None) -> str:
    return os.path.join(state_folder(), "stops", _name(store))


def _name(store: str) -> str:
    if store == EVERYWHERE:
        return "everywhere.json"
    from hashlib import sha256

    return f"{sha256(os.fsencode(store)).hexdigest()[:32]}.json"

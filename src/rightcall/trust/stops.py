"""Emergency stops in the user's own state folder, where no `git clean` and no other project reaches them.

    <state>/rightcall/stops/everywhere.json      `rightcall pause --everywhere`: every process of this user refuses
    <state>/rightcall/stops/<digest>.json        the store of a path is paused: one that is made anew there begins so

The stop everywhere also lies in the folder that would be the state folder if `XDG_STATE_HOME` named no other, and every
process looks there too. A stop that is there and cannot be read still stops, also one that is a link to nowhere.
"""

import os
from contextlib import suppress

from rightcall.fs.guarded import state_folder, state_folders
from rightcall.types_running import Pause

EVERYWHERE = ""
"""In the place of a store's path."""
_UNREADABLE = Pause("unknown", "", "the stop in the state folder cannot be read")


def stopped(store: str = EVERYWHERE) -> Pause | None:
    """The stop that holds for all processes of this user; or that of the store of a path."""
    return stop_at(*places_of(store))


def places_of(store: str = EVERYWHERE) -> tuple[str, ...]:
    """The files that stop; none where this user has no home."""
    try:
        folders = state_folders() if store == EVERYWHERE else (state_folder(),)
    except OSError:
        return ()
    return tuple([os.path.join(folder, "stops", _name(store)) for folder in folders])


def stop_at(*files: str) -> Pause | None:
    """Asked before every call, so it is quick where there is none."""
    for file in files:
        try:
            os.lstat(file)
        except (OSError, ValueError):
            continue
        if (found := _read(file)) is not None:
            return found
    return None


def put_stop(pause: Pause | None, store: str = EVERYWHERE) -> None:
    """Keep it, or let calls go on. OSError where that cannot be done in one of its places; the others have it."""
    from msgspec import json

    from rightcall.fs.whole import whole_file

    faults: list[OSError] = []
    state_folder()  # which raises where there is no place at all, and says why
    for file in places_of(store):
        try:
            if pause is None:
                _remove(file)
                continue
            folder = os.path.dirname(file)
            for one in (os.path.dirname(folder), folder):
                os.makedirs(one, mode=0o700, exist_ok=True)
            with whole_file(file, f"{file}.{os.urandom(6).hex()}") as opened:
                opened.write(json.encode(pause))
        except OSError as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def _remove(file: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(file)


def _read(file: str) -> Pause | None:
    from msgspec import MsgspecError, json

    from rightcall.fs.whole import plain_file

    try:
        with open(file, "rb", opener=plain_file) as opened:
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

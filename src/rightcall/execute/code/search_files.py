"""Which files a search looks into: those that may be seen, that no ignore file leaves out, that lie in no folder of
made or fetched things, and that fit the globs. The walk is ours, whichever engine searches: both see the same files."""

import os
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from rightcall.execute.code.ignoring import Ignoring, OutOfTime, ignoring_at
from rightcall.execute.code.walk import Place, walk
from rightcall.fs.sight import Opened, Sight

LEFT_OUT = frozenset(("node_modules", ".git", "dist", "build"))
"""Folders that are never gone into, unless a search is told to begin in them or below."""

Globs = Callable[[str], bool]


class Listing(Struct):
    """Files by their true paths. `late` when time ran out; `negates_below` when an ignore file further down takes back
    what one above leaves out."""

    files: list[str]
    late: bool = False
    negates_below: bool = False


class Wanted(Struct, frozen=True):
    """A glob that a path must match, as it was written too, and those that it must not match; None for none."""

    included: Globs | None = None
    excluded: Globs | None = None
    written: str | None = None

    def file(self, path: str) -> bool:
        return (self.included is None or self.included(path)) and not (
            self.excluded is not None and self.excluded(path)
        )

    def folder(self, path: str) -> bool:
        return self.excluded is None or not self.excluded(path)


def files_below(sight: Sight, start: Opened, wanted: Wanted, deadline: float) -> Listing:
    """The files below an open folder, in the order of the walk."""
    root = sight.open_root()
    try:
        above = ignoring_at(root, start.path, deadline)
    finally:
        os.close(root)
    found = Listing([])
    ignoring: dict[str, Ignoring] = {start.path: above}
    for place in walk(sight, start):
        if monotonic() > deadline:
            found.late = True
            break
        here = ignoring.pop(place.path, above).below(place.path, place.fd, place.files)
        found.negates_below = found.negates_below or here.negates_below
        try:
            _leave_out(place, here)
        except OutOfTime:
            found.late = True
            break
        top = f"{place.path}/" if place.path else ""
        if wanted.excluded is not None:
            place.folders[:] = [name for name in place.folders if wanted.folder(top + name)]
        for name in place.folders:
            ignoring[top + name] = here
        files = [top + name for name in place.files]
        found.files += files if wanted.included is wanted.excluded is None else filter(wanted.file, files)
    return found


def _leave_out(place: Place, here: Ignoring) -> None:
    if place.folders:
        place.folders[:] = [name for name in place.folders if name not in LEFT_OUT]
    if here.suspects(place.path, place.folders + place.files):
        place.folders[:] = here.kept(place.path, place.folders, folders=True)
        place.files[:] = here.kept(place.path, place.files, folders=False)

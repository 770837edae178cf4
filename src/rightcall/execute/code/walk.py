"""Going through folders: each is opened beneath the root by the very names that the rules have judged, so that a
folder swapped for a link while we walk leads nowhere. Links are told, never followed."""

import os
from collections.abc import Generator

from rightcall.execute.trace import Trace, current_trace
from rightcall.fs.beneath import open_beneath
from rightcall.fs.gitdirs import MARKS
from rightcall.fs.sight import Opened, Sight


class Place:
    """One folder and what may be seen in it: names, sorted. Pipes, devices and sockets never appear, nor does what the
    rules refuse. A name taken out of `folders` before the next step is not gone into."""

    __slots__ = ("fd", "files", "folders", "links", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        """The folder's true path below the root, `""` for the root itself."""
        self.fd = fd
        """The open folder, until the next step."""
        self.folders: list[str] = []
        self.files: list[str] = []
        self.links: list[str] = []

    @property
    def depth(self) -> int:
        """How many folders it lies below the root."""
        return self.path.count("/") + 1 if self.path else 0


def walk(sight: Sight, start: Opened) -> Generator[Place, None, None]:
    """The folder and all below it, parents first, names in order. Two descriptors at most are open at once, however
    deep it goes; what has vanished meanwhile, or cannot be opened, is left out."""
    root, trace = sight.open_root(), current_trace()
    try:
        place = Place(start.path, start.fd)
        if not _look_into(sight, place, trace):
            return
        yield place
        todo = _below(place)
        while todo:
            path = todo.pop()
            try:
                fd = open_beneath(root, path, os.O_RDONLY | os.O_DIRECTORY)
            except (OSError, ValueError):
                if trace is not None:
                    trace.lose()  # it may be opened one day without looking any different
                continue
            try:
                place = Place(path, fd)
                if _look_into(sight, place, trace):
                    yield place
                    todo += _below(place)
            finally:
                os.close(fd)
    finally:
        os.close(root)


def _below(place: Place) -> list[str]:
    """The folders to go into, the first one last."""
    top = f"{place.path}/" if place.path else ""
    return [top + name for name in reversed(place.folders)]


def _look_into(sight: Sight, place: Place, trace: Trace | None) -> bool:
    """Fill in what is there; False when the folder cannot be listed, or is one of git's own."""
    if trace is not None:
        trace.folder(place.path, os.fstat(place.fd))
    try:
        with os.scandir(place.fd) as entries:
            found = {entry.name: entry for entry in entries}
    except OSError:
        if trace is not None:
            trace.lose()
        return False
    if all(name in found for name in MARKS):
        return False
    for name in sight.rules.touchable(place.path, sorted(found)):
        _put(name, found[name], place)
    return True


def _put(name: str, entry: os.DirEntry[str], place: Place) -> None:
    try:
        if entry.is_file(follow_symlinks=False):
            place.files.append(name)
        elif entry.is_dir(follow_symlinks=False):
            place.folders.append(name)
        elif entry.is_symlink():
            place.links.append(name)
    except OSError:  # a file system that does not tell kinds, and a name that has gone
        return

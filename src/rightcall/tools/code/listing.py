"""`code/list`: files and folders that match a glob."""

import os
import stat
from collections.abc import Generator
from stat import S_ISDIR
from time import monotonic
from types import TracebackType
from typing import Literal, Self

from msgspec import UNSET, Struct, UnsetType

from rightcall.base.files.sight import MARKS, Opened, Sight, open_beneath, real_path, shown_name
from rightcall.base.files.write import closing
from rightcall.base.globs import Globs, compile_globs
from rightcall.base.text import AnswerRoom, utc
from rightcall.errors import ToolFailure
from rightcall.tools.code import SECONDS, CodeTool, begin_trace
from rightcall.tools.state import Trace, current_trace, untold

# ── opening ──
# One file after the other, as a walk has found them: by the true names that the rules have judged, without following a
# link. Neighbours share their open folder, which is half the work.

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Opener:
    """Holds the root and the folder of the last file open, until it is closed."""

    def __init__(self, sight: Sight) -> None:
        self._root = sight.open_root()
        self._path: str = ""
        self._folder = -1
        self._settled: dict[str, bool] = {}

    def file(self, path: str) -> Opened | None:
        """A regular file, which the caller closes; None when it is gone, or something else by now."""
        folder, _, name = path.rpartition("/")
        try:
            file = os.open(name, _FLAGS, dir_fd=self._folder_of(folder))
        except (OSError, ValueError):
            return None
        seen = os.fstat(file)
        if stat.S_ISREG(seen.st_mode):
            return Opened(file, path, seen)
        os.close(file)
        return None

    def look(self, path: str) -> os.stat_result | None:
        """What the system tells of a file or folder without opening it; None when it is gone."""
        folder, _, name = path.rpartition("/")
        try:
            return os.stat(name, dir_fd=self._folder_of(folder), follow_symlinks=False)
        except (OSError, ValueError):
            return None

    def link(self, path: str) -> bytes | None:
        """What is written in a link, which is not followed."""
        folder, _, name = path.rpartition("/")
        try:
            return os.fsencode(os.readlink(name, dir_fd=self._folder_of(folder)))
        except (OSError, ValueError):
            return None

    def settled(self, folder: str, since: int) -> bool:
        """Whether nothing in a folder, or in one above it, has been put in the place of something else since then
        (nanoseconds; always the same for one opener)."""
        known = self._settled.get(folder)
        if known is None:
            try:
                seen = os.fstat(self._folder_of(folder))
                known = seen.st_ctime_ns < since and (not folder or self.settled(folder.rpartition("/")[0], since))
            except (OSError, ValueError):
                known = False
            self._settled[folder] = known
        return known

    def _folder_of(self, path: str) -> int:
        if self._folder < 0 or path != self._path:
            self._forget()
            self._folder = open_beneath(self._root, path, os.O_RDONLY | os.O_DIRECTORY)
            self._path = path
        return self._folder

    def _forget(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._forget()
        os.close(self._root)


# ── walk ──
# Going through folders: each is opened beneath the root by the very names that the rules have judged, so that a
# folder swapped for a link while we walk leads nowhere. Links are told, never followed.


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
    with closing(root):
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
            with closing(fd):
                place = Place(path, fd)
                if _look_into(sight, place, trace):
                    yield place
                    todo += _below(place)


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


MOST_FILES = 500
DEEPEST = 10
"""Where nothing else was asked for."""
_SECONDS = SECONDS["code/list"]
_MADE = "__pycache__"
"""What is made from the sources beside it."""
_WILD = frozenset("*?[]{}\\")
_DEEPER = f"What lies more than {DEEPEST} folders deep was not read; pass a deeper directory."


class ListArguments(Struct, frozen=True, rename="camel", kw_only=True):
    """The pattern is relative to the directory, whose own entries are at depth 1."""

    pattern: str
    directory: str = "."
    max_depth: int | None = None
    include_hidden: bool = False
    sort_by: Literal["name", "modified", "size"] = "name"
    limit: int = MOST_FILES


class FileEntry(Struct, frozen=True, rename="camel", kw_only=True):
    """A link shows as what it leads to, under its own name. A folder has no size."""

    path: str
    name: str
    size: int
    last_modified: str
    is_directory: bool


class ListResult(Struct, frozen=True, rename="camel", kw_only=True):
    """`total_files` counts all that match, folders too; `truncated`: not all of them are here, or there may be more
    where nobody has looked, which `note` tells then. A `maxDepth` that was asked for is no such thing."""

    success: bool = True
    files: list[FileEntry]
    total_files: int
    truncated: bool
    note: str | UnsetType = UNSET


def list_files(sight: Sight, asked: ListArguments) -> ListResult:
    """What matches, in order. Raises ToolFailure."""
    if (asked.max_depth is not None and asked.max_depth < 1) or asked.limit < 1:
        raise ToolFailure("maxDepth and limit must be 1 or more; the directory's own entries are at depth 1")
    with sight.folder(asked.directory or ".") as start:
        begin_trace(sight, asked.directory, start)
        search = _Search(sight, asked, start)
        late = search.late()
    search.sort()
    entries, gone = _entries(sight, search, min(asked.limit, MOST_FILES))
    _trace(search, asked, late=late or gone > 0)
    total = len(search.found) - gone
    return ListResult(
        files=entries,
        total_files=total,
        truncated=late or search.unvisited or len(entries) < total,
        note=_DEEPER if search.unvisited else UNSET,
    )


def _trace(search: "_Search", asked: ListArguments, *, late: bool) -> None:
    """Note what the answer depends on besides the folders: every file that was looked at. Where a link leads cannot be
    told by looking at the link, nor where the root is by looking below it."""
    trace = current_trace()
    if trace is None:
        return
    if late or search.has_links or asked.pattern.startswith("/"):
        trace.lose()
    for path, look in search.looks.items():
        trace.file(path, look)


class _Search:
    """Goes through the folders and keeps what matches."""

    def __init__(self, sight: Sight, asked: ListArguments, start: Opened) -> None:
        self._sight = sight
        self._asked = asked
        self._start = start
        self._globs = _globs(sight, asked, start)
        self._deadline = monotonic() + _SECONDS
        self._deepest = DEEPEST if asked.max_depth is None else asked.max_depth
        self.has_links = False
        """Whether links match, which show as what they lead to."""
        self.unvisited = False
        """Whether folders were left out that nobody has asked to leave out."""
        self.found: list[str] = []
        self.looks: dict[str, os.stat_result] = {}
        """Of links, and of all when they are sorted by it; else only what is returned needs to be looked at."""

    def late(self) -> bool:
        """Find them all; True when there was no time for that."""
        for place in walk(self._sight, self._start):
            self._visit(place)
            if monotonic() > self._deadline:
                return True
        return False

    def sort(self) -> None:
        looks = self.looks
        if self._asked.sort_by == "name":
            self.found.sort()
        elif self._asked.sort_by == "modified":
            self.found.sort(key=lambda path: (-looks[path].st_mtime_ns, path))
        else:
            self.found.sort(key=lambda path: (-_size(looks[path]), path))

    def _visit(self, place: Place) -> None:
        for names in (place.folders, place.files, place.links):
            if not self._asked.include_hidden:
                names[:] = [name for name in names if name[0] != "." or name[:2] == ".."]
            if _MADE in names:
                names.remove(_MADE)
        whole = f"{place.path}/" if place.path else ""
        top = whole[len(self._start.path) + 1 :] if self._start.path else whole
        globs = self._globs
        self._keep(place, whole, globs.among(top, place.folders + place.files))
        if place.links and (links := globs.among(top, place.links)):
            self.has_links = True
            self._keep_links(whole, links)
        place.folders[:] = [name for name in place.folders if globs.reaches(top + name)]
        if top.count("/") + 1 >= self._deepest:
            self.unvisited = self.unvisited or (self._asked.max_depth is None and bool(place.folders))
            place.folders.clear()

    def _keep(self, place: Place, whole: str, names: list[str]) -> None:
        if self._asked.sort_by == "name":
            self.found += [whole + name for name in names]
            return
        for name in names:
            try:
                self.looks[whole + name] = os.stat(name, dir_fd=place.fd, follow_symlinks=False)
            except OSError:  # it has gone
                continue
            self.found.append(whole + name)

    def _keep_links(self, whole: str, names: list[str]) -> None:
        """Only those that lead to something that may be seen."""
        for name in names:
            if monotonic() > self._deadline:
                return
            try:
                with self._sight.open(whole + name) as target:
                    self.looks[whole + name] = target.stat
            except ToolFailure:
                continue
            self.found.append(whole + name)


def _globs(sight: Sight, asked: ListArguments, start: Opened) -> Globs:
    """The pattern, seen from the directory. A folder's name alone means what is in it."""
    pattern = asked.pattern
    if pattern.startswith("/"):
        pattern = _relative(sight, pattern, start)
    while pattern.startswith("./"):
        pattern = pattern[2:].lstrip("/")
    if pattern in ("", ".") and asked.pattern:
        pattern = "*"
    elif pattern.endswith("/"):
        pattern += "*"
    elif not _WILD.intersection(pattern) and _is_folder(sight, start, pattern):
        pattern += "/*"
    return compile_globs([pattern], anywhere=False)


def _relative(sight: Sight, pattern: str, start: Opened) -> str:
    """An absolute pattern below the directory; any other is left as it is, to be refused."""
    with closing(sight.open_root()) as root:
        tops = (sight.root, real_path(root, sight.root))
    for top in tops:
        whole = os.path.join(top, start.path)
        if pattern.rstrip("/") == whole.rstrip("/"):
            return "."
        if pattern.startswith(whole.rstrip("/") + "/"):
            return pattern[len(whole.rstrip("/")) + 1 :].lstrip("/") or "."
    return pattern


def _is_folder(sight: Sight, start: Opened, pattern: str) -> bool:
    path = f"{start.path}/{pattern}" if start.path else pattern
    try:
        with sight.open(path) as found:
            return found.is_folder and found.path == path  # a link is listed itself
    except ToolFailure:
        return False


def _entries(sight: Sight, search: _Search, limit: int) -> tuple[list[FileEntry], int]:
    """The first ones as they are shown, and how many have gone since they were found."""
    entries: list[FileEntry] = []
    gone = 0
    room = AnswerRoom()
    with Opener(sight) as opener:  # sorted by name, they come folder by folder
        for path in search.found:
            if len(entries) == limit:
                break
            look = search.looks.get(path) or opener.look(path)
            if look is None:
                gone += 1
                continue
            search.looks[path] = look
            entry = _entry(path, look)
            if not room.take(entry):
                break
            entries.append(entry)
    return entries, gone


def _entry(path: str, look: os.stat_result) -> FileEntry:
    shown = shown_name(path)
    return FileEntry(
        path=shown,
        name=shown.rpartition("/")[2],
        size=_size(look),
        last_modified=utc(look.st_mtime),
        is_directory=S_ISDIR(look.st_mode),
    )


def _size(look: os.stat_result) -> int:
    return 0 if S_ISDIR(look.st_mode) else look.st_size


TOOL = CodeTool("code/list", ListArguments, list_files, untold)

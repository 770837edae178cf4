"""Running git, in a private git directory: one per process and repository, outside the root and for nobody else to
open. Git sees a configuration of our own there, and links to the objects, refs and reflogs of the repository.

The directory is made once, looked over before each use (a `stat` for each folder that is linked), and removed with the
process. What git complains about may hold a piece of any file: it is turned into a sentence of our own, never shown.
"""

import os
import shutil
import stat
import struct
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import EPERM
from hashlib import sha256
from threading import Lock
from time import monotonic, time, time_ns

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import Sight
from rightcall.base.files.write import closing
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.git.layout import (
    OWN,
    PSEUDO,
    Files,
    Layout,
    Pins,
    Stamp,
    Surveyor,
    config,
    environment,
    git_program,
    graph_file,
    stamp,
)
from rightcall.tools.git.repository import PrivateFolder, Repository
from rightcall.tools.process import Finished, Program, run_program
from rightcall.tools.sandbox.inside import kernel

_MOST = 16
"""Private directories that a process keeps at a time."""


class _Outgrown(Exception):
    """The directory cannot be brought up to date in place, while others may be using it."""


class Private:
    """One private git directory. Whoever runs git in it holds this object meanwhile: it goes when nobody does."""

    def __init__(self, repository: Repository, *, with_graph: bool = True) -> None:
        self.repository = repository
        self._pins = Pins(repository)
        self._surveyor = Surveyor(repository, self._pins, with_graph=with_graph)
        self._lock = Lock()
        self._index: Stamp = ()
        self._layout = self._surveyor.survey()
        self._folder = self._made()

    def refresh(self) -> None:
        """Bring it up to date. Raises _Outgrown when another one has to be made."""
        with self._lock:
            if not os.path.exists(os.path.join(self.path, "config")):
                raise _Outgrown  # somebody has tidied up
            if not self._pins.current():
                raise _Outgrown
            if self._layout.current():
                return
            layout = self._surveyor.survey()
            old = self._layout
            if layout.folders != old.folders or (layout.sha256, layout.reftable) != (old.sha256, old.reftable):
                raise _Outgrown
            if any(layout.links.get(name, target) != target for name, target in old.links.items()):
                raise _Outgrown
            try:
                self._update(old, layout)
            except OSError:
                raise _Outgrown from None
            self._layout = layout

    @property
    def fds(self) -> tuple[int, ...]:
        """Descriptors that whoever is run in it needs."""
        return self._pins.fds

    @property
    def tops(self) -> tuple[int, ...]:
        """The repository's own git directories, held open."""
        return self._pins.tops

    @property
    def layout(self) -> Layout:
        """What it holds of the repository, as of the last look."""
        return self._layout

    def take_index(self) -> Files:
        """A copy of the index, which tells which files have not been touched. A link would not do: git writes to it."""
        source = self._pins.own("index")
        taken = Files(os.path.join(self.path, OWN, "index"))
        with self._lock:
            looks = stamp(source)
            if looks == self._index:
                return taken
            self._copy(source, f"{OWN}/index")
            for name in os.listdir(self._pins.own()):
                if name.startswith("sharedindex."):
                    self._copy(self._pins.own(name), name)
            self._index = looks
        return taken

    def _made(self) -> PrivateFolder:
        """In the first place where there is room for it."""
        for place in _places(self.repository.root):
            try:
                folder = PrivateFolder(place)
            except OSError:
                continue
            self.path = folder.path
            try:
                self._fill(self._layout)
                return folder
            except OSError:
                folder.remove()
        raise ToolFailure("git cannot run safely: no writable folder for temporary files")

    def _fill(self, layout: Layout) -> None:
        for folder in (OWN, f"{OWN}/empty", "logs", *layout.folders):
            os.makedirs(os.path.join(self.path, folder), exist_ok=True)
        for name, target in layout.links.items():
            os.symlink(target, os.path.join(self.path, name))
        if "refs" not in layout.links:
            os.makedirs(os.path.join(self.path, "refs"), exist_ok=True)
        for name, content in layout.files.items():
            self._write(name, content)
        self._write("config", config(sha256=layout.sha256, reftable=layout.reftable).encode())

    def _update(self, old: Layout, new: Layout) -> None:
        for name in new.links.keys() - old.links.keys():
            os.symlink(new.links[name], os.path.join(self.path, name))
        for name in old.links.keys() - new.links.keys():
            os.unlink(os.path.join(self.path, name))
        for name, content in new.files.items():
            if old.files.get(name) != content:
                self._write(name, content)
        for name in old.files.keys() - new.files.keys():
            os.unlink(os.path.join(self.path, name))

    def _write(self, name: str, content: bytes) -> None:
        """All at once: another thread may be reading it."""
        whole = os.path.join(self.path, name)
        with open(whole + "~", "wb") as file:
            file.write(content)
        os.replace(whole + "~", whole)

    def _copy(self, source: str, name: str) -> None:
        whole = os.path.join(self.path, name)
        try:
            fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(whole)
            return
        with os.fdopen(fd, "rb") as old:
            seen = os.fstat(fd)
            if not stat.S_ISREG(seen.st_mode):
                return
            try:
                with open(whole + "~", "wb") as new:
                    shutil.copyfileobj(old, new, 1 << 20)
            except OSError as error:
                raise ToolFailure("Not enough space for a copy of the repository's index") from error
        # git trusts only entries that are older than the index: a copy must look as old as what it is a copy of
        os.utime(whole + "~", ns=(seen.st_atime_ns, seen.st_mtime_ns))
        os.replace(whole + "~", whole)


def private_for(repository: Repository) -> Private:
    """The private git directory of a repository, made or brought up to date."""
    found = _kept.get(repository)
    if found is not None:
        try:
            found.refresh()
            return found
        except _Outgrown:
            pass
    made = Private(repository)
    _kept.put(repository, made)
    return made


class _Kept:
    """The directories in use by this process, the latest last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: OrderedDict[Repository, Private] = OrderedDict()

    def get(self, repository: Repository) -> Private | None:
        with self._lock:
            if repository in self._all:
                self._all.move_to_end(repository)
            return self._all.get(repository)

    def put(self, repository: Repository, made: Private) -> None:
        with self._lock:
            self._all[repository] = made
            gone = [self._all.popitem(last=False)[1] for _ in range(len(self._all) - _MOST)]
        del gone  # outside the lock: files are removed

    def forget(self) -> None:
        """In a child after a fork: what the parent has made is the parent's."""
        self._lock = Lock()
        self._all = OrderedDict()


def _places(root: str) -> list[str]:
    """Where a private directory can be, the best first: in memory, since it is many small links; outside the root if
    there is such a place (if not, its name is still one that the path rules refuse)."""
    top = root.rstrip("/") + "/"
    wanted = (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm", tempfile.gettempdir(), "/var/tmp")
    usable = [os.path.realpath(place) for place in wanted if os.path.isabs(place) and _is_safe(place)]
    return [place for place in usable if not f"{place}/".startswith(top)] or usable


def _is_safe(place: str) -> bool:
    """Whether nobody else can put another folder in the place of ours: it is ours, or everybody's with the bit that
    keeps them apart."""
    try:
        seen = os.stat(place)
    except OSError:
        return False
    apart = not seen.st_mode & 0o022 or bool(seen.st_mode & stat.S_ISVTX)
    return seen.st_uid in (0, os.geteuid()) and apart and os.access(place, os.W_OK | os.X_OK)


_kept = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.forget)


# ── confining ──
# Where a git that writes may write: in folders that are held open, and nowhere else. Git goes by names, and follows a
# link that somebody puts in the place of `refs/heads` at that moment; Landlock looks at what is behind the name.
# Systems without it have to do with what was looked at before.

_WRITE_FILE = 1 << 1
_CHANGES = 0b1_1111_1111 << 4
"""Removing and making, of the first version of Landlock."""
_REFER, _TRUNCATE = 1 << 13, 1 << 14


def only_in(folders: Sequence[int], *paths: str) -> Callable[[], None] | None:
    """What the thread that starts a program has to do first, so that it can write in these open folders and those at
    the paths alone; None where the system has no means for it. The thread itself can do no more either."""
    version = kernel.landlock_version() if folders and sys.platform == "linux" else 0
    if not version:
        return None

    def confine() -> None:
        handled = _WRITE_FILE | _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
        try:
            _enter(handled, folders, paths)
        except kernel.Step as error:
            raise OSError(error.errno or EPERM, str(error)) from error

    return confine


def _enter(handled: int, folders: Sequence[int], paths: Sequence[str]) -> None:
    with closing(kernel.landlock_rules(struct.pack("Q", handled))) as rules:
        for folder in folders:
            kernel.landlock_allow(rules, handled, folder, "a folder")
        whole = [(path, handled) for path in paths]
        for name, rights in (*whole, ("/dev/null", handled & (_WRITE_FILE | _TRUNCATE))):
            with closing(os.open(name, os.O_PATH | os.O_CLOEXEC)) as fd:
                kernel.landlock_allow(rules, rights, fd, name)
        kernel.no_new_privileges()
        kernel.landlock_enter(rules)


# ── state ──
# In which state a history is: changes whenever a commit is made, a branch moved, a reflog written.

_MOST_STATE = 5_000
"""Refs that are looked at one by one; a repository with more has most of them in one file, or pays with its cache."""
_SETTLED = 20_000_000
"""Nanoseconds in which a file can change twice and look the same."""


def history_state(sight: Sight, repository: Repository) -> object:
    """The looks of everything that names a commit. Raises OSError when that is too much, or has changed just now."""
    del sight  # what may be seen of a history does not depend on its state
    own, common = repository.git_dir, repository.common_dir
    paths = [os.path.join(own, name) for name in ("HEAD", "logs/HEAD", *PSEUDO)]
    paths += [os.path.join(common, name) for name in ("packed-refs", "shallow", "objects/pack")]
    looks = [(path, stamp(path)) for path in paths]
    for name in ("refs", "logs/refs", "reftable"):
        _tree(os.path.join(common, name), looks)
    latest = max((look[4] for _, look in looks if look), default=0)
    if abs(time_ns() - latest) < _SETTLED:
        raise OSError("changed a moment ago")
    return sha256(repr(looks).encode(errors="surrogateescape")).hexdigest()


def _tree(folder: str, looks: list[tuple[str, Stamp]]) -> None:
    todo = [folder]
    while todo:
        at = todo.pop()
        seen = stamp(at)
        looks.append((at, seen))
        if len(looks) > _MOST_STATE:
            raise OSError("too many refs to look at")
        if seen and stat.S_ISDIR(seen[0]):
            with os.scandir(at) as entries:
                todo.extend(sorted(entry.path for entry in entries))


# ── running ──

_MEMORY = 1 << 30
"""Bytes. The history of a million commits fits in there."""


def run_git(
    repository: Repository, arguments: Sequence[str], *, seconds: float, most: int, stdin: bytes | None = None
) -> Finished:
    """Run git on a repository, to its end, its deadline, or until it has written `most` bytes. It sees an empty work
    tree: no file, attribute or mailmap. Paths among the arguments are taken as they are, without patterns. Raises
    ToolFailure when there is no git, or the repository cannot be read."""
    return run_program(git_in(private_for(repository), arguments, stdin=stdin), seconds=seconds, most=most)


def git_in(
    private: Private, arguments: Sequence[str], *, stdin: bytes | None = None, files: Files | None = None
) -> Program:
    """Git in a private git directory that is at hand, to be run; `files` are for what needs a work tree."""
    given = [_sayable(argument) for argument in arguments]
    return Program(
        [git_program(private.repository.root), "--no-pager", "--no-optional-locks", *given],
        env=environment(private.path, private.repository.root, files),
        cwd=os.path.join(private.path, OWN, "empty"),
        stdin=stdin, fds=private.fds, owner=private, memory=_MEMORY,
        threads=1 if files is None else None,  # many of them look at the files
    )  # fmt: skip


def _sayable(argument: str) -> str:
    """An argument that a program can be given at all."""
    try:
        if b"\0" not in os.fsencode(argument):
            return argument
    except UnicodeEncodeError:
        pass
    raise ToolFailure(f"{escaped(argument, 200)} holds a character that no name or text in a history can have")


def output_of(finished: Finished) -> bytes:
    """What git has written, when all went well. Raises the ToolFailure that fits otherwise."""
    if finished.code == 0 or finished.full:
        return finished.out
    raise failure_of(finished)


_SAID: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b"No space left on device",), "The disk is full: git could not write"),
    ((b"Disk quota exceeded",), "The disk quota is used up: git could not write"),
    ((b"Read-only file system",), "The disk that the repository is on is read-only: git could not write"),
    (
        (b"Permission denied", b"Operation not permitted", b"insufficient permission"),
        "git has no permission for a file or folder of the repository: whoever runs this must own it, or be let in",
    ),
    ((b"couldn't write", b"couldn't close", b"unable to write"), "git could not write: mostly, the disk is full"),
    ((b"does not have any commits yet",), "The repository has no commits yet"),
    (
        (b"unknown revision", b"bad revision", b"Needed a single revision", b"bad object", b"not a valid object name"),
        "No such commit",
    ),
    ((b"is ambiguous",), "A name is ambiguous: write more of it"),
    ((b"no such path", b"does not exist in", b"exists on disk, but not in"), "No such file in that commit"),
    ((b"has only ",), "The file has fewer lines than that"),
    (
        (
            b"corrupt",
            b"loose object",
            b"unable to read",
            b"bad tree",
            b"inflate",
            b"packfile",
            b"missing",
            b"broken",
            b"unexpected line",
            b"bad shallow",
            b"index file",
            b"bad signature",
            b"bad index",
            b"malformed",
            b"bad pack",
        ),
        "The git repository is damaged, or a part of its history is not here",
    ),
    ((b"unknown repository extension", b"expected git repo version"), "This git is too old for the repository"),
)


_OUT_OF_MEMORY = (b"out of memory", b"cannot allocate memory", b"mmap failed")


def is_too_large(finished: Finished) -> bool:
    """Whether git has given up on a file of hundreds of megabytes: it reads those whole that were added or removed, or
    may have been renamed. Without the patch and without renames there is still something to tell."""
    return finished.code not in (None, 0) and b"over limit" in finished.err


def needs_too_much(finished: Finished) -> bool:
    """Whether git has come to the end of its memory: mostly by a commit that changes millions of files, and is made for
    that."""
    return finished.code not in (None, 0) and any(mark in finished.err.lower() for mark in _OUT_OF_MEMORY)


def failure_of(finished: Finished) -> ToolFailure:
    """Why git has failed, in words of our own."""
    if finished.late:
        return ToolFailure("git took too long: ask for less, with a path, a smaller range or a smaller limit")
    if is_too_large(finished):
        return ToolFailure("A file in there is too large to be compared: code/diff shows others, named in paths")
    if needs_too_much(finished):
        return ToolFailure("This needs too much memory: ask for less, for single files or a smaller range")
    said = finished.err
    for marks, sentence in _SAID:
        if any(mark in said for mark in marks):
            return ToolFailure(sentence)
    return ToolFailure("git could not do this: a file cannot be read, or the repository is damaged")


# ── graph ──
# A commit graph makes a long history fast to walk: parents, dates and changed paths of every commit in one file. Ours
# is written outside the repository, which stays as it is.
#
# A graph can be out of date but never wrong: what it says of a commit follows from the commit's id, and commits that it
# does not know are read as ever.

_MEMORY_GRAPH = 4 << 30
"""Bytes. Of a million commits, everything that each has changed is kept until it is written."""
_LEFT = 3600.0
"""Seconds after which nobody can still be writing a file."""
_HEADER = 8
_ENTRY = 12
_LAST_FAN_OUT = 255 * 4


class GraphReport(Struct, frozen=True):
    """What was written. No commits: git makes no graph of a shallow or empty history."""

    path: str
    commits: int
    seconds: float
    bytes: int


def write_graph(
    repository: Repository, seconds: float, on_progress: Callable[[str], None] | None = None
) -> GraphReport:
    """Write the graph of everything that a ref reaches, in the place of an older one. Raises ToolFailure when that
    takes longer than `seconds`, or cannot be done. `on_progress` hears in a word what is being done."""
    began = monotonic()
    private = Private(repository, with_graph=False)
    if on_progress is not None:
        on_progress("reading the history")
    program = git_in(private, ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"])
    finished = run_program(replace(program, memory=_MEMORY_GRAPH), seconds=seconds, most=1_000)
    if finished.code != 0:
        raise failure_of(finished)
    made = os.path.join(private.path, "objects", "info", "commit-graph")
    if not os.path.exists(made):
        return GraphReport("", 0, monotonic() - began, 0)
    if on_progress is not None:
        on_progress("writing the graph")
    commits = commits_in(made)
    path = graph_file(repository)
    try:
        size = _put(made, path)
    except OSError as error:
        raise ToolFailure(f"The graph cannot be written to {path}: {os.strerror(error.errno or 0)}") from error
    return GraphReport(path, commits, monotonic() - began, size)


def commits_in(graph: str) -> int:
    """How many commits a graph holds: the last number of its fan-out table."""
    with open(graph, "rb") as file:
        chunks = file.read(_HEADER)[6]
        for _ in range(chunks):
            entry = file.read(_ENTRY)
            if entry[:4] == b"OIDF":
                file.seek(int.from_bytes(entry[4:]) + _LAST_FAN_OUT)
                return int.from_bytes(file.read(4))
    return 0


def _put(made: str, path: str) -> int:
    """All at once, for our eyes only."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for own in (folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))):
        os.chmod(own, 0o700)
    _tidy(folder)
    size = 0
    fd, fresh = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(fd, "wb") as new, open(made, "rb") as old:
            while block := old.read(1 << 20):
                size += new.write(block)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
    return size


def _tidy(folder: str) -> None:
    """What somebody was writing there when it was killed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            seen = entry.stat(follow_symlinks=False)
            if entry.name.startswith(tempfile.gettempprefix()) and time() - seen.st_mtime > _LEFT:
                with suppress(OSError):
                    os.unlink(entry.path)

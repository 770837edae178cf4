"""Which repository a path belongs to: the innermost one at or below the root. Nothing above the root is ever looked at,
and a `.git` that leads elsewhere is followed only where the other side says the same."""

import fcntl
import os
import shutil
import signal
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from time import monotonic, time

from msgspec import Struct

from rightcall.base.files.sight import O_PATH, Sight, below, open_beneath, real_path, true_path
from rightcall.base.files.write import closing
from rightcall.errors import ToolFailure

# ── pointers ──
# Small files that say where a git directory is. They are read as plain text, are short, and never links.

_SHORT = 4_096


def small_file(path: str, most: int = _SHORT) -> bytes | None:
    """The content of a short regular file, None for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    return _content(fd, most)


def folder_behind(root: int, name: str, beside: str) -> str | None:
    """The true path of the folder that a `.git` file below the open root names."""
    try:
        fd = open_beneath(root, name, os.O_RDONLY)
    except OSError:
        return None
    content = _content(fd, _SHORT)
    if content is None or not content.startswith(b"gitdir: "):
        return None
    return _real_folder(beside, content.removeprefix(b"gitdir: "))


def main_of_worktree(git_dir: str, gitfile: str) -> str | None:
    """The main git directory of a linked worktree: `<main>/worktrees/<name>`, whose own `gitdir` names this very
    `.git` file; None when it is none, or somebody else's."""
    back = small_file(os.path.join(git_dir, "gitdir"))
    common = small_file(os.path.join(git_dir, "commondir"))
    if back is None or common is None:
        return None
    parent = os.path.dirname(git_dir)
    main = _real_folder(git_dir, common)
    if main is None or os.path.basename(parent) != "worktrees" or main != os.path.dirname(parent):
        return None
    return main if _same_file(_joined(git_dir, back), gitfile) else None


def work_tree_named(git_dir: str) -> str | None:
    """The true path of the work tree that a git directory's own config names, as a submodule's does."""
    content = small_file(os.path.join(git_dir, "config"), 100_000)
    if content is None:
        return None
    section = ""
    for line in content.decode(errors="surrogateescape").splitlines():
        text = line.strip()
        if text.startswith("["):
            section = text.lower()
        key, equals, value = text.partition("=")
        if section == "[core]" and equals and key.strip().lower() == "worktree":
            return _real_folder(git_dir, os.fsencode(value.strip().strip('"')))
    return None


def _content(fd: int, most: int) -> bytes | None:
    """What a just opened regular file holds, if it is no longer than that."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        content = os.read(fd, most + 1)
        return content if len(content) <= most else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _joined(folder: str, written: bytes) -> str:
    return os.path.join(folder, os.fsdecode(written.rstrip(b"\r\n")))


def _real_folder(folder: str, written: bytes) -> str | None:
    try:
        found = os.path.realpath(_joined(folder, written), strict=True)
    except (OSError, ValueError):
        return None
    return found if os.path.isdir(found) else None


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one, strict=True) == os.path.realpath(other, strict=True)
    except (OSError, ValueError):
        return False


_ABSENT = "No git repository at the root"


class NoRepository(ToolFailure):
    """There is none, and `why`; a model is also told which tools do without."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}. code/diff, code/log, code/blame and code/show need one; code/read, code/list and code/search "
            "work without."
        )
        self.why = why


class Repository(Struct, frozen=True):
    """Where a repository lies. `common_dir` differs from `git_dir` in a linked worktree: objects and refs are there."""

    git_dir: str
    """Its true path, absolute."""
    common_dir: str
    folder: str
    """Its work tree below the root; `""` is the root itself."""
    root: str
    """The true path of the root."""
    bare: bool = False

    @property
    def work_tree(self) -> str:
        """The true path of its files."""
        return os.path.join(self.root, self.folder) if self.folder else self.root

    def inside(self, path: str) -> str:
        """A true path below the root as the repository names it, `""` for its top."""
        if not self.folder:
            return path
        if path == self.folder:
            return ""
        if not path.startswith(self.folder + "/"):
            raise ValueError(f"not in this repository: {path!r}")
        return path[len(self.folder) + 1 :]

    def outside(self, path: str) -> str:
        """A path as the repository names it, seen from the root."""
        return f"{self.folder}/{path}".rstrip("/") if self.folder else path


def repository_for(sight: Sight, paths: Sequence[str] = ()) -> Repository:
    """The innermost repository that holds all these true paths, at or below the root; the root's own when there are
    none. Raises ToolFailure when there is no repository."""
    try:
        root = sight.open_root()
    except OSError:
        raise NoRepository(_ABSENT) from None
    try:
        real = real_path(root, sight.root)
        for folder in _upwards(paths):
            if (found := _at(sight, root, real, folder)) is not None:
                return found
        if (found := _whole(real, "", real, bare=True)) is not None:
            return found
        raise NoRepository(_why_none(root))
    except OSError:
        raise NoRepository(_ABSENT) from None
    finally:
        os.close(root)


def _why_none(root: int) -> str:
    """Whether something else exists outside the root is nobody's business, so two reasons are one."""
    try:
        kind = os.stat(".git", dir_fd=root, follow_symlinks=False).st_mode
    except OSError:
        return _ABSENT
    if stat.S_ISDIR(kind):
        return f"{_ABSENT} that git could read: its .git lacks HEAD, objects or refs, or one of them is a link"
    return (
        f"{_ABSENT} that may be read: its .git leads to nothing, or outside the root to a folder that does not "
        "point back"
    )


def _upwards(paths: Sequence[str]) -> list[str]:
    """The folders that may hold all the paths, innermost first; the root is the last."""
    if not paths:
        return [""]
    common = [part for part in paths[0].split("/") if part]
    for path in paths[1:]:
        other = path.split("/")
        same = 0
        while same < min(len(common), len(other)) and common[same] == other[same]:
            same += 1
        common = common[:same]
    return ["/".join(common[:length]) for length in range(len(common), -1, -1)]


def _at(sight: Sight, root: int, real: str, folder: str) -> Repository | None:
    """The repository whose work tree is this folder."""
    try:
        holder = open_beneath(root, folder, (O_PATH or os.O_RDONLY) | os.O_DIRECTORY)
    except (OSError, ValueError):
        return None
    try:
        kind = os.stat(".git", dir_fd=holder, follow_symlinks=False).st_mode
    except OSError:
        return None
    finally:
        os.close(holder)
    name = f"{folder}/.git" if folder else ".git"
    if stat.S_ISDIR(kind):
        return _whole(os.path.join(real, name), folder, real)
    if stat.S_ISLNK(kind):
        return _linked(sight, root, real, folder, name)
    return _pointed(sight, root, real, folder, name) if stat.S_ISREG(kind) else None


def _linked(sight: Sight, root: int, real: str, folder: str, name: str) -> Repository | None:
    """`.git` is a link: it counts when it ends in a git directory below the root that lies in sight."""
    try:
        target = os.path.join(real, true_path(root, real, name))
    except OSError:
        return None
    return _whole(target, folder, real) if _in_sight(sight, target, real) else None


def _pointed(sight: Sight, root: int, real: str, folder: str, name: str) -> Repository | None:
    """`.git` is a file that names the git directory: of a submodule, or of a linked worktree. Whoever writes such a
    file could name anybody's repository, so the other side must say that it belongs here, or lie in sight."""
    gitfile = os.path.join(real, name)
    home = os.path.dirname(gitfile)
    target = folder_behind(root, name, home)
    if target is None:
        return None
    if (common := main_of_worktree(target, gitfile)) is not None:
        return Repository(target, common, folder, real) if _is_kind(target, "HEAD", stat.S_ISREG) else None
    if work_tree_named(target) == home or _in_sight(sight, target, real):
        return _whole(target, folder, real)
    return None


def _in_sight(sight: Sight, target: str, real: str) -> bool:
    """Whether a git directory lies below the root, in a folder that may be seen."""
    try:
        holder = f"/{below(target, real)}/".partition("/.git/")[0].strip("/")
    except OSError:
        return False
    return not holder or sight.sees(holder)


def _whole(path: str, folder: str, real: str, *, bare: bool = False) -> Repository | None:
    """A git directory that has everything in itself."""
    if not (
        _is_kind(path, "HEAD", stat.S_ISREG)
        and _is_kind(path, "objects", stat.S_ISDIR)
        and _is_kind(path, "refs", stat.S_ISDIR)
    ):
        return None
    return Repository(path, path, folder, real, bare)


def _is_kind(folder: str, name: str, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(os.lstat(os.path.join(folder, name)).st_mode)
    except OSError:
        return False


# ── folders ──
# Folders for private git directories: removed by whoever made them, at the latest when its process ends; and if that
# was killed, by whoever makes the next one in the same place.
#
# Each holds a file that is locked for as long as its maker lives: the system lets go of a lock, whatever kills a
# process.

_PREFIX = ".rightcall-git-"
_LOCK = ".lock"
_YOUNG = 60.0
"""Seconds. A folder that was changed so lately may be one that is just being made, or removed."""
_YOUNG_WITHOUT_LOCK = 3600.0
"""The same for one that has no lock: its maker was killed at once, or is of an older version and may be at work."""
_LONGEST = 100_000
"""Bytes of an environment; that of our git is short."""

_held: set[int] = set()
_swept: dict[str, float] = {}


class PrivateFolder:
    """A new folder in that place, for nobody else to open, gone when nobody holds this object any more. Raises OSError
    when it cannot be made."""

    def __init__(self, place: str) -> None:
        if monotonic() - _swept.get(place, -_YOUNG) >= _YOUNG:
            _swept[place] = monotonic()
            sweep(place)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=place)
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid(), _locked(self.path))


def sweep(place: str) -> None:
    """Remove what others have left there: folders of ours that nobody holds."""
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in islice(entries, 20_000) if entry.name.startswith(_PREFIX)]
    except OSError:
        return
    removed = 0
    for name in names:
        removed += _swept_up(os.path.join(place, name))
        if removed == 32:
            return


def _swept_up(path: str) -> bool:
    """Whether it was left behind, and is removed."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        seen = os.fstat(folder)
        if seen.st_uid != os.geteuid() or time() - seen.st_mtime < _YOUNG:
            return False
        lock = free_lock(_LOCK, folder)
        if lock is None:
            return False
        try:
            if lock < 0 and time() - seen.st_mtime < _YOUNG_WITHOUT_LOCK:
                return False
            if not os.path.samestat(seen, os.lstat(path)):
                return False
            _end_workers(path)
            shutil.rmtree(path, ignore_errors=True)  # links are removed, not followed
            return True
        finally:
            if lock >= 0:
                os.close(lock)
    except OSError:  # another one was quicker
        return False
    finally:
        os.close(folder)


def _end_workers(path: str) -> None:
    """A git that a killed process has left waiting for ever, at a pipe in the place of a file for instance, uses no CPU
    that would come to an end. It is known by its git directory, which is nobody else's."""
    if sys.platform != "linux":
        return
    mark = os.fsencode(f"GIT_DIR={path}")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError), closing(os.pidfd_open(int(name))) as process:  # it has gone, or is not ours
            seen = os.stat(f"/proc/{name}")
            with open(f"/proc/{name}/environ", "rb") as environ:
                if seen.st_uid == os.geteuid() and mark in environ.read(_LONGEST).split(b"\0"):
                    signal.pidfd_send_signal(process, signal.SIGKILL)


def free_lock(path: str, folder: int | None = None) -> int | None:
    """A lock, below an open folder where one is given, now ours; None when somebody else has it, -1 when there is
    none."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return -1
    except OSError:
        return None
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _locked(path: str) -> int:
    """The descriptor that keeps the lock, -1 where there are no locks."""
    lock = -1
    try:
        lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if lock >= 0:
            os.close(lock)
        return -1
    _held.add(lock)
    return lock


def _remove(path: str, maker: int, lock: int) -> None:
    if os.getpid() != maker:
        return
    shutil.rmtree(path, ignore_errors=True)
    if lock in _held:
        _held.discard(lock)
        with suppress(OSError):
            os.close(lock)


def _let_go() -> None:
    """In a child after a fork: closed here, a lock stays with the parent, and goes with it."""
    for lock in _held:
        with suppress(OSError):
            os.close(lock)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)

"""Which repository a path belongs to: the innermost one at or below the root. Nothing above the root is ever looked at,
and a `.git` that leads elsewhere is followed only where the other side says the same."""

import os
import stat
from collections.abc import Callable, Sequence

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.pointers import folder_behind, main_of_worktree, work_tree_named
from rightcall.fs.beneath import O_PATH, open_beneath
from rightcall.fs.resolve import below, real_path, true_path
from rightcall.fs.sight import Sight

_ABSENT = "There is no git repository at the root"


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
        f"{_ABSENT} that may be looked at: its .git leads to nothing, or outside the root to a folder that does not "
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

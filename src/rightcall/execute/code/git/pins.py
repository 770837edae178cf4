"""A git directory held open. Whoever can write to the folders around it could swap one for a link while git is at work;
what is reached through these descriptors stays what was found here."""

import os
from collections.abc import Iterable
from errno import ELOOP

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.repository import Repository
from rightcall.fs.beneath import O_PATH, open_beneath, open_true

_COMMON = ("objects", "objects/pack", "refs", "logs", "reftable")
_OWN = ("logs",)
_NEEDED = ("objects", "refs")
"""What no repository is without: to go by their names later would be to follow whatever is swapped in."""
_HERE = "/proc/self/fd"
_NOWHERE = "/nonexistent"


class Pins:
    """The folders of a repository by path, in our process and in a program that is given `fds`. On systems where a
    descriptor is no path the folders go by their names."""

    def __init__(self, repository: Repository) -> None:
        self.fds: tuple[int, ...] = ()
        self._held: dict[str, int] = {}
        self._links: set[str] = set()
        self._names = {"own": repository.git_dir, "common": repository.common_dir}
        if not O_PATH or not os.path.isdir(_HERE):
            return
        try:
            self._hold("own", (repository.git_dir, *_below(repository.git_dir, _OWN)))
            self._hold("common", (repository.common_dir, *_below(repository.common_dir, _COMMON)))
        except OSError:
            self.close()
            raise ToolFailure("The git repository cannot be opened, or is being changed right now") from None
        self.fds = tuple(self._held.values())

    def own(self, name: str = "") -> str:
        """The path of something in the git directory itself."""
        return self._path("own", name)

    def common(self, name: str = "") -> str:
        """The same in the one that linked worktrees share."""
        return self._path("common", name)

    @property
    def tops(self) -> tuple[int, ...]:
        """The two git directories themselves, held open."""
        return tuple(fd for path, fd in self._held.items() if path.partition(":")[2] in self._names.values())

    def current(self) -> bool:
        """Whether the names still lead to what is held."""
        return all(map(os.path.islink, self._links)) and all(
            _same(fd, path.partition(":")[2]) for path, fd in self._held.items()
        )

    def open_common(self, name: str) -> int:
        """A folder of the shared git directory, open for reading; no link was followed to it. Raises OSError."""
        held = self._held.get(f"common:{os.path.join(self._names['common'], name)}")
        fd = os.dup(held) if held is not None else open_true(os.path.join(self._names["common"], name))
        try:
            return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])

    def __del__(self) -> None:
        self.close()

    def _hold(self, side: str, paths: Iterable[str]) -> None:
        top = os.open("/", O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for path in paths:
                try:
                    self._held[f"{side}:{path}"] = open_beneath(top, path.lstrip("/"), O_PATH | os.O_DIRECTORY)
                except OSError as error:
                    if path in (self._names[side], *_below(self._names[side], _NEEDED)):
                        raise  # what may be missing are others inside
                    if error.errno == ELOOP:
                        self._links.add(path)
        finally:
            os.close(top)

    def _path(self, side: str, name: str) -> str:
        """Through the innermost folder that is held; `/.` since the descriptor's own name is a link."""
        whole = os.path.join(self._names[side], name) if name else self._names[side]
        if any(f"{whole}/".startswith(f"{link}/") for link in self._links):
            return f"{_NOWHERE}{whole}"
        inside = ""
        folder = whole
        while len(folder) >= len(self._names[side]):
            fd = self._held.get(f"{side}:{folder}")
            if fd is not None:
                return f"{_HERE}/{fd}/.{inside}"
            folder, _, last = folder.rpartition("/")
            inside = f"/{last}{inside}"
        return whole


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names]


def _same(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False

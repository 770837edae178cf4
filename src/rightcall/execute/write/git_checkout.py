"""Files of a commit, written into a folder as they are: no filter, no conversion, no link followed, none of the names
that git itself refuses."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.run import failure_of
from rightcall.execute.write.git_objects import Bench
from rightcall.fs.gitdirs import as_git_reads
from rightcall.fs.spots import closing, make_tree, opened_tree
from rightcall.text.escape import escaped

_BATCH = 32 << 20
_MOST_FILES = 500_000
_MOST_BYTES = 4 << 30
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK, _SUBMODULE = 0o120000, 0o160000


def check_out(bench: Bench, entries: Mapping[str, tuple[int, str]], folder: str) -> None:
    """Write them into an empty folder, named by its true path, which is made if it is not there. Raises ToolFailure."""
    if len(entries) > _MOST_FILES:
        raise ToolFailure(f"The commit holds more than {_MOST_FILES:,} files: it cannot be checked out")
    for path in entries:
        if any(is_bad_name(part) for part in path.split("/")):
            raise ToolFailure(f"The commit holds a file that git itself refuses to check out: {escaped(path, 200)}")
    try:
        make_tree(folder)
        with opened_tree(folder) as held, closing(os.open(".", _FOLDER, dir_fd=held)) as top:
            if os.listdir(top):
                raise ToolFailure("There is something in the folder for the files already")
            _write_all(bench, entries, top)
    except FileExistsError:
        raise ToolFailure("Two files of the commit have the same name here, or one lies below the other") from None
    except OSError as error:
        raise ToolFailure(f"The files cannot be written: {os.strerror(error.errno or 0)}") from error


def _write_all(bench: Bench, entries: Mapping[str, tuple[int, str]], top: int) -> None:
    folders = _Folders(top)
    try:
        by_id: dict[str, list[tuple[str, int]]] = {}
        for path, (mode, oid) in sorted(entries.items()):
            if mode == _SUBMODULE:
                folders.open(f"{path}/")  # an empty folder, as after a clone
            else:
                by_id.setdefault(oid, []).append((path, mode))
        for oid, content in _contents(bench, list(by_id)):
            for path, mode in by_id[oid]:
                _write(folders, path, mode, content)
    finally:
        folders.close()


def _contents(bench: Bench, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Every object's content, some at a time."""
    sizes = _sizes(bench, ids)
    if sum(sizes) > _MOST_BYTES:
        raise ToolFailure("The commit holds more than 4 GB: it cannot be checked out")
    start = 0
    while start < len(ids):
        end, room = start, 0
        while end < len(ids) and (end == start or room + sizes[end] <= _BATCH):
            room += sizes[end] + 100
            end += 1
        yield from _batch(bench, ids[start:end], sizes[start:end], room)
        start = end


def _sizes(bench: Bench, ids: Sequence[str]) -> list[int]:
    told = "".join(f"{oid}\n" for oid in ids).encode()
    finished = bench.git("cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=told, most=100 * len(ids) + 100)
    lines = [line.split(b" ") for line in finished.out.split(b"\n")[:-1]]
    if finished.code != 0 or len(lines) != len(ids):
        raise failure_of(finished)
    if any(line[0] != b"blob" for line in lines):
        raise ToolFailure("A file of the commit is not here: the repository is damaged, borrows it, or is a part only")
    return [int(line[1]) for line in lines]


def _batch(bench: Bench, ids: Sequence[str], sizes: Sequence[int], room: int) -> Iterator[tuple[str, bytes]]:
    told = "".join(f"{oid}\n" for oid in ids).encode()
    finished = bench.git("cat-file", "--batch=", stdin=told, most=room)
    out, at = finished.out, 0
    if finished.code != 0 or len(out) != sum(sizes) + 2 * len(ids):
        raise failure_of(finished)
    for oid, size in zip(ids, sizes, strict=True):
        at += 1  # the line that tells nothing, since nothing was asked
        yield oid, out[at : at + size]
        at += size + 1


class _Folders:
    """The folders of a checkout, each opened from the one above it; the last way down is kept open."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._names: list[str] = []
        self._fds: list[int] = []

    def open(self, path: str) -> int:
        """The folder of a path."""
        names = path.split("/")[:-1]
        same = 0
        while same < min(len(names), len(self._names)) and names[same] == self._names[same]:
            same += 1
        self._close(same)
        for name in names[same:]:
            above = self._fds[-1] if self._fds else self._top
            with suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=above)
            self._fds.append(os.open(name, _FOLDER, dir_fd=above))
            self._names.append(name)
        return self._fds[-1] if self._fds else self._top

    def close(self) -> None:
        self._close(0)

    def _close(self, keep: int) -> None:
        while len(self._fds) > keep:
            os.close(self._fds.pop())
            self._names.pop()


def _write(folders: _Folders, path: str, mode: int, content: bytes) -> None:
    folder, name = folders.open(path), path.rpartition("/")[2]
    if mode == _LINK:
        os.symlink(content, os.fsencode(name), dir_fd=folder)
        return
    with os.fdopen(os.open(name, _NEW, 0o777 if mode & 0o100 else 0o666, dir_fd=folder), "wb") as file:
        file.write(content)


def is_bad_name(part: str) -> bool:
    """A name that leads elsewhere, or that some system takes for `.git`."""
    return part in ("", ".", "..") or any(_is_git(reading) for reading in part.split("\\"))


def _is_git(name: str) -> bool:
    return as_git_reads(name) in (".git", "git~1")

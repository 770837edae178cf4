"""A root folder of its own for a program: the system's programs, read only, and one small file system in memory that
holds the scratch folder, /tmp and /dev/shm together, so that the three share one limit."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from rightcall.tools.sandbox.inside import kernel
from rightcall.tools.sandbox.inside.wire import DEVICES, RANDOM, Request, checked_paths, nearest, system_places

# ── folders ──
# Folders that a program had to itself: counted, handed over, removed. Nothing in them is trusted: links are never
# followed, and however deep it goes, a few descriptors are enough.

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = 24
"""So many levels are kept open. From deeper ones the way back is "..", which is looked at before it is believed."""
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)
_LEAST_ENTRIES, _ENTRIES_PER_MEGABYTE = 4096, 128
_FOLDER_COUNTS = 8


class Use(NamedTuple):
    """Bytes on the disk, and entries. A folder counts for several: to make and to remove one is that much more work."""

    size: int
    entries: int


class _Level:
    """A folder on the way from the top to where we are."""

    def __init__(self, folder: int) -> None:
        self.folder = folder
        """Less than 0: closed, as it is deep down."""
        self.identity: tuple[int, int] = (0, 0)
        """Known as soon as it is closed."""
        self.names = iter(os.listdir(folder))


def walk_below(top: int) -> Iterator[tuple[int, str, os.stat_result]]:
    """Everything below an open folder: the folder it lies in (open until the next step), its name, what it is. A folder
    comes before what is in it. What cannot be seen though the program may have put something there is an OSError."""
    levels = [_Level(os.open(".", _FOLDER, dir_fd=top))]
    try:
        while levels:
            here = levels[-1].folder
            name = next(levels[-1].names, None)
            if name is None:
                _go_back(levels)
                continue
            try:
                found = os.stat(name, dir_fd=here, follow_symlinks=False)
            except OSError as error:
                if error.errno in _GONE or not _is_searchable(here):
                    continue
                raise
            yield here, name, found
            if stat.S_ISDIR(found.st_mode):
                below = _entered(here, name)
                if below is not None:
                    _go_down(levels, below)
    finally:
        for level in levels:
            if level.folder >= 0:
                os.close(level.folder)


def _go_down(levels: list[_Level], below: int) -> None:
    deep = len(levels) > _HELD
    if deep and not _is_searchable(below):  # there would be no way back
        os.close(below)
        return
    try:
        levels.append(_Level(below))
    except OSError:
        os.close(below)
        raise
    if deep:
        above = levels[-2]
        above.identity = _identity(above.folder)
        os.close(above.folder)
        above.folder = -1


def _go_back(levels: list[_Level]) -> None:
    left = levels.pop()
    try:
        if levels and levels[-1].folder < 0:
            levels[-1].folder = os.open("..", _FOLDER, dir_fd=left.folder)
            if _identity(levels[-1].folder) != levels[-1].identity:
                raise OSError(errno.EXDEV, "a folder was moved while it was read")
    finally:
        os.close(left.folder)


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


def _is_searchable(folder: int) -> bool:
    """Whether we get at what is in it. Where we do not, nobody of our rights does, the program among them."""
    try:
        os.stat(".", dir_fd=folder)
    except PermissionError:
        return False
    return True


def _entered(here: int, name: str) -> int | None:
    """The folder of this name, open; None where it has gone, and where nobody of our rights gets at what is in it."""
    try:
        return os.open(name, _FOLDER, dir_fd=here)
    except PermissionError:
        pass
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
    itself = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    try:
        return _listable(itself) if _is_searchable(itself) else None
    except PermissionError:
        if os.access(f"/proc/self/fd/{itself}", os.W_OK):
            raise
        return None
    finally:
        os.close(itself)


def _listable(itself: int) -> int:
    """A folder of ours that cannot be read, open for reading. Its mode is changed for a moment only: it may be older
    than the run, and somebody's wish."""
    path = f"/proc/self/fd/{itself}"
    mode = stat.S_IMODE(os.fstat(itself).st_mode)
    os.chmod(path, mode | stat.S_IRUSR)
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.chmod(path, mode)


def _moved(here: int, name: str, flags: int = 0) -> int:
    there = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags, dir_fd=here)
    os.close(here)
    return there


def write_copy(source: int, path: str, mode: int, *, folder: int | None = None) -> None:
    """A new file with the content of one that is open."""
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        done, size = 0, os.fstat(source).st_size
        while done < size and (part := os.sendfile(target, source, done, size - done)):
            done += part
        os.fchmod(target, mode)
    finally:
        os.close(target)


def measure_use(top: int, most: Use | None = None) -> Use:
    """What everything below an open folder takes on the disk, a file of two names once; it stops beyond `most`."""
    size = entries = 0
    known: set[tuple[int, int]] = set()
    for _, _, found in walk_below(top):
        if found.st_nlink == 1 or stat.S_ISDIR(found.st_mode) or (found.st_dev, found.st_ino) not in known:
            size += found.st_blocks * 512
            known.add((found.st_dev, found.st_ino))
        entries += _FOLDER_COUNTS if stat.S_ISDIR(found.st_mode) else 1
        if most is not None and (size > most.size or entries > most.entries):
            break
    return Use(size, entries)


def entries_in(size: int) -> int:
    """How many entries a scratch folder of this size may hold."""
    return max(_LEAST_ENTRIES, (size >> 20) * _ENTRIES_PER_MEGABYTE)


def remove(path: str) -> None:
    """A folder and all that is in it."""
    try:
        here = os.open(path, _FOLDER)
    except OSError:
        return
    try:
        inside: list[str] = []
        levels = [iter(os.listdir(here))]
        while levels:
            name = next(levels[-1], None)
            if name is None:
                levels.pop()
                if inside:
                    here = _moved(here, "..")
                    os.rmdir(inside.pop(), dir_fd=here)
            elif stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
                with suppress(OSError):
                    os.chmod(name, 0o700, dir_fd=here)
                here = _moved(here, name, os.O_NOFOLLOW)
                inside.append(name)
                levels.append(iter(os.listdir(here)))
            else:
                os.unlink(name, dir_fd=here)
        os.rmdir(path)
    finally:
        os.close(here)


_READ_ONLY = kernel.RDONLY | kernel.NOSUID | kernel.NODEV
_PLAIN = kernel.NOSUID | kernel.NODEV
_OWN = ("/proc", "/dev", "/tmp", "/dev/shm")
_LINKS = {
    "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
}
_PROC = (
    {"hidepid": "ptraceable", "subset": "pid"},
    {"hidepid": "ptraceable"},
    {"hidepid": "2"},
)


class _Source(NamedTuple):
    path: str
    file: int
    folder: bool


class Shown(NamedTuple):
    """What is seen besides the request's own: where the interpreter lives, the program's file, its user."""

    interpreter: list[str]
    code: int
    """Open; less than 0: there is none."""
    uid: int
    gid: int


def enter_new_root(request: Request, shown: Shown, filling: Callable[[int], None]) -> None:
    """Build it, and make it the root. `filling` is given the scratch folder as soon as there is one: it can be filled
    while we go on."""
    kernel.mounts_are_private()
    volume = _volume(request, shown.uid, shown.gid)
    filling(volume)
    sources, links = _opened(request, shown.interpreter)
    devices = [_open(path) for path in (*DEVICES, *RANDOM)]
    bound = _open(request.place) if request.bind else None
    root = _root(shown.code)
    kernel.put_mount(root, os.open("/", os.O_PATH | os.O_CLOEXEC), _some_folder())
    for path, target in links:
        _symlink(target, path[1:], root)
    for path, name in (("/tmp", "tmp"), ("/dev/shm", "shm")):
        if path != request.place:
            _put_folder(root, path, _part(volume, name))
    _put_proc(root)
    for device in devices:
        _put(root, device, kernel.copied_tree(device.file, kernel.RDONLY | kernel.NOSUID | kernel.NOEXEC, device.path))
    for path, target in _LINKS.items():
        _symlink(target, path, root)
    _put_rest(root, sources, request, bound, volume)
    _put_code(root, request.code, shown.code)
    _write_users(root, shown.uid, shown.gid, request.place)
    kernel.enter_root(root)
    kernel.set_attributes(root, _READ_ONLY, "the new root", below=False)


def _root(code: int) -> int:
    size = (1 << 20) + (os.fstat(code).st_size if code >= 0 else 0)
    options = {"mode": "755", "size": str(size), "nr_inodes": "1024"}
    return kernel.new_filesystem("tmpfs", options, _PLAIN, "the new root")


def _put_code(root: int, path: str, code: int) -> None:
    """In the root itself, which nobody can write to afterwards."""
    if code >= 0:
        _make_folders(root, os.path.dirname(path))
        write_copy(code, path[1:], 0o444, folder=root)


def _opened(request: Request, interpreter: list[str]) -> tuple[list[_Source], list[tuple[str, str]]]:
    """Everything is opened before anything is covered, and while we may still go through everybody's folders."""
    sources: list[_Source] = []
    links: list[tuple[str, str]] = []
    for path in system_places():
        if os.path.islink(path):
            links.append((path, os.readlink(path)))
        else:
            sources.append(_open(path))
    sources += map(_open, checked_paths(interpreter, request.visible))
    return sources, links


def _open(path: str) -> _Source:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise kernel.Step(f"open {path}", error.errno or 0) from None
    return _Source(path, file, stat.S_ISDIR(os.fstat(file).st_mode))


def _some_folder() -> str:
    """Where the new root is put for a moment: any folder will do, this is seen by nobody else."""
    return next(path for path in ("/tmp", "/usr", "/proc") if os.path.isdir(path))


def _volume(request: Request, uid: int, gid: int) -> int:
    options = {"mode": "711", "size": str(request.scratch), "nr_inodes": str(entries_in(request.scratch))}
    volume = kernel.new_filesystem("tmpfs", options, _PLAIN, "the scratch folder")
    for name, mode in (("scratch", 0o700), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(name, dir_fd=volume)
        os.chmod(name, mode, dir_fd=volume)
    os.chown("scratch", uid, gid, dir_fd=volume)
    return volume


def _part(volume: int, name: str) -> int:
    folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=volume)
    return kernel.copied_tree(folder, _PLAIN, name)


def _put_rest(root: int, sources: list[_Source], request: Request, bound: _Source | None, volume: int) -> None:
    """The read-only folders and the scratch folder, outer ones first. What lies in one that is there already is
    there already."""
    mine = [*_OWN, request.place]
    shown: list[str] = []
    for path, source in sorted([*((each.path, each) for each in sources), (request.place, None)], key=lambda at: at[0]):
        holder = nearest(path, [*(mine if source else _OWN), *shown])
        if source is None:
            part = _part(volume, "scratch") if bound is None else kernel.copied_tree(bound.file, _PLAIN, path)
            _put(root, _Source(path, -1, folder=True), part, make=holder not in shown)
        elif holder not in shown and not (request.bind and holder == request.place):
            _put(root, source, kernel.copied_tree(source.file, _READ_ONLY, path))
            shown.append(path)


def _put(root: int, source: _Source, tree: int, *, make: bool = True) -> None:
    if make:
        if source.folder:
            _make_folders(root, source.path)
        else:
            _make_folders(root, os.path.dirname(source.path))
            os.close(os.open(source.path[1:], os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644, dir_fd=root))
    kernel.put_mount(tree, root, source.path[1:])
    os.close(tree)


def _put_folder(root: int, path: str, tree: int) -> None:
    _put(root, _Source(path, -1, folder=True), tree)


def _put_proc(root: int) -> None:
    """Its own /proc, with as little in it as the kernel can do. Where another is not to be had (a container that hides
    parts of its own), an empty folder has to do."""
    _make_folders(root, "/proc")
    for options in _PROC:
        with suppress(kernel.Step):
            attributes = kernel.NOSUID | kernel.NODEV | kernel.NOEXEC
            _put_folder(root, "/proc", kernel.new_filesystem("proc", options, attributes, "/proc"))
            return


def _make_folders(root: int, path: str) -> None:
    made = ""
    for name in path.strip("/").split("/"):
        made = f"{made}/{name}" if made else name
        with suppress(FileExistsError):
            os.mkdir(made, 0o755, dir_fd=root)


def _symlink(target: str, path: str, root: int) -> None:
    if "/" in path:
        _make_folders(root, os.path.dirname(path))
    os.symlink(target, path, dir_fd=root)


def _write_users(root: int, uid: int, gid: int, home: str) -> None:
    """A name for the one user there is: programs ask for it."""
    _make_folders(root, "/etc")
    for path, line in (
        ("etc/passwd", f"sandbox:x:{uid}:{gid}::{home}:/bin/sh\n"),
        ("etc/group", f"sandbox:x:{gid}:\n"),
    ):
        with suppress(FileExistsError):  # /etc itself may have been made visible
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=root)
            os.write(file, line.encode())
            os.close(file)


# ── threads ──
# The threads of a process. Its first one may have ended, and then the process itself seems to use nothing; and each
# may have opened files that are no other's.

_Seen = TypeVar("_Seen")


def views(process: int) -> Iterator[str]:
    """Where to look for what the threads have in common: at the process, and where that shows nothing, at each."""
    yield f"/proc/{process}"
    yield from threads(process)


def threads(process: int) -> list[str]:
    folder = f"/proc/{process}/task"
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder)]
    except OSError:
        return []


def first_seen(process: int, look: Callable[[str], _Seen | None]) -> _Seen | None:
    """What the first view shows that shows anything."""
    for view in views(process):
        with suppress(OSError, ValueError, IndexError):
            found = look(view)
            if found:
                return found
    return None


def descriptors(process: int) -> Iterator[tuple[str, str]]:
    """Every open file of every thread: the folder of the thread, and the number."""
    for thread in threads(process):
        with suppress(OSError):
            for name in os.listdir(f"{thread}/fd"):
                yield thread, name


# ── mapped ──
# What processes have mapped into their memory and nobody else can name: it takes room as long as it is mapped, however
# little of it is, and is in no sum of theirs.

_ANONYMOUS = b"/dev/zero (deleted)"
"""As the kernel calls memory that is shared with child processes."""
_MOST = 4 << 20
"""Bytes that are read about the mappings of all processes together, so that looking takes no long time."""


class Mapped(NamedTuple):
    """A removed file that is mapped: by whom, where, and which one it is."""

    process: int
    where: str
    path: bytes

    def on_disk(self) -> os.stat_result:
        """Only root may look there."""
        first, _, last = self.where.partition("-")
        return os.stat(f"/proc/{self.process}/map_files/{int(first, 16):x}-{int(last, 16):x}")


def removed_files(processes: list[int]) -> tuple[list[Mapped], bool]:
    """The removed files that are mapped, and whether these are all: there may be more than are looked at."""
    found: list[Mapped] = []
    left = _MOST
    for process in processes:
        text = first_seen(process, partial(_maps, most=left)) or b""
        left -= len(text)
        if left <= 0:
            return found, False
        for line in text.splitlines():
            if line.endswith(b" (deleted)"):
                fields = line.split(None, 5)
                found.append(Mapped(process, fields[0].decode(), fields[5]))
    return found, True


def _maps(view: str, most: int) -> bytes:
    with open(f"{view}/maps", "rb") as file:
        return file.read(most)


def shares_memory(processes: list[int]) -> bool:
    """Whether one of them holds memory that may be much more than is mapped of it."""
    found, all_seen = removed_files(processes)
    return not all_seen or any(each.path == _ANONYMOUS for each in found)


def shared_memory() -> int:
    """Bytes of it that the machine holds now, whoever has made them."""
    with suppress(OSError), open("/proc/meminfo", "rb", buffering=0) as file:
        for line in file.read(8192).splitlines():
            if line.startswith(b"Shmem:"):
                return int(line.split()[1]) << 10
    return 0

"""A root folder of its own for a program: the system's programs, read only, and one small file system in memory that
holds the scratch folder, /tmp and /dev/shm together, so that the three share one limit."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from rightcall.execute.sandbox.inside import kernel
from rightcall.execute.sandbox.inside.folders import entries_in, write_copy
from rightcall.execute.sandbox.inside.places import DEVICES, RANDOM, checked_paths, nearest, system_places
from rightcall.execute.sandbox.inside.request import Request

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

"""What a run leaves behind. Control groups, where they can be had: the kernel then ends what takes too much memory,
before anybody has to notice, and tells whether a process was refused, which nobody else can know. And a scratch folder
on a real disk: a temporary one where nothing can be mounted, or one that the caller has made. Its size is not limited
by itself, so it is looked at now and then; it is handed over for the run and taken back after."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from rightcall.tools.sandbox.inside import root
from rightcall.tools.sandbox.inside.root import descriptors, first_seen, threads, walk_below
from rightcall.tools.sandbox.inside.wire import Request

_PREFIX = "rightcall-"


class Home(NamedTuple):
    """A folder in which groups can be made; the version of its interface; what they limit there."""

    folder: str
    version: int
    kinds: tuple[str, ...]


def usable_homes() -> list[Home]:
    """One for `memory` and one for `pids`, or one for both. Found by making a group in each."""
    found: list[Home] = []
    for home in (*_second(), *_first()):
        missing = tuple(kind for kind in home.kinds if not any(kind in other.kinds for other in found))
        second = home.version == 2 and any(other.version == 2 for other in found)  # a process is in one group of these
        wanted = home._replace(kinds=missing)
        if missing and not second and _works(wanted):
            found.append(wanted)
    return found


def _works(home: Home) -> bool:
    group = Group([home], f"probe-{os.getpid()}", 1 << 30, 1 << 10)
    try:
        return group.kinds == set(home.kinds)
    finally:
        group.close()


class Group:
    """What of it can be made is made; `kinds` says what that limits."""

    def __init__(self, homes: Iterable[Home], token: str, memory: int, tasks: int) -> None:
        self._homes: list[Home] = []
        """With the folders of our own."""
        for home in homes:
            own = home._replace(folder=f"{home.folder}/{_PREFIX}{token}")
            with suppress(OSError):
                os.mkdir(own.folder)
                self._homes.append(own)
                _limit(own, memory, tasks)
                continue
            self._drop(own)

    @property
    def kinds(self) -> set[str]:
        return {kind for home in self._homes for kind in home.kinds}

    def join(self, pid: int) -> None:
        for home in tuple(self._homes):
            try:
                _write(home, "cgroup.procs", str(pid))
            except OSError:
                self._drop(home)

    def ran_out(self) -> bool:
        """Whether something in it was ended for its memory."""
        return self._counted("memory", "memory.events", "memory.oom_control", "oom_kill")

    def refused(self) -> bool:
        """Whether a process or thread could not be started for want of room."""
        return self._counted("pids", "pids.events", "pids.events", "max")

    def _counted(self, kind: str, second: str, first: str, word: str) -> bool:
        for home in self._homes:
            name = second if home.version == 2 else first
            if kind in home.kinds:
                with suppress(OSError), open(f"{home.folder}/{name}") as file:
                    return any(int(line.split()[1]) > 0 for line in file if line.startswith(f"{word} "))
        return False

    def close(self) -> None:
        for home in tuple(self._homes):
            self._drop(home)

    def _drop(self, home: Home) -> None:
        if home in self._homes:
            self._homes.remove(home)
            with suppress(OSError):
                os.rmdir(home.folder)


def _limit(home: Home, memory: int, tasks: int) -> None:
    if "pids" in home.kinds:
        _write(home, "pids.max", str(tasks))
    if "memory" not in home.kinds:
        return
    if home.version == 2:
        _write(home, "memory.max", str(memory))
        with suppress(OSError):
            _write(home, "memory.swap.max", "0")
        _write(home, "memory.oom.group", "1")
    else:
        _write(home, "memory.limit_in_bytes", str(memory))
        with suppress(OSError):
            _write(home, "memory.memsw.limit_in_bytes", str(memory))


def _write(home: Home, name: str, text: str) -> None:
    file = os.open(f"{home.folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def remove_group(homes: Sequence[Home], token: str) -> None:
    """What a supervisor left behind that was killed."""
    for home in homes:
        with suppress(OSError):
            os.rmdir(f"{home.folder}/{_PREFIX}{token}")


def _second() -> list[Home]:
    """Our own group or the one above it, whichever lets its children have a limit on memory."""
    own = _own_folder("cgroup2", "")
    if own is None:
        return []
    found: list[Home] = []
    for folder in (own, os.path.dirname(own)):
        with suppress(OSError), open(f"{folder}/cgroup.subtree_control") as file:
            offered = file.read().split()
            if "memory" in offered:
                found.append(Home(folder, 2, tuple(kind for kind in ("memory", "pids") if kind in offered)))
    return found


def _first() -> list[Home]:
    own = {kind: _own_folder("cgroup", kind) for kind in ("memory", "pids")}
    return [Home(folder, 1, (kind,)) for kind, folder in own.items() if folder is not None]


def _own_folder(kind: str, controller: str) -> str | None:
    """Where our own group can be seen: the mount that shows it, and our path in there."""
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/self/cgroup") as file:
            path = next(
                line.rstrip("\n").split(":", 2)[2] for line in file if controller in line.split(":")[1].split(",")
            )
        with open("/proc/self/mountinfo") as file:
            for line in file:
                fields, _, rest = line.partition(" - ")
                filesystem, _, options = rest.split(" ", 2)
                root, point = fields.split(" ")[3:5]
                if filesystem == kind and (not controller or controller in options.strip().split(",")):
                    inner = path if root == "/" else path[len(root) :] if path.startswith(root) else ""
                    return (point + inner).rstrip("/")
    return None


# ── lending ──
# A folder of a person's that a program works in itself: lent for the run, and whose it was, all of it, after that.

_LENDS_RIGHTS = stat.S_ISUID | stat.S_ISGID
_CAPABILITIES = "security.capability"


class Lent:
    """Whoever owns the folder may move things in it at any moment. So what is given away is looked at and given by one
    descriptor, and only what is the program's user's is taken back."""

    def __init__(self, top: int, uid: int, gid: int) -> None:
        self._top = top
        self._uid, self._gid = uid, gid
        self._other = uid != os.geteuid()
        self._of = os.fstat(top)
        self._owners: dict[tuple[int, int], tuple[int, int]] = {}
        """By device and number, what was here before."""
        self._lending: dict[tuple[int, int], int] = {}
        """Files that lent their rights before, and when they were last changed."""

    def lend(self) -> None:
        if self._other:
            os.fchown(self._top, self._uid, self._gid)
        for folder, name, found in walk_below(self._top):
            if stat.S_ISREG(found.st_mode) and found.st_mode & _LENDS_RIGHTS:
                self._lending[found.st_dev, found.st_ino] = found.st_ctime_ns
            elif self._other:
                with suppress(OSError):  # it has gone, or nobody may change it: then neither may the program
                    self._give(folder, name)

    def _give(self, folder: int, name: str) -> None:
        """A file with a second name may have that name anywhere, and stays whose it is; so does one that would lose the
        rights that it lends."""
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            found = os.fstat(file)
            path = f"/proc/self/fd/{file}"
            if stat.S_ISREG(found.st_mode) and (found.st_mode & _LENDS_RIGHTS or _has_capabilities(path)):
                return
            if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
                self._owners[found.st_dev, found.st_ino] = found.st_uid, found.st_gid
                os.chown(path, self._uid, self._gid)
        finally:
            os.close(file)

    def take_back(self) -> None:
        """What is new is the owner's of the folder, and lends nobody any rights. Those go first: a file must not be
        somebody else's while it still has them."""
        try:
            for folder, name, found in walk_below(self._top):
                if found.st_uid == self._uid and (self._other or self._is_newly_lending(found)):
                    with suppress(OSError):
                        self._take(folder, name)
        finally:
            if self._other:
                os.fchown(self._top, self._of.st_uid, self._of.st_gid)

    def _take(self, folder: int, name: str) -> None:
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            found = os.fstat(file)
            path = f"/proc/self/fd/{file}"
            if self._is_newly_lending(found):
                os.chmod(path, stat.S_IMODE(found.st_mode) & 0o777)
            if self._other and found.st_uid == self._uid:
                owner = self._owners.get((found.st_dev, found.st_ino), (self._of.st_uid, self._of.st_gid))
                os.chown(path, *owner)
        finally:
            os.close(file)

    def _is_newly_lending(self, found: os.stat_result) -> bool:
        lends = stat.S_ISREG(found.st_mode) and found.st_mode & _LENDS_RIGHTS
        return bool(lends) and self._lending.get((found.st_dev, found.st_ino)) != found.st_ctime_ns


def _has_capabilities(path: str) -> bool:
    with suppress(OSError):
        return bool(os.getxattr(path, _CAPABILITIES))
    return False


# ── removed ──
# Files that a program has removed and still holds, open or mapped: they take room on the disk and have no name.

_MARGIN = 256 << 20
"""What others may write meanwhile, without the program being blamed for it."""


class Removed:
    def __init__(self, folders: Sequence[int]) -> None:
        """The open folders in which a program can make files."""
        self._folders = {os.fstat(folder).st_dev: folder for folder in folders}
        self._paths = tuple({os.fsencode(os.readlink(f"/proc/self/fd/{folder}")) + b"/" for folder in folders})
        self._free = self._free_now()

    def used(self, processes: list[int], most: int) -> int:
        """Bytes in them. Only root is told how large a file is that is mapped and not open, and nobody of one that
        waits in a socket: there the disk itself has to tell, by the room that has gone."""
        sizes: dict[tuple[int, int], int] = {}
        all_known = True
        for process in processes:
            for thread, name in descriptors(process):
                with suppress(OSError):
                    found = os.stat(f"{thread}/fd/{name}")
                    self._note(found, sizes)
                    if stat.S_ISSOCK(found.st_mode) and _carries_files(f"{thread}/fdinfo/{name}"):
                        all_known = False
        mappings, all_seen = root.removed_files(processes)
        for each in mappings:
            if each.path.startswith(self._paths):
                try:
                    self._note(each.on_disk(), sizes)
                except OSError:
                    all_known = False
        all_known = all_known and all_seen
        if not all_known and self._free - self._free_now() > most + _MARGIN:
            return most + 1
        return sum(sizes.values())

    def _note(self, found: os.stat_result, sizes: dict[tuple[int, int], int]) -> None:
        if not found.st_nlink and found.st_dev in self._folders:
            sizes[found.st_dev, found.st_ino] = found.st_blocks * 512

    def _free_now(self) -> int:
        return sum(
            found.f_bfree * found.f_frsize for found in (os.fstatvfs(folder) for folder in self._folders.values())
        )


def _carries_files(path: str) -> bool:
    """Whether open files wait in a socket to be taken."""
    with open(path, "rb", buffering=0) as file:
        return any(line.startswith(b"scm_fds:") and int(line.split()[1]) for line in file.read(4096).splitlines())


def base_of(token: str) -> str:
    """Not `tempfile`: it would remember its folder, and every script would find it there."""
    folder = next((path for path in ("/tmp", "/var/tmp") if os.access(path, os.W_OK)), "/tmp")
    return f"{folder}/rightcall-sandbox-{token}"


class RealFolder:
    """It is `prepare`d, and closed in any case: also when that went wrong halfway."""

    def __init__(self, request: Request, uid: int, gid: int) -> None:
        self._uid, self._gid = uid, gid
        self._other = uid != os.geteuid()
        self._base: str | None = None
        self._lent: Lent | None = None
        self._folder = -1
        self._tmp = -1
        self._before = root.Use(0, 0)
        self._removed: Removed | None = None
        self.request = request
        self.temporary = "/tmp"

    def prepare(self, base: str | None, code: int = -1) -> None:
        """`base` is a folder to be made for temporary files, for the program's own file, which is open as `code`, and
        for the scratch unless that is there already."""
        if base is not None:
            os.mkdir(base, 0o711)
            self._base = base
            self.temporary = self._made("tmp")
            if code >= 0:
                self._put_code(code)
            if not self.request.bind:
                self.request = self.request.moved(self._made("scratch"))
        self._folder = os.open(self.request.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self.request.bind:
            self._lent = Lent(self._folder, self._uid, self._gid)
            self._lent.lend()
        self._before = root.measure_use(self._folder)
        if self._base is not None:
            self._tmp = os.open(self.temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._removed = Removed([file for file in (self._folder, self._tmp) if file >= 0])

    def _made(self, name: str) -> str:
        path = f"{self._base}/{name}"
        os.mkdir(path, 0o700)
        if self._other:
            os.chown(path, self._uid, self._gid)
        return path

    def _put_code(self, code: int) -> None:
        self.request = self.request.with_code_in(self._made("code"))
        root.write_copy(code, self.request.code, 0o400)
        if self._other:
            os.chown(self.request.code, self._uid, self._gid)

    def open(self) -> int:
        return os.dup(self._folder)

    def used(self, processes: list[int], most: int) -> int:
        """Bytes more than there were, with what was removed and is still held. It is more than `most` as well where
        there are too many entries, and where it cannot be told."""
        try:
            found = self._named(most)
            if found.entries > root.entries_in(most):
                return most + 1
            return found.size + (self._removed.used(processes, most) if self._removed is not None else 0)
        except OSError:
            return most + 1

    def _named(self, most: int) -> root.Use:
        """What can still be found by its name."""
        room = root.Use(most, root.entries_in(most))
        before = self._before
        found = root.measure_use(self._folder, root.Use(before.size + room.size, before.entries + room.entries))
        temporary = root.measure_use(self._tmp, room) if self._tmp >= 0 else root.Use(0, 0)
        return root.Use(found.size - before.size + temporary.size, found.entries - before.entries + temporary.entries)

    def close(self) -> None:
        """When no process of the run is left."""
        try:
            if self._lent is not None:
                self._lent.take_back()
        finally:
            for file in (self._folder, self._tmp):
                if file >= 0:
                    os.close(file)
            if self._base is not None:
                root.remove(self._base)


# ── watching ──
# What the processes of a run use, all of them together, seen from outside.

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MEMORY = (b"VmRSS", b"VmPTE", b"VmSwap")
_FREE_SOCKETS = 32
"""So many are not counted: event loops and pipes of child processes need a few each."""
_SOCKET = 2 * 212_992
"""Bytes that wait in a socket at most, as systems are set up: memory of the kernel's own, in no process's sum."""


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs; not itself."""
    children_of = _children if _children_are_told() else _found_children()
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = children_of(waiting.pop())
        found += children
        waiting += children
    return found


@lru_cache(1)
def _children_are_told() -> bool:
    """Kernels can be built without that list."""
    return os.path.exists("/proc/thread-self/children")


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:
                children += map(int, file.read(1 << 20).split())
    return children


def _found_children() -> Callable[[int], list[int]]:
    """By looking at every process there is, once."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                parent = int(file.read(4096).rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    return lambda pid: children.get(pid, [])


def memory_of(processes: list[int], most: int) -> int:
    """As the kernel counts it cheaply, with page tables and what was swapped out. Pages that several processes share
    are in that sum several times, so they are counted properly as soon as it exceeds `most`."""
    sums = [_measure(process) for process in processes]
    memory = sum(used for used, _ in sums)
    if memory > most:
        memory = sum(map(_share, processes))
    return memory + sum(beside for _, beside in sums) + _in_sockets(processes)


def _measure(process: int) -> tuple[int, int]:
    """What it uses, and what there is of it beside: page tables, and pages that were swapped out."""
    return first_seen(process, _told_by) or (0, 0)


def _told_by(view: str) -> tuple[int, int] | None:
    found: dict[bytes, int] = {}
    with open(f"{view}/status", "rb", buffering=0) as file:
        for line in file.read(8192).splitlines():
            name, _, value = line.partition(b":")
            if name in _MEMORY:
                found[name] = int(value.split()[0]) << 10
    if b"VmRSS" not in found:
        return None
    return found[b"VmRSS"], found.get(b"VmPTE", 0) + found.get(b"VmSwap", 0)


def _in_sockets(processes: list[int]) -> int:
    """What may wait in the sockets of all processes together."""
    if sum(map(_open_files, processes)) <= _FREE_SOCKETS:
        return 0
    sockets: set[str] = set()
    for process in processes:
        for thread, name in descriptors(process):
            with suppress(OSError):
                target = os.readlink(f"{thread}/fd/{name}")
                if target.startswith("socket:"):
                    sockets.add(target)
    return max(len(sockets) - _FREE_SOCKETS, 0) * _SOCKET


def _open_files(process: int) -> int:
    """More than the first three. Newer kernels tell how many there are without a list of them."""
    total = 0
    for thread in threads(process):
        with suppress(OSError):
            folder = f"{thread}/fd"
            total += max((os.stat(folder).st_size or len(os.listdir(folder))) - 3, 0)
    return total


def _share(process: int) -> int:
    """Its part of the pages it uses."""
    return first_seen(process, _share_by) or 0


def _share_by(view: str) -> int | None:
    try:
        with open(f"{view}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:
        with open(f"{view}/statm", "rb", buffering=0) as file:
            return int(file.read(200).split()[1]) * _PAGE
    return None


def tasks_of(uid: int) -> int:
    """How many processes and threads a user has now."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                        total += int(file.read(4096).rpartition(b")")[2].split()[17])
    return total


# ── ending ──
# Ending everything that a run has started, where there is no pid 1 whose end is the end of all.


def reap(first: int) -> int | None:
    """Take note of whatever has ended; the status of `first`, if it was among them."""
    found: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == first:
            found = os.waitstatus_to_exitcode(status)


def end_all(other: int | None) -> None:
    """End our children and theirs, also those that have left home: orphans come to us. `other` is the user they run as,
    where it is not ours: the kernel then ends all of that user's processes at once. Else they are stopped first, all of
    them, so that none can start another while we end them."""
    while True:
        reap(0)
        if other is not None:
            _end_user(other)
        else:
            _end_stopped()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _end_user(uid: int) -> None:
    helper = os.fork()
    if helper == 0:
        with suppress(OSError):
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(helper, 0)


def _end_stopped() -> None:
    stopped: set[int] = set()
    while new := set(descendants(os.getpid())) - stopped:
        _signal(new, signal.SIGSTOP)
        stopped |= new
    _signal(stopped, signal.SIGKILL)


def _signal(processes: set[int], number: int) -> None:
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)

"""What lies outside of the sandbox while a snippet attacks: a secret, things that all may write, doors, a process.

All of it can be reached by anybody on the machine, so that nothing but the sandbox keeps a program from it; afterwards
it is looked at whether all of it is as it was.
"""

import ctypes
import os
import resource
import secrets
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECRET = "CANARY-" + secrets.token_hex(12)
LIBRARY = ctypes.CDLL(None)
MQ_UNLINK = {"x86_64": 241, "aarch64": 181}
SYSTEM_FOLDERS = (
    "/",
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/usr",
    "/usr/lib",
    "/usr/bin",
    "/etc",
    "/run",
    "/run/lock",
    "/var",
)


class Outside:
    """Made anew for each thread that runs snippets. The descriptors and the environment variable CANARY must be there
    before the sandbox is started, or they could not be inherited."""

    def __init__(self) -> None:
        self.tag = "left-" + secrets.token_hex(6)
        self.key = secrets.randbelow(0x3FFFFFFF) + 1
        self.folder = Path(tempfile.mkdtemp(prefix="outside-"))
        self.secret, self.victim, self.drop = (self.folder / name for name in ("secret.txt", "victim.txt", "drop"))
        self._lay_out()
        self.fds = [os.open(self.secret, os.O_RDONLY), os.open(self.folder, os.O_RDONLY)]
        self.process = _process()
        self.doors = Doors(self.folder)
        self.shared_key = self.key + 1
        self.shared = _shared_memory(self.shared_key)
        self.before = self._seen()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.doors.close()
        LIBRARY.shmctl(self.shared, 0, None)
        self.process.kill()
        self.process.wait()
        for fd in self.fds:
            os.close(fd)
        shutil.rmtree(self.folder, ignore_errors=True)

    def told(self, server: int | None = None) -> dict[str, Any]:
        """What a snippet is told of it."""
        return {
            "secret": str(self.secret), "victim": str(self.victim), "drop": str(self.drop), "tag": self.tag,
            "key": self.key,
            "module": str(self.folder / "module.js"), "program": str(self.folder / "program"), "pid": self.process.pid,
            "holder": os.getpid(), "server": server or self.process.pid, "fd": self.fds[0], "folder_fd": self.fds[1],
            "uid": os.getuid(), "nobody": os.getuid() == 65534, "shared_key": self.shared_key, **self.doors.told(),
        }  # fmt: skip

    def damage(self) -> list[str]:
        """What is no longer as it was."""
        now = self._seen()
        found = [f"{name} was {was}, is {now[name]}" for name, was in self.before.items() if now[name] != was]
        found += [
            f"{folder}/{self.tag} was left" for folder in SYSTEM_FOLDERS if os.path.lexists(f"{folder}/{self.tag}")
        ]
        found += [f"{kind} with its key was left" for kind in ("shm", "sem", "msg") if self.key in _keys(kind)]
        if _queue_was_there(self.tag):
            found.append("a POSIX queue was left")
        if found:
            self._mend()
        return found

    def _lay_out(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        self.secret.write_text(SECRET)
        self.victim.write_text("as it was")
        shutil.rmtree(self.drop, ignore_errors=True)
        self.drop.mkdir()
        (self.folder / "module.js").write_text(f"module.exports = '{SECRET}'")
        (self.folder / "program").write_text(f"#!/bin/sh\necho {SECRET}\n")
        for path, mode in (
            (self.secret, 0o644), (self.victim, 0o666), (self.drop, 0o777), (self.folder / "module.js", 0o644),
            (self.folder / "program", 0o755),
        ):  # fmt: skip
            path.chmod(mode)

    def _mend(self) -> None:
        """Each is blamed for its own alone."""
        self._lay_out()
        for folder in SYSTEM_FOLDERS:
            with suppress(OSError):
                os.unlink(f"{folder}/{self.tag}")
        for get, remove, arguments in (
            ("shmget", "shmctl", (0, 0)),
            ("semget", "semctl", (0, 0)),
            ("msgget", "msgctl", (0,)),
        ):
            number = getattr(LIBRARY, get)(self.key, *arguments)
            if number >= 0:
                getattr(LIBRARY, remove)(number, *((0, 0) if get == "semget" else (0, None)))
        if self.process.poll() is not None:
            self.process = _process()
        self.before = self._seen()

    def _seen(self) -> dict[str, object]:
        pid = self.process.pid
        return {
            **{path.name: _state(path) for path in (self.secret, self.victim, self.drop, self.folder)},
            "what is outside": _names(self.folder),
            "what is in the drop": _names(self.drop),
            "what the victim says": self.victim.read_text() if self.victim.exists() else None,
            "what came through the doors": tuple(self.doors.came),
            "the process": self.process.poll(),
            "its standing": (
                os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), os.sched_getscheduler(pid),
                *(resource.prlimit(pid, kind) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)),
            ) if self.process.poll() is None else None,
        }  # fmt: skip


def _names(folder: Path) -> list[str] | None:
    return sorted(os.listdir(folder)) if folder.is_dir() else None


def _process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sleep", "600"], env={"CANARY": SECRET})


def _state(path: Path) -> object:
    try:
        at = path.lstat()
    except FileNotFoundError:
        return "gone"
    return oct(at.st_mode), at.st_uid, at.st_gid, at.st_nlink, at.st_mtime_ns, at.st_ctime_ns, stat.S_IFMT(at.st_mode)


def _keys(kind: str) -> set[int]:
    with suppress(OSError):
        return {int(line.split()[0]) for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]}
    return set()


def _queue_was_there(name: str) -> bool:
    number = MQ_UNLINK.get(os.uname().machine)
    return number is not None and LIBRARY.syscall(ctypes.c_long(number), name.encode()) == 0


def _shared_memory(key: int) -> int:
    """Any program may attach it, and would find the secret."""
    number = LIBRARY.shmget(key, 4096, 0o1666)
    LIBRARY.shmat.restype = ctypes.c_void_p
    at = LIBRARY.shmat(number, None, 0)
    ctypes.memmove(at, SECRET.encode(), len(SECRET))
    LIBRARY.shmdt(ctypes.c_void_p(at))
    return number


class Doors:
    """Sockets of all kinds that hand out the secret to whoever comes, and remember it."""

    def __init__(self, folder: Path) -> None:
        self.came: list[str] = []
        self.abstract = "outside-" + secrets.token_hex(8)
        self.paths = {"unix": str(folder / "door"), "unix_datagram": str(folder / "slot")}
        self._open = [
            self._door("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            self._door("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            self._door("unix", socket.AF_UNIX, socket.SOCK_STREAM, self.paths["unix"]),
            self._door("unix_datagram", socket.AF_UNIX, socket.SOCK_DGRAM, self.paths["unix_datagram"]),
            self._door("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract),
            self._door("abstract_datagram", socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + self.abstract + "-slot"),
        ]
        for path in self.paths.values():
            os.chmod(path, 0o666)

    def _door(self, name: str, family: int, kind: int, address: Any) -> socket.socket:
        door = socket.socket(family, kind)
        door.bind(address)
        if kind == socket.SOCK_STREAM:
            door.listen()
        threading.Thread(target=self._wait, args=(name, door), daemon=True).start()
        return door

    def _wait(self, name: str, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                if door.type == socket.SOCK_DGRAM:
                    data = door.recv(100)
                    if data == b"":
                        return
                else:
                    visitor = door.accept()[0]
                    with visitor, suppress(OSError):
                        visitor.sendall(SECRET.encode())
                self.came.append(name)

    def told(self) -> dict[str, Any]:
        return {
            **self.paths, "tcp": self._open[0].getsockname()[1], "udp": self._open[1].getsockname()[1],
            "abstract": self.abstract, "abstract_datagram": self.abstract + "-slot",
        }  # fmt: skip

    def close(self) -> None:
        for door in self._open:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)
            door.close()


@contextmanager
def inheritable(outside: Outside) -> Iterator[None]:
    """As careless as a program can be: its descriptors stay open in what it starts, and the secret is in its
    environment."""
    before = os.environ.get("CANARY")
    os.environ["CANARY"] = SECRET
    for fd in outside.fds:
        os.set_inheritable(fd, True)
    try:
        yield
    finally:
        for fd in outside.fds:
            os.set_inheritable(fd, False)
        os.environ.pop("CANARY") if before is None else os.environ.__setitem__("CANARY", before)

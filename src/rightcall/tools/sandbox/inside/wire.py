"""Messages between the sandbox and the processes it has started: JSON with its length before it, over a socket, with
open files beside it."""

from __future__ import annotations

import array
import json
import os
import secrets
import socket
import stat
import struct
import sys
import sysconfig
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

_MOST_FILES = 8
_LENGTH = struct.Struct("<I")
_MOST = 16 << 20


def send(channel: socket.socket, message: Any, files: tuple[int, ...] = ()) -> None:
    body = json.dumps(message).encode()
    block = _LENGTH.pack(len(body)) + body
    sent = 0
    if files:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        sent = channel.sendmsg([block], ancillary)
    channel.sendall(block[sent:])


def receive(channel: socket.socket) -> tuple[Any, list[int]]:
    """The next message and the files that came with it; raises EOFError when the other side has gone."""
    files: list[int] = []
    try:
        head = _exactly(channel, _LENGTH.size, files)
        (length,) = _LENGTH.unpack(head)
        if length > _MOST:
            raise EOFError("a message that is none")
        return json.loads(_exactly(channel, length, files)), files
    except BaseException:
        for file in files:
            os.close(file)
        raise


def _exactly(channel: socket.socket, length: int, files: list[int]) -> bytes:
    parts: list[bytes] = []
    while length:
        space = socket.CMSG_SPACE(_MOST_FILES * array.array("i").itemsize)
        block, ancillary, _, _ = channel.recvmsg(length, space, socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = array.array("i")
                whole.frombytes(data[: len(data) - len(data) % whole.itemsize])
                files.extend(whole)
        if not block:
            raise EOFError
        parts.append(block)
        length -= len(block)
    return b"".join(parts)


# ── request ──
# What the sandbox asks the fork server for, as it comes over the wire.


class Request(NamedTuple):
    """One run: a job of the sandbox and the tier that was chosen for it."""

    tier: str
    argv: list[str]
    place: str
    bind: bool
    script: str | None
    code: str
    """Where the file is seen whose content came along; empty: none did."""
    visible: list[str]
    env: dict[str, str]
    packages: dict[str, str]
    """What a script can import besides the interpreter's own: where it is, by name."""
    seconds: float
    memory: int
    """Bytes, as are `scratch` and the sizes below."""
    processes: int
    scratch: int

    @property
    def warm(self) -> bool:
        return self.script is not None

    def moved(self, place: str) -> Request:
        """The same with its scratch folder elsewhere, where it cannot be seen at the path that was asked for."""
        return self._with_paths(self.place, place)._replace(place=place)

    def with_code_in(self, folder: str) -> Request:
        """The same with its code elsewhere."""
        own, name = os.path.split(self.code)
        return self._with_paths(own, folder)._replace(code=f"{folder}/{name}")

    def _with_paths(self, old: str, new: str) -> Request:
        def at(path: str) -> str:
            return new + path[len(old) :] if path == old or path.startswith(old + "/") else path

        return self._replace(
            argv=[at(argument) for argument in self.argv],
            script=None if self.script is None else at(self.script),
            env={name: at(value) for name, value in self.env.items()},
        )


def request_from(message: dict[str, Any]) -> Request:
    return Request(**message)


# ── numbers ──
# The numbers of the system calls that the filter knows, for x86-64 and for aarch64; None where there is no such call.
# The two share all numbers from 424 on.

X32 = 0x40000000
"""Calls of the x32 world carry this bit; they come with the same architecture."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NEWEST = 463
"""The first number that is not known here. Whatever comes later did not exist when the rules were made."""

NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "bind": (49, 200), "listen": (50, 201),
    "accept4": (288, 242), "socketpair": (53, 199), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "statmount": (457, 457), "listmount": (458, 458), "unshare": (272, 97), "setns": (308, 268), "clone": (56, 220),
    "clone3": (435, 435), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "seccomp": (317, 277), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116),
    "vhangup": (153, 58), "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "iopl": (172, None),
    "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None),
    "sysfs": (139, None), "_sysctl": (156, None), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None), "personality": (135, 92), "mknod": (133, None), "mknodat": (259, 33),
    "ioctl": (16, 29), "mbind": (237, 235), "set_mempolicy": (238, 237), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "set_mempolicy_home_node": (450, 450), "remap_file_pages": (216, 234),
    "vmsplice": (278, 75), "cachestat": (451, 451), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "shmdt": (67, 197), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183), "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setparam": (142, 118), "sched_setaffinity": (203, 122), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "prlimit64": (302, 261), "inotify_add_watch": (254, 27), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "fcntl": (72, 25), "chmod": (90, None),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "truncate": (76, 45),
    "fchmod": (91, 52), "fchown": (93, 55), "fsetxattr": (190, 7), "fremovexattr": (199, 16),
    "lsm_set_self_attr": (460, 460), "fallocate": (285, 47),
}  # fmt: skip


# ── places ──
# What of the machine can be seen inside: the system's programs, the interpreter, and what was asked for.

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
RANDOM = ("/dev/random", "/dev/urandom")
_FULL = ("/home", "/root", "/opt", "/tmp", "/var", "/var/tmp", "/srv", "/mnt", "/media", "/etc", "/run", "/dev/shm")
_ENVIRONMENT = {
    "bin", "include", "lib", "lib64", "share", "etc", "man", "pyvenv.cfg", ".gitignore", "CACHEDIR.TAG", ".lock",
}  # fmt: skip
"""What is in a virtual environment that is nothing else."""


def system_places() -> list[str]:
    return [path for path in SYSTEM if os.path.lexists(path)]


def interpreter_places() -> list[str]:
    """Where the interpreter lives that runs us, and its packages. A prefix in which there is more than that, or may be,
    is not shown as a whole."""
    found: list[str] = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        if is_modest(prefix) and (prefix in (sys.base_prefix, sys.base_exec_prefix) or _is_nothing_else(prefix)):
            found.append(prefix)
        else:
            found += [sys.executable, os.path.join(prefix, "pyvenv.cfg"), *_shared_library()]
            found += [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths = dict.fromkeys(os.path.normpath(path) for path in found if os.path.exists(path))
    return [path for path in paths if not _within(path, SYSTEM)]


def _is_nothing_else(environment: str) -> bool:
    """Whether a virtual environment has a folder to itself, and was not made in that of a project."""
    with suppress(OSError):
        return set(os.listdir(environment)) <= _ENVIRONMENT
    return False


def _shared_library() -> list[str]:
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    return [os.path.join(folder, name)] if folder and name else []


def is_modest(prefix: str) -> bool:
    """Whether a folder can be an installation and nothing else: no home, nothing above one, nothing where everybody
    keeps everything."""
    true = os.path.realpath(prefix)
    if true == "/" or true in _FULL or os.path.dirname(true) == "/home" or os.path.basename(true) == ".local":
        return False
    return not _within(os.path.realpath(os.path.expanduser("~")), (true,))


def checked_paths(interpreter: list[str], wanted: list[str]) -> list[str]:
    """What is to be seen besides the system's own. Raises ValueError where that is everything."""
    paths = list(dict.fromkeys((*interpreter, *map(os.path.normpath, wanted))))
    for path in paths:
        if os.path.realpath(path) == "/":
            raise ValueError("the whole file system cannot be made visible")
    return paths


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def is_open_to_all(path: str) -> bool:
    """Whether a user who is nobody in particular can get to what is at this path."""
    while (path := os.path.dirname(path)) != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def nearest(path: str, folders: list[str]) -> str | None:
    """The deepest of the folders that holds the path or is it."""
    holding = [folder for folder in folders if _within(path, (folder,))]
    return max(holding, key=len, default=None)


# ── owners ──
# Whom a program runs as when we are root: a user that nobody else is, as long as it runs.

_FIRST, _COUNT = 0x60000000, 1 << 20
_TRIES = 200


class Owner:
    """A user id (and a group id of the same number) that no other run has. Held by the name of a socket, which goes
    with the process that holds it; nothing is written anywhere."""

    def __init__(self) -> None:
        first, count = id_range()
        for _ in range(_TRIES):
            self.id = first + secrets.randbelow(count)
            self._held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                self._held.bind(f"\0rightcall-sandbox-{self.id}")
            except OSError:
                self._held.close()
                continue
            return
        raise OSError("no free user id")

    def close(self) -> None:
        self._held.close()


@lru_cache(1)
def id_range() -> tuple[int, int]:
    """Ids that mean something here: in a container there may be no more than 65,536 of them."""
    with open("/proc/self/uid_map") as text:
        ranges = [tuple(int(number) for number in line.split()) for line in text]
    first, count = max(((start, length) for start, _, length in ranges), key=lambda item: item[1])
    if first <= _FIRST and first + count >= _FIRST + _COUNT:
        return _FIRST, _COUNT
    return first + count // 2, max(count // 4, 1)


_BECOMES_ANOTHER = 1 << 0 | 1 << 6 | 1 << 7
"""The rights to give files away and to change one's group and user: CAP_CHOWN, CAP_SETGID, CAP_SETUID."""
_ENOUGH = 1000


@lru_cache(1)
def is_root() -> bool:
    """Whether a program can be made to run as somebody else. Root without these rights, or in a namespace that knows
    hardly anybody else, can do no more than an ordinary user."""
    if os.geteuid() != 0 or id_range()[1] < _ENOUGH:
        return False
    with open("/proc/self/status") as text:
        rights = next((int(line.split()[1], 16) for line in text if line.startswith("CapEff:")), 0)
    return rights & _BECOMES_ANOTHER == _BECOMES_ANOTHER

"""System calls that Python has no name for. Each says in its error which step it was that failed."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from typing import Literal, NamedTuple

from rightcall.tools.sandbox.inside.wire import ARCHITECTURES, NEWEST, NUMBERS, X32

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8
"""Attributes of a mount."""

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_AT_EMPTY_PATH, _AT_RECURSIVE, _CLOEXEC = 0x1000, 0x8000, 0o2000000
_CLONE, _FROM_EMPTY_PATH = 1, 4
_SET_STRING, _CREATE = 1, 6
_PRIVATE, _RECURSIVE, _DETACH = 1 << 18, 0x4000, 2
_PDEATHSIG, _DUMPABLE, _BOUNDING, _SUBREAPER, _NO_NEW_PRIVS, _AMBIENT = 1, 4, 24, 36, 38, 47
_LAST_CAPABILITY = 63


class Step(Exception):
    """A step of the set-up that failed; nothing runs then. The text names it."""

    def __init__(self, what: str, error: int) -> None:
        super().__init__(f"{what}: {os.strerror(error)}")
        self.errno = error


def machine() -> str:
    name = os.uname().machine
    return "aarch64" if name == "arm64" else name


def _call(what: str, number: int, *arguments: int | bytes | None) -> int:
    given = [
        ctypes.c_long(argument) if isinstance(argument, int) else ctypes.c_char_p(argument) for argument in arguments
    ]
    result: int = _libc.syscall(ctypes.c_long(number), *given)
    if result < 0:
        raise Step(what, ctypes.get_errno())
    return result


def _checked(what: str, result: int) -> None:
    if result < 0:
        raise Step(what, ctypes.get_errno())


def unshare(flags: int, what: str) -> None:
    _checked(what, _libc.unshare(ctypes.c_int(flags)))


def mounts_are_private() -> None:
    flags = ctypes.c_ulong(_PRIVATE | _RECURSIVE)
    _checked("keep mounts private", _libc.mount(None, b"/", None, flags, None))


def copied_tree(source: int, attributes: int, what: str) -> int:
    """A mount of the file or folder that is open as `source` and of all below it, not yet anywhere."""
    tree = _call(f"bind {what}", _OPEN_TREE, source, b"", _CLONE | _CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH)
    set_attributes(tree, attributes, what)
    return tree


def set_attributes(tree: int, attributes: int, what: str, *, below: bool = True) -> None:
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if below else 0)
    _call(f"protect {what}", _MOUNT_SETATTR, tree, b"", flags, struct.pack("QQQQ", attributes, 0, 0, 0), 32)


def new_filesystem(kind: str, options: dict[str, str], attributes: int, what: str) -> int:
    """A new file system, not yet anywhere."""
    step = f"mount {what}"
    context = _call(step, _FSOPEN, kind.encode(), 1)
    try:
        for key, value in options.items():
            _call(f"{step} ({key})", _FSCONFIG, context, _SET_STRING, key.encode(), value.encode(), 0)
        _call(step, _FSCONFIG, context, _CREATE, None, None, 0)
        return _call(step, _FSMOUNT, context, 1, attributes)
    finally:
        os.close(context)


def put_mount(tree: int, folder: int, path: str) -> None:
    """Put a mount where `path` is below an open folder."""
    _call(f"mount {path}", _MOVE_MOUNT, tree, b"", folder, os.fsencode(path), _FROM_EMPTY_PATH)


def enter_root(folder: int) -> None:
    """Make an open folder the root, and let go of the old one."""
    os.fchdir(folder)
    _call("pivot_root", _PIVOT_ROOT[machine()], b".", b".")
    _checked("leave the old root", _libc.umount2(b".", ctypes.c_int(_DETACH)))
    os.chdir("/")


def _prctl(what: str, option: int, *arguments: int) -> None:
    given = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(what, _libc.prctl(ctypes.c_int(option), *given))


def die_with_parent() -> None:
    _prctl("PR_SET_PDEATHSIG", _PDEATHSIG, 9)


def set_dumpable(dumpable: bool) -> None:
    """Whether it may look into its own /proc, and others of its user with it."""
    _prctl("PR_SET_DUMPABLE", _DUMPABLE, int(dumpable))


def adopt_orphans() -> None:
    _prctl("PR_SET_CHILD_SUBREAPER", _SUBREAPER, 1)


def no_new_privileges() -> None:
    _prctl("PR_SET_NO_NEW_PRIVS", _NO_NEW_PRIVS, 1)


def no_capabilities_to_gain() -> None:
    """Empty the bounding and the ambient set. Must come before the capabilities themselves are given up."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(ctypes.c_int(_BOUNDING), ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3) < 0:
            error = ctypes.get_errno()
            if capability and error == 22:  # EINVAL: this kernel has no more
                break
            if error == 1:  # an ordinary user: he has none, and no_new_privs keeps it so
                break
            raise Step("drop the bounding set", error)
    _prctl("drop the ambient set", _AMBIENT, 4)


def no_capabilities() -> None:
    header = struct.pack("Ii", 0x20080522, 0)
    _checked("drop capabilities", _libc.capset(header, b"\0" * 24))


def landlock_version() -> int:
    """0 where there is no Landlock."""
    try:
        return _call("Landlock", _CREATE_RULESET, None, 0, 1)
    except Step:
        return 0


def landlock_rules(handled: bytes) -> int:
    return _call("Landlock", _CREATE_RULESET, handled, len(handled), 0)


def landlock_allow(rules: int, access: int, file: int, what: str) -> None:
    _call(f"Landlock: allow {what}", _ADD_RULE, rules, 1, struct.pack("=Qi", access, file), 0)


def landlock_enter(rules: int) -> None:
    _call("Landlock", _RESTRICT_SELF, rules, 0)


def install_filter(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    _call("seccomp", _SECCOMP[machine()], 1, 0, header)


# ── rules ──
# Which system calls a program in the sandbox does without. Everything that CPython and Node need stays.

PRETEND, EPERM, ENOSYS, EOPNOTSUPP = 0, 1, 38, 95
ANY = 0xFFFFFFFF
_INT_AS_READ = 0xFFFFFFFF


class Condition(NamedTuple):
    """A word of the call's arguments: word 2n is the lower half of argument n, 2n + 1 its upper half."""

    word: int
    mask: int
    values: tuple[int, ...]


class Rule(NamedTuple):
    """The call fails with `error`: always, or not when all of `unless` hold, or only when all of `only_if` hold."""

    error: int = EPERM
    unless: tuple[Condition, ...] = ()
    only_if: tuple[Condition, ...] = ()


def argument(index: int, *values: int, mask: int = ANY) -> Condition:
    """A condition on an argument that the kernel reads as a 32-bit number."""
    return Condition(2 * index, mask, values)


_NETWORK = ("socket", "connect", "bind", "listen", "accept", "accept4")
_OTHER_PROCESSES = (
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise", "process_mrelease",
)  # fmt: skip
_MOUNTS = (
    "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "statmount", "listmount", "unshare", "setns",
)  # fmt: skip
_KERNEL = (
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "seccomp", "lsm_set_self_attr",
    "name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark", "quotactl", "quotactl_fd",
    "init_module", "finit_module", "delete_module", "create_module", "get_kernel_syms", "query_module",
    "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "settimeofday", "clock_settime",
    "adjtimex", "clock_adjtime", "sethostname", "setdomainname", "syslog", "vhangup", "lookup_dcookie", "nfsservctl",
    "iopl", "ioperm", "modify_ldt", "uselib", "ustat", "sysfs", "_sysctl", "vmsplice", "cachestat",
)  # fmt: skip
_PAGES = ("mbind", "set_mempolicy", "migrate_pages", "move_pages", "set_mempolicy_home_node", "remap_file_pages")
_IPC = (
    "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv",
    "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
)  # fmt: skip
"""Memory that no process has to hold: it would be in nobody's sum."""
_ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create", "memfd_secret")
"""Whoever uses these has another way for kernels without them. The flags of clone3 lie where no filter can look."""

_NEW_NAMESPACES = 0x7E020000
_UNIX, _STREAM, _SEQPACKET, _TYPE = 1, 1, 5, 0xF
_DEVICE = 0x2000
"""The bit of a file's mode that block and character devices have, and pipes, files and sockets have not."""
_TERMINAL = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCSETD: typing into a terminal, and other ways to work on whoever sits there."""
_REAL_TIME = (1, 2, 6)
_OWN_SIGNALS = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: signals that a file sends when there is something to read."""
_OWN_SIGNALS_OF_SOCKETS = (0x8901, 0x8902)
"""FIOSETOWN, SIOCSPGRP."""

ALWAYS: dict[str, Rule] = {
    **dict.fromkeys((*_NETWORK, *_OTHER_PROCESSES, *_MOUNTS, *_KERNEL, *_PAGES, *_IPC), Rule()),
    **dict.fromkeys(_ABSENT, Rule(ENOSYS)),
    # A datagram socket could send to any address; a connected pair cannot.
    "socketpair": Rule(unless=(argument(0, _UNIX), argument(1, _STREAM, _SEQPACKET, mask=_TYPE))),
    "clone": Rule(unless=(argument(0, 0, mask=_NEW_NAMESPACES),)),
    "personality": Rule(unless=(argument(0, 0, _INT_AS_READ),)),
    "mknod": Rule(unless=(argument(1, 0, mask=_DEVICE),)),
    "mknodat": Rule(unless=(argument(2, 0, mask=_DEVICE),)),
    "ioctl": Rule(only_if=(argument(1, *_TERMINAL),)),
    "sched_setscheduler": Rule(only_if=(argument(1, *_REAL_TIME, mask=0xFFFF),)),
    "sched_setattr": Rule(),
    "ioprio_set": Rule(),
}

_TIMES = ("utime", "utimes", "futimesat", "utimensat")
_ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr")
_ITSELF = (argument(0, 0),)
_RESERVING = (0x40305828, 0x4030582A, 0x40305839, 0x4030580A, 0x40305824)
"""FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE, XFS_IOC_ALLOCSP, XFS_IOC_ALLOCSP64."""
ON_DISK: dict[str, Rule] = {
    "fallocate": Rule(EOPNOTSUPP),
    "ioctl": Rule(only_if=(argument(1, *_TERMINAL, *_RESERVING),)),
}
"""Where files lie on a real disk: gigabytes of it would be taken at once, before anybody can look. The C library writes
instead."""

SHARED: dict[str, Rule] = {
    **ON_DISK,
    "prlimit64": Rule(unless=_ITSELF),
    "sched_setaffinity": Rule(unless=_ITSELF),
    "sched_setparam": Rule(unless=_ITSELF),
    "sched_setscheduler": Rule(unless=(argument(0, 0), argument(1, 0, 3, 5, mask=0xFFFF))),
    "setpriority": Rule(unless=(argument(0, 0), argument(1, 0))),
    "inotify_add_watch": Rule(),
    **dict.fromkeys(_TIMES, Rule(PRETEND)),
    **dict.fromkeys(_ATTRIBUTES, Rule()),
}
"""Where other people's processes and files have names: what Landlock does not look at. Times are said to be set, and
are not: who copies files wants to go on."""

_FLAGS = (0x40086602, 0x401C5820)
"""FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR."""
OWNER: dict[str, Rule] = {
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), Rule(PRETEND)),
    **dict.fromkeys(("chown", "lchown", "fchown", "fchownat"), Rule()),
    "ioctl": Rule(only_if=(argument(1, *_TERMINAL, *_RESERVING, *_FLAGS),)),
}
"""Where the program runs as somebody who owns files outside, some of which it may read: an open file is enough to
change its mode. Modes are said to be set, and are not."""


def signalling(pid: int) -> dict[str, Rule]:
    """Where neither another user nor Landlock keeps its signals in: it may reach itself and its own group alone."""
    return {
        **dict.fromkeys(("pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill"), Rule()),
        "kill": Rule(unless=(argument(0, 0, pid, -pid & ANY),)),
        "tgkill": Rule(unless=(argument(0, pid),)),
        "fcntl": Rule(only_if=(argument(1, *_OWN_SIGNALS),)),
        "ioctl": Rule(only_if=(argument(1, *_TERMINAL, *_RESERVING, *_FLAGS, *_OWN_SIGNALS_OF_SOCKETS),)),
    }


# ── filter ──
# The seccomp filter: rules put together into a program for the kernel's packet filter machine, for either
# architecture, on any machine.

Arch = Literal["x86_64", "aarch64"]

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Where struct seccomp_data holds what is asked for; both architectures keep the lower half of a word first."""
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000

_Step = tuple[int, int, int, int]


def program(
    arch: Arch,
    *,
    disk: bool = False,
    shared: bool = False,
    owner: bool = False,
    alone: int | None = None,
    truncate: bool = True,
) -> bytes:
    """The filter as the kernel takes it. `disk`: the scratch folder lies on a real one. `shared`: other people's
    processes and files have names for the program. `owner`: it runs as somebody who owns files outside. `alone`: its
    pid, where only this filter keeps its signals in. `truncate`: whether it may shorten files by their path, which
    Landlock watches from its third version on."""
    rules = dict(ALWAYS)
    if disk:
        rules.update(ON_DISK)
    if shared:
        rules.update(SHARED)
    if owner:
        rules.update(OWNER)
    if alone is not None:
        rules.update(signalling(alone))
    if not truncate:
        rules["truncate"] = Rule()
    return assemble(arch, rules)


def assemble(arch: Arch, rules: dict[str, Rule]) -> bytes:
    """Rules by the name of the call; whatever is not named is allowed."""
    column = list(ARCHITECTURES).index(arch)
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, ARCHITECTURES[arch]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, X32),
        (_RETURN, 0, 0, _KILL),
        (_AT_LEAST, 0, 1, NEWEST),
        (_RETURN, 0, 0, _FAIL | ENOSYS),
    ]
    for name, rule in rules.items():
        number = NUMBERS[name][column]
        if number is not None:
            body = _body(rule)
            steps += [(_EQUAL, 0, len(body), number), *body]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", code, yes, no, value) for code, yes, no, value in steps)


def _body(rule: Rule) -> list[_Step]:
    """What is done for one call. It always ends in a verdict, so that nothing has to be loaded again after it."""
    allowed, failed = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | rule.error)
    if rule.unless:
        return [*_all_of(rule.unless), allowed, failed]
    if rule.only_if:
        return [*_all_of(rule.only_if), failed, allowed]
    return [failed]


def _all_of(conditions: tuple[Condition, ...]) -> list[_Step]:
    """Goes on when all conditions hold, else skips the step that follows."""
    steps: list[_Step] = []
    for condition in reversed(conditions):
        tests: list[_Step] = [(_LOAD, 0, 0, _ARGUMENTS + 4 * condition.word)]
        if condition.mask != ANY:
            tests.append((_AND, 0, 0, condition.mask))
        last = len(condition.values) - 1
        for index, value in enumerate(condition.values):
            missed = len(steps) + 1 if index == last else 0
            tests.append((_EQUAL, last - index, missed, value))
        steps = tests + steps
    return steps


# ── landlock ──
# Landlock: what may be read, and what written, whatever the file permissions say.

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST = (1 << 13) - 1
"""The rights of the first version."""
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

SIGNALS_SINCE = 6
TRUNCATE_SINCE = 3


def _all_rights(version: int) -> int:
    rights = _FIRST
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if version >= since:
            rights |= right
    return rights


def restrict(read: Iterable[str], write: Iterable[str], devices: Iterable[str]) -> None:
    """From now on nothing but this can be opened: `read` for reading and executing, `write` for everything but making
    devices and sockets, `devices` for reading and writing. No network; no signals, no abstract sockets to the outside
    where Landlock can do that."""
    version = landlock_version()
    handled = _all_rights(version)
    words = [handled]
    if version >= 4:
        words.append(0b11)  # bind and connect of TCP
    if version >= SIGNALS_SINCE:
        words.append(0b11)  # abstract sockets and signals
    rules = landlock_rules(struct.pack(f"{len(words)}Q", *words))
    whole = handled & ~(_MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK | _IOCTL_DEV)
    try:
        for paths, rights in ((read, _READ), (write, whole), (devices, _READ_FILE | _WRITE_FILE)):
            for path in paths:
                _allow(rules, path, rights & handled)
        landlock_enter(rules)
    finally:
        os.close(rules)


def _closed(path: str) -> str:
    """Which folder above it does not let us through, and what would help."""
    above = os.path.dirname(path)
    while above != "/" and not os.access(os.path.dirname(above), os.X_OK):
        above = os.path.dirname(above)
    if os.access(above, os.X_OK):
        return ""
    return f" ({above} is closed to others: `chmod o+x` it, or use a folder elsewhere)"


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise Step(f"reach {path} as the user that the program runs as{_closed(path)}", error.errno or 0) from None
    try:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            rights &= _ON_A_FILE
        landlock_allow(rules, rights, file, path)
    finally:
        os.close(file)

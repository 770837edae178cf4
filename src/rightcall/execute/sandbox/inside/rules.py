"""Which system calls a program in the sandbox does without. Everything that CPython and Node need stays."""

from __future__ import annotations

from typing import NamedTuple

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

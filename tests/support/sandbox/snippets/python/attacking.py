"""What snippets that attack have in common. It is laid before the snippet, in place of the line that imports it.

A snippet that attacks says RAN before anything else, so that a sandbox that does not start is not taken for one that
holds. It must come to its own end: only what the system answers (OSError) counts as being stopped, never a fault of
the snippet itself.
"""

import ctypes
import json
import os
import platform
import sys

outside = json.loads(sys.argv[1])
"""What there is to reach, and where: `secret` (file), `victim` (file that all may write), `drop` (folder that all may
write), `pid` (a process), `holder` (who holds the sandbox), `fd`, `folder_fd` (descriptors left open), ports…"""
os.write(1, b"RAN\n")

NUMBERS = {  # on x86-64 and on arm64
    "socket": (41, 198), "sendto": (44, 206), "kill": (62, 129), "ptrace": (101, 117), "syslog": (103, 116),
    "personality": (135, 92), "pivot_root": (155, 41), "acct": (163, 89), "mount": (165, 40), "umount2": (166, 39),
    "swapon": (167, 224), "reboot": (169, 142), "sethostname": (170, 161), "delete_module": (176, 106),
    "quotactl": (179, 60), "setxattr": (188, 5), "tgkill": (234, 131), "mq_open": (240, 180), "kexec_load": (246, 104),
    "add_key": (248, 217), "keyctl": (250, 219), "ioprio_set": (251, 30), "openat": (257, 56), "linkat": (265, 37),
    "unshare": (272, 97), "perf_event_open": (298, 241), "fanotify_init": (300, 262), "setns": (308, 268),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "clock_settime": (227, 112),
    "process_vm_readv": (310, 270), "kcmp": (312, 272), "finit_module": (313, 273), "renameat2": (316, 276),
    "memfd_create": (319, 279), "bpf": (321, 280), "execveat": (322, 281), "userfaultfd": (323, 282),
    "rt_sigqueueinfo": (129, 138), "init_module": (175, 105), "clone": (56, 220), "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27), "sched_setattr": (314, 274), "mbind": (237, 235), "move_pages": (279, 239),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "capset": (126, 91), "vhangup": (153, 58),
    "pidfd_send_signal": (424, 424), "io_uring_setup": (425, 425), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fspick": (433, 433), "pidfd_open": (434, 434), "clone3": (435, 435), "openat2": (437, 437),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "mount_setattr": (442, 442), "memfd_secret": (447, 447),
    "statmount": (457, 457), "listmount": (458, 458), "file_setattr": (469, 469), "chroot": (161, 51),
    "mknodat": (259, 33), "socketpair": (53, 199), "shmat": (30, 196), "fchmodat2": (452, 452),
}  # fmt: skip
C = ctypes.CDLL(None, use_errno=True)


def syscall(name, *arguments):
    """Past the C library: a number of the system's, and whole words."""
    number = NUMBERS[name][platform.machine() == "aarch64"]
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    answer = C.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def attempt(what, action, *arguments, **named):
    """Whatever comes back is shown: the secret must not be in it."""
    try:
        got = action(*arguments, **named)
    except OSError as error:
        print(f"{what}: {error.strerror}")
        return None
    print(f"{what}: {got!r}", flush=True)
    return got


def forbidden(what, action, *arguments):
    """Success alone is the escape."""
    try:
        got = action(*arguments)
    except OSError as error:
        print(f"{what}: {error.strerror}")
        return None
    print(f"ESCAPED {what}: {got!r}", flush=True)
    return got


def read(path, dir_fd=None):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=dir_fd)
    try:
        return os.read(fd, 100_000)
    finally:
        os.close(fd)


def marks_of(found):
    """What could be changed of a file, and shows when it was."""
    return found.st_mode, found.st_mtime_ns, found.st_ctime_ns, found.st_uid, found.st_gid


def folder_of(path):
    return os.path.dirname(path)

"""The filter of system calls, run by a small machine of our own over every call of both architectures."""

import errno
import struct
from functools import cache
from typing import Any, Literal

import pytest

from rightcall.tools.sandbox.inside.kernel import ALWAYS, OWNER, SHARED, program, signalling
from rightcall.tools.sandbox.inside.wire import ARCHITECTURES, NUMBERS
from support.sandbox import without

Arch = Literal["x86_64", "aarch64"]
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OTHER_AUDIT = {"i386": 0x40000003, "arm": 0x40000028, "riscv64": 0xC00000F3}
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
BOTH = pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
HIGH = 0xABCD << 32
"""Something in the upper half of a word: the kernel cuts it off, so it must change nothing."""

pytestmark = pytest.mark.promise("X-06")


@cache
def numbers(arch: Arch) -> dict[str, int]:
    """Every call by its name, from the kernel's own tables."""
    text = without.NUMBERS.read_text()
    words = [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]
    column = 0 if arch == "x86_64" else 1
    table = {name: numbers.split("/")[column] for name, numbers in (word.split("=") for word in words)}
    return {name: int(number) for name, number in table.items() if number != "-"}


def run(code: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the kernel's machine does with a program, as much of it as filters use. Anything else is an error."""
    words = [argument & 0xFFFF_FFFF_FFFF_FFFF for argument in (*arguments, 0, 0, 0, 0, 0, 0)][:6]
    data = struct.pack("<IIQ6Q", number, audit, 0x1234_5678_9ABC, *words)
    steps = list(struct.iter_unpack("<HBBI", code))
    held, at = 0, 0
    while True:
        operation, yes, no, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                assert value in range(0, len(data), 4)
                held = int.from_bytes(data[value : value + 4], "little")
            case 0x54:
                held &= value
            case 0x15 | 0x25 | 0x35 | 0x45:
                tests = {0x15: held == value, 0x25: held > value, 0x35: held >= value, 0x45: bool(held & value)}
                at += yes if tests[operation] else no
            case 0x05:
                at += value
            case 0x06:
                return value
            case _:
                raise AssertionError(f"operation {operation:#x} is not known here")


def verdict(arch: Arch, name: str, *arguments: int, **options: Any) -> str:
    """In words: allowed, killed or the name of the error."""
    return told(run(_program(arch, tuple(sorted(options.items()))), AUDIT[arch], numbers(arch)[name], *arguments))


@cache
def _program(arch: Arch, options: tuple[tuple[str, Any], ...]) -> bytes:
    return program(arch, **dict(options))


def told(answer: int) -> str:
    if answer & 0xFFFF0000 == FAIL:
        return errno.errorcode.get(answer & 0xFFFF, "no error")
    return {ALLOW: "allowed", KILL: "killed"}[answer]


# Written down again, apart from the rules: what is to be denied whatever its arguments are.
NEVER = """
    socket connect bind listen accept accept4 ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise
    mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr unshare setns
    add_key request_key keyctl bpf perf_event_open userfaultfd name_to_handle_at open_by_handle_at fanotify_init
    quotactl quotactl_fd init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname syslog vhangup lookup_dcookie
    iopl ioperm modify_ldt io_uring_setup io_uring_enter io_uring_register memfd_create memfd_secret clone3 mbind
    migrate_pages move_pages shmget shmat semget msgget mq_open setxattrat removexattrat open_tree_attr file_setattr
    statmount listmount lsm_set_self_attr listns
""".split()  # noqa: SIM905
# What CPython and Node cannot do without.
NEEDED = """
    read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn
    pread64 pwrite64 readv writev access pipe select sched_yield mremap madvise dup dup2 nanosleep getpid sendfile
    sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername setsockopt getsockopt fork vfork execve exit wait4
    kill uname fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link
    unlink symlink readlink chmod fchmod umask gettimeofday getrlimit getrusage sysinfo times getuid getgid setpgid
    getppid setsid getgroups sigaltstack statfs fstatfs prctl arch_prctl gettid futex sched_getaffinity getdents64
    set_tid_address timer_create timer_settime clock_gettime clock_getres clock_nanosleep exit_group epoll_wait
    epoll_ctl tgkill waitid inotify_init1 inotify_add_watch openat mkdirat newfstatat unlinkat renameat linkat symlinkat
    readlinkat fchmodat faccessat pselect6 ppoll set_robust_list utimensat epoll_pwait timerfd_create eventfd2
    epoll_create1 dup3 pipe2 preadv pwritev prlimit64 renameat2 getrandom membarrier copy_file_range statx rseq
    close_range openat2 faccessat2 epoll_pwait2 pidfd_open pkey_alloc getcpu setitimer getitimer futex_waitv
""".split()  # noqa: SIM905


@BOTH
def test_every_name_of_the_filter_has_the_number_the_kernel_gives_it(arch: Arch):
    column = list(ARCHITECTURES).index(arch)
    known = numbers(arch)
    assert {name: both[column] for name, both in NUMBERS.items()} == {name: known.get(name) for name in NUMBERS}
    assert ARCHITECTURES[arch] == AUDIT[arch]


def test_every_rule_has_a_number():
    assert not (ALWAYS.keys() | SHARED.keys() | OWNER.keys() | signalling(7).keys()) - NUMBERS.keys()


@BOTH
@pytest.mark.parametrize("options", [{}, {"shared": True, "owner": True}, {"shared": True, "alone": 77}])
def test_what_no_program_needs_is_denied_whatever_its_arguments(arch: Arch, options: dict[str, Any]):
    there = [name for name in NEVER if name in numbers(arch)]
    assert len(there) > 70
    for name in there:
        for first in (0, 1, 2, 0x7FFFFFFF, HIGH, 0xFFFF_FFFF_FFFF_FFFF):
            assert verdict(arch, name, first, first, first, **options) in ("EPERM", "EACCES", "ENOSYS"), name


@BOTH
def test_what_interpreters_need_is_allowed(arch: Arch):
    there = [name for name in NEEDED if name in numbers(arch)]
    assert len(there) > 90
    assert {name for name in there if verdict(arch, name) != "allowed"} == set()


@BOTH
def test_every_call_there_is_has_one_of_three_answers_and_most_are_allowed(arch: Arch):
    answers = {name: verdict(arch, name) for name in numbers(arch)}
    assert set(answers.values()) <= {"allowed", "EPERM", "EACCES", "ENOSYS"}
    assert not {name for name, answer in answers.items() if answer == "ENOSYS"} & set(NEEDED)
    assert list(answers.values()).count("allowed") > 170


@BOTH
def test_calls_that_came_after_the_rules_were_made_are_not_there(arch: Arch):
    newest = max(numbers(arch).values())
    for number in (newest + 1, newest + 2, 600, 1024, 0x3FFFFFFF):
        assert told(run(program(arch), AUDIT[arch], number)) == "ENOSYS"


@BOTH
def test_another_architecture_and_x32_are_killed(arch: Arch):
    code = program(arch)
    others = {*OTHER_AUDIT.values(), *AUDIT.values()} - {AUDIT[arch]}
    for audit in others:
        for number in (0, 20, 39, 172, numbers(arch)["socket"]):
            assert told(run(code, audit, number)) == "killed"
    for number in (0x40000000, 0x40000000 + numbers(arch)["getpid"], 0x40000000 + 520, 0xFFFFFFFF):
        assert told(run(code, AUDIT[arch], number)) == "killed"


@BOTH
def test_processes_and_threads_are_made_but_no_namespaces(arch: Arch):
    thread, process, vfork = 0x3D0F00, 0x1200011, 0x4111
    for flags in (thread, process, vfork, 17, HIGH | 17):
        assert verdict(arch, "clone", flags) == "allowed"
    for name, flag in {
        "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
        "pid": 0x20000000, "net": 0x40000000,
    }.items():  # fmt: skip
        assert verdict(arch, "clone", flag | 17) == "EPERM", name
        assert verdict(arch, "clone", HIGH | flag | thread) == "EPERM", name


@BOTH
def test_clone3_is_not_there_so_that_the_c_library_takes_clone(arch: Arch):
    assert verdict(arch, "clone3", 0x7FFF0000, 88) == "ENOSYS"


@BOTH
def test_only_pairs_of_connected_sockets_are_made(arch: Arch):
    unix, inet, inet6, stream, datagram, flags = 1, 2, 10, 1, 2, 0x80800
    assert verdict(arch, "socketpair", unix, stream) == "allowed"
    assert verdict(arch, "socketpair", HIGH | unix, stream | flags) == "allowed"
    for kind in (datagram, datagram | flags, HIGH | datagram, 3, 4, 6, 10):
        assert verdict(arch, "socketpair", unix, kind) == "EPERM"
    for family in (inet, inet6, 16, 17, 40):
        assert verdict(arch, "socketpair", family, stream) == "EPERM"
    for family in (unix, inet, inet6, 16, 17, 38, 40):
        assert verdict(arch, "socket", family, stream) in ("EPERM", "EACCES")


@BOTH
def test_no_device_is_made_and_no_key_typed(arch: Arch):
    mknodat = "mknodat"
    for kind, expected in ((0o010644, "allowed"), (0o100644, "allowed"), (0o020666, "EPERM"), (0o060666, "EPERM")):
        assert verdict(arch, mknodat, 0, 0, kind) == expected
        if arch == "x86_64":
            assert verdict(arch, "mknod", 0, kind) == expected
    for request, expected in ((0x5401, "allowed"), (0x541B, "allowed"), (0x5412, "EPERM"), (0x541C, "EPERM")):
        assert verdict(arch, "ioctl", 0, request) == expected
        assert verdict(arch, "ioctl", 0, HIGH | request) == expected


@BOTH
def test_the_personality_is_read_and_not_changed(arch: Arch):
    assert verdict(arch, "personality", 0xFFFFFFFF) == "allowed"
    assert verdict(arch, "personality", 0x0040000) == verdict(arch, "personality", 0x0400000) == "EPERM"


@BOTH
def test_no_program_gets_real_time(arch: Arch):
    for policy in (1, 2, 6, 1 | 0x40000000):
        assert verdict(arch, "sched_setscheduler", 0, policy) == "EPERM"
    assert verdict(arch, "sched_setscheduler", 0, 3) == "allowed"
    assert verdict(arch, "ioprio_set", 1, 0, 1 << 13) == "EPERM"


@BOTH
def test_where_others_can_be_named_only_itself_is_changed(arch: Arch):
    for name in ("prlimit64", "sched_setaffinity", "sched_setparam"):
        assert verdict(arch, name, 0, shared=True) == verdict(arch, name, 4711) == "allowed"
        assert verdict(arch, name, 4711, shared=True) == verdict(arch, name, HIGH | 1, shared=True) == "EPERM"
    assert verdict(arch, "setpriority", 0, 0, shared=True) == "allowed"
    for which, who in ((0, 4711), (1, 0), (2, 0), (2, 1000)):
        assert verdict(arch, "setpriority", which, who, shared=True) == "EPERM"
    assert verdict(arch, "inotify_add_watch", 3, shared=True) == "EPERM"


@BOTH
def test_no_room_on_a_real_disk_is_reserved(arch: Arch):
    reserving = (0x40305828, 0x4030582A, 0x40305839, 0x4030580A, 0x40305824)
    for options in ({"disk": True}, {"shared": True}, {"shared": True, "owner": True}, {"shared": True, "alone": 7}):
        assert verdict(arch, "fallocate", 3, 0, 0, 1 << 30, **options) == "ENOTSUP"
        assert {verdict(arch, "ioctl", 3, request, **options) for request in reserving} == {"EPERM"}
        assert verdict(arch, "ioctl", 3, 0x5412, **options) == "EPERM"
    assert verdict(arch, "fallocate", 3, 0, 0, 1 << 30) == "allowed"


@BOTH
def test_signals_stay_inside_where_nothing_else_keeps_them_in(arch: Arch):
    minus = -77 & 0xFFFF_FFFF_FFFF_FFFF
    for pid in (0, 77, minus):
        assert verdict(arch, "kill", pid, 9, alone=77) == "allowed"
    for pid in (1, 76, 78, -1 & 0xFFFF_FFFF_FFFF_FFFF, -78 & 0xFFFF_FFFF_FFFF_FFFF):
        assert verdict(arch, "kill", pid, 9, alone=77) == "EPERM"
    assert verdict(arch, "tgkill", 77, 78, alone=77) == "allowed"
    assert verdict(arch, "tgkill", 78, 78, alone=77) == verdict(arch, "tkill", 78, alone=77) == "EPERM"
    for command, expected in ((8, "EPERM"), (15, "EPERM"), (1, "allowed"), (4, "allowed")):
        assert verdict(arch, "fcntl", 3, command, alone=77) == expected


@BOTH
def test_whoever_owns_files_outside_cannot_change_their_owners_or_attributes(arch: Arch):
    there = {
        "chown",
        "lchown",
        "fchownat",
        "fchown",
        "setxattr",
        "lsetxattr",
        "fsetxattr",
        "removexattr",
        "fremovexattr",
    }
    for name in there & numbers(arch).keys():
        assert verdict(arch, name, 3, 0x7FFF, 1, shared=True, owner=True) == "EPERM", name


@BOTH
def test_the_filter_is_one_the_kernel_takes(arch: Arch):
    """Not too long, no jump past its end, and every way ends in a verdict."""
    for options in ({}, {"shared": True, "owner": True, "alone": 77, "truncate": False}):
        steps = list(struct.iter_unpack("<HBBI", program(arch, **options)))
        assert len(steps) <= 4096
        assert steps[-1][0] == 0x06
        for at, (operation, yes, no, _value) in enumerate(steps):
            if operation & 0x07 == 0x05:
                assert at + 1 + max(yes, no) < len(steps)

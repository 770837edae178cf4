"""System calls that Python has no name for. Each says in its error which step it was that failed."""

from __future__ import annotations

import ctypes
import os
import struct

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

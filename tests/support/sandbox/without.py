"""A machine that does not have everything: a program is started that cannot use certain system calls, as in containers.

python without.py unshare,mount PROGRAM ARGUMENT…
"""

import ctypes
import os
import struct
import sys
from pathlib import Path

NAMESPACES = ("unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "fsopen", "mount_setattr")
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
NUMBERS = Path(__file__).with_name("syscall_numbers.txt")
NEW = 0x7E020000
LOAD, EQUAL, ANY_BIT, RETURN, ALLOW, EPERM = 0x20, 0x15, 0x45, 0x06, 0x7FFF0000, 0x00050001


def number(name: str) -> int:
    text = NUMBERS.read_text()
    [both] = [word.partition("=")[2] for word in text.split() if word.startswith(f"{name}=")]
    return int(both.split("/")[os.uname().machine == "aarch64"])


def deny(*names: str) -> None:
    """From now on, for this process and what it starts: these calls are refused, and so are new namespaces by clone
    when unshare is among them."""
    steps = [(LOAD, 0, 0, 0)]
    for name in names:
        steps += [(EQUAL, 0, 1, number(name)), (RETURN, 0, 0, EPERM)]
    if "unshare" in names:
        steps += [(EQUAL, 0, 1, number("clone3")), (RETURN, 0, 0, 0x00050026)]
        steps += [(EQUAL, 0, 3, number("clone")), (LOAD, 0, 0, 16), (ANY_BIT, 0, 1, NEW), (RETURN, 0, 0, EPERM)]
    steps.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(38, 1, 0, 0, 0)
    if library.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter was not taken")


if __name__ == "__main__":
    deny(*sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])

"""Where a hook finds what it needs: the project's policy, the socket of a server, the record without a policy."""

import os
import stat
import sys
from zlib import crc32

from rightcall.base.files.guarded import POLICY_FILE, identity, state_folder

MODES = ("observe", "warn", "block")
"""From the mildest to the strictest."""
DEADLINE = 5.0
"""Seconds for an answer, until the policy says otherwise."""
TRIAL = "RightCallStatus"
"""The event of `rightcall status`, whose call is judged as any other and not recorded."""
PROJECT_VARIABLES = {"claude": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR"}
"""Where a host says which folder its session belongs to; the one that it works in changes with every `cd`. One host may
have been started by another, whose variable is still there."""
_MOST_LEVELS = 40
_LONGEST_ADDRESS = 100
"""Bytes that every system takes as the address of a socket."""


def project_folder(given: str | None = None, host: str = "") -> str:
    """The folder of the project, as it was given or the host tells it, whether it is there or not; else the one that
    the hook is started in."""
    named = given or os.environ.get(PROJECT_VARIABLES.get(host, ""))
    return os.path.abspath(named) if named else os.getcwd()


def policy_of_project(folder: str) -> str | None:
    """The policy file of a project: in its folder, else in one above it, as far as the repository reaches. Whoever can
    write above that (a shared folder for temporary files, say) has no say in it. Whatever is there under that name
    counts, also what is no file: a policy that cannot be read is not the same as none."""
    usual = _named_in(folder)
    if usual is not None:
        return usual
    found: str | None = None
    for _ in range(_MOST_LEVELS):
        if os.path.lexists(os.path.join(folder, ".git")):
            return found or _named_in(folder)
        found = found or _named_in(folder)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def _named_in(folder: str) -> str | None:
    path = os.path.join(folder, POLICY_FILE)
    return path if os.path.lexists(path) else None


def is_file(path: str) -> bool:
    """Whether it is a file, perhaps behind links: one that can be read without waiting for anybody."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def record_without_policy() -> str:
    """Nothing is written into a project that has no policy."""
    return os.path.join(state_folder(), "audit.db")


def socket_folder() -> str:
    return os.path.join(state_folder(), "hooks")


def socket_path(policy: str) -> str:
    """Of the server that answers for this policy file. Two files may share one: it is asked which one it means."""
    return os.path.join(socket_folder(), f"{crc32(os.fsencode(identity(policy))):08x}.sock")


def socket_address(path: str, folder: int) -> str:
    """The address to bind or to connect to; `folder` is a descriptor of its folder, for paths too long for one."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        return path
    return f"/proc/self/fd/{folder}/{os.path.basename(path)}"


def is_private(folder: int) -> bool:
    """Whether only this user can look into a folder: nobody else has put anything there."""
    found = os.fstat(folder)
    return sys.platform != "win32" and found.st_uid == os.geteuid() and found.st_mode & 0o077 == 0

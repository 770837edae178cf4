"""Who besides its owner may write a file: everybody, or a group in which others are. Root may anyway."""

import os
import stat
import sys
from typing import Final

_WITHOUT_MODES: Final = frozenset(
    ("vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "9p", "drvfs", "cifs", "smb3", "smbfs", "vboxsf", "prl_fs")
)
"""File systems on which every file shows the same mode, whoever may write it."""


def others_may_write(found: os.stat_result) -> bool:
    """Whether the modes let somebody else write: the world, or a group that has another member."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and _has_others(found.st_gid)


def modes_mean_nothing(found: os.stat_result) -> bool:
    """Whether the modes of a file say nothing of who may write it, as on Windows and on many shared folders."""
    return sys.platform == "win32" or _file_system(found.st_dev) in _WITHOUT_MODES


def _has_others(gid: int) -> bool:
    """Whether a group has a member who is neither this user nor root. One of which the system knows nothing has none;
    one that is named like its user is that user's own."""
    try:
        import grp
        import pwd
    except ImportError:  # Windows
        return False
    try:
        group = grp.getgrgid(gid)
        own = {"root", pwd.getpwuid(os.geteuid()).pw_name}
    except KeyError:
        return False
    if any(name not in own for name in group.gr_mem):
        return True
    if group.gr_name in own:
        return False
    return any(one.pw_gid == gid and one.pw_name not in own for one in pwd.getpwall())


def _file_system(device: int) -> str:
    """The kind of the file system with this number; empty where the system does not tell."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                before, _, after = line.partition(" - ")
                if before.split(" ")[2:3] == [number]:
                    return after.split(" ")[0]
    except OSError:
        return ""
    return ""

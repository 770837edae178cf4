"""What somebody can do whose machine offers no isolation."""

import os
import sys
from contextlib import suppress

from rightcall.execute.sandbox.inside import kernel

_SWITCHES = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows userns",
    ),
}


def advice() -> tuple[str, ...]:
    lines: list[str] = []
    for path, (bad, line) in _SWITCHES.items():
        with suppress(OSError), open(path) as file:
            if file.read().strip() == bad:
                lines.append(f"For namespaces: {line}")
    if in_container():
        lines.append(
            "In a container: run it with a seccomp profile that allows unshare and mount (docker run --security-opt "
            "seccomp=unconfined --cap-add SYS_ADMIN), or on a host whose kernel has Landlock"
        )
    elif os.geteuid() != 0 and not lines:
        lines.append("For namespaces: a kernel with CONFIG_USER_NS, and user namespaces allowed for ordinary users")
    if kernel.landlock_version() == 0:
        lines.append(
            "For Landlock: Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in the boot parameter lsm="
        )
    return tuple(lines)


def in_container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv") or "container" in os.environ


def is_linux() -> bool:
    return sys.platform == "linux"

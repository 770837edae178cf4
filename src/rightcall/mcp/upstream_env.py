"""What a server that we start sees of our environment, and the names in a policy file that stand for a secret there.

A server gets little: enough to find programs and its user's folders, and what `env` says. Keys that happen to be in our
own environment are nobody's but ours. `${NAME}` in a value of `env` or `headers` is our variable of that name, so that
no secret need stand in the policy file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from rightcall.config_servers import Server
from rightcall.mcp.upstream_link import ServerGone

_PASSED = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
    "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
)  # fmt: skip
_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def environment(server: Server) -> dict[str, str]:
    """Of the server's process. Raises ServerGone for a variable that we do not have."""
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return passed | filled(server.env, f"[servers.{server.name}] env")


def filled(values: Mapping[str, str], where: str) -> dict[str, str]:
    """The values, with `${NAME}` replaced."""

    def of(found: re.Match[str]) -> str:
        name = found[1]
        if name not in os.environ:
            raise ServerGone(f"{where} wants the environment variable {name}, which is not set")
        return os.environ[name]

    return {key: _NAME.sub(of, value) for key, value in values.items()}

"""The policy of a running executor: a file may be edited at any time; a bad edit keeps the old one and says why."""

import logging
import os
import time
from collections.abc import Mapping
from typing import Any

from rightcall.config import Policy, load_policy
from rightcall.errors import PolicyError

log = logging.getLogger("rightcall")

_SETTLING = 0.1
"""Seconds within which a file can change twice without its time telling."""


class PolicyInForce:
    """`current` is the policy; `refresh` looks whether its file has changed; `problem` is what is wrong with an edit
    that was not taken."""

    def __init__(self, policy: str | os.PathLike[str] | Mapping[str, Any] | Policy | None) -> None:
        self._file = os.fspath(policy) if isinstance(policy, (str, os.PathLike)) else None
        self._seen = self._stamp()
        self.current = load_policy(policy)
        self.problem: str | None = None

    def refresh(self) -> bool:
        """Whether another policy, or another problem, has taken the place of the one before."""
        if self._file is None:
            return False
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp
        try:
            found = load_policy(self._file)
        except PolicyError as error:
            if self.problem == str(error):
                return False
            self.problem = str(error)
            log.warning("the policy file was changed and is wrong, so the old one stays in force: %s", error)
            return True
        changed = found.digest != self.current.digest or self.problem is not None
        self.current, self.problem = found, None
        return changed

    def _stamp(self) -> tuple[object, ...]:
        """Differs whenever the file may have changed."""
        if self._file is None:
            return ()
        try:
            found = os.stat(self._file)
        except OSError as error:
            return ("gone", error.errno)
        young = abs(time.time() - found.st_mtime) < _SETTLING
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, time.monotonic() if young else None)

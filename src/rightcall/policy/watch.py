"""A policy from where it is: a file that was named or found, a dict, or the default one. And that of a running
executor: its file may be edited at any time; a bad edit keeps the old one and says why.

A file that is being written can be half of itself, and half a policy can be a milder one. So a change is only taken
once the file has rested for a moment, is not empty, and was not touched while it was read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, ClassVar

from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.files.guarded import follow, identity
from rightcall.base.globs import LONGEST_PATTERN, quoted, shift_pattern
from rightcall.base.text import escaped
from rightcall.catalog.packs import load_pack
from rightcall.errors import ConfigError, PolicyError
from rightcall.policy.settings import DEFAULT_POLICY, Policy

_AS_DICT = '{"policy": {"write": "ask"}}'


def load_policy(policy: str | os.PathLike[str] | Mapping[str, Any] | Policy | None = None) -> Policy:
    """The policy from a file, from a dict of the same shape, or the default one. Of a file that was only found
    (`FoundPolicy`), what may be believed of it.

    Raises PolicyError, which names the file, the line and what would be right. Only the named file is read.
    """
    if policy is None:
        return DEFAULT_POLICY
    if isinstance(policy, Policy):
        return policy
    from rightcall.policy.reader import read_document  # late, both: the default policy needs no reader

    if isinstance(policy, Mapping):
        return read_document(policy)
    if not isinstance(policy, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
        raise PolicyError(
            f"`policy` must be the path of a file or a dict, such as {_AS_DICT}; got {type(policy).__name__}"
        )
    if isinstance(policy, str) and "\n" in policy:
        raise PolicyError(f"`policy` is the text of a policy, not the path of a file; pass a dict, such as {_AS_DICT}")
    from rightcall.policy.trust import load_file

    return load_file(policy)


def place_policy(policy: Policy, file: str | None, root: str) -> Policy:
    """The policy with what it denies and locks counted from the folder of its file as well as from the root, where
    these differ: whoever writes `private/**` beside a project's policy means the folder that lies there, whichever
    folder of the project somebody works in."""
    folder = root if file is None else os.path.dirname(os.path.abspath(file))
    if folder == root or (folder := follow(folder)) == (base := follow(root)):
        return policy
    above, top = quoted(folder.replace(os.sep, "/").strip("/")), os.path.join(folder, "")
    inside = base[len(top) :].replace(os.sep, "/") if base.startswith(top) else ""

    def both(patterns: tuple[str, ...]) -> tuple[str, ...]:
        there = (_place_pattern(above, pattern) for pattern in patterns)
        here = (one for pattern in patterns for one in shift_pattern(pattern, inside)) if inside else ()
        return tuple(dict.fromkeys((*patterns, *there, *here)))

    paths, write = policy.settings.paths, policy.write
    settings = replace(policy.settings, paths=replace(paths, deny=both(paths.deny)))
    return replace(policy, settings=settings, write=replace(write, locked=both(write.locked)))


def _place_pattern(folder: str, pattern: str) -> str:
    """A pattern below a folder; where that would be too long to be read, below any."""
    whole = f"{folder}/{pattern}" if folder else pattern
    return whole if len(whole) <= LONGEST_PATTERN else f"**/{pattern}"


log = LateLog()

SETTLING = 0.2
"""Seconds that a file must have rested before a change of it is taken."""

Stamp = tuple[object, ...]


class PolicyInForce:
    """`current` is the policy; `changed` looks whether its file has another; `problem` says what is wrong with an edit
    that was not taken. Where no file was found at the start, `usual` is where one may be added: it is told of once, and
    holds from the next start on, since what a server has opened by then follows the policy of its start. Who has opened
    nothing by it `adopts` the file at once, as one that was found."""

    tells: ClassVar[bool] = True
    """Whether this process tells of changes in the log: of several that are one server, one does."""

    def __init__(
        self, policy: str | os.PathLike[str] | Mapping[str, Any] | Policy | None, usual: str | None = None, *,
        adopts: bool = False,
    ) -> None:  # fmt: skip
        from rightcall.policy.trust import FoundPolicy  # late: a gate has no file to watch

        self._named = os.fspath(policy) if isinstance(policy, (str, os.PathLike)) else None
        self._found = policy.absolute() if isinstance(policy, FoundPolicy) else None
        self._file = None if self._named is None else os.path.abspath(self._named)  # the process may go elsewhere
        stamp = self._stamp()
        self._first_seen = (stamp, time.monotonic())
        self._seen = stamp if self._settled(stamp) else ()  # one that changes again at once may look the same
        self.current = load_policy(policy)
        self._usual = os.path.abspath(usual) if usual is not None and policy is None else None
        self._adopts = adopts
        self.problem: str | None = None

    def changed(self) -> Policy | PolicyError | None:
        """What a changed file holds: a policy, or why there is none in it; None when nothing is new. The caller says
        what becomes of it, with `take` or `keep`."""
        if self._file is None and not self._adopted():
            return None
        stamp = self._stamp()
        if stamp == self._seen or not self._settled(stamp):
            return None
        try:
            found = self._loaded()
        except PolicyError as error:
            found = error
        if self._stamp() != stamp:
            return None  # it was touched meanwhile: the next call looks again
        self._seen = stamp
        same = isinstance(found, Policy) and _words(found) == _words(self.current) and self.problem is None
        return None if same else found

    def take(self, policy: Policy) -> None:
        """The new policy is in force. Where the audit lies is settled when an executor is opened."""
        if self.tells and policy.settings.audit.path != self.current.settings.audit.path:
            log.warning("[audit] path changed; only executors opened from now on use it")
        if self.tells and policy.settings.store != self.current.settings.store:
            log.warning("[store] changed; only executors opened from now on use it")
        self.current, self.problem = policy, None

    def keep(self, problem: str) -> bool:
        """The old policy stays in force; whether that is news."""
        if problem == self.problem:
            return False
        self.problem = problem
        if self.tells:
            log.warning("invalid policy ignored; previous policy active: %s", problem)
        return True

    def _adopted(self) -> bool:
        """Whether a file was added that is watched from now on; one that is not is told of."""
        if self._usual is None or not os.path.lexists(self._usual):
            return False
        file, self._usual = self._usual, None
        if self._adopts:
            from rightcall.policy.trust import FoundPolicy

            self._named = self._file = file
            self._found = FoundPolicy(file)
        elif self.tells:
            log.warning("a policy file was added at %s after the start; restart to use it", escaped(file, 300))
        return self._adopts

    def _loaded(self) -> Policy:
        assert self._file is not None
        assert self._named is not None
        if os.path.exists(self._file) and os.path.getsize(self._file) == 0:
            raise PolicyError("the file is empty; to use the defaults, write `version = 1`", source=self._file)
        if self._found is not None:
            return load_policy(self._found)
        return load_policy(self._named if os.path.abspath(self._named) == self._file else self._file)

    def _settled(self, stamp: Stamp) -> bool:
        """By the file's own time, or, where that lies in the future, by how long we have seen it so."""
        now = time.monotonic()
        if self._first_seen[0] != stamp:
            self._first_seen = (stamp, now)
        changed = stamp[-1] if stamp else None
        rested = time.time() - changed if isinstance(changed, float) else SETTLING
        return rested >= SETTLING or now - self._first_seen[1] >= SETTLING

    def _stamp(self) -> Stamp:
        """Differs whenever the file has changed; its last part is the time of that."""
        if self._file is None:
            return ()
        try:
            found = os.stat(self._file)
        except OSError as error:
            return ("gone", error.errno)
        return (self._trust_stamp(), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mtime)

    def _trust_stamp(self) -> object:
        """Differs when somebody has trusted the file, or no longer does."""
        if self._found is None:
            return None
        from rightcall.policy.trust import stamp  # late: only who has found a policy pays for it

        return stamp("policies", identity(self._found.path))


def _words(policy: Policy) -> tuple[str, str]:
    return policy.digest, policy.standing


# ── the watch ──
# The policy file of a running server: an edit holds from the next request on, and a wrong one changes nothing (P-09).
#
# How a change is noticed, and when a file counts as finished, is the executor's (`rightcall.policy.watch`).

INTERVAL = 1.0
"""Seconds between two looks at the file."""

Noted = Callable[[str, Policy, str | None], None]


class PolicyWatch:
    """`take` puts a new policy in force, whole or not at all; `note` hears what became of an edit: `loaded`, or `kept`
    with the problem that keeps the old one."""

    def __init__(
        self, in_force: PolicyInForce, take: Callable[[Policy], None], note: Noted, *, interval: float | None = None
    ) -> None:
        self._in_force = in_force
        self._take = take
        self._note = note
        self._interval = INTERVAL if interval is None else interval
        self._looked = monotonic()

    def look(self) -> None:
        """Called with every request; at most once in the interval it asks for the file's date. Never raises."""
        now = monotonic()
        if now - self._looked < self._interval:
            return
        self.look_now()

    def look_now(self) -> None:
        """Somebody says that there is an edit. Never raises."""
        self._looked = monotonic()
        try:
            self._look()
        except Exception:  # an error of ours must not reach the answer; the old policy is in force
            log.exception("rightcall: cannot check the policy file")

    def _look(self) -> None:
        new = self._in_force.changed()
        if new is None:
            return
        try:
            if isinstance(new, PolicyError):
                raise new
            for name in new.packs:
                load_pack(name)
            self._take(new)
        except ConfigError as error:
            if self._in_force.keep(str(error)):
                self._note("kept", self._in_force.current, self._in_force.problem)
            return
        self._in_force.take(new)
        self._note("loaded", new, None)
        how = " (untrusted: only stricter settings apply)" if new.standing == "tightened" else ""
        if self._in_force.tells:
            log.warning("rightcall: policy reloaded%s", how)

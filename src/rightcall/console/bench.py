"""What the screens share that try things out: the tools of the policy as an executor has them, and a bound on work
that a page asks for."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Hashable, Mapping
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from msgspec import Struct

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.errors import PolicyError, RightCallError

if TYPE_CHECKING:
    from rightcall.executor.toolbox import Toolbox
    from rightcall.gate.gate import Gate
    from rightcall.policy.settings import Policy


T = TypeVar("T")

SECONDS: Final = 5.0
"""How long a page waits for what it tries out."""
_AT_ONCE: Final = 4
_LONG_AT_ONCE: Final = 2
_MOST_KEPT: Final = 8


class TooBusyError(Exception):
    """Too many pages try something out at this moment, or one took too long."""


class Bench:
    """One for each console."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._policy: Policy | None = None
        self._kept: dict[Hashable, Any] = {}
        self._busy = 0
        self._long = 0

    def begin_long(self) -> bool:
        """Whether there is room for work that takes minutes, and holds a thread as long; then `end_long` gives it
        back. The threads serve all pages, and approvals shall not wait."""
        with self._lock:
            if self._long >= _LONG_AT_ONCE:
                return False
            self._long += 1
            return True

    def end_long(self) -> None:
        with self._lock:
            self._long -= 1

    def toolbox(self, policy: Policy, root: str) -> Toolbox:
        """The tools that an executor has under this policy. Raises RightCallError where one of them cannot be used."""
        from rightcall.executor.explain import toolbox_of  # late: the first page needs none of it

        return self._made(policy, "toolbox", lambda: toolbox_of(policy, policy_file(policy), root))

    def gate(self, policy: Policy, key: Hashable, make: Callable[[], Gate]) -> Gate:
        """A gate that is kept as long as this policy is in force. Raises what `make` raises."""
        return self._made(policy, key, make)

    def _made(self, policy: Policy, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if self._policy is not policy:
                self._policy, self._kept = policy, {}
            if key not in self._kept:
                if len(self._kept) >= _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = make()
            return self._kept[key]

    async def tried(self, work: Callable[[], T]) -> T:
        """What a work gives, in a thread, for a bounded time. Raises TooBusyError. A work that takes longer goes on
        until it ends, and takes the place of another meanwhile."""
        if self._busy >= _AT_ONCE:
            raise TooBusyError
        self._busy += 1
        task = asyncio.create_task(asyncio.to_thread(work))
        task.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(task), SECONDS)
        except TimeoutError:
            raise TooBusyError from None

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._busy -= 1
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may wait any more


def policy_file(policy: Policy) -> str | None:
    """The file that a policy was read from; None for the defaults and for one that a program gave."""
    return os.path.abspath(policy.source) if os.path.isfile(policy.source) else None


class Added(Struct, frozen=True):
    """A policy file that was made after the start, when none was there to be found: it does not count yet."""

    path: str
    policy: Policy | None = None
    """What it says, as far as it may be believed; None where it cannot be used:"""
    problem: str = ""


def added_policy(policy: Policy, root: str) -> Added | None:
    from rightcall.policy.settings import DEFAULT_POLICY
    from rightcall.policy.trust import FoundPolicy
    from rightcall.policy.watch import load_policy

    path = os.path.join(os.path.abspath(root), POLICY_FILE)
    if policy.source != DEFAULT_POLICY.source or not os.path.lexists(path):
        return None
    try:
        return Added(path, load_policy(FoundPolicy(path, quiet=True)))
    except PolicyError as fault:
        return Added(path, problem=str(fault))


def policy_text(policy: Policy) -> tuple[str, bool]:
    """The text of its file, and whether that is still what counts. Raises PolicyError where it cannot be read."""
    from rightcall.policy.trust import digest_of, read_text

    file = policy_file(policy)
    if file is None:
        raise PolicyError("the policy has no file", source=policy.source)
    raw = read_text(file).raw
    return raw.decode("utf-8", "backslashreplace"), digest_of(raw).startswith(policy.digest)


# ── visits ──
# Visits of the doctor that a page has asked for: each runs in a thread of its own, says how far it is, and leaves a
# report. Reports are kept as long as the console runs.

MOST: Final = 20
"""Reports that are kept; the oldest goes first."""

VisitKind = Literal["checks", "model"]
"""A look around on this machine, or questions to a model."""


class Doing(Struct, frozen=True):
    """How far a visit is; `of` is 0 where nobody can say."""

    done: int = 0
    of: int = 0
    doing: str = "starting"


Told = Callable[[Doing], None]
Work = Callable[[Told], Mapping[str, Any]]


class Visit:
    """One visit. It is written by its own thread alone, a whole value at a time."""

    def __init__(self, kind: VisitKind, title: str, at: str, by: str) -> None:
        self.id = token_hex(4)
        self.kind = kind
        self.title = title
        self.at = at
        """UTC."""
        self.by = by
        self.doing = Doing()
        self.report: Mapping[str, Any] | None = None
        self.problem = ""

    @property
    def is_running(self) -> bool:
        return self.report is None and not self.problem

    def run(self, work: Work) -> None:
        try:
            self.report = work(self._tell)
        except RightCallError as fault:
            self.problem = escaped(str(fault), 500)
        except Exception as fault:  # noqa: BLE001  nobody else would hear of it
            self.problem = f"it failed: {escaped(str(fault) or type(fault).__name__, 300)}"

    def _tell(self, doing: Doing) -> None:
        self.doing = doing


class Visits:
    """Those of one console; one of each kind runs at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[str, Visit] = {}

    def all(self, kind: VisitKind) -> list[Visit]:
        """The newest first."""
        with self._lock:
            return [one for one in reversed(self._all.values()) if one.kind == kind]

    def find(self, id: str) -> Visit | None:
        with self._lock:
            return self._all.get(id)

    def start(self, visit: Visit, work: Work) -> Visit:
        """Begins it; where one of its kind runs already, that one is returned."""
        with self._lock:
            for one in self._all.values():
                if one.kind == visit.kind and one.is_running:
                    return one
            self._keep(visit)
        threading.Thread(target=visit.run, args=(work,), name="rightcall-doctor", daemon=True).start()
        return visit

    def add(self, visit: Visit) -> None:
        """One whose report came from elsewhere."""
        with self._lock:
            self._keep(visit)

    def _keep(self, visit: Visit) -> None:
        self._all[visit.id] = visit
        ended = [one for one in self._all.values() if one.kind == visit.kind and not one.is_running]
        for one in ended[: max(0, len(ended) - MOST)]:
            del self._all[one.id]

"""Works that wait for the thread which writes: who waits for each, what a work says beforehand that it will touch, and
waking all whose works are done.

    transact, atransact, later ─▶ Job ─▶ the writer of a store ─▶ wake
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic

from msgspec import Struct

from rightcall.record.tables import T, Tables

if TYPE_CHECKING:
    from asyncio import Future

Work = Callable[[Tables], Any]


class Needs(Struct, frozen=True):
    """What a work reads and writes beside its own record, as far as it can tell beforehand. A store on a server asks
    for all of it at once, and locks what is counted; a work that touches more is done again, alone."""

    callers: tuple[str, ...] = ()
    """Whose repeated and refused calls are counted."""
    scopes: tuple[tuple[str, int], ...] = ()
    """What limits count: the name, and how many starts back one looks."""
    tails: tuple[str, ...] = ()
    """Scopes of which the last few starts are looked at: those of refused calls."""
    same: tuple[tuple[str, str], ...] = ()
    """The same of identical calls: what stands before and after the number of changes in their names."""
    definitions: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()
    """By caller and tool."""
    ends: tuple[int, ...] = ()
    """Calls that end."""
    budgets: tuple[str, ...] = ()
    """Callers of whom it is counted what they use up in a day."""


class Planned(Generic[T]):
    """A work, and what it needs; asked only by stores for which a question costs a round trip."""

    __slots__ = ("_work", "needs")

    def __init__(self, work: Callable[[Tables], T], needs: Callable[[], Needs]) -> None:
        self._work = work
        self.needs = needs

    def __call__(self, tables: Tables) -> T:
        return self._work(tables)


class Job:
    """A work, and who waits for it: a thread (`done`), a task (`future`), or nobody."""

    __slots__ = ("done", "error", "future", "since", "value", "work")

    def __init__(
        self, work: Work, *, future: "Future[None] | None" = None, done: "threading.Lock | None" = None
    ) -> None:
        self.work = work
        self.future = future
        self.done = done
        self.since = monotonic()
        self.value: Any = None
        self.error: BaseException | None = None

    def outcome(self) -> Any:
        """What the work returned. What it raised is raised."""
        if self.error is None:
            return self.value
        error, self.error = self.error, None  # it knows this job by its frames: no circle may stay behind
        raise error


def wake(batch: Iterable[Job]) -> None:
    """Threads one by one, the tasks of a loop all at once: waking a loop costs more than everything else."""
    futures: dict[Any, list[Future[None]]] = {}
    for job in batch:
        if job.done is not None:
            job.done.release()
        elif job.future is not None:
            futures.setdefault(job.future.get_loop(), []).append(job.future)
    for loop, own in futures.items():
        with suppress(RuntimeError):  # the loop has ended, and with it all who waited there
            loop.call_soon_threadsafe(_set, own)


def _set(futures: "list[Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)

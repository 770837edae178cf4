"""Works that wait for the thread which writes: who waits for each, and waking all whose works are done.

transact, atransact, later ─▶ Job ─▶ the writer of a store ─▶ wake
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from rightcall.errors import StoreError
from rightcall.record.tables import Tables

if TYPE_CHECKING:
    from asyncio import Future

Work = Callable[[Tables], Any]


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
        try:  # noqa: SIM105  (every call pays for it)
            loop.call_soon_threadsafe(_set, own)
        except RuntimeError:  # the loop has ended, and with it all who waited there
            pass


def _set(futures: "list[Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


# ── keeping up ──
# A process that writes much counts it for the rollup, so that nobody who asks for figures has to wait.
#
#     commit, commit, commit ─▶ enough records? ─▶ a thread counts them, in steps, and ends
#
# The transactions that admit calls count nothing themselves. Whoever writes little, such as a hook that a host starts
# for each call, pays nothing at all: what is left over is counted by whoever asks next.

ROLL_EVERY = 5_000
"""Records after which they are counted."""
_SHARE = 0.25
"""Of the time of one core, that counting takes where very many are left, as after an update from a version that kept no
rollup."""


class Keeper:
    """Of one store. `look` is the store's own; what it raises, also as one of these errors, is for whoever asks."""

    def __init__(self, look: Callable[[Callable[[Tables], int]], int], *errors: type[Exception]) -> None:
        self._look = look
        self._errors = errors
        self._counted: int | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._starting = threading.Lock()
        """Held while the thread is made: what is not started yet cannot be waited for."""

    def wrote(self, head: int) -> None:
        """After a commit: the number of the last record. Called by one thread at a time, and never waits."""
        if self._counted is None:
            self._counted = head
        if head - self._counted < ROLL_EVERY:
            return
        with self._starting:
            if not self._stopped.is_set() and (self._thread is None or not self._thread.is_alive()):
                self._counted = head
                self._thread = threading.Thread(target=self._count, name="rightcall rollup", daemon=True)
                self._thread.start()

    def _count(self) -> None:
        with suppress(StoreError, *self._errors):  # whoever asks for figures is told
            took = 0.0
            while not self._stopped.wait(took / _SHARE - took):
                began = monotonic()
                if self._look(lambda tables: tables.rollup().catch_up(tables, 0.0)) < ROLL_EVERY:
                    return
                took = monotonic() - began

    def stop(self) -> None:
        """What is being counted is finished first: that takes a fraction of a second."""
        self._stopped.set()
        with self._starting:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

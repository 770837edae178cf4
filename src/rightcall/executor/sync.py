"""The executor for code without an event loop: a loop of its own in a thread, and every call waits for its answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rightcall.errors import StoreError
from rightcall.policy.types import DEFAULT_CALLER

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from rightcall.executor.executor import Executor
    from rightcall.executor.messages import Outcome

T = TypeVar("T")


class SyncExecutor:
    """As `Executor`, synchronous and safe to use from several threads at once.

    >>> from rightcall import Executor
    >>> with Executor.open_sync(store="memory") as ex:
    ...     @ex.tool(effects=["read"])
    ...     def double(n: int) -> int:
    ...         return 2 * n
    ...     ex.run({"name": "double", "arguments": {"n": "four"}}).result
    8
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        executor.start()
        self._process = os.getpid()
        self._door = threading.Lock()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends what still runs, completes the record, and stops the thread; a second time does nothing."""
        with self._door:
            if self._closed or os.getpid() != self._process:  # in a forked child it is the parent's
                return
            self._closed = True
            ending = None if self._loop is None else self._begin(_cancel_all())
        if self._loop is not None and self._thread is not None and ending is not None:
            ending.result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        self._executor.close()

    def run(self, call: Any, caller: str = DEFAULT_CALLER, **options: Any) -> Outcome:
        """As `Executor.run`."""
        return self._wait(self._executor.run(call, caller, **options))

    def run_all(self, message: Any, caller: str = DEFAULT_CALLER, **options: Any) -> list[Outcome]:
        """As `Executor.run_all`."""
        return self._wait(self._executor.run_all(message, caller, **options))

    def run_approved(self, ids: Collection[str], caller: str = DEFAULT_CALLER, **options: Any) -> list[Outcome]:
        """As `Executor.run_approved`."""
        return self._wait(self._executor.run_approved(ids, caller, **options))

    def wait_for(self, work: Callable[[Executor], Coroutine[Any, Any, T]]) -> T:
        """Run asynchronous work with the executor in its own loop, such as the tool loop."""
        return self._wait(work(self._executor))

    def __getattr__(self, name: str) -> Any:
        """Everything that is synchronous already: `tool`, `register`, `prompt`, `waiting`, `answer`, `gate`, …"""
        return getattr(self._executor, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self._executor) if not name.startswith("_"))})

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """In the loop, which the first work starts. The caller holds the door."""
        import asyncio

        if self._loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="rightcall", daemon=True)
            try:
                thread.start()
            except BaseException:  # where there is room for no more threads: in a loop that never runs all would wait
                work.close()
                loop.close()
                raise
            self._loop, self._thread = loop, thread
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        with self._door:  # what comes in before it closes is ended by `close`, nothing comes in after
            if self._closed or os.getpid() != self._process:
                work.close()
                raise _shut("was closed" if self._closed else "belongs to the process that forked this one")
            future = self._begin(work)
        try:
            return future.result()
        except Exception as error:
            from concurrent.futures import CancelledError

            if isinstance(error, CancelledError):
                raise _shut("was closed while the call was under way") from None
            raise
        except KeyboardInterrupt:
            future.cancel()
            raise


def _shut(why: str) -> StoreError:
    return StoreError(f"this executor {why}; open another one. The audit says what became of calls.", "closed")


async def _cancel_all() -> None:
    import asyncio

    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

"""Work that may hang, in a thread of its own, which nobody waits for at the end: it must not hold the program."""

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def in_own_thread(work: Callable[[], T], name: str) -> "Future[T]":
    """What comes of the work. Raises RuntimeError where no thread can be started."""
    future: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(work))
            except BaseException as error:  # noqa: BLE001 - the end of the program, say: for whoever asked
                future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future

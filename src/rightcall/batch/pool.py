"""Work on many chunks in processes of its own; the results come in the order of the chunks, and few are held.

    chunks ─▶ [worker: prepare() once, then work(chunk)] × N ─▶ results, in order

Workers are started afresh (`spawn`), so that they share nothing with whoever started them. They leave the group of
processes, so that Ctrl-C and signals to the group reach the parent alone. They end when the parent does, however it
ends.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rightcall.errors import ConfigError, RightCallError
from rightcall.gate.gate import several
from rightcall.gate.records import json_text, reading_record

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate
    from rightcall.types import Reading

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")
Item = TypeVar("Item")
Work = Callable[[Chunk], Result]

_AHEAD = 3
"""Chunks per worker that are given out before the first of them is done."""
_CHUNK = 256
MOST_WORKERS = 256
"""As for the command."""
WORKER_LOST = "a worker process ended (killed, or out of memory?), and the rest was not read"
_IN_A_SCRIPT = 'A script that starts workers needs `if __name__ == "__main__":` around its own work'


class BatchError(RightCallError, RuntimeError):
    """The work on many texts could not go on. What was handed out before is right."""


def read_texts(
    gate: Gate, texts: Iterable[Any], *, workers: int | None = None, chunk: int = _CHUNK
) -> Iterator[Reading]:
    """What `gate.read` says of each text, in order, read by so many processes (as many as there are cores). The texts
    may be endless: only a few chunks are held at a time.

    >>> from rightcall import Gate
    >>> [reading.text for reading in read_texts(Gate(), ["Hello.", "Bye."], workers=1)]
    ['Hello.', 'Bye.']
    """
    workers = min(os.cpu_count() or 1, MOST_WORKERS) if workers is None else workers
    _expect_some("workers", workers, MOST_WORKERS)
    _expect_some("chunk", chunk)
    chunks = chunks_of(several(texts), chunk)
    return (one for some in map_ordered(partial(_reader, gate), chunks, workers) for one in some)


def _expect_some(name: str, given: object, most: int | None = None) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= (most or given):
        at_most = "" if most is None else f" and {most} at most"
        raise ValueError(f"`{name}` is a whole number, 1 or more{at_most}; got {given!r}")


def _reader(gate: Gate) -> Work[list[Any], list[Reading]]:
    return gate.read_many


def chunks_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """
    >>> list(chunks_of("abc", 2))
    [['a', 'b'], ['c']]
    """
    items = iter(items)
    while chunk := list(islice(items, size)):
        yield chunk


def map_ordered(prepare: Callable[[], Work[Chunk, Result]], chunks: Iterable[Chunk], workers: int) -> Iterator[Result]:
    """The result of each chunk, in order. `prepare` is called once in each worker and gives what works on a chunk; it
    must be picklable. One worker is this process itself. Raises BatchError when a worker dies."""
    if workers <= 1:
        yield from map(prepare(), chunks)
        return
    carried = pickle.dumps(prepare)  # here, so that what cannot be carried is said by the gate, and not by a worker
    spawning = get_context("spawn")
    theirs, lifeline = spawning.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=spawning, initializer=_begin, initargs=(carried, theirs))
    given: deque[Future[Result]] = deque()
    try:
        for chunk in chunks:
            with _signals_held():
                given.append(pool.submit(_work, chunk))
            if len(given) >= workers * _AHEAD:
                yield given.popleft().result()
        while given:
            yield given.popleft().result()
    except BrokenProcessPool as error:
        lifeline.close()  # the pool itself misses a worker that was being started, and would wait for it
        raise BatchError(f"{WORKER_LOST}. {_IN_A_SCRIPT}") from error
    finally:
        pool.shutdown(cancel_futures=True)
        lifeline.close()
        theirs.close()


_OF_A_GROUP = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals_held() -> Generator[None]:
    """What is started meanwhile is not interrupted before it can leave the group."""
    if os.name != "posix":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_A_GROUP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """What a worker process has prepared: there is one in each."""

    work: Callable[[Any], Any]


def _begin(carried: bytes, lifeline: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_A_GROUP)
    parent = parent_process()
    ends = [lifeline] if parent is None else [lifeline, parent.sentinel]
    Thread(target=_end_with, args=(ends,), daemon=True).start()
    _Worker.work = pickle.loads(carried)()  # noqa: S301 - written by our own parent a moment ago


def _end_with(ends: list[Any]) -> None:
    wait(ends)
    os._exit(1)  # nobody is left who would take a result


def _work(chunk: Any) -> Any:
    return _Worker.work(chunk)


# ── engines ──
# Ready functions for Ray Data, Spark and Polars: a column of model outputs in, a column of readings out.
#
# A reading is JSON text with `calls`, `unread`, `text` and `notes`, as `rightcall read --jsonl` prints it. An output
# that is missing (null) has no reading.
#
#    ray:     dataset.map_batches(RayReader, fn_constructor_args=(gate,), batch_format="pyarrow", concurrency=4)
#    spark:   frame.mapInArrow(arrow_reader(gate), "id long, text string, reading string")
#    polars:  polars.col("text").map_batches(polars_reader(gate), return_dtype=polars.String)

COLUMN = "text"
INTO = "reading"


def read_column(gate: Gate, texts: Iterable[Any]) -> list[str | None]:
    """The reading of each text as JSON, in order; None where there is no text.

    >>> from rightcall import Gate
    >>> read_column(Gate(), ["Hello.", None])
    ['{"calls": [], "unread": [], "text": "Hello.", "notes": []}', None]
    """
    given = list(several(texts))
    readings = iter(gate.read_many(text for text in given if text is not None))
    return [
        None if text is None else json_text(reading_record(next(readings), text if isinstance(text, str) else None))
        for text in given
    ]


class RayReader:
    """For `Dataset.map_batches` of Ray Data, in any of its batch formats: adds the column `into`.

    The gate is built once in each actor. Leave a core to Ray itself: `concurrency` below the number of cores.
    """

    def __init__(self, gate: Gate, column: str = COLUMN, into: str = INTO) -> None:
        self.gate = gate
        self.column = column
        self.into = into

    def __call__(self, batch: Any) -> Any:
        if hasattr(batch, "append_column"):
            return _append(batch, self.column, self.into, self.gate)
        _check(batch, self.column, self.into)
        readings = read_column(self.gate, batch[self.column].tolist())
        if type(batch) is dict:
            numpy: Any = import_module("numpy")

            return {**cast("dict[str, Any]", batch), self.into: numpy.array(readings, dtype=object)}
        return batch.assign(**{self.into: readings})


def arrow_reader(gate: Gate, column: str = COLUMN, into: str = INTO) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """For `DataFrame.mapInArrow` of Spark: adds the column `into`, a string, after the others."""

    def read_batches(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield _append(batch, column, into, gate)

    return read_batches


def polars_reader(gate: Gate) -> Callable[[Any], Any]:
    """For `Expr.map_batches` of Polars: from a column of texts to one of readings."""

    def read_series(series: Any) -> Any:
        polars: Any = import_module("polars")

        return polars.Series(series.name, read_column(gate, series.to_list()), dtype=polars.String)

    return read_series


def _append(table: Any, column: str, into: str, gate: Gate) -> Any:
    """A table or a record batch of Arrow, with the readings as its last column."""
    pyarrow: Any = import_module("pyarrow")

    names: list[str] = table.schema.names
    _check(names, column, into)
    readings = pyarrow.array(read_column(gate, table.column(column).to_pylist()), pyarrow.string())
    kind: Any = pyarrow.Table if isinstance(table, pyarrow.Table) else pyarrow.RecordBatch
    return kind.from_arrays([*table.columns, readings], names=[*names, into])


def _check(names: Iterable[Any], column: str, into: str) -> None:
    known = list(map(str, names))
    if column not in known:
        raise ConfigError(f"there is no column `{column}`: expected one of {', '.join(known)}")
    if into in known:
        raise ConfigError(f"there is already a column `{into}`: pass another name as `into`")

"""Ready functions for Ray Data, Spark and Polars: a column of model outputs in, a column of readings out.

A reading is JSON text with `calls`, `unread`, `text` and `notes`, as `rightcall read --jsonl` prints it. An output that
is missing (null) has no reading.

    ray:     dataset.map_batches(RayReader, fn_constructor_args=(gate,), batch_format="pyarrow", concurrency=4)
    spark:   frame.mapInArrow(arrow_reader(gate), "id long, text string, reading string")
    polars:  frame.with_columns(reading=polars.col("text").map_batches(polars_reader(gate), return_dtype=polars.String))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from rightcall.errors import ConfigError
from rightcall.gate.records import json_text, reading_record

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

COLUMN = "text"
INTO = "reading"


def read_column(gate: Gate, texts: Iterable[Any]) -> list[str | None]:
    """The reading of each text as JSON, in order; None where there is no text.

    >>> from rightcall import Gate
    >>> read_column(Gate(), ["Hello.", None])
    ['{"calls": [], "unread": [], "text": "Hello.", "notes": []}', None]
    """
    given = list(texts)
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

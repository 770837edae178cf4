"""Read many recorded outputs, on all cores and on the engines people have: the same readings as one by one.

    texts ─▶ read_texts (processes of its own) ─▶ Reading …
    a column of texts ─▶ RayReader, arrow_reader (Spark), polars_reader ─▶ a column of readings, as JSON

Nothing of Ray, Spark, Polars or PyArrow is imported before one of its functions is used.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.batch.pool import (
        BatchError,
        RayReader,
        arrow_reader,
        map_ordered,
        polars_reader,
        read_column,
        read_texts,
    )
else:
    __getattr__, __dir__ = front(
        __name__, {"pool": "BatchError RayReader arrow_reader map_ordered polars_reader read_column read_texts"}
    )

__all__ = ["BatchError", "RayReader", "arrow_reader", "map_ordered", "polars_reader", "read_column", "read_texts"]

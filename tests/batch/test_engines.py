"""A column of outputs in, a column of readings out: what each engine hands over is read as by the gate alone."""

import json
import subprocess
import sys
from typing import Any

import numpy
import polars
import pyarrow
import pytest

from rightcall import ConfigError, Gate
from rightcall.batch import RayReader, arrow_reader, polars_reader, read_column
from rightcall.gate.records import reading_record

pytestmark = pytest.mark.promise("S-05")

FORECAST = {"name": "forecast", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}}}
TEXTS = [
    "<tool_call>{'name': 'forecast', 'arguments': {'days': 'three',}}</tool_call> ok",
    None,
    "No call, but ünïcode \x1b[31m.",
    '<tool_call>{"name": "forecast", "arguments": {"da',
]


@pytest.fixture
def gate() -> Gate:
    return Gate([FORECAST])


def expected(gate: Gate) -> list[Any]:
    return [None if text is None else reading_record(gate.read(text), text) for text in TEXTS]


def values(column: Any) -> list[Any]:
    return [None if one is None else json.loads(one) for one in column]


def test_a_column_holds_the_records_of_each_text_alone(gate: Gate) -> None:
    assert values(read_column(gate, TEXTS)) == expected(gate)


def test_record_batches_of_spark_get_a_column(gate: Gate) -> None:
    batches = [pyarrow.RecordBatch.from_pydict({"id": [1, 2, 3, 4], "text": TEXTS}) for _ in range(2)]
    first, second = arrow_reader(gate)(iter(batches))
    assert first.schema.names == ["id", "text", "reading"]
    assert first.schema.field("reading").type == pyarrow.string()
    assert values(first.column("reading").to_pylist()) == values(second.column("reading").to_pylist()) == expected(gate)
    empty = pyarrow.RecordBatch.from_pydict({"text": pyarrow.array([], pyarrow.string())})
    assert next(arrow_reader(gate)([empty])).num_rows == 0


def test_batches_of_ray_get_a_column_in_each_of_its_formats(gate: Gate) -> None:
    reader = RayReader(gate, into="found")
    table = reader(pyarrow.table({"text": TEXTS}))
    assert values(table.column("found").to_pylist()) == expected(gate)
    arrays = reader({"text": numpy.array(TEXTS, dtype=object)})
    assert values(arrays["found"]) == expected(gate)
    assert arrays["text"].tolist() == TEXTS


def test_a_column_of_polars_is_read_eagerly_and_lazily(gate: Gate) -> None:
    frame = polars.DataFrame({"text": TEXTS})
    column = polars.col("text").map_batches(polars_reader(gate), return_dtype=polars.String).alias("reading")
    assert values(frame.with_columns(column)["reading"]) == expected(gate)
    assert values(frame.lazy().with_columns(column).collect()["reading"]) == expected(gate)


def test_a_wrong_column_is_named(gate: Gate) -> None:
    table = pyarrow.table({"output": TEXTS, "reading": TEXTS})
    with pytest.raises(ConfigError, match="there is no column `text`: expected one of output, reading"):
        RayReader(gate)(table)
    with pytest.raises(ConfigError, match="there is already a column `reading`"):
        RayReader(gate, "output")(table)
    with pytest.raises(ConfigError, match="there is no column `text`"):
        RayReader(gate)({"output": numpy.array(TEXTS, dtype=object)})


def test_no_engine_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys; from rightcall.batch import RayReader, arrow_reader, polars_reader, read_texts; "
        "print({'ray', 'pyspark', 'polars', 'pyarrow', 'numpy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "set()"

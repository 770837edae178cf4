"""The real engines: Ray Data and Spark read a column as the gate does alone."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Gate
from rightcall.batch import RayReader, arrow_reader
from rightcall.gate.records import reading_record

SOURCE = str(Path(__file__).parents[2] / "src")
FORECAST = {"name": "forecast", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}}}
ROWS: list[dict[str, Any]] = [
    {"id": number, "text": f"<tool_call>{{'name': 'forecast', 'arguments': {{'days': '{number}',}}}}</tool_call> ü"}
    for number in range(40)
]


@pytest.fixture
def gate() -> Gate:
    return Gate([FORECAST])


@pytest.fixture
def workers_find_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (SOURCE, os.environ.get("PYTHONPATH")))))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


def expected(gate: Gate) -> list[dict[str, Any]]:
    return [{**row, "reading": reading_record(gate.read(row["text"]), row["text"])} for row in ROWS]


def opened(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(({**row, "reading": json.loads(row["reading"])} for row in rows), key=lambda row: row["id"])


@pytest.fixture
def ray(workers_find_us: None) -> Iterator[Any]:
    import ray

    # Two are enough for an actor and for Ray Data's own tasks; with one it would wait for ever.
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


@pytest.mark.long
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("batch_format", ["pyarrow", "numpy", "pandas"])
def test_ray_data_reads_a_column_in_actors(ray: Any, gate: Gate, batch_format: str) -> None:
    read = ray.data.from_items(ROWS).map_batches(
        RayReader, fn_constructor_args=(gate,), batch_format=batch_format, batch_size=16, concurrency=1
    )
    assert opened(read.take_all()) == expected(gate)


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_spark_reads_a_column_with_map_in_arrow(workers_find_us: None, gate: Gate) -> None:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    spark = builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame([(row["id"], row["text"]) for row in ROWS], "id long, text string")
        read = frame.mapInArrow(arrow_reader(gate), "id long, text string, reading string")
        assert opened([row.asDict() for row in read.collect()]) == expected(gate)
    finally:
        spark.stop()

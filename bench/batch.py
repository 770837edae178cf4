"""Lines a second on one core, in each way of reading many outputs; `python -m bench.batch` prints them.

Engines that are not installed are left out. CPU time of this process and its children, the least of several runs: the
ways take turns.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.emissions import hermes
from bench.inputs import RIGHT, SEARCH
from bench.table import Figure, render
from rightcall import Gate
from rightcall.batch import RayReader, arrow_reader, polars_reader, read_column, read_texts

LINES = 4_000
RUNS = 3
LEAST = 0.6
"""Of the plain reading: what an engine has to reach in each worker."""
WITHIN = (
    "Gate.read_many", "a column of JSON", "Polars", "Arrow batches, as Spark hands them over",
    "an Arrow table, as Ray hands it over",
)  # fmt: skip
"""What runs in this process. The others also start processes of their own, which is most of so few lines."""


def texts() -> list[str]:
    """Each with a right call amid prose, and no two alike."""
    return [f"Let me look. {hermes('search_flights', RIGHT)} {number}" for number in range(LINES)]


def used() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def ways(gate: Gate, given: list[str], folder: Path) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {
        "Gate.read, one by one": lambda: [gate.read(text) for text in given],
        "Gate.read_many": lambda: gate.read_many(given),
        "a column of JSON": lambda: read_column(gate, given),
        "read_texts, two processes": lambda: sum(1 for _ in read_texts(gate, given, workers=2)),
        "rightcall read --jsonl --out": lambda: command(folder),
        "rightcall read --jsonl --out --workers 2": lambda: command(folder, "--workers", "2"),
    }
    if find_spec("polars"):
        import polars

        frame = polars.DataFrame({"text": given})
        column = polars.col("text").map_batches(polars_reader(gate), return_dtype=polars.String)
        found["Polars"] = lambda: frame.with_columns(column.alias("reading"))
    if find_spec("pyarrow"):
        import pyarrow

        batches = pyarrow.table({"text": given}).to_batches(max_chunksize=2000)
        found["Arrow batches, as Spark hands them over"] = lambda: list(arrow_reader(gate)(batches))
        table = pyarrow.table({"text": given})
        found["an Arrow table, as Ray hands it over"] = lambda: RayReader(gate)(table)
    return found


def command(folder: Path, *more: str) -> None:
    out = folder / "readings.jsonl"
    out.unlink(missing_ok=True)
    words = ["read", "--jsonl", str(folder / "texts.jsonl"), "--tools", str(folder / "tools.json"), "--out", str(out)]
    subprocess.run([sys.executable, "-m", "rightcall", *words, *more], check=True, stdout=subprocess.DEVNULL)


def measured(found: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Lines a second of CPU, the best of some runs."""
    least = dict.fromkeys(found, float("inf"))
    for _ in range(RUNS):
        for way, read in found.items():
            before = used()
            read()
            least[way] = min(least[way], used() - before)
    return {way: LINES / seconds for way, seconds in least.items()}


def main() -> int:
    os.environ.setdefault("PYTHONPATH", "src")
    given = texts()
    gate: Any = Gate([SEARCH])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tools.json").write_text(json.dumps([SEARCH]))
        (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in given))
        rates = measured(ways(gate, given, folder))
    plain = next(iter(rates.values()))
    figures = [
        Figure(
            way,
            f"{rate:,.0f} lines/s",
            f"{plain:,.0f} lines/s",
            f"{rate / plain:.2f}",
            f">= {LEAST}" if way in WITHIN else "",
            rate >= LEAST * plain if way in WITHIN else None,
        )
        for way, rate in rates.items()
    ]
    print(render(figures))
    return 0 if all(figure.met is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())

"""How long routing takes without a model, on one core.

    taskset -c 0 python scripts/route_times.py CORPORA

CORPORA holds select_tool.jsonl and tool_catalogue.jsonl. Medians and 95th percentiles of the process's own time, after
a few requests to warm up; building and loading by the clock. A tool that is compared for the first time is read first.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import msgspec

from rightcall import Router
from rightcall.router.toolset import ToolIndex

WARM = 50
REQUESTS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    chosen = parser.parse_args()
    tools = list({tool["name"]: tool for tool in reversed(lines(chosen.corpora / "tool_catalogue.jsonl"))}.values())
    texts = Random(0).sample([line["text"] for line in lines(chosen.corpora / "select_tool.jsonl")], WARM + REQUESTS)
    few, many = Router(tools[:100]), Router(tools)
    show("intent, 100 tools", timed(few.needs_tool, texts))
    show("candidates, 100 tools", timed(few.candidates, texts))
    show(f"candidates, {len(tools):,} tools", timed(many.candidates, texts))
    began = perf_counter()
    index = ToolIndex(tools)
    print(f"building an index of {len(index):,}: {perf_counter() - began:.2f} s")
    show("search in it", timed(index.search, texts))
    show("adding a tool", timed(index.add, [tool | {"name": f"{tool['name']}_again"} for tool in tools[: WARM * 4]]))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "index"
        index.save(file)
        began = perf_counter()
        ToolIndex.load(file)
        print(f"loading it: {perf_counter() - began:.2f} s, {file.stat().st_size / 1e6:.1f} MB")


def lines(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def timed(work: Callable[[Any], object], given: Iterable[Any]) -> list[float]:
    times: list[float] = []
    for one in given:
        began = process_time()
        work(one)
        times.append((process_time() - began) * 1e3)
    return times[WARM:]


def show(name: str, times: list[float]) -> None:
    at = quantiles(times, n=20)
    print(f"{name}: median {at[9]:.2f} ms, 95 % {at[18]:.2f} ms")


if __name__ == "__main__":
    main()

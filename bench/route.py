"""Routing without a model: does a request need a tool, which one, and what a whole answer costs besides the models.

CPU time, the median and the 95th of a hundred; every request is a new one, the tools are known.
"""
# pyright: reportMissingImports=false
# (the peers are installed by `make bench` only, in an environment of its own)

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from bench.route_tools import made_up, of_corpora
from bench.table import Figure, micro
from rightcall import Router
from rightcall.router.lexical import words
from rightcall.router.toolset import ToolIndex

INTENT, SEARCH, ADDING, BUILDING, LOADING, ANSWER = 0.001, 0.002, 0.010, 5.0, 0.3, 0.005
"""Seconds that were promised."""
SELECTED = '{"selected_tool": "weather", "params": {"city": "Oslo"}, "reasoning": "Weather.", "confidence": 0.9}'
APPROVED = '{"approved": true, "confidence": 0.95, "reasoning": "The right tool and the right city."}'


class Taken(NamedTuple):
    median: float
    most: float
    """The 95th of a hundred."""


def routing(corpora: Path | None = None) -> Iterator[Figure]:
    tools, texts = made_up() if corpora is None else of_corpora(corpora)
    for count in (1, 10, 100):
        router = Router(tools[:count])
        taken = each(router.needs_tool, texts)
        yield figure(f"intent, {tools_of(count)}", taken, INTENT)
        if count > 1:
            yield figure(f"candidates, {tools_of(count)}", each(router.candidates, texts), None)
    yield from _finding(tools, texts)
    yield figure("answer() but for the models: none needed", _answered("Thank you, that is all."), ANSWER)
    yield figure("answer(): selected, reviewed, run", _answered("What is the weather in Oslo?"), None)


def _finding(tools: list[dict[str, Any]], texts: list[str]) -> Iterator[Figure]:
    began = time.process_time()
    index = ToolIndex(tools)
    built = time.process_time() - began
    everything = tools_of(len(index))
    searched = each(index.search, texts)
    yield figure(f"search, {everything}", searched, SEARCH)
    for name, search in peers(tools).items():
        other = each(search, texts[:40])
        ratio = f"{searched.median / other.median:.2f}"
        yield Figure(
            f"route: search, {everything}", micro(searched.median), f"{micro(other.median)} {name}", ratio, "", None
        )
    router = Router(tools)
    for text in texts:  # a tool is read closely when it is first found
        router.candidates(text)
    yield figure(f"candidates, {everything}", each(router.candidates, texts), SEARCH)
    yield figure(f"intent, {everything}", each(router.needs_tool, texts), None)
    added = each(index.add, [tool | {"name": f"{tool['name']}_again"} for tool in tools[:200]])
    yield figure("adding a tool", added, ADDING)
    yield figure(f"building, {everything}", Taken(built, built), BUILDING)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tools.index")
        yield figure(f"saving, {everything}", each(lambda _: index.save(path), [""] * 5), None)
        yield figure(f"loading, {everything}", each(lambda _: ToolIndex.load(path), [""] * 5), LOADING)


def each(action: Callable[[Any], object], inputs: Sequence[Any]) -> Taken:
    """A first third only warms things up, where there are many."""
    warming = len(inputs) // 3 if len(inputs) > 20 else 1
    for one in inputs[:warming]:
        action(one)
    taken: list[float] = []
    for one in inputs[warming:]:
        began = time.process_time()
        action(one)
        taken.append(time.process_time() - began)
    return summed(taken)


def summed(taken: list[float]) -> Taken:
    return Taken(statistics.median(taken), sorted(taken)[int(len(taken) * 0.95)])


def figure(what: str, taken: Taken, most: float | None) -> Figure:
    target = "" if most is None else f"< {most * 1e3:g} ms"
    met = None if most is None else taken.median < most
    return Figure(f"route: {what}", micro(taken.median), f"{micro(taken.most)} at p95", "", target, met)


def tools_of(count: int) -> str:
    return "1 tool" if count == 1 else f"{count:,} tools"


def peers(tools: list[dict[str, Any]]) -> dict[str, Callable[[str], object]]:
    """What else ranks texts by their words, given the same words. They know no fields and give no reasons."""
    texts = [words(f"{tool['name']} {tool['description']} {' '.join(_arguments(tool))}") for tool in tools]
    found: dict[str, Callable[[str], object]] = {}
    if find_spec("rank_bm25") is not None:
        from rank_bm25 import BM25Okapi

        okapi = BM25Okapi(texts)
        found["rank_bm25"] = lambda text: okapi.get_top_n(words(text), tools, 5)
    if find_spec("bm25s") is not None:
        import bm25s

        sparse = bm25s.BM25()
        sparse.index(texts, show_progress=False)
        found["bm25s"] = lambda text: sparse.retrieve([words(text)], k=5, show_progress=False)
    return found


def _arguments(tool: dict[str, Any]) -> Iterator[str]:
    properties = tool.get("parameters", {}).get("properties", {})
    for name, schema in properties.items():
        yield f"{name} {schema.get('description', '') if isinstance(schema, dict) else ''}"


def _answered(text: str) -> Taken:
    """The whole loop with models that take no time."""

    def weather(city: str) -> str:
        """The weather of a city."""
        return f"rain in {city}"

    replies = cycle((SELECTED, APPROVED, "It rains in Oslo.") if "Oslo" in text else ("You are welcome.",))
    policy = {
        "policy": {"allow": ["weather"], "repeats": 0, "limits": {"caller": {"minute": 0, "hour": 0, "burst": 0}}},
    }  # fmt: skip
    router = Router([weather], lambda _: next(replies), policy=policy)

    async def main() -> Taken:
        taken: list[float] = []
        async with router:
            for number in range(130):
                began = time.process_time()
                await router.answer(f"{text} {number}", "bench")
                taken.append(time.process_time() - began)
        return summed(taken[30:])

    return asyncio.run(main())

"""How often the right tool is found, for each source of requests.

    python scripts/route_figures.py CORPORA [--no-meaning] [--seeds 3]

CORPORA holds select_tool.jsonl and tool_catalogue.jsonl. Of tools with one name the first counts. A request for several
tools counts the share of them that is found.

    among 1,000, its own     the right tools and others by chance, drawn anew for each request
    among 1,000, shared      the right tools of all BFCL requests in one catalogue: many of them are nearly the same
    among all                every tool there is
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import msgspec

from rightcall.route.index import ToolIndex
from rightcall.route.words import ToolText, tool_texts

AT = (1, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--no-meaning", action="store_true", help="as without the extra")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    tools, requests = read(chosen.corpora)
    everything = ToolIndex(list(tools.values()), meaning=False if chosen.no_meaning else None)
    print(f"{len(tools):,} tools, {len(requests):,} requests, meaning {'on' if everything.meaning else 'off'}")
    show("among all", requests, everything)
    bfcl = [request for request in requests if request["source"].startswith("bfcl")]
    for seed in range(chosen.seeds):
        chance = Random(seed)
        needed = {name for request in bfcl for name in request["right"]}
        others = chance.sample(sorted(tools.keys() - needed), max(0, 1_000 - len(needed)))
        index = ToolIndex([tools[name] for name in sorted((*needed, *others))], meaning=everything.meaning)
        show(f"among 1,000, shared, seed {seed}", bfcl, index)
    show_own(everything, tools, bfcl)


def read(corpora: Path) -> tuple[dict[str, ToolText], list[dict[str, Any]]]:
    tools: dict[str, ToolText] = {}
    for line in (corpora / "tool_catalogue.jsonl").read_bytes().splitlines():
        (tool,) = tool_texts([msgspec.json.decode(line)])
        tools.setdefault(tool.name, tool)
    requests = [msgspec.json.decode(line) for line in (corpora / "select_tool.jsonl").read_bytes().splitlines()]
    for request in requests:
        expected = request["expected_tool"]
        request["right"] = {expected} if isinstance(expected, str) else set(expected)
    return tools, requests


def show(title: str, requests: Iterable[dict[str, Any]], index: ToolIndex) -> None:
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    started, count = process_time(), 0
    for request in requests:
        names = [hit.name for hit in index.search(request["text"], max(AT))]
        count += 1
        recall = tuple(len(request["right"] & set(names[:at])) / len(request["right"]) for at in AT)
        for group in groups(request):
            found[group].append(recall)
    spent = (process_time() - started) / count * 1_000
    print(f"\n{title} ({spent:.2f} ms of CPU for a search)")
    table(found)


def show_own(index: ToolIndex, tools: dict[str, ToolText], requests: list[dict[str, Any]]) -> None:
    """By leaving the others out of the ranking among all: as if each request had an index of its own, but for how rare
    its words are."""
    names = sorted(tools)
    chance = Random(0)
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for request in requests:
        there = {*chance.sample(names, 1_000 - len(request["right"])), *request["right"]}
        hits = [hit.name for hit in index.search(request["text"], max(AT), wanted=there.__contains__)]
        recall = tuple(len(request["right"] & set(hits[:at])) / len(request["right"]) for at in AT)
        for group in groups(request):
            found[group].append(recall)
    print("\namong 1,000, its own")
    table(found)


def groups(request: dict[str, Any]) -> list[str]:
    source = request["source"]
    family = source.split("_")[0]
    one = "one tool" if len(request["right"]) == 1 else "several tools"
    return [source, f"{family}, all", f"{family}, {one}", "all", f"all, {one}"]


def table(found: dict[str, list[tuple[float, ...]]]) -> None:
    for group, recalls in sorted(found.items()):
        means = (sum(recall[place] for recall in recalls) / len(recalls) for place in range(len(AT)))
        print(f"  {group:34} {len(recalls):5}   " + " / ".join(f"{mean:.3f}" for mean in means))


if __name__ == "__main__":
    main()

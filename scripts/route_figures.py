"""How often the right tool is found, and how often it is right that one is needed, for each source of requests.

    make route-figures [CORPORA=folder]     (or: python scripts/route_figures.py [CORPORA] [--seeds 3] [--only PART])

First everyday words, from the sets of data/everyday that nothing was learned from, through `Router` at its defaults:
by kind of set, with bare definitions and with eight examples of another author; then our own tools with the examples
that ship. With CORPORA also the public benchmarks. CORPORA holds select_tool.jsonl, tool_catalogue.jsonl and
needs_tool.jsonl. Of tools with one name the first counts. A request for several tools counts the share of them that
is found. The router's figures come from the weights that ship: on the development corpora, which those were learned
from, they are TRAINING figures, better than what a new request gets; `make train CORPORA=… ARGS=--dry-run` prints the
cross-validated ones.

    among 1,000, its own     the right tools and others by chance, drawn anew for each request
    among 1,000, shared      the right tools of all BFCL requests in one catalogue: many of them are nearly the same
    among all                every tool there is
    router                   the same through `Router(tools).candidates`: what the index found, ranked closely
    own tools                each request with its own candidates, through the router
    intent                   does it need a tool? With a request's own tools; MetaTool by the text alone
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, NamedTuple

import everyday
import msgspec

from rightcall.router.lexical import ToolText, tool_texts
from rightcall.router.ranking import Ranker
from rightcall.router.router import Router, judge_intent
from rightcall.router.toolset import ToolIndex

AT = (1, 5)
PARTS = ("everyday", "index", "router", "intent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="?", help="the folder of the public benchmarks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=PARTS, help="one part of the figures")
    chosen = parser.parse_args()
    parts = (chosen.only,) if chosen.only else PARTS
    if "everyday" in parts:
        show_everyday()
    if chosen.corpora is None:
        return
    tools, requests = read(chosen.corpora)
    print(f"\n{len(tools):,} tools, {len(requests):,} requests of the benchmarks")
    if "index" in parts:
        show_index(tools, requests, chosen.seeds)
    if {"router", "intent"} & {*parts}:
        print("\nWhat follows is learned: of the corpora it was learned from, these are training figures.")
    if "router" in parts:
        show_router(tools, requests)
    if "intent" in parts:
        show_intent(chosen.corpora)


def show_everyday() -> None:
    """Sets that nothing was learned from."""
    held_out = [one for one in everyday.read_sets(everyday.FOLDER) if one.is_held_out]
    by_kind: dict[str, list[everyday.ToolSet]] = defaultdict(list)
    for one in held_out:
        by_kind[one.kind].append(one)
    print(f"everyday words, {len(held_out)} sets never seen     need a tool                                  need none")
    print(f"{'':32} requests  first  three  call/ask  final none   requests  none  final none")
    for kind, sets in [*sorted(by_kind.items()), ("all, bare definitions", held_out)]:
        show_outcome(kind, [judge_set(one.without_examples()) for one in sets])
    shown = [one for one in held_out if all(tool.examples for tool in one.tools)]
    show_outcome("all, with eight examples each", [judge_set(one) for one in shown])
    for one in everyday.read_own_sets(held_out=True):
        show_outcome(one.name, [judge_set(one)])


class Outcome(NamedTuple):
    """What came of some requests, counted."""

    wanted: int = 0
    first: int = 0
    three: int = 0
    called: int = 0
    lost: int = 0
    """A tool was needed, and "none" was final."""
    unwanted: int = 0
    none: int = 0
    final: int = 0


def judge_set(one: everyday.ToolSet) -> Outcome:
    router = Router([_definition(tool) for tool in one.tools])
    count = dict.fromkeys(Outcome._fields, 0)
    for text, right in one.requests:
        intent = router.needs_tool(text)
        is_final = intent.answer == "none" and intent.sure
        if not right:
            count["unwanted"] += 1
            count["none"] += intent.answer == "none"
            count["final"] += is_final
            continue
        names = [candidate.name for candidate in router.candidates(text, 3)]
        count["wanted"] += 1
        count["first"] += names[0] in right
        count["three"] += not {*right}.isdisjoint(names)
        count["called"] += intent.answer != "none"
        count["lost"] += is_final
    return Outcome(**count)


def _definition(tool: ToolText) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "examples": list(tool.examples),
    }


def show_outcome(name: str, outcomes: list[Outcome]) -> None:
    whole = Outcome(*map(sum, zip(*outcomes, strict=True)))
    needs = [f"{part / (whole.wanted or 1):.3f}" for part in (whole.first, whole.three, whole.called, whole.lost)]
    needs_none = [f"{part / (whole.unwanted or 1):.3f}" for part in (whole.none, whole.final)]
    print(
        f"  {name:30} {whole.wanted:8}  {needs[0]}  {needs[1]}     {needs[2]}       {needs[3]}  "
        f"  {whole.unwanted:8} {needs_none[0]}       {needs_none[1]}"
    )


def show_index(tools: dict[str, ToolText], requests: list[dict[str, Any]], seeds: int) -> None:
    everything = ToolIndex(list(tools.values()))
    show("among all", requests, partial(_searched, everything))
    bfcl = [request for request in requests if request["source"].startswith("bfcl")]
    for seed in range(seeds):
        chance = Random(seed)
        needed = {name for request in bfcl for name in request["right"]}
        others = chance.sample(sorted(tools.keys() - needed), max(0, 1_000 - len(needed)))
        index = ToolIndex([tools[name] for name in sorted((*needed, *others))])
        show(f"among 1,000, shared, seed {seed}", bfcl, partial(_searched, index))
    show_own(everything, tools, bfcl)


def _searched(index: ToolIndex, text: str) -> list[str]:
    return [hit.name for hit in index.search(text, max(AT))]


def show_router(tools: dict[str, ToolText], requests: list[dict[str, Any]]) -> None:
    router = Router(list(tools.values()))
    show("router, among all", requests, lambda text: [one.name for one in router.candidates(text, max(AT))])
    ranker = Ranker()
    first: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for request in requests:
        own = request["tools"]
        if isinstance(own, str) or len(own) < 2:
            continue
        names = [one.name for one in ranker.rank(request["text"], tool_texts(own), max(AT))]
        for group in groups(request):
            first[group].append(recall_of(request, names))
    print("\nown tools")
    table(first)


def show_intent(corpora: Path) -> None:
    """F1 and specificity of "call"; of When2Call also how often the three answers are right."""
    ranker = Ranker()
    said: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    three: list[bool] = []
    for line in (corpora / "needs_tool.jsonl").read_bytes().splitlines():
        row = msgspec.json.decode(line)
        family = row["source"].split("_")[0]
        tools = None if family == "metatool" else tool_texts(row["tools"] or [])
        answer = judge_intent(row["text"], tools, ranker=ranker).answer
        said[family].append((answer == "call", row["needs_tool"]))
        if row.get("label4"):
            right = "ask" if row["label4"] == "request_for_info" else "call" if row["needs_tool"] else "none"
            three.append(answer == right)
    print("\nintent: F1 / specificity of call")
    for family, pairs in sorted(said.items()):
        hits = sum(ours and theirs for ours, theirs in pairs)
        whole = sum(ours for ours, _ in pairs) + sum(theirs for _, theirs in pairs)
        idle = [ours for ours, theirs in pairs if not theirs]
        f1, specificity = 2 * hits / max(1, whole), idle.count(False) / max(1, len(idle))
        print(f"  {family:34} {len(pairs):5}   {f1:.3f} / {specificity:.3f}")
    if three:
        print(f"  {'three answers, right':34} {len(three):5}   {sum(three) / len(three):.3f}")


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


def recall_of(request: dict[str, Any], names: list[str]) -> tuple[float, ...]:
    return tuple(len(request["right"] & set(names[:at])) / len(request["right"]) for at in AT)


def show(title: str, requests: Iterable[dict[str, Any]], find: Callable[[str], list[str]]) -> None:
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    started, count = process_time(), 0
    for request in requests:
        names = find(request["text"])
        count += 1
        recall = recall_of(request, names)
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
        recall = recall_of(request, hits)
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

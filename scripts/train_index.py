"""Makes src/rightcall/router/weights/words.json: how many of so many tools and requests hold a word.

    python scripts/train_index.py CORPORA

Counts alone, no line of the corpora: tools of tool_catalogue.jsonl, requests of select_tool.jsonl and
needs_tool.jsonl, of each as many. Words in fewer than `LEAST` of them are left out; they count as held by one.
"""

import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from rightcall.router.lexical import General, fields_of, stems_of, tool_texts, words

LEAST = 6
OUT = Path(__file__).parent.parent / "src" / "rightcall" / "router" / "weights" / "words.json"


def main(corpora: Path) -> None:
    tools = {line["name"]: line for line in lines(corpora / "tool_catalogue.jsonl")}
    texts = {line["text"] for name in ("select_tool", "needs_tool") for line in lines(corpora / f"{name}.jsonl")}
    held: list[set[str]] = []
    for line in tools.values():
        stems = stems_of(fields_of(tool_texts([line])[0]))
        held.append({*stems.name, *stems.description, *stems.arguments})
    requests = [set(words(text)) for text in sorted(texts)]
    size = min(len(held), len(requests))
    chance = Random(1)
    both = chance.sample(held, size) + chance.sample(requests, size)
    counts = Counter(stem for stems in both for stem in stems)
    kept = {stem: count for stem, count in sorted(counts.items()) if count >= LEAST and not stem.isdigit()}
    made = General("BFCL, MetaTool, When2Call, Seal-Tools, LiveMCPBench: development splits", len(both), kept)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(msgspec.json.encode(made) + b"\n")
    print(f"{len(kept):,} words of {len(both):,} texts, {OUT.stat().st_size / 1000:.0f} kB")


def lines(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

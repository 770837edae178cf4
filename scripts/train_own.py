"""Learns how people ask for our own tools: weights/own.json, one weight for each word and pair of words of a tool.

    python scripts/train_own.py [--dry-run]

Learned from the lines of data/everyday/own.jsonl that are not held out. Prints how often the tool is found for the
lines of an author that were left out, with and without what is learned here. Other tools have no such words: they are
found by their definitions and examples alone.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

from everyday import FOLDER, lines, read_own_sets
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from train_router import WEIGHTS

from rightcall.router import ranking
from rightcall.router.lexical import ToolText, heard_words
from rightcall.router.ranking import Ranker, Wordy

LEAST_SEEN = 2
"""Lines that must hold a word or a pair, so that it is not one author's whim."""
SMALLEST = 0.4
"""A weight below says nothing."""
STRENGTH = 100.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="print the figures, write nothing")
    options = parser.parse_args()
    rows = [row for row in lines(FOLDER, "own") if row["expected"]]
    known = [row for row in rows if not row["held_out"]]
    sets = [one.tools for one in read_own_sets(held_out=False)]
    if not options.dry_run:
        tables = {name: {"weights": voice.weights, "bias": voice.bias} for name, voice in learn(known).items()}
        path = WEIGHTS / "own.json"
        path.write_text(json.dumps(tables, ensure_ascii=False, sort_keys=True, separators=(",", ":")), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB")
    for author in sorted({row["origin"] for row in rows}):
        learned = learn([row for row in known if row["origin"] != author])
        theirs = [row for row in rows if row["origin"] == author]
        for tools in (sets[0], sets[-1]):
            show(author, tools, theirs, learned)


def learn(rows: Sequence[dict[str, Any]]) -> dict[str, Wordy]:
    said = [shares_of(row["text"]) for row in rows]
    seen: dict[str, int] = {}
    for one in said:
        for word in one:
            seen[word] = seen.get(word, 0) + 1
    table = DictVectorizer()
    columns = table.fit_transform([{word: one[word] for word in one if seen[word] >= LEAST_SEEN} for one in said])
    model = LogisticRegression(C=STRENGTH, max_iter=1000, class_weight="balanced")
    model.fit(columns, [row["expected"][0] for row in rows])
    words = table.get_feature_names_out()
    return {
        name: Wordy(
            {
                word: round(float(value), 1)
                for word, value in zip(words, weights, strict=True)
                if abs(value) >= SMALLEST
            },
            round(float(bias), 2),
        )
        for name, weights, bias in zip(model.classes_, model.coef_, model.intercept_, strict=True)
    }


def shares_of(text: str) -> dict[str, float]:
    found = heard_words(text)
    return dict.fromkeys(found, 1 / len(found) ** 0.5)


def show(author: str, tools: list[ToolText], rows: Sequence[dict[str, Any]], learned: dict[str, Wordy]) -> None:
    names = {tool.name for tool in tools}
    wanted = [(row["text"], {*row["expected"]}) for row in rows if names & {*row["expected"]}]
    if not wanted:
        return
    figures: list[str] = []
    for voices in ({}, learned):
        found = finder(voices)
        first = sum(found(text, tools)[0] in right for text, right in wanted) / len(wanted)
        three = sum(not right.isdisjoint(found(text, tools)) for text, right in wanted) / len(wanted)
        figures.append(f"{first:.3f} / {three:.3f}")
    print(f"{author:10} {len(tools):3} tools {len(wanted):4} requests   {figures[0]}   with these words {figures[1]}")


def finder(voices: dict[str, Wordy]) -> Callable[[str, list[ToolText]], list[str]]:
    ranking.own_voices = lambda: voices
    ranker = Ranker()
    return lambda text, tools: [one.name for one in ranker.rank(text, tools, 3)]


if __name__ == "__main__":
    main()

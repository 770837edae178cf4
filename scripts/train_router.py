"""Learns what the router needs from requests with tools, prints figures on unseen ones, writes the weights.

    make train CORPORA=folder          (or: python scripts/train_router.py folder [--vectors FILE] [--dry-run])

Reads data/everyday (our own requests, by tool set) and the development corpora: needs_tool.jsonl, select_tool.jsonl,
tool_catalogue.jsonl (BFCL, MetaTool, When2Call, Seal-Tools, LiveMCPBench) and everyday/. Writes learned.json and
text.json under src/rightcall/router/weights. No line is kept: only numbers, and words with their weights.

What is learned here stands on the vectors, and the vectors that ship have seen these very requests: on them they look
better than they are. So another table is used (`--vectors`, else vectors-half.bin) that was learned from every second
set of data/everyday alone, without any corpus, and only the other sets are learned from here. The sets that are held
out (`held_out`) are never learned from; scripts/route_figures.py prints the figures on them, with the vectors that
ship.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import train_router_figures as figures
import train_router_fits as fits
from everyday import FOLDER, ToolSet, lines, read_own_sets, read_sets
from sklearn.model_selection import GroupKFold

from rightcall.router import ranking, vectors
from rightcall.router.lexical import tool_texts
from rightcall.router.ranking import BY_WORDS, FOUND, Found, Linear, Ranker, compare, order_tools, relate_rows
from rightcall.router.router import HANDFUL, ask_numbers, marked_words, need_numbers, plain_words
from rightcall.router.slots import FILLED
from rightcall.router.toolset import ToolIndex

HOME = Path(__file__).parent.parent
WEIGHTS = HOME / "src" / "rightcall" / "router" / "weights"
RANKING_STRENGTH = 0.05
BENCHMARKS = 2
"""How often more each request of the benchmarks counts in the ranking than one of ours: there are fewer."""
TEXT = {"strength": 0.1, "rare": 1.0}
TEXT_MEANING = 0.5
"""What the meaning of a request counts beside its words, where no tools are known."""
TURNING = 1.0
"""How strongly the turning from one table of vectors to another is kept small."""
SHIFTS = (0.8, 0.15)
"""Log odds from which on a tool is needed, beside a handful of tools and beside more: for as many mistakes of one kind
as of the other, in cross-validation on the benchmarks, and on our own sets."""
LEAST_FILLED = BY_WORDS.index("least_filled")
BENCHMARK_WEIGHT, MADE_WEIGHT = 13.5, 4.05
"""What a request of the benchmarks, and one made of those, counts beside one of ours when it is learned whether a tool
is needed: there are fewer."""
NO_TOOL_WEIGHTS = (4.0, 2.0)
"""How much more a request counts that needs no tool, of the benchmarks and of ours: there are half as many, a call for
nothing is the worse mistake, and the benchmarks' own are the harder to tell."""
SMALL_WEIGHT = 2.0
"""What a request counts that needs one of one to four tools of its set: people who ask for one are not to be taken for
the benchmarks' requests that need none, most of which stand beside as few."""
ASK_AMONG_BFCL = (0.2, 0.4)
"""What a request of BFCL counts beside one of When2Call when it is learned whether a value is missing: one that is a
call, and one that is none. Of the latter those are learned from that seem to need a tool and hold no value for it:
most of them stand for such a request, and to call would be the mistake."""
SEEMS_NEEDED = -0.5
"""Log odds from which on they seem so."""
MADE_FROM = (
    "data/everyday; development splits of BFCL, MetaTool, When2Call, Seal-Tools, LiveMCPBench; scripts/train_router.py"
)


def expected(row: dict[str, Any]) -> set[str]:
    given = row["expected_tool"]
    return set(given if isinstance(given, list) else [given])


class Data:
    """The requests as numbers."""

    def __init__(self, folder: Path, index: bool = True) -> None:
        self.ranker = Ranker()
        needs, selections = lines(folder, "needs_tool"), lines(folder, "select_tool")
        ours = read_sets(FOLDER)
        self.sets = [one for one in ours[::2] if not one.is_held_out] + read_sets(folder / "everyday")
        self.own = [row for row in selections if not isinstance(row["tools"], str) and len(row["tools"]) > 1]
        self.own_rows = [self.compared(row["text"], row["tools"])[1] for row in self.own]
        self.own_right = [np.array([tool["name"] in expected(row) for tool in row["tools"]]) for row in self.own]
        self.said = self.rows_of([one.without_examples() for one in self.sets])
        shown = [one for one in self.sets if all(tool.examples for tool in one.tools)]
        self.shown = self.rows_of(shown + read_own_sets())
        self.needs = [row for row in needs if row["tools"]]
        self.alone = [row for row in needs if row["source"].startswith("metatool")]
        self.more_positive = [row["text"] for row in selections if row["source"].startswith("metatool")]
        if index:
            self.many_rows, self.many_right, self.many_ids = self.indexed(selections, lines(folder, "tool_catalogue"))

    def rows_of(self, sets: list[ToolSet]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each request that wants a tool, the numbers of all tools, and which are right."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for one in sets:
            for text, wanted in one.requests:
                if wanted:
                    right = np.array([tool.name in wanted for tool in one.tools])
                    found.append((self.compared(text, one.tools)[1], right))
        return found

    def compared(self, text: str, tools: Any) -> tuple[Any, np.ndarray]:
        asked = self.ranker.ask(text)
        texts = [self.ranker.know(tool) for tool in tool_texts(tools)]
        return asked, np.array([compare(asked, known) for known in texts])

    def indexed(
        self, selections: list[dict[str, Any]], catalogue: list[dict[str, Any]]
    ) -> tuple[list[Any], list[Any], list[str]]:
        """What the index finds for a request, among all tools and among a thousand."""
        chosen = random.Random(0)
        tools = {tool["name"]: tool for tool in reversed(catalogue)}
        index = ToolIndex(list(tools.values()))
        by_name = {one.name: one for one in index.tools()}
        names = list(tools)
        rows, right, ids = [], [], []
        picked = [row for row in selections if row["source"].startswith(("bfcl", "live"))]
        picked += chosen.sample([row for row in selections if row["source"].startswith("seal")], 300)
        picked += chosen.sample([row for row in selections if row["source"].startswith("metatool")], 200)
        for row in picked:
            good = expected(row) & tools.keys()
            thousand = {*chosen.sample(names, 999), *good}
            asked = self.ranker.ask(row["text"])
            for wanted in (None, thousand.__contains__):
                hits = index.search(row["text"], FOUND, wanted)
                if len(hits) < 2:
                    continue
                known = [self.ranker.know(by_name[hit.name]) for hit in hits]
                rows.append(np.array([[*compare(asked, one), hit.score] for one, hit in zip(known, hits, strict=True)]))
                right.append(np.array([hit.name in good for hit in hits]))
                ids.append(f"{row['id']}/{'all' if wanted is None else 1000}/{row['source'].split('_')[0]}")
        return rows, right, ids

    def found(self, case: Case, few: Linear) -> tuple[Any, Found]:
        """A request's own tools in the order of these weights, as the router sees them."""
        asked = self.ranker.ask(case.text)
        known = [self.ranker.know(tool) for tool in tool_texts(case.tools)]
        numbers = [compare(asked, one) for one in known]
        return asked, order_tools(known, numbers, [few.score(one) for one in relate_rows(numbers)])


class Case(NamedTuple):
    """A request with tools. Those that are made of others count less, and are never measured."""

    text: str
    tools: Any
    call: bool
    ask: bool = False
    bfcl: bool = True
    origin: str = ""
    """The request it was made of: where that is held out, so is this."""
    weight: float = 1.0
    made: bool = False
    everyday: bool = False


def cases(data: Data) -> list[Case]:
    """The corpora's own, and the same with tools that are described in a few words, and with requests cut short: people
    write both. And talk that needs no tool, beside tools."""
    real = [
        Case(row["text"], row["tools"], row["needs_tool"], row.get("label4") == "request_for_info",
             row["source"].startswith("bfcl"), row["text"], BENCHMARK_WEIGHT)
        for row in data.needs
    ]  # fmt: skip
    made = [
        case._replace(text=_short(case.text) if number % 2 else case.text, tools=list(map(_terse, case.tools)),
                      weight=MADE_WEIGHT, made=True)
        for number, case in enumerate(case for case in real if case.bfcl)
    ]  # fmt: skip
    real += [
        Case(text, one.tools, bool(wanted), bfcl=False, origin=text, everyday=True)
        for one in data.sets
        for text, wanted in one.without_examples().requests
    ]
    chosen = random.Random(9)
    talk = [row["text"] for row in data.alone if not row["needs_tool"]]
    several = [case.tools for case in real if len(case.tools) > 1 and not case.everyday]
    made += [
        Case(text, list(map(_terse, tools)) if number % 2 else tools, False, origin=text, weight=MADE_WEIGHT, made=True)
        for number, text in enumerate(talk * 2)
        for tools in [chosen.choice(several)]
    ]
    return real + made + small_sets(data.sets)


def small_sets(sets: list[ToolSet]) -> list[Case]:
    """The requests of our sets beside one to four tools: with a right one, and with none of those that are."""
    chosen = random.Random(3)
    made: list[Case] = []
    for one in sets:
        for text, wanted in one.without_examples().requests:
            right = [tool for tool in one.tools if tool.name in wanted]
            others = [tool for tool in one.tools if tool.name not in wanted]
            chosen.shuffle(others)
            few = others[: chosen.randint(1, 4)]
            case = Case(text, few, False, bfcl=False, origin=text, made=True, everyday=True)
            if right:
                made.append(case._replace(tools=[chosen.choice(right), *few[1:]], call=True, weight=SMALL_WEIGHT))
            if not right or chosen.random() < 0.4:
                made.append(case)
    return made


def _terse(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as people write them in a hurry."""
    schema = tool.get("parameters") or {}
    arguments = {
        name: {key: value for key, value in one.items() if key in ("type", "enum", "items")}
        for name, one in (schema.get("properties") or {}).items()
        if isinstance(one, dict)
    }
    words = (tool.get("description") or "").split(".")[0].split()[:8]
    return {"name": tool["name"], "description": " ".join(words), "parameters": {**schema, "properties": arguments}}


def _short(text: str) -> str:
    return " ".join(re.split(r"(?<=[.!?])\s", text)[0].split()[:12])


def _numbered(texts: list[str]) -> np.ndarray:
    """A number for each text, the same for the same: an array of long texts is slow to compare."""
    numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
    return np.array([numbers[text] for text in texts])


class Needs:
    """The requests with tools as the intent sees them, ranked by given weights."""

    def __init__(self, data: Data, few: Linear) -> None:
        self.cases = cases(data)
        both = [data.found(case, few) for case in self.cases]
        self.found = [found for _, found in both]
        self.numbers = np.array([need_numbers(asked, found, len(found.known)) for asked, found in both])
        self.words = [
            marked_words(case.text, {stem for known in found.known for stem in known.counted}, found.known[0].name)
            for case, found in zip(self.cases, self.found, strict=True)
        ]
        self.call = np.array([case.call for case in self.cases])
        self.ask = np.array([case.ask for case in self.cases])
        self.need = self.call | self.ask
        self.bfcl = np.array([case.bfcl for case in self.cases])
        self.everyday = np.array([case.everyday for case in self.cases])
        self.vectors = np.array([asked.vector for asked, _ in both])
        self.values = [asked.values for asked, _ in both]
        self.lacking = self.numbers[:, LEAST_FILLED] < FILLED
        self.made = np.array([case.made for case in self.cases])
        self.counts = np.array([len(found.known) for found in self.found])
        no_tool = np.where(self.everyday, NO_TOOL_WEIGHTS[1], NO_TOOL_WEIGHTS[0])
        self.weight = np.array([case.weight for case in self.cases]) * np.where(self.need, 1.0, no_tool)
        self.tools = _numbered([" ".join(sorted(one.name for one in tool_texts(case.tools))) for case in self.cases])
        self.origins = _numbered([case.origin for case in self.cases])

    def ask_rows(self, odds: np.ndarray, which: np.ndarray) -> np.ndarray:
        """What tells of some requests whether a value is missing."""
        return np.array([ask_numbers(one, self.values[i], self.found[i]) for one, i in zip(odds, which, strict=True)])


class Voice:
    """Whether a request sounds like one for a tool, fitted on some of the requests."""

    def __init__(self, needs: Needs, seen: np.ndarray) -> None:
        self.seen = seen
        words = [needs.words[i] for i in seen]
        self.words = fits.Words(words, needs.need[seen])
        self.meaning, self.held_out = fits.meaning(needs.vectors[seen], needs.need[seen], needs.tools[seen])
        self.held_out_words = fits.held_out_words(words, needs.need[seen])

    def scores(self, needs: Needs, which: np.ndarray) -> np.ndarray:
        """By words and by meaning."""
        words = self.words.scores([needs.words[i] for i in which])
        return np.c_[words, needs.vectors[which] @ np.array(self.meaning["weights"]) + self.meaning["bias"]]

    def fair_scores(self, needs: Needs) -> np.ndarray:
        """The same of all requests, for the trees to learn from: of those it has seen by models that had not."""
        found = self.scores(needs, np.arange(len(needs.cases)))
        found[self.seen] = np.c_[self.held_out_words, self.held_out]
        return found

    def table(self) -> dict[str, Any]:
        return {"words": self.words.table(), "meaning": self.meaning}


class NeedModel:
    """One whole model of intent, fitted on some of the requests."""

    def __init__(self, needs: Needs, seen: np.ndarray) -> None:
        labels, weights = needs.need[seen], needs.weight[seen]
        own = seen[~needs.made[seen]]
        self.voices = [Voice(needs, own), Voice(needs, own[~needs.everyday[own]])]
        numbers = np.hstack([needs.numbers[seen], *(one.fair_scores(needs)[seen] for one in self.voices)])
        self.trees = fits.trees(numbers, labels, weights)
        self.shifts = np.array(SHIFTS)[(needs.counts > HANDFUL).astype(int)]
        odds = np.zeros(len(needs.cases))
        odds[seen] = self._held_out_odds(numbers, labels, weights, needs.origins[seen]) - self.shifts[seen]
        seems = needs.bfcl & needs.lacking & (odds > SEEMS_NEEDED)
        asked = own[(needs.need | seems)[own] & ~needs.everyday[own]]
        rows = needs.ask_rows(odds[asked], asked)
        among_bfcl = np.where(needs.need[asked], *ASK_AMONG_BFCL)
        self.ask = fits.missing_value(
            rows, (needs.ask | ~needs.need)[asked], np.where(needs.bfcl[asked], among_bfcl, 1.0)
        )

    def _held_out_odds(self, numbers: Any, labels: Any, weights: Any, origins: Any) -> np.ndarray:
        odds = np.zeros(len(labels))
        for seen, unseen in GroupKFold(3).split(numbers, groups=origins):
            odds[unseen] = fits.trees(numbers[seen], labels[seen], weights[seen]).predict(
                numbers[unseen], raw_score=True
            )
        return odds

    def odds(self, needs: Needs, which: np.ndarray) -> np.ndarray:
        heard = [one.scores(needs, which) for one in self.voices]
        return self.trees.predict(np.hstack([needs.numbers[which], *heard]), raw_score=True) - self.shifts[which]

    def answers(self, needs: Needs, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """0 call, 1 ask, 2 none; and the odds that a tool is needed."""
        odds = self.odds(needs, which)
        slope, bias = np.array(self.ask["weights"]), self.ask["bias"]
        asking = needs.ask_rows(odds, which) @ slope + bias
        return np.where(odds < 0, 2, np.where((asking >= 0) & needs.lacking[which], 1, 0)), odds

    def table(self) -> dict[str, Any]:
        return {
            "voices": [one.table() for one in self.voices],
            "trees": fits.tree_tables(self.trees),
            "shifts": SHIFTS,
            "ask": self.ask,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, help="the folder of the development corpora")
    parser.add_argument(
        "--vectors",
        type=Path,
        default=FOLDER / "vectors-half.bin",
        help="a table that has not seen what is learned from",
    )
    parser.add_argument("--intent", action="store_true", help="learn the intent only: the rankings stay as they are")
    parser.add_argument("--dry-run", action="store_true", help="print the figures, write nothing")
    options = parser.parse_args()
    shipped, table = vectors.table(), vectors.Pieces(options.vectors.read_bytes())
    vectors.table = ranking.table = lambda: table
    data = Data(options.corpora, index=not options.intent)
    learned = json.loads((WEIGHTS / "learned.json").read_text(encoding="utf-8")) if options.intent else ranked(data)
    needs = Needs(data, Linear(learned["few"]["weights"]))
    figures.intent(needs, NeedModel)
    figures.by_text(data)
    if options.dry_run:
        return
    turn = turned([case.text for case in needs.cases if not case.made], shipped)
    need = NeedModel(needs, np.arange(len(needs.cases))).table()
    write("learned.json", learned | {"need": need | {"voices": [turn(one) for one in need["voices"]]}})
    write("text.json", turn(TextVoice(*alone_data(data)).table()))


def turned(texts: list[str], shipped: vectors.Pieces) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What turns a voice that was learned with these vectors into one for the vectors that ship. Two tables agree on
    what is near what, not on what any one number means: without this a meaning that was learned with one is noise to
    the other. No label is looked at."""
    chosen = sorted(set(texts))
    ours, table = _vectors(chosen), vectors.table
    vectors.table = lambda: shipped
    vectors.embed_request.cache_clear()
    theirs = np.array([vectors.embed_request(text) for text in chosen])
    vectors.table = table
    matrix = np.linalg.solve(theirs.T @ theirs + TURNING * np.eye(theirs.shape[1]), theirs.T @ ours)

    def turn(voice: dict[str, Any]) -> dict[str, Any]:
        weights = matrix @ np.array(voice["meaning"]["weights"])
        said = np.corrcoef(theirs @ weights, ours @ np.array(voice["meaning"]["weights"]))[0, 1]
        print(f"  a voice for the vectors that ship: it says the same with a correlation of {said:.3f}")
        return voice | {"meaning": voice["meaning"] | {"weights": [float(f"{one:.4g}") for one in weights]}}

    return turn


def ranked(data: Data) -> dict[str, Any]:
    """The weights of the rankings, after their figures."""
    figures.own_tools(data)
    figures.many_tools(data)
    sound = [i for i, right in enumerate(data.many_right) if right.any()]
    said = [*data.said, *zip(data.own_rows, data.own_right, strict=True)] + BENCHMARKS * [
        *zip(data.own_rows, data.own_right, strict=True)
    ]
    return {
        "made_from": MADE_FROM,
        "few": linear(_fitted(said)),
        "shown": linear(_fitted(data.shown)),
        "many": linear(_fitted([(data.many_rows[i], data.many_right[i]) for i in sound])),
    }


def _fitted(requests: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    return fits.ranking(
        [related_array(rows) for rows, _ in requests], [right for _, right in requests], RANKING_STRENGTH
    )


def alone_data(data: Data, seen: np.ndarray | None = None) -> tuple[list[str], np.ndarray]:
    """Requests without tools: those of MetaTool's first task, and its others, all of which need a tool."""
    rows = data.alone if seen is None else [data.alone[i] for i in seen]
    known = {row["text"] for row in data.alone}
    more = [text for text in data.more_positive if text not in known]
    texts = [row["text"] for row in rows] + more
    labels = np.array([row["needs_tool"] for row in rows] + [True] * len(more))
    return texts, labels


class TextVoice:
    """Whether a request needs a tool at all, by its words and its meaning."""

    def __init__(self, texts: list[str], labels: np.ndarray) -> None:
        self.words = fits.Words([plain_words(text) for text in texts], labels, **TEXT)
        self.meaning = fits.linear_meaning(_vectors(texts), labels, TEXT_MEANING)

    def scores(self, texts: list[str]) -> np.ndarray:
        heard = _vectors(texts) @ np.array(self.meaning["weights"]) + self.meaning["bias"]
        return self.words.scores([plain_words(text) for text in texts]) + heard

    def table(self) -> dict[str, Any]:
        return {"words": self.words.table(), "meaning": self.meaning}


@cache
def _vector(text: str) -> np.ndarray:
    return np.array(vectors.embed_request(text))


def _vectors(texts: list[str]) -> np.ndarray:
    return np.array([_vector(text) for text in texts])


def related_array(rows: np.ndarray) -> np.ndarray:
    return np.array(relate_rows(rows.tolist()))


def linear(weights: np.ndarray) -> dict[str, Any]:
    return {"weights": [float(f"{weight:.5g}") for weight in weights]}


def write(name: str, content: dict[str, Any]) -> None:
    (WEIGHTS / name).write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"written: {name}, {(WEIGHTS / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

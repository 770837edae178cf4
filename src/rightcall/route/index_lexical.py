"""Finding tools by their words: BM25 over the fields of a tool, as lists from word to tools.

What a word of a tool counts is settled when the tool is added, against usual lengths of the fields and not the
catalogue's average: so adding one tool changes nothing of the others. Only how rare a word is, is asked at the search.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from heapq import nlargest

from msgspec import Struct

from rightcall.route.index_general import rarity
from rightcall.route.words import Fields, name_words, spelled_words, words

SATURATION = 1.0
_ROUNDING = 1e-9


class Field(Struct, frozen=True):
    weight: float
    usual: float
    """Words that such a field usually has."""
    by_length: float
    """How much a longer field makes each of its words count less, 0 to 1."""


NAME = Field(1.2, 3.0, 0.5)
DESCRIPTION = Field(1.0, 8.0, 0.75)
ARGUMENTS = Field(0.5, 4.0, 0.75)
ARGUMENT_TEXTS = Field(0.3, 16.0, 0.75)


class Stems(Struct, frozen=True):
    """The words of a tool, by field."""

    name: list[str]
    description: list[str]
    arguments: list[str]
    argument_texts: list[str]


class Request(Struct, frozen=True):
    """A request as the index reads it."""

    text: str
    counts: dict[str, float]
    """What each of its words weighs: said twice is little more than said once."""
    spelled: dict[str, str]
    """How the request writes each word."""


@lru_cache(maxsize=4)
def read_request(text: str) -> Request:
    """Kept for a while: whoever has searched compares what was found."""
    spelled: dict[str, str] = {}
    counts: dict[str, int] = {}
    for stem, word in spelled_words(text):
        counts[stem] = counts.get(stem, 0) + 1
        spelled.setdefault(stem, word)
    return Request(text, {stem: count**0.3 for stem, count in counts.items()}, spelled)


def stems_of(fields: Fields) -> Stems:
    return Stems(
        name_words(fields.name),
        words(fields.description),
        [stem for name, _ in fields.arguments for stem in name_words(name)],
        [stem for _, text in fields.arguments for stem in words(text)]
        + [stem for choice in fields.choices for stem in words(choice)],
    )


def impacts(stems: Stems) -> dict[str, float]:
    """What each word of a tool counts, without its rarity: between 0 and `1 + SATURATION`."""
    sums: dict[str, float] = {}
    for field, found in (
        (NAME, stems.name),
        (DESCRIPTION, stems.description),
        (ARGUMENTS, stems.arguments),
        (ARGUMENT_TEXTS, stems.argument_texts),
    ):
        one = field.weight / (1.0 - field.by_length + field.by_length * len(found) / field.usual)
        for stem, count in Counter(found).items():
            sums[stem] = sums.get(stem, 0.0) + one * count
    return {stem: value * (1.0 + SATURATION) / (value + SATURATION) for stem, value in sums.items()}


def best_possible(request: Request) -> float:
    """The score of a tool that holds every word of the request to the full, by general rarity."""
    return sum(weight * rarity(stem) for stem, weight in request.counts.items()) * (1.0 + SATURATION)


class Lexicon:
    """Which tool holds which word, and how much it counts there. Tools are numbers here."""

    def __init__(self) -> None:
        self.holding: dict[str, dict[int, float]] = {}
        self.most: dict[str, float] = {}
        """What a word counts at most in any tool; never too little, so that a search may stop by it."""
        self.tools = 0

    def add(self, tool: int, counted: Mapping[str, float]) -> None:
        for stem, value in counted.items():
            self.holding.setdefault(stem, {})[tool] = value
            if value > self.most.get(stem, 0.0):
                self.most[stem] = value
        self.tools += 1

    def remove(self, tool: int, counted: Mapping[str, float]) -> None:
        for stem in counted:
            kept = self.holding[stem]
            del kept[tool]
            if not kept:
                del self.holding[stem], self.most[stem]
        self.tools -= 1

    def weights(self, request: Request) -> dict[str, float]:
        """What each word of the request is worth here, words that no tool has left out."""
        return {
            stem: weight * rarity(stem, len(self.holding[stem]), self.tools)
            for stem, weight in request.counts.items()
            if stem in self.holding
        }

    def scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The score of each tool that holds any of the words."""
        found: dict[int, float] = {}
        get = found.get
        for stem, weight in weights.items():
            for tool, value in self.holding[stem].items():
                found[tool] = get(tool, 0.0) + weight * value
        return found

    def best(self, weights: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        """The tools of the highest scores, best first; ties in the order they came.

        Words go from the one that can add most to the one that can add least. A tool that could no longer come among
        the first is left out, and new ones are no longer looked at when none could: long requests cost little more
        than short ones.
        """
        stems = sorted(weights, key=lambda stem: -weights[stem] * self.most[stem])
        to_come = sum(weights[stem] * self.most[stem] for stem in stems)
        found: dict[int, float] = {}
        closed = False
        for stem in stems:
            weight, holding = weights[stem], self.holding[stem]
            to_come -= weight * self.most[stem]
            if closed:
                for tool in found:
                    if tool in holding:
                        found[tool] += weight * holding[tool]
            else:
                get = found.get
                for tool, value in holding.items():
                    found[tool] = get(tool, 0.0) + weight * value
            if len(found) > limit:
                least = nlargest(limit, found.values())[-1]
                if closed or least > to_come:
                    closed = True
                    found = {tool: score for tool, score in found.items() if score + to_come >= least - _ROUNDING}
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def saved(self, tools: Sequence[int]) -> "Saved":
        """With the tools numbered as they stand in `tools`."""
        place = {tool: number for number, tool in enumerate(tools)}
        return {
            stem: (
                array("I", [place[tool] for tool in holding]).tobytes(),
                array("f", holding.values()).tobytes(),
            )
            for stem, holding in self.holding.items()
        }

    def restore(self, tools: int, saved: "Saved") -> None:
        """Raises ValueError for numbers that no tool has."""
        for stem, (numbers, values) in saved.items():
            held = dict(zip(array("I", numbers), array("f", values), strict=True))
            if not held or max(held) >= tools:
                raise ValueError(f"a tool above {tools}")
            self.holding[stem] = held
            self.most[stem] = max(held.values())
        self.tools = tools


Saved = dict[str, tuple[bytes, bytes]]
"""Word to the numbers of its tools and what it counts there, as they lie in memory."""

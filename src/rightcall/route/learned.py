"""What was learned from the development corpora (scripts/train_router.py), and how it is applied. Pure Python.

Two models of each kind: one for requests compared by words and meaning, one for words alone (without the extra).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from math import exp, sqrt

from msgspec import Struct, json


class Tree(Struct, frozen=True, array_like=True):
    """A decision tree. A node is a number to look at, a threshold, and where to go from it: at most that, or more. A
    negative place is a leaf, whose value is `leaves[-1 - place]`."""

    nodes: list[tuple[int, float, int, int]]
    leaves: list[float]


class Linear(Struct, frozen=True):
    """One weight for each number, and what is added."""

    weights: list[float]
    bias: float = 0.0

    def score(self, numbers: Sequence[float]) -> float:
        return self.bias + sum(map(float.__mul__, self.weights, numbers))


class Wordy(Struct, frozen=True):
    """One weight for each word or pair of words; others say nothing."""

    weights: dict[str, float]
    bias: float = 0.0

    def score(self, words: Iterable[str]) -> float:
        found = set(words)
        weigh = self.weights.get
        return self.bias + sum(weigh(word, 0.0) for word in found) / (sqrt(len(found)) or 1.0)


class Need(Struct, frozen=True):
    """Whether a request needs one of its tools."""

    words: Wordy
    """Its words, marked by whether the tools have them."""
    trees: list[Tree]
    shift: float
    """Where need and no need weigh the same."""
    ask: Linear
    """Whether a value is missing: its log odds against a call."""


class Learned(Struct, frozen=True):
    """The file of one kind."""

    made_from: str
    few: Linear
    """Ranks the tools of a request with a few."""
    many: Linear
    """Ranks what an index found among many."""
    need: Need


@lru_cache(maxsize=2)
def learned(meaning: bool) -> Learned:
    """With the numbers of meaning, or for words alone."""
    return json.decode(_file("meaning.json" if meaning else "lexical.json"), type=Learned)


@lru_cache(maxsize=1)
def alone() -> Wordy:
    """Whether a request needs a tool at all, by its text, where no tools are known."""
    return json.decode(_file("text.json"), type=Wordy)


def _file(name: str) -> bytes:
    return files("rightcall.route").joinpath("weights", name).read_bytes()


def forest(trees: Iterable[Tree], numbers: Sequence[float]) -> float:
    """The sum of what the trees say: log odds."""
    total = 0.0
    for tree in trees:
        place, nodes = 0, tree.nodes
        while place >= 0:
            number, threshold, low, high = nodes[place]
            place = low if numbers[number] <= threshold else high
        total += tree.leaves[-1 - place]
    return total


def chance(log_odds: float) -> float:
    """A probability.

    >>> chance(0.0)
    0.5
    """
    return 1.0 / (1.0 + exp(-max(-50.0, min(50.0, log_odds))))


def shares(scores: Sequence[float]) -> list[float]:
    """Scores as probabilities that add up to 1."""
    most = max(scores)
    powers = [exp(score - most) for score in scores]
    whole = sum(powers)
    return [power / whole for power in powers]

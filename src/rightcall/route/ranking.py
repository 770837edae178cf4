"""Which of the tools is the right one: the likeliest first, each with the probability that it is.

A few tools are all compared with the request; of many, those that the index finds. The weights are learned.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.route import vectors
from rightcall.route.compare import BY_MEANING, BY_WORDS, Asked, Known, ask, compare_all, know
from rightcall.route.index_why import why
from rightcall.route.learned import Linear, learned, shares
from rightcall.route.types import Candidate
from rightcall.route.words import ToolText

if TYPE_CHECKING:
    from rightcall.route.index import Hit

FEW = 12
"""So many tools are compared one by one; of more, as many as the index puts first."""

_NEAR = len(BY_WORDS) + BY_MEANING.index("near_short")

_INDEXED = 0.97
"""How often the index has the right tool among those it finds."""


class Found(Struct, frozen=True, eq=False):
    """The tools that were compared, likeliest first."""

    known: list[Known]
    numbers: list[list[float]]
    scores: list[float]
    shares: list[float]
    """The probability of each, given that one of all is right."""


class Ranker:
    """Compares requests with tools, each of which is read once. Any thread may use it."""

    def __init__(self, *, meaning: bool | None = None) -> None:
        self.meaning = vectors.available() if meaning is None else meaning
        self._known: dict[str, Known] = {}
        self._asked: Asked | None = None

    def ask(self, text: str) -> Asked:
        """The last request is kept: whether it needs a tool is asked first, then which."""
        asked = self._asked
        if asked is None or asked.request.text != text:
            asked = self._asked = ask(text, meaning=self.meaning)
        return asked

    def know(self, tool: ToolText) -> Known:
        known = self._known.get(tool.name)
        if known is None or (known.tool is not tool and known.tool != tool):
            known = self._known[tool.name] = know(tool, meaning=self.meaning)
        return known

    def among(self, asked: Asked, tools: Sequence[ToolText], hits: "Sequence[Hit] | None" = None) -> Found:
        """Ranks these tools; `hits` where they are what an index has found, in its order."""
        known = [self.know(tool) for tool in tools]
        numbers = compare_all(asked, known)
        if not known:
            return Found([], [], [], [])
        weights = learned(self.meaning)
        if hits is None:
            return ordered(known, numbers, scored(weights.few, numbers))
        rows = [[*row, hit.score] for row, hit in zip(numbers, hits, strict=True)]
        return ordered(known, numbers, scored(weights.many, rows), _INDEXED)

    def rank(
        self, text: str, tools: Sequence[ToolText], limit: int, hits: "Sequence[Hit] | None" = None
    ) -> list[Candidate]:
        """The likeliest tools."""
        asked = self.ask(text)
        found = self.among(asked, tools, hits)
        return [
            Candidate(
                known.tool.name, round(score, 4), round(share, 4),
                why(asked.request, known.told, numbers[_NEAR] if self.meaning else 0.0),
            )
            for known, numbers, score, share in list(
                zip(found.known, found.numbers, found.scores, found.shares, strict=True)
            )[:limit]
        ]  # fmt: skip


def ordered(known: list[Known], numbers: list[list[float]], scores: list[float], certain: float = 1.0) -> Found:
    """Likeliest first; one of them is right with the probability `certain`."""
    order = sorted(range(len(known)), key=lambda at: (-scores[at], at))
    divided = shares(scores)
    return Found(
        [known[at] for at in order],
        [numbers[at] for at in order],
        [scores[at] for at in order],
        [divided[at] * certain for at in order],
    )


def scored(weights: Linear, rows: Sequence[Sequence[float]]) -> list[float]:
    """What `weights.score` says of each of the `related` rows, without writing those down."""
    if len(rows) == 1:
        return [weights.bias]
    half = len(rows[0])
    to_mean, to_best = weights.weights[:half], weights.weights[half:]
    both = list(map(float.__add__, to_mean, to_best))
    same = weights.bias
    ahead = [0.0] * len(rows)
    for column, mean_weight, best_weight in zip(zip(*rows, strict=True), to_mean, to_best, strict=True):
        next_most, most = sorted(column)[-2:]
        same -= mean_weight * sum(column) / len(rows) + best_weight * most
        if most > next_most:  # of two that are best, each is held against the other
            ahead[column.index(most)] += best_weight * (most - next_most)
    return [same + more + sum(map(float.__mul__, both, row)) for row, more in zip(rows, ahead, strict=True)]


def related(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Each number against the mean of all tools, and against the best of the others: what a ranking is learned from."""
    count = len(rows)
    if count == 1:
        return [[0.0] * (2 * len(rows[0]))]
    means: list[float] = []
    first: list[float] = []
    second: list[float] = []
    for column in zip(*rows, strict=True):
        means.append(sum(column) / count)
        most, next_most = sorted(column)[-1:-3:-1]
        first.append(most)
        second.append(next_most)
    return [
        [value - mean for value, mean in zip(row, means, strict=True)]
        + [value - (most if value < most else other) for value, most, other in zip(row, first, second, strict=True)]
        for row in rows
    ]

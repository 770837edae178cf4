"""The vectors of an index's tools, and its sums over thousands of tools at once."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rightcall.route.vectors import SIZE, embed

if TYPE_CHECKING:
    from rightcall.route.index_lexical import Lexicon
    from rightcall.route.vectors import Matrix, Numbers

LEXICAL, MEANING = 1.0, 0.8
"""How much the words count, and each of the two meanings."""


class Table:
    """Two vectors for each tool: of its name and description, and of these with its arguments. Rows are the index's
    numbers; room doubles when it runs out."""

    def __init__(self, lexicon: "Lexicon") -> None:
        import numpy

        self.numpy = numpy
        self.lexicon = lexicon
        self.rows = numpy.zeros((2, 16, SIZE), numpy.float32)
        self.live = numpy.zeros(16, numpy.bool_)
        self.held: dict[str, tuple[Numbers, Matrix]] = {}

    def put(self, tools: Sequence[int], short: "Matrix", whole: "Matrix") -> None:
        numpy = self.numpy
        room = self.rows.shape[1]
        if tools and max(tools) >= room:
            grown = max(2 * room, max(tools) + 1)
            rows = numpy.zeros((2, grown, SIZE), numpy.float32)
            rows[:, :room] = self.rows
            live = numpy.zeros(grown, numpy.bool_)
            live[:room] = self.live
            self.rows, self.live = rows, live
        numbers = list(tools)
        self.rows[0, numbers], self.rows[1, numbers] = short, whole
        self.live[numbers] = True

    def saved(self, tools: Sequence[int]) -> bytes:
        return self.rows[:, list(tools)].astype(self.numpy.float16).tobytes()

    def restore(self, tools: Sequence[int], data: bytes) -> None:
        rows = self.numpy.frombuffer(data, self.numpy.float16).reshape(2, len(tools), SIZE)
        self.put(tools, rows[0], rows[1])

    def drop(self, tool: int) -> None:
        self.rows[:, tool] = 0.0
        self.live[tool] = False

    def forget(self, stems: Mapping[str, float]) -> None:
        """The tools that hold these words have changed."""
        for stem in stems:
            self.held.pop(stem, None)

    def rank(self, text: str, weights: Mapping[str, float], limit: int) -> list[tuple[int, float, float, float]]:
        """The best tools, best first: number, score, lexical score, meaning."""
        numpy = self.numpy
        if not self.live.any():
            return []
        lexical = numpy.zeros(len(self.live), numpy.float32)
        for stem, weight in weights.items():
            tools, values = self._held(stem)
            lexical[tools] += numpy.float32(weight) * values
        vector = embed([text])[0]
        short, whole = self.rows[0] @ vector, self.rows[1] @ vector
        score = LEXICAL * self._standard(lexical) + MEANING * (self._standard(short) + self._standard(whole))
        score[~self.live] = -numpy.inf
        count = min(limit, int(self.live.sum()))
        best = numpy.argpartition(score, len(score) - count)[len(score) - count :]
        best = best[numpy.lexsort((best, -score[best]))]
        meaning = numpy.maximum(short, whole)
        return [(int(one), float(score[one]), float(lexical[one]), float(meaning[one])) for one in best]

    def _held(self, stem: str) -> "tuple[Numbers, Matrix]":
        found = self.held.get(stem)
        if found is None:
            tools = self.lexicon.holding[stem]
            numpy = self.numpy
            found = (
                numpy.fromiter(tools.keys(), numpy.intp, len(tools)),
                numpy.fromiter(tools.values(), numpy.float32, len(tools)),
            )
            self.held[stem] = found
        return found

    def _standard(self, values: "Matrix") -> "Matrix":
        """In standard deviations from the mean of all tools."""
        mine = values[self.live]
        spread = float(mine.std())
        return (values - mine.mean()) / spread if spread > 1e-6 else values * 0.0

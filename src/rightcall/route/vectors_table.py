"""The vectors of an index's tools, and its sums over thousands of tools at once."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rightcall.route.vectors import SIZE, embed, embed_request
from rightcall.route.words import Fields, long_text, short_text

if TYPE_CHECKING:
    from rightcall.route.index_lexical import Lexicon
    from rightcall.route.vectors import Matrix, Numbers

MEANING = 1.6
"""How much the meaning counts where the words count 1."""


def rows_of(fields: Sequence[Fields]) -> "Matrix":
    """The vectors of tools, for `Table.put`."""
    both = embed([short_text(one) for one in fields]) + embed([long_text(one) for one in fields])
    both *= 0.5
    return both


class Table:
    """A vector for each tool: half of its name and description, half of these with its arguments. The half without is
    the better one where the arguments say much that has nothing to do with the request. Rows are the index's numbers;
    room doubles when it runs out."""

    def __init__(self, lexicon: "Lexicon") -> None:
        import numpy

        self.numpy = numpy
        self.lexicon = lexicon
        self.rows = numpy.zeros((16, SIZE), numpy.float32)
        self.live = numpy.zeros(16, numpy.bool_)
        self.used = 0
        self.held: dict[str, tuple[Numbers, Matrix]] = {}

    def put(self, tools: Sequence[int], rows: "Matrix") -> None:
        if not tools:
            return
        numpy = self.numpy
        self.used = max(self.used, max(tools) + 1)
        room = len(self.live)
        if self.used > room:
            more = max(2 * room, self.used) - room
            self.rows = numpy.concatenate((self.rows, numpy.zeros((more, SIZE), numpy.float32)))
            self.live = numpy.concatenate((self.live, numpy.zeros(more, numpy.bool_)))
        numbers = list(tools)
        self.rows[numbers] = rows
        self.live[numbers] = True

    def saved(self, tools: Sequence[int]) -> bytes:
        return self.rows[list(tools)].astype(self.numpy.float16).tobytes()

    def restore(self, tools: Sequence[int], data: bytes) -> None:
        rows = self.numpy.frombuffer(data, self.numpy.float16).reshape(len(tools), SIZE)
        self.put(tools, rows.astype(self.numpy.float32))

    def drop(self, tool: int) -> None:
        self.rows[tool] = 0.0
        self.live[tool] = False

    def forget(self, stems: Mapping[str, float]) -> None:
        """The tools that hold these words have changed."""
        for stem in stems:
            self.held.pop(stem, None)

    def rank(self, text: str, weights: Mapping[str, float], limit: int) -> list[tuple[int, float, float, float]]:
        """The best tools, best first: number, score, lexical score, meaning."""
        numpy = self.numpy
        live = self.live[: self.used]
        count = int(live.sum())
        if not count:
            return []
        lexical = numpy.zeros(self.used, numpy.float32)
        for stem, weight in weights.items():
            tools, values = self._held(stem)
            lexical[tools] += numpy.float32(weight) * values
        meaning = self.rows[: self.used] @ embed_request(text)
        score = _standard(lexical, count) + MEANING * _standard(meaning, count)
        if count < self.used:
            score[~live] = -numpy.inf
        best = numpy.argpartition(score, max(0, self.used - limit))[max(0, self.used - limit) :]
        best = best[numpy.lexsort((best, -score[best]))][:count]
        return [(int(one), float(score[one]), float(lexical[one]), float(meaning[one])) for one in best]

    def _held(self, stem: str) -> "tuple[Numbers, Matrix]":
        found = self.held.get(stem)
        if found is None:
            tools, numpy = self.lexicon.holding[stem], self.numpy
            found = self.held[stem] = (
                numpy.fromiter(tools.keys(), numpy.intp, len(tools)),
                numpy.fromiter(tools.values(), numpy.float32, len(tools)),
            )
        return found


def _standard(values: "Matrix", count: int) -> "Matrix":
    """In standard deviations from the mean of all tools; places without a tool hold 0 and are not counted."""
    mean = float(values.sum()) / count
    spread = max(0.0, float(values @ values) / count - mean * mean) ** 0.5
    return (values - mean) / spread if spread > 1e-6 else values * 0.0

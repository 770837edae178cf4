"""The meanings of a few tools in one matrix: one product for a request."""

from collections.abc import Sequence

from rightcall.route.vectors import embed
from rightcall.route.words import Fields, argument_text, long_text, short_text

MOST_ARGUMENTS = 16
"""Arguments of one tool that are compared one by one."""


class Meanings:
    """A row for each tool's name and description, one for each whole tool, then those of their arguments."""

    def __init__(self, fields: Sequence[Fields]) -> None:
        import numpy

        texts = [short_text(one) for one in fields] + [long_text(one) for one in fields]
        self.spans: list[tuple[int, int]] = []
        for one in fields:
            start = len(texts)
            texts += [argument_text(name, text) for name, text in one.arguments[:MOST_ARGUMENTS]]
            self.spans.append((start, len(texts)))
        self.rows = numpy.ascontiguousarray(embed(texts))

    def of(self, text: str) -> list[tuple[float, float, float]]:
        """For each tool how near the request is to name and description, to everything, to the nearest argument."""
        near: list[float] = (self.rows @ embed([text])[0]).tolist()
        count = len(self.spans)
        return [
            (near[tool], near[count + tool], max(near[start:end], default=0.0))
            for tool, (start, end) in enumerate(self.spans)
        ]

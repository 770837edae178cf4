"""How a request and each of a few tools compare, as numbers: what a ranking among a request's own tools is made of.

Rarity is the general one, since a handful of tools cannot tell it.
"""

from typing import Any

from msgspec import Struct

from rightcall.route import vectors
from rightcall.route.index_general import rarity
from rightcall.route.index_lexical import SATURATION, Lexicon, Request, impacts, read_request, stems_of
from rightcall.route.words import Fields, ToolText, fields_of, name_words, tool_texts


class Features(Struct, frozen=True):
    """Everything between 0 and 1, except the meanings (-1 to 1; 0 without the extra). Shares count rare words more."""

    name: str
    lexical: float
    """BM25 over all fields, as a share of the best that the request allows."""
    in_name: float
    """The share of the request's words that the name has; below, the same of other fields."""
    in_description: float
    in_arguments: float
    in_argument_texts: float
    in_any: float
    name_said: float
    """The share of the name's words that the request has."""
    arguments_said: float
    """The share of arguments of which the request has a word of the name."""
    meaning_short: float
    """Request and name with description."""
    meaning_whole: float
    """Request and everything."""
    meaning_argument: float
    """Request and the nearest argument."""


_SHARES = ("name", "description", "arguments", "argument_texts")


class Prepared:
    """Some tools, read once and compared with any number of requests."""

    def __init__(self, tools: Any, *, meaning: bool | None = None) -> None:
        self.tools: list[ToolText] = tool_texts(tools)
        fields = [fields_of(tool) for tool in self.tools]
        self._lexicon = Lexicon()
        self._holding: dict[str, tuple[list[int], ...]] = {}
        """Word to the tools that have it, by field: name, description, arguments and their texts."""
        self._arguments: list[int] = [len(one.arguments) or 1 for one in fields]
        self._spoken: dict[str, list[tuple[int, int]]] = {}
        """Word to the arguments that are called so, as tool and bit."""
        self._names: list[float] = []
        for number, one in enumerate(fields):
            self._read(number, one)
        self._meanings = None
        if fields and (vectors.available() if meaning is None else meaning):
            from rightcall.route.vectors_few import Meanings  # late: it needs the extra

            self._meanings = Meanings(fields)

    def _read(self, number: int, fields: Fields) -> None:
        stems = stems_of(fields)
        self._lexicon.add(number, impacts(stems))
        for place, field in enumerate(_SHARES):
            for stem in set(getattr(stems, field)):
                self._holding.setdefault(stem, tuple([] for _ in _SHARES))[place].append(number)
        for bit, (name, _) in enumerate(fields.arguments):
            for stem in name_words(name):
                self._spoken.setdefault(stem, []).append((number, 1 << bit))
        self._names.append(sum(map(rarity, set(stems.name))) or 1.0)

    def features(self, text: str | Request) -> list[Features]:
        """In the order of the tools."""
        request = read_request(text) if isinstance(text, str) else text
        worth = {stem: weight * rarity(stem) for stem, weight in request.counts.items()}
        whole = sum(worth.values()) or 1.0
        count = len(self.tools)
        shares = [[0.0] * count for _ in _SHARES]
        said, any_of, spoken = [0.0] * count, [0.0] * count, [0] * count
        known = {stem: value for stem, value in worth.items() if stem in self._holding}
        for stem, value in known.items():
            for sums, tools in zip(shares, self._holding[stem], strict=True):
                for tool in tools:
                    sums[tool] += value
            for tool in self._holding[stem][0]:
                said[tool] += rarity(stem)
            for tool in self._lexicon.holding[stem]:
                any_of[tool] += value
            for tool, bit in self._spoken.get(stem, ()):
                spoken[tool] |= bit
        lexical = self._lexicon.scores(known)
        best = whole * (1.0 + SATURATION)
        meant = self._meanings.of(request.text) if self._meanings else [(0.0, 0.0, 0.0)] * count
        return [
            Features(
                tool.name,
                lexical.get(at, 0.0) / best,
                shares[0][at] / whole,
                shares[1][at] / whole,
                shares[2][at] / whole,
                shares[3][at] / whole,
                any_of[at] / whole,
                said[at] / self._names[at],
                spoken[at].bit_count() / self._arguments[at],
                *meant[at],
            )
            for at, tool in enumerate(self.tools)
        ]

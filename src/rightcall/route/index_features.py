"""How a request and each of a few tools compare, as numbers: what a ranking among a request's own tools is made of.

Rarity is the general one, since a handful of tools cannot tell it.
"""

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from rightcall.route import vectors
from rightcall.route.index_general import rarity
from rightcall.route.index_lexical import Request, best_possible, impacts, read_request, stems_of
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


class _Words(Struct, frozen=True):
    name: frozenset[str]
    description: frozenset[str]
    arguments: frozenset[str]
    argument_texts: frozenset[str]
    each_argument: tuple[frozenset[str], ...]
    counted: dict[str, float]


class Prepared:
    """Some tools, read once and compared with any number of requests."""

    def __init__(self, tools: Any, *, meaning: bool | None = None) -> None:
        self.tools: list[ToolText] = tool_texts(tools)
        fields = [fields_of(tool) for tool in self.tools]
        self._words = [_read(one) for one in fields]
        self._meanings = None
        if fields and (vectors.available() if meaning is None else meaning):
            from rightcall.route.vectors_few import Meanings  # late: it needs the extra

            self._meanings = Meanings(fields)

    def features(self, text: str | Request) -> list[Features]:
        """In the order of the tools."""
        request = read_request(text) if isinstance(text, str) else text
        worth = {stem: weight * rarity(stem) for stem, weight in request.counts.items()}
        whole, best = sum(worth.values()) or 1.0, best_possible(request) or 1.0
        meant: Sequence[tuple[float, float, float]] = (
            self._meanings.of(request.text) if self._meanings else [(0.0, 0.0, 0.0)] * len(self.tools)
        )
        return [
            Features(
                tool.name,
                sum(worth[stem] * value for stem, value in _shared(found.counted, worth)) / best,
                _share(worth, found.name) / whole,
                _share(worth, found.description) / whole,
                _share(worth, found.arguments) / whole,
                _share(worth, found.argument_texts) / whole,
                _share(worth, found.counted) / whole,
                _said(found.name, worth),
                _spoken(found.each_argument, worth),
                *near,
            )
            for tool, found, near in zip(self.tools, self._words, meant, strict=True)
        ]


def _read(fields: Fields) -> _Words:
    stems = stems_of(fields)
    return _Words(
        frozenset(stems.name),
        frozenset(stems.description),
        frozenset(stems.arguments),
        frozenset(stems.argument_texts),
        tuple(frozenset(name_words(name)) for name, _ in fields.arguments),
        impacts(stems),
    )


def _shared(counted: dict[str, float], worth: dict[str, float]) -> list[tuple[str, float]]:
    return [(stem, counted[stem]) for stem in worth if stem in counted]


def _share(worth: dict[str, float], there: Collection[str]) -> float:
    return sum(value for stem, value in worth.items() if stem in there)


def _said(name: Collection[str], worth: dict[str, float]) -> float:
    total = sum(map(rarity, name))
    return sum(rarity(stem) for stem in name if stem in worth) / total if total else 0.0


def _spoken(arguments: Sequence[Collection[str]], worth: dict[str, float]) -> float:
    return sum(any(stem in worth for stem in one) for one in arguments) / len(arguments) if arguments else 0.0

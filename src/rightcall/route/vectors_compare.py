"""The same by meaning: cosines of whole texts, and of each word of the request with the nearest word of the tool."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy
from msgspec import Struct

from rightcall.route.index_general import rarity
from rightcall.route.vectors import embed, embed_request
from rightcall.route.words import STOP_WORDS, Fields, argument_text, long_text, short_text, stem

MOST_WORDS = 60
"""Of a request, and of each field of a tool, that are compared one by one."""
MOST_ARGUMENTS = 16
MOST_SENTENCES = 6
NEAR = 0.5
"""Two words with less in common than this are not about the same."""

VERBS = frozenset(
    (
        "get", "find", "search", "book", "buy", "purchase", "order", "calculate", "compute", "convert", "create",
        "make", "add", "set", "play", "list", "retrieve", "fetch", "send", "update", "delete", "remove", "check",
        "reserve", "schedule", "cancel", "translate", "generate", "analyze", "compare", "predict", "estimate",
        "identify", "recommend", "suggest", "plan", "design", "write", "draw", "solve", "explain", "describe",
        "define", "open", "close", "start", "stop", "turn", "run", "execute", "query", "look", "watch", "listen",
        "read", "download", "upload", "save", "share", "track", "monitor", "sort", "filter", "count", "sum", "plot",
        "transfer", "pay", "rent", "hire", "call", "message", "email", "post", "submit", "register", "login", "log",
        "sign", "verify", "validate", "change", "modify", "edit", "move", "copy", "rename", "merge", "split",
        "evaluate", "determine", "detect", "extract", "summarize", "rate", "review", "visit", "explore", "discover",
        "browse", "locate", "view",
    )
)  # fmt: skip
"""What tools do, and what people want done."""

_FOUR = numpy.arange(4)
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+")


_TEXTS, _ARGUMENT_TEXTS, _NAME, _DESCRIPTION, _ARGUMENTS, _MORE = range(6)
"""The runs of rows in a tool: whole texts (name, description, both, everything), those of its arguments, then words;
the last are words of required arguments that are not among the others."""
_RUNS = 6
_NOWHERE = -2.0
"""Below every cosine."""


class MeantRequest(Struct, frozen=True, eq=False):
    """A request as vectors."""

    columns: Any
    """Its words, then the whole, then its sentences."""
    words: int
    worth: Any
    """How rare each word is; their sum is 1."""
    rarest: Any
    verbs: list[int]
    """Which of the words say what is to be done."""


class Meant(Struct, frozen=True, eq=False):
    """A tool as vectors."""

    rows: Any
    counts: tuple[int, ...]
    """Rows in each run."""
    worth: Any
    """Of each row, where it is a word of the name or of the description: the sum of each is 1."""
    verbs: tuple[int, ...]
    required: tuple[tuple[int, ...], ...]
    """The rows of each required argument's words."""


class _Stack(Struct, frozen=True, eq=False):
    """Several tools below each other, so that a handful of operations compares them all."""

    rows: Any
    worth: Any
    first: Any
    """Where each tool begins."""
    runs: Any
    """Where each run that is not empty begins,"""
    cells: Any
    """and which run of which tool it is."""
    counts: Any
    verbs: Any
    verb_runs: Any
    verb_tools: Any
    required: Any
    required_runs: Any
    required_tools: Any
    """Of the arguments: where those of each tool begin."""
    requiring: Any


def read_meaning(text: str) -> MeantRequest:
    words = _words(text[:2_000]) or [""]
    sentences = [one for one in _SENTENCE_END.split(text[:2_000]) if len(one) > 8][:MOST_SENTENCES] or [text]
    whole = embed_request(text)
    rest = [whole] if sentences == [text] else embed(sentences)
    worth = numpy.array([rarity(stem(word)) for word in words], numpy.float32)
    return MeantRequest(
        numpy.array([*_vectors(words), whole, *rest]).T, len(words), worth / worth.sum(), worth.argsort()[::-1][:3],
        [at for at, word in enumerate(words) if word in VERBS][:4],
    )  # fmt: skip


def know_meaning(fields: Fields, required: Sequence[str]) -> Meant:
    name, description = _words(fields.name), _words(fields.description)
    arguments = _words(" ".join(name for name, _ in fields.arguments))
    texts = [" ".join(_PIECE.findall(fields.name)), fields.description, short_text(fields), long_text(fields)]
    texts += [argument_text(*one) for one in fields.arguments[:MOST_ARGUMENTS]]
    asked = [_words(one) or [one.lower()] for one in required[:MOST_ARGUMENTS]]
    words = name + description + arguments
    more = list(dict.fromkeys(word for one in asked for word in one if word not in words))
    place = {word: at for at, word in enumerate(words + more, len(texts))}
    counts = (4, len(texts) - 4, len(name), len(description), len(arguments), len(more))
    worth = numpy.zeros(sum(counts), numpy.float32)
    worth[len(texts) : len(texts) + len(name) + len(description)] = (*_worth(name), *_worth(description))
    verbs = [at for at, word in enumerate(name + description, len(texts)) if word in VERBS][:3]
    return Meant(
        numpy.array([*embed(texts), *_vectors(words + more)]), counts, worth, tuple(verbs),
        tuple(tuple(place[word] for word in one) for one in asked),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _stacked(tools: tuple[Meant, ...]) -> _Stack:
    """Kept for a while: the tools are often the same from request to request."""
    first, runs, cells, verbs, verb_runs, verb_tools = ([] for _ in range(6))
    required, required_runs, required_tools, requiring = ([] for _ in range(4))
    end = 0
    for number, tool in enumerate(tools):
        first.append(end)
        if tool.verbs:
            verb_runs.append(len(verbs))
            verb_tools.append(number)
            verbs += [end + at for at in tool.verbs]
        if tool.required:
            requiring.append(number)
            required_tools.append(len(required_runs))
            for argument in tool.required:
                required_runs.append(len(required))
                required += [end + at for at in argument]
        for run, count in enumerate(tool.counts, number * _RUNS):
            if count:
                runs.append(end)
                cells.append(run)
                end += count
    return _Stack(
        numpy.concatenate([tool.rows for tool in tools]), numpy.concatenate([tool.worth for tool in tools]),
        numpy.array(first), runs, cells, numpy.array([tool.counts for tool in tools]), verbs, verb_runs, verb_tools,
        required, required_runs, required_tools, requiring,
    )  # fmt: skip


def by_meaning(asked: MeantRequest, tools: Sequence[Meant]) -> list[list[float]]:
    """Of each tool, in the order of `compare.BY_MEANING`."""
    stack = _stacked(tuple(tools))
    product = stack.rows @ asked.columns
    size, whole = len(tools), asked.words
    most = numpy.full((size * _RUNS, product.shape[1]), _NOWHERE, numpy.float32)
    most[stack.cells] = numpy.maximum.reduceat(product, stack.runs, axis=0)
    most = most.reshape(size, _RUNS, -1)
    found = product[:, :whole].max(axis=1)
    """How well each word of the tools is found in the request."""
    sums = numpy.zeros((size * _RUNS, 2), numpy.float32)
    sums[stack.cells, 0] = numpy.add.reduceat(product[:, whole], stack.runs)
    sums[stack.cells, 1] = numpy.add.reduceat(found * stack.worth, stack.runs)
    sums = sums.reshape(size, _RUNS, 2)
    there = stack.counts > 0
    parts = most[:, _NAME:_MORE, :whole]
    nearest = parts.max(axis=1)
    nearest[nearest[:, 0] == _NOWHERE] = 0.0
    numbers = numpy.empty((size, 19), numpy.float32)
    numbers[:, :4] = product[stack.first[:, None] + _FOUR, whole]
    numbers[:, 4] = most[:, _ARGUMENT_TEXTS, whole] * there[:, _ARGUMENT_TEXTS]
    numbers[:, 5] = sums[:, _ARGUMENT_TEXTS, 0] / numpy.maximum(stack.counts[:, _ARGUMENT_TEXTS], 1)
    numbers[:, 6] = product[stack.first + 2, whole + 1 :].max(axis=1)
    numbers[:, 7] = nearest @ asked.worth
    numbers[:, 8:11] = (parts @ asked.worth) * there[:, _NAME:_MORE]
    numbers[:, 11:13] = sums[:, _NAME:_ARGUMENTS, 1]
    numbers[:, 13] = numpy.sort(nearest, axis=1)[:, : max(1, whole * 3 // 10)].mean(axis=1)
    rare = nearest[:, asked.rarest]
    numbers[:, 14] = rare.mean(axis=1)
    numbers[:, 15] = rare[:, 0]
    numbers[:, 16] = (nearest < NEAR).mean(axis=1)
    numbers[:, 17] = NEAR
    if asked.verbs and stack.verbs:
        alike = product[stack.verbs][:, asked.verbs].max(axis=1)
        numbers[stack.verb_tools, 17] = numpy.maximum.reduceat(alike, stack.verb_runs)
    numbers[:, 18] = 1.0
    if stack.required:
        held = numpy.maximum.reduceat(found[stack.required], stack.required_runs)
        numbers[stack.requiring, 18] = numpy.minimum.reduceat(held, stack.required_tools)
    return numbers.tolist()


def _worth(words: list[str]) -> list[float]:
    worth = [rarity(stem(word)) for word in words]
    whole = sum(worth)
    return [one / whole for one in worth]


def _words(text: str) -> list[str]:
    pieces = (piece.lower() for piece in _PIECE.findall(text))
    return list(dict.fromkeys(piece for piece in pieces if piece not in STOP_WORDS))[:MOST_WORDS]


def _vectors(words: Sequence[str]) -> list[Any]:
    return [_vector(word) for word in words]


@lru_cache(maxsize=20_000)
def _vector(word: str) -> Any:
    return embed([word])[0]

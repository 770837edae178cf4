"""The same by meaning: cosines of whole texts, and of each word of the request with the nearest word of the tool."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy
from msgspec import Struct

from rightcall.router.lexical import STOP_WORDS, Fields, argument_text, long_text, rarity, short_text, stem
from rightcall.router.vectors import SIZE, embed, embed_request

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

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+")


_NOWHERE = -2.0
"""Below every cosine."""
_NOTHING = numpy.zeros((1, SIZE), numpy.float32)
"""One row, so that no run of rows is empty."""


class MeantRequest(Struct, frozen=True, eq=False):
    """A request as vectors, each a column."""

    texts: Any
    """The whole, then its sentences."""
    words: Any
    """The rarest first."""
    worth: Any
    """How rare each word is; their sum is 1."""
    verbs: list[int]
    """Which of the words say what is to be done."""


class Meant(Struct, frozen=True, eq=False):
    """A tool as vectors, each a row."""

    texts: Any
    """Name, description, both, everything, and the mean of its arguments."""
    arguments: Any
    words: Any
    """Of the name, then of the description, then of the arguments' names: one at least of each, if only nothing."""
    counts: tuple[int, int, int]
    gaps: tuple[bool, bool, bool]
    """Where nothing stands."""
    gappy: bool
    worth: Any
    """Of each word of the name and of the description; the sum of each is 1."""
    verbs: tuple[int, ...]
    required: tuple[tuple[int, ...], ...]
    """For each required argument which words are its own; below zero: in `more`, from the end."""
    more: Any
    """Words of required arguments that are not among the others; nothing, if only that."""


class _Stack(Struct, frozen=True, eq=False):
    """Several tools below each other, so that a handful of operations compares them all."""

    texts: Any
    arguments: Any
    argument_runs: Any
    words: Any
    word_runs: Any
    gaps: Any
    worth: Any
    verbs: list[int]
    verb_runs: list[int]
    with_verbs: list[int]
    required: list[int]
    required_runs: list[int]
    """Where the words of each argument begin,"""
    requiring_runs: list[int]
    """and the arguments of each tool that has any."""
    requiring: list[int]


def read_meaning(text: str) -> MeantRequest:
    words = _words(text[:2_000]) or [""]
    sentences = [one for one in _SENTENCE_END.split(text[:2_000]) if len(one) > 8][:MOST_SENTENCES] or [text]
    whole = embed_request(text)
    worth = numpy.array([rarity(stem(word)) for word in words], numpy.float32)
    order = worth.argsort()[::-1]
    rarest: list[int] = order.tolist()
    verbs = [rarest.index(at) for at, word in enumerate(words) if word in VERBS]
    return MeantRequest(
        numpy.array([whole, whole] if sentences == [text] else [whole, *embed(sentences)]).T,
        numpy.array(_vectors([words[at] for at in rarest])).T, (worth / worth.sum())[order], verbs[:4],
    )  # fmt: skip


def know_meaning(fields: Fields, required: Sequence[str]) -> Meant:
    name, description = _words(fields.name), _words(fields.description)
    arguments = _words(" ".join(name for name, _ in fields.arguments))
    texts = [" ".join(_PIECE.findall(fields.name)), fields.description, short_text(fields), long_text(fields)]
    spoken = embed([argument_text(*one) for one in fields.arguments[:MOST_ARGUMENTS]] or [""])
    asked = [_words(one) or [one.lower()] for one in required[:MOST_ARGUMENTS]]
    words = [*(name or [""]), *(description or [""]), *(arguments or [""])]
    more = list(dict.fromkeys(word for one in asked for word in one if word not in words))
    place = {word: at for at, word in enumerate(words)} | {word: at - len(more) for at, word in enumerate(more)}
    verbs = [at for at, word in enumerate(words[: len(words) - max(1, len(arguments))]) if word in VERBS]
    return Meant(
        numpy.array([*embed(texts), spoken.sum(axis=0) / len(spoken)]), spoken, numpy.array(_vectors(words)),
        (max(1, len(name)), max(1, len(description)), max(1, len(arguments))),
        (not name, not description, not arguments), not (name and description and arguments),
        numpy.array([*_worth(name), *_worth(description), *[0.0] * max(1, len(arguments))], numpy.float32),
        tuple(verbs[:3]), tuple(tuple(place[word] for word in one) for one in asked),
        numpy.array(_vectors(more)) if more else _NOTHING,
    )  # fmt: skip


@lru_cache(maxsize=4)
def _stacked(tools: tuple[Meant, ...]) -> _Stack:
    """Kept for a while: the tools are often the same from request to request."""
    ends = [0, *accumulate(count for tool in tools for count in tool.counts)]
    end = ends[-1]
    verbs: list[int] = []
    verb_runs: list[int] = []
    with_verbs: list[int] = []
    required: list[int] = []
    required_runs: list[int] = []
    requiring_runs: list[int] = []
    requiring: list[int] = []
    for number, tool in enumerate(tools):
        start = ends[3 * number]
        end += len(tool.more)
        if tool.verbs:
            with_verbs.append(number)
            verb_runs.append(len(verbs))
            verbs += [start + at for at in tool.verbs]
        if tool.required:
            requiring.append(number)
            requiring_runs.append(len(required_runs))
            for argument in tool.required:
                required_runs.append(len(required))
                required += [start + at if at >= 0 else end + at for at in argument]
    return _Stack(
        numpy.concatenate([tool.texts for tool in tools]),
        numpy.concatenate([tool.arguments for tool in tools]),
        [0, *accumulate(len(tool.arguments) for tool in tools[:-1])],
        numpy.concatenate([tool.words for tool in tools] + [tool.more for tool in tools]), ends,
        numpy.array([tool.gaps for tool in tools]) if any(tool.gappy for tool in tools) else None,
        numpy.concatenate([*(tool.worth for tool in tools), numpy.zeros(end - ends[-1], numpy.float32)]),
        verbs, verb_runs, with_verbs, required, required_runs, requiring_runs, requiring,
    )  # fmt: skip


def by_meaning(asked: MeantRequest, tools: Sequence[Meant]) -> list[list[float]]:
    """Of each tool, in the order of `compare.BY_MEANING`."""
    stack = _stacked(tuple(tools))
    size, count = len(tools), asked.words.shape[1]
    near = (stack.texts @ asked.texts).reshape(size, 5, -1)
    arguments = numpy.maximum.reduceat(stack.arguments @ asked.texts[:, 0], stack.argument_runs)
    alike = stack.words @ asked.words
    found = numpy.maximum.reduce(alike, axis=1)  # how well each word of the tools is found in the request
    theirs = numpy.add.reduceat(found * stack.worth, stack.word_runs)[:-1].reshape(size, 3)
    parts = numpy.maximum.reduceat(alike, stack.word_runs, axis=0)[:-1].reshape(size, 3, count)
    aligned = (parts.reshape(size * 3, count) @ asked.worth).reshape(size, 3)
    if stack.gaps is not None:
        parts[stack.gaps] = _NOWHERE
    nearest = numpy.maximum.reduce(parts, axis=1)
    if stack.gaps is not None:
        nearest[nearest == _NOWHERE] = 0.0
    least = max(1, count * 3 // 10)
    rare = min(3, count)
    columns = [
        *near[:, :4, 0].T.tolist(), arguments.tolist(), near[:, 4, 0].tolist(),
        numpy.maximum.reduce(near[:, 2, 1:], axis=1).tolist(), (nearest @ asked.worth).tolist(), *aligned.T.tolist(),
        *theirs[:, :2].T.tolist(), (numpy.add.reduce(numpy.sort(nearest)[:, :least], axis=1) / least).tolist(),
        (numpy.add.reduce(nearest[:, :rare], axis=1) / rare).tolist(), nearest[:, 0].tolist(),
        (numpy.add.reduce(nearest < NEAR, axis=1) / count).tolist(), _by_verbs(asked, stack, alike, size),
        _least_required(stack, found, size),
    ]  # fmt: skip
    return list(map(list, zip(*columns, strict=True)))


def _by_verbs(asked: MeantRequest, stack: _Stack, alike: Any, size: int) -> list[float]:
    verbs = [NEAR] * size
    if asked.verbs and stack.verbs:
        best = numpy.maximum.reduce(alike.take(stack.verbs, axis=0).take(asked.verbs, axis=1), axis=1)
        for number, one in zip(stack.with_verbs, numpy.maximum.reduceat(best, stack.verb_runs).tolist(), strict=True):
            verbs[number] = one
    return verbs


def _least_required(stack: _Stack, found: Any, size: int) -> list[float]:
    least = [1.0] * size
    if stack.required:
        held = numpy.maximum.reduceat(found.take(stack.required), stack.required_runs)
        for number, one in zip(
            stack.requiring, numpy.minimum.reduceat(held, stack.requiring_runs).tolist(), strict=True
        ):
            least[number] = one
    return least


def _worth(words: list[str]) -> list[float]:
    worth = [rarity(stem(word)) for word in words]
    whole = sum(worth)
    return [one / whole for one in worth] or [0.0]


def _words(text: str) -> list[str]:
    pieces = (piece.lower() for piece in _PIECE.findall(text))
    return list(dict.fromkeys(piece for piece in pieces if piece not in STOP_WORDS))[:MOST_WORDS]


def _vectors(words: Sequence[str]) -> list[Any]:
    return [_vector(word) for word in words]


@lru_cache(maxsize=20_000)
def _vector(word: str) -> Any:
    return embed([word])[0]

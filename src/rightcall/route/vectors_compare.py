"""The same by meaning: cosines of whole texts, and of each word of the request with the nearest word of the tool."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy
from msgspec import Struct

from rightcall.route.index_general import rarity
from rightcall.route.vectors import SIZE, embed
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

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+")


class MeantRequest(Struct, frozen=True, eq=False):
    """A request as vectors."""

    whole: Any
    sentences: Any
    words: Any
    worth: Any
    """How rare each word is; their sum is 1."""
    rarest: Any
    verbs: Any


class Meant(Struct, frozen=True, eq=False):
    """A tool as vectors: `texts` are name, description, both, everything, then the arguments; `words` are those of the
    name, then the description, then the arguments' names."""

    texts: Any
    words: Any
    ends: tuple[int, int, int]
    name_worth: Any
    description_worth: Any
    verbs: Any
    required: Any
    """Where the words of each required argument begin and end, in `required_words`."""
    required_words: Any


def read_meaning(text: str) -> MeantRequest:
    words = _words(text[:2_000]) or [""]
    sentences = [one for one in _SENTENCE_END.split(text[:2_000]) if len(one) > 8][:MOST_SENTENCES] or [text]
    rows = embed([text, *sentences])
    worth = numpy.array([rarity(stem(word)) for word in words], numpy.float32)
    return MeantRequest(
        rows[0], rows[1:], _vectors(words), worth / worth.sum(), worth.argsort()[::-1][:3],
        _vectors([word for word in words if word in VERBS][:4]),
    )  # fmt: skip


def know_meaning(fields: Fields, required: Sequence[str]) -> Meant:
    name, description = _words(fields.name), _words(fields.description)
    arguments = _words(" ".join(name for name, _ in fields.arguments))
    texts = [" ".join(_PIECE.findall(fields.name)), fields.description, short_text(fields), long_text(fields)]
    texts += [argument_text(*one) for one in fields.arguments[:MOST_ARGUMENTS]]
    asked = [_words(one) or [one.lower()] for one in required[:MOST_ARGUMENTS]]
    ends = numpy.cumsum([len(one) for one in asked])
    return Meant(
        numpy.ascontiguousarray(embed(texts)),
        _vectors(name + description + arguments or [""]),
        (len(name), len(name) + len(description), len(name) + len(description) + len(arguments)),
        _worth(name), _worth(description), _vectors([word for word in name + description if word in VERBS][:3]),
        numpy.concatenate(([0], ends[:-1])) if asked else None,
        _vectors([word for one in asked for word in one]) if asked else None,
    )  # fmt: skip


def by_meaning(asked: MeantRequest, known: Meant) -> list[float]:
    """In the order of `compare.BY_MEANING`."""
    near = (known.texts @ asked.whole).tolist()
    arguments = near[4:]
    alike = asked.words @ known.words.T
    name, description, end = known.ends
    nearest = alike.max(axis=1)
    ordered = numpy.sort(nearest)
    by_name, by_description = alike[:, :name], alike[:, name:description]
    return [
        near[0], near[1], near[2], near[3], max(arguments, default=0.0),
        sum(arguments) / len(arguments) if arguments else 0.0, float((asked.sentences @ known.texts[2]).max()),
        float(nearest @ asked.worth), _aligned(by_name, asked.worth), _aligned(by_description, asked.worth),
        _aligned(alike[:, description:end], asked.worth), _aligned(by_name.T, known.name_worth),
        _aligned(by_description.T, known.description_worth), float(ordered[: max(1, len(ordered) * 3 // 10)].mean()),
        float(nearest[asked.rarest].mean()), float(nearest[asked.rarest[0]]), float((nearest < NEAR).mean()),
        _verbs(asked.verbs, known.verbs), _least_required(asked.words, known),
    ]  # fmt: skip


def _aligned(alike: Any, worth: Any) -> float:
    return float(alike.max(axis=1) @ worth) if alike.size else 0.0


def _verbs(asked: Any, known: Any) -> float:
    return float((asked @ known.T).max()) if len(asked) and len(known) else NEAR


def _least_required(words: Any, known: Meant) -> float:
    if known.required is None:
        return 1.0
    return float(numpy.maximum.reduceat((words @ known.required_words.T).max(axis=0), known.required).min())


def _worth(words: list[str]) -> Any:
    worth = numpy.array([rarity(stem(word)) for word in words] or [1.0], numpy.float32)
    return worth / worth.sum()


def _words(text: str) -> list[str]:
    pieces = (piece.lower() for piece in _PIECE.findall(text))
    return list(dict.fromkeys(piece for piece in pieces if piece not in STOP_WORDS))[:MOST_WORDS]


def _vectors(words: Sequence[str]) -> Any:
    return numpy.array([_vector(word) for word in words]) if words else numpy.zeros((0, SIZE), numpy.float32)


@lru_cache(maxsize=20_000)
def _vector(word: str) -> Any:
    return embed([word])[0]

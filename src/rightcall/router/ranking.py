"""Which of the tools is the right one: the likeliest first, each with the probability that it is.

A few tools are all compared with the request; of many, those that the index finds. The weights are learned.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain, islice
from math import exp, sqrt
from typing import TYPE_CHECKING

from msgspec import Struct, json

from rightcall.catalog.sources import MOST_EXAMPLES
from rightcall.router.lexical import (
    STOP_WORDS,
    Request,
    Told,
    ToolText,
    best_possible,
    fields_of,
    heard_words,
    impacts,
    name_words,
    rarity,
    read_request,
    spoken_words,
    stems_of,
    told_of,
    why,
)
from rightcall.router.packet import Candidate
from rightcall.router.packets import shipped_examples
from rightcall.router.slots import Values, Wanted, exact, filled_shares, values_in, wanted_arguments
from rightcall.router.vectors import (
    TOOL_PIECES,
    Stack,
    Vector,
    embed_request,
    embed_tool,
    mean,
    near,
    spoken_name,
    table,
)

if TYPE_CHECKING:
    from rightcall.router.toolset import Hit


# ── compare ──
# How a request and a tool compare, as numbers: what the ranking and the intent are learned from.
#
# By words, and by meaning (`vectors.py`). Rarity is the general one, since a handful of tools cannot tell it.

BY_WORDS = (
    "bm25", "in_name", "in_description", "in_arguments", "in_argument_texts", "in_any", "name_said",
    "description_said", "argument_words_said", "arguments_said", "filled", "least_filled", "missing", "required",
    "exact", "arguments", "description_words",
)  # fmt: skip
"""`bm25` is a share of the best that the request allows; `in_…`: the share of the request's words that stand there;
`…_said`: the share of theirs that the request has. Rare words count more. `exact`: required arguments whose very kind
of value is there, such as a path, a link or a date."""

BY_MEANING = ("near", "near_name", "near_examples", "nearest_example", "nearest_three")
"""Cosines of the request: with the whole tool, with its name; with the middle of its examples, the nearest of them and
the mean of the nearest three. A tool without examples has `near` there, so that it stands where it stood."""


BY_EXAMPLES = ("example_words", "example_pairs")
"""How often the request's words, and its pairs of words, stand in the examples of a tool; nothing without any."""

NUMBERS = (*BY_WORDS, *BY_MEANING, *BY_EXAMPLES)
"""What a comparison gives, in this order."""

_SMALL_WORD = 0.35
"""What a word counts that stands everywhere, beside a rare one's three to eight."""


class Asked(Struct, frozen=True, eq=False):
    """A request, read once for all tools."""

    request: Request
    worth: dict[str, float]
    whole: float
    best: float
    values: Values
    vector: Vector
    spoken: dict[str, float]
    """Its words, with what each counts of the whole."""
    pairs: frozenset[str]


class Known(Struct, frozen=True, eq=False):
    """A tool, read once for all requests."""

    tool: ToolText
    name: dict[str, float]
    """Words, with what each is worth of the whole field."""
    description: dict[str, float]
    arguments: dict[str, float]
    argument_texts: frozenset[str]
    each_argument: tuple[frozenset[str], ...]
    counted: dict[str, float]
    wanted: tuple[Wanted, ...]
    vectors: tuple[Vector, ...]
    """Of all of it, of its name, and with examples their middle and each of them."""
    example_words: dict[str, float]
    """Of each word, the root of the share of examples that hold it."""
    example_pairs: dict[str, float]
    voice: "Wordy | None" = None
    """How people ask for it, where that was learned: for our own tools."""


def ask(text: str) -> Asked:
    """Reads a request."""
    request = read_request(text)
    worth = {stem: weight * rarity(stem) for stem, weight in request.counts.items()}
    whole, best = sum(worth.values()) or 1.0, best_possible(request) or 1.0
    words, pairs = spoken_words(text)
    spoken = {word: _SMALL_WORD if word in STOP_WORDS else rarity(word) for word in words}
    said = sum(spoken.values()) or 1.0
    shared = {word: value / said for word, value in spoken.items()}
    return Asked(request, worth, whole, best, values_in(text), embed_request(text), shared, frozenset(pairs))


def know(tool: ToolText) -> Known:
    """Reads a tool."""
    fields = fields_of(tool)
    stems = stems_of(fields)
    shown = [one for one in tool.examples[:MOST_EXAMPLES] if one.strip()]
    examples = [embed_request(one) for one in shown]
    spoken = [spoken_words(one) for one in shown]
    return Known(
        tool,
        _shared(stems.name),
        _shared(stems.description),
        _shared(stems.arguments),
        frozenset(stems.argument_texts),
        tuple(frozenset(name_words(name)) for name, _ in fields.arguments),
        impacts(stems),
        wanted_arguments(tool),
        (
            embed_tool(fields),
            table().embed(spoken_name(fields.name), TOOL_PIECES),
            *((mean(examples), *examples) if examples else ()),
        ),
        _held_by([words for words, _ in spoken]),
        _held_by([pairs for _, pairs in spoken]),
        own_voices().get(tool.name) if tool.examples and tool.examples == shipped_examples().get(tool.name) else None,
    )


def compare(asked: Asked, known: Known, cosines: Sequence[float] | None = None) -> list[float]:
    """One number for each of `NUMBERS`. `cosines`: with each of its vectors, where they are known."""
    near_each = [near(asked.vector, one) for one in known.vectors] if cosines is None else cosines
    return _by_words(asked, known) + _by_meaning(near_each) + _by_examples(asked, known)


def _held_by(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    return {word: sqrt(count / len(texts)) for word, count in Counter(chain.from_iterable(map(set, texts))).items()}


def _by_examples(asked: Asked, known: Known) -> list[float]:
    if not known.example_words:
        return [0.0, 0.0]
    words, pairs = known.example_words, known.example_pairs
    return [
        sum([asked.spoken[word] * words[word] for word in asked.spoken.keys() & words.keys()]),
        sum([pairs[pair] for pair in asked.pairs & pairs.keys()]) / (len(asked.pairs) or 1),
    ]


def _by_meaning(cosines: Sequence[float]) -> list[float]:
    whole, name, *examples = cosines
    if not examples:
        return [whole, name, whole, whole, whole]
    middle, *each = examples
    best = sorted(each)[-3:]
    return [whole, name, middle, best[-1], sum(best) / len(best)]


def _by_words(asked: Asked, known: Known) -> list[float]:
    worth, whole = asked.worth, asked.whole
    bm25 = name = description = arguments = texts = anywhere = name_said = description_said = arguments_said = 0.0
    for stem in worth.keys() & known.counted.keys():
        value = worth[stem]
        bm25 += value * known.counted[stem]
        anywhere += value
        if stem in known.name:
            name += value
            name_said += known.name[stem]
        if stem in known.description:
            description += value
            description_said += known.description[stem]
        if stem in known.arguments:
            arguments += value
            arguments_said += known.arguments[stem]
        if stem in known.argument_texts:
            texts += value
    held = filled_shares(known.wanted, asked.values)
    return [
        bm25 / asked.best, name / whole, description / whole, arguments / whole, texts / whole, anywhere / whole,
        name_said, description_said, arguments_said,
        _spoken(known.each_argument, worth), sum(held) / len(held) if held else 1.0, min(held, default=1.0),
        float(sum([one < 0.3 for one in held])), float(min(len(held), 10)),
        float(min(3, exact(known.wanted, held))), float(min(len(known.each_argument), 20)),
        float(min(len(known.description), 60)),
    ]  # fmt: skip


def _shared(stems: Sequence[str]) -> dict[str, float]:
    worth = {stem: rarity(stem) for stem in stems}
    whole = sum(worth.values())
    return {stem: value / whole for stem, value in worth.items()}


def _spoken(arguments: Sequence[frozenset[str]], worth: dict[str, float]) -> float:
    return sum([not one.isdisjoint(worth) for one in arguments]) / len(arguments) if arguments else 0.0


# ── learned ──
# What was learned from the development corpora (scripts/train_router.py), and how it is applied. Pure Python.
#


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


class Voice(Struct, frozen=True):
    """Whether a request sounds like one for a tool, as some people write."""

    words: Wordy
    """Its words, where there are tools marked by whether those have them."""
    meaning: Linear
    """Its vector."""


class Need(Struct, frozen=True):
    """Whether a request needs one of its tools."""

    voices: list[Voice]
    """Learned of all requests, and of those of the benchmarks alone, which are written otherwise."""
    trees: list[Tree]
    shifts: tuple[float, float]
    """Where need and no need weigh the same: beside a handful of tools, and beside more. A request that none of one or
    two tools serves is common; whoever offers ten has made them for what people ask."""
    ask: Linear
    """Whether a value is missing: its log odds against a call."""


class Learned(Struct, frozen=True):
    """What was learned of rankings and need."""

    made_from: str
    few: Linear
    """Ranks the tools of a request."""
    shown: Linear
    """The same where most of the tools have examples."""
    many: Linear
    """Ranks what an index found among many."""
    need: Need


@lru_cache(maxsize=1)
def load_weights() -> Learned:
    return json.decode(_file("learned.json"), type=Learned)


@lru_cache(maxsize=1)
def alone() -> Voice:
    """Whether a request needs a tool at all, by its text, where no tools are known."""
    return json.decode(_file("text.json"), type=Voice)


@lru_cache(maxsize=1)
def own_voices() -> dict[str, Wordy]:
    """How people ask for the tools that ship, by name (scripts/train_own.py)."""
    return json.decode(_file("own.json"), type=dict[str, Wordy])


def _file(name: str) -> bytes:
    return files("rightcall.router").joinpath("weights", name).read_bytes()


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


FEW = 120
"""So many tools are compared one by one; of more, those that the index puts first."""
FOUND = 24
"""As many as these."""

_NEAR = len(BY_WORDS) + BY_MEANING.index("near")

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

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._told: dict[str, tuple[Known, Told]] = {}
        self._asked: Asked | None = None
        self._stack: tuple[list[Known], Stack | None] = ([], None)

    def ask(self, text: str) -> Asked:
        """The last request is kept: whether it needs a tool is asked first, then which."""
        asked = self._asked
        if asked is None or asked.request.text != text:
            asked = self._asked = ask(text)
        return asked

    def know(self, tool: ToolText) -> Known:
        known = self._known.get(tool.name)
        if known is None or (known.tool is not tool and known.tool != tool):
            known = self._known[tool.name] = know(tool)
        return known

    def _tell(self, known: Known) -> Told:
        """What its reasons are made of: only a tool that is shown needs any."""
        kept = self._told.get(known.tool.name)
        if kept is None or kept[0] is not known:
            kept = self._told[known.tool.name] = known, told_of(known.tool)
        return kept[1]

    def among(self, asked: Asked, tools: Sequence[ToolText], hits: "Sequence[Hit] | None" = None) -> Found:
        """Ranks these tools; `hits` where they are what an index has found, in its order."""
        known = [self.know(tool) for tool in tools]
        if not known:
            return Found([], [], [], [])
        numbers = self._compare_all(asked, known) if hits is None else [compare(asked, one) for one in known]
        weights = load_weights()
        if hits is None:
            shown = 2 * sum([bool(one.example_words) for one in known]) > len(known)
            scores = score_rows(weights.shown if shown else weights.few, numbers)
            return order_tools(known, numbers, hear_voices(asked, known, scores))
        rows = [[*row, hit.score] for row, hit in zip(numbers, hits, strict=True)]
        return order_tools(known, numbers, hear_voices(asked, known, score_rows(weights.many, rows)), _INDEXED)

    def _compare_all(self, asked: Asked, known: list[Known]) -> list[list[float]]:
        """The tools of the request before are most often the same: their vectors lie in a stack then."""
        before, stack = self._stack
        if before != known:
            stack = None
        elif stack is None:
            stack = Stack([vector for one in known for vector in one.vectors])
        self._stack = known, stack
        if stack is None:
            return [compare(asked, one) for one in known]
        cosines = iter(stack.near(asked.vector))
        return [compare(asked, one, [*islice(cosines, len(one.vectors))]) for one in known]

    def rank(
        self, text: str, tools: Sequence[ToolText], limit: int, hits: "Sequence[Hit] | None" = None
    ) -> list[Candidate]:
        """The likeliest tools."""
        asked = self.ask(text)
        found = self.among(asked, tools, hits)
        return [
            Candidate(
                known.tool.name, round(score, 4), round(share, 4),
                why(asked.request, self._tell(known), numbers[_NEAR]),
            )
            for known, numbers, score, share in list(
                zip(found.known, found.numbers, found.scores, found.shares, strict=True)
            )[:limit]
        ]  # fmt: skip


_VOICE = 2.0
"""What a voice counts beside the rest of a comparison."""


def hear_voices(asked: Asked, known: Sequence[Known], scores: list[float]) -> list[float]:
    """Those of our own tools that a request does not sound like step back behind the one it sounds like most; no other
    tool loses its place to them by that."""
    voices = {at: one.voice for at, one in enumerate(known) if one.voice is not None}
    if len(voices) < 2:
        return scores
    words = heard_words(asked.request.text)
    heard = {at: voice.score(words) for at, voice in voices.items()}
    most = max(heard.values())
    return [score + _VOICE * (heard.get(at, most) - most) for at, score in enumerate(scores)]


def order_tools(known: list[Known], numbers: list[list[float]], scores: list[float], certain: float = 1.0) -> Found:
    """Likeliest first; one of them is right with the probability `certain`."""
    order = sorted(range(len(known)), key=lambda at: (-scores[at], at))
    divided = shares(scores)
    return Found(
        [known[at] for at in order],
        [numbers[at] for at in order],
        [scores[at] for at in order],
        [divided[at] * certain for at in order],
    )


def score_rows(weights: Linear, rows: Sequence[Sequence[float]]) -> list[float]:
    """What `weights.score` says of each of the `relate_rows` rows, without writing those down."""
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


def relate_rows(rows: Sequence[Sequence[float]]) -> list[list[float]]:
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
